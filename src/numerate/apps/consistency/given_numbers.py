"""Numbers that a text gives rather than computes: those of tasks and aims, and those of an equation that holds.

A rule that finds a number at the place of a result cannot know that it is none. What a text gives need not be the sum
or product of other numbers: `They want to collect $150`, `She has 130 bottles. How many are left?`
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from numerate.apps.consistency.sentences.patterns import regex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.findings import Finding

__all__ = ["equations_in", "is_given", "is_no_measure", "is_quiz"]

_NUMBER = r"[$€£]? ?\d+(?:,\d{3})*(?:\.\d+)?%?"
_TERM = rf"{_NUMBER}(?: (?!x )[a-z][a-z./²³°]*|(?<=\d)[a-z°][a-z./²³°]*){{0,4}}"
_EQUATION = regex(rf"(?<![\d.,]){_TERM}(?: ?[-+−–*×x·/÷] ?{_TERM})+ ?[=≈] ?(?P<result>{_NUMBER})(?![\d/])(?! ?[*×/÷])")
_PIECE = regex(rf"(?P<number>{_NUMBER})|(?P<sign>(?<![a-z/])[-+−–*×x·/÷](?![a-z]))")
_WRITTEN = regex(r"\d+(?:,\d{3})*(?:\.\d+)?")
_NO_MEASURE = regex(r"\)? ?[*×÷]| (?:ago|later|earlier|from now)\b")
"""Behind a factor, and behind a time that says when: `how much she weighed 2 years ago`."""
_ASKED = regex(
    r"(?:\b(?:how (?:many|much|long|far|old|often|fast|tall|high|big|large|heavy)|what|which|when)\b"
    r"[^?.]*(?:\.\d[^?.]*)*\?"
    r"|[.?!,] (?:find|calculate|compute|determine|work out)\b[^?!]*[.?])[\s\"”’)]*$"
)
"""The last words of a task."""
_TOLD = regex(
    r"\b(?:total\w*|altogether|in all|together|so|thus|that is|which is|i\.e|averag\w*|leaves|leaving|left|makes"
    r"|making|comes? to|coming to|amounts? to)\b|="
)
MOST_BEHIND = 400
_QUIZ = regex(
    r"\b(?:true or false|mistakes?|errors?|(?:is|was|are|were|be|which) (?:is |are )?(?:wrong|incorrect)"
    r"|correct (?:it|them|the|each)|quiz)\b"
)
_AIM = regex(
    r"\b(?:goals?|targets?|budget(?:s|ed)?|aim(?:s|ed|ing)?|(?<!as )(?:he|she|they|we|i|[a-z]+s?) wants?|wish(?:es|ed)?"
    r"|hop(?:es?|ed|ing) (?:to|for)|(?:order|enough) to|trying to|tr(?:y|ies|ied) to|to reach|sav(?:es?|ing|ed) up)\b"
    r"[^.;?!]*$"
)
_OF_A_MULTIPLE = regex(
    r"(?: [a-z]+)? (?:more|less|fewer) than (?:[a-z0-9]+ times|twice|thrice|half|double|a third|a quarter)\b"
)
"""`20 less than three times as many`: a difference to a number that is not told."""
_OTHER_RATE = regex(
    r"\b(?:margins?|returns? on [a-z'’-]+(?: [a-z'’-]+)?|yields?|(?:tax|interest|occupancy|vacancy|turnover|response"
    r"|churn|conversion|payout|utilisation|utilization|inflation|discount) rates?|market shares?"
    r"|[a-z-]+ (?:ratio|quota)) (?:of|at|was|is|reached|came to)(?: (?:about|some|now|just|only|around|nearly"
    r"|almost))? ?$"
)
"""Rates that have a whole of their own: `EBIT rose from 4.1 to 4.9 million, a margin of 11 %`."""
_FROM = regex(r"\bfrom (?:[a-z]+ ){0,3}[$€£]?$")
_EQUATION_RULES = ("range", "sum", "product", "difference", "average", "percent", "conversion", "ratio")
_AIM_RULES = ("sum", "product", "average")
SURE, SUREST = 0.9, 0.95
"""Findings of a task that are as sure as this are kept; the less sure ones where words say that it is a result."""


def is_given(finding: Finding, text: str, paragraph: Paragraph, z: Quantity) -> bool:
    """Whether a number need not fit the others, as the text gives it, or an equation that holds has it."""
    behind = paragraph.lower[z.end - paragraph.whole.offset :][:MOST_BEHIND]
    if finding.rule == "difference" and _OF_A_MULTIPLE.match(behind):
        return True
    if finding.rule in _EQUATION_RULES and _is_in_equation(paragraph, z):
        return True
    if finding.rule == "percent" and _is_rate_apart(finding, text):
        return True
    if finding.probability < SUREST and _is_task(text, paragraph):
        is_told = _TOLD.search(paragraph.lead(z)[-40:]) or _TOLD.search(paragraph.tail(z)[:30])
        return finding.probability < SURE or is_told is None
    return finding.rule in _AIM_RULES and _AIM.search(paragraph.upto(z)) is not None


def is_no_measure(finding: Finding, text: str) -> bool:
    """Whether a number with a unit is a factor, or a time that says when: it need not be what the words before name."""
    _, end = finding.span or (0, 0)
    return _NO_MEASURE.match(text[end : end + 20].lower()) is not None


def is_quiz(finding: Finding, text: str) -> bool:
    """Whether the paragraph of a number asks if it is right: `He says that 15 + 17 = 31. Where is his mistake?`."""
    start, end = finding.span or (0, 0)
    begin = text.rfind("\n\n", max(0, start - MOST_BEHIND), start)
    close = text.find("\n\n", end, end + MOST_BEHIND)
    around = text[begin if begin >= 0 else max(0, start - MOST_BEHIND) : close if close >= 0 else end + MOST_BEHIND]
    return _QUIZ.search(around.lower()) is not None


def _is_rate_apart(finding: Finding, text: str) -> bool:
    """Whether one of three numbers is a rate of its own, and the others are one quantity: `from 4.1 to 4.9`."""
    spans = [(each["start"], each["end"]) for each in finding.evidence.get("others", ())]
    spans = sorted([*spans, finding.span or (0, 0)])
    rates = [span for span in spans if _OTHER_RATE.search(text[max(0, span[0] - 60) : span[0]].lower())]
    if len(spans) != 3 or len(rates) != 1:
        return False
    first, last = (span for span in spans if span != rates[0])
    lead, between = text[max(0, first[0] - 40) : first[0]].lower(), text[first[1] : last[0]].lower()
    return _FROM.search(lead) is not None and " to " in between


def _is_task(text: str, paragraph: Paragraph) -> bool:
    """Whether a paragraph ends with a question for a number, so that most of its numbers are given."""
    begin = paragraph.whole.offset
    end = text.find("\n\n", begin + len(paragraph.lower.rstrip()), begin + len(paragraph.lower) + MOST_BEHIND)
    whole = text[begin : end if end >= 0 else begin + len(paragraph.lower) + MOST_BEHIND]
    return _ASKED.search(whole.lower().rstrip()) is not None


def _is_in_equation(paragraph: Paragraph, z: Quantity) -> bool:
    start, end = z.start - paragraph.whole.offset, z.end - paragraph.whole.offset
    return any(first < end and start < last for spans in equations_in(paragraph.lower) for first, last in spans)


def equations_in(text: str) -> Iterator[list[tuple[int, int]]]:
    """The spans of the numbers of each equation that holds within the rounding of its result.

    Example:
        >>> list(equations_in("6 hours x €95 = €570, but 2 + 2 = 5"))
        [[(0, 1), (11, 13), (17, 20)]]
    """
    position = 0
    while (match := _EQUATION.search(text, position)) is not None:
        position = match.start("result")
        numbers, signs = [], []
        for piece in _PIECE.finditer(text, match.start(), match.start("result")):
            (numbers if piece["number"] else signs).append(piece)
        if len(signs) != len(numbers) - 1:
            continue
        value = _value([_read(each[0]) for each in numbers], [each[0] for each in signs])
        result = match["result"]
        half = 0.5 * 10.0 ** -len(result.rstrip("%").partition(".")[2])
        wanted = _read(result.rstrip("%"))
        scales = (1, 100) if result.endswith("%") else (1,)
        if any(abs(value * scale - wanted) <= 1.02 * half for scale in scales):
            spans = [(each.start(), each.end()) for each in numbers] + [match.span("result")]
            yield [_digits(text, *span) for span in spans]


def _digits(text: str, start: int, end: int) -> tuple[int, int]:
    found = _WRITTEN.search(text, start, end)
    return found.span() if found is not None else (start, end)


def _read(written: str) -> float:
    value = float("".join(each for each in written if each.isdecimal() or each == ".").strip(".") or "nan")
    return value / 100 if written.endswith("%") else value


def _value(numbers: list[float], signs: list[str]) -> float:
    """The value of terms with signs; products come before sums."""
    terms, value = [], numbers[0]
    for sign, number in zip(signs, numbers[1:], strict=True):
        if sign in "*×x·":
            value *= number
        elif sign in "/÷":
            value = value / number if number else math.nan
        else:
            terms.append(value)
            value = number if sign == "+" else -number
    return sum(terms) + value
