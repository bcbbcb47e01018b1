"""Places and periods that contradict what stands beside them.

`Only A, B and C were faster ... fifth`; `second with 71 points behind City, who have 68`; `the third quarter (April to
June)` of a calendar year.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at
from numerate.apps.consistency.dates.calendar_words import MONTHS
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import COUNT, ORDINAL, UNIT, slot
from numerate.apps.consistency.sentences.traits import cues, stems

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["STANDINGS", "faster_ones", "periods", "standings"]

_FASTER = (
    "further", "farther", "faster", "ahead", "quicker", "better", "higher", "before ", "in front", "beaten by",
    "beat her", "beat him", "eaten only by", " more", "er than", "est",
)  # fmt: skip
STANDINGS = ("behind", "ahead of", "in front of", "trail", "clear of")
_NAME = (
    r"(?:(?:the|his|her|their|fellow|defending|[a-z-]+) ){0,4}[A-ZÀ-Ý][\w’'.-]*(?: (?:[A-ZÀ-Ý][\w’'.-]*"
    r"|[a-z-]+(?<! and)(?= [A-ZÀ-Ý])|of|de|van|von|da))*(?: \([^)]*\))?"
)
_LIST = rf"(?P<list>{_NAME}(?:, {_NAME})*(?:,? and {_NAME})?)"
_DID = (
    r"(?:were|was|are|is|finished|ran|swam|rode|came|had|scored|did|placed|crossed|jumped|threw|went|skied|drove|got"
    r"|managed|collected|ended|posted|recorded|clocked)"
)
_BETTER_WORDS = (
    "longer", "larger", "bigger", "taller", "older", "deeper", "heavier", "more", "richer", "faster", "ahead",
    "quicker", "better", "higher", "before", "in front", "further", "farther", "stronger",
)  # fmt: skip
_BETTER = rf"(?:{'|'.join(_BETTER_WORDS)})"
_BETTER_CUES = cues(*(f" {each} " for each in _BETTER_WORDS))
_ONLY = regex(rf"\b(?:Only|Just|only|just) {_LIST} (?:{_DID}|have|has|[a-z]{{4,}})\b[^.;\d]{{0,25}}?\b{_BETTER}\b")
_BEATEN_CUES = stems("beaten_ bettered_ preceded_ surpassed_ outscored_ topped_ headed_ exceeded_ behind_ after_")
_BEATEN = regex(
    rf"\b(?:beaten|bettered|preceded|surpassed|outscored|topped|headed"
    rf"|exceeded)(?:,? [a-z]+)? only by {_LIST}(?=[.;,]|$)"
    rf"|,? (?:behind|after) (?:only )?(?P<list2>{_NAME} \([^)]*\)(?:, {_NAME})*,? and {_NAME})(?=[.;]|$)"
)
_COUNTED = regex(
    r"\b(?:[Oo]nly |[Jj]ust |[Tt]he )?(?P<n>(?i:one|two|three|four|five|six|seven|eight|nine|ten)) (?:other )?"
    r"(?P<who>rivals?|riders?|runners?|others?|swimmers?|skiers?|drivers?|boats?|crews?|teams?|athletes|men"
    r"|women|people"
    rf"|competitors?|players?|entrants?|sprinters?|climbers?|cars?|clubs?|candidates?|girls|boys)"
    rf"(?:, [^.;,\d]{{3,50}},)? {_DID}"
    rf"\b[^.;,\d]{{0,20}}?\b{_BETTER}\b"
)
_WHO_CUES = stems(
    "rival rider runner other swimmer skier driver boat crew team athlete men_ women_ people_ competitor player "
    "entrant sprinter climber car_ cars_ club candidate girl boys_"
)
"""What a match of `_COUNTED` has."""
_NUMBERS = {word: n for n, word in enumerate("one two three four five six seven eight nine ten".split(), 1)}  # noqa: SIM905
_TIES = regex(
    r"\b(?:tie[ds]?|tying|equal|joint\w*|shared?|dead heat|disqualif\w+|relegat\w+|penalt\w+|overall|group|heat|stage"
    r"|age|category|class|junior|among|half|lap|start\w*|standings|qualif\w+|yesterday|last year|in \d{4})\b"
)
_PLACED = regex(
    r"\b(?:finish\w*|came|come|plac\w+|crossed the line|took|takes|ended(?: up)?|rank\w*|was|is|were|are|in|home|for"
    rf"|meant|earned|settle\w*|claim\w*|lies|stands|stood|left)(?: (?:up|in|her|him|them|the|a|only|home|with"
    rf"|for|to))*"
    rf" {slot('n', ORDINAL)}(?! (?:time|year|day|goal|round|lap|set|attempt|century|title|win|race|season|half|minute"
    r"|half|jump|run|heat|stage|start|grade|edition|consecutive))"
    rf"|\bthe {slot('m', ORDINAL)}[ -](?:largest|biggest|longest|tallest|highest|oldest|deepest|richest|fastest"
    rf"|heaviest"
    r"|most [a-z]+)\b"
)


def faster_ones(group: list[Sentence]) -> Iterator[Finding]:
    """A place that does not follow the number of those who were better."""
    for index, sentence in enumerate(group):
        text, has = sentence.text, sentence.words
        if not has & (_BETTER_CUES | _BEATEN_CUES) or not any(map(text.__contains__, _FASTER)):
            continue
        claims = [*_ONLY.finditer(text)] if has & _BETTER_CUES and ("nly " in text or "ust " in text) else []
        claims += _COUNTED.finditer(text) if has & _BETTER_CUES and has & _WHO_CUES else ()
        claims += _BEATEN.finditer(text) if has & _BEATEN_CUES and ("nly by " in text or "(" in text) else ()
        if len(claims) != 1:
            continue
        claim = claims[0]
        window = group[max(0, index - 1) : index + 2]
        near = [sentence] if _PLACED.search(sentence.skeleton) else [each for each in window if each is not sentence]
        placed = [
            (part, match)
            for part in near
            for match in _PLACED.finditer(part.skeleton)
            if part.get(match, "n" if match["n"] else "m").value > 1  # `in her first final`
        ]
        if len(placed) != 1 or _TIES.search(
            " ".join(part.text for part in {id(each): each for each in (sentence, placed[0][0])}.values())
            .replace("no one sharing", "")
            .replace("No one shared", "")
        ):
            continue
        part, match = placed[0]
        n = part.get(match, "n" if match["n"] else "m")
        names = claim.re.groupindex
        listed = "" if "n" in names else claim["list"] or claim["list2" if "list2" in names else "list"]
        count = _NUMBERS[claim["n"].lower()] if "n" in names else len(_items(listed))
        if not 2 <= n.value <= 15 or n.value == count + 1 or abs(n.value - count - 1) > 3:
            continue
        if n.start >= sentence.offset + claim.start() and n.end <= sentence.offset + claim.end():
            continue
        message = f"With {count} in front, the place is number {count + 1}, not {n.text}."
        yield finding_at("ordinal", n, message, probability=0.87, expected=count + 1)


def _items(listed: str) -> list[str]:
    return [each for each in re.split(r",? and |, ", listed) if each]


_P, _Q = slot("p", COUNT + UNIT), slot("q", COUNT + UNIT)
_HAS = r"(?:,? (?:who|which) (?:have|has|are on|is on|sit on|had)|,? (?:on|with|at|now on|has|have)| \()"
_UNLIKE = regex(
    r"\b(?:penalty|per|average|games? in hand|deducted|deduction|behind by|points? behind|demerit|strokes|each|last"
    r"|season's|more|fewer|percentage|in (?:the )?\d{4}|lowest|fault|faults)\b"
)
_BEHIND = regex(
    rf"\b(?:on|with|have|has|collected|\() ?{_P}(?: points| pts)?[^.;\ue000-\uf8ff]{{0,50}}?"
    rf"(?:{slot('n', ORDINAL)}[^.;\ue000-\uf8ff]{{0,30}}?)?\b(?P<side>behind|trail(?:ing|s)?|ahead of|in front of"
    rf"|clear of|lead(?:s|ing)?) (?:[\w’'.-]+ ){{0,4}}?[\w’'.-]+?{_HAS} ?{_Q}(?P<tail>[^\ue000-\uf8ff]{{0,20}})"
)
_PLACE_BEHIND = regex(
    rf"{slot('n', ORDINAL)}[^.;\ue000-\uf8ff]{{0,30}}?\b(?:on|with|\() ?{_P}(?: points"
    rf"| pts)?[^.;\ue000-\uf8ff]{{0,20}}?"
    rf"\b(?P<side>behind|ahead of"
    rf"|in front of) (?:[\w’'.-]+ ){{0,4}}?[\w’'.-]+?{_HAS} ?{_Q}(?P<tail>[^\ue000-\uf8ff]{{0,20}})"
)


def standings(sentence: Sentence) -> Iterator[Finding]:
    """`United, on 71 points, are second behind City, who have 68`: the one in front has fewer points."""
    words = sentence.skeleton
    if _UNLIKE.search(words):
        return
    for match in (*_BEHIND.finditer(words), *_PLACE_BEHIND.finditer(words)):
        p, q = sentence.slots(match, "pq")
        if "points" not in match[0] + match["tail"] and " pts" not in match[0] + match["tail"]:
            continue
        if re.match(r" (?:games|matches|wins|goals|minutes|rounds|seconds|years|laps|percent)", match["tail"]):
            continue
        is_behind = match["side"].startswith(("behind", "trail"))
        if p.value == q.value or (p.value < q.value) == is_behind or p.hedge or q.hedge or min(p.value, q.value) < 10:
            continue
        if max(p.value, q.value) > 3 * min(p.value, q.value):
            continue
        front, back = (q, p) if is_behind else (p, q)
        message = f"The one in front has {front.text}, fewer than {back.text}."
        yield finding_at("ordinal", q, message, others=[p], probability=0.85)
        return


_MONTH = (
    r"(?P<{0}>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_PERIOD = regex(
    r"\b(?:(?P<n>first|second|third|fourth|last|1st|2nd|3rd|4th) (?P<what>quarter|half)|q(?P<q>[1-4])|h(?P<h>[12]))\b"
    r"(?: of (?:the (?:calendar )?year|\d{4}|the year)| \d{4})?(?:,? \(| ?,? (?:from|between|i\.e\.|that is)|,|:) ?"
    rf"{_MONTH.format('a')}(?: \d{{4}})? ?(?:to|until|through|till|and|–|—|-) ?{_MONTH.format('b')}\b"
)
_PLACES = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4}


def periods(group: list[Sentence], text: str) -> Iterator[Finding]:
    """Quarters and halves of another number of months, or not those of a calendar year that the text names."""
    told: list[tuple[Quantity, int, int, int]] = []
    for sentence in group:
        for match in _PERIOD.finditer(sentence.text.lower()):
            length = 3 if match["q"] or match["what"] == "quarter" else 6
            count = 12 // length
            place = int(match["q"] or match["h"] or 0) or _PLACES.get(match["n"], count)
            begin, end = (MONTHS.index(match[name][:3]) for name in "ab")
            at = sentence.offset + match.start()
            number = next((each for each in sentence.quantities if at - 1 <= each.start <= at + 8), None)
            if place > count or number is None:
                continue
            if (end - begin) % 12 + 1 != length:
                if abs((end - begin) % 12 + 1 - length) < 3 and "and" not in match[0]:
                    message = f"From {match['a']} to {match['b']} are {(end - begin) % 12 + 1} months, not {length}."
                    yield finding_at("ordinal", number, message, probability=0.85)
                continue
            told.append((number, place, begin, length))
    if not told:
        return
    low = text.lower()
    is_fiscal = re.search(r"\b(?:fiscal|financial year|fy ?\d|business year|marketing year)", low) is not None
    shifts = {(begin - (place - 1) * length) % 12 for _, place, begin, length in told}
    if is_fiscal or ("calendar" not in low and (len(shifts) < 2 or 0 not in shifts)):
        return
    for number, place, begin, length in told:
        if (begin - (place - 1) * length) % 12:
            message = f"These months are number {begin // length + 1} of the calendar year, not {number.text}."
            if begin % length == 0:
                yield finding_at("ordinal", number, message, probability=0.85)
