"""Years told from one sentence to the next: `It opened in 1891. It burned down in 1944, 53 years later`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at
from numerate.apps.consistency.sentences.patterns import regex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.findings import Finding

__all__ = ["years_later"]

_LATER = regex(r" (?:later|afterwards)(?=[,.;)]|$| (?:and|in|it|he|she|the|they)\b)")
_BESIDE = regex(r"(?:,| –| —| \(|,? and| only| just| exactly)* ?")
_THEN_IN = regex(r" (?:later|afterwards),?(?: [a-z'’-]+){0,5}? in (?:[a-z]+ )?")


def years_later(paragraph: Paragraph, d: Quantity) -> Iterator[Finding]:
    """A year with `N years later` beside it, where the sentence before has one year and its own has no other."""
    tail = paragraph.tail(d)
    if d.hedge or not _LATER.match(tail):
        return
    years = [each for each in paragraph.whole.quantities if each.group in ("year", "date")]
    here = paragraph.place(d)
    own = [each for each in years if paragraph.place(each) == here]
    before = [each for each in years if paragraph.place(each) < here]
    if len(own) != 1 or not before or own[0].group != "year" or any(each.group != "year" for each in before):
        return
    then, start = own[0], before[-1]
    if paragraph.place(start) != here - 1 or any(paragraph.place(each) == here - 1 for each in before[:-1]):
        return
    between = paragraph.between(then, d)
    is_beside = _BESIDE.fullmatch(between) if then.end <= d.start else _THEN_IN.fullmatch(between)
    real = then.value - start.value
    if not is_beside or real <= 0 or not 0.3 < d.value / real < 3.5:
        return
    if any(abs(then.value - each.value - d.value) <= 1 for each in before):
        return  # later than something else
    message = f"From {start.text} to {then.text} are {real:.0f} years, not {d.text}."
    yield finding_at("difference", d, message, meant=real, others=[start, then], probability=0.86)
