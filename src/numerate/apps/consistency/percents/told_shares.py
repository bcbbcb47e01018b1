"""Amounts that follow from a percentage: `4 percent more: the fee of $11,250 becomes $11,700`, `I left 18%, $15.21`."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain
from numerate.apps.consistency.sentences.paragraphs import NEEDED, slip_bits
from numerate.apps.consistency.sentences.patterns import regex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.findings import Finding

__all__ = ["told_fees", "told_shares"]

_BECOMES = regex(
    r"(?: [a-z'’-]+){0,5}?,? (?:(?:will |would |now |then |therefore |thus |so )*(?:"
    r"becomes?|became|be|costs?(?: them| you| us| me)?|to|turns? into|(?:go|goes|goes up|goes down|go up|go down|rises?"
    r"|falls?|drops?|increases?) to))(?: now| then)?(?: an?)? [$€£]?"
)
_UP = regex(
    r"\b(?:go(?:es|ing)? up|went up|ris(?:e|es|ing|en)|rose|increas\w+|rais\w+|add(?:s|ed|ing)?|dearer|more|up"
    r"|higher|grow\w*)\b"
)
_DOWN = regex(
    r"\b(?:go(?:es|ing)? down|went down|fall(?:s|ing|en)?|fell|decreas\w+|lower(?:ed|s)?|cut(?:s|ting)?|reduc\w+"
    r"|cheaper|less|down|off|discount\w*|drop\w*|knock\w*)\b"
)
_FEE = regex(
    r"\b(?:tip(?:s|ped|ping)?|gratuity|tax(?:es)?|vat|gst|discount|deposit|commission|fees?|surcharge|service"
    r"|levy|rebate"
    r"|duty|royalt(?:y|ies)|interest|donat\w+|charit\w+|savings?|down ?payment|mark-?up|share|bonus|premium|cut)\b"
)
_BESIDE = regex(
    r"(?: of (?:it|that|this|them|which|the (?:bill|price|total|sum|amount|fee)))?"
    r"(?:, (?:or |i\.e\.,? |that is,? |namely )?| ?\(| – | — | or | = |: )[$€£]?"
)
_OTHER = regex(r"\b(?:of (?:these|them|which)|per|each|every|at least|up to|between|maximum|minimum|capped|from)\b")


def told_shares(paragraph: Paragraph, percents: list[Quantity]) -> Iterator[Finding]:
    """All findings; `percents` are the percentages of the paragraph."""
    for p in percents:
        if p.hedge or not 0 < p.value < 1:
            continue
        if len(percents) == 1:
            yield from _becomes(paragraph, p)
        yield from _beside(paragraph, p)


def _becomes(paragraph: Paragraph, p: Quantity) -> Iterator[Finding]:
    """A change in one sentence, and a value before and after it in this one or the next."""
    words = paragraph.upto(p)[-60:] + paragraph.tail(p)[:24]
    up, down = _UP.search(words) is not None, _DOWN.search(words) is not None
    here = paragraph.place(p)
    behind = [
        each
        for each in paragraph.values
        if each.start >= p.end and each.group in ("money", "unit") and paragraph.place(each) <= here + 1
    ]
    if up == down or len(behind) < 2:
        return
    old, new = behind[:2]
    if (old.group, old.unit) != (new.group, new.unit) or paragraph.place(old) != paragraph.place(new):
        return
    if old.hedge or new.hedge or not _BECOMES.fullmatch(paragraph.between(old, new)):
        return
    if len([each for each in behind if paragraph.place(each) == paragraph.place(old) and each.unit == old.unit]) > 2:
        return
    if paragraph.values.index(old) != paragraph.values.index(p) + 1 or re.search(r"\bfrom $", paragraph.lead(old)):
        return
    change = new.value / old.value - 1 if old.value > 0 else 0.0
    change = change if up else -change
    real = old.value * (1 + p.value if up else 1 - p.value)
    # The new value may be rounded, and the percentage too.
    if abs(change - p.value) <= max(3 * p.half, 0.2 * p.value) + new.blur / old.value:
        if not slip_bits(new, real) or abs(new.value - real) <= max(0.01 * real, 3 * new.blur, old.value * p.half):
            return
    elif not 0.2 < change / p.value < 5 and not slip_bits(new, real):
        return
    message = f"{old.text} with a change of {p.text} would be {plain(real)}, not {new.text}."
    yield finding_at("percent", new, message, meant=real, others=[p, old], probability=0.86)


def _beside(paragraph: Paragraph, p: Quantity) -> Iterator[Finding]:
    """A percentage and its amount side by side, `18%, $12.51` or `$12.51 (18%)`, of an amount named before."""
    values, index = paragraph.values, paragraph.values.index(p)
    for z in values[max(0, index - 1) : index] + values[index + 1 : index + 2]:
        first, second = (z, p) if z.start < p.start else (p, z)
        gap = paragraph.between(first, second) + ("(" if second.text.startswith("(") else "")
        if z.group != "money" or z.hedge or not _BESIDE.fullmatch(gap):
            continue
        bases = [
            each for each in paragraph.alike(z)
            if each.end <= first.start and each.value > z.value and paragraph.place(z) - paragraph.place(each) < 2
        ]  # fmt: skip
        if len(bases) != 1 or _OTHER.search(paragraph.between(bases[0], first)):
            continue
        base = bases[0]
        near = paragraph.upto(first)[-60:] + paragraph.tail(second)[:40] + paragraph.between(base, first)[:60]
        shares = (p.value / (1 + p.value), p.value / (1 - p.value), 1 - p.value, 1 + p.value)
        blur = max(0.02 * z.value, z.blur + p.half * base.value)
        is_share = abs(z.value - base.value * p.value) <= blur
        if is_share or any(abs(z.value - base.value * each) <= max(0.01 * z.value, z.blur) for each in shares):
            continue
        others = [each.value for each in paragraph.alike(z)]
        if any(abs(z.value - p.value * (one + other)) <= blur for one in others for other in others):
            continue
        real = p.value * base.value
        bits = (6.0 if _FEE.search(near) else 0.0) + slip_bits(z, real) + (2.0 if 0.5 < z.value / real < 2 else -4.0)
        if bits >= NEEDED:
            message = f"{p.text} of {base.text} are {plain(real)}, not {z.text.strip('()')}."
            yield finding_at("percent", z, message, meant=real, others=[p, base], probability=0.86)


_FEE_BEHIND = regex(
    r"^(?: [a-z'’-]+){0,3}? (?:tips?|tax|vat|gst|discount|deposit|down ?payment|commission|fees?"
    r"|surcharge|service(?: charge)?|gratuity|mark-?up|levy|rebate|duty|royalt(?:y|ies)|interest"
    r"|premium|retainer|charge)\b[^.]{0,30}$"
)


_PAID = regex(r"\b(?:pay|pays|paid|costs?|totals?|total of|(?:comes?|came) to|becomes?|makes?|gross|in all)\b")


def told_fees(paragraph: Paragraph, percents: list[Quantity]) -> Iterator[Finding]:
    """`The dinner was $64.50; I added a 20 % tip ($9.90)`."""
    for p in percents:
        tail = paragraph.tail(p)
        if not p.hedge and re.match(r" (?:off|discount|reduction|less|cheaper)\b", tail):
            yield from _discount(paragraph, p)
        if p.hedge or not _FEE_BEHIND.match(tail):
            continue
        index = paragraph.values.index(p)
        if index + 1 >= len(paragraph.values):
            continue
        z = paragraph.values[index + 1]
        bases = [each for each in paragraph.alike(z) if each.end <= p.start] + [
            each for each in paragraph.alike(z) if each.start > z.end and paragraph.place(each) == paragraph.place(z)
        ]
        if z.group not in ("money", "plain") or not bases or z.hedge or len(bases) > 6:
            continue
        if re.search(r"\b(?:cap|maximum|max|minimum|at least|up to|capped|plus|and)\b", paragraph.between(p, z)):
            continue
        left = 1 - p.value or 1.0  # the base may be what a discount leaves
        if any(
            abs(z.value - each.value * share) <= z.blur + share * each.blur + 0.006
            for each in bases
            for share in (p.value, 1 - p.value, 1 + p.value, p.value / (1 + p.value), 1 / left, p.value / left)
        ):
            continue
        if any(abs(z.value - p.value * (one.value + other.value)) <= z.blur + 0.01 for one in bases for other in bases):
            continue
        base = bases[max((i for i, each in enumerate(bases) if each.end <= p.start), default=0)]
        real = base.value * p.value
        is_held = (
            paragraph.between(p, z).rstrip().endswith("(")
            or z.text.startswith("(")
            or re.search(r"(?:,| of| is| was| =) $", paragraph.between(p, z))
        )
        what = f"{p.text} of {base.text}"
        if _PAID.search(paragraph.between(p, z)) and base.value < z.value < base.value + 2 * real:
            is_held = abs(z.value - base.value - real) > 0.1 * real
            real, what = base.value + real, f"{base.text} and {p.text}"
        bits = (5.0 if is_held else 1.0) + (3.0 if 0.6 < z.value / real < 1.7 else 0.0) + slip_bits(z, real)
        bits -= 0.0 if is_held else math.log2(len(bases))
        if bits >= NEEDED:
            message = f"{what} are {plain(real)}, not {z.text.strip('()')}."
            yield finding_at("percent", z, message, meant=real, others=[p, base], probability=0.88)


def _discount(paragraph: Paragraph, p: Quantity) -> Iterator[Finding]:
    """`The coat is marked $240. At 30 % off it costs $186`: the price before and the price behind."""
    money = [each for each in paragraph.values if each.group == "money" and not each.hedge]
    before, behind = [each for each in money if each.end <= p.start], [each for each in money if each.start >= p.end]
    if (
        not before
        or not behind
        or before[-1].unit != behind[0].unit
        or abs(paragraph.place(behind[0]) - paragraph.place(before[-1])) > 1
    ):
        return
    base, z = before[-1], behind[0]
    real = base.value * (1 - p.value)
    shares = (1 - p.value, p.value, 1 / (1 - p.value or 1))
    if any(abs(z.value - each.value * share) <= max(0.01 * each.value, z.blur) for each in before for share in shares):
        return
    bits = slip_bits(z, real) + (
        4.0
        if re.search(r"\b(?:costs?|pay|paid|is|price|for|at|comes? to|now|only|just|so)\b", paragraph.between(p, z))
        else 0.0
    )
    if bits >= NEEDED:
        message = f"{base.text} less {p.text} are {plain(real)}, not {z.text}."
        yield finding_at("percent", z, message, meant=real, others=[p, base], probability=0.87)
