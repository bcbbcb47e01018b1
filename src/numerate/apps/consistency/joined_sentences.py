"""Two sentences as one, where the second goes on with numbers of the first: `We asked 210 firms. Of these, 95 ...`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.quantities import Sentence
from numerate.apps.consistency.tally import tally_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["JOINED_RULES", "joined_sentences"]

JOINED_RULES = ("sum", "percent", "difference", "product", "average", "ratio")
MOST_VALUES = 8
MOST_GAP = 3
_GOES_ON = re.compile(
    r"(?:(?P<of>(?:Of|Among) (?:these|them|those|whom|this number),? )"
    r"|(?:These|They|It|This|That|Thus|So|Hence|Therefore|Both|Total|Totals|Subtotal|Sum|Overall|Together|Combined"
    r"|Altogether|In total|In all|Previously|Before that|Last year|A year (?:earlier|ago|before)|The year before"
    r"|The (?:other|rest|remaining|others|remainder|total|sum|difference|increase|decrease|rise|drop|gain|decline"
    r"|average|mean|combined|overall|figure|margin|gap|change|reduction|share))\b)"
)
_CAUSES = re.compile(r"\b(?:due to|driven by|attribut\w+|primarily|mainly|because|result\w* (?:from|of)|reflect\w*)\b")
"""What a change came from: the numbers behind are parts of it."""
_ENDS = frozenset(".:;")


def joined_sentences(sentences: Sequence[Sentence]) -> Iterator[Sentence]:
    """Neighbours with few numbers, of which the second begins with a word that points back.

    Example:
        >>> from numerate.apps.consistency.checker import sentences_of
        >>> from numerate.apps.documents import Document
        >>> text = "We asked 210 firms. Of these, 95 export and 115 do not."
        >>> [each.text for each in joined_sentences(list(sentences_of(Document(kind="text", text=text))))]
        ['We asked 210 firms, of which  95 export and 115 do not.']
    """
    for index in range(1, len(sentences)):
        second = sentences[index]
        start = _GOES_ON.match(second.text)
        if start is None or _CAUSES.search(second.text):
            continue
        first = sentences[index - 1]
        gap = second.offset - first.offset - len(first.text)
        if not 0 <= gap <= MOST_GAP:
            continue
        numerals = [*first.numerals, *second.numerals]
        if not 2 < tally_of(numerals).values <= MOST_VALUES:
            continue
        end = len(first.text.rstrip())
        if not end or first.text[end - 1] not in _ENDS:
            continue
        behind = second.text
        if start["of"]:
            behind = "of which".ljust(len(start["of"])) + behind[start.end() :]
        text = first.text[: end - 1] + "," + " " * (len(first.text) - end + gap) + behind
        joined = Sentence(text, first.offset, numerals)
        joined.cached("joined", lambda _: True)
        yield joined
