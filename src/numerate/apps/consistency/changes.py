"""Changes: two values and what is said about the way from one to the other, in percent, points, units or factors.

A change has a pair (`from 50 to 65`, `to 65 from 50`, `65, compared with 50`) and a claim (`rose 10 %`, `a gain of 15`,
`doubled`). Both are looked for on their own and joined if nothing but words stands between them, so that every claim
may stand before, inside or behind every pair.
"""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, NamedTuple

from numerate.apps.consistency.base import finding_at, plain, written_like
from numerate.apps.consistency.quantities import COUNT, DATED, MONEY, ORDINAL, PERCENT, UNIT, YEAR, one, slot
from numerate.numerals.unit_factors import dimension_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numerate.apps.consistency.quantities import Quantity, Sentence
    from numerate.apps.findings import Finding

__all__ = ["Change", "change_findings", "changes_of"]

_VALUE = COUNT + MONEY + UNIT + PERCENT
_A, _B, _C = slot("a", _VALUE), slot("b", _VALUE), slot("c", _VALUE)
_TIME = one(YEAR + DATED + ORDINAL)
_GAP = rf"(?:[^;:()\ue000-\uf8ff]|{_TIME}|\((?:in |at )?{_TIME}\))"
_LEAD = r"(?:[a-z$€£'’.-]+ ){0,6}?"

_RISE = (
    r"increases?|rises?|growth|gains?|jumps?|improvement|advance|surge|climb|widening|uptick|expansion|hike|addition"
    r"|premium|raise|upturn|boost"
)
_DROP = (
    r"declines?|drops?|decreases?|falls?|reduction|loss|cuts?|discount|dip|slump|saving|savings|shrinkage|contraction"
    r"|plunge|slide|downturn|markdown|shortfall"
)
_KIND = rf"{_RISE}|{_DROP}|change|difference|swing|gap|shift|margin|move"
_UP = (
    r"rose|risen|rising|rises|grew|grown|growing|grows|climb(?:ed|ing|s)|increas(?:ed|ing|es)|jump(?:ed|ing|s)|soar(?:ed|ing)"
    r"|surg(?:ed|ing)|gain(?:ed|ing|s)|improv(?:ed|ing|es)|advanc(?:ed|ing)|expand(?:ed|ing)|went up|going up|up|rais(?:ed|ing)"
    r"|lift(?:ed|ing)|widen(?:ed|ing)|add(?:ed|ing)|warmed|boost(?:ed|ing)|swell(?:ed|ing)|swelled|higher"
)
_DOWN = (
    r"fell|fallen|falling|falls|drop(?:ped|ping|s)|declin(?:ed|ing|es)|decreas(?:ed|ing|es)|shrank|shrunk|shrinking|slid"
    r"|sliding|plung(?:ed|ing)|tumbl(?:ed|ing)|sank|sunk|reduc(?:ed|ing|es)|cut|cutting|went down|going down|down|lost|losing"
    r"|dipp(?:ed|ing)|slipp(?:ed|ing)|lower(?:ed|ing)|eas(?:ed|ing)|narrow(?:ed|ing)|cooled|shed|contract(?:ed|ing)|slashed"
    r"|trimmed|shorten(?:ed|ing)|lower"
)
_MOVED = rf"{_UP}|{_DOWN}|changed|moved|went"
_MORE = r"more|higher|greater|larger|above|better|bigger|longer|heavier|taller|faster|older|wider|deeper|hotter|warmer"
_LESS = r"less|lower|fewer|smaller|below|shorter|lighter|cheaper|under|younger|slower|narrower|cooler|colder"
_WORDS_UP = re.compile(rf"(?:{_RISE}|{_UP}|{_MORE})")
_WORDS_DOWN = re.compile(rf"(?:{_DROP}|{_DOWN}|{_LESS})")
# Words that say only that it became more or less, so that a change into the other direction is a slip.
_PLAINLY = re.compile(
    r"(?:rose|risen|grew|grown|climbed|increased|jumped|soared|surged|rise|increase|growth)|"
    r"(?P<down>fell|fallen|dropped|declined|decreased|shrank|plunged|tumbled|sank|decline|drop|decrease)"
)
_HEDGE = (
    r"(?:(?:about|around|approximately|roughly|nearly|almost|over|some|only|just|more than|less than|at least|a|an|the"
    r"|under|close to|well over|just over|just under|up to|as much as|another|a further|a total of|a whopping) )*"
)
_POINTS = r"(?P<points>[ -](?:percentage[ -])?points?\b| basis points?\b| pp\b)?"
_FOLD = r"(?P<fold>-?fold\b| times\b)?"

