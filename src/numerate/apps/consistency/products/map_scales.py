"""Lengths on a map, plan or model with those they stand for: `at 1:25,000, 4 cm on paper are 1 km`."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain
from numerate.apps.consistency.sentences.gates import paragraph_gate
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.traits import UNITS, cues, stems
from numerate.numerals.unit_factors import converted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.findings import Finding

__all__ = ["map_scales"]

_SCALE = regex(
    r"(?<![\d:.,])1 ?: ?(?P<to>[1-9]\d{0,2}(?:[,.’' \u202f\xa0]\d{3}(?!\d))+|[1-9]\d{1,6})(?!\d|[.,:]\d| ?[ap]m)"
)
_STANDS = regex(
    r"\b(?:stand\w* for|represent\w*|is|are|equals?|correspond\w*|comes? to|means?|becomes?|measures?|shown as"
    r"|drawn as|makes?"
    r"|sind|ist|entspr\w+|représente\w*|équiva\w+|equival\w+|son|es|in reality|on the ground|in the field)\b|=|≙"
)
_NOT = regex(
    r"\b(?:and|und|et|every|per|intervals?|more|less|longer|shorter|than|another|away|further|if|thick|apart|grid"
    r"|sheet size)\b"
)
_DRAWN = frozenset(("mm", "cm", "in"))
_REAL = frozenset(("m", "km", "mi", "ft", "yd"))
MOST_GAP, MOST_OFF, SLACK = 70, 120.0, 0.03


@paragraph_gate(
    cues("1:", "1 :"), UNITS[2],
    stems("scale map sheet plan drawing drawn model kit chart blueprint replica miniature built maßstab karte"
          " modell échelle"
          " carte plan escala mapa plano maqueta")
    | cues("scale", "maßstab", "échelle", "karte"),
)  # fmt: skip
def map_scales(paragraph: Paragraph) -> Iterator[Finding]:
    """What a length on the map stands for is that length, as often as the scale says."""
    text = paragraph.whole.text
    scales = {int(re.sub(r"\D", "", match["to"])) for match in _SCALE.finditer(text)}
    if len(scales) != 1:
        return
    (scale,) = scales
    lengths = [each for each in paragraph.values if each.group == "unit" and each.unit in _DRAWN | _REAL]
    for one, other in itertools.pairwise(lengths):
        drawn, real = (one, other) if one.unit in _DRAWN else (other, one)
        if drawn.unit not in _DRAWN or real.unit not in _REAL or drawn.value <= 0 or real.value <= 0:
            continue
        gap = paragraph.between(one, other)
        if len(gap) > MOST_GAP or "." in gap or ";" in gap or not _STANDS.search(gap) or _NOT.search(gap):
            continue
        if any(mark.isdigit() for mark in gap) or drawn.hedge in ("over", "under") or real.hedge in ("over", "under"):
            continue
        yield from _judged(drawn, real, scale, other)


def _judged(drawn: Quantity, real: Quantity, scale: int, last: Quantity) -> Iterator[Finding]:
    """The one that is told last is computed."""
    blur = (
        SLACK + drawn.half / drawn.value * (drawn is last or drawn.half < 0.4) + real.half / real.value * (real is last)
    )
    size = converted(drawn.value, drawn.unit or "", real.unit or "")
    if len(size) != 1:
        return
    off = real.value / (size[0] * scale)
    if abs(off - 1) <= blur or abs(1 / off - 1) <= blur or not 1 / MOST_OFF < off < MOST_OFF:
        return
    if real.hedge or drawn.hedge:
        blur += 0.1
        if abs(off - 1) <= blur:
            return
    meant = size[0] * scale if last is real else drawn.value * off
    other = drawn if last is real else real
    message = f"At 1:{scale:,}, {other.text} are {plain(meant)} {last.unit}, not {last.text}."
    yield finding_at("ratio", last, message, meant=meant, others=[other], probability=0.88)
