"""Changes that do not fit their values: `rose 10 % from 50 to 65`, `doubled from 4 to 9`, `from 12 to 15, up by 5`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain, written_like
from numerate.apps.consistency.percents.change_claims import COMPARING, PLAINLY, Change, changes_of
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import PERCENT, one
from numerate.apps.consistency.wrong import wrong_difference
from numerate.numerals.unit_factors import dimension_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["change_findings"]


_COMPOUND = regex(
    rf"\b(?:twice|three times|annually|annual|each (?:year|month|time|week)|compound\w*|in a row|successive\w*"
    rf"|consecutive\w*|yearly|monthly|and again)\b|{one(PERCENT)} (?:per|an?|each|every) (?:year|month|annum|week"
    rf"|day)\b"
    r"(?! (?:ago|earlier|before))|(?: vs\.? .*){2}"
)
"""Changes that came more than once, and tables without their lines."""


def change_findings(sentence: Sentence, wanted: str) -> Iterable[Finding]:
    """Findings of the rule `percent` (percent, points, factors) or `difference` (absolute changes)."""
    for change in sentence.cached("changes", lambda each: list(changes_of(each))):
        found = _judged(sentence, change)
        if found is not None and found.rule == wanted:
            yield found


def _judged(sentence: Sentence, change: Change) -> Finding | None:
    a, b, c = change.a, change.b, change.c
    if a.start == b.start or (c is not None and c.start in (a.start, b.start)) or not _alike(a, b):
        return None
    if sentence.skeleton.count(" vs") > 1 or any(_is_joined(sentence, each) for each in (a, b)):
        return None  # scores and fractions: `5-3`, `11/32`
    if change.factor is not None:
        return _factor(change)
    if c is None:
        return None
    if c.group == "percent" and _BASIS.search(c.text):
        return _points(sentence, change._replace(points=True)) if a.group == "percent" else None
    if a.group == "percent" and (change.points or c.group != "percent"):
        return _points(sentence, change)
    if change.points and c.group == "percent":
        return None
    if c.group == "percent":
        if change.word == "margin":
            return None  # `from $520 million to $480 million, with a margin of 12 %`: that of a profit
        return None if _COMPOUND.search(sentence.skeleton) else _percent(sentence, change)
    if c.unit is None and 0 < c.value < 1 and c.text[:1].isalpha():
        return _percent(sentence, change)
    return _difference(sentence, change)


def _is_joined(sentence: Sentence, quantity: Quantity) -> bool:
    """Whether a dash or slash joins it to another number."""
    text, start, end = sentence.text, quantity.start - sentence.offset, quantity.end - sentence.offset
    before, behind = text[max(0, start - 2) : start], text[end : end + 2]
    is_after = before[-1:] in ("-", "–", "/") and before[:1].isdecimal()
    return is_after or (behind[:1] in ("-", "–", "/") and behind[1:].isdecimal()) or "/" in quantity.numerals[0].text


def _alike(a: Quantity, b: Quantity) -> bool:
    if (a.group == "percent") != (b.group == "percent"):
        return False
    return a.comparable(b) or (a.unit is None and a.group == "plain" and b.unit is not None and b.group == "unit")


def _percent(sentence: Sentence, change: Change) -> Finding | None:
    a, b, p = change.a, change.b, change.c
    if p is None:
        return None
    if a.value <= 0 or b.value <= 0 or a.value == b.value:
        return None
    if change.sign and " and " in sentence.between(a, b) and change.sign * (b.value - a.value) < 0:
        a, b = b, a  # `8 cases here and 80 there, a reduction of 90 %`
    b = _in_direction(sentence, change, a, b)
    asked = (change.sign or 1) * abs(p.value)
    real = b.value / a.value - 1
    slack = p.half + 0.002
    if p.group != "percent":
        slack = 0.02
    # A wrong direction is a slip only where the word says nothing but more or less.
    told = PLAINLY.fullmatch(change.word)
    ways = (asked,) if told and change.sign and abs(real) > slack else (asked, -asked)
    if any(_change_fits(a, b, way, slack, p.hedge) for way in ways):
        return None
    if a.group == "percent" and abs(abs(b.value - a.value) - abs(p.value)) <= p.slack + a.slack + b.slack:
        return None  # points, loosely
    if abs(real) > 5 or (abs(asked) > 1 and abs(real) < 0.01):
        return None
    if _explained(sentence, change, lambda one_, other: _change_fits(one_, other, asked, slack)):
        return None
    meant = written_like(p, abs(real)) if p.group == "percent" else f"{abs(real):.0%}"
    message = f"From {a.text} to {b.text} is {'+' if real >= 0 else '-'}{meant}, not {p.text}."
    if len(ways) == 1 and _change_fits(a, b, -asked, slack):
        message = f"From {a.text} to {b.text} is {'more' if real > 0 else 'less'}, but the text says {change.word!r}."
    return finding_at("percent", p, message, meant=abs(real) if p.group == "percent" else None, others=[a, b])


def _in_direction(sentence: Sentence, change: Change, a: Quantity, b: Quantity) -> Quantity:
    """The value that the words mean: in `412 members, 226 of them men, up 10 % from 342`, 342 did not fall to 226."""
    if not change.sign or change.sign * (b.value - a.value) >= 0:
        return b
    others = [
        each
        for each in sentence.values
        if each.start < b.start and each.start != a.start and each.group == b.group and each.comparable(b)
        and change.sign * (each.value - a.value) > 0 and 0.25 < each.value / a.value < 4
    ]  # fmt: skip
    return others[0] if len(others) == 1 else b


def _change_fits(a: Quantity, b: Quantity, asked: float, slack: float, hedge: str = "") -> bool:
    """Whether the change may be the one that is asked for, with both values and the claim rounded."""
    if a.value <= a.slack or b.value < 0:
        return False
    less = 0.5 if a.group == b.group == "percent" and not (a.hedge or b.hedge) else 1.0
    low = (b.value - less * _blur(b)) / (a.value + less * _blur(a)) - 1 - slack
    high = (b.value + less * _blur(b)) / (a.value - less * _blur(a)) - 1 + slack
    # `more than 30 %` may be 39 %, `nearly 30 %` may be 27 %.
    least, most = {"over": (0.97, 1.35), "under": (0.8, 1.03), "about": (0.85, 1.15)}.get(hedge, (1.0, 1.0))
    ends = sorted((asked * least, asked * most))
    return low <= ends[1] and ends[0] <= high


def _blur(quantity: Quantity) -> float:
    """How far a value may be off: counts are exact, whole amounts of money nearly so, the others rounded."""
    if quantity.hedge or quantity.half != 0.5:
        return quantity.slack
    if quantity.unit is None:
        return 0.0 if quantity.value < 1000 else min(quantity.last_place / 2, 0.005 * quantity.value)
    return min(0.25, 0.01 * quantity.value) if quantity.group == "money" else 0.5


def _explained(sentence: Sentence, change: Change, fits: Callable[[Quantity, Quantity], bool]) -> bool:
    """Whether the claim fits two other values of the sentence, unless these have a claim of their own that fits."""
    changes: list[Change] = sentence.cached("changes", lambda each: list(changes_of(each)))
    taken = {
        frozenset((each.a.start, each.b.start))
        for each in changes
        if each.c is not None and change.c is not None and each.c.start != change.c.start
    } | {frozenset((change.a.start, change.b.start))}
    values = [
        each for each in sentence.quantities if each is not change.c and each.group == change.b.group and each.value > 0
    ]
    if len(values) > 12:
        return True
    return any(
        fits(one_, other)
        for one_ in values
        for other in values
        if one_ is not other and frozenset((one_.start, other.start)) not in taken and one_.comparable(other)
    )


def _points(sentence: Sentence, change: Change) -> Finding | None:
    a, b, p = change.a, change.b, change.c
    if p is None:
        return None
    if p.unit is not None and p.group != "percent":
        return None
    scale = 1.0 if p.group == "percent" else 100.0
    if "basis" in change.hedge:
        scale = 10_000.0
    points = scale * abs(b.value - a.value)
    if p.hedge in ("over", "under") or not change.points:
        return None
    if abs(points - p.value) <= p.slack + scale * (a.half + b.half) + 1e-9:
        return None
    if _explained(sentence, change, lambda x, y: abs(scale * abs(x.value - y.value) - p.value) <= p.slack + 1e-9):
        return None
    unit = "" if _BASIS.search(p.text) else " points"
    message = f"From {a.text} to {b.text} are {written_like(p, points)}{unit}, not {p.text}."
    return finding_at("percent", p, message, meant=points, others=[a, b])


def _factor(change: Change) -> Finding | None:
    a, b, factor = change.a, change.b, change.factor
    if a.value <= 0 or b.value <= 0 or factor is None or factor <= 0 or a.hedge or b.hedge:
        return None
    if change.c is not None and (change.sign < 0 or change.word in ("", "went") or factor < 1.5):
        return None
    real, hedge = b.value / a.value, change.hedge
    low, high = factor / 1.12, factor * 1.12
    if change.word.endswith(("half", "quarter", "third", "fifth")) and not hedge:
        low, high = 1 + 0.85 * (factor - 1), 1 + 1.15 * (factor - 1)  # `cut by a quarter` is not by a fifth
        low, high = min(low, high), max(low, high)
    if change.c is not None:
        low, high = factor / 1.16, (factor + 1) * 1.12  # `three times more` may be four times as much
    elif "not " in hedge or "less" in hedge or "only" in hedge:
        return None
    elif "more than" in hedge or "over" in hedge or "at least" in hedge:
        low, high = (factor / 1.03, factor * 1.6) if factor > 1 else (factor / 2.5, factor * 1.03)
    elif hedge:
        low, high = factor / 1.3, factor * 1.2
        if factor < 1:
            low, high = factor / 1.2, factor * 1.3
    if low <= real <= high or not 0.05 < real < 50:
        return None
    if change.c is not None and real > factor * 4:
        return None
    word = f"{change.c.text} times" if change.c is not None else change.word
    message = f"From {a.text} to {b.text} is a factor of {plain(real)}, which is not {word}."
    return finding_at("percent", b, message, meant=a.value * factor, others=[a])


_BASIS = regex(r"basis[ -]points?|bps?\b")
_NAMED = regex(r"\b([a-z]{3,}) $")


def _are_names(sentence: Sentence, one: Quantity, other: Quantity) -> bool:
    """Whether one noun stands before both numbers, which then name things in their order: `page 242`."""
    first, second = (_NAMED.search(sentence.beside(each)[0]) for each in (one, other))
    return first is not None and second is not None and first[1] == second[1]


def _difference(sentence: Sentence, change: Change) -> Finding | None:
    a, b, d = change.a, change.b, change.c
    if d is None:
        return None
    same = b.comparable(d) or (
        a.unit is None and b.unit is None and d.group == "unit" and dimension_name(d.unit or "") != "time"
    )
    if d.unit == "°" and dimension_name(b.unit or "") == "temperature":
        same = True
    if not same or b.group == "percent" or d.value <= 0 or d.hedge in ("over", "under"):
        return None
    real = abs(b.value - a.value)
    free = change.word in COMPARING or "than" in change.hedge
    slacks = [each.half if free else each.slack for each in (a, b)]
    if not d.hedge and (free or not (a.hedge or b.hedge)):
        slack = 2.02 * max(*slacks, d.half)  # three roundings hardly add up to more than one of the last digit
        if d.group == "money" and {each.half for each in (a, b, d)} == {0.5}:
            slack = 0.0  # prices: `by €3, from €12 to €16`
    else:
        slack = sum(slacks) + d.slack
    exact = all(each.half == 0.5 and (free or not each.hedge) for each in (a, b)) and d.half == 0.5 and not d.hedge
    if exact and a.unit is None and b.unit is None:
        slack = max(each.last_place for each in (a, b, d)) / 2 if min(a.value, b.value) >= 1000 else 0.0
        slack = 0.0 if slack < 50 else slack / 1.01
    if abs(real - d.value) <= slack * 1.0001 or real == 0 or b.value == 0 or not 0.05 < a.value / b.value < 20:
        return None
    if d.value > 4 * real or real > 5 * d.value:
        return None  # it is about something else
    if d.value == real + 1 and a.unit is None and _are_names(sentence, a, b):
        return None  # `from page 242 to page 249 (8 pages)`: both of them count
    if _explained(sentence, change, lambda x, y: abs(abs(x.value - y.value) - d.value) <= x.half + y.half - 0.999):
        return None
    return wrong_difference(d, a, b, real)
