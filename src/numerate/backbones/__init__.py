"""Small models as Hugging Face models, one file for each; `register_backbones` makes them known to the Auto classes.

Example:
    >>> from transformers import AutoConfig
    >>> register_backbones()
    >>> AutoConfig.for_model("numerate-lstm").hidden_size
    50
"""

from __future__ import annotations

import importlib
import pkgutil

__all__ = ["register_backbones"]


def register_backbones() -> None:
    """Imports every file of this package, which registers its model with `AutoConfig` and its Auto class."""
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        importlib.import_module(module.name)
