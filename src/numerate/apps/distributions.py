"""Distributions of table columns, fitted on the file itself: improbable numbers, and the slips that explain them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from numerate.apps.consistency.base import plain
from numerate.apps.consistency.confirmed import confirmed_cells
from numerate.apps.consistency.tables.table_numbers import NumberTable, finest, table_of
from numerate.apps.consistency.tables.total_parts import cell_of
from numerate.apps.findings import Finding
from numerate.apps.short_columns import MONTHS, is_multiple, slips_in_short_columns, without_last_digit
from numerate.apps.tails import Tails
from numerate.numerals.slips import SLIPS, slips_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numerate.apps.documents import Document

__all__ = ["ColumnDistributions"]

MIN_VALUES = 20
"""Fewer values of a column tell nothing about its tails."""
MAX_SAMPLE = 20_000
GLANCE = 50
"""Rows in which most cells have the name of a month where a column holds dates."""
MAX_PAIRED = 10
"""Only the first numeric columns are compared in pairs."""
SLIP_RATE = 1e-3
"""Share of the numbers of a table that are slips, before anything is known of them."""
MOST = 1e-3
FIRST_YEAR, LAST_YEAR = 1800, 2100
"""A year may have a digit too many, that of a footnote."""
USUAL, NOT_UNUSUAL, HOPELESS = 0.05, 0.002, 1e-6
"""Tail probability of a slip's correction, and the lower one where a number itself has less than the last of these."""
LIKE, ODD_ROW = 3.0, 0.02
"""A cell is not reported beside one of at most this ratio to it, whose tail probability is below this."""
LEAST_AGAIN, AGAIN = 3, 0.02
"""How often a value must be in its column to be usual: so many times, and this share of its values."""
_CODES = re.compile(
    r"\b(?:id|ids|code|zip|postcode|phone|isbn|index|no\.?|nr\.?|number|key|uuid|hash|lat|lon|longitude"
    r"|latitude)\b|_id$",
    re.IGNORECASE,
)


class ColumnDistributions:
    """Finds improbable cells of tables and records.

    Args:
        false_alarms: Share of the right numbers that may be reported. None asks for about one false alarm in a table,
            and for at most one in a thousand numbers.

    Example:
        >>> from numerate.apps.documents import Document
        >>> heights = [str(170 + (7 * i) % 23) for i in range(60)] + ["1780"]
        >>> table = Document(kind="table", header=["height"], rows=[[each] for each in heights])
        >>> [(each.written, each.meant, each.rule) for each in ColumnDistributions(0.001).check(table)]
        [('1780', '178', 'column-slip')]
    """

    def __init__(self, false_alarms: float | None = None) -> None:
        self.false_alarms = false_alarms
        self._fits: dict[str, _Fit] = {}

    def fit(self, documents: Iterable[Document]) -> None:
        """Fits the distributions of a large table from all its pieces, before the pieces are checked."""
        collected: dict[str, _Collector] = {}
        for document in documents:
            if document.kind != "text":
                collected.setdefault(_name(document), _Collector()).add(table_of(document))
                document.forget_table()
        self._fits |= {name: each.fitted() for name, each in collected.items()}

    def check(self, document: Document) -> list[Finding]:
        """Cells that are improbable in their column, or beside another column, with the slip that explains them."""
        if document.kind == "text" or not document.rows:
            return []
        table = table_of(document)
        fit = self._fits.get(_name(document))
        is_whole = fit is None
        if fit is None:
            collector = _Collector()
            collector.add(table)
            fit = collector.fitted()
        rate = self.false_alarms if self.false_alarms is not None else min(MOST, 1 / max(fit.numbers, 1))
        found: dict[tuple[int, int], Finding] = {}
        findings = [*self._columns(document, table, fit, rate), *self._pairs(document, table, fit, rate)]
        if is_whole:
            rest = [each for each in table.numeric if each not in fit.columns and not _is_label(table, each)]
            findings += slips_in_short_columns(document, table, _sizes(table), rest)
        if findings:
            known = confirmed_cells(table)
            findings = [each for each in findings if not _is_known(each, known, document)]
        for finding in findings:
            if finding.cell is not None and (
                finding.cell not in found or finding.probability > found[finding.cell].probability
            ):
                found[finding.cell] = finding
        return list(found.values())

    def _columns(self, document: Document, table: NumberTable, fit: _Fit, rate: float) -> Iterator[Finding]:
        sizes = _sizes(table)
        for column, tails in fit.columns.items():
            if column >= table.values.shape[1]:
                continue
            values = sizes[:, column]
            odds = tails.probability(values)
            for row in np.flatnonzero(np.isfinite(values) & (odds < rate)):
                if row in table.total_rows or _is_usual(values, values[row]):
                    continue
                if not _is_of_the_row(table, fit, int(row), column):
                    yield self._finding(
                        document, table, int(row), column, float(values[row]), float(odds[row]), tails, None
                    )

    def _pairs(self, document: Document, table: NumberTable, fit: _Fit, rate: float) -> Iterator[Finding]:
        for (one, other), (tails, slope) in fit.pairs.items():
            if max(one, other) >= table.values.shape[1]:
                continue
            base, values = table.values[:, one], table.values[:, other]
            usable = (base > 0) & (values > 0)
            ratios = np.where(usable, values / np.where(usable, base, 1.0) ** slope, np.nan)
            odds = np.where(usable, tails.probability(ratios), 1.0)
            for row in np.flatnonzero(usable & (odds < rate)):
                if row in table.total_rows:
                    continue
                scaled = _Scaled(tails, float(base[row]) ** slope)
                # The one of the two that is improbable in its own column is the wrong one.
                alone = [
                    float(fit.columns[c].probability(table.values[row : row + 1, c])[0]) if c in fit.columns else 1.0
                    for c in (one, other)
                ]
                if alone[0] < alone[1]:
                    continue
                beside = document.header[one]
                value, odd = float(values[row]), float(odds[row])
                yield self._finding(document, table, int(row), other, value, odd, scaled, beside)

    def _finding(
        self,
        document: Document,
        table: NumberTable,
        row: int,
        column: int,
        value: float,
        odds: float,
        tails: Tails | _Scaled,
        beside: str | None,
    ) -> Finding:
        written, key = document.rows[row][column].strip(), document.header[column]
        slip = _named_slip(written, value, odds, tails, finest(table, row, column))
        what = f"improbable in {key!r}" if beside is None else f"improbable in {key!r} beside {beside!r}"
        kind = "column" if beside is None else "pair"
        quantiles = tails.quantiles()
        evidence = {
            "quantiles": quantiles, "tail": odds, "bits": float(-np.log2(max(odds, 1e-300))), "value": value,
            "density": tails.density,
        }  # fmt: skip
        if slip is None:
            message = (
                f"{written} is {what}: a right value lies so far out once in {plain(round(1 / max(odds, 1e-12)))}."
            )
            return Finding(
                rule=f"{kind}-outlier", message=message, written=written, cell=(row + document.first_row, column),
                key=key, probability=0.4 * SLIP_RATE / (SLIP_RATE + odds), evidence=evidence,
            )  # fmt: skip
        name, meant, value_meant, other_odds = slip
        message = f"{written} is {what}; probably {SLIPS[name]}: {meant}."
        return Finding(
            rule=f"{kind}-slip", message=message, written=written, meant=meant, cell=(row + document.first_row, column),
            key=key, probability=SLIP_RATE * other_odds / (SLIP_RATE * other_odds + odds),
            evidence=evidence | {"slip": name, "expected": value_meant, "tail_meant": other_odds},
        )  # fmt: skip


