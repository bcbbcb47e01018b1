"""Rates with a count and a total in a paragraph: 45 hours at $38 an hour, 12 bottles to the case, 300 km in 4 hours."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

from numerate.apps.consistency.base import finding_at, plain
from numerate.apps.consistency.paragraphs import NEEDED, slip_bits
from numerate.numerals.unit_factors import converted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.paragraphs import Paragraph
    from numerate.apps.consistency.quantities import Quantity
    from numerate.apps.findings import Finding

__all__ = ["nouns_of", "paragraph_rates"]

_CUE = re.compile(r"\b(?:per|each|every|apiece|to the|an?|in an?|the) [a-z]|s of |/|[a-z] head\b")
_PER = re.compile(
    r"^(?:,? (?:for|on|in|and|with))?(?:[ -](?!(?:and|or|in|on|at|from|after|before|for|was|were|is"
    r"|are)\b)[a-z'’]+){0,2}?(?: ?/ ?|,? (?:per|an?|each|every|for each|for every|to the|to an?|in an?"
    r"|in each|in every|for an?|the|on each|by the) )"
    r"(?P<of>[a-z]+(?:[ -](?:kilomet\w+|met\w+|mile|foot|feet))?)"
)
_HELD = re.compile(
    r"(?:\d|\b(?:two|three|four|five|six|seven|eight|nine|ten"
    r"|twelve)) (?:[a-z]+ )?(?P<of>[a-z]{3,}s) (?:of|holding|containing) [$€£]?$"
)
_EACH = re.compile(r"^(?:[ -][a-z'’]+){0,3}? (?:each|apiece|a piece|a head|per head)\b")
_RATE_BEFORE = re.compile(r"\b(?:each|every)(?: (?:of (?:which|them|the) )?[a-z]+){0,4} (?:\w+ )?$")
_RESULT = re.compile(
    r"\b(?:total\w*|in all|altogether|amounts?|amount\w* to|com(?:es?|ing) to|came to|mak(?:es?|ing)"
    r"|made|giv(?:es?|ing)|so|thus|therefore|hence"
    r"|that is|that's|which is|i\.e\.|works? out|worked out|paid|pay|cost|costs|bill|owe\w*|charged"
    r"|invoice\w*|earn\w*|average|averag\w+|mean|equals|sum|says|or|leaves|needs?|used|takes?|took"
    r"|invoiced|carry|carries|hold|holds)\b|=|≈"
)
_BESIDES = re.compile(
    r"\b(?:including|inclusive|incl|plus|extra|top speed|maximum|limit|on the motorway|delivery"
    r"|shipping|postage|tax|tips?|fees?"
    r"|discount|deposit|less)\b|\band (?:an?|the|\d+|breakfast|lunch|dinner|meals?|insurance) "
)
"""Words for what a total has besides the product, and for other speeds than the mean."""
_APART = re.compile(r"\b(?:only|of which|of them)\b|\bwith(?: [a-z'’-]+){0,5}[ (]*$")
_BUNDLE = re.compile(r"(?: [a-z'’-]+){0,3}? (?:for|at|cost|costs|are)(?: just| only)? [$€£]?")
"""`three jars for 18`, where one is 6.50: several may be cheaper."""
_FLOW = re.compile(r"\b(?:fill|empt|drain|pump|tap|drip|infus)\w*")
_AVERAGE = re.compile(r"\b(?:averag\w+|mean|works? out|about)\b")
_UNIT_NOUNS = {
    "h": "hour", "min": "minute", "d": "day", "week": "week", "month": "month", "year": "year", "kg": "kilo",
    "km": "kilometre", "L": "litre",
    "m^2": "square metre", "km^2": "square kilometre", "t": "tonne", "lb": "pound", "mi": "mile", "acre": "acre",
    "ha": "hectare", "s": "second",
    "m": "metre", "gal": "gallon", "night": "night", "ft^2": "square foot", "mi^2": "square mile", "g": "gram",
    "oz": "ounce",
}  # fmt: skip
_SAME = {
    "kilogram": "kilo", "kilogramme": "kilo", "kg": "kilo", "hr": "hour", "h": "hour", "km": "kilometre",
    "kilometer": "kilometre", "liter": "litre", "l": "litre",
    "meter": "metre", "ton": "tonne", "t": "tonne", "people": "person", "men": "man", "women": "woman",
    "children": "child", "head": "person", "guest": "person",
    "student": "person", "pupil": "person", "visitor": "person", "square meter": "square metre",
    "square kilometer": "square kilometre", "feet": "foot",
    "square feet": "square foot", "yr": "year", "min": "minute", "game": "game", "match": "game", "knives": "knife",
    "loaves": "loaf", "boxes": "box", "dozen": "dozen",
    "participant": "person", "member": "person", "passenger": "person", "employee": "person", "resident": "person",
    "adult": "person", "capita": "person",
    "inhabitant": "person", "night": "night", "evening": "night",
}  # fmt: skip


class _Rate(NamedTuple):
    quantity: Quantity
    per: str


def _stem(word: str) -> str:
    word = word.strip()
    if word in _SAME:
        return _SAME[word]
    for ending, new in (("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("shes", "sh"), ("s", "")):
        if word.endswith(ending) and len(word) > len(ending) + 2 and not word.endswith(("ss", "us", "is")):
            word = word[: -len(ending)] + new
            break
    return _SAME.get(word, word)


def nouns_of(paragraph: Paragraph, quantity: Quantity) -> list[str]:
    """What a number counts: the stems of the words behind it, or the name of its unit."""
    if quantity.group == "unit" and quantity.unit in _UNIT_NOUNS:
        return [_UNIT_NOUNS[quantity.unit]]
    words = re.match(r"^[- ]?((?:[a-z'’-]+[ ]?){1,5})", paragraph.tail(quantity))
    found = [_stem(each) for each in re.split(r"[ -]", words[1]) if len(each) > 2] if words else []
    return [] if found and found[0] in ("and", "for", "plus", "with", "from", "the", "but", "then") else found


def _rates(paragraph: Paragraph) -> Iterator[_Rate]:
    """Numbers that are said to be for one of something: `$38 an hour`, `12 bottles to the case`, `€4 each`."""
    for each in paragraph.values:
        if (
            each.value <= 0
            or each.group not in ("plain", "money", "unit")
            or (each.value < 3 and each.text[:1].isalpha())
        ):
            continue
        if each.unit is not None and each.group == "unit" and "/" in each.unit:
            bottom = each.unit.partition("/")[2]
            if bottom in _UNIT_NOUNS:
                yield _Rate(each, _UNIT_NOUNS[bottom])
            continue
        tail = paragraph.tail(each)
        match = _PER.match(tail)
        if match is not None and match["of"] not in (
            "same",
            "first",
            "last",
            "other",
            "two",
            "half",
            "few",
            "total",
            "whole",
            "bit",
            "rate",
            "and",
            "for",
            "plus",
            "lot",
            "but",
            "with",
            "from",
        ):
            yield _Rate(each, _stem(match["of"]))
        elif (held := _HELD.search(paragraph.upto(each)[-40:])) is not None and each.group != "unit":
            yield _Rate(each, _stem(held["of"]))
        elif _EACH.match(tail) or _RATE_BEFORE.search(paragraph.lead(each)):
            yield _Rate(each, "")


def paragraph_rates(paragraph: Paragraph) -> Iterator[Finding]:
    """Totals, counts and rates that do not fit each other."""
    if paragraph.tally.values < 3 or not _CUE.search(paragraph.lower):
        return
    values = paragraph.values
    if not 3 <= len(values) <= 16:
        return
    rates = list(_rates(paragraph))
    if not rates:
        return
    stems = {id(each): nouns_of(paragraph, each) for each in values}
    for rate in rates:
        r = rate.quantity
        triples = []
        for n in values:
            if (
                n is r
                or n.value <= 1
                or n.group not in ("plain", "unit")
                or abs(paragraph.place(n) - paragraph.place(r)) > 2
            ):
                continue
            before = [_stem(each) for each in re.findall(r"[a-z]+", paragraph.lead(n, 24))[-2:]]
            fit, count = _fit(rate, n, stems[id(n)], before)
            if not fit:
                continue
            for a in values:
                if (
                    a is n
                    or a is r
                    or a.value <= 0
                    or (a.value <= r.value and a.group != "unit")
                    or abs(paragraph.place(a) - paragraph.place(r)) > 2
                ):
                    continue
                whole = _amount(rate, a, stems)
                if whole is not None:
                    triples.append((fit, n, count, a, whole))
        if not triples or any(_is_right(r.value, r, n, count, a, whole) for _, n, count, a, whole in triples):
            continue
        best = None
        for fit, n, count, a, whole in triples:
            if any(
                each is not r
                and each is not a
                and each is not n
                and each.unit == a.unit
                and each.group == a.group
                and _made_of(each, a, values)
                for each in values
            ):
                continue
            lead = (paragraph.lead(a), paragraph.lead(r))
            result = 3.0 if _RESULT.search(lead[0]) or (r.start > a.start and _RESULT.search(lead[1])) else 0.0
            if n.start > a.start and _RESULT.search(paragraph.lead(n)):
                result = 3.0
            here = [each for each in values if paragraph.place(each) == paragraph.place(a)]
            is_closed = result > 0 and len(here) == 3 and r in here and n in here
            if _APART.search(lead[0]) or (a.value < count * r.value and _BUNDLE.fullmatch(paragraph.between(n, a))):
                continue
            if paragraph.place(a) == paragraph.place(r) and _BESIDES.search(paragraph.around(a, r, n)):
                continue
            scale = whole / a.value
            tries = (
                (slip_bits(a, count * r.value / scale), a, count * r.value / scale),
                (slip_bits(r, whole / count), r, whole / count),
                (
                    slip_bits(n, n.value * whole / (count * r.value)) if n.start > a.start else 0.0,
                    n,
                    n.value * whole / (count * r.value),
                ),
            )
            is_whole = (
                r.group != "plain" or _AVERAGE.search(lead[1]) or abs(whole / count - round(whole / count)) < 1e-6
            )
            bits, wrong, real = max((each for each in tries if is_whole or each[1] is not r), key=lambda each: each[0])
            ratio = whole / (count * r.value)
            if bits < 4.0 and len({paragraph.place(each) for each in (n, a, r)}) > 1:
                bits = 0.0  # a digit of two is no proof from one sentence to another
            is_together = paragraph.place(n) == paragraph.place(a) == paragraph.place(r)
            if result and r.group == "unit" and n.start > a.start and _FLOW.search(paragraph.lower):
                # `35 litres a minute. Filling the 2,800-litre tank takes ...`: nothing else may count here.
                is_together = is_closed = len(values) == 3
            if not bits and not ((fit >= 5 or is_closed) and result and is_together and 0.5 < ratio < 2):
                continue
            if wrong is r and not bits:
                wrong, real = (a, count * r.value / scale) if a.start > r.start else (r, whole / count)
            score = (
                fit + result + bits - math.log2(len(triples)) - (2.0 if not bits else 0.0) + (3.0 if is_closed else 0.0)
            )
            if best is None or score > best[0]:
                best = (score, wrong, real, n, a)
        if best is not None and best[0] >= NEEDED and (best[0] >= 14.0 or best[1].hedge in ("", "about")):
            _, wrong, real, n, a = best
            others = [each for each in (r, n, a) if each is not wrong]
            told = f"{n.text} x {r.text}" if wrong is a else f"{a.text} / {(r if wrong is n else n).text}"
            yield finding_at(
                "product",
                wrong,
                f"{told} = {plain(real)}, not {wrong.text}.",
                meant=real,
                others=others,
                probability=0.86,
            )


def _fit(rate: _Rate, n: Quantity, nouns: list[str], before: list[str]) -> tuple[float, float]:
    """How well a count fits what a rate is for, and the count in the unit of the rate."""
    unit = rate.quantity.unit if rate.quantity.group == "unit" else None
    if n.group == "unit":
        bottom = (
            unit.partition("/")[2]
            if unit and "/" in unit
            else next((u for u, name in _UNIT_NOUNS.items() if name == rate.per), None)
        )
        top = (n.unit or "").partition("/")[0]
        changed = converted(n.value, top, bottom) if bottom and top else ()
        return (5.0, changed[0]) if changed else (0.0, 0.0)
    if n.value != int(n.value):
        return 0.0, 0.0
    if rate.per and rate.per in (*nouns, *before):
        return 5.0, n.value
    if not rate.per and nouns and n.end <= rate.quantity.start and rate.quantity.start - n.end < 60:
        return 4.0, n.value
    return 0.0, 0.0


def _amount(rate: _Rate, a: Quantity, stems: dict[int, list[str]]) -> float | None:
    """A total in the unit of the rate's upper part; None if it is something else."""
    r = rate.quantity
    if r.group == "money":
        return a.value if a.group == "money" and a.unit == r.unit else None
    if r.group == "unit":
        top = (r.unit or "").partition("/")[0]
        unit = (a.unit or "").partition("/")[0]
        changed = converted(a.value, unit, top) if a.group == "unit" and unit else ()
        return changed[0] if changed else None
    if a.group not in ("plain", "unit") or (a.group == "unit" and r.group == "plain"):
        return None
    named = [each for each in stems[id(r)] if each != rate.per]
    if named and stems[id(a)] and named[0] in stems[id(a)][:3]:
        return a.value
    return a.value if (not named or named[0] in ("per", "the")) and a.value >= 2 * r.value else None


