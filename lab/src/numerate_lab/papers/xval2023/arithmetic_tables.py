"""Tables 1 to 3 of xVal (Golkar et al. 2023), the paper's figures beside ours."""

from __future__ import annotations

import dataclasses
from importlib import resources
from typing import TYPE_CHECKING, Any

from numerate.files import read_yaml
from numerate.registry import near_names, notations
from numerate_lab.engine.grid import CompareConfig
from numerate_lab.engine.trial import CellConfig

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["PAPER_TABLE1", "SCALES", "TABLES", "config_for", "load_tables", "paper_of", "table1"]

PAPER_TABLE1 = {"p10": (5, 28), "p1000": (3, 918), "b1999": (2, 1816), "fp15": (1, 28800), "xval": (1, 1)}
"""Tokens a number and size of the vocabulary, as the paper prints them."""


def load_tables() -> dict[str, Any]:
    """The tables' settings, as shipped."""
    text = (resources.files("numerate_lab.papers.xval2023") / "arithmetic.yaml").read_text(encoding="utf-8")
    return read_yaml(text, "arithmetic.yaml")


_ALL = load_tables()
TABLES: tuple[str, ...] = tuple(_ALL["tables"])
SCALES: tuple[str, ...] = tuple(_ALL["scales"])


def table1() -> dict[str, tuple[int, int]]:
    """Tokens a number takes and tokens that its notation has, counted from the notations themselves.

    Example:
        >>> table1() == PAPER_TABLE1
        True
    """
    from numerate.numerals.numeral import Numeral

    found = {}
    for name in PAPER_TABLE1:
        notation: Any = notations["marker" if name == "xval" else name].build()
        pieces = notation.write(Numeral("-60.2", 0, 5, -60.2))
        vocabulary: Sequence[str] = getattr(notation, "core_vocabulary", notation.vocabulary)
        found[name] = (len(pieces), len(vocabulary))
    return found


def config_for(
    table: str, scale: str = "small", encodings: Sequence[str] = (), seeds: int | None = None
) -> CompareConfig:
    """The comparison behind a table.

    Args:
        table: One of `TABLES`.
        scale: One of `SCALES`.
        encodings: Instead of all.
        seeds: Instead of the scale's.

    Example:
        >>> config_for("xval-table2", "paper").cell.width
        768
    """
    for what, given, known in (("table", table, TABLES), ("scale", scale, SCALES)):
        if given not in known:
            raise ValueError(f"unknown {what} {given!r}: {near_names(given, list(known))}")
    settings, size = _ALL["tables"][table], dict(_ALL["scales"][scale])
    own = {"task": settings["task"], "scaling": settings["scaling"]} | settings.get("cells", {}).get(scale, {})
    cell = CellConfig.from_dict(size.pop("cell") | own)
    names = tuple(encodings or settings.get("encodings", _ALL["encodings"]))
    rates = tuple(size.pop("rates"))
    config = CompareConfig(encodings=names, cell=cell, rates=rates, **size)
    return config if seeds is None else dataclasses.replace(config, seeds=seeds)


def paper_of(table: str) -> tuple[dict[str, str], dict[str, dict[str, float]]]:
    """A table's columns, by task, and the paper's figures by encoding and column."""
    settings = _ALL["tables"][table]
    labels = dict(settings["columns"])
    return labels, {name: dict(zip(labels.values(), row, strict=True)) for name, row in settings["paper"].items()}
