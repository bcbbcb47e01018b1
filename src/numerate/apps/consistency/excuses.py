"""Words that excuse a number which does not fit: it was left out, is a special price, counts twice or is a loss.

Rules compare numbers by their places and units. What a text says about one of them may explain the difference, and is
the same for all rules, so it is looked for here, once there is a finding: most texts have none, and pay nothing.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, NamedTuple

from numerate.apps.consistency.given_numbers import is_given, is_no_measure, is_quiz
from numerate.apps.consistency.other_things import (
    at_another_time,
    falling_on_purpose,
    of_another_event,
    of_another_person,
    of_another_side,
    of_another_thing,
    of_another_whole,
    of_larger_group,
    of_other_one,
)
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sums.votes import may_not_vote
from numerate.numerals.unit_factors import measure_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.findings import Finding

__all__ = ["Claim", "is_excused"]

_LEFT_OUT_BEFORE = regex(
    r"\b(?:leav(?:e|es|ing) (?:out|aside)|left (?:out|aside)|(?<!tax )exclud(?:e|es|ing)|ignor(?:e|es|ing)"
    r"|disregard(?:s|ing)?|discount(?:s|ing) (?:the|a|his|her|its)|not (?:counting|including)|set(?:s|ting)? aside"
    r"|discard(?:s|ing)?|omit(?:s|ting)?|apart from|except for|other than|barring|without (?:counting )?the)\b[^.;]*$"
)
_LEFT_OUT_BEHIND = regex(
    r"\b(?:left (?:out|aside)|excluded|omitted|ignored|disregarded|discarded|set aside|struck (?:out|off)|thrown out"
    r"|(?:was|were|been|be|is|are) (?:dropped|removed|rejected|withdrawn)|(?:not|n[o'’]t|never|nor)\b(?: yet| been"
    r"| be)? (?:count(?:ed)?|includ(?:e|ed)|us(?:e|ed)|considered|in the|part|shown|take[n]?)\b)"
)
_TRIMMED = regex(
    r"\b(?:highest|lowest|best|worst|top|bottom|extremes?|outliers?|largest|smallest|first|last)\b[^.;]{0,40}?"
    r"\b(?:dropped|discarded|removed|left out|excluded|ignored|omitted|disregarded|thrown out|set aside|not count\w*)\b"
    r"|\b(?:leaving out|discarding|dropping|ignoring|excluding|without|removing|omitting)\b[^.;]{0,30}?"
    r"\b(?:highest|lowest|best|worst|extremes?|outliers?|largest|smallest|first|second|third|fourth|fifth|sixth|last)\b"
    r"|\btrimmed\b|\bweighted\b"
)
_BOTH_WAYS = regex(
    r"\b(?:each way|one[- ]way|round[- ]trip|there and back|both (?:ways|directions|sides)|return (?:trip|journey|fare"
    r"|ticket)|out and back|and back|per side|a side|either side|twice)\b"
)
_BUNDLE = regex(
    r"\b(?:for the price of|bundles?|multi-?buy|bulk|multipacks?|season tickets?|family tickets?|group (?:rate|price"
    r"|ticket|discount)s?|discount\w*|special offer|deal|on offer|half[- ]price|loyalty|capped|free of charge|vouchers?"
    r"|coupons?|one free|buy)\b"
)
_BUNDLE_BEFORE = regex(
    r"(?:\bor|\band|\bbut|[,;(/–—])(?: an?)?(?: (?:pack|box|set|book|carnet|block|strip|case|bag)s?)?(?: of)?[ (]*$"
)
_FOR = regex(r" (?:[a-z'’-]+ ){0,2}(?:for|at|cost|costs|are|is|come to)(?: only| just)? $")
_LOSS = regex(
    r"\b(?:loss(?:es)?|lost|lose[sd]?|deficit|shortfall|minus|negative|overdrawn|overdraft|in the red|in debt"
    r"|below (?:zero|freezing|sea level|ground|par)|behind|bc|under par)\b"
)
_BOUND_BEHIND = regex(r"\s*(?:[a-z%°²]+ )?or (?:more|less|fewer|over|above|higher|greater|better|longer|older)\b")
_AHEAD = regex(r"\s*(?:ahead|behind|clear|in front|adrift|faster|slower|quicker|before|late|early)\b")
_CHANGES_CLOCKS = regex(
    r"\bclocks? (?:are |is |were |was )?(?:go|goes|went|going|put|turn\w*|set|moved?|spring|fall|change\w*)\b"
    r"|\b(?:clock|time)[ -](?:changes?|switch)|\bchange of (?:the )?clocks?"
    r"|\b(?:summer|winter|daylight[ -]saving)s?[ -]time"
    r"|\bsommerzeit|\bwinterzeit|\bzeitumstellung|\bheure d['’](?:été|hiver)|\bhorario de (?:verano|invierno)"
)
_SPEED = regex(r"/h$|/s$|mph|kn")
_NEGATED = regex(r"\bnot [$€£]?$")
_CODE = regex(r"(?:\b(?:nos?\.?|nr\.?|number|code|ref\.?|reference|id|serial|part|model|sku|docket)|#):? ?$")
_REST = regex(
    r"\b(?:the|for the|whose) (?:rest|remainder|others|balance)\b|\bamong others\b|\band (?:several|some|a few"
    r"|many)\b|^[^.;]{0,40}\bamong them\b|^[^.;]{0,24}, and [a-z]+(?: [a-z]+)?\."
)
_TO = regex(r" ?(?:to|and|-|–|—) ?[$€£]?")
_OVERLAP = regex(
    r"\b(?:some|many|several|a few|others) (?:[a-z]+ ){0,3}(?:two|both|twice|several|more than one)\b|\bmultiple"
    r" (?:ans|cho)|\bseveral answers\b"
)
_OF_ALL = regex(r"^(?:out )?(?:of|among) (?:the |all |our |its |these |those )*$")
_AT_ONCE = regex(
    r"\b(?:ha(?:d|ve|s)|own(?:s|ed)?|speaks?|spoke|plays?|played|tried|tasted|ate|dr[aiu]nk|ordered|bought|visited|read"
    r"|watched|use[ds]?|like[ds]?|know|knew|wear|wore|carr(?:y|ied)|took|takes?|mention\w*|name[ds]?|cited|report\w*)\b"
)
"""What one can do with several things, so that those who do so are told more than once."""
_ONE_EACH = regex(r"\b(?:only|exactly|either|the rest|the others?|remaining|respectively|one each|instead)\b")
_BASE = regex(
    r"\b(?:relative to|in relation to|based on|related to|calculated (?:on|for|from)|with respect to|for (?:every|each)"
    r"|per|je|pro|par|pour|por|auf|as a (?:percentage|share|proportion) of)(?: (?:an?|the|about))? $"
)
"""What amounts are measured by, which is not their sum: `relative to 1,000 g of flour`."""
_HOURS = regex(
    r"\b(?:trains?|bus(?:es)?|trams?|ferr(?:y|ies)|open|opens|opening|closed|shifts?|o['’]clock|[ap]\.?m\b|noon"
    r"|midnight"
    r"|mornings?|afternoons?|evenings?|nights?|weekdays|sundays?|saturdays?|mondays?|fridays?|daily|hours?|lunch)\b"
)
_THEIR_MEAN = regex(r"^(?: [a-z]+){0,2} on average ?[:;,(–—]")
_EACH = regex(r"\b(?:each|apiece)\b")
_SEVERAL = regex(
    rf"\((?:x ?|× ?)?(\d(?![.,]\d|, ?\d)|{'|'.join(('two', 'three', 'four', 'five', 'six'))})\b[^()\n]{{0,24}}\)"
)
_AND_COUNT = regex(r"\b(an?|one|two|three|four|five|six|seven|eight|nine|\d{1,2}) [a-z'’-]+(?: [a-z'’-]+)? and $")
_GROUP = regex(
    r"\b(?:twins|triplets|quadruplets|brothers|sisters|couples?|pair|family|parents|grandparents|siblings|cousins"
    r"|colleagues|children|sons|daughters|both|others)\b"
)
"""One item of a list that stands for several."""
_COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
           "nine": 9}  # fmt: skip
MOST_OTHERS, REACH = 12, 100
TELLING = 10
"""Numbers that are not by chance what another one lacks."""
_SLACK = 1e-6


class Claim(NamedTuple):
    """A finding with the quantities it is about."""

    finding: Finding
    paragraph: Paragraph
    z: Quantity
    others: list[Quantity]
    expected: float | None

    def fits(self, value: float) -> bool:
        """Whether the written value is this one."""
        return abs(self.z.value - value) <= self.z.half * 1.02 + _SLACK * abs(value)

    def peers(self) -> list[Quantity]:
        """Values of its paragraph that the finding is not about."""
        used = {(each.start, each.end) for each in (self.z, *self.others)}
        return [each for each in self.paragraph.values if (each.start, each.end) not in used][:MOST_OTHERS]


def is_excused(finding: Finding, text: str, paragraphs: Sequence[Paragraph]) -> bool:
    """Whether the words around the numbers of a finding explain why they do not fit."""
    if finding.span is None:
        return False
    if finding.rule == "date":
        start = finding.span[0]
        return _CODE.search(text[max(0, start - 14) : start].lower()) is not None
    if finding.rule == "count":
        return _is_counted_otherwise(finding, text)
    if finding.rule == "unit" and is_no_measure(finding, text):
        return True
    claim = _claim(finding, paragraphs)
    if claim is None:
        return False
    if finding.evidence.get("kind") == "equation":
        return is_quiz(finding, text)  # nothing else has to be told
    if is_given(finding, text, claim.paragraph, claim.z):
        return True
    if finding.rule in ("sum", "product", "difference", "average") and _right_is_told(claim):
        return True
    if finding.rule == "percent" and of_another_whole(claim, paragraphs):
        return True
    return any(excuse(claim) for excuse in _EXCUSES.get(finding.rule, ()))


def _claim(finding: Finding, paragraphs: Sequence[Paragraph]) -> Claim | None:
    start = finding.span[0] if finding.span is not None else -1
    for paragraph in paragraphs:
        whole = paragraph.whole
        if whole.offset <= start < whole.offset + len(whole.text):
            known = {(each.start, each.end): each for each in whole.quantities}
            z = known.get(finding.span)  # type: ignore[arg-type]
            spans = [(each["start"], each["end"]) for each in finding.evidence.get("others", ())]
            if z is not None:
                others = [known[span] for span in spans if span in known]
                return Claim(finding, paragraph, z, others, finding.evidence.get("expected"))
    return None


_CAME_AND_WENT = regex(
    r"\b(?:new|joined|came|come|born|arrived|added|extra|bought|left|damaged|broken|lost|died|sold|missing|spoiled"
    r"|spare|kept"
    r"|unused|empty|free|cancelled|returned|given away|for (?:delivery|postage|shipping))\b"
)


def _right_is_told(claim: Claim) -> bool:
    """Whether another number is the expected one, or is what the number lacks, and is said to have come or gone."""
    if claim.expected is None:
        return False
    gap = abs(claim.z.value - claim.expected)
    for each in claim.peers():
        if each.group != claim.z.group or each.unit != claim.z.unit:
            continue
        if claim.finding.rule == "average" and each.value == len(claim.others) and each.text.isalpha():
            continue  # `2, 3 and 4 in the three tests`
        if abs(each.value - claim.expected) <= min(each.half, claim.z.half) and not claim.fits(each.value):
            return True
        around = f"{claim.paragraph.lead(each)[-24:]} | {claim.paragraph.tail(each)[:30]}"
        is_gap = each.value > 1 and abs(each.value - gap) <= 1e-6 * gap
        if is_gap and (each.value >= TELLING or _CAME_AND_WENT.search(around)):
            return True
    return False


def _is_left_out(paragraph: Paragraph, quantity: Quantity) -> bool:
    return (
        _LEFT_OUT_BEFORE.search(paragraph.lead(quantity)) is not None
        or _LEFT_OUT_BEHIND.search(paragraph.tail(quantity, 90)) is not None
    )


def _mean_without(claim: Claim) -> bool:
    """`Leaving out the freak 41, the nurses counted 12, 15 and 18, 15 on average`; judges' best and worst marks."""
    if _THEIR_MEAN.match(claim.paragraph.lead(claim.z)):
        return True  # `2.4 nights on average: 1.8 in winter`
    kept = [each.value for each in claim.others if not _is_left_out(claim.paragraph, each)]
    if len(kept) < len(claim.others) and kept and claim.fits(sum(kept) / len(kept)):
        return True
    return _TRIMMED.search(claim.paragraph.lower) is not None


