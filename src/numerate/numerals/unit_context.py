"""Spellings that are units only in some contexts: words and letters that usually mean something else.

Each rule looks at a bounded part of the text, so that its time does not depend on the length of the text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LETTER_RULES", "VETO", "after_temperature", "is_inches"]

# Words after `in` that make it a length: `2 in thick`, `4 in x 6 in`, `3 in of rain`.
_DIMENSION = re.compile(
    r" ?\)| (?:(?:thickness|tall|diameter|dia|across)\b|thick\b(?! fog| smoke| of)"
    r"|wide\b(?! use| var| range| circ| open| dist)"
    r"|deep\b(?! trouble| water| space| snow| sleep| debt| thought| sea| [Ss]outh)"
    r"|long(?![\w-]| [rt])|high(?!\w|-| [a-z])"
    r"|(?:x|by|×) ?\d|of (?:rain|snow|precipitation|mercury|water|sleet|ice)"
    r"|in (?:length|width|height|diameter|thickness)\b)"
).match
_AFTER_FEET = re.compile(r"(?:ft|feet|foot|['′]) ?\d[\d./½¼¾ ]{0,6} ?in$").search
_TEMPERATURE = re.compile(
    r"temp(?:\b|erat)|fever|oven|heat|boil|freez|frozen|melt|anneal|incubat|thermo|degrees|°|cool|warm|\bhot\b|\bcold"
    r"|bak(?:e|ing)\b|autoclav|weather|simmer|reflux|cryo|stor(?:ed|age) (?:at|below)"
    r"|(?:dried|cured|calcined|sintered|sterilized|quenched|aged) (?:at|to)"
).search
_GERMAN = re.compile(
    r"(?<!\w)(?:der|das|und|ist|auf|mit|von|nicht|wurden?|stieg|sank|fiel|wuchs|prozent|für|uhr|nach|sich|dem|den|sie|ging)(?!\w)",
    re.IGNORECASE,
).search
_GERMAN_NEXT = re.compile(
    r" (?:\d|zu|die|das|den|der|eine?[nmrs]?|rund|etwa|fast|mehr|bis)\b|[ ][A-ZÄÖÜ][a-zäöü]"
).match
_MOLAR = re.compile(
    r" (?:[A-Z][a-z]?\d*(?:[A-Z(]|\d)|(?:HEPES|EDTA|[Tt]ris|[Ss]ucrose|[Gg]lucose|[Uu]rea|[Ss]odium|[Pp]otassium"
    r"|[Aa]mmonium|[Cc]alcium|[Mm]agnesium|[Hh]ydrochloric|[Ss]ul(?:ph|f)uric|[Aa]cetic|[Nn]itric|[Cc]itric"
    r"|[Ii]midazole|[Gg]uanidin\w*|solutions?|buffer|aqueous|acid|base|phosphate|stock)\b)"
).match
_TESLA = re.compile(r" (?:MRI?\b|magnet|scanner|field|superconduct|Siemens|Philips|GE\b)").match
_ENZYME = re.compile(r" (?:of |insulin\b|heparin\b|penicillin\b|enzyme\b|polymerase\b)").match
# Money only after a scale word and before a mark: `6.91 billion won vs`, but `$5 million won by`.
_KOREAN_WON = re.compile(r"^[^$€£¥]*(?:[bmtr]illion|mln|bln|bn|tn) won(?:$|[.,;:)\n]| \(| vs)").search
_SCALED = re.compile(r"(?:[bmtr]illion|mln|bln|bn)[ \n]$").search
_STONE = re.compile(
    r"stone(?:$|[.,;:!?)\"'’\n]| \d"
    r"| (?:and|or|in|to|at|when|by|before|after|since|heavier|lighter|overweight|of weight)\b)"
).match
_STONE_AND_POUNDS = re.compile(r"st ?\d{1,2} ?(?:lbs?|pounds?)\b").match
_MEGAPIXELS = re.compile(
    r"(?<=\d)MP\b|MP (?:camera|sensor|photo|image|resolution|lens|main|rear|front|selfie|ultra)"
).match


def is_inches(text: str, position: int) -> bool:
    """Whether `in` that ends at `position` is a length by its context: `2 in thick`, `6 ft 2 in`, `( 21 in )`."""
    if _DIMENSION(text, position):
        return True
    before = text[position - 16 if position > 16 else 0 : position]
    return ("t " in before or "'" in before or "′" in before) and _AFTER_FEET(before) is not None


def after_temperature(text: str, position: int) -> bool:
    """Whether the 70 characters before `position` speak of a temperature, so that C and F are degrees.

    Example:
        >>> after_temperature("a temperature of 37.5 C", 22)
        True
    """
    return _TEMPERATURE(text[position - 70 if position > 70 else 0 : position].lower()) is not None


def _is_degrees(text: str, end: int) -> bool:
    """`37.5 C` is a temperature after a word such as `temperature`; `4 C major` and `7 F-16s` are not."""
    follower = text[end : end + 1]
    if follower.isalnum() or follower in tuple("-+#'’&_/"):
        return False
    return after_temperature(text, end - 1) or _TEMPERATURE(text[end : end + 13].lower()) is not None


def _not_micrometre(text: str, start: int) -> bool:
    """`um` is the German preposition in `stieg 2019 um 5 Prozent`."""
    if text[start - 1 : start] not in (" ", "\n"):
        return False
    near = text[start - 60 if start > 60 else 0 : start + 60]
    return _GERMAN_NEXT(text, start + 2) is not None or _GERMAN(near) is not None


def _not_picometre(text: str, start: int) -> bool:
    """`154 pm` is a length; with at most two digits, four digits or a colon it is a time."""
    digits = text[max(0, start - 9) : start].rstrip(" \u00a0\u2009\u202f")
    whole = re.search(r"(?<![\d:.,])(?:[3-9]\d|\d{3})(?:\.\d{1,3})?$", digits)
    return whole is None


def _not_forint(text: str, start: int) -> bool:
    """`Ft` are forints after three digits or more, else feet or a fort."""
    return not text[max(0, start - 4) : start].rstrip()[-3:].isdecimal()


VETO: dict[str, Callable[[str, int], object]] = {
    "per": re.compile(r"per.cent").match,
    # A preposition and a pronoun, unless attached to the number, part of a compound, or `in.` with its full stop.
    "in": lambda text, start: _PREPOSITION(text, start) and not is_inches(text, start + 2),
    "us": re.compile(r"(?<!\d)us(?![\^²³/·⋅$]|[ -](?:do|dl|ce|ga|fl))").match,
    "at": re.compile(r"at(?!\.? ?%)").match,
    "um": _not_micrometre,
    "pm": _not_picometre,
    "Ft": _not_forint,
    "K": re.compile(r"K(?:-[a-zA-Z]| (?:run|race|walk)\b)").match,
    "g": re.compile(r"g[- ]force").match,
    "N": lambda text, start: _MOLAR(text, start + 1),  # a normality: `2 N NaOH`
    "mas": re.compile(r"mas (?:de|que|o|y)\b").match,  # Spanish
    "MP": lambda text, start: not _MEGAPIXELS(text, start),
    "Da": re.compile(r"Da [A-Z]").match,
    # A weight, not a material: `12 stone`, but `6 stone houses`.
    "stone": lambda text, start: not _STONE(text, start),
    "st": lambda text, start: not _STONE_AND_POUNDS(text, start),
    "grains": re.compile(r"grains of ").match,
    "cup": re.compile(r"(?<=[12]\d\d\d )cup|cup (?:match|final|tie|game|win|title|run|competition|holder|side)").match,
    "won": lambda text, start: not _KOREAN_WON(text[start - 14 if start > 14 else 0 : start + 6]),
    "crowns": lambda text, start: not _SCALED(text[start - 9 if start > 9 else 0 : start]),
    "Euro": re.compile(r"Euro[ -][A-Z0-9]").match,
    # Counts, not measures: `degrees of freedom`, `5-gram` (but `200-gram` is a weight).
    **dict.fromkeys(("degree", "degrees"), re.compile(r"degrees? of ").match),
    **dict.fromkeys(("gram", "grams"), re.compile(r"(?<!\d\d-)(?<![.,]\d-)(?<=\d-)gram").match),
    # The ordinal: `the 1991 second quarter`, `55 second-level topics`.
    "second": re.compile(r"(?<![\d-])second(?:-| half| quarter| round)").match,
    # A point in time: `307,000 head versus 294,000 week ago`.
    **dict.fromkeys(("day", "week", "month", "year"), re.compile(r"(?<!\b1 )(?<=[ \n])[a-z]+ ago").match),
}
"""Spelling -> a match function (text, offset of the spelling) that tells whether it is something else than a unit."""
_PREPOSITION = re.compile(r"(?<!\d)in(?!\.(?![A-Za-z])|[\^²³23/·⋅])").match
LETTER_RULES: dict[str, tuple[str, Callable[[str, int], object]]] = {
    "C": ("°C", _is_degrees),
    "F": ("°F", _is_degrees),
    "M": ("M", _MOLAR),
    "T": ("T", _TESLA),
    "U": ("U", _ENZYME),
}
"""Letter -> its normal spelling, and a function (text, end of the letter) that tells whether it is this unit."""
