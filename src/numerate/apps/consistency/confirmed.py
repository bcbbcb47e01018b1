"""Numbers that others confirm: a total, a relation of columns or a conversion holds with them, and with no others.

Whoever doubts such a number would have to doubt the others, too: `48,000` is right where the total below needs it.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

import numpy as np

from numerate.apps.consistency.base import rules
from numerate.apps.consistency.checker import ConsistencyChecker
from numerate.apps.consistency.tables.bill_tails import closing_cells
from numerate.apps.consistency.tables.block_sums import holding_blocks
from numerate.apps.consistency.tables.column_totals import holding_totals
from numerate.apps.consistency.tables.relations import find_relations, holding_rows
from numerate.apps.documents import Document
from numerate.numerals.slips import SlipReading
from numerate.numerals.unit_factors import converted
from numerate.reading import find

if TYPE_CHECKING:
    from numerate.apps.consistency.tables.table_numbers import NumberTable
    from numerate.numerals.numeral import Numeral

__all__ = ["SentenceConfirmation", "confirmed_cells"]

EXACT = ("conversion", "sum", "percent", "difference", "product", "average", "ratio", "count")
"""Rules that compare a number with the one that others give."""
_MOVED = 1.1
"""A relation says something of a cell only if it breaks where the cell is so many times larger."""
_PROBES, _YEARS = ((0.9, 0.7, 0.5), (1.15, 1.4, 2.0)), ((-3, -7), (3, 7))
"""Other numbers that a sentence is tried with, smaller and larger ones: factors, and for years differences."""
_LONGEST = 2_000
_BRACKET = re.compile(r" ?\( ?(?:i\.e\. |or |about |= ?)?")
_TELLING = 0.15
"""Rounding that leaves a conversion to say something, as a share of its value."""


def confirmed_cells(table: NumberTable) -> np.ndarray:
    """(rows, columns) whether a cell is part of a total or of a relation of columns that holds, and needs this cell.

    Example:
        >>> rows = [["a", "48,000"], ["b", "52,000"], ["Total", "100,000"], ["c", "7"]]
        >>> from numerate.apps.consistency.tables.table_numbers import NumberTable
        >>> table = NumberTable(Document(kind="table", header=["x", "y"], rows=rows))
        >>> confirmed_cells(table)[:, 1].tolist()
        [True, True, True, False]
    """
    found = np.zeros(table.values.shape, dtype=bool)
    for row, column, parts, slack in holding_totals(table):
        # A part that rounding could hide is not confirmed, and a total of a single part is a copy.
        needed = [each for each in parts if abs(table.values[each, column]) * (_MOVED - 1) > slack]
        if len(needed) > 1:
            found[[*needed, row], column] = True
    for at in (*closing_cells(table), *holding_blocks(table)):
        found[at] = True
    halves = table.steps / 2
    for relation in find_relations(table):
        holds = holding_rows(table.values, halves, relation) & (table.values[:, relation.target] != 0)
        for column in {relation.target, *relation.sources}:
            # Every second row at a time: a growth since the last row stays as it is when both rows grow.
            for first in (0, 1):
                moved = table.values.copy()
                # Small counts move by one at least.
                moved[first::2, column] += np.copysign(
                    np.maximum(np.abs(moved[first::2, column]) * (_MOVED - 1), table.steps[first::2, column]),
                    moved[first::2, column],
                )
                breaks = holds & ~holding_rows(moved, halves, relation)
                found[first::2, column] |= breaks[first::2]
    return found


class SentenceConfirmation:
    """Says whether a rule confirms a number of a sentence: it has nothing against it, but against others in its place.

    Smaller and larger numbers are tried. If some of both contradict the rest of the sentence, the number that stands
    there is the one that fits; if only larger ones do, the rule knows no more than a bound.

    Example:
        >>> text = "The lake is 28 km (17 mi) long and 5 km wide."
        >>> numerals = Document(kind="text", text=text).numerals
        >>> confirmation = SentenceConfirmation()
        >>> [confirmation.holds(text, each) for each in numerals]
        [True, True, False]
    """

    def __init__(self) -> None:
        self._checker = ConsistencyChecker([name for name in rules.names() if name not in EXACT], blames=False)
        self._all = ConsistencyChecker(blames=False)

    def holds(self, text: str, numeral: Numeral) -> bool:
        """Whether the numbers beside it confirm a number of a sentence."""
        written = numeral.written
        if len(text) > _LONGEST or not written or not np.isfinite(numeral.value):
            return False
        if self._complains(text, numeral.start, numeral.end):
            return False
        restated = _is_restated(text, numeral)
        if restated is not None:
            return restated
        for probes in _YEARS if numeral.kind == "year" else _PROBES:
            others = [written + each if numeral.kind == "year" else written * each for each in probes]
            if not any(self._contradicts(text, numeral, other) for other in others):
                return False
        return True

    def refutes(self, text: str, start: int, end: int, meant: str) -> bool:
        """Whether a correction would contradict its sentence, which contradicts itself nowhere as it stands.

        Example:
            >>> SentenceConfirmation().refutes("It is 0.5 to 3 m wide.", 6, 9, "5")
            True
        """
        if len(text) > _LONGEST or self._all.check(Document(kind="text", text=text)):
            return False
        changed = text[:start] + meant + text[end:]
        return bool(self._all.check(Document(kind="text", text=changed)))

    def _contradicts(self, text: str, numeral: Numeral, other: float) -> bool:
        """Whether a rule has something against another number in the place of a number."""
        try:
            new = SlipReading("digit", other, 0.0).text(numeral)
        except (ValueError, OverflowError):
            return False
        changed = text[: numeral.start] + new + text[numeral.end :]
        return new != numeral.text and self._complains(changed, numeral.start, numeral.start + len(new))

    def _complains(self, text: str, start: int, end: int) -> bool:
        """Whether a rule has a finding at a number, or compares another one with it."""
        for finding in self._checker.check(Document(kind="text", text=text)):
            spans = [finding.span or (0, 0)]
            spans += [(each["start"], each["end"]) for each in finding.evidence.get("others", ())]
            if any(first < end and start < last for first, last in spans):
                return True
        return False


def _is_restated(text: str, numeral: Numeral) -> bool | None:
    """Whether a number fits its restatement in another unit: `50 µg/L (0.05 mg/L)`; None if there is none.

    It fits within the rounding of what is written. The rules leave more room before they speak of a mistake, and digits
    that were exchanged may hide there: `1,902 m (6,300 ft)`.
    """
    fits = None
    for one, other in itertools.pairwise(find(text)):
        if numeral.start not in (one.start, other.start) or one.unit is None or other.unit in (None, one.unit):
            continue
        if not _BRACKET.fullmatch(text[max(one.end, (one.unit_span or (0, 0))[1]) : other.start]):
            continue
        halves = [0.5 * 10.0**each.precision for each in (one, other)]
        steps = converted(halves[0], one.unit, other.unit, difference=True)
        for value, step in zip(converted(one.value, one.unit, other.unit), steps, strict=False):
            slack = 1.02 * (step + halves[1])
            most = _TELLING * (2 if abs(value - other.value) <= halves[1] else 1) * abs(other.value)
            if abs(value - other.value) <= slack <= max(most, 2.0 * ("°" in other.unit)):
                return True
            fits = False
    return fits
