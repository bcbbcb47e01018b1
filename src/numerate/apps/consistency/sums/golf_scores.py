"""Rounds and holes of golf against par: `a 68 on the par-72 course, five under`, `a birdie three on the par-5 hole`."""

from __future__ import annotations

import itertools
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

__all__ = ["golf_scores"]

_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBERS = {word: n for n, word in enumerate(_WORDS, 1)}
_PAR = regex(r"\bpar[ -](?P<par>6\d|7[0-4])\b|\bpar (?:of|is) (?P<par2>6\d|7[0-4])\b")
_TO_PAR = regex(
    r"\b(?P<n>\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)[ -]"
    r"(?:shots? |strokes? )?(?P<way>under|over)(?:[ -]par\b|(?=[.,;)]|$))"
)
_TOURNAMENT = regex(
    r"\b(?:final|closing|opening|last|second|third|fourth|finish\w*|overall|total|lead\w*|after|tournament|through"
    r"|holes"
    r"|previous\w*|record|best|if|needs?)\b"
)
"""Words of a claim that may be about more rounds than are told."""
_STROKES = regex(r"(?<![\d–—.:/$€£-])(?:5[5-9]|[6-9]\d|[12]\d\d|3[0-4]\d)(?![\d–—:/%-]|[.,]\d)")


@group_gate(stems("par_ par"))
def golf_scores(text: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    """Scores of rounds and holes that are not so far from par as the sentence says."""
    for sentence in sentences:
        start, words = sentence.offset, sentence.text.lower()
        if "par" in words and len(words) == len(sentence.text):
            for each in (*_to_par(start, words), *_hole(start, words)):
                yield replace(each, written=text[slice(*each.span)]) if each.span else each


def _number(word: str) -> int:
    return int(word) if word.isdecimal() else _NUMBERS[word]


def _finding(start: int, match: re.Match[str], name: str, message: str) -> Finding:
    span = start + match.start(name), start + match.end(name)
    return Finding(rule="difference", message=message, written=match[name], span=span, probability=0.87)


def _to_par(start: int, words: str) -> Iterator[Finding]:
    """`a 68 on the par-72 course, five under par`: no score of the sentence is so far from par."""
    pars = {int(each["par"] or each["par2"]) for each in _PAR.finditer(words)}
    claims = [*_TO_PAR.finditer(words)]
    if len(pars) != 1 or len(claims) != 1:
        return
    (par,), (claim,) = pars, claims
    said = _number(claim["n"])
    said = -said if claim["way"] == "under" else said
    scores = [int(each[0]) for each in _STROKES.finditer(_PAR.sub(" ", words))]
    if not 1 <= len(scores) <= 5 or (max(scores) < 200 and _TOURNAMENT.search(words)):
        return
    reals = [*_from_par(scores, par)]
    if not reals or said in reals or min(abs(each - said) for each in reals) > 9:
        return
    real = reals[-1] if len(scores) > 1 else reals[0]
    message = f"This is {abs(real)} {'under' if real < 0 else 'over'} par, not {claim[0]}."
    yield _finding(start, claim, "n", message)


def _from_par(scores: Sequence[int], par: int) -> Iterator[int]:
    """How far each score, and each sum of scores that stand together, is from the par of its rounds."""
    for first, last in itertools.combinations(range(len(scores) + 1), 2):
        total = sum(scores[first:last])
        for rounds in range(1, 5):
            if 0.86 < total / (par * rounds) < 1.25:
                yield total - par * rounds


_NAMES = {"birdie": -1, "eagle": -2, "albatross": -3, "bogey": 1, "double bogey": 2, "triple bogey": 3}
_NAME = regex(r"\b(?:(?:double|triple)[ -])?(?:birdie|eagle|albatross|bogey)\b")
_HOLE = regex(r"\bpar[ -](?P<par>[345])\b")
_TAKEN = regex(
    r"\b(?P<n>one|two|three|four|five|six|seven|eight|nine|[2-9]) (?:strokes|shots)\b"
    r"|(?:birdie|eagle|bogey|albatross) (?P<m>two|three|four|five|six|seven|eight|[2-9])(?=[ ,.;)]|$)"
    r"|, an? (?P<k>two|three|four|five|six|seven|eight|[2-9])(?=[,.;)]|$)"
)


def _hole(start: int, words: str) -> Iterator[Finding]:
    """`a birdie three on the par-5 hole`: another number of strokes than the name of the result says."""
    names, holes, taken = ([*pattern.finditer(words)] for pattern in (_NAME, _HOLE, _TAKEN))
    if not len(names) == len(holes) == len(taken) == 1:
        return
    name = next(each for each in ("n", "m", "k") if taken[0][each])
    real = int(holes[0]["par"]) + _NAMES[names[0][0].replace("-", " ")]
    if _number(taken[0][name]) != real:
        message = f"A {names[0][0]} on a par {holes[0]['par']} is {real} strokes, not {taken[0][name]}."
        yield _finding(start, taken[0], name, message)
