"""Which number of a contradiction is the wrong one: `8 % more than the €54.0 million` where 45.0 fits, not 10 %.

A rule blames the number that it computes. Where its correction looks like no slip, and one of the numbers that it was
computed from fits with two of its digits exchanged, that one is blamed. The text is checked again with the exchange:
the finding must be gone, and the number that was blamed must then be confirmed by the others.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from numerate.apps.consistency.slips import is_slip
from numerate.apps.documents import Document
from numerate.reading import find

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numerate.apps.consistency.checker import ConsistencyChecker
    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.findings import Finding

__all__ = ["BLAMED_RULES", "with_likely_slips"]

BLAMED_RULES = ("sum", "percent", "difference", "product", "average", "ratio")
MAX_FINDINGS = 40
"""Texts with more findings are left as they are."""
MAX_TRIALS = 40
MAX_LENGTH = 2_000
MOST = 0.6
"""Share of the other numbers in the place of a confirmed one that its text contradicts."""


def with_likely_slips(
    findings: Sequence[Finding], document: Document, paragraphs: Sequence[Paragraph], checker: ConsistencyChecker
) -> list[Finding]:
    """The findings of a text, with those moved to another number that a likelier slip explains.

    Args:
        findings: What the rules found in it.
        document: The text.
        paragraphs: Its paragraphs.
        checker: Checks texts again; it blames what its rules blame.
    """
    if len(findings) > MAX_FINDINGS:
        return list(findings)
    return [_moved(each, document.flat, paragraphs, checker) if _is_doubtful(each) else each for each in findings]


def _is_doubtful(finding: Finding) -> bool:
    """Whether the correction of a finding looks like no slip, so that another number may be the wrong one."""
    said, real = finding.evidence.get("value"), finding.evidence.get("expected")
    if finding.rule not in BLAMED_RULES or finding.span is None or said is None or real is None:
        return False
    if not finding.evidence.get("others"):
        return False
    if is_slip(abs(said), abs(real)):
        return False
    one, other = (find(each) for each in (finding.written, finding.meant or ""))
    if len(one) != 1 or len(other) != 1:
        return True
    return not (is_slip(abs(one[0].value), abs(other[0].value)) or _is_digit(one[0].written, other[0].written))


def _is_digit(said: float, real: float) -> bool:
    """Whether one digit of two or more is another; 8 and 4 are as different as numbers can be."""
    one, other = (f"{abs(each):.10g}".replace(".", "").lstrip("0") for each in (said, real))
    return len(one) == len(other) > 1 and sum(a != b for a, b in zip(one, other, strict=True)) == 1


def _moved(finding: Finding, text: str, paragraphs: Sequence[Paragraph], checker: ConsistencyChecker) -> Finding:
    first, last = finding.span or (0, 0)
    wholes = (each.whole for each in paragraphs)
    whole = next((each for each in wholes if each.offset <= first < each.offset + len(each.text)), None)
    if whole is None or len(whole.text) > MAX_LENGTH:
        return finding
    begin, passage, trials, found = whole.offset, whole.text, 0, []
    before = _keys(checker, passage)
    if (finding.rule, finding.written) not in before:
        return finding
    for other in finding.evidence["others"]:
        start, end = other["start"] - begin, other["end"] - begin
        if start < 0 or end > len(passage) or passage[start:end] != other["text"]:
            continue
        for meant in _exchanged(other["text"]):
            trials += 1
            if trials > MAX_TRIALS:
                return finding
            changed = passage[:start] + meant + passage[end:]
            left = _keys(checker, changed)
            if (finding.rule, finding.written) in left or not left <= before:
                continue
            if _is_confirmed(checker, changed, first - begin, last - begin, len(left)):
                found.append((other, meant))
    return _finding(finding, *found[0]) if len(found) == 1 else finding


def _keys(checker: ConsistencyChecker, text: str) -> set[tuple[str, str]]:
    """Rules and numbers of what is found in a text."""
    return {(each.rule, each.written) for each in checker.check(Document(kind="text", text=text))}


def _is_confirmed(checker: ConsistencyChecker, text: str, start: int, end: int, left: int) -> bool:
    """Whether a number fits the others of its text: most smaller and larger ones in its place do not.

    Where a rule has nothing against the number, it may also be silent because it is not sure.
    """
    written = text[start:end]
    others, value = [*_exchanged(written), *_near(written)], _value(written)
    broken = [each for each in others if len(_keys(checker, text[:start] + each + text[end:])) > left]
    is_more = {_value(each) > value for each in broken}
    return len(is_more) == 2 and len(broken) >= MOST * len(others)


def _value(text: str) -> float:
    return find(text)[0].value if find(text) else 0.0


def _near(text: str) -> Iterator[str]:
    """The text of a number with another digit, one of the first three: later ones may be less than its rounding."""
    places = [index for index, char in enumerate(text) if char.isdecimal() and char.isascii()]
    while len(places) > 1 and text[places[-1]] == "0":
        places.pop()
    for index in places[:3]:
        for digit in range(max(int(text[index]) - 2, 1), min(int(text[index]) + 3, 10)):
            if str(digit) != text[index]:
                yield text[:index] + str(digit) + text[index + 1 :]
    last = next((index for index in range(len(text) - 1, 0, -1) if text[index - 1 : index + 1].isdecimal()), None)
    if last is not None:
        yield text[:last] + text[last + 1 :]  # smaller than 10


def _exchanged(text: str) -> Iterator[str]:
    """The text of a number with two neighbouring digits exchanged, one pair at a time."""
    places = [index for index, char in enumerate(text) if char.isdecimal() and char.isascii()]
    for one, other in itertools.pairwise(places):
        if text[one] == text[other] or (one == places[0] and text[other] == "0"):
            continue
        yield text[:one] + text[other] + text[one + 1 : other] + text[one] + text[other + 1 :]


def _finding(finding: Finding, other: dict[str, Any], meant: str) -> Finding:
    said, real = find(other["text"]), find(meant)
    evidence: dict[str, Any] = {"value": said[0].value, "expected": real[0].value} if said and real else {}
    first, last = finding.span or (0, 0)
    blamed = {"text": finding.written, "start": first, "end": last}
    evidence["others"] = [blamed, *(each for each in finding.evidence["others"] if each is not other)]
    return replace(
        finding, span=(other["start"], other["end"]), written=other["text"], meant=meant, evidence=evidence,
        message=f"{finding.message[:-1]}; with {meant} instead of {other['text']} it fits.",
    )  # fmt: skip
