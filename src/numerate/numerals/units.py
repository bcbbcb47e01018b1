"""Units and currencies beside a number: finding them in a text, and converting quantities with pint.

`unit_after` and `currency_before` are called for every number of a corpus. Both return None after one short match and
one table lookup if there is no unit. Possible units are then read word by word with patterns of bounded length, so the
time does not depend on the length of the text.
"""

from __future__ import annotations

import re
from typing import Any

from numerate.numerals import unit_tables as tables
from numerate.numerals.unit_context import LETTER_RULES, VETO
from numerate.numerals.unit_grammar import DEGREES, LETTERS, SPACES, compound_at, factor_at, names_follow, unit_ends
from numerate.numerals.unit_tables import (
    BOUND,
    CURRENCIES,
    CURRENCY_SIGNS,
    PHRASE_HEADS,
    PHRASE_TAILS,
    SIMPLE_UNITS,
    UNITS,
    UnitError,
)

__all__ = [
    "CURRENCIES",
    "CURRENCY_CUES",
    "CURRENCY_LAST",
    "UNIT_HEADS",
    "UnitError",
    "currency_before",
    "to_quantity",
    "unit_after",
]

_MARKS = "'\"’”′″"
_SIGNS = "".join(CURRENCY_SIGNS)

_next = re.compile(rf"[{SPACES}\n-]?([{LETTERS}]{{1,20}}|[{DEGREES}{_MARKS}{re.escape(_SIGNS)}/])").match
# A one-word unit ends here: no power, division or multiplication follows.
_alone = re.compile(
    rf"(?![\w^/·⋅•∙*⁻−]|[-–]\w|\.[A-Za-z]|[{SPACES}-](?:per|PER|squared|cubed|met(?:er|re)|second|hour)"
    rf"|[{SPACES}\n]an?[ \n][smhdwy]|[{SPACES}](?:[/·⋅]|[{LETTERS}]{{1,6}}[-−–⁻^²³*/0-9]|[shmAd](?!\w)|cm(?!\w)))"
).match
_inverse_of = re.compile(rf"/|per[{SPACES}-]").match
# A lone letter attached to such a number belongs to a name or a plural: `W2V`, `F-14A`, `DC-10s`, `11-5/8s`,
# `under-19s`, `the 1990s`, `in his 20s`, `the 1970s and 80s`.
_part_of_name = re.compile(r"[A-Za-z][-–]?\d{1,6}$").search
_plural = re.compile(
    r"(?<!\d)[12]\d\d0$|/\d+$|[ (]\.\d+$|under[ -]\d+$|0s (?:and|or) \d0$"
    r"|(?:\b(?:his|her|their|my|your|our|the|mid|early|late)[ -]|['’])\d0$"
).search
_opening_quote = re.compile(r"(?<!\w)['‘’]").search
_after_degrees = re.compile(r"[°º˚] ?[\d.,'’′ ]{1,12}$").search
_after_feet = re.compile(r"\d['’′] ?(?:(?:\d|1[01])(?:\.\d{1,2}|[½¼¾⅛⅜⅝⅞])?|[½¼¾⅛⅜⅝⅞])$").search
_after_minutes = re.compile(r"\d['’′] ?[0-5]?\d(?:\.\d{1,6})?$").search
_dollar = re.compile(r"(?<![A-Za-z])([A-Za-z]{1,3})\$$").search

UNIT_HEADS = frozenset(
    [*UNITS, *BOUND, *tables.LONE_LETTERS["bound"], *LETTER_RULES, *DEGREES, *_MARKS, *_SIGNS, "/", "per"]
).union(PHRASE_HEADS, (case for head in tables.POWER_WORDS for case in (head, head.capitalize(), head.upper())))
"""All words and marks that a unit can begin with."""
CURRENCY_CUES = frozenset(
    [*tables.CODES, *_SIGNS, *tables.CURRENCY_ABBREVIATIONS, *(f"{letters}$" for letters in tables.DOLLAR_SIGNS)]
)
"""All words and marks that can be a currency before a number."""
CURRENCY_LAST = frozenset(cue[-1] for cue in CURRENCY_CUES)
"""The last characters of all currencies before a number."""
_CODES = tables.CODES | tables.CURRENCY_ABBREVIATIONS
_LAST_LETTERS = frozenset(cue[-1] for cue in tables.CURRENCY_ABBREVIATIONS if len(cue) == 2)
_PLACES = {"-": "hyphen", "\n": "wrapped"}