def _outside_range(claim: Claim) -> bool:
    """`The lowest count, 5,100, was taken in a snowstorm and left out`; `between 9 and 4` are times of the day."""
    ends = (claim.z, *claim.others)
    if len(ends) == 2 and all(each.group == "plain" and each.value in range(1, 13) for each in ends):
        return _HOURS.search(claim.paragraph.lower) is not None
    if len(ends) == 2 and _TO.fullmatch(claim.paragraph.between(*ends)):
        return False  # the two ends of a range
    return _is_left_out(claim.paragraph, claim.z) or any(_is_left_out(claim.paragraph, each) for each in claim.others)


def _gap_left_out(claim: Claim) -> bool:
    """A sum that fits with or without what was left out, or with `one each for A and B`."""
    if claim.expected is None:
        return False
    last = max((claim.z, *claim.others), key=lambda each: each.end)
    behind = last.end - claim.paragraph.whole.offset
    if claim.z.value > claim.expected and _REST.search(claim.paragraph.lower[behind : behind + REACH]):
        return True  # `€9,400 in cash, €6,150 by card, and a cheque for the rest`
    if claim.z.value < claim.expected and _OVERLAP.search(claim.paragraph.lower):
        return True
    gap = abs(claim.z.value - claim.expected)
    for each in (*claim.others, *claim.peers()):
        if abs(each.value - gap) <= each.half + claim.z.half and _is_left_out(claim.paragraph, each):
            return True
        if (
            0 < each.value < gap
            and _EACH.match(claim.paragraph.tail(each).lstrip())
            and gap / each.value in range(2, 7)
        ):
            return True
    return False


