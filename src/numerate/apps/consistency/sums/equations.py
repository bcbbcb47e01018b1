"""Equations that a text writes out: `5 + 4 + 6 = 15`, `3 nights at €27.50 = €82.50`, `18,400 + 19 % VAT = 21,896`.

No word is needed to know what belongs together. The operations of a term with units that measure different things are
left to the rules of units; whoever tells that an equation is wrong, or a riddle, is believed.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import COUNT, MONEY, PERCENT, PLAIN, UNIT, one, slot
from numerate.apps.consistency.slips import is_slip, is_typo
from numerate.numerals.unit_factors import converted

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Sequence

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["wrong_equations"]

_KINDS = COUNT + UNIT + MONEY + PERCENT
_TERM = rf"{one(_KINDS)}(?: (?!x |at )[a-z'’][a-z'’.-]*){{0,3}}?"
_SIGN = r" ?[+×*·÷] ?| [-−–/x] | at | @ "
_EQUATION = regex(rf"(?P<terms>{_TERM}(?:(?:{_SIGN}){_TERM})+) ?= ?{slot('z', PLAIN + UNIT + MONEY + PERCENT)}")
_PIECE = regex(rf"(?P<term>{one(_KINDS)})|(?P<sign>{_SIGN})")
_GOES_ON_BEFORE = regex(
    r"(?:[-+−–×*·/÷^(√<>≤≥]|[\ue100-\uf8ff][a-z ]*=|[\w.,]\)|\b(?:x|log|ln|lg|exp|sin|cos|tan|sqrt|mod|times|plus|minus"
    r"|(?:half|thirds?|quarters?|[\ue100-\uf8ff]) of|treble|triple|double|to the))\s*$|[^\s(\[\"'“‘;,:–—-]$"
)
_WHOLE_BRACKET = regex(r"\($")
_GOES_ON_BEHIND = regex(r"\s*[-+−–×*·/÷^=<>≤≥!(]\s*[\w(\ue000-\uf8ff]|\s*[)%]?\s*[+×*·÷^=!]|\w|[²³'’\"]")
_NO_CLAIM = regex(
    r"\b(?:wrong\w*|false|incorrect\w*|mistak\w*|errors?|not|n[’']t|never|base|binary|hex\w*|octal|mod(?:ulo)?|bits?"
    r"|instead|true or|claim\w*|joke|orwell|if|suppose|find|solve|calculate|which of|puzzle|riddle|test|assert\w*)\b"
    r"|[≠≈?{}\[\]_\\]|==|[<>]="
)
_MOST_TERMS = 12


def wrong_equations(sentence: Sentence, *, is_product: bool) -> Iterator[Finding]:
    """The results of equations that do not hold.

    Args:
        sentence: The sentence.
        is_product: Whether to look at those with a product or a quotient, or at sums and differences.
    """
    skeleton = sentence.skeleton
    if "=" not in skeleton or _NO_CLAIM.search(skeleton):
        return
    for match in _EQUATION.finditer(skeleton):
        before, behind = skeleton[: match.start()], skeleton[match.end() :]
        if _WHOLE_BRACKET.search(before) and behind.startswith(")"):
            before, behind = before[:-1], behind[1:]
        if _GOES_ON_BEFORE.search(before[-12:]) or _GOES_ON_BEHIND.match(behind):
            continue
        terms, signs = _pieces(sentence, match)
        z = sentence.get(match, "z")
        if len(signs) != len(terms) - 1 or len(terms) > _MOST_TERMS or (set(signs) <= {"+", "-"}) == is_product:
            continue
        real = _value(terms, signs, z)
        if real is not None and not _holds(terms, signs, z, real) and _is_near(terms, z, real):
            written = "".join(
                itertools.chain(*zip([_said(each) for each in terms], [*(f" {s} " for s in signs), ""], strict=True))
            )
            message = f"{written} = {plain(100 * real if z.group == 'percent' else real)}, not {z.text}."
            rule = "product" if is_product else "sum"
            yield finding_at(rule, z, message, meant=real, others=terms, probability=0.95, kind="equation")


def _pieces(sentence: Sentence, match: re.Match[str]) -> tuple[list[Quantity], list[str]]:
    """The terms of an equation, and the signs between them as `+`, `-`, `x` and `/`."""
    terms, signs = [], []
    for piece in _PIECE.finditer(match["terms"]):
        if piece["term"]:
            terms += sentence.within(piece["term"])
        else:
            sign = piece["sign"].strip()
            signs.append("-" if sign in "-−–" else "+" if sign == "+" else "/" if sign in "÷/" else "x")
    return terms, signs


def _said(term: Quantity) -> str:
    return term.text.strip("()")


def _value(terms: Sequence[Quantity], signs: Sequence[str], z: Quantity) -> float | None:
    """What the terms give in the unit of the result; None where units or hedges leave it open."""
    if any(each.hedge for each in (*terms, z)) or not all(math.isfinite(each.value) for each in terms):
        return None
    products: list[list[tuple[Quantity, str]]] = [[(terms[0], "x")]]
    outer = ["+"]
    for sign, term in zip(signs, terms[1:], strict=True):
        if sign in "x/":
            products[-1].append((term, sign))
        else:
            products.append([(term, "x")])
            outer.append(sign)
    whole = 0.0
    for sign, factors in zip(outer, products, strict=True):
        value = _product(factors, z)
        if value is None:
            return None
        if len(factors) == 1 and factors[0][0].group == "percent" != z.group:
            value *= whole  # `18,400 + 19 % VAT`
        whole += value if sign == "+" else -value
    return whole


def _product(factors: Sequence[tuple[Quantity, str]], z: Quantity) -> float | None:
    """A product in the unit of the result, of which at most one factor has a unit."""
    measured = [each for each, _ in factors if each.unit is not None]
    if len(measured) > 1 or any(sign == "/" and (each.unit is not None or not each.value) for each, sign in factors):
        return None
    value = 1.0
    for each, sign in factors:
        value = value / each.value if sign == "/" else value * each.value
    unit = measured[0].unit if measured else None
    if unit is None or z.unit is None or unit == z.unit:
        return value
    if z.group == "money" or measured[0].group == "money":
        return None
    scales = converted(1.0, unit, z.unit)
    return value * scales[0] if len(scales) == 1 else None


def _holds(terms: Sequence[Quantity], signs: Sequence[str], z: Quantity, real: float) -> bool:
    """Whether the result may stand there: it is rounded, cut off, a percentage or without its sign."""
    loose = [each.half / abs(each.value) for each in terms if each.half < 0.4 and each.value and each.group != "money"]
    is_exact = not loose and "/" not in signs and z.half > 0.4
    slack = 0.0 if is_exact else 2.04 * z.half + (sum(loose) * abs(real) if "x" in signs or "/" in signs else 0.0)
    slack = max(slack, min(z.last_place / 2, 0.02 * abs(real)) if z.last_place > 2 * z.half else 0.0)
    scales = (1.0, 100.0, 0.01) if "/" in signs or any(each.group == "percent" for each in terms) else (1.0,)
    return any(abs(abs(real) * scale - abs(z.value)) <= slack + 1e-9 * abs(real) for scale in scales)


def _is_near(terms: Sequence[Quantity], z: Quantity, real: float) -> bool:
    """Whether the result is one that a writer may have meant: 2 + 2 = 5 is a saying."""
    if len(terms) == 2 and all(each.value < 10 and each.unit is None for each in terms) and real < 10:
        return False
    if real * z.value <= 0:
        return False
    if 0.5 < z.value / real < 2:
        return True
    is_alike = z.unit is None or any(each.unit == z.unit for each in terms)
    return is_alike and (is_slip(abs(z.value), abs(real)) or is_typo(z, real))  # and not `60000 x 784 = 47040 K`
