"""Dates in texts: patterns of dates with a month's name and of numeric dates, and which days exist."""

from __future__ import annotations

import calendar
import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from numerate.apps.consistency.sentences.patterns import regex

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

__all__ = [
    "DATE", "ISO_DATE", "MONTH", "MONTHS", "WEEKDAYS", "YEAR_DAYS", "NamedDate", "dates_in", "day_exists",
    "days_in_month", "month_number", "read_date",
]  # fmt: skip

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
"""First letters of the months, in lower case."""
YEAR_DAYS = 365.2425
_NUMBERS = {name: index for index, name in enumerate(MONTHS, 1)}
MONTH = (
    r"(?:Jan(?:uary|\.)?|Feb(?:ruary|\.)?|Mar(?:ch|\.)?|Apr(?:il|\.)?|May|June?|July?|Aug(?:ust|\.)?|Sept?(?:ember|\.)?"
    r"|Oct(?:ober|\.)?|Nov(?:ember|\.)?|Dec(?:ember|\.)?)"
)
_YEAR = r"[12]\d{3}"
DATE = regex(
    rf"(?<![\w.])(?:(?P<d1>\d{{1,2}})(?:st|nd|rd"
    rf"|th)?(?: day)?(?: of)? (?P<m1>{MONTH})(?![a-z])(?:,? (?P<y1>{_YEAR})(?!\d))?"
    rf"|(?P<m2>{MONTH}) (?P<d2>\d{{1,2}})(?:st|nd|rd|th)?(?![\d:.,]\d|\w)(?: ?, (?P<y2>{_YEAR})(?!\d)"
    rf"| (?P<y4>{_YEAR})(?!\d))?"
    rf"|(?P<m3>{MONTH}),? (?P<y3>{_YEAR})(?!\d))"
)
"""`3 March 1950`, `March 3, 1950`, `March 1950` and the same without a year."""
_MONTH_BEGIN = regex(r"[JFMASOND](?:an|eb|ar|pr|ay|un|ul|ug|ep|ct|ov|ec)")
_MOST_BEFORE = 8
"""Characters of a date before its month: `31st of `."""
ISO_DATE = regex(r"(?<![\w./:-])([12]\d{3})-(\d{2})-(\d{2})(?![\w/-]|\.\d)")


class NamedDate(NamedTuple):
    """A date of a text.

    Attributes:
        day: Day of the month, or None.
        month: 1 to 12.
        year: The year, or None.
        days: Days since year 1, for differences; a date without a year is in a leap year.
    """

    day: int | None
    month: int
    year: int | None
    days: float


def month_number(name: str) -> int:
    """The number of a month by the first three letters of its name.

    Example:
        >>> month_number("Sept."), month_number("May")
        (9, 5)
    """
    return _NUMBERS[name[:3].lower()]


def days_in_month(month: int, year: int | None) -> int:
    """Number of days; a February without a year has 29.

    Example:
        >>> days_in_month(2, 1900), days_in_month(2, None)
        (28, 29)
    """
    return 29 if month == 2 and year is None else calendar.monthrange(year or 2000, month)[1]


def day_exists(day: int, month: int, year: int | None) -> bool:
    """Whether there is such a day."""
    return 1 <= month <= 12 and 1 <= day <= days_in_month(month, year)


def dates_in(text: str) -> Iterator[re.Match[str]]:
    """The matches of `DATE`, which is slower to look for than the months.

    Example:
        >>> [match[0] for match in dates_in("From 3 March 1950 it marched on to 5 May.")]
        ['3 March 1950', '5 May']
    """
    end = 0
    while (month := _MONTH_BEGIN.search(text, end)) is not None:
        match = DATE.search(text, max(end, month.start() - _MOST_BEFORE))
        if match is None:
            return
        yield match
        end = match.end()


def read_date(match: re.Match[str]) -> NamedDate | None:
    """The date of a match of `DATE`; None if there is no such day.

    Example:
        >>> read_date(DATE.search("on 3 March 1950"))[:3]
        (3, 3, 1950)
        >>> read_date(DATE.search("on 31 June")) is None
        True
    """
    d1, m1, y1, m2, d2, y2, y4, m3, y3 = match.group("d1", "m1", "y1", "m2", "d2", "y2", "y4", "m3", "y3")
    return _date_of(m1 or m2 or m3, d1 or d2, y1 or y2 or y3 or y4)


@lru_cache(maxsize=4_000)
def _date_of(name: str, day: str | None, year: str | None) -> NamedDate | None:
    """The date with these words; a sentence and its paragraph both ask for it."""
    month, number = month_number(name), int(year) if year else None
    if day is not None and not day_exists(int(day), month, number):
        return None
    date = datetime.date(number or 2000, month, int(day or 1))
    return NamedDate(int(day) if day else None, month, number, float(date.toordinal()))
