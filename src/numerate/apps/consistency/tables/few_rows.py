"""What tables of few rows tell by the names of their rows and columns: sums of two rows, accounts, ranges in cells."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from numerate.apps.consistency.base import finding_in_cell
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.tables.block_sums import summary_finding
from numerate.apps.consistency.tables.column_totals import near_slip
from numerate.apps.consistency.tables.total_parts import cell_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.tables.table_numbers import NumberTable
    from numerate.apps.documents import Document
    from numerate.apps.findings import Finding

__all__ = ["accounts", "cell_ranges", "two_row_sums"]

LEAST_PARTS, MOST_ENTRIES = 3, 12
_END = regex(r"f|ft|r|t|tot|totals?|final|finish|end|sum|score|result|points|pts|all|overall|year", re.IGNORECASE)
_OPENING = regex(
    r"(?:.{0,30}\b)?(?:opening|brought forward|b/f|start(?:ing)?|beginning|at (?:the )?(?:start|beginning)|initial"
    r"|anfangsbestand|anfang|solde initial|gross|brutto|brut)\b.{0,30}",
    re.IGNORECASE,
)
_CLOSING = regex(
    r"(?:.{0,30}\b)?(?:closing|carried forward|c/f|ending|at (?:the )?end|remaining|left|final|net|netto|take[- ]home"
    r"|endbestand|endsaldo|auszahlung|solde final|à payer)\b.{0,30}",
    re.IGNORECASE,
)
_OUT = regex(
    r"\b(?:less|minus|deduct\w*|tax(?:es)?|insurance|contributions?|pension|loan|issued|sold|sales|sales out|used"
    r"|consumed|withdr\w+|paid|payments?|expens\w+|expenditures?|costs?|spent|scrap\w*|written off|lost|loss\w*|damaged"
    r"|deaths?|died|left|leavers|resign\w*|departures?|disposals?|dispatched|shipped|abzüge|steuern?|abgang|abgänge|ausgaben"
    r"|retenues|cotisations|sorties|dépenses)\b",
    re.IGNORECASE,
)
_IN = regex(
    r"\b(?:received|receipts?|bought|purchas\w+|income(?! tax)|births?|arrivals?|joined|joiners|hired|hires|new"
    r"|deposits?|interest|added|additions?|delivered|deliveries|produced|production|bonus|overtime|returned|zugang|zugänge"
    r"|einnahmen|entrées|recettes)\b",
    re.IGNORECASE,
)
_TOTAL = regex(r"(?:totals?|sum|summe|gesamt\w*)\b", re.IGNORECASE)
_RANGE = regex(r"(?P<low>\d+(?:\.\d+)?) ?(?:[-–—]|to) ?(?P<high>\d+(?:\.\d+)?)(?: ?[A-Za-zµ°%/]{1,8})?")
_RANGES = regex(
    r"\b(?:reference|normal|ranges?|limits?|intervals?|c\.?i\.?|tolerances?|targets?|expected|span|bands?|ages?"
    r"|min[-–/ ]max|referenz\w*|norm\w*|bereich)\b",
    re.IGNORECASE,
)
"""Names of columns with ranges; hyphens also stand in results, seasons and codes."""


def two_row_sums(document: Document, table: NumberTable) -> Iterator[Finding]:
    """The last column of two rows, if its name says that it is the sum: quarters of a match, sets, halves.

    One row shows that it is a sum, and a slip explains the other one.
    """
    if len(document.rows) != 2 or len(table.numeric) <= LEAST_PARTS or table.total_rows:
        return
    *parts, target = table.numeric
    if not _END.fullmatch(table.header[target].strip()) or not np.isfinite(table.values[:, table.numeric]).all():
        return
    if any(table.is_percent(each) or table.is_year(each) or table.is_clock(each) for each in table.numeric):
        return
    sums, said = table.values[:, parts].sum(1), table.values[:, target]
    wrong = np.flatnonzero(np.abs(sums - said) > 1e-6)
    if len(wrong) == 1 and _is_slip(float(said[wrong[0]]), float(sums[wrong[0]])):
        message = f"The cells of the row up to {table.header[target]!r} add up to {{}}, not {{}}."
        yield summary_finding(document, int(wrong[0]), target, float(sums[wrong[0]]), message, "row")


def _is_slip(said: float, real: float) -> bool:
    """Whether digits are exchanged, or one of two digits or more is another one."""
    one, other = f"{said:.10g}", f"{real:.10g}"
    is_digit = len(one) == len(other) > 1 and sum(a != b for a, b in zip(one, other, strict=True)) == 1
    return is_digit or near_slip(said, real)


def accounts(document: Document, table: NumberTable) -> Iterator[Finding]:
    """What is left of the first row, after entries whose names say which way they go: a pay slip, a stock.

    A column has the entries alone, or their totals: `Gross, Total deductions, Net pay`.
    """
    labels = table.labels
    last = next((row for row in range(len(labels) - 1, 1, -1) if _CLOSING.fullmatch(labels[row])), None)
    if last is None:
        return
    for column in table.numeric:
        rows = [row for row in range(last + 1) if np.isfinite(table.values[row, column])]
        if not 3 <= len(rows) <= MOST_ENTRIES or rows[-1] != last or not _OPENING.fullmatch(labels[rows[0]]):
            continue
        if table.is_percent(column) or table.is_clock(column):
            continue
        entries = _entries(table, labels, rows[1:-1], column)
        if entries is None:
            continue
        said, real = float(table.values[last, column]), float(table.values[rows[0], column]) + entries
        if abs(said - real) > 2 * float(table.steps[last, column]) and real > 0 and near_slip(said, round(real, 6)):
            message = f"With the rows above, {labels[last]!r} is {{}}, not {{}}."
            yield summary_finding(document, last, column, real, message, "account")


def _entries(table: NumberTable, labels: list[str], rows: list[int], column: int) -> float | None:
    """The sum of the entries, those that go out negative; None if a name does not tell. A total replaces its parts."""
    whole, parts = 0.0, []
    for row in rows:
        value = float(table.values[row, column])
        is_out = _OUT.search(labels[row]) is not None
        if is_out == (_IN.search(labels[row]) is not None):
            return None
        if _TOTAL.match(labels[row]) and parts:
            if abs(abs(sum(parts)) - abs(value)) > 1e-6:
                return None
            whole -= sum(parts)
            parts = []
        signed = -abs(value) if is_out else value
        parts.append(signed)
        whole += signed
    return whole


def cell_ranges(document: Document, table: NumberTable) -> Iterator[Finding]:
    """`5.1-3.5` in a column whose other ranges go up."""
    for column, name in enumerate(document.header):
        if column in table.numeric or not _RANGES.search(name):
            continue
        cells = [cell_of(table, row, column).strip() for row in range(len(document.rows))]
        found = {row: match for row, cell in enumerate(cells) if (match := _RANGE.fullmatch(cell))}
        ends = {row: (float(match["low"]), float(match["high"])) for row, match in found.items()}
        wrong = [row for row, (low, high) in ends.items() if low > high]
        if len(wrong) != 1 or len(ends) < LEAST_PARTS or len(ends) < 0.5 * sum(map(bool, cells)):
            continue
        (row,) = wrong
        meant = re.sub(r"^(\S+?)( ?(?:[-–—]|to) ?)([\d.]+)", r"\3\2\1", cells[row])
        message = f"The range {cells[row]} goes down, those of the other rows go up."
        yield finding_in_cell("relation", document, row, column, message, meant=meant, probability=0.9, kind="order")
