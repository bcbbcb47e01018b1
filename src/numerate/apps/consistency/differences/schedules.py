"""Two times of the day and what lies between them: delays, ends of what begins, hours of a week.

`at 10:32 instead of 10:05, 17 minutes late`; `starts at 20:15 and, at 118 minutes, ends at 22:43`; `Monday to Friday,
8 am to 4 pm, 45 hours a week`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at
from numerate.apps.consistency.differences.closed_spans import FLIGHT
from numerate.apps.consistency.sentences.gates import group_gate
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.traits import CLOCK, UNITS, stems

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["schedules"]

_MINUTES = {"min": 1.0, "h": 60.0}
_LATE = regex(r"\b(?:late|later|delay\w*|early|earlier|behind schedule|ahead of schedule|ahead of time)\b")
_DUE = regex(r"\b(?:instead of|rather than|due|scheduled|planned|timetabled|supposed|timetable|not at)\b")
_BEGINS = regex(
    r"\b(?:start\w*|beg[aiu]n\w*|leav\w+|left|depart\w*|sets? off|kick-?off|from|oven|sail\w*|opens?)(?: at)?:? $"
)
_ENDS = regex(
    r"\b(?:ends?|ended|ending|done|finish\w*|over|ready|arriv\w+|arrival|until|till|conclud\w+|clos\w+|docks?|docked"
    r"|out|to)"
    r"(?: at| by)?:? $"
)
_PAUSE = regex(
    r"\b(?:breaks?|pause|interval|intermission|interruption|stops?|wait\w*|extra|additional|another|later|delay\w*|late"
    r"|half"
    r"|between|before|about|around|nearly|almost|including|plus|lunch|local|calls?|reach\w*|pass(?:es|ed|ing)?|chang\w+"
    r"|via|zone|per|every|each|first|last|warm\w*"
    r"|advance"
    r"|into|left)\b"
)
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WEEK = regex(rf"\b(?P<a>{'|'.join(_DAYS)})s? (?:to|through|until|till|[–-]) (?P<b>{'|'.join(_DAYS)})s?\b")
_A_WEEK = regex(r" (?:a|per|each|every|in the) week\b")


@group_gate(CLOCK, UNITS[1] | stems("hour min"))
def schedules(text: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    """Sentences with two times of the day and one duration."""
    del text
    for sentence in sentences:
        clocks = [each for each in sentence.quantities if each.group == "clock"]
        spans = [each for each in sentence.values if each.unit in _MINUTES]
        if len(clocks) != 2 or len(spans) != 1 or spans[0].hedge or FLIGHT.search(sentence.skeleton):
            continue
        (a, b), (d,) = clocks, spans
        words = sentence.text.lower()
        if _LATE.search(words) and _DUE.search(words):
            yield from _delay(sentence, a, b, d)
        elif a.start < d.start < b.start and not _PAUSE.search(words):
            yield from _end(sentence, a, b, d)
        else:
            yield from _week(sentence, words, a, b, d)


def _delay(sentence: Sentence, a: Quantity, b: Quantity, d: Quantity) -> Iterator[Finding]:
    """The planned time and the real one, in whatever order, with the delay beside one of them."""
    if not _LATE.search(f"{sentence.beside(d)[0][-24:]}|{sentence.beside(d)[1][:14]}"):
        return
    gap, said = abs(b.value - a.value), d.value * _MINUTES[d.unit or ""]
    gap = min(gap, 1440 - gap)
    if abs(gap - said) > 0.51 and 0.25 < said / max(gap, 1) < 4 and gap < 720:
        # Without the two times as evidence: `excuses` takes those of a lead, as `20 s ahead`, for another race's.
        message = f"From {a.text} to {b.text} are {gap:g} minutes, not {d.text}."
        yield finding_at("difference", d, message, meant=gap / _MINUTES[d.unit or ""], probability=0.87)


def _end(sentence: Sentence, a: Quantity, b: Quantity, d: Quantity) -> Iterator[Finding]:
    """A begin, a duration and the end, in this order."""
    before = sentence.text[: a.start - sentence.offset].lower(), sentence.between(d, b)
    if not _BEGINS.search(before[0][-24:]) or not _ENDS.search(before[1][-24:]) or len(sentence.between(a, b)) > 90:
        return
    gap, said = (b.value - a.value) % 1440, d.value * _MINUTES[d.unit or ""]
    fits = {gap, gap % 720, gap % 720 + 720}
    if any(abs(each - said) <= max(2.0, 0.02 * said) for each in fits) or not 0.4 < said / max(gap, 1) < 2.5:
        return
    hours, rest = divmod(round(gap), 60)
    message = f"From {a.text} to {b.text} are {hours} h {rest:02} min, not {d.text}."
    meant = gap / _MINUTES[d.unit or ""]
    yield finding_at("difference", d, message, meant=meant, others=[a, b], probability=0.87)


def _week(sentence: Sentence, words: str, a: Quantity, b: Quantity, d: Quantity) -> Iterator[Finding]:
    """Opening hours of some days, and how many hours a week they are; a break may be left out."""
    days = [*_WEEK.finditer(words)]
    if len(days) != 1 or d.unit != "h" or d.end < b.end or not _A_WEEK.match(sentence.beside(d)[1]):
        return
    count = (_DAYS.index(days[0]["b"]) - _DAYS.index(days[0]["a"])) % 7 + 1
    real = (b.value - a.value) % 1440 / 60 * count
    if _PAUSE.search(words) or len(sentence.values) > 1 or real - 1.01 * count <= d.value <= real + 0.01:
        return
    if 0.4 < d.value / max(real, 1) < 2.5:
        message = f"{count} days from {a.text} to {b.text} are {real:g} hours, not {d.text}."
        yield finding_at("difference", d, message, meant=real, others=[a, b], probability=0.87)
