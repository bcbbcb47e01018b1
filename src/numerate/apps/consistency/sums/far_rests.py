"""Rests of a whole that the paragraph before names, sums of durations, and sums whose currency stands at the end."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain
from numerate.apps.consistency.sentences.paragraphs import NEEDED, Paragraph, is_explained, slip_bits
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.sentence_windows import EMPTY_LINE
from numerate.apps.consistency.wrong import wrong_sum
from numerate.numerals.unit_factors import converted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["far_rests", "mixed_sums"]

MOST_GAP = 600
_REST = regex(
    r"\b(?:the (?:other|remaining|rest|remainder|balance)|remaining|leaving|which leaves?|which left)"
    r"(?:,? [a-z'’$€£-]+){0,4}?[ ,:–—(]*$"
)
_BEFORE = regex(
    r"\b(?:last year|previous\w*|budget\w*|plan\w*|target|expect\w*|forecast|than|from|per|each|every|up|down|goal)\b"
)
_TOTAL = regex(
    r"\b(?:in all|all in|all told|altogether|in total|overall|together|combined|total\w*|sum|adds? up|comes? to|came to"
    r"|makes?|making|made|brings?|bringing|so|gives?|giving)\b[^.;]{0,40}$"
)
_TOTAL_BEHIND = regex(r"(?: [a-z'’-]+){0,3}? (?:in all|in total|altogether|all told|all in|combined|together)\b")
_OTHER = regex(
    r"\b(?:includ\w*|per|each|every|than|from|averag\w*|mean|between|or|until|after|record|faster|slower|late|early"
    r"|before|instead|times|twice|half|if|would|less|more|to|aged?|at|within|over|discount|change|back)\b|[×%/–-]"
)
_LIST = regex(r",|\band\b|\bplus\b|;|\+|\bthen\b")


def far_rests(text: str, sentences: Sequence[Sentence], source: str = "") -> Iterator[Finding]:
    """`Revenue came to $812 million.`, an empty line, `A made $431 million; the remaining $123 million ...`."""
    for index in range(1, len(sentences)):
        this, last = sentences[index], sentences[index - 1]
        if len(this.numerals) < 2 or not ("remain" in this.text or "leav" in this.text or "the rest" in this.text):
            continue
        end = last.offset + len(last.text)
        if (
            this.offset - end > MOST_GAP
            or len(EMPTY_LINE.findall(text, end, this.offset)) != 1
            or len(last.numerals) > 3
        ):
            continue
        if EMPTY_LINE.search(text, this.offset, this.offset + len(this.text)):
            continue
        stop = this.offset + len(this.text)
        paragraph = Paragraph(text[last.offset : stop], last.offset, [last, this], source)
        yield from _rest(paragraph)


def _rest(paragraph: Paragraph) -> Iterator[Finding]:
    for z in paragraph.values:
        if paragraph.place(z) != 1 or z.group not in ("money", "unit", "plain") or z.hedge:
            continue
        if not _REST.search(paragraph.lead(z)):
            continue
        alike = paragraph.alike(z)
        wholes = [each for each in alike if paragraph.place(each) == 0]
        parts = [each for each in alike if paragraph.place(each) == 1 and each.end <= z.start]
        if len(wholes) != 1 or not parts or any(each.hedge or each.value <= 0 for each in (*wholes, *parts)):
            continue
        around = paragraph.between(parts[0], z) + paragraph.lead(wholes[0]) + paragraph.lead(parts[0])
        if _BEFORE.search(around):
            continue
        real = wholes[0].value - sum(each.value for each in parts)
        if real <= 0 or abs(real - z.value) <= z.blur + sum(each.blur for each in (*wholes, *parts)):
            continue
        bits = 3.0 + slip_bits(z, real) + (1.0 if len(parts) > 1 else 0.0)
        if bits >= NEEDED and not is_explained(z, alike):
            yield wrong_sum(z, [*wholes, *parts], real, 0.86, "-")


def mixed_sums(paragraph: Paragraph) -> Iterator[Finding]:
    """`1 h 20 min, 45 minutes and 2 hours, 4 h 15 min in all`; `paint 45, brushes 12 and tape 8, together 75 euros`."""
    for z in paragraph.values:
        if z.group not in ("unit", "money") or z.hedge:
            continue
        here = paragraph.place(z)
        if z.group == "unit":
            sizes = {id(each): _minutes(each) for each in paragraph.values if each.group == "unit"}
            if not sizes[id(z)]:
                continue
            near = [each for each in paragraph.values if sizes.get(id(each)) and each is not z]
            if len({each.unit for each in (*near, z)}) < 2:
                continue
        else:
            if any(each.group == "money" and each is not z for each in paragraph.values):
                continue
            sizes = {id(each): each.value for each in paragraph.values}
            near = [each for each in paragraph.values if each.group == "plain"]
        before = [each for each in near if each.end <= z.start and paragraph.place(each) >= here - 1]
        own = [each for each in before if paragraph.place(each) == here]
        if ":" in paragraph.upto(z) and z.group == "money":  # `has three lines: cabinets 2,340, ...`
            own = [each for each in own if ":" in paragraph.upto(each)]
        parts = own if len(own) > 1 else before
        if not (_TOTAL.search(paragraph.lead(z)) or _TOTAL_BEHIND.match(paragraph.tail(z))):
            continue
        if len(parts) < (2 if z.group == "unit" else 3) or not _are_listed(paragraph, [*parts, z]):
            continue
        if z.group == "money" and any(each.value != int(each.value) for each in parts) != (z.value != int(z.value)):
            continue
        said, real = sizes[id(z)], sum(sizes[id(each)] for each in parts)
        if abs(said - real) < 1e-6 * real + (0.5 if z.group == "unit" else 0.0) or not 0.6 < said / real < 1.67:
            continue
        if z.group == "unit" and any(each.unit == "d" or each.unit == "s" for each in (*parts, z)):
            continue
        if z.group == "unit" and len(z.numerals) == 1 and z.unit == "h" and abs(said - real) <= 60 * z.half:
            continue
        terms = " + ".join(each.text for each in parts)
        meant = z.value * real / said
        message = f"{terms} = {_told(z, meant)}, not {z.text}."
        yield finding_at("sum", z, message, meant=meant, others=parts, probability=0.86)


def _told(z: Quantity, value: float) -> str:
    if z.unit != "h" or value == int(value):
        return f"{plain(value)}{f' {z.unit}' if z.unit else ''}"
    hours, minutes = divmod(round(60 * value), 60)
    return f"{hours} h {minutes} min"


def _minutes(quantity: Quantity) -> float:
    found = converted(quantity.value, quantity.unit or "", "min") if quantity.unit in ("h", "min") else ()
    return found[0] if found else 0.0


def _are_listed(paragraph: Paragraph, parts: list[Quantity]) -> bool:
    """Whether the parts follow each other as a list of one number each."""
    words = [paragraph.between(one, other) for one, other in itertools.pairwise(parts)]
    if any(len(each) > 70 or _OTHER.search(each) for each in words) or any(each.hedge for each in parts):
        return False
    inner = [each for each in paragraph.values if parts[0].start <= each.start < parts[-1].start]
    return all(_LIST.search(each) for each in words[:-1]) and len(inner) == len(parts) - 1
