"""Fractions in words that are no whole: `half goes to A, one third to B and the remaining quarter to C`."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.sentences import Sentence

__all__ = ["fraction_findings", "may_have_fractions"]

_COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5}
_PARTS = {
    "half": 2, "third": 3, "quarter": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10,
    "twelfth": 12,
}  # fmt: skip
_CUE = regex(r"\b(?:half|thirds?|quarters?|fifths?|sixths?|eighths?|tenths?)\b", 2)
_FRACTION = regex(
    rf"\b(?P<rest>(?:remaining|other|final) )?(?:(?P<n>{'|'.join(_COUNTS)})[ -])?(?P<d>{'|'.join(_PARTS)})s?\b"
    r"(?! (?:an?|hours?|times?|years?|day|way|dozen|century|past|to (?:[a-z]+teen|[a-z]+ty|one|two|three|four|five|six"
    r"|seven|eight|nine|ten|eleven|twelve|\d)|person|party|floor|place|edition|season|attempt|marathon|of (?:19"
    r"|20)\d\d)\b|-)"
)
_PERCENT = regex(r"(?P<p>\d{1,2}(?:\.\d+)?) ?(?:%|per ?cent\b)")
_GAP = regex(r"[^.;:!?]{0,70}?(?:,|,? and|,? while|\)) ?[^.;:!?]{0,40}")
_OTHER = regex(
    r"\b(?:first|second|third|fourth|last|next|each|every|by|fell|rose|grew|than|about|around|roughly|nearly|almost"
    r"|over|under|some|least|up|down|more|less|only|just|in the|of the|this|that|per) $"
)
"""Before a fraction: it is no exact part."""
_APART = regex(
    r"\b(?:but|whereas|compared|respectively|both|overlap\w*|more than one|several|cup|cups|teaspoons?|pints?|inch\w*"
    r"|miles?|metres?|meters?|litres?|pounds?|note|points?|lead|score[ds]?|goals?|minutes?|half-time|semester)\b"
)
_OF = regex(r" of (?!(?:it|them|this|these|those|the (?:total|whole|rest))\b)")


def may_have_fractions(text: str) -> bool:
    """Whether a text may have two fractions in words; a cheap look."""
    return ("alf" in text or "hird" in text or "uarter" in text) and len(_CUE.findall(text)) > 1


def fraction_findings(sentence: Sentence) -> Iterator[Finding]:
    """Three parts or more that are no whole; two only where the last is the rest of it.

    Example:
        >>> from numerate.apps.consistency.sentences.sentences import Sentence
        >>> text = "Half goes to Ann, one third to Ben and the remaining quarter to Cleo."
        >>> [each.message for each in fraction_findings(Sentence(text, 0, ()))]
        ['The parts half, one third, quarter add up to 1.083 of the whole.']
    """
    text = sentence.text.lower()
    found = sorted((*_FRACTION.finditer(text), *_PERCENT.finditer(text)), key=lambda match: match.start())
    found = [each for each in found if "p" in each.re.groupindex or each["n"] or each["d"] == "half" or each["rest"]]
    if not 2 <= len(found) <= 8 or len(_OF.findall(text, found[0].end())) > 1 or _APART.search(text):
        return
    gaps = [text[one.end() : other.start()] for one, other in itertools.pairwise(found)]
    if not all(map(_GAP.fullmatch, gaps)) or any(_OTHER.search(text[: each.start()]) for each in found):
        return
    values = [_value(each) for each in found]
    last, whole = found[-1], sum(values)
    is_rest = "d" in last.re.groupindex and last["rest"] is not None
    slack = 0.004 + 0.01 * sum("p" in each.re.groupindex for each in found)
    if abs(whole - 1) <= slack or not 0.6 < whole < 1.35 or (whole < 1 and not is_rest):
        return
    if not is_rest and len(found) < 3:
        return
    told = ", ".join(each[0].removeprefix(each.groupdict().get("rest") or "") for each in found)
    span = sentence.offset + last.start(), sentence.offset + last.end()
    message = f"The parts {told} add up to {whole:.4g} of the whole."
    written = sentence.text[last.start() : last.end()]
    yield Finding(rule="shares", message=message, written=written, span=span, probability=0.88)


def _value(match: object) -> float:
    groups = match.groupdict()  # type: ignore[attr-defined]
    return float(groups["p"]) / 100 if groups.get("p") else _COUNTS.get(groups["n"], 1) / _PARTS[groups["d"]]
