"""Counts of points that the next sentences go through, and of months, minutes or members listed in a sentence.

`for three reasons. First, ... Second, ...` and no third; `three times last year, in January, April, June and November`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.sentence_windows import sentence_groups
from numerate.apps.consistency.sentences.traits import stems

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numerate.apps.consistency.sentences.sentences import Sentence

__all__ = ["enumerations", "listed_members"]

MOST_LEAD, MOST_GAP = 40, 120
"""Characters before and behind the sentences of a paragraph in which a claim may begin and end."""
MOST_BEHIND = 20_000
"""Characters behind a claim in which its points are looked for."""
_N = r"(?P<n>(?i:two|three|four|five|six|seven|eight|nine|ten)|[2-9])"
_POINT = (
    r"(?:reasons?|causes?|problems?|points?|ways to [a-z]+|recommendations|conditions|questions|aims|objectives"
    r"|objections|grounds|lessons|mistakes|errors|concerns|demands|advantages|drawbacks|explanations|proposals|faults|defects|risks"
    r"|weaknesses|shortcomings|purposes|motives|remarks|complaints|suggestions|requests|wishes|findings|arguments)"
)
_POINT_CUES = stems(
    "reason cause problem point ways_ recommendation condition question aim objective objection ground lesson mistake "
    "error concern demand advantage drawback explanation proposal fault defect risk weakness shortcoming purpose "
    "motive remark complaint suggestion request wish finding argument"
)
"""What a match of `_POINT` begins with."""
_CLAIM = regex(rf"\b(?P<lead>[a-z]+ )?{_N} (?:[a-z-]+ ){{0,2}}?{_POINT}\b(?P<gap>[^.:;!?]{{0,80}})[.:]\s")
_COUNT_CUES = stems("two_ three_ four_ five_ six_ seven_ eight_ nine_ ten_")
_COUNT = regex(r"[2-9](?<![0-9].) [a-z-]")
"""The counts of `_CLAIM`, in words and in digits."""
_LOOSE = regex(r"^(?:least|of|first|last|other|than|another|further|next|or|top|about|over|remaining|more)$", re.I)
_START = r"(?:(?<=[.;:!?] )|(?<=\n)|(?<=, and )|(?<=; and ))"
_ORDINALS = ("first(?:ly)?|one|to begin with", "second(?:ly)?|the other|another", "third(?:ly)?", "fourth(?:ly)?",
             "fifth(?:ly)?", "sixth(?:ly)?", "seventh(?:ly)?")  # fmt: skip
_MARKS = [
    regex(rf"{_START}(?:the |a |an? )?(?:{words})(?:,|:| (?!half|time|year|of the (?:year|month)|class)[a-z]+)", re.I)
    for words in _ORDINALS
]
_LAST = regex(rf"{_START}(?:and )?(?:finally|lastly|last|the last|last but not least)\b,?", re.I)
_MORE = regex(r"\b(?:also|in addition|moreover|besides|furthermore|another|as well|next|then|further)\b", re.I)
_CALENDAR = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)s?"
)
_DAYS = rf"(?P<items>{_CALENDAR}(?:, {_CALENDAR})*,? and {_CALENDAR})"
_NTH = r"\d{1,3}(?:st|nd|rd|th)"
_MINUTES = rf"(?P<items>{_NTH}(?:, (?:the )?{_NTH})*,? and (?:the )?{_NTH}) minutes?\b"
_NAME = r"(?:(?:Dr|Mr|Mrs|Ms|Prof|Sir)\.? )?[A-ZÀ-Ý][\w’'-]+(?: [A-ZÀ-Ý][\w’'.-]*){0,2}"
_NAMES = rf"(?P<items>{_NAME}(?:, {_NAME})+,? and {_NAME})(?=[.;,)]|$)"
_CALENDAR_CUES = ("uary", "March", "April", "May", "June", "July", "August", "ber", "day")
_LISTS = (
    (_CALENDAR_CUES, regex(
        rf"\b{_N} (?:[a-z-]+ ){{0,2}}?(?:times|[a-z]{{3,}}s)\b[^.;:\d]{{0,40}}?(?:,|:|,? (?:in|on|namely)|\()+ "
        rf"(?:on |in )?{_DAYS}(?=[.;)]|$)")),
    ((" in all", " in total", " altogether"), regex(
        rf"\b{_DAYS}, {_N} (?:times |of them )?(?:in all|in total|altogether)\b")),
    ((" minute",), regex(rf"\b{_N} (?:goals|tries|strikes|penalties|free kicks)\b[^.;\d]{{0,50}}? {_MINUTES}")),
    ((" made up of", " composed of", " consist", " compris"), regex(
        r"\b(?:panel|jury|team|crew|committee|board|group|family|party|delegation|band|squad|staff) of "
        rf"{_N},? (?:(?:is|was|were|are) )?(?:made up of|composed of|consist(?:s|ed|ing) of|compris(?:es|ed|ing)) "
        rf"{_NAMES}")),
    (("s, ", "ed, "), regex(
        rf"\b{_N} (?:[a-z-]+ )?[a-z]{{4,}}s(?: [a-z]+ed)?, (?:in |at |namely )?{_NAMES}(?=[.;]|$)")),
)  # fmt: skip
"""Words that a pattern has, and the pattern."""
_OPEN = regex(r"\b(?:includ\w*|such as|among|e\.g|at least|of the|first|last|other|more|each|every|per|between|or)\b")
_LAST_YEAR = regex(r"\b(?:last|each|every|per) (?:year|month|week|season|summer|winter)\b")


def enumerations(text: str, sentences: Sequence[Sentence]) -> Iterator[tuple[re.Match[str], int]]:
    """Claims of a number of points, and how many points the paragraph goes through."""
    if "irst" not in text and "One " not in text:
        return
    for group in sentence_groups(text, sentences):
        if group.words & _POINT_CUES and (group.words & _COUNT_CUES or _COUNT.search(group.text)):
            start, end = group[0].offset, group[-1].offset + len(group[-1].text)
            if not _has_first(text, start, end + MOST_GAP):
                continue
            for match in _CLAIM.finditer(text, max(0, start - MOST_LEAD), end + MOST_GAP):
                if start <= match.start("n") < end:
                    yield from _counted(text, match)


def _has_first(text: str, start: int, end: int) -> bool:
    """Whether a first point is named from there to the end of the paragraph, without which nothing is counted."""
    stop = text.find("\n\n", end, end + MOST_BEHIND)
    behind = text[start : stop if stop >= 0 else end + MOST_BEHIND]
    lower = behind.lower()
    return "first" in lower or "to begin" in lower or ("one" in lower and _MARKS[0].search(behind) is not None)


def _counted(text: str, match: re.Match[str]) -> Iterator[tuple[re.Match[str], int]]:
    """How many points the text behind a claim goes through, if they are not as many."""
    if not _LOOSE.match((match["lead"] or "").strip()) and " of " not in match["gap"][:5]:
        most = match.end() + MOST_BEHIND
        end = text.find("\n\n", match.end(), most)
        rest = text[match.end() - 2 : end if end > 0 else most]
        at, count = 0, 0
        for pattern in _MARKS:
            found = pattern.search(rest, at)
            if found is None:
                break
            at, count = found.end(), count + 1
        last = _LAST.search(rest, at)
        count += last is not None
        said = _WORDS.get(match["n"].lower()) or int(match["n"])
        if count < 2 or count > said + 2:
            return
        behind = text[end : end + 40].lower() if end > 0 else ""
        is_open = _MORE.search(rest[at:]) or re.search(r"first|second|third|fourth|final|last", behind)
        if count > said or (last is None and said - count < 3 and not is_open and rest[at:].count(". ") < 4):
            yield match, count


_WORDS = {word: n for n, word in enumerate("two three four five six seven eight nine ten".split(), 2)}  # noqa: SIM905


def listed_members(part: str) -> Iterator[tuple[re.Match[str], int]]:
    """Counts of days, months, minutes and members, and how many of them are listed behind or before."""
    for cues, pattern in _LISTS:
        for match in pattern.finditer(part) if any(map(part.__contains__, cues)) else ():
            lead = part[max(0, match.start("n") - 12) : match.start("n")].lower()
            words = _LAST_YEAR.sub("", match[0].lower().replace(match["items"].lower(), ""))
            if _OPEN.search(lead) or _OPEN.search(words):
                continue
            yield match, len(re.split(r",? and (?:the )?|, (?:the )?", match["items"]))
