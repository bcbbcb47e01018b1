"""Limits, extremes and ranges of a paragraph, and values that contradict them.

`at least 35 and no older than 28`; `the lowest reading was 5.1, the highest 8.4, the one before breakfast 9.6`;
`projects of 18 to 36 months. Ours, at 40 months, fits comfortably`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at
from numerate.apps.consistency.sentences.patterns import regex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.findings import Finding

__all__ = ["paragraph_ranges"]

_OF = (
    r"(?:,? [a-zà-ÿ'’-]+){0,4}?(?: (?:of|is|was|at|being|to|only|just|on|with|reaching|reached|paid|gets?|got|costs?"
    r"|measur\w+|weigh\w+)|:|,| \()* ?[$€£]?"
)
_LIMIT_LOW = regex(
    r"\b(?:at least|no (?:younger|less|fewer|lower|shorter|smaller|lighter|earlier) than|not (?:less|fewer"
    r"|younger) than|(?:a |the )?minimum(?: [a-z]+)?(?: of| is|:)?|not (?:below|under)|over the age of) [$€£]?$"
)
_LIMIT_HIGH = regex(
    r"\b(?:at most|no (?:older|more|higher|longer|larger|bigger|heavier|taller|later) than|not (?:more|older"
    r"|longer) than"
    r"|(?:a |the )?maximum(?: [a-z]+)?(?: of| is|:)?|not (?:above|over|exceed(?:ing)?)|under the age of) [$€£]?$"
)
_LOW = (
    r"(?:lowest|minimum|coldest|coolest|smallest|shortest|cheapest|youngest|lightest|least|weakest|worst|shallowest"
    r"|narrowest|bottom|slowest|lowest-paid|worst-paid|leanest|thinnest)"
)
_HIGH = (
    r"(?:highest|maximum|hottest|warmest|largest|biggest|longest|dearest|oldest|heaviest|greatest|strongest|deepest"
    r"|widest|peak|tallest|fastest|best-paid|highest-paid|most expensive|thickest)"
)
_EXTREME_LOW, _EXTREME_HIGH = regex(rf"\b{_LOW}{_OF}$"), regex(rf"\b{_HIGH}{_OF}$")
_MEMBER = regex(
    rf"\b(?:{_LOW}|{_HIGH}|best (?:guess|estimate)|central estimate|most likely|average|mean|median|typical\w*"
    rf"|top earner|point estimate){_OF}$"
)
_WITHIN = regex(
    r"\b(?:fits?|within|inside|in (?:the )?range|comfortably|compl(?:y|ies)|conforms?|qualif(?:y|ies)|acceptable"
    r"|in spec|in line|eligible|satisf(?:y|ies)|in tolerance|falls? (?:well )?(?:in|into|between))\b"
)
_OUTSIDE = regex(
    r"\b(?:outside|too (?:high|low|long|short|old|young|big|large|small|heavy|light)|out of (?:range|tolerance)"
    r"|ineligible|beyond (?:the|that|this) range|does(?:n't| not) qualify)\b"
)
_NOT = regex(
    r"\b(?:not|never|if|unless|should|must|would|could|nor|without|until|when|no longer|neither|than|last year"
    r"|previous\w*|record|total|altogether|difference|per|each|national|limit|allowed|while|whereas|respectively"
    r"|except\w*|although|normal\w*|before it|rather|now|instead|raised|forecast|outlier|corrected"
    r"|next (?:year|month|week|season|winter|summer|spring|autumn))\b|n['’]t\b"
)
_FROM = regex(
    r"\b(?:from|between|range of|range is|range|ranges|lie|lies|of|measure|aged|for|with|be|is|are"
    r"|scale of)(?: [a-z]+)? [$€£]?$"
)
_SPREAD = regex(r"\b(?:c\.?i|iqr|interquartile|confidence|credible|percentiles?|sd|quartiles?|interval)\b")
"""Intervals that do not hold all values."""
_THIRD = regex(r"\b(?:third|fourth|fifth|others?|rest|remaining|ours|mine|second)\b")
_SCALE = regex(r"\bscale (?:of|from|that runs from|running from|between) $")
_SCORED = regex(
    r"\b(?:score[ds]?|rated?|rates|rating|gave|gives|reported|marked|assessed|put (?:it|his|her)(?: [a-z]+)? at)"
    r"(?: [a-z]+){0,3}? $"
)
_ALL = regex(r"\b(?:all|every|each|both|none)\b")
_CUES = ("least", "no ", "inimum", "owest", "est ", "est,", "est-", " to ", "etween", "–", "-", "cale")


def paragraph_ranges(paragraph: Paragraph) -> Iterator[Finding]:
    """Limits that exclude each other, values beyond the extremes, and wrong verdicts on a range."""
    if paragraph.tally.values < 2 or not any(map(paragraph.lower.__contains__, _CUES)):
        return
    has_limits = any(map(paragraph.lower.__contains__, ("least ", "inimum", " than ", "not ", " age of")))
    has_extremes = "est" in paragraph.lower or "imum" in paragraph.lower
    places: dict[int, list[Quantity]] = {}
    for each in paragraph.values if has_limits or has_extremes else ():
        places.setdefault(each.place, []).append(each)
    for place, values in places.items():
        if has_limits and len(values) > 1:
            yield from _limits(paragraph, values)
        if not has_extremes:
            continue
        if len(values) > 2:
            yield from _extremes(paragraph, values)
        elif len(values) == 2:
            behind = [each for each in places.get(place + 1, ()) if _THIRD.search(paragraph.lead(each))]
            yield from _extremes(paragraph, [*values, *behind])
    if paragraph.tally.values > 2:
        yield from _members(paragraph)


def _limits(paragraph: Paragraph, values: list[Quantity]) -> Iterator[Finding]:
    low = [each for each in values if _LIMIT_LOW.search(paragraph.lead(each))]
    high = [each for each in values if _LIMIT_HIGH.search(paragraph.lead(each))] if low else []
    if len(low) != 1 or len(high) != 1 or not _is_kin(low[0], high[0]) or low[0].value <= high[0].value:
        return
    a, b = low[0], high[0]
    nouns = [
        re.match(r" (?!and\b|but\b|on\b|in\b|at\b|or\b|to\b|per\b|of\b|for\b)([a-z]+)", paragraph.tail(each))
        for each in (a, b)
    ]
    if (nouns[0] and nouns[1] and nouns[0][1] != nouns[1][1]) or (
        a.unit is None and nouns[0] and nouns[1] is None and nouns[0].end() > 14
    ):
        return
    if len(paragraph.between(a, b)) < 60 and not re.search(r"\bor\b|[;.]", paragraph.between(a, b)):
        message = f"The lower limit {a.text} is more than the upper one, {b.text}."
        yield finding_at("range", a, message, others=[b], probability=0.9)


def _extremes(paragraph: Paragraph, values: list[Quantity]) -> Iterator[Finding]:
    low = [each for each in values if _EXTREME_LOW.search(paragraph.lead(each))]
    high = [each for each in values if _EXTREME_HIGH.search(paragraph.lead(each))] if len(low) == 1 else []
    if len(low) != 1 or len(high) != 1 or not _is_kin(low[0], high[0]) or low[0].value >= high[0].value:
        return
    a, b = low[0], high[0]
    for x in values:
        if x in (a, b) or not (_is_kin(x, a) or _is_kin(x, b)) or x.hedge or x.half != b.half:
            continue
        if a.value <= x.value <= b.value or not a.value / 3 < x.value < 3 * b.value or x.start < min(a.start, b.start):
            continue
        if _NOT.search(paragraph.around(a, b, x)):
            continue
        message = f"{x.text} does not lie between the lowest value {a.text} and the highest, {b.text}."
        yield finding_at("range", x, message, others=[a, b], probability=0.86)


def _members(paragraph: Paragraph) -> Iterator[Finding]:
    """A range, and values of its sentence or the next that are said to be in or out of it."""
    values = paragraph.values
    for index in range(len(values) - 1):
        a, b = values[index], values[index + 1]
        if b.start - a.end > 12 or not a.value < b.value or not _is_kin(a, b):
            continue
        gap = paragraph.between(a, b)
        if gap.strip() not in ("to", "and", "–", "-", "—"):
            continue
        if not (_FROM.search(paragraph.lead(a)) or gap.strip() in ("–", "—")) or _SPREAD.search(paragraph.lead(a)):
            continue
        here = paragraph.place(b)
        is_scale = _SCALE.search(paragraph.lead(a)) is not None
        for x in values[index + 2 :]:
            if (
                paragraph.place(x) > here + 1
                or x.hedge
                or x.half > 5 * b.half
                or not (_is_kin(x, b) or (x.group == "plain" and x.half == b.half < 0.5))
            ):
                continue
            is_in = a.value - a.half - x.half <= x.value <= b.value + b.half + x.half
            verdict = _verdict(paragraph, x, is_scale)
            if verdict is None or verdict == is_in or not a.value / 4 <= x.value <= 4 * b.value:
                continue
            if is_in and (x.value in (a.value, b.value) or verdict is None):
                continue
            message = f"{x.text} lies {'inside' if is_in else 'outside'} of the range from {a.text} to {b.text}."
            yield finding_at("range", x, message, others=[a, b], probability=0.86)


def _verdict(paragraph: Paragraph, x: Quantity, is_scale: bool) -> bool | None:
    """Whether the words beside a value say that it is in the range; None if they do not say."""
    lead, tail = paragraph.lead(x), paragraph.tail(x)
    words = f"{lead[-50:]} {tail[:50]}"
    if _NOT.search(words):
        return None
    if _MEMBER.search(lead) or (
        is_scale and _SCORED.search(lead) and not re.match(r" (?:of|out of|times|people|pa)", tail)
    ):
        return True
    if _OUTSIDE.search(tail):
        return False
    if _WITHIN.search(tail):
        return True
    last = paragraph._cut(x.end, paragraph._ends[paragraph.place(x)])
    found = _WITHIN.search(last)
    return True if found and _ALL.search(last[: found.start()]) and not _NOT.search(last) else None


def _is_kin(one: Quantity, other: Quantity) -> bool:
    """Whether both may have one unit; the first of two often leaves it out."""
    if one.group == other.group:
        return one.comparable(other)
    return (one.group == "plain" and other.group in ("unit", "money")) or (
        other.group == "plain" and one.group == "unit"
    )
