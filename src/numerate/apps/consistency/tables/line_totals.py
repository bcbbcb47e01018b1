r"""Totals below lines of a text that end with amounts, as letters and e-mails have them instead of tables.

Kitchen floor        £800.00
Drying, 9 days       £346.50
                   ---------
Total              £1,146.50
"""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.tables.cell_numbers import CURRENCY, cell_number
from numerate.apps.consistency.tables.table_numbers import NumberTable
from numerate.apps.documents import Document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numerate.apps.findings import Finding

__all__ = ["line_totals"]

_AMOUNT = rf"[-−]?\(?[-−]?(?:{CURRENCY} ?)?[-−]?\d(?:[\d.,'’\u00a0\u202f]*\d)?\)?-?(?:[ \u00a0]?(?:{CURRENCY}))?"
_LINE = re.compile(rf"[ \t>|*•+-]*(?P<label>[^\W\d_].*?)(?: {{2,}}|\t+|[ .·…_]{{3,}})(?P<amount>{_AMOUNT})[ \t]*")
_TOTAL = re.compile(
    r"^[ \t>|*]*(?:(?:grand|sub|overall)[ -]?)?(?:totals?|subtotals?|sum|summe|gesamt\w*|zusammen|somme)\b"
    rf"[^\n\d]{{0,40}}?(?: {{2,}}|\t+|[ .·…_]{{3,}})(?P<amount>{_AMOUNT})[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_RULE = re.compile(r"[ \t>|]*[-=_+—─]{2,}[ \t]*")
MOST_LINES, LEAST_LINES = 60, 2
MOST_BLANK, LONGEST = 1, 400
ASIDE = 2
"""Characters by which the ends of two amounts of one column may differ."""


def line_totals(document: Document, check: Callable[[Document, NumberTable], Iterable[Finding]]) -> Iterator[Finding]:
    """What a rule of tables finds in the lines above a total.

    Args:
        document: A text.
        check: The rule.
    """
    text = document.text
    for total in _TOTAL.finditer(text) if "\n" in text else ():
        rows, spans = _lines_above(text, total.start(), _edge(text, total.end("amount")))
        if len(rows) < LEAST_LINES:
            continue
        rows.append([text[total.start() : total.start("amount")].strip(" \t>|*.:·…_"), total["amount"].strip()])
        spans.append(total.span("amount"))
        table = Document(kind="table", header=["lines", "amount"], rows=rows)
        for found in check(table, NumberTable(table)):
            if found.cell is not None and found.cell[1] == 1:
                message = found.message.replace("the cells of 'amount'", "the lines").replace(
                    "The cells of 'amount'", "The lines above"
                )
                span = spans[found.cell[0]]
                others = [{"text": text[a:b], "start": a, "end": b} for a, b in spans if (a, b) != span]
                evidence = {**found.evidence, "others": others}
                yield dataclasses.replace(found, message=message, cell=None, key=None, span=span, evidence=evidence)


def _lines_above(text: str, start: int, edge: int) -> tuple[list[list[str]], list[tuple[int, int]]]:
    """Labels and amounts of the lines right above a place, whose amounts end below each other, and their spans."""
    rows: list[list[str]] = []
    spans: list[tuple[int, int]] = []
    blank, end = 0, start - 1
    while end > 0 and len(rows) < MOST_LINES:
        begin = text.rfind("\n", 0, end) + 1
        line = text[begin:end]
        end = begin - 1
        if not line.strip(" \t>|"):
            blank += 1
            if blank > MOST_BLANK or not rows:
                break
            continue
        if _RULE.fullmatch(line):
            continue
        match = _LINE.fullmatch(line) if len(line) < LONGEST else None
        if match is None or cell_number(match["amount"].replace(",", "")) is None:
            break
        if abs(_edge(text, begin + match.end("amount")) - edge) > ASIDE:
            break
        rows.insert(0, [match["label"], match["amount"].strip()])
        spans.insert(0, (begin + match.start("amount"), begin + match.end("amount")))
        blank = 0
    return rows, spans


def _edge(text: str, place: int) -> int:
    """The column of a place in its line."""
    return place - text.rfind("\n", 0, place)
