"""Rows that summarise rows above them without being named total: quarters below months, means, minima, balances."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from numerate.apps.consistency.base import Rule, finding_in_cell, rules
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.tables.cell_style import like_cell
from numerate.apps.consistency.tables.column_totals import near_slip
from numerate.apps.consistency.tables.slipped_parts import flipped_part, slipped_part
from numerate.apps.consistency.tables.total_parts import fits_of, sums_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numerate.apps.consistency.tables.table_numbers import NumberTable
    from numerate.apps.documents import Document
    from numerate.apps.findings import Finding

__all__ = ["TableSummaries", "holding_blocks"]

MOST_ROWS = 400
_BLOCK = regex(
    r"(?:q|h|quarter|half|half-year|semester|term|season|year|fy|week|group|section|part|zone|team"
    r"|block)[ .-]?(?:\d{1,4}|i{1,3}|iv|one|two)?(?: .{0,20})?"
    r"|.{0,30}\b(?:together|combined|net|balance|altogether|aggregate|all .{1,20}|both .{1,20})"
    r"|(?:.{0,24}\b)?(?:profit|loss|income|surplus|deficit|result|earnings|ebitd?a?|ebt|gewinn|verlust|ergebnis|saldo"
    r"|résultat|excess)\b.{0,50}",
    re.IGNORECASE,
)
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
        if document.first_row or not document.is_last or not 3 <= len(document.rows) <= MOST_ROWS:
            return
        summaries = [row for row, label in enumerate(table.labels) if _is_summary(label)]
        yield from _statistics(document, table, summaries)
        yield from _blocks(document, table)
        yield from _differences(document, table)
        yield from _balances(document, table)
        yield from _extremes(document, table)


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
                yield _finding(document, row, column, real, message, name)


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


def _blocks(document: Document, table: NumberTable) -> Iterator[Finding]:
    """Rows such as `Q2` that add up the rows since the last such row in one column and not in another."""
    named = [row for row, label in enumerate(table.labels) if len(label) < 50 and _BLOCK.fullmatch(label)]
    if not named or len(named) > 0.5 * len(table.labels) or set(named) & set(table.total_rows):
        return
    for index, row in enumerate(named):
        begin = named[index - 1] + 1 if index else 0
        if row - begin < 2:
            continue
        columns = [
            column
            for column in table.numeric
            if np.isfinite(table.values[begin : row + 1, column]).all()
            and not (table.is_percent(column) or table.is_year(column) or table.is_clock(column))
        ]
        sums = {column: float(table.values[begin:row, column].sum()) for column in columns}
        right = [column for column in columns if _is_near(table, row, column, sums[column], begin) and sums[column]]
        wrong = [column for column in columns if column not in right]
        others = _right_blocks(table, named, row)
        for column in wrong if len(wrong) == 1 and (right or wrong[0] in others) else ():
            part = _wrong_part(table, range(begin, row), row, column, sums[column])
            if part is not None:
                message = f"With {{}} instead of {{}}, the rows above add up to {document.rows[row][column].strip()}."
                yield _finding(document, part[0], column, part[1], message, "block")
            elif 0.5 < table.values[row, column] / (sums[column] or 1) < 2:
                message = f"The rows of {table.header[column]!r} above add up to {{}}, not {{}}."
                yield _finding(document, row, column, sums[column], message, "block")


def holding_blocks(table: NumberTable) -> Iterator[tuple[int, int]]:
    """The cells of rows such as profits and quarters that are the sum of the rows above or the difference of totals.

    The rows above are among them.
    """
    named = [row for row, label in enumerate(table.labels) if len(label) < 60 and _BLOCK.fullmatch(label)]
    if not named or len(named) > 0.5 * len(table.labels):
        return
    for index, row in enumerate(named):
        totals = [each for each in table.total_rows if each < row][-2:]
        begin = named[index - 1] + 1 if index else 0
        for column in table.numeric:
            said, part = table.values[row, column], table.values[begin:row, column]
            if len(part) > 1 and np.isfinite(part).all() and _is_near(table, row, column, float(part.sum()), begin):
                yield from ((each, column) for each in range(begin, row + 1))
            elif len(totals) > 1 and table.values[totals[0], column] - table.values[totals[1], column] == said:
                yield row, column


def _wrong_part(
    table: NumberTable, rows: range, row: int, column: int, whole: float
) -> tuple[int, float] | None:  # fmt: skip
    """The part with which a sum of rows fails, and what was meant, if a slip explains it and none the sum."""
    gap = float(table.values[row, column]) - whole
    if (part := flipped_part(table, rows, column, gap)) is not None:
        return part, -float(table.values[part, column])
    if near_slip(float(table.values[row, column]), whole):
        return None
    return slipped_part(table.values[:, column], table.steps[:, column], rows, gap, 0.0, is_sum=True)


def _differences(document: Document, table: NumberTable) -> Iterator[Finding]:
    """`Excess of revenues over expenditures` below two totals, whose difference it is in the other columns."""
    for row, label in enumerate(table.labels):
        above = [each for each in table.total_rows if each < row][-2:]
        if len(above) < 2 or row in table.total_rows or not _BLOCK.fullmatch(label[:60]):
            continue
        columns = [each for each in table.numeric if np.isfinite(table.values[[row, *above], each]).all()]
        columns = [each for each in columns if not (table.is_percent(each) or table.is_year(each))]
        columns = [each for each in columns if all(_is_right(table, total, each) for total in above)]
        gaps = {each: float(table.values[above[0], each] - table.values[above[1], each]) for each in columns}
        wrong = [each for each in columns if abs(gaps[each] - table.values[row, each]) > 2 * table.steps[row, each]]
        if len(wrong) == 1 and len(columns) > len(wrong) + 1 and gaps[wrong[0]]:
            message = f"{document.rows[above[0]][wrong[0]].strip()} less {document.rows[above[1]][wrong[0]].strip()}"
            message = f"{message} is {{}}, not {{}}."
            yield _finding(document, row, wrong[0], gaps[wrong[0]], message, "difference")


def _is_right(table: NumberTable, row: int, column: int) -> bool:
    return bool(fits_of(table, row, column, sums_of(table, row, column, table.total_rows)))


def _right_blocks(table: NumberTable, named: list[int], row: int) -> set[int]:
    """Columns in which another named row is the sum of its block."""
    found = set()
    for index, other in enumerate(named):
        begin = named[index - 1] + 1 if index else 0
        if other == row or other - begin < 2:
            continue
        for column in table.numeric:
            part = table.values[begin:other, column]
            if np.isfinite(part).all() and part.sum() and _is_near(table, other, column, float(part.sum()), begin):
                found.add(column)
    return found


def _is_near(table: NumberTable, row: int, column: int, whole: float, begin: int) -> bool:
    steps = table.steps[begin : row + 1, column]
    slack = float(steps.sum()) / 2 if steps.max() < 1 else 0.0
    return abs(table.values[row, column] - whole) <= slack + 1e-9 * abs(whole)


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
    yield _finding(document, rows[index], balances[0], real, message, "balance")


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
                    yield _finding(document, rows[int(wrong[0])], column, float(real[wrong[0]]), message, name)
                if len(wrong) <= 1:
                    return


def _is_running(values: np.ndarray, said: np.ndarray) -> bool:
    """Whether a column is the best so far of another one."""
    if not np.isfinite(values).all() or not np.isfinite(said).all():
        return False
    return any(np.array_equal(each.accumulate(values), said) for each in (np.minimum, np.maximum))


def _finding(document: Document, row: int, column: int, real: float, message: str, kind: str) -> Finding:
    written = document.rows[row][column].strip()
    meant = like_cell(document.rows, row, column, round(real, 6))
    message = message.format(meant, written)
    return finding_in_cell(
        "summary", document, row, column, message, meant=meant, probability=0.9, kind=kind, expected=real
    )
