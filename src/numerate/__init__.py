"""numerate: a sense of numbers for any language model."""

from __future__ import annotations

import importlib
import sys
import warnings
from types import ModuleType

TYPE_CHECKING = False  # that of `typing`, whose import is half the time before Ctrl-C finds `numerate.cli.main`
if TYPE_CHECKING:
    from typing import Any

    from numerate import apps, embedders, heads, metrics, objectives, records, report, training
    from numerate.apps.calibrating import calibrate
    from numerate.apps.check import check
    from numerate.apps.fill import fill
    from numerate.apps.regression.number_regressor import NumberRegressor
    from numerate.apps.sentence_module import NumberTransformer
    from numerate.modeling.attaching import attach, detach, from_pretrained
    from numerate.modeling.number_model import NumberModel
    from numerate.modeling.recipe import Recipe, load_recipe, recipe_names
    from numerate.numerals.numeral import KINDS, Numeral, render
    from numerate.processing.encoding import NumberCollator
    from numerate.processing.processor import NumberProcessor
    from numerate.processing.scaling import Scaling
    from numerate.reading import Columns, find, find_batch, find_columns
    from numerate.registry import notations, readers
    from numerate.training import NumberTrainer

__version__ = "0.2.0.dev0"

_LAZY = {
    "KINDS": "numerals.numeral",
    "Columns": "reading",
    "NumberCollator": "processing.encoding",
    "NumberModel": "modeling.number_model",
    "NumberProcessor": "processing.processor",
    "NumberRegressor": "apps.regression.number_regressor",
    "NumberTrainer": "training",
    "NumberTransformer": "apps.sentence_module",
    "Numeral": "numerals.numeral",
    "Recipe": "modeling.recipe",
    "Scaling": "processing.scaling",
    "attach": "modeling.attaching",
    "calibrate": "apps.calibrating",
    "check": "apps.check",
    "detach": "modeling.attaching",
    "fill": "apps.fill",
    "find": "reading",
    "find_batch": "reading",
    "find_columns": "reading",
    "from_pretrained": "modeling.attaching",
    "load_recipe": "modeling.recipe",
    "notations": "registry",
    "readers": "registry",
    "recipe_names": "modeling.recipe",
    "render": "numerals.numeral",
}
"""Public names and the modules that define them; each module is imported at its name's first use.

So the package itself is imported in milliseconds, and Ctrl-C at the start of a command finds `numerate.cli.main`.
"""
_PACKAGES = (
    "apps", "embedders", "heads", "metrics", "numerals", "objectives", "reading", "records", "registry", "report",
    "training",
)  # fmt: skip
"""Packages and modules that are imported at their first use."""
_MOVED = {
    "batch": ("processing.number_table", "ASKED CHARACTERS GIVEN MAX_CHARACTERS PADDING NumberTable encode_characters"),
    "found": ("processing.encoding", "NumberBatch NumberCollator"),
    "hub": ("modeling.artefact", "Artefact ArtefactError NumberModelConfig load_artefact push_artefact save_artefact"),
    "model": ("modeling.number_model", "NumberModel"),
    "numeral": ("numerals.numeral", "KINDS Numeral render"),
    "processor": ("processing.processor", "NumberBatch NumberCollator NumberProcessor ProcessorConfig"),
    "scaling": ("processing.scaling", "EVERYTHING FieldScaler Saturation Scaling field_of"),
    "units": ("numerals.units", "CURRENCIES currency_before to_quantity unit_after"),
}
"""Modules of version 0.1, the modules that replaced them, and their public names; to be removed in version 0.3."""

__all__ = [
    "KINDS",
    "Columns",
    "NumberCollator",
    "NumberModel",
    "NumberProcessor",
    "NumberRegressor",
    "NumberTrainer",
    "NumberTransformer",
    "Numeral",
    "Recipe",
    "Scaling",
    "__version__",
    "apps",
    "attach",
    "calibrate",
    "check",
    "detach",
    "embedders",
    "fill",
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


class _MovedModule(ModuleType):
    """A module under its name in version 0.1: it gives its public names from their new module, with a warning."""

    def __getattr__(self, name: str) -> Any:
        target, names = _MOVED[self.__name__.removeprefix("numerate.")]
        # Checked without an import: tools that look for an object in all loaded modules must find nothing here.
        if name not in names.split():
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}; see numerate.{target}")
        warnings.warn(f"{self.__name__} has moved: import {name} from numerate.{target}", DeprecationWarning, 2)
        return getattr(importlib.import_module(f"numerate.{target}"), name)


sys.modules.update({f"numerate.{name}": _MovedModule(f"numerate.{name}") for name in _MOVED})


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return importlib.import_module(f"numerate.{name}")
    if name in _MOVED:
        return sys.modules[f"numerate.{name}"]
    if name not in _LAZY:
        raise AttributeError(f"module 'numerate' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"numerate.{_LAZY[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
