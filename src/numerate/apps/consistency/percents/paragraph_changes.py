"""Changes told in a paragraph: a percentage with its two values, points between two percentages, `tripled`."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain
from numerate.apps.consistency.percents.told_factors import CLAUSE, RELATED, told_factors
from numerate.apps.consistency.sentences.change_words import OTHER_TARGET
from numerate.apps.consistency.sentences.paragraphs import NEEDED, slip_bits
from numerate.apps.consistency.sentences.patterns import regex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.findings import Finding

__all__ = ["paragraph_changes"]

_UP = (
    r"rose|risen|ris(?:e|es|ing)|grew|grown|grow(?:s|th|ing)?|(?<!made )(?<!make )(?<!makes )(?<!making )up"
    r"|increas\w+|gain\w*|climb\w*|jump\w*"
    r"|surg\w+|dearer|soar\w*|expand\w*|add(?:ed|ing)?|improv\w+|hike\w*|leap\w*"
)
_DOWN = (
    r"fell|fall(?:s|en|ing)?|down|decreas\w+|declin\w+|drop\w*|lowered|cheaper|reduc\w+|cut|lost|loss"
    r"|shrank|shrunk|slid|slip\w*|plung\w+|tumbl\w+|sank|shed|off|saving|saved?"
)
_WORD = regex(rf"\b(?:(?P<up>{_UP})|(?P<down>{_DOWN}))\b")
_BEHIND = regex(r"^ (?:(?P<up>more|higher|above|dearer)|(?P<down>less|fewer|lower|below|cheaper))\b")
_MORE = regex(r"\b(?:more|higher|above|less|fewer|lower|below)\b")
_THAN = regex(r" (?:more|higher|less|fewer|lower|larger|smaller|above|below|over|under)(?: than)? (?:the |its )?[$€£]?")
"""Between a percentage and its base: `24 % more than the €25 million of last year`."""
_BASE = regex(
    r"(?: [a-z]+)?,? (?:more|higher|greater|larger|less|fewer|lower|smaller|up|down|above|below)"
    r"(?: than| on| from| over)? [^.;,()]{0,40}\([$€£]?"
)
_POINTS = regex(r"^[ -](?:percentage[ -])?points?\b|^ (?:basis points|bps?)\b|^ ?pp\b|^ p\.p\.")
_BASIS = regex(r"^ (?:basis points|bps?)\b")
_THEN_NOW = regex(
    r"\b(?:now|today|this (?:year|month|season|week|autumn|summer|winter|spring|quarter)|currently|to|at|stands?"
    r"|reached|against|from|compared|than|after|was|were|then|last|year|ago|before|earlier|previous\w*|in)\b"
)
_NOW = regex(r"\b(?:now|today|these days|this (?:year|month|season|week|summer|winter|autumn|spring))\b")
_LEVEL = regex(
    r"\b(?:to|at|stood at|last (?:year|month|quarter|week)['’]s|previous|expected|forecast)(?: an?| about| around)? $"
)
_CLOSED = regex(
    r"\b(?:that is|that's|which is|i\.e\.|equals|equal to|an? (?:[a-z]+ )?(?:increase|decrease|rise"
    r"|drop|fall|gain|decline|cut|jump|reduction|growth|saving|loss|change|improvement) of)(?: (?:just"
    r"|only|some|almost))? $|\($|^, (?:or )?$"
)
_BACK = regex(
    r"(?:that|this|which|it|he|she|they|we|so|thus|an?|the (?:increase|rise|change|drop|fall|cut|decline|gain"
    r"|growth|loss))\b"
)
_NOT_CHANGE = regex(
    r" (?:of (?:the|all|them|those|its|patients|people)|an? (?:year|month|week|day)|per|annually|each|twice|are|were"
    r"|(?:less|more|fewer|higher|lower|faster|slower) [a-z]+ (?:per|each|an?) [a-z]+)\b"
)


def paragraph_changes(paragraph: Paragraph) -> Iterator[Finding]:
    """All findings about changes."""
    tally = paragraph.tally
    percents = (
        [each for each in paragraph.values if each.group == "percent"] if tally.percents and tally.values > 2 else []
    )
    if len(percents) > 1 and "point" in paragraph.lower:
        yield from _points(paragraph, percents)
    if percents and (_WORD.search(paragraph.lower) or _MORE.search(paragraph.lower)):
        yield from _percents(paragraph, percents)
    yield from told_factors(paragraph)


def _points(paragraph: Paragraph, percents: list[Quantity]) -> Iterator[Finding]:
    """`34 % of seats, compared with 28 % in 2019. The gain of 8 percentage points ...`."""
    for z in paragraph.values:
        tail = paragraph.tail(z)
        if z.group not in ("plain", "percent") or not _POINTS.match(tail) or z.hedge:
            continue
        scale = 0.01 if not _BASIS.match(tail) else 0.0001
        here = paragraph.place(z)
        near = [each for each in percents if each is not z and here - 1 <= paragraph.place(each) <= here]
        if len(near) != 2 or any(each.hedge for each in near):
            continue
        value = z.value if z.group == "percent" else z.value * scale
        half = z.half if z.group == "percent" else z.half * scale
        real = abs(near[0].value - near[1].value)
        slack = half + near[0].half + near[1].half
        words = paragraph.between(near[0], near[1])
        last = max(near, key=lambda each: each.start)
        if last.end <= z.start and (";" in (gap := paragraph.between(last, z)) or CLAUSE.search(gap)):
            continue
        if any(each is not z and _POINTS.match(paragraph.tail(each)) for each in paragraph.values):
            continue
        if abs(real - value) <= slack or not real or not 0.3 < value / real < 3:
            continue
        if re.search(r"\b(?:margin|moe|majority|lead|plus or minus)\b|±", paragraph.lead(z)):
            continue
        told = _THEN_NOW.search(words) is not None and (
            _WORD.search(paragraph.lead(z) + tail) is not None
            or (
                re.search(r"\bfrom $", paragraph.lead(near[0])) is not None
                and words == " to "
                and z.start > near[1].start
            )
            or re.search(
                r"\b(?:gap|difference|change|swing|points? (?:more|less|higher|lower|ahead|behind))\b",
                paragraph.lead(z) + tail,
            )
            is not None
        )
        shown = replace(z, value=value / scale, step=2 * half / scale)
        bits = (8.0 if told else 2.0) + slip_bits(shown, real / scale)
        if bits >= NEEDED:
            message = f"From {near[0].text} to {near[1].text} are {plain(real / scale)} points, not {z.text}."
            meant = real if z.group == "percent" else real / scale
            yield finding_at("percent", z, message, meant=meant, others=near, probability=0.88)


def _percents(paragraph: Paragraph, percents: list[Quantity]) -> Iterator[Finding]:
    """A change in per cent and the two values of one kind beside it, whichever comes first."""
    bases = {p.start: base for p in percents if (base := _base(paragraph, p)) is not None}
    for p in percents:
        if p.hedge or p.value <= 0 or _is_share(paragraph, p):
            continue
        here = paragraph.place(p)
        near = [
            each
            for each in paragraph.values
            if each.group in ("plain", "money", "unit")
            and each.value > 0
            and not _is_year(each)
            and (each.hedge not in ("over", "under") or _THAN.fullmatch(paragraph.between(p, each)))
            and abs(paragraph.place(each) - here) <= 1
        ]
        pairs = [
            (one, other)
            for at, one in enumerate(near)
            for other in near[at + 1 :]
            if (one.group, one.unit) == (other.group, other.unit)
            and one.value != other.value
            and 0.1 < one.value / other.value < 10
            and (one.unit is not None or (one.half == other.half and min(one.value, other.value) >= 10))
        ]
        if bases:
            others = [each for start, each in bases.items() if start != p.start]
            base = bases.get(p.start)
            pairs = [pair for pair in pairs if not any(each in others for each in pair)]
            pairs = [pair for pair in pairs if base is None or base in pair]
        if not pairs or len(pairs) > 10:
            continue
        tail = paragraph.tail(p)
        words = _BEHIND.match(tail), *reversed(list(_WORD.finditer(paragraph.lead(p)))), _WORD.search(tail[:40])
        word = next((each for each in (*words, *reversed(list(_WORD.finditer(paragraph.upto(p))))) if each), None)
        if word is None:
            continue
        if re.fullmatch(r",? (?:to|from) ", tail):
            behind = next((each for each in paragraph.values if each.start >= p.end), None)
            pairs = [pair for pair in pairs if behind in pair and ("to" in tail or pair[0].start < p.start)]
        own = [pair for pair in pairs if all(paragraph.place(each) == here for each in pair)]
        pairs = own or pairs
        if not pairs:
            continue
        is_up = word["up"] is not None
        held = [(one, other) for one, other in pairs if _holds(paragraph, one, other, p)]
        if _LEVEL.search(paragraph.lead(p)) or any(_holds(paragraph, one, other, p, is_up) for one, other in pairs):
            continue
        rest = [each for each in percents if each is not p]
        pairs = [pair for pair in pairs if not any(_holds(paragraph, *pair, each) for each in rest)]
        best: tuple[float, Quantity, float, Quantity, Quantity] | None = None
        for one, other in pairs:
            words = paragraph.between(one, other)
            if (
                _is_apart(paragraph, p, one, other)
                or re.search(r"\brang\w+ (?:from|between) [$€£]?$", paragraph.lead(one))
                or RELATED.search(words)
                or len(words) > 140
                or paragraph.place(other) - paragraph.place(one) > 1
            ):
                continue
            told = 2.0 if _THEN_NOW.search(words) else 0.0
            told += (
                1.0
                if re.search(
                    r"\b(?:from|compared (?:with|to)|against|previous year|year earlier|then|now)\b",
                    words + paragraph.lead(one)[-24:],
                )
                else 0.0
            )
            told += (
                3.0
                if re.search(r"\bfrom (?:about |[a-z]+ )?[$€£]?$", paragraph.lead(one)) and re.search(r"\bto ", words)
                else 0.0
            )
            told += 2.0 if len(pairs) == 1 and _CLOSED.search(paragraph.lead(p)) else 0.0
            told += 2.0 if _NOW.search(words) else 0.0
            told += 4.0 if p.start in bases and len(pairs) == 1 else 0.0
            if here > paragraph.place(other) and not (
                _BACK.match(paragraph.upto(p)) or paragraph.lead(p).endswith(("the ", "this ", "that "))
            ):
                continue  # `Wages grew by 20 %` after a sentence about prices
            told -= 1.0 if any(one is a and other is b for a, b in held) else 0.0
            low, high = sorted((one, other), key=lambda each: each.value)
            old, new = (low, high) if is_up else (high, low)
            share = abs(new.value / old.value - 1)
            factor = 1 + p.value if is_up else 1 - p.value
            hundred = replace(p, value=100 * p.value, step=200 * p.half)
            tries = []
            if abs(share - p.value) > max(3 * p.half, 0.04 * share):
                bits = slip_bits(hundred, 100 * share)
                if abs(abs(old.value / new.value - 1) - p.value) <= p.half + 1e-9 and len(own) < 2:
                    bits = 6.0  # the change as a share of the new value
                elif len(pairs) == 1 and 0.3 < p.value / share < 3 and _BEHIND.match(tail):
                    bits = max(bits, 3.0)
                tries = [(bits, p, share, old, new)]
            if factor > 0 and len(pairs) <= 3 and len(rest) < 1:
                # One of the two values may be the wrong one, and then it may lie on the wrong side.
                first, second = (one, other)
                if re.search(r"\bfrom\b|than|compared|against|previous|earlier|before", words):
                    first, second = other, one
                tries += [
                    (slip_bits(second, first.value * factor), second, first.value * factor, first, second),
                    (slip_bits(first, second.value / factor), first, second.value / factor, first, second),
                ]
            for bits, wrong, real, a, b in tries:
                if bits:
                    score = bits + told + 2.0 - math.log2(len(pairs)) - (1.0 if wrong is not p else 0.0)
                    best = max(best or (0.0,), (score, wrong, real, a, b), key=lambda each: each[0])  # type: ignore[assignment]
        if best is not None and best[0] >= NEEDED - 1.0:
            _, wrong, real, old, new = best
            if wrong is p:
                message = f"From {old.text} to {new.text} is a change of {plain(100 * real)} %, not {p.text}."
            else:
                message = f"With a change of {p.text}, it would be {plain(real)}, not {wrong.text}."
            others = [each for each in (p, old, new) if each is not wrong]
            yield finding_at("percent", wrong, message, meant=real, others=others, probability=0.85)


def _base(paragraph: Paragraph, p: Quantity) -> Quantity | None:
    """The value in brackets behind a percentage, which is of it: `12 % less than in 2019 (5,000 t)`."""
    index = paragraph.values.index(p) + 1
    if index == len(paragraph.values) or paragraph.values[index].group == "percent":
        return None
    base = paragraph.values[index]
    if base.text.startswith("("):
        return base if _BASE.fullmatch(f"{paragraph.between(p, base)}(") else None
    return base if _BASE.fullmatch(paragraph.between(p, base)) and paragraph.tail(base).startswith(")") else None


def _is_apart(paragraph: Paragraph, p: Quantity, one: Quantity, other: Quantity) -> bool:
    """Whether a percentage is told of something else than the two values: `while gas lost 12 %`, `in 20 % of them`."""
    if _NOT_CHANGE.match(paragraph.tail(p)) or OTHER_TARGET.match(paragraph.tail(p)):
        return True
    gap = (
        paragraph.between(other, p) if p.start > other.start else paragraph.between(p, one) if p.end < one.start else ""
    )
    return CLAUSE.search(gap) is not None


def _is_share(paragraph: Paragraph, p: Quantity) -> bool:
    """Whether a percentage in brackets is the share of the value before it in another one: `345 (38.4 %)` of 898."""
    before = [each for each in paragraph.values if each.end <= p.start]
    if not before or paragraph.between(before[-1], p).strip() != "(" or not before[-1].value:
        return False
    part = before[-1]
    return any(
        whole.value > part.value and abs(part.value / whole.value - p.value) <= 1.1 * p.half
        for whole in before[:-1]
        if (whole.group, whole.unit) == (part.group, part.unit)
    )


def _is_year(quantity: Quantity) -> bool:
    """Whether a number may be a year, or has a fraction as prices of bonds have."""
    return (
        quantity.unit is None and 1900 <= quantity.value <= 2100 and quantity.text.isdecimal()
    ) or "/" in quantity.text


def _holds(paragraph: Paragraph, one: Quantity, other: Quantity, p: Quantity, is_up: bool | None = None) -> bool:
    """Whether a percentage tells the change between two values, or their ratio; by words the direction may be known."""
    is_later = is_up is not None and _NOW.search(paragraph.between(one, other)) is not None
    for old, new in ((one, other), (other, one)):
        ratio = new.value / old.value
        blur = (new.blur + ratio * old.blur) / old.value + p.half + 1e-9
        if is_up is not None and ((is_later and old is other) or (ratio > 1) != is_up):
            continue
        if any(abs(each - p.value) <= blur for each in (abs(ratio - 1), ratio)):
            return True
    return False
