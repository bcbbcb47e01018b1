"""One quantity told twice with two values: `revenue of $1.5 billion ... revenue of $1.5 million`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.base import Rule, rules
from numerate.apps.consistency.repeats.attributes_again import attributes_again
from numerate.apps.consistency.repeats.named_again import named_again
from numerate.apps.consistency.repeats.told_again import told_again, told_scores
from numerate.apps.consistency.repeats.told_twice import told_twice

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.documents import Document
    from numerate.apps.findings import Finding

__all__ = ["Repeats"]


@rules.register("repeated")
class Repeats(Rule):
    """A quantity that a text tells twice has one value."""

    title = "two values"
    help = "The text gives one quantity two values that differ by a typical slip."

    def whole(self, document: Document, sentences: Sequence[Sentence]) -> Iterable[Finding]:
        """Compares numbers of the same digits whose neighbouring words are the same."""
        yield from told_twice(document.text, sentences)
        yield from named_again(document.text, sentences)
        yield from attributes_again(document.text, sentences)
        yield from told_again(sentences)
        yield from told_scores(sentences)
