"""What is said of a range: that a value lies above, below or within it, and where its middle is.

`Potassium 4.4 mmol/L (reference range 3.5-5.1), above the upper limit`; `between $120 and $135 million. The midpoint,
$132.5 million`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at
from numerate.apps.consistency.sentences.gates import group_gate, sentence_gate
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.sentence_windows import sentence_groups
from numerate.apps.consistency.sentences.slots import MONEY, NO_NUMBER, UNIT, VALUE, slot
from numerate.apps.consistency.sentences.traits import VALUES, stems

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["range_claims"]

_A, _B, _X = slot("a", VALUE), slot("b", VALUE), slot("x", VALUE)
_KIND = (
    r"(?:normal|reference|target|therapeutic|recommended|permitted|acceptable|allowed|safe|usual|specified|required"
    r"|optimal|desired|ref\.?|specification|spec|tolerance|approved)"
)
_HAS_RANGE = regex(
    rf"{_X}(?P<gap>{NO_NUMBER}{{0,40}}?)(?:\(|\[|, |against |for |with )(?:the |an? )?{_KIND}"
    rf"(?: (?:range|interval|values?|limits?|band|window|level))?(?: (?:is|was|of|from|between)|:|,)* ?"
    rf"{_A} ?(?:–|—|-|to|and) ?{_B}(?P<tail>[)\]]?{NO_NUMBER}{{0,60}})"
)
_ABOVE = regex(
    r"\b(?:above|over|exceed\w*|higher than|too high|elevated|raised|beyond) ?(?:the |its |this )?(?:upper |top "
    r"|normal )?(?:limit|range|end|bound|level|norm|interval|maximum)?\b|\bhigh\b"
)
_BELOW = regex(
    r"\b(?:below|under|lower than|too low|short of|beneath) ?(?:the |its |this )?(?:lower |normal )?"
    r"(?:limit|range|end|bound|level|norm|interval|minimum)?\b|\blow\b|\bdeficient\b"
)
_WITHIN = regex(r"\b(?:within|normal|in range|unremarkable|inside|in the range|fine|acceptable|in spec)\b")
_NO = regex(
    r"\b(?:not|no longer|neither|never|without|if|unless|last|previous\w*|was|earlier|before|from|high end|low end"
    r"|high side|low side|high-normal|low-normal|borderline|just|upper half|lower half|rule out|ruled|risk"
    r"|half|than)\b|n't\b"
)
_RANGE = regex(
    rf"\b(?:from|between|range of|range is|range was|range:) (?P<f>){_A} ?(?:–|—|-|to|and) ?{_B}"
    rf"|{slot('c', MONEY + UNIT)}"
    rf" ?(?:–|—|-|to) ?{slot('e', MONEY + UNIT)}"
)
_MIDDLE = regex(
    r"\b(?:mid-?points?|(?:exact |very )?(?:middle|centre|center) of (?:the|that|this|its) (?:range|interval"
    r"|band|guidance"
    rf"|corridor)|mid-range)\b(?: (?:of|in) (?:the|that|this|its|our|their)(?: [a-z-]+){{1,3}}?)?"
    rf"(?:,| \(| (?:is|was|of|at|being|would be|lies at|sits at|stands at|now|therefore|thus|i\.e\.))*(?: ?a)? ?{_X}"
    rf"|{slot('y', VALUE)},? (?:\()?(?:the|which is the|i\.e\. the|exactly the|being the) (?:mid-?point"
    rf"|middle of (?:the|that|this) range)\b"
)
_MOVED = regex(r"\b(?:raised|lifted|previous\w*|old|cut|lowered|narrowed|earlier|prior|instead|rais\w+|before)\b")


def range_claims(text: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    """Verdicts on a value with its range, and middles of ranges."""
    for sentence in sentences:
        if len(sentence.numerals) > 2 and any(
            cue in sentence.text for cue in ("ange", "imit", "ref", "arget", "ormal")
        ):
            yield from _verdicts(sentence)
    if "mid" in text or "Mid" in text or "centre of" in text or "center of" in text:
        yield from _all_middles(text, sentences)


@group_gate(
    stems("midpoint mid- middle centre center"), stems("midpoint mid- range interval band guidance corridor"), VALUES[3]
)
def _all_middles(text: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    for group in sentence_groups(text, sentences):
        yield from _middles(group)


@sentence_gate(
    stems(
        "normal reference target therapeutic recommended permitted acceptable allowed safe usual specified required "
        "optimal desired ref spec tolerance approved"
    ),
    VALUES[3],
)
def _verdicts(sentence: Sentence) -> Iterator[Finding]:
    for match in _HAS_RANGE.finditer(sentence.skeleton):
        a, b, x = sentence.slots(match, "abx")
        tail = re.split(r"\b(?:and|but|so|while|whereas|with)\b", match["tail"])[0].replace(
            "upper limit of normal", "upper limit"
        )
        tail = tail.replace("than normal", "").replace("above normal", "above").replace("below normal", "below")
        if not a.value < b.value or x.hedge or not _alike(a, x) or not _alike(b, x) or _NO.search(tail + match["gap"]):
            continue
        signs = {sign for sign, pattern in ((1, _ABOVE), (-1, _BELOW), (0, _WITHIN)) if pattern.search(tail)}
        if len(signs) != 1 or not a.value / 10 < x.value < 10 * b.value:
            continue
        said = signs.pop()
        real = 1 if x.value > b.value else -1 if x.value < a.value else 0
        if said == real or x.value in (a.value, b.value):
            continue
        where = {1: "above", -1: "below", 0: "within"}
        message = f"{x.text} is {where[real]} {a.text} to {b.text}, not {where[said]}."
        yield finding_at("range", x, message, others=[a, b], probability=0.88)


def _middles(group: list[Sentence]) -> Iterator[Finding]:
    for index, sentence in enumerate(group):
        claims = [*_MIDDLE.finditer(sentence.skeleton)]
        if len(claims) != 1:
            continue
        x = sentence.get(claims[0], "x" if claims[0]["x"] else "y")
        for window in ([sentence], group[max(0, index - 1) : index + 1]):
            told = []
            for part in window:
                for match in _RANGE.finditer(part.skeleton):
                    names = "ab" if match["a"] else "ce"
                    told.append(tuple(part.get(match, name) for name in names))
            told = [each for each in told if x not in each and _alike(each[1], x)]
            if not told:
                continue
            if len(told) != 1 or _MOVED.search(" ".join(part.skeleton for part in window)):
                break
            (a, b) = told[0]
            low, high = _scaled(a, b), b.value
            real = (low + high) / 2
            if (
                not low < high
                or x.hedge
                or abs(real - x.value) <= x.half + 1e-9 * real
                or not low / 2 < x.value < 2 * high
            ):
                break
            message = f"The middle of {a.text} and {b.text} is {real:,.10g}, not {x.text}."
            yield finding_at("range", x, message, meant=real, others=[a, b], probability=0.9)
            break


def _scaled(a: Quantity, b: Quantity) -> float:
    """The value of a lower end that leaves out the scale of the upper: `$120 to $135 million`."""
    scale = 10.0 ** (b.numerals[0].power - a.numerals[0].power) if b.numerals[0].power > a.numerals[0].power else 1.0
    return a.value * scale if a.value * scale < b.value else a.value


def _alike(one: Quantity, other: Quantity) -> bool:
    if (one.group == "percent") != (other.group == "percent") or (one.group == "money") != (other.group == "money"):
        return one.group == "plain" and one.unit is None
    return one.comparable(other) or one.unit is None or other.unit is None
