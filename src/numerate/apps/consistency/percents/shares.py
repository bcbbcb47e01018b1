"""Shares of a whole that add up to more than 100 %: `48% for, 39% against and 25% undecided`.

Percentages with nothing but short names and commas between them are a list. Parts of one whole are told by a word such
as `split`, by `the rest`, or by items that are all built alike: `60% Merlot, 30% Cabernet and 20% Petit Verdot`.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import Rule, finding_at, plain, rules
from numerate.apps.consistency.percents.worded_fractions import fraction_findings, may_have_fractions
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import MONEY, PERCENT, UNIT, one
from numerate.apps.consistency.sentences.traits import PERCENTS, VALUES, stems

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.consistency.sentences.tally import Tally
    from numerate.apps.findings import Finding

__all__ = ["Shares"]

MOST = 1.35
"""Shares that add up to more are hardly those of one whole, unless a word such as `the rest` says so."""
_P = one(PERCENT)
_SLOT = regex(_P)
_GAP = regex(rf"[^{PERCENT}{UNIT}{MONEY}.;:]{{0,60}}?(?:,|,? and|,? or|\)) ?[^{PERCENT}{UNIT}{MONEY}.;:]{{0,40}}")
_SEPARATOR = regex(r"\)?(?:, (?:and|or|plus|with)\b|,| and\b| or\b| plus\b|\)) ?")
_LABEL_END = regex(
    r"[.,;:()–—]|$| (?:which|while|who|with|aged|and|in (?:the |that |this )?[\ue004\ue005]|according|but)\b"
)
_PREPOSITION = regex(
    r"\b(?:of|from|to|for|in|on|off|by|with|at|as|among|between|during|per|through|via|go(?:es)?|went|c[ao]mes?)\b"
)
_FILLERS = regex(r"(?:(?:and|or|to|with|by|from|the|another|some|other|rest|remaining|final|last|about|roughly) ?)*")
_OVERLAP = regex(
    r"\b(?:own(?:s|ed)?(?! by)|suffer\w*|report\w*|mention\w*|use[ds]?|using|watch\w*|listen\w*|play\w*|liked?"
    r"|know|knew"
    r"|tried|visit\w*|bought|reads?|lik(?:e|ed)|ha(?:d|ve) (?:an?|used|been|seen)|complain\w*|experienc\w*|felt"
    r"|ha[sd]|have)\b"
)
"""Verbs of which one person may do several: `44% owned a dog, 37% a cat and 29% a bird`."""
_OWN_WHOLES = frozenset(("of", "off", "on", "for", "in", "with", "at", "among", "between", "during", "per"))
"""Prepositions before what each share of a list may be a share of: `44% for men, 38% for women`."""
_REST_BEFORE = regex(r"\b(?:other|remaining|remainder|rest|balance|final|last)(?:,|:| of| is| was| being| \()* ?\(?$")
_CLOSED = regex(
    r"\b(?:nothing (?:else|more)|no other|no further|no one else|nobody else|none other|solely|exclusively|in full"
    r"|wholly|only these|there is no|in its entirety)\b"
)
_VOTE = regex(r"\b(?:votes?|ballots?|run-?off|polled|election|shareholding|custody)\b")
_WHOLE = regex(
    r"\b(?:split|work(?:s|ed)? in|live[sd]? in|employed|won\b.*\blost|ma[dk](?:es?|ing) up|made (?:up )?of"
    r"|unsure|not sure"
    r"|yes\b.*\bno|consist\w*|contain\w*|compos\w*|divided|mix\b|owned by|vote[ds]?\b|undecided|no opinion|abstain"
    r"|disagree\w*|c[ao]mes? from|leav(?:es|ing)|holds|invest(?:s|ed)|market share|religio\w*|ethnic\w*"
    r"|by (?:weight|volume)"
    r"|allocat\w*|account(?:s|ed) for|spent on|spends|chosen?|preferred|voters|portfolio|mixture|blend|makeup|breakdown"
    r"|ownership|fund(?:ing|ed)|distribut\w*|represent\w*|constitut\w*|alloy|(?:goes|went) to|by [a-z]+(?=[,:]"
    r"| (?:was|were|is|are)\b))"
)
_REST = regex(
    r"\b(?:and|with|while|,) (?:the|a) (?:rest\b|remainder\b|remaining \S)(?! of the (?:year|day|time|season))"
)
_OPPOSED = regex(
    rf"{_P}(?: of [a-z ]+)? (?:voted |are |were )?(?:yes|for|in favou?r|agreed?|male|men|women"
    rf"|female)\b.*{_P}(?: of [a-z ]+)? (?:voted )?(?:no|against|disagreed?|female|women|men|male)\b"
)
_SEXES = regex(
    r"\b(?:(?:wo)?men|(?:fe)?males?|boys|girls)\b [^.;\ue000-\uf8ff]{0,40}?(?:ma[dk]e?s? up|represent\w*"
    r"|account\w*(?: for)?"
    rf"|comprised?|constituted?|were"
    rf"|are) {_P}[^.;\ue000-\uf8ff]{{0,50}}?\band (?:the )?(?:wo)?m[ae]n\b [^.;]{{0,20}}?{_P}"
)
"""`men made up 62 % of the participants and women 48 %`"""
_MIX = regex(
    r"\b(?:mixture|alloy|blend|solution|atmosphere|fabric|compound|mix) (?:is|was|contain(?:s|ed)|consists of|of|has)"
    rf" {_P} [a-z]+,? and {_P} [a-z]+"
)
_OF_WHAT = regex(rf"{_P} of (?!(?:it|them|these|those|the (?:total|whole))\b)")
_SPLIT = regex(
    r"\b(?:split|divided|voted|vote|approved|passed|won|lost|led"
    rf"|defeated)\b[^.;\ue000-\uf8ff]{{0,30}}{_P} ?(?:to|–|-|against|versus|vs\.?) ?{_P}(?![a-z0-9])"
)
_MULTIPLE = regex(
    r"\b(?:multiple|both|several|overlap\w*|any race|alone or|all that apply|as many as|respectively"
    r"|not add)\b|more than [\ue000]"
)
"""Words that say that parts overlap, wherever they stand."""
_SEVERAL = regex(
    r"\b(?:of which|whom|including|of these|compared|versus|vs|(?<!made )(?<!make )(?<!makes )(?<!making )up"
    r"|(?<!broken )down|rose|fell|grew|growth|gain\w*|declin\w*|drop\w*"
    r"|climb\w*|return\w*|improv\w*|increase\w*|decrease\w*|while|whereas|but|each|accuracy|precision|recall|interest"
    r"|speak\w*|efficien\w*|rate|literacy|named|mentioned|cited|twice|another|confidence|ci\b|at least|turnout|higher"
    r"|lower|than|off|discount\w*|pass marks?|daily|recommended)\b|in (?:the )?(?:spring|summer|autumn|winter"
    r"|[\ue004\ue005])|\([^)]*\(|between [\ue002]"
)
_KIND = (
    r"(?:language|mode|means|method|form|source|religion|faith|occupation|activity|transport\w*|choice|reason"
    r"|motive|issue|concern|priority"
    r"|problem|season|colou?r|sport|drink|subject|brand|party|candidate|destination|dish|meal|team|day|topic"
    r"|provider|supermarket|heating)\b"
)
_ONE_EACH = regex(
    rf"\b(?:the one {_KIND}|(?:(?:only|just|exactly) )one (?:answer|choice|option|response|reply|{_KIND})"
    rf"|single[- ](?:choice|answer|response)"
    rf"|(?:the|their|your|his|her) (?:single (?:most|biggest|main|greatest)|most [a-z]+|favou?rite|preferred|usual"
    rf"|main|primary|principal|first|top)"
    rf" (?:[a-z]+ )?{_KIND}(?! ?(?:problem|reason)s\b)(?! is [a-z]+, (?:cited|named|mentioned))"
    rf"|by (?:main|usual|primary|principal) {_KIND}|(?:which|what) (?:party|candidate)\b|how (?:they|you|he"
    rf"|she) would vote|would vote for\b"
    r"|ihrem? (?:wichtigsten|liebsten|hauptsächlichen) [a-zß-ü]+|lieblings[a-zß-ü]+)"
)
"""Words that say that each one gives one answer: `asked to name the one means of transport that they use most`."""
_UNDECIDED = regex(
    rf"{_P}(?: (?!in |at |of (?!those|them|the respondents))[a-z'’]+){{0,4}}? (?:undecided|(?:no|not have an"
    rf"|without an) (?:opinion|preference|view)"
    r"|un(?:sure|certain)|not sure|(?:did|do|does) (?:not|n['’]t) know|don['’]t know|didn['’]t know|abstain\w*"
    r"|neutral|unentschieden)\b"
    rf"[^{PERCENT}]*$"
)
"""The last share, which goes with one for each opinion."""
_SINGLE_GAP = regex(rf"[^{PERCENT}{UNIT}{MONEY}.:]{{1,90}}")
_NOT_SINGLE = regex(
    r"\b(?:of which|of wh(?:om|ich)|including|of (?:these|those)(?! (?:polled|asked|surveyed|questioned|interviewed"
    r"|who))|compar\w+|versus|vs|rose|ris\w+|fell|fall\w*|grew|grow\w*|gain\w*"
    r"|declin\w*|drop\w*|climb\w*|increas\w*|decreas\w*|than|accuracy|interest|twice|another [\ue002]|confidence"
    r"|at least|turnout"
    r"|higher|lower|discount\w*|among|last year|a year (?:ago|earlier)|previous\w*|from [\ue002]|to [\ue002]"
    r"|points?|also|too|both"
    r"|swing|either|or [\ue002]|alone|some)\b|[\ue004\ue005]|\([^)]*\("
)


@rules.register("shares")
class Shares(Rule):
    """Shares of one whole must not add up to more than 100 %."""

    title = "shares"
    help = "The shares of one whole add up to more than 100 %."
    needs = (VALUES[1], PERCENTS[2] | stems("half third quarter fifth sixth eighth tenth"))

    def wants(self, tally: Tally, text: str) -> bool:
        """Two percentages, or fractions in words."""
        return tally.percents > 1 or may_have_fractions(text)

    def sentence(self, sentence: Sentence) -> Iterable[Finding]:
        """Adds the percentages of each list, if its words say that they are parts of one whole."""
        if sentence.tally.percents > 1:
            found = [each for match in _lists(sentence.skeleton) for each in _judged(sentence, *match)]
            yield from found or _of_one_choice(sentence)
        if may_have_fractions(sentence.text):
            yield from fraction_findings(sentence)


def _lists(skeleton: str) -> Iterator[tuple[int, int]]:
    """Start and end of each list of percentages; the end is that of the name behind the last."""
    split = _SPLIT.search(skeleton)
    if split is not None:
        yield split.span()
        return
    slots = [*_SLOT.finditer(skeleton)]
    first = 0
    for index, match in enumerate(slots):
        is_last = index + 1 == len(slots)
        if is_last or not _GAP.fullmatch(skeleton, match.end(), slots[index + 1].start()):
            if index > first:
                end = _LABEL_END.search(skeleton, match.end() + (skeleton[match.end() : match.end() + 1] == ")"))
                yield slots[first].start(), end.start() if end else len(skeleton)
            first = index + 1


def _judged(sentence: Sentence, start: int, end: int) -> Iterator[Finding]:
    skeleton = sentence.skeleton
    words = skeleton[start:end]
    parts = [part for part in sentence.within(words) if part.group == "percent"]
    if any(part.value <= 0 or part.hedge in ("over", "under") for part in parts):
        return
    whole = sum(part.value for part in parts)
    slack = sum(part.half + (0.02 if part.hedge else 0.0) for part in parts) + 0.004
    if abs(whole - 1) <= slack or max(part.value for part in parts) >= 1 or _MULTIPLE.search(skeleton):
        return
    clause = skeleton[max(skeleton.rfind(mark, 0, start) for mark in ":;") + 1 : end] + skeleton[end:].partition(";")[0]
    if _SEVERAL.search(clause):
        return
    is_rest = _REST.search(skeleton, start) is not None or (
        len(parts) > 1 and _REST_BEFORE.search(sentence.between(parts[-2], parts[-1])) is not None
    )
    is_closed = len(parts) > 2 and _CLOSED.search(skeleton) is not None
    if whole < 1 and not (is_closed and whole > 0.5):
        return
    is_parallel = len(parts) > 2 and _are_parallel(skeleton, start, end)
    if not (
        is_rest
        or is_closed
        or is_parallel
        or (len(parts) > 2 and _WHOLE.search(skeleton))
        or (len(parts) == 2 and _are_opposed(skeleton, words))
    ):
        return
    if whole > (2.0 if is_rest or is_closed else MOST):
        return
    if len(_OF_WHAT.findall(words)) > 1:
        return  # each is a share of something else
    # A total among the parts, or a part of a part.
    values = sorted(part.value for part in parts)
    half = slack / 2
    if not is_parallel and (
        abs(sum(values[:-1]) - values[-1]) <= half or any(abs(whole - value - 1) <= half for value in values)
    ):
        return
    message = f"The shares {', '.join(part.text for part in parts)} add up to {plain(100 * whole)} %."
    yield finding_at("shares", parts[-1], message, others=parts[:-1], sum=whole, probability=0.9)


def _of_one_choice(sentence: Sentence) -> Iterator[Finding]:
    """Shares of a question with one answer each, whatever stands between them: `..., while 18 % said they walk`."""
    skeleton = sentence.skeleton
    slots = [*_SLOT.finditer(skeleton)]
    if not 3 <= len(slots) <= 8 or not (_ONE_EACH.search(sentence.text.lower()) or _UNDECIDED.search(skeleton)):
        return
    gaps = [skeleton[one.end() : other.start()] for one, other in itertools.pairwise(slots)]
    clause = skeleton[skeleton.rfind(":", 0, slots[0].start()) + 1 :]
    if not all(map(_SINGLE_GAP.fullmatch, gaps)) or _NOT_SINGLE.search(clause) or _MULTIPLE.search(skeleton):
        return
    parts = [each for each in sentence.quantities if each.group == "percent"]
    if any(each.value <= 0 or each.hedge in ("over", "under") for each in parts) or len(_OF_WHAT.findall(skeleton)) > 1:
        return
    whole = sum(each.value for each in parts)
    values = sorted(each.value for each in parts)
    slack = sum(each.half + (0.02 if each.hedge else 0.0) for each in parts) + 0.004
    if not 1 + slack < whole <= MOST or any(abs(whole - each - 1) < 0.006 for each in values):
        return
    message = f"The shares {', '.join(part.text for part in parts)} add up to {plain(100 * whole)} %."
    yield finding_at("shares", parts[-1], message, others=parts[:-1], sum=whole, probability=0.85)


def _are_opposed(skeleton: str, words: str) -> bool:
    """Whether two shares are those of two sides."""
    if any(pattern.search(skeleton) for pattern in (_OPPOSED, _SPLIT, _SEXES, _MIX)):
        return True
    return _VOTE.search(skeleton) is not None and not re.search(r"\bin\b|[\ue004\ue005]", words)


def _are_parallel(skeleton: str, start: int, end: int) -> bool:
    """Whether all shares have a short name behind them, with the same preposition or none, or all one before them."""
    slots = [*_SLOT.finditer(skeleton, start, end)]
    stops = [*(match.start() for match in slots[1:]), end]
    labels, leads = [], []
    for match, stop in zip(slots, stops, strict=True):
        label, *behind = _SEPARATOR.split(skeleton[match.end() : stop], maxsplit=1)
        labels.append(" ".join(label.split()[: 7 if stop < end else 4]))  # nobody knows where the last name ends
        leads.append(behind[0].strip() if behind else "")
    if any(char >= "\ue000" for char in "".join(labels)) or any(len(label.split()) > 6 for label in labels):
        return False
    if not any(labels[1:]):  # `coal 40% of it, gas 35%, wind 20% and hydro 15%`
        is_listed = len(slots) > 3 or ":" in skeleton[max(0, start - 25) : start]
        return is_listed and all(0 < len(lead.split()) < 4 for lead in leads[:-1])
    if not all(labels) or not all(map(_FILLERS.fullmatch, leads)) or _OVERLAP.search(skeleton[:end]):
        return False
    prepositions = {match[0] if (match := _PREPOSITION.match(label)) else "" for label in labels[1:]}
    if prepositions <= _OWN_WHOLES or (len(prepositions) > 1 and "" in prepositions):
        return False
    # `52% of its electricity from diesel, 31% from wind`
    inner = {match[0] for match in _PREPOSITION.finditer(labels[0])} or {""}
    return bool(inner & prepositions)
