"""Scores with a dash against what the sentence says of them: sets, legs, series, records and rounds of golf.

`won in straight sets, 6-4, 4-6, 6-3`; `won 3-1 and lost 1-2, 5-3 on aggregate`; `the best-of-five final ended 4-1`;
`are 9-4 after 14 games`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from numerate.apps.consistency.sentences.gates import group_gate
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.traits import stems
from numerate.apps.findings import Finding

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Sequence

    from numerate.apps.consistency.sentences.sentences import Sentence

__all__ = ["set_scores"]

_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBERS = {word: n for n, word in enumerate(_WORDS, 1)}
_N = rf"(?:\d{{1,2}}|{'|'.join(_WORDS)})"
_PAIR = r"(?<![\d–—.:/-])(?P<a>\d{1,3})[-–](?P<b>\d{1,3})(?![\d–—:/-]|\.\d|%)"
_SCORE = regex(_PAIR)
_SET = r"\d{1,2}[-–]\d{1,2}(?: ?\(\d{1,2}(?:[-–]\d{1,2})?\))?"
_SETS = regex(rf"(?<![\d–—.:/-]){_SET}(?:(?:,? and|,|;) {_SET}|(?<=[\d)]) {_SET})+(?![\d–—:/-]|\.\d)")
_TIE_BREAK = regex(r"\([^)]*\)")
_STRAIGHT = regex(r"\b(?:in |two |three )?straight (?:sets|games)\b")
_CLAUSE = regex(r"\b(?:and|but|who|which|his|her|their)\b|;")
_COUNT = regex(
    rf"\b(?:in|over|to|after|across|went) (?P<n>{_N}) sets\b(?! to\b)|(?<!best-of-)(?<!best of )\b(?P<m>{_N})-set"
    r"(?:ter)?\b (?:match|final|semi-?final|win|victory|thriller|battle|defeat|loss)\b"
    rf"|\b(?P<a>{_N}) sets? to (?P<b>{_N}|love|nil|none)\b"
)
_UNFINISHED = regex(
    r"\b(?:ret|retir\w*|walkover|abandon\w*|suspend\w*|unfinished|trail\w*|previous\w*|earlier|doubles|match point"
    r"|also|respectively|last year|after losing|having lost|stood|when|while)\b"
)
_BEST_OF = regex(
    r"\bbest[ -]of[ -](?P<n>\d{1,2}|three|five|seven|nine|eleven) ?(?:[a-z-]+ ){0,3}?(?:series|final|match|tie"
    r"|play-?off|contest|semi-?final|quarter-?final|rubber|frames|games|clash|decider|championship)?\b[^.;\d]{0,30}? "
    + _PAIR
)
_ODD = {"three": 3, "five": 5, "seven": 7, "nine": 9, "eleven": 11}
_OF_ONE = regex(
    r"\b(?:game|opener|opening|first|second|third|fourth|fifth|sixth|seventh|1st|2nd|tonight|night|goals?|runs?|points"
    r"|sets? of|each)\b"
)
_AGGREGATE = regex(
    r"^[ ,(]*(?:(?:win|victory|defeat|loss|lead|winners) )?(?:on|in|over)? ?(?:the )?aggregate\b"
    r"|^[ ,(]*(?:over|across) (?:the )?two legs\b"
)
_OTHER_LEG = regex(
    r"\b(?:penalt\w+|shoot-?out|away goals|half-time|at the (?:break|interval)|leading|earlier|previous|respectively)\b"
)
_RECORD = regex(
    r"\b(?:are|is|were|was|went|go|now|record of|stand at|stands at|stood at|finished|finish|ended(?: up)?"
    r"|sit at|sits at|at|started|start|opened|began)(?: the (?:season|year))? (?:an? )?"
    r"(?<![\d–—.:/-])(?P<a>\d{1,3})[-–](?P<b>\d{1,3})(?:[-–](?P<c>\d{1,2}))?"
    r"(?: record)?,? (?:after|through|in|over|from|across)(?: (?:the|their|its|his|her))?"
    rf"(?: (?:first|last|opening|final))? (?P<n>\d{{1,3}}|{'|'.join(_WORDS)}) (?:league |regular-season )?"
    r"(?:games|matches|starts|decisions|fights|bouts)\b"
)


@group_gate(
    stems(
        "set sets_ aggregate leg best games_ game matches_ match starts_ decisions_ fights_ bouts_ half quarter period"
    )
)
def set_scores(text: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    """Findings of the sentences of a paragraph."""
    for sentence in sentences:
        words = sentence.text.lower()
        for each in _of_words(sentence.offset, words) if len(words) == len(sentence.text) else ():
            yield replace(each, written=text[slice(*each.span)]) if each.span else each


def _of_words(start: int, words: str) -> Iterator[Finding]:
    """Findings of a sentence in lower case."""
    if "straight" in words or "set" in words:
        yield from _sets(start, words)
    if "best" in words:
        yield from _series(start, words)
    if "aggregate" in words or "two legs" in words:
        yield from _aggregate(start, words)
    if "-" in words or "–" in words:
        yield from _record(start, words)
    if "quarter" in words or "period" in words or "second half" in words:
        yield from _parts(start, words)
    if "first half" in words and "second" in words:
        yield from _halves(start, words)


def _finding(rule: str, start: int, match: re.Match[str], span: tuple[int, int], message: str) -> Finding:
    written = match.string[slice(*span)]
    return Finding(
        rule=rule, message=message, written=written, span=(start + span[0], start + span[1]), probability=0.87
    )


def _number(word: str) -> int:
    return int(word) if word.isdecimal() else _NUMBERS.get(word, 0)


def _sets(start: int, words: str) -> Iterator[Finding]:
    """A list of sets that is not straight, or has another number of sets than the sentence says."""
    lists = [*_SETS.finditer(words)]
    if len(lists) != 1 or _UNFINISHED.search(words):
        return
    (listed,) = lists
    pairs = [(int(each["a"]), int(each["b"])) for each in _SCORE.finditer(_TIE_BREAK.sub("", listed[0]))]
    if not 2 <= len(pairs) <= 5 or any(max(pair) < 6 or pair[0] == pair[1] for pair in pairs):
        return
    won = sum(a > b for a, b in pairs)
    lost = len(pairs) - won
    straight = _STRAIGHT.search(words) if won and lost else None
    if straight is not None:
        between = words[min(listed.end(), straight.end()) : max(listed.start(), straight.start())]
        if len(between) > 40 or _CLAUSE.search(between):
            return
        message = f"{listed[0]} are no straight sets: each side won one."
        yield _finding("count", start, listed, listed.span(), message)
        return
    counts = [*_COUNT.finditer(words)]
    if len(counts) != 1:
        return
    (count,) = counts
    if count["a"]:
        told = sorted((_number(count["a"]), _number(count["b"])))
        is_wrong = told != sorted((won, lost))
    else:
        is_wrong = _number(count["n"] or count["m"]) != len(pairs)
    if is_wrong:
        message = f"{listed[0]} are {len(pairs)} sets, {max(won, lost)} to {min(won, lost)}, unlike {count[0]}."
        name = next(each for each in "nma" if count[each])
        yield _finding("count", start, count, count.span(name), message)


def _series(start: int, words: str) -> Iterator[Finding]:
    """A result that a series of so many games cannot have."""
    for match in _BEST_OF.finditer(words):
        most = _ODD.get(match["n"]) or int(match["n"])
        high, low = sorted((int(match["a"]), int(match["b"])), reverse=True)
        if most % 2 == 0 or most < 3 or _OF_ONE.search(match[0][: match.start("a") - match.start()]):
            continue
        if high > most // 2 + 1 or (high + low > most and high <= most):
            span = match.start("a"), match.end("b")
            if high <= most + 1 and not _SETS.match(words, span[0]):
                message = (
                    f"A best of {most} ends when one side has {most // 2 + 1}, and cannot be {words[slice(*span)]}."
                )
                yield _finding("count", start, match, span, message)


def _aggregate(start: int, words: str) -> Iterator[Finding]:
    """Two legs whose goals do not add up to the aggregate, whichever side is told first in each."""
    scores = [*_SCORE.finditer(words)]
    if len(scores) != 3 or _OTHER_LEG.search(words):
        return
    totals = [
        each
        for each in scores
        if _AGGREGATE.match(words, each.end()) or words[: each.start()].endswith(("aggregate ", "aggregate score of "))
    ]
    totals = totals or [each for each in scores if _AGGREGATE.search(words[each.end() : each.end() + 40])]
    if len(totals) != 1:
        return
    legs = [_pair(each) for each in scores if each is not totals[0]]
    said = _pair(totals[0])
    if any(max(pair) > 30 for pair in (*legs, said)):
        return
    (a, b), (c, d) = legs
    if not {said, said[::-1]} & {(a + c, b + d), (a + d, b + c)}:
        message = f"{a}-{b} and {c}-{d} make {a + c}-{b + d} or {a + d}-{b + c}, not {totals[0][0]}."
        yield _finding("sum", start, totals[0], totals[0].span(), message)


def _pair(match: re.Match[str]) -> tuple[int, int]:
    return int(match["a"]), int(match["b"])


def _record(start: int, words: str) -> Iterator[Finding]:
    """`are 9-4 after 14 games`: wins, losses and draws that are not all games."""
    for match in _RECORD.finditer(words):
        parts = [int(match[name]) for name in "abc" if match[name]]
        count = _number(match["n"])
        if sum(parts) != count and 0.5 < sum(parts) / count < 2:
            message = f"{' + '.join(map(str, parts))} = {sum(parts)} games, not {match['n']}."
            yield _finding("sum", start, match, match.span("n"), message)


_HALVES = regex(
    rf"\b(?:scor\w+|with|had|got|made) (?P<g>{_N}) (?:of them |goals |points |tries |runs |times )?(?:in"
    rf"|during) the first half"
    rf"(?: of the season)?,?(?: and| but|, then)? (?:another )?(?P<h>{_N}) (?:goals |points |tries |more )?"
    r"(?:in|during) the second(?: half)?\b[^.;\d]{0,40}?\b(?:won|winning|win|victory|lost|losing|drew)[^.;\d]{0,20}? "
    + _PAIR
)
_OF_SEASON = regex(
    rf"\b(?P<t>{_N}) (?P<w>goals|points|tries|runs|wins|games"
    rf"|medals)\b[^.;]{{0,40}}?[,:(] ?(?P<a>{_N}) (?:of them )?(?:in|during) the"
    rf" first half[^.;\d]{{0,24}}? (?:and )?(?P<b>{_N}) (?:in|during) the second\b"
)


def _halves(start: int, words: str) -> Iterator[Finding]:
    """Goals of two halves that are no side of the result, or not those of the season."""
    for match in _HALVES.finditer(words):
        first, second, span = _number(match["g"]), _number(match["h"]), (match.start("a"), match.end("b"))
        if first + second not in _pair(match):
            message = f"{first} + {second} = {first + second} is no side of {words[slice(*span)]}."
            yield _finding("sum", start, match, span, message)
    for match in _OF_SEASON.finditer(words):
        a, b, t = (_number(match[name]) for name in "abt")
        if a + b != t and 0.6 < (a + b) / max(t, 1) < 1.7:
            yield _finding("sum", start, match, match.span("t"), f"{a} + {b} = {a + b}, not {match['t']}.")


_IN_PARTS = regex(r"\b(?:quarters?|periods?|thirds)(?: scores)?\b|\bin the second half\b")
_NO_PARTS = regex(
    r"\b(?:overtime|extra time|penalt\w+|shoot-?out|respectively|end of|after the (?:first|second|third)|led|leading"
    r"|trail\w*|ahead|aggregate|sets?|record|season|series)\b"
)


def _parts(start: int, words: str) -> Iterator[Finding]:
    """`won 3-1 (periods 1-0, 2-1, 0-1)`: scores of all parts of a game that do not add up to its result."""
    scores = [*_SCORE.finditer(words)]
    is_halves = "in the second half" in words
    if len(scores) not in ((3,) if is_halves else (4, 5)) or not _IN_PARTS.search(words) or _NO_PARTS.search(words):
        return
    if is_halves and "half-time" not in words and "in the first half" not in words:
        return
    result = max(scores, key=lambda each: sum(_pair(each)))
    parts = [_pair(each) for each in scores if each is not result]
    real, said = (sum(a for a, _ in parts), sum(b for _, b in parts)), _pair(result)
    if said not in (real, real[::-1]) and all(
        0.5 < (x + 1) / (y + 1) < 2 for x, y in zip(sorted(real), sorted(said), strict=True)
    ):
        told = ", ".join(f"{a}-{b}" for a, b in parts)
        yield _finding("sum", start, result, result.span(), f"{told} make {real[0]}-{real[1]}, not {result[0]}.")
