"""The body-mass index of a weight and a height: `98 kg and 1.75 m tall, a body mass index of 23`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain
from numerate.apps.consistency.sentences.gates import paragraph_gate
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.traits import UNITS, VALUES, stems
from numerate.numerals.unit_factors import converted, dimension_name

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.findings import Finding

__all__ = ["body_mass"]

_INDEX = regex(r"\b(?:bmi|imc|body[ -]mass[ -]index|body-mass-index)\b[^.;]{0,24}$")
_MEAN = regex(r"\b(?:mean|median|average|range|aims?|target|goal|reach)\b")
_PERSON = regex(
    r"\b(?:husband|wife|mother|father|brother|sister|partner|son|daughter|friend|colleague|twin|aunt|uncle)(?:['’]s)?\b"
)
_WEIGHT = regex(r"\b(?:wt|weigh\w*|gewicht|wiegt|poids|pèse|peso|pesa)\b")
_HEIGHT = regex(r"\b(?:ht|height|tall|größe|groß|taille|talla|mide|mesure)\b")
_CHANGED = regex(
    r"\b(?:los[st]\w*|gain\w*|goal|target|ideal|birth|previous\w*|last|from|waist|hips?|circumference|neck|shed"
    r"|abdom\w*|dose"
    r"|foetal|tumou?r|mass|lesion|spleen|liver|cyst|node|taille de|tour)\b[^.;]{0,24}$"
)
"""Before other weights and lengths than those of a body now."""
_ROUND = 0.6
"""An index without decimals may be cut off instead of rounded."""
_MOST = 100.0
_ALIKE = 1.03
"""One value in two units: `68.0 kg (150 lb)`."""
_SIZES = ("mass", "length")


@paragraph_gate(stems("bmi body imc_"), UNITS[2], VALUES[3])
def body_mass(paragraph: Paragraph) -> Iterator[Finding]:
    """A paragraph with one weight, one height and their index, which is the weight by the height squared."""
    values = paragraph.values
    told = [
        each for each in values if _INDEX.search(paragraph.lead(each)) and dimension_name(each.unit or "") not in _SIZES
    ]
    told = [each for each in told if each.group in ("plain", "unit", "other") and each.value > 0 and not each.hedge]
    masses = _of_body(paragraph, "mass", "kg", _WEIGHT) if told else []
    heights = _of_body(paragraph, "length", "m", _HEIGHT) if masses else []
    pairs = [
        (mass, height, kilos / metres**2)
        for mass, kilos in masses
        for height, metres in heights
        if 0.4 < metres < 2.5 and not mass.hedge and not height.hedge
    ]
    if not pairs or len(told) > 2 or _size_of(masses) > _ALIKE or _size_of(heights) > _ALIKE:
        return
    mass, height, real = pairs[0]
    slack = real * (mass.half / mass.value + 2 * height.half / height.value)
    off = [each for each in told if abs(each.value - real) > slack + (_ROUND if each.half >= 0.5 else each.half + 0.06)]
    for z in off[:1]:
        lead = paragraph.upto(z)
        if _MEAN.search(lead) or (z.place != mass.place and _PERSON.search(lead)):
            continue
        if real / 4 < z.value < min(4 * real, _MOST):
            message = f"{mass.text} / ({height.text})² = {plain(round(real, 1))}, not {z.text}."
            yield finding_at("product", z, message, meant=round(real, 1), others=[mass, height], probability=0.9)


def _of_body(paragraph: Paragraph, dimension: str, unit: str, cue: re.Pattern[str]) -> list[tuple[Quantity, float]]:
    """The weights or heights of a paragraph in one unit; those that are called so, if there are others."""
    found = [
        (each, converted(each.value, each.unit or "", unit)[0])
        for each in paragraph.values
        if each.unit and each.value > 0 and dimension_name(each.unit) == dimension
    ]
    found = [each for each in found if not _CHANGED.search(paragraph.lead(each[0]))]
    if _size_of(found) <= _ALIKE:
        return found
    said = [
        each for each in found if cue.search(paragraph.lead(each[0])[-24:]) or cue.search(paragraph.tail(each[0])[:12])
    ]
    # The same in another unit stands behind it.
    return said if _size_of(said) <= _ALIKE else found


def _size_of(found: list[tuple[Quantity, float]]) -> float:
    """How many times as large as the smallest the largest is."""
    values = [value for _, value in found]
    return max(values) / min(values) if values else 1.0
