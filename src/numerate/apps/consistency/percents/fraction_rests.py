"""Fractions of a count with what they leave: `half of the 32 children walk, a quarter cycle, and the other twelve`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain
from numerate.apps.consistency.sentences.gates import paragraph_gate
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import COUNT, slot
from numerate.apps.consistency.sentences.traits import VALUES, stems

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.findings import Finding

__all__ = ["fraction_rests"]

_COUNTS = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "": 1}
_PARTS = {"half": 2, "third": 3, "quarter": 4, "fifth": 5, "sixth": 6, "eighth": 8, "tenth": 10}
_FRACTION = rf"(?:(?:{'|'.join(filter(None, _COUNTS))})[ -])?(?:{'|'.join(_PARTS)})s?"
_OF_ALL = regex(
    rf"(?P<first>{_FRACTION}\b|[{COUNT}].) of (?:the |its |our |their |all |all the |these )?{slot('n', COUNT)}"
    rf"(?P<noun> [a-z-]+)(?P<words>[^.:]{{0,160}}?)"
    rf"(?:,|;|\band\b)(?: and| while)? (?P<back>the (?:other|remaining|rest,?|last)|the rest,? (?:some|all)|these"
    rf"|those) (?:all )?{slot('z', COUNT)}"
)
_PIECE = regex(rf"\b{_FRACTION}\b|[{COUNT}].")
_WORDED = regex(rf"(?:(?P<n>{'|'.join(filter(None, _COUNTS))})[ -])?(?P<d>{'|'.join(_PARTS)})s?")
_HEDGED = regex(
    r"\b(?:about|around|roughly|nearly|almost|over|under|than|some|least|only|most|both|several|of them|of these"
    r"|of those|of whom|of which|at half|half an?|quarter of an|half past|each|every|per|first|second|new|last year"
    r"|additional)\b"
)


@paragraph_gate(
    stems("half third quarter fifth sixth eighth tenth"),
    VALUES[2],
    stems("other remain rest these_ those_ last_"),
)
def fraction_rests(paragraph: Paragraph) -> Iterator[Finding]:
    """What fractions of a count leave, and what `these` are of the only one."""
    whole = paragraph.whole
    for match in _OF_ALL.finditer(whole.skeleton):
        n, z = whole.slots(match, "nz")
        words = f"{match['first']} {match['words']}"
        before = whole.skeleton[max(0, match.start() - 14) : match.start()]
        shares = []
        for piece in _PIECE.findall(words):
            worded = _WORDED.fullmatch(piece)
            if worded is not None:
                shares.append(_COUNTS[worded["n"] or ""] / _PARTS[worded["d"]])
            else:
                (each,) = whole.within(piece)
                shares.append(each.value if each.text[:1].isalpha() and 0 < each.value < 1 else 0.0)
        if (
            not shares
            or 0.0 in shares
            or _HEDGED.search(before)
            or _HEDGED.search(match["words"])
            or n.hedge
            or z.hedge
        ):
            continue
        is_rest = match["back"] not in ("these", "those")
        if not is_rest and len(shares) > 1:
            continue
        share = 1 - sum(shares) if is_rest else shares[0]
        real = share * n.value
        if share <= 0 or n.value < 4 or z.value == n.value or not 0.3 < z.value / real < 3:
            continue
        if abs(real - z.value) >= 1.0 + 0.004 * n.value:
            kind = "The rest" if is_rest else f"{match['first']}" if match["first"][0] < "\ue000" else "This share"
            message = f"{kind} of {plain(n.value)} is {plain(round(real, 1))}, not {z.text}."
            yield finding_at("percent", z, message, meant=float(round(real)), others=[n], probability=0.88)
