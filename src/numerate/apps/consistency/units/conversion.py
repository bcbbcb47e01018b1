"""Conversions: `28 km (27 mi)`, `2,400 feet, or 1,132 metres`."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import Rule, finding_at, rules, written_like
from numerate.apps.consistency.repeats.restated import BARE, FRACTION, bare_units, fractions_and_decimals, scaled_money
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import ANY, MONEY, UNIT, one, slot
from numerate.apps.consistency.sentences.traits import MEASURES, UNITS, VALUES, cues
from numerate.apps.consistency.slips import is_slip
from numerate.apps.consistency.units.exchange_rates import exchanged
from numerate.apps.consistency.units.loose_conversions import (
    article_conversions,
    clock_conversions,
    loose_conversions,
    same_amounts,
    told_conversions,
    words_and_figures,
)
from numerate.numerals.unit_factors import converted, dimension_name, system_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.consistency.sentences.tally import Tally
    from numerate.apps.findings import Finding

__all__ = ["Conversion"]

_LIST = rf"{one(UNIT)}(?: ?(?:–|-|—|to|by|x|×|and|or|,) ?{one(UNIT)}){{0,3}}"
_HEDGE = (
    r"(?:about |approximately |approx\.? |around |roughly |nearly |almost |some |just |over |under |only "
    r"|a little |well "
    r"|an estimated |equal to |equivalent to |or |i\.e\.,? |c\. |~ ?|≈ ?|= ?)*"
)
_BRACKET = regex(
    rf"(?P<one>{_LIST})(?: (?!to |or |and |by )[a-z]{{2,12}}){{0,3}} "
    rf"?[(\[]{_HEDGE}(?P<other>{_LIST}) ?(?:[)\];]|/ ?{one(UNIT)}|, (?=[a-z][^()]*\)))"
)
_OR = regex(
    rf"(?P<one>{_LIST})(?:,? (?:or|i\.e\.,?|that is,?|that's|in other words,?|namely|equals|equal to|equivalent to"
    r"|corresponding to|which (?:is|are|makes|equals|comes to|corresponds to|works out at|means)|making)| ="
    r"| [–—-](?= (?:about|approximately|roughly|around|nearly|some|or) )|(?: each)?, (?=about |approximately "
    r"|roughly |around "
    rf"|nearly |almost )|[ ,]*/| [–—](?= ?{one(UNIT)} ?[–—]))"
    rf" ?{_HEDGE}(?P<other>{_LIST})(?P<end>.?)"
)
_MONEY = regex(
    rf"{slot('a', MONEY)}(?P<how> |, or |, i\.e\.,? |, that is,? | = "
    rf"| or )(?:\()?{slot('b', MONEY)}(?=[).,;]| (?:was|were|is|are|for|in (?!the|20|19)|has|had|and|to)\b"
    r"|$)"
)
_EQUAL = regex(r"=|\bequal|\bequivalent|\bi\.e\.|\bthat is\b|\bwhich is\b")
_LINK = regex(
    r" or |=|/|(?:,| [–—-]) (?:about|approx|roughly|around|nearly|almost|some)| (?:is|are|equals?|equivalent"
    r"|corresponding|making"
    r"|namely|i\.e\.|which [a-z]+s|other words)|that['’]s"
)
_OPEN_LIST = regex(rf"{one(ANY)}[ -]?(?:–|—|-|to|by|x|×|and|or|,)[ -]?$")
_OPERATOR = regex(r"[+−×*·÷] ?$| [-–/x] $")
_DIFFERENT_UNITS = {"rpm", "hp", "bbl", "nmi", "kn", "atm", "au", "ly"}
_BRACKET_FIGURE = regex(r" \(\$?\d|\d \([a-z]", re.IGNORECASE)
_FIGURES = regex(
    r"(?:teen|ty|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|hundred|thousand"
    r"|million) \(\$?\d[\d,.]*\)"
    r"|\d \((?:a|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|[a-z]+teen|[a-z]+ty)\b",
    re.IGNORECASE,
)
_DIFFERENCE = regex(r"\b(?:by|of|difference|swing|rise|drop|gap|than|within|every|each|to within|±)\b|±", re.IGNORECASE)
_RELATIVE = 0.012
"""Share of the value that a conversion may be off besides rounding: 1.6 km for a mile, 30 cm for a foot."""


@rules.register("conversion")
class Conversion(Rule):
    """A quantity and its conversion in brackets must agree within rounding."""

    title = "conversion"
    help = "A quantity is given in two units, and the two values do not agree."
    needs = (VALUES[1], UNITS[1] | MEASURES[2] | cues("(", "/"))
    least_of_paragraph = 2

    def wants(self, tally: Tally, text: str) -> bool:
        """Two quantities with units, or two amounts of money."""
        if tally.values < 2:
            return tally.units > 0 and (":" in text or " (" in text)
        return (
            tally.units > 1
            or tally.money > 1
            or (_BRACKET_FIGURE.search(text) is not None and _FIGURES.search(text) is not None)
            or ("/" in text and FRACTION.search(text) is not None)
            or (tally.units > 0 and (":" in text or any(map(text.__contains__, BARE))))
        )

    def paragraph(self, paragraph: Paragraph) -> Iterable[Finding]:
        """Compares amounts in billions with the same in millions."""
        if paragraph.tally.money > 1 and ("illion" in paragraph.lower or "bn" in paragraph.lower):
            yield from scaled_money(paragraph)
        if paragraph.tally.money > 2:
            yield from exchanged(paragraph)
        if paragraph.tally.units > 1:
            yield from told_conversions(paragraph)
            yield from same_amounts(paragraph)

    def sentence(self, sentence: Sentence) -> Iterable[Finding]:
        """Compares the quantities before and inside of brackets, and on both sides of `or`."""
        skeleton = sentence.skeleton
        if skeleton.count(MONEY) > 1:
            yield from _same_money(sentence)
        if "(" in sentence.text:
            yield from words_and_figures(sentence)
        if "/" in sentence.text and FRACTION.search(sentence.text):
            yield from fractions_and_decimals(sentence)
        if any(map(sentence.text.__contains__, BARE)):
            yield from bare_units(sentence)
        if ":" in sentence.text:
            yield from clock_conversions(sentence)
        if "(" in sentence.text:
            yield from article_conversions(sentence)
        if skeleton.count(UNIT) < 2:
            return
        yield from loose_conversions(sentence)
        for pattern, is_bracket in ((_BRACKET, True), (_OR, False)):
            if not is_bracket and not _LINK.search(skeleton):
                continue
            for match in pattern.finditer(skeleton):
                left, right = sentence.within(match["one"]), sentence.within(match["other"])
                if not is_bracket and "," in match["other"]:
                    right = right[: len(left)]  # `9 miles / 14 km, 350 m of climbing`
                # `one to three miles (1.6 to 4.8 km)`: a number before the list has no unit of its own.
                if len(left) != len(right) or _OPEN_LIST.search(skeleton, 0, match.start()):
                    continue
                if not is_bracket and _OPERATOR.search(skeleton, 0, match.start()):
                    continue  # `1 h 45 min + 50 min = 2 h 35 min`
                for one_, other in zip(left, right, strict=True):
                    found = _compare(one_, other, _EQUAL.search(match[0]) is not None)
                    if found is not None:
                        yield found


def _compare(one_: Quantity, other: Quantity, is_equal: bool) -> Finding | None:
    if one_.unit is None or other.unit is None or one_.unit == other.unit or one_.value == 0 or other.value == 0:
        return None
    if "nm" in (one_.unit, other.unit) and {one_.unit, other.unit} & {"km", "mi", "m"}:
        return None  # nautical miles
    # Misread: `6 ' 4 185 lb`, where the inches run into the next number, and `2 1⁄2 miles` with a space.
    if (
        len(one_.numerals) == 1
        and " " in one_.numerals[0].text
        and one_.text[:1].isdecimal()
        and not one_.numerals[0].power
    ):
        return None  # `3 250 metres` may be two numbers
    before = one_.before.rstrip(" \u200b\u00a0")
    if before.endswith(("'", "′", "’")) or (before[-1:].isdecimal() and any(mark in one_.text for mark in "⁄/½¼¾⅓⅔⅛")):
        return None
    mixed = len(other.numerals) > 1 or len(one_.numerals) > 1
    values = _inverted(one_, other) or converted(one_.value, one_.unit, other.unit)
    if not _is_conversion(one_.unit, other.unit) and not (values and _same_amount(one_, other, values[0], is_equal)):
        return None
    # `6 weeks (42 days)` is a conversion, `3 days (12 hours)` says how long each took.
    if dimension_name(one_.unit) == "time" and not mixed and values and not 0.6 < other.value / values[0] < 1.7:
        return None
    if one_.hedge == "over" and values and 1 <= other.value / values[0] < 1.25 and dimension_name(one_.unit) == "time":
        return None  # `over four hours (288 minutes)`
    temperature = dimension_name(one_.unit) == "temperature"
    if temperature and (abs(one_.value) < 60 or _DIFFERENCE.search(one_.before)):
        values += converted(one_.value, one_.unit, other.unit, difference=True)
    if not values:
        return None
    if not temperature and one_.value * other.value < 0:
        values = tuple(-value for value in values)  # a dash before a number, read as a sign
    best = min(values, key=lambda value: abs(value - other.value))
    steps = converted(1.0, one_.unit, other.unit, difference=True)
    factor = abs(steps[0] if steps else best / one_.value)
    # The writer converted the first value and rounded or cut off; or converted the second and rounded the first.
    place = min(other.last_place, 5.0) if temperature else other.last_place
    # A round number may have been rounded, but not by a fifth of itself.
    place = max(min(place, 0.13 * abs(other.value)), 2 * other.half)
    if dimension_name(one_.unit) == "time":
        place = min(place, 2 * other.half + 0.02 * abs(other.value))
    if len(other.numerals) > 1:
        place = 2 * other.half
    elif len(one_.numerals) > 1:
        place = min(place, 2 * other.half + 0.01 * abs(other.value))  # `5 ft 7 in` is not rounded to tens of cm
    if abs(other.value) < 5 and other.half == 0.5:
        place = 0.6  # nobody cuts off the half of a cup
    # `1 litre (2.2 cups)`: a single digit may have been rounded, but not by a third.
    is_exact = any(mark in one_.text for mark in "½¼¾")
    rounded = 0.0 if is_exact else one_.half * factor if temperature else min(one_.half * factor, 0.3 * abs(best))
    # Hours, minutes and seconds have exact sizes; a year and some months have not.
    is_timed = dimension_name(one_.unit) == "time" and len(one_.numerals) > 1
    is_timed = is_timed and not {"month", "year"} & {each.unit for each in (*one_.numerals, *other.numerals)}
    relative = 0.0 if is_timed and not (one_.hedge or other.hedge) else _RELATIVE
    allowed = rounded + (other.slack if other.hedge else place) + relative * abs(best)
    if one_.hedge and temperature:
        allowed += 5.0
    if abs(best - other.value) <= allowed:
        return None
    back = converted(other.value, other.unit, one_.unit)
    if back and min(abs(each - one_.value) for each in back) <= one_.last_place * 0.55 and _is_rounder(one_, other):
        return None
    meant = written_like(other, values[0])
    message = f"{one_.text} are {meant}, not {other.text}."
    return finding_at("conversion", other, message, meant=values[0], others=[one_])


def _inverted(one_: Quantity, other: Quantity) -> tuple[float, ...]:
    """Distance per volume as volume per distance: `35 mpg (6.7 L/100 km)`, by US and by imperial gallons."""
    if {one_.unit, other.unit} != {"mi/gal", "L/(100*km)"} or one_.value <= 0:
        return ()
    return tuple(each / one_.value for each in (235.2146, 282.4809))


def _same_amount(one_: Quantity, other: Quantity, value: float, is_equal: bool) -> bool:
    """Whether two units of one system give one amount: `1.5 g (150 mg)` has the same digits, `12 km (300 m)` has not.

    Args:
        one_: The first quantity.
        other: The second.
        value: The first in the unit of the second.
        is_equal: Whether words say that they are equal.
    """
    if value <= 0 or other.value <= 0:
        return False
    power = math.log10(other.value / value)
    factor = math.log10(abs(value / one_.value))
    is_decimal = abs(factor - round(factor)) < 1e-6
    if abs(power - round(power)) < 0.003 and 1 <= abs(round(power)) <= 6:
        return True
    if not is_decimal and is_slip(other.value, round(value / (2 * other.half)) * 2 * other.half):
        return True  # `40 m/s (414 km/h)`
    return (is_equal or not is_decimal) and abs(power) < 0.4


def _same_money(sentence: Sentence) -> Iterable[Finding]:
    """`$1.2 million ($1,500,000)`: one amount in two notations. Another amount has words beside it."""
    for match in _MONEY.finditer(sentence.skeleton):
        one_, other = sentence.slots(match, "ab")
        if not one_.comparable(other) or one_.hedge == "over" or other.hedge == "over":
            continue
        if other.text[:1] != "(" and not match["how"].strip():
            continue
        first, second = one_.numerals[0], other.numerals[0]
        value, real = abs(other.value), abs(one_.value)
        if first.power == second.power or not value or not real:
            continue
        power = math.log10(value / real)
        slip = abs(power - round(power)) < 0.003 and 1 <= abs(round(power)) <= 6
        if abs(value - real) <= one_.slack + other.slack or not (slip or 0.5 < value / real < 2):
            continue
        meant = written_like(other, real).strip("()")
        yield finding_at("conversion", other, f"{one_.text} are {meant}, not {other.text.strip('()')}.", others=[one_])


def _is_rounder(one_: Quantity, other: Quantity) -> bool:
    """Whether the first is a rounder number than the second, so that it may have been converted from it."""
    return _digits(one_) < _digits(other) and one_.hedge != ""


def _digits(quantity: Quantity) -> int:
    return len(str(round(abs(quantity.value) / quantity.last_place))) if quantity.last_place else 0


def _is_conversion(unit: str, other: str) -> bool:
    """Two units of different systems; `a 12 km (300 m) climb` is none, `95 minutes (1 h 35 min)` is one."""
    if dimension_name(unit) == "time":
        return True
    if system_of(unit) != system_of(other):
        return True
    return bool(_DIFFERENT_UNITS & {unit, other})
