"""What the total of a column may be the sum of: its block, its section, all rows, subtotals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numerate.apps.consistency.tables.table_numbers import NumberTable

__all__ = ["cell_of", "fits_of", "parts_of", "sums_of"]

_EXACT = 1e-6


def parts_of(table: NumberTable, row: int, column: int, totals: list[int]) -> dict[str, list[int]]:
    """Rows of the cells that a total may be the sum of, by the name of the choice; two at least."""
    values = _signed(table, column)
    earlier = [each for each in totals if each < row]
    # A share below its amount is no part of a total of amounts.
    is_share = "%" in cell_of(table, row, column)
    parts = [each for each in range(row) if each not in earlier and ("%" in cell_of(table, each, column)) == is_share]
    heading = max((each for each in table.heading_rows if each < row), default=-1)
    block = [each for each in parts if not earlier or each > earlier[-1]]
    after = [each for each in range(row + 1, len(values)) if each not in totals]
    choices = {"block": block, "all": parts, "subtotals": earlier, "after": after if row == 0 else []}
    choices["section"] = [each for each in parts if each > heading] if heading > max(earlier, default=-1) else []
    if earlier:
        choices["last-and-block"] = [earlier[-1], *block]
        choices["subtotals-and-block"] = [*earlier, *block]
    kept = {name: [each for each in some if np.isfinite(values[each])] for name, some in choices.items()}
    kept["implied"] = _since_subtotal(values, kept["block"])
    return {name: rows for name, rows in kept.items() if len(rows) > 1}


def _since_subtotal(values: np.ndarray, rows: list[int]) -> list[int]:
    """The last row that is the sum of those before it without being named so, and the rows below it; empty if none is.

    `Taxable` of a receipt is such a row.
    """
    since: list[int] = []
    is_implied = False
    for row in rows:
        value, before = float(values[row]), values[since]
        is_sum = (
            len(since) > 1 and len(f"{abs(value):.10g}".replace(".", "")) > 2 and abs(before.sum() - value) < _EXACT
        )
        since = [row] if is_sum else [*since, row]
        is_implied |= is_sum
    return since if is_implied else []


def _signed(table: NumberTable, column: int) -> np.ndarray:
    """The numbers of a column, with a minus in rows that say what is taken off: `Less allowances`."""
    values = table.values[:, column]
    if not table.taken_rows:
        return values
    values = values.copy()
    values[table.taken_rows] = -np.abs(values[table.taken_rows])
    return values


def cell_of(table: NumberTable, row: int, column: int) -> str:
    """A cell as it is written; rows may be short."""
    cells = table.document.rows[row]
    return cells[column] if column < len(cells) else ""


def sums_of(table: NumberTable, row: int, column: int, totals: list[int]) -> dict[str, tuple[float, float, int]]:
    """Sums that a total may stand for: name -> sum, slack by rounding, number of parts."""
    values, steps = _signed(table, column), table.steps[:, column]
    found = {}
    for name, kept in parts_of(table, row, column, totals).items():
        is_rounded = steps[kept].max() < 1 or steps[row] < 1 or table.is_rounded(column)
        slack = float(steps[kept].sum() + steps[row]) / 2 if is_rounded else 0.0
        found[name] = (float(values[kept].sum()), slack, len(kept))
        found[f"{name}-sizes"] = (float(np.abs(values[kept]).sum()), slack, len(kept))
    return found


def fits_of(table: NumberTable, row: int, column: int, sums: dict[str, tuple[float, float, int]]) -> set[str]:
    """The names of the sums that a total is equal to, whatever its sign is."""
    total = table.values[row, column]
    return {
        name for name, (whole, slack, _) in sums.items() if abs(abs(whole) - abs(total)) <= slack + 1e-6 * abs(whole)
    }
