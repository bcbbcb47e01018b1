"""`ConsistencyChecker`: runs all rules over a document."""

from __future__ import annotations

import functools
import itertools
import operator
from bisect import bisect_left, bisect_right
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from numerate.apps.consistency.base import Rule, rules
from numerate.apps.consistency.excuses import is_excused
from numerate.apps.consistency.likely_slips import with_likely_slips
from numerate.apps.consistency.sentences.gates import is_open
from numerate.apps.consistency.sentences.joined_sentences import JOINED_RULES, joined_sentences
from numerate.apps.consistency.sentences.paragraphs import is_told_elsewhere, paragraphs_of
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.sentences import Sentence
from numerate.apps.consistency.tables.aligned_tables import aligned_tables
from numerate.apps.documents import Document, sentence_spans
from numerate.reading import make_reader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numerate.apps.findings import Finding

__all__ = ["ConsistencyChecker", "sentences_of"]

_DIGIT = regex(r"\d")
_WORDY = regex(r"[A-Za-z]{2,}[^A-Za-z]+[A-Za-z]{2,}[^A-Za-z]+[A-Za-z]{2,}")
_SHORT = 25
"""Cells of fewer characters are no sentences."""
_PAIR = regex(r"[A-Za-z°\"'][ )]?\(\D{0,3}\d[^()]*[A-Za-z]\)$")
"""The end of a short cell with a quantity in two units: `10 miles (26 km)`."""
MOST_ALONE = 3
"""Findings of fewer numbers may tell different things of them: a wrong date and a wrong weekday."""
MAX_SENTENCE = 4_000
"""Longer sentences are lists or data and not checked by the rules of sentences."""


class ConsistencyChecker:
    """Checks a document with the rules of consistency.

    Args:
        ignore: Ids of rules that are left out.
        blames: Whether a finding of a text is moved to another of its numbers, if that has a likelier slip.

    Example:
        >>> from numerate.apps.documents import Document
        >>> found = ConsistencyChecker().check(Document(kind="text", text="The lake is 28 km (27 mi) long."))
        >>> [(each.rule, each.written, each.meant) for each in found]
        [('conversion', '27 mi', '17 mi')]
    """

    def __init__(self, ignore: Iterable[str] = (), *, blames: bool = True) -> None:
        left_out = {rules.name_of(name) for name in ignore if name in rules}
        self.rules: dict[str, Rule] = {name: rules.create(name) for name in rules if name not in left_out}
        self._plain = ConsistencyChecker(left_out, blames=False) if blames else None
        self._sentence_rules = self._with("sentence")
        self._passage_rules = self._with("passage")
        self._with_tables: set[str] = set()
        self._paragraph_rules = self._with("paragraph")
        self._whole_rules = self._with("whole")
        self._asked = functools.reduce(
            operator.or_, itertools.chain.from_iterable(r.needs for r in self._sentence_rules), 0
        )
        self._open: dict[int, list[tuple[int, Callable[..., bool], Callable[..., Iterable[Finding]]]]] = {}
        """The rules of sentences that have what they need, by those bits of a sentence that a rule asks for."""

    def check(self, document: Document) -> list[Finding]:
        """All findings of the document, at most one of a rule at one place."""
        if document.kind == "text":
            return _once(self._of_text(document))
        return _once(self._of_table(document))

    def _of_text(self, document: Document) -> list[Finding]:
        sentences = list(sentences_of(document))
        # A lone number may be compared with the tables of its file.
        least = 1 if document.source in self._with_tables else 2
        paragraphs = list(paragraphs_of(document.flat, sentences, document.source, least))
        found = [
            each
            for each in itertools.chain(self._of_sentences(document, sentences), self._of_aligned(document.text))
            if not is_told_elsewhere(each, paragraphs) and not is_excused(each, document.flat, paragraphs)
        ]
        # A total below lines knows all of its parts, which a sentence may not.
        lines = {span for each in found if each.rule == "total" for span in _numbers_of(each)}
        found = [each for each in found if each.rule != "sum" or not lines.intersection(_numbers_of(each))]
        found = _apart(found)
        told = {span for each in found for span in _numbers_of(each)}
        for paragraph in paragraphs:
            values = paragraph.tally.values
            for rule in self._paragraph_rules:
                for each in rule.paragraph(paragraph) if rule.least_of_paragraph <= values else ():
                    # Of numbers that do not fit each other, one is reported.
                    if not told.intersection(_numbers_of(each)) and not is_excused(each, document.flat, paragraphs):
                        told.update(_numbers_of(each))
                        found.append(each)
        if self._plain is None:
            return found
        # Once for a place, before one of two is moved to another number.
        return with_likely_slips(_once(found), document, paragraphs, self._plain)

    def _of_sentences(self, document: Document, sentences: Sequence[Sentence]) -> Iterator[Finding]:
        for sentence in sentences:
            yield from self._of_sentence(sentence)
        for rule in self._passage_rules:
            yield from rule.passage(sentences)
        for rule in self._whole_rules:
            yield from rule.whole(document, sentences)
        for sentence in joined_sentences(sentences):
            tally = sentence.tally
            for name in JOINED_RULES:
                rule = self.rules.get(name)
                if rule is not None and rule.wants(tally, sentence.text):
                    yield from rule.sentence(sentence)

    def _of_sentence(self, sentence: Sentence) -> Iterator[Finding]:
        tally, text = sentence.tally, sentence.text
        if not tally.values and tally.times < 2 and not tally.late and ":" not in text:
            return  # a lone year: most sentences
        traits = sentence.traits
        asked = traits & self._asked
        if asked not in self._open:
            some = [rule for rule in self._sentence_rules if is_open(asked, rule.needs)]
            # A rule without cues needs no word; each sentence that comes here has a number.
            self._open[asked] = [(rule.cues or -1, rule.wants, rule.sentence) for rule in some]
        for cues, wants, findings in self._open[asked]:
            if traits & cues and wants(tally, text):
                yield from findings(sentence)

    def _of_aligned(self, text: str) -> Iterator[Finding]:
        """The findings of tables in a text, at their places in the text."""
        for table in aligned_tables(text):
            yield from filter(None, map(table.placed, self._of_cells(table.document)))

    def _of_cells(self, document: Document) -> Iterator[Finding]:
        """The findings of the numbers of a table."""
        from numerate.apps.consistency.tables.shared_cells import with_shared_cells
        from numerate.apps.consistency.tables.table_numbers import table_of

        found = _of_numbers(document, self._with("table"))
        fresh = [rules.create(name) for name in self.rules] if found else []
        found = with_shared_cells(document, table_of(document), found, lambda changed: _of_numbers(changed, fresh))
        told = {(each.cell, each.meant) for each in found if each.rule != "summary"}  # what another rule says, too
        yield from (each for each in found if each.rule != "summary" or (each.cell, each.meant) not in told)

    def _of_table(self, document: Document) -> Iterator[Finding]:
        if document.source:
            self._with_tables.add(document.source)
        yield from self._of_cells(document)
        for row, cells in enumerate(document.rows):
            for index, cell in enumerate(cells):
                for found in self._of_cell(cell) if _may_have_findings(cell) else ():
                    key = document.header[index] if index < len(document.header) else None
                    yield replace(found, cell=(row + document.first_row, index), key=key)

    def _of_cell(self, cell: str) -> Iterator[Finding]:
        """The findings of a cell: of one sentence, or of a text with several, as JSON lines of articles have."""
        if len(cell) > _SHORT and len(sentence_spans(cell)) > 1:
            yield from self._of_text(Document(kind="text", text=cell))
            return
        sentence = Sentence(cell[:MAX_SENTENCE], 0, make_reader("standard", words=True).find(cell[:MAX_SENTENCE]))
        for found in self._of_sentence(sentence):
            if len(cell) >= _SHORT or found.rule == "conversion":
                yield found

    def _with(self, method: str) -> list[Rule]:
        return [rule for rule in self.rules.values() if getattr(type(rule), method) is not getattr(Rule, method)]


