"""Anniversaries and editions whose number does not fit the years that the paragraph tells."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.sentence_windows import RELATIVE
from numerate.apps.consistency.sentences.slots import NO_NUMBER, ORDINAL, YEAR, slot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["ANNUAL", "anniversaries", "editions", "event_anniversaries", "named_anniversaries"]

_N = slot("n", ORDINAL)
_FIRST = regex(
    rf"(?:{slot('o', ORDINAL)} (?:held|staged|run|took place|organi[sz]ed|awarded|celebrated|published"
    r"|contested|hosted|edition)|\b(?:inaugurated|launched|founded|began|started)"
    r"|\binaugural (?:edition|race|festival|event)|held (?:annually |every year |each year "
    rf"|yearly )?since|(?:annual|yearly|annually|every year|each year) since){NO_NUMBER}{{0,40}}?(?:in "
    rf"|since )?{slot('y', YEAR)}"
)
ANNUAL = regex(
    r"\b(?:annual|annually|every (?:single )?(?:year|summer|spring|autumn|winter|september|may|june|july|august)"
    r"|each (?:year|summer|spring|autumn|winter)|yearly|once a year|without (?:a )?(?:break|interruption|fail))\b"
)
_GAPS = regex(
    r"\b(?:except|interrupt\w*|pandemic|covid\w*|cancel\w*|war|wars|missed|miss|not held|suspended|paused|skipped|gap"
    r"|biennial|biennale|two years|other year|hiatus|revived|again|online|postponed|twice|apart from)\b"
)
_NEVER = regex(
    r"\bwithout (?:a )?(?:break|interruption|fail)\b|\bnever (?:missed|been (?:cancelled|skipped))\b"
    r"|\bevery (?:single )?year since\b|\bhas taken place every\b"
)
_EDITION = regex(
    rf"{_N}(?: annual)?(?: [a-z]+)? ?(?:edition|festival|running|race|run|fair|conference|meeting"
    r"|congress|show|time|tournament|marathon|symposium|regatta|event)?,?(?: \(|(?: (?:is|was|will|be|takes"
    r"|took|place|planned|due|to|held|run)){0,4} (?:in|of|for|held in"
    rf"|is in))? ?{slot('b', YEAR)}"
    rf"|\bin {slot('c', YEAR)}(?:,|:)?{NO_NUMBER}{{0,40}}?\b(?:the|its"
    rf"|their) {slot('m', ORDINAL)}(?: annual)?(?: [a-z]+)? (?:edition|festival|running|race|run|fair"
    r"|conference|meeting|show|tournament|marathon|time)\b"
)
_ANNIVERSARY = regex(
    rf"(?:{_N}(?:[ -][a-z]+)? (?P<what>anniversary|birthday|jubilee)"
    rf"|\b(?:in|enters|entering|entered|now in|marks) (?:its|their) {slot('m', ORDINAL)} (?P<year>year))\b"
)
_BEGUN = regex(
    r"\b(?:opened|founded|born|established|formed|incorporated|launched|built|inaugurated|created|completed|started"
    r"|married|wed|began|begun|set up|signed|unveiled|consecrated|released|chartered|introduced|first)\b"
)
_OTHER_YEAR = regex(
    r"\b(?:late|belated\w*|postponed|year (?:early|late|after)|before|after|until|since then|delayed|moved)\b"
)


_CLAIM_CUES = ("anniversary", "birthday", "jubilee", " year")
_NAMED = tuple(
    (count, regex(rf"\b(?:its|their|our) (?:{names})\b"))
    for count, names in (
        (25, r"silver (?:jubilee|wedding|anniversary)"),
        (50, r"golden (?:jubilee|wedding|anniversary)"),
        (60, r"diamond (?:jubilee|wedding|anniversary)"),
        (100, r"centenary|centennial"),
        (150, r"sesquicentennial"),
        (200, r"bi-?(?:centenary|centennial)"),
        (300, r"(?:ter|tri)(?:centenary|centennial)"),
    )
)
"""Anniversaries whose name is their number of years."""
_PERSONS = regex(r"\b(?:born|birth|died|death)\b")


def anniversaries(group: list[Sentence]) -> Iterator[Finding]:
    """`founded in 1985 ... its 30th anniversary in 2005`: with the sentence before or behind it."""
    for index, sentence in enumerate(group):
        low = sentence.text.lower()
        if not any(map(low.__contains__, _CLAIM_CUES)):
            continue
        claims = [*_ANNIVERSARY.finditer(sentence.skeleton)]
        if len(claims) != 1:
            continue
        n = sentence.get(claims[0], "n" if claims[0]["n"] else "m")
        for window in ([sentence], group[max(0, index - 1) : index + 1], group[index : index + 2]):
            years = {year: None for part in window for each in part.quantities if (year := _year_of(each)) is not None}
            words = " ".join(part.skeleton for part in window)
            if len(years) < 2:
                continue
            if len(window) > 1 and (
                _begun_in(window) != min(years)
                or (claims[0].start() and _WHOSE.search(sentence.skeleton[: claims[0].start()]))
            ):
                continue
            if len(years) > 2 or not _BEGUN.search(words) or _OTHER_YEAR.search(words) or RELATIVE.search(words):
                break
            real = max(years) - min(years)
            if (
                real in (n.value, n.value - 1 if claims[0]["year"] else n.value)
                or n.value < 2
                or sum(len([*_ANNIVERSARY.finditer(part.skeleton)]) for part in window) != 1
            ):
                break
            if (
                claims[0]["what"] == "jubilee"
                or abs(real - n.value) > 0.6 * max(real, n.value)
                or _is_today(window, max(years))
            ):
                break
            message = f"From {min(years)} to {max(years)} are {real} years, not {n.text}."
            yield finding_at("ordinal", n, message, meant=float(real), probability=0.88)
            break


_OF_EVENT = regex(
    rf"{_N} anniversary of [^.;,\ue000-\uf8ff]{{0,60}}?(?: (?:in|of|from) | \()(?:[a-z]+ )?{slot('y', YEAR)}"
)


def event_anniversaries(group: list[Sentence]) -> Iterator[Finding]:
    """`In 2025 the 75th anniversary of the end of the war in 1945`: the year of the event stands right behind it."""
    for sentence in group:
        if "anniversary of" not in sentence.skeleton or RELATIVE.search(sentence.skeleton):
            continue
        years = {year for each in sentence.quantities if (year := _year_of(each)) is not None}
        claims = [*_OF_EVENT.finditer(sentence.skeleton)]
        if len(years) != 2 or len(claims) != 1 or _OTHER_YEAR.search(sentence.skeleton):
            continue
        n, y = sentence.slots(claims[0], "ny")
        real = max(years) - min(years)
        if y.value != min(years) or real == n.value or n.value < 2 or abs(real - n.value) > 0.6 * max(real, n.value):
            continue
        message = f"From {min(years)} to {max(years)} are {real} years, not {n.text}."
        yield finding_at("ordinal", n, message, meant=float(real), probability=0.87)


def named_anniversaries(group: list[Sentence]) -> Iterator[Finding]:
    """`founded in 1898, it celebrated its centenary in 1988`: in one sentence with two years."""
    for sentence in group:
        low = sentence.text.lower()
        named = [count for count, pattern in _NAMED if pattern.search(low)]
        years = {year: each for each in sentence.quantities if (year := _year_of(each)) is not None}
        if len(named) != 1 or len(years) != 2 or not _BEGUN.search(sentence.skeleton):
            continue
        if _OTHER_YEAR.search(sentence.skeleton) or RELATIVE.search(sentence.skeleton) or _PERSONS.search(low):
            continue
        (first, last), (count,) = sorted(years), named
        if last - first == count or abs(last - first - count) > 0.6 * count or _begun_in([sentence]) != first:
            continue
        message = f"From {first} to {last} are {last - first} years, not {count}."
        begun, said = years[first], years[last]
        yield finding_at("ordinal", said, message, meant=float(first + count), others=[begun], probability=0.86)


_WHOSE = regex(r"['’]s (?:[a-z]+ )?$")


def _begun_in(window: list[Sentence]) -> int | None:
    """The one year in which something is said to have begun."""
    found = set()
    for part in window:
        for each in part.quantities:
            before = part.text[max(0, each.start - part.offset - 40) : each.start - part.offset].lower()
            if _year_of(each) is not None and _BEGUN.search(before):
                found.add(_year_of(each))
    return found.pop() if len(found) == 1 else None


def _is_today(window: list[Sentence], last: int) -> bool:
    """Whether the later year is that of something else that is built or opened."""
    for part in window:
        for each in part.quantities:
            if _year_of(each) == last:
                before = part.text[max(0, each.start - part.offset - 40) : each.start - part.offset].lower()
                if re.search(
                    r"\b(?:built|founded|established|completed|released|created|opened|formed|since)\b[^,]*$", before
                ):
                    return True
    return False


def _year_of(quantity: Quantity) -> int | None:
    if quantity.group == "year":
        return int(quantity.value) if quantity.value >= 1000 else None
    found = re.search(r"\b[12]\d{3}\b", quantity.text) if quantity.group == "date" else None
    return int(found[0]) if found else None


def editions(group: list[Sentence], words: str) -> Iterator[Finding]:
    """`held every year since 2010 ... the 8th edition, in 2018`; `words` are those of the paragraph, in lower case."""
    if (_GAPS.search(words) and not _NEVER.search(words)) or re.search(
        r"\bevery (?:two|three|four|five|second|other|third)\b", words
    ):
        return
    firsts: dict[float, Quantity] = {}
    for sentence in group:
        for match in _FIRST.finditer(sentence.skeleton):
            if not match["o"] or sentence.get(match, "o").value == 1:
                firsts[sentence.get(match, "y").value] = sentence.get(match, "y")
    told = []
    for sentence in group:
        for match in _EDITION.finditer(sentence.skeleton):
            n, y = (
                (sentence.get(match, "n"), sentence.get(match, "b"))
                if match["n"]
                else (sentence.get(match, "m"), sentence.get(match, "c"))
            )
            if n.value > 1:
                told.append((n, y))
    if len(firsts) != 1 or len(told) != 1:
        return
    first, (n, year) = next(iter(firsts.values())), told[0]
    real = year.value - first.value + 1
    if (
        real < 2
        or real == n.value
        or n.value < 2
        or abs(real - n.value) > 0.6 * max(real, n.value)
        or year.start == first.start
    ):
        return
    if n.value < real - 1 and not _NEVER.search(words):
        return  # some may have been left out
    if re.search(r"\b(?:anniversary|birthday|century)\b", words):
        return
    message = f"With one a year since {first.text}, that of {year.text} is number {round(real)}, not {n.text}."
    yield finding_at("ordinal", n, message, meant=real, others=[first, year], probability=0.87)
