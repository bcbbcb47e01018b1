"""Parts and their total: which numbers of a sentence a total is said to be the sum of.

A total is known by the words beside it (`a total of 27`, `27 in all`, `added up to 27`) or by what follows it (`27
people: 12 ... and 15 ...`, `27, made up of ...`). Its parts are the run of numbers of the same kind that stands before
or behind it; years, dates and ordinals in between belong to the words.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import AMOUNT, DATED, ORDINAL, YEAR
from numerate.apps.consistency.sentences.traits import stems
from numerate.numerals.unit_factors import dimension_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence

__all__ = ["PartsAndTotal", "totals_of"]

_SLOT = regex("[\ue000-\ue009][\ue100-\uf8ff]")
_BESIDE = YEAR + DATED + ORDINAL
_HEDGE = r"(?:(?:about|around|approximately|roughly|nearly|almost|just|only|some|exactly|over|a|an|the) )*"
_NOUNS = r"(?: [a-z'’-]+){0,3}?"
# Words before a total that the numbers before it add up to.
_SUM_BEFORE = regex(
    r"\b(?:(?:for|with|or|making|giving|gives?|gave|to give|and|in|an?|the|is|was|to|which is|grand"
    r"|combined|overall|joint|reaching|brings?|brought|bringing|has|have|had|his|her|its|their|is) )*"
    rf"(?:(?:total|sum|aggregate|tally)(?:s|led|ed|ling|ing)?(?: [a-z]+){{0,3}}?(?: of| to| is| was| at| by|:|,)?"
    r"|add(?:s|ed|ing)? (?:up )?to|sum(?:s|med|ming)? (?:up )?to|amount(?:s|ed|ing)? to"
    r"|together(?: [a-z]+){0,4}|combined (?:for|to|of)|between them(?: [a-z]+){0,4}|altogether|in all"
    r"|in total|all told|all"
    r"|(?:making|giving|gives|gave|makes|made(?! up)|bringing|brings|brought|lifting|taking|took|raising"
    r"|raised)(?: (?:it|him|her|them|us|up|the|his|its|their|an?))*(?: [a-z'’-]+){0,4}?(?: of| to)?"
    r"|(?:to |and |he |she |they |which |has |have |had )(?:finish(?:ed)?|end(?:ed)?|close[d]?|complete[d]?|stand"
    r"|stands|reach|reached|win|won|lose|lost)(?: up| the [a-z]+| [a-z]+ season)? (?:with|on|at)"
    rf"|to (?:obtain|get|yield|produce|form|reach|give)|yielding|producing|obtaining),? {_HEDGE}$"
)
# Words behind a total.
_SUM_BEHIND = regex(
    r"(?: [a-z'’-]+){0,3}? (?:(?:in all|in total|altogether|all told|all together|in sum|in aggregate)\b"
    r"|(?:combined|overall|together)(?=[.,;)]|$))(?! (?:the|an?|with|by|they)\b)"
)
_WHOLE_PERIOD = regex(
    r" (?:for|in|over|during) (?:the |a )?(?:full |whole |entire )?(?:financial |fiscal |calendar |school )?"
    r"(?:year|season|period|month|week|day|decade|quarter|half-year|trip|tour|term)\b"
)
"""`$5.1 million in Q3 and $5.6 million in Q4, or $20.0 million for the year`"""
_SUM_CUES = stems(
    "total sum aggregate tall add amount together combined between_ altogether all_ mak made_ giv gave_ bring brought_ "
    "lifting_ taking_ took_ rais finish end close complete stand reach win_ won_ lose_ lost_ obtain get_ yield produc "
    "form_ overall"
)
"""What a match of `_SUM_BEFORE` or `_SUM_BEHIND` has."""
# What stands between a total and the parts behind it.
_MADE_OF = regex(
    rf"^{_NOUNS}(?: in (?:all|total))?(?: (?:in|of|for|at|on|from|were|was|are|is|have been"
    r"|had been)(?: [a-z-]+){1,4}?)?,?"
    r"(?P<how>:(?= )| \(| [–—-]|,? (?:which |that |who )?(?:(?:is|are|was|were|being) )?(?:(?:made|built|broken"
    r"|split|divided|composed)(?: up| down)? (?:of|into|among|between|as)|consist(?:s|ed|ing)? of|compris(?:e|es|ed"
    r"|ing)(?: of)?|composed of|namely|i\.e\.,?|that is,?|formed by|formed of|being|divided|split))"
    rf"(?: (?:the|an?|into|of|as|follows:|its|up))* ?(?:[a-z'’-]+ ){{0,3}}?\(?$"
)
_MADE_CUES = stems("made_ built_ broken_ split_ divided_ composed_ consist compris namely_ i_ that_ formed_ being_")
"""What a match of `_MADE_OF` has in it, if it has none of the marks."""
_UNCOUNTED = regex(r"(?:,|\band) an? [a-z]+")
_IN_ALL = regex(rf"(?:^(?:in all|in total|altogether|overall),?|\ba total of) {_HEDGE}$")
_PLURAL = regex(r"[a-z]{2,}s\b|\b(?:people|men|women|children)\b")
_IN_ALL_CUES = stems("all_ total_ altogether_ overall_")
_ITEM = regex(r"\b(?:including|and|with|plus|as well as|or) $|, $")
_APPOSED = regex(r"^(?: [a-z'’-]+){1,5}?,(?: the)? $")
"""`15 people, 9 women and 6 men`: only the words of the parts tell that they are all."""
_REST = regex(r"\b(?:remaining|other|rest|remainder|others)(?: \(| being)? ?$")
"""The words before the part that completes the whole."""
_NOT = regex(r"(?: [a-z]+)? (?:were|was|did|had|have|are|do|does|has) not(?=[.,;)]|$)")
_UNNAMED = regex(r"(?:,|\band\b|\bplus\b) (?:the|an?|his|her|its|their|several|many|some|others?|numerous|various)\b")
"""A further part without a number: `and the mayor`."""
_INCLUDES = regex(
    rf"^{_NOUNS},? (?:which |that )?(?:covers?|covered|includ(?:es|ed|ing|e)|contain(?:s|ed|ing)?|paid for"
    r"|pays for|went on|goes on) (?:the |an? |some )?$"
)
_INCLUDES_CUES = stems("cover includ contain paid_ pays_ went_ goes_")
_REST_CUES = stems("remain other rest_ not_")
"""What a match of `_REST` or `_NOT` has, one of which `_completed` needs."""
_ALL = regex(r"; (?=together\b|all $)")
_HAS = regex(
    r"\)(?: [a-z]+){0,2}? (?:has|have|had|totals?|makes?|made|counts?|numbers?|numbered|with"
    r"|holds?|compris(?:es?|ed)|totall?ed|consists? of|consisted of|came to|comes to|included) (?:a total of |its )?$"
)
"""`the committee (6 men, 4 women) has 10 members`"""
_OF_TOTAL = regex(
    r"\b(?:of|among|out of|from) (?:(?:the|these|those|all|our|its|their|his|her|a total of|original|initial) )*$"
)
_JOIN = regex(
    r"(?:,|;|\band\b|\bplus\b|\bwhile\b|\bwith\b|\+|\bas well as\b|\bin addition to\b|\badded to\b"
    r"|\bon top of\b|\bto the\b|\()"
)
_STOP = regex(
    r"\b(?:of which|of whom|of them|of these|of it|of that|of this|including|includes?|included|than|compared|versus|vs"
    r"|against|per|each|between|average|respectively|until|rose|fell|ranked|aged|out of|times|up|down|but|if|by"
    r"|at least|more|another|further|additional|over|record)\b|\. |\bto(?: (?:an?|the|about|nearly|some))? $"
)
_STOP_LINK = regex(
    r"\b(?:of which|of whom|of them|of these|including|includes?|included|than|compared|versus|vs|against|per|each"
    r"|average|but|if|out of|while|whereas|career|season|ranked|ago|since|minutes?|aged|despite|before|rest"
    r"|(?<!last )(?<!this )(?<!that )year)\b|;|\. "
)
MAX_PARTS = 12


class PartsAndTotal(NamedTuple):
    """A total of a sentence and the numbers that are said to be its parts.

    Attributes:
        total: The total.
        parts: Its parts, in order.
        words: The skeleton from the first to the last of them.
        named: The words of the parts only.
        head: The words between the total and the first part behind it.
        how: `before` if the parts stand before the total, `behind` otherwise.
        certain: Whether the words say that these are all parts.
    """

    total: Quantity
    parts: list[Quantity]
    words: str
    named: str
    head: str
    how: str
    certain: bool


class _Slots(NamedTuple):
    starts: list[int]
    ends: list[int]
    kinds: str


def totals_of(sentence: Sentence) -> Iterator[PartsAndTotal]:
    """All totals of a sentence with their parts.

    Example:
        >>> from numerate.apps.consistency.sentences.sentences import Sentence
        >>> from numerate.reading import find
        >>> text = "He scored 14 in the first half and 17 in the second to finish with 33 points."
        >>> found = totals_of(Sentence(text, 0, find(text)))
        >>> [(each.total.value, [part.value for part in each.parts]) for each in found]
        [(33.0, [14.0, 17.0])]
    """
    skeleton = sentence.skeleton
    found = list(_SLOT.finditer(skeleton))
    kinds = "".join(match[0][0] for match in found)
    slots = _Slots([match.start() for match in found], [match.end() for match in found], kinds)
    words = sentence.words
    may_sum, may_include = words & _SUM_CUES, words & _INCLUDES_CUES
    may_complete, may_be_in_all = words & _REST_CUES, words & _IN_ALL_CUES
    may_be_made = words & _MADE_CUES
    for at, kind in enumerate(kinds):
        if kind not in AMOUNT:
            continue
        start, end = slots.starts[at], slots.ends[at]
        before = skeleton[slots.ends[at - 1] if at else 0 : start]
        behind = skeleton[end : slots.starts[at + 1] if at + 1 < len(kinds) else len(skeleton)]
        if at > 1 and ")" in before and before.startswith((")", " ")) and _HAS.search(before):
            yield from _run(sentence, slots, at, -1, True)
        cued = may_sum != 0 and (_SUM_BEFORE.search(before) is not None or _SUM_BEHIND.match(behind) is not None)
        if at > 1 and (cued or (before.endswith((", or ", "; or ")) and _WHOLE_PERIOD.match(behind))):
            yield from _run(sentence, slots, at, -1, True)
        if at + 2 < len(kinds):
            includes = may_include != 0 and _INCLUDES.match(behind) is not None
            is_apposed = behind.endswith((", ", ", the ")) and _APPOSED.match(behind) is not None
            if may_complete and (is_apposed or includes or _OF_TOTAL.search(before)):
                yield from _completed(sentence, slots, at, includes or _OF_TOTAL.search(before) is not None)
            made = _MADE_OF.match(behind) if may_be_made or _has_mark(behind) else None
            if made is not None:
                yield from _run(sentence, slots, at, 1, made["how"] not in (" (", " –", " —", " -") or cued)
            elif includes and total_is_amount(sentence.quantities[at]):
                yield from _run(sentence, slots, at, 1, True, "most")
            elif (
                may_be_in_all
                and _IN_ALL.search(before)
                and not _has_larger(sentence, at)
                and "," in behind
                and _PLURAL.search(behind)
                and not _STOP_LINK.search(behind)
            ):
                # `a total of 56 medals, 15 cups and 16 titles` may be a list.
                yield from _run(sentence, slots, at, 1, not at or " a total of " not in before or behind.count(" ") > 3)
            elif is_apposed and not _ITEM.search(before):
                yield from _run(sentence, slots, at, 1, False)


def _has_mark(behind: str) -> bool:
    """Whether a colon, a bracket or a dash stands behind a total, as before its parts."""
    return ":" in behind or " (" in behind or " –" in behind or " —" in behind or " -" in behind


def _completed(sentence: Sentence, slots: _Slots, at: int, is_whole: bool) -> Iterator[PartsAndTotal]:
    """`Of the 80 flats, 45 are sold and the remaining 35 are for rent`: the rest completes the whole."""
    total, skeleton = sentence.quantities[at], sentence.skeleton
    parts: list[int] = []
    for index in range(at + 1, len(slots.kinds)):
        if slots.kinds[index] in _BESIDE:
            continue
        if slots.kinds[index] not in AMOUNT or not sentence.quantities[index].comparable(total):
            return
        gap = skeleton[slots.ends[index - 1] : slots.starts[index]]
        if "." in gap or (parts and not _JOIN.search(gap)):
            return
        parts.append(index)
        behind = skeleton[slots.ends[index] : slots.ends[index] + 24]
        is_whole = is_whole or (
            len(parts) == 1 and behind.startswith((" of them", " of which", " of these", " of whom"))
        )
        if len(parts) > 1 and is_whole and (_REST.search(gap) or _NOT.match(behind)):
            words = skeleton[slots.starts[at] : slots.ends[index]]
            named = skeleton[slots.starts[parts[0]] : slots.ends[index]]
            head = skeleton[slots.ends[at] : slots.starts[parts[0]]]
            some = [sentence.quantities[each] for each in parts]
            yield PartsAndTotal(total, some, words, named, head, "completed", True)
            return


def _has_larger(sentence: Sentence, at: int) -> bool:
    """Whether a larger number of the same kind stands before: then the total is a part itself."""
    total = sentence.quantities[at]
    return any(
        each.comparable(total) and each.value > total.value and each.group == total.group
        for each in sentence.quantities[:at]
    )


def total_is_amount(total: Quantity) -> bool:
    """Whether the total is an amount of money or has a unit: its parts cannot overlap, as those of people can."""
    return total.unit is not None


def _run(
    sentence: Sentence, slots: _Slots, at: int, step: int, certain: bool, how: str = ""
) -> Iterator[PartsAndTotal]:
    """The run of numbers of the total's kind on one of its sides."""
    skeleton = sentence.skeleton
    total = sentence.quantities[at]
    parts: list[int] = []
    last = at
    index = at + step
    while 0 <= index < len(slots.kinds) and len(parts) < MAX_PARTS:
        if slots.kinds[index] in _BESIDE:
            index += step
            continue
        left, right = (last, index) if step > 0 else (index, last)
        gap = _SLOT.sub("", skeleton[slots.ends[left] : slots.starts[right]]).replace("i.e.", "ie")
        each = sentence.quantities[index]
        if slots.kinds[index] not in AMOUNT or not (each.comparable(total) or _is_kin(each, total)):
            break
        if parts and (sentence.quantities[parts[-1]].unit is None) != (each.unit is None):
            break  # `two sons, who got 300 acres and 450 acres`
        if each.unit is None and each.value < 1:
            return  # `one third-level college`
        if not parts:
            # What says that this is the total may name a season: `he ended the season on 34 goals`.
            cue = _SUM_BEFORE.search(gap) if step < 0 else None
            link = gap[: cue.start()] if cue is not None and _FINISHED.match(cue[0]) else gap
            if step < 0 and _STOP_LINK.search(_ALL.sub(", ", link)):
                break
            if step < 0 and _is_container(sentence, each):
                last = index
                index += step
                continue
        elif gap == " to " and " vote" in skeleton:
            pass  # `218 to 207, with 5 abstentions`
        elif "×" in gap or (")" in gap and "(" not in gap and step > 0) or _STOP.search(gap) or not _JOIN.search(gap):
            break
        elif _UNCOUNTED.search(gap):
            return  # a part without a number
        if step > 0 and _OF_IT.match(skeleton, slots.ends[index]):
            return  # a part of the part before it
        parts.append(index)
        last = index
        index += step
    if len(parts) < 2:
        return
    parts.sort()
    first, final = min(parts[0], at), max(parts[-1], at)
    words = skeleton[slots.starts[first] : slots.ends[final]]
    after = skeleton[slots.ends[final] :]
    named = skeleton[slots.starts[parts[0]] : slots.ends[parts[-1]]] + (_tail(after) if step > 0 else "")
    if step > 0 and _UNNAMED.search(_tail(after)):
        return
    quantities = [sentence.quantities[each] for each in parts]
    head = skeleton[slots.ends[at] : slots.starts[parts[0]]] if step > 0 else ""
    yield PartsAndTotal(total, quantities, words, named, head, how or ("before" if step < 0 else "behind"), certain)


_OF_IT = regex(r" of (?:it|that|this|which|whom)\b")
_FINISHED = regex(r"(?:to |and |he |she |they |which |has |have |had )(?:finish|end|close|complete)")
_CONTAINER = regex(r"\b(?:in|over|across|from|on|at|of|for) (?:the|all|all the|his|her|its|their|these|those) $")


def _is_container(sentence: Sentence, quantity: Quantity) -> bool:
    """Whether a number counts what the parts stand in: `21, 18 and 24 in the three rounds`."""
    return quantity.unit is None and 1 < quantity.value < 20 and bool(_CONTAINER.search(quantity.before.lower()))


def _is_kin(one: Quantity, other: Quantity) -> bool:
    """Whether one has no unit, or both are times: minutes and hours."""
    if one.unit is None or other.unit is None:
        return one.group in ("plain", "unit", "money") and other.group in ("plain", "unit", "money")
    dimension = dimension_name(one.unit)
    return dimension == "time" and dimension == dimension_name(other.unit)


def _tail(after: str) -> str:
    return re.split(r"[.;)]|\ue000", after, maxsplit=1)[0][:60]
