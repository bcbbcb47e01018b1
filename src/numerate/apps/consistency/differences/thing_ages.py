"""Ages of things in a year: `The clock, installed in 1921, ... in 1987, when the clock was 76 years old`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at
from numerate.apps.consistency.sentences.gates import group_gate
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import COUNT, UNIT, YEAR, slot
from numerate.apps.consistency.sentences.traits import TIMES, VALUES, stems

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Sequence

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["ages_apart", "thing_ages"]

_BEGUN = regex(
    r"\b(?:built|rebuilt|erected|installed|constructed|completed|opened|founded|established|planted|launched|cast|laid"
    r"|consecrated|inaugurated|commissioned|unveiled|dates|dating|begun|formed|set up)"
    rf"(?: (?:up|down|there|here))? (?:in|from|back to) {slot('t', YEAR)}"
)
_AGE = regex(
    rf"\bin {slot('s', YEAR)},? (?:when|at which (?:time|point)|by which time|by when|as) (?P<what>it|(?:the|this|that"
    rf"|its) (?:[a-z-]+ ){{0,2}}?[a-z-]+) (?:was|were|had been|turned) (?:only |just |already |then |exactly )*"
    rf"{slot('d', COUNT + UNIT)}(?: years?)? old\b"
)
_WHOLE = frozenset(("structure", "building", "construction", "instrument", "firm", "company", "club", "institution"))
_AGAIN = regex(r"\b(?:re-?built|re-?opened|re-?founded|replac\w*|renewed|re-?constructed|re-?established|new)\b")


@group_gate(stems("old_"), TIMES[2], VALUES[1])
def thing_ages(text: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    """Ages that do not fit the year in which the thing began; none where another year of the paragraph fits."""
    begun: list[tuple[int, Sentence, re.Match[str], Quantity]] = []
    years: list[Quantity] = []
    for place, sentence in enumerate(sentences):
        years += [each for each in sentence.quantities if each.group == "year"]
        begun += [(place, sentence, match, sentence.get(match, "t")) for match in _BEGUN.finditer(sentence.skeleton)]
    for place, sentence in enumerate(sentences):
        for match in _AGE.finditer(sentence.skeleton) if begun else ():
            when, age = sentence.get(match, "s"), sentence.get(match, "d")
            if age.hedge or age.unit not in (None, "year") or age.value != int(age.value) or age.value < 2:
                continue
            noun = match["what"].split()[-1]
            own = [
                first
                for at, other, found, first in begun
                if first.value < when.value and _is_it(noun, other, found, place - at, len(begun) == 1)
            ]
            if len(own) != 1 or any(abs(when.value - each.value - age.value) <= 1 for each in years):
                continue
            real = when.value - own[0].value
            if not 0.5 < age.value / real < 2 and real not in (age.value * 10, age.value / 10):
                continue
            if _AGAIN.search(text[own[0].end : when.start].lower()):
                continue
            message = f"From {own[0].text} to {when.text} are {int(real)} years, not {age.text}."
            yield finding_at("difference", age, message, meant=real, others=[own[0], when], probability=0.88)


def _is_it(noun: str, other: Sentence, begun: re.Match[str], far: int, is_only: bool) -> bool:
    """Whether a thing is the one that began: it is named before that, or nothing else began."""
    if noun == "it":
        return is_only and 0 <= far <= 1
    before = other.skeleton[: begun.start()]
    return noun in before.replace(",", " ").split() or (is_only and noun in _WHOLE)


_APART = regex(
    rf"\b(?:(?:he|she|who|i) (?:was|turned)|was"
    rf"|aged) {slot('a', COUNT + UNIT)}(?P<old>(?: years?)?(?: old)?) in {slot('y', YEAR)}"
    rf"(?:,)? and (?:(?:he|she) was )?{slot('b', COUNT + UNIT)}(?: years?)?(?: old)? in {slot('z', YEAR)}(?=[ ,.;)]|$)"
)


@group_gate(TIMES[2], VALUES[2], stems("old_ he_ she_ who_ i_ aged_"))
def ages_apart(text: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    """`She was 30 in 1990 and 45 in 2000`: two ages of one person that are no ages of one."""
    del text
    for sentence in sentences:
        for match in _APART.finditer(sentence.skeleton):
            a, b, y, z = sentence.slots(match, "abyz")
            is_age = match[0].startswith(("he ", "she ", "who ", "i ", "aged ")) or "old" in match["old"]
            if not is_age or any(each.hedge or each.unit not in (None, "year") for each in (a, b)):
                continue
            real, said = z.value - y.value, b.value - a.value
            if abs(real - said) > 1 and 0 < real < 100 and 0 < said < 100 and max(a.value, b.value) < 115:
                message = f"From {y.text} to {z.text} are {real:.0f} years, but from {a.text} to {b.text} {said:.0f}."
                yield finding_at("difference", b, message, meant=a.value + real, others=[a, y, z], probability=0.87)