def _base_of_shares(claim: Claim) -> bool:
    """`70 % and 2 % relative to 1,000 g of flour: 700 g and 20 g`: the whole is what the shares are of."""
    if any(each.start < claim.z.start for each in claim.others):
        return False
    if _BASE.search(claim.paragraph.lead(claim.z)):
        return True
    shares = [each.value for each in claim.paragraph.values if each.group == "percent"]
    return bool(shares and claim.others) and all(
        any(abs(share * claim.z.value - each.value) <= each.half for share in shares) for each in claim.others
    )


def _at_once(claim: Claim) -> bool:
    """`Of 200 guests, 120 had soup, 90 had salad and 60 had dessert`: more than all, as many had two of them."""
    if claim.expected is None or claim.z.value >= claim.expected or not claim.others:
        return False
    last = max(claim.others, key=lambda each: each.end)
    if last.end <= claim.z.end or not _OF_ALL.search(claim.paragraph.upto(claim.z)):
        return False
    words = claim.paragraph.between(claim.z, last) + claim.paragraph.tail(last)
    return len(_AT_ONCE.findall(words)) >= 1 and _ONE_EACH.search(words) is None


def _other_factors(claim: Claim) -> bool:
    """A product with a factor that the rule did not see: another count, both ways, or two spans of time."""
    if not claim.expected:
        return False
    if "compound" in claim.paragraph.lower:
        return True
    ratio = claim.z.value / claim.expected
    near = [each for each in claim.peers() if abs(claim.paragraph.place(each) - claim.paragraph.place(claim.z)) <= 1]
    counts = [each.value for each in near if each.group == "plain" and 1 < each.value < 1000]
    if _BOTH_WAYS.search(claim.paragraph.lower):
        counts += [2.0, *(2 * each for each in counts)]
    if any(claim.fits(claim.expected * each) or claim.fits(claim.expected / each) for each in counts):
        return True
    for one in claim.others:
        # `£420 whether 20 or 40 people travel, so with 35 of us it is £12 a head`
        swaps = [each.value for each in near if each.group == one.group and each.unit == one.unit]
        if one.value and any(claim.fits(claim.expected / one.value * each) for each in swaps):
            return True
        # `It ran for 25 minutes, was off for 10, and ran for another 20.`
        alike = [each.value for each in near if each.group in (one.group, "plain") and each.unit in (one.unit, None)]
        for more in range(1, min(len(alike), 3) + 1):
            for some in itertools.combinations(alike, more):
                if one.value and claim.fits(claim.expected * (one.value + sum(some)) / one.value) and ratio > 1:
                    return True
    return False


