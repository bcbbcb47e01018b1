"""Counts of lists whose items have a number: `five novels: Ember (1955), ...`, `at four depths (5, 10 and 40 cm)`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.sentences.patterns import regex

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["measured_lists"]

_N = r"(?P<n>(?i:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)|1[0-9]|[2-9])"
_ITEM = r"[^,;:.()\n\d]{2,50} \((?:(?=[^()\n]*\d)|(?=[A-Z]))[^()\n]{1,40}\)"
_BRACKETS = regex(r"\((?:[^()\n]*\d|[A-Z])[^()\n]*\)")
_BRACKETED = regex(
    rf"\b{_N} (?P<adj>(?:[a-z][\w'’-]* ){{0,3}}?)(?P<noun>[a-z][\w'’-]*s|people|men|women|children)\b"
    rf"(?P<gap>[^:;.!?()\d\n]{{0,50}}?)(?P<mark>: | (?:are|were) |, (?=[A-Z]))"
    rf"(?P<items>{_ITEM}(?:(?:, {_ITEM})+,? and {_ITEM}|(?:; {_ITEM})+(?:; and {_ITEM})?))(?=[.;!?]|$)"
)
_DIGIT = regex(r"\d")
_SMALL = regex(r"(?:^|, |; )(?!and )[a-z]|\band [a-z]")
"""An item without a capital, which may be none of those that were counted."""
_MEASURE = (
    r"(?:depths|temperatures|concentrations|lengths|distances|speeds|sizes|doses|dose levels|time ?points"
    r"|heights|widths|spacings"
    r"|diameters|thicknesses|angles|frequencies|voltages|wavelengths|pressures|intervals|altitudes|elevations|weights"
    r"|capacities|strengths|ages|flow rates|levels|settings|volumes|dilutions|pore sizes|dosages|loads|magnifications)"
)
_NUMBER = r"(?:\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?)"
_MEASURED = regex(
    rf"\b{_N} (?P<adj>(?:[a-z][\w'’-]* ){{0,2}}?)(?P<noun>{_MEASURE})\b(?P<gap>[^:;.!?()\d\n]{{0,40}}?)"
    rf"(?:: ?| \(|, (?:namely |i\.e\.,? )?| of )(?:at )?(?P<items>{_NUMBER}(?:, {_NUMBER})*,? and {_NUMBER})"
    r"(?! ?(?:to|or|[–-]|[x×*])(?![a-z])|[\d,.]*\d)"
)
_LOOSE = regex(
    r"\b(?:includ\w*|such as|among|at least|up to|more than|of|first|last|each|per|every|other|another|about"
    r"|from|between"
    r"|some|plus|or|either|only|further|more|additional|respectively|e\.g|like|for example|both|and|with (?:its"
    r"|their|the))\b"
)
_OPEN = regex(r"\b(?:includ\w*|such as|or|both|respectively|as well as|others?|e\.g|etc|with (?:its|their|the))\b")
_SO_MANY = regex(
    r"(?:^|, |; |and )(?:an? (?:pair|couple) of|one|two|three|four|five|six|seven|eight|nine|ten|some|several)\b"
)
"""An item that is more than one: `three on Mill Lane (1901)`."""
_SIZES = {
    word: n
    for n, word in enumerate(
        ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"], 2
    )
}
_SIZES |= {str(n): n for n in range(2, 20)}
_OWN = regex(r"^of (?:his|her|their|its) |with (?:his|her) (?:first|second|third|fourth|last) (?:wife|husband|partner)")
"""`three of her paintings: ...` are all that are told."""
_PART_OF = regex(
    r"\b(?:of|or|and|between|from|(?:\d|two|three|four|five|six|seven|eight) to|than|first|last|next|other"
    r"|another|least|every|each|per|about|a) $"
)


def measured_lists(part: str) -> Iterator[tuple[re.Match[str], int]]:
    """Claims of a sentence and how many items have a number of their own behind each."""
    low = part.lower()
    if part.count("(") > 2:
        for match in _BRACKETED.finditer(part):
            items = match["items"]
            if _is_loose(match, low) or _OPEN.search(items.lower()) or _SO_MANY.search(items):
                continue
            if not all(map(_DIGIT.search, _BRACKETS.findall(items))) and _SMALL.search(_BRACKETS.sub("", items)):
                continue  # `Ann Lee (Leeds), Bo Chan (York) and their coach Cy Ray (Hull)`
            count = len(_BRACKETS.findall(items))
            # `Chile and Peru jointly (2 bids)` may be two.
            inner = max(_BRACKETS.sub("", items).count(" and ") - ("; " not in items), 0)
            if not count <= _SIZES.get(match["n"].lower(), 0) <= count + inner:
                yield match, count
    for match in _MEASURED.finditer(part):
        if not _is_loose(match, low):
            yield match, len(re.split(r",? and |, ", match["items"]))


def _is_loose(match: re.Match[str], low: str) -> bool:
    """Whether the words around a claim say that the list is of something else, or not all of it."""
    lead = low[max(0, match.start() - 24) : match.start()]
    words = _OWN.sub("", f"{match['adj']} | {match['gap']}".lower())
    return _PART_OF.search(lead) is not None or _LOOSE.search(words) is not None
