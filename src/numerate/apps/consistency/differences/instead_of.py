"""`38 minutes instead of 45, so passengers save seven`: a difference to what it was before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.wrong import wrong_difference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["instead_of"]

_INSTEAD = regex(
    r"(?: [a-z'’-]+){0,2},? (?:instead of|rather than|down from|up from)(?: the)?(?: usual| former)? ?[$€£]?"
)
_SHARE = regex(r" ?\(|,? or |, ")
_GAP = regex(
    r"\b(?:sav(?:e|es|ed|ing)|gain(?:s|ed|ing)?|los(?:e|es|ing)|lost|fewer|less|more|shorter|longer|faster|slower|cheaper"
    r"|dearer|difference|wins?)\b"
)
_APART = regex(r"\b(?:per|each|every|average|total|together|percent|about|times|twice|half)\b|%")


def instead_of(sentence: Sentence) -> Iterator[Finding]:
    """The only other value of a sentence with `A instead of B`, where words call it a difference."""
    values = sentence.values
    if len(values) == 4 and values[3].group == "percent" and _SHARE.fullmatch(sentence.between(values[2], values[3])):
        values = values[:3]  # `you save $31.80 (20 %)`
    if len(values) != 3:
        return
    a, b, d = values
    if not _INSTEAD.fullmatch(sentence.between(a, b)) or any(each.hedge or each.value <= 0 for each in values):
        return
    if a.group == "percent" or {each.unit for each in (b, d)} - {a.unit, None} or a.unit == d.unit is None:
        return
    behind = sentence.beside(d)[1][:16] if values[-1] is sentence.values[-1] else ""
    words = sentence.between(b, d) + " | " + behind
    real = abs(a.value - b.value)
    if not _GAP.search(words) or _APART.search(words) or real == 0:
        return
    halves = [each.half for each in values]
    slack = 0.0 if set(halves) == {0.5} else sum(halves)
    if abs(real - d.value) > slack and 0.3 < d.value / real < 3.5:
        yield wrong_difference(d, a, b, real, 0.86)