_PAIRS = [
    ("from ", re.compile(rf"\bfrom {_LEAD}{_A}(?P<gap>{_GAP}{{0,45}}?)\b(?:to|into) {_LEAD}{_B}")),
    (" from ", re.compile(rf"\bto {_LEAD}{_B}(?P<gap>{_GAP}{{0,45}}?)\b(?:from|compared (?:with|to)|against|versus"
                          rf"|vs\.?) {_LEAD}{_A}")),
    ("compared ", re.compile(rf"{_B}(?P<gap>{_GAP}{{0,45}}?)\bcompared (?:with|to) {_LEAD}{_A}")),
    ("against ", re.compile(rf"{_B}(?P<gap>{_GAP}{{0,45}}?)\bagainst {_LEAD}{_A}")),
    ("versus ", re.compile(rf"{_B}(?P<gap>{_GAP}{{0,45}}?)\bversus {_LEAD}{_A}")),
    (" vs", re.compile(rf"{_B}(?P<gap>{_GAP}{{0,45}}?)\bvs\.? {_LEAD}{_A}")),
    ("up from ", re.compile(rf"{_B}(?P<gap>{_GAP}{{0,30}}?)\bup from {_LEAD}{_A}")),
    ("down from ", re.compile(rf"{_B}(?P<gap>{_GAP}{{0,30}}?)\bdown from {_LEAD}{_A}")),
]  # fmt: skip
_AND = re.compile(rf"{_A}(?P<gap>{_GAP}{{0,50}}?\band {_GAP}{{0,40}}?){_B}(?=, an? (?:{_KIND}) of )")
"""`was 82 kg on admission and 74 kg at discharge, a loss of 8 kg`."""

