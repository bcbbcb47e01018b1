"""Operator and tagged units of each question, derived from its answer and derivation.

The official files have no places of answers and operands. They are searched: answers as texts, operands as numbers. If
there are several places, the one whose row, column or sentence shares most words with the question is taken, and
operands of one formula are taken from one row or one column. An arithmetic label is kept only if the numbers of its
units, as the library reads them, give the right answer.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from numerate_lab.tasks.tatqa.context_units import content_words
from numerate_lab.tasks.tatqa.derivations import formula_of, parse_derivation
from numerate_lab.tasks.tatqa.official_scores import answer_string, exact_match_and_f1, normalised
from numerate_lab.tasks.tatqa.operators import computed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate_lab.tasks.tatqa.context_units import Segment, Unit
    from numerate_lab.tasks.tatqa.report_file import Context, Question

__all__ = ["Labels", "Places", "labels_of"]

_MOST_COMBINATIONS = 20_000
_NEAR = 60
"""Characters on each side of a word whose words are compared with the question's."""


@dataclass(frozen=True, slots=True)
class Labels:
    """What a model learns of one question.

    Attributes:
        operator: One of `OPERATORS`.
        tagged: Indices of the tagged units, in the order of the context.
        operands: The same for an operator of numbers, in the order of the formula; empty for others.
        turned: Whether the operands are turned; see `computed`.
    """

    operator: str
    tagged: frozenset[int]
    operands: tuple[int, ...] = ()
    turned: bool = False


class Places:
    """Units of a context in document order, and how to find answers and operands among them.

    Args:
        context: The context.
        segments: Its segments.
    """

    def __init__(self, context: Context, segments: Sequence[Segment]) -> None:
        self.segments, self.units = segments, [unit for segment in segments for unit in segment.units]
        self._cells: dict[str, list[int]] = {}
        for index, unit in enumerate(self.units):
            if unit.is_cell:
                self._cells.setdefault(normalised(answer_string([unit.text], "")), []).append(index)
        self._first = list(itertools.accumulate((len(segment.units) for segment in segments), initial=0))
        width = max(map(len, context.table))
        columns = [" ".join(row[index] for row in context.table if index < len(row)) for index in range(width)]
        self._rows = [content_words(row[0]) for row in context.table]
        self._columns = [content_words(" ".join(column.split()[:30])) for column in columns]

    def near(self, index: int, question: frozenset[str]) -> float:
        """How much the row and column of a cell, or the words around a word, share with a question."""
        unit = self.units[index]
        if unit.is_cell:
            own = self._rows[unit.row]
            share = len(own & question) / len(own) if own else 0.0
            return 2 * share + len(own & question) + len(self._columns[unit.column] & question)
        text = self.segments[unit.segment].text
        return float(len(content_words(text[max(0, unit.start - _NEAR) : unit.end + _NEAR]) & question))

    def cells_with(self, text: str) -> list[int]:
        """Cells that hold exactly this answer."""
        return self._cells.get(normalised(answer_string([text], "")), [])

    def runs_with(self, text: str) -> list[tuple[int, ...]]:
        """Runs of words that hold this text."""
        wanted, found = _whole(text), []
        for number, segment in enumerate(self.segments):
            for match in wanted.finditer(segment.text) if segment.paragraph else ():
                at, end = match.span()
                run = [i for i, one in enumerate(segment.units) if one.start < end and one.end > at]
                if run:
                    found.append(tuple(self._first[number] + i for i in run))
        return found

    def cells_around(self, text: str) -> list[int]:
        """Cells that hold more than this answer, the shortest ones."""
        wanted = _whole(text)
        held = [i for i, unit in enumerate(self.units) if unit.is_cell and wanted.search(unit.text)]
        shortest = min((len(self.units[i].text) for i in held), default=0)
        return [i for i in held if len(self.units[i].text) == shortest]

    def numbers(self, value: float) -> list[int]:
        """Units with this number, whatever its sign."""
        near = (abs(unit.number.written) - value if unit.number is not None else 1e9 for unit in self.units)
        return [index for index, gap in enumerate(near) if abs(gap) <= 1e-9 * max(1.0, value)]


