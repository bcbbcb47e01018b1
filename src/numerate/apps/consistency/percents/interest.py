"""Interest of a year: `€8,000 at 3 % a year earns €240`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain
from numerate.apps.consistency.sentences.gates import paragraph_gate
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.traits import VALUES, stems
from numerate.numerals.unit_factors import dimension_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.findings import Finding

__all__ = ["interest"]

_INTEREST = regex(r"\b(?:interest|coupon|zinsen|intérêts?|intereses)\b")
_YEARLY = regex(r"\b(?:a|per|each|every) (?:year|annum)\b|\bp\.\s?a\.|\bannual(?:ly)?\b|\byearly\b")
_EARNS = regex(r"\b(?:earn\w*|pays?|paid|yield\w*|brings?|bears?|accru\w*|owe[sd]?|due|costs?)\b")
_OTHER = regex(
    r"\b(?:monthly|quarterly|daily|month|quarter|weeks?|days?|compound\w*|principal|repa\w+|instal\w+|fees?|tax|rose"
    r"|fell|increas\w*|initial\w*|from \d|up to|net|plus|less|minus|shares?|per share|rebate|discount\w*|variable"
    r"|first \w+ months)\b",
)


@paragraph_gate(stems("interest coupon zinsen intérêt interes year annum annual p_ yearly"), VALUES[3])
def interest(paragraph: Paragraph) -> Iterator[Finding]:
    """The interest of an amount for a year, where a paragraph has one rate and two amounts."""
    rates = [each for each in paragraph.values if each.group == "percent"]
    money = [each for each in paragraph.values if each.group == "money"]
    if len(rates) != 1 or len(money) != 2 or money[0].unit != money[1].unit or _OTHER.search(paragraph.lower):
        return
    (rate,), (amount, z) = rates, sorted(money, key=_value, reverse=True)
    said = _INTEREST.search(paragraph.lower) is not None
    if not said and not (_YEARLY.search(paragraph.tail(rate)) and _EARNS.search(paragraph.lower)):
        return
    if any(each.hedge for each in (rate, amount, z)) or z.end < min(rate.start, amount.start):
        return
    spans = [each for each in paragraph.values if each.unit and dimension_name(each.unit) == "time"]
    counts = [each for each in spans if each.unit == "year"]
    if len(spans) != len(counts) or len(counts) > 1:
        return
    places = [each.place for each in (rate, amount, z, *counts)]
    near = paragraph.upto(z) + paragraph.tail(z)
    if max(places) - min(places) > 1 or not (z.place == rate.place or _INTEREST.search(near) or _EARNS.search(near)):
        return
    years = counts[0].value if counts else 1.0
    real = amount.value * rate.value
    told = {real, real * years, amount.value * ((1 + rate.value) ** years - 1), amount.value * (1 + rate.value * years)}
    told |= {amount.value * (1 + rate.value) ** years, real / 12, real / 4, real / 2, amount.value - real}
    slack = amount.value * rate.half * max(years, 1.0) * 0.2 + 0.005 * real + z.half
    if any(abs(each - z.value) <= slack for each in told) or not 0.3 < z.value / (real * years) < 3:
        return
    message = f"{rate.text} of {amount.text} {'a year ' if years != 1 else ''}is {plain(real)}, not {z.text}."
    meant = real if years == 1 else None
    yield finding_at("percent", z, message, meant=meant, others=[amount, rate], probability=0.85)


def _value(quantity: Quantity) -> float:
    return quantity.value