_CLAIM = (
    rf"(?:(?:an? |the )?(?:[a-z-]+ )?(?P<w1>{_KIND}) of {_HEDGE}{slot('c1', _VALUE)}"
    rf"|an? (?:[a-z-]+ )?{slot('c2', _VALUE)}(?P<points2>[ -](?:percentage[ -])?points?\b)?"
    rf"[ -]?(?:[a-z-]+ ){{0,2}}?(?P<w2>{_KIND})\b"
    rf"|\b(?P<w3>{_MOVED}) (?:by )?{_HEDGE}{slot('c3', _VALUE)}"
    rf"|{slot('c4', _VALUE)}(?: [a-z]+)? (?P<w4>{_MORE}|{_LESS})\b)"
)
_LEAD_IN = r"(?:(?:or|i\.e\.,?|that is,?|which is|which was|representing|equivalent to|corresponding to|meaning|marking|thus|for|with|a total|equal to|giving|this is|it was|by) )*"
_AFTER = re.compile(
    rf"(?P<far>{_GAP}{{0,40}}?)(?:,|;| \(| –| —| -|:)? ?{_LEAD_IN}(?:{_CLAIM}{_POINTS}{_FOLD}"
    rf"|(?P<bare>\(|by |or |i\.e\.,? |that is,? |, )(?:by )?{_HEDGE}{slot('c5', _VALUE)}(?P<points3>[ -](?:percentage[ -])?points?\b)?(?=(?: [a-z]+)?(?:[.,;)]|$)| (?:more|less|in all)))"
)
_BEFORE = re.compile(rf"{_CLAIM}{_POINTS}{_FOLD}(?P<far>(?:[^;:()\ue000-\uf8ff]|{_TIME}|(?<=the ){one(COUNT)}){{0,40}}?),? ?\(?$")
_BEFORE_BARE = re.compile(
    rf"\b(?P<w3>{_MOVED})(?: [a-z]+){{0,2}} by {_HEDGE}{slot('c3', _VALUE)}{_POINTS}{_FOLD}(?P<far>(?:[^;:()\ue000-\uf8ff]|{_TIME}){{0,40}}?),? ?\(?$"
)
# `65, up 30 % from 50`, `65, or 30 % more than 50`, `65, a 30 % rise over 50`.
_MIDDLE = re.compile(
    rf"{_B}(?P<far>{_GAP}{{0,40}}?)(?:,|;| \(| –| —| -|\b(?:is|was|are|were)) ?{_LEAD_IN}{_CLAIM}{_POINTS}{_FOLD}(?P<between>(?: [a-z]+){{0,2}}?)"
    rf" (?:from|over|on|than|compared (?:with|to)|against|above|below|relative to) {_LEAD}{_A}"
)
_BETWEEN = re.compile(
    rf"\b(?P<w1>{_KIND}|spread|distance|interval) between {_LEAD}{_A}(?P<far>{_GAP}{{0,40}}?)\band {_LEAD}{_B}{_GAP}{{0,40}}?"
    rf"\b(?:is|was|of|equals|amounts to|comes to|came to|being) {_HEDGE}{slot('c1', _VALUE)}{_POINTS}"
)
# `which stood at 4,000 in January, fell 25 % to 3,000`
_STOOD = re.compile(
    rf"\b(?:which|that|who) (?:was|were|stood at|had been|numbered|totall?ed) {_HEDGE}{_A}(?P<far>{_GAP}{{0,30}}?),"
    rf" (?P<w3>{_MOVED}) (?:by )?{_HEDGE}{slot('c3', _VALUE)}{_POINTS} to {_LEAD}{_B}"
)
_FACTORS = {
    "doubl": 2.0, "tripl": 3.0, "trebl": 3.0, "quadrupl": 4.0, "quintupl": 5.0, "halv": 0.5, "twofold": 2.0, "threefold": 3.0,
    "fourfold": 4.0, "fivefold": 5.0, "tenfold": 10.0,
}  # fmt: skip
_FACTOR_WORD = (
    r"(?P<hedge>more than |nearly |almost |about |roughly |over |at least |approximately |virtually |practically |not |some |around |well over |less than |only )*"
    r"\b(?P<factor>doubl|tripl|trebl|quadrupl|quintupl|halv|twofold|threefold|fourfold|fivefold|tenfold)(?:ed|ing|es|s|e)?\b"
)
_FACTOR_BEFORE = re.compile(rf"{_FACTOR_WORD}(?P<far>[^;:()\ue000-\uf8ff]{{0,40}}?),? ?\(?$")
_FACTOR_AFTER = re.compile(rf"(?P<far>{_GAP}{{0,30}}?)(?:,| \(| –| -) ?(?:or |thus |i\.e\.,? |more or less )?{_FACTOR_WORD}")
_HALF = re.compile(rf"\b(?P<w3>{_MOVED}) by (?P<hedge>more than |nearly |almost |about |roughly |over )?(?:an? |one )?(?P<part>half|quarter)(?P<far>[^;:()\ue000-\uf8ff]{{0,40}}?),? ?\(?$")
_BREAK = re.compile(
    r"\b(?:while|whereas|but|although|though|as|after|which|who|whose|when|because|despite|excluding|driven|including|even|within"
    r"|since(?! (?:[a-z]+ )?[\ue000-\ue009])|before|where|per|than|then|until|and\b(?! (?:by|thus|so|fell|rose)\b)|with\b(?! an?\b)|sales|profits?|revenue|followed|respectively|averages? (?:of|for)|among|each"
    r"|on sales|in line|index|ahead|expected|forecast)\b|\. "
)
_BREAK_PAIR = re.compile(
    r"\b(?:while|whereas|but|although|though|which|who|whose|when|because|despite|excluding|including|respectively|than)\b|\. "
)


class Change(NamedTuple):
    """Two values of a sentence and a claim about the change from the first to the second.

    Attributes:
        a: The first value.
        b: The second value.
        c: What is claimed, in percent, points, units, or as a fraction; None for a word such as `doubled`.
        sign: 1 for a rise, -1 for a drop, 0 if the words do not say.
        points: Whether the claim is in points.
        factor: What the second value is in terms of the first; None without such a claim.
        word: The verb or noun of the claim.
        hedge: The words before a factor.
    """

    a: Quantity
    b: Quantity
    c: Quantity | None
    sign: int
    points: bool = False
    factor: float | None = None
    word: str = ""
    hedge: str = ""


