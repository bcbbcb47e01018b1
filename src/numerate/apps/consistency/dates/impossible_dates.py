"""Dates and times of the day that do not exist: `31 June`, `29 February 2023`, `at 14:75`."""

from __future__ import annotations

import datetime
import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import Rule, finding_in_cell, rules
from numerate.apps.consistency.dates.calendar_claims import decade_spans, leap_years
from numerate.apps.consistency.dates.calendar_words import (
    DATE,
    ISO_DATE,
    MONTH,
    WEEKDAYS,
    day_exists,
    days_in_month,
    month_number,
    read_date,
)
from numerate.apps.consistency.dates.date_claims import date_claims
from numerate.apps.consistency.dates.table_weekdays import table_weekdays
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.traits import TIMES, VALUES, cues
from numerate.apps.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.consistency.sentences.tally import Tally
    from numerate.apps.documents import Document

__all__ = ["ImpossibleDate", "impossible_cell"]

_MONTHS = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
]  # fmt: skip
_NUMERIC = regex(r"\d[-/.]\d{1,2}[-/.]\d")
_CODE = regex(
    r"\b(?:order|invoice|number|no\.?|id|ref\.?|reference|part|model|serial|case|item|ticket|version|code"
    r"|file|docket)[ :#]+$",
    re.IGNORECASE,
)
"""Words before a code that only looks like a date."""
_SLASHED = regex(r"(?<![\w./-])(\d{1,2})([/.])(\d{1,2})\2([12]\d{3})(?![\w/-]|\.\d)")
# Also days that no month has, which are no dates for the reader: `32 January 2020`.
_HIGH_DAY = regex(rf"(?<![\w.,/-])(?P<d1>3[2-9]|[4-9]\d) (?P<m1>{MONTH}),? (?P<y1>[12]\d{{3}})(?!\d)")
# The last of several days: `June 28-31`, `September 29, 30 and 31`.
_LAST_DAY = regex(
    rf"(?P<m2>{MONTH}) \d{{1,2}}(?:, \d{{1,2}})*(?: ?[-–] ?|,? and | to )(?P<d2>\d{{1,2}})(?![\d:.,-]\d|\w)"
    r"(?:,? (?P<y2>[12]\d{3})(?!\d))?"
)
_MONTH_FIRST = regex(rf"\b{MONTH} \d{{1,3}}(?![\d,.:]\d|\d|st|nd|rd|th)")
MOST_MONTHS = 2
"""A sentence with more months that each have a number behind them lists counts: `April 28, May 31, June 31`."""
_CLOCK = regex(
    r"\b(?:at|until|till|from|by|around|before|after|(?<=:\d\d )(?:to|and))( \d{1,2}):(\d{2})"
    r"(?![\d:]|\.\d)(\s?[ap]\.?m\b)?",
    re.IGNORECASE,
)
_ANY_CLOCK = regex(r"(?<![\d:.-])( ?\d{1,2}):(\d{2})(?![\d:]|\.\d)(\s?[ap]\.?m\b)?", re.IGNORECASE)
_MINUTES = regex(r":\d\d")
_TODAY = regex(
    r"\b(?:tonight|today|tomorrow|yesterday|deadline|depart\w*|arriv\w+|kick-?off|o.clock|leaves|opens"
    r"|closes|begins|starts)\b",
    re.IGNORECASE,
)
_LONG = regex(r"\s?(?:-?minutes?\b|min\b|hours?\b|long\b|into\b|mark\b|run\b|left\b|ratio\b)", re.IGNORECASE)
"""Behind minutes and seconds: `25:40 long`."""
_SCALE = regex(
    r"\b(?:scale[ds]?|models?|kits?|gauge|maps?|plans?|drawings?|replicas?|miniatures?|built|dilut\w+)\b", re.IGNORECASE
)
_WEEKDAY = regex(rf"\b(?P<weekday>{'|'.join(WEEKDAYS)}),? (?:the )?{DATE.pattern}")
_CELL_CLOCK = regex(r"(\d{1,2}):(\d{2})(?::\d{2})?")
_SCORE = regex(
    r"\b(?:won|lost|score|beat|defeat|led|draw|drew|handball|match|verse|gospel|bible|psalm|game|set)", re.IGNORECASE
)
# `In June 31 people were arrested`, `around 31 June bugs`, `the April 31-day notice`: the number counts what follows.
_COUNTS = regex(
    r"\s+(?!(?:and|at|in|on|with|the|when|to|after|for|by|as|of|but|or|from|until|that|this|was|were|is"
    r"|are|a|an|he|she|they|it|we|which|who|each|every|next|this|last|because|if|while|instead|would|noon|midnight|both"
    r"|will|has|had|be|where|since|before|there|has|have|did|does|no|not|may|through|till|inclusive|unless|so|our|your"
    r"|their|his|her|its|my|please|you|than)\b)[a-z]|[-–][A-Za-z]"
)
_SURE_DATE = regex(r"\b(?:on|until|till|by|before|since|dated|due)(?: the)?\s*$", re.IGNORECASE)
_IN_MONTH = regex(r"\b(?:in|last|this|next|of|for|during|early|late|mid)\s*$", re.IGNORECASE)
"""Before `June 31`, a number that counts may follow: `in June 31 of them closed`."""
_OTHER_CALENDAR = regex(
    r"\b(?:Julian|[Oo]ld [Ss]tyle|O\.S\.|(?:not|n['’]t|never) exist\w*|no such|non-?existent|fictitious"
    r"|imaginary|hoax|bug|typo|misprint|invalid|pars(?:e[ds]?|er|ing)\b|(?:not|n['’]t|never) an? (?:valid|real)\b"
    r"|longer (?:crash|fail|break|reject|accept|valid)\w*)"
)
"""Also words by which a text says itself that there is no such day."""