@dataclass(frozen=True)
class _Scaled:
    """Tails of the values of a column, given the value of another column."""

    tails: Tails
    base: float

    def probability(self, values: np.ndarray) -> np.ndarray:
        return self.tails.probability(np.asarray(values) / self.base)

    def quantiles(self) -> list[float]:
        return [float(f"{value * self.base:.6g}") for value in self.tails.quantiles()]

    @property
    def density(self) -> dict[str, list[float]]:
        edges = [float(f"{edge * self.base:.6g}") for edge in self.tails.density["edges"]]
        return {"edges": edges, "shares": self.tails.density["shares"]}


@dataclass
class _Fit:
    columns: dict[int, Tails]
    pairs: dict[tuple[int, int], tuple[Tails, float]]
    numbers: int


class _Collector:
    """A sample of the rows of a table of any size, every k-th row with k growing, so that memory stays bounded."""

    def __init__(self) -> None:
        self.header: list[str] = []
        self.rows: list[np.ndarray] = []
        self.size = self.every = self.rows_seen = 0
        self.skip: set[int] = set()

    def add(self, table: NumberTable) -> None:
        self.header = list(table.header)
        keep = np.ones(len(table.values), dtype=bool)
        keep[table.total_rows] = False
        self.skip |= {column for column in range(len(self.header)) if _is_label(table, column)}
        self.skip |= {c for c in range(len(self.header)) if c not in table.numeric}
        values = _sizes(table)[keep]
        self.rows_seen += len(values)
        values = values[:: 2**self.every].copy()  # a view would keep the whole piece in memory
        self.rows.append(values)
        self.size += len(values)
        while self.size > MAX_SAMPLE:
            self.every += 1
            self.rows = [each[::2].copy() for each in self.rows]
            self.size = sum(map(len, self.rows))

    def fitted(self) -> _Fit:
        width = max((each.shape[1] for each in self.rows), default=0)
        rows = [np.pad(each, ((0, 0), (0, width - each.shape[1])), constant_values=np.nan) for each in self.rows]
        values = np.concatenate(rows) if rows else np.empty((0, 0))
        columns = {}
        for column in range(width):
            some = values[:, column]
            some = some[np.isfinite(some)]
            if column not in self.skip and _is_quantity(some):
                columns[column] = Tails.fit(some)
        pairs = dict(_fitted_pairs(values, list(columns)[:MAX_PAIRED]))
        return _Fit(columns, pairs, self.rows_seen * len(columns))


