"""Where a figure was measured, written beside every result: see `numerate.bench.result`."""

from numerate.bench.result import describe, write

__all__ = ["describe", "write"]
