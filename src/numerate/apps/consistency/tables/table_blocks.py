"""Rows that summarise rows above them without being named total: quarters below months, means, minima, balances."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from numerate.apps.consistency.base import Rule, rules
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.tables.block_sums import block_sums, differences_of_totals, summary_finding
from numerate.apps.consistency.tables.column_totals import near_slip
from numerate.apps.consistency.tables.few_rows import accounts, cell_ranges, two_row_sums

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numerate.apps.consistency.tables.table_numbers import NumberTable
    from numerate.apps.documents import Document
    from numerate.apps.findings import Finding

__all__ = ["TableSummaries"]

MOST_ROWS = 400
_MEANS: list[tuple[str, str, Callable[[np.ndarray], float]]] = [
    (
        r"(?:the )?(?:arithmetic )?(?:means?|averages?|avg\.?|ø)(?: .{0,20})?"
        r"|(?:overall|group|class|team|daily|monthly) (?:mean|average)",
        "mean",
        lambda values: float(values.mean()),
    ),
    (r"(?:the )?medians?(?: .{0,20})?", "median", lambda values: float(np.median(values))),
    (r"(?:the )?(?:min\.?|minimum|lowest|smallest)(?: .{0,12})?", "minimum", lambda values: float(values.min())),
    (r"(?:the )?(?:max\.?|maximum|highest|largest)(?: .{0,12})?", "maximum", lambda values: float(values.max())),
]
_STATISTICS = [(regex(pattern, re.IGNORECASE), name, of) for pattern, name, of in _MEANS]
_SPREAD = regex(
    r"(?:sd|s\.d\.|std\.?|standard .*|range|variance|cv|n|count|spread|fastest|slowest|best|worst)\b.*", re.IGNORECASE
)
_EXTREME = regex(
    r"\b(?:best|worst|max|maximum|highest|peak|top|min|minimum|lowest|fastest|slowest|longest|shortest)\b",
    re.IGNORECASE,
)
_BALANCE = regex(
    r"\b(?:balance|saldo|running|cumulative|to date|stock|on hand|in stock|level|clock|cum\.?|remaining)\b",
    re.IGNORECASE,
)
_IN = regex(
    r"\b(?:in|credit|deposits?|receipts?|received|income|paid in|added|inflow|arrivals?|purchases?"
    r"|delivered|plus|incoming)\b",
    re.IGNORECASE,
)
_OUT = regex(
    r"\b(?:out|debit|withdrawals?|payments?|spent|expenses?|expenditure|paid out|paid|taken|outflow"
    r"|issued|sold|used|minus|outgoing|removed)\b",
    re.IGNORECASE,
)


@rules.register("summary")
class TableSummaries(Rule):
    """A quarter below its months, a mean, a minimum or a running balance must fit the rows above it."""

    title = "summary row"
    help = "A row that summarises others (quarter, mean, minimum) or a running balance does not fit the rows above it."

    def table(self, document: Document, table: NumberTable) -> Iterable[Finding]:
        """Looks at rows named after a period or a statistic, and at columns named balance."""
        if document.first_row or not document.is_last or len(document.rows) > MOST_ROWS:
            return
        yield from two_row_sums(document, table)
        if len(document.rows) < 3:
            return
        summaries = [row for row, label in enumerate(table.labels) if _is_summary(label)]
        yield from _statistics(document, table, summaries)
        yield from block_sums(document, table)
        yield from differences_of_totals(document, table)
        yield from _balances(document, table)
        yield from _extremes(document, table)
        yield from accounts(document, table)
        yield from cell_ranges(document, table)


def _is_summary(label: str) -> bool:
    return len(label) < 40 and (
        any(each.fullmatch(label) for each, *_ in _STATISTICS) or _SPREAD.fullmatch(label) is not None
    )


def _statistics(document: Document, table: NumberTable, summaries: list[int]) -> Iterator[Finding]:
    """Means, medians, minima and maxima of the rows above; others of the row must agree, or a digit slipped."""
    for row in summaries:
        found = next(((name, of) for each, name, of in _STATISTICS if each.fullmatch(table.labels[row])), None)
        rows = [each for each in range(row) if each not in summaries and each not in table.total_rows]
        if found is None or len(rows) < 3:
            continue
        name, of = found
        fits, broken = 0, []
        outside: set[int] = set()
        for column in table.numeric:
            said, above = table.values[row, column], table.values[rows, column]
            above = above[np.isfinite(above)]
            if np.isfinite(said) and len(above) > 1 and not min(above) <= said <= max(above):
                outside.add(column)
            if not np.isfinite(said) or len(above) < 3 or len(above) < len(rows) - 1 or table.is_clock(column):
                continue
            real, step = of(above), float(table.steps[row, column])
            step = max(step, float(np.median(table.steps[rows, column]))) if step == 1 else step
            if abs(said - real) <= 1.01 * step + 1e-9:
                fits += 1
            elif min(above) != max(above) and not (name == "mean" and _is_weighted(table, rows, row, column)):
                broken.append((column, real, said))
        for column, real, said in broken:
            rounded = round(real / table.steps[row, column]) * table.steps[row, column]
            is_slip = near_slip(said, float(f"{rounded:.10g}"))
            # `the mean` may be a method among others: then it lies outside of them in other columns.
            if len(broken) == 1 and (fits or (is_slip and not outside - {column})):
                message = f"The {name} of {table.header[column]!r} is {{}}, not {{}}."
                yield summary_finding(document, row, column, real, message, name)


def _is_weighted(table: NumberTable, rows: list[int], row: int, column: int) -> bool:
    """Whether a mean is that of all units: kWh per person that of all kWh and all persons."""
    said, step = float(table.values[row, column]), float(table.steps[row, column])
    parts = table.values[rows, column]
    others = [each for each in table.numeric if each != column and np.isfinite(table.values[rows, each]).all()]
    for weight in others:
        sizes = table.values[rows, weight]
        if sizes.sum() and np.isfinite(parts).all() and abs(parts @ sizes / sizes.sum() - said) <= 1.01 * step:
            return True
    return False


def _balances(document: Document, table: NumberTable) -> Iterator[Finding]:
    """`Balance` of a row as that of the row above with what came in and went out; empty cells are nothing."""
    balances = [
        column for column in table.numeric if _BALANCE.search(table.header[column]) and not table.is_clock(column)
    ]
    flows = [
        (column, -1.0 if _OUT.search(table.header[column]) and not _IN.search(table.header[column]) else 1.0)
        for column in range(len(table.header))
        if column not in balances and np.isfinite(table.values[:, column]).any() and not table.is_percent(column)
    ]
    named = [each for each in flows if _IN.search(table.header[each[0]]) or _OUT.search(table.header[each[0]])]
    if len(balances) != 1 or len(named) != 2:
        return
    rows = [row for row in range(len(document.rows)) if row not in table.total_rows]
    values = table.values[rows, balances[0]]
    moves = sum(sign * np.nan_to_num(np.abs(table.values[rows, column])) for column, sign in named)
    if not np.isfinite(values).all() or len(rows) < 4:
        return
    off = np.round(np.diff(values) - np.asarray(moves)[1:], 6)
    wrong = np.flatnonzero(np.abs(off) > 1e-6)
    # A wrong balance breaks two rows, of which the second makes up for the first.
    is_pair = len(wrong) == 2 and wrong[1] == wrong[0] + 1 and abs(off[wrong].sum()) < 1e-6 and len(off) >= 4
    if not is_pair and not (len(wrong) == 1 and len(off) >= 3):
        return
    index = int(wrong[0]) + 1
    real = float(values[index] - off[index - 1])
    message = "The balance above and what came in and went out give {}, not {}."
    yield summary_finding(document, rows[index], balances[0], real, message, "balance")


def _extremes(document: Document, table: NumberTable) -> Iterator[Finding]:
    """`Best` of a row as the largest or smallest of the columns before it, where it is that in all other rows."""
    rows = [row for row in range(len(document.rows)) if row not in table.odd_rows and row not in table.total_rows]
    for at, column in enumerate(table.numeric):
        if not _EXTREME.search(table.header[column]) or table.is_clock(column):
            continue
        before = [
            each
            for each in table.numeric[:at]
            if not _EXTREME.search(table.header[each]) and not table.is_percent(each)
        ]
        if any(_is_running(table.values[rows, each], table.values[rows, column]) for each in before):
            continue
        for count in range(len(before), 1, -1):
            parts = table.values[np.ix_(rows, before[-count:])]
            said = table.values[rows, column]
            if not np.isfinite(parts).all() or not np.isfinite(said).all() or len(rows) < 4:
                continue
            for name, real in (("largest", parts.max(1)), ("smallest", parts.min(1))):
                wrong = np.flatnonzero(np.abs(real - said) > 1e-9)
                if len(wrong) == 1:
                    message = f"The {name} of the row is {{}}, not {{}}."
                    yield summary_finding(document, rows[int(wrong[0])], column, float(real[wrong[0]]), message, name)
                if len(wrong) <= 1:
                    return


def _is_running(values: np.ndarray, said: np.ndarray) -> bool:
    """Whether a column is the best so far of another one."""
    if not np.isfinite(values).all() or not np.isfinite(said).all():
        return False
    return any(np.array_equal(each.accumulate(values), said) for each in (np.minimum, np.maximum))
