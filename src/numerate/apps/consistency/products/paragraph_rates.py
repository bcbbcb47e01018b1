"""Rates with a count and a total in a paragraph: 45 hours at $38 an hour, 12 bottles to the case, 300 km in 4 hours."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain
from numerate.apps.consistency.products.told_rates import UNIT_NOUNS, Rate, nouns_of, periods_of, rate_of, stem_of
from numerate.apps.consistency.sentences.paragraphs import NEEDED, slip_bits
from numerate.apps.consistency.sentences.patterns import regex
from numerate.numerals.unit_factors import converted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.findings import Finding

__all__ = ["paragraph_rates"]

_CUE = regex(r"\b(?:per|each|every|apiece|to the|an?|in an?|the) [a-z]|s of |/|[a-z] head\b")
_RESULT = regex(
    r"\b(?:total\w*|in all|altogether|amounts?|amount\w* to|com(?:es?|ing) to|came to|mak(?:es?|ing)|made|giv(?:es?"
    r"|ing)|so|thus|therefore|hence|that is|that's|which is|i\.e|works? out|worked out|paid|pay|cost|costs|bill"
    r"|owe\w*|charged|invoice\w*|gets?|receives?|seat|earn\w*|average|averag\w+|mean|equals|sum|says|or|leaves|needs?"
    r"|used|takes?|took|invoiced|carry|carries|hold|holds)\b|=|≈"
)
_BESIDES = regex(
    r"\b(?P<soft>delivery|shipping|postage|tax|fees?|less)\b|\b(?:including|inclusive|incl|plus|extra|top speed|maximum"
    r"|limit|on the motorway|breaks?|pauses?|interruptions?|instead|tips?|discount|deposit)\b|\band (?:an?|the"
    r"|\d+|breakfast|lunch|dinner|meals?|insurance) "
)
"""Words for what a total has besides the product, and for other speeds than the mean."""
_APART = regex(r"\b(?:only|of which|of them|sold|breaks?|pauses?|instead)\b|(?<=.)\bwith(?: [a-z'’-]+){0,5}[ (]*$")
_BUNDLE = regex(r"(?: [a-z'’-]+){0,3}? (?:for|at|cost|costs|are)(?: just| only)? [$€£]?")
"""`three jars for 18`, where one is 6.50: several may be cheaper."""
_TIGHT = regex(
    r"(?:\b(?:or|that is|that's|which is|this is|i\.e\.|on average|averag\w+|works? out at|mean|com(?:es|e|ing) to"
    r"|came to|that makes|therefore|thus)|=|\()(?: (?:an?|about|just|only|average|of|exactly|that|is|it))* ?[$€£]?$"
)
"""Words right before a number that is computed from the ones before."""
_BILL = regex(r"\b(?:paid|pays?|bill(?:ed)?|charged?|invoiced?|owes?|owed|cost me|cost us|earned|received)\b")
_OF_ONE = regex(r"(?: [a-z'’-]+){0,2} (?:each|apiece)\b")
"""Behind a number that is another rate."""
_SIZES = frozenset(("kilo", "square metre", "hectare", "square foot", "acre"))
_PERSON = regex(
    r"(?:er|or|ist|ian|ant|ee|friend|couple|man|woman|child|boy|girl|colleague|sister|brother|cousin|student|partner)$"
)
_CROWD = regex(
    r"\b(?:camp|village|town|city|crew|group|team|party|population|staff|class|household|family|community|battalion"
    r"|regiment|workforce|congregation) of(?: (?:about|some|around|nearly|over))? $"
)
"""Before a number of persons without a noun: `the camp of 2,000`."""
_TIMES = frozenset(("minute", "hour", "day", "week", "month"))
_FLOW = regex(r"\b(?:fill|empt|drain|pump|tap|drip|infus)\w*")
MOST_WEAK, LEAST_OF_SEVERAL = 6.6, 5.0
"""Bits of a slip that proves little, and those it needs within a sentence where several counts may be meant."""
_AVERAGE = regex(r"\b(?:averag\w+|mean|works? out|about)\b")


def paragraph_rates(paragraph: Paragraph) -> Iterator[Finding]:
    """Totals, counts and rates that do not fit each other."""
    if paragraph.tally.values < 2 or not _CUE.search(paragraph.lower):
        return
    values = paragraph.values
    if not 2 <= len(values) <= 16:
        return
    # Numbers are compared before words: most have no number near them that could be their total.
    some = [each for each in values if _may_have_total(each, values)]
    rates = [rate for each in some if (rate := rate_of(paragraph, each)) is not None]
    if not rates:
        return
    for rate in rates:
        r = rate.quantity
        triples = []
        near = [each for each in values if each is not r and abs(each.place - r.place) <= 2]
        for a in near:
            if a.value <= 0 or (a.value <= r.value and a.group != "unit"):
                continue
            whole = _amount(paragraph, rate, a)
            if whole is None or _OF_ONE.match(paragraph.tail(a)):
                continue
            for n in near:
                if n is a or n.value <= 1 or n.group not in ("plain", "unit"):
                    continue
                fit, count = _fit(paragraph, rate, n)
                if fit and count > 0.01:
                    triples.append((fit, n, count / rate.of, a, whole))
            for n in periods_of(paragraph, a) if rate.per in _TIMES else ():
                fit, count = _fit(paragraph, rate, n)
                if fit and count > 1:
                    triples.append((fit, n, count, a, whole))
        if not triples or any(_is_right(r.value, r, n, count, a, whole) for _, n, count, a, whole in triples):
            continue
        if r.group == "money" and _is_charged(r, near):
            continue
        best = None
        for fit, n, count, a, whole in triples:
            if any(
                each is not r
                and each is not a
                and each is not n
                and each.unit == a.unit
                and each.group == a.group
                and _made_of(each, a, values)
                for each in values
            ):
                continue
            lead = (paragraph.lead(a).removeprefix(" of them"), paragraph.lead(r))
            is_near = paragraph.place(a) == paragraph.place(r)
            result = 3.0 if _RESULT.search(lead[0]) or (r.start > a.start and _RESULT.search(lead[1])) else 0.0
            if n.start > a.start and _RESULT.search(paragraph.lead(n)):
                result = 3.0
            here = [each for each in values if paragraph.place(each) == paragraph.place(a)]
            is_closed = result > 0 and len(here) == 3 and r in here and n in here
            if _APART.search(lead[0]) or (a.value < count * r.value and _BUNDLE.fullmatch(paragraph.between(n, a))):
                continue
            besides = list(_BESIDES.finditer(paragraph.around(a, r, n))) if is_near else []
            scale = whole / a.value
            tries = (
                (slip_bits(a, count * r.value / scale), a, count * r.value / scale),
                (slip_bits(r, whole / count), r, whole / count),
                (
                    slip_bits(n, n.value * whole / (count * r.value)) if n.start > a.start else 0.0,
                    n,
                    n.value * whole / (count * r.value),
                ),
            )
            is_whole = (
                r.group != "plain" or _AVERAGE.search(lead[1]) or abs(whole / count - round(whole / count)) < 1e-6
            )
            bits, wrong, real = max((each for each in tries if is_whole or each[1] is not r), key=lambda each: each[0])
            # A slip in a long number is no delivery or tax.
            if besides and (bits < 7.5 or not all(each["soft"] for each in besides)):
                continue
            ratio = whole / (count * r.value)
            if bits < 4.0 and len({paragraph.place(each) for each in (n, a, r)}) > 1:
                bits = 0.0  # a digit of two is no proof from one sentence to another
            is_together = paragraph.place(n) == paragraph.place(a) == paragraph.place(r)
            if result and r.group == "unit" and n.start > a.start and _FLOW.search(paragraph.lower):
                # `35 litres a minute. Filling the 2,800-litre tank takes ...`: nothing else may count here.
                is_together = is_closed = len(values) == 3
            is_tight = result > 0 and rate.per in _SIZES
            if len(triples) == 1 and not is_tight:
                last = a if a.start > r.start else r
                # `€3 per hour. He stayed five hours and paid €18`: count and bill follow the price.
                is_bill = r.group == "money" and r.end <= n.start < a.start and _BILL.search(lead[0]) is not None
                is_told = (
                    _TIGHT.search(paragraph.lead(last)) is not None and paragraph.place(n) >= paragraph.place(r) - 1
                )
                is_tight = is_told or (is_bill and 0 <= paragraph.place(a) - paragraph.place(r) < 2)
            if not bits and not ((fit >= 5 or is_closed) and result and (is_together or is_tight) and 0.5 < ratio < 2):
                continue
            if (
                bits <= MOST_WEAK
                and not is_tight
                and not _is_likely(is_together, bits, len(triples), ratio, n.place == a.place)
            ):
                continue
            if wrong is r and not bits:
                wrong, real = (a, count * r.value / scale) if a.start > r.start else (r, whole / count)
            score = (
                fit + result + bits - math.log2(len(triples)) + (0.0 if bits or is_tight else -2.0) + 3.0 * is_closed
            )
            if best is None or score > best[0]:
                best = (score, wrong, real, n, a)
        if best is not None and best[0] >= NEEDED and (best[0] >= 14.0 or best[1].hedge in ("", "about")):
            _, wrong, real, n, a = best
            others = [each for each in (r, n, a) if each is not wrong]
            told = f"{n.text} x {r.text}" if wrong is a else f"{a.text} / {(r if wrong is n else n).text}"
            yield finding_at(
                "product",
                wrong,
                f"{told} = {plain(real)}, not {wrong.text}.",
                meant=real,
                others=others,
                probability=0.86,
            )


def _is_charged(r: Quantity, near: list[Quantity]) -> bool:
    """Whether what stands behind a price is that of a count before it: `180 miles over the 500 free at $0.25, $45`."""
    behind = [each for each in near if each.start > r.end and each.place == r.place and each.group == "money"][:1]
    return any(
        each.end <= r.start
        and each.place == r.place
        and each.value > 1
        and abs(each.value * r.value - z.value) <= z.half
        for z in behind
        for each in near
    )


def _is_likely(is_together: bool, bits: float, count: int, ratio: float, is_beside: bool) -> bool:
    """Whether a slip of few digits may be one: in a paragraph with many numbers, some are alike by chance."""
    if is_together:
        return count == 1 or bits > LEAST_OF_SEVERAL
    return count == 1 and is_beside and 0.5 < ratio < 2


def _may_have_total(r: Quantity, values: list[Quantity]) -> bool:
    """Whether a value near a rate may be a total of it, by its size and kind."""
    least, place, group = r.value, r.place, r.group
    for each in values:
        if (
            (each.value > least or each.group == "unit")
            and (each.group == group or (group == "plain" and each.group == "money"))
            and each is not r
            and -2 <= each.place - place <= 2
        ):
            return True
    return False


def _fit(paragraph: Paragraph, rate: Rate, n: Quantity) -> tuple[float, float]:
    """How well a count fits what a rate is for, and the count in the unit of the rate."""
    unit = rate.quantity.unit if rate.quantity.group == "unit" else None
    if n.group == "unit":
        bottom = (
            unit.partition("/")[2]
            if unit and "/" in unit and rate.of == 1
            else next((u for u, name in UNIT_NOUNS.items() if name == rate.per), None)
        )
        top = (n.unit or "").partition("/")[0]
        changed = converted(n.value, top, bottom) if bottom and top else ()
        return (5.0, changed[0]) if changed else (0.0, 0.0)
    if n.value != int(n.value):
        return 0.0, 0.0
    nouns = nouns_of(paragraph, n)
    if rate.per and (rate.per in nouns or rate.per in _nouns_before(paragraph, n)):
        return 5.0, n.value
    if rate.per and nouns[:1] == ["them"] and n.start > rate.quantity.end:
        return 4.0, n.value
    if rate.per == "person" and _CROWD.search(paragraph.lead(n)):
        return 5.0, n.value
    if rate.per == "person" and nouns and n.end <= rate.quantity.start and _PERSON.search(nouns[0]):
        return 4.0, n.value
    if not rate.per and nouns and n.end <= rate.quantity.start and rate.quantity.start - n.end < 60:
        return 4.0, n.value
    return 0.0, 0.0


def _nouns_before(paragraph: Paragraph, n: Quantity) -> list[str]:
    return [stem_of(each) for each in re.findall(r"[a-z]+", paragraph.lead(n, 24))[-2:]]


def _amount(paragraph: Paragraph, rate: Rate, a: Quantity) -> float | None:
    """A total in the unit of the rate's upper part; None if it is something else."""
    r = rate.quantity
    if r.group == "money":
        if r.unit == "cent" and a.unit in ("USD", "EUR", "AUD", "CAD"):
            return 100 * a.value
        return a.value if a.group == "money" and a.unit == r.unit else None
    if r.group == "unit":
        top = (r.unit or "").partition("/")[0]
        unit = (a.unit or "").partition("/")[0]
        changed = converted(a.value, unit, top) if a.group == "unit" and unit else ()
        return changed[0] if changed else None
    named = [each for each in nouns_of(paragraph, r) if each != rate.per]
    if a.group == "money" and named and named[0] in a.text.lower():
        return a.value  # `16.8 million crowns, or 70,000 crowns per head`
    if a.group != "plain":
        return None
    if named and named[0] in nouns_of(paragraph, a)[:3]:
        return a.value
    is_free = not named or named[0] in ("per", "the") or (not rate.per and 0 < a.start - r.end < 60)
    return a.value if is_free and a.value >= 2 * r.value else None