def _whole(text: str) -> re.Pattern[str]:
    """A pattern of a text that neither begins nor ends within a word or a number; of nothing for an empty text."""
    inner = " ".join(text.split()).strip(" .,;:")
    # `1.` of "1.5" and `5` of "1,5" are parts of a number.
    return re.compile(rf"(?<![\w.,]){re.escape(inner)}(?!\w|[.,]\d)" if inner else r"(?!)", re.IGNORECASE)


def labels_of(question: Question, places: Places) -> Labels | None:
    """The labels of a question; None if its answer cannot be told by one operator, or is not found."""
    if question.answers is None:
        return None
    asked = content_words(question.text)
    if question.answer_type == "arithmetic":
        return _arithmetic(question, places, asked)
    counted = question.answer_type == "count"
    items = [one.strip() for one in question.derivation.split("##")] if counted else list(question.answers)
    found, used = [], set[int]()
    for item in items:
        place = _place(item, question, places, asked, used)
        if place is None:
            return None
        found.append(place)
        used.update(place)
    tagged = frozenset(used)
    if counted:
        return Labels("COUNT", tagged) if len(found) == int(question.answers[0]) else None
    if question.answer_type == "multi-span":
        return Labels("MULTI_SPAN", tagged)
    in_table = all(places.units[index].is_cell for index in tagged)
    return Labels("SPAN-TABLE" if in_table else "SPAN-TEXT", tagged)


def _place(
    item: str, question: Question, places: Places, asked: frozenset[str], used: set[int]
) -> tuple[int, ...] | None:
    """The units of one item of an answer; those of other items are not used again."""
    cells = [(index,) for index in places.cells_with(item)]
    runs = places.runs_with(item)
    if question.paragraphs:
        needed = [run for run in runs if places.segments[places.units[run[0]].segment].paragraph in question.paragraphs]
        runs = needed or runs
    groups = [runs, cells] if question.source == "text" else [cells, runs]
    groups.append([(index,) for index in places.cells_around(item)])
    for group in groups:
        free = [one for one in group if not used & set(one)]
        if free:
            return max(free, key=lambda one: max(places.near(index, asked) for index in one))
    return None


def _arithmetic(question: Question, places: Places, asked: frozenset[str]) -> Labels | None:
    formula = parse_derivation(question.derivation)
    if formula is None or question.answers is None:
        return None
    for name, numbers in formula_of(formula):
        options = [places.numbers(number) for number in numbers]
        found = _best_units(name, options, question, places, asked) if all(options) else None
        if found is not None:
            return found
    return None


def _best_units(
    name: str, options: list[list[int]], question: Question, places: Places, asked: frozenset[str]
) -> Labels | None:
    """One unit for each operand, such that the operator gives the answer, with its operands turned if need be."""
    likely = [sorted(one, key=lambda index: -places.near(index, asked)) for one in options]
    most = max(1, int(_MOST_COMBINATIONS ** (1 / len(likely))))
    for turned in (False, True):
        found = [
            chosen
            for chosen in itertools.product(*(one[:most] for one in likely))
            if len(set(chosen)) == len(chosen) and _is_right(name, chosen, turned, question, places.units)
        ]
        if found:
            best = max(found, key=lambda chosen: _together(chosen, question, places, asked))
            return Labels(name, frozenset(best), best, turned)
    return None


def _is_right(name: str, chosen: Sequence[int], turned: bool, question: Question, units: Sequence[Unit]) -> bool:
    numbers = [number for index in chosen if (number := units[index].number) is not None]
    result = computed(name, numbers, question.scale, turned)
    if result is None or question.answers is None:
        return False
    return exact_match_and_f1([str(result)], question.scale, question.answers, question.scale, "arithmetic")[0] == 1


def _together(chosen: Sequence[int], question: Question, places: Places, asked: frozenset[str]) -> tuple[float, ...]:
    """Prefers the source that the file names, then one row or one column, then words of the question."""
    units = [places.units[index] for index in chosen]
    cells = [unit for unit in units if unit.is_cell]
    wanted = len(units) - len(cells) if question.source == "text" else len(cells)
    rows, columns = {unit.row for unit in cells}, {unit.column for unit in cells}
    aligned = bool(cells) and (len(rows) == 1 or len(columns) == 1)
    return float(wanted), float(aligned), sum(places.near(index, asked) for index in chosen)
