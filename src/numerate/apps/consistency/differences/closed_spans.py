"""Sentences that have just two times and one duration, wherever they stand in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import COUNT, UNIT, YEAR, one, slot
from numerate.apps.consistency.slips import is_typo
from numerate.numerals.unit_factors import dimension_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["FLIGHT", "closed_span", "repeated_terms"]

_SPAN_CUE = regex(
    r"\b(?:took|takes|taking|last(?:ed|s|ing)?(?: for)?|spann(?:ed|ing)|(?:period|term|total|span|journey|trip|stretch"
    r"|duration|ride|reign|tenure|career|gap|interval) of|(?:after|for|following|over) an? [a-z]+ of|open for|after"
    r"|i\.e\.,?|that is,?|or|(?:ran|runs|been [a-z]+ing|operated|served|reigned|ruled|existed|continued|lasting"
    r"|in (?:use|office|service|operation"
    r"|power)) for|so [a-z ]{0,24}) (?:an? |the |a full |exactly |in )?$"
)
_SO_THERE = regex(
    r"\b(?:so|which|that) (?:[a-z]+ )?(?:there (?:are|is|were|was)|leaves?|left|gives?|gave|ha(?:s|d|ve)) [a-z ]{0,12}$"
)
"""Before the time between two others, whichever is told first."""
_SPAN_BEHIND = regex(
    r" (?:after (?:the|its|his|her|their|an?)|later|afterwards|apart|in all|in total|altogether|long)\b"
)
_NOT_SPAN = regex(
    r"\b(?:born|died|which|who|ago|per|every|each|experience|first|last|next|another|previous|more than|aged?|old|older"
    r"|younger|sentence\w*|prison|contract|before|earlier|delay|late|early|within|break|pause|interruption|notice|again"
    r"|while|whereas|but|follow|warranty|minimum|maximum|least|extension|extended|renew\w*|record|since|additional"
    r"|extra|since"
    r"|remaining|average|around|some|about|months? of|weeks? of|days? of|hours? of|years? of (?!age|service|war"
    r"|work))\b|;"
)
_BEGUN = regex(
    r"\b(?:opened|built|founded|established|completed|launched|erected|constructed|dating from|dates from|planted|laid"
    r"|commissioned)(?: (?:in|from|back to))? ?$"
)
_ITSELF = regex(r",? ?(?:(?:and|it|the [a-z]+|which) )?(?:was|is|had been) $|, the $")
"""Between the year and the age: the age is that of what was begun, and of nobody who belongs to it."""
_OLD = regex(r"[ -]old\b(?! (?:enough|by)\b)")
_IS_NOW = regex(r",? (?:and |it |which )*(?:is|was|will be|turned|turns) (?:now|then|thus)?,? ?in ")
_ADVERB = regex(r",? (?:now |exactly |just |therefore |thus )*")
_STAY = regex(
    r"[,;]? (?:after|for|over|lasting|following|ending) (?:an?|the|his|her|their) (?:[a-z-]+ )?(?:stay|journey|period"
    r"|trip|term|stretch|voyage|crossing|reign|tenure|stint|absence|visit|siege|strike|stage|run|tour|exile"
    r"|sentence) of (?:exactly |just )?"
)
"""Between the end of a span and its duration, whatever other times the sentence has."""
FLIGHT = regex(
    r"\b(?:flights?|flew|fly|flies|lands?|landed|takes off|took off|plane|local time|time zones?"
    r"|in the air|touche[sd] down|airborne)\b"
)
"""Local times differ."""


_TERMS = regex(
    rf"{slot('n', COUNT)} (?:consecutive |full |successive )?{slot('d', UNIT)}[ -](?:terms|mandates|periods|stints)\b"
)
_FROM_TO = regex(rf"\bfrom {one(YEAR)} (?:to|until|till) {one(YEAR)}|\({one(YEAR)} ?[–-] ?{one(YEAR)}\)")
"""`two four-year terms, from 1993 to 2001`"""


def closed_span(sentence: Sentence) -> Iterator[tuple[Quantity, Quantity, Quantity]]:
    """Two times and one duration: begin, end and what is said to lie between them."""
    times = [each for each in sentence.quantities if each.group in ("year", "date", "clock")]
    spans = [each for each in sentence.quantities if each.unit is not None and dimension_name(each.unit) == "time"]
    if len(times) != 2 or len(spans) != 1 or len(sentence.quantities) > 4:
        yield from _told_behind(sentence, times, spans)
        return
    d, (a, b) = spans[0], times
    before, behind = sentence.beside(d)
    is_age = _OLD.match(behind) and d.unit == "year" and a.group == b.group == "year" and a.start < d.start < b.start
    is_age = is_age and len(sentence.quantities) == 3 and _ITSELF.fullmatch(sentence.between(a, d)) is not None
    if is_age and not d.hedge and _BEGUN.search(sentence.beside(a)[0]):
        yield a, b, d  # `Opened in 1932, the 55-year-old bridge was torn down in 1987`
        return
    if a.group == b.group == "clock" and 0 < a.value - b.value < 360 and _SO_THERE.search(before):
        if not FLIGHT.search(sentence.skeleton) and not d.hedge:
            yield b, a, d  # `the bus leaves at 22:40, and the concert ends at 22:15, so there are 25 minutes`
        return
    is_now = _OLD.match(behind) and d.unit == "year" and a.group == b.group == "year" and b.end <= d.start
    if is_now and not d.hedge and _BEGUN.search(sentence.beside(a)[0]) and _IS_NOW.fullmatch(sentence.between(a, b)):
        if _ADVERB.fullmatch(sentence.between(b, d)):
            yield a, b, d  # `built in 1923 and is now, in 2023, 100 years old`
        return
    is_told = (_SPAN_CUE.search(before) or _SPAN_BEHIND.match(behind)) and not _NOT_SPAN.search(sentence.skeleton)
    if not is_told:
        is_years = a.group == b.group == "year" and d.unit == "year" and len(sentence.values) == 1
        is_years = is_years and not _NOT_SPAN.search(sentence.skeleton) and " than " not in sentence.skeleton
        if is_years and d.value > 9 and not d.hedge and is_typo(d, abs(a.value - b.value)):
            yield (a, b, d) if a.value < b.value else (b, a, d)
        return
    if (
        (a.group == "clock") != (b.group == "clock")
        or d.hedge
        or (a.group == "clock" and FLIGHT.search(sentence.skeleton))
        or sentence.text[: a.start - sentence.offset].rstrip().endswith("(")
    ):
        return
    if (
        a.start < d.start < b.start
        and behind.startswith(" later")
        and not re.match(r" later,? (?:in|on|at)? ?$", sentence.between(d, b))
    ):
        return  # `operated on two days later and discharged on 10 March`
    if behind.startswith(" after") and not behind.startswith(" afterwards") and not a.start < d.start < b.start:
        return
    if behind.startswith((" later", " afterwards")) and (d.start < a.start or d.start - b.end > 45):
        return  # later than something else
    if d.start > max(a.start, b.start) and re.match(r" (?:later|afterwards),? [a-z]", behind):
        return  # `dissolved in 1951 and, 40 years later, refounded`
    if a.group == "clock" and a.start < d.start < b.start and re.match(r" and\b", behind) and before.endswith("after "):
        return  # `leaves at 9:30, calls at Olten after 40 minutes and arrives at 10:45`
    if a.group == b.group and a.value > b.value and a.group != "clock":
        a, b = b, a  # `closed in 2009 after 30 years, having opened in 1969`
    yield a, b, d


def repeated_terms(sentence: Sentence) -> Iterator[Finding]:
    """`two four-year terms, from 1993 to 2003`: terms that follow each other, of one length."""
    times = [each for each in sentence.quantities if each.group in ("year", "date", "clock")]
    match = _TERMS.search(sentence.skeleton)
    if match is None or len(times) != 2 or len(sentence.values) != 2 or not _FROM_TO.search(sentence.skeleton):
        return
    (a, b), n, d = times, sentence.get(match, "n"), sentence.get(match, "d")
    real, said = b.value - a.value, n.value * d.value
    if d.unit == "year" and n.value > 1 and not n.hedge and abs(real - said) > 1.01 and 0.4 < said / max(real, 1) < 2.5:
        message = f"From {a.text} to {b.text} are {plain(real)} years, not {plain(said)}."
        yield finding_at("difference", d, message, meant=real / n.value, others=[a, b, n], probability=0.87)


def _told_behind(
    sentence: Sentence, times: list[Quantity], spans: list[Quantity]
) -> Iterator[tuple[Quantity, Quantity, Quantity]]:
    """Two dates with their duration right behind: `came on 12 March and left on 19 March after a stay of 7 days`."""
    for d in spans:
        before = [each for each in times if each.end <= d.start]
        if len(before) < 2 or d.hedge:
            continue
        a, b = before[-2:]
        between = sentence.between(a, b)
        alike = a.group == b.group and a.group in ("date", "year") and a.value < b.value
        if alike and len(between) < 60 and _STAY.fullmatch(sentence.between(b, d)) and not _NOT_SPAN.search(between):
            yield a, b, d
