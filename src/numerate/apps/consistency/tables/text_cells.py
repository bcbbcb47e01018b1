"""Cells that a text tells: `Line 3 alone carried 24.1 million` beside a table that has 21.4 for line 3."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from numerate.apps.consistency.base import Rule, finding_at, rules
from numerate.apps.consistency.sentences.paragraphs import slip_bits
from numerate.apps.consistency.sentences.patterns import regex

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.tables.table_numbers import NumberTable
    from numerate.apps.documents import Document
    from numerate.apps.findings import Finding

__all__ = ["TextCells"]

MOST_ROWS = 60
NEEDED = 8.0
_SCALES = (
    (1e9, regex(r"\b(?:billions?|bn)\b", re.IGNORECASE)),
    (1e6, regex(r"\b(?:millions?|mn|mio|m€|m\$)\b|[$€£]m\b", re.IGNORECASE)),
    (1e3, regex(r"\b(?:thousands?|000s?)\b|'000", re.IGNORECASE)),
)
_OTHER = regex(
    r"\b(?:last (?:year|month|week|season|time|quarter)|previous\w*|prior|before|budget(?:ed)?|plan\w*|target|expect\w*"
    r"|compared|than|from|against|forecast|goal|earlier|ago|of them|of which|of these|capacity|limit|average|mean"
    r"|would|could|had|asked|wanted|hoped|ordered|per|each|every|by|more|less|fewer|up|down|rose|fell|difference|between|least|most)\b|%"
)
_WORD = regex(r"[a-z]{3,}")


class _Cells(NamedTuple):
    label: str
    pattern: re.Pattern[str]
    cells: tuple[tuple[str, float], ...]


@rules.register("text-cell")
class TextCells(Rule):
    """A value that the text tells of a row must be that of the table."""

    title = "text and cell"
    help = "The text tells another value of a row than the table of the same file has."

    def __init__(self) -> None:
        self._rows: dict[str, list[_Cells]] = {}

    def table(self, document: Document, table: NumberTable) -> Iterable[Finding]:
        """Remembers the rows of small tables; the text of a file follows its tables."""
        if (
            document.first_row
            or not document.is_last
            or not document.source
            or not 2 <= len(document.rows) <= MOST_ROWS
        ):
            return ()
        known = self._rows.setdefault(document.source, [])
        if len(known) < 2 * MOST_ROWS:
            known += _rows_of(document, table)
        return ()

    def paragraph(self, paragraph: Paragraph) -> Iterable[Finding]:
        """Compares values whose sentence names one row with the cells of that row."""
        rows = self._rows.get(paragraph.source) if paragraph.source else None
        if not rows:
            return
        every = {value for row in rows for _, value in row.cells}
        for z in paragraph.values:
            if z.group not in ("plain", "money", "unit") or z.hedge or z.value <= 0 or z.value in every:
                continue
            lead, tail = paragraph.lead(z), re.split(r"[,;:(]", paragraph.tail(z, 30))[0]
            if _OTHER.search(lead[-40:]) or _OTHER.search(tail):
                continue
            named = [row for row in rows if row.pattern.search(paragraph.upto(z))]
            if len(named) != 1:
                continue
            best = max(_bits(z, named[0], lead + tail, every), default=None, key=lambda each: each[0])
            if best is not None and best[0] >= NEEDED and not _is_told(paragraph, best[2] * best[3]):
                _, head, real, scale = best
                message = f"The table has {real:g} as {head!r} of {named[0].label!r}, not {z.text}."
                yield finding_at("text-cell", z, message, meant=real * scale, probability=0.88)


def _is_told(paragraph: Paragraph, value: float) -> bool:
    """Whether the text has the value of the cell too, so that the other number tells something else."""
    return any(abs(each.value - value) <= 1e-9 * value for each in paragraph.values)


def _rows_of(document: Document, table: NumberTable) -> Iterator[_Cells]:
    """Rows with a name of their own that a text may call them by."""
    head = document.header[0].strip().lower() if document.header else ""
    labels = [cells[0].strip().lower() if cells else "" for cells in document.rows]
    for row, label in enumerate(labels):
        if labels.count(label) > 1 or row in table.total_rows or not 0 < len(label) < 40:
            continue
        is_name = len(label) > 3 and any(char.isalpha() for char in label)
        if not is_name and not (head.isalpha() and len(head) > 2 and len(label) < 4):
            continue
        # What a number names is told with the head of its column: `Line 3`.
        name = re.escape(label) if is_name else rf"{re.escape(head)}s? {re.escape(label)}"
        cells = tuple(
            (document.header[column], float(table.values[row, column]))
            for column in table.numeric
            if column and np.isfinite(table.values[row, column])
            and not (table.is_percent(column) or table.is_year(column) or table.is_clock(column))
        )  # fmt: skip
        if cells:
            yield _Cells(document.rows[row][0].strip(), regex(rf"(?<![\w-]){name}(?![\w-])"), cells)


def _bits(z: Quantity, row: _Cells, words: str, every: set[float]) -> Iterator[tuple[float, str, float, float]]:
    """Bits, head, cell and scale for each cell of a row that a value may stand for."""
    said = set(_WORD.findall(words))
    for head, real in row.cells:
        scale = next((size for size, pattern in _SCALES if pattern.search(head)), 1.0)
        for size in {1.0, scale}:
            if any(abs(z.value - each * size) <= max(z.half, 1e-9 * z.value) for each in every):
                return
            bits = slip_bits(z, real * size)
            if not bits:
                continue
            bits += 2.0 if said & set(_WORD.findall(head.lower())) else 0.0
            bits += 1.0 if len(row.cells) == 1 else 0.0
            yield bits, head, real, size