def _special_price(claim: Claim) -> bool:
    """`£24 each or five for £100`, `three for the price of two`."""
    paragraph, z = claim.paragraph, claim.z
    if z.group != "money":
        return False
    if claim.expected is not None and z.value < claim.expected and _BUNDLE.search(paragraph.lower):
        return True
    return any(
        price.group == "money"
        and price.value == z.value
        and _FOR.fullmatch(paragraph.between(count, price))
        and _BUNDLE_BEFORE.search(paragraph.lead(count))
        for count, price in itertools.pairwise(paragraph.values)
    )


def _swing(claim: Claim) -> bool:
    """`A profit of $18m from a loss of $7m, a $25m improvement`: the loss is negative."""
    if len(claim.others) != 2 or not claim.fits(sum(abs(each.value) for each in claim.others)):
        return False
    losses = [
        _LOSS.search(claim.paragraph.lead(each)) or _LOSS.match(claim.paragraph.tail(each).lstrip())
        for each in claim.others
    ]
    return any(losses)


def _bound(claim: Claim) -> bool:
    """`Replace it when the difference is 6.5 mm or more`; `4 minutes 10 seconds ahead of the bunch`."""
    tail = claim.paragraph.tail(claim.z)
    return _BOUND_BEHIND.match(tail) is not None or (
        any(each.group == "clock" for each in claim.others) and _AHEAD.match(tail) is not None
    )


