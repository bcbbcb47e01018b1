"""Weekdays that a date does not have, in all written orders, and dates of an end before those of its begin."""

from __future__ import annotations

import datetime
import itertools
import re
from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from numerate.apps.consistency.dates.calendar_words import ISO_DATE, WEEKDAYS
from numerate.apps.consistency.sentences.gates import group_gate
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.sentence_windows import sentence_groups
from numerate.apps.consistency.sentences.traits import DATES, NUMERIC_DATE, stems
from numerate.apps.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numerate.apps.consistency.sentences.sentences import Sentence

__all__ = ["date_claims"]

_DAY = (
    r"(?P<w>Mon(?:day)?|Tue(?:s(?:day)?)?|Wed(?:nesday)?|Thu(?:r(?:s(?:day)?)?)?|Fri(?:day)?"
    r"|Sat(?:urday)?|Sun(?:day)?)\b"
)
_BEFORE = regex(rf"\b{_DAY}\.?(?:,|:| the| \()*[ (]$")
_AFTER = regex(
    r",? ?\(?(?:which (?:is|was|will be|falls on|fell on) an? |that is,? an? |(?:is|was|falls on"
    r"|fell on|will be|it was)? ?an? )?"
    rf"(?:the )?{_DAY}(?! (?:the )?(?:\d|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec))"
)
_ANY_DAY = regex(r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)")
_SLASHED = regex(r"(?<![\w./-])(\d{1,2})([/.])(\d{1,2})\2((?:19|20)\d\d)(?![\w/-]|\.\d)")
_BEGIN = regex(
    r"\b(?:open(?:s|ed|ing)?|start(?:s|ed)?|begins?|began|begun|from|check(?:ing|ed)?[ -]in|depart\w*|le(?:ave"
    r"|aves|aving|ft)"
    r"|effective|takes? effect|took effect|into (?:force|effect)|in force|commenc\w+|issued|admitted|admission|surgery"
    r"|arriv(?:e|es|al|ing|ed)|outbound|valid from|launch\w*|born|placed|ordered|received|submitted|picked up|pick-up"
    r"|collect\w*|signed|hired|planted|sown|start date|moved in|booked from|arrested|detained|sampl\w+|drawn|taken|sent"
    r"|posted|mailed|dispatched|shipped|filed|lodged|applied|bought|purchased|purchase|dated|joined|appointed|elected"
    r"|enrolled|married|founded|established|laid down|set off|set out|sailed|charged|convicted|diagnosed)\b",
    re.IGNORECASE,
)
_END = regex(
    r"\b(?:clos(?:e|es|ed|ing)|ends?|ended|ending|until|till|through|check(?:ing|ed)?[ -]out|returns?|returned"
    r"|returning|expires?|expired|expiry|discharged?|deadline|finish\w*|conclud\w+|completed|died|inbound|due(?: back)?"
    r"|drop-off|harvested|moved out|end date|back on|leave on|terminat\w+|lapse[sd]?|accepted on|published|released"
    r"|report(?:s|ed)|results?|delivered|replied|answered|granted|approved|resigned|retire[sd]?|divorced|scrapped"
    r"|dissolved|payable|paid|reached|arrived|acquitted|sentenced|home|landed|docked)\b",
    re.IGNORECASE,
)
_BEGIN_CUES = stems(
    "open start begin began_ begun_ from_ check depart leav left_ effect force_ commenc issued_ admitted_ admission_ "
    "surgery_ arriv outbound_ valid_ launch born_ placed_ ordered_ received_ submitted_ pick collect signed_ hired_ "
    "planted_ sown_ moved_ booked_ arrested_ detained_ sampl drawn_ taken_ sent_ posted_ mailed_ dispatched_ shipped_ "
    "filed_ lodged_ applied_ bought_ purchase dated_ joined_ appointed_ elected_ enrolled_ married_ founded_ "
    "established_ laid_ set_ sailed_ charged_ convicted_ diagnosed_"
)
"""What a match of `_BEGIN` has in it."""
_NOT_ORDER = regex(
    r"\b(?:previous|last year|earlier|before|after|originally|postponed|moved|rescheduled|brought forward|instead"
    r"|following|extended|since|already|unlike|amended|revised|replac\w+|back to|second|again|re-?opened|another|next"
    r"|financial|other|prior|as of|compared|restated|reviewed)\b",
    re.IGNORECASE,
)


