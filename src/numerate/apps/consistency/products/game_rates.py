"""Rates of sport: averages of bowlers and batsmen, runs an over, shares of games won, and groups of a tournament.

`5 wickets for 60 runs, an average of 15`; `15 wins and 7 losses, a winning percentage of .714`; `16 teams in 4 groups
of 5`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.sentences.gates import group_gate
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.traits import VALUES, stems
from numerate.apps.findings import Finding

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Sequence

    from numerate.apps.consistency.sentences.sentences import Sentence

__all__ = ["game_rates"]

_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBERS = {word: n for n, word in enumerate(_WORDS, 1)}
_N = rf"(?:\d{{1,4}}|{'|'.join(_WORDS)})"
_AT = (
    r"(?:,| \(| at| with| for| and| gave| giving| which is| an?| his| her| bowling| batting| run| economy| rate"
    r"| average)*"
)
_BOWLED = regex(
    rf"\b(?P<n>{_N}) wickets (?:for|at a cost of) (?P<t>\d{{1,4}})(?: runs)?"
    rf"{_AT} average of (?P<m>\d{{1,3}}(?:\.\d+)?)"
    rf"(?!\d)"
)
_BATTED = regex(
    rf"\b(?P<t>\d{{2,5}}) runs (?:in|from|over) (?P<n>{_N}) innings{_AT} average of (?P<m>\d{{1,3}}(?:\.\d+)?)(?!\d)"
)
_OVERS = regex(
    rf"\b(?P<n>{_N}) overs\b[^.;]{{0,30}}?(?:for|conceding|conceded|giving away) (?P<t>\d{{1,4}}) runs{_AT} (?:economy"
    rf"|rate)(?: rate)?"
    r" of (?P<m>\d{1,2}(?:\.\d+)?)(?!\d)"
)
_RUN_RATES = (
    regex(
        rf"\b(?P<n>{_N}) overs\b[^.;\d]{{0,30}}? (?P<t>\d{{2,4}})(?: for \d{{1,2}}| runs"
        rf"|/\d{{1,2}})?{_AT} (?:run )?rate of"
        r" (?P<m>\d{1,2}(?:\.\d+)?)(?!\d)"
    ),
    regex(
        rf"\b(?P<t>\d{{1,4}}) runs (?:from|off|in) (?:the (?:last|first|final|remaining) )?(?P<n>{_N}) overs(?:,| \("
        rf"| at| or|"
        r" that is)+ (?:a rate of )?(?P<m>\d{1,2}(?:\.\d+)?) (?:an|per|each) over\b"
    ),
)
_PACE = regex(
    r"\b(?P<t>\d{1,3}(?:\.\d+)?) ?(?P<u>km|kilomet\w+|miles?|mi)\b[^.;\d]{0,25}? in (?:(?P<h>\d{1,2}):)?(?P<m>\d{1,3})"
    r"(?::(?P<s>\d\d)| ?min(?:utes)?\b)[^;\d]{0,40}?(?:pace|average|averag\w+)[^;\d]{0,20}?"
    r"(?P<p>(?P<pm>\d{1,2}):(?P<ps>\d\d))"
    r"(?: min(?:utes)?)? ?(?:per|an?|/) ?(?P<v>km|kilomet|mile|mi\b)"
)
_WON = regex(
    r"\b(?:(?P<a>\d{1,3}) wins(?:,? and|,) (?P<b>\d{1,3}) (?:losses|defeats)|won (?P<c>\d{1,3})(?: games)?,? and lost"
    r" (?P<d>\d{1,3})(?: games)?|record of (?P<e>\d{1,3})[-–](?P<f>\d{1,3}))(?:,| \(|, for| for| and| with)? (?:an? )?"
    r"(?:winning |win )?percentage of (?P<m>0?\.\d{3})(?!\d)"
)
_GROUPS = regex(
    rf"\b(?P<t>{_N}) (?:[a-z]+ )?(?:teams|players|clubs|pupils|students|children|runners|nations|countries|guests"
    rf"|people"
    r"|participants|entrants|swimmers|athletes|sides|crews|soldiers|scouts)(?: (?:are|were|play|played|compete[sd]?"
    r"|start(?:ed)?"
    r"|sit|sat|drawn|divided|split|placed|arranged|working|work|will|be))* (?:in|into) "
    rf"(?P<n>{_N}) (?:equal )?(?:groups|pools|rows|heats|divisions|teams|tables|boats|classes|squads"
    rf"|leagues) of (?P<m>{_N})"
    r"(?! (?:and|or|to|plus)\b|[\d–-]|, (?:and|one|two|plus)|[.,]\d)"
)
_IN_GROUPS = regex(r"s of (?:\d|[tfseno])")
"""What a match of `_GROUPS` has in it."""
_SOME = regex(
    r"\b(?:left|remaining|rest|except|reserves?|substitutes?|about|around|up to|some|more than|at least|each other)\b"
)


@group_gate(
    stems(
        "average pace averag over overs economy rate percentage group pool rows_ heats_ divisions_ teams_ tables_ "
        "boats_ classes_ squads_ leagues_"
    ),
    VALUES[1],
)
def game_rates(text: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    """Quotients of runs, wickets, innings, overs and games, and teams in their groups."""
    del text
    for sentence in sentences:
        words = sentence.text.lower()
        if len(words) != len(sentence.text):
            continue
        is_cricket = any(map(words.__contains__, ("wicket", "innings", "overs", " over,", " over.")))
        for pattern in (_BOWLED, _BATTED, _OVERS, *_RUN_RATES) if is_cricket else ():
            for match in pattern.finditer(words):
                n, t, said = _number(match["n"]), float(match["t"]), float(match["m"])
                slack = 0.51 * 10.0 ** -len(match["m"].partition(".")[2])
                # Innings that were not out do not count.
                parts = range(1, n + 1) if pattern is _BATTED else (n,)
                if n and all(abs(t / each - said) > slack for each in parts) and 0.4 < said * n / t < 2.5:
                    yield _finding(sentence, match, "m", f"{t:g} / {n} = {t / n:.2f}, not {match['m']}.")
        for match in _PACE.finditer(words) if ":" in words and ("pace" in words or "averag" in words) else ():
            yield from _pace(sentence, match)
        for match in _WON.finditer(words) if "percentage" in words else ():
            won, lost = (int(match[x] or match[y] or match[z]) for x, y, z in ("ace", "bdf"))
            real = won / (won + lost) if won + lost else 0.0
            if abs(real - float(match["m"])) > 0.0011:
                yield _finding(sentence, match, "m", f"{won} of {won + lost} are {real:.3f}, not {match['m']}.")
        for match in _GROUPS.finditer(words) if _IN_GROUPS.search(words) and not _SOME.search(words) else ():
            t, n, m = (_number(match[name]) for name in "tnm")
            if n * m != t and 0.6 < n * m / max(t, 1) < 1.7:
                yield _finding(sentence, match, "t", f"{n} x {m} = {n * m}, not {match['t']}.")


def _pace(sentence: Sentence, match: re.Match[str]) -> Iterator[Finding]:
    """`12 km in 55 minutes, a pace of 5:00 per km`; two parts may be hours and minutes, or minutes and seconds."""
    way, h, m, s = float(match["t"]), int(match["h"] or 0), int(match["m"]), int(match["s"] or 0)
    said = 60 * int(match["pm"]) + int(match["ps"])
    times = [3600 * h + 60 * m + s]
    if match["h"] is None:
        times += [3600 * m + 60 * s] if match["s"] else []
    if match["u"][0] != match["v"][0] or not way:
        return
    slack = 0.6 + 0.006 * said
    near = [each / way for each in times if 0.5 < each / way / max(said, 1) < 2]
    if near and all(abs(each - said) > slack for each in near):
        real = round(near[0])
        yield _finding(
            sentence, match, "p", f"This is {real // 60}:{real % 60:02} each, not {match['pm']}:{match['ps']}."
        )


def _number(word: str) -> int:
    return int(word) if word.isdecimal() else _NUMBERS[word]


def _finding(sentence: Sentence, match: re.Match[str], name: str, message: str) -> Finding:
    start, end = match.span(name)
    span = sentence.offset + start, sentence.offset + end
    return Finding(rule="product", message=message, written=sentence.text[start:end], span=span, probability=0.87)
