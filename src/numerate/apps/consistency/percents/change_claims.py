"""Changes: two values and what is said about the way from one to the other, in percent, points, units or factors.

A change has a pair (`from 50 to 65`, `to 65 from 50`, `65, compared with 50`) and a claim (`rose 10 %`, `a gain of 15`,
`doubled`). Both are looked for on their own and joined if nothing but words stands between them, so that every claim
may stand before, inside or behind every pair.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, NamedTuple

from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import COUNT, DATED, ORDINAL, UNIT, VALUE, YEAR, one, slot

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence

__all__ = ["COMPARING", "PLAINLY", "Change", "changes_of"]

_A, _B, _C = slot("a", VALUE), slot("b", VALUE), slot("c", VALUE)
_TIME = one(YEAR + DATED + ORDINAL)
_GAP = rf"(?:[^;:()\ue000-\uf8ff]|{_TIME}|\((?:in |at )?{_TIME}\)|(?:(?<= in )|(?<= over )|(?<= within )){one(UNIT)})"
_LEAD = r"(?:[a-z$€£'’.-]+ ){0,6}?"

_RISE = (
    r"increases?|rises?|growth|gains?|jumps?|improvement|advance|surge|climb|widening|uptick|expansion|hike|addition"
    r"|premium|raise|upturn|boost|overrun|overspend|surplus|excess|profit"
)
_DROP = (
    r"declines?|drops?|decreases?|falls?|reduction|loss|cuts?|discount|dip|slump|saving|savings|shrinkage|contraction"
    r"|plunge|slide|downturn|markdown|shortfall|underspend"
)
_KIND = rf"{_RISE}|{_DROP}|change|difference|swing|gap|shift|margin|move"
_UP = (
    r"rose|risen|rising|rises|grew|grown|growing|grows|climb(?:ed|ing|s)|increas(?:ed|ing|es)|jump(?:ed|ing|s)"
    r"|soar(?:ed|ing)|surg(?:ed|ing)|gain(?:ed|ing|s)|improv(?:ed|ing|es)|advanc(?:ed|ing)|expand(?:ed|ing)|went up"
    r"|going up|up|rais(?:ed|ing)|lift(?:ed|ing)|widen(?:ed|ing)|add(?:ed|ing)|warmed|boost(?:ed|ing)|swell(?:ed|ing)"
    r"|swelled|higher"
)
_DOWN = (
    r"fell|fallen|falling|falls|drop(?:ped|ping|s)|declin(?:ed|ing|es)|decreas(?:ed|ing|es)|shrank|shrunk|shrinking"
    r"|slid|sliding|plung(?:ed|ing)|tumbl(?:ed|ing)|sank|sunk|reduc(?:ed|ing|es)|cut|cutting|went down|going down|down"
    r"|lost|losing|dipp(?:ed|ing)|slipp(?:ed|ing)|lower(?:ed|ing)|eas(?:ed|ing)|narrow(?:ed|ing)|cooled|shed"
    r"|contract(?:ed|ing)|slashed|trimmed|shorten(?:ed|ing)|lower"
)
_MOVED = rf"{_UP}|{_DOWN}|changed|moved|went"
_MORE = r"more|higher|greater|larger|above|better|bigger|longer|heavier|taller|faster|older|wider|deeper|hotter|warmer"
_LESS = r"less|lower|fewer|smaller|below|shorter|lighter|cheaper|under|younger|slower|narrower|cooler|colder"
_WORDS_UP = regex(rf"(?:{_RISE}|{_UP}|{_MORE})")
_WORDS_DOWN = regex(rf"(?:{_DROP}|{_DOWN}|{_LESS})")
# Words that say only that it became more or less, so that a change into the other direction is a slip.
PLAINLY = regex(
    r"(?:rose|risen|grew|grown|climbed|increased|jumped|soared|surged|rise|increase|growth)|"
    r"(?P<down>fell|fallen|dropped|declined|decreased|shrank|plunged|tumbled|sank|decline|drop|decrease)"
)
COMPARING = frozenset(f"{_MORE}|{_LESS}".split("|"))
"""Words that compare two values: `more`, `shorter`."""
_HEDGE = (
    r"(?:(?:about|around|approximately|roughly|nearly|almost|over|some|only|just|more than|less than|at least|a|an|the"
    r"|under|close to|well over|just over|just under|up to|as much as|another|a further|a total of|a whopping) )*"
)
_POINTS = r"(?P<points>[ -](?:percentage[ -])?points?\b| basis points?\b| pp\b)?"
_FOLD = r"(?P<fold>-?fold\b| times\b)?"

_PAIRS = [
    ("from ", regex(rf"\bfrom {_LEAD}{_A}(?P<gap>{_GAP}{{0,45}}?)\b(?:to|into) {_LEAD}{_B}")),
    (" from ", regex(rf"\bto {_LEAD}{_B}(?P<gap>{_GAP}{{0,45}}?)\b(?:from|compared (?:with|to)|against|versus"
                          rf"|vs\.?) {_LEAD}{_A}")),
    ("compared ", regex(rf"{_B}(?P<gap>{_GAP}{{0,45}}?)\bcompared (?:with|to) {_LEAD}{_A}")),
    ("against ", regex(rf"{_B}(?P<gap>{_GAP}{{0,45}}?)\bagainst {_LEAD}{_A}")),
    ("versus ", regex(rf"{_B}(?P<gap>{_GAP}{{0,45}}?)\bversus {_LEAD}{_A}")),
    (" vs", regex(rf"{_B}(?P<gap>{_GAP}{{0,45}}?)\bvs\.? {_LEAD}{_A}")),
    ("up from ", regex(rf"{_B}(?P<gap>{_GAP}{{0,30}}?)\bup from {_LEAD}{_A}")),
    ("down from ", regex(rf"{_B}(?P<gap>{_GAP}{{0,30}}?)\bdown from {_LEAD}{_A}")),
]  # fmt: skip
_CHANGE_OF = regex(rf", an? (?:{_KIND}) of ")
_AND = regex(rf"{_A}(?P<gap>{_GAP}{{0,50}}?\band {_GAP}{{0,40}}?){_B}(?=, an? (?:{_KIND}) of )")
"""`was 82 kg on admission and 74 kg at discharge, a loss of 8 kg`."""

_CLAIM = (
    rf"(?:(?:an? |the )?(?:[a-z-]+ )?(?P<w1>{_KIND}) of {_HEDGE}{slot('c1', VALUE)}"
    rf"|an? (?:[a-z-]+ )?{slot('c2', VALUE)}(?P<points2>[ -](?:percentage[ -])?points?\b)?"
    rf"[ -]?(?:[a-z-]+ ){{0,2}}?(?P<w2>{_KIND})\b"
    rf"|\b(?P<w3>{_MOVED}) (?:by )?{_HEDGE}{slot('c3', VALUE)}"
    rf"|{slot('c4', VALUE)}(?: [a-z]+)? (?P<w4>{_MORE}|{_LESS}|off)\b)"
)
_LEAD_IN = (
    r"(?:(?:or|i\.e\.,?|that is,?|which is|which was|representing|equivalent to|corresponding to|meaning"
    r"|marking|thus|for|with|a total|equal to|giving|this is|it was|by|is|was|now) )*"
)
_AFTER = regex(
    rf"(?P<far>{_GAP}{{0,40}}?)(?:,| \(| –| —| -)? ?{_LEAD_IN}(?:{_CLAIM}{_POINTS}{_FOLD}"
    rf"|(?P<bare>\(|by |or |i\.e\.,? |that is,? |equals |amounts to |represents |corresponds to |means "
    rf"|, )(?:by )?{_HEDGE}{slot('c5', VALUE)}(?P<points3>[ -](?:"
    r"percentage[ -])?points?\b)?(?=(?: [a-z]+)?(?:[.,;)]|$)| (?:more|less|in all|in total|altogether)))"
)
_BEFORE = regex(
    rf"{_CLAIM}{_POINTS}{_FOLD}(?P<far>(?:[^;:()\ue000-\uf8ff]|{_TIME}|(?<=the ){one(COUNT)}){{0,40}}?),? ?\(?$"
)
_BEFORE_BARE = regex(
    rf"\b(?P<w3>{_MOVED})(?: [a-z]+){{0,2}} by {_HEDGE}{slot('c3', VALUE)}{_POINTS}{_FOLD}(?P<far>(?:[^;:("
    rf")\ue000-\uf8ff]|{_TIME}){{0,40}}?),? ?\(?$"
)
# `65, up 30 % from 50`, `65, or 30 % more than 50`, `65, a 30 % rise over 50`.
_MIDDLE = regex(
    rf"{_B}(?P<far>{_GAP}{{0,40}}?)(?:,|;| \(| –| —| -|\b(?:is|was|are"
    rf"|were)) ?{_LEAD_IN}{_CLAIM}{_POINTS}{_FOLD}(?P<between>(?: [a-z]+){{0,2}}?)"
    rf" (?:from|over|on|than|compared (?:with|to)|against|above|below|relative to) {_LEAD}{_A}"
)
_BETWEEN = regex(
    rf"\b(?P<w1>{_KIND}|spread|distance|interval) between {_LEAD}{_A}(?P<far>{_GAP}{{0,40}}?)\band {_LEAD}"
    rf"{_B}{_GAP}{{0,40}}?"
    rf"\b(?:is|was|of|equals|amounts to|comes to|came to|being) {_HEDGE}{slot('c1', VALUE)}{_POINTS}"
)
# `the spread of 3.1 points is the difference between 7.4 and 4.3`
_BETWEEN_BEHIND = regex(
    rf"{slot('c1', VALUE)}{_POINTS}(?: [a-z]+)?(?: is| was|,| –| -| being| =)+ (?:an? |the )?(?P<w1>difference|gap"
    rf"|spread)"
    rf" between {_LEAD}{_A}(?P<far>{_GAP}{{0,40}}?)\band {_LEAD}{_B}"
)
# `which stood at 4,000 in January, fell 25 % to 3,000`
_STOOD = regex(
    rf"\b(?:which|that|who) (?:was|were|stood at|had been|numbered|totall?ed) {_HEDGE}{_A}(?P<far>{_GAP}{{0,30}}?),"
    rf" (?P<w3>{_MOVED}) (?:by )?{_HEDGE}{slot('c3', VALUE)}{_POINTS} to {_LEAD}{_B}"
)
_OTHER_PAIRS = (
    ((" between ",), _BETWEEN), ((" between ",), _BETWEEN_BEHIND), (("which ", "that ", "who "), _STOOD),
)  # fmt: skip
_FACTORS = {
    "doubl": 2.0, "tripl": 3.0, "trebl": 3.0, "quadrupl": 4.0, "quintupl": 5.0, "halv": 0.5, "twofold": 2.0,
    "threefold": 3.0, "fourfold": 4.0, "fivefold": 5.0, "tenfold": 10.0,
}  # fmt: skip
_FACTOR_WORD = (
    r"(?P<hedge>more than |nearly |almost |about |roughly |over |at least |approximately |virtually "
    r"|practically |not |some |around |well over |less than |only )*"
    r"\b(?P<factor>doubl|tripl|trebl|quadrupl|quintupl|halv|twofold|threefold|fourfold|fivefold"
    r"|tenfold)(?:ed|ing|es|s|e)?\b"
)
_FACTOR_BEFORE = regex(rf"{_FACTOR_WORD}(?P<far>[^;:()\ue000-\uf8ff]{{0,40}}?),? ?\(?$")
_CALLED = regex(r" [a-z-]+s from ")
"""Behind `doubled` at the begin of a further pair: `doubled digits from 0.47 to 0.29`."""
_ADJECTIVE = regex(
    r"(?:[,;:(] ?|^|\b(?:the|of|with|these|those|for|in|no|and|or|as) )(?:doubl|tripl|halv|quadrupl)ed "
    r"(?!(?:in|over|from|to|its|their|his|her|our|the|an?|within|between|on|by|since|again|every|at|this|that|both|all"
    r"|and|or|output|sales|revenues?|profits?|production|capacity)\b)[a-z-]+ (?:[a-z]+ )?$"
)
"""`exchanged digits from 0.3 to 0.2, doubled digits from 0.47 to 0.29`: what is called doubled did not double."""
_FACTOR_AFTER = regex(rf"(?P<far>{_GAP}{{0,30}}?)(?:,| \(| –| -) ?(?:or |thus |i\.e\.,? |more or less )?{_FACTOR_WORD}")
_HALF = regex(
    rf"\b(?P<w3>{_MOVED}) by (?P<hedge>more than |nearly |almost |about |roughly |over )?(?:an? "
    r"|one )?(?P<part>half|quarter)(?! of an? | an? |[ -](?:percentage[ -])?points?\b)"
    r"(?P<far>[^;:()\ue000-\uf8ff]{0,40}?),? ?\(?$"
)
_BREAK = regex(
    r"\b(?:while|whereas|but|although|though|as|after|which|who|whose|when|because|despite|excluding|driven|including"
    r"|even|within|since(?! (?:[a-z]+ )?[\ue000-\ue009])|before|where|per|than|then|until|and\b(?! (?:by|thus|so|fell"
    r"|rose)\b)|with\b(?! an?\b)|sales|profits?|revenue|followed|respectively|averages? (?:of|for)|among|each|on sales"
    r"|in line|comparable|same-store|constant|organic|like-for-like|underlying|basis|index|ahead|expected|forecast)\b"
    r"|\. "
)
_OTHER_BASE = regex(r" (?:than|normal|averages?|usual|expect|the|its|last|that|zero|freezing|sea)\b")
_EFFECT = regex(
    r"(?<!which )(?<!that )(?<!this )\b(?:gives?|gave|yields?|yielded|incurs?|incurred|leads? to|led to"
    r"|results? in|resulted in|causes?|caused|brings?|brought|produces?|produced)\b"
)
"""`raising the number from 120 to 240 gives a performance rise of 8 %`: the change of another thing."""
_OTHER_SUBJECT = regex(r", (?:the|its|their|his|her|our|this|these|average|total) [a-z]")
_IN_ALL = regex(r" (?:in all|in total|altogether|more|less)\b")
_BASE = regex(r"\bfrom (?:[a-z]+ ){0,3}$")
_BREAK_PAIR = regex(
    r"\b(?:while|after|once|before|whereas|but|although|though|which|who|whose|when|because|despite|excluding|including"
    r"|respectively|than)\b|\. "
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
        >>> from numerate.apps.consistency.sentences.sentences import Sentence
        >>> from numerate.reading import find
        >>> text = "Sales rose 10 % from 50 to 65 units."
        >>> found = changes_of(Sentence(text, 0, find(text)))
        >>> [(each.a.value, each.b.value, each.c.value, each.sign) for each in found]
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
    if _CHANGE_OF.search(skeleton):
        for match in _AND.finditer(skeleton):
            yield from _around(sentence, match, only_after=True)
    for cues, pattern in _OTHER_PAIRS:
        for match in pattern.finditer(skeleton) if any(map(skeleton.__contains__, cues)) else ():
            if not _BREAK.search(match["far"].replace(" and ", " ")):
                change = _change(sentence, match, sentence.get(match, "a"), sentence.get(match, "b"))
                if pattern is not _STOOD and change.c is not None and change.c.group == "percent" != change.a.group:
                    continue  # `the gap between widths of 128 and 512 is 0.5 %`
                yield change
    for match in _MIDDLE.finditer(skeleton) if _has_middle(skeleton) else ():
        if " and " in skeleton[match.end("between") : match.start("a")]:
            continue  # `10 over the year and 20 since 1984`
        if not _BREAK.search(match["far"]) and not _BREAK.search(match["between"]):
            yield _change(sentence, match, sentence.get(match, "a"), sentence.get(match, "b"))


def _has_middle(skeleton: str) -> bool:
    cues = (" from ", " over ", " on ", " than ", " against ", " above ", " below ", "compared ")
    return any(map(skeleton.__contains__, cues))


def _around(sentence: Sentence, pair: re.Match[str], only_after: bool = False) -> Iterator[Change]:
    """Claims right before and right behind a pair."""
    skeleton = sentence.skeleton
    a, b = sentence.slots(pair, "ab")
    before = skeleton[max(0, pair.start() - 110) : pair.start()]
    found, is_way = False, pair[0].startswith(("from", "to"))
    if not is_way and _BASE.search(before):
        return  # `rose 9 % from 10 in December, compared with 13`
    if not is_way and a.group == "percent":
        return  # `growth of 2 %, against 5 % and 1.5 %`
    for pattern in () if only_after else (_BEFORE, _BEFORE_BARE):
        match = pattern.search(before)
        if match is not None and not _BREAK.search(match["far"]):
            # `fell by 7 %, resulting in a surge of imports from 5 to 9`: another thing changed.
            behind = match["far"].rpartition(",")[2].split() if "," in match["far"] else []
            if (not is_way and "," in match["far"]) or len(behind) > 2:
                continue
            found = True
            yield _change(sentence, match, a, b)
            break
    match = _AFTER.match(skeleton, pair.end())
    if match is not None and not _BREAK.search(match["far"]) and not (found and match["bare"]):
        if _EFFECT.search(match["far"]) or (a.value < b.value and " error reduction" in match[0]):
            return
        if match["w3"] and _OTHER_SUBJECT.search(match["far"]):
            return  # `as the factor rose from 5 to 10, the number of steps dropped 27 %`
        if match["w4"] and _OTHER_BASE.match(skeleton, match.end()):
            return  # `fell from 18 to 7, 5 below normal`
        change = _change(sentence, match, a, b)
        joined = match["bare"] == ", " or (match["bare"] == "or " and match[0].startswith(" or "))
        if match["bare"] == ", " and _IN_ALL.match(skeleton, match.end()) and change.c is not None:
            joined = change.c.unit is None or change.c.unit != b.unit  # `from 45,200 km to 45,900 km, 700 km in all`
        if not joined or (change.c is not None and change.c.group == "percent"):
            yield change
    if only_after:
        return
    factor = _FACTOR_BEFORE.search(before)
    if factor is not None and _ADJECTIVE.search(before):
        factor = None
    behind = _FACTOR_AFTER.match(skeleton, pair.end())
    if behind is not None and _CALLED.match(skeleton, behind.end()):
        behind = None
    for match in (factor, behind, _HALF.search(before)):
        if match is not None and not _BREAK.search(match["far"]) and ", the " not in match["far"]:
            groups = match.groupdict()
            if "part" in groups:
                part = 0.5 if groups["part"] == "half" else 0.25
                sign = -1 if _WORDS_DOWN.fullmatch(groups["w3"]) else 1
                yield Change(
                    a,
                    b,
                    None,
                    sign,
                    False,
                    1 + sign * part,
                    f"{groups['w3']} by a {groups['part']}",
                    groups["hedge"] or "",
                )
            else:
                word, times = groups["factor"], _FACTORS[groups["factor"]]
                if word.endswith("fold") and b.value < a.value:
                    times = 1 / times  # `fell from 9.0 to 0.9, tenfold`
                word += "" if word.endswith("fold") else "ed"
                yield Change(a, b, None, 1 if times > 1 else -1, False, times, word, groups["hedge"] or "")


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
