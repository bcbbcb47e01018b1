"""How far rounding may move a sum, and whether other numbers of the sentence are the sum already."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import COUNT, UNIT, slot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence

__all__ = ["another_sum", "has_more_parts", "rounding", "slack_of"]


def slack_of(quantity: Quantity) -> float:
    """Counts are exact, unless they are hedged, or large and round."""
    if quantity.hedge or quantity.unit is not None or quantity.half != 0.5:
        return quantity.slack
    if quantity.value < 1000 or quantity.last_place < 100:
        return 0.0
    return min(quantity.last_place / 2, 0.02 * quantity.value)


def another_sum(sentence: Sentence, total: Quantity, parts: Sequence[Quantity], scale: float = 1.0) -> bool:
    """Whether other numbers of the sentence add up to the total, so that the parts were chosen wrongly."""
    others = [each for each in sentence.quantities if each is not total and each.comparable(total) and each.value > 0]
    if len(others) > 12:
        return True
    for count in range(2, len(others) + 1):
        for some in itertools.combinations(others, count):
            slack = scale * rounding(total, list(map(slack_of, some)))
            if abs(sum(each.value for each in some) - total.value) <= slack:
                return True
    return False


_CONTAINERS = regex(
    rf"\b(?:over|in|on|across|during|for) (?:the |all |all the |its |their |his |her |these ){slot('n', COUNT + UNIT)}"
)


def has_more_parts(sentence: Sentence, count: int) -> bool:
    """Whether the sentence names more places of parts than it has parts: `340 and 410 of 1,050 over the four days`."""
    return any(count < sentence.get(match, "n").value < 13 for match in _CONTAINERS.finditer(sentence.skeleton))


def rounding(total: Quantity, slacks: list[float]) -> float:
    """How far rounding may move a sum: at worst all roundings add up, but those of many parts hardly do."""
    return slack_of(total) + min(sum(slacks), 1.7 * math.sqrt(sum(each * each for each in slacks)))