def _is_right(value: float, r: Quantity, n: Quantity, count: float, a: Quantity, whole: float) -> bool:
    """Whether rate, count and total fit within rounding; `about` counts as one in twenty."""
    # A price or a count that comes first is exact; one that was computed is rounded.
    is_exact = r.group in ("plain", "money") and (r.start < a.start or r.half < 0.5) and not r.hedge
    relative = (
        (0.0 if is_exact else min(r.half / r.value, 0.03 if r.start < a.start else 1.0))
        + a.half / a.value
        + (
            n.half / n.value
            if n.group == "unit" and n.unit not in ("d", "week", "month", "year") and n.half < 0.5
            else 0.0
        )
    )
    if any(each.hedge for each in (r, a)):
        relative += 0.05
    relative = max(relative, 0.003)
    return abs(whole / (count * value) - 1) <= min(relative, 0.25) + 1e-9


def _made_of(each: Quantity, a: Quantity, values: list[Quantity]) -> bool:
    """Whether a total is the sum or difference of another amount and a third, so that it needs no rate."""
    return any(
        other is not each
        and other is not a
        and (other.unit, other.group) == (a.unit, a.group)
        and min(abs(each.value + other.value - a.value), abs(each.value - other.value - a.value)) <= a.half + 1e-9
        for other in values
    )
