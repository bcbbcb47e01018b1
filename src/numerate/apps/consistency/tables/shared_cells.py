"""One wrong cell that breaks several totals and relations: `450` where the total, the change and the growth need 540.

A total blames itself, and a relation the column that it computes. Where two or more of them need the same other number
in one cell, that cell is the wrong one, and its correction leaves nothing to report.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from numerate.apps.consistency.base import finding_in_cell
from numerate.apps.consistency.slips import is_slip
from numerate.apps.consistency.tables.cell_style import like_cell
from numerate.apps.consistency.tables.column_totals import near_slip
from numerate.apps.consistency.tables.relations import find_relations, holding_rows
from numerate.apps.consistency.tables.table_numbers import finest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numerate.apps.consistency.tables.relations import Relation
    from numerate.apps.consistency.tables.table_numbers import NumberTable
    from numerate.apps.documents import Document
    from numerate.apps.findings import Finding

__all__ = ["with_shared_cells"]

MAX_ROWS = 500
MAX_TRIALS = 24
"""Corrections of one table that are tried: each checks the table again."""
_BLAMING = ("total", "relation")
_STEPS = 30


def with_shared_cells(
    document: Document, table: NumberTable, findings: list[Finding], again: Callable[[Document], list[Finding]]
) -> list[Finding]:
    """The findings of a table, with one in place of several that one cell explains.

    Args:
        document: The table.
        table: Its numbers.
        findings: What the rules found in it.
        again: Checks the table with another cell.
    """
    blaming = [each for each in findings if each.rule in _BLAMING and "expected" in each.evidence]
    is_whole = document.first_row == 0 and document.is_last and len(document.rows) <= MAX_ROWS
    rows = {each.cell[0] for each in blaming if each.cell and each.rule == "relation"}
    if not is_whole or not rows:
        return findings
    relations, trials = find_relations(table), 0
    for row in sorted(rows):
        slips: list[tuple[int, str, float]] = []
        fitting: list[tuple[int, str, float]] = []
        for column, value, broken in _proposals(table, row, relations, blaming):
            if trials == MAX_TRIALS:
                return findings
            trials += 1
            meant = like_cell(document.rows, row, column, value)
            kept = again(_changed(document, row, column, meant))
            left = [(each.rule, each.cell) for each in kept]
            gone = [each for each in findings if (each.rule, each.cell) not in left]
            if len(kept) != len(findings) - len(gone) or not any(each.cell and each.cell[0] == row for each in gone):
                continue
            told = [*broken, *(f"the total of {document.header[column]!r}" for each in gone if each.rule == "total")]
            if len(told) < 2:
                fitting.append((column, meant, value))
                if is_slip(abs(float(table.values[row, column])), abs(value)):
                    slips.append((column, meant, value))
                continue
            findings = [each for each in findings if each not in gone]
            findings.append(_finding(document, row, column, meant, told, value=table.values[row, column], real=value))
            break
        else:
            if len(slips) != 1:
                known = _confirmed(table, row, relations)
                slips = [each for each in fitting if each[0] not in known] if known else []
            findings = _with_slip(document, table, findings, row, slips)
    return _without_followers(document, findings, again)


def _with_slip(
    document: Document, table: NumberTable, findings: list[Finding], row: int, slips: Sequence[tuple[int, str, float]]
) -> list[Finding]:
    """The findings with the one cell of a row blamed that a slip explains, where none explains the computed one.

    A computed cell that another relation needs is right, whatever the slip.
    """
    blamed = [each for each in findings if each.rule == "relation" and each.cell and each.cell[0] == row]
    if len(slips) != 1 or len(blamed) != 1 or "value" not in blamed[0].evidence:
        return findings
    (column, meant, real), (old,) = slips[0], blamed
    if near_slip(old.evidence["value"], old.evidence["expected"]) or old.cell == (row, column):
        return findings
    written = document.rows[row][column].strip()
    text, _, _ = old.message.partition("; here")
    message = f"{text}; here, too, with {meant} instead of {written}."
    evidence = {**old.evidence, "expected": real, "value": float(table.values[row, column])}
    found = finding_in_cell(
        "relation", document, row, column, message, meant=meant, probability=old.probability, **evidence
    )
    return [found if each is old else each for each in findings]


def _confirmed(table: NumberTable, row: int, relations: Sequence[Relation]) -> set[int]:
    """The columns of a row that a relation confirms which holds there."""
    halves = table.steps / 2
    holding = [each for each in relations if holding_rows(table.values, halves, each)[row]]
    return {column for each in holding for column in (each.target, *each.sources) if table.values[row, column]}


def _without_followers(
    document: Document, findings: list[Finding], again: Callable[[Document], list[Finding]]
) -> list[Finding]:
    """The findings without the totals that hold once all relations do."""
    totals = [each for each in findings if each.rule == "total"]
    repaired = document
    for each in findings:
        if each.rule == "relation" and each.cell is not None and each.meant is not None:
            repaired = _changed(repaired, *each.cell, each.meant)
    if not totals or repaired is document or again(repaired):
        return findings
    return [each for each in findings if each not in totals]


def _proposals(
    table: NumberTable, row: int, relations: Sequence[Relation], blaming: Sequence[Finding]
) -> list[tuple[int, float, list[str]]]:
    """Cells of a row with the number that makes all of its broken relations hold; likely slips first."""
    halves = table.steps / 2
    broken = [each for each in relations if _is_broken(table.values, halves, each, row)]
    found = []
    for column in sorted({column for each in broken for column in (each.target, *each.sources)}):
        here = float(table.values[row, column])
        values = [x for each in broken if (x := _needed(table.values, halves, each, row, column)) is not None]
        values += [here + x for each in blaming if (x := _missing(each, row, column)) is not None]
        place = min(table.steps[row, column], finest(table, row, column))
        for value in dict.fromkeys(round(round(each / place) * place, 9) for each in values if place):
            moved = table.values.copy()
            moved[row, column] = value
            if value != here and not any(_is_broken(moved, halves, each, row) for each in relations):
                found.append((column, value, [each.text for each in broken]))
    return sorted(found, key=lambda each: not near_slip(float(table.values[row, each[0]]), each[1]))


def _is_broken(values: np.ndarray, halves: np.ndarray, relation: Relation, row: int) -> bool:
    expected = relation.formula(values, halves)[0][row]
    is_known = np.isfinite(expected) and np.isfinite(values[row, relation.target])
    return bool(is_known and not holding_rows(values, halves, relation)[row])


def _needed(values: np.ndarray, halves: np.ndarray, relation: Relation, row: int, column: int) -> float | None:
    """The number in a cell with which a relation holds, by the secant method; None if there is none."""
    if column != relation.target and column not in relation.sources:
        return None
    moved = values.copy()

    def miss(value: float) -> float:
        moved[row, column] = value
        return float(relation.formula(moved, halves)[0][row] - moved[row, relation.target])

    last, now = float(values[row, column]), float(values[row, column]) * 1.01 + 0.01
    error = miss(last)
    for _ in range(_STEPS):
        error, before = miss(now), error
        if not np.isfinite(error) or error == before:
            break
        last, now = now, now - error * (now - last) / (error - before)
        if not np.isfinite(now):
            return None
    return now if np.isfinite(error) and abs(error) <= 1e-6 * (1 + abs(values[row, relation.target])) else None


def _missing(finding: Finding, row: int, column: int) -> float | None:
    """What a cell lacks for a total of its column that is too large or too small, or for the total in this cell."""
    if finding.rule != "total" or finding.cell is None or finding.cell[1] != column or "value" not in finding.evidence:
        return None
    gap = finding.evidence["value"] - finding.evidence["expected"]
    return -gap if finding.cell[0] == row else gap


def _changed(document: Document, row: int, column: int, meant: str) -> Document:
    rows: list[Sequence[str]] = [*document.rows]
    rows[row] = [*rows[row][:column], meant, *rows[row][column + 1 :]]
    return replace(document, rows=rows)


def _finding(
    document: Document, row: int, column: int, meant: str, told: Iterable[str], *, value: float, real: float
) -> Finding:
    *most, last = told
    written = document.rows[row][column].strip()
    message = f"{written} contradicts {', '.join(most)} and {last}; {meant} fits all of them."
    return finding_in_cell(
        "relation", document, row, column, message, meant=meant, probability=0.95, kind="shared", expected=real,
        value=float(value),
    )  # fmt: skip
