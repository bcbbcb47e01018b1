"""Tables as arrays: the number in each cell, what its last digit is worth, and which rows are totals."""

from __future__ import annotations

import math
import re
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from numerate.apps.consistency.sentences.patterns import regex
from numerate.numerals.unit_tables import UNITS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numerate.apps.documents import Document

__all__ = ["NumberTable", "cell_number", "has_decimal_commas", "header_unit", "table_of"]

_NUMBER = regex(
    r"[~≈]?\s*(?P<open>\()?\s*(?P<sign>[-+−–]?)\s*(?P<currency>[$€£¥])?\s*(?P<sign2>[-−]?)"
    r"(?P<digits>\d{1,3}(?:[,'\u00a0\u202f ]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
    r"(?P<exponent>[eE][-+]?\d{1,3})?\s*(?P<suffix>%|‰"
    r"|[A-Za-zµ°/²³$€£]{1,12})?\s*(?P<close>\))?\s*(?:\[\w{1,3}\]|[*†‡])*"
)
_EUROPEAN = regex(
    r"(?:[$€£¥]\s?)?[-+−]?(?:\d{1,3}(?:\.\d{3})+(?:,\d+)?|\d+,\d{1,2}|\d+,\d{4,}"
    r"|\d{1,3}(?:['\u00a0\u202f ]\d{3})+,\d{1,2})(?:\s?(?:[%‰$€£]|[A-Za-zµ°]{1,4}[²³]?))?"
)
_CLOCK = regex(r"(\d{1,2}):(\d{2})(?::(\d{2}))?")
_GROUPS = regex(r"[,'\u00a0\u202f ]")
_TOTAL = regex(
    r"(?:.{0,40}\b)?(?:(?:grand|sub|overall|net)[ -]?)?(?:totals?|subtotals?|sums?|gesamt|summe"
    r"|insgesamt)(?:\b.{0,30})?|all(?: (?:[a-z]+ )?[a-z]{3,})?|overall|combined|altogether|in all|whole [a-z ]{3,20}",
    re.IGNORECASE,
)
_SUBTOTAL = regex(r"(?:(?:grand|sub)[ -]?)?totals?|sum", re.IGNORECASE)
_ADJUSTED = regex(
    r"deduct|docked|penal|bonus|adjust|stripped|taken (?:off|away)|exclud|left out|not (?:count|includ)|withdr[ae]w"
    r"|awarded|abandon|annul|void|forfeit|credited|lost .{0,12}points|discount|price of|free|reduced|surcharge|rebate",
    re.IGNORECASE,
)
"""What a note below a table says of a row that need not fit the others."""
_SENTENCE = regex(r"(?<=[.!?;])\s+")
_NAME = regex(r"[^\W\d_]{3}")
_ODD = regex(
    r"[*†‡§]$|\[\w\]$|^(?:fastest|slowest|best|worst|mean|average|avg|median|min|max|minimum|maximum"
    r"|lowest|highest|sd|std)\b"
    # What a bracket says of one row: `varnish (offer)`, `Ward D (closed)`.
    r"|\((?:[a-z-]+ ){0,2}(?:offer|sale|discount\w*|damaged|used|free|closed|capped|max(?:imum)?|min(?:imum)?|special"
    r"|reduced|estimated?|est|provisional|adjusted|restated|half|part|partial|promotion\w*|bonus|from|until|since|incl\w*|excl\w*)"
    r"\b[^()]*\)",
    re.IGNORECASE,
)
_NOTED = regex(r"[a-z] \((?=[^()]*[a-z]{3})[^()]{4,30}\)$", re.IGNORECASE)
_UNIT = regex(r"[(\[,] ?([^()\[\],]{1,12})[)\]]?\s*$|\bin ([a-zµ°/²³0-9]{1,12})\s*$")
NUMERIC_FROM = 0.6
"""Share of the filled cells of a column that must be numbers."""


