"""Amounts told twice in another form: `11/16" (0.6875)`, `€2.47 billion. Of the 2,470 million euros ...`."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain
from numerate.apps.consistency.sentences.paragraphs import is_explained, slip_bits
from numerate.apps.consistency.sentences.patterns import regex
from numerate.numerals.unit_factors import converted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["BARE", "FRACTION", "bare_units", "fractions_and_decimals", "scaled_money"]

LEAST_BITS = 6.0
FRACTION = regex(r"\d/\d{1,3}(?:[\"”″]|[ -]?in(?:ch(?:es)?)?\.?|'')?[ ,]*(?:\(|=|or |i\.e\.,? )")
_LINK = regex(
    r"(?P<inch>[\"”″]|''|[ -]?in(?:ch(?:es)?)?\.?)?(?: wide| thick| deep| long| diameter)?"
    r"[ ,]*(?P<how>\(|= ?|or |i\.e\.,? )"
)
BARE = (" in or ", "US pint", "US quart", "US gallon", "US cup")
"""Words of units that are not read as such."""
_BARE = regex(r" (?:in|us (?P<us>pints?|quarts?|gallons?|cups?))(?:,? or (?:about |roughly )?| ?\(| = |, i\.e\.,? )")
_BARE_SIZES = {
    "in": (2.54, "cm"), "pint": (0.473176, "L"), "quar": (0.946353, "L"), "gall": (3.785412, "L"), "cup": (0.2366, "L"),
}  # fmt: skip
_WRITTEN = regex(r"(?:\d{1,3}[ -])?\d{1,3}/(?:2|3|4|5|6|8|10|12|16|20|32|64)")
_DECIMAL = regex(r"\(?\d{0,3}\.\d{2,5}(?: ?(?:in(?:ch(?:es)?)?\.?|[\"”″]))?\)?")
_BACK = regex(r"(?:\bof the|\b(?:this|that|these|those)|\bor|\bi\.e\.,?)[ (]*[$€£]?$|^(?:these|this) $")
_OWN = regex(r" (?:for|in|on|to|from|that|which|earmarked|of (?!euros|dollars|pounds))\b")
_CHANGED = regex(
    r"\b(?:from|to|than|against|compared|up|down|rose|fell|last year|previous\w*|instead|while|other|another|and)\b"
)


def fractions_and_decimals(sentence: Sentence) -> Iterator[Finding]:
    """A fraction and its decimals right behind it: in brackets, behind `=` or `or`."""
    for one, other in itertools.pairwise(sentence.quantities):
        if not _WRITTEN.fullmatch(one.numerals[0].text if len(one.numerals) == 1 else "") or one.value <= 0:
            continue
        if not _DECIMAL.fullmatch(other.text) or other.group not in ("plain", "unit", "other"):
            continue
        start = one.numerals[0].end - sentence.offset
        link = _LINK.fullmatch(sentence.text[start : other.numerals[0].start - sentence.offset])
        if link is None or abs(one.value - other.value) <= 2.04 * other.half:
            continue
        is_near = 0.8 < other.value / one.value < 1.25
        behind = sentence.text[other.numerals[0].end - sentence.offset :][:8]
        if re.match(r" ?(?:%|mm|cm|m\b|lb|ft|kg)", behind):
            continue
        if link["how"] == "or " and not link["inch"]:
            continue
        if slip_bits(other, round(one.value / (2 * other.half)) * 2 * other.half) >= 5.0 or (link["inch"] and is_near):
            message = f"{one.text} is {one.value:.6g}, not {other.text.strip('()')}."
            yield finding_at("conversion", other, message, meant=one.value, others=[one], probability=0.9)


def bare_units(sentence: Sentence) -> Iterator[Finding]:
    """Units that are not read as such before their conversion: `20 in or 51 cm`, `3 US pints (1.42 litres)`."""
    for one, other in itertools.pairwise(sentence.quantities):
        if one.group not in ("plain", "other") or other.group != "unit" or one.value <= 0 or one.hedge or other.hedge:
            continue
        link = _BARE.fullmatch(sentence.between(one, other))
        if link is None or (link["us"] and "US" not in sentence.text):
            continue
        size, base = _BARE_SIZES[(link["us"] or "in")[:4].rstrip("s")]
        reals = converted(one.value * size, base, other.unit or "")
        if not reals or abs(reals[0] - other.value) <= max(0.03 * reals[0], other.last_place, other.half):
            continue
        if 0.4 < other.value / reals[0] < 2.5:
            message = (
                f"{one.text} {link['us'] or 'in'} are {plain(reals[0])} {other.unit}, not {other.text.strip('()')}."
            )
            yield finding_at("conversion", other, message, meant=reals[0], others=[one], probability=0.88)


def scaled_money(paragraph: Paragraph) -> Iterator[Finding]:
    """One amount in billions and, where words point back to it, in millions."""
    money = [each for each in paragraph.values if each.group == "money" and each.value >= 1e6 and not each.hedge]
    for one, other in itertools.pairwise(money):
        if one.unit != other.unit or one.value == other.value or paragraph.place(other) - paragraph.place(one) > 1:
            continue
        if _scale(one) == _scale(other) or not 0.3 < other.value / one.value < 3:
            continue
        if (
            not _BACK.search(paragraph.lead(other))
            or _OWN.match(paragraph.tail(other))
            or _CHANGED.search(paragraph.between(one, other))
        ):
            continue
        if abs(one.value - other.value) <= one.half + other.half:
            continue
        coarse = max(one, other, key=lambda each: each.half)
        fine = other if coarse is one else one
        if slip_bits(coarse, fine.value) >= LEAST_BITS and not is_explained(other, paragraph.alike(other)):
            message = f"{one.text} was told before, which is {plain(one.value)} and not {plain(other.value)}."
            yield finding_at("conversion", other, message, meant=one.value, others=[one], probability=0.86)


def _scale(quantity: Quantity) -> str:
    found = re.search(r"(?:m|b|tr)(?:illion|n|ln)?\b", quantity.text.lower())
    return found[0][0] if found else ""
