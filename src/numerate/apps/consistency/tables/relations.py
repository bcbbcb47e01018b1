"""Relations between the columns of a table: sums, products, differences, growth, ratios and order.

A relation is learnt from the rows in which it holds; a row that breaks it is reported. Names of columns help, but are
not needed: `Amount = Quantity x Price` is seen from the numbers.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from numerate.apps.consistency.base import Rule, finding_in_cell, rules
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.slips import is_slip
from numerate.apps.consistency.tables.cell_numbers import cell_number
from numerate.apps.consistency.tables.cell_style import like_cell
from numerate.apps.consistency.tables.relation_candidates import (
    LEARN_ROWS,
    Candidate,
    candidates_of,
    is_extreme,
    is_mean,
    is_named,
    is_span,
    is_span_of_one,
    row_sums,
)
from numerate.apps.consistency.tables.table_dates import date_findings
from numerate.apps.consistency.tables.table_units import unit_findings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numerate.apps.consistency.tables.formulas import Formula
    from numerate.apps.consistency.tables.table_numbers import NumberTable
    from numerate.apps.documents import Document
    from numerate.apps.findings import Finding

__all__ = ["Relation", "Relations", "find_relations", "holding_rows"]

MAX_COLUMNS = 80
"""Numeric columns that are compared."""
FIRST, NEAR = 14, 8
"""The first so many are compared with each other, and each later one with its neighbours: the number of relations grows
with the cube. Sums may have more columns."""
TRIALS = 256
BEGIN = 0.1
"""Share of the last reading that a count may begin again with."""
LEAST_TELLING = 6
"""Rows without a zero of which it is told how often a relation holds by chance."""
FEW = 3
"""Rows that are too few to learn a relation from them."""
GLANCE = 50
"""Rows of a long table in which half of a relation must hold to be looked at further."""
_LABEL = regex(
    r"^(?:rank|no\.?|pos\.?|position|#|id|number|seed|place|stage|day|round|leg|lap|week|step|session|heat)$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation that holds in most rows.

    Attributes:
        kind: `row-sum`, `product`, `difference`, `growth`, `percentage` or `ratio`.
        target: The column that is computed.
        sources: The columns that it is computed from.
        text: The relation in words.
        formula: Computes expected values and their slack.
        share: Share of the rows in which it holds.
        only_slips: Whether a row that breaks it must look like a slip.
    """

    kind: str
    target: int
    sources: tuple[int, ...]
    text: str
    formula: Formula
    share: float
    only_slips: bool = False


