"""The other cells of a column, for a number of a table's row as a model is shown it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from numerate.apps.consistency.tables.table_numbers import table_of
from numerate.modeling.column_mates import ColumnMates
from numerate.modeling.written_forms import last_places
from numerate.numerals.slips import slip_readings

if TYPE_CHECKING:
    from numerate.apps.documents import Document
    from numerate.apps.shown_texts import Unit
    from numerate.numerals.numeral import Numeral

__all__ = ["has_signs", "is_usual", "mates_of"]

_AS_USUAL = 1.0
"""Logarithm of how many times more usual a reading may be in a column. Chosen on development tables."""


def is_usual(numeral: Numeral, mates: ColumnMates) -> bool:
    """Whether a number is about as usual in its column as the most usual of what it may have been before a slip.

    Example:
        >>> from numerate.numerals.numeral import Numeral
        >>> mates = ColumnMates(np.array([36_000.0, 52_000.0, 41_000.0, 45_500.0]), np.zeros(4, dtype=int))
        >>> [is_usual(Numeral(text, 0, len(text), float(text)), mates) for text in ("48000", "4800")]
        [True, False]
    """
    if mates.is_inside(numeral.written):
        return True
    readings = [each for each in slip_readings(numeral) if each.unit is None]
    values = np.array([numeral.written or 1.0, *(each.written for each in readings)])
    place = int(last_places(values[:1], np.array([numeral.decimals]))[0])
    decimals = [max(each.power - place, 0) if each.power else numeral.decimals for each in readings]
    logs = mates.log_density(values, np.array([numeral.decimals, *decimals], dtype=int))
    return bool(logs[0] >= logs[1:].max(initial=-np.inf) - _AS_USUAL)


def mates_of(document: Document, unit: Unit, numeral: Numeral) -> ColumnMates | None:
    """The other numbers of a number's column; None for texts, for cells with more than a number, and for few cells.

    Totals are left out, unless the number is a total itself.
    """
    if unit.cells is None or unit.row is None:
        return None
    cell = unit.cells.cell_at(numeral.start, numeral.end)
    table = table_of(document)
    if cell is None or cell[0] not in table.numeric:
        return None
    column, row = cell[0], unit.row - document.first_row
    values = table.values[:, column]
    if not math.isclose(abs(values[row]), abs(numeral.written), rel_tol=1e-9):
        return None  # there is something else in the cell, or it is read in another way
    others = [each for each in table.total_rows if each != row]
    if others:
        values = values.copy()
        values[others] = np.nan
    return ColumnMates.of(values, table.steps[:, column], row)


def has_signs(document: Document, row: int, column: int) -> bool:
    """Whether another cell of a cell's column has a plus or a minus; `row` is counted in the whole table."""
    others = (cells for at, cells in enumerate(document.rows, document.first_row) if at != row)
    return any(column < len(cells) and cells[column].lstrip().startswith(("+", "-", "−")) for cells in others)
