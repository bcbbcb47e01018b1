"""Totals of table columns: rows named total, subtotal or sum, and shares that belong to one whole."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from numerate.apps.consistency.base import Rule, finding_in_cell, plain, rules
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.slips import is_slip
from numerate.apps.consistency.tables.bill_tails import bill_tails
from numerate.apps.consistency.tables.cell_style import like_cell
from numerate.apps.consistency.tables.slipped_parts import flipped_part, slipped_part
from numerate.apps.consistency.tables.total_parts import cell_of, fits_of, parts_of, sums_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numerate.apps.consistency.tables.table_numbers import NumberTable
    from numerate.apps.documents import Document
    from numerate.apps.findings import Finding

__all__ = ["ColumnTotals", "TableShares", "holding_totals", "near_slip"]

_MEAN = regex(
    r"\b(?:rate|average|mean|median|per|price|index|year(?! \d{4}\b)|rank|ratio|pct|no\.?|number|points?/|height"
    r"|age)\b",
    re.IGNORECASE,
)
_PORTION = regex(
    r"(?:share|allocation|weight|weighting|proportion|portion|part)s?(?: of (?:the )?(?:total|portfolio|budget"
    r"|assets|sales"
    r"|revenue|votes?|seats))?(?: ?\(?(?:%|in %|percent)\)?)?|(?:%|percent(?:age)?) of (?:the )?(?:total|all|whole)",
    re.IGNORECASE,
)
_PEOPLE = regex(
    r"\b(?:respondents?|readers?|patients?|people|persons?|users?|households?|visitors?|customers?"
    r"|pupils?|students?|cases|participants?|women|men|adults?|members?)\b",
    re.IGNORECASE,
)
_WHOLE = ("section", "block", "all")
"""What a total is the sum of that nothing else tells of."""
_COUNTS = regex(r"n|count|number|anzahl|nombre", re.IGNORECASE)
"""Columns whose numbers add up, whatever else the table has of its groups."""
_NAMED_TOTAL = regex(r"(?:grand )?totals?|sum|summe|gesamt(?:summe)?|insgesamt|suma|totale", re.IGNORECASE)
_REST = regex(r"others?|rest|remaining|don'?t know|undecided|none|misc\w*", re.IGNORECASE)


@rules.register("total")
class ColumnTotals(Rule):
    """A row named total must be the sum of the rows that it covers."""

    title = "column total"
    help = "A total in a table is not the sum of the cells above it."

    def table(self, document: Document, table: NumberTable) -> Iterable[Finding]:
        """Compares each total with the sums that it may stand for: its block, all rows, or the subtotals."""
        if document.first_row or not document.is_last:
            return  # only a part of a large table is here
        yield from list(_of_named(document, table)) or bill_tails(document, table)


def _of_named(document: Document, table: NumberTable) -> Iterator[Finding]:
    """Each total that is named so, against the sums that it may stand for."""
    totals = table.total_rows
    if not totals or len(totals) > 0.5 * len(document.rows):
        return
    for row in totals:
        columns = [column for column in table.numeric if np.isfinite(table.values[row, column])]
        sums = {column: sums_of(table, row, column, totals) for column in columns}
        broken = list(_broken_shares(document, table, row, columns))
        yield from broken
        shared = {finding.cell[1] for finding in broken if finding.cell}
        fits = {column: fits_of(table, row, column, sums[column]) for column in columns}
        for column in columns:
            if column in shared or fits[column] or not sums[column] or table.is_clock(column) or table.is_year(column):
                continue
            if _is_running(table.values[: row + 1, column]):
                continue
            beside = _beside(table, row, column, fits)
            best = _expected(table, row, column, sums, beside, totals)
            part = _slipped_part(document, table, row, column, sums[column], beside, best, totals)
            if part is not None:
                yield part
            elif best is not None:
                yield _finding(document, table, row, column, best)


@rules.register("table-shares")
class TableShares(Rule):
    """Percentages of a column with an `Other` row are parts of one whole."""

    title = "shares in a column"
    help = "The shares of a table column add up to more than 100 %."

    def table(self, document: Document, table: NumberTable) -> Iterable[Finding]:
        """Adds up columns of percentages that name the rest."""
        if document.first_row or not document.is_last or table.total_rows or not 3 <= len(document.rows) <= 100:
            return
        if "several" in document.caption.lower():
            return
        has_rest = any(_REST.fullmatch(label) for label in table.labels)
        for column in table.numeric:
            values, steps = table.values[:, column], table.steps[:, column]
            if _PEOPLE.search(document.header[column]):
                continue  # who answers may name several
            if not has_rest and not _PORTION.fullmatch(document.header[column].strip()):
                continue
            if not table.is_percent(column) or not np.isfinite(values).all() or (values < 0).any():
                continue
            whole, slack = float(values.sum()), float(steps.sum()) / 2 + 0.2
            if 100 + slack < whole < 135 and values.max() < 100:
                row = int(np.argmax([bool(_REST.fullmatch(label)) for label in table.labels]))
                message = f"The shares in {document.header[column]!r} add up to {plain(round(whole, 2))} %."
                yield finding_in_cell("table-shares", document, row, column, message, probability=0.85, sum=whole)


def _broken_shares(document: Document, table: NumberTable, row: int, columns: list[int]) -> Iterable[Finding]:
    """Percentages that are not their row's share of the total, where most of the column is."""
    parts = [each for each in range(row) if each not in table.total_rows]
    for column in columns:
        if not table.is_percent(column) or table.values[row, column] != 100 or len(parts) < 3:
            continue
        for counted in columns:
            whole = table.values[row, counted]
            if counted == column or table.is_percent(counted) or not whole > 0:
                continue
            expected = 100 * table.values[parts, counted] / whole
            actual, half = table.values[parts, column], table.steps[parts, column] / 2
            known = np.isfinite(expected) & np.isfinite(actual)
            holds = known & (np.abs(expected - actual) <= half * 1.02 + 1e-9)
            if holds.sum() < max(2, 0.6 * known.sum()):
                continue
            for index in np.flatnonzero(known & ~holds):
                if abs(expected[index] - actual[index]) > 2 * half[index]:
                    yield _share_finding(document, parts[index], column, counted, float(expected[index]))