@rules.register("relation")
class Relations(Rule):
    """A row that breaks what holds in the other rows of its table."""

    title = "relation of columns"
    help = "A row breaks a relation of columns (sum, product, difference, growth, ratio) that holds in the other rows."

    def __init__(self) -> None:
        self._learnt: dict[tuple[str, str], list[Relation]] = {}

    def table(self, document: Document, table: NumberTable) -> Iterable[Finding]:
        """Learns relations from the first rows, and looks for rows that break them."""
        name = document.source, document.caption  # pieces of several tables of a file may take turns
        if document.first_row == 0:
            self._learnt[name] = find_relations(table)
        relations = self._learnt.get(name, [])
        if document.is_last:
            self._learnt.pop(name, None)
        explained: dict[tuple[int, frozenset[int]], bool] = {}
        halves = table.steps / 2
        found: dict[int, list[Finding]] = {}
        for relation in relations:
            expected, slack = relation.formula(table.values, halves)
            actual = table.values[:, relation.target]
            with np.errstate(invalid="ignore"):
                # A quotient may have been cut off instead of rounded, or be made from unrounded numbers.
                digits = 1.02 if relation.kind in ("row-sum", "product", "difference") else 2.04
                wrong = np.abs(actual - expected) > slack + halves[:, relation.target] * digits + 1e-9 * np.abs(
                    expected
                )
                if relation.kind in ("growth", "row-growth"):
                    # A larger deduction is a growth of the size, or a fall of the number.
                    is_less = (table.values[:, list(relation.sources)] < 0).any(1)
                    wrong &= ~(is_less & (np.abs(actual + expected) <= slack + halves[:, relation.target] * 2.04))
            blank = np.isfinite(actual) & ~np.isfinite(expected)
            wrong &= np.isfinite(actual) & np.isfinite(expected)
            if relation.kind == "row-sum" and blank[: len(blank) - len(table.total_rows)].any():
                wrong[table.total_rows] = False  # the total has a row whose parts are not told
            if wrong[table.odd_rows].any():
                wrong[table.total_rows] = False  # the total has what does not hold in a row of its own kind
            wrong[table.odd_rows] = False
            if relation.kind not in ("row-sum", "difference"):
                wrong[table.total_rows] = False
                if table.total_rows and table.total_rows[-1] >= len(wrong) / 2:
                    wrong[table.total_rows[-1] :] = False  # the turnout below the votes
                if table.is_percent(relation.target):
                    wrong &= ~((expected > 99) & (expected < 101))  # the turnout, or a total without that name
            for row in np.flatnonzero(wrong):
                if any(_has_other_unit(document, int(row), each) for each in (relation.target, *relation.sources)):
                    continue
                if relation.kind == "running" and _is_reset(table, relation, int(row), wrong):
                    continue
                if relation.only_slips and not _has_slip(table, relation, int(row), float(expected[row])):
                    continue
                columns = frozenset((relation.target, *relation.sources))
                if (int(row), columns) not in explained:
                    explained[int(row), columns] = True
                    found.setdefault(int(row), []).append(
                        _finding(document, relation, int(row), float(actual[row]), float(expected[row]))
                    )
        for each in found.values():
            yield _culprit(each)
        yield from _orders(document, table)
        yield from date_findings(document, table)
        yield from unit_findings(document, table)


def find_relations(table: NumberTable) -> list[Relation]:
    """The relations that hold in most rows, the simplest for each set of columns.

    Example:
        >>> from numerate.apps.consistency.tables.table_numbers import NumberTable
        >>> from numerate.apps.documents import Document
        >>> rows = [["3", "4.50", "13.50"], ["2", "8.25", "16.50"], ["12", "1.20", "14.40"], ["7", "3.00", "21.00"]]
        >>> table = NumberTable(Document(kind="table", header=["quantity", "price", "amount"], rows=rows))
        >>> [relation.text for relation in find_relations(table)]
        ['amount = quantity x price']
    """
    totals = {*table.total_rows, *table.noted_rows}
    keep = [row for row in range(min(len(table.values), LEARN_ROWS)) if row not in totals]
    values, halves = table.values[keep], table.steps[keep] / 2
    is_vote = any(each.strip().lower() in ("yes", "aye", "for") for each in table.header)
    columns = [
        column
        for column in table.numeric
        if not _LABEL.search(table.header[column]) or (is_vote and table.header[column].strip().lower() == "no")
    ][:MAX_COLUMNS]
    # The more relations are tried, the more hold by chance.
    tried = np.log2(4.0 * len(columns) ** 3 + 1)
    found: list[Relation] = []
    taken: set[frozenset[int]] = set()
    rough: dict[frozenset[int], int] = {}  # products that do not hold in all rows, and their places
    sums: set[frozenset[int]] = set()
    some = (candidates_of(table, each) for each in _windows(columns))
    for each in itertools.chain(row_sums(table, columns), *some):
        used = frozenset((each.target, *each.sources))
        # A count is not rounded, a speed is.
        if each.kind == "percentage" and used in rough and np.median(halves[:, each.target]) < 0.5:
            _use_quotient(found, rough[used], each, _share(values, halves, each, tried))
        if used in taken or any(used < other for other in sums):
            continue
        needed = tried + (2 if is_named(table.header[each.target]) else 7)
        share = _share(values, halves, each, 4.0 if each.is_told else needed)
        if share is not None:
            taken.add(used)
            if each.kind == "product" and share < 1:
                rough[used] = len(found)
            sums |= {used} if each.kind == "row-sum" else set()
            found.append(
                Relation(each.kind, each.target, each.sources, each.text, each.formula, share, each.only_slips)
            )
    return [each for each in found if not any(_is_like(each, other) for other in found)]


