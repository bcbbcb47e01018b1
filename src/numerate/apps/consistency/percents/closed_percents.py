"""Sentences that have just the numbers of one change: two values and a percentage or a factor.

Where a sentence names a change and holds no more than two values that could have changed, the order of its words does
not matter: the three numbers belong together. So these tests look at the words beside one number, and at the numbers.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain, written_like
from numerate.apps.consistency.sentences.change_words import MOVED, OTHER_BASE, are_changes, is_change
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import AMOUNT, PERCENT, one, slot
from numerate.apps.consistency.slips import is_slip

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["closed_factor", "closed_percent", "closed_result"]


def closed_percent(sentence: Sentence) -> Iterator[Finding]:
    """One change in percent, two values, and maybe their difference."""
    values = sentence.values
    if not 3 <= len(values) <= 4 or " out of " in sentence.skeleton:
        return  # `in 8 out of 11 classes` is a part, and no change
    # The words of a tax or an interest name no other base.
    words = _RATE_WORDS.sub(" ", sentence.skeleton) if _CHARGE.search(sentence.skeleton) else sentence.skeleton
    if OTHER_BASE.search(words) or _TWO_BASES.search(words):
        return
    percents = [each for each in values if each.group == "percent"]
    others = [each for each in values if each.group != "percent"]
    if len(percents) == 2 and len(others) == 1:
        yield from _closed_points(sentence, percents, others[0])
    if len(others) == 3 and sum(each.unit is None for each in others) == 1:
        # `sales of its 12 shops rose 5 % from $40 million to $44 million`
        others = [each for each in others if each.unit is not None or each.value >= 1000]
    if len(percents) != 1 or any(not _is_kin(sentence, each, others[0]) for each in others):
        return
    p = percents[0]
    others = [_unhedged(each) if _is_compared(sentence, p, each) else each for each in others]
    is_rate = len(others) == 2 and others[0].group == "money" and _CHARGE.search(sentence.skeleton) is not None
    if (
        not (is_rate or is_change(sentence, p))
        or min(each.value for each in others) <= 0
        or p.value == 0
        or p.hedge in ("over", "under")
    ):
        return
    if any(each.hedge in ("over", "under") for each in others) or (
        others[0].unit is None and max(each.value for each in others) < 10
    ):
        return
    if len(others) == 3:
        # `by 0.4 L, or 12.5 %, from 3.2 L to 3.6 L`: the first is the difference of the others.
        low, middle, high = sorted(others, key=lambda each: each.value)
        differences = [low, middle] if abs(high.value - middle.value - low.value) <= 2 * high.half else []
        others = [each for each in others if each not in differences or not is_change(sentence, each)]
    if are_changes(sentence, others):
        return
    share = abs(p.value)
    near: list[tuple[Quantity, Quantity, float]] = []
    for a in others:
        for b in others:
            if a is b or _are_other_things(sentence, a, b):
                continue
            blur = a.blur / a.value + b.blur / b.value
            real = b.value / a.value - 1
            # A tax may be told with what it is added to: `19 percent, €437, which makes €2,737`.
            held = b.value / (a.value - b.value) if is_rate and a.value > b.value else real
            # A deposit of 15 % beside the mortgage for the rest.
            part = b.value / (a.value + b.value) if is_rate else real
            for each in (real, real + 1, *((1 - real, held, part) if is_rate else ())):
                if abs(abs(each) - share) <= p.slack + 0.003 + blur * b.value / a.value:
                    return
            if a.start < b.start and 0.25 < abs(real) / share < 4 and 1 / 4.1 < b.value / a.value < 4.1:
                near.append((a, b, real))
            elif (
                is_rate
                and a.value > b.value
                and (0.4 < b.value / a.value / share < 2.5 or is_slip(b.value, a.value * share))
            ):
                near.append((a, b, b.value / a.value))
    if len(near) != 1:
        return
    a, b, real = near[0]
    message = f"From {a.text} to {b.text} is {'+' if real >= 0 else '-'}{written_like(p, abs(real))}, not {p.text}."
    if is_rate:
        message = f"{b.text} are {written_like(p, abs(real))} of {a.text}, not {p.text}."
    yield finding_at("percent", p, message, meant=abs(real), others=[a, b], probability=0.9)


_COMPARED = regex(r" (?:above|below|over|under|beyond|past|more than|less than|fewer than)\b")


def _is_compared(sentence: Sentence, p: Quantity, value: Quantity) -> bool:
    """Whether a word such as `above` compares the value with another one: `14 % above the $400 million of 2020`."""
    return value.start > p.start and _COMPARED.match(sentence.between(p, value)) is not None


def _unhedged(quantity: Quantity) -> Quantity:
    return dataclasses.replace(quantity, before="", _hedge="")


_CHARGES = r"(?:deposit|tax|tip|commission|interest|fee|vat|duty|levy|surcharge|royalty|down payment|gratuity)"
_CHARGE = regex(
    rf"\b{_CHARGES} (?:of|at|rate of) {one(PERCENT)}|{one(PERCENT)} (?:(?!in )[a-z]+ )?{_CHARGES}\b|\b{_CHARGES} on\b"
)
_RATE_WORDS = regex(r"\b(?:including|interest|annual|rates?|excluding|per (?:year|annum)|each year)\b")
_TWO_BASES = regex(r"\btwice\b|\bcompared\b.*\bfrom\b|\bfrom\b.*\bcompared\b")
"""`compared with 15 in December and fell 18 % from 17 in January`"""


_TIMES_WORD = regex(
    r"\b(?P<hedge>more than |nearly |almost |about |roughly |over |at least |approximately |not |some "
    r"|around |less than |only |up to )*"
    r"(?P<word>twice|doubl(?:ed|ing|e)|tripl(?:ed|ing|e)|trebled|quadrupled|halved|halving"
    r"|half)\b(?P<as> as (?:much|many|[a-z]+)| the (?:size|number|price|amount|height|length|weight))?"
)
_AS_MANY = ("as many as ", "as much as ", "as many as the ", "as much as the ")
_TIMES_VALUE = {"twice": 2.0, "doubl": 2.0, "tripl": 3.0, "trebl": 3.0, "quadr": 4.0, "halve": 0.5, "halvi": 0.5}


def closed_factor(sentence: Sentence) -> Iterator[Finding]:
    """Two values, of which one is said to be twice, three times or half of the other."""
    values = sentence.values
    if len(values) != 2 or not values[0].comparable(values[1]) or values[0].group != values[1].group:
        return
    found = list(_TIMES_WORD.finditer(sentence.skeleton))
    a, b = (_unhedged(each) if each.before.lower().endswith(_AS_MANY) else each for each in values)
    if len(found) != 1 or found[0]["hedge"] or min(a.value, b.value) <= 0 or a.hedge or b.hedge:
        return
    word = found[0]["word"]
    factor = _TIMES_VALUE.get(word[:5])
    verb = word.endswith(("ed", "ing"))
    if (
        factor is None
        or not (verb or (word == "twice" and found[0]["as"]) or found[0]["as"])
        or OTHER_BASE.search(sentence.skeleton.replace("many as the", "").replace("much as the", ""))
    ):
        return
    if (a.unit is None and not verb and (found[0]["as"] is None or min(a.value, b.value) < 10)) or _NOT_TIMES.search(
        sentence.skeleton
    ):
        return
    if _MORE_BEHIND.match(sentence.beside(b)[1]):
        return  # `58 adults, 35 fewer children than adults, and twice as many seniors as children`
    ratio = max(a.value, b.value) / min(a.value, b.value)
    factor = max(factor, 1 / factor)
    blur = (a.blur / a.value + b.blur / b.value) * ratio
    if abs(ratio - factor) <= 0.12 * factor + blur or not factor / 2.5 < ratio < factor * 2.5:
        return
    message = f"{a.text} and {b.text} differ by a factor of {plain(ratio)}, which is not {word!r}."
    yield finding_at("percent", b, message, others=[a], probability=0.9)


_MORE_BEHIND = regex(r"(?: [a-z]+)? (?:more|fewer|less|extra|additional)\b")
_NOT_TIMES = regex(
    r"\b(?:since|again|doubles|single|both|bed\w*|room\w*|album|then|would|could|(?<!in )may|might|if|plan\w*"
    r"|aim\w*|target|expected|won|game|time)\b"
)


_LOST_OR = regex(
    rf"\b(?P<w>{MOVED}) (?:by )?(?:{slot('d', AMOUNT)}(?: [a-z]+)?(?:, or| \("
    rf"|, ) ?{slot('p', PERCENT)}"
    rf"|{slot('p2', PERCENT)}(?:, or| \(|, ) ?{slot('d2', AMOUNT)}(?: [a-z]+)?)(?:,|\))? (?:to|at)"
    rf" (?:(?:close|end|finish|stand|settle|trade|a|the|an|[a-z]+ed) )*(?:at |on )?{slot('b', AMOUNT)}"
)
"""`lost 120 points, or 1 %, to close at 11,880`"""
_FELL = regex(
    r"fell|fall|drop|declin|decreas|shrank|slid|plung|tumbl|sank|reduc|cut|down|lost|dip|slip|low|eas"
    r"|shed|contract|slash|trim"
)


def closed_result(sentence: Sentence) -> Iterator[Finding]:
    """A change in units and in percent, and the value that it led to."""
    for match in (
        _LOST_OR.finditer(sentence.skeleton) if " or " in sentence.skeleton or "(" in sentence.skeleton else ()
    ):
        d, p = (sentence.get(match, name if match[name] else name + "2") for name in "dp")
        b = sentence.get(match, "b")
        if not (d.comparable(b) or d.unit is None or b.unit is None) or any(each.hedge for each in (d, p, b)):
            continue
        before = b.value + d.value if _FELL.match(match["w"]) else b.value - d.value
        if before <= 0 or d.value <= 0 or not 0.1 < p.value * before / d.value < 10:
            continue
        real = d.value / before
        slack = p.half + 0.001 + real * (d.half / d.value + b.half / before)
        if abs(real - p.value) <= slack:
            continue
        message = f"{d.text} of {plain(before)} are {written_like(p, real)}, not {p.text}."
        yield finding_at("percent", p, message, meant=real, others=[d, b], probability=0.9)


def _closed_points(sentence: Sentence, percents: list[Quantity], points: Quantity) -> Iterator[Finding]:
    """Two percentages and how many points lie between them."""
    _, behind = sentence.beside(points)
    if points.unit is not None or not _POINTS.match(behind) or not is_change(sentence, points):
        return
    real = 100 * abs(percents[0].value - percents[1].value)
    slack = points.slack + 100 * (percents[0].half + percents[1].half)
    if abs(real - points.value) <= slack + 1e-9 or not 0.2 < points.value / max(real, 1e-9) < 5:
        return
    message = (
        f"From {percents[0].text} to {percents[1].text} are {written_like(points, real)} points, not {points.text}."
    )
    yield finding_at("percent", points, message, meant=real, others=percents, probability=0.9)


_POINTS = regex(r"[ -](?:percentage[ -])?points?\b")


def _is_kin(sentence: Sentence, one: Quantity, other: Quantity) -> bool:
    """Whether two values may be of one thing: the same unit, or a unit that is left out once."""
    if one.comparable(other):
        return True
    if (one.unit is None) == (other.unit is None):
        return False
    first, second = (one, other) if one.start < other.start else (other, one)
    is_told = second.unit is None and _AGAINST.fullmatch(sentence.between(first, second)) is not None
    return min(one.value, other.value) >= 10_000 or (is_told and 0.2 * other.value < one.value < 5 * other.value)


_THINGS = regex(r" ([a-z]{2,}s)\b")
"""The noun right behind a number: `24 countries`."""


def _are_other_things(sentence: Sentence, one: Quantity, other: Quantity) -> bool:
    """Whether two plain numbers count two things, as `24 countries` and `28 jobs`."""
    if one.unit is not None or other.unit is not None:
        return False
    first, second = (_THINGS.match(sentence.beside(each)[1]) for each in (one, other))
    return first is not None and second is not None and first[1] != second[1]


_AGAINST = regex(
    r"(?: [a-z]+){0,3}? (?:against|from|to|after|versus|vs\.?|instead of|compared (?:with|to)|(?:up|down) from) "
)
"""Between a value with a unit and one that leaves it out: `920 tonnes against 800 last year`."""
