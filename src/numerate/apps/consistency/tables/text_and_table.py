"""Totals that a text tells and a table of the same file has: `1,846 trees` above a column that adds up to 1,864."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from numerate.apps.consistency.base import Rule, finding_at, plain, rules
from numerate.apps.consistency.sentences.paragraphs import slip_bits
from numerate.apps.consistency.sentences.patterns import regex

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.tables.table_numbers import NumberTable
    from numerate.apps.documents import Document
    from numerate.apps.findings import Finding

__all__ = ["TextAndTable"]

MOST_TABLES = 20
_CUE = regex(
    r"\b(?:total\w*|in all|altogether|overall|all told|sum|combined|together|spent|raised|collected|recorded|counted"
    r"|received|sold|cost|costs|came to|comes to|amount\w*|budget|below|following|table)\b"
)
_OTHER = regex(
    r"\b(?:last (?:year|month|week|season|time|quarter)|previous\w*|prior|before|budget(?:ed)?|plan\w*|target|expect\w*"
    r"|after|compared|than|from|against|forecast|goal|earlier|ago|of them|of which|of these)\b"
)
_WORD = regex(r"[a-z]{3,}")
_CURRENCY = {
    "EUR": "euro", "USD": "dollar", "GBP": "pound", "CHF": "franc", "€": "euro", "$": "dollar", "£": "pound",
}  # fmt: skip
NEEDED = 9.0


class _Column(NamedTuple):
    head: str
    words: frozenset[str]
    total: float
    cells: frozenset[float]


@rules.register("text-table")
class TextAndTable(Rule):
    """A total that the text tells must be that of the table."""

    title = "text and table"
    help = "The text tells another total than the table of the same file has."

    def __init__(self) -> None:
        self._columns: dict[str, list[_Column]] = {}

    def table(self, document: Document, table: NumberTable) -> Iterable[Finding]:
        """Remembers the totals of the table; the text of a file follows its tables."""
        if document.first_row or not document.is_last or not document.source or not 3 <= len(document.rows) <= 400:
            return ()
        known = self._columns.setdefault(document.source, [])
        if len(known) > MOST_TABLES:
            return ()
        totals = table.total_rows
        names = _words(" ".join((document.caption, document.header[0] if document.header else "")))
        for column in table.numeric:
            values = table.values[:, column]
            if table.is_percent(column) or table.is_year(column) or table.is_clock(column) or len(totals) > 1:
                continue
            parts = [row for row in range(len(values)) if row not in totals]
            whole = float(np.nansum(values[parts]))
            total = float(values[totals[0]]) if totals and np.isfinite(values[totals[0]]) else whole
            if abs(total - whole) <= 1e-6 * abs(whole) + 1e-9 and len(parts) > 2:
                cells = frozenset(values[np.isfinite(values)].tolist())
                known.append(_Column(document.header[column], _words(document.header[column]) | names, total, cells))
        return ()

    def paragraph(self, paragraph: Paragraph) -> Iterable[Finding]:
        """Compares the totals of a paragraph with those of the tables of its file."""
        columns = self._columns.get(paragraph.source) if paragraph.source else None
        if not columns or not _CUE.search(paragraph.lower):
            return
        for z in paragraph.values:
            if z.group not in ("plain", "money", "unit") or z.hedge or z.value < 10:
                continue
            if any(z.value in each.cells or abs(z.value - each.total) <= z.half for each in columns):
                continue
            lead, tail = paragraph.lead(z), paragraph.tail(z, 30)
            if _OTHER.search(lead) or _OTHER.search(tail):
                continue
            words = _words(tail) | _words(lead[-30:]) | {_CURRENCY.get(z.unit or "", z.unit or "")}
            for each in columns:
                bits = slip_bits(z, each.total)
                if not bits:
                    continue
                bits += 3.0 if words & each.words else 0.0
                bits += 2.0 if _CUE.search(lead) or _CUE.search(tail) else 0.0
                if bits >= NEEDED:
                    message = f"The table has {plain(each.total)} as the total of {each.head!r}, not {z.text}."
                    yield finding_at("text-table", z, message, meant=each.total, probability=0.88)
                    break


def _words(text: str) -> frozenset[str]:
    words = {each.rstrip("s") for each in _WORD.findall(text.lower()) if each not in ("the", "and", "for", "all")}
    words |= {_CURRENCY[each] for each in re.findall(r"[A-Z]{3}|[$€£]", text) if each in _CURRENCY}
    return frozenset(words)
