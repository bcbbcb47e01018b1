"""Quotients of a sentence: `1,260 visitors in 14 days, 90 a day`, `24, 31 and 29 in three games, 28 per game`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.slips import is_typo
from numerate.numerals.unit_tables import UNITS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["stated_rates"]

_PER = regex(r"(?: [a-z'’-]+){0,3}? (?:per|an?|each|every|/) ?(?P<per>[a-z]{3,})\b")
_NOUN = regex(r"(?:[ -](?P<first>[a-z'’-]+))?(?: (?P<second>[a-z'’-]+))?")
_AMONG = regex(
    r"\b(?:divid\w+|shar\w+|split\w*|distribut\w+)(?: [a-z]+){0,3} (?:among|between|by|across|over)(?: the| its"
    r"| his| her| all)? $"
)
_OTHER_PRICE = regex(r"\b(?:instead|rather than)\b|; [a-z]+ (?:is|was|are|were)\b")
"""`£20, instead of £4.50 per litre`, `it costs $900; gold is at $75 per gram`"""
_SETS_APART = regex(
    r"\b(?:than|compared|versus|vs|against|respectively|includ\w+|of (?:which|whom|them|these|those)|rose|fell|grew"
    r"|more|less|fewer|another|further|at least|record|previous\w*|since|while|whereas|but|up to|from|limit|maximum"
    r"|minimum|top|peak|usual\w*|normal\w*|expect\w*|plan\w*|other|twice|target|capacity|first|last|best|only|between"
    r"|plus|interest|tax|wage|salary|minimum|remaining|extra|discount|by [\ue000-\ue009])\b|%|[×±]"
)


def stated_rates(sentence: Sentence) -> Iterator[Finding]:
    """One number per thing, the number of things, and the number of all, or a list with one number for each thing."""
    values = sentence.values
    if not 3 <= len(values) <= 9:
        return
    rates = [(each, match) for each in values if (match := _PER.match(sentence.beside(each)[1]))]
    if len(rates) != 1 or any(each.hedge for each in values if "averag" not in each.before.lower()):
        return
    z, match = rates[0]
    things = [each for each in values if each is not z and _is_counted(sentence, each, match["per"])]
    if z is not values[-1] and "averag" not in z.before.lower():
        return  # `$120 per night` and what all nights cost is a product
    if len(things) != 1:
        return
    n = things[0]
    terms = [each for each in values if each is not z and each is not n]
    if any(not _is_kin(each, z) or each.value <= 0 for each in terms) or n.value < 2 or z.value <= 0:
        return
    if len(terms) not in (1, int(n.value)):
        return
    whole = sum(each.value for each in terms)
    real = whole / n.value
    slack = z.half + 0.005 * real + sum(each.half for each in terms if each.half != 0.5 or each.unit) / n.value
    ratio = z.value / real
    if abs(z.value - real) <= slack or not (0.36 < ratio < 2.8 or abs(ratio - 10) < 0.01 or abs(ratio - 0.1) < 0.0001):
        return
    if abs(z.value - whole * n.value) <= slack or abs(z.value - n.value / whole) <= z.half:
        return
    if _OTHER_PRICE.search(sentence.skeleton) or (_SETS_APART.search(sentence.skeleton) and not is_typo(z, real)):
        return
    told = plain(whole) if len(terms) == 1 else f"({' + '.join(plain(each.value) for each in terms)})"
    message = f"{told} / {n.text} = {plain(real)}, not {z.text}."
    yield finding_at("average", z, message, meant=real, others=[*terms, n], probability=0.86)


def _is_counted(sentence: Sentence, quantity: Quantity, per: str) -> bool:
    """Whether a number counts the things of `per`: 14 days of `a day`, three games of `per game`."""
    if quantity.unit is not None:
        return UNITS.get(per) == quantity.unit or UNITS.get(per + "s") == quantity.unit
    if _AMONG.search(sentence.beside(quantity)[0]):
        return True
    match = _NOUN.match(sentence.beside(quantity)[1])
    stem = per[:-1] if per.endswith("y") else per
    return match is not None and any(
        (word or "").startswith(stem) and len(word) < len(per) + 4 for word in match.groups()
    )


def _is_kin(one: Quantity, other: Quantity) -> bool:
    unit = (other.unit or "").partition("/")[0]
    return one.comparable(other) or (one.unit or "") == unit or one.unit is None or other.unit is None
