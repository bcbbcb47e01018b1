"""numerate: a sense of numbers for any language model."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from numerate.numerals.numeral import KINDS, Numeral, render
from numerate.reading import Columns, find, find_batch, find_columns
from numerate.registry import notations, readers

if TYPE_CHECKING:
    from numerate import apps, embedders, heads, metrics, objectives, records, report, training
    from numerate.modeling.attaching import Recipe, attach, detach, from_pretrained, load_recipe, recipe_names
    from numerate.modeling.number_model import NumberModel
    from numerate.processing.encoding import NumberCollator
    from numerate.processing.processor import NumberProcessor
    from numerate.processing.scaling import Scaling
    from numerate.training import NumberTrainer

__version__ = "0.2.0.dev0"

_LAZY = {
    "NumberCollator": "processing.encoding",
    "NumberModel": "modeling.number_model",
    "NumberProcessor": "processing.processor",
    "NumberTrainer": "training",
    "Recipe": "modeling.attaching",
    "Scaling": "processing.scaling",
    "attach": "modeling.attaching",
    "detach": "modeling.attaching",
    "from_pretrained": "modeling.attaching",
    "load_recipe": "modeling.attaching",
    "recipe_names": "modeling.attaching",
}
"""Public names that need torch, and the modules that define them; each module is imported at its name's first use."""
_PACKAGES = ("apps", "embedders", "heads", "metrics", "objectives", "records", "report", "training")
"""Public packages, imported at their first use."""

__all__ = [
    "KINDS",
    "Columns",
    "NumberCollator",
    "NumberModel",
    "NumberProcessor",
    "NumberTrainer",
    "Numeral",
    "Recipe",
    "Scaling",
    "__version__",
    "apps",
    "attach",
    "detach",
    "embedders",
    "find",
    "find_batch",
    "find_columns",
    "from_pretrained",
    "heads",
    "load_recipe",
    "metrics",
    "notations",
    "objectives",
    "readers",
    "recipe_names",
    "records",
    "render",
    "report",
    "training",
]


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return importlib.import_module(f"numerate.{name}")
    if name not in _LAZY:
        raise AttributeError(f"module 'numerate' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"numerate.{_LAZY[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
