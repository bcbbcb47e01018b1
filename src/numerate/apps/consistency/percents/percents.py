"""Percentages: changes (`rose 10 % from 50 to 65`), shares (`150 of 200 (85 %)`), doubling and halving."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.base import Rule, rules
from numerate.apps.consistency.percents.back_references import back_references
from numerate.apps.consistency.percents.changes import change_findings
from numerate.apps.consistency.percents.closed_changes import closed_fraction, closed_growth, closed_taken, closed_times
from numerate.apps.consistency.percents.closed_percents import closed_factor, closed_percent, closed_result
from numerate.apps.consistency.percents.compound_series import compound_series
from numerate.apps.consistency.percents.directions import directions
from numerate.apps.consistency.percents.fraction_rests import fraction_rests
from numerate.apps.consistency.percents.interest import interest
from numerate.apps.consistency.percents.larger_counts import larger_counts
from numerate.apps.consistency.percents.larger_parts import larger_parts
from numerate.apps.consistency.percents.listed_shares import listed_shares, shares_of_last
from numerate.apps.consistency.percents.loose_relations import loose_percent
from numerate.apps.consistency.percents.paragraph_changes import paragraph_changes
from numerate.apps.consistency.percents.paragraph_shares import paragraph_shares
from numerate.apps.consistency.percents.part_of_whole import share_findings
from numerate.apps.consistency.sentences.joined_sentences import clauses_of
from numerate.apps.consistency.sentences.other_languages import CUES, in_english
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.traits import VALUES
from numerate.apps.consistency.sums.closed_totals import closed_part, closed_share

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.consistency.sentences.tally import Tally
    from numerate.apps.findings import Finding

__all__ = ["Percents"]

_FACTORS = (
    "doubl", "tripl", "trebl", "quadrupl", "halv", "fold", "half", "Half", "quarter", "twice", "times", "third",
    "fifth",
)  # fmt: skip
_PERCENT = ("Prozent", "pour cent", "por ciento")
_PART = regex(r" of (?:[a-z'’]+ ){0,3}\d| (?:in|out of) [a-z]+ of | of (?:them|whom|which)\b")


_CLOSED = (
    closed_percent, closed_factor, closed_result, closed_share, closed_part, closed_growth, closed_times,
    closed_fraction, closed_taken, listed_shares,
)  # fmt: skip


@rules.register("percent")
class Percents(Rule):
    """A percentage must fit the two numbers beside it."""

    title = "percentage"
    help = "A percentage does not fit the numbers that it is about."
    needs = (VALUES[2],)
    least_of_paragraph = 2

    def wants(self, tally: Tally, text: str) -> bool:
        """A percentage, or a word such as `doubled`, and two values."""
        return tally.values > 1 and (
            tally.percents > 0
            or any(map(text.__contains__, _FACTORS))
            or any(map(text.__contains__, _PERCENT))
            or (" of " in text and _PART.search(text) is not None)
        )

    def paragraph(self, paragraph: Paragraph) -> Iterable[Finding]:
        """Compares percentages with counts and values in other sentences."""
        yield from paragraph_shares(paragraph)
        yield from paragraph_changes(paragraph)
        yield from fraction_rests(paragraph)
        yield from compound_series(paragraph)
        yield from larger_counts(paragraph)
        yield from larger_parts(paragraph)
        yield from directions(paragraph)
        yield from interest(paragraph)
        yield from back_references(paragraph)

    def sentence(self, sentence: Sentence) -> Iterable[Finding]:
        """Looks for changes with both values, shares with both counts, and doubling."""
        found = [*share_findings(sentence), *change_findings(sentence, "percent")]
        if not found and sentence.words & CUES and (english := in_english(sentence)) is not None:
            found = list(change_findings(english, "percent"))
            found = found or [each for each in share_findings(english) if each.evidence["value"] > 0]
        for closed in () if found else _CLOSED:
            found += closed(sentence)
        yield from found or loose_percent(sentence)
        is_joined = sentence.cached("joined", lambda _: False)
        for clause in () if found or is_joined or not sentence.tally.percents else clauses_of(sentence):
            for closed in (closed_percent, closed_growth, loose_percent):
                yield from closed(clause)

    def passage(self, sentences: Sequence[Sentence]) -> Iterable[Finding]:
        """Looks for shares of a whole that an earlier sentence names."""
        return shares_of_last(sentences)
