"""numerate: a sense of numbers for any language model."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from numerate.numeral import KINDS, Numeral, render
from numerate.reading import Columns, find, find_batch, find_columns
from numerate.registry import embedders, heads, notations, objectives, readers, tasks

if TYPE_CHECKING:
    from numerate.attach import attach, detach, from_pretrained, load_recipe, recipe_names
    from numerate.model import NumberModel
    from numerate.processor import NumberProcessor
    from numerate.training import NumberTrainer

__version__ = "0.1.0"

_LAZY = {
    "attach": "attach",
    "detach": "attach",
    "from_pretrained": "attach",
    "load_recipe": "attach",
    "recipe_names": "attach",
    "NumberModel": "model",
    "NumberProcessor": "processor",
    "NumberTrainer": "training",
}
"""Names that need torch: their files are imported when one is first asked for."""

__all__ = [
    "KINDS",
    "Columns",
    "NumberModel",
    "NumberProcessor",
    "NumberTrainer",
    "Numeral",
    "__version__",
    "attach",
    "detach",
    "embedders",
    "find",
    "find_batch",
    "find_columns",
    "from_pretrained",
    "heads",
    "load_recipe",
    "notations",
    "objectives",
    "readers",
    "recipe_names",
    "render",
    "tasks",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'numerate' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"numerate.{_LAZY[name]}"), name)
    globals()[name] = value
    return value
