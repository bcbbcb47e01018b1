"""Ordinals that contradict what the text tells: places, centuries, editions, anniversaries and `the fifth of three`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at
from numerate.apps.consistency.dates.anniversaries import (
    ANNUAL,
    anniversaries,
    editions,
    event_anniversaries,
    named_anniversaries,
)
from numerate.apps.consistency.dates.calendar_claims import century_spans
from numerate.apps.consistency.dates.placings import STANDINGS, faster_ones, periods, standings
from numerate.apps.consistency.sentences.gates import group_gate
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.sentence_windows import SentenceGroup, sentence_groups
from numerate.apps.consistency.sentences.slots import COUNT, NO_NUMBER, ORDINAL, YEAR, one, slot
from numerate.apps.consistency.sentences.traits import ORDINALS, stems

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["ordinal_claims"]

_N = slot("n", ORDINAL)
_BEHIND = regex(r"\bbehind (?P<only>only |just )?")
_ITEM = (
    r"(?:(?:the|his|her|their|[a-z-]+) ){0,4}[A-ZÀ-Ý][\w’'.-]*(?: (?:[A-ZÀ-Ý][\w’'.-]*|of|de|van|von"
    r"|da|dos|al|el|le|la)(?=[ ,.;)]|$))*"
)
_LISTED = regex(rf"{_ITEM}(?:, {_ITEM})*(?:,? and {_ITEM})?(?=[ ,.;)]|$)")
_PLACE = regex(
    r"\b(?:plac\w*|finish\w*|came|come|took|takes|was|were|is|ended|rank\w*|claim\w*|settled|secured"
    r"|stood|stands|lies|in|for)\b"
)
_OF_FEWER = regex(
    rf"\b(?P<art>the |her |his |its |their |a |finished |came |was |placed )?{_N} (?:out )?of (?:the "
    rf"|only |just |all |his |her |their |its )*{slot('c', COUNT)}(?P<behind>(?: [a-z-]+){{1,2}})"
)
_CENTURY_OF = regex(
    rf"\b(?:in|from|of|around|circa|dated|by|since) {slot('y', YEAR)},?(?: \(|(?: (?:i\.e\.|that is"
    r"|around|about|roughly|well|into|deep|almost|exactly|precisely|thus|so|and so|still|right|towards?|near"
    r"|at|in|during|late|early|the|mid|middle|end|beginning"
    rf"|start|turn|second|first|{one(ORDINAL)}|half|of|close|very|just)){{1,8}}) ?(?:the )?(?:early "
    rf"|late |mid-?)?{_N}[ -]century"
)
_OF_CENTURY = regex(
    rf"{_N}[ -]century(?: \(|, )(?:(?:more |most )?(?:precisely|exactly|specifically|in fact|namely"
    rf"|to be precise)[,:]? )?"
    rf"(?:in |from |around )?{slot('y', YEAR)}(?=[.,;)]|$)"
)
_BUILT = regex(
    r"\b(?:built|erected|constructed|completed|begun|founded|painted|written|composed|dates? (?:from"
    r"|back to)|dating from|consecrated|made|carved|cast"
    rf"|rebuilt|printed|laid out|opened|woven|forged|commissioned)\b{NO_NUMBER}{{0,45}}?\b(?:in|from|to"
    rf"|around|of|by) {slot('y', YEAR)}"
)
_BUILT_CUES = stems(
    "built_ erected_ constructed_ completed_ begun_ founded_ painted_ written_ composed_ date dating_ consecrated_ "
    "made_ carved_ cast_ rebuilt_ printed_ laid_ opened_ woven_ forged_ commissioned_"
)
"""What a match of `_BUILT` has in it."""
_CENTURY_THING = regex(rf"\b(?P<art>the|this|its) {_N}[ -]century (?P<thing>(?:[a-z-]+ )?[a-z]{{4,}})")
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
    yield from _by_names(text, sentences)
    yield from century_spans(text, sentences)


@group_gate(stems("centen bicenten bi_ tercenten tricenten sesquicenten jubilee wedding"))
def _by_names(text: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    del text
    yield from named_anniversaries(list(sentences))


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
            if (
                len(sentence.numerals) > 1
                and sentence.words & _FIELD_CUES
                and any(map(sentence.text.__contains__, (" of ", "among ", "mong the", "Of ")))
            ):
                yield from _beyond(sentence)
        joined = group.text
        yield from faster_ones(group)
        if " quarter" in joined or " half" in joined:
            yield from periods(group, text)
        if "century" in joined:
            yield from _centuries(group)
        if "anniversary" in joined or " year" in joined or "birthday" in joined or "jubilee" in joined:
            yield from list(anniversaries(group)) or event_anniversaries(group)
        if group.words & _YEARLY:
            lower = " ".join(part.text for part in group).lower()
            if ANNUAL.search(lower):
                yield from editions(group, lower)


_YEARLY = stems("annual every_ each_ yearly once_ without_")
"""What a match of `ANNUAL` has in it."""
_OF_BEHIND = regex(r"\s+(?:out\s+)?of\s")
"""What stands behind the ordinal in a match of `_OF`."""
_OF = regex(rf"{one(ORDINAL)} (?:out )?of ")


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


_AHEAD = regex(r" (?:and|or|in the|who|which|,)? ?(?:ahead|\d)")


def _of_fewer(sentence: Sentence) -> Iterator[Finding]:
    text, offset = sentence.text, sentence.offset
    if not any(_OF_BEHIND.match(text, each.end - offset) for each in sentence.numerals):
        return
    for match in _OF_FEWER.finditer(sentence.skeleton) if _OF.search(sentence.skeleton) else ():
        n, c = sentence.slots(match, "nc")
        if (
            n.value <= c.value
            or c.value < 2
            or c.hedge
            or (n.text[0].isdigit() and c.unit is not None)
            or c.group != "plain"
        ):
            continue
        if re.match(
            r" (?:january|february|march|april|may|june|july|august|september|october|november|december|percent|per)\b",
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


_FIELD = regex(
    r"\b(?:league|field|division|group|table|class|grid|list|ranking|line-up|pool|championship|series|heat|squad) of "
    rf"(?:only |just )?{slot('c', COUNT)}(?: [a-z]+)?"
    rf"|\b(?:out of|of|among|from)(?: the| all| our)*? {slot('e', COUNT)} (?:[a-z-]+ )?(?P<who>teams|clubs"
    rf"|countries|runners"
    r"|riders|cities|towns|schools|entries|entrants|starters|boats|crews|players|drivers|cars|athletes|competitors"
    r"|nations"
    r"|candidates|participants|districts|regions|universities|swimmers|skiers|contestants|firms|companies|states)\b"
)
_FIELD_CUES = stems(
    "league_ field_ division_ group_ table_ class_ grid_ list_ ranking_ line-up_ pool_ championship_ series_ heat_ "
    "squad_ teams_ clubs_ countries_ runners_ riders_ cities_ towns_ schools_ entries_ entrants_ starters_ boats_ "
    "crews_ players_ drivers_ cars_ athletes_ competitors_ nations_ candidates_ participants_ districts_ regions_ "
    "universities_ swimmers_ skiers_ contestants_ firms_ companies_ states_"
)
"""What a match of `_FIELD` has."""
_RANKED = regex(
    r"\b(?:finish\w*|came|come|plac\w+|ended(?: up)?|rank\w*|is|was|lies|stands|stood|comes|sits|slipped to|fell to)"
    rf"(?: (?:only|just|a|in|home|up|lowly|poor|well))* {_N}(?! [a-z]*(?:time|year|season|title|century"
    rf"|goal|round))"
)


def _beyond(sentence: Sentence) -> Iterator[Finding]:
    """`ended 14th in a league of 12 teams`: a place that the field does not have."""
    words = sentence.skeleton
    fields = [*_FIELD.finditer(words)]
    places = [*_RANKED.finditer(words)] if len(fields) == 1 else []
    if len(places) != 1:
        return
    c, n = sentence.get(fields[0], "c" if fields[0]["c"] else "e"), sentence.get(places[0], "n")
    if (
        n.value > c.value > 2
        and not c.hedge
        and not c.text[0].isupper()
        and c.group == "plain"
        and n.value < 10 * c.value
    ):
        yield finding_at("ordinal", n, f"There is no {n.text} of {c.text}.", others=[c], probability=0.87)


_OTHER_TIME = regex(
    r"\b(?:since|earlier|later|previous\w*|style|until|inspired|rebuilt|replac\w+|older|origin\w*|copy|ruins?|early"
    r"|late"
    r"|turn of|relic|tradition|from the|by the|back to|into the|through|between|and (?:early|late)|despite"
    r"|unlike|model\w*"
    r"|remain\w*|survive\w*|restor\w+|again|collection|end of|begin\w*|[\ue007]. (?:and|or|to|century and))\b|–"
)


_YEARS_LATER = regex(r"[\ue000-\ue009].(?: years?)? later\b")
_ONE_OF_CENTURY = regex(
    r"\b(?:one of|among|most|typical|makes?|works?|examples?|masterpieces?|decades?|year|child|product|half)\b"
    rf"[^.;\ue000-\uf8ff]{{0,50}}?\bof (?:the )?{_N}[ -]century"
)


_AMONG_CENTURY = regex(
    rf"\b(?:one of|among|makes? it an?|making it an?) (?:the |its |our )?(?:[a-z-]+ ){{0,3}}?{_N}[ -]century\b"
)


def _years_of_century(sentence: Sentence) -> Iterator[Finding]:
    """Years of one century and the name of another: `built in 1762, among the finest of the 17th century`."""
    words = sentence.skeleton
    found = [*_ONE_OF_CENTURY.finditer(words), *_AMONG_CENTURY.finditer(words)]
    years = [each for each in sentence.quantities if each.group == "year" and each.value >= 1000]
    if re.search(rf"\([^)]*{one(YEAR)}", words):
        return  # a reference
    if len(found) != 1 or not years or words.count("century") != 1 or _OTHER_TIME.search(_YEARS_LATER.sub("", words)):
        return
    n = sentence.get(found[0], "n")
    if all(
        abs(n.value - (int(each.value) - 1) // 100 - 1) == 1 and n.value not in _century(each.value) for each in years
    ):
        yield _century_finding(n, years[0])


def _century(year: float) -> set[int]:
    """The century of a year; the last year of one is often counted to the next."""
    number = int(year)
    return {(number - 1) // 100 + 1, number // 100 + 1}


def _centuries(group: SentenceGroup) -> Iterator[Finding]:
    built: list[tuple[Sentence, Quantity]] = []
    for sentence in group:
        if len(sentence.numerals) < 2 or "century" not in sentence.text.lower():
            continue  # a year is compared with a century
        words = sentence.skeleton
        if "century" in words and not re.search(r"\bb\.?c", words):
            for match in (*_CENTURY_OF.finditer(words), *_OF_CENTURY.finditer(words)):
                y, n = sentence.slots(match, "yn")
                if n.value not in _century(y.value) and 8 <= n.value <= 21:
                    yield _century_finding(n, y)
            yield from _years_of_century(sentence)
    if not group.words & _THING_CUES:
        return
    for sentence in group:
        if sentence.words & _BUILT_CUES:
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
