"""A share whose part and whole are the only numbers near it: `We wanted 200 trees. 150 are planted, 75 % of them`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain
from numerate.apps.consistency.sentences.patterns import regex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.findings import Finding

__all__ = ["shares_of_wholes_before"]

_OF_THEM = regex(
    r" of (?:them|these|those|it|that|the (?:total|whole|lot)|all(?: of (?:them|these|those))?)\b(?! who| that| which)"
)
_NAMED = regex(
    r"\b(?:yield|rate|share|proportion|percentage|quota|turnout|recovery|efficiency|fraction|majority|pass rate)"
    r"(?: rate)? (?:of|is|was|being|:)(?: (?:about|only|just|some|exactly|an?))* ?$"
)
_APART = regex(
    r"\b(?:than|more|less|fewer|rose|fell|grew|up|down|compared|versus|vs|per|each|every|another|other|further"
    r"|increase\w*"
    r"|decrease\w*|last year|previous\w*|interest|discount|tax|vat|growth|expect\w*|target|women|men)\b"
)
_NEXT_PART = regex(r"\b(?:and|but|while|whereas|others?|rest|remaining)\b")
"""Before a share of other things: `two of them are white, and 25 % of them are black`."""
_NEARLY = 0.35


def shares_of_wholes_before(paragraph: Paragraph, percents: list[Quantity]) -> Iterator[Finding]:
    """Shares behind their part, which stands behind its whole, in the same or the next sentence."""
    for p in percents:
        if p.hedge in ("over", "under") or not 0 < p.value < 1:
            continue
        here = paragraph.place(p)
        near = [each for each in paragraph.values if here - 1 <= paragraph.place(each) <= here]
        if len(near) != 3 or near[2] is not p or paragraph.place(near[1]) != here:
            continue
        whole, part = near[:2]
        if part.group not in ("plain", "unit", "money") or not 0 < part.value < whole.value or whole.value < 5:
            continue
        if (whole.group, whole.unit) != (part.group, part.unit) or whole.hedge or part.hedge:
            continue
        if not (_OF_THEM.match(paragraph.tail(p)) or _NAMED.search(paragraph.lead(p))):
            continue
        if _APART.search(paragraph.between(whole, p)) or _NEXT_PART.search(paragraph.between(part, p)):
            continue
        real = part.value / whole.value
        slack = p.slack + 0.004 + real * (part.blur / part.value + whole.blur / whole.value)
        if any(abs(each - p.value) <= slack for each in (real, 1 - real)) or not _NEARLY < p.value / real < 1 / _NEARLY:
            continue
        message = f"{part.text} of {whole.text} are {plain(100 * real)} %, not {p.text}."
        yield finding_at("percent", p, message, meant=real, others=[part, whole], probability=0.87)
