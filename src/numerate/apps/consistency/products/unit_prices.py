"""Prices of a pack and of its unit: `a 750 ml bottle costs £9.00, or £12.00 per litre`, `1.2 kg, $10.80 ($9.00/kg)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain
from numerate.apps.consistency.sentences.gates import sentence_gate
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.traits import MEASURES, MONEY, UNITS, VALUES
from numerate.numerals.unit_factors import converted, dimension_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["unit_prices"]

_PER = regex(
    r" ?(?:per|a|the|/|je|pro|le|au|el|por) ?(?P<unit>litre|liter|l|kilogram|kilogramme|kilo|kg|gram|g|100 ?g"
    r"|100 ?ml|100 ?gr|metre|meter|m|m²|square"
    r" met(?:re|er)|pound|lb|ounce|oz|gallon|tonne|ton)\b(?!²)"
)
_UNITS = {
    "litre": (1, "L"), "liter": (1, "L"), "l": (1, "L"), "kilogram": (1, "kg"), "kilogramme": (1, "kg"),
    "kilo": (1, "kg"),
    "kg": (1, "kg"), "gram": (1, "g"), "g": (1, "g"), "metre": (1, "m"), "meter": (1, "m"), "m": (1, "m"),
    "m²": (1, "m^2"),
    "pound": (1, "lb"), "lb": (1, "lb"), "ounce": (1, "oz"), "oz": (1, "oz"), "gallon": (1, "gal"), "tonne": (1, "t"),
    "square metre": (1, "m^2"), "square meter": (1, "m^2"),
}  # fmt: skip
_OR = regex(
    r"[ ,;(:–—-]*(?:(?:or|i\.e\.,?|that is,?|that['’]s|this is|which is|which are|which makes|which means|making"
    r"|giving|equals|so|thus|hence|therefore|and so"
    r"|which works out at|works out at|working out at|equivalent to|corresponding to|the (?:unit )?price (?:is|was)"
    r"|it is|he paid|she paid"
    r"|we paid|just|only|exactly|a price of|for) ?)*[$€£]?"
)
"""Before the price of one unit, of the same thing as the price before it."""
_PER_SIZE = regex(r" ?(?:per|/|je|pro|por|pour|a) ?$")
_IS = regex(r" ?(?:=|:|is|are|costs?|cost|at) ?$")
_DIMENSIONS = ("mass", "volume", "length", "area")
_APART = regex(
    r"\b(?:plus|instead|usual\w*|normal\w*|was|were|than|compared|deposit|delivery|discount|off|save[sd]?|reduced"
    r"|each|cheaper|dearer"
    r"|average|another|other|if|while|whereas|but|rose|fell|from|up|down|before|after|member\w*|between|about|and)\b|%"
)


@sentence_gate(VALUES[3], MONEY[2], UNITS[1], MEASURES[3])
def unit_prices(sentence: Sentence) -> Iterator[Finding]:
    """The only amount of a thing, its price and the price of one unit of it."""
    values = sentence.values
    money = [each for each in values if each.group == "money"]
    if len(money) != 2 or not 3 <= len(values) <= 4 or any(each.hedge or each.value <= 0 for each in values):
        return
    sizes = [each for each in values if each.unit and each.group == "unit" and dimension_name(each.unit) in _DIMENSIONS]
    if len(sizes) + 2 != len(values):
        return
    rates = [(each, rate) for each in money if (rate := _rate_of(sentence, each, sizes)) is not None]
    if len(rates) != 1:
        return
    z, (count, unit, base) = rates[0]
    price = money[0] if money[1] is z else money[1]
    things = [each for each in sizes if each is not base]
    if len(things) != 1 or (price.unit or "") != (z.unit or "").partition("/")[0]:
        return
    before = max(
        (each for each in (price, things[0], base) if each is not None and each.end <= z.start), key=_end, default=None
    )
    if before is None or max(price.end, things[0].end) > z.start:
        return  # the price of one stands last
    if before is not base and not _OR.fullmatch(sentence.between(before, z)):
        return
    if before is base and not _OR.fullmatch(sentence.between(max((price, things[0]), key=_end), before)):
        return
    size = converted(things[0].value, things[0].unit or "", unit)
    begin, end = min(each.start for each in values), max(each.end for each in values)
    words = sentence.text[begin - sentence.offset : end - sentence.offset].lower()
    if len(size) != 1 or size[0] <= 0 or _APART.search(words):
        return
    real = count * price.value / size[0]
    slack = (
        z.half
        + real * (price.half / price.value * (price.half < 0.4) + 0.5 * things[0].half / things[0].value)
        + 0.006 * real
    )
    ratio = z.value / real
    if abs(z.value - real) > slack and (0.3 < ratio < 3.3 or abs(ratio / 10 - 1) < 0.01 or abs(ratio * 10 - 1) < 0.01):
        message = f"{price.text} for {things[0].text} are {plain(real)} for {plain(count)} {unit}, not {z.text}."
        yield finding_at("product", z, message, meant=real, others=[price, things[0]], probability=0.87)


def _end(quantity: Quantity) -> int:
    return quantity.end


def _rate_of(sentence: Sentence, price: Quantity, sizes: list[Quantity]) -> tuple[float, str, Quantity | None] | None:
    """How much of which unit a price is for, and the quantity that says so, if it is one."""
    bottom = (price.unit or "").partition("/")[2]
    if bottom:
        return 1.0, bottom, None
    for each in sizes:
        if each.value in (1, 10, 100, 1000) and (
            (each.start >= price.end and _PER_SIZE.fullmatch(sentence.between(price, each)))
            or (each.end <= price.start and _IS.fullmatch(sentence.between(each, price)) and len(sizes) > 1)
        ):
            return each.value, each.unit or "", each
    match = _PER.match(sentence.beside(price)[1])
    if match is None or match["unit"] not in _UNITS:
        return None
    count, unit = _UNITS[match["unit"]]
    return float(count), unit, None
