"""A depth, height or area told again: `a greatest depth of 112 m ... With its maximum depth of 12 m it is ...`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.sentences.gates import group_gate
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import COUNT, MONEY, UNIT, slot
from numerate.apps.consistency.sentences.traits import VALUES, stems
from numerate.apps.consistency.slips import is_slip
from numerate.apps.consistency.wrong import told_differently

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["attributes_again"]

_KINDS = {
    **dict.fromkeys(["greatest", "maximum", "highest", "largest", "deepest", "longest", "widest",
                     "max", "summit", "peak"], "most"),
    **dict.fromkeys(["mean", "average", "median", "typical"], "mean"),
    **dict.fromkeys(["minimum", "least", "lowest", "smallest", "shortest"], "least"),
}  # fmt: skip
"""What a word before the name of a quantity says; others, such as `total`, leave it as it is."""
_NAMES = (
    r"(?:depth|height|length|width|area|capacity|elevation|altitude|volume|weight|wingspan|span|diameter|population|draught"
    r"|turnover|revenue|budget|circumference|displacement|surface|thickness|mass|speed|output)"
)
_TOLD = regex(
    rf"\b(?:an?|its|the|their) (?P<kind>(?:[a-z-]+ ){{0,2}}?)(?P<name>{_NAMES})(?: of| is| was| being)?"
    rf"(?: up to| about| exactly)? {slot('q', UNIT + MONEY + COUNT)}"
)
_HOLDS = regex(rf"\b(?:holds|seats|stores)(?: up to)? {slot('q', UNIT + COUNT)}")
_AGAIN = regex(
    rf"^(?:with|at|having) (?:its|an?|this|that|the) (?P<kind>(?:[a-z-]+ ){{0,2}}?)(?P<name>{_NAMES}) of "
    rf"{slot('q', UNIT + MONEY + COUNT)},? (?P<who>it|they|(?:the|this) (?:[a-z-]+ )?(?P<noun>[a-z-]+)) (?:is"
    rf"|was|are|were|remains"
    r"|ranks|makes|counts|belongs|allows|easily)\b"
)
_ANOTHER = regex(
    r"\b(?:an?other|neighbou?r\w*|second|nearby|sister|twin|smaller|larger|bigger|former\w*|previous\w*|once|grew|rais\w*"
    r"|new|now|added|later|since|today|beside|extend\w*|enlarg\w*|increas\w*|reduc\w*|fell|rose|shr[aiu]nk\w*"
    r"|lower\w*|whereas|in contrast|unlike)\b"
)
_NEW_NAME = regex(
    r"^(?:The )?[A-Z][a-zà-ÿ]+(?: [A-Z][a-zà-ÿ]+)+,? (?:is|was|has|had|lies|covers|holds|stands|with|which)\b"
)
_MOST = 12


@group_gate(stems("with_ at_ having_"), VALUES[2])
def attributes_again(text: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    """Quantities of one name and kind that a paragraph tells once, and once more with another number."""
    if len(sentences) < 2 or len(sentences) > _MOST:
        return
    told: list[tuple[int, str, str, Quantity]] = []
    for place, sentence in enumerate(sentences):
        words = sentence.skeleton
        match = _AGAIN.match(words)
        if match is not None:
            b = sentence.get(match, "q")
            name, kind = match["name"], _kind(match["kind"])
            first = [(at, q) for at, known, of, q in told if known == name and _agree(of, kind)]
            start = sentences[first[0][0]] if first else sentence
            # The text from the end of the first value, sentences without a number among it.
            between = text[first[0][1].end : sentence.offset] if first else ""
            is_same = (
                len(first) == 1
                and not _ANOTHER.search(f"{between} {sentence.text}".lower())
                and not any(_NEW_NAME.match(each.strip()) for each in re.split(r"(?<=[.!?])\s", between)[1:])
                and _is_known(match["noun"], start.text.lower(), words[match.end() :])
            )
            if is_same and _differs(first[0][1], b):
                yield told_differently(first[0][1], b, 0.87)
        for each in _TOLD.finditer(words):
            told += [(place, each["name"], _kind(each["kind"]), sentence.get(each, "q"))]
        for each in _HOLDS.finditer(words):
            told += [(place, "capacity", "", sentence.get(each, "q"))]


def _is_known(noun: str | None, before: str, behind: str) -> bool:
    """Whether what has the quantity again was named before, or is named with `the ...est` of its kind."""
    return noun is None or noun in before or re.search(r"\b[a-z]+est\b|\bmost\b", behind) is not None


def _kind(words: str) -> str:
    return next((_KINDS[each] for each in words.split() if each in _KINDS), "")


def _agree(one: str, other: str) -> bool:
    return one == other or {one, other} == {"", "most"}


def _differs(a: Quantity, b: Quantity) -> bool:
    """Whether a digit was lost, exchanged or written as another one, or the size is that of another power of ten."""
    if (
        a.value == b.value
        or a.group != b.group
        or not a.comparable(b)
        or (a.hedge and not a.before.endswith("up to "))
        or b.hedge
        or min(a.value, b.value) <= 0
    ):
        return False
    one, other = (re.sub(r"\D", "", each.numerals[0].text) for each in (a, b))
    if is_slip(a.value, b.value) or (one.rstrip("0") == other.rstrip("0") and len(one.rstrip("0")) > 1):
        return True
    short, long = sorted((one, other), key=len)
    if len(long) == len(short) + 1 > 2:
        return any(long[:at] + long[at + 1 :] == short for at in range(len(long)))
    return len(one) == len(other) > 2 and sum(x != y for x, y in zip(one, other, strict=True)) == 1
