"""The last number of a sentence as the result of all others of its kind: their sum, what is left of them, their mean.

Only the words right beside the last number tell which of these it is; how the others are told does not matter, as long
as no word sets one of them apart. If any reading of the numbers holds, nothing is said.
"""

from __future__ import annotations

import itertools
import math
import statistics
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.slips import is_typo
from numerate.apps.consistency.wrong import wrong_sum

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["stated_mean", "stated_results"]

MOST_TERMS = 7
_ALL = regex(
    r"(?:\b|(?=, or))(?:total\w*|in all|altogether|overall|combined|together|sum|all told|add(?:s|ed|ing)? up"
    r"|amount\w* to|com(?:es?|ing) to|came to|mak(?:es?|ing)|giv(?:es?|ing)|gave|bring\w*|which (?:makes?|gives?)|so"
    r"|thus|therefore|hence|yielding|(?:ready|done|finished|served|on the table) (?:in|after|within)"
    r"|result\w* in|for an? (?:[a-z'’-]+ ){1,4}of|for (?:[a-z]+ ){1,3}of|i\.e\.,?|that is,?|, or|equals"
    r"|=)(?: [a-z'’-]+){0,5}[:,]? ?$"
)
_WHICH_IS = regex(r",? which (?:is|are) (?:an? |exactly )?$")
_ALL_BEHIND = regex(
    r"(?: [a-z'’-]+){0,4}? (?:in all|in total|altogether|all told|combined|overall|together|as a whole)(?=[.,;)]"
    r"|$| (?:for|over|on)\b)"
    r"|(?: [a-z'’-]+){0,2}? (?:over|on|in|for|during|within) (?:the|both|these|those)(?: (?:whole|full|entire))?"
    r"(?: (?:two|three|four|five|six))? (?:weekend|week|month|year|season|quarter|days|nights|weeks|months|years|rounds"
    r"|games|matches|legs|stages|halves)(?=[.,;)]|$)"
)
_LEFT = regex(
    r"\b(?:leav(?:es?|ing)|left|remain(?:s|ed|ing)?|so|thus|therefore|hence|net|which leaves|still|rest"
    r"|difference|keeps?|kept"
    r"|other|surplus|change)(?: [a-z'’-]+){0,4} ?$"
)
_LEFT_BEHIND = regex(
    r"(?: [a-z'’-]+){0,3}? (?:left|free|remain(?:s|ed|ing)?|spare|unused|unsold|empty|vacant|available|to go"
    r"|outstanding|missing|over|short|unpaid|open)(?=[.,;)]|$| (?:for|to|at|by|after|until)\b)"
)
_CAME = regex(r"\b(?:joined|arrived|came|come|added|received|bought|born|returned|signed|hired|new)\b")
_MEAN = regex(r"\b(?:averag(?:e|es|ed|ing)|mean)(?: [a-z'’-]+){0,4}[:,]? ?$")
_APART = regex(
    r"\b(?:per|each|every|than|compared|versus|vs|against|between|respectively|includ\w+|among|of (?:which|whom|them"
    r"|these|those|it|that)|out of|rose|fell|grew|rank\w*|aged|times|more|another|further|at least|record|previous\w*"
    r"|since|ago|ratio|beat|won|lost|led|margin|from [\ue000-\ue009]|while|whereas|but|or|if|up|down|twice|half|both"
    r"|most|once|target|limit|maximum|minimum|about|some|expect\w*|plan\w*|forecast|wide|long|high|deep|tall|length"
    r"|width|by [\ue000-\ue009]|averag\w*|mean)\b|%|[×±]|\d ?[-–/] ?\d|\bare prime|\bso (?:is|are|do|does|did)\b"
)
_OR = regex(r", or\b|\bby\b")
_LIST = regex(r",|\band\b|;|:|–|—|\bplus\b|\bwith\b|\bin addition to\b|\+|\bwhile\b")


