"""Votes and those who cast them: `All 22 members took part: 14 for, 5 against, 2 abstaining`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.sentences.gates import paragraph_gate
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.traits import VALUES, stems
from numerate.apps.consistency.wrong import wrong_sum

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.findings import Finding

__all__ = ["may_not_vote", "votes"]

_KINDS = {
    "for": (
        r"for\b(?! (?:the first|which|whom))|in favou?r|yes|ayes?|yeas?|voted for|pour\b|dafür|mit ja|a favor|oui|sí\b"
    ),
    "against": r"against|opposed|noes|nays?|no\b|voted against|dagegen|mit nein|contre|en contra|non\b",
    "abstained": r"absten\w*|abstain\w*|abstenci\w*|abstuv\w*|enthalt\w*|enthiel\w*",
}
_VOTED = r"(?: (?:members?|delegates?|votes?|voted|were|was|said|came out|cast|voices|stimmen|stimmten|voix))*"
_BEHIND = regex(rf"{_VOTED} (?:{'|'.join(f'(?P<{name}>{words})' for name, words in _KINDS.items())})")
_BEFORE = regex(
    rf"\b(?:votes? )?(?:{'|'.join(f'(?P<{name}>{words})' for name, words in _KINDS.items())})(?: it)?[:,]? ?$"
)
_TO = regex(r"(?: votes?)?(?: to | against |[-–])$")
_ALL = regex(
    r"\b(?:all|every(?:one|body)?|present|took part|taking part|attend\w*|(?:all|who|members) voted|votes cast|ballots?"
    r"|voting|polled|were there|in the (?:hall|room)|turned out|anwesend\w*|présent\w*|alle|tous|toutes|presentes)\b"
)
_NO_ABSTENTION = regex(
    r"\b(?:nobody|no one|none|without|no|not one|zero) (?:[a-z]+ )?abst(?:ain|en)\w*"
    r"|\ball (?:of them |members |\d+ (?:[a-z]+ )?)?voted\b"
)
_NOT_ALL = regex(
    r"\b(?:absent\w*|not (?:vote|cast|take part|return)\w*|(?:not|non)[- ]vot\w*|didn['’]t vote|spoil[et]\w*"
    r"|invalid|blank"
    r"|prox(?:y|ies)|recus\w*|excused|empty|paired|left|withdrew|without a vote|no vote|observers?"
    r"|guests?|double|casting vote|apologies|ungültig\w*|nuls?|blancs?|nulos?)\b"
)
_ANOTHER = regex(
    r"\b(?:this (?:year|time|month|week)|last (?:year|time|month|week)|previous\w*|earlier|later|today|then|now)\b"
)
MOST_BETWEEN = 160
"""Characters from those who voted to their first vote."""


@paragraph_gate(stems("abst enthalt enthiel all_ every"), VALUES[3])
def votes(paragraph: Paragraph) -> Iterator[Finding]:
    """All votes must be those who voted; of all members, no more than these."""
    kinds: dict[str, list[Quantity]] = {}
    for index, each in enumerate(paragraph.values):
        if (kind := _kind(paragraph, index)) and each.group == "plain" and not each.hedge:
            kinds.setdefault(kind, []).append(each)
    least = 2 if _NO_ABSTENTION.search(paragraph.lower) else 3
    if len(kinds) < least or any(len(each) > 1 for each in kinds.values()) or _NOT_ALL.search(paragraph.lower):
        return
    parts = sorted((each[0] for each in kinds.values()), key=lambda each: each.start)
    whole = sum(each.value for each in parts)
    before = [
        each for each in paragraph.values
        if each.end <= parts[0].start and each.group == "plain" and parts[0].start - each.end < MOST_BETWEEN
    ]  # fmt: skip
    likely = [each for each in before if not each.hedge and 0.6 < each.value / whole < 1.67]
    if len(likely) != 1 or any(each.value == whole for each in paragraph.values):
        return
    total = likely[0]
    words = paragraph.lead(total)[-24:] + paragraph.between(total, parts[0])
    if _ANOTHER.search(words):
        return
    if whole > total.value or _ALL.search(words):
        yield wrong_sum(total, parts, whole, 0.87)


def may_not_vote(words: str) -> bool:
    """Whether votes are told, and somebody had none: `the chair did not vote`, `this year it was 14 for`."""
    return "abst" in words and (_NOT_ALL.search(words) or _ANOTHER.search(words)) is not None


def _kind(paragraph: Paragraph, index: int) -> str:
    """Which of the votes a number counts; empty for another number."""
    values = paragraph.values
    each = values[index]
    lead, tail = paragraph.lead(each), paragraph.tail(each)
    match = _BEHIND.match(tail) or _BEFORE.search(lead)
    if match is not None and match.lastgroup:
        return match.lastgroup
    if index + 1 < len(values) and _TO.fullmatch(paragraph.between(each, values[index + 1])):
        return "for"
    return "against" if index and _TO.fullmatch(paragraph.between(values[index - 1], each)) else ""
