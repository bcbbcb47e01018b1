"""Numbers of a paragraph of which one is a product but for a slip: `60 extras for 4 days at €900 a day each`.

No pattern of words joins them: a rate (`900 a day each`, `holds 12`, `rows of 45`), counts, and an amount of the rate's
unit that is their product with two digits exchanged, one other digit or a factor of ten. How rarely that is chance is
counted in bits, of which each further product that was tried takes some away.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain
from numerate.apps.consistency.sentences.paragraphs import slip_bits
from numerate.apps.consistency.sentences.patterns import regex
from numerate.numerals.unit_factors import dimension_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.findings import Finding

__all__ = ["near_products"]

NEEDED = 7.7
MOST_VALUES = 12
_GROUPS = frozenset(("plain", "unit", "money"))
NEAR = 2
"""Sentences between the product and its factors."""
_RATE_BEHIND = regex(
    r"^(?: (?!and |or |but |for |in all)[a-z'’-]+){0,3}? ?(?:each|apiece|per [a-z]+|every|a piece|/ ?[a-z]+"
    r"|(?:in |to |on |from )?an? (?:day|night|week|month|year|hour|minute|head|person|piece|kilo|litre|bottle|box"
    r"|carton|bag|ticket|seat|copy|tonne|metre|crate|tray|pack|row|tree|table|page|class|household|share|item|unit|plant|lorry"
    r"|player|member|guest|pupil|child))\b"
)
_RATE_LEAD = regex(
    r"\b(?:each|every|one|an?)(?: of (?:the|its|our|these|those)| [a-z'’-]+){0,3} (?:costs?|holds?|held|contains?"
    r"|contained|covers?|uses?|used|weighs?|weighed|seats?|carr(?:ies|ied)|has|had|takes?|took|gives?|gave|yields?|yielded"
    r"|needs?|lasts?|lasted|at|is|was|of|with|brings?|brought|pays?|paid|gets?|got|makes?|made|produces?|sells? for)"
    r"(?: [a-z]+)? [$€£]?$|s (?:of|at|with) [$€£]?$|\b(?:at|for) [$€£]?$"
    r"|\b(?:at|for) (?:an? |the )?(?:[a-z]+ )?(?:price|cost|rate|fee|fare|wage|rent|charge|value) of [$€£]?$"
)
_SUM_LEAD = regex(r"\b(?:total|sum|amount|bill|invoice)(?: of)? [$€£]?$")
_FACTOR_BEHIND = regex(r"^(?:-[a-z]+|m? ?[x×]) ")
_TOTAL = regex(
    r"\b(?:total\w*|in all|altogether|makes?|making|made|com(?:es?|ing) to|came to|so|thus|hence|gives?|giving|gave|due"
    r"|sum|bill|invoice|amount\w*|or|equals?|means|that is|all|adds? up to|paid|cost|costs|worth|took in|brought in)\b"
)
_OTHERS = regex(
    r"\b(?:about|nearly|almost|over|more than|less than|at least|average|mean|record|compared|instead|previous\w*"
    r"|last year|discount\w*|reduc\w*|target|capacity|limit|not all|only)\b"
)


def near_products(paragraph: Paragraph) -> Iterator[Finding]:
    """Numbers that miss the product of a rate and one or two counts by a slip."""
    told = [each for each in paragraph.values if each.hedge not in ("over", "under")]  # `26 % more than the 1,000`
    values = [each for each in told if each.value > 1 and each.text.lower() != "one"]
    if not 3 <= len(values) <= MOST_VALUES:
        return
    wholes = [each for each in values if each.value >= 20 and each.group in _GROUPS and not each.hedge]
    if not wholes:
        return
    rates = [each for each in values if each.group in _GROUPS and _is_rate(paragraph, each)]
    for z in wholes if rates else ():
        if any(each is z for each in rates):
            continue
        found = max(_readings(paragraph, z, values, rates), key=lambda each: each[0], default=None)
        if found is not None and found[0] >= NEEDED:
            _, real, factors = found
            terms = " x ".join(each.text for each in factors)
            message = f"{terms} = {plain(real)}, not {z.text}."
            yield finding_at("product", z, message, meant=real, others=factors, probability=0.86)


def _is_rate(paragraph: Paragraph, quantity: Quantity) -> bool:
    tail, lead = paragraph.tail(quantity), paragraph.lead(quantity)
    return (
        "/" in (quantity.unit or "")
        or (quantity.unit is not None and "-" in quantity.text)
        or _RATE_BEHIND.match(tail) is not None
        or _FACTOR_BEHIND.match(tail) is not None
        or (_RATE_LEAD.search(lead) is not None and _SUM_LEAD.search(lead) is None)
    )


def _readings(
    paragraph: Paragraph, z: Quantity, values: Sequence[Quantity], rates: Sequence[Quantity]
) -> Iterator[tuple[float, float, list[Quantity]]]:
    """Bits, product and factors of each way to make a number of a rate and counts; none where one is right."""
    here = z.place
    near = [each for each in values if each is not z and abs(each.place - here) <= NEAR]
    ways: list[tuple[float, list[Quantity]]] = []
    for rate in rates:
        if rate is z or abs(rate.place - here) > NEAR or not _is_kin(rate, z):
            continue
        counts = [
            each for each in near if each is not rate and _is_count(each, z) and _may_count(paragraph, rate, each)
        ]
        for some in (*itertools.combinations(counts, 1), *itertools.combinations(counts, 2)):
            factors = sorted((rate, *some), key=_start)
            ways.append((math.prod(each.value for each in factors), factors))
    alike = [each.value for each in near if _is_kin(each, z)]
    if not ways or any(_fits(z, real, factors) for real, factors in ways) or _is_sum(z, alike):
        return
    own = _TOTAL.search(paragraph.lead(z)) is not None or _TOTAL.search(paragraph.tail(z)[:24]) is not None
    for real, factors in ways:
        bits = slip_bits(z, real)
        last = max(factors, key=_start)
        words = paragraph.between(last, z) if z.start > last.start else paragraph.between(z, last)
        if bits < 4 or real in alike or z.value <= max(map(_size_of(z), factors)) or _OTHERS.search(words):
            continue
        digits = max(len(f"{value:.10g}".partition("e")[0].replace(".", "").strip("0")) for value in (z.value, real))
        far = max(abs(each.place - here) for each in factors)
        tried = sum(max(abs(each.place - here) for each in others) <= far for _, others in ways)
        bits = min(bits, 3.3 * digits) + (2.0 if own else 0.0) + (1.0 if z.start > last.start else 0.0)
        bits -= math.log2(tried)
        yield bits, real, factors


def _size_of(z: Quantity) -> Callable[[Quantity], float]:
    """The value of a factor that the product must be more than: that of its own unit."""
    return lambda each: each.value if z.unit is None or _is_kin(each, z) else 0.0


def _start(quantity: Quantity) -> int:
    return quantity.start


def _is_kin(rate: Quantity, z: Quantity) -> bool:
    unit = rate.unit or ""
    return unit == (z.unit or "") or ("/(" not in unit and unit.partition("/")[0] == (z.unit or ""))


def _is_count(quantity: Quantity, z: Quantity) -> bool:
    """Whether it may be a factor: a count, or a time or a size in another unit."""
    return quantity.group == "plain" or (quantity.group == "unit" and quantity.unit != z.unit)


def _may_count(paragraph: Paragraph, rate: Quantity, count: Quantity) -> bool:
    """Whether a rate may be for this: `a family of two` is for families, not for square kilometres."""
    if rate.group != "plain" or count.group != "unit" or dimension_name(count.unit or "") == "time":
        return True
    return _RATE_BEHIND.match(paragraph.tail(rate)) is not None


def _fits(z: Quantity, real: float, factors: Sequence[Quantity]) -> bool:
    rough = sum(real / each.value * each.half for each in factors if each.half < 0.4)
    return abs(real - z.value) <= max(z.half, 0.5 * z.last_place) + rough


def _is_sum(z: Quantity, alike: Sequence[float]) -> bool:
    """Whether it is the sum or the difference of two or three others."""
    return any(
        abs(sum(some) - z.value) <= z.half or abs(2 * max(some) - sum(some) - z.value) <= z.half
        for count in (2, 3)
        for some in itertools.combinations(alike[:8], count)
    )
