"""Ages that do not fit the years of birth and death that the same paragraph tells, in whatever order."""

from __future__ import annotations

import datetime
import re
from typing import TYPE_CHECKING, NamedTuple

from numerate.apps.consistency.base import finding_at
from numerate.apps.consistency.sentences.gates import group_gate
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.sentence_windows import RELATIVE, sentence_groups
from numerate.apps.consistency.sentences.slots import COUNT, NO_NUMBER, TIME, UNIT, YEAR, slot
from numerate.apps.consistency.sentences.traits import VALUES, stems

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["lives"]

_AFTER_BORN = rf"{NO_NUMBER}{{0,60}}?(?<!since )(?<!until )(?<!before )(?<!after ){slot('t', TIME)}"
_BORN = regex(rf"\b(?:born|birth){_AFTER_BORN}|[(*] ?(?:b\.|\*) ?{slot('u', TIME)}")
_DIED = regex(
    r"(?:\b(?:died|dies|death|passed away|killed|drowned|executed|murdered|perished|succumbed)\b"
    rf"|\bd\.){NO_NUMBER}{{0,60}}?"
    rf"{slot('t', TIME)}"
)
_LIVED = regex(rf"\({slot('a', TIME)} ?[–—-] ?{slot('b', TIME)}\)")
_DEAD = r"(?:died|dies|death|dead|passed away|killed|drowned|executed|murdered|perished|succumbed|collapsed|life ended)"
_AGE = (
    rf"{slot('d', COUNT + UNIT)}(?![ -](?:hospital|home|minutes|hours|days|weeks|months|p\.?m|a\.?m|o.clock|percent))"
)
_AGED = regex(
    rf"\b{_DEAD}\b{NO_NUMBER}{{0,60}}?(?:\bat the age of|\bat age|\baged|\bat the ripe old age of|\bage"
    r"|\bat just|\bat only|\bat)"
    rf" {_AGE}(?=[.,;)]|$| (?:in|on|after|of|from|at|when|surrounded|and|years|last|this|following"
    r"|yesterday|while|due)\b)"
    rf"|\b(?:lived to be|lived to the age of|lived to(?= \ue000)|reached the age of) {slot('f', COUNT + UNIT)}"
    rf"|{slot('e', COUNT + UNIT)}(?: years)?(?: old| of age)? (?:when|at the time of"
    rf"|on the day) (?:[a-z]+ ){{0,2}}?{_DEAD}"
)
_DIED_WHEN = regex(
    rf"\b{_DEAD}\b{NO_NUMBER}{{0,50}}?{slot('t', TIME)}{NO_NUMBER}{{0,40}}?(?:\bat the age of|\bat age|\baged"
    rf"|, age|\bat) {_AGE}"
    r"(?=[.,;)]|$| (?:in|on|after|of|from|at|when|and|years)\b)"
)
_WAS_THEN = regex(
    rf"\bin {slot('t', YEAR)},? (?:(?:when )?(?:she|he) (?:was|turned)"
    r"(?: (?:just|only|already|still|exactly))?|at the age of|at age|aged"
    r"|at the tender age of|then|at"
    rf"|by then|still only|only) {slot('d', COUNT + UNIT)}(?=[.,;)]|$| (?:she|he|and|years|when)\b)"
    rf"|(?:\bat the age of|\bat age|\baged|\bwas|\bturned|\bat) {slot('e', COUNT)}(?: years old)?"
    rf"(?: when [a-z ]{{1,40}}?|,)? in {slot('s', YEAR)}(?=[.,;)]|$| (?:she|he|and)\b)"
)
_IN_BRACKETS = regex(r"\d\s?[–—-][^()]*\d\s?\)")
"""What the text of a match of `_LIVED` ends with."""
_OTHER = regex(r"\b(?:together with|joint|posthumous\w*|would have|missing|twins?|both)\b")
_PRONOUN = regex(
    r"^[\"“(]?(?:He|She|His|Her|Born|In|On|At|After|By|When|Survived|Until|Having|They|Dr|Mr|Mrs|Ms|Sir|Prof)\b"
)
_NAME = regex(r"\b[A-ZÀ-Ý][\w’'-]+")
_MY_OWN = regex(r"(?:my|our) (?:[a-z]+-)?[a-z]+(?:,? [a-z]+){0,2},? (?:was )?")
_YEAR = 365.2425


