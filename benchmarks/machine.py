"""Where a figure was measured, written beside every result: see `numerate.training.results`."""

from numerate.training.results import describe, write

__all__ = ["describe", "write"]
