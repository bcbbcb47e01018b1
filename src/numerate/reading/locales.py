"""Decides whether a document writes decimal commas, from all of its numbers."""

from __future__ import annotations

import re

__all__ = ["has_decimal_commas"]

_NOT_BEFORE, _NOT_AFTER = r"(?<![\d.,:/'’])", r"(?![.,:/'’]?\d)"
# Certain: `1.234,56`. Strong: one or two decimals and a percent sign, currency or unit, `64,7 %`, `€12,50`.
_CERTAIN = re.compile(rf"{_NOT_BEFORE}\d{{1,3}}(?:\.\d{{3}})++,\d++{_NOT_AFTER}")
_SIGNS = "%‰°€£¥₹$"
_UNITS = (
    "EUR|USD|GBP|CHF|Euro|euros?|Prozent|percent|pct|Mio|Mrd|Millionen|Milliarden|millions?|milliards?|millones|km|cm|mm|m|kg|mg"
    "|g|t|ml|l|L|h|min|s|ha|kWh|MW|GW|V|W|kW|Hz|GHz|GB|MB"
)
_STRONG = re.compile(
    rf"{_NOT_BEFORE}(?<![(\[{{])\d++,\d\d?{_NOT_AFTER}[ \u00a0\u202f]?(?:[{_SIGNS}]|(?:{_UNITS})(?![^\W_]))"
    rf"|(?:[€£¥₹$]|EUR|CHF)[ \u00a0]?\d++,\d\d?{_NOT_AFTER}"
)
# Weak: a comma between digits that may also separate the items of a list.
_WEAK = re.compile(rf"{_NOT_BEFORE}(?<![(\[{{])\d++,(?:\d\d?|\d{{4,}}+){_NOT_AFTER}(?![)\]}}])")
_ENGLISH = re.compile(
    rf"{_NOT_BEFORE}(?:\d{{1,3}}(?:,\d{{3}})++\.\d++|\d{{1,3}}(?:,\d{{3}}){{2,}}+|\d++\.(?:\d\d?|\d{{4,}}+)){_NOT_AFTER}"
)
_FOREIGN = re.compile(
    r"(?<!\w)(?:der|die|das|und|oder|zwischen|nicht|mit|von|für|le|les|des|et|ou|une|entre|dans|el|los|las|una|por|il|della"
    r"|che|uma|não|het|een|och|av|på|og)(?!\w)"
)


def has_decimal_commas(text: str) -> bool:
    """Whether the numbers of a text have decimal commas, as in most of Europe; False without evidence.

    `1.234,56`, `64,7 %` and `€12,50` are evidence for it; `1,234.5` and `3.5` are evidence against it. A bare `1,5` may
    be a list and counts only beside words of a language that writes decimal commas.

    Example:
        >>> [has_decimal_commas(text) for text in ("64,7 % von 2.500", "see 1,5 and 3.5 kg", "1,5")]
        [True, False, False]
    """
    strong = len(_CERTAIN.findall(text)) + len(_STRONG.findall(text))
    weak = len(_WEAK.findall(text))
    if not strong and not (weak and _FOREIGN.search(text)):
        return False
    return max(strong, weak) > len(_ENGLISH.findall(text))
