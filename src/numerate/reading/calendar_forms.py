"""Dates and times as other countries write them, and numbers with a colon that are no times."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from numerate.reading.context import FULL_MONTHS, LOWER_MONTHS, MONTHS, SCRIPTURE, key_of, word_before, word_set

if TYPE_CHECKING:
    from numerate.reading.kinds import Record

__all__ = [
    "CALENDAR_MARKS",
    "CALENDAR_WORDS",
    "colon_reading",
    "has_month",
    "is_count_in_month",
    "is_day",
    "is_ordinal_day",
    "mark_kind",
    "month_follows",
    "read_clock",
]

CALENDAR_MARKS = frozenset("年月日号號時时分秒년월일시분초")
"""Characters after the parts of Chinese, Japanese and Korean dates and times."""
CALENDAR_WORDS = frozenset([*LOWER_MONTHS, "de", "er", "Uhr", ".", "f", "ao", "d", "mar", "M", "J"])
"""Words and marks after the day of a date, or after an hour; a word ends before its first accent: `f` of `février`."""
_LETTER = "a-zA-Zäéûç"
# Names that are ordinary words or names in another language need a second sign of a date.
_DOUBTFUL = word_set("doubtful_months")
_dotted_month = re.compile(rf"\. ?([{_LETTER}]++)(?!['’-])").match
_month = re.compile(rf"(?:er)? (?:de )?([{_LETTER}]++)").match
_in_month = re.compile(r"\b[Ii]n [A-Za-z]+[.,]? $").search
_after_date = re.compile(r"\d(?:st|nd|rd|th)?\s(?:of\s)?[^\W\d_]+,\s$").search  # `to 17 May, 21 days in all`
_year_behind = re.compile(r"(?:st|nd|rd|th)? ?,? ?[12]\d{3}(?!\d)").match
_TIMES = frozenset(["s", "min", "h", "d", "week", "month", "year", "decade", "century"])
_ordinal_month = re.compile(r" (?:of )?([A-Z][a-z]++)").match
_year_follows = re.compile(r"\.?(?: de| del)? \d{4}(?!\d)").match
_ARTICLES = word_set("articles_before_dates")
_POINT_TIME = re.compile(r"([01]?[0-9]|2[0-4])\.([0-5][0-9])(?=[ \n]?(?:[apAP]\.?[mM]\b|Uhr\b))").match
_H_TIME = re.compile(r"(?<![^\W\d_])([01]?[0-9]|2[0-4])h([0-5][0-9])(?!\w)").match
_CLOCK = re.compile(r"[ \n]?(?:[ap]\.?m\b|o'clock|Uhr|hrs?\b|GMT|UTC|[ECMP][SD]T\b)", re.IGNORECASE).match
_RATIO_AFTER = re.compile(
    r"[ -]?[(]?(?:serial |final |molar |mass |weight |volume |w/w|v/v|w/v)?"
    r"(?:dilut|ratio|scale|mix|v/v|w/w|w/v|odds|split|blend|molar|stoich|proportion|gear|\bby (?:weight|volume|mass))"
    r"|[,;)] ?\(?(?:v/v|w/w|w/v|by (?:weight|volume|mass))"
).match
_RATIO_BEFORE = re.compile(
    r"(?:ratios?|dilut\w{0,4}|scales?|odds|proportions?|mixed|split|stoichiometry|mixture)"
    r"(?: (?:of|at|to|in|is|was|a))?[ :(]*$"
).search
_RATIO_STEMS = ("ratio", "dilut", "scale", "odds", "proportion", "mix", "split", "stoich")
"""One of them is in every match of `_RATIO_BEFORE`; the search takes ten times as long as this test."""
_TIME_CUES = word_set("time_cues")
_PAIR = re.compile(r"([0-9]{1,2}):([0-9]{2})").fullmatch


def has_month(gap: str) -> bool:
    """Whether the text between a day and a year is a month: `. Oktober `, ` de mayo de `."""
    words = [word for word in gap.replace(".", " ").replace(",", " ").split() if word not in ("de", "del", "of")]
    return len(words) == 1 and (words[0] in MONTHS or words[0] in LOWER_MONTHS)


def is_day(text: str, start: int, end: int, word: str, digits: str) -> bool:
    """Whether the number is the day before a month: `3. Oktober`, `14 juillet`, `1er janvier`, `5 de mayo`."""
    if len(digits) > 2 or not digits.isdecimal() or not 1 <= int(digits) <= 31:
        return False
    match = (_dotted_month if word == "." else _month)(text, end)
    if match is None or (word == "er" and not text.startswith("er", end)):
        return False
    month = match[1]
    if month not in (MONTHS if word in (".", "M", "J") else LOWER_MONTHS):
        return False
    if month in _DOUBTFUL or len(month) == 3:
        certain = word == "de" or word_before(text, start) in _ARTICLES
        return certain or _year_follows(text, match.end()) is not None
    return True


def is_ordinal_day(text: str, start: int, stop: int, digits: str) -> bool:
    """Whether an ordinal is the day of a date: `September 9th`, `the 3rd of March`, `3rd March`."""
    if len(digits) > 2:
        return False
    if word_before(text, start).rstrip(".,") in MONTHS:
        return True
    return month_follows(text, stop)


def month_follows(text: str, stop: int) -> bool:
    """Whether a month follows the ordinal that ends at `stop`: `the 3rd of March`, `3rd March`."""
    match = _ordinal_month(text, stop)
    return match is not None and match[1] in MONTHS


def mark_kind(text: str, end: int, mark: str, digits: str, records: list[Record]) -> str | None:
    """The kind of a number before one of `CALENDAR_MARKS`; None if it is not part of a date or time."""
    value = int(digits) if digits.isdecimal() and len(digits) <= 4 else -1
    joint = text[records[-1][1] : end - len(digits)].strip() if records else ""
    dated = records and records[-1][3] in ("date", "year") and len(joint) == 1
    following = text[end + 1 : end + 8].lstrip()
    digits_after = len(following) - len(following.lstrip("0123456789０１２３４５６７８９"))
    next_mark = following[digits_after : digits_after + 1] if digits_after else ""
    if mark in "年년":
        if next_mark and next_mark in "月월" and value > 0:
            return "date"
        return "year" if len(digits) == 4 and 1000 <= value <= 2199 else None
    if mark in "月월":
        return "date" if 1 <= value <= 12 else None
    if mark in "日号號일":
        return "date" if dated and joint in "月월" and 1 <= value <= 31 else None
    if mark in "時时시":
        return "time" if 0 <= value <= 24 else None
    timed = records and records[-1][3] == "time" and len(joint) == 1
    return "time" if timed and 0 <= value < 60 else None


def read_clock(text: str, start: int, records: list[Record]) -> int | None:
    """Reads `2.15pm`, `17.30 Uhr` and `17h30` as hour and minute; None if there is no such time."""
    match = _POINT_TIME(text, start) or _H_TIME(text, start)
    if match is None:
        return None
    records.extend((*match.span(group), float(match[group]), "time", None, None, 0, ".") for group in (1, 2))
    return match.end()


def colon_reading(text: str, start: int, cluster: str) -> tuple[str, str] | None:
    """Kind and confidence of numbers with a colon that look like a time: a verse, a ratio or a time; None: a time.

    Example:
        >>> colon_reading("a 1:10 dilution", 2, "1:10"), colon_reading("John 3:16", 5, "3:16")
        (('ratio', 'certain'), ('identifier', 'certain'))
    """
    end = start + len(cluster)
    cue = word_before(text, start)
    clock = _CLOCK(text, end) is not None
    if not clock and cue[:1] in "(ABCDEFGHIJKLMNOPQRSTUVWXYZ" and key_of(cue) in SCRIPTURE:
        return "identifier", "certain"
    pair = _PAIR(cluster)
    if pair is None or clock:
        return None
    before = text[start - 28 if start > 28 else 0 : start].lower()
    if _RATIO_AFTER(text, end) or (any(map(before.__contains__, _RATIO_STEMS)) and _RATIO_BEFORE(before)):
        return "ratio", "certain"
    if pair[1] == pair[2] and int(pair[1]) > 24:
        return "ratio", "likely"  # 50:50
    if pair[1] == "1" and key_of(cue) not in _TIME_CUES:
        return "time", "guess"
    return None


def is_count_in_month(
    text: str, begin: int, end: int, cue: str, unit: str | None, span: tuple[int, int] | None
) -> bool:
    """Whether one or two digits after a month are no day: `in July 13 °C`, `In May, 12 trees`, `in June. 8 of them`."""
    if unit is not None and span is not None:
        hyphen = text[end : end + 1] == "-"  # the January 10-year bond
        if unit == "week" or (span[1] - span[0] == 1 and text[span[0]].isalpha()):
            return hyphen  # `the February 16 week`, `May 5 L 2-3`
        # `July 13 hours before`: of times, only those in a month, or behind a whole date, are no days.
        before = text[max(0, begin - 20) : begin]
        return hyphen or unit not in _TIMES or _in_month(before[-16:]) is not None or _after_date(before) is not None
    if cue[-1] not in ".," or (cue[-1] == "." and cue[:-1] not in FULL_MONTHS):
        return False
    return _year_behind(text, end) is None
