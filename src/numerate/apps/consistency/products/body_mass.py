"""The body-mass index of a weight and a height: `98 kg and 1.75 m tall, a body mass index of 23`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain
from numerate.apps.consistency.sentences.gates import paragraph_gate
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.traits import UNITS, VALUES, stems
from numerate.numerals.unit_factors import converted, dimension_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.findings import Finding

__all__ = ["body_mass"]

_INDEX = regex(r"\b(?:bmi|body[ -]mass[ -]index)\b[^.;]{0,16}$")
_ROUND = 0.6
"""An index without decimals may be cut off instead of rounded."""
_MOST = 100.0


@paragraph_gate(stems("bmi body"), UNITS[2], VALUES[3])
def body_mass(paragraph: Paragraph) -> Iterator[Finding]:
    """A paragraph with one weight, one height and one index, which is the weight by the height squared."""
    values = paragraph.values
    masses = [each for each in values if each.unit and dimension_name(each.unit) == "mass"]
    heights = [each for each in values if each.unit and dimension_name(each.unit) == "length"]
    told = [each for each in values if _INDEX.search(paragraph.lead(each)) and each not in (*masses, *heights)]
    if not len(masses) == len(heights) == len(told) == 1:
        return
    (mass,), (height,), (z,) = masses, heights, told
    if any(each.hedge or each.value <= 0 for each in (mass, height, z)) or z.group not in ("plain", "unit", "other"):
        return
    kilos, metres = converted(mass.value, mass.unit or "", "kg"), converted(height.value, height.unit or "", "m")
    if len(kilos) != 1 or len(metres) != 1 or not 0.4 < metres[0] < 2.5:
        return
    real = kilos[0] / metres[0] ** 2
    slack = (_ROUND if z.half >= 0.5 else z.half + 0.06) + real * (
        mass.half / mass.value + 2 * height.half / height.value
    )
    if abs(z.value - real) > slack and real / 4 < z.value < min(4 * real, _MOST):
        message = f"{mass.text} / ({height.text})² = {plain(round(real, 1))}, not {z.text}."
        yield finding_at("product", z, message, meant=round(real, 1), others=[mass, height], probability=0.9)
