"""Writes a corrected value as the cells of its column are written: sign, currency, groups, decimals, suffix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.base import plain
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.tables.table_numbers import has_decimal_commas

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Sequence

__all__ = ["like_cell"]

_CELL = regex(
    r"(?P<before>[~≈]?\s*)(?P<open>\(?)\s*(?P<sign>[-+−–]?)\s*(?P<currency>[$€£¥]?\s*)(?P<sign2>[-−]?)"
    r"(?P<whole>\d{1,3}(?:[,'\u00a0\u202f ]\d{3})+|\d+)(?:\.(?P<decimals>\d+))?(?P<after>(?![eE.,:\d])[^)]*)\)?"
    r"(?P<notes>[^)]*)"
)
_GROUP = regex(r"[,'\u00a0\u202f ]")
_SWAP = str.maketrans(".,", ",.")
MAX_CELLS = 50
"""Cells of a column that tell how it is written."""


def like_cell(rows: Sequence[Sequence[str]], row: int, column: int, value: float) -> str:
    """The value in the style of a cell and its column; as in messages where the cell is no plain decimal.

    Example:
        >>> rows = [["$1,240.00"], ["$310.50"], ["$940.00"]]
        >>> like_cell(rows, 2, 0, 1550.5)
        '$1,550.50'
        >>> like_cell([["6070"], ["(12)"]], 0, 0, 7545.93), like_cell([["31 %"]], 0, 0, -12.4)
        ('7546', '-12 %')
        >>> like_cell([["9,10"], ["72,30"]], 1, 0, 27.3)
        '27,30'
    """
    written = rows[row][column].strip()
    if has_decimal_commas([cells[column] for cells in rows[:MAX_CELLS] if column < len(cells)] + [written]):
        near = rows[max(0, row - MAX_CELLS // 2) : row + MAX_CELLS // 2]
        swapped = [[cells[column].translate(_SWAP)] for cells in [rows[row], *near] if column < len(cells)]
        return _like(swapped, 0, 0, value).translate(_SWAP)
    return _like(rows, row, column, value)


def _like(rows: Sequence[Sequence[str]], row: int, column: int, value: float) -> str:
    """`like_cell` of a column without decimal commas."""
    written = rows[row][column].strip()
    cell = _CELL.fullmatch(written)
    if cell is None:
        return plain(value)
    near = [cell, *_cells(rows[max(0, row - MAX_CELLS // 2) : row + MAX_CELLS // 2], column)]
    most = max(len(each["decimals"] or "") for each in near)
    # Without fixed decimals (`12.5` beside `3`), trailing zeros are left out.
    own = len(cell["decimals"] or "")
    text = f"{abs(value):.{most}f}"
    whole, _, decimals = text.partition(".")
    while len(decimals) > own and decimals.endswith("0"):
        decimals = decimals[:-1]
    long = next((each["whole"] for each in near if len(each["whole"]) > 3), "1,000")
    groups = _GROUP.search(long)
    number = f"{int(whole):,}".replace(",", groups[0] if groups else "") + (f".{decimals}" if decimals else "")
    number = cell["currency"] + number + cell["after"].rstrip()
    if value < 0 and float(text):
        minus = (cell["sign"] + cell["sign2"]).replace("+", "") or "-"
        number = f"({number})" if cell["open"] else minus + number
    elif cell["sign"] == "+":
        number = "+" + number
    found = cell["before"] + number + cell["notes"].rstrip()
    return found if found != written else plain(value)


def _cells(rows: Sequence[Sequence[str]], column: int) -> Iterator[re.Match[str]]:
    """The cells of a column that are plain decimals."""
    for row in rows:
        cell = _CELL.fullmatch(row[column].strip()) if column < len(row) else None
        if cell is not None:
            yield cell
