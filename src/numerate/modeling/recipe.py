"""Recipes: the named systems that ship with the package, for `attach`."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import resources
from typing import Any, ClassVar

from numerate.files import read_yaml
from numerate.modeling.options import AttachOptions, fill_defaults
from numerate.registry import UnknownNameError, near_names

__all__ = ["Recipe", "load_recipe", "recipe_names"]


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


def load_recipe(name: str) -> Recipe:
    """The recipe called `name`.

    Example:
        >>> load_recipe("xval").placement
        'scale'
    """
    if name not in recipe_names():
        raise UnknownNameError(f"unknown recipe {name!r}: {near_names(name, recipe_names())}")
    text = (resources.files("numerate") / "recipes" / f"{name}.yaml").read_text(encoding="utf-8")
    return Recipe.from_dict(read_yaml(text, f"{name}.yaml"))
