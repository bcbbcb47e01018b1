"""Tables as arrays: the number in each cell, what its last digit is worth, and which rows are totals."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.tables.cell_numbers import cell_number, has_decimal_commas

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numerate.apps.documents import Document

__all__ = ["NumberTable", "finest", "table_of"]

_TOTAL = regex(
    r"(?:.{0,40}\b)?(?:(?:grand|sub|overall|net)[ -]?)?(?:totals?|subtotals?|sums?|gesamt|summe"
    r"|insgesamt)(?:\b.{0,30})?|all(?! others?\b)(?: (?:[a-z]+ )?[a-z]{3,})?|overall|combined|altogether|in all"
    r"|whole [a-z ]{3,20}",
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
MOST_NOTES = 20
"""Rows with a single cell that may be notes of a table."""
LONGEST_NAME = 80
"""Characters of a cell that may name its row in a note."""
_ODD = regex(
    r"[*†‡§]$|\[\w\]$|^(?:fastest|slowest|best|worst|mean|average|avg|median|min|max|minimum|maximum"
    r"|lowest|highest|sd|std)\b"
    # What a bracket says of one row: `varnish (offer)`, `Ward D (closed)`.
    r"|\((?:[a-z-]+ ){0,2}(?:offer|sale|discount\w*|damaged|used|free|closed|capped|max(?:imum)?|min(?:imum)?|special"
    r"|reduced|estimated?|est|provisional|adjusted|restated|half|part|partial|promotion\w*|bonus|from|until|since"
    r"|incl\w*|excl\w*)"
    r"\b[^()]*\)",
    re.IGNORECASE,
)
_NOTED = regex(r"[a-z] \((?=[^()]*[a-z]{3})[^()]{4,30}\)$", re.IGNORECASE)
_TAKEN = regex(r"(?:less|minus|abzüglich|moins)\b[ :]", re.IGNORECASE)
_YEAR = regex(r"(?:FY ?)?(?:19|20)\d\d")
_HEADINGS = 3
"""Rows at the top of a table that may belong to its header."""
_CAMEL = regex(r"(?<=[a-z])[A-Z](?=[a-z])")
NUMERIC_FROM = 0.6
"""Share of the filled cells of a column that must be numbers."""


def table_of(document: Document) -> NumberTable:
    """The numbers of a document's table, read once however many checkers ask."""
    found = document.__dict__.get("_number_table")
    if found is None:
        found = document.__dict__["_number_table"] = NumberTable(document)
    return found


def _apart(match: re.Match[str]) -> str:
    return f" {match[0].lower()}"


def finest(table: NumberTable, row: int, column: int) -> float:
    """What the last digit is worth of the most finely written number of a column, but for one row."""
    known = np.isfinite(table.values[:, column])
    known[row] = False
    return float(table.steps[known, column].min(initial=1.0))


