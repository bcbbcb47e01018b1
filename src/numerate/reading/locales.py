"""Decides whether a document writes decimal commas, from all of its numbers."""

from __future__ import annotations

import re

__all__ = ["has_decimal_commas", "may_be_decimal"]

# The first digit stands before its look-behind, so that most positions fail without looking back.
_FIRST, _FREE, _END = r"\d(?<![\d.,:/'’]\d)", r"\d(?<![\d.,:/'’(\[{]\d)", r"(?![.,:/'’]?\d)"
_CERTAIN = re.compile(rf"{_FIRST}\d{{0,2}}(?>\.\d{{3}})++,\d++{_END}")
"""`1.234,56`"""
_UNITS = (
    "EUR|USD|GBP|CHF|Euro|euros?|Prozent|percent|pct|Mio|Mrd|Millionen|Milliarden|millions?|milliards?|millones|km|cm|mm"
    "|m|kg|mg|g|t|ml|l|L|h|min|s|ha|kWh|MW|GW|V|W|kW|Hz|GHz|GB|MB"
)
_STRONG = re.compile(rf"{_FREE}\d*+,\d\d?{_END}[ \u00a0\u202f]?(?:[%‰°€£¥₹$]|(?:{_UNITS})(?![^\W_]))")
"""One or two decimals and a percent sign, currency or unit: `64,7 %`."""
_MONEY = re.compile(rf"(?:[€£¥₹$]|EUR|CHF)[ \u00a0]?\d++,\d\d?{_END}")
"""`€12,50`"""
_WEAK = re.compile(rf"{_FREE}\d*+,(?:\d\d?|\d{{4,}}+){_END}(?![)\]}}])")
"""A comma between digits that may also separate the items of a list."""
_ENGLISH = re.compile(
    rf"{_FIRST}(?:\d{{0,2}}(?>,\d{{3}})++\.\d++|\d{{0,2}}(?>,\d{{3}}){{2,}}+|\d*+\.(?:\d\d?|\d{{4,}}+)){_END}"
)
_words = re.compile(r"\w++").findall
_FOREIGN = frozenset(
    _words(
        "der die das und oder zwischen nicht mit von für le les des et ou une entre dans el los las una por il della"
        " che uma não het een och av på og"
    )
)
# Commas that may be decimal marks of `_STRONG` and `_CERTAIN`. The comma stands first, so that the search is fast.
_may_be_strong = re.compile(r",(?:(?<=\d,)\d\d?[ \u00a0\u202f]?[%‰°€£¥₹$A-Za-z]|(?<=\.\d\d\d,)\d)").search
_MONEY_SIGNS = (*"€£¥₹$", "EUR", "CHF")
may_be_decimal = re.compile(r",\d\d?(?![\d,])|,\d{4}|\.\d{3},\d").search
"""Whether a cluster of digits and marks contains a comma that may be a decimal mark."""


def has_decimal_commas(text: str) -> bool:
    """Whether the numbers of a text have decimal commas, as in most of Europe; False without evidence.

    `1.234,56`, `64,7 %` and `€12,50` are evidence for it; `1,234.5` and `3.5` are evidence against it. A bare `1,5` may
    be a list and counts only beside words of a language that writes decimal commas.

    Example:
        >>> [has_decimal_commas(text) for text in ("64,7 % von 2.500", "see 1,5 and 3.5 kg", "1,5")]
        [True, False, False]
    """
    strong = len(_CERTAIN.findall(text)) + len(_STRONG.findall(text)) if _may_be_strong(text) else 0
    if any(map(text.__contains__, _MONEY_SIGNS)):
        strong += len(_MONEY.findall(text))
    if not strong and _FOREIGN.isdisjoint(_words(text)):
        return False
    weak = len(_WEAK.findall(text))
    if not strong and not weak:
        return False
    return max(strong, weak) > len(_ENGLISH.findall(text))