def _clock_change(claim: Claim) -> bool:
    """`The clocks go forward ... Staff working 22:00 to 06:00 are on duty for seven hours`."""
    if claim.expected is None or sum(each.group == "clock" for each in claim.others) != 2:
        return False
    measure = measure_of(claim.z.unit or "")
    minutes = abs(claim.expected - claim.z.value) * (measure.factors[0] / 60 if measure else 0.0)
    return abs(minutes - 60) < 1 and _CHANGES_CLOCKS.search(claim.paragraph.lower) is not None


def _is_no_mean(claim: Claim) -> bool:
    """`The average is 48 km/h and not 50`; the mean of the speeds there and back is the harmonic one."""
    speeds = [each.value for each in claim.others if each.unit == claim.z.unit and each.value > 0]
    if len(speeds) > 1 and _SPEED.search(claim.z.unit or "") and claim.fits(len(speeds) / sum(1 / v for v in speeds)):
        return True
    return any(_NEGATED.search(claim.paragraph.lead(each)) for each in claim.others)


def _no_votes(claim: Claim) -> bool:
    """`All 22 were present: 14 in favour, 5 against, 2 abstaining, the chair did not vote`."""
    return may_not_vote(claim.paragraph.lower)


def _part_of_sum(claim: Claim) -> bool:
    """Whether the number is one of neighbours that add up to another number of the paragraph exactly."""
    alike = [each for each in claim.paragraph.values if each.group == claim.z.group and each.unit == claim.z.unit]
    values = [each.value for each in alike][:MOST_OTHERS]
    at = next((index for index, each in enumerate(alike[:MOST_OTHERS]) if each is claim.z), None)
    if at is None:
        return False
    for first in range(at + 1):
        for last in range(max(at, first + 2) + 1, len(values) + 1):
            whole = sum(values[first:last])
            if whole >= 1000 and any(abs(each - whole) < 0.01 for each in values[:first] + values[last:]):
                return True
    return False


