"""Small models of our own as Hugging Face models: one file each, known to transformers' Auto classes once registered.

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
    """Imports every file of this package; each makes its model known to `AutoConfig` and its Auto class."""
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        importlib.import_module(module.name)
