"""Counts with their shares in a list: `of 60 patients, 12 (20 %) had a headache, 9 (15 %) nausea and 5 (5 %) a rash`.

All shares of a list are of one whole. The whole may stand before the list, in the same sentence or in the one before
it; it is known by the shares that fit it, so that one share that does not fit is a slip.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain, written_like
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import COUNT, PERCENT, slot

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["listed_shares", "shares_of_last"]

_WORDS = r"(?: [a-z'’/-]+){0,4}?"
_ITEM = regex(
    rf"(?<![/–—-]){slot('a', COUNT)}{_WORDS} ?[(\[]{slot('p', PERCENT)} ?[)\];,]"
    rf"|{slot('p2', PERCENT)}{_WORDS} ?[(\[](?:n ?= ?)?{slot('a2', COUNT)} ?[)\];,]"
    rf"|(?<![/–—-]){slot('a3', COUNT)}{_WORDS}, or {slot('p3', PERCENT)}(?=[,.;]| of (?:them|these|the|all)\b)"
)
_CHANGE = regex(
    r"\b(?:up|down|rose|fell|grew|increase\w*|decrease\w*|declin\w*|growth|drop\w*|higher|lower|compared|versus|vs"
    r"|year-on-year|gain\w*|more|fewer|less|alcohol|interest|discount)\b"
)
_WHOLE = regex(
    r"\b(?:of|among|in|from|included|enrolled|studied|surveyed|total of|all|sample of|n ?=|were|the|these) $"
)
LEAST_WHOLE = 8


def listed_shares(sentence: Sentence) -> Iterator[Finding]:
    """Shares of a list that do not fit the whole that the others fit."""
    yield from _judged(sentence, _items(sentence), _wholes(sentence))


def _items(sentence: Sentence) -> list[tuple[Quantity, Quantity]]:
    skeleton, found = sentence.skeleton, []
    if PERCENT not in skeleton or ("(" not in skeleton and "[" not in skeleton and ", or" not in skeleton):
        return found
    for match in _ITEM.finditer(skeleton):
        mark = "" if match["a"] else "2" if match["a2"] else "3"
        if _CHANGE.search(match[0]):
            continue
        a, p = sentence.get(match, f"a{mark}"), sentence.get(match, f"p{mark}")
        if a.value == int(a.value) and a.value > 0 and 0 < p.value <= 1 and not (a.hedge or p.hedge):
            found.append((a, p))
    return found


def _wholes(sentence: Sentence) -> list[Quantity]:
    return [
        each
        for each in sentence.quantities
        if each.group in ("plain", "ratio", "other") and each.value == int(each.value) >= LEAST_WHOLE and not each.hedge
    ]


def _fits(part: float, whole: float, p: Quantity) -> bool:
    return whole > 0 and abs(part / whole - p.value) <= 2 * p.half + 1e-9


def _judged(
    sentence: Sentence, items: list[tuple[Quantity, Quantity]], wholes: Sequence[Quantity]
) -> Iterator[Finding]:
    if not 2 <= len(items) <= 12:
        return
    parts = [part for part, _ in items]
    sums = sum(part.value for part in parts)
    best: tuple[int, float] = (0, 0.0)
    candidates = [each.value for each in wholes if each not in parts]
    if len(items) > 2 and abs(sum(p.value for _, p in items) - 1) < 0.35:
        candidates.append(sums)
    for whole in candidates:
        if whole >= max(part.value for part in parts):
            fitting = sum(_fits(part.value, whole, p) for part, p in items)
            best = max(best, (fitting, whole))
    fitting, whole = best
    if fitting == len(items) or fitting < max(1, len(items) - 1 if len(items) < 6 else len(items) - 2):
        return
    if len(items) == 2 and not _is_whole(sentence, wholes, whole):
        return
    for part, p in items:
        if _fits(part.value, whole, p) or any(
            _fits(part.value, other, p) for other in {each.value for each in wholes} | {sums} if other >= part.value
        ):
            continue
        if any(_fits(other.value, whole, p) for other in wholes if other is not part and other.value < whole) and any(
            abs(other.value - part.value) < 0.5 for other in wholes if other is not part
        ):
            continue
        real = part.value / whole
        message = f"{plain(part.value)} of {plain(whole)} are {written_like(p, real)}, not {p.text}."
        yield finding_at("percent", p, message, meant=real, others=[part], probability=0.9, whole=whole)


def _is_whole(sentence: Sentence, wholes: Sequence[Quantity], value: float) -> bool:
    """Whether words such as `of the` stand before the whole, or it is of another sentence."""
    for each in wholes:
        if each.value == value and (_WHOLE.search(each.before.lower()) or each.start < sentence.offset):
            return True
    return False


_THING = regex(
    r"(?: [a-z-]+){0,3}? (?:patients|participants|subjects|people|persons|adults|children|women|men|students|pupils"
    r"|respondents|samples|cases|mice|rats|animals|employees|members|households|firms|companies|infants|volunteers"
    r"|individuals|specimens|eyes|teeth|schools|hospitals|votes|voters|tests|items|questions|residents"
    r"|users|customers)\b",
    re.IGNORECASE,
)


def shares_of_last(sentences: Sequence[Sentence]) -> Iterable[Finding]:
    """The same for a whole of one of the two sentences before: `60 patients took part. Nausea occurred in 9 (20 %)`."""
    for index, sentence in enumerate(sentences):
        if index == 0 or "%" not in sentence.text or "(" not in sentence.text:
            continue
        items = _items(sentence)
        if not items or len(sentence.quantities) > 2 * len(items):
            continue
        wholes = [
            whole
            for other in sentences[max(0, index - 2) : index]
            if sentence.offset - other.offset < 1200
            for whole in _wholes(other)
            if _THING.match(other.text, whole.end - other.offset)
        ]
        if len(items) > 1:
            yield from _judged(sentence, items, wholes)