def _is_another(claim: Claim) -> bool:
    """`127 patients in May and 172 in June. All 172 patients`: the number itself was told before."""
    return claim.z.group != "ratio" and any(  # of the two numbers of a score, one was told before
        each.value == claim.z.value and each.group == claim.z.group and each.end < claim.z.start
        for each in claim.paragraph.values
    )


def _is_sum(claim: Claim) -> bool:
    """`250 ml of cream and 270 ml of milk. Stir the 520 ml`: the number is the sum of numbers told before."""
    before = [each for each in claim.paragraph.alike(claim.z) if each.end < claim.z.start]
    return claim.z.unit is not None and len(before) > 1 and claim.fits(sum(each.value for each in before))


def _fee_is_wrong(claim: Claim) -> bool:
    """Whether a percentage of one part says that another part is wrong: `€1,000 plus 19 % VAT (€109), i.e. €1,190`."""
    rates = [each.value for each in claim.paragraph.values if each.group == "percent"]
    if len(claim.others) != 2 or not rates:
        return False
    gaps = [(one, claim.z.value - one.value) for one in claim.others]
    return any(abs(rate * one.value - gap) <= _SLACK * one.value + 0.006 for rate in rates for one, gap in gaps)


_EXCUSES = {
    "repeated": (_is_another, _is_sum, of_another_person),
    "average": (_mean_without, _is_no_mean, at_another_time, of_larger_group),
    "range": (_outside_range, at_another_time, falling_on_purpose),
    "sum": (_fee_is_wrong, _no_votes, _gap_left_out, _bound, _base_of_shares, _at_once, of_other_one, of_another_side),
    "product": (_other_factors, _special_price),
    "difference": (_swing, _bound, _clock_change, _part_of_sum, of_another_thing, of_another_event),
    "percent": (_swing, _part_of_sum, at_another_time, of_another_thing),
}  # fmt: skip


def _is_counted_otherwise(finding: Finding, text: str) -> bool:
    """`Two daughters and two sons: ...` are four, and `Baker (2 posts)` counts twice."""
    start, end = finding.span or (0, 0)
    said, real = finding.evidence.get("value"), finding.evidence.get("expected")
    if said is None or real is None:
        return False
    before = _AND_COUNT.search(text[max(0, start - 40) : start].lower())
    if before is not None and said + _number(before[1]) == real:
        return True
    items = text[end : end + 600]
    if said > real and _GROUP.search(re.split(r"[.;]\s|$", items.partition(":")[2])[0]):
        return True
    return said - real == sum(_number(each) - 1 for each in _items_for_several(items))


def _items_for_several(items: str) -> Iterable[str]:
    return [match[1].lower() for match in _SEVERAL.finditer(items)] or ["1"]


def _number(word: str) -> int:
    return _COUNTS.get(word) or int(word)