_ROUNDED = regex(
    r"\b(?:rounded|rounding|gerundet|rundungs\w*|arrondi\w*|redonde\w*)\b|\b(?:may|might|do|does"
    r"|need) not (?:always )?(?:add|sum)\b"
    r"|(?:\bin|,|\() ?(?:thousands|millions|billions|tausend|millionen|milliers|millones|[$€£]m|[$€£]bn|mio\.?)\b|'000"
)
_SCALED = regex(
    r"\b(?:thousands?|millions?|billions?|tsd|tausend|mio|mrd|millionen|milliers|millones|mln|bn)\b|'?\b000s?\b"
    r"|[$€£](?:m|k|bn)\b"
)
"""What notes and headers say of whole numbers that are rounded, so that they may miss their total."""


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
        # Keys of JSON and columns of databases: `unit_price`, `unitPrice`.
        self.header: Sequence[str] = [_CAMEL.sub(_apart, each.replace("_", " ")) for each in document.header]
        rows, width = document.rows, len(document.header)
        self.values = np.full((len(rows), width), np.nan)
        self.steps = np.ones((len(rows), width))
        self.suffixes: list[set[str]] = [set() for _ in range(width)]
        self.filled = np.zeros(width, dtype=np.int64)
        for index in range(width):
            self._read_column(index)
        self._leave_out_headings()
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

    def _leave_out_headings(self) -> None:
        """The years of a second header row are no numbers of their columns: `Sales | 2022 | 2023 | Change`."""
        rows = self.document.rows
        for row in range(min(_HEADINGS, len(rows) - 2)):
            filled = [column for column, cell in enumerate(rows[row][: len(self.header)]) if cell.strip()]
            years = [column for column in filled if column and _YEAR.fullmatch(rows[row][column].strip())]
            if not filled:
                continue
            texts = [column for column in filled if column not in years]
            below = np.isfinite(self.values[row + 1 :])
            # A text above numbers, or nothing above the labels, makes it a header and not a row of founding years.
            is_heading = 0 not in filled or any(column and below[:, column].any() for column in texts)
            if not is_heading or any(np.isfinite(self.values[row, column]) for column in texts):
                return
            for column in years:
                if not self._are_years(self.values[row + 1 :, column]):
                    self.values[row, column] = np.nan
                    self.filled[column] -= 1

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
        found = sorted({*found, *self._unnamed_subtotals(found)})
        return found or ([len(self.values) - 1] if self._ends_with_whole() else [])

    def _unnamed_subtotals(self, totals: Sequence[int]) -> list[int]:
        """Rows without a label that hold the sums of their section, between rows that have labels."""
        labels = self.labels
        blank = [row for row, label in enumerate(labels) if not label and np.isfinite(self.values[row]).any()]
        if not totals or len(blank) > len(labels) / 3:
            return []
        found = []
        for row in blank:
            above = [each for each in (*self.heading_rows, *totals, *found) if each < row]
            parts = self.values[max(above, default=-1) + 1 : row]
            known = np.isfinite(self.values[row]) & (np.isfinite(parts).sum(0) > 1)
            sums = np.nansum(parts, 0)
            if known.any() and (np.abs(sums - self.values[row]) <= 1e-6 * np.abs(sums) + 1e-9)[known].all():
                found.append(row)
        return found

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
    def heading_rows(self) -> list[int]:
        """Rows without a number, which begin a section: `Expenses:`."""
        return np.flatnonzero(~np.isfinite(self.values).any(1)).tolist()

    @cached_property
    def taken_rows(self) -> list[int]:
        """Rows that are named after what is taken off a total."""
        return [row for row, label in enumerate(self.labels) if _TAKEN.match(label)]

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
        rows = [row[0] for row in self.document.rows if len(row) > 1 and not any(cell.strip() for cell in row[1:])]
        if len(rows) > MOST_NOTES:  # records of a text each are no notes
            rows = []
        told = " ".join((self.document.notes, *(f"{each}." for each in rows)))  # a note may be a row of its own
        notes = [each.lower() for each in _SENTENCE.split(told) if _ADJUSTED.search(each)]
        found: set[int] = set()
        for index, row in enumerate(self.document.rows if notes else ()):
            names = [cell.strip(" *†").lower() for cell in row if len(cell) < LONGEST_NAME and _NAME.search(cell)]
            if any(
                re.search(rf"\b{re.escape(name)}s?\b", note) for name in names for note in notes if name in note
            ):  # fmt: skip
                found.add(index)
        return found

    @cached_property
    def odd_rows(self) -> list[int]:
        """Rows with a footnote mark, or named after a statistic: what holds in the others need not hold in them."""
        noted = [row for row, label in enumerate(self.labels) if _NOTED.search(label)]
        noted = noted if len(noted) == 1 < len(self.labels) - 2 else []  # `Room C (L-shaped)`
        return noted + [row for row, label in enumerate(self.labels) if len(label) < 60 and _ODD.search(label)]

    def is_rounded(self, column: int) -> bool:
        """Whether whole numbers of a column are rounded by what the file says: in thousands, or with a note."""
        told = f"{self.document.notes} {self.document.caption}".lower()
        return _ROUNDED.search(told) is not None or _SCALED.search(self.document.header[column].lower()) is not None

    def is_percent(self, index: int) -> bool:
        """Whether the column holds percentages, by its name or cells."""
        name = self.header[index].lower()
        return "%" in self.suffixes[index] or "%" in name or "percent" in name or "share" in name or "pct" in name

    def is_clock(self, index: int) -> bool:
        """Whether the column holds times of the day or durations with a colon."""
        return self.suffixes[index] == {"clock"}

    def is_year(self, index: int) -> bool:
        """Whether all numbers of the column are years."""
        return not self.is_clock(index) and self._are_years(self.values[:, index])

    @staticmethod
    def _are_years(values: np.ndarray) -> bool:
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
