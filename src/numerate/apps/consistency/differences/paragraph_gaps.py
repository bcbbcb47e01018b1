"""Differences told in a paragraph, with their two values or times wherever they stand in it.

`lifts you from 1,034 m to 2,962 m. Expect your ears to notice the 1,298 metres of height gained`; `knife to skin 09:40,
closure 13:15, giving a 251-minute procedure`. What counts is a word beside the difference, that two values of its kind
are near, and that it is their difference but for a slip.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left, bisect_right
from dataclasses import replace
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain
from numerate.apps.consistency.differences.paragraph_times import DAYS, clock_gaps, date_gaps, year_gaps
from numerate.apps.consistency.differences.years_later import years_later
from numerate.apps.consistency.sentences.paragraphs import NEEDED, is_explained
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.slips import rounded_slip_bits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.findings import Finding

__all__ = ["paragraph_gaps"]

STRONG, WEAK, BACK = 5.0, 3.0, 0.5
MOST_POOL = 5
_NOUN = (
    r"(?:difference|gap|drop|fall|rise|increase|decrease|reduction|gain|loss|climb|descent|ascent|margin|lead|savings?"
    r"|shortfall|surplus|deficit|overrun|overspend|excess|discrepancy|improvement|decline|jump|growth|change|swing"
    r"|spread|clearance|advantage|handicap|cushion|majority|slide|dip|surge|wait|delay|age gap|head start|profit|range)"
)
_IS = r"(?: (?:of|is|was|being|equals|amount(?:s|ed) to|comes? to|came to|stands at|stood at|works out at|in)|:|,)"
_LEAD = regex(
    rf"\b{_NOUN}(?: (?:between|in|of|over) (?:the |that |this )?[a-z' -]{{2,30}}?)?{_IS}"
    r"(?: (?:just|only|exactly|precisely|a|an|the|some|no less than|all of))* ?[$€£]?$|\b(?:won|lost|losing|winning"
    r"|beaten|beat|missed|missing|exceed\w*|overshot|undercut\w*|fell|fallen|falling|rose|risen|rising|dropped|dropping"
    r"|grew|grown|shrank|shrunk|climb(?:ed|ing|s)?|descend\w*|sank|gained|gaining|gains|lose[s]?|went (?:up|down)"
    r"|differ(?:s|ed|ing)?|increased|decreased|improved|ahead|behind|short|extended|raised|lowered|cut|saved?|saving"
    r"|saves|put on|shed|swollen|advanced|slipped|narrowed|widened)(?: (?:by|the|it|them|a|an|another|him|her|us|fully"
    r"|just|only|exactly|some|further|altitude|weight|of))* ?[$€£]?$"
)
_TAIL = regex(
    r"['’]?(?:[ -](?:[a-z'’-]+)){0,2}?[ -](?:more|less|fewer|extra|longer|shorter|higher|lower|heavier|lighter"
    r"|older|younger|taller|smaller|larger|bigger|warmer|colder|cooler|hotter|cheaper|dearer|faster|slower|deeper"
    r"|shallower|wider|narrower|better|worse|ahead|behind|apart|adrift|later|earlier|between (?:them|the two|these"
    r"|those)|junior|senior|better off|worse off|lost|gained|saved|shed|down|up|increase|decrease|drop|fall|rise|gap"
    r"|difference|lead|margin|deficit|surplus|shortfall|reduction|gain|loss|climb|ascent|descent|improvement|added"
    r"|missing|separate[sd]?|gone|further|too (?:much|many|few|little|long|short|late|early)|in excess|in hand|to spare"
    r"|short|over|under|above|below)\b"
    r"|[ -](?:[a-z]+ )?(?:of|in) (?:height|altitude|weight|level|length|depth|light|age|elevation)(?: [a-z ]{0,16})?"
    r"(?:gain|lost|difference|between)"
)
_WEAK_LEAD = regex(
    r"\b(?:so|therefore|thus|hence|that is|that's|that makes|which (?:is|makes|means|leaves|left|gives)|leav(?:es|ing)"
    r"|left|giving|gives|making|meaning|means|burned|burnt|used|consumed|drove|driven|covered|travelled|walked|sold"
    r"|drank|consumption of|usage of|use of|spent|spans?|spanning|lasted|lasts|took|takes|after|for|sits|lies|stands"
    r"|journey|trip|ride|crossing|procedure|operation|in all|altogether|total|took us|by|still|available"
    r"|remaining|remains|balance)\b[^.;]{0,40}$"
)
_WEAK_TAIL = regex(
    r"['’]?(?:[ -][a-z'’-]+){0,3}? (?:used|burned|burnt|consumed|driven|drove|covered|travelled|sold|spent|gone"
    r"|eaten|drunk"
    r"|pumped|delivered|she (?:drove|walked|used)|he (?:drove|walked|used)|in between|in a|on the road|on board|at sea"
    r"|procedure|operation|journey|trip|ride|crossing|shift|session|meeting|match|wait|stay|flight|drive|walk)\b"
)
_NAMED = regex(r"[a-z] [A-Z][A-Za-z]+ $")
"""Before a number that is a name: `Microsoft Xbox 360`."""
_BACK = regex(r"\b(?:those|these)(?: (?:whole|full|entire))? [$€£]?$")
_APART = regex(
    r"\b(?:while|whereas|per|each(?! way)|every|averag\w*|mean|median|respectively|forecast|expected|budget\w*"
    r"|last year|record|previous\w*|another|a further|interest|maximum|minimum|at least|up to|limit|target|second"
    r"|half-time|of which|of whom|of them|of these|times|twice|dips?|detours?|discounts?|rebates?|offset|tax|vs|versus"
    r"|includ\w+|excluding|without|cumulative|posted|postings?|shr|dlrs?|total (?:climb|ascent|descent)|next|rest)\b|%"
    r"|±|×|(?:^|\. )with\b"
)
_MODAL = regex(r"\b(?:if|would|could|should|might)\b")
_STEMS = (
    "er ", "for ", "last", "more", "differ", "gap", "drop", "fall", "fell", "rise", "rose", "ris", "crease", "gain",
    "los", "climb", "cent", "margin", "lead", "sav", "short", "surplus", "defici", "over", "less", "few", "extra",
    "apart", "ahead", "behind", "down", " up", "left", "leav", "so ", "thus", "giv", "mak", "mean", "used", "burn",
    "drove", "took", "take", "after", "later", "between", "junior", "senior", "sumption", "above", "below", "those ",
    "these ", " by ", " years", "warrant", "guarant", "expir", "notice", " end", "valid", "until",
)  # fmt: skip


def paragraph_gaps(paragraph: Paragraph) -> Iterator[Finding]:
    """Differences, durations and ages that are not what lies between their two values."""
    tally = paragraph.tally
    if tally.values < 3 and not (tally.units and tally.times > 1):
        return
    if tally.values + tally.times < 3 or not any(map(paragraph.lower.__contains__, _STEMS)):
        return
    places = [paragraph.place(each) for each in paragraph.values]
    for d, here in zip(paragraph.values, places, strict=True):
        if d.unit in DAYS and tally.times > 1 and d.hedge in ("", "under"):
            yield from date_gaps(paragraph, d)
        if d.group not in ("plain", "unit", "money") or d.hedge or d.value <= 0:
            continue
        if tally.values > 2:
            near = paragraph.values[bisect_left(places, here - 2) : bisect_right(places, here)]
            yield from _values(paragraph, d, near)
        if d.unit == "year" and tally.times > 1:
            yield from year_gaps(paragraph, d)
            yield from years_later(paragraph, d)
        if d.unit in ("h", "min") and tally.times > 1:
            yield from clock_gaps(paragraph, d, _cue_bits(paragraph, d))


def _cue_bits(paragraph: Paragraph, d: Quantity) -> float:
    """How much the words beside a value say that it is a difference."""
    lead, tail = paragraph.lead(d), paragraph.tail(d)
    if _LEAD.search(lead) or _TAIL.match(tail):
        return STRONG
    if _WEAK_LEAD.search(lead) or _WEAK_TAIL.match(tail):
        return WEAK
    return BACK if d.unit is not None and _BACK.search(lead) else 0.0


def _values(paragraph: Paragraph, d: Quantity, near: list[Quantity]) -> Iterator[Finding]:
    """Two values of the kind of `d` in its sentence or one of the two before it; numbers are compared before words."""
    pool = [each for each in near if each is not d and _is_kin(each, d)] if len(near) > 2 else []
    if len(pool) < 2:
        return
    here = paragraph.place(d)
    if any(each.unit != d.unit and each.unit is not None for each in pool):
        pool = [_in_unit(each, d) for each in pool]
    own = [each for each in pool if paragraph.place(each) >= here - 1]
    pool = own if len(own) > 1 else pool
    if not 2 <= len(pool) <= MOST_POOL or any(each.value == d.value for each in pool):
        return
    pairs = [
        (a, b)
        for a, b in itertools.combinations(pool, 2)
        if a.value != b.value
        and (a.unit == d.unit or b.unit == d.unit or a.unit == b.unit is not None or a.half < 0.5 or d.unit == "year")
    ]
    slip, a, b = max(((_slip(d, a, b), a, b) for a, b in pairs), key=lambda each: each[0], default=(0.0, d, d))
    if (
        not slip
        or a.hedge
        or b.hedge
        or any(abs(abs(x.value - y.value) - d.value) <= _slack(x, y, d) for x, y in pairs)
    ):
        return
    if d.unit is None and _NAMED.search(paragraph.whole.text, 0, d.start - paragraph.whole.offset):
        return
    bits = _cue_bits(paragraph, d)
    most = 7 if len(pool) == 2 and bits == STRONG else 3.3
    if min(a.value, b.value) > 0 and not 1 / most < a.value / b.value < most:
        return
    if not bits or (d.unit == "year" and bits != STRONG) or any(_LEAD.search(paragraph.lead(each)) for each in (a, b)):
        return
    bits += slip + (1.0 if len(pairs) == 1 else -math.log2(len(pairs))) + (1.0 if max(a.end, b.end) < d.start else 0.0)
    if bits < NEEDED or (min(each.value for each in pool) >= 0 and is_explained(d, pool)):
        return
    begin, end = min(each.start for each in (d, *pool)), max(each.end for each in (d, *pool))
    words = paragraph._cut(max(begin - 24, paragraph.whole.offset), end + 9)
    if not _APART.search(words) and not _MODAL.search(paragraph.upto(d)):
        real = abs(a.value - b.value)
        message = f"The difference of {a.text} and {b.text} is {plain(real)}, not {d.text}."
        yield finding_at("difference", d, message, meant=real, others=[a, b], probability=0.86)


def _is_kin(each: Quantity, d: Quantity) -> bool:
    """Whether a value may be an end of the difference; one of the two ends often leaves out its unit."""
    if each.group == d.group and (each.unit == d.unit or (d.unit, each.unit) in _SMALLER):
        return True
    if each.group != "plain" or d.group != "unit":
        return False
    if d.unit == "year":
        return 12 <= each.value < 110 and each.half == d.half
    return each.half == d.half and (each.value >= 10 or each.half < 0.5)


_SMALLER = {
    ("°", "°C"): 1.0, ("°", "°F"): 1.0, ("cm", "m"): 100.0, ("mm", "cm"): 10.0, ("m", "km"): 1000.0,
    ("g", "kg"): 1000.0,
    ("mm", "m"): 1000.0, ("kg", "t"): 1000.0, ("min", "h"): 60.0, ("mL", "L"): 1000.0,
}  # fmt: skip
"""Units of a difference, and of its ends."""


def _in_unit(each: Quantity, d: Quantity) -> Quantity:
    size = _SMALLER.get((d.unit or "", each.unit or ""), 1.0)
    return replace(each, value=each.value * size, step=2 * each.half * size)


def _slack(a: Quantity, b: Quantity, d: Quantity) -> float:
    if all(each.half == 0.5 and each.unit is None for each in (a, b, d)):
        return 0.0
    return d.half + a.half + b.half + 1e-9


def _slip(d: Quantity, a: Quantity, b: Quantity) -> float:
    """Bits of how the difference was missed: a digit, two exchanged ones, or a minus that was overlooked."""
    real = abs(a.value - b.value)
    if min(a.value, b.value) < 0 < max(a.value, b.value) and abs(abs(a.value + b.value) - d.value) <= d.half:
        return 5.0
    return rounded_slip_bits(d, real) if 0.2 < d.value / max(real, 1e-9) < 5 else 0.0
