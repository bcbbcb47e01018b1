"""A number that a sentence begins with, and a list that is all of the sentence before: `For these 17 crimes ...`."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.sentences.paragraphs import is_explained, slip_bits
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.wrong import wrong_sum

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.findings import Finding

__all__ = ["children_before", "lists_before"]

MOST_PARTS = 5
LEAST = 10
"""Smaller numbers are the sum of others by chance: `Three Sisters ... These four works`."""
_GOT = (
    r"(?:had|have|has|were|are|got|made|raised|took|earned|collected|spent|rode|walked|sold|counted|covered|found)"
    r"(?: a total of| all)? ?[$€£]?$"
)
_BACK = regex(
    r"\b(?:all (?:of )?)?(?:these|those)(?: [a-z-]+)? $"
    rf"|\b(?:thus|so|therefore|altogether) (?:[a-z]+ )?{_GOT}"
    r"|\bhaving [a-z]+(?: all)?(?: these| those| the)? ?$"
)
_THE = regex(r"\b(?:the|all|its|our|their) [$€£]?$")
_AFTER_ALL = regex(r"\b(?:after|for|over|in|during|on) (?:the|all|our|their) [$€£]?$")
_OF_NOUN = regex(r" of (?:the )?([a-z]{3,})\b")
_LIST = regex(r",|\band\b|;|–|\bplus\b|\bwith\b")
_APART = regex(
    r"\b(?:per|each|every|than|of (?:which|whom|them|these|those)|average|about|instead|another|more|total\w*"
    r"|altogether|in all|includ\w*|at least|up to|times|respectively|rose|fell|if|or|aged?|while|against|at|by)\b"
    r"|%|[×/]"
)
_ELSE = regex(r"\b(?:with|including|plus|besides|apart from) (?:the|its|his|her|their|all|tips?|other)\b")


def lists_before(paragraph: Paragraph) -> Iterator[Finding]:
    """Sums of a list that has nothing else beside it, and is pointed back at."""
    values = paragraph.values
    for z in values:
        here = paragraph.place(z)
        back = [each for each in values if paragraph.place(each) == here - 1]
        first = next(each for each in values if paragraph.place(each) == here and each.unit == z.unit)
        if first is not z or z.hedge or z.value < LEAST or not 2 <= len(back) <= MOST_PARTS or not _are_alike(back, z):
            continue
        is_back = _BACK.search(paragraph.lead(z)) is not None
        if not (is_back or _is_named(paragraph, back, z)) or _ELSE.search(paragraph.upto(z)):
            continue
        between = [paragraph.between(one, other) for one, other in itertools.pairwise(back)]
        if not all(map(_LIST.search, between)) or any(map(_APART.search, between)):
            continue
        if _APART.search(paragraph.lead(back[0])) or _APART.search(paragraph.tail(back[-1])):
            continue
        real = sum(each.value for each in back)
        slack = z.blur + sum(each.blur for each in back)
        if abs(real - z.value) <= slack or z.value <= max(each.value for each in back):
            continue
        if not is_back and not slip_bits(z, real):
            continue  # `the` alone may name another thing
        if 0.7 < z.value / real < 1.45 and not is_explained(z, back):
            yield wrong_sum(z, back, real, 0.86)


def _is_named(paragraph: Paragraph, parts: list[Quantity], z: Quantity) -> bool:
    """Whether `the 370 g of flour` or `after the 191 km` points back at parts of flour, or at those with this unit."""
    if z.unit is None or not _THE.search(paragraph.lead(z)):
        return False
    noun = _OF_NOUN.match(paragraph.tail(z))
    if noun is None:
        return len(parts) > 2 and _AFTER_ALL.search(paragraph.lead(z)) is not None
    return all(re.match(rf" of (?:[a-z]+ ){{0,2}}{re.escape(noun[1])}\b", paragraph.tail(each)) for each in parts)


def _are_alike(parts: list[Quantity], z: Quantity) -> bool:
    """Whether the parts count what the number counts; those behind the first may leave out the unit."""
    if z.group not in ("plain", "unit", "money") or any(each.hedge or each.value <= 0 for each in parts):
        return False
    if (parts[0].group, parts[0].unit) != (z.group, z.unit):
        return False
    return all((each.group, each.unit) in ((z.group, z.unit), ("plain", None)) for each in parts)


_BORN_PAIR = regex(r"^ (?P<one>sons?|boys|daughters?|girls)(?: and|,| but)(?: only| also)? $")
_OTHER_CHILDREN = regex(r"\b(?:grand|great-|step|adopt|other|more|another|first marriage|second marriage|remarried)")


def children_before(paragraph: Paragraph) -> Iterator[Finding]:
    """`four sons and three daughters; five of her seven children survive her`."""
    values = paragraph.values
    for one, other in itertools.pairwise(values):
        first, second = _BORN_PAIR.match(paragraph.between(one, other)), paragraph.tail(other)
        if first is None or not re.match(r" (?:sons?|boys|daughters?|girls)\b", second):
            continue
        for z in values:
            far = paragraph.place(z) - paragraph.place(other)
            if z.start < other.end or far > 1 or z.hedge or not re.match(r" children\b", paragraph.tail(z)):
                continue
            words = paragraph.between(other, z)
            real = one.value + other.value
            is_theirs = re.search(r"\b(?:her|his|their|all|the) $", paragraph.lead(z)) is not None
            is_wrong = z.value != real and z.value > max(one.value, other.value)
            if is_theirs and is_wrong and not _OTHER_CHILDREN.search(words):
                yield wrong_sum(z, [one, other], real, 0.87)
