"""Densities of a count on an area: `covers 48.6 km² and had 13,122 inhabitants, a density of 270 per km²`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain
from numerate.apps.consistency.sentences.gates import paragraph_gate
from numerate.apps.consistency.sentences.paragraphs import slip_bits
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.traits import UNITS, VALUES, stems
from numerate.numerals.unit_factors import converted, dimension_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.findings import Finding

__all__ = ["densities"]

_PER_AREA = regex(
    r"(?P<noun> [^\W\d_]+\.?)?(?: [a-zéö]+){0,2}? ?(?:per|/|to the|to each|to a|je|pro|auf den|par|por) ?"
    r"(?:(?P<km>(?:square|sq\.?) ?(?:kilomet\w+|km)|km ?(?:²|2|\^2)|quadratkilometer\w*|kilomètre carré"
    r"|kilómetro cuadrado)|(?P<mi>(?:square|sq\.?) ?mi\w*)|(?P<ha>hectare|hektar|ha\b)|(?P<acre>acre))"
)
_UNITS = {"km": "km^2", "mi": "mi^2", "ha": "ha", "acre": "acre"}
_DENSE = regex(r"densit|dichte|densely|\bdicht\b")
_CLOSED = regex(
    r"(?:[,;:(–—]|i\.e\.|\b(?:and|thus|so|hence|or|which|that|giving|gives|makes|making|soit|also|mithin|con|avec"
    r"|mit|with"
    r"|for|equals|at|its|the|is|was|to)\b)(?: [a-zà-ü'’-]+){0,6}[ :(=,]*$"
)
_RESULT = regex(
    r"\b(?:giving|gives|makes|making|so|thus|hence|therefore|or|that is|which (?:is|means)|for an?|corresponds|soit"
    r"|mithin|also|means)\b"
    r"|i\.e\."
)
"""Words for a density that was computed of these numbers, and not told by somebody who left out the lakes."""
_PEOPLE = regex(
    r" (?:[a-z]+ )?(?:inhabitants|residents|people|persons|souls|citizens|villagers|islanders|einwohner\w*|bewohner\w*"
    r"|menschen|habitants|habitantes|personas|abitanti)\b"
)
_POPULATION = regex(
    r"\b(?:population|einwohnerzahl|población|bevölkerung|home to|inhabitants)(?: [a-zà-ü]+){0,5}[ :,]*$"
)
_LAND = regex(r"\b(?:land|water|forest\w*|urban|built[- ]up|farm\w*|metropolitan|metro|inland|lakes?|sea)\b")
_PART = regex(r"\b(?:of which|including|of (?:this|that|it|them)|consists of|comprising)\b")
_BOUND = ("over", "under")
NEAR, OFF = 2, 1.33
"""Sentences between the numbers, and the least factor by which a density is off that may be of another year."""
MOST_OFF = 3.0
_ROUND = 0.03
_CUES = stems("densit dense dicht inhabit people population resident einwohner habitant person")
_ANOTHER = regex(
    r"\b(?:national|state|average of|whole|than|behind|compar\w+|capital|cent(?:re|er)|nests?|highest|lowest"
    r"|neighbou?r\w*"
    r"|whereas|while|but|rose|fell|rising|falling|grew|up from|down from|versus|against|elsewhere|peak|maximum"
    r"|up to|as in"
    r"|core|part|parts|where)\b"
)
_AREA = regex(
    r"\b(?:area|size|cover\w*|surface|extent|extends|spreads|occup\w+|measures|fläche|superfic\w+|comprises)\b"
)
_ITS = regex(r"(?:its|the|it|their|this) ")
_GOES_ON = regex(
    r"(?:(?:so that the|the|its|their|this|that|it|so|hence|thus|with|which|on average|resulting|overall"
    r"|and)\b,? ?(?:is|has|had|gives|makes"
    r"|means|corresponds to|equals|about|a|an|results? in)?(?: (?:a|an|the|of|average|overall|mean|resulting|its))* ?)?"
    r"(?:(?:population |bevölkerungs)?(?:densit|dichte)[a-zé]*[a-z ,(]*(?::|of|is|was|=)? ?|)[a-z ]{0,24}$"
)


@paragraph_gate(_CUES, UNITS[1], VALUES[3])
def densities(paragraph: Paragraph) -> Iterator[Finding]:
    """Densities that no count and no area of the paragraph give, if there are one of each that could be meant."""
    for z in paragraph.values:
        unit, noun = _area_of(paragraph, z)
        if unit is None or z.value <= 0 or z.hedge in _BOUND:
            continue
        near = [each for each in paragraph.values if each is not z and abs(each.place - z.place) <= NEAR]
        before = [each for each in near if each.end <= z.start][-1:]
        if any(_area_of(paragraph, each)[0] for each in before):
            continue  # `384.3 per square mile (148.4/km²)`: a conversion
        areas = [each for each in near if each.unit and dimension_name(each.unit) == "area" and each.value > 0]
        counts = [
            each for each in near if each.group == "plain" and each.value > 1 and _area_of(paragraph, each)[0] is None
        ]
        if not areas or not counts or any(_fits(z, n, area, unit) for n in counts for area in areas):
            continue
        is_dense = _DENSE.search(paragraph.upto(z)) is not None or _DENSE.search(paragraph.tail(z)) is not None
        said = [n for n in counts if _counts(paragraph, n, noun)]
        if not said and is_dense and len(counts) == 1:
            said = counts
        whole = [each for each in areas if not _LAND.search(_words(paragraph, each))]
        sizes = {round(_size(each, unit), 12): each for each in whole}
        if len(said) != 1 or not sizes or max(sizes) > 1.02 * min(sizes):
            continue
        if not is_dense and not _is_closed(paragraph, z, said):
            continue
        n, area = said[0], whole[0]
        if _is_another(paragraph, z, n, area):
            continue
        if _PART.search(paragraph.lead(area)) or n.hedge in _BOUND or area.hedge in _BOUND:
            continue
        real = n.value / _size(area, unit)
        ratio, rounded = z.value / real, round(real / (2 * z.half)) * 2 * z.half
        is_near = n.place == area.place == z.place and _RESULT.search(paragraph.lead(z)) is not None
        least = OFF if not is_near else 1.0 + 3 * _ROUND
        if not 1 / least < ratio < least or slip_bits(z, rounded) > 4:
            is_slip = abs(math.log10(ratio) - round(math.log10(ratio))) < _ROUND or slip_bits(z, rounded) > 4
            if 1 / MOST_OFF < ratio < MOST_OFF or is_slip:
                message = f"{n.text} / {area.text} = {plain(float(f'{real:.4g}'))}, not {z.text}."
                yield finding_at("product", z, message, meant=real, others=[n, area], probability=0.88)


def _is_another(paragraph: Paragraph, z: Quantity, n: Quantity, area: Quantity) -> bool:
    """Whether words say that a density is of another place than the count and the area."""
    words = paragraph.lead(z)
    if area.place != n.place and not _AREA.search(paragraph.lead(area)):
        return True
    if z.place != n.place:
        has_area = n.place < area.place == z.place and _ITS.match(paragraph.upto(area))
        words = paragraph.between(area, z).lstrip(", ") if has_area else paragraph.upto(z)
        if not _GOES_ON.match(words):
            return True
    return _ANOTHER.search(words) is not None or _ANOTHER.search(paragraph.tail(z)) is not None


def _area_of(paragraph: Paragraph, z: Quantity) -> tuple[str | None, str]:
    """The unit of the area that a number is for, if any, and what it counts."""
    if z.unit is not None:
        top, _, bottom = z.unit.partition("/")
        return (bottom, "") if top == "1" and bottom in _UNITS.values() else (None, "")
    match = _PER_AREA.match(paragraph.tail(z)) if z.group == "plain" else None
    if match is None:
        return None, ""
    return _UNITS[match.lastgroup or "km"], (match["noun"] or "").strip()


def _size(area: Quantity, unit: str) -> float:
    return (*converted(area.value, area.unit or "", unit), 0.0)[0] or float("inf")


def _fits(z: Quantity, n: Quantity, area: Quantity, unit: str) -> bool:
    real = n.value / _size(area, unit)
    slack = z.slack + real * (_ROUND + n.slack * (n.half != 0.5) / n.value + area.slack / area.value)
    return abs(z.value - real) <= slack


def _counts(paragraph: Paragraph, n: Quantity, noun: str) -> bool:
    """Whether a number counts people, or what the density is of."""
    tail = paragraph.tail(n)
    if _PEOPLE.match(tail) or _POPULATION.search(paragraph.lead(n)):
        return True
    return len(noun) > 3 and noun in tail[: len(noun) + 12]


def _words(paragraph: Paragraph, area: Quantity) -> str:
    return f"{paragraph.lead(area)[-30:]} {paragraph.tail(area)[:20]}"


def _is_closed(paragraph: Paragraph, z: Quantity, said: list[Quantity]) -> bool:
    return z.place == said[0].place and z.start > said[0].end and _CLOSED.search(paragraph.lead(z)) is not None