def _is_right(value: float, r: Quantity, n: Quantity, count: float, a: Quantity, whole: float) -> bool:
    """Whether rate, count and total fit within rounding; `about` counts as one in twenty."""
    # A price or a count that comes first is exact; one that was computed is rounded.
    is_exact = r.group in ("plain", "money") and (r.start < a.start or r.half < 0.5) and not r.hedge
    relative = (
        (0.0 if is_exact else min(r.half / r.value, 0.03 if r.start < a.start else 1.0))
        + a.half / a.value
        + (
            n.half / n.value
            if n.group == "unit" and n.unit not in ("d", "week", "month", "year") and n.half < 0.5
            else 0.0
        )
    )
    if any(each.hedge and "averag" not in each.before[-16:].lower() for each in (r, a)):
        relative += 0.05
    relative = max(relative, 0.02 if not n.numerals else 0.003)
    return abs(whole / (count * value) - 1) <= min(relative, 0.25) + 1e-9


def _made_of(each: Quantity, a: Quantity, values: list[Quantity]) -> bool:
    """Whether a total is the sum or difference of another amount and a third, so that it needs no rate."""
    return any(
        other is not each
        and other is not a
        and (other.unit, other.group) == (a.unit, a.group)
        and min(abs(each.value + other.value - a.value), abs(each.value - other.value - a.value)) <= a.half + 1e-9
        for other in values
    )
