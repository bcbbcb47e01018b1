"""Durations told in another sentence than the two times they lie between.

`departs at 09:40, arrives at 13:05. It takes 2 h 25 min`; `took over in 2009. She left in 2023, after 7 years`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at
from numerate.apps.consistency.closed import FLIGHT
from numerate.apps.consistency.gates import group_gate
from numerate.apps.consistency.quantities import CLOCK, COUNT, UNIT, YEAR, slot
from numerate.apps.consistency.sentence_windows import RELATIVE, windows_of
from numerate.apps.consistency.traits import CLOCK as HAS_CLOCK
from numerate.apps.consistency.traits import VALUES, stems
from numerate.numerals.unit_factors import dimension_name, measure_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numerate.apps.consistency.quantities import Quantity, Sentence
    from numerate.apps.findings import Finding

__all__ = ["told_durations"]

_D = slot("d", UNIT)
_GAP = r"[^.;\ue000-\uf8ff]"
_CLOCKS = re.compile(
    r"\b(?:depart|leav|left|set off|sets off|start|began|begin|kick|opened?|opens|commenc"
    r"|called to order|from|board|sail|set out|sets out"
    r"|came on|clocked in|logged on|took the|gavel|convene|went in|between|doors|arrived|fire broke"
    rf"|reported)\w*\b{_GAP}{{0,50}}?"
    rf"{slot('a', CLOCK)}(?P<gap>{_GAP}{{0,90}}?)(?:\b(?:arriv|reach|reached|gets?|getting|ends?|ended"
    r"|finish|clos|until|till|to"
    rf"|adjourn|back|and|return|touch|pulls?|docks?|over|out|wrap|clocked out|extinguished|is|was)\w*\b|–|—|-)"
    rf"{_GAP}{{0,40}}?{slot('b', CLOCK)}"
)
_LASTS = re.compile(
    r"\b(?:journey|trip|ride|drive|crossing|travel|meeting|session|match|game|show|film|concert|shift"
    r"|walk|hike|climb|race|operation"
    r"|procedure|surgery|exam|lesson|class|workshop|event|service|ceremony|debate|hearing|voyage"
    r"|passage|tour|visit|whole thing|it|that|this"
    r"|which|we|they|performance|play|interview|call|party|blackout|outage|power cut|strike|lecture"
    r"|talk|course|duration|running time"
    rf"|time)\b(?: (?:time|itself|as a whole|therefore|thus|usually))?"
    r"(?: (?:takes?|took|lasts?|lasted|will take|will last|runs?|ran|is|was|were|being|of|at"
    r"|comes? to|spent|had been|for|have|had"
    rf"|in all|about)|:)+(?: (?:only|just|exactly|a total of|a|you|us|them|me))* {_D}(?! (?:late|early"
    r"|ago|before|after|ahead|behind|break|each|per|stop))"
    rf"|\b(?:after|in|for|lasting|taking|total of|total|some) {slot('e', UNIT)}(?: (?:on the road"
    r"|on the train|on the bus|at sea|in all"
    r"|in total|on our feet|later|altogether|on the water|on board|of (?:debate|talks|discussion|play"
    r"|work|surgery|walking|driving))\b)"
)
_PAUSE = re.compile(
    r"\b(?:time zones?|local time|clocks? (?:go|went)|zone|ahead of|behind|gmt|utc|est\b|pst|cet\b"
    r"|not counting|excluding|without|minus"
    r"|less|apart from|each|per|average|every|first|second|another|longer|shorter|later than|lunch"
    r"|break|interval|pause|hours? earlier"
    r"|in the air|of sleep|of which|plus|moving|actual|next day|days?)\b"
)
_NO_PAUSE = re.compile(
    r"\b(?:without (?:an? )?(?:lunch |any )?(?:break|pause|interval)|no (?:break|pause|interval"
    r"|time change)|a day|per day|every day)\b"
)
_BEGAN = re.compile(
    r"\b(?:took over|appointed|elected|joined|founded|opened|became|started|began|arrived|came to"
    r"|hired|established|launched|set up"
    r"|moved to|married|built|bought|took the helm|enlisted|sworn in|ordained|signed|installed"
    rf"|introduced)\b{_GAP}{{0,60}}?\bin"
    rf" (?:[a-z]+ )?{slot('a', YEAR)}"
)
_ENDED = re.compile(
    r"\b(?:stepp?(?:ed|ing|s) down|retir(?:ed|es|ing|ement)|left|leaves|leaving|resign\w*|hand(?:ed|s"
    r"|ing) over|closed|sold|ended|finished"
    r"|departed|quit|shut|gave up|dissolved|disbanded|demolished|divorced|replaced|moved on|bowed out"
    r"|withdrawn|scrapped|ceased|succeeded)\b"
)
_YEARS_LONG = re.compile(
    r"\b(?:after|for|spent|served|stayed|following|completed|his|her|its|their|a|over) (?:exactly "
    r"|just |a total of |full |the )?"
    rf"{slot('d', UNIT + COUNT)}(?:[ -](?:years?)?[ -]?(?:in|at|as|on|of|with|reign|tenure|career|run"
    r"|spell|stint|there|together|later|service)\b|[.,;]|$)"
)
_ENDINGS = stems(
    "step retir left leav resign hand closed sold ended finished departed quit shut gave dissolved disbanded "
    "demolished divorced replaced moved bowed withdrawn scrapped ceased succeeded"
)
"""What a match of `_ENDED` has in it."""
_CUES = ("hour", "minute", "min", " h ", " h.", " h,", "year", "hrs")


@group_gate(stems("hour min h_ year hr sec"), VALUES[1], HAS_CLOCK | _ENDINGS)
def told_durations(text: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    """Durations between two times of the day or two years of the last two sentences."""
    for window in windows_of(text, sentences, _CUES, 2):
        times = sum(numeral.kind in ("time", "year") for part in window for numeral in part.numerals)
        if times < 2 and not any(":" in part.text for part in window):
            continue
        yield from _clocks(window)
        if len(window) == 2 and "year" in window[-1].text:
            yield from _years(window)


def _clocks(window: list[Sentence]) -> Iterator[Finding]:
    last = window[-1]
    if not any(each.group == "clock" for part in window for each in part.quantities):
        return
    claims = [*_LASTS.finditer(last.skeleton)]
    if len(claims) != 1:
        return
    d = last.get(claims[0], "d" if claims[0]["d"] else "e")
    measure = measure_of(d.unit or "")
    if measure is None or dimension_name(d.unit or "") != "time" or measure.factors[0] > 3600 or d.hedge:
        return
    clocks = [each for part in window for each in part.quantities if each.group == "clock"]
    pairs = [(part, match) for part in window for match in _CLOCKS.finditer(part.skeleton)]
    if len(clocks) != 2 or len(pairs) != 1:
        return
    words = _NO_PAUSE.sub("", " ".join(part.skeleton for part in window))
    if FLIGHT.search(words) or _PAUSE.search(words):
        return
    a, b = clocks
    minutes = (b.value - a.value) % 1440
    said = d.value * measure.factors[0] / 60
    around = {minutes} if _is_sure(a, b) else {minutes, minutes % 720}
    slack = max(2.0, d.half * measure.factors[0] / 60 if d.unit != "min" else 0.0)
    if any(abs(each - said) <= slack for each in around) or not any(each / 3 <= said <= each * 3 for each in around):
        return
    hours, rest = divmod(round(minutes), 60)
    message = f"From {a.text} to {b.text} are {hours} h {rest:02} min, not {d.text}."
    yield finding_at("difference", d, message, meant=minutes * 60 / measure.factors[0], others=[a, b], probability=0.88)


def _is_sure(a: Quantity, b: Quantity) -> bool:
    return a.value >= 780 or b.value >= 780 or all(re.search(r"[ap]\.?m", each.text, re.IGNORECASE) for each in (a, b))


def _years(window: list[Sentence]) -> Iterator[Finding]:
    first, last = window
    years = [each for part in window for each in part.quantities if each.group in ("year", "date")]
    if len(years) != 2 or any(each.group != "year" for each in years):
        return
    a, b = years
    begun, ended, claims = (
        _BEGAN.search(first.skeleton),
        _ENDED.search(last.skeleton),
        [*_YEARS_LONG.finditer(last.skeleton)],
    )
    if begun is None or ended is None or len(claims) != 1 or first.get(begun, "a") is not a:
        return
    head = last.skeleton[: min(ended.start(), claims[0].start())]
    if (
        b.start < last.offset
        or RELATIVE.search(head)
        or re.match(r"(?:He|She|It|They|After|In|The|Its|His|Her)\b", last.text) is None
    ):
        return
    d = last.get(claims[0], "d")
    if re.match(
        r"[^.;\ue000-\uf8ff]{0,40}\band (?:another |a further )?[\ue000-\ue009]", last.skeleton[claims[0].end("d") :]
    ):
        return  # a part of the time
    if d.unit not in (None, "year") or d.hedge or d.value != int(d.value) or d.value < 2:
        return
    real = b.value - a.value
    if abs(real - d.value) <= 1 or not d.value / 3 <= real <= 3 * d.value:
        return
    message = f"From {a.text} to {b.text} are {round(real)} years, not {d.text}."
    yield finding_at("difference", d, message, meant=real, others=[a, b], probability=0.86)
