"""The other cells of a column, for a number of a table's row as a model is shown it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from numerate.apps.consistency.table_numbers import table_of
from numerate.modeling.column_mates import ColumnMates

if TYPE_CHECKING:
    from numerate.apps.documents import Document
    from numerate.apps.shown_texts import Unit
    from numerate.numerals.numeral import Numeral

__all__ = ["mates_of"]


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
