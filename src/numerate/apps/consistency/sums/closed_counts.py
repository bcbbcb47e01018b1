"""Sentences that have just the numbers of one sum or product: what is left, what was added, and what each has."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import COUNT, MONEY, one
from numerate.apps.consistency.slips import is_typo

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["closed_added", "closed_minus", "closed_product", "closed_rest"]

_LEFT_BEFORE = regex(
    r"\b(?:leaving|leaves|left|which left) (?:(?:it|him|her|them|us|with|only|just|a total of|the|some) )*$"
)
_LEFT_BEHIND = regex(
    r"(?: [a-z'’-]+){0,2}? (?:(?:left over|left|remain(?:ed|s|ing)?)(?=[.,;)]|$| (?:for|to)\b)|left in\b)"
)
_ADDED = regex(
    r"\b(?:of them|of these|more|another|additional|further|each|per|of which|of whom|added|joined|new|percent|about"
    r"|than|behind|first|last)\b"
)


_GAVE = regex(r"\b(?:i|we|they|he|she|you|guests?) left (?:only |just |about |a total of )?$")
_TAKEN_OF = regex(r"(?: [a-z'’-]+)? of (?:the|its|their|his|her|our|all|these|those) $")


def closed_rest(sentence: Sentence) -> Iterator[Finding]:
    """`We screened 410 people; 150 were excluded, leaving 260`: a whole, what was taken away, and what is left."""
    values = sentence.values_alike(3, 5)
    if not values:
        return
    z = values[-1]
    before, behind = sentence.beside(z)
    if not (_LEFT_BEFORE.search(before) or _LEFT_BEHIND.match(behind)) or _ADDED.search(sentence.skeleton):
        return
    whole, taken = values[0], values[1:-1]
    if len(taken) == 1 and _TAKEN_OF.match(sentence.between(whole, taken[0])):
        whole, taken = taken[0], [whole]  # `after selling 15 of its 62 shops`
    words = sentence.between(whole, taken[0])
    if (
        len(taken) == 1
        and words.startswith((" and ", ", "))
        and words.split()[-1:] == whole.before.lower().split()[-1:]
    ):
        return  # `the house accounts for €540,000 and the vineyard for €215,000`: both are parts
    real = whole.value - sum(each.value for each in taken)
    slack = sum(0.0 if each.half == 0.5 and each.unit is None and not each.hedge else each.slack for each in values)
    if real <= 0 or any(each.hedge in ("over", "under") for each in values) or not 0.4 < z.value / real < 2.5:
        return
    if z.value > whole.value and _GAVE.search(before):
        return  # `The bill was €64.00, a 15 % tip is €9.60, so we left €74`
    if any(abs(whole.value - each.value - z.value) <= slack for each in taken) or abs(real - z.value) <= slack:
        return
    terms = " - ".join(plain(each.value) for each in (whole, *taken))
    yield finding_at(
        "sum", z, f"{terms} = {plain(real)}, not {z.text}.", meant=real, others=values[:-1], probability=0.9
    )


_MINUS = regex(
    r"\b(?:less|minus|net of|after deducting|after subtracting|after paying|deducting|subtracting)\b(?! than)"
    r"|\bafter (?:an? |the )?(?:[a-z]+ )?(?:tax|taxes|deductions?|expenses|costs|fees?|discounts?|rebates?)\b"
)
_PLUS = regex(r"\bplus\b|\band\b|\bwith\b|\+")
_MINUS_RESULT = regex(
    r"\b(?:leav(?:e|es|ing)|left|net|is|was|are|were|equals?|gives?|gave|giving|makes?|made|being|=|comes? to|came to"
    r"|yield\w*|result\w*|produc\w+|means?|meant|amount\w*)\b|="
)


def closed_minus(sentence: Sentence) -> Iterator[Finding]:
    """`assets of 920 less liabilities of 340 leave 580`: two values with `less` between them, and what is left."""
    values = sentence.values_alike(3, 6)
    if not values:
        return
    if values[0].group not in ("money", "plain", "unit") or any(each.hedge or each.value <= 0 for each in values):
        return
    gaps = [sentence.between(one, other) for one, other in itertools.pairwise(values)]
    cues = [_MINUS.search(gap) is not None for gap in gaps]
    if not any(cues) or all(cues) or _NOT_MINUS.search(sentence.skeleton):
        return
    # The result stands at the end that `less` does not join.
    z, terms, result, signs = values[-1], values[:-1], gaps[-1], gaps[:-1]
    if cues[-1]:
        z, terms, result, signs = values[0], values[1:], gaps[0], gaps[1:]
    if not _MINUS_RESULT.search(result) or not all(_MINUS.search(gap) or _PLUS.search(gap) for gap in signs):
        return
    told, real = plain(terms[0].value), terms[0].value
    for gap, term in zip(signs, terms[1:], strict=True):
        sign = "-" if _MINUS.search(gap) else "+"
        told, real = f"{told} {sign} {plain(term.value)}", real + (-term.value if sign == "-" else term.value)
    if real <= 0 or not 0.4 < z.value / real < 2.5 or abs(real - z.value) <= sum(each.blur for each in values):
        return
    yield finding_at("sum", z, f"{told} = {plain(real)}, not {z.text}.", meant=real, others=terms, probability=0.9)


_NOT_MINUS = regex(
    r"\b(?:per|each|compared|against|versus|vs|from|respectively|rose|fell|up|down|while|but|of which|including"
    r"|average|percent|more|no less|not less|or less|much less)\b"
)
_PLUS_BEFORE = regex(
    r"\b(?:further|additional|another|extra|added|adding|bought|signed|gained|acquired) (?:the |an? )?$"
)
_PLUS_BEHIND = regex(
    r"(?: [a-z]+)? (?:more|further|additional|new|extra)\b|(?: [a-z'’-]+){1,3} (?:were|was) (?:added|bought"
    r"|built|acquired)"
)
_NOW = regex(r"\b(?:now|total|tally|toll|to|giving|bringing|makes|making|altogether|in all|brought|brings)\b")
_NOT_ADDED = regex(
    r"\b(?:than|per|each|percent|average|between|before|ago|minutes?|while|but|respectively|of which"
    r"|of whom|of these|of them|won|beat|from)\b|;"
)


def closed_added(sentence: Sentence) -> Iterator[Finding]:
    """`15 more were bought, so that the 80 are now 95`: what was there, what was added, and what there is now."""
    values = sentence.values_alike(3, 3)
    if (
        not values
        or values[0].group == "percent"
        or not _NOW.search(sentence.skeleton)
        or _NOT_ADDED.search(sentence.skeleton)
    ):
        return
    contexts = [sentence.beside(each) for each in values]
    added = [
        each
        for each, (before, behind) in zip(values, contexts, strict=True)
        if _PLUS_BEFORE.search(before) or _PLUS_BEHIND.match(behind)
    ]
    total = max(values, key=lambda each: each.value)
    if len(added) != 1 or added[0] is total or any(each.hedge or each.value <= 0 for each in values):
        return
    others = [each for each in values if each is not total]
    whole = sum(each.value for each in others)
    slack = sum(each.blur for each in values)
    if abs(whole - total.value) <= slack or not 0.8 < total.value / whole < 1.25:
        return
    terms = " + ".join(plain(each.value) for each in others)
    yield finding_at(
        "sum", total, f"{terms} = {plain(whole)}, not {total.text}.", meant=whole, others=others, probability=0.85
    )


_EACH = regex(
    r"\b(?:(?:an?|one|the) [a-z]+ (?:costs?|holds?|contains?|has|weighs?|seats)|costs?[^.;]{1,20}\bso (?:an?|the)"
    r"|each|every|apiece|per [a-z]+|an? (?:day|week|hour|month|year|minute|piece|kilo|litre|person|head))\b"
)
_AT_PRICE = regex(
    rf"{one(COUNT)} [a-z]+s at {one(MONEY)}(?: each| apiece)? (?:c[ao]mes? to|costs?|totals?|totalled|makes?|is|was"
    rf"|were|are"
    rf"|amounts? to|amounted to) {one(MONEY)}(?=[.,;)]|$| in all| in total| altogether)"
)
_MAKES = regex(
    r"\b(?:total\w*|in all|altogether|giving|gives?|makes?|making|mak|cost|costs|came to|comes to|so|is|amount\w*"
    r"|add(?:s|ed)? up|takes?|took|earn\w*|paid|pays?|contain\w*|holds?|raise[sd]?|brings?|worth|sum|equals?)\b"
)
_NOT_PRODUCT = regex(
    r"\b(?:plus|including|shipping|tax|discount|after|before|of which|left|sold|more than|less than|average"
    r"|between|from|to the|rose|fell|up to|bonus"
    r"|about|than|other|against|and an?|first|last|record|share|while|but|won|beat|since|remain\w*|only)\b|, and\b|;|%"
)


_HARD = regex(
    r"\b(?:plus|including|shipping|tax|discount|sold|and an?|other|of which|than|bonus|left|remain\w*|average)\b"
    r"|, and\b|%"
)
"""Words with which the last number is something else, however near it is to the product."""


_OF_ONE = regex(r"(?: [a-z'’-]+){0,2} (?:each|apiece)\b")


def closed_product(sentence: Sentence) -> Iterator[Finding]:
    """Three numbers, of which one is a product: `each of the 14 crates holds 12 jars, giving 168 jars`."""
    values = [each for each in sentence.quantities if each.group != "ordinal"]
    skeleton = sentence.skeleton
    if len(values) == 3 and _OF_ONE.match(sentence.beside(values[-1])[1]):
        return  # `4 cases, each with 3 shelves that hold 20 records each`
    if len(values) == 3 and _AT_PRICE.search(skeleton) and not _NOT_PRODUCT.search(skeleton) and not values[0].hedge:
        yield from _factors(values)
        return
    if len(values) != 3 or not _EACH.search(skeleton) or not _MAKES.search(skeleton):
        return
    if any(each.group in ("year", "date", "clock", "percent") or each.hedge or each.value <= 1 for each in values):
        return
    for found in _factors(values):
        if _HARD.search(skeleton):
            return
        if not _NOT_PRODUCT.search(skeleton) or is_typo(values[-1], found.evidence["expected"]):
            yield found


def _factors(values: list[Quantity]) -> Iterator[Finding]:
    """The last number is the product of the others, or the quotient of the larger and the smaller."""
    a, b, t = values
    if min(a.value, b.value) <= 0:
        return
    scale = 1.0
    kin = [each for each in (a, b) if each.comparable(t) and each.unit is not None]
    cents = [each for each in (a, b) if each.unit == "cent" and t.unit in ("USD", "EUR", "AUD", "CAD")]
    if cents:
        kin, scale = cents, 0.01
    if t.unit is not None and len(kin) != 1:
        return
    if t.unit is None and (a.unit is not None or b.unit is not None):
        return
    expected = a.value * b.value * scale
    slack = t.half if t.half != 0.5 or t.unit is not None else 0.0
    slack += sum(each.half * (expected / each.value) for each in (a, b) if each.half < 0.4)
    quotients = [max(a.value, b.value) / min(a.value, b.value)]
    if (
        abs(t.value - expected) <= slack
        or not 0.5 < t.value / expected < 2
        or any(abs(t.value - each) <= t.half for each in quotients)
    ):
        return
    message = f"{a.text} x {b.text} = {plain(expected)}, not {t.text}."
    yield finding_at("product", t, message, meant=expected, others=[a, b], probability=0.9)
