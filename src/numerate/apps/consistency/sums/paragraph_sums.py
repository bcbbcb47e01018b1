"""Totals and their parts in a paragraph, in either order: `112 people on board. All 96 passengers and 14 crew ...`."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.sentences.paragraphs import NEEDED, is_explained, slip_bits
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sums.match_points import match_points
from numerate.apps.consistency.sums.match_records import line_scores, match_records
from numerate.apps.consistency.sums.part_lists import (
    MOST_PARTS,
    are_listed,
    complements,
    is_one_noun,
    may_be_sum,
    may_slip,
    of_one_unit,
)
from numerate.apps.consistency.wrong import wrong_sum

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.findings import Finding

__all__ = ["paragraph_sums"]

SURE = NEEDED + 3.0
"""Bits with which no word for a total needs to be there."""
_TIMES = ("h", "min")
_CUES = (
    "total", "altogether", "overall", "combined", "together", "all told", "came to", "bring", "brought", "remain",
    "on board", "aboard", "comprising", "consist", "made up", "split", "breakdown", "broken down", "divided", "absten",
    "grand", "whole", "therefore",
)  # fmt: skip
_CUE_WORDS = tuple(
    (words.split("|"), regex(pattern))
    for words, pattern in (
        ("other", r"\bother\b"), (" all|all ", r"in all\b|all in\b|\ball [\d]"), ("rest", r"\brest\b"),
        ("left", r"left\b"), ("of th|of wh", r"\bof (?:these|those|them|this|whom|which|that)\b"),
        ("made", r"\bmade"), ("mak", r"\bmak(?:es?|ing)"), ("both", r"\bboth\b"), ("among", r"\bamong"),
        ("giv", r"giv(?:es?|ing)"), ("leav", r"leav(?:es?|ing)"), ("com", r"com(?:es?|ing) to"), ("sum", r"\bsum\b"),
        ("so", r"\bso\b"), ("thus", r"\bthus\b"), ("add", r"add(?:s|ed|ing)? up"), ("balance", r"balance\b"),
        ("before ", r"before .{3,40}after"), ("first ", r"first .{3,40}second"),
    )
)  # fmt: skip
"""Patterns that say that a paragraph may have a total, each with words that it needs."""
_TOTAL = regex(
    r"(?:\b(?:in all|all in|all told|altogether|in total|overall|together|combined|taken together"
    r"|put together|total(?:s|l?ed|l?ing)?"
    r"|grand total|sum|adds? up|added up|adding up|com(?:es?|ing) to|came to|amount\w* to|brings?|bringing|brought"
    r"|the (?:whole )?(?:bill|lot))\b)(?:[ ,:]+[a-z$€£'’-]+){0,6}[ ,:=]*$"
)
_IN_ALL = regex(r"(?:taken together|put together|together|in all|in total|altogether|all told|all in all)\b")
_THAT = regex(
    r"^(?:so |thus |all )?(?:that|this|which|it|together,? (?:that|this|they)) (?:all )?(?:gives?"
    r"|makes?|made|comes?|came|brings?|brought|adds?|added|totals?|amounts?)\b"
)
_MINUS = regex(r"\b(?:offset|less|minus|net of|decrease\w*|reduced|deduct\w*|negative|loss(?:es)?)\b")
_MADE_OF = regex(
    r"\b(?:made up of|consist(?:s|ed|ing)? of|compris(?:es|ed|ing)|composed of|broken down (?:into|as)|breaks? down"
    r"|split (?:into|as)|divided into|namely)(?: (?!of )[a-z'’-]+){0,4}?[ :,(]*[$€£]?$"
)
_ALL = regex(r"(?:and |but |luckily,? |fortunately,? |happily,? )?(?:all(?: of)?(?: the| these| those)?|the) ")
_ALL_BEHIND = regex(
    r"(?: [a-z'’-]+s| [a-z'’-]+ [a-z'’-]+s| people| men| women| children)? (?:of (?:them|these|those|us)|were|was|are"
    r"|have|had|will|must|made|got|went|came|took|survived|arrived|passed|lived|returned|finished|received"
    r"|stayed|left)\b"
)
_WHOLES = (
    r"(?:herd|squad|fleet|team|crew|staff|cohort|sample|class|party|programme|program|package|budget|bill|invoice|haul"
    r"|collection|order|shipment|delivery|pot|estate|portfolio|payroll|workforce|roster|stock|outlay|estimate|quote"
    r"|project|grant|fund|purchase|load|convoy|tally|count|tab|receipt|turnout|membership|choir|payment|price tag)"
)
_WHOLE = regex(
    rf"\b{_WHOLES} (?:of|was|is|over|for|:|came to|stood at|now stands at|runs to)(?: (?:an?|now|the|exactly))? ?$"
    r"|\bn ?= ?$|\b(?:charged|invoiced|billed|owe[sd]?|debited|transferred|deliver(?:ed|s)|weighed in at|paid)"
    r"(?: (?:you|us|him|her|them|me|exactly|over|the|a))* ?$"
)
_WHOLE_BEHIND = regex(rf"^[ -](?:[a-z'’-]+ )?{_WHOLES}\b")
"""Words for a whole that do not say that it is a sum: `the £7.85m package`, `a herd of 187`, `N = 15,610`."""
_WEAK_TOTAL = regex(
    r"(?:\b(?:so|thus|therefore|hence|mak(?:es?|ing)|made|giv(?:es?|ing)|gave|that is|i\.e\.|equals?"
    r"|in other words|which means|meaning|works out)|=)(?:[ ,:]+[a-z$€£'’-]+){0,5}[ ,:]*$"
)
_TOTAL_BEHIND = regex(
    r"^(?: [a-z'’-]+){0,4}? (?:in all|in total|altogether|all told|all in|combined|overall|together"
    r"|between (?:them|us)|on board|aboard)\b"
)
_ALL_THOSE = regex(
    r"\b(?:all(?: of)?|these|those)(?: (?:the|these|those|its|our|their))? ?[$€£]?$"
    r"|\b(?:nothing|none|no[a-z ]{0,12} left) (?:[a-z]+ ){0,3}of (?:the|our|its|their) ?[$€£]?$"
    r"|\bsuch an? [a-z]+,? $|\buse[sd]? up (?:all )?(?:of )?(?:the|our|its|their) ?[$€£]?$"
)
"""Words for what was told before: `after these 82 km`, `all 90 of them`, `nothing is left of the €85,000`."""
_COLON = regex(r"^(?! among| includ)[^:;()]{0,60}: (?:(?!and )[a-z'’-]+ ){0,3}[$€£]?$")
_OF_WHOLE = regex(r"\b(?:of|among) (?:(?:the|our|all|its|these) )+$|^(?:of|among) $")
_NO_OTHERS = regex(r"\b(?:no others?|nothing else|nobody else|no one else|no further|that is all)\b")
_CLOSED = regex(
    r"\b(?:no others?|nothing else|nobody else|no one else|none (?:was|were|is) left|that is all|exactly|only|just"
    r"|no further|no more)\b"
)
_COUNTED = regex(r"^ (?:[a-z'’-]+ ){0,4}?[a-z'’-]*(?:s|people|men|women|children)(?: only)?(?:[:–—(]|,) ?")
_MORE_LEAD = regex(
    r"\b(?:with|including|plus|counting|after|adding) (?:the|its|his|her|their|travel|tax|vat|delivery|tips?"
    r"|fees?|all)\b"
)
_MORE_TAIL = regex(r"^(?: [a-z'’-]+){1,2} (?:and|or) [a-z]")
"""Words for what a total has besides the parts: `with the break`, `pupils and staff`."""
_REST = regex(
    r"\b(?:the (?:(?:other|remaining|last|final) )?|an? |its |our |their )?(?:remaining"
    r"|rest(?: of [a-z ]{1,24})?|other|others|remainder"
    r"|balance|leaving|leaves|which left|which leaves)(?:,? [a-z'’$€£-]+){0,4}?[ ,:–—(]*$"
)
_REST_BEHIND = regex(r"^(?: [a-z'’-]+){0,2} (?:left|remain(?:s|ed|ing)?|left over|to go|unsold|unspent|still [a-z]+)\b")
_OF = regex(
    r"^(?:of (?:these|those|them|this|that|the total|which|whom)|among (?:these|them|those)"
    r"|this (?:comprises|includes|is made up)|they (?:were|are|comprise))\b"
)
_OF_WHOM = regex(r", of (?:whom|which|them|these|those)(?: [a-z'’-]+){0,2} ?$")
_NESTED = regex(r"\bof (?:whom|which|them|these|those)\b")
_OVERLAP = regex(
    r"\b(?:also|both|more than one|several|multiple|at least|among others|some of|too|as well|ha(?:d|ve|s)|owne?[ds]?"
    r"|speak\w*|spoke|play\w*|stud(?:y|ied)|report\w*|us(?:e|ed|es|ing)|visited|read|t(?:ook|akes?)|liked?|kn[eo]w)\b"
)
_COUNTS = frozenset(range(3, 10))
_SETTING = regex(r"\b(?:at|in|across|on|over|during|within|through|throughout|for|by) (?:the |its |their |all |our )?$")


def paragraph_sums(paragraph: Paragraph) -> Iterator[Finding]:
    """Totals that are not the sum of the parts beside them, and rests that are not what is left."""
    yield from match_records(paragraph)
    yield from match_points(paragraph)
    if paragraph.tally.values > 7:
        yield from line_scores(paragraph)
    if paragraph.tally.values < 3 or len(paragraph.values) < 3:
        return
    settings: dict[int, bool] = {}
    factors = _counts_by_place(paragraph)
    for z in paragraph.values:
        if z.group not in ("plain", "money", "unit") or z.value <= 0 or z.hedge:
            continue
        alike = [each for each in of_one_unit(paragraph, z) if each.value > 0 and each.text.lower() != "one"]
        if not 2 <= len(alike) <= 14:
            continue
        if z.unit in _TIMES and any(each.unit in _TIMES and each.unit != z.unit for each in paragraph.values):
            continue  # hours and minutes are added elsewhere
        if not _may_be_told(paragraph, z, alike):
            continue
        best = max(_readings(paragraph, z, alike), key=_bits, default=None)
        if best is None or best[0] < NEEDED:
            for each in alike:
                if each.start not in settings:
                    settings[each.start] = _is_setting(paragraph, each)
            fewer = [
                each
                for each in alike
                if not settings[each.start]
                and not _announced(paragraph, each, alike)
                and not _is_factor(each, alike, factors)
            ]
            if 2 <= len(fewer) < len(alike):
                best = max(_readings(paragraph, z, fewer), key=_bits, default=None)
        if best is None or best[0] < NEEDED:
            continue
        if best[0] < SURE and not _has_cue(paragraph.lower) and not may_slip(z, alike):
            continue
        # `All 48 were unhurt, though two ...`: those are among them.
        is_all = _ALL.fullmatch(paragraph.upto(z)) is not None
        others = [each for each in alike if each.start < z.start] if is_all else alike
        if not is_explained(z, others, means=best[3] == "+"):
            _, real, parts, sign = best
            yield wrong_sum(z, parts, real, 0.86, sign)


def _may_be_told(paragraph: Paragraph, z: Quantity, alike: list[Quantity]) -> bool:
    """Whether some of the others may add up to a number, or it may be the rest of one; most are too large or small."""
    value = z.value
    smaller = sorted([each.value for each in alike if each.value < value])
    if len(smaller) > 1 and (smaller[0] + smaller[1]) * 0.598 < value < sum(smaller) * 1.672:
        return True
    if not any(each.value > value and each.start < z.start for each in alike):
        return False
    return _REST.search(paragraph.lead(z)) is not None or _REST_BEHIND.match(paragraph.tail(z)) is not None


def _bits(reading: tuple[float, float, list[Quantity], str]) -> float:
    return reading[0]


def _counts_by_place(paragraph: Paragraph) -> dict[int, list[Quantity]]:
    """The whole numbers of two or more of each sentence, by which an amount may be multiplied."""
    found: dict[int, list[Quantity]] = {}
    for each in paragraph.values:
        if each.value > 1 and each.value % 1 == 0:
            found.setdefault(each.place, []).append(each)
    return found


def _has_cue(lower: str) -> bool:
    has = lower.__contains__
    return any(map(has, _CUES)) or any(any(map(has, words)) and each.search(lower) for words, each in _CUE_WORDS)


def _readings(
    paragraph: Paragraph, z: Quantity, alike: list[Quantity]
) -> Iterator[tuple[float, float, list[Quantity], str]]:
    """Bits, expected value, operands and sign of each reading of a number as a total or a rest."""
    start, end, here = z.start, z.end, z.place
    before = [each for each in alike if each.end <= start and each.place >= here - 2]
    after = [each for each in alike if each.start >= end and each.place <= here + 1]
    is_sum = may_be_sum(z, before[::-1]) or may_be_sum(z, after)
    if not is_sum and not any(each.value > z.value for each in before):
        return
    lead, tail = paragraph.lead(z), paragraph.tail(z)
    if is_sum:
        yield from _sums(paragraph, z, alike, before, after)
    if (_REST.search(lead) or _REST_BEHIND.match(tail)) and before:
        yield from _rests(paragraph, z, before)


def _sums(
    paragraph: Paragraph, z: Quantity, alike: list[Quantity], before: list[Quantity], after: list[Quantity]
) -> Iterator[tuple[float, float, list[Quantity], str]]:
    """Readings of a number as the sum of those before or behind it."""
    lead, tail, here = paragraph.lead(z), paragraph.tail(z), z.place
    cue = 6.0 if _TOTAL.search(lead) or _TOTAL_BEHIND.match(tail) else 2.5 if _WEAK_TOTAL.search(lead) else 0.0
    if cue < 6 and _IN_ALL.match(paragraph.upto(z)):
        cue = 6.0 if not any(each.place == here and each.start < z.start for each in alike) else cue
    if cue < 3 and (_WHOLE.search(lead) or _WHOLE_BEHIND.match(tail)):
        cue = 3.0
    runs = []
    announced = [run for each in paragraph.alike(z) if (run := _announced(paragraph, each, alike))]
    back = [each for each in before if each.place == here - 1]
    if (
        _THAT.match(paragraph.upto(z))
        and not any(each.place == here and each.end <= z.start for each in paragraph.values)
        and len(back) > 2
        and back == [each for each in before if each.place >= here - 1]
    ):
        cue = 9.0
    if len(back) > 1 and _ALL.fullmatch(paragraph.upto(z)) and _ALL_BEHIND.match(tail):
        cue = 9.0 if len(back) > 2 else 7.0
    if cue < 6 and len(back) > 1 and len(back) == len(before) and _ALL_THOSE.search(lead):
        cue = 6.0
    if cue < 6 and len(back) > 2 and re.search(r"\bthe $", lead) and re.match(r" of (?:us|them|you)\b", tail):
        cue = 8.0
        runs.append(back)
    if not cue and re.search(r"\ball $", lead):
        cue = 2.5
    runs += [run for run in announced if run[0] in before or run[0] in after]
    if len(before) > 1:
        runs += [before[at:] for at in range(len(before) - 1) if _begins(paragraph, before, at)]
        if len(before) > 2 and complements(paragraph, before[-2:]) and not any(len(each) == 2 for each in runs):
            runs.append(before[-2:])
    opened = [_OF.match(paragraph.lead(after[0], 200)) is not None] if after else [False]
    of_these = _of_these(paragraph, z, before, after)
    runs += [of_these] if of_these and of_these[0] is not after[0] else []
    runs += [after[:count] for count in range(2, len(after) + 1) if _ends(paragraph, after, count)]
    own = [each for each in after if each.place == after[0].place]
    for parts in runs:
        if not 2 <= len(parts) <= MOST_PARTS:
            continue
        real = sum(each.value for each in parts)
        if z.value <= max(each.value for each in parts) or not 0.6 < z.value / real < 1.67:
            continue
        if not (are_listed(paragraph, parts) or complements(paragraph, parts) == 7.0):
            continue
        slip = max(slip_bits(z, real), _part_slip(z, parts, real))
        is_announced = parts in announced
        if parts[0].start < z.start and (
            2 * parts[-1].value == real  # a subtotal
            or (not cue and len(parts) == 2 and slip < 4.0 and not _is_owned(lead))
            or (cue < 6 and (_MORE_LEAD.search(lead) or _MORE_TAIL.match(tail)))
        ):
            continue
        slack = z.blur + 1.7 * math.sqrt(sum(each.blur**2 for each in parts))
        if abs(real - z.value) <= slack:
            continue
        is_rest = _REST.search(paragraph.lead(parts[-1])) is not None
        end = paragraph.tail(parts[-1], 90)
        is_whole = _OF_WHOLE.search(lead) is not None and (z.value < real or _CLOSED.search(end) is not None)
        is_whole = parts[0].start > z.start and (is_whole or _NO_OTHERS.search(end) is not None)
        bits = cue + complements(paragraph, parts) + (7.0 if is_announced else 5.0 if is_whole else 0.0)
        if parts[0].start > z.start and len(parts) > 2 and _COLON.search(paragraph.between(z, parts[0])):
            bits += (8.0 if z.unit else 6.0) if real > z.value else 3.0
        bits += 5.0 if is_rest and parts[0].start > z.start else 0.0
        bits += 10.0 if parts == of_these and 1 < real / z.value < 1.3 else 0.0
        # A list may be open, but hardly one that lacks as much as two exchanged digits of a part.
        bits += 4.0 if parts == of_these and real < z.value and slip > 4.0 else 0.0
        bits += 3.0 if opened[0] and parts[0] is after[0] else 0.0
        if (
            parts[0].start > z.start
            and not cue
            and len(parts) == len(own)
            and _MADE_OF.search(paragraph.between(z, parts[0]))
            and not _MINUS.search(paragraph.between(z, parts[-1]) + paragraph.tail(parts[-1]))
        ):
            bits += 8.0 if len(parts) > 2 else 7.0
        # Nothing else of this kind is told, so that the list is likely to be complete.
        back = abs(here - parts[0].place)
        is_own = parts[0].start < z.start or back == parts[-1].place - here == 1
        is_closed = slip > 0 and len(parts) == len(alike) and back < 3 and is_own
        bits += min(len(parts) - 1.0, 3.0) + (1.0 if _is_owned(lead) else 0.0) if is_closed else 0.0
        # Without any word, the whole list and an exchange of digits are needed.
        bits += slip if bits or (slip > 8.5 and len(parts) > 2 and parts[0].start < z.start) else 0.0
        bits += 2.0 if is_one_noun(paragraph, z, parts) else 0.0
        bits -= math.log2(len(runs)) + (
            3.0 if len(parts) == 2 and not complements(paragraph, parts) and not is_rest else 0.0
        )
        far = float(back) if is_closed else 2.0 if complements(paragraph, parts) and z.value > 99 else 4.0
        is_bound = cue >= 6 or is_rest or opened[0] or is_announced
        bits -= far if parts[0].place != here and not is_bound else 0.0
        yield bits, real, parts, "+"


def _announced(paragraph: Paragraph, count: Quantity, alike: list[Quantity]) -> list[Quantity]:
    """The values of a list that a number announces: `in three stages: 118 ..., 176 ... and 138 ...`."""
    if count.unit is not None or count.value not in _COUNTS:
        return []
    behind = [each for each in alike if each.start > count.end and each.place == count.place]
    if len(behind) != count.value or not _COUNTED.match(paragraph.between(count, behind[0])):
        return []
    return behind


def _of_these(paragraph: Paragraph, z: Quantity, before: list[Quantity], after: list[Quantity]) -> list[Quantity]:
    """The list behind `Of these` or `, of whom` and the largest number so far: whatever `these` are."""
    leads = ((each, paragraph.lead(each, 200)) for each in after)
    first = next((each for each, lead in leads if _OF.match(lead) or _OF_WHOM.search(lead)), None)
    if first is None:
        return []
    so_far = [*before, *(each for each in after if each.start < first.start)]
    own = [each for each in after if each.start >= first.start and each.place == first.place]
    if len(own) < 3 or any(each.value > z.value for each in so_far):
        return []
    if len(_NESTED.findall(paragraph.between(z, own[-1]) + paragraph.tail(own[-1], 90))) > 1:
        return []  # `30 ships, of which 11 are chartered, and 18 tankers, of which five are`
    return [] if _OVERLAP.search(paragraph.between(z, own[-1]) + paragraph.tail(own[-1], 90)) else own


def _part_slip(z: Quantity, parts: list[Quantity], real: float) -> float:
    """The bits of a slip in one of the parts: 655, 498 and 178 are 1,340 if the last is 187."""
    if len(parts) < 3:
        return 0.0
    best = max(slip_bits(each, each.value + z.value - real) for each in parts)
    return best - math.log2(len(parts)) if best > 6 else 0.0


def _rests(
    paragraph: Paragraph, z: Quantity, before: list[Quantity]
) -> Iterator[tuple[float, float, list[Quantity], str]]:
    """Readings of a number as what is left of the largest one before it."""
    whole, here = max(before, key=lambda each: each.value), z.place
    behind = [each for each in before if each.start > whole.start]
    own = [each for each in behind if each.place == here]
    # `412 patients at nine centres. 31 withdrew, ..., leaving 365`: what else the first sentence counts is no part.
    for parts in (behind, own) if 1 < len(own) < len(behind) else (behind,):
        if not parts or len(parts) > MOST_PARTS or whole.value <= max(each.value for each in (*parts, z)):
            continue
        if not are_listed(paragraph, parts):
            continue
        real = whole.value - sum(each.value for each in parts)
        if real <= 0 or not 0.2 < z.value / real < 5:
            continue
        slack = z.blur + 1.7 * math.sqrt(sum(each.blur**2 for each in (whole, *parts)))
        if abs(real - z.value) <= slack:
            return
        bits = 7.0 if _REST.search(paragraph.lead(z)) else 4.0
        bits += slip_bits(z, real) + (-2.0 if len(parts) == 1 else 1.0)
        bits -= 0.0 if 0.5 < z.value / real < 2 or z.value - real in (10, -10, 100, -100) else 2.0
        yield bits, real, [whole, *parts], "-"


def _is_setting(paragraph: Paragraph, quantity: Quantity) -> bool:
    """Whether a small number tells where or how something was and counts no part: `at the two clinics`."""
    return quantity.value < 13 and quantity.unit is None and _SETTING.search(paragraph.lead(quantity)) is not None


def _is_factor(amount: Quantity, alike: list[Quantity], factors: dict[int, list[Quantity]]) -> bool:
    """Whether an amount is told with its product: 850 of `12 months at 850 euros, 10,200 euros`."""
    own = factors.get(amount.place)
    if own is None:
        return False
    least = 2 * amount.value
    products = {each.value for each in alike if each.value >= least and each.end > amount.start}
    if not products:
        return False
    return any(each.value * amount.value in products for each in own if each is not amount)


def _is_owned(lead: str) -> bool:
    return re.search(r"\b(?:his|her|their|its|our|all|the) $", lead) is not None


def _begins(paragraph: Paragraph, run: list[Quantity], at: int) -> bool:
    """Whether a run may begin there: at the begin of a sentence's numbers."""
    return at == 0 or run[at].place != run[at - 1].place


def _ends(paragraph: Paragraph, run: list[Quantity], count: int) -> bool:
    """Whether a run may end there: at the end of a sentence or a clause, or with the rest."""
    if count == len(run) or run[count].place != run[count - 1].place:
        return True
    between = paragraph.between(run[count - 1], run[count])
    return (
        ";" in between
        or ")" in between
        or re.search(r", and [a-z]+ (?:were|was|are|is|had|have)\b", between) is not None
    )
