"""One thing that is named again with `the` and another number.

`Seventeen people were injured ... Of the 27 injured`; `each anchor has a rated load of 250 kN ... every anchor's rated
load is 350 kN`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from numerate.apps.consistency.sentences.gates import whole_gate
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import COUNT, UNIT, slot
from numerate.apps.consistency.sentences.traits import UNITS, VALUES, stems
from numerate.apps.consistency.slips import is_slip
from numerate.apps.consistency.wrong import told_differently

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
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
_WERE = regex(
    rf"(?P<lead>[a-z]* ?){_C} {_WHO}(?:were|was|have been|had been|got|are being"
    rf"|are) (?:[a-z]+ly )?(?P<state>{_STATE})\b"
)
_THOSE = regex(
    rf"\b(?:the|these|those|all) {_C}(?: (?P<state>{_STATE})\b(?! and)|(?: [a-z-]+){{1,2}}?(?: who (?:were"
    rf"|had been))? (?P<state2>{_STATE})\b)"
)
_OTHERS = regex(
    r"\b(?:another|more|other|others|further|additional|at least|earlier|previous\w*|later|rose|risen|toll|since|year"
    r"|years|figure|initial\w*|first|revised|corrected|so far|including|seriously|slightly|critically|lightly|badly"
    r"|second|remaining|last|month|week|decade|war|than|total|average|per|each|nearly)\b"
)
_RATED = regex(
    r"\b(?P<key>(?:rated|nominal|design|working|permitted|operating|gross|breaking|supply|test|nameplate"
    r"|usable|safe|service|set|floor|payload|axle|installed|maximum permitted|specified) (?:load|power|voltage|pressure"
    r"|capacity|speed|flow|current|temperature|weight|mass|area|strength|thickness|torque|life|output|limit))"
    rf"(?: of [a-z' ]{{3,30}})?(?: (?:of|is|was|being|shall be|must be|will be|equals)|:)+ {slot('q', UNIT)}"
)
_UNIVERSAL = regex(r"\b(?:each|every|all|any)\b")
_CHANGED = regex(
    r"\b(?:increas\w*|reduc\w*|rais\w*|lower\w*|former\w*|previous\w*|other|another|second|third|instead|old|new|except"
    r"|than|minimum|if|from|replac\w*|type|model|variant|version|whereas|while|respectively|option\w*|larger|smaller"
    r"|spare)\b"
)

_ALL_OF = regex(
    rf"\b(?:all(?: of)?(?: the| its| their)?|(?:each|every one) of (?:(?:the |our )?[a-z]+['’]s|the|its|their)) {_C} "
    r"(?P<noun>[a-z]{3,}s|people|men|women|children)\b"
)
_ALL_NUMBER = regex(r"\b(?:all|each of|every one of) (?:[a-z'’]+ ){0,2}\d\d")
"""What a match of `_ALL_OF` has in the text, which is faster to look for than to read all sentences."""
_ANY_OF = regex(rf"(?P<lead>[a-z]*['’]?[a-z]* ?){_C} (?P<noun>[a-z]{{3,}}s|people|men|women|children)\b")
_GROWN = regex(
    r"\b(?:another|more|others?|add\w*|new|further|additional|later|since|sold|clos\w+|bought|left|join\w*|open\w*"
    r"|exten\w+|lost|gain\w*|then|by the time|gr[eo]w\w*|rose|fell|today|next|second|sister|plan\w*|would|old"
    r"|will (?:(?:then|soon|also|later) )?(?:have|open|get|build|host|hold|rise|reach|be (?:added|built|joined"
    r"|opened|more|\d))"
    r"|former\w*|previous\w*|originally|first|in all|total|while|whereas|both|between"
    r"|by|until|after|before)\b"
)
_DAYS = regex(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|june|july|august|september|october"
    r"|november|december)\b"
)
_ELSEWHERE = regex(
    r" (?:in|of|at|from|on|to) (?:(?:the )?[A-Z]|the|an?|its|his|her|our|their)\b"
    r"| (?:who|that|which|with|under|over|aged)\b"
)


class _Seen(NamedTuple):
    place: int
    sentence: Sentence
    quantity: Quantity
    near: str = ""


def named_again(text: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    """Pairs of numbers of one thing that is named twice; texts of a few pages only."""
    if len(sentences) > 60:
        return
    if _ALL_NUMBER.search(text.lower()):
        yield from _all_of(text, sentences)
    if len(sentences) < 2:
        return
    yield from _people(text, sentences)
    yield from _rated(text, sentences)


def _all_of(text: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    """`It has 72 rooms ... Each of the hotel's 27 rooms`: a thing that is counted once, and all of it again."""
    told: dict[str, dict[int, Quantity]] = {}
    again: list[tuple[str, Quantity]] = []
    for sentence in sentences:
        for match in _ANY_OF.finditer(sentence.skeleton):
            quantity = sentence.get(match, "c")
            told.setdefault(match["noun"], {})[quantity.start] = quantity
        again += [(match["noun"], sentence.get(match, "c")) for match in _ALL_OF.finditer(sentence.skeleton)]
    for noun, b in again:
        others = [each for each in told[noun].values() if each.start != b.start] if noun in told else []
        if len(others) != 1 or others[0].start > b.start:
            continue
        a = others[0]
        if a.value == b.value or a.hedge or b.hedge or a.group != "plain" or b.group != "plain" or not _differs(a, b):
            continue
        if _GROWN.search(text[a.start : b.start].lower()) or b.start - a.start > 400:
            continue
        if not _same_days(text, a, b):
            continue
        if not _ELSEWHERE.match(text, b.end + 1 + len(noun)):
            yield told_differently(a, b, 0.86)


def _same_days(text: str, a: Quantity, b: Quantity) -> bool:
    """Whether no day or month is told with the second number that was not told with the first."""
    end, stop = (max(text.find(". ", each.end), each.end) for each in (a, b))
    begin = max(text.rfind(". ", 0, a.start), 0)
    stop = len(text) if stop == b.end else stop
    return set(_DAYS.findall(text[end:stop].lower())) <= set(_DAYS.findall(text[begin:end].lower()))


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
        yield told_differently(a, b, 0.86)


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
            yield told_differently(a, b, 0.86)


def _stem(word: str) -> str:
    return word.removesuffix("s")
