"""Ordinals whose ending does not fit their number: `23nd`, `11st`, `the 1.8th century`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import Rule, rules
from numerate.apps.consistency.dates.ordinal_claims import ordinal_claims
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.traits import ORDINAL_DIGITS
from numerate.apps.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.consistency.sentences.tally import Tally
    from numerate.apps.documents import Document

__all__ = ["OrdinalEnding", "wrong_endings"]

_ORDINAL = regex(
    r"(?<![\w.,/:-])(?P<whole>[0-9]{1,3}(?>(?:,[0-9]{3})+)|[0-9]{1,15}+)(?P<decimals>\.[0-9]++)?"
    r"(?P<ending>st|nd|rd|th|ST|ND|RD|TH)(?![\w.]\w)\b"
)
"""Not `232Th`, which is an isotope."""
_MAY_HAVE_DECIMALS = regex(
    r"[ -](?:percentile|centile|quantile|decile|quintile|quartile|generation|order|power|root|magnitude|harmonic)",
    re.IGNORECASE,
)
"""What stands behind an ordinal that may have decimals: `the 97.5th percentile`."""
_BEFORE_STONE = regex(r"\b(?:the|his|her|its|their|our|my|s|every|each) $", re.IGNORECASE)
"""Words before `11st` that make it an ordinal; otherwise it may be a weight of 11 stone."""
_HEAVIEST = 60


@rules.register("ordinal")
class OrdinalEnding(Rule):
    """An ordinal with the ending of another number: a digit was exchanged, dropped or mistyped."""

    title = "wrong ending of an ordinal"
    help = "The ending of an ordinal does not fit its number."

    cues = ORDINAL_DIGITS

    def wants(self, tally: Tally, text: str) -> bool:
        """A number with the ending of an ordinal, which `cues` tell."""
        return True

    def whole(self, document: Document, sentences: Sequence[Sentence]) -> Iterable[Finding]:
        """Looks at places, centuries, editions and anniversaries."""
        yield from ordinal_claims(document.flat, sentences)

    def sentence(self, sentence: Sentence) -> Iterable[Finding]:
        """Looks at digits with an ending, whatever the reader makes of them."""
        for start, end, meant in wrong_endings(sentence.text):
            written = sentence.text[start:end]
            said = "ordinals have no decimals" if meant is None else f"the ending of that number is that of {meant}"
            yield Finding(
                rule="ordinal", message=f"{written}: {said}; number or ending is wrong.", written=written, meant=meant,
                probability=0.95, span=(sentence.offset + start, sentence.offset + end),
            )  # fmt: skip


def wrong_endings(text: str) -> Iterator[tuple[int, int, str | None]]:
    """Start and end of each ordinal whose ending does not fit, and the number with its own ending.

    Example:
        >>> list(wrong_endings("the 23nd season, the 1.8th century, the 97.5th percentile, the 11th, 12st 4lb"))
        [(4, 8, '23rd'), (21, 26, None)]
    """
    for match in _ORDINAL.finditer(text):
        whole, ending = match["whole"], match["ending"].lower()
        if match["decimals"]:
            if not _MAY_HAVE_DECIMALS.match(text, match.end()):
                yield *match.span(), None
            continue
        fitting = _ending(int(whole.replace(",", "")))
        if ending == fitting:
            continue
        if (
            ending == "st"
            and int(whole.replace(",", "")) <= _HEAVIEST
            and not _BEFORE_STONE.search(text[max(0, match.start() - 8) : match.start()])
        ):
            continue
        yield *match.span(), whole + fitting


def _ending(number: int) -> str:
    if number % 100 in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
