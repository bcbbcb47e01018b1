"""Rows that are the sum of those above without being named total: quarters below months, profits below costs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from numerate.apps.consistency.base import finding_in_cell
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.tables.cell_style import like_cell
from numerate.apps.consistency.tables.column_totals import near_slip
from numerate.apps.consistency.tables.slipped_parts import flipped_part, slipped_part
from numerate.apps.consistency.tables.total_parts import fits_of, sums_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.tables.table_numbers import NumberTable
    from numerate.apps.documents import Document
    from numerate.apps.findings import Finding

__all__ = ["block_sums", "differences_of_totals", "holding_blocks", "summary_finding"]

_PROFITS = (
    r"(?:.{0,24}\b)?(?:profit|loss|income|surplus|deficit|result|earnings|ebitd?a?|ebt|gewinn|verlust|ergebnis|saldo"
    r"|résultat|excess)\b.{0,50}"
)
_PROFIT = regex(_PROFITS, re.IGNORECASE)
_BLOCK = regex(
    r"(?:q|h|quarter|half|half-year|semester|term|season|year|fy|week|group|section|part|zone|team"
    r"|block)[ .-]?(?:\d{1,4}|i{1,3}|iv|one|two)?(?: .{0,20})?"
    r"|.{0,30}\b(?:together|combined|net|balance|altogether|aggregate|all .{1,20}|both .{1,20})"
    rf"|{_PROFITS}",
    re.IGNORECASE,
)


def block_sums(document: Document, table: NumberTable) -> Iterator[Finding]:
    """Rows such as `Q2` that add up the rows since the last such row in one column and not in another."""
    named = [row for row, label in enumerate(table.labels) if len(label) < 50 and _BLOCK.fullmatch(label)]
    if not named or len(named) > 0.5 * len(table.labels) or set(named) & set(table.total_rows):
        return
    blamed: set[tuple[int, int]] = set()
    for index, row in enumerate(named):
        begin = named[index - 1] + 1 if index else 0
        # The operating profit is what is left of the gross profit.
        last = (
            named[index - 1]
            if index and all(_PROFIT.fullmatch(table.labels[at]) for at in named[index - 1 : index + 1])
            else None
        )
        if row - begin < (2 if last is None else 1):
            continue
        columns = [
            column
            for column in table.numeric
            if np.isfinite(table.values[begin : row + 1, column]).all()
            and not (table.is_percent(column) or table.is_year(column) or table.is_clock(column))
        ]
        sums = {column: float(table.values[begin:row, column].sum()) for column in columns}
        if last is not None and (above := _with_last(table, row, last, columns, sums)) is not None:
            begin, sums = last, above
        right = [column for column in columns if _is_near(table, row, column, sums[column], begin) and sums[column]]
        wrong = [column for column in columns if column not in right]
        others = _right_blocks(table, named, row)
        for column in wrong if len(wrong) == 1 and (right or wrong[0] in others) else ():
            if begin == last and (last, column) in blamed:
                continue
            blamed.add((row, column))
            part = _wrong_part(table, range(begin, row), row, column, sums[column])
            if part is not None:
                message = f"With {{}} instead of {{}}, the rows above add up to {document.rows[row][column].strip()}."
                yield summary_finding(document, part[0], column, part[1], message, "block")
            elif 0.5 < (said := table.values[row, column]) / (sums[column] or 1) < 2 or near_slip(said, sums[column]):
                message = f"The rows of {table.header[column]!r} above add up to {{}}, not {{}}."
                yield summary_finding(document, row, column, sums[column], message, "block")


def _with_last(
    table: NumberTable, row: int, last: int, columns: list[int], sums: dict[int, float]
) -> dict[int, float] | None:  # fmt: skip
    """The sums with the named row before them, if those fit in more columns; else None."""
    known = [each for each in columns if np.isfinite(table.values[last, each])]
    whole = {each: sums[each] + float(table.values[last, each]) for each in known}
    fits = [sum(_is_near(table, row, each, some[each], last) for each in some) for some in (sums, whole)]
    return whole if fits[1] > fits[0] and len(whole) == len(columns) else None


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
            firsts = [first for first in (begin, named[index - 1]) if _is_block(table, first, row, column)]
            if firsts:
                yield from ((each, column) for each in range(firsts[0], row + 1))
            elif len(totals) > 1:
                gap = table.values[totals[0], column] - table.values[totals[1], column]
                if gap == table.values[row, column]:
                    yield row, column


def _is_block(table: NumberTable, first: int, row: int, column: int) -> bool:
    """Whether a cell is the sum of two rows or more right above it."""
    part = table.values[first:row, column]
    return len(part) > 1 and bool(np.isfinite(part).all()) and _is_near(table, row, column, float(part.sum()), first)


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


def differences_of_totals(document: Document, table: NumberTable) -> Iterator[Finding]:
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
            yield summary_finding(document, row, wrong[0], gaps[wrong[0]], message, "difference")


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


def summary_finding(document: Document, row: int, column: int, real: float, message: str, kind: str) -> Finding:
    """A finding of the rule `summary`; the message has places for what was meant and for what is written."""
    written = document.rows[row][column].strip()
    meant = like_cell(document.rows, row, column, round(real, 6))
    message = message.format(meant, written)
    return finding_in_cell(
        "summary", document, row, column, message, meant=meant, probability=0.9, kind=kind, expected=real
    )
