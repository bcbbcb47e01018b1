"""Weekdays beside dates in a table: `Thursday | 15 August` below `Thursday | 7 August`."""

from __future__ import annotations

import datetime
import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_in_cell
from numerate.apps.consistency.dates.calendar_words import DATE, ISO_DATE, WEEKDAYS, NamedDate, read_date
from numerate.apps.consistency.sentences.patterns import regex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.documents import Document
    from numerate.apps.findings import Finding

__all__ = ["table_weekdays"]

MOST_ROWS, LEAST_RIGHT = 400, 3
FIRST_YEAR = 1925
"""Before that, other calendars were in use."""
_DAY = regex(r"\s*(mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6}\.?\s*", re.IGNORECASE)
_YEAR = regex(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_COMMON, _LEAP = 2001, 2000
"""A year without a leap day, and one with it."""


def table_weekdays(document: Document) -> Iterator[Finding]:
    """The only row whose weekday is not that of its date.

    Without a year, rows are compared with each other: in one year, the weekday of a date follows from that of another.
    """
    if document.first_row or not document.is_last or not LEAST_RIGHT <= len(document.rows) <= MOST_ROWS:
        return
    days = {column: found for column in range(len(document.header)) if (found := _weekdays(document, column))}
    dates = {column: found for column in range(len(document.header)) if (found := _dates(document, column))}
    if len(days) != 1 or len(dates) != 1:
        return
    (weekdays,), ((column, told),) = days.values(), dates.items()
    rows = [row for row in told if row in weekdays]
    wrong = _wrong_rows(document, {row: (weekdays[row], told[row]) for row in rows})
    if len(wrong) == 1 and len(rows) - 1 >= LEAST_RIGHT - 1:
        row = wrong[0]
        day, date = WEEKDAYS[weekdays[row]], document.rows[row][column].strip()
        message = f"{date}: that day is no {day}, by the other rows and the year."
        yield finding_in_cell("date", document, row, column, message, probability=0.93)


def _wrong_rows(document: Document, rows: dict[int, tuple[int, NamedDate]]) -> list[int]:
    """Rows that do not fit in any year that the table may be of."""
    if not rows:
        return []
    if all(date.year is not None for _, date in rows.values()):
        if any((date.year or 0) < FIRST_YEAR for _, date in rows.values()):
            return []
        return [row for row, (day, date) in rows.items() if _weekday(date, date.year or _LEAP) != day]
    if any(date.year is not None for _, date in rows.values()):
        return []
    told = {int(each) for each in _YEAR.findall(" ".join((document.caption, document.notes, *document.header)))}
    years = [year for year in told if year >= FIRST_YEAR]
    tries: list[list[int]] = []
    if len(years) == 1:
        tries.append([row for row, (day, date) in rows.items() if _weekday(date, years[0]) != day])
    if len(rows) > LEAST_RIGHT:
        for year in (_COMMON, _LEAP):
            shifts = {row: (day - _weekday(date, year)) % 7 for row, (day, date) in rows.items()}
            every = list(shifts.values())
            usual = max(set(every), key=every.count)
            tries.append([row for row, shift in shifts.items() if shift != usual])
    if not tries or any(not each for each in tries):
        return []  # it is right in a year
    return tries[0] if len(years) == 1 or all(each == tries[0] for each in tries) else []


def _weekday(date: NamedDate, year: int) -> int:
    try:
        return datetime.date(year, date.month, date.day or 1).weekday()
    except ValueError:
        return -1  # 29 February of another year


def _weekdays(document: Document, column: int) -> dict[int, int]:
    """The weekdays of a column by row; empty if a cell is something else."""
    found: dict[int, int] = {}
    for row, cells in enumerate(document.rows):
        cell = cells[column].strip() if column < len(cells) else ""
        match = _DAY.fullmatch(cell)
        if match is None and cell:
            return {}
        if match is not None:
            found[row] = next(index for index, name in enumerate(WEEKDAYS) if name.lower().startswith(match[1].lower()))
    return found


def _dates(document: Document, column: int) -> dict[int, NamedDate]:
    """The dates of a column by row; empty if a cell is something else."""
    found: dict[int, NamedDate] = {}
    for row, cells in enumerate(document.rows):
        cell = cells[column].strip() if column < len(cells) else ""
        if not cell:
            continue
        named, iso = DATE.fullmatch(cell), ISO_DATE.fullmatch(cell)
        date = read_date(named) if named is not None else None
        if iso is not None:
            try:
                day = datetime.date.fromisoformat(cell)
            except ValueError:
                continue  # the rule of dates says so
            date = NamedDate(day.day, day.month, day.year, float(day.toordinal()))
        if named is None and iso is None:
            return {}
        if date is not None and date.day is not None:
            found[row] = date
    return found
