"""Ordinals that contradict what the text tells: places, centuries, editions, anniversaries and `the fifth of three`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.anniversaries import ANNUAL, anniversaries, editions
from numerate.apps.consistency.base import finding_at
from numerate.apps.consistency.gates import group_gate
from numerate.apps.consistency.placings import FASTER, STANDINGS, faster_ones, periods, standings
from numerate.apps.consistency.quantities import COUNT, ORDINAL, YEAR, one, slot
from numerate.apps.consistency.sentence_windows import SentenceGroup, sentence_groups
from numerate.apps.consistency.traits import ORDINALS, stems

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numerate.apps.consistency.quantities import Quantity, Sentence
    from numerate.apps.findings import Finding

__all__ = ["ordinal_claims"]

_N = slot("n", ORDINAL)
_GAP = r"[^.;\ue000-\uf8ff]"
_BEHIND = re.compile(r"\bbehind (?P<only>only |just )?")
_ITEM = (
    r"(?:(?:the|his|her|their|[a-z-]+) ){0,4}[A-ZÀ-Ý][\w’'.-]*(?: (?:[A-ZÀ-Ý][\w’'.-]*|of|de|van|von"
    r"|da|dos|al|el|le|la)(?=[ ,.;)]|$))*"
)
_LISTED = re.compile(rf"{_ITEM}(?:, {_ITEM})*(?:,? and {_ITEM})?(?=[ ,.;)]|$)")
_PLACE = re.compile(
    r"\b(?:plac\w*|finish\w*|came|come|took|takes|was|were|is|ended|rank\w*|claim\w*|settled|secured"
    r"|stood|stands|lies|in|for)\b"
)
_OF_FEWER = re.compile(
    rf"\b(?P<art>the |her |his |its |their |a |finished |came |was |placed )?{_N} (?:out )?of (?:the "
    rf"|only |just |all |his |her |their |its )*{slot('c', COUNT)}(?P<behind>(?: [a-z-]+){{1,2}})"
)
_CENTURY_OF = re.compile(
    rf"\b(?:in|from|of|around|circa|dated|by|since) {slot('y', YEAR)},?(?: \(|(?: (?:i\.e\.|that is"
    r"|around|about|roughly|well|into|deep|almost|exactly|precisely|thus|so|and so|still|right|towards?|near"
    r"|at|in|during|late|early|the|mid|middle|end|beginning"
    rf"|start|turn|second|first|{one(ORDINAL)}|half|of|close|very|just)){{1,8}}) ?(?:the )?(?:early "
    rf"|late |mid-?)?{_N}[ -]century"
)
_OF_CENTURY = re.compile(
    rf"{_N}[ -]century(?: \(|, )(?:(?:more |most )?(?:precisely|exactly|specifically|in fact|namely"
    rf"|to be precise)[,:]? )?"
    rf"(?:in |from |around )?{slot('y', YEAR)}(?=[.,;)]|$)"
)
_BUILT = re.compile(
    r"\b(?:built|erected|constructed|completed|begun|founded|painted|written|composed|dates? (?:from"
    r"|back to)|dating from|consecrated|made|carved|cast"
    rf"|rebuilt|printed|laid out|opened|woven|forged|commissioned)\b{_GAP}{{0,45}}?\b(?:in|from|to"
    rf"|around|of|by) {slot('y', YEAR)}"
)
_CENTURY_THING = re.compile(rf"\b(?P<art>the|this|its) {_N}[ -]century (?P<thing>(?:[a-z-]+ )?[a-z]{{4,}})")
_THINGS = frozenset([
    "house", "building", "manor", "church", "chapel", "castle", "mansion", "palace", "villa", "tower", "bridge",
    "mill", "farmhouse", "abbey", "cathedral", "hall", "barn", "inn", "painting", "portrait", "manuscript", "bell",
    "organ", "altarpiece", "tapestry", "fortress", "residence", "structure", "cottage", "lighthouse", "townhouse",
    "garden", "gardens", "fountain", "monument", "temple", "mosque", "synagogue", "monastery", "convent", "novel",
    "opera",
])  # fmt: skip


_THING_CUES = stems("_ ".join(_THINGS) + "_")


def ordinal_claims(text: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    """Findings of a text, by paragraphs with an ordinal."""
    if " points" in text or " pts" in text:
        for sentence in sentences:
            if " p" in sentence.text and any(cue in sentence.text for cue in STANDINGS):
                yield from standings(sentence)
    yield from _by_paragraphs(text, sentences)


@group_gate(ORDINALS[1])
def _by_paragraphs(text: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    for group in sentence_groups(text, sentences):
        those = [each for each in group if _has_ordinal(each)]
        if not those:
            continue
        for sentence in those:
            if "behind" in sentence.text:
                yield from _places(sentence)
            if " of " in sentence.text:
                yield from _of_fewer(sentence)
        joined = group.text
        if any(cue in joined for cue in FASTER):
            yield from faster_ones(group)
        if " quarter" in joined or " half" in joined:
            yield from periods(group, text)
        if "century" in joined:
            yield from _centuries(group)
        if "anniversary" in joined or " year" in joined or "birthday" in joined or "jubilee" in joined:
            yield from anniversaries(group)
        if group.words & _YEARLY:
            lower = " ".join(part.text for part in group).lower()
            if ANNUAL.search(lower):
                yield from editions(group, lower)


_YEARLY = stems("annual every_ each_ yearly once_ without_")
"""What a match of `ANNUAL` has in it."""
_OF_BEHIND = re.compile(r"\s+(?:out\s+)?of\s")
"""What stands behind the ordinal in a match of `_OF`."""
_OF = re.compile(rf"{one(ORDINAL)} (?:out )?of ")


def _has_ordinal(sentence: Sentence) -> bool:
    for numeral in sentence.numerals:  # noqa: SIM110 - this is faster, and most have none
        if numeral.kind == "ordinal":
            return True
    return False


def _places(sentence: Sentence) -> Iterator[Finding]:
    text = sentence.text
    for match in _BEHIND.finditer(text):
        before = [each for each in sentence.quantities if each.end - sentence.offset <= match.start()]
        listed = _LISTED.match(text, match.end())
        if not before or before[-1].group != "ordinal" or listed is None:
            continue
        n = before[-1]
        at = n.start - sentence.offset
        gap = text[n.end - sentence.offset : match.start()]
        if (
            not _PLACE.search(text[max(0, at - 40) : at].lower())
            or not 2 <= n.value <= 12
            or len(gap) > 60
            or "." in gap
        ):
            continue
        items = [each for each in re.split(r",? and |, ", listed[0]) if each]
        count = len(items)
        if (
            n.value == count + 1
            or (not match["only"] and (n.value > count + 1 or count < 2))
            or abs(count + 1 - n.value) > 3
        ):
            continue
        if _AHEAD.match(text, listed.end()) or (not match["only"] and " and " not in listed[0]):
            continue
        yield finding_at("ordinal", n, f"Behind {count} others is place {count + 1}, not {n.text}.", probability=0.87)


_AHEAD = re.compile(r" (?:and|or|in the|who|which|,)? ?(?:ahead|\d)")


def _of_fewer(sentence: Sentence) -> Iterator[Finding]:
    text, offset = sentence.text, sentence.offset
    if not any(_OF_BEHIND.match(text, each.end - offset) for each in sentence.numerals):
        return
    for match in _OF_FEWER.finditer(sentence.skeleton) if _OF.search(sentence.skeleton) else ():
        n, c = sentence.get(match, "n"), sentence.get(match, "c")
        if (
            n.value <= c.value
            or c.value < 2
            or c.hedge
            or (n.text[0].isdigit() and c.unit is not None)
            or c.group != "plain"
        ):
            continue
        if re.match(
            r" (?:january|february|march|april|may|june|july|august|september|october|november|december"
            r"|percent|per)\b",
            match["behind"],
        ):
            continue
        if (
            re.search(r"\b(?:quarter|half|day|week|month|year|century|third|fifth|tenth)s?\b", match["behind"])
            or (match["art"] or "").strip() == "a"
        ):
            continue
        if (
            n.text.lower() in ("third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
            and not match["art"]
        ):
            continue  # a fraction
        yield finding_at("ordinal", n, f"There is no {n.text} of {c.text}.", others=[c], probability=0.87)


def _century(year: float) -> set[int]:
    """The century of a year; the last year of one is often counted to the next."""
    number = int(year)
    return {(number - 1) // 100 + 1, number // 100 + 1}


def _centuries(group: SentenceGroup) -> Iterator[Finding]:
    built: list[tuple[Sentence, Quantity]] = []
    for sentence in group:
        if "century" not in sentence.text.lower():
            continue
        words = sentence.skeleton
        if "century" in words and not re.search(r"\bb\.?c", words):
            for match in (*_CENTURY_OF.finditer(words), *_OF_CENTURY.finditer(words)):
                y, n = sentence.get(match, "y"), sentence.get(match, "n")
                if n.value not in _century(y.value) and 8 <= n.value <= 21:
                    yield _century_finding(n, y)
    if not group.words & _THING_CUES:
        return
    for sentence in group:
        built += [(sentence, sentence.get(match, "y")) for match in _BUILT.finditer(sentence.skeleton)]
    if len({each.value for _, each in built}) != 1:
        return
    where, year = built[0]
    if re.search(
        r"\b(?:rebuilt|site of|replac\w+|older|copy|style|inspired|reconstruct\w+|ruins?|remodel\w+"
        r"|extension|wing|incorporat\w+)\b",
        " ".join(part.skeleton for part in group),
    ):
        return
    for sentence in group:
        for match in _CENTURY_THING.finditer(sentence.skeleton):
            n, things = sentence.get(match, "n"), match["thing"].split()
            thing = next((each for each in things if each in _THINGS), None)
            if (
                thing is None
                or n.value in _century(year.value)
                or not 8 <= n.value <= 21
                or abs(n.value - year.value // 100) > 3
            ):
                continue
            if sentence is where and match.start() < sentence.skeleton.find("built"):
                continue
            if re.search(rf"\b{thing}", where.skeleton) or thing in ("building", "structure", "residence"):
                yield _century_finding(n, year)


def _century_finding(n: Quantity, year: Quantity) -> Finding:
    real = (int(year.value) - 1) // 100 + 1
    return finding_at(
        "ordinal", n, f"The year {year.text} is in century {real}, not the {n.text}.", others=[year], probability=0.88
    )
