"""Leads in a race unlike the difference of the two times: `4:12.38 ... 1.54 seconds ahead of Kovács (4:14.92)`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.sentences.gates import group_gate
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.sentence_windows import sentence_groups
from numerate.apps.consistency.sentences.slots import COUNT, UNIT, slot
from numerate.apps.consistency.sentences.traits import CLOCK, VALUES, stems
from numerate.apps.consistency.wrong import wrong_difference
from numerate.apps.findings import Finding
from numerate.numerals.unit_factors import converted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence

__all__ = ["race_margins", "race_parts", "race_times"]

_TIME = regex(r"(?<![\d:.,–-])(?:(?P<h>\d{1,2}):)?(?P<m>\d{1,2}):(?P<s>\d{2}(?:\.\d{1,3})?)(?![\d:]|\.\d| ?[ap]\.?m\b)")
_SIDE = (
    r"(?:ahead|behind|clear|faster|slower|quicker|off|adrift|back|outside|inside|in front|short|better|less|longer|down"
    r"|earlier"
    r"|later|apart|under|over|shy|after|before)"
)
_VALUE = (
    r"(?:(?P<min{0}>\d{{1,2}}|one|two|three) min(?:utes?"
    r"|s)?\.?,? (?:and )?)?(?P<sec{0}>\d{{1,3}}(?:\.\d{{1,3}})?) ?(?:sec(?:ond)?s?|s)\b"
)
_CLAIM = regex(
    _VALUE.format(1) + rf"(?: [a-z]+)?,? {_SIDE}\b"
    r"|\b(?:gap|margin|lead|difference|advantage|deficit|cushion)\b[^.;\d]{0,40}? (?:of|was|is|came to"
    r"|stood at|just|only) "
    + _VALUE.format(4)
    + r"|\b(?:by|lead of|gap of|margin of|margin was|gap was|cushion of|difference of|improvement of|advantage of"
    r"|deficit of|taking|knocking|shaving|cutting|trimming|lopping|took|knocked|shaved|cut|lost|losing|gave away"
    r"|conceded|gap is|margin is) (?:just |only |exactly |a mere |a )?"
    + _VALUE.format(2)
    + r"|"
    + _VALUE.format(3)
    + r" (?:gap|lead|margin|advantage|difference|improvement|cushion)\b"
)
_OPEN = regex(
    r"\b(?:penalt\w+|split|average|pace|lap times|per|each|bonus|respectively|local time|about|around|roughly|almost"
    r"|nearly|some|more than|less than|within|first half|halfway|leg|legs|at the (?:start|turn|bell))\b",
    re.IGNORECASE,
)
_ANOTHER = regex(
    r"^ (?:of )?(?:(?:the )?(?:third|fourth|fifth|next|rest|field|pack|bunch)|them|both|the (?:two|pair|others?|duo))\b"
    r"|\b(?:record|best|standard|mark|qualif\w+|limit|cut"
    r"|leaders?|winner|pace|target|podium|medals?|bronze|gold|silver)\b"
)
"""Behind a lead, something else than the two times that it is taken from."""
_X, _D, _B = slot("x", UNIT + COUNT), slot("d", UNIT + COUNT), slot("b", UNIT + COUNT)
_NAMES = r"(?:[a-z][a-z'’.-]* ){0,5}?"
_AHEAD = (
    r"(?:faster|slower|quicker|better|further|farther|longer|shorter|higher|lower|more|less|heavier|lighter|ahead"
    r"|behind"
    r"|clear|short|off|outside|inside|under|over|above|below|up|down)"
)
_MARGINS = (
    regex(
        rf"{_X}(?:,| –| \(|,? which (?:is|was)|,? and thus| was| is| and)? ?(?:just |only |exactly "
        rf"|still )?{_D} {_AHEAD}"
        rf"(?: than| of| on)? {_NAMES}(?:of |\(|at |on |with |in |, who (?:ran|had|swam|jumped|threw) )?{_B}(?=[ .,;)]"
        rf"|$)"
    ),
    regex(
        rf"{_X}(?: [a-z]+){{0,3}}? (?:beat|broke|improved|improved on|bettered|surpassed|topped|missed|exceeded"
        rf"|eclipsed"
        rf"|beats|breaks|beating|breaking|improving|bettering|missing) {_NAMES}(?:of |\()?{_B}\)? by (?:just "
        rf"|only )?{_D}"
    ),
)
"""A result, another one and the difference: `8.12 m beat the old record of 8.05 m by 12 cm`."""
_NAMED_VALUE = regex(
    r"\b(?:record|best|mark|rival|time|score|result|effort|jump|throw|runner-up|second|height|distance)|\("
)
_RATES = regex(
    r"\b(?:per|average\w*|each|respectively|split|half|lap|laps|if|target|limit|while|whereas)\b|%|\bto [\ue000-\ue009]"
)
_WORDS = {"one": 1, "two": 2, "three": 3}


@group_gate(CLOCK, stems("sec s_"))
def race_times(text: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    """A lead in seconds, with exactly two times in its sentence or in it and the one before."""
    if text.count(":") < 2 or ("sec" not in text and " s" not in text):
        return
    for group in sentence_groups(text, sentences):
        for index, sentence in enumerate(group):
            claims = [*_CLAIM.finditer(sentence.text)] if "sec" in sentence.text or ":" in sentence.text else []
            if len(claims) != 1:
                continue
            times = [*_TIME.finditer(sentence.text)]
            if times and ";" in sentence.text[times[-1].end() : claims[0].start()]:
                continue  # another clause, often about somebody else
            words = sentence.text
            if len(times) < 2 and index:
                times += _TIME.finditer(group[index - 1].text)
                words = f"{group[index - 1].text} {words}"
            behind = sentence.text[claims[0].end() : claims[0].end() + 45]
            if len(times) != 2 or _OPEN.search(words) or _ANOTHER.search(behind):
                continue
            yield from _compared(sentence, claims[0], times)


_PARTS = regex(r"\b(?:halves|first half|half-?way|half-marathon mark|splits?|legs)\b")
_PARTS_NOT = regex(
    r"\b(?:record|best|pace|ahead|behind|winner|second place|third|penalt\w+|leader|rival|than|average|per)\b"
)


@group_gate(CLOCK, stems("half halves splits split legs"))
def race_parts(text: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    """`the first half in 1:05:10 and the second in 1:07:20, finishing in 2:13:30`: the largest is the sum."""
    del text
    for sentence in sentences:
        words = sentence.text.lower()
        times = [*_TIME.finditer(sentence.text)] if _PARTS.search(words) and not _PARTS_NOT.search(words) else []
        if len(times) != 3 or len({(each["h"] is None, each["s"][2:3]) for each in times}) > 1:
            continue
        whole = max(times, key=_seconds)
        parts = [each for each in times if each is not whole]
        real = sum(map(_seconds, parts))
        if abs(real - _seconds(whole)) <= 1.01 or abs(real - _seconds(whole)) > 0.1 * real:
            continue
        h, rest = divmod(round(real), 3600)
        told = f"{h}:{rest // 60:02}:{rest % 60:02}" if whole["h"] else f"{rest // 60 + 60 * h}:{rest % 60:02}"
        span = sentence.offset + whole.start(), sentence.offset + whole.end()
        message = f"{parts[0][0]} + {parts[1][0]} = {told}, not {whole[0]}."
        yield Finding(rule="sum", message=message, written=whole[0], meant=told, span=span, probability=0.87)


@group_gate(
    stems("record best mark rival runner- ahead_ behind_ fast slow quick further farther beat better short"), VALUES[3]
)
def race_margins(text: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    """Results in seconds or metres, those that they are compared with, and by how much."""
    del text
    for sentence in sentences:
        words = sentence.skeleton
        if len(sentence.values) < 3 or not _NAMED_VALUE.search(words) or _RATES.search(words):
            continue
        for pattern in _MARGINS:
            for match in pattern.finditer(words):
                yield from _margin(*(sentence.get(match, name) for name in "xbd"))


def _margin(x: Quantity, b: Quantity, d: Quantity) -> Iterator[Finding]:
    if any(each.hedge or each.value <= 0 for each in (x, b, d)) or x.unit is None or "/" in x.unit or d.unit is None:
        return
    size = converted(d.value, d.unit, x.unit) if d.unit != x.unit else (d.value,)
    if len(size) != 1 or b.unit not in (None, x.unit) or x.half != b.half or d.value == x.value:
        return
    real, said = abs(x.value - b.value), size[0]
    slack = d.half * said / d.value if d.half * said / d.value > 1.01 * x.half else 0.0
    if abs(real - said) <= slack + 1e-6 or not real or not 0.09 < said / real < 11 or real > 0.25 * b.value:
        return
    yield wrong_difference(d, x, b, real * d.value / said, 0.88)


def _compared(sentence: Sentence, claim: re.Match[str], times: list[re.Match[str]]) -> Iterator[Finding]:
    number = next(each for each in "1234" if claim[f"sec{each}"])
    minutes, seconds = claim[f"min{number}"], claim[f"sec{number}"]
    said = float(seconds) + 60 * (0 if minutes is None else _WORDS.get(minutes) or int(minutes))
    a, b = (_seconds(each) for each in times)
    decimals = [len(each["s"].partition(".")[2]) for each in times]
    if any((each["h"] is None) != (times[0]["h"] is None) for each in times) or decimals[0] != decimals[1]:
        return
    real = abs(a - b)
    places = len(seconds.partition(".")[2])
    slack = 0.5 * 10**-places if places < decimals[0] else 0.0
    if not real or abs(real - said) <= slack + 1e-6 or not 0.09 < said / real < 11 or real > 0.25 * max(a, b):
        return
    if abs(real - said) < 1 and not places and decimals[0]:
        return  # the seconds may be cut off
    begin = claim.start(f"min{number}") if minutes else claim.start(f"sec{number}")
    span = sentence.offset + begin, sentence.offset + claim.end(f"sec{number}")
    meant = None if minutes else f"{real:.{max(places, decimals[0])}f}"
    yield Finding(
        rule="difference",
        message=f"{times[0][0]} and {times[1][0]} are {real:.{decimals[0]}f} seconds apart, not {said:g}.",
        written=sentence.text[begin : claim.end(f"sec{number}")],
        meant=meant,
        span=span,
        probability=0.9,
        evidence={"value": said, "expected": round(real, 3)},
    )


def _seconds(match: re.Match[str]) -> float:
    return 3600 * int(match["h"] or 0) + 60 * int(match["m"]) + float(match["s"])