def cell_number(text: str) -> tuple[float, float, str] | None:
    """Value, worth of the last digit, and suffix of a cell; None if it is not one number. `12%` is 12.

    Example:
        >>> cell_number("1,234.50"), cell_number("(317)"), cell_number("12%"), cell_number("n/a")
        ((1234.5, 0.01, ''), (-317.0, 1.0, ''), (12.0, 1.0, '%'), None)
        >>> cell_number("8:10")
        (490.0, 1.0, 'clock')
    """
    text = text.strip()
    try:  # plain decimals, most cells
        value = float(text)
    except ValueError:
        pass
    else:
        whole, _, fraction = text.partition(".")
        if (fraction.isdecimal() or not fraction) and whole.lstrip("-").isdecimal() and text.isascii():
            return value, 10.0 ** -len(fraction), ""
    match = _NUMBER.fullmatch(text)
    if match is None:
        clock = _CLOCK.fullmatch(text)
        if clock is None or int(clock[2]) > 59:
            return None
        return 60.0 * int(clock[1]) + int(clock[2]) + int(clock[3] or 0) / 60, 1.0, "clock"
    digits = _GROUPS.sub("", match["digits"])
    value = float(digits + (match["exponent"] or ""))
    if not math.isfinite(value):
        return None
    negative = match["sign"] in ("-", "−", "–") or match["sign2"] or (match["open"] and match["close"])
    if bool(match["open"]) != bool(match["close"]):
        return None
    decimals = len(digits.partition(".")[2]) - int((match["exponent"] or "e0")[1:])
    return (
        (-value if negative else value),
        10.0**-decimals if abs(decimals) < 300 else 0.0,
        match["suffix"] or match["currency"] or "",
    )


def header_unit(header: str) -> str | None:
    """Normal spelling of the unit in a column's name: `Distance (km)` -> `km`.

    Example:
        >>> header_unit("Distance (km)"), header_unit("Weight [lb]"), header_unit("Name")
        ('km', 'lb', None)
    """
    match = _UNIT.search(header)
    return UNITS.get((match[1] or match[2]).strip()) if match else None


def has_decimal_commas(cells: Sequence[str]) -> bool:
    """Whether the cells of a column are written with decimal commas; the first 200 tell.

    Example:
        >>> has_decimal_commas(["3,50 €", "1.250,00 €"]), has_decimal_commas(["1,250", "3.50"])
        (True, False)
    """
    some = [cell for cell in cells[:200] if "," in cell]
    if any("." in cell and cell.find(",") < cell.find(".") for cell in some):
        return False
    european = sum(_EUROPEAN.fullmatch(cell.strip()) is not None for cell in some)
    return european > 0 and european >= 0.8 * len(some)


def table_of(document: Document) -> NumberTable:
    """The numbers of a document's table, read once however many checkers ask."""
    found = document.__dict__.get("_number_table")
    if found is None:
        found = document.__dict__["_number_table"] = NumberTable(document)
    return found