class _Date(NamedTuple):
    start: int
    end: int
    date: datetime.date
    has_year: bool
    is_sure: bool


_WEEKDAYS = stems(
    "monday tuesday wednesday thursday friday saturday sunday mon_ tue_ tues_ wed_ thu_ thur_ thurs_ fri_ sat_ sun_"
)


def date_claims(text: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    """Findings of a text by paragraphs: weekdays first, then the order of dates, then days later."""
    for group in sentence_groups(text, sentences):
        yield from _of_dates(text, group)
        yield from _days_later(text, group)


@group_gate(DATES[1] | NUMERIC_DATE)
def _of_dates(text: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    """Weekdays and the order of dates."""
    for group in sentence_groups(text, sentences):
        has_weekdays, has_digits = group.traits & _WEEKDAYS, group.traits & NUMERIC_DATE
        told: list[tuple[_Date, int, tuple[int, int]]] = []
        for sentence in group:
            has_weekday = has_weekdays and sentence.traits & _WEEKDAYS
            if not has_weekday and not (
                (has_digits or len(sentence.numerals) > 3 or sentence.tally.dates > 1) and _may_have_two(sentence)
            ):
                continue
            dates = _dates(sentence)
            if not dates:
                continue
            if has_weekday and ("day" in sentence.text or _ANY_DAY.search(sentence.text)):
                for each, weekday, span in _weekdays(sentence, dates):
                    if each.has_year and each.is_sure and each.date.year >= 1925:
                        if each.date.weekday() != weekday:
                            yield _finding(text, span, f"that day was a {WEEKDAYS[each.date.weekday()]}")
                    elif not each.has_year:
                        told.append((each, weekday, span))
            yield from _order(text, sentence, dates)
        yield from _distances(text, told)
        yield from _over_sentences(text, group)


MOST_EARLY = 45
_OPENS = regex(r"\b(?:open\w*|start\w*|begin\w*|began|check\w*|arriv\w+|admi\w+|depart\w*|leav\w+)\b", re.IGNORECASE)
_TWO_YEARS = regex(r"\b(?:years?|annual\w*|seasons?|twelve|eleven|\d+ months|winter|terms?)\b", re.IGNORECASE)


def _may_have_two(sentence: Sentence) -> bool:
    """Whether a sentence may have two dates with a year, which is cheap to know: each has digits that were read."""
    text = sentence.text
    if text.count("-") > 1 or text.count("/") > 1 or text.count(".") > 2:
        return True
    return len(sentence.numerals) > 1 and any(each.kind == "date" for each in sentence.numerals)


def _dates(sentence: Sentence) -> list[_Date]:
    text, found = sentence.text, []
    for match, date in sentence.dates:
        if date.day is not None:
            day = datetime.date.fromordinal(int(date.days))
            found.append(_Date(match.start(), match.end(), day, date.year is not None, True))
    if text.count("-") > 1:
        for match in ISO_DATE.finditer(text):
            _add(found, match, *(int(match[index]) for index in (1, 2, 3)))
    if text.count("/") > 1 or text.count(".") > 2:
        for match in _SLASHED.finditer(text):
            one, other, year = int(match[1]), int(match[3]), int(match[4])
            if match[2] == "." or one > 12:
                _add(found, match, year, other, one)
            elif other > 12:
                _add(found, match, year, one, other)
    return sorted(found)


def _add(found: list[_Date], match: re.Match[str], year: int, month: int, day: int) -> None:
    try:
        found.append(_Date(match.start(), match.end(), datetime.date(year, month, day), True, True))
    except ValueError:
        return


def _weekdays(sentence: Sentence, dates: list[_Date]) -> Iterator[tuple[_Date, int, tuple[int, int]]]:
    text, offset = sentence.text, sentence.offset
    for each in dates:
        before = _BEFORE.search(text, max(0, each.start - 18), each.start)
        match = before if before is not None and before.end() == each.start else _AFTER.match(text, each.end)
        if match is None:
            continue
        weekday = next(index for index, name in enumerate(WEEKDAYS) if name.startswith(match["w"][:3]))
        yield each, weekday, (min(match.start("w"), each.start) + offset, max(match.end("w"), each.end) + offset)


def _distances(text: str, told: list[tuple[_Date, int, tuple[int, int]]]) -> Iterator[Finding]:
    """Weekdays of two dates without a year that cannot be in one year: `Friday 13 October to Sunday 16 October`."""
    if not 2 <= len(told) <= 4:
        return
    (one, first, _), (other, second, span) = told[0], told[1]
    if other.date < one.date or (one.date.month <= 2 < other.date.month) or (other.date - one.date).days > 62:
        return
    if ((other.date - one.date).days - (second - first)) % 7:
        yield _finding(text, span, "its weekday does not fit the other date")


def _order(text: str, sentence: Sentence, dates: list[_Date]) -> Iterator[Finding]:
    full = [each for each in dates if each.has_year]
    if not full and len(dates) == 2 and 1 < (dates[0].date - dates[1].date).days < MOST_EARLY:
        # The same days of two years are hardly so near: `opens on 10 May and closes on 2 May`.
        full = dates if _OPENS.search(sentence.text) and not _TWO_YEARS.search(sentence.text) else []
    if len(full) != 2 or len(dates) != 2 or full[0].date <= full[1].date:
        return
    words, (a, b) = sentence.text, full
    before, between = words[max(0, a.start - 60) : a.start], words[a.end : b.start]
    begins = [*_BEGIN.finditer(before)]
    if (
        not begins
        or not (_END.search(between) or between.strip() in ("to", "-", "–"))
        or len(between) > 90
        or _NOT_ORDER.search(words)
    ):
        return
    if _END.search(before, begins[-1].end()) or _BEGIN.search(between):
        return
    span = b.start + sentence.offset, b.end + sentence.offset
    yield _finding(text, span, f"this is before {words[a.start : a.end]}, when it begins")


def _over_sentences(text: str, group: Sequence[Sentence]) -> Iterator[Finding]:
    """A begin in one sentence and an earlier end in the next: `from 1 May 2024. It ends on 30 April 2023`."""
    for first, last in itertools.pairwise(group):
        if last.offset - first.offset - len(first.text) > 3 or not first.words & _BEGIN_CUES:
            continue
        if not first.dates or not last.dates:
            continue
        one, other = _dates(first), _dates(last)
        if len(one) != 1 or len(other) != 1 or not (one[0].has_year and other[0].has_year):
            continue
        (a,), (b,) = one, other
        before, words = first.text[: a.start], last.text[: b.start]
        if a.date <= b.date or _NOT_ORDER.search(first.text) or _NOT_ORDER.search(last.text) or " had " in last.text:
            continue
        if _BEGIN.search(before) and not _END.search(before) and _END.search(words) and not _BEGIN.search(words):
            span = b.start + last.offset, b.end + last.offset
            yield _finding(text, span, f"this is before {first.text[a.start : a.end]}, when it begins")


_WEEKDAY = "|".join(WEEKDAYS)
_ONE_DAY = regex(rf"\b(?:{_WEEKDAY})\b")
_LATER = regex(
    r"\b(?:(?P<n>two|three|four|five|six) days (?:later|after(?:wards)?)|the (?:next|following) day"
    r"|the day after|a day later)"
    rf"(?: that)?,? (?:on )?\(?(?P<w>{_WEEKDAY})\b"
)
_COUNTS = {word: n for n, word in enumerate("two three four five six".split(), 2)}  # noqa: SIM905


def _days_later(text: str, group: Sequence[Sentence]) -> Iterator[Finding]:
    """`last seen on Tuesday ... found two days later, on Friday`; sentences without a number count, too."""
    if not group:
        return
    start, end = group[0].offset, group[-1].offset + len(group[-1].text)
    begin = max(text.rfind("\n\n", max(0, start - 200), start), start - 200, 0)
    if text.find(" day", begin, end) < 0:
        return
    found = [*_LATER.finditer(text, begin, end)]
    days = [*_ONE_DAY.finditer(text, begin, end)] if found else []
    ends = [each.end() for each in days]
    for match in found:
        at = bisect_right(ends, match.start())
        if not at:
            continue
        day = days[at - 1][0]
        if (WEEKDAYS.index(day) + _COUNTS.get(match["n"] or "", 1) - WEEKDAYS.index(match["w"])) % 7:
            yield _finding(text, match.span("w"), f"this is not {match[0].split(',')[0]} {day}")


def _finding(text: str, span: tuple[int, int], reason: str) -> Finding:
    written = text[span[0] : span[1]]
    message = f"{' '.join(written.split())}: {reason}."
    return Finding(rule="date", message=message, written=written, span=span, probability=0.93)
