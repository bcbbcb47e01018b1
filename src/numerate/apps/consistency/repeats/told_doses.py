"""Doses of a drug that is said to go on as it was, and has another dose: `on X 10 mg ... continue X 20 mg`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at
from numerate.apps.consistency.sentences.gates import whole_gate
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.traits import UNITS, stems

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["told_doses"]

_DOSE = regex(r"\b(?P<drug>[a-z]{5,})(?: (?:at|to|the|same|usual|current|dose|of|on|a|tablets?|orally|po|daily))* $")
_SAME = regex(
    r"\b(?:continu\w*|same|current|unchanged|maintain\w*|remains? on|still on|stay\w* on|as before|usual|keep)\b"
)
_GOING_ON = stems("continu same current unchanged maintain remain still stay before usual keep as_")
"""What a match of `_SAME` has in it."""
_UNITS = ("mg", "mcg", "µg", "g", "mL", "ug")
_DRUG_CHANGE = regex(
    r"\b(?:increas\w*|decreas\w*|reduc\w*|rais\w*|titrat\w*|up to|switch\w*|chang\w*|from|stepped"
    r"|doubl\w*|halv\w*|then|taper\w*|adjust\w*|lower\w*|cut|add|start\w*|instead)\b"
)


_NO_CHANGE = regex(r"\b(?:no|without|any)(?: [a-z]+){0,2} chang\w*|\b(?:un|not )changed\b")


@whole_gate(_GOING_ON, stems("mg mcg units µg"), UNITS[2])
def told_doses(text: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    """A drug that is said to go on as it was, with another dose than before."""
    if not any(
        " mg" in each.text or " mcg" in each.text or " units" in each.text or "µg" in each.text for each in sentences
    ):
        return
    seen: dict[tuple[str, str], list[tuple[int, Quantity]]] = {}
    for index, sentence in enumerate(sentences):
        if not any(each.unit in _UNITS for each in sentence.numerals):
            continue
        words = sentence.skeleton
        for position, quantity in enumerate(sentence.quantities):
            if quantity.unit not in _UNITS:
                continue
            at = words.find(chr(0xE100 + position)) - 1
            match = _DOSE.search(words[max(0, at - 60) : at])
            if match is None:
                continue
            key = match["drug"], quantity.unit
            earlier = seen.get(key, [])
            if earlier and _SAME.search(words[:at]) and not _DRUG_CHANGE.search(_NO_CHANGE.sub("", words)):
                values = {each.value for _, each in earlier}
                between = " ".join(each.skeleton for each in sentences[earlier[-1][0] : index])
                if (
                    len(values) == 1
                    and quantity.value not in values
                    and not _DRUG_CHANGE.search(_NO_CHANGE.sub("", between))
                ):
                    first = earlier[0][1]
                    message = f"The dose of {match['drug']} is {quantity.text} here and {first.text} before."
                    yield finding_at("repeated", quantity, message, meant=first.value, others=[first], probability=0.88)
            seen.setdefault(key, []).append((index, quantity))
