"""Durations that point back at one told before: `for three weeks. After these 14 days`, `from 3 to 17 May: 21 days`.

A duration with `these` or `those` is the one between two dates or years, or the one in another unit, that stand before
it. One that is longer than the days of a month beside it (`from 3 to 17 May`) is wrong without such a word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain
from numerate.apps.consistency.dates.calendar_words import YEAR_DAYS
from numerate.apps.consistency.sentences.gates import paragraph_gate
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.traits import DATES, TIMES, UNITS, stems

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.findings import Finding

__all__ = ["days_of_month", "told_spans"]

_DAYS = {"min": 1 / 1440, "h": 1 / 24, "d": 1.0, "week": 7.0, "month": 30.4369, "year": YEAR_DAYS}
_NAMES = {"min": "minutes", "h": "hours", "d": "days", "week": "weeks", "month": "months", "year": "years"}
_BACK = regex(r"\b(?:these|those)(?: (?:whole|full|entire|long|same))? $")
_ITS = regex(r"\b(?:in|during|over|throughout|of|after) (?:its|his|her|their)(?: (?:whole|full|entire|long))? $")
_LIFE = regex(
    r"\b(?:opened|built|founded|established|launched|began|started|joined|commissioned|created|formed)\b.*"
    r"\b(?:closed|ended|demolished|dissolved|left|retired|abandoned|disbanded|scrapped|stopped|until)\b"
)
_APART = regex(
    r"\b(?:first|second|last|next|another|others?|each|every|per|of (?:which|them|these|those)|remaining|more|further"
    r"|extra|only|half|planned|expected|later|again|twice|times|ago|before|every|reopened|rebuilt|including|except"
    r"|working|business|if|weekends?|daily|most|some|many|about|around|nearly|almost|over half|than|some of|one of"
    r"|two of|most of|three of|between|either|or)\b"
)
_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
_RUN = regex(
    rf"\b(?:from |between )?(?P<a>\d{{1,2}})(?:st|nd|rd|th)?(?: to | until | till | and |[–-]| [–-] )"
    rf"(?P<b>\d{{1,2}})(?:st|nd|rd|th)? (?P<m>{_MONTHS})\b"
    rf"|\b(?:from )?(?P<m2>{_MONTHS}) (?P<a2>\d{{1,2}})(?: to | until |[–-]| [–-] )(?P<b2>\d{{1,2}})(?![\d:/])"
)
_SPENT = regex(
    r"\b(?:spend|spends|spent|stay|stays|stayed|lasts?|lasted|lasting|takes?|took|for|these|those|all|run of|stay of"
    r"|trip of|tour of|total of|so|away)(?: (?:for|a|an|the|whole|all|full|these|those|exactly))* $"
)
_MORE_DAYS = regex(
    r"\b(?:extra|extend\w*|extension|add|adds|added|longer|more|another|before|after|notice|within|advance|ago|later"
    r"|every|valid|refund\w*|return\w*|cancel\w*|warrant\w*|free|if|those who|last year|usual\w*|instead|than|previous"
    r"|again|also|then|followed|plus|second|other|next|leave|prison|sentence\w*)\b"
)


@paragraph_gate(stems("these_ those_ its_ his_ her_ their_"), UNITS[1], UNITS[2] | TIMES[2])
def told_spans(paragraph: Paragraph) -> Iterator[Finding]:
    """A duration with `these` or `its` beside another duration or two dates, and nothing else of that kind."""
    for d in paragraph.values:
        if d.unit not in _DAYS or d.hedge or d.value <= 0:
            continue
        lead = paragraph.lead(d)
        is_back = _BACK.search(lead) is not None
        if not is_back and not _ITS.search(lead):
            continue
        here = paragraph.place(d)
        near = [
            each for each in paragraph.whole.quantities if here - 1 <= paragraph.place(each) and each.end <= d.start
        ]
        spans = [each for each in near if each.unit in _DAYS]
        times = [each for each in near if each.group in ("date", "year", "clock")]
        if is_back and len(spans) == 1 and not times and spans[0].unit != d.unit:
            yield from _other_unit(paragraph, spans[0], d)
        elif len(times) == 2 and not spans and times[0].group == times[1].group:
            yield from _between(paragraph, times[0], times[1], d, is_back)


def _other_unit(paragraph: Paragraph, span: Quantity, d: Quantity) -> Iterator[Finding]:
    words = paragraph.lead(span) + " | " + paragraph.between(span, d)
    sizes = _DAYS[span.unit or ""], _DAYS[d.unit or ""]
    real = span.value * sizes[0] / sizes[1]
    if span.hedge or span.value <= 0 or _APART.search(words) or not 0.2 < d.value / real < 5:
        return
    # Five days may be a week, four weeks a month, and 30 or 31 days.
    likely = [real, real * 5 / 7, real * 28 / 30.4369, real * 30 / 30.4369, real * 31 / 30.4369]
    slack = d.half * (0.99 if real >= 2 else 0.5) + 0.01 * real
    if any(abs(d.value - each) <= slack for each in likely):
        return
    message = f"{span.text} are {plain(round(real, 1))} {_NAMES[d.unit or 'd']}, not {d.text}."
    yield finding_at("difference", d, message, meant=round(real, 1), others=[span], probability=0.88)


def _between(paragraph: Paragraph, a: Quantity, b: Quantity, d: Quantity, is_back: bool) -> Iterator[Finding]:
    words = f"{paragraph.lead(a)[-24:]} | {paragraph.between(a, d)}"
    if a.value >= b.value or a.hedge or b.hedge or _APART.search(words):
        return
    if not is_back and not (a.group == "year" and d.unit == "year" and _LIFE.search(words)):
        return
    days = (b.value - a.value) * {"date": 1.0, "year": YEAR_DAYS, "clock": 1 / 1440}[a.group]
    size = _DAYS[d.unit or ""]
    real = days / size
    if (
        (a.group == "year" and size < 300)
        or (size < 1) != (a.group == "clock")
        or not 0.25 < d.value / max(real, 0.1) < 4
    ):
        return
    if abs(real - d.value) <= (5 * _DAYS["min"] / size if a.group == "clock" else 1.01 + 0.02 * real):
        return
    told = f"{plain(round(real, 1 if size < 1 else 0))} {_NAMES[d.unit or 'd']}"
    message = f"From {a.text} to {b.text} are {told}, not {d.text}."
    yield finding_at("difference", d, message, meant=float(round(real)), others=[a, b], probability=0.88)


@paragraph_gate(UNITS[1], DATES[1] | stems(_MONTHS.replace("|", "_ ") + "_"))
def days_of_month(paragraph: Paragraph) -> Iterator[Finding]:
    """`From 3 to 17 May ... you will spend 21 days with us`: longer than all of it; beside it, also less than that."""
    beside = list(_beside_month(paragraph))
    if beside:
        yield from beside
        return
    spans = [each for each in paragraph.values if each.unit in ("d", "week", "night") and not each.hedge]
    if len(spans) != 1:
        return
    runs = list(_RUN.finditer(paragraph.lower))
    if len(runs) != 1:
        return
    (d,), (run,) = spans, runs
    begin, end = (int(run[name] or run[f"{name}2"]) for name in "ab")
    at = run.end() + paragraph.whole.offset
    gap = paragraph.lower[run.end() : d.start - paragraph.whole.offset]
    if not 1 <= begin < end <= 31 or d.start < at or len(gap) > 80 or not _SPENT.search(paragraph.lead(d)):
        return
    days = end - begin + 1
    said = d.value * _DAYS.get(d.unit or "", 1.0)
    if said <= days + 1 + (2 if d.unit == "week" else 0) or said > 4 * days:
        return
    if (_MORE_DAYS.search(gap) and not _BACK.search(paragraph.lead(d))) or _MORE_DAYS.search(paragraph.tail(d, 25)):
        return
    message = f"{run[0].strip().capitalize()} has {days} days, which is less than {d.text}."
    yield finding_at("difference", d, message, probability=0.88)


_SO_LONG = regex(
    r"(?:\b(?:last(?:s|ed|ing)?|took|takes|for|was|is|were|stay of|trip of|of|the|an?|its|our|their|this)"
    r"(?: (?:just|only|exactly|the|a|full|total of))*|:) $|(?:^|\. )(?:the |our |a )?$"
)
_THEN_FROM = regex(r"(?:[ -](?:long )?[a-z]+)?(?:,? from|,| \(|,? \(from)? ?")
_FROM_THEN = regex(r",? ?(?:\(|– ?|that is,? |i\.e\.,? |or |for |a total of |a stay of |altogether |in all )*")
_ENDS = regex(r"(?: in all| in total| altogether| long| inclusive)?(?:[.,;)]|$)")
_ON_THEM = regex(r"\b(?:working|business|school|trading|on|during|between|of the)\b")


def _beside_month(paragraph: Paragraph) -> Iterator[Finding]:
    """`The strike lasted six days, from 3 to 12 May`: both ends may count, or one of them."""
    runs = list(_RUN.finditer(paragraph.lower))
    for d in paragraph.values if len(runs) == 1 else ():
        if d.unit not in ("d", "week", "night") or d.hedge or d.value < 2:
            continue
        (run,) = runs
        begin, end = (int(run[name] or run[f"{name}2"]) for name in "ab")
        at = run.start() + paragraph.whole.offset, run.end() + paragraph.whole.offset
        if d.end <= at[0]:
            gap = paragraph._cut(d.end, at[0])
            is_told = _SO_LONG.search(paragraph.upto(d)[-40:]) and _THEN_FROM.fullmatch(gap)
        else:
            gap = paragraph._cut(at[1], d.start)
            is_told = _FROM_THEN.fullmatch(gap) and gap.strip() and _ENDS.match(paragraph._cut(d.end, d.end + 30))
        days, said = end - begin, d.value * _DAYS.get(d.unit or "", 1.0)
        if "weekend" in paragraph.lower or "weekday" in paragraph.lower:
            continue
        if not is_told or not 1 <= begin < end <= 31 or "between" in run[0] or _ON_THEM.search(gap):
            continue
        slack = 3.0 if d.unit == "week" else 0.5
        if min(abs(said - days), abs(said - days - 1)) <= slack or not 0.25 < said / days < 4:
            continue
        message = f"{run[0].strip().capitalize()} has {days + 1} days, unlike {d.text}."
        yield finding_at("difference", d, message, probability=0.88)
