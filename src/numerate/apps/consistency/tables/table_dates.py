"""Columns of dates: days between two of them, and an end before its start."""

from __future__ import annotations

import datetime
import itertools
import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_in_cell
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.tables.relation_candidates import is_span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.tables.table_numbers import NumberTable
    from numerate.apps.documents import Document
    from numerate.apps.findings import Finding

__all__ = ["date_findings"]

_ISO = regex(r"\d{4}-\d{2}-\d{2}")
_LENGTH = regex(r"\b(?:days?|nights?|duration|length|stay|weeks?)\b", re.IGNORECASE)
_BEGIN = regex(
    r"\b(?:start\w*|begin\w*|from|opened|admi\w*|arriv\w*|check-?in|hired|born|ordered|received|issued|departure)\b",
    re.IGNORECASE,
)
_END = regex(
    r"\b(?:end\w*|finish\w*|until|to|closed|discharg\w*|depart\w*|check-?out|left|died|delivered|returned|due|completed"
    r"|arrival)\b",
    re.IGNORECASE,
)
LEAST_ROWS = 3


def date_findings(document: Document, table: NumberTable) -> Iterator[Finding]:
    """Rows whose number of days is not what lies between their two dates, and rows that end before they start."""
    dates = {index: found for index in range(len(table.header)) if (found := _dates(document, index))}
    for a, b in itertools.permutations(dates, 2):
        one, other = dates[a], dates[b]
        both = [row for row in one if row in other]
        if len(both) < LEAST_ROWS or sum(one[row] <= other[row] for row in both) < len(both) - 1:
            continue
        for column in table.numeric:
            if _LENGTH.search(table.header[column]):
                yield from _lengths(document, table, column, {row: other[row] - one[row] for row in both})
        is_ordered = is_span(table.header[a], table.header[b]) or (
            _BEGIN.search(table.header[a]) is not None and _END.search(table.header[b]) is not None
        )
        for row in both if is_ordered else ():
            if one[row] > other[row]:
                first, second = document.rows[row][a].strip(), document.rows[row][b].strip()
                message = f"{table.header[a]} {first} is after {table.header[b]} {second}."
                yield finding_in_cell("relation", document, row, b, message, probability=0.92, kind="order", share=1.0)


def _dates(document: Document, index: int) -> dict[int, int]:
    """Days of a column of dates by row; empty if some cells are something else."""
    found: dict[int, int] = {}
    for row, cells in enumerate(document.rows):
        cell = cells[index].strip() if index < len(cells) else ""
        if not cell:
            continue
        if not _ISO.fullmatch(cell):
            return {}
        try:
            found[row] = datetime.date.fromisoformat(cell).toordinal()
        except ValueError:
            continue  # the rule of dates says so
    return found


def _lengths(document: Document, table: NumberTable, column: int, days: dict[int, int]) -> Iterator[Finding]:
    values = {row: float(table.values[row, column]) for row in days}
    unit = 7.0 if re.search(r"\bweeks?\b", table.header[column], re.IGNORECASE) else 1.0
    for extra in (0, 1):
        wrong = [row for row, said in values.items() if said == said and abs((days[row] + extra) / unit - said) > 0.51]
        if len(wrong) == 1 and len(values) - 1 >= LEAST_ROWS - 1:
            row, meant = wrong[0], f"{(days[wrong[0]] + extra) / unit:g}"
            message = f"{table.header[column]} are {meant} by the dates of the row, not {values[row]:g}."
            yield finding_in_cell(
                "relation", document, row, column, message, meant=meant, probability=0.92, kind="days", share=1.0
            )
            return
