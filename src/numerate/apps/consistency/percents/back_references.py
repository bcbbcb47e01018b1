"""Shares of what was told right before: `£12,600. Two thirds of it, £7,200`, `€1,000 plus 19 % VAT (€190)`."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain
from numerate.apps.consistency.sentences.gates import paragraph_gate
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.traits import VALUES, stems

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.findings import Finding

__all__ = ["back_references"]

_FRACTIONS = {
    "half": 1 / 2, "a third": 1 / 3, "one third": 1 / 3, "two thirds": 2 / 3, "a quarter": 1 / 4, "one quarter": 1 / 4,
    "three quarters": 3 / 4, "a fifth": 1 / 5, "one fifth": 1 / 5, "two fifths": 2 / 5, "a tenth": 1 / 10,
    "one tenth": 1 / 10,
}  # fmt: skip
_FRACTION = regex(
    r"\b(?P<near>(?:more than|over|just over|well over|nearly|almost|about|roughly|some|less than|under|just under) )?"
    rf"(?:a (?=half))?(?P<part>{'|'.join(each.replace(' ', '[ -]') for each in _FRACTIONS)})"
    r" (?:of (?:it|this|that|them|these|those|which|the (?:total|sum|money|amount|whole)))(?:,| –| —| \(| -|:) ?[$€£]?$"
)
_BOUNDS = {
    "more than": (0.995, 1.25), "over": (0.995, 1.25), "just over": (0.995, 1.08), "well over": (1.0, 1.5),
    "less than": (0.75, 1.005), "under": (0.75, 1.005), "just under": (0.9, 1.005), "nearly": (0.87, 1.01),
    "almost": (0.87, 1.01),
}  # fmt: skip
_PLUS = regex(
    r"^ ?(?:net|excl\.? (?:vat|tax)|before tax)?,? ?(?:plus|\+|less|minus|with|and|at|including|incl\.) ?"
    r"(?:an? |the )?$"
)
_FEE = regex(
    r" (?:[a-z]+ ){0,2}?(?:vat|tax|gst|mwst\.?|tva|iva|tip|service|discount|rebate|deposit|commission|premium|fee"
    r"|surcharge|duty|levy|interest|margin|contingency|skonto|rabatt)(?: charge)?(?: of| is|:|,)? ?[(–—=]? ?\(?[$€£]?"
)
_THIS_IS = regex(r"^(?:this|that|it|which) (?:is|was|represents|represented|makes|means|lies|lay)(?: [a-z]+)? $")
_SIDE = regex(
    r" (?:(?P<up>above|higher than|more than|greater than|up on|over)|(?P<down>below|lower than|less than|fewer than"
    r"|down on|under|short of))\b[^.;]{0,60}"
)
_MOST = 4.0


@paragraph_gate(
    stems("of_ this_ that_ it_ which_ plus less_ minus with_ and_ at_ incl"),
    VALUES[2],
)
def back_references(paragraph: Paragraph) -> Iterator[Finding]:
    """What is said to be a fraction of the value before, or a percentage above, below or of it."""
    values = [each for each in paragraph.values if each.group == "percent" or each.value >= 1 or each.unit is not None]
    for before, each in itertools.pairwise(values):
        if _alike(before, each) and each.place - before.place <= 1:
            yield from _fraction(paragraph, before, each)
    for base, rate, z in zip(values, values[1:], values[2:], strict=False):
        if rate.group == "percent" and _alike(base, z) and base.group != "percent":
            yield from _fee(paragraph, base, rate, z)
            yield from _side(paragraph, base, rate, z)


def _alike(one: Quantity, other: Quantity) -> bool:
    same = one.group == other.group and one.unit == other.unit and one.group in ("money", "plain", "unit")
    return same and not one.hedge and one.value > 0 and other.value > 0


def _fraction(paragraph: Paragraph, whole: Quantity, part: Quantity) -> Iterator[Finding]:
    match = _FRACTION.search(paragraph.between(whole, part))
    if match is None:
        return
    share = _FRACTIONS[match["part"].replace("-", " ")]
    low, high = _BOUNDS.get((match["near"] or "").strip(), (0.94, 1.06))
    real = part.value / whole.value
    blur = part.half / part.value + whole.half / whole.value if part.half < 0.4 or part.value < 50 else 0.0
    if low - blur <= real / share <= high + blur or not 0.3 < real / share < 3:
        return
    message = f"{part.text} of {whole.text} are {real:.0%}, not {match[0].split(' of ')[0].strip()}."
    # The fraction may be wrong as well as the part, which others may confirm.
    said = [each for each in paragraph.values if whole.end <= each.start and each.end <= part.start]
    if said:
        yield finding_at("percent", said[-1], message, others=[whole, part], probability=0.86)
    else:
        yield finding_at("percent", part, message, meant=whole.value * share, others=[whole], probability=0.86)


def _fee(paragraph: Paragraph, base: Quantity, rate: Quantity, z: Quantity) -> Iterator[Finding]:
    """`€1,000 net plus 19 % VAT (€190)`."""
    if base.place != z.place or not _PLUS.match(paragraph.between(base, rate)):
        return
    if not _FEE.fullmatch(paragraph.between(rate, z)):
        return
    real = base.value * rate.value
    told = (real, base.value + real, base.value - real, base.value * rate.value / (1 + rate.value))
    slack = base.value * rate.half + 0.006 * real + z.half * (z.half < 0.4 or z.value < 50)
    if any(abs(each - z.value) <= slack for each in told) or not 0.2 < z.value / real < 5:
        return
    message = f"{rate.text} of {base.text} is {plain(real)}, not {z.text}."
    yield finding_at("percent", z, message, meant=real, others=[base, rate], probability=0.87)


def _side(paragraph: Paragraph, said: Quantity, rate: Quantity, base: Quantity) -> Iterator[Finding]:
    """`a total of 247 mm. This is 31 % above the average of 189 mm`."""
    if said.place != rate.place - 1 or base.place != rate.place or rate.hedge in ("over", "under"):
        return
    if not _THIS_IS.match(paragraph.upto(rate).lstrip()):
        return
    match = _SIDE.fullmatch(paragraph.between(rate, base))
    if match is None:
        return
    asked = rate.value if match["up"] else -rate.value
    slack = rate.half + 0.004 + (0.03 if rate.hedge else 0.0)
    slack += (
        said.half / base.value + base.half / base.value if min(said.half, base.half) < 0.4 or base.value < 500 else 0
    )
    others = [each for each in paragraph.values if _alike(each, base) and each is not base]
    if any(abs(each.value / base.value - 1 - asked) <= slack for each in others):
        return
    real = said.value / base.value - 1
    if not 1 / _MOST < said.value / base.value < _MOST:
        return
    if abs(real + asked) <= slack:
        side = "more" if real > 0 else "less"
        message = f"{said.text} is {side} than {base.text}, but the text says {'above' if asked > 0 else 'below'}."
        yield finding_at("percent", rate, message, others=[said, base], probability=0.87)
    elif real * asked > 0 and 0.3 < real / asked < 3:
        message = f"{said.text} is {real:+.0%} of {base.text}, not {asked:+.0%}."
        yield finding_at("percent", rate, message, meant=abs(real), others=[said, base], probability=0.82)