def _share_finding(document: Document, row: int, column: int, counted: int, expected: float) -> Finding:
    written, of = document.rows[row][column].strip(), document.rows[row][counted].strip()
    message = f"{of} is {plain(round(expected, 2))} % of the total of {document.header[counted]!r}, not {written}."
    meant = like_cell(document.rows, row, column, expected)
    return finding_in_cell("total", document, row, column, message, meant=meant, probability=0.93, expected=expected)


def holding_totals(table: NumberTable) -> Iterator[tuple[int, int, list[int], float]]:
    """Totals that are a sum of other cells of their column: row, column, rows of the parts, and slack by rounding."""
    totals = table.total_rows
    if len(totals) > 0.5 * len(table.values):
        return
    for row in totals:
        for column in table.numeric:
            if not np.isfinite(table.values[row, column]) or table.is_year(column) or table.is_clock(column):
                continue
            sums = sums_of(table, row, column, totals)
            parts = parts_of(table, row, column, totals)
            for name in fits_of(table, row, column, sums):
                yield row, column, parts[name.removesuffix("-sizes")], sums[name][1]


def _beside(table: NumberTable, row: int, column: int, fits: dict[int, set[str]]) -> set[str]:
    """What the other numbers of a total's row are the sums of."""
    others = [fits[other] for other in fits if other != column and abs(table.values[row, other]) > 0]
    return set().union(*others)


def _expected(
    table: NumberTable,
    row: int,
    column: int,
    sums: dict[int, dict[str, tuple[float, float, int]]],
    beside: set[str],
    totals: list[int],
) -> tuple[float, float] | None:
    """The sum that should stand there and how sure that is; None if the column may be no sum at all."""
    total = table.values[row, column]
    if _MEAN.search(table.header[column]) or _is_average(table, row, column, totals):
        return None
    names = ["implied", "section", "block", "all", "subtotals", "after", "last-and-block", "subtotals-and-block"]
    for name in sorted(names, key=lambda each: each not in beside):
        if name not in sums[column] or ("implied" in sums[column] and name in _WHOLE and name not in beside):
            continue
        whole, slack, count = sums[column][name]
        if whole == 0 or total == 0:
            continue
        if _is_rate(table, row, column, whole):
            continue
        # A total may lose the sign that all of its parts have.
        parts = table.values[parts_of(table, row, column, totals).get(name.removesuffix("-sizes"), []), column]
        is_near = 0.6 < abs(total / whole) < 1.7 and (total / whole > 0 or (parts > 0).all() or (parts < 0).all())
        if name in beside and is_near:
            return whole, 0.95
        above = [other for other in totals if other != row and np.isfinite(table.values[other, column])]
        if (
            any(name in fits_of(table, other, column, sums_of(table, other, column, totals)) for other in above)
            and is_near
        ):
            return whole, 0.93
        if (
            table.is_percent(column)
            and total == 100
            and 60 < whole < 140
            and count > 1
            and (table.values[:row, column] >= 0).all()
        ):
            return whole, 0.9
        if ((count > 2 and name in ("block", "all")) or name == "implied") and near_slip(total, whole):
            return whole, 0.9
        near = range(-int(slack), int(slack) + 1) if count > 2 and 1 <= slack < 4 and name == "block" else ()
        if any(is_slip(abs(total), abs(whole + each)) and 0.8 < total / whole < 1.25 for each in near):
            return whole, 0.85  # of rounded numbers, as of their total
        if name == "all" and 2 < count == row and 0.7 < total / whole < 1.4 and _is_list(table, row, totals):
            return whole, 0.85
    return None