def changes_of(sentence: Sentence) -> Iterator[Change]:
    """All changes that a sentence claims.

    Example:
        >>> from numerate.apps.consistency.quantities import Sentence
        >>> from numerate.reading import find
        >>> text = "Sales rose 10 % from 50 to 65 units."
        >>> [(each.a.value, each.b.value, each.c.value, each.sign) for each in changes_of(Sentence(text, 0, find(text)))]
        [(50.0, 65.0, 0.1, 1)]
    """
    skeleton = sentence.skeleton
    for cue, pattern in _PAIRS:
        if cue not in skeleton:
            continue
        for match in pattern.finditer(skeleton):
            if _BREAK_PAIR.search(match["gap"]):
                continue
            yield from _around(sentence, match)
    if " of " in skeleton:
        for match in _AND.finditer(skeleton):
            yield from _around(sentence, match, only_after=True)
    for cue, pattern in ((" between ", _BETWEEN), (", ", _STOOD)):
        for match in pattern.finditer(skeleton) if cue in skeleton else ():
            if not _BREAK.search(match["far"]):
                yield _change(sentence, match, sentence.get(match, "a"), sentence.get(match, "b"))
    for match in _MIDDLE.finditer(skeleton) if _has_middle(skeleton) else ():
        if not _BREAK.search(match["far"]) and not _BREAK.search(match["between"]):
            yield _change(sentence, match, sentence.get(match, "a"), sentence.get(match, "b"))


def _has_middle(skeleton: str) -> bool:
    return any(
        cue in skeleton for cue in (" from ", " over ", " on ", " than ", " against ", " above ", " below ", "compared ")
    )


def _around(sentence: Sentence, pair: re.Match[str], only_after: bool = False) -> Iterator[Change]:
    """Claims right before and right behind a pair."""
    skeleton = sentence.skeleton
    a, b = sentence.get(pair, "a"), sentence.get(pair, "b")
    before = skeleton[max(0, pair.start() - 110) : pair.start()]
    found, is_way = False, pair[0].startswith(("from", "to"))
    if not is_way and a.group == "percent":
        return  # `growth of 2 %, against 5 % and 1.5 %`
    for pattern in () if only_after else (_BEFORE, _BEFORE_BARE):
        match = pattern.search(before)
        if match is not None and not _BREAK.search(match["far"]):
            if not is_way and "," in match["far"]:
                continue
            found = True
            yield _change(sentence, match, a, b)
            break
    match = _AFTER.match(skeleton, pair.end())
    if match is not None and not _BREAK.search(match["far"]) and not (found and match["bare"]):
        change = _change(sentence, match, a, b)
        if match["bare"] != ", " or (change.c is not None and change.c.group == "percent"):
            yield change
    if only_after:
        return
    for match in (_FACTOR_BEFORE.search(before), _FACTOR_AFTER.match(skeleton, pair.end()), _HALF.search(before)):
        if match is not None and not _BREAK.search(match["far"]):
            groups = match.groupdict()
            if "part" in groups:
                part = 0.5 if groups["part"] == "half" else 0.25
                sign = -1 if _WORDS_DOWN.fullmatch(groups["w3"]) else 1
                yield Change(a, b, None, sign, False, 1 + sign * part, f"{groups['w3']} by a {groups['part']}", groups["hedge"] or "")
            else:
                factor = _FACTORS[groups["factor"]]
                yield Change(a, b, None, 1 if factor > 1 else -1, False, factor, groups["factor"] + "ed", groups["hedge"] or "")


def _change(sentence: Sentence, match: re.Match[str], a: Quantity, b: Quantity) -> Change:
    groups = match.groupdict()
    name = next(name for name in ("c1", "c2", "c3", "c4", "c5") if groups.get(name))
    word = next((groups[key] for key in ("w1", "w2", "w3", "w4") if groups.get(key)), "")
    sign = 1 if _WORDS_UP.fullmatch(word) else -1 if _WORDS_DOWN.fullmatch(word) else 0
    points = any(groups.get(key) for key in ("points", "points2", "points3"))
    c = sentence.get(match, name)
    fold = groups.get("fold")
    factor = c.value if fold else None
    if " than " in match[0] or " over " in match[0]:
        a = dataclasses.replace(a, before="", _hedge="")  # `20 % more than 500` is no hedge
    return Change(a, b, c, sign, points, factor, word, match[0])


