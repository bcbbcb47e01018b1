"""numerate: a sense of numbers for any language model."""

from __future__ import annotations

from numerate.numeral import KINDS, Numeral, render
from numerate.reading import Columns, find, find_batch, find_columns
from numerate.registry import embedders, heads, notations, objectives, readers, tasks

__version__ = "0.1.0"

__all__ = [
    "KINDS",
    "Columns",
    "Numeral",
    "__version__",
    "embedders",
    "find",
    "find_batch",
    "find_columns",
    "heads",
    "notations",
    "objectives",
    "readers",
    "render",
    "tasks",
]