def _slipped_part(
    document: Document, table: NumberTable, row: int, column: int, sums: dict[str, tuple[float, float, int]],
    beside: set[str], best: tuple[float, float] | None, totals: list[int],
) -> Finding | None:  # fmt: skip
    """The part with which a total fails, if a slip explains that part, and none explains the total."""
    total = float(table.values[row, column])
    if _MEAN.search(table.header[column]) or (best is not None and near_slip(total, best[0])):
        return None
    parts = parts_of(table, row, column, totals)
    for name in parts:
        whole, slack, _ = sums[name]
        is_sum = name in beside or (best is not None and whole == best[0])
        is_counted = name in _WHOLE and _COUNTS.fullmatch(table.header[column].strip(" $")) is not None
        if not (is_sum or is_counted) and (best is not None or not _is_total(table.labels[row]) or name not in _WHOLE):
            continue
        some = [part for part in parts[name] if part not in table.taken_rows]
        if _is_rate(table, row, column, whole):
            continue
        is_sum |= is_counted
        is_sum |= name == "all" and len(parts[name]) == row and _is_list(table, row, totals)
        found = slipped_part(table.values[:, column], table.steps[:, column], some, total - whole, slack, is_sum=is_sum)
        if found is None and (flipped := flipped_part(table, some, column, total - whole)) is not None:
            found = flipped, -float(table.values[flipped, column])
        if found is None:
            continue
        part, meant = found[0], like_cell(document.rows, found[0], column, found[1])
        written = document.rows[part][column].strip()
        message = (
            f"With {meant} instead of {written}, the cells of {document.header[column]!r} add up to "
            f"{document.rows[row][column].strip()}."
        )
        evidence = {"expected": found[1], "value": float(table.values[part, column])}
        return finding_in_cell(
            "total", document, part, column, message, meant=meant, probability=0.9 if best else 0.85, **evidence
        )
    return None


def _is_rate(table: NumberTable, row: int, column: int, whole: float) -> bool:
    """Whether percentages are rates and growths, which do not add up, and no shares of one whole."""
    total = float(table.values[row, column])
    if "%" not in cell_of(table, row, column) and (not table.is_percent(column) or "%" in table.suffixes[column]):
        return False
    return not (99 <= total <= 101 or 99 <= whole <= 101 or near_slip(total, whole))


def _is_list(table: NumberTable, row: int, totals: list[int]) -> bool:
    """A plain list with its total below: nothing else could tell what the total stands for."""
    return (
        len(totals) == 1
        and np.isfinite(table.values[row, table.numeric]).sum() == 1
        and row == len(table.values) - 1
        and _is_total(table.labels[row])
    )


def _is_average(table: NumberTable, row: int, column: int, totals: list[int]) -> bool:
    """Whether a percentage lies below one of its parts, as the growth of a whole does."""
    if "%" not in cell_of(table, row, column) and not table.is_percent(column):
        return False
    parts = parts_of(table, row, column, totals).get("block", [])
    return any(table.values[part, column] > table.values[row, column] for part in parts)


def _is_running(values: np.ndarray) -> bool:
    """Whether the rows up to a total are numbered, the total as the others."""
    steps = np.diff(values[np.isfinite(values)])
    return len(steps) > 1 and bool((steps == 1).all())


def _is_total(label: str) -> bool:
    return _NAMED_TOTAL.fullmatch(label.strip().rstrip(":")) is not None


def near_slip(total: float, whole: float) -> bool:
    """Whether the total differs from the sum as slips do: digits exchanged, or one digit other."""
    if is_slip(abs(total), abs(whole)):
        return True
    one, other = f"{abs(total):.10g}", f"{abs(whole):.10g}"
    return len(one) == len(other) > 2 and sum(a != b for a, b in zip(one, other, strict=True)) == 1


def _finding(document: Document, table: NumberTable, row: int, column: int, best: tuple[float, float]) -> Finding:
    whole, probability = best
    meant, value = like_cell(document.rows, row, column, round(whole, 6)), float(table.values[row, column])
    message = f"The cells of {document.header[column]!r} add up to {meant}, not {document.rows[row][column].strip()}."
    return finding_in_cell(
        "total", document, row, column, message, meant=meant, probability=probability, expected=whole, value=value
    )