def change_findings(sentence: Sentence, wanted: str) -> Iterable[Finding]:
    """Findings of the rule `percent` (percent, points, factors) or `difference` (absolute changes)."""
    for change in sentence.cached("changes", lambda each: list(changes_of(each))):
        found = _judged(sentence, change)
        if found is not None and found.rule == wanted:
            yield found


def _judged(sentence: Sentence, change: Change) -> Finding | None:
    a, b, c = change.a, change.b, change.c
    if a.start == b.start or (c is not None and c.start in (a.start, b.start)) or not _alike(a, b):
        return None
    if change.factor is not None:
        return _factor(change)
    if c is None:
        return None
    if a.group == "percent" and (change.points or c.group != "percent"):
        return _points(sentence, change)
    if change.points and c.group == "percent":
        return None
    if c.group == "percent":
        return _percent(sentence, change)
    if c.unit is None and 0 < c.value < 1 and c.text[:1].isalpha():
        return _percent(sentence, change)
    return _difference(sentence, change)


def _alike(a: Quantity, b: Quantity) -> bool:
    if (a.group == "percent") != (b.group == "percent"):
        return False
    return a.comparable(b) or (a.unit is None and a.group == "plain" and b.unit is not None and b.group == "unit")


def _percent(sentence: Sentence, change: Change) -> Finding | None:
    a, b, p = change.a, change.b, change.c
    assert p is not None
    if a.value <= 0 or b.value <= 0 or a.value == b.value:
        return None
    asked = (change.sign or 1) * abs(p.value)
    real = b.value / a.value - 1
    slack = p.half + 0.002
    if p.group != "percent":
        slack = 0.02
    # A wrong direction is a slip only where the word says nothing but more or less.
    told = _PLAINLY.fullmatch(change.word)
    ways = (asked,) if told and change.sign and abs(real) > slack else (asked, -asked)
    if any(_change_fits(a, b, way, slack, p.hedge) for way in ways):
        return None
    if a.group == "percent" and abs(abs(b.value - a.value) - abs(p.value)) <= p.slack + a.slack + b.slack:
        return None  # points, loosely
    if abs(real) > 5 or (abs(asked) > 1 and abs(real) < 0.01):
        return None
    if _explained(sentence, change, lambda one_, other: _change_fits(one_, other, asked, slack)):
        return None
    meant = written_like(p, abs(real)) if p.group == "percent" else f"{abs(real):.0%}"
    message = f"From {a.text} to {b.text} is {'+' if real >= 0 else '-'}{meant}, not {p.text}."
    if len(ways) == 1 and _change_fits(a, b, -asked, slack):
        message = f"From {a.text} to {b.text} is {'more' if real > 0 else 'less'}, but the text says {change.word!r}."
    return finding_at("percent", p, message, meant=abs(real) if p.group == "percent" else None, others=[a, b])


def _change_fits(a: Quantity, b: Quantity, asked: float, slack: float, hedge: str = "") -> bool:
    """Whether the change may be the one that is asked for, with both values and the claim rounded."""
    if a.value <= a.slack or b.value < 0:
        return False
    low = (b.value - _blur(b)) / (a.value + _blur(a)) - 1 - slack
    high = (b.value + _blur(b)) / (a.value - _blur(a)) - 1 + slack
    # `more than 30 %` may be 39 %, `nearly 30 %` may be 27 %.
    least, most = {"over": (0.97, 1.35), "under": (0.8, 1.03), "about": (0.85, 1.15)}.get(hedge, (1.0, 1.0))
    ends = sorted((asked * least, asked * most))
    return low <= ends[1] and ends[0] <= high


def _blur(quantity: Quantity) -> float:
    """How far a value may be off: counts are exact, whole amounts of money nearly so, the others rounded."""
    if quantity.hedge or quantity.half != 0.5:
        return quantity.slack
    if quantity.unit is None:
        return 0.0 if quantity.value < 1000 else min(quantity.last_place / 2, 0.005 * quantity.value)
    return 0.25 if quantity.group == "money" else 0.5