_TIMES, _HEAT = frozenset(("s", "min", "h", "d")), frozenset(("°C", "°F", "°", "W"))


def _operands(sentence: Sentence) -> tuple[list[Quantity], Quantity] | None:
    """All numbers of the kind of the last one, and that one."""
    values = sentence.values
    if not 3 <= len(values) <= MOST_TERMS + 2:
        return None
    z = values[-1]
    terms = [each for each in values[:-1] if each.comparable(z) and each.group == z.group]
    if len(terms) < 2 or len(terms) > MOST_TERMS or z.group not in ("plain", "money", "unit"):
        return None
    if any(each.hedge or each.value <= 0 for each in (*terms, z)):
        return None
    if z.unit is None and len({each.value == int(each.value) for each in (*terms, z)}) > 1:
        return None  # a count and a measurement
    others = [each for each in values[:-1] if each not in terms]
    if z.unit in _TIMES:
        others = [each for each in others if each.unit not in _HEAT]  # `45 minutes at 180 °C`
    return (terms, z) if all(each.start < terms[0].start or each.group == "plain" for each in others) else None


def _lead(sentence: Sentence, z: Quantity) -> str:
    """The words between the last number before and this one."""
    before = max((each.end for each in sentence.quantities if each.end <= z.start), default=sentence.offset)
    return sentence.text[before - sentence.offset : z.start - sentence.offset].lower()[-60:]


def stated_results(sentence: Sentence) -> Iterator[Finding]:
    """The last number as the sum of the others, or as what is left of the first."""
    found = _operands(sentence)
    if found is None:
        return
    terms, z = found
    lead, behind = _lead(sentence, z), sentence.beside(z)[1]
    is_all = (
        _ALL.search(lead) is not None or _WHICH_IS.search(lead) is not None or _ALL_BEHIND.match(behind) is not None
    )
    is_left = _LEFT.search(lead) is not None or _LEFT_BEHIND.match(behind) is not None
    if not (is_all or is_left) or _MEAN.search(lead):
        return
    first = sentence.skeleton.find(chr(0xE100 + sentence.quantities.index(terms[0])))
    words = sentence.skeleton[first:]
    words = words[: words.rfind(chr(0xE100 + sentence.quantities.index(terms[-1])))]
    is_apart = _APART.search(f"{words} {_OR.sub(' ', lead)} {behind[:12]}") is not None
    slack = z.blur + 1.7 * math.sqrt(sum(each.blur**2 for each in terms))
    if _any_holds(terms, z, slack) or (is_left and _CAME.search(sentence.skeleton) and _came_and_went(terms, z, slack)):
        return
    largest = max(terms, key=lambda each: each.value)
    if is_left and largest is terms[0]:
        real = largest.value - sum(each.value for each in terms[1:])
        if z.unit is None and _nouns_differ(sentence, largest, z) and not is_typo(z, real):
            return
        if real > 0 and 0.5 < z.value / real < 2 and z.value < largest.value and (not is_apart or is_typo(z, real)):
            yield wrong_sum(z, terms, real, 0.85, "-")
            return
    if not is_all or z.value <= largest.value:
        return
    if not all(_LIST.search(sentence.between(one, other)) for one, other in itertools.pairwise(terms)):
        return
    whole = sum(each.value for each in terms)
    if 0.8 < z.value / whole < 1.25 and (not is_apart or is_typo(z, whole)):
        yield wrong_sum(z, terms, whole, 0.85)


def _came_and_went(terms: list[Quantity], z: Quantity, slack: float) -> bool:
    """`18 clubs; 3 left, 2 joined, and in the end 17 remained`."""
    first, *moves = (each.value for each in terms)
    some = itertools.product((1, -1), repeat=len(moves))
    return any(abs(first + sum(map(math.prod, zip(signs, moves, strict=True))) - z.value) <= slack for signs in some)


