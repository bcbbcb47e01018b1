"""Percentages: changes (`rose 10 % from 50 to 65`), shares (`150 of 200 (85 %)`), doubling and halving."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import Rule, finding_at, matches, plain, rules, written_like
from numerate.apps.consistency.changes import change_findings
from numerate.apps.consistency.quantities import COUNT, MONEY, PERCENT, UNIT, slot

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numerate.apps.consistency.quantities import Sentence
    from numerate.apps.findings import Finding

__all__ = ["Percents"]

_VALUE = COUNT + MONEY + UNIT + PERCENT
_A, _B, _P = slot("a", _VALUE), slot("b", _VALUE), slot("p", PERCENT)
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
#_HEDGED_TIMES = ("more ", "than ", "nearly ", "almost ", "about ", "roughly ", "not ", "over ")


@rules.register("percent")
class Percents(Rule):
    """A percentage must fit the two numbers beside it."""

    title = "percentage"
    help = "A percentage does not fit the numbers that it is about."

    def sentence(self, sentence: Sentence) -> Iterable[Finding]:
        """Looks for changes with both values, shares with both counts, and doubling."""
        skeleton = sentence.skeleton
        if PERCENT in skeleton and len(sentence.quantities) > 2:
            for match in matches(skeleton, _SHARES):
                yield from self._share(sentence, match)
        yield from change_findings(sentence, "percent")

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

