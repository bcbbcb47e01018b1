"""Estimates outside of their interval, pages that run backwards, tolerances and values said to be out of range."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, written_like
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import PERCENT, VALUE, slot
from numerate.apps.consistency.wrong import wrong_order
from numerate.apps.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence

__all__ = ["ESTIMATE_CUES", "estimates", "may_have_estimate", "tolerance"]

_X, _A, _B = (slot(name, VALUE) for name in "xab")
_TO = r"(?: ?[–—−-] ?| to |, ?|; ?| and )"
_LEVEL = rf"(?:(?:with )?(?:an? |the )?(?:associated )?[{PERCENT}][\ue100-\uf8ff][ -])?"
_KIND = (
    r"(?:ci|c\.i\.|cri|confidence (?:interval|limits|bounds)|credible interval|uncertainty interval|ui|hdi|bca ci)s?"
)
_IS = r"(?:,|:| ?=|;| was| is| of| from| between| ranging from|\))* ?[(\[{]? ?"
_CI = regex(rf"{_X}(?:(?: [a-z-]+){{1,2}}(?= [(\[]))? ?[;,:]? ?[(\[{{]? ?{_LEVEL}{_KIND}{_IS}{_A}{_TO}{_B}")
_RATIO = (
    r"(?:hazard ratio|odds ratio|risk ratio|rate ratio|relative risk|prevalence ratio|incidence rate ratio"
    r"|mean difference|risk difference|a?hr|a?or|a?rr|irr|smd|md|wmd|β|beta|effect size|slope|coefficient)s?"
)
_NAMED = regex(
    rf"\b{_RATIO}(?: \([a-z]+\))?(?: (?:of|was|is|for [a-z ]{{1,30}}?(?:was|of))|,|:"
    rf"| ?=)* ?{_X} ?[;,]? ?[(\[] ?{_A}(?: ?[–—-] ?| to |, ?){_B} ?[)\]]"
)
_NAMED_IQR = regex(
    rf"\b(?:median|mean|average)\b[^.;()]{{0,45}}?{_X}(?: [a-z]+)? ?[;,]? ?[(\[] ?(?:iqr"
    rf"|interquartile range|range|min[-–]max),?:? ?{_A}(?: ?[–—-] ?| to ){_B}(?: [a-z]+)? ?[)\]]"
)
_KEPT = regex(
    r"\b(?:keep|kept|held|maintain(?:ed|s)?|set|stays?|remain(?:s"
    rf"|ed)?)\b[^.;\ue000-\uf8ff]{{0,40}}? between {_A} and {_B}(?! (?:ago|before))"
)
_PAGES = regex(
    r"(?:\b\d{1,4} ?(?:\(\d{1,4}(?:[-/]\d{1,2})?\))? ?\([12]\d{3}\)[:,;] ?(?:pp?\.? ?)?"
    r"|\b[12]\d{3};\d{1,4}(?:\(\d{1,3}\))?:"
    r"|\bpp\.? ?|\b[Pp]ages? |\b\d{1,3}\(\d{1,3}\)[:,] ?(?:pp?\.? ?)?|\bvol\. \d+[^;]{0,20}?, (?:pp?\.? ?))"
    r"(?P<a>[1-9]\d{0,4})(?:[–—-]{1,2}| to )(?P<b>[1-9]\d{0,4})(?![\w–—-]|\.\d)"
)
_STATED = (
    r"(?:(?:normal|reference|target|therapeutic|recommended|permitted|acceptable|allowed|safe|usual"
    r"|healthy|expected|specified|desired)(?: [a-z]+)? )*"
)
_ADJECTIVE = (
    r"\b(?:normal|reference|target|therapeutic|recommended|permitted|acceptable|allowed|safe|healthy"
    r"|specified|limits?)\b"
)
_WHERE = (
    r"(?P<where>(?:well |just |slightly |far |clearly |comfortably |still |i\.e\. |that is )*"
    r"(?:above|below|within|outside|over|under|inside|in|exceed(?:s|ed|ing)|higher than|lower than))"
)
_REFERENCE = regex(
    rf"{_X}(?P<gap>[^.;\ue000-\uf8ff]{{0,40}}?)\b{_WHERE}(?: of)? (?:the |its |our |his "
    rf"|her )?{_STATED}(?:range|limits?|interval|band|window)"
    rf"(?: (?:of|from|is|was)|:|,)*[ (]+{_A}{_TO}{_B}"
)
_TOLERANCE = regex(rf"{slot('c', VALUE)}(?:,| \()? ?(?:±|\+/-|\+/−|plus or minus|give or take) ?{slot('t', VALUE)}")
_LIMITS = regex(
    rf"\b(?:between|from|range[sd]?(?: of| from)?:?|limits(?: of| are)?:?|anything) {_A}(?: ?[–—-] ?"
    rf"| to | and ){_B}|\({_A.replace('<a>', '<e>')}(?: ?[–—-] ?| to ){_B.replace('<b>', '<f>')}\)"
)
_PAGE_RANGE = regex(r"\d(?:[–—-]{1,2}| to )[1-9]")
"""What a match of `_PAGES` has in it."""
ESTIMATE_CUES = (
    "CI", "CrI", "eep ", "kept ", "aintain", " set ", "[", " OR ", " HR ", " RR ", "nterval", "ratio", "IQR", "(HR",
    "(OR", "(RR", "edian", "ean ", "pp", "ages", "age ", "):", "), ", "±", "+/-", "plus or minus", " range", " limit",
    "UI",
)  # fmt: skip


def may_have_estimate(sentence: Sentence) -> bool:
    """Whether a sentence may have a finding, which is cheap to know."""
    text, values = sentence.text, sentence.tally.values
    return (
        len(sentence.numerals) > 1
        and (values > 2 or (values == 2 and " between " in text) or _PAGE_RANGE.search(text) is not None)
        and any(map(text.__contains__, ESTIMATE_CUES))
    )


def estimates(sentence: Sentence) -> Iterator[Finding]:
    """All findings of one sentence."""
    text = sentence.text
    if _PAGE_RANGE.search(text):
        yield from _pages(sentence)
    values = sentence.tally.values
    if values < 2 or (values == 2 and " between " not in text) or len(sentence.quantities) < 2:
        return
    words = sentence.skeleton
    if "ci" in words or "interval" in words or "ratio" in words or "(" in words or "[" in words:
        for pattern in (_CI, _NAMED, _NAMED_IQR):
            for match in pattern.finditer(words):
                yield from _outside(sentence, match)
    for match in _KEPT.finditer(words) if " between " in words else ():
        a, b = sentence.slots(match, "ab")
        if _alike(a, b) and a.value > b.value > 0:
            yield wrong_order(a, b, 0.87)
    if " range" in words or " limit" in words or " interval" in words or " band" in words:
        for match in _REFERENCE.finditer(words):
            yield from _reference(sentence, match)
    if "±" in text or "+/" in text or "plus or minus" in text:
        yield from tolerance(sentence, sentence)


def _outside(sentence: Sentence, match: re.Match[str]) -> Iterator[Finding]:
    x, a, b = sentence.slots(match, "xab")
    if not (_alike(a, b) and _alike(x, b)) or x.hedge in ("over", "under"):
        return
    if a.value > b.value:
        if a.value < 0 or b.value < 0 or a.start - x.end > 60:
            return
        message = f"The interval begins with {a.text}, which is more than its end {b.text}."
        yield finding_at("range", a, message, others=[b], probability=0.9)
        return
    if a.value - a.half - x.half <= x.value <= b.value + b.half + x.half:
        return
    width = b.value - a.value
    if width <= 0 or not a.value - 4 * width - 0.5 * abs(a.value) <= x.value <= b.value + 4 * width + 0.5 * abs(
        b.value
    ):
        return  # another quantity
    if a.half != b.half and max(a.half, b.half) > 10 * min(a.half, b.half):
        return
    message = f"{x.text} lies outside of its interval from {a.text} to {b.text}."
    yield finding_at("range", x, message, others=[a, b], probability=0.9)


def _pages(sentence: Sentence) -> Iterator[Finding]:
    for match in _PAGES.finditer(sentence.text):
        a, b = match["a"], match["b"]
        end = b if len(b) >= len(a) else a[: len(a) - len(b)] + b
        if len(b) < len(a) and len(b) > 2 and int(end) - int(a) > 400:
            end = b
        if int(a) <= int(end) or (len(b) == 1 and len(a) > 1) or re.match(r" ?[:/]\d", sentence.text[match.end() :]):
            continue
        span = match.start("a") + sentence.offset, match.end("b") + sentence.offset
        written = sentence.text[match.start("a") : match.end("b")]
        message = f"The pages begin with {a}, which is more than their end {end}."
        yield Finding(rule="range", message=message, written=written, span=span, probability=0.92)


def _reference(sentence: Sentence, match: re.Match[str]) -> Iterator[Finding]:
    x, a, b = sentence.slots(match, "xab")
    if not (_alike(a, b) and _alike(x, b)) or a.value >= b.value or x.value <= 0:
        return
    if re.search(
        r"\b(?:not|never|no longer|than|if|should|must|keep|aim|from|to|return\w*|until|when|back)\b", match["gap"]
    ):
        return
    before = sentence.text[: x.start - sentence.offset]
    if (
        re.search(r"\b(?:if|should|keep|until|when|unless)\b[^,;.]*$", before.lower())
        or not a.value / 20 <= x.value <= b.value * 20
    ):
        return
    where = match["where"].split()[-1] if "than" not in match["where"] else match["where"].split()[-2]
    slack = x.half + max(a.half, b.half)
    if (
        where in ("in", "within", "inside")
        and re.search(_ADJECTIVE, sentence.skeleton[match.end("where") : match.start("a")]) is None
    ):
        return  # a range of something else
    if where in ("above", "over", "higher") or where.startswith("exceed"):
        is_wrong = x.value <= b.value
    elif where in ("below", "under", "lower"):
        is_wrong = x.value >= a.value
    elif where == "outside":
        is_wrong = a.value <= x.value <= b.value
    else:
        is_wrong = not a.value - slack <= x.value <= b.value + slack
    if is_wrong:
        message = f"{x.text} is not {where} the range from {a.text} to {b.text}."
        yield finding_at("range", x, message, others=[a, b], probability=0.88)


def tolerance(sentence: Sentence, behind: Sentence) -> Iterator[Finding]:
    """`12.40 mm ± 0.05`, and limits in the same or in the next sentence, one of which fits and the other does not."""
    told, limits = [*_TOLERANCE.finditer(sentence.skeleton)], [*_LIMITS.finditer(behind.skeleton)]
    if len(told) != 1 or len(limits) != 1:
        return
    c, t = sentence.get(told[0], "c"), sentence.get(told[0], "t")
    names = "ab" if limits[0]["a"] else "ef"
    a, b = (behind.get(limits[0], name) for name in names)
    share = c.value * t.value if t.group == "percent" and c.group != "percent" else t.value
    ends = (c.value - share, c.value + share)
    slack = c.half + (t.half if t.group != "percent" else 0.0)
    off = [abs(one.value - end) > slack + one.half for one, end in ((a, ends[0]), (b, ends[1]))]
    if off == [True, False] or off == [False, True]:
        wrong, end = (a, ends[0]) if off[0] else (b, ends[1])
        message = f"{c.text} ± {t.text} ends at {written_like(wrong, end)}, not {wrong.text}."
        yield finding_at("range", wrong, message, meant=end, others=[c, t], probability=0.9)


def _alike(one: Quantity, other: Quantity) -> bool:
    """Whether both may have one unit; most ends of an interval leave it out."""
    if one.group == "percent" or other.group == "percent":
        return one.group == other.group
    return one.unit is None or other.unit is None or one.comparable(other)
