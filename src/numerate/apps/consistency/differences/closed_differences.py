"""Sentences that have just two values and one difference, wherever they stand in it."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from numerate.apps.consistency.sentences.change_words import OTHER_BASE, is_change
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.slips import is_typo
from numerate.apps.consistency.wrong import wrong_difference
from numerate.numerals.unit_factors import converted, dimension_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["closed_difference"]

_ALL_CLIMBS = regex(r"\b(?:total|cumulative|overall|accumulated|combined) (?:climb\w*|ascent|descent|gain|drop)\b")
_THAN_NOW = regex(r"\bthan (?:now|today|then|at present|currently)\b")
_GAP_BETWEEN = regex(
    r"\b(?:gap|difference|margin|lead|distance) between\b.*\b(?:is|was|comes to|came to"
    r"|amounts to) (?:an? )?[^ ]+(?: [a-z]+)?\.?$"
)
_FURTHER = regex(r"(?: [a-z]+)? more(?! than\b)")
"""`and 60 more after an interview`"""
_SIZES = regex(r"\b(?:wide|long|length|width|perimeter|higher up|lower down)\b")
_THAN = regex(r"\b(?:than|from|compared|against|on the|over the|above|below|ahead of|behind|clear of)\b")


def closed_difference(sentence: Sentence) -> Iterator[Finding]:
    """One change in units and two values; the largest of three values less the other is the third."""
    values = sentence.values
    if len(values) != 3 or values[0].group == "percent" or len({each.group for each in values}) != 1:
        return
    if _has_range(sentence, values) or _SIZES.search(sentence.skeleton) or _ALL_CLIMBS.search(sentence.skeleton):
        return
    if values[0].unit is None and (
        _THAN_NOW.search(sentence.skeleton) or len({_is_joined(sentence, each) for each in values}) > 1
    ):
        return
    sizes = _in_one_unit(values)
    is_plain = values[0].unit is None and not _GAP_BETWEEN.search(sentence.skeleton)
    if sizes is None or (is_plain and not _THAN.search(sentence.skeleton)):
        return
    if any(each.hedge in ("over", "under") for each in values) or min(sizes) <= 0:
        return
    changes = [each for each in values if is_change(sentence, each)]
    if not changes and _GAP_BETWEEN.search(sentence.skeleton):
        changes = values[-1:]
    if len(changes) != 1 or _FURTHER.match(sentence.beside(changes[0])[1]):
        return
    d = changes[0]
    at = values.index(d)
    (a, x), (b, y) = [(each, size) for each, size in zip(values, sizes, strict=True) if each is not d]
    slack = sum(each.slack * size / each.value for each, size in zip(values, sizes, strict=True))
    real, said = abs(x - y), sizes[at]
    fits = (
        abs(real - said) <= slack
        or abs(x + y - said) <= slack
        or abs(x + said - y) <= slack
        or abs(y + said - x) <= slack
    )
    if fits or real == 0 or not 0.3 < said / real < 3 or said > max(x, y):
        return
    meant = real * d.value / said
    if OTHER_BASE.search(sentence.skeleton) and not is_typo(d, meant):
        return
    yield wrong_difference(d, a, b, meant, 0.9)


def _has_range(sentence: Sentence, values: list[Quantity]) -> bool:
    """Whether two of the values are a range: `may buy 140 to 190 more`."""
    for first, second in itertools.pairwise(values):
        if sentence.between(first, second).strip() in ("to", "-", "–", "—", "or") and "from" not in first.before:
            return True
    return False


def _is_joined(sentence: Sentence, each: Quantity) -> bool:
    """Whether a number belongs to an adjective: `the three-vote margin`."""
    at = each.end - sentence.offset
    return sentence.text[at : at + 1] == "-" and sentence.text[at + 1 : at + 2].isalpha()


def _in_one_unit(values: list[Quantity]) -> list[float] | None:
    """The values in the unit of the first; None if they cannot be compared."""
    first, sizes = values[0], []
    for each in values:
        if each.comparable(first):
            sizes.append(each.value)
            continue
        if each.unit is None or first.unit is None:
            return None
        degrees = "°C" if each.unit == "°" else each.unit
        some = converted(each.value, degrees, "°C" if first.unit == "°" else first.unit, difference=True)
        if len(some) != 1 or dimension_name(first.unit) == "time":
            return None
        sizes.append(some[0])
    return sizes