def _fitted_pairs(values: np.ndarray, columns: list[int]) -> Iterator[tuple[tuple[int, int], tuple[Tails, float]]]:
    """Pairs of columns whose ratio says much more than each column alone."""
    for one in columns:
        for other in columns:
            if one == other:
                continue
            base, target = values[:, one], values[:, other]
            usable = (base > 0) & (target > 0)
            if usable.sum() < 2 * MIN_VALUES or usable.sum() < 0.9 * np.isfinite(base * target).sum():
                continue
            x, y = np.log(base[usable]), np.log(target[usable])
            slope = _slope(x, y)
            residual = y - slope * x
            if _spread(residual) < 0.4 * _spread(y) and _spread(y) > 0:
                yield (one, other), (Tails.fit(np.exp(residual)), slope)


def _slope(x: np.ndarray, y: np.ndarray) -> float:
    """Slope of a line through the medians of the lower and the upper third, which a few wrong cells do not move."""
    order = np.argsort(x)
    third = max(len(x) // 3, 1)
    low, high = order[:third], order[-third:]
    run = np.median(x[high]) - np.median(x[low])
    return float((np.median(y[high]) - np.median(y[low])) / run) if run > 0 else 0.0


def _spread(values: np.ndarray) -> float:
    return float(np.subtract(*np.quantile(values, (0.84, 0.16))))


def _sizes(table: NumberTable) -> np.ndarray:
    """The numbers of a table; those in brackets of accounts have no sign, which is meant, and tells nothing."""
    rows, columns = np.nonzero(table.values < 0)
    meant = [cell_of(table, *at).lstrip().startswith("(") for at in zip(rows.tolist(), columns.tolist(), strict=True)]
    if not any(meant):
        return table.values
    sizes = table.values.copy()
    sizes[rows[meant], columns[meant]] *= -1
    return sizes


def _is_known(finding: Finding, known: np.ndarray, document: Document) -> bool:
    """Whether the cell of a finding is one that a total or a relation of columns confirms."""
    return finding.cell is not None and bool(known[finding.cell[0] - document.first_row, finding.cell[1]])


def _is_usual(values: np.ndarray, value: float) -> bool:
    """Whether a value is there again and again, as the rent of an account: no slip repeats itself."""
    count = np.count_nonzero(values == value)
    return bool(count >= LEAST_AGAIN and count >= AGAIN * np.count_nonzero(np.isfinite(values)))


def _is_of_the_row(table: NumberTable, fit: _Fit, row: int, column: int) -> bool:
    """Whether another column is as odd in this row: the row is unusual, as the only deduction of two years."""
    value = table.values[row, column]
    for other, tails in fit.columns.items():
        if other == column or other >= table.values.shape[1]:
            continue
        beside = table.values[row, other]
        is_like = np.isfinite(beside) and value * beside > 0 and 1 / LIKE < value / beside < LIKE
        if is_like and tails.probability(np.array([beside]))[0] < ODD_ROW:
            return True
    return False


def _is_label(table: NumberTable, column: int) -> bool:
    """Whether a column holds times of day, dates or codes, whose sizes mean nothing."""
    if table.is_clock(column) or _CODES.search(table.header[column]) is not None:
        return True
    cells = [cell_of(table, row, column) for row in range(min(GLANCE, len(table.values)))]
    return sum(MONTHS.search(cell) is not None for cell in cells) > sum(map(bool, cells)) / 2


def _is_quantity(values: np.ndarray) -> bool:
    """Enough different values, and no running number."""
    if len(values) < MIN_VALUES or len(np.unique(values)) < 8:
        return False
    steps = np.diff(values)
    return not (np.abs(steps - np.median(steps)) < 1e-9).mean() > 0.9


def _named_slip(
    written: str, value: float, odds: float, tails: Tails | _Scaled, least_step: float
) -> tuple[str, str, float, float] | None:
    """The slip whose correction is much more probable than the number itself, and by far the most probable one."""
    best = None
    for reading in slips_of(written, value):
        slip = without_last_digit(reading, written) if FIRST_YEAR <= reading.value <= LAST_YEAR else reading
        if not is_multiple(slip.value, least_step):
            continue
        other = float(tails.probability(np.array([slip.value]))[0]) * slip.prior
        # Named only where the slip is more probable than so extreme a right number, and its correction is usual.
        least = slip.prior * (USUAL if odds > HOPELESS else NOT_UNUSUAL)
        if SLIP_RATE * other > odds and other > least and (best is None or other > best[4]):
            best = (slip.name, slip.text, slip.value, other / slip.prior, other)
    return best[:4] if best is not None else None


def _name(document: Document) -> str:
    return f"{document.source}\0{document.caption}"
