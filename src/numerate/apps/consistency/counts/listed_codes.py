"""Counts of lists within a sentence whose items are numbers or have one: `the seven invoices: 1041, 1042 and 1045`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.sentences.patterns import regex

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["listed_codes", "numbered_points"]

_N = r"(?P<n>two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|1[0-9]|[2-9])"
_CODE = r"(?:(?:nos?\.? )?[A-Z]{0,4}[-/]?\d{1,7}(?:[/-]\d{1,4})?[a-zA-Z]?|[A-Z]{1,3}\d*)"
_BEGIN = r"(?:: | \(|, (?:namely|i\.e\.|that is) )"
_FIRST = rf"(?:nos?\.? |numbers )?{_CODE}"
_ITEMS = regex(rf"{_BEGIN}{_FIRST},", re.IGNORECASE)
"""What a match of `_CODES` has, which is faster to look for."""
_CODES = regex(
    rf"\b{_N} (?:[a-z][\w'’-]* ){{0,2}}?(?P<noun>[a-z][\w'’-]*s)\b(?P<gap>[^:;.!?()\d\n]{{0,60}}?){_BEGIN}"
    rf"(?P<items>{_FIRST}(?:, {_CODE})+,? and {_CODE})(?=[.;!?)]|,? [a-z]|$)(?! (?:per"
    rf"|to|of|kg|g|ml|km|m|mm|cm|%|million))",
    re.IGNORECASE,
)
_TIMES = regex(
    r"^(?:hours|minutes|days|weeks|months|years|euros|dollars|pounds|points|times|sets|games|metres|meters|goals)$"
)
_LOOSE = regex(
    r"\b(?:includ\w*|such as|among|at least|up to|more than|of|first|last|each|per|every|other|another"
    r"|score[ds]?|from|between|some|about)\b"
)
_MARK = regex(r"(?<![\w)])\((?P<mark>\d{1,2}|[a-j]|i{1,3}|iv|v|vi{1,3})\)(?= ?[A-Za-z\"“])")
_SERIES = (
    [str(each) for each in range(1, 16)],
    list("abcdefghij"),
    ["i", "ii", "iii", "iv", "v", "vi", "vii", "viii"],
)
_POINTS = (
    r"(?:criteria|conditions|requirements|questions|steps|reasons|points|aims|objectives|goals|options|parts"
    r"|stages|phases"
    r"|items|rules|principles|tests|measures|arguments|issues|elements|factors|hypotheses|categories|groups|outcomes"
    r"|topics|tasks|demands|proposals|changes|cases|areas|aspects|components|features|assumptions|claims|exclusions)"
)
_CLAIM = regex(
    rf"\b(?P<the>all|these|those|the|following) (?:of (?:the|these) )?{_N} (?:[a-z-]+ )?{_POINTS}\b", re.IGNORECASE
)
_BEFORE = regex(rf"\b{_N} (?:[a-z-]+ ){{0,2}}?{_POINTS}\b[^.;()]{{0,40}}$", re.IGNORECASE)
_OF_OTHERS = regex(r" (?:of|from|in|that|which|set|laid|listed|under|given) ")
_PART_OF = regex(
    r"\b(?:first|last|other|remaining|any|one|two|three|at least|next|of) (?:of )?(?:the|these|those)? ?$",
    re.IGNORECASE,
)


def listed_codes(part: str) -> Iterator[tuple[re.Match[str], int]]:
    """Claims and the length of the list of numbers behind each."""
    for match in _CODES.finditer(part) if _ITEMS.search(part) else ():
        if _TIMES.match(match["noun"].lower()) or _LOOSE.search(match["gap"].lower()):
            continue
        if _LOOSE.search(part[max(0, match.start() - 14) : match.start()].lower()):
            continue
        items = re.split(r",? and |, ", match["items"])
        if (
            len(items) < 3
            or not any(char.isdigit() for char in match["items"])
            or re.search(r"\d[-/]\d", match["items"])
        ):
            continue
        yield match, len(items)


def numbered_points(text: str) -> Iterator[tuple[re.Match[str], int]]:
    """`(1) ..., (2) ... and (3) ... all four criteria`: claims within the paragraph of a series of marks."""
    for paragraph in re.finditer(r"[^\n]+(?:\n[^\n]+)*", text):
        if paragraph[0].count("(") < 2:
            continue
        marks = [*_MARK.finditer(paragraph[0])]
        names = [each["mark"] for each in marks]
        series = next((each for each in _SERIES if names == each[: len(names)]), None)
        if len(names) < 2 or series is None or marks[-1].start() - marks[0].start() > 900:
            continue
        end = paragraph.start() + marks[-1].end()
        stop = text.find(".", end)
        later = text.find(".", stop + 2) if stop > 0 else -1
        claims = [
            match
            for match in _CLAIM.finditer(text, end, paragraph.end() if later < 0 else min(later + 1, paragraph.end()))
            if not _OF_OTHERS.match(text, match.end())
        ]
        first = paragraph.start() + marks[0].start()
        begin = max(text.rfind(". ", paragraph.start(), first), paragraph.start())
        ahead = _BEFORE.search(text, begin, first)
        if ahead is not None and not _PART_OF.search(text[max(0, ahead.start() - 16) : ahead.start()]):
            claims.append(ahead)
        has_more = re.search(r", and |; and ", text[end : stop if stop > 0 else end + 200]) is not None
        for match in claims:
            # The last of them may have lost its mark.
            if not (has_more and match is ahead):
                yield match, len(names)