def _of_numbers(document: Document, table_rules: Iterable[Rule]) -> list[Finding]:
    """What rules find in the numbers of a table."""
    from numerate.apps.consistency.tables.table_numbers import table_of

    table = table_of(document)
    found = [each for rule in table_rules for each in rule.table(document, table)]
    return [each for each in found if each.cell is None or each.cell[0] - document.first_row not in table.noted_rows]


def _may_have_findings(cell: str) -> bool:
    """Whether a cell is a sentence with a number, or a short one with two quantities."""
    if len(cell) < _SHORT:
        return cell.endswith(")") and _PAIR.search(cell) is not None
    return _DIGIT.search(cell) is not None and (_WORDY.search(cell) is not None or " = " in cell)


def sentences_of(document: Document) -> Iterator[Sentence]:
    """The sentences of a text that have a number."""
    text, numerals, position = document.flat, document.numerals, 0
    starts, ends = [each.start for each in numerals], [each.end for each in numerals]
    for start, end in document.sentences:
        first = bisect_left(starts, start, position)
        position = bisect_right(ends, end, first)
        if position > first and end - start <= MAX_SENTENCE:
            yield Sentence(text[start:end], start, numerals[first:position])


def _numbers_of(finding: Finding) -> Iterator[tuple[int, int]]:
    """Spans of the number of a finding and of those it was compared with."""
    if finding.span is not None:
        yield finding.span
    for other in finding.evidence.get("others", ()):
        yield other["start"], other["end"]


def _apart(findings: Sequence[Finding]) -> list[Finding]:
    """The findings without those of the same numbers as a likelier one: what does not fit is told once."""
    kept: dict[frozenset[tuple[int, int]], Finding] = {}
    alone: list[Finding] = []
    for finding in findings:
        numbers = frozenset(_numbers_of(finding))
        if len(numbers) < MOST_ALONE:
            alone.append(finding)
        elif numbers not in kept or finding.probability > kept[numbers].probability:
            kept[numbers] = finding
    chosen = {id(each) for each in (*alone, *kept.values())}
    return [each for each in findings if id(each) in chosen]


def _once(findings: Iterable[Finding]) -> list[Finding]:
    seen: dict[Any, Finding] = {}
    for finding in findings:
        key = (finding.rule, finding.cell, finding.span)
        if key not in seen or finding.probability > seen[key].probability:
            seen[key] = finding
    return list(seen.values())