def unit_after(text: str, position: int, attached_only: bool = False) -> tuple[str, int, int] | None:
    """Finds the unit or currency that follows a number.

    The unit begins at `position` or after one space, line end or (before a letter) hyphen. The longest match wins, and
    it must not be followed by a letter or digit. Percent is not a unit.

    Args:
        text: The source.
        position: Offset after the number (and its scale word).
        attached_only: Whether only a unit directly at `position` counts, without space or hyphen.

    Returns:
        Normal spelling, start and end in `text`; None if there is no unit.

    Example:
        >>> unit_after("at 5 kilometres per hour", 4)
        ('km/h', 5, 24)
    """
    match = _next(text, position)
    if match is None:
        return None
    word = match[1]
    if word not in UNIT_HEADS:
        return None
    start = match.start(1)
    if (attached_only and start != position) or (word in VETO and VETO[word](text, start)):
        return None
    end = match.end()
    if word in SIMPLE_UNITS and not (
        word in PHRASE_TAILS and text[end : end + 3].lower().startswith(PHRASE_TAILS[word])
    ):
        normal = SIMPLE_UNITS[word]
        if _alone(text, end) or (normal in CURRENCIES and unit_ends(text, end)):
            return normal, start, end
    place = "attached" if start == position else _PLACES.get(text[position], "spaced")
    if word in _MARKS:
        return _prime_mark(text, start) if place == "attached" else None
    if word in CURRENCY_SIGNS:
        return _currency_sign_after(text, start, place)
    if word == "/" or word == "per":
        return _inverse_unit(text, start, place)
    if len(word) == 1 and place == "attached":
        before = text[max(0, start - 12) : start].lower()
        if _part_of_name(before) or (word == "s" and _plural(before)):
            return None
    if (
        word in tables.LONE_LETTERS[place]
        and word not in LETTER_RULES
        and _alone(text, end)
        and not names_follow(text, end)
    ):
        return UNITS[word], start, end
    if word in LETTER_RULES and place != "hyphen" and LETTER_RULES[word][1](text, end):
        return LETTER_RULES[word][0], start, end
    found = compound_at(text, start, place)
    return (found[0], start, found[1]) if found else None


def currency_before(text: str, position: int) -> tuple[str, int, int] | None:
    """Finds the currency that ends at `position` or one space before it.

    Args:
        text: The source.
        position: Offset of the number.

    Returns:
        ISO code, start and end in `text`; None if there is no currency.

    Example:
        >>> currency_before("for US$5", 7)
        ('USD', 4, 7)
    """
    end = position
    if end > 0 and text[end - 1] in SPACES:
        end -= 1
    if end <= 0:
        return None
    last = text[end - 1]
    if last not in CURRENCY_LAST:
        return None
    if last == "$":
        if text[end - 2 : end - 1].isalpha() and (match := _dollar(text[max(0, end - 6) : end])):
            known = tables.DOLLAR_SIGNS.get(match[1])
            return known or "USD", end - (len(match[0]) if known else 1), end
        spaced = text[end - 4 : end - 1] == "US " and not text[end - 5 : end - 4].isalnum()
        return "USD", end - (4 if spaced else 1), end
    if last in CURRENCY_SIGNS:
        return None if last in tables.SIGNS_AFTER_ONLY else (CURRENCY_SIGNS[last], end - 1, end)
    start = end - 3
    code = _CODES.get(text[start:end]) if start >= 0 else None
    if code is None and last in _LAST_LETTERS and end > 1:
        start = end - 2
        code = tables.CURRENCY_ABBREVIATIONS.get(text[start:end])
        if code and end == position and (code == "DEM" or not text[end + 1 : end + 2].isdecimal()):
            return None  # DM1, RM2: names
    if code is None or (start > 0 and (text[start - 1].isalnum() or text[start - 1] == "_")):
        return None
    return code, start, end