def _explained(sentence: Sentence, change: Change, fits: object) -> bool:
    """Whether the claim fits two other values of the sentence."""
    values = [
        each for each in sentence.quantities if each is not change.c and each.group == change.b.group and each.value > 0
    ]
    if len(values) > 12:
        return True
    return any(
        fits(one_, other)  # type: ignore[operator]
        for one_ in values
        for other in values
        if one_ is not other and {one_.start, other.start} != {change.a.start, change.b.start} and one_.comparable(other)
    )


def _points(sentence: Sentence, change: Change) -> Finding | None:
    a, b, p = change.a, change.b, change.c
    assert p is not None
    if p.unit is not None and p.group != "percent":
        return None
    scale = 1.0 if p.group == "percent" else 100.0
    if "basis" in change.hedge:
        scale = 10_000.0
    points = scale * abs(b.value - a.value)
    if p.hedge in ("over", "under") or not change.points:
        return None
    if abs(points - p.value) <= p.slack + scale * (a.half + b.half) + 1e-9:
        return None
    if _explained(sentence, change, lambda x, y: abs(scale * abs(x.value - y.value) - p.value) <= p.slack + 1e-9):
        return None
    message = f"From {a.text} to {b.text} are {written_like(p, points)} points, not {p.text}."
    return finding_at("percent", p, message, meant=points, others=[a, b])


def _factor(change: Change) -> Finding | None:
    a, b, factor = change.a, change.b, change.factor
    if a.value <= 0 or b.value <= 0 or factor is None or factor <= 0 or a.hedge or b.hedge:
        return None
    if change.c is not None and (change.sign < 0 or change.word in ("", "went") or factor < 1.5):
        return None
    real, hedge = b.value / a.value, change.hedge
    low, high = factor / 1.12, factor * 1.12
    if change.c is not None:
        low, high = factor / 1.16, (factor + 1) * 1.12  # `three times more` may be four times as much
    elif "not " in hedge or "less" in hedge or "only" in hedge:
        return None
    elif "more than" in hedge or "over" in hedge or "at least" in hedge:
        low, high = (factor / 1.03, factor * 1.6) if factor > 1 else (factor / 2.5, factor * 1.03)
    elif hedge:
        low, high = factor / 1.3, factor * 1.2
        if factor < 1:
            low, high = factor / 1.2, factor * 1.3
    if low <= real <= high or not 0.05 < real < 50:
        return None
    if change.c is not None and real > factor * 4:
        return None
    word = f"{change.c.text} times" if change.c is not None else change.word
    message = f"From {a.text} to {b.text} is a factor of {plain(real)}, which is not {word}."
    return finding_at("percent", b, message, meant=a.value * factor, others=[a])


def _difference(sentence: Sentence, change: Change) -> Finding | None:
    a, b, d = change.a, change.b, change.c
    assert d is not None
    same = b.comparable(d) or (a.unit is None and b.unit is None and d.group == "unit" and dimension_name(d.unit or "") != "time")
    if d.unit == "°" and dimension_name(b.unit or "") == "temperature":
        same = True
    if not same or b.group == "percent" or d.value <= 0 or d.hedge in ("over", "under"):
        return None
    real = abs(b.value - a.value)
    free = change.word in _COMPARING or "than" in change.hedge
    slacks = [each.half if free else each.slack for each in (a, b)]
    slack = sum(slacks) + d.slack
    exact = all(each.half == 0.5 and (free or not each.hedge) for each in (a, b)) and d.half == 0.5 and not d.hedge
    if exact and a.unit is None and b.unit is None:
        slack = max(each.last_place for each in (a, b, d)) / 2 if min(a.value, b.value) >= 1000 else 0.0
        slack = 0.0 if slack < 50 else slack / 1.01
    if abs(real - d.value) <= slack * 1.0001 or real == 0:
        return None
    if d.value > 4 * real or real > 5 * d.value:
        return None  # it is about something else
    if _explained(sentence, change, lambda x, y: abs(abs(x.value - y.value) - d.value) <= x.half + y.half - 0.999):
        return None
    message = f"The difference of {a.text} and {b.text} is {written_like(d, real)}, not {d.text}."
    return finding_at("difference", d, message, meant=real, others=[a, b])


_COMPARING = frozenset(f"{_MORE}|{_LESS}".split("|"))
