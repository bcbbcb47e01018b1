"""Writes a corrected value as the cells of its column are written: sign, currency, groups, decimals, suffix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.base import plain
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.tables.cell_numbers import CLOCK, CURRENCY, GROUPED, grouped, has_decimal_commas

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Sequence

__all__ = ["like_cell"]

_CELL = regex(
    rf"(?P<before>[~≈]?\s*)(?P<front>(?:{CURRENCY}\s*(?=\())?)(?P<open>\(?)\s*(?P<sign>[-+−–]?)\s*"
    rf"(?P<currency>(?:{CURRENCY}\s*)?)(?P<sign2>[-−]?)(?P<whole>{GROUPED}|\d+)(?:\.(?P<decimals>\d+))?"
    r"(?P<behind>(?:[-−](?=$|\s))?)(?P<after>(?![eE.,:\d]|\s?[x×·]\s?\d)[^)]*)\)?(?P<notes>[^)]*)"
)
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
    clock = CLOCK.fullmatch(written)
    if clock is not None and value >= 0:
        return _clock_like(clock, value)
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
    long = [each["whole"] for each in near if len(each["whole"]) > 3] or ["1,000"]
    number = grouped(whole, max(long, key=lambda each: each.count(","))) + (f".{decimals}" if decimals else "")
    number = cell["currency"] + number
    is_negative = value < 0 and float(text) != 0
    if is_negative and cell["behind"]:
        number += cell["behind"]
    number += cell["after"].rstrip()
    if is_negative and not cell["behind"]:
        minus = (cell["sign"] + cell["sign2"]).replace("+", "") or "-"
        is_held = cell["open"] or (not cell["sign"] and any(each["open"] for each in near))
        number = f"({number})" if is_held else minus + number
    elif cell["sign"] == "+":
        number = "+" + number
    number = cell["front"] + number
    found = cell["before"] + number + cell["notes"].rstrip()
    return found if found != written else plain(value)


def _clock_like(clock: re.Match[str], value: float) -> str:
    """Minutes as a time of the day or a duration: 525 as `8:45` or `08:45:00`."""
    minutes, seconds = divmod(round(value * 60), 60)
    hours = f"{minutes // 60:02}" if len(clock[1]) == len("08") and clock[1][0] == "0" else f"{minutes // 60}"
    return f"{hours}:{minutes % 60:02}" + (f":{seconds:02}" if clock[3] else "")


def _cells(rows: Sequence[Sequence[str]], column: int) -> Iterator[re.Match[str]]:
    """The cells of a column that are plain decimals."""
    for row in rows:
        cell = _CELL.fullmatch(row[column].strip()) if column < len(row) else None
        if cell is not None:
            yield cell
