"""One thing that is named again with `the` and another number.

`Seventeen people were injured ... Of the 27 injured`; `a $4.8 million grant ... The $8.4 million grant`; `the call is
set for 10:15 ... the 11:15 start`; `each anchor has a rated load of 250 kN ... every anchor's rated load is 350 kN`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from numerate.apps.consistency.base import finding_at
from numerate.apps.consistency.gates import whole_gate
from numerate.apps.consistency.quantities import CLOCK, COUNT, MONEY, UNIT, slot
from numerate.apps.consistency.slips import is_slip
from numerate.apps.consistency.traits import CLOCK as HAS_CLOCK
from numerate.apps.consistency.traits import MEASURES, UNITS, VALUES, stems

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numerate.apps.consistency.quantities import Quantity, Sentence
    from numerate.apps.findings import Finding

__all__ = ["named_again"]

_STATES = (
    "injured", "killed", "arrested", "wounded", "hurt", "rescued", "evacuated", "detained", "infected", "displaced",
    "hospitalised", "hospitalized", "trapped", "dismissed", "stranded", "poisoned", "released", "quarantined",
    "acquitted", "enrolled", "recruited", "randomised", "randomized", "vaccinated", "shortlisted", "sacked", "freed",
)  # fmt: skip
_STATE = "|".join(_STATES)
_C = slot("c", COUNT)
_WHO = r"(?:(?!of\b|the\b|and\b)[a-z-]+ ){0,3}?"
_WERE = re.compile(
    rf"(?P<lead>[a-z]* ?){_C} {_WHO}(?:were|was|have been|had been|got|are being"
    rf"|are) (?:[a-z]+ly )?(?P<state>{_STATE})\b"
)
_THOSE = re.compile(
    rf"\b(?:the|these|those|all) {_C}(?: (?P<state>{_STATE})\b(?! and)|(?: [a-z-]+){{1,2}}?(?: who (?:were"
    rf"|had been))? (?P<state2>{_STATE})\b)"
)
_OTHERS = re.compile(
    r"\b(?:another|more|other|others|further|additional|at least|earlier|previous\w*|later|rose|risen|toll|since|year"
    r"|years|figure|initial\w*|first|revised|corrected|so far|including|seriously|slightly|critically|lightly|badly"
    r"|second|remaining|last|month|week|decade|war|than|total|average|per|each|nearly)\b"
)
_THING = r"(?P<adj>(?:[a-z-]+ ){0,2})(?P<noun>[a-z]{4,})"
_NEW_ONE = re.compile(rf"\b(?:an?|one|its|his|her|their|our) (?:new |separate )?{slot('q', MONEY + UNIT)}[ -]{_THING}")
_THE_ONE = re.compile(rf"\b(?:the|this|that) {slot('q', MONEY + UNIT)}[ -]{_THING}")
_OBJECTS = frozenset([
    "grant", "loan", "contract", "deal", "bridge", "tunnel", "pipeline", "tower", "budget", "bequest", "donation",
    "gift", "prize", "fine", "order", "bond", "investment", "project", "programme", "program", "scheme", "fund",
    "facility", "settlement", "award", "race", "march", "trek", "course", "dam", "cable", "fence", "wall", "mast",
    "telescope", "reactor", "turbine", "vessel", "ship", "yacht", "tank", "engine", "motor", "battery", "drive",
    "acquisition", "purchase", "sale", "bid", "ransom", "scholarship", "fellowship", "subsidy", "mortgage", "payout",
    "bonus", "pledge", "extension", "renovation", "refurbishment", "upgrade", "sentence", "suspension", "ban",
    "warranty", "guarantee", "trail", "crossing", "walk", "hike", "screen", "statue", "crane", "container", "trailer",
])  # fmt: skip
_EVENT = (
    r"(?:start|kick-?off|call|meeting|departure|train|bus|ferry|flight|show|screening|session|appointment"
    r"|briefing|class"
    r"|lesson|service|mass|concert|match|game|deadline|interview|seminar|lecture|rehearsal|talk|tour|opening"
    r"|ceremony)"
)
_SET = re.compile(
    r"\b(?:set for|scheduled (?:for|at)|starts?(?: promptly| again)?(?: at)?|begins?(?: at)?"
    r"|start(?:ing)?(?: time)?(?: is|:| at)"
    r"|beginning at|takes place(?: [a-z]+){0,2} at|is(?: on [a-z]+)? at|will be at|meets? at|meeting at"
    r"|kicks? off at|departs?"
    rf"(?: at)?|leaves(?: at)?|planned for|fixed for|booked for|arranged for) {slot('t', CLOCK)}"
)
_THE_TIME = re.compile(rf"\b(?:the|our|your|this|that) {slot('t', CLOCK)} (?P<event>{_EVENT})\b")
_ZONE = re.compile(
    r"\b(?:moved|instead|postponed|brought forward|local time|cet|gmt|est|pst|utc|their time|another|second"
    r"|other|earlier|later"
    r"|originally|rescheduled|changed|not|alternative|miss(?:ed)?|doors|and again|next|after|either|or|new|old)\b"
)
_DAYS = re.compile(
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day|\btomorrow|\btoday|\btonight|\b(?:morning|evening|afternoon)"
)
_RATED = re.compile(
    r"\b(?P<key>(?:rated|nominal|design|working|permitted|operating|gross|breaking|supply|test|nameplate"
    r"|usable|safe|service|set"
    r"|floor|payload|axle|installed|maximum permitted|specified)"
    r" (?:load|power|voltage|pressure|capacity|speed|flow|current|temperature|weight|mass|area|strength"
    r"|thickness|torque|life|output|limit))"
    rf"(?: of [a-z' ]{{3,30}})?(?: (?:of|is|was|being|shall be|must be|will be|equals)|:)+ {slot('q', UNIT)}"
)
_UNIVERSAL = re.compile(r"\b(?:each|every|all|any)\b")
_CHANGED = re.compile(
    r"\b(?:increas\w*|reduc\w*|rais\w*|lower\w*|former\w*|previous\w*|other|another|second|third|instead|old"
    r"|new|except|than"
    r"|minimum|if|from|replac\w*|type|model|variant|version|whereas|while|respectively|option\w*|larger"
    r"|smaller|spare)\b"
)


class _Seen(NamedTuple):
    place: int
    sentence: Sentence
    quantity: Quantity
    near: str = ""


def named_again(text: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    """Pairs of numbers of one thing that is named twice; texts of a few pages only."""
    if not 2 <= len(sentences) <= 60:
        return
    yield from _people(text, sentences)
    yield from _things(text, sentences)
    yield from _times(text, sentences)
    yield from _rated(text, sentences)


@whole_gate(stems(" ".join(_STATES)), VALUES[2])
def _people(text: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    low = text.lower()
    if not any(low.count(state) > 1 for state in _STATES):
        return
    told: dict[str, list[_Seen]] = {}
    again: dict[str, list[_Seen]] = {}
    for index, sentence in enumerate(sentences):
        words = sentence.skeleton
        for match in _WERE.finditer(words):
            if not re.search(r"\bthe $|\bthese $|\bof $", match["lead"]):
                told.setdefault(match["state"], []).append(_Seen(index, sentence, sentence.get(match, "c")))
        for match in _THOSE.finditer(words):
            again.setdefault(match["state"] or match["state2"], []).append(
                _Seen(index, sentence, sentence.get(match, "c"))
            )
    for state, (*_, last) in again.items():
        first = told.get(state, [])
        if len(first) != 1 or len({each.quantity.value for each in again[state]}) != 1 or len(again[state]) > 3:
            continue
        one = first[0]
        a, b = one.quantity, last.quantity
        if one.place >= last.place or last.place - one.place > 8 or a.value == b.value or a.hedge or b.hedge:
            continue
        between = " ".join(each.skeleton for each in sentences[one.place : last.place + 1])
        if b.value > 10 * a.value or a.value > 10 * b.value or _OTHERS.search(between) or between.count(state) > 2:
            continue
        yield _finding(a, b, probability=0.86)


@whole_gate(stems("the_ this_ that_"), stems("_ ".join(_OBJECTS) + "_"), MEASURES[2])
def _things(text: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    if "the " not in text.lower():
        return
    told: dict[str, list[tuple[_Seen, set[str]]]] = {}
    for index, sentence in enumerate(sentences):
        words = sentence.skeleton
        if MONEY not in words and UNIT not in words:
            continue
        for match in _THE_ONE.finditer(words) if "the " in words or "th" in words else ():
            noun, b = _object(match), sentence.get(match, "q")
            earlier = told.get(noun, [])
            if len(earlier) != 1 or not noun:
                continue
            one, adjectives = earlier[0]
            a = one.quantity
            if (
                one.place == index
                or a.value == b.value
                or a.group != b.group
                or not a.comparable(b)
                or a.hedge
                or b.hedge
            ):
                continue
            mine = set(match["adj"].split())
            if mine and adjectives and not mine & adjectives:
                continue
            if _differs(a, b) and not _CHANGED.search(words[max(0, match.start() - 40) : match.end() + 30]):
                yield _finding(a, b, probability=0.86)
        for match in _NEW_ONE.finditer(words):
            if noun := _object(match):
                seen = _Seen(index, sentence, sentence.get(match, "q"))
                told.setdefault(noun, []).append((seen, set(match["adj"].split())))


def _object(match: re.Match[str]) -> str:
    """The first word that names a thing which is counted as one."""
    words = [*match["adj"].split(), match["noun"]]
    return next((word for word in words if word in _OBJECTS), "")


def _differs(a: Quantity, b: Quantity) -> bool:
    """Whether two digits are exchanged, or one of two or more is another one."""
    if is_slip(a.value, b.value):
        return True
    one, other = (re.sub(r"\D", "", each.numerals[0].text) for each in (a, b))
    return (
        len(one) == len(other) > 1
        and a.numerals[0].power == b.numerals[0].power
        and sum(x != y for x, y in zip(one, other, strict=True)) == 1
    )


@whole_gate(HAS_CLOCK, stems(_EVENT[3:-1].replace("kick-?off", "kick").replace("|", " ")))
def _times(text: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    low = text.lower()
    if not (low.count(":") > 1 or ".m" in low or "pm" in low or "am " in low):
        return
    clocks = [(each, part) for part in sentences for each in part.quantities if each.group == "clock"]
    if len({each.value for each, _ in clocks}) != 2 or len(clocks) > 3:
        return
    told = [(part, part.get(match, "t")) for part in sentences for match in _SET.finditer(part.skeleton)]
    again = [(part, part.get(match, "t")) for part in sentences for match in _THE_TIME.finditer(part.skeleton)]
    if len(told) != 1 or len(again) != 1 or told[0][0] is again[0][0]:
        return
    (first, a), (last, b) = told[0], again[0]
    if a.value == b.value or a.hedge or b.hedge or _ZONE.search(first.skeleton) or _ZONE.search(last.skeleton):
        return
    days = [set(_DAYS.findall(part.text.lower())) for part in (first, last)]
    if days[0] and days[1] and not days[0] & days[1]:
        return
    event = next(match["event"] for match in _THE_TIME.finditer(last.skeleton))
    is_leaving = re.search(r"\b(?:depart|leave)", first.skeleton) is not None
    if event in ("start", "kick-off", "kickoff", "opening"):
        if is_leaving:
            return
    elif event == "departure":
        if not is_leaving:
            return
    elif event not in first.skeleton:
        return
    if a.value % 60 == b.value % 60 or abs(a.value - b.value) in (10, 15, 30, 45):
        yield _finding(a, b, probability=0.85)


_RATED_CUES = ("rated ", "nominal ", "design ", "working ", "permitted ", "operating ", "safe ")


@whole_gate(
    stems(
        "rated nominal design working permitted operating gross breaking supply test nameplate usable safe service "
        "set floor payload axle installed maximum specified"
    ),
    stems(
        "load power voltage pressure capacity speed flow current temperature weight mass area strength thickness "
        "torque life output limit"
    ),
    UNITS[2],
)
def _rated(text: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    low = text.lower()
    if not any(low.count(word) > 1 for word in _RATED_CUES):
        return
    told: dict[str, list[_Seen]] = {}
    for index, sentence in enumerate(sentences):
        for match in _RATED.finditer(sentence.skeleton) if UNIT in sentence.skeleton else ():
            near = sentence.skeleton[max(0, match.start() - 60) : match.end() + 12]
            told.setdefault(match["key"], []).append(_Seen(index, sentence, sentence.get(match, "q"), near))
    for seen in told.values():
        if len(seen) != 2 or seen[0].place == seen[1].place:
            continue
        a, b = seen[0].quantity, seen[1].quantity
        if a.value == b.value or not a.comparable(b) or a.hedge or b.hedge:
            continue
        words = [each.sentence.skeleton for each in seen]
        if any(_CHANGED.search(each.near) for each in seen):
            continue
        nouns = [set(re.findall(r"[a-z]{4,}", each)) for each in words]
        shared = {_stem(each) for each in nouns[0]} & {_stem(each) for each in nouns[1]}
        if all(_UNIVERSAL.search(each) for each in words) or (_differs(a, b) and len(shared) > 3):
            yield _finding(a, b, probability=0.86)


def _stem(word: str) -> str:
    return word.removesuffix("s")


def _finding(first: Quantity, second: Quantity, probability: float) -> Finding:
    message = f"This is {second.text} here and {first.text} before."
    return finding_at("repeated", second, message, meant=first.value, others=[first], probability=probability)