def _use_quotient(found: list[Relation], at: int, candidate: Candidate, share: float | None) -> None:
    """Puts a quotient in the place of a product that holds in fewer rows, as `km = hours x km/h` of a rounded speed."""
    if share is not None and share > found[at].share:
        found[at] = Relation(
            candidate.kind, candidate.target, candidate.sources, candidate.text, candidate.formula, share
        )


def _is_like(relation: Relation, other: Relation) -> bool:
    """Whether a relation holds by the likeness of a column to that of a better one, as the counts of two items."""
    return (
        relation.target == other.target
        and relation.kind in (other.kind, "ratio")
        and relation.share < other.share
        and not {*relation.sources}.isdisjoint(other.sources)
    )


def _windows(columns: list[int]) -> Iterator[list[int]]:
    """Columns that are compared with each other."""
    yield columns[:FIRST]
    for end in range(FIRST + NEAR // 2, len(columns) + NEAR // 2, NEAR // 2):
        yield columns[end - NEAR : end]


def _has_slip(table: NumberTable, relation: Relation, row: int, expected: float) -> bool:
    """Whether a row breaks the ratio of two columns by a slip in one of them."""
    actual, source = table.values[row, relation.target], table.values[row, relation.sources[0]]
    return is_slip(actual, expected) or is_slip(source, source * actual / expected)


def _is_reset(table: NumberTable, relation: Relation, row: int, wrong: np.ndarray) -> bool:
    """Whether a count begins again at a row, as that of a new meter: it falls, and goes on from there."""
    target, source = table.values[:, relation.target], table.values[:, relation.sources[0]]
    if len(relation.sources) > 1 or not 0 < row < len(target) - 1 or (source[np.isfinite(source)] < 0).any():
        return False
    goes_on = abs(target[row + 1] - target[row] - source[row + 1]) <= table.steps[row, relation.target]
    return bool(target[row] <= BEGIN * target[row - 1] and goes_on and not wrong[row + 1])


def _has_other_unit(document: Document, row: int, column: int) -> bool:
    """Whether a cell has a unit that most cells of its column have not: `4.3 pp` below `7.7%`."""
    read_cells = (cell_number(cells[column]) for cells in document.rows[:LEARN_ROWS] if column < len(cells))
    units = Counter(each[2] for each in read_cells if each is not None)
    read = cell_number(document.rows[row][column])
    return read is not None and read[2] not in ("", "clock", units.most_common(1)[0][0] if units else "")


def _share(values: np.ndarray, halves: np.ndarray, candidate: Candidate, needed: float) -> float | None:
    """Share of rows in which a relation holds; None if it does not hold, or may hold by chance."""
    if len(values) > 2 * GLANCE:  # most fail in the first rows
        known, holds = _holding(values[:GLANCE], halves[:GLANCE], candidate.target, candidate.formula)
        if holds.sum() < known.sum() / 2:
            return None
    known, holds = _holding(values, halves, candidate.target, candidate.formula)
    count, right = int(known.sum()), int(holds.sum())
    least = 0.9 if count < 200 else 0.98
    # Names that say what the column is computed from need fewer rows as a proof: `From`, `To`, `Years`.
    if right < (2 if candidate.is_told else 3) or right < (count - 1 if count < 12 else least * count):
        return None
    if any(np.ptp(values[known, source]) == 0 for source in candidate.sources):
        return None
    if candidate.kind in ("ratio", "growth", "percentage") and candidate.cost >= 0 and not candidate.is_told:
        expected, slack = candidate.formula(values[holds], halves[holds])
        half, size = np.median(halves[holds, candidate.target]), np.median(np.abs(expected)) + 1e-12
        if np.median(slack) > 2 * half and np.median(slack) / size > 0.02:
            return None  # small counts have many ratios
        if candidate.kind == "ratio" and (np.median(slack) + half) / size > 0.02:
            return None
    # Zeros agree with many formulas.
    telling = holds & (values[:, candidate.target] != 0)
    # How often it would hold by chance: the same formula with cells of different rows.
    rng = np.random.default_rng(0)
    rows = np.flatnonzero(known & (values[:, candidate.target] != 0))
    if len(rows) < LEAST_TELLING:
        rows = np.flatnonzero(known)
    columns = (*candidate.sources, candidate.target)
    mixed, steps = np.full((TRIALS, values.shape[1]), np.nan), np.ones((TRIALS, values.shape[1])) / 2
    first = rng.integers(0, len(rows), TRIALS)
    for position, column in enumerate(columns):
        shift = 0 if position == 0 else rng.integers(1, len(rows), TRIALS)
        chosen = rows[(first + shift) % len(rows)]
        mixed[:, column], steps[:, column] = values[chosen, column], halves[chosen, column]
    usable, lucky = _holding(mixed, steps, candidate.target, candidate.formula)
    chance = (lucky.sum() + 1) / (usable.sum() + 2)
    distinct = len(np.unique(values[telling][:, columns], axis=0))
    bits = min(right, distinct) * -np.log2(chance) - candidate.cost
    return right / count if bits >= needed else None


def holding_rows(values: np.ndarray, halves: np.ndarray, relation: Relation) -> np.ndarray:
    """(rows,) whether a relation holds; `halves` are half of what the last written digits are worth."""
    return _holding(values, halves, relation.target, relation.formula)[1]


def _holding(values: np.ndarray, halves: np.ndarray, target: int, formula: Formula) -> tuple[np.ndarray, np.ndarray]:
    """Rows in which a relation can be computed, and those in which it holds."""
    expected, slack = formula(values, halves)
    actual = values[:, target]
    known = np.isfinite(actual) & np.isfinite(expected)
    with np.errstate(invalid="ignore"):
        holds = np.abs(actual - expected) <= slack + halves[:, target] * 1.02 + 1e-9 * np.abs(expected)
    return known, known & holds


def _culprit(findings: list[Finding]) -> Finding:
    """The finding whose relation holds most widely, where several relations of a row are broken."""
    return max(
        findings, key=lambda each: (each.evidence["share"], is_named(each.key or ""), each.evidence["kind"] != "ratio")
    )


def _finding(document: Document, relation: Relation, row: int, actual: float, expected: float) -> Finding:
    written = document.rows[row][relation.target].strip()
    meant = like_cell(document.rows, row, relation.target, round(expected, 9))
    message = f"{relation.text} holds in {relation.share:.0%} of the rows; here it gives {meant}, not {written}."
    return finding_in_cell(
        "relation", document, row, relation.target, message, meant=meant,
        probability=0.92 if relation.kind != "ratio" else 0.85, kind=relation.kind, expected=expected, value=actual,
        share=relation.share, columns=[document.header[each] for each in relation.sources],
    )  # fmt: skip


def _orders(document: Document, table: NumberTable) -> Iterator[Finding]:
    """Rows whose minimum, start, ... is above their maximum, end, ..."""
    columns = table.numeric
    if len(document.rows) < FEW:  # of a single record, names must tell more
        columns = [each for each in range(len(table.header)) if is_extreme(table.header[each])]
    for a in columns:
        for b in columns:
            if a == b or not is_span(table.header[a], table.header[b]):
                continue
            one, other = table.values[:, a], table.values[:, b]
            known = np.isfinite(one) & np.isfinite(other)
            with np.errstate(invalid="ignore"):
                wrong = known & (one > other)
            least = 1 if is_span_of_one(table.header[a], table.header[b]) else 3
            if known.sum() < least or wrong.sum() > max(1, 0.05 * known.sum()) or table.is_clock(a):
                continue
            for row in np.flatnonzero(wrong).tolist():
                cell = document.rows[row][a].strip(), document.rows[row][b].strip()
                # A mean is computed from what has a minimum and a maximum.
                message = f"{document.header[a]} {cell[0]} is more than {document.header[b]} {cell[1]}."
                column, value = (b, other) if least == 1 and is_mean(table.header[b]) else (a, one)
                yield finding_in_cell(
                    "relation", document, row, column, message, probability=0.92, kind="order",
                    value=float(value[row]), other=float((one if column == b else other)[row]), share=1.0,
                )  # fmt: skip
