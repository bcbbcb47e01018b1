"""Products of timetables and games: how often something comes in an hour, parts of a game, relays, rounds of a league.

`every 15 minutes, so six an hour`; `two halves of 45 minutes, 80 minutes in all`; `4 x 100 m ... 500 m in all`; `each
of the 20 teams plays every other twice, 36 matches each`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.sentences.gates import group_gate
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.traits import cues, stems
from numerate.apps.findings import Finding

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Sequence

    from numerate.apps.consistency.sentences.sentences import Sentence

__all__ = ["frequencies", "game_parts", "repetitions", "round_robins"]

_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBERS = {word: n for n, word in enumerate(_WORDS, 1)}
_N = rf"\d{{1,4}}|{'|'.join(_WORDS)}"
_JOINED = (
    r"(?:,|;|:| –|\(|\bthat is\b|\bi\.e\.|\bso\b|\bor\b|\bgiving\b|\bwhich (?:is|makes|gives|means)\b|\bthus\b"
    r"|\bmaking\b"
    r"|\btherefore\b|\bmeaning\b)"
)
_EVERY = regex(
    rf"\bevery (?P<n>{_N}) (?P<unit>minutes?|mins?|hours?"
    rf"|seconds?)\b[^.;\d]{{0,30}}?{_JOINED}[^.;:\d]{{0,40}}?\b(?P<m>{_N})"
    r" (?:times )?(?:[a-z]+ ){0,2}?(?:an?|per|each|every) (?P<per>hour|day|minute)\b"
    rf"|\b(?P<m2>{_N}) (?:times )?(?:[a-z]+ ){{0,2}}?(?:an?|per|each|every) (?P<per2>hour|day"
    rf"|minute),? ?{_JOINED} ?(?:[a-z]+ ){{0,2}}?"
    rf"every (?P<n2>{_N}) (?P<unit2>minutes?|mins?|hours?|seconds?)\b"
)
_UNITS = {"min": 60, "hou": 3600, "sec": 1, "day": 86400}
_LIMITED = regex(
    r"\b(?:peak|rush|up to|or more|at least|at most|maximum|no more|not more|off-peak|weekends?|evenings?|otherwise"
    r"|as needed"
    r"|if|but|while|about|around|on average|nearly|almost|between|during|plus|additional|extra|later|then|costs?"
    r"|each way"
    r"|in each direction|both directions|two lines|alternat\w+|minutes? of|lasts?|takes?|first|after)\b|[$€£]|to \d"
)
_PARTS = regex(
    r"\b(?P<n>two|three|four|2|3|4) (?:equal )?(?:halves|quarters|thirds|periods"
    r"|chukkas) of (?P<a>\d{1,2}) ?min(?:utes?)?"
    r"(?: each)?(?:,| \(| –|:|,? that is,?| and thus| or| lasts?| in all| for| a total of| altogether| i\.e\.| making"
    r"| which"
    r" (?:makes|is)| so| it)+ (?P<t>\d{2,3}) ?min(?:utes?)?\b(?! (?:into|before|after|of (?:extra|added|stoppage)|break"
    r"|later))"
)
_RELAY = regex(
    r"\b(?P<n>[2-9]|10) ?[x×] ?(?P<a>\d{1,4}(?:\.\d+)?) ?(?P<u>m|km|metres|meters|yards|kilometres|miles)\b(?:[^.;]"
    r"|\.(?=\d)){0,80}?"
    r"\b(?:(?:over|covers?|distance of|total of|totals?|totalling) )?(?P<t>\d{1,5}(?:\.\d+)?) ?(?P=u)"
    r" (?:in all|in total|altogether|overall|all told)\b"
)
_ROBIN = regex(
    rf"\b(?P<n>{_N}) (?:teams|clubs|sides|players|nations|schools|participants"
    rf"|members)\b(?P<gap>[^.;\d]{{0,60}}?)\b(?:plays?"
    r"|played|meets?|met|faces?|faced|playing|meeting) (?:against )?(?:each other|every other|all the others?"
    r"|one another"
    r"|each of the others?|everyone else|all others)(?: (?:team|club|side|player|one|nation))?(?: (?P<k>once|twice"
    r"|home and away|four times|three times))?[^.;\d]{0,50}?\b(?P<t>\d{1,4}|"
    + "|".join(_WORDS)
    + r") (?:matches|games|fixtures|rounds|matchdays)\b"
)
_ROUNDS = {None: 1, "once": 1, "twice": 2, "home and away": 2, "three times": 3, "four times": 4}
_STAGES = regex(
    r"\b(?:groups?|pools?|finals?|play-?offs?|divisions?|conference|knock-?out|first|last|so far|remaining|more"
    r"|extra)\b"
)


_REPEATED = regex(
    rf"\b(?P<n>once|twice|(?:{_N}) (?:times|evenings|mornings|lessons|sessions)) (?:a|per|each"
    rf"|every) (?P<per>day|week|month|year)"
    rf" (?:for|over|during) (?P<k>{_N}) (?P<unit>days|weeks|months|years),?(?: (?:that is|i\.e\.|making|or|so|which is"
    rf"|giving|a total of))*"
    rf" ?(?P<t>{_N}) (?P<what>[a-z]+)(?: in all| in total| altogether|(?=[.,;)]|$))"
)
_TIMES_OF = {"once": 1, "twice": 2}


def _number(word: str) -> int:
    return int(word) if word.isdecimal() else _NUMBERS[word]


@group_gate(stems("every"), stems("hour day minute"))
def frequencies(text: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    """Times between two, and how many come in an hour or day."""
    del text
    for sentence in sentences:
        words = sentence.text.lower()
        for match in _EVERY.finditer(words) if "every" in words and len(words) == len(sentence.text) else ():
            n, unit, m, per = (match[name] or match[f"{name}2"] for name in ("n", "unit", "m", "per"))
            period, step = _UNITS[per[:3]], _number(n) * _UNITS[unit[:3]]
            if not step or period % step or _LIMITED.search(match[0]) or (per == "day" and step < 21_600):
                continue  # medicines are taken in waking hours only
            real, said = period // step, _number(m)
            if said != real and real > 1 and 0.3 < said / real < 3.5:
                name = "m" if match["m"] else "m2"
                message = f"Every {n} {unit} is {real} times {'an' if per == 'hour' else 'a'} {per}, not {match[name]}."
                yield _finding(sentence, match, name, message)


@group_gate(stems("once twice times_ evening morning lesson session"), stems("day week month year"))
def repetitions(text: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    """`twice a week for 12 weeks, 24 meetings in all`."""
    del text
    for sentence in sentences:
        words = sentence.text.lower()
        for match in _REPEATED.finditer(words) if len(words) == len(sentence.text) else ():
            count = match["n"].partition(" ")[0]
            if not match["unit"].startswith(match["per"]) or match["what"] in ("weeks", "months", "years", "of", "in"):
                continue
            real = (_TIMES_OF.get(count) or _number(count)) * _number(match["k"])
            if _number(match["t"]) != real and 0.4 < _number(match["t"]) / real < 2.5:
                yield _finding(sentence, match, "t", f"{match['n']} a {match['per']} make {real}, not {match['t']}.")


@group_gate(stems("halves quarters thirds periods chukkas x_") | cues("×"))
def game_parts(text: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    """Halves of a game and legs of a relay with what they are together."""
    del text
    for sentence in sentences:
        words = sentence.text.lower()
        if len(words) != len(sentence.text):
            continue
        for match in (*_PARTS.finditer(words), *_RELAY.finditer(words)):
            n, a, t = _number(match["n"]), float(match["a"]), float(match["t"])
            if abs(n * a - t) > 1e-9 and 0.4 < t / (n * a) < 2.5:
                yield _finding(sentence, match, "t", f"{n} x {a:g} = {n * a:g}, not {match['t']}.")


@group_gate(stems("other another else others_"), stems("match game fixture round"))
def round_robins(text: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    """Matches of a league in which each plays each other."""
    del text
    for sentence in sentences:
        words = sentence.text.lower()
        for match in _ROBIN.finditer(words) if len(words) == len(sentence.text) else ():
            n, rounds, said = _number(match["n"]), _ROUNDS[match["k"]], _number(match["t"])
            fits = {rounds * (n - 1), rounds * n * (n - 1) // 2}
            if n % 2:
                fits.add(rounds * n)  # rounds, in each of which one has no match
            if not match["k"]:
                fits |= {2 * (n - 1), n * (n - 1)}
            near = [each for each in fits if 0.75 < said / each < 1.34]
            if said in fits or not near or n < 3 or _STAGES.search(match[0]):
                continue
            real = min(near, key=lambda each: abs(each - said))
            yield _finding(sentence, match, "t", f"{n} that play each other have {real} matches, not {match['t']}.")


def _finding(sentence: Sentence, match: re.Match[str], name: str, message: str) -> Finding:
    start, end = match.span(name)
    span = sentence.offset + start, sentence.offset + end
    return Finding(rule="product", message=message, written=sentence.text[start:end], span=span, probability=0.88)