class NumberTable:
    """The numbers of a table.

    Attributes:
        header: Names of the columns.
        values: (rows, columns) float64, NaN where a cell is no number.
        steps: What the last digit is worth.
        numeric: Indices of the columns that hold numbers.

    Example:
        >>> from numerate.apps.documents import Document
        >>> rows = [["a", "1,200"], ["b", "3.5"], ["Total", "1,203.5"]]
        >>> table = NumberTable(Document(kind="table", header=["x", "y"], rows=rows))
        >>> table.values[:, 1].tolist(), table.numeric, table.total_rows
        ([1200.0, 3.5, 1203.5], [1], [2])
    """

    def __init__(self, document: Document) -> None:
        self.document = document
        self.header: Sequence[str] = document.header
        rows, width = document.rows, len(document.header)
        self.values = np.full((len(rows), width), np.nan)
        self.steps = np.ones((len(rows), width))
        self.suffixes: list[set[str]] = [set() for _ in range(width)]
        self.filled = np.zeros(width, dtype=np.int64)
        for index in range(width):
            self._read_column(index)
        counts = np.isfinite(self.values).sum(0)
        self.numeric = [
            index for index in range(width) if counts[index] > 1 and counts[index] >= NUMERIC_FROM * self.filled[index]
        ]

    def _read_column(self, index: int) -> None:
        cells = [row[index] if index < len(row) else "" for row in self.document.rows]
        is_european = has_decimal_commas(cells)
        values, steps, suffixes = self.values[:, index], self.steps[:, index], self.suffixes[index]
        filled = 0
        for row, cell in enumerate(cells):
            text = cell.strip()
            if not text:
                continue
            filled += 1
            if text.isascii() and text.isdecimal() and len(text) < 16:  # most cells
                if text[0] != "0" or len(text) == 1:
                    values[row] = float(text)
                continue
            if is_european:
                text = text.replace(".", "").replace(",", ".")
            found = cell_number(text)
            if found is not None:
                values[row], steps[row] = found[0], found[1]
                if found[2]:
                    suffixes.add(found[2])
        self.filled[index] = filled

    @cached_property
    def labels(self) -> list[str]:
        """The first text of each row, which names it."""
        text = [index for index in range(len(self.header)) if index not in set(self.numeric)]
        found = []
        for row in self.document.rows:
            cells = (row[index].strip() for index in text if index < len(row))
            found.append(next((cell for cell in cells if cell), row[0].strip() if row else ""))
        return found

    @cached_property
    def total_rows(self) -> list[int]:
        """Rows that are named total, sum, all, ..."""
        text = [index for index in range(len(self.header)) if index not in set(self.numeric)]
        second = text[1] if 1 < len(text) < 4 else None  # `Equipment,Subtotal,33050`
        found = [
            row
            for row, (label, cells) in enumerate(zip(self.labels, self.document.rows, strict=True))
            if len(label) < 60
            and (
                _TOTAL.fullmatch(label)
                or (second is not None and second < len(cells) and _SUBTOTAL.fullmatch(cells[second].strip()))
            )
        ]
        return found or ([len(self.values) - 1] if self._ends_with_whole() else [])

    def _ends_with_whole(self) -> bool:
        """Whether the last row is what those above add up to, whatever it is called: `Valid votes`, `Income`.

        It is 100 % of them, or their sum in two columns or more, and in all but one.
        """
        if len(self.values) < 4:
            return False
        sums = [index for index in self.numeric if np.isfinite(self.values[:, index]).all()]
        fits = [abs(float(self.values[:-1, index].sum()) - self.values[-1, index]) < 0.01 for index in sums]
        telling = [fit for index, fit in zip(sums, fits, strict=True) if abs(self.values[-1, index]) >= 10]
        if sum(telling) >= max(2, len(sums) - 1):
            return True
        columns = [index for index in self.numeric if self.is_percent(index) and self.values[-1, index] == 100]
        return any(abs(float(np.nansum(self.values[:-1, index])) - 100) < 0.6 for index in columns)

    @cached_property
    def noted_rows(self) -> set[int]:
        """Rows that a note beside the table says do not fit the others: `Bulls had 4 points deducted`.

        Example:
            >>> from numerate.apps.documents import Document
            >>> rows = [["Bulls", "13"], ["Foxes", "9"]]
            >>> note = "Bulls were docked 4 points."
            >>> NumberTable(Document(kind="table", header=["Club", "Pts"], rows=rows, notes=note)).noted_rows
            {0}
        """
        rows = (row[0] for row in self.document.rows if row and not any(cell.strip() for cell in row[1:]))
        told = " ".join((self.document.notes, *(f"{each}." for each in rows)))  # a note may be a row of its own
        notes = [each for each in _SENTENCE.split(told) if _ADJUSTED.search(each)]
        found: set[int] = set()
        for index, row in enumerate(self.document.rows if notes else ()):
            names = [cell.strip(" *†") for cell in row if _NAME.search(cell)]
            if any(re.search(rf"\b{re.escape(name)}s?\b", note, re.IGNORECASE) for name in names for note in notes):
                found.add(index)
        return found

    @cached_property
    def odd_rows(self) -> list[int]:
        """Rows with a footnote mark, or named after a statistic: what holds in the others need not hold in them."""
        noted = [row for row, label in enumerate(self.labels) if _NOTED.search(label)]
        noted = noted if len(noted) == 1 < len(self.labels) - 2 else []  # `Room C (L-shaped)`
        return noted + [row for row, label in enumerate(self.labels) if len(label) < 60 and _ODD.search(label)]

    def is_percent(self, index: int) -> bool:
        """Whether the column holds percentages, by its name or cells."""
        name = self.header[index].lower()
        return "%" in self.suffixes[index] or "%" in name or "percent" in name or "share" in name or "pct" in name

    def is_clock(self, index: int) -> bool:
        """Whether the column holds times of the day or durations with a colon."""
        return self.suffixes[index] == {"clock"}

    def is_year(self, index: int) -> bool:
        """Whether all numbers of the column are years."""
        values = self.values[:, index]
        values = values[np.isfinite(values)]
        return len(values) > 0 and bool(((values >= 1000) & (values <= 2100) & (values == np.round(values))).all())

    def text_columns(self) -> Iterable[tuple[int, list[tuple[int, str]]]]:
        """Columns whose cells may be dates or times, as (row, cell)."""
        for index in range(len(self.header)):
            if index in self.numeric and not self.is_clock(index):
                continue
            cells = [(row, cells[index]) for row, cells in enumerate(self.document.rows) if index < len(cells)]
            cells = [(row, cell) for row, cell in cells if cell.strip() and len(cell) < 40]
            if sum(any(char.isdecimal() for char in cell) for _, cell in cells[:100]) >= 0.5 * len(cells[:100]) > 0:
                yield index, cells
