"""Products of sides, and the finding of a number that is not its product."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain
from numerate.apps.consistency.sentences.patterns import regex
from numerate.numerals.unit_factors import dimension_name, measure_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["found", "sized"]

_SIZE_CUE = regex(
    r"\b(?:area|or|equal|covering|covers|total\w*|volume|capacity|holds?|i\.e\b|that is|giving|which is|making)\b"
    r"|\(|=|:"
)


_HAS_SIZE = regex(
    r"(?:,? and|;) (?:(?:it|they) )?(?:thus |so |therefore )?(?:has|have|had) an? (?:total )?(?:volume|area|capacity"
    r"|floor area|surface) of (?:exactly )?$"
)


def found(target: Quantity, expected: float, slack: float, text: str, others: list[Quantity]) -> Iterator[Finding]:
    """A finding if the target is not the expected value, but near enough to be meant as such."""
    if expected <= 0 or target.value <= 0 or target.hedge in ("over", "under"):
        return
    is_hedged = target.hedge and "averag" not in target.before[-14:]
    slack += (
        target.slack if is_hedged else target.half * (1.0 if target.group != "plain" or target.half != 0.5 else 0.0)
    )
    ratio = target.value / expected
    is_slip = any(abs(ratio / each - 1) < 1e-6 for each in (0.01, 0.1, 10, 100)) and expected >= 20
    if abs(target.value - expected) <= slack + 1e-9 * expected or not (0.4 < ratio < 2.5 or is_slip):
        return
    message = f"{text} = {plain(expected)}, not {target.text}."
    yield finding_at("product", target, message, meant=expected, others=others, probability=0.9)


def sized(sentence: Sentence, match: re.Match[str]) -> Iterator[Finding]:
    """An area or a volume that is not the product of the sides before it."""
    sides = [sentence.get(match, name) for name in "abc" if match[name] is not None]
    t = sentence.get(match, "t")
    wanted = {2: "area", 3: "volume"}[len(sides)]
    measures = [measure_of(each.unit or "") for each in sides]
    size = measure_of(t.unit or "")
    if (
        dimension_name(t.unit or "") != wanted
        or size is None
        or any(dimension_name(each.unit or "") != "length" for each in sides)
    ):
        return
    gap = _HAS_SIZE.sub(" = ", match["gap"])
    if not _SIZE_CUE.search(gap) or re.search(
        r"\b(?:with|lot|site|each|than|(?<!so it )(?<!so )has an?|while|and)\b", gap
    ):
        return
    expected, blur = 1.0 / size.factors[0], 0.0
    for each, measure in zip(sides, measures, strict=True):
        expected *= each.value * (measure.factors[0] if measure is not None else 0.0)
        blur += (each.slack / each.value) ** 2 if each.value else 0.0
    # Whole metres are rounded, but the sides hardly all to one side.
    exact = 0.15 if re.search(r"\bi\.e\b|that is|=|equal|which is|making|giving", match["gap"]) else 0.6
    slack = expected * (exact * math.sqrt(blur) + 0.012) + min(t.last_place / 2, 0.03 * expected)
    yield from found(t, expected, min(slack, 0.2 * expected), " x ".join(each.text for each in sides), sides)