_BEFORE_AGE = frozenset(["of", "be", "to", "age", "aged", "at", "just", "only", "was", "turned", "then", "already"])
_BEHIND_AGE = regex(r"[\s-]*(?:years?)?\s*(?:old|of age)?\s+(?:when|at the time of|on the day)\b", re.IGNORECASE)
"""What stands before or behind the age in all patterns of ages."""


_AGE_CUES = ("died", "dead", "death", " age", "was ", "killed", "passed away", ", at ")


class _Life(NamedTuple):
    born: Quantity
    when: Quantity
    age: Quantity


@group_gate(stems("born birth b_ ("), stems("die dea age was_ kill pass at_"), VALUES[1])
def lives(text: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    """Ages that cannot be, of paragraphs with one birth, one death and one age at death, or an age in a year."""
    for group in sentence_groups(text, sentences):
        if not any(map(_has_age, group)) or not any(map(_may_tell_birth, group)):
            continue
        if not any(word in text for word in _AGE_CUES):
            continue
        for life in _lives_of(group):
            years, blur = _years(life.born, life.when)
            if life.age.hedge or life.age.value != int(life.age.value) or not -1 <= years < 120:
                continue
            low, high = (years - 1, years) if blur else (years, years)
            if low <= life.age.value <= high or not 0 < life.age.value < 130:
                continue
            message = f"From {life.born.text} to {life.when.text} are {high} years, not {life.age.text}."
            others = [life.born, life.when]
            yield finding_at("difference", life.age, message, meant=float(high), others=others, probability=0.9)


def _lives_of(group: list[Sentence]) -> Iterator[_Life]:
    born = [(sentence, found) for sentence in group for found in _births(sentence)]
    if len({quantity.value for _, quantity in born}) != 1:
        return
    if not any(any(map(_is_age, sentence.quantities)) for sentence in group):
        return
    where, birth = born[0]
    aged: list[Quantity] = []
    for sentence in group:
        if not any(map(_is_age, sentence.quantities)):
            continue
        words = sentence.skeleton
        if _same_person(where, sentence):
            for pattern in (_AGED, _DIED_WHEN):
                found = [match for match in pattern.finditer(words) if not _of_another(words, match.start())]
                aged += [sentence.get(match, _slot_of(match)) for match in found]
        for match in _WAS_THEN.finditer(words):
            when = sentence.get(match, "t" if match["t"] else "s")
            age = sentence.get(match, "d" if match["d"] else "e")
            if re.search(r"\bwho(?:se)?\b", words[max(0, match.start() - 60) : match.start()]):
                continue
            if when.value <= 1900 or not _is_age(age) or age.value >= 80 or _of_another(words, match.start()):
                continue
            if when.start != birth.start and (sentence is where or _is_pronoun(sentence)):
                yield _Life(birth, when, age)
    yield from _age_then(group, where, birth)
    ages = {age.start: age for age in aged if _is_age(age)}
    died = [each for each in _deaths(group) if each.start != birth.start] if len(ages) == 1 else []
    if len({each.value for each in died}) == 1:
        yield _Life(birth, died[0], next(iter(ages.values())))


def _slot_of(match: re.Match[str]) -> str:
    """The slot of the age in a match."""
    return next(name for name in "def" if name in match.re.groupindex and match[name])


def _deaths(group: list[Sentence]) -> Iterator[Quantity]:
    for sentence in group:
        words = sentence.skeleton
        yield from (sentence.get(match, "b") for match in _LIVED.finditer(words))
        for match in _DIED.finditer(words):
            if not _of_another(words, match.start()):
                yield sentence.get(match, "t")


_WAS_WHEN = regex(
    rf"^(?:he|she) was (?:only |just |then |already )?{slot('d', COUNT + UNIT)}(?: years "
    r"old)? (?:when (?:he|she)|at the time|then)\b"
)


def _age_then(group: list[Sentence], where: Sentence, birth: Quantity) -> Iterator[_Life]:
    """`In 2011 she moved. She was 26 when she moved.`: the only year of the paragraph beside that of the birth."""
    times = {each.value: each for part in group for each in part.quantities if each.group in ("year", "date")}
    others = [each for each in times.values() if each.value != birth.value and each.group == "year"]
    claims = [(part, match) for part in group if (match := _WAS_WHEN.search(part.skeleton)) is not None]
    if len(times) == 2 and len(others) == 1 and len(claims) == 1 and claims[0][0] is not where:
        age = claims[0][0].get(claims[0][1], "d")
        if _is_age(age) and others[0].start < age.start:
            yield _Life(birth, others[0], age)


def _may_tell_birth(sentence: Sentence) -> bool:
    """Whether a sentence may have a match of `_BORN` or `_LIVED`, which is cheap to know."""
    text = sentence.text
    if "(" in text and ("b." in text or "*" in text or _IN_BRACKETS.search(text)):
        return True
    return "born" in text or "birth" in text or "Born" in text or "Birth" in text or "BORN" in text


def _births(sentence: Sentence) -> Iterator[Quantity]:
    text = sentence.text
    if "orn" not in text and "irth" not in text and "(" not in text:
        return
    if not _may_tell_birth(sentence):
        return
    words = sentence.skeleton
    for match in _BORN.finditer(words) if any(map(words.__contains__, ("born", "birth", "b.", "*"))) else ():
        if not _of_another(words, match.start()):
            yield sentence.get(match, "t" if match["t"] else "u")
    for match in _LIVED.finditer(words):
        yield sentence.get(match, "a")


def _has_age(sentence: Sentence) -> bool:
    """Whether a sentence may have an age, which is cheap to know: by its size and by the words beside it."""
    text, offset = sentence.text, sentence.offset
    for each in sentence.numerals if sentence.tally.values else ():
        if 2 < each.value < 125 and each.unit in (None, "year"):
            before = text[max(0, each.start - offset - 9) : each.start - offset].lower().split()
            if (before and before[-1] in _BEFORE_AGE) or _BEHIND_AGE.match(text, each.end - offset):
                return True
    return False


def _is_age(quantity: Quantity) -> bool:
    return quantity.unit in (None, "year") and quantity.group in ("plain", "unit") and 2 < quantity.value < 125


def _of_another(words: str, at: int) -> bool:
    """Whether the clause before a place speaks of another person."""
    before = words[max(0, at - 110) : at]
    before = before[max(before.rfind(";"), before.rfind(". ")) + 1 :]
    if _MY_OWN.fullmatch(before):
        return False  # `My grandmother was born in 1918`: it is about her
    return RELATIVE.search(before) is not None or _OTHER.search(before) is not None


def _is_pronoun(sentence: Sentence) -> bool:
    return re.match(r"(?:He|She|In|At|By|On|When)\b", sentence.text) is not None


def _same_person(one: Sentence, other: Sentence) -> bool:
    """Whether two sentences may be about one person: one sentence, a pronoun, or a name of both."""
    if one is other or _PRONOUN.match(other.text) or _PRONOUN.match(one.text):
        return True
    names = set(_NAME.findall(one.text))
    return any(name in names for name in _NAME.findall(other.text)[:4])


def _years(born: Quantity, when: Quantity) -> tuple[int, bool]:
    """Whole years between two years or dates, and whether one may be missing."""
    if born.group == when.group == "year":
        return int(when.value - born.value), True
    if born.group == when.group == "date" and all(_is_full(each) for each in (born, when)):
        a, b = (datetime.date.fromordinal(int(each.value)) for each in (born, when))
        return b.year - a.year - ((b.month, b.day) < (a.month, a.day)), False
    found = [_year_of(each) for each in (born, when)]
    if found[0] is None or found[1] is None:
        return -9, True
    return found[1] - found[0], True


def _is_full(quantity: Quantity) -> bool:
    return (
        re.search(r"\b[12]\d{3}\b", quantity.text) is not None and re.search(r"\b\d{1,2}\b", quantity.text) is not None
    )


def _year_of(quantity: Quantity) -> int | None:
    found = re.search(r"\b[12]\d{3}\b", quantity.text)
    return int(found[0]) if found else None
