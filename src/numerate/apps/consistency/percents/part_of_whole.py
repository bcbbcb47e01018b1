"""A part, its whole and the share: `45 of 120 (37.5 %)`, in any order, with percentages and fractions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain, written_like
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import AMOUNT, COUNT, MONEY, PERCENT, UNIT, one, slot

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["share_findings"]

_A, _B, _P = slot("a", AMOUNT), slot("b", AMOUNT), slot("p", PERCENT)
_F = slot("f", COUNT)
_THE = (
    r"(?:(?:the|a total of|an? (?!group|sample|total)[a-z]+(?= [\ue000\ue001\ue003])|its|their|his|her|all"
    r"|all the|these|those|our|a sample of"
    r"|some|every|a group of|[a-z]+['’]s) )*"
)
_WORD = r"[a-z'’/.-]+"
_NOUN = rf"(?: {_WORD}){{0,6}}?"
_FEW = rf"(?: {_WORD}){{0,4}}?"
_HEDGE = r"(?:(?:about|around|approximately|roughly|nearly|almost|just|only|some|exactly|a total of|i\.e\.,?|or) )*"
_NAMED = (
    r"an? (?:[a-z-]+ ){0,3}?(?:rate|percentage|share|proportion|accuracy|average|efficiency|yield|turnout"
    r"|incidence|prevalence|frequency|record|ratio|success)s? of"
)
_LINK = (
    rf"(?: ?\((?:{_NAMED} )?|, (?:or|i\.e\.,?|that is,?|that was|which is|which was|equal to|equivalent to"
    r"|representing|corresponding to|making|giving|for|being|meaning|which represents"
    rf"|{_NAMED}|for {_NAMED}|giving {_NAMED})(?: {_NAMED})? | for {_NAMED} |: | [–—-] | ?= ?)"
)
_END = r"(?=[),.;:\]]|$| [a-z]| \()"
_OUT = r"(?: ?/ ?| (?:out of|of|in every|in|from among|from|for) |-(?:of|for)-)"
_PAIR = rf"(?<![/.-])(?<![\ue100-\uf8ff] in ){_A}(?P<counted>(?: (?!of |out )[a-z-]+){{0,2}}?){_OUT}{_THE}{_B}"
_NOT_CI = r"(?! ?(?:ci\b|confidence|credible|level|interval))"
_PATTERNS = [
    # The pair, then the share.
    regex(rf"{_PAIR}(?P<far>{_NOUN}){_LINK}{_HEDGE}{_P}{_NOT_CI}{_END}"),
    regex(rf"{_PAIR}(?P<far>{_NOUN}), {_HEDGE}{_P}{_NOT_CI}(?=[.;)]|$)"),
    # `412 orders were late out of 10,300, a share of 4 %`
    regex(
        rf"{_A}(?P<counted>{_FEW}) (?:were|was|are|is|had|have|has|got|came|arrived) [a-z-]+(?: [a-z-]+)? out of {_THE}"
        rf"{_B}(?P<far>{_FEW}),? (?:or |i\.e\.,? |that is,? )?(?:{_NAMED} )?{_HEDGE}{_P}{_NOT_CI}(?=[.;),]|$)"),
    # The share, then the pair.
    regex(
        rf"{_P}{_NOT_CI}(?P<far>{_NOUN})(?: ?\((?:n ?= ?)?|: ?| [–—-] |, (?:or|with|i\.e\.,?"
        rf"|that is,?) ){_HEDGE}{_PAIR}{_END}"),
    # `Of 120 patients, 45 (37.5 %) ...`
    regex(
        rf"\b(?:of|among|from|in) {_THE}{_B}(?P<far>{_NOUN}),? {_HEDGE}{_A}(?P<counted>{_FEW}) ?\({_P}{_NOT_CI}"
        r"(?=[);,])"),
    regex(
        rf"\b(?:of|among|from) {_THE}{_B}(?P<far>{_NOUN}), {_HEDGE}{_P}{_NOT_CI} ?\((?:n ?= ?)?{_A}(?P<counted>"
        rf"{_FEW})[);,]"),
    regex(
        rf"\b(?:of|among|from) {_THE}{_B}(?P<far>{_NOUN}), {_A}(?P<counted>{_FEW}), or {_HEDGE}{_P}{_NOT_CI}"
        rf"{_END}"),
    # `37.5 % of the 120 patients (45)`, `45 (37.5 %) of 120 patients`.
    regex(
        rf"{_P}(?P<counted>) of {_THE}{_B}(?P<far>{_NOUN})(?: ?\((?:n ?= ?)?|, (?:or|that is,?|i\.e\.,?"
        rf"|which is) ){_HEDGE}{_A}(?=[),.;:]|$| [a-z])"),
    regex(rf"{_A}(?P<counted>{_FEW})(?: \(|, or |, ){_P}(?:\)|,)? of {_THE}{_B}(?P<far>)(?= [a-z])"),
    regex(rf"{_P} \({_A}(?P<counted>{_FEW})\) of {_THE}{_B}(?P<far>)(?=[ ,.;)]|$)"),
    regex(

            rf"{_P}(?P<counted>(?: [a-z]+)?) (?:of|on|off) (?:an? |the )?{_NOUN} ?{_B}(?P<far>{_FEW}) (?:is|was"
            r"|equals|makes|comes to|amounts to|=|gives|would be"
        rf"|are|were|means|will be|costs?) {_HEDGE}{_A}(?=[ .,;)]|$)"
    ),
    regex(
        rf"\bon (?:an? |the )?{_NOUN} ?{_B}(?P<counted>) at {_P}(?P<far>{_NOUN})(?: for (?:one year|a year"
        rf"|{one(UNIT)}))? (?:is|was|comes to|amounts to|equals|=|are) {_HEDGE}{_A}(?=[ .,;)]|$)"),
    regex(
        rf"{_P}(?P<counted>) (?:off|discount),?{_NOUN} {_B}(?P<far>{_FEW}) (?:costs?|is|was|sells for|sold for"
        rf"|drops to|goes for) (?:now |only |just )?{_A}(?=[ .,;)]|$)"),
    # `rose 6 %, or $60, from $1,000`
    regex(
        rf"{_P}(?P<counted>)(?:, or |,? \(|, ){_HEDGE}{_A}(?:,|\))?(?P<far>) from (?:the |its |an? "
        rf"|[a-z-]+ ){{0,4}}?{_B}"),
    regex(
        rf"{_A}(?P<counted>) (?:on|from) (?:[a-z]+ ){{0,2}}?(?:revenues?|sales|turnover)(?: of)? {_B}(?P<far>{_FEW}),"
        rf"? (?:for |giving |or |with )?an? (?:[a-z-]+ ){{0,2}}?margin of {_HEDGE}{_P}"),
    # Profit on revenue: `a margin of 12 %, with income of $30 million on revenue of $200 million`.
    regex(

            rf"\bmargin (?:was|is|of|reached|came to) {_P}(?P<far>{_NOUN}),?(?: [a-z]+){{0,5}}? {_A}(?P<counted"
            rf">) (?:on|from) (?:[a-z]+ ){{0,2}}?(?:revenues?|sales|turnover)(?: of)? {_B}"
    ),
]  # fmt: skip
_FRACTION = (
    rf"(?:{_F}|(?P<half>\bhalf|a half|one half|a quarter|one quarter)|{slot('i', COUNT)} (?:in"
    rf"|out of) (?:every )?{slot('n', COUNT)})"
)
_FRACTIONS = regex(
    rf"{_FRACTION} of {_THE}{slot('b', COUNT + UNIT + MONEY)}(?P<far>{_NOUN})(?:, (?:or |that is,? "
    rf"|i\.e\.,? |which is |namely )?| \(){_HEDGE}{slot('a', COUNT + UNIT + MONEY)}"
    rf"(?=[),.;:]| (?:in all|in total|in number|altogether|of them|people|votes|persons)\b| [a-z]+[),.;])"
)
_OVER = regex(
    rf"{slot('a', COUNT)} (?:out of|of) {_THE}{slot('b', COUNT)} (?P<noun>[a-z]{{3,}}s|people|men|women"
    r"|children|patients)(?: [a-z]+)? (?:were|was|had|have|are|did|was|tested|survived|died|passed|failed"
    r"|said|agreed|voted|showed|reported)\b"
)
_MORE_OF_THEM = regex(
    rf"{slot('b', COUNT)} (?P<noun>[a-z]{{3,}}s|people|men|women|children|staff)(?: [a-z'’-]+){{0,5}}, "
    rf"(?:(?:of whom|of which) )?{slot('a', COUNT)} of (?:them|whom|which)\b"
)
_WHOLE_PERCENT = regex(
    rf"{_P} of (?:the |these |our |their )?{slot('b', COUNT)} (?P<noun>pupils|students|patients|people"
    r"|respondents|participants|voters|members|children|men|women|subjects|employees|residents|households"
    r"|adults|users|customers|cases|samples)\b"
)
_OPEN = regex(
    r"\b(?:instead|ahead|because|short|per|each|respectively|more|fewer|less|another|additional|than|years?|and"
    r"|season|minutes?"
    r"|average of|aged|including|level|were|was|had|with|whose|when|who|which|while|but|first|last|ranked"
    r"|no\.|chapters?|episodes?|pages?|number|rose|fell|increase\w*|decrease\w*|up|down|growth)\b"
)
MOST_VALUES = 12
_CUES = (" of ", "/", " in ", "of ", "among ", " on ", " from ")


def share_findings(sentence: Sentence) -> Iterable[Finding]:
    """Findings about parts, wholes and shares of a sentence."""
    skeleton = sentence.skeleton
    if not any(map(skeleton.__contains__, _CUES)):
        return
    if PERCENT in skeleton and len(sentence.quantities) > 2:
        for pattern in _PATTERNS:
            for match in pattern.finditer(skeleton):
                if _OPEN.search(match["counted"]) or _SWITCH.search(match["far"]):
                    continue
                a, b, p = sentence.slots(match, "abp")
                if any(each.value != 1 for each in sentence.within(match[0]) if each.unit in ("year", "month")):
                    continue  # interest of several years
                found = _share(sentence, a, b, p, " off " in match[0])
                if found is not None:
                    yield found
    if " of " in skeleton:
        if len(sentence.quantities) > 1:
            for match in _FRACTIONS.finditer(skeleton):
                yield from _fraction(sentence, match)
            for match in _OVER.finditer(skeleton):
                yield from _too_many(sentence, match)
            for match in _MORE_OF_THEM.finditer(skeleton):
                part = sentence.get(match, "a")
                # `412 people in 38 groups, 43 of them children`
                if all(
                    each.value < part.value
                    for each in sentence.quantities
                    if each.start < part.start and each.group == "plain"
                ):
                    yield from _too_many(sentence, match)
        if PERCENT in skeleton:
            for match in _WHOLE_PERCENT.finditer(skeleton):
                yield from _too_much(sentence, match)


_SWITCH = regex(
    r"\b(?:rose|fell|increase\w*|decrease\w*|up|down|while|whereas|but|than|grew|gained|lost|interest"
    r"|yield\w*|mortgage|respectively|vs|versus|compared)\b"
)


def _share(sentence: Sentence, a: Quantity, b: Quantity, p: Quantity, is_off: bool) -> Finding | None:
    if b.value < 3 or a.value < 0 or a.value > b.value or p.value < 0:
        return None  # `fell from 400 to 360 (-10 %)` is a change
    if not (a.comparable(b) or (a.unit is None and b.group == "unit" and a.start < b.start)):
        return None
    if b.hedge or a.hedge in ("over", "under") or (a.value < 1 and a.unit is None and a.value > 0):
        return None
    if a.group == "unit" and a.unit != b.unit:
        return None
    share = 1 - a.value / b.value if is_off else a.value / b.value
    blur = (a.half if a.unit is not None or (a.value > 999 and a.half > 0.6) else 0.0) / b.value
    blur += share * b.half / b.value if b.unit is not None else 0.0
    blur += a.slack / b.value if a.hedge else 0.0
    slack = 2 * p.half + blur + (0.1 * share if p.hedge else 0.0)
    if abs(share - p.value) <= slack or p.hedge in ("over", "under"):
        return None
    if _fits_another(sentence, a, b, p):
        return None
    meant = written_like(p, share)
    message = f"{plain(a.value)} of {plain(b.value)} are {meant}, not {p.text}."
    return finding_at("percent", p, message, meant=share, others=[a, b])


def _fits_another(sentence: Sentence, a: Quantity, b: Quantity, p: Quantity) -> bool:
    """Whether the share fits two other values of the sentence, so that the pair was chosen wrongly."""
    values = [each for each in sentence.quantities if each.group not in ("percent", "year", "date", "clock")]
    if len(values) > MOST_VALUES:  # the numbers of a long list are compared with those near them
        values = sorted(sorted(values, key=lambda each: abs(each.start - p.start))[:MOST_VALUES], key=lambda q: q.start)
    for one_ in values:
        for other in values:
            if one_ is other or other.value <= 0 or (one_ is a and other is b) or not one_.comparable(other):
                continue
            if (
                one_.value <= other.value
                and abs(one_.value / other.value - p.value) <= 1.01 * p.half
                and other.value > 9
            ):
                return True
    return False


def _fraction(sentence: Sentence, match: re.Match[str]) -> Iterator[Finding]:
    a, b = sentence.slots(match, "ab")
    if match["f"] is not None:
        given = sentence.get(match, "f")
        share, word, hedge = given.value, given.text, given.hedge
        if not 0 < share < 1 or not given.text[:1].isalpha():
            return
    elif match["i"] is not None:
        one_, many = sentence.slots(match, "in")
        if not 0 < one_.value < many.value <= 1000:
            return
        share, word, hedge = one_.value / many.value, f"{one_.text} in {many.text}", one_.hedge
    else:
        share, word = (0.5 if "half" in match["half"] else 0.25), match["half"]
        hedge = (
            "about"
            if re.search(
                r"\b(?:about|nearly|almost|over|than|roughly|around|some|approximately|only)\s*$",
                sentence.skeleton[: match.start()],
            )
            else ""
        )
    if (
        not a.comparable(b)
        or a.value > b.value
        or b.value < 8
        or a.value <= 0
        or a.hedge in ("over", "under")
        or b.hedge
        or _SWITCH.search(match["far"])
    ):
        return
    real = a.value / b.value
    if abs(real - share) <= (0.12 * share if hedge or a.hedge else 0.03 * share) + 1 / b.value:
        return
    if hedge in ("over", "under") and abs(real - share) < 0.3 * share:
        return
    message = f"{plain(a.value)} are {real:.0%} of {plain(b.value)}, which is not {word}."
    yield finding_at("percent", a, message, meant=round(share * b.value), others=[b])


def _too_many(sentence: Sentence, match: re.Match[str]) -> Iterator[Finding]:
    a, b = sentence.slots(match, "ab")
    if (
        a.value <= b.value
        or b.value < 2
        or a.value > 20 * b.value
        or a.group == "year"
        or a.half != b.half
        or a.before.rstrip().endswith(("-", "–"))
    ):
        return
    message = f"{a.text} is more than the {b.text} {match['noun']} that it is a part of."
    yield finding_at("percent", a, message, others=[b], probability=0.9)


def _too_much(sentence: Sentence, match: re.Match[str]) -> Iterator[Finding]:
    p, b = sentence.slots(match, "pb")
    if p.value <= 1.0001 or b.group == "year":
        return
    message = f"{p.text} of the {b.text} {match['noun']} are more than all of them."
    yield finding_at("percent", p, message, others=[b], probability=0.9)
