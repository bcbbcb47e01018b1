"""Products that the units tell: `12 V across 4 Ω drive 2 A`, `5 mg/kg for 60 kg are 350 mg`, `$950 a month`.

Where one of three quantities measures the product of what the others measure, no other words are needed to know the
relation; the words only tell whether a number is a limit or belongs to something else.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain
from numerate.apps.consistency.sentences.gates import paragraph_gate
from numerate.apps.consistency.sentences.paragraphs import NEEDED, slip_bits
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import AMOUNT, UNIT, slot
from numerate.apps.consistency.sentences.traits import UNITS, stems
from numerate.numerals.unit_factors import converted, dimension_name, measure_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["rate_conversions", "told_areas", "told_volumes", "unit_products"]

MOST_AREAS = 12
"""Rooms of a list."""
MOST_VALUES = 5
"""Quantities with units of a sentence; those of longer lists belong to several things."""
_LIMIT = regex(
    r"\b(?:top|max\w*|peak|min\w*|record|limit\w*|up to|rated|rating|least|most"
    r"|between(?! (?:the|these|those|them|both|its|two)\b)|each|respectively|than|while"
    r"|whereas|but|per cent|nominal|cruis\w*|another|further|other|before|previous\w*|then|and then|compared|against"
    r"|first|second|last|from|range\w*|instead|again|wind|winds|gust\w*|capable|above|below|exceed\w*|breaks?"
    r"|pauses?)\b"
)
_LENGTHS = (("length", 1),)
_SEVERAL = regex(r"\((\d+)\*([^()*]+)\)")
"""The unit of a number for several of another unit: `L/(100*km)`."""
_MEAN = regex(
    r"\b(?:averag\w+|mean|moyenne|schnitt|durchschnitt\w*|media|promedio|i\.e\.|that is|which is|or|works out)\b|[(=]"
)
_SPENT = regex(r"\b(?:in|took|takes|time of|for)(?: (?:just|only|exactly|a time of|a total of))? $")
"""Before hours, minutes and seconds that are no time of the day: `54 km in 2:15`."""
_AMPERES = regex(r" A(?=[ .,;)]|$)")
_ELECTRIC = ("V", "Ω", "W", "Ah", "C")
# What one of the first has of the second; some have several.
_PERIODS = {
    ("second", "minute"): (60,), ("second", "hour"): (3600,), ("minute", "hour"): (60,), ("hour", "day"): (24,),
    ("minute", "day"): (1440,), ("day", "week"): (5, 6, 7), ("week", "year"): (50, 52, 53), ("month", "year"): (12, 13),
    ("quarter", "year"): (4,), ("month", "quarter"): (3,), ("day", "year"): (365, 366, 250, 260, 365.25, 300),
    ("week", "month"): (4, 4.33, 4.345, 4.3), ("day", "month"): (20, 21, 22, 28, 30, 31, 30.4),
}  # fmt: skip
_RATE = regex(
    rf"{slot('q', AMOUNT)}(?:(?: (?!per |an? |each |every )[a-z'’-]+){{0,3}}? (?:per|an?|each|every) "
    r"(?P<per>second|minute|hour|day|week|month|quarter|year)\b"
    r"|(?: [a-z'’-]+)? (?P<adverb>hourly|daily|weekly|monthly|quarterly|yearly|annually)\b)"
)
_ADVERBS = {
    "hourly": "hour", "daily": "day", "weekly": "week", "monthly": "month", "quarterly": "quarter", "yearly": "year",
    "annually": "year", "annual": "year",
}  # fmt: skip
_NAMED_RATE = regex(
    rf"\b(?P<adverb>annual|yearly|quarterly|monthly|weekly|daily|hourly)(?: [a-z'’-]+){{1,4}}?(?: of| is| was| are"
    rf"| at|:)+ "
    rf"(?:just |only |exactly )?{slot('q', AMOUNT)}(?!(?: [a-z'’-]+){{0,2}} (?:per|an?|each|every) )"
)
"""`an annual rent of $43,200`, `monthly instalments of $3,600`"""
_PAYABLE = regex(
    r"[ ,;:(]*(?:(?:and|which|is|are|to be|shall be|will be|it|can be) )*(?:(?:payable|paid|due|billed|collected"
    r"|settled|charged|debited"
    r"|spread|split)(?: [a-z]+){0,3} )?(?:(?:in|by|as|at|or|over|into|i\.e\.,?|that is,?) )?(?:(?:equal|even"
    r"|regular|the) )*"
    r"(?:annual|yearly|quarterly|monthly|weekly|daily) (?:[a-z]+ ){0,2}"
    r"(?:instal\w*|payments?|rates?|rents?|fees?|portions?|salar\w+|wages?|premiums?|amounts?|sums?|parts|bills?"
    r"|charges?|cost)"
    r"(?: (?:of|is|are|at|in advance|only|just))* $"
)
_SAME = regex(
    r"^(?:,|;| –| —| -)? ?(?:and )?(?:or|i\.e|that is,?|which is|which are|which makes?|that’s|that's|making|=|so"
    r"|equal to|equals|equivalent to|this is|it is|giving|amounting to|for a total of|corresponding to|meaning"
    r"|translating into|which (?:comes|works out|adds up|amounts|translates|corresponds) (?:to|at|into)|it makes"
    r"|or about)\b|^[,:]? ?[(=]"
)


def _powers(quantity: Quantity, unit: str | None) -> dict[str, int] | None:
    measure = measure_of(unit) if unit else None
    return dict(measure.powers) if measure is not None and len(measure.factors) == 1 and measure.powers else None


def unit_products(sentence: Sentence) -> Iterator[Finding]:
    """Three quantities, of which one measures the product of the others."""
    skeleton = sentence.skeleton
    if skeleton.count(UNIT) < 2:
        return
    units = [(each, _unit_of(sentence, each)) for each in sentence.quantities]
    known = [(each, unit) for each, unit in units if unit is not None and each.group in ("unit", "plain", "clock")]
    if not 3 <= len(known) <= MOST_VALUES or _LIMIT.search(_around(sentence, [each for each, _ in known])):
        return
    # `an average of` is no estimate.
    if any((each.hedge and "averag" not in each.before[-16:].lower()) or each.value <= 0 for each, _ in known):
        return
    found = []
    for x, y in itertools.combinations(known, 2):
        for z in known:
            if z is x or z is y:
                continue
            expected = _rated(x, y, z) or _rated(y, x, z) or _multiplied(x, y, z)
            if expected is not None:
                found.append((x[0], y[0], z[0], expected))
    if len(found) != 1:
        return
    x, y, z, expected = found[0]
    ratio = z.value / expected
    if any(
        each.group == "clock" and each.half == 0.5 and 0.97 < ratio * 60**sign < 1.03
        for each in (x, y, z)
        for sign in (1, -1)
    ):
        return  # `10 km in 42:30`: minutes and seconds
    slack = sum(min(each.half / each.value, 0.05) for each in (x, y, z) if each.half < 0.4 or each.value < 10) + 0.02
    if abs(ratio - 1) <= slack or not (0.4 < ratio < 2.5 or (len(known) == 3 and _is_power_of_ten(ratio))):
        return
    message = f"{x.text} x {y.text} = {plain(expected)}, not {z.text}."
    rate, count = (x, y) if "/" in (x.unit or "") or x.unit == "mph" else (y, x)
    if rate.start > max(z.end, count.end) and _MEAN.search(sentence.between(max(z, count, key=_start), rate)):
        message, meant = f"{z.text} / {count.text} = {plain(rate.value * ratio)}, not {rate.text}.", rate.value * ratio
        yield finding_at("product", rate, message, meant=meant, others=[z, count], probability=0.88)
        return
    yield finding_at("product", z, message, meant=expected, others=[x, y], probability=0.88)


def _around(sentence: Sentence, some: list[Quantity]) -> str:
    """The words before and between quantities, and the first one behind them."""
    last = max(some, key=_start)
    at = next(index for index, each in enumerate(sentence.quantities) if each is last)
    end = sentence.skeleton.find(chr(0xE100 + at)) + 1
    return sentence.skeleton[:end] + sentence.skeleton[end : end + 6]


def _start(quantity: Quantity) -> int:
    return quantity.start


def _is_power_of_ten(ratio: float) -> bool:
    return any(abs(ratio / each - 1) < 0.02 for each in (0.01, 0.1, 10, 100))


def _unit_of(sentence: Sentence, quantity: Quantity) -> str | None:
    """The unit; `4 A` has one beside another electrical unit only, as `A` may be a word."""
    if quantity.group == "clock" and _SPENT.search(sentence.beside(quantity)[0]):
        return "min"
    if quantity.unit is not None or quantity.group != "plain":
        return quantity.unit
    end = quantity.end - sentence.offset
    if _AMPERES.match(sentence.text, end) and any((each.unit or "-")[-1:] in "VΩWh" for each in sentence.quantities):
        return "A" if any((each.unit or "").endswith(_ELECTRIC) for each in sentence.quantities) else None
    return None


def _rated(rate: tuple[Quantity, str], number: tuple[Quantity, str], total: tuple[Quantity, str]) -> float | None:
    """`5 mg/kg` of 60 kg, or `6 l/100 km` of 650 km, in the unit of the total."""
    whole, mark, part = rate[1].partition("/")
    several = _SEVERAL.fullmatch(part)
    per, part = (float(several[1]), several[2]) if several is not None else (1.0, part)
    if not mark or "/" in part or "(" in part or "^" in part or number[1] == total[1] or total[1] == part:
        return None
    counts, sizes = converted(number[0].value, number[1], part), converted(rate[0].value, whole, total[1])
    if len(counts) != 1 or len(sizes) != 1 or "°" in rate[1]:
        return None
    return counts[0] * sizes[0] / per


def _multiplied(x: tuple[Quantity, str], y: tuple[Quantity, str], z: tuple[Quantity, str]) -> float | None:
    """The product of two quantities in the unit of the third, if it measures that."""
    powers = [_powers(*each) for each in (x, y, z)]
    if any(each is None for each in powers) or powers[0] == powers[1]:
        return None
    one, other, target = (each or {} for each in powers)
    if target in (one, other):
        return None
    product = dict(one)
    for name, power in other.items():
        product[name] = product.get(name, 0) + power
    if {name: power for name, power in product.items() if power} != target:
        return None
    sizes = [measure_of(each[1]).factors[0] for each in (x, y, z)]  # type: ignore[union-attr]
    return x[0].value * sizes[0] * y[0].value * sizes[1] / sizes[2]


def rate_conversions(sentence: Sentence) -> Iterator[Finding]:
    """One rate for two periods: `$950 a month, or $10,400 a year`."""
    skeleton = sentence.skeleton
    rates = {each.start("q"): each for pattern in (_NAMED_RATE, _RATE) for each in pattern.finditer(skeleton)}
    found = [(sentence.get(rates[at], "q"), rates[at]) for at in sorted(rates)]
    for (a, one), (b, other) in itertools.pairwise(found):
        between = skeleton[one.end() : other.start("q")]
        is_same = len(between) <= 40 and _SAME.search(between)
        if not (is_same or _PAYABLE.fullmatch(between)) or "\ue100" in between or a.hedge or b.hedge:
            continue
        if not a.comparable(b) or a.group != b.group or min(a.value, b.value) <= 0:
            continue
        first, second = (each.groupdict().get("per") or _ADVERBS[each["adverb"]] for each in (one, other))
        factors = _PERIODS.get((first, second)) or tuple(1 / each for each in _PERIODS.get((second, first), ()))
        if not factors:
            continue
        ratio = b.value / a.value
        blur = 0.01 + (a.half / a.value if a.half < 0.4 or a.value < 100 else 0.0)
        blur += b.half / b.value if b.half < 0.4 or b.value < 100 else b.last_place / b.value / 2
        near = min(factors, key=lambda each: abs(ratio / each - 1))
        if abs(ratio / near - 1) <= min(blur, 0.2) or not (0.3 < ratio / near < 3 or _is_power_of_ten(ratio / near)):
            continue
        meant = a.value * factors[0]
        message = f"{a.text} a {first} are {plain(meant)} a {second}, not {b.text}."
        yield finding_at("product", b, message, meant=meant, others=[a], probability=0.9)


_BY = regex(
    r"(?:[ -](?:long|wide|deep|broad|across|in length|in width))?,? (?:(?:and )?by|x|×|and|times) (?:some )?|[x×]"
)
_LONG = regex(r"^ (?:long|wide|deep|broad|in (?:length|width))\b")
_AREA = regex(r"\b(?:area|floor space|surface|footprint|plot)\b")
_SO = regex(
    r"\b(?:so|its|thus|that is|that's|which is|i\.e|mak(?:es?|ing)|cover\w*|total\w*|giv(?:es?|ing)|for|or"
    r"|all|the)\b|[(=]"
)
_PART = regex(r"\b(?:only|of it|of which|part|half|but|each|except|without|another|other|per|about|plus a|extra of)\b")


def told_areas(paragraph: Paragraph) -> Iterator[Finding]:
    """Two sides and the area, in one sentence or the next: `24 m long and 15 m wide ... Its 360 m² are mostly lawn`."""
    areas = [each for each in paragraph.values if each.unit and dimension_name(each.unit) == "area"]
    lengths = [each for each in paragraph.values if each.unit and dimension_name(each.unit) == "length"]
    pairs = [
        (a, b)
        for a, b in itertools.pairwise(lengths)
        if a.unit == b.unit
        and _BY.fullmatch(words := paragraph.between(a, b))
        and ("and" not in words or (_LONG.match(words) and _LONG.match(paragraph.tail(b))))
    ]
    # `4.85 m x 3.90 m (15'11" x 12'10"), 18.9 m2`: the second pair is the first in feet.
    pairs = [pair for at, pair in enumerate(pairs) if not at or paragraph.between(pairs[at - 1][1], pair[0]) != " ("]
    if len(areas) > MOST_AREAS:
        return
    for at, pair in enumerate(pairs):
        end = pairs[at + 1][0].start if at + 1 < len(pairs) else math.inf
        behind = [each for each in areas if pair[1].end <= each.start < end]
        if len(behind) == 1 and len(pairs) == len(areas):
            yield from _told_area(paragraph, *pair, behind[0])


def _told_area(paragraph: Paragraph, a: Quantity, b: Quantity, z: Quantity) -> Iterator[Finding]:
    words = paragraph.between(b, z)
    if z.hedge or z.value <= 0 or not 0 <= paragraph.place(z) - paragraph.place(b) <= 1 or _PART.search(words):
        return
    if _PART.match(paragraph.tail(z).lstrip()) or any(each.hedge or each.value <= 0 for each in (a, b)):
        return
    size = measure_of(z.unit or ""), measure_of(a.unit or "")
    real = a.value * b.value * size[1].factors[0] ** 2 / size[0].factors[0]  # type: ignore[union-attr]
    if abs(z.value / real - 1) <= 0.02 + a.half / a.value * (a.half < 0.4) + b.half / b.value * (b.half < 0.4):
        return
    bits = 4.0 + slip_bits(z, real) + (3.0 if _SO.search(words) else 0.0) + (2.0 if _AREA.search(words) else 0.0)
    if bits >= NEEDED and 0.5 < z.value / real < 2:
        message = f"{a.text} x {b.text} = {plain(real)}, not {z.text}."
        yield finding_at("product", z, message, meant=real, others=[a, b], probability=0.86)


_SIDE = regex(r"[ -](?:long|wide|deep|broad|high|tall|thick|in (?:length|width|depth|height|breadth))\b")
_SIDES = regex(
    r"(?:[ -](?:long|wide|deep|broad|high|tall|in (?:length|width|depth|height|breadth)))?,? ?"
    r"(?:(?:and )?by|x|×|and)? ?"
)
_HOLDS = regex(
    r"\b(?:holds?|held|volume|capacity|contains?|takes?|needs?|cubic|filled|full|room for|space|so|giv\w+|mak\w+|or"
    r"|its)\b|[=(:]"
)
_ALL_OF_IT = regex(r"\b(?:volume|capacity|cubic|full|exactly|to the brim)\b|[=(]|m³")
_NO_BOX = regex(
    r"\b(?:cylind\w*|round|diameter|radius|spher\w*|cone|pyramid|slop\w*|taper\w*|average|triang\w*|two of|three of"
    r"|together|side by side|walls?|oval|trapez\w*|shallow|half|only|currently|now holds|left|per|every|each)\b"
)
_WALLS = 0.75
"""What walls and rims leave of the outer sides."""


@paragraph_gate(UNITS[4], stems("long_ wide_ deep_ high_ tall_ length width depth height x_ by_ measur") | stems("×"))
def told_volumes(paragraph: Paragraph) -> Iterator[Finding]:
    """Three sides and the volume behind them: `2 m long, 1.5 m wide and 1 m deep and holds 4,000 litres`."""
    volumes = [each for each in paragraph.values if each.unit and dimension_name(each.unit) == "volume"]
    lengths = [each for each in paragraph.values if each.unit and dimension_name(each.unit) == "length"]
    if len(volumes) != 1 or len(lengths) != 3:
        return
    z, sides = volumes[0], lengths
    words = paragraph.around(*sides, z)
    if any(each.hedge or each.value <= 0 for each in (z, *sides)) or z.start < sides[-1].end or _NO_BOX.search(words):
        return
    if not all(_SIDES.fullmatch(paragraph.between(a, b)) for a, b in itertools.pairwise(sides)):
        return
    if not _SIDE.match(paragraph.tail(sides[-1])) and not all(
        _BY.fullmatch(paragraph.between(a, b)) for a, b in itertools.pairwise(sides)
    ):
        return
    gap = paragraph.between(sides[-1], z)
    if paragraph.place(z) - paragraph.place(sides[-1]) > 1 or not _HOLDS.search(gap):
        return
    real, blur = 1.0, z.half / z.value
    for each in sides:
        (metres,) = converted(each.value, each.unit or "", "m") or (0.0,)
        real *= metres
        blur += each.half / each.value if each.half < 0.4 else 0.01
    size = measure_of(z.unit or "")
    real /= size.factors[0] if size is not None else 1.0
    if real <= 0 or not 0.09 < z.value / real < 11:
        return
    least = 1.0 if _ALL_OF_IT.search(gap + paragraph.tail(z)) and "hold" not in gap else _WALLS
    if not least * (1 - blur - 0.02) <= z.value / real <= 1 + blur + 0.02:
        message = f"{' x '.join(each.text for each in sides)} = {plain(real)} {z.unit}, not {z.text}."
        yield finding_at("product", z, message, meant=real, others=sides, probability=0.87)
