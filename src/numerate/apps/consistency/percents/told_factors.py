"""Factors told in words with two values: `has tripled in six years, from 210 to 360`, `more than doubled`."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain
from numerate.apps.consistency.sentences.gates import paragraph_gate
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.traits import VALUES, stems

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.findings import Finding

__all__ = ["CLAUSE", "RELATED", "told_factors"]

_FACTORS = {
    "doubl": 2.0, "twofold": 2.0, "two-fold": 2.0, "tripl": 3.0, "trebl": 3.0, "threefold": 3.0,
    "three-fold": 3.0, "quadrupl": 4.0, "fourfold": 4.0,
    "four-fold": 4.0, "quintupl": 5.0, "fivefold": 5.0, "five-fold": 5.0, "tenfold": 10.0, "ten-fold": 10.0,
    "halv": 0.5,
}  # fmt: skip
_FACTOR = regex(
    rf"\b(?P<near>(?:more than|nearly|almost|roughly|about|over|around|practically|virtually|all but"
    rf"|not quite|just under|close to|as good as|at least"
    rf"|less than) )?(?:[a-z]+ )?(?P<word>{'|'.join(_FACTORS)})(?:ed|ing|led)?(?![a-z])"
)
_BOUNDS = {
    "more than": (0.97, 1.7), "over": (0.97, 1.7), "at least": (0.97, 3.0), "less than": (0.3, 1.03),
    "just under": (0.8, 1.03), "not quite": (0.7, 1.03),
}  # fmt: skip
"""How far the new value may be from the exact one, by the word before the factor."""
CLAUSE = regex(
    r"\bwhile\b|\bwhereas\b|\bbut\b|, and\b(?! (?:is|was|were|stood|now|has|had|reached|at)\b)"
    r"|\band (?:[a-z]+ )?by\b|\bin $|\band $"
)
RELATED = regex(
    r"\b(?:of (?:which|whom|these|them|the total)|includ\w+|per|each|worth of|out of|target|limit|margin|share)\b"
)


@paragraph_gate(stems(" ".join(_FACTORS)), VALUES[2])
def told_factors(paragraph: Paragraph) -> Iterator[Finding]:
    """`has tripled in six years, from 210 to 360`."""
    quantities = paragraph.values
    for match in _FACTOR.finditer(paragraph.lower):
        at = match.start() + paragraph.whole.offset
        if re.match(
            r" (?:as|the|room|time|rooms|or)\b|[- ](?:digit|figure)", paragraph.lower[match.end() : match.end() + 10]
        ):
            continue
        yield from _two_times(paragraph, match, at)
        for one, other in itertools.pairwise(quantities):
            if other.start < at - 90 or one.start > at + 90 or (one.group, one.unit) != (other.group, other.unit):
                continue
            if not re.fullmatch(
                r"(?: [a-z'’]+){0,4}(?: in (?:\d{4}"
                r"|[a-z]+ \d{4}))?(?: [a-z'’]+){0,2},? to (?:the )?(?:[a-z']+ )?[$€£]?",
                paragraph.between(one, other),
            ):
                continue
            if (
                not re.search(r"\bfrom (?:[a-z]+ ){0,2}[$€£]?$", paragraph.lead(one))
                or one.value <= 0
                or one.hedge
                or other.hedge
            ):
                continue
            ends = [at, match.end() + paragraph.whole.offset]
            between = paragraph._cut(min(ends[1], other.end), max(one.start, at))
            if ". " in between or ";" in between or CLAUSE.search(between):
                continue
            factor = _FACTORS[match["word"]]
            real = one.value * factor
            low, high = _BOUNDS.get((match["near"] or "").strip(), (0.75, 1.25) if match["near"] else (0.9, 1.1))
            if factor < 1:
                low, high = 1 / high, 1 / low
            if low <= other.value / real <= high or other.group == "percent":
                continue
            if 0.4 < other.value / real < 2.5:
                message = f"{match[0].strip()} from {one.text} would be {plain(real)}, not {other.text}."
                yield finding_at("percent", other, message, meant=real, others=[one], probability=0.88)
            break


def _two_times(paragraph: Paragraph, match: re.Match[str], at: int) -> Iterator[Finding]:
    """`accidents have halved: there were 38 in 2021 and 29 last year`: two values, each with its time."""
    place = next((paragraph.place(each) for each in paragraph.values if each.start > at), None)
    values = [each for each in paragraph.values if paragraph.place(each) == place]
    if len(values) != 2 or values[0].start < at or match["near"] or any(each.hedge for each in values):
        return
    one, other = values
    words = " ".join((paragraph.lead(one), paragraph.between(one, other), paragraph.tail(other)))
    if (
        (one.group, one.unit) != (other.group, other.unit)
        or one.group not in ("plain", "money", "unit")
        or min(one.value, other.value) <= 0
    ):
        return
    if (
        len(_TIME.findall(words)) < 2
        or paragraph.upto(one).count(".")
        or RELATED.search(words[len(paragraph.lead(one)) :])
    ):
        return
    factor = _FACTORS[match["word"]]
    if any(abs(ratio / factor - 1) <= 0.12 for ratio in (one.value / other.value, other.value / one.value)):
        return
    if 0.4 < max(one.value, other.value) / min(one.value, other.value) / max(factor, 1 / factor) < 2.5:
        real = one.value * factor
        message = f"{match[0].strip()} from {one.text} would be {plain(real)}, not {other.text}."
        yield finding_at("percent", other, message, meant=real, others=[one], probability=0.85)


_TIME = regex(
    r"\b(?:in (?:\d{4}|january|february|march|april|may|june|july|august|september|october|november"
    r"|december|spring|summer|autumn|winter)|last (?:year|month|week|season|summer|winter)|now|today"
    r"|this (?:year|month|week|season)|then|ago|before|earlier|later)\b"
)
