"""Shares of a whole that add up to more than 100 %: `48% for, 39% against and 25% undecided`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.base import Rule, finding_at, plain, rules
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import PERCENT, one

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.consistency.sentences.tally import Tally
    from numerate.apps.findings import Finding

__all__ = ["Shares"]

_P = one(PERCENT)
_LIST = regex(
    rf"{_P}(?:[^{PERCENT}.;:]{{0,60}}(?:,|,? and|;|\)) ?[^{PERCENT}.;:]{{0,40}}?\(?{_P}){{1,12}}[^.;]{{0,30}}"
)
_WHOLE = regex(
    r"\b(?:split|makeup|make-up|made (?:up )?of|mak(?:e|es|ing) up|represent\w*|constitut\w*|unsure|not sure"
    r"|yes\b.*\bno|consist\w*|contain\w*|compos\w*|divided|mix\b|ownership|owned by|voted|vote |votes|undecided"
    r"|no opinion|abstain|don't know|did not know|disagree\w*|c[ao]mes? from|breakdown|funding|funded|market share"
    r"|religio\w*|ethnic\w*|by weight|by volume|land is|alloy|distribut\w*|allocat\w*|accounted for|accounts for"
    r"|apportion\w*|spent on|spends|chose|chosen|preferred|picked|voters|goes to|went to|portfolio|mixture|blend"
    r"|by (?:region|country|segment|sector|age|type|source|category|product|channel|gender|sex|division|state|party"
    r"|fuel|use|purpose|area|continent|industry|species|class|origin|mode|size|language|market)s?\b)"
)
_REST = regex(
    r"\b(?:and|with|while|,) (?:the|a) (?:rest\b|remainder\b|remaining \S)(?! of the (?:year|day|time|season))"
)
_NAME = r"(?: [a-z'’-]+){1,3}"
# One list of shares with a name each, to the end of the sentence: `70% copper, 25% zinc and 15% nickel`.
_PLAIN = regex(
    r"(?:is|are|was|were|:|of|contain\w*|has|had|include\w*|holds?|held"
    rf"|,) {_P}{_NAME}, {_P}{_NAME}(?:, {_P}{_NAME})*,? and {_P}{_NAME}\.?$"
    rf"|(?:is|are|was|were|:|,)(?: [a-z'’-]+){{1,3}} {_P},(?: [a-z'’-]+){{1,3}} {_P}(?:,(?: [a-z'’-]+){{1,3"
    rf"}} {_P})*,? and(?: [a-z'’-]+){{1,3}} {_P}\.?$"
)
_OPPOSED = regex(
    rf"{_P}(?: of [a-z ]+)? (?:voted )?(?:yes|for|in favou?r|agreed?|male|men|women"
    rf"|female)\b.*{_P}(?: of [a-z ]+)? (?:voted )?(?:no|against|disagreed?|female|women|men|male)\b"
)
_SEXES = regex(
    rf"\b(?P<one>(?:wo)?men|(?:fe)?males?|boys|girls)\b [^.;\ue000-\uf8ff]{{0,40}}?(?:ma[dk]e?s? up|represent\w*"
    rf"|account\w*"
    rf"(?: for)?|comprised?|constituted?|were"
    rf"|are) {_P}[^.;\ue000-\uf8ff]{{0,50}}?\band (?:the )?(?:wo)?m[ae]n\b [^.;]{{0,20}}?{_P}"
)
"""`men made up 62 % of the participants and women 48 %`"""
_MIX = regex(
    rf"\b(?:mixture|alloy|blend|solution|atmosphere|fabric|compound|mix) (?:is|was|contains|contained|consists of"
    rf"|of|has)"
    rf" {_P} [a-z]+,? and {_P} [a-z]+"
)
_FROM = regex(rf"{_P} (?:[a-z]+ )?from [a-z ]+, {_P} (?:[a-z]+ )?from [a-z ]+,? and {_P} (?:[a-z]+ )?from ")
_OF_WHAT = regex(rf"{_P} of ")
_SPLIT = regex(
    r"\b(?:split|divided|voted|vote|approved|passed|won|lost|led"
    rf"|defeated)\b[^.;\ue000-\uf8ff]{{0,30}}{_P} ?(?:to|–|-|against|versus|vs\.?) ?{_P}(?![a-z0-9])"
)
_SEVERAL = regex(
    r"\b(?:respectively|both|multiple|more than one|of which|whom|including|of these|compared|versus|vs|up from|rose"
    r"|fell|grew|growth|gain\w*|declin\w*|drop\w*|climb\w*|return\w*|improv\w*|increase\w*|decrease\w*|while|whereas"
    r"|but|each|accuracy|precision|recall|interest|speak\w*|efficien\w*|rate|literacy|named|mentioned|cited|twice"
    r"|another|confidence|ci\b|at least|turnout|any race|alone or|higher|lower|than)\b|\([^)]*\(|between [\ue002]"
)


@rules.register("shares")
class Shares(Rule):
    """Shares of one whole must not add up to more than 100 %."""

    title = "shares"
    help = "The shares of one whole add up to more than 100 %."
    least = 2

    def wants(self, tally: Tally, text: str) -> bool:
        """Two percentages."""
        return tally.percents > 1

    def sentence(self, sentence: Sentence) -> Iterable[Finding]:
        """Adds the percentages of a list, if its words say that they are parts of one whole."""
        skeleton = sentence.skeleton
        if skeleton.count(PERCENT) < 2:
            return
        match = _LIST.search(skeleton) or _SPLIT.search(skeleton)
        if match is None:
            return
        parts = sentence.within(match[0])
        parts = [part for part in parts if part.group == "percent"]
        if len(parts) != skeleton.count(PERCENT) or any(
            part.value <= 0 or part.hedge in ("over", "under") for part in parts
        ):
            return
        whole = sum(part.value for part in parts)
        slack = sum(part.half + (0.02 if part.hedge else 0.0) for part in parts) + 0.004
        if not 1 + slack < whole < 1.35 or max(part.value for part in parts) >= 1:
            return
        # Shares that each come from something: `55% from services, 30% from goods and 20% from licences`.
        # `60% go by car, 45% by bus and the rest on foot`: the rest is less than nothing.
        is_whole = (
            _REST.search(skeleton, match.start()) is not None
            or (len(parts) > 2 and skeleton.count(" from ") >= len(parts) and _FROM.search(skeleton))
            or (len(parts) > 2 and (_WHOLE.search(skeleton) or _PLAIN.search(skeleton)))
            or (
                len(parts) == 2
                and (
                    _OPPOSED.search(skeleton)
                    or _SPLIT.search(skeleton)
                    or _SEXES.search(skeleton)
                    or _MIX.search(skeleton)
                )
            )
        )
        if ";" in sentence.skeleton and not _REST.search(skeleton, match.start()):
            return  # another question
        if len(_OF_WHAT.findall(skeleton)) > 1:
            return  # each is a share of something else
        if not is_whole or _SEVERAL.search(skeleton):
            return
        # A total among the parts, or a part of a part.
        values = sorted(part.value for part in parts)
        half = slack / 2
        if _PLAIN.search(skeleton) is None and abs(sum(values[:-1]) - values[-1]) <= half:
            return
        if any(abs(whole - value - 1) <= half for value in values):
            return
        message = f"The shares {', '.join(part.text for part in parts)} add up to {plain(100 * whole)} %."
        yield finding_at("shares", parts[-1], message, others=parts[:-1], sum=whole, probability=0.9)
