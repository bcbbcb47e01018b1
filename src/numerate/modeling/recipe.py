"""Recipes: the named systems that ship with the package, for `attach`."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from importlib import resources
from typing import Any, ClassVar

from numerate.files import read_yaml
from numerate.modeling.options import AttachOptions, fill_defaults
from numerate.registry import UnknownNameError, near_names

__all__ = ["Recipe", "current_name", "load_recipe", "recipe_names"]

_RENAMED = {"default": "subwords"}
"""Recipes of version 0.1 under another name; the old names are to be removed in version 0.3."""


@dataclass(frozen=True, kw_only=True)
class Recipe(AttachOptions):
    """A named system: `AttachOptions` with all defaults filled in.

    Attributes:
        about: What it is, in one sentence.
        citation: Whose it is.
        notation: Its `kind` and options.
        embedder: Its `kind` and options; None for no vectors.
        head: Its `kind` and options; None for no number head.
    """

    kind: ClassVar[str] = "recipe"
    about: str = ""
    citation: str = ""
    notation: dict[str, Any] = field(default_factory=lambda: {"kind": "marker"})
    embedder: dict[str, Any] | None = None
    head: dict[str, Any] | None = None
    __post_init__ = fill_defaults


def recipe_names() -> list[str]:
    """The names of all recipes that ship with the package."""
    folder = resources.files("numerate") / "recipes"
    return sorted(entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml"))


def current_name(name: str) -> str:
    """The name of a recipe today, for saved configs that have its old name.

    Example:
        >>> current_name("default"), current_name("luna")
        ('subwords', 'luna')
    """
    return _RENAMED.get(name, name)


def load_recipe(name: str) -> Recipe:
    """The recipe called `name`; an old name works with a `FutureWarning`.

    Example:
        >>> load_recipe("xval").placement
        'scale'
    """
    if not isinstance(name, str):
        raise TypeError(f"a recipe's name must be a text, got {name!r}")
    if (new := current_name(name)) != name:
        warnings.warn(f"the recipe {name!r} is called {new!r} now: it is not the default recipe", FutureWarning, 3)
        name = new
    if name not in recipe_names():
        raise UnknownNameError(f"unknown recipe {name!r}: {near_names(name, recipe_names())}")
    text = (resources.files("numerate") / "recipes" / f"{name}.yaml").read_text(encoding="utf-8")
    return Recipe.from_dict(read_yaml(text, f"{name}.yaml"))