_OF_OLD = frozenset([(30, 2, 1712), (29, 2, 1700)])
"""Days of the Swedish calendar and of the Julian one, which Protestant countries kept till then."""


@rules.register("date")
class ImpossibleDate(Rule):
    """A day that its month does not have, or a minute that no hour has."""

    title = "impossible date"
    help = "There is no such day or time of the day."
    needs = (TIMES[1] | VALUES[3] | cues(":"),)

    def wants(self, tally: Tally, text: str) -> bool:
        """A late day of a month, a weekday, a numeric date or a time of the day."""
        return (
            (tally.late and (tally.times > 0 or (tally.values > 2 and _LAST_DAY.search(text) is not None)))
            or ":" in text
            or (tally.times > 0 and "day" in text)
            or (tally.times + tally.values > 2 and _NUMERIC.search(text) is not None)
        )

    def sentence(self, sentence: Sentence) -> Iterable[Finding]:
        """Looks at dates with a month's name, ISO and slashed dates, and times after `at` and the like."""
        text = sentence.text
        # The reader sees dates wherever a month stands beside a number.
        is_dated = sentence.tally.dates > 0 or _LAST_DAY.search(text) is not None
        if is_dated and any(28 < each.value < 100 for each in sentence.numerals):
            for pattern in (DATE, _HIGH_DAY, _LAST_DAY):
                for match in pattern.finditer(text):
                    found = _named(text, match)
                    if found is not None:
                        yield _finding(sentence.offset, match.span(), match[0], found)
        if is_dated and "day" in text:
            for match in _WEEKDAY.finditer(text):
                date = read_date(match)
                # Before that, other calendars were in use.
                if date is None or date.day is None or date.year is None or date.year < 1925:
                    continue
                real = WEEKDAYS[datetime.date.fromordinal(int(date.days)).weekday()]
                if real != match["weekday"].capitalize():
                    start = match.start("weekday")
                    span, message = (start, match.end()), f"that day was a {real}"
                    yield _finding(sentence.offset, span, text[slice(*span)], message)
        if len(sentence.numerals) > 2 and not _OTHER_CALENDAR.search(text):
            for start, end, message in _numeric(text):
                yield _finding(sentence.offset, (start, end), text[start:end], message)
        if ":" in text and _MINUTES.search(text) and not _SCORE.search(text):
            for match in (_ANY_CLOCK if _TODAY.search(text) else _CLOCK).finditer(text):
                if _LONG.match(text, match.end()):
                    continue
                hours, minutes = int(match[1]), int(match[2])
                if hours == 1 and _SCALE.search(text):
                    continue  # `a model at 1:87`
                if (24 * 60 < 60 * hours + minutes < 30 * 60 and minutes < 60) or (hours <= 24 and 60 <= minutes < 100):
                    span = match.start(1) + (match[1][0] == " "), match.end()
                    yield _finding(sentence.offset, span, text[slice(*span)], "there is no such time of the day")

    def whole(self, document: Document, sentences: Sequence[Sentence]) -> Iterable[Finding]:
        """Looks at weekdays in other orders, dates of a begin and an end, decades and leap years."""
        yield from date_claims(document.flat, sentences)
        yield from decade_spans(document.flat, sentences)
        yield from leap_years(document.flat, sentences)

    def table(self, document: Document, table: Any) -> Iterable[Finding]:
        """Looks at columns in which most cells are dates or times that exist, and at weekdays beside them."""
        yield from table_weekdays(document)
        for index, cells in table.text_columns():
            wrong = [(row, impossible_cell(cell)) for row, cell in cells if impossible_cell(cell)]
            if not wrong or len(wrong) > max(1, len(cells) // 10):
                continue
            dated = sum(_looks_dated(cell) for _, cell in cells)
            if dated < 0.6 * len(cells):
                continue
            for row, reason in wrong:
                yield finding_in_cell(
                    "date", document, row, index, f"{str(document.rows[row][index]).strip()}: {reason}."
                )


def impossible_cell(cell: str) -> str:
    """Why the date or time of a cell cannot be; empty if it can.

    Example:
        >>> impossible_cell("2023-11-31"), impossible_cell("10:61"), impossible_cell("9")
        ('November has 30 days', 'there is no such time of the day', '')
    """
    text = cell.strip()
    for _, _, message in _numeric(text):
        return message
    for pattern in (DATE, _HIGH_DAY):
        match = pattern.fullmatch(text)
        if match is not None:
            return _reason(match) or ""
    clock = _CELL_CLOCK.fullmatch(text)
    if clock is not None and int(clock[2]) > 59 and int(clock[1]) < 25:  # `25:01` may be minutes and seconds
        return "there is no such time of the day"
    return ""


def _looks_dated(cell: str) -> bool:
    text = cell.strip()
    return any(p.fullmatch(text) for p in (DATE, ISO_DATE, _SLASHED, _CELL_CLOCK)) or bool(impossible_cell(cell))


def _named(text: str, match: re.Match[str]) -> str | None:
    """Why a date with a month's name does not exist; None if it does, or is no date."""
    reason = _reason(match)
    if reason is None:
        return None
    groups = match.groupdict()
    has_year = any(groups.get(key) for key in ("y1", "y2", "y4"))
    if not has_year and int(groups.get("d2") or 0) > 31:
        return None  # a year: `from Feb 92 to Feb 99`
    if not has_year:
        before, is_day_first = text[: match.start()], groups.get("d1") is not None
        if before.endswith((" a ", " no ", "'", '"', "‘", "“")) or _OTHER_CALENDAR.search(text):
            return None
        if _COUNTS.match(text, match.end()) and not (is_day_first and _SURE_DATE.search(before)):
            return None
        written = text[match.start() : match.end() + 1]
        if not is_day_first and (
            (_IN_MONTH.search(before) and (written[-1] == " " or "-" in written))
            or len(_MONTH_FIRST.findall(text)) > MOST_MONTHS
        ):
            return None
    elif int(next(groups[key] for key in ("y1", "y2", "y4") if groups.get(key))) < 1600 or _OTHER_CALENDAR.search(text):
        return None  # other calendars
    return reason


def _reason(match: re.Match[str]) -> str | None:
    groups = match.groupdict()
    day, name = groups.get("d1") or groups.get("d2"), groups.get("m1") or groups.get("m2")
    if day is None or name is None:
        return None
    year = next((int(groups[key]) for key in ("y1", "y2", "y4") if groups.get(key)), None)
    month = month_number(name)
    if day_exists(int(day), month, year) or int(day) == 0 or (int(day), month, year) in _OF_OLD:
        return None
    return _days(month, year)


def _days(month: int, year: int | None) -> str:
    where = f" {year}" if month == 2 and year is not None else ""
    return f"{_MONTHS[month - 1]}{where} has {days_in_month(month, year)} days"


def _numeric(text: str) -> Iterable[tuple[int, int, str]]:
    for match in ISO_DATE.finditer(text) if text.count("-") > 1 else ():
        if _CODE.search(text, max(0, match.start() - 24), match.start()):
            continue
        year, month, day = (int(match[group]) for group in (1, 2, 3))
        if not 1 <= month <= 12:
            if 1 <= day <= 31 and 1800 <= year <= 2100 and 12 < month <= 31:
                yield *match.span(), f"there is no month {month}"
        elif not day_exists(day, month, year) and day:
            yield *match.span(), _days(month, year)
    for match in _SLASHED.finditer(text) if text.count("/") > 1 or text.count(".") > 1 else ():
        one, other, year = int(match[1]), int(match[3]), int(match[4])
        if not (1 <= one <= 31 and 1 <= other <= 31) or not 1800 <= year <= 2100:
            continue
        if not (day_exists(one, other, year) or day_exists(other, one, year)):
            month = other if other <= 12 else one
            yield *match.span(), (_days(month, year) if month <= 12 else f"there is no month {month}")


def _finding(offset: int, span: tuple[int, int], written: str, reason: str) -> Finding:
    where = (span[0] + offset, span[1] + offset)
    return Finding(rule="date", message=f"{written.strip()}: {reason}.", written=written, span=where, probability=0.97)
