"""Durations told in a paragraph, with their two years, dates or times of the day wherever they stand in it.

`planted in 1821 and 1867; the 56 years between them`; `24 months from 12 June 2021. It expired on 12 June 2022`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain
from numerate.apps.consistency.dates.calendar_words import YEAR_DAYS
from numerate.apps.consistency.differences.closed_spans import FLIGHT
from numerate.apps.consistency.sentences.paragraphs import NEEDED, slip_bits
from numerate.apps.consistency.sentences.patterns import regex
from numerate.numerals.unit_factors import measure_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.findings import Finding

__all__ = ["DAYS", "clock_gaps", "date_gaps", "year_gaps"]

STRONG = 5.0
_CLOCK_APART = regex(
    r"\b(?:time zones?|local time|clocks? (?:go|went)|gmt|utc|break|lunch|interval|pause|late|early|delay\w*|before|ago"
    r"|first|every|each|per|within|notice|left|remaining|only|extra|more|another|last|half|net|excluding|without|second"
    r"|clocks?|ahead|behind|return|other)\b"
)
_NO_PAUSE = regex(
    r"\b(?:without|no)(?: an?| any)?(?: lunch)? (?:break|pause|interval|time change)|\b(?:a|per|every) day\b"
)
_TAKES = regex(r"\b(?:takes?|took|lasts?|lasted)(?: (?:only|just|exactly|you|us|them|about|a total of))* $")
_YEARS_APART = regex(
    r" (?:(?:her|his|their|its) (?:junior|senior)|between (?:them|the two|these|those|the)|apart|older|younger|separate"
    r"|lie|lay)\b"
)
_AND_SO_LONG = regex(r"\band (?:\d|two|three|four|five|six|seven|eight|nine|ten)\b")
_YEARS_LONG = regex(
    r"\b(?:the|those|these|after|for|served|spent|lasted|ran|stayed|following|over|reign of|tenure of"
    r"|career of|regierte|herrschte|amtierte|régna|reinó|durante|pendant)(?: [a-z]+){0,2} $"
)
_YEARS_OTHER = regex(
    r"\b(?:ago|every|first|last|next|another|more|aged?|sentence\w*|contract|experience|warranty|least|previous\w*"
    r"|again|while|whereas|second|father|mother|son|daughter|earlier|before|about|some|nearly|almost|than|or|fund"
    r"|due|bonds?|debentures?|non-[a-z]+)\b"
)


_BIRTH = regex(r"\b(?:born|birth|geboren|né|née|nacido)\b|[(*] ?(?:b\.|\*)")
_BEFORE_ITS_END = regex(
    r"\bbefore (?=(?:(?:it|he|she|they|the [a-z]+) )?(?:(?:was|were|being|had been|finally) )*(?:clos|retir|resign"
    r"|abdicat|stepp|dissol"
    r"|scrapp|demolish|withdrawn|decommission|depos|replac|shut|his death|her death|its clos))"
)
"""`in service for 77 years before it was closed in 1961`"""
_TERM_BEGINS = regex(
    r"\b(?:throne|crowned|acceded|succeeded|elected|appointed|took (?:over|office|up)|enter\w*|joined|became"
    r"|founded|opened|began|started"
    r"|established|launched|commissioned|installed|power|crown|consecrated|inaugurated|moved)\b[^.;]{0,50}$"
)
_TERM_ENDS = regex(
    r"\b(?:until|till|to|death|died|dying|clos\w+|retir\w+|resign\w*|abdicat\w*|depos\w+|overthrown|ended"
    r"|stepp\w+ down|dissol\w+"
    r"|scrapped|demolished|left|sold|withdrawn|decommissioned)\b[^.;]{0,40}$"
)


def _term(paragraph: Paragraph, times: list[Quantity], d: Quantity) -> list[Quantity]:
    """The years in which something began and ended, before and behind its duration; all years if they do not say so."""
    begin = [each for each in times if each.end <= d.start and _TERM_BEGINS.search(paragraph.upto(each)[-80:])]
    end = [
        each
        for each in times
        if each.start >= d.end and each.place in (-1, d.place) and _TERM_ENDS.search(paragraph.between(d, each))
    ]
    is_told = len(begin) == len(end) == 1 and paragraph.place(end[0]) == paragraph.place(d)
    fits = any(abs(abs(one.value - other.value) - d.value) <= 1 for one in times for other in times)
    return [*begin, *end] if is_told and not fits else times


_EVENT = regex(r"\b(?:married|wed|met|divorced|graduated|won|published|wrote|visited|travelled|died)\b")


def year_gaps(paragraph: Paragraph, d: Quantity) -> Iterator[Finding]:
    """Two years and how long it was between them: `planted in 1821 and 1867; the 56 years between them`."""
    here = paragraph.place(d)
    times = [each for each in paragraph.whole.quantities if each.group in ("year", "date")]
    near = [each for each in times if here - 1 <= paragraph.place(each) <= here]
    if len(near) > 2:
        near = [each for each in near if not _BIRTH.search(paragraph.upto(each)[-24:])]
    if len(near) > 2:
        near = _term(paragraph, near, d)
        times = near
    if (
        len(near) != 2
        or len(times) > 3
        or any(each.group != "year" or each.hedge for each in near)
        or "Y" in d.text
        or "-" in d.text
    ):
        return
    a, b = near
    if paragraph.place(a) < here and _EVENT.search(paragraph.upto(a)):
        return  # `They married in 1948. They lived in Rome for 11 years, until they moved in 1962`
    real, is_apart = abs(a.value - b.value), _YEARS_APART.match(paragraph.tail(d)) is not None
    if not (is_apart or _YEARS_LONG.search(paragraph.lead(d))) or abs(real - d.value) <= 1 or d.value < 3:
        return
    if not is_apart and _AND_SO_LONG.search(
        paragraph.lower, d.end - paragraph.whole.offset, d.end - paragraph.whole.offset + 60
    ):
        return  # `after 15 years as principal oboist and four as a section player`
    words = _BEFORE_ITS_END.sub(" until ", paragraph.around(a, b, d))
    if not 0.4 < d.value / max(real, 1) < 2.5 or _YEARS_OTHER.search(_YEARS_APART.sub("", words)):
        return
    if d.value % 10 == 0 and abs(real - d.value) < 5 and not is_apart:
        return  # `after 40 years there`, which were 42
    if is_apart or slip_bits(d, real) > 2:
        message = f"From {a.text} to {b.text} are {plain(real)} years, not {d.text}."
        yield finding_at("difference", d, message, meant=real, others=[a, b], probability=0.86)


DAYS = {"d": 1.0, "week": 7.0, "month": 30.4369, "year": YEAR_DAYS}
_FULL = regex(r"\d{1,2}\D+[12]\d{3}|[12]\d{3}-\d\d-\d\d")
_DAY = regex(r"\b\d{1,2}(?:st|nd|rd|th)?\b")
_LONG = regex(
    r"\b(?:within|after|lasts?|lasted|runs? for|ran for|warranty(?: of|:)?|guarantee of|term of|period of|for|valid for"
    r"|probation(?:ary)? period of)(?: (?:a|the|another|exactly|full))? $"
)
_LONG_TAIL = regex(
    r" (?:later|afterwards|after (?:the|that|this|its)|from (?:the|that|this|its)|of the date|of receipt)\b"
)
_UP_TO = regex(r"\b(?:expir\w+|end(?:s|ed)?|due|payable|no later than|by|until|came to an end|resum\w+|i\.e|on|till)\b")
_TERM = regex(
    r" (?:guarantee|warranty|contract|lease|term|loan|bond|probation\w*|subscription|visa|permit|licen[cs]e|ban|notice"
    r"|moratorium|mandate|tenancy|agreement|deal|deposit|policy|option|membership)\b"
)
_ENDS = regex(r"\b(?:expir\w+|ends|ended|ending|matur\w+|runs? out|ran out|until|lapse\w*|till|runs? to)\b")
_NO_TERM = regex(
    r"\b(?:renew\w*|extend\w*|early|prematurely|terminated|although|but|instead|extension|cancel\w*|moved)\b"
)


def date_gaps(paragraph: Paragraph, d: Quantity) -> Iterator[Finding]:
    """Two days of the calendar and what is said to lie between them: `24 months from 12 June 2021 ... 12 June 2022`."""
    here = paragraph.place(d)
    times = [each for each in paragraph.whole.quantities if each.group in ("date", "year")]
    near = [each for each in times if here - 1 <= paragraph.place(each) <= here + 1]
    full = [each for each in near if each.group == "year" or _FULL.search(each.text)]
    if not full and all(_DAY.search(each.text) for each in near) and d.unit != "year":
        full = near  # two days without a year
    near = full
    if len(near) != 2 or any(each.group == "year" for each in near):
        return
    a, b = near
    words = paragraph.between(a, b) if d.start < b.start else paragraph.around(a, b, d)
    is_long = _LONG.search(paragraph.lead(d)) or _LONG_TAIL.match(paragraph.tail(d))
    if not (is_long and _UP_TO.search(words)) and not (_TERM.match(paragraph.tail(d)) and _ENDS.search(words)):
        return
    if sum(each.unit in DAYS for each in paragraph.values) > 1 or _NO_TERM.search(paragraph.lower):
        return
    days, size = b.value - a.value, DAYS[d.unit or "d"]
    real = round(days / size)
    blur = 1.1 if size < 10 else 3.0
    if days <= 0 or real < 1 or abs(days - d.value * size) <= blur or abs(days - real * size) > blur:
        return
    if not 0.4 < d.value / real < 2.5 or (
        size < 2 and not slip_bits(d, days) and not slip_bits(d, days + 1) and not 28 <= abs(days - d.value) <= 31
    ):
        return
    unit = {"d": "day"}.get(d.unit or "d", d.unit)
    told = f"{plain(float(real))} {unit}{'' if real == 1 else 's'}"
    message = f"From {a.text} to {b.text} {'is' if real == 1 else 'are'} {told}, not {d.text}."
    yield finding_at("difference", d, message, meant=float(real), others=[a, b], probability=0.86)


def clock_gaps(paragraph: Paragraph, d: Quantity, bits: float) -> Iterator[Finding]:
    """Two times of the day and a duration beside them."""
    here = paragraph.place(d)
    clocks = [each for each in paragraph.whole.quantities if each.group == "clock"]
    near = [each for each in clocks if here - 1 <= paragraph.place(each) <= here]
    if len(near) != 2 or len(clocks) > 3 or sum(each.unit in ("h", "min") for each in paragraph.values) > 2:
        return
    a, b = near
    words = _NO_PAUSE.sub("", paragraph.around(a, b, d))
    if FLIGHT.search(words) or _CLOCK_APART.search(words):
        return
    measure = measure_of(d.unit or "")
    minutes, said = (b.value - a.value) % 1440, d.value * (measure.factors[0] / 60 if measure else 0.0)
    if abs(said - minutes) <= 5 or abs(said - minutes % 720) <= 5 or not 0.5 < said / max(minutes, 1) < 2:
        return
    if len(d.numerals) > 1:  # hours and minutes: one of both is right
        slip = 5.0 if (said // 60 == minutes // 60) != (round(said) % 60 == minutes % 60) else 0.0
    else:
        slip = slip_bits(d, minutes if d.unit == "min" else minutes / 60) or (4.0 if abs(said - minutes) == 60 else 0.0)
    if _TAKES.search(paragraph.lead(d)):
        bits, slip = STRONG, max(slip, 2.0)
    if slip and bits + slip + 1.0 >= NEEDED:
        hours, rest = divmod(round(minutes), 60)
        message = f"From {a.text} to {b.text} are {hours} h {rest:02} min, not {d.text}."
        meant = minutes * 60 / measure.factors[0] if measure else minutes
        yield finding_at("difference", d, message, meant=meant, others=[a, b], probability=0.86)