def _nouns_differ(sentence: Sentence, one: Quantity, other: Quantity) -> bool:
    """Whether two counts are of things with different names: 46 rounds, 23 games."""
    nouns = [_THING.match(sentence.beside(each)[1]) for each in (one, other)]
    return all(nouns) and nouns[0][1][:4] != nouns[1][1][:4]  # type: ignore[index]


_THING = regex(r" ([a-z]{3,}s)\b")


def _any_holds(terms: list[Quantity], z: Quantity, slack: float) -> bool:
    """Whether the last number is any sum, difference, product or mean of some of the others."""
    numbers = [each.value for each in terms]
    for count in range(1, len(numbers) + 1):
        for some in itertools.combinations(numbers, count):
            whole = sum(some)
            largest = max(some)
            results = (whole, 2 * largest - whole, whole / count, math.prod(some), 2 * whole, whole - 2 * largest)
            if any(abs(each - z.value) <= slack + 1e-9 * abs(each) for each in results):
                return True
    return False


_NOT_MEAN = regex(
    r"\b(?:than|compared|versus|against|national|annual|previous\w*|respectively|weighted|season|career|league|record"
    r"|below|above|while|whereas|but|per cent|total\w*|median|rose|fell|increase\w*|decrease\w*|sd|deviation|between"
    r"|range\w*|from|over the|long-term|usual|standard|although|though|best|better|worse|outperform\w*|when)\b|±|%"
)


_OF_THE = regex(r" of (?:the|these|those|all|all the) $")
_SCALE = regex(r"\b(?:out of|points of|scale of|scale (?:from \S+ )?to|max(?:imum)?\.?(?: of|:)?) (?:a )?$")
"""Before the most that a mark can be."""


def stated_mean(sentence: Sentence) -> Iterator[Finding]:
    """`68 points in one class and 74 in the other make an average of 72`: the mean of all other numbers of its kind."""
    values = sentence.values
    if not 3 <= len(values) <= MOST_TERMS + 3 or _NOT_MEAN.search(sentence.skeleton):
        return
    means = [each for each in values if _MEAN.search(_lead(sentence, each))]
    if len(means) != 1:
        return
    z = means[0]
    if z.text.isalpha() and _OF_THE.search(_lead(sentence, z)):
        return  # `the average of the three is 2.4`
    terms = [each for each in values if each is not z and (each.comparable(z) or each.unit is None or z.unit is None)]
    terms = [each for each in terms if not _SCALE.search(sentence.beside(each)[0])] if len(terms) > 3 else terms
    # `in three rounds`, `two classes`: how many there are.
    counted = [each for each in terms if each.unit is None and each.value == len(terms) - 1 and each.half == 0.5]
    if len(counted) == 1 and len(terms) > 2:
        terms.remove(counted[0])
    if len(terms) < 2 or len(terms) < len(values) - 2 or any(each.hedge in ("over", "under") for each in values):
        return
    if all(each.text[:1].isalpha() for each in terms):
        return
    if any(each.value <= 0 or each.group not in ("plain", "unit", "money") for each in (*terms, z)):
        return
    if not all(_LIST.search(sentence.between(one, other)) for one, other in itertools.pairwise(terms)):
        return
    low, high = min(each.value for each in terms), max(each.value for each in terms)
    mean = sum(each.value for each in terms) / len(terms)
    slack = max(each.half for each in terms) / math.sqrt(len(terms)) if any(each.half != 0.5 for each in terms) else 0.0
    slack += z.half if z.half < 0.5 else 0.5
    if abs(z.value - mean) <= slack or not (low <= z.value <= high or 0.8 < z.value / mean < 1.25) or high > 5 * low:
        return
    if abs(z.value - statistics.median(each.value for each in terms)) <= z.half:
        return
    told = ", ".join(each.text for each in terms)
    yield finding_at(
        "average",
        z,
        f"The average of {told} is {plain(mean)}, not {z.text}.",
        meant=mean,
        others=terms,
        probability=0.86,
    )
