"""Percentages: changes (`rose 10 % from 50 to 65`), shares (`150 of 200 (85 %)`), doubling and halving."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import Rule, finding_at, matches, plain, rules, written_like
from numerate.apps.consistency.quantities import COUNT, DATED, MONEY, PERCENT, UNIT, YEAR, one, slot

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numerate.apps.consistency.quantities import Quantity, Sentence
    from numerate.apps.findings import Finding

__all__ = ["Percents"]

_VALUE = COUNT + MONEY + UNIT + PERCENT
_A, _B, _P = slot("a", _VALUE), slot("b", _VALUE), slot("p", PERCENT)
_UP = (
    r"(?:rose|risen|grew|grown|climbed|increased|jumped|soared|surged|gained|improved|went up|advanced"
    r"|expanded|up|raised|rising|growing)"
)
_DOWN = (
    r"(?:fell|fallen|dropped|declined|decreased|shrank|shrunk|slid|plunged|tumbled|sank|reduced|cut|went down"
    r"|lost|dipped|slipped|down|falling|lowered)"
)
_RISE = r"(?:increase|rise|growth|gain|jump|improvement|advance)"
_DROP = r"(?:decline|drop|decrease|fall|reduction|loss|cut|discount|dip)"
_STRICT_GAP = r"[a-z ,$€£]{0,30}?"
_GAP_TO_COMMA = rf"(?:[a-z ,]|{one(COUNT + YEAR)}){{0,40}}?, "
# What is counted, and when: `from 1,250 students in 2010 to 1,500`.
_FILL = rf"(?: (?:[a-z/]+|{one(YEAR + DATED)})){{0,5}}?"
_TO = rf"(?:from|,? compared with) (?:an? [a-z]+ )?(?:of )?{_A}{_FILL} to (?:an? [a-z]+ )?(?:of )?{_B}"
_FROM = rf"to (?:an? [a-z]+ )?(?:of )?{_B}{_FILL},? from (?:an? [a-z]+ )?(?:of )?{_A}"
_MORE = r"(?:more|higher|greater|larger|above|up|better|bigger|longer|heavier|taller|faster)"
_LESS = r"(?:less|lower|fewer|smaller|below|down|shorter|lighter|cheaper|under)"

_CHANGES = [
    (("from ",), re.compile(rf"\b(?P<way>{_UP}|{_DOWN}) {_TO}, or {_P}")),
    ((" from ",), re.compile(rf"{_B}(?: [a-z]+){{0,3}}?, (?P<way>up|down) (?:by )?{_P},? from {_A}")),
    (
        ("from ",),
        re.compile(rf"\b{_TO}{_STRICT_GAP}, (?:which is |that is |i\.e\.,? )?an? {_P} (?P<way>{_RISE}|{_DROP})"),
    ),
    ((" from ",), re.compile(rf"\b(?P<way>{_RISE}|{_DROP}) of {_P}{_STRICT_GAP} {_TO}")),
    (
        (" from ", " compared "),
        re.compile(
            rf"\b(?P<way>{_UP}|{_DOWN})(?: by)?(?: an? [a-z]+)? {_P}(?:{_STRICT_GAP}(?:, | )|{_GAP_TO_COMMA})(?:{_TO})"
        ),
    ),
    ((" from ",), re.compile(rf"\b(?P<way>{_UP}|{_DOWN})(?: by)? {_P}{_STRICT_GAP} (?:{_FROM})")),
    (
        ("from ", "compared "),
        re.compile(
            rf"\b{_TO}{_STRICT_GAP}(?:, | \()(?:or )?(?:an? )?(?:(?P<way>{_RISE}|{_DROP}) of |(?P<way2>up"
            rf"|down) )(?:by )?{_P}"
        ),
    ),
    ((" from ", " compared "), re.compile(rf"\ban? {_P} (?P<way>{_RISE}|{_DROP}){_STRICT_GAP} {_TO}")),
    (
        (" from ",),
        re.compile(
            rf"\b{_FROM}{_FILL}(?:, | \()(?:or )?(?:an? )?(?:(?P<way>{_RISE}|{_DROP}) of |(?P<way2>up|down)"
            rf" )(?:by )?{_P}"
        ),
    ),
    ((" from ",), re.compile(rf"\b{_FROM}{_FILL}(?:, | \()an? {_P} (?P<way>{_RISE}|{_DROP})")),
    (
        (" over ", " on ", " from ", " compared ", " against "),
        re.compile(
            rf"{_B}{_FILL}, an? {_P} (?P<way>{_RISE}|{_DROP}) (?:over|on|from|compared (?:with|to)|against)"
            rf" (?:the |its )?"
            rf"(?:[a-z'’]+ ){{0,3}}?(?:of )?{_A}"
        ),
    ),
    (
        (" than ", " above ", " below "),
        re.compile(
            rf"{_B}{_FILL}, (?:which is |or |that is )?{_P} (?P<way>(?:{_MORE}|{_LESS})(?= than )|above"
            rf"|below)(?: than)? (?:the |its |an? )?(?:[a-z'’]+ ){{0,4}}?(?:of )?{_A}"
        ),
    ),
    (
        ("compared ", "against ", "versus "),
        re.compile(
            rf"{_B}{_FILL},? (?:compared (?:with|to)|against|versus) {_A}{_FILL}(?:, | \()(?:or )?(?:an? )?"
            rf"(?:(?P<way>{_RISE}|{_DROP}) of |(?P<way2>up|down) )(?:by )?{_P}"
        ),
    ),
    ((" from ",), re.compile(rf"\b(?P<way>{_UP}|{_DOWN}) {_TO}{_FILL}(?:, | \()(?:or |by |that is )?{_P}(?=[.,;)]|$)")),
]
_TIMES = {
    "doubled": 2.0,
    "tripled": 3.0,
    "trebled": 3.0,
    "quadrupled": 4.0,
    "halved": 0.5,
    "twofold": 2.0,
    "threefold": 3.0,
    "fourfold": 4.0,
    "fivefold": 5.0,
    "tenfold": 10.0,
}
_MULTIPLE = re.compile(rf"\b(?P<before>[a-z]+ )?(?P<word>{'|'.join(_TIMES)})(?:,|[a-z ]{{0,20}}?) (?:{_TO})")
_POINTS = re.compile(
    rf"from {slot('a', PERCENT)} to {slot('b', PERCENT)}(?: [a-z]+){{0,3}}, (?:an? )?(?:{_RISE}"
    rf"|{_DROP}) of {slot('p', COUNT)} (?:percentage )?points?\b"
)
_POINTS_BEFORE = re.compile(
    rf"\bby {slot('p', COUNT)} (?:percentage )?points?,? from {slot('a', PERCENT)} to {slot('b', PERCENT)}"
)
_POINTS_UP = re.compile(
    rf"{slot('b', PERCENT)}{_FILL}, (?:up|down) (?:by )?{slot('p', COUNT)} (?:percentage )?points? from"
    rf" {slot('a', PERCENT)}"
)
_COUNTED = r"(?<! in )" + slot("a", COUNT)
_WHOLE = slot("b", COUNT)
_NOUNS = r"(?: [a-z\-]+){0,4}?"
_SHARES = [
    (
        (" of ",),
        re.compile(rf"{_P} of (?:the |its |their |his |her |all |all the )?{_WHOLE}{_NOUNS}, or {_COUNTED}(?=[ ,.])"),
    ),
    (
        (" of ",),
        re.compile(
            rf"{_COUNTED} (?:out of|of) (?:the |a total of |its |their |his |her |all )?{_WHOLE}{_NOUNS}(?: \("
            rf"| ?, or |, i\.e\. ){_P}(?=[),. ])(?! [ci])"
        ),
    ),
    (
        ("of ",),
        re.compile(
            rf"\bof (?:the |a total of |these |all )?{_WHOLE}{_NOUNS}(?: [a-z]+){{0,2}}, {_COUNTED}{_NOUNS} \({_P}\)"
        ),
    ),
    ((" of ", "/"), re.compile(rf"{_P}{_NOUNS} \({_COUNTED} ?(?:of|out of|/) ?(?:the )?{_WHOLE}{_NOUNS}\)")),
    (
        (" of ",),
        re.compile(
            rf"{_COUNTED}{_NOUNS}(?: \(|, or ){_P}[),]? of (?:the |its |their |all |all the )?{_WHOLE}(?= [a-z])"
        ),
    ),
    ((" of ",), re.compile(rf"{_P} \({_COUNTED}\) of (?:the |its |their |all |all the )?{_WHOLE}(?= [a-z])")),
    ((" of ",), re.compile(rf"{_P} of (?:the |its |their |all |all the )?{_WHOLE}{_NOUNS} \({_COUNTED}\)")),
    (
        (" in ",),
        re.compile(
            rf"(?<![a-z] [–-]){slot('a', COUNT)} in (?:every )?{_WHOLE}{_NOUNS}(?: \(|, or |, i\.e\. |, that is"
            rf" ){_P}(?=[),. ])"
        ),
    ),
    (
        (" of ", " on "),
        re.compile(
            rf"{_P}(?: [a-z]+)? (?:of|on|off) (?:an? |the )?{slot('b', MONEY + COUNT)}{_NOUNS} (?:is|was|equals"
            rf"|makes|comes to|amounts to|=|gives)"
            rf" {slot('a', MONEY + COUNT)}(?=[ .,;)]|$)"
        ),
    ),
]
_HEDGED_TIMES = ("more ", "than ", "nearly ", "almost ", "about ", "roughly ", "not ", "over ")


@rules.register("percent")
class Percents(Rule):
    """A percentage must fit the two numbers beside it."""

    title = "percentage"
    help = "A percentage does not fit the numbers that it is about."

    def sentence(self, sentence: Sentence) -> Iterable[Finding]:
        """Looks for changes with both values, shares with both counts, and doubling."""
        skeleton = sentence.skeleton
        if PERCENT in skeleton and len(sentence.quantities) > 2:
            for match in matches(skeleton, _CHANGES):
                yield from self._change(sentence, match)
            for match in matches(skeleton, _SHARES):
                yield from self._share(sentence, match)
            if "point" in skeleton:
                for pattern in (_POINTS, _POINTS_BEFORE, _POINTS_UP):
                    for match in pattern.finditer(skeleton):
                        yield from self._points(sentence, match)
        if "from " in skeleton and any(word in skeleton for word in _TIMES):
            for match in _MULTIPLE.finditer(skeleton):
                yield from self._multiple(sentence, match)

    def _change(self, sentence: Sentence, match: re.Match[str]) -> Iterable[Finding]:
        a, b, p = (sentence.get(match, name) for name in "abp")
        if not _comparable(a, b) or a.value == 0 or YEAR in (a.group, b.group):
            return
        way = match["way"] or match.groupdict().get("way2") or ""
        if " than " in match[0] or " over " in match[0]:
            a = dataclasses.replace(a, before="")  # `50% more than $5 million` is no hedge
        sign = -1 if re.fullmatch(f"{_DOWN}|{_DROP}|{_LESS}", way) else 1
        asked = sign * abs(p.value)
        changes = [_ratio(b, high, a, not high) - 1 for high in (False, True)]
        real = b.value / a.value - 1
        slack = p.slack + 0.002
        low, high = min(changes), max(changes)
        if low - slack <= asked <= high + slack or low - slack <= -asked <= high + slack:
            return
        # Points instead of percent: loose, but no slip.
        if a.group == "percent" and abs(abs(b.value - a.value) - abs(p.value)) <= p.slack + a.slack + b.slack:
            return
        if _is_far(real, asked):
            return
        meant = written_like(p, abs(real))
        message = f"From {a.text} to {b.text} is {'+' if real >= 0 else '-'}{meant}, not {p.text}."
        yield finding_at("percent", p, message, meant=abs(real), others=[a, b])

    def _share(self, sentence: Sentence, match: re.Match[str]) -> Iterable[Finding]:
        a, b, p = (sentence.get(match, name) for name in "abp")
        if b.value <= 0 or a.value < 0 or a.value > b.value or a.hedge or b.hedge or b.value < 3:
            return
        share = a.value / b.value
        if not a.comparable(b):
            return
        if " off " in match[0]:
            share = 1 - share  # `25% off $80 is $60`
        half = (a.half if a.value > 999 and a.half > 0.6 else 0.0) / b.value
        if abs(share - p.value) <= 2 * p.half + half + (0.1 * share if p.hedge else 0.0) or p.hedge in (
            "over",
            "under",
        ):
            return
        meant = written_like(p, share)
        message = f"{plain(a.value)} of {plain(b.value)} are {meant}, not {p.text}."
        yield finding_at("percent", p, message, meant=share, others=[a, b])

    def _points(self, sentence: Sentence, match: re.Match[str]) -> Iterable[Finding]:
        a, b, p = (sentence.get(match, name) for name in "abp")
        points = 100 * abs(b.value - a.value)
        if abs(points - p.value) <= p.slack + 100 * (a.half + b.half) + 1e-9:
            return
        message = f"From {a.text} to {b.text} are {written_like(p, points)} points, not {p.text}."
        yield finding_at("percent", p, message, meant=points, others=[a, b])

    def _multiple(self, sentence: Sentence, match: re.Match[str]) -> Iterable[Finding]:
        a, b = sentence.get(match, "a"), sentence.get(match, "b")
        factor = _TIMES[match["word"]]
        if not _comparable(a, b) or a.value <= 0 or b.value <= 0 or (match["before"] or "") in _HEDGED_TIMES:
            return
        real = b.value / a.value
        if factor / 1.16 <= real <= factor * 1.16 or (a.hedge or b.hedge):
            return
        message = f"From {a.text} to {b.text} is a factor of {plain(real)}, which is not {match['word']}."
        yield finding_at("percent", b, message, meant=a.value * factor, others=[a])


def _comparable(a: Quantity, b: Quantity) -> bool:
    return a.comparable(b) and (a.group == "percent") == (b.group == "percent")


def _ratio(one_: Quantity, up: bool, other: Quantity, other_up: bool) -> float:
    """The ratio of two quantities at the ends of their roundings."""
    above = one_.value + (one_.slack if up else -one_.slack)
    below = other.value + (other.slack if other_up else -other.slack)
    return above / below if below else float("inf")


def _is_far(real: float, asked: float) -> bool:
    """Whether the percentage is about other numbers: a change of 900 % and `3 %` do not belong together."""
    return abs(real) > 5 or (abs(asked) > 1 and abs(real) < 0.01)
