"""Rates of a paragraph, `$38 an hour`, `12 bottles to the case`, `a crate holds 24`, and what its numbers count."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from numerate.apps.consistency.dates.calendar_words import MONTHS
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.quantities import Quantity

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.paragraphs import Paragraph

__all__ = ["UNIT_NOUNS", "Rate", "nouns_of", "periods_of", "rate_of", "stem_of"]

_PER = regex(
    r"^(?:,? (?:for|on|in|and|with))?(?:[ -](?!(?:and|or|in|on|at|from|after|before|for|was|were|is"
    r"|are)\b)[a-z'’]+){0,2}?(?: ?/ ?|,? (?:per|an?|each|every|for each|for every|to the|to an?|in an?"
    r"|in each|in every|for an?|the|on each|by the) )"
    r"(?P<of>[a-z]+(?:[ -](?:kilomet\w+|met\w+|mile|foot|feet))?)"
)
_HELD = regex(
    r"(?:\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|eighteen|twenty|twenty-four|thirty"
    r"|thirty-six|forty-eight|sixty)) (?:(?!of |and |with )[a-z-]+ ){0,3}(?P<of>[a-z]{3,}s) (?:of|holding"
    r"|containing) [$€£]?$"
)
_HOLDS = regex(
    r"\b(?:an?|one|each|every) (?:(?:of (?:the|its|our|their|these|those) \w+ )"
    r"|(?:[a-z-]+ )?)(?P<of>[a-z]{3,}) (?:holds?|has"
    r"|had|contains?|seats?|carr(?:y|ies)|weighs?|costs?|takes?|lasts?|covers?|yields?|gets?|got|receive[sd]?|needs?"
    r"|uses?|feeds?|makes?|gave|gives?|brought|earns?|pays?|paid|plays?|can (?:hold|carry|seat|take))(?: (?:about"
    r"|exactly|just|us|them))? [$€£]?$"
)
_HOLDING = frozenset([
    "hold", "holds", "has", "had", "contain", "contains", "seat", "seats", "carry", "carries", "weigh", "weighs",
    "cost", "costs", "take", "takes", "last", "lasts", "cover", "covers", "yield", "yields", "get", "gets", "got",
    "receive", "received", "receives", "need", "needs", "use", "uses", "feed", "feeds", "make", "makes", "gave", "give",
    "gives", "brought", "earn", "earns", "pay", "pays", "paid", "play", "plays", "about", "exactly", "just", "us",
    "them",
])  # fmt: skip
"""Last words of `_HOLDS`."""
_EVERY = regex(r"\b(?:each|every) (?P<of>[a-z]{3,})(?: [a-z]+){1,3} $")
_PRICED = regex(r"\d(?: [a-z'’-]+){1,3} (?:at|@) [$€£]?$")
_COUNTED = regex(r"^[- ]?((?:[a-z'’-]+[ ]?){1,5})")
_NO_NOUNS = frozenset(("and", "for", "plus", "with", "from", "the", "but", "then"))
_NO_THINGS = frozenset([
    "same", "first", "last", "other", "two", "half", "few", "total", "whole", "bit", "rate", "and", "for", "plus",
    "lot", "but", "with", "from", "year-end",
])  # fmt: skip
_ADVERB = regex(r"\b(?P<of>hour|dai|week|month|year)ly (?:average|mean)(?: [a-z'’-]+){0,4} $")
_PERIODS = {"day": "d", "week": "week", "month": "month", "year": "year", "hour": "h", "minute": "min"}
_MONTHS = regex(rf"\b(?:from|between) ({'|'.join(MONTHS)})[a-z]* (?:to|and|until|through) ({'|'.join(MONTHS)})[a-z]*")
_PERIOD = regex(
    r"\b(?:over|in|for|during|within|per|of|every|each|after|through)? ?(?:an?|one|the|each|every|per) "
    r"(?:full |whole |entire |single |calendar )?(?P<of>day|week|month|year|hour|minute)\b(?! (?:ago|before|earlier))"
    r"|\b(?:in|during|for|throughout) (?:20[012]\d|19\d\d)\b"
)
_PERIOD_BEHIND = regex(
    r"^(?: [a-z'’-]+){0,3}? (?:an?|per|each|every|last|this|that|in an?|(?:over|in) the) (?P<of>day|week|month"
    r"|year|hour|minute)\b"
)
_EACH = regex(r"^(?:[ -][a-z'’]+){0,3}? (?:each|apiece|a piece|a head|per head)\b")
_RATE_BEFORE = regex(r"\b(?:each|every)(?: (?:of (?:which|them|the) )?[a-z]+){0,4} (?:\w+ )?$")
UNIT_NOUNS = {
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


class Rate(NamedTuple):
    """A number that is for one of something."""

    quantity: Quantity
    per: str
    """The stem of what it is for; empty for `each`."""
    of: float = 1.0
    """How many of them it is for: 100 for litres per 100 km."""


def stem_of(word: str) -> str:
    """The singular of a noun, one word for several of one meaning."""
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
    if quantity.group == "unit" and quantity.unit in UNIT_NOUNS:
        return [UNIT_NOUNS[quantity.unit]]
    key = quantity.start, quantity.end, quantity.unit
    known = paragraph.nouns.get(key)
    if known is None:
        words = _COUNTED.match(paragraph.tail(quantity))
        found = [stem_of(each) for each in words[1].replace("-", " ").split(" ") if len(each) > 2] if words else []
        known = paragraph.nouns[key] = [] if found and found[0] in _NO_NOUNS else found
    return known


def rate_of(paragraph: Paragraph, each: Quantity) -> Rate | None:
    """A number that is said to be for one of something: `$38 an hour`, `12 bottles to the case`, `€4 each`."""
    if each.value <= 0 or each.group not in ("plain", "money", "unit") or (each.value < 3 and each.text[:1].isalpha()):
        return None
    if each.unit is not None and each.group == "unit" and "/" in each.unit:
        bottom = each.unit.partition("/")[2]
        if bottom == "(100*km)":
            return Rate(each, "kilometre", 100.0)
        return Rate(each, UNIT_NOUNS[bottom]) if bottom in UNIT_NOUNS else None
    tail, before = paragraph.tail(each), paragraph.upto(each)[-60:]
    if tail in (" per ", " for every ", "/", " every ") and each.group in ("unit", "money"):
        base = next((other for other in paragraph.values if other.start >= each.end), None)
        if base is not None and base.value in (10, 100, 1000) and base.unit in UNIT_NOUNS:
            return Rate(each, UNIT_NOUNS[base.unit], base.value)
        return None
    lead = paragraph.lead(each)
    match = _PER.match(tail) or (_ADVERB.search(lead) if "ly " in lead else None)
    if match is not None and match["of"] not in _NO_THINGS:
        return Rate(each, stem_of("day" if match["of"] == "dai" else match["of"]))
    if held := _held(before, each.group):
        return Rate(each, stem_of(held["of"]))
    if (
        _EACH.match(tail)
        or (("each" in lead or "every" in lead) and _RATE_BEFORE.search(lead))
        or (each.group == "money" and _PRICED.search(before))
    ):
        return Rate(each, "")
    return None


def _held(before: str, group: str) -> re.Match[str] | None:
    """What holds a number or has one each, by the words before it."""
    has_each = "each " in before or "every " in before
    has_one = has_each or "a " in before or "an " in before or "one " in before
    if has_one and before.rstrip(" $€£").rpartition(" ")[2] in _HOLDING and (held := _HOLDS.search(before)):
        return held
    if has_each and (held := _EVERY.search(before)):
        return held
    if group != "unit" and before.rstrip("$€£").endswith((" of ", " holding ", " containing ")):
        return _HELD.search(before)
    return None


def periods_of(paragraph: Paragraph, quantity: Quantity) -> Iterator[Quantity]:
    """Periods without a number that a total is for: `over a full day that is 184 litres`, `in 2023 it took 8,760`."""
    begin = quantity.start - len(paragraph.upto(quantity))
    months = _MONTHS.search(paragraph.upto(quantity))
    if months is not None:
        count = (MONTHS.index(months[2][:3]) - MONTHS.index(months[1][:3])) % 12 + 1
        yield Quantity(months[0], begin, begin, float(count), "month", "unit", (), step=1e-9)
    for match in (
        *_PERIOD.finditer(paragraph.upto(quantity)[-60:]),
        *_PERIOD_BEHIND.finditer(paragraph.tail(quantity)),
    ):
        unit = _PERIODS.get(match["of"] or "year")
        if unit is not None:
            yield Quantity(match[0].strip(), begin, begin, 1.0, unit, "unit", (), step=1e-9)
