"""Centuries, decades and leap years: `the 19th century (1701 to 1800)`, `the 1990s (1980-89)`, `the leap year 2022`.

A finding needs a span that has no year of the century, its half or the decade: `the long 19th century (1789-1914)` has.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at
from numerate.apps.consistency.dates.calendar_words import days_in_month
from numerate.apps.consistency.sentences.gates import group_gate
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import ORDINAL, TIME, slot
from numerate.apps.consistency.sentences.traits import ORDINALS, cues, stems
from numerate.apps.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numerate.apps.consistency.sentences.sentences import Sentence

__all__ = ["century_spans", "decade_spans", "leap_years"]

_N, _A, _B = slot("n", ORDINAL), slot("a", TIME), slot("b", TIME)
_SPANNED = regex(
    r"(?:(?P<part>(?:first|second|1st|2nd) half|[\ue000-\ue009]. half|(?:first|last) quarter) of )?"
    rf"(?:the )?{_N}[ -]century"
    rf"(?:,| \(|,? which (?:lasted|ran|went)|,? that is,?|,? i\.e\.,?| (?:lasted|ran|spans|spanned|covers|goes))*"
    rf" ?(?:from |between |of |the years )?{_A} ?(?:to|and|until|till|through|–|—|-|/) ?{_B}(?=[ ,.;:)]|$)"
)
_BEHIND = regex(
    rf"\b(?:from|between) {_A} (?:to|and|until) {_B}(?:,| \(|,? that is,?|,? i\.e\.,?)+ ?"
    rf"(?:in |during )?the {_N}[ -]century(?=[ ,.;:)]|$)"
)
_BOUND = regex(
    rf"\bthe {_N}[ -]century (?:began|begins|started|starts|opened|ended|ends|closed|was over)"
    rf" (?:on|in|with) (?:the year )?{_A}"
)
_OTHER = regex(r"\bb\.?c|\b(?:since|until|before|after|unlike|while|whereas|long|than)\b")
_DECADE = regex(
    r"\b(?i:the) (?P<d>1\d\d|20\d)0['’]?s(?:,| \(|,? that is,?|,? i\.e\.,?)+ ?(?:from |between )?(?P<a>[12]\d{3})"
    r" ?(?:to|and|until|–|—|-) ?(?P<b>[12]\d{3}|\d\d)(?![\d-])"
)
_YEAR_IN_DECADE = regex(
    r"\b(?i:in) (?P<y>1\d{3}|20\d\d),? (?:\()?(?:in |at |during |right |just |still |very )*(?:the )?(?:early|late"
    r"|mid|mid-|middle|(?:very )?(?:start|beginning|end|middle|heart) of|first half of|second half of) ?"
    r"(?:the )?(?P<d>1\d\d|20\d)0['’]?s\b"
)


_LEAP = regex(
    r"(?<![\d.,])(?P<y>1[89]\d\d|2[0-4]\d\d),? (?:was|is|will be|being)(?: (?:also|again|once more))?"
    r"(?P<no> not|n['’]t| no longer| no)?"
    r"(?: (?:an?|the|our))? (?:leap year\b|(?P<common>common year\b))"
    r"|\b(?i:the|a|every|last|next|in|of) leap years?(?:,| of| like| such as| \()* ?"
    r"(?P<z>1[89]\d\d|2[0-4]\d\d)(?=[ ,.;)]|$)"
)
_MYTH = regex(
    r"\b(?:if|excel|lotus|spreadsheet|bug|wrong\w*|false\w*"
    r"|mistak\w+|myth|calendar|julian|assum\w+|treat\w*|believ\w+|claims?|not that)\b",
    re.IGNORECASE,
)
"""Words of texts that tell of a mistake themselves."""


@group_gate(stems("century"), ORDINALS[1])
def century_spans(text: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    """Spans of years that lie outside of the century that they are said to be, or of its half."""
    del text
    for sentence in sentences:
        words = sentence.skeleton
        if "century" not in words:
            continue
        for match in (*_SPANNED.finditer(words), *_BEHIND.finditer(words)):
            n, a, b = sentence.slots(match, "nab")
            first, last = (_year(each.text) for each in (a, b))
            if not (first and last and first <= last and 8 <= n.value <= 21) or _OTHER.search(match[0]):
                continue
            begin, end = 100 * int(n.value) - 99, 100 * int(n.value)
            part = match["part"] if match.re.groupindex.get("part") else None
            if part is not None:
                quarter = 24 if "quarter" in part else 49
                is_first = part.startswith(("first", "1st")) or (
                    not part.startswith(("last", "second", "2nd")) and _is_first(sentence, part)
                )
                begin, end = (begin, begin + quarter) if is_first else (end - quarter, end)
            if (last > begin and first < end) or min(abs(last - begin), abs(first - end)) > 200:
                continue
            message = f"{a.text} to {b.text} does not lie in the {n.text} century, or in that part of it."
            yield finding_at("ordinal", n, message, others=[a, b], probability=0.88)
        for match in _BOUND.finditer(words):
            n, a = sentence.slots(match, "na")
            year = _year(a.text)
            if (
                year
                and 8 <= n.value <= 21
                and not 100 * n.value - 100 <= year <= 100 * n.value
                and "short" not in words
            ):
                message = f"The {n.text} century has the years {100 * n.value - 99:.0f} to {100 * n.value:.0f}."
                yield finding_at("ordinal", n, message, others=[a], probability=0.88)


def _is_first(sentence: Sentence, part: str) -> bool:
    """Whether a part with a slot is the first one: a half is a quantity of its own."""
    told = sentence.within(part)
    return bool(told) and told[0].value == 1


def _year(text: str) -> int:
    found = re.search(r"(?<!\d)[12]\d{3}(?!\d)", text)
    return int(found[0]) if found else 0


@group_gate(cues("0s ", "0'", "0’"))
def decade_spans(text: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    """`the 1990s, from 1980 to 1989`; `in 1985, at the beginning of the 1990s`."""
    del text
    for sentence in sentences:
        if "0s" in sentence.text or "0's" in sentence.text or "0’s" in sentence.text:
            yield from _decades(sentence)


def _decades(sentence: Sentence) -> Iterator[Finding]:
    words = sentence.text
    for match in _DECADE.finditer(words):
        first, begin = int(match["a"]), 10 * int(match["d"])
        last = int(match["b"]) if len(match["b"]) == 4 else first // 100 * 100 + int(match["b"])
        if first <= last and (last < begin or first > begin + 10):
            yield _finding(sentence, match, f"{match['a']} to {match['b']} are not the {begin}s")
    for match in _YEAR_IN_DECADE.finditer(words):
        year, begin = int(match["y"]), 10 * int(match["d"])
        # The end of one decade is near the begin of the next.
        if not begin - 1 <= year <= begin + 10:
            yield _finding(sentence, match, f"{year} is not in the {begin}s")


def _finding(sentence: Sentence, match: re.Match[str], reason: str) -> Finding:
    start, end = match.start("d"), match.end("d") + 2
    written = sentence.text[start:end]
    span = sentence.offset + start, sentence.offset + end
    return Finding(rule="date", message=f"{match[0]}: {reason}.", written=written, span=span, probability=0.9)


@group_gate(stems("leap"))
def leap_years(text: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    """Years that are called leap years and are none, or the other way round."""
    del text
    for sentence in sentences:
        words = sentence.text
        if "leap year" not in words or _MYTH.search(words):
            continue
        for match in _LEAP.finditer(words):
            year = match["y"] or match["z"]
            is_leap = days_in_month(2, int(year)) == 29
            if is_leap == (match["no"] is not None or match["common"] is not None):
                start, end = match.span("y" if match["y"] else "z")
                span = sentence.offset + start, sentence.offset + end
                message = f"{year} is {'a' if is_leap else 'no'} leap year."
                yield Finding(rule="date", message=message, written=year, span=span, probability=0.95)