def to_quantity(value: float, unit: str | None, target: str = "SI", text: str = "") -> Any:
    """Converts a quantity with `pint`.

    Args:
        value: The number.
        unit: The unit in its normal spelling, as `unit_after` returns it.
        target: `SI` for base units, or any unit in our spelling or pint's.
        text: The numeral as written, for the error message.

    Returns:
        A `pint.Quantity`.

    Raises:
        PintMissingError: `pint` is not installed.
        UnitError: There is no unit, it is money or has no fixed size, or `target` measures something else.
    """
    if unit is None:
        raise UnitError(f"{text!r} has no unit, so it cannot be converted to {target!r}")
    if unit in CURRENCIES:
        raise UnitError(f"{text!r} is money ({unit}), which has no fixed rate to {target!r}")
    registry, known = tables.pint_registry(), tables.pint_unit(unit)
    quantity = registry.Quantity(value, known) if isinstance(known, registry.Unit) else value * known
    wanted = None if target.upper() == "SI" else tables.pint_unit(target)
    try:
        return quantity.to_base_units() if wanted is None else quantity.to(wanted)
    except TypeError:  # base class of pint's dimension and offset errors
        raise UnitError(f"{text!r} is in {unit}, which cannot be converted to {target!r}") from None


def _inverse_unit(text: str, start: int, place: str) -> tuple[str, int, int] | None:
    """Reads `/sq mi` and `/min` attached to the number, and ` per square mile` (areas and volumes only)."""
    match = _inverse_of(text, start)
    slash = text[start] == "/"
    if match is None or slash != (place == "attached"):
        return None
    found = factor_at(text, match.end(), "inner")
    if found is None or found.normal in CURRENCIES or found.power < 0 or not unit_ends(text, found.end):
        return None
    length = found.end - match.end()
    # `per hour` after a count is a frequency, not a unit; of the lone letters only s, h and L are certain, and a power
    # makes a unit of lengths only.
    raised = found.power > 1 and found.normal in tables.LENGTHS
    named = found.power == 1 and length > 1 and text[match.end() : found.end] not in BOUND
    if raised or (slash and (named or (length == 1 and found.normal in ("s", "h", "L")))):
        return "1/" + found.spelled, start, found.end
    return None


def _prime_mark(text: str, start: int) -> tuple[str, int, int] | None:
    """Reads feet and inches (`5'11"`) and minutes and seconds of arc (`40°26'46"`); None for quotation marks."""
    mark, follower = text[start], text[start + 1 : start + 2]
    before = text[max(0, start - 40) : start]
    angle = _after_degrees(before) is not None
    doubled = mark in "'’′" and follower == mark  # two apostrophes for one double prime: `6'2''`
    if mark in "'’′" and not doubled:
        # `5's` is a genitive; a mark with an opening mark shortly before it closes a quotation.
        quote = mark != "′" and not follower.isdigit() and _opening_quote(before)
        if not angle and (follower.isalpha() or quote):
            return None
        return ("arcmin" if angle else "ft"), start, start + 1
    # Inches only directly after feet: elsewhere `"` closes a quotation. A double prime is never a quotation mark.
    if mark != "″" and not (doubled and mark == "′") and not (_after_minutes if angle else _after_feet)(before):
        return None
    return ("arcsec" if angle else "in"), start, start + 1 + doubled


def _currency_sign_after(text: str, start: int, place: str) -> tuple[str, int, int] | None:
    """Reads `5 €` and `5€`; None where the sign belongs to the next number or ends a formula (`$n = 5$`)."""
    end = start + 1
    following = text[end : end + 2].lstrip(SPACES if place == "spaced" else "")
    opening = text.rfind("$", max(0, start - 80), start) if text[start] == "$" else -1
    formula = opening >= 0 and not text[opening - 1 : opening].isdigit()
    if place == "hyphen" or following[:1].isdigit() or formula:
        return None
    if text[start] not in tables.SIGNS_AFTER_ONLY and not unit_ends(text, end):
        return None
    return CURRENCY_SIGNS[text[start]], start, end
