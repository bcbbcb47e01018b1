"""Numbers that a language model must not doubt: codes, places and addresses, symbols, signs that were meant.

A model that learnt sizes has an opinion of every number, also of those that have no size: a post code, a phone number
or a longitude may be anything. An alarm there is always a false one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.numerals.numeral import Numeral

__all__ = ["is_code", "is_meant_sign", "is_no_size", "is_recent_year", "is_value_of_symbol"]

_NEAR = 60
"""Characters on both sides of a number that are searched."""
_NAMED = r"[A-ZÄÖÜ][\w.'’-]{0,30}"
_PLACES = [
    re.compile(pattern)
    for pattern in (
        # Degrees of latitude and longitude, and decimal ones with four digits in pairs.
        r"\d+(?:\.\d+)?\s?[°º](?:\s?\d+(?:\.\d+)?\s?['′’](?:\s?\d+(?:\.\d+)?\s?(?:[\"″”]|''|′′))?)?\s?[NSEWO]\b",
        r"\d+\s?[°º]\s?\d+(?:\.\d+)?\s?['′’](?:\s?\d+(?:\.\d+)?\s?[\"″”])?",
        r"-?\d{1,3}\.\d{4,}\s?[,;/]\s?-?\d{1,3}\.\d{4,}",
        # `12 km long (7.5 mi)` is no longitude.
        r"(?i:\b(?:(?:latitude|longitude|lat|lon|lng|coordinates?|gps)\b\W{0,3}|long\.?\s?[:=]\s?)"
        r"-?\d+\.\d+(?:\W{1,3}-?\d+\.\d+)?)",
    )
]
_MOST_DEGREES = 360
_CODES = [
    re.compile(pattern)
    for pattern in (
        # Streets and post codes.
        rf"\b\d{{1,5}}[A-Za-z]?\s(?:{_NAMED}\s){{1,3}}(?:Street|St|Avenue|Ave|Road|Rd|Lane|Drive|Dr|Boulevard|Blvd|"
        r"Square|Place|Way|Court|Terrace|Highway|Hwy|Parkway|Crescent)\b",
        r"(?:straße|strasse|str\.|platz|weg|gasse|allee|plein|straat)\s\d{1,4}\b",
        r"\b[A-Z]{2}\s\d{5}(?:-\d{4})?\b",
        # Words whose number is a name.
        r"\b(?i:ports?|pin|code|extension|ext\.?|zip|postcode|plz|tel\.?|telephone|phone|fax|dial|call|channel|gate|"
        r"platform|error|status|psalm|scene|verse|exit|room|suite|apartment|apt\.?|floor|line|route|highway)"
        r"\s?[:#]?\s?\d+(?:[ -]\d+)*\b",
        # What is named by a number: an application, a case, a form.
        r"\b[Nn](?:o|os|r)(?:\.:?|:)\s?[A-Z]{0,3}\d[\d.,/-]*\d",
        # Sizes of pictures; groups of digits with gaps, as of phones, cards and accounts.
        r"(?<![\d.,])\d{3,5}\s?[x×]\s?\d{3,5}(?![\d.,]?\d)(?!\s?(?:[cmk]?m|met(?:re|er)s?|ft|feet|yards?|relay)\b)",
        r"(?<![\d.,])\d{2,6}(?:[ -]\d{2,6}){2,}(?![.,]?\d)",
        r"(?<![\d.,/-])0\d+(?:[ /-]\d+)*(?![.,]?\d)",
        # Not a season, such as 2006-07.
        r"(?<![\d.,/-])(?!\d{4,7}-\d\d(?![\d/-]|\s\d))\d+(?:[ /-]\d+)*[ /-]0\d+(?:[ /-]\d+)*(?![.,]?\d)",
    )
]
_TOWN = re.compile(r"\s[A-ZÄÖÜ][a-zäöüß]")
_TOWN_ALONE = re.compile(r"(?:\s[A-ZÄÖÜ][\w.'’-]*){1,3}\s*(?:$|[,\n;])")
_NO_ADDRESS = re.compile(r"\b(?:[Tt]he|since|until|during|about|than|of) $")
_NEW_PART = re.compile(r"(?:^|[,;:(\n\t]|[A-Z]-) ?$")
_YEARS = range(1500, 2036)
_COMPARED = r"\s?(?:[=<>≤≥≈≪≫«]|:=|<=|>=|==|&[lg]t;){1,2}\s?[\[({]?\s?[-−+]?$"
_SYMBOL = re.compile(
    r"(?<![\w$€£¥°%.<'’-])(?:[A-Za-z]{1,2}[²\d′']?|[A-Za-zΑ-ω]{1,3}_\{?\w{1,8}\}?|[Α-ωϕϵϑ]\w{0,3}"
    r"|alpha|beta|gamma|delta|lambda|sigma|[pP][- ]?val(?:ue)?s?)"
    rf"(?:\([^()]{{1,16}}\))?{_COMPARED}"
)
_SIGNIFICANCE = re.compile(
    r"(?:\b[pP][- ]?values?|\b(?:significance|confidence) levels?|\blevels? of (?:significance|confidence)|\balpha)"
    r"(?:\s(?:of|is|was|were|at|be|less|smaller|lower|greater|below|under|above|than|equal|to|set|a|or|the)){0,5}"
    r"\s?[=<>≤≥]?\s?$"
)
_LEVEL = re.compile(r"\s?(?:significance )?level\b")
RECENT_YEARS = range(2018, 2036)
"""The texts of `numerate-mini` end in 2019; years up to the second number stand in plans of today."""
_NO_WORD = re.compile(r"\s*(?:$|[.,;:)\]])")
_GROUPED = re.compile(r"\d{1,3}(?: \d{3})+")
_SIGNED_UNITS = ("°C", "°F", "°", None)
"""Units whose numbers may be negative; None: without a unit."""


def is_no_size(text: str, numeral: Numeral) -> bool:
    """Whether a number may be anything to a model: a code, a year of today, or the value of a symbol."""
    return any(is_one(text, numeral) for is_one in (is_code, is_recent_year, is_value_of_symbol))


def is_code(text: str, numeral: Numeral) -> bool:
    """Whether a number is a name, or a part of one: of a place, a phone, an account, a port, a step in an order.

    Example:
        >>> import numerate
        >>> text = "Call 0800 555 0199 from 1600 Main Street, 80331 Munich at 48.1° N, or pay 1 250 300 euros at 45 m."
        >>> [numeral.text for numeral in numerate.find(text) if not is_code(text, numeral)]
        ['1 250 300', '45']
    """
    start = max(0, numeral.start - _NEAR)
    near = text[start : numeral.end + _NEAR]
    begin, end = numeral.start - start, numeral.end - start
    if _GROUPED.fullmatch(numeral.text.strip("-+−")):  # one number with gaps: 1 250 300
        return False
    if _is_post_code(text, numeral):
        return True
    patterns = _CODES if abs(numeral.value) > _MOST_DEGREES else [*_PLACES, *_CODES]
    return any(match.start() < end and begin < match.end() for pattern in patterns for match in pattern.finditer(near))


def _is_post_code(text: str, numeral: Numeral) -> bool:
    """Whether a number stands before a town: `80331 Munich`, but not `a 20110 American film`.

    A year with a digit too many is one only where an address may begin, behind a comma or on a line of its own, and
    where nothing follows the town; thousands are one only where an address may begin.
    """
    written = numeral.text
    if len(written) != 5 or not written.isdecimal() or not _TOWN.match(text, numeral.end):
        return False
    before = text[max(0, numeral.start - _NEAR) : numeral.start]
    is_year = any(int(written[:at] + written[at + 1 :]) in _YEARS for at in range(5))
    if _NEW_PART.search(before):
        return not is_year or _TOWN_ALONE.match(text, numeral.end) is not None
    is_round = written.endswith("000")
    return not is_year and not is_round and not before.endswith("-") and _NO_ADDRESS.search(before) is None


def is_value_of_symbol(text: str, numeral: Numeral) -> bool:
    """Whether a number is what a symbol is set to or compared with, or a level of significance.

    A symbol says nothing of sizes: `α = 0.05`, `p < 0.001`, `n = 134` and `R² = 0.65` may be anything to a model of
    language.

    Example:
        >>> import numerate
        >>> text = "With n = 134 we found r(132) = 0.65 (p < .001; 5 % level, a p-value of 0.05), so x. It cost 7 km."
        >>> [numeral.text for numeral in numerate.find(text) if is_value_of_symbol(text, numeral)]
        ['134', '0.65', '.001', '5 %', '0.05']
    """
    before = text[max(0, numeral.start - _NEAR) : numeral.start]
    if _SYMBOL.search(before) or _SIGNIFICANCE.search(before):
        return True
    return 0 < numeral.value <= 0.1 and _LEVEL.match(text, numeral.end) is not None


def is_recent_year(text: str, numeral: Numeral) -> bool:
    """Whether a number is a year that texts of today are full of, and that a model of earlier texts has hardly seen.

    Example:
        >>> import numerate
        >>> text = "In 2024, the budget of 2027 had 2,024 lines, 2025 of them in red, and 1924 fewer than in 2124."
        >>> [numeral.text for numeral in numerate.find(text) if is_recent_year(text, numeral)]
        ['2024', '2027']
    """
    written = numeral.text
    if len(written) != 4 or not written.isdecimal() or numeral.value not in RECENT_YEARS:
        return False
    return numeral.kind == "year" or (numeral.unit is None and _NO_WORD.match(text, numeral.end) is not None)


def is_meant_sign(numeral: Numeral, readings: Sequence[str], interval: tuple[float, float]) -> bool:
    """Whether only the minus makes a number of a sentence odd, and a minus is nothing odd in its unit.

    Texts have few negative numbers, so that a model hardly expects one; but nobody types a minus by accident.

    Args:
        numeral: The number.
        readings: Names of the slips that explain it, best first.
        interval: What would be usual, as `Numeral.written`.

    Example:
        >>> import numerate
        >>> numerals = numerate.find("It was -18 °C, and -18 kg.")
        >>> [is_meant_sign(numeral, ["sign"], (9.0, 78.0)) for numeral in numerals]
        [True, False]
    """
    if numeral.value >= 0 or not (numeral.unit in _SIGNED_UNITS or numeral.kind in ("money", "percent")):
        return False
    return readings[:1] == ["sign"] or interval[0] <= -numeral.written <= interval[1]
