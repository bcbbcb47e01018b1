"""Cells of a column whose unit measures something else than the column: `3,900 °C` among weights in kg."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_in_cell
from numerate.apps.consistency.sentences.patterns import regex
from numerate.numerals.unit_factors import dimension_name
from numerate.reading import find

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.documents import Document
    from numerate.apps.findings import Finding

__all__ = ["unit_columns"]

MOST_ROWS, MOST_CELL = 400, 24
LEAST_RIGHT = 2
_HEADS = (
    ("mass", regex(r"\b(?:weight|mass|payload)\b", re.IGNORECASE)),
    ("length", regex(r"\b(?:length|height|width|depth|thickness|diameter|radius|distance|altitude"
        r"|elevation)\b", re.IGNORECASE)),
    ("area", regex(r"\b(?:area|floor space|surface)\b", re.IGNORECASE)),
    ("volume", regex(r"\bvolume\b", re.IGNORECASE)),
    ("temperature", regex(r"\b(?:temp|temperature|boiling point|melting point)\b", re.IGNORECASE)),
    ("time", regex(r"\b(?:time|duration)\b", re.IGNORECASE)),
    ("speed", regex(r"\b(?:speed|velocity)\b", re.IGNORECASE)),
    ("power", regex(r"\bpower\b", re.IGNORECASE)),
    ("voltage", regex(r"\bvoltage\b", re.IGNORECASE)),
    ("current", regex(r"\bcurrent\b", re.IGNORECASE)),
    ("pressure", regex(r"\bpressure\b", re.IGNORECASE)),
    ("frequency", regex(r"\bfrequency\b", re.IGNORECASE)),
    ("energy", regex(r"\b(?:energy|consumption)\b", re.IGNORECASE)),
)  # fmt: skip
"""What the name of a column says that it measures."""
_KIN = {"mass": ("N", "kN"), "time": ("m",), "energy": ("W", "kW")}
"""Units of other dimensions that are written for it: a weight in newtons, `m` for minutes."""
_SEVERAL = regex(
    r"[/,&+]|\b(?:and|or|per|by|x|range|ratio|rate|change|coefficient|density|factor|limit)\b", re.IGNORECASE
)
_CELL = regex(r"\s*[-+−–~≈<>]?\s*\d[^()\[\];]*")


def unit_columns(document: Document) -> Iterator[Finding]:
    """The only cell of another dimension in a column that is named after its own."""
    if document.first_row or not document.is_last or not LEAST_RIGHT < len(document.rows) <= MOST_ROWS:
        return
    for column, head in enumerate(document.header):
        named = [name for name, pattern in _HEADS if pattern.search(head)]
        if len(named) != 1 or _SEVERAL.search(head):
            continue
        units: dict[int, tuple[str, str]] = {}
        for row, cells in enumerate(document.rows):
            found = _unit_of(cells[column]) if column < len(cells) else None
            if found is not None:
                units[row] = found
        counts = Counter(dimension for dimension, _ in units.values())
        kin = _KIN.get(named[0], ())
        wrong = [row for row, (dimension, unit) in units.items() if dimension != named[0] and unit not in kin]
        if len(wrong) != 1 or counts[named[0]] < LEAST_RIGHT or counts[named[0]] < len(document.rows) - 2:
            continue
        dimension, unit = units[wrong[0]]
        said = document.rows[wrong[0]][column].strip()
        message = f"{said} among values of {head.strip()}: {unit} is a unit of {dimension}."
        yield finding_in_cell("unit", document, wrong[0], column, message, unit=unit, measures=dimension)


def _unit_of(cell: str) -> tuple[str, str] | None:
    """Dimension and unit of a cell that is one number with a unit."""
    if len(cell) > MOST_CELL or not _CELL.fullmatch(cell):
        return None
    read = find(cell)
    if len(read) != 1 or read[0].unit is None or read[0].unit_span is None:
        return None
    if cell[max(read[0].end, read[0].unit_span[1]) :].strip():
        return None
    dimension = dimension_name(read[0].unit)
    return None if dimension is None else (dimension, read[0].unit)
