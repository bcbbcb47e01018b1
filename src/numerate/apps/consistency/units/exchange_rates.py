"""Amounts in two currencies with their rate: `at $1.10 to the euro, €500 is worth $550`, `£1 = $1.25`."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain
from numerate.apps.consistency.sentences.gates import paragraph_gate
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.traits import VALUES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.findings import Finding

__all__ = ["exchanged"]

_CURRENCIES = {
    "euro": "EUR", "euros": "EUR", "dollar": "USD", "dollars": "USD", "pound": "GBP", "pounds": "GBP",
    "sterling": "GBP", "franc": "CHF", "francs": "CHF", "yen": "JPY", "rupee": "INR", "krona": "SEK", "krone": "NOK",
    "zloty": "PLN", "yuan": "CNY",
}  # fmt: skip
_TO_THE = regex(rf"^ (?:to|for|per|against|on) (?:the|an?|one|1)? ?(?P<one>{'|'.join(_CURRENCIES)})\b")
_EQUALS = regex(r"^ ?(?:=|is|equals|to|buys|bought|are|was|at|for) ?$")
_CHANGED = regex(r"\b(?:rose|fell|from|was|up|down|last|previous\w*|before|fees?|commission|charges?|plus|about)\b")
_SLACK = 0.006
"""Share by which a changed amount may be off: banks and people round."""


@paragraph_gate(VALUES[3])
def exchanged(paragraph: Paragraph) -> Iterator[Finding]:
    """Two amounts of money in two currencies, and the rate of these."""
    money = [each for each in paragraph.values if each.group == "money"]
    rates = list(_rates(paragraph, money))
    if len(rates) != 1 or _CHANGED.search(paragraph.lower):
        return
    used, rate, half, one, other = rates[0]
    rest = [each for each in money if each not in used]
    pair = [each for each in rest if each.unit == one], [each for each in rest if each.unit == other]
    if len(rest) != 2 or len(pair[0]) != 1 or len(pair[1]) != 1 or any(each.hedge for each in money):
        return
    a, b = pair[0][0], pair[1][0]
    real = a.value * rate
    slack = b.half + real * (_SLACK + half / rate) + rate * min(a.half, 0.5)
    if abs(real - b.value) <= slack or not 0.4 < b.value / real < 2.5 or b.value in (a.value, a.value / rate):
        return
    z, from_, meant = (b, a, real) if b.start > a.start else (a, b, b.value / rate)
    message = f"{from_.text} at that rate is {plain(meant)}, not {z.text}."
    yield finding_at("conversion", z, message, meant=meant, others=[from_, *used], probability=0.86)


def _rates(
    paragraph: Paragraph, money: list[Quantity]
) -> Iterator[tuple[list[Quantity], float, float, str | None, str | None]]:
    """What was used, how much of the second currency one of the first is, its rounding, and both currencies."""
    for one, other in itertools.pairwise(money):
        if one.value == 1 and one.unit != other.unit and _EQUALS.match(paragraph.between(one, other)):
            yield [one, other], other.value, other.half, one.unit, other.unit
    for each in money:
        match = _TO_THE.match(paragraph.tail(each))
        if match is not None and _CURRENCIES[match["one"]] != each.unit and each.half < 0.4:
            yield [each], each.value, each.half, _CURRENCIES[match["one"]], each.unit
