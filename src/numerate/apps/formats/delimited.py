"""CSV and TSV files as tables, in pieces, so that a file of any size needs the same memory."""

from __future__ import annotations

import csv
import re
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING

from numerate.apps.documents import Document, Problem
from numerate.apps.formats.source_lines import Lines
from numerate.apps.formats.table_shape import LEADING, column_names, header_document, is_data, title_rows
from numerate.errors import NumerateError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.formats.source_lines import Source

__all__ = ["read_delimited", "read_tabs", "sniffed_delimiter"]

ROWS = 20_000
"""Rows of one piece."""
MAX_NOTE = 400
"""Characters of broken rows that are kept as notes of the table: `Note: Moss had 3 points deducted.`"""
NAMED_ROWS = 10
"""Broken rows that are named one by one; the others are counted."""
MAX_QUOTED_LINES = 1000
"""A quote that is open for longer was never closed."""
_HINT = re.compile(r"sep=(.)\s*", re.IGNORECASE)
"""The first line of files that Excel writes."""
csv.field_size_limit(1 << 20)


def read_tabs(source: Source) -> Iterator[Document | Problem]:
    """A file with tabs between the cells."""
    return read_delimited(source, "\t")


def read_delimited(source: Source, delimiter: str | None = None) -> Iterator[Document | Problem]:
    """A CSV file; the delimiter is the mark that splits the first lines most evenly, unless it is given.

    Lines above the header that have much fewer cells are its title, which is checked as a text. A row with more or
    fewer cells than the header is named and left out; so is a line whose quote is never closed.
    """
    rows = _Rows(source, delimiter)
    first = list(islice(rows, LEADING))
    skipped = title_rows([row for _, row in first])
    caption = " ".join(cell.strip() for _, row in first[:skipped] for cell in row if cell.strip())
    if skipped:
        yield from rows.title(first[skipped][0])
    rows.give_back(first[skipped:])
    header: list[str] = []
    kept: list[list[str]] = []
    numbers: list[int] = []
    notes = ""
    broken = start = 0
    for number, row in rows:
        yield from source.named_problems()
        if not header:
            row, has_data = _without_empty_ends(row, first[skipped + 1 :]), is_data(row)
            header = column_names([], len(row)) if has_data else column_names(row)
            if not has_data:
                top = header_document(
                    row, source=source.name, line=number, caption=caption[:200], is_alone=len(first) == skipped + 1,
                    ignored=source.ignored,
                )  # fmt: skip
                if top is not None:
                    yield top
                continue
        if len(row) != len(header):
            while len(row) > len(header) and not row[-1].strip():
                row.pop()
            if len(row) != len(header):
                broken += 1
                notes = f"{notes} {' '.join(row)}".strip()[:MAX_NOTE]
                if broken <= NAMED_ROWS:
                    cells = f"{len(row)} cell{'s' * (len(row) != 1)}"
                    yield Problem(source.name, f"row with {cells} instead of {len(header)} left out", number)
                continue
        kept.append(row)
        numbers.append(number)
        if len(kept) == ROWS + 1:  # one more than a piece, so that the last piece is known
            yield _document(source, header, kept[:-1], numbers[:-1], start, caption, notes, is_last=False)
            start += ROWS
            kept, numbers = kept[-1:], numbers[-1:]
    if broken > NAMED_ROWS:
        yield Problem(source.name, f"{broken - NAMED_ROWS} more rows with another number of cells left out")
    if kept:
        yield _document(source, header, kept, numbers, start, caption, notes, is_last=True)
    yield from source.named_problems()


def sniffed_delimiter(lines: list[str]) -> str:
    """The mark that splits the lines most evenly into the most cells.

    Example:
        >>> sniffed_delimiter(["a;b;c", "1,5;2;3", "2,5;3;4"])
        ';'
    """
    best, most = ",", 0.0
    for mark in ",;\t|":
        counts = [line.count(mark) for line in lines if line.strip()]
        if counts and max(counts):
            typical = sorted(counts)[len(counts) // 2]
            even = sum(count == typical for count in counts) / len(counts)
            if typical and even * (1 + 0.01 * typical) * (0.9 if mark == "|" else 1.0) > most:
                best, most = mark, even * (1 + 0.01 * typical)
    return best


class _Rows:
    """Rows that are not blank, each with the number of its line; a quote that is never closed costs only its line."""

    def __init__(self, source: Source, delimiter: str | None) -> None:
        self._source = source
        lines = Lines(source, records=True)
        stream = iter(lines)
        first = [(lines.number, line) for line in islice(stream, LEADING)]
        hint = _HINT.fullmatch(first[0][1]) if first else None
        if hint is not None:
            first.pop(0)
        self._first = list(first)
        found = hint[1] if hint is not None else sniffed_delimiter([line for _, line in first])
        self._lines = _Pushed(first, ((lines.number, line) for line in stream))
        self._mark = delimiter or found
        self._blank = f"{self._mark} \t"
        self._back: deque[tuple[int, list[str]]] = deque()

    def title(self, header: int) -> Iterator[Document]:
        """The lines above the line of the header as a text, with their places; nothing if they have no number."""
        text, numbers, starts = "", list[int](), list[int]()
        for number, line in self._first:
            if number < header and line.strip(self._blank):
                gap = "\n" if text.count('"') % 2 else "\n\n"  # a quoted cell may go on in the next line
                text += gap if text else ""
                starts.append(len(text))
                numbers.append(number)
                text += line.rstrip(self._blank)
        if any(map(str.isdecimal, text)):
            yield Document(
                kind="text", source=self._source.name, text=text, anchors=starts, lines=numbers,
                ignored=self._source.ignored,
            )  # fmt: skip

    def give_back(self, rows: list[tuple[int, list[str]]]) -> None:
        """The rows come again."""
        self._back.extend(rows)

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        while self._back:
            yield self._back.popleft()
        parser = csv.reader(self._lines, delimiter=self._mark)
        while True:
            self._lines.taken.clear()
            try:
                row = next(parser)
            except StopIteration:
                return
            except (csv.Error, _OpenQuoteError) as error:
                self._leave_out(str(error))
                parser = csv.reader(self._lines, delimiter=self._mark)
                continue
            if self._lines.is_done and self._is_open():
                self._leave_out(_OpenQuoteError.message)
                parser = csv.reader(self._lines, delimiter=self._mark)
            elif any(cell.strip() for cell in row):
                yield self._lines.taken[0][0], row

    def _is_open(self) -> bool:
        """Whether the last row ended only with the file: one more line would have been part of it."""
        taken = [f"{line}\n" for _, line in self._lines.taken]
        return len(list(csv.reader([*taken, "end"], delimiter=self._mark))) == 1

    def _leave_out(self, why: str) -> None:
        """Names the first line of the row, and reads its other lines again."""
        (number, _), *others = self._lines.taken
        self._source.problems.append(Problem(self._source.name, f"line left out: {why}", number))
        self._lines.push(others)


class _OpenQuoteError(NumerateError, ValueError):
    message = 'its quote (") is never closed'

    def __str__(self) -> str:
        return self.message


class _Pushed:
    """Lines for the CSV parser: remembers those of the current row, which can be given again."""

    def __init__(self, first: list[tuple[int, str]], rest: Iterator[tuple[int, str]]) -> None:
        self._waiting, self._rest = deque(first), rest
        self.taken: list[tuple[int, str]] = []
        self.is_done = False

    def __iter__(self) -> _Pushed:
        return self

    def __next__(self) -> str:
        if len(self.taken) >= MAX_QUOTED_LINES:
            raise _OpenQuoteError
        if self._waiting:
            each = self._waiting.popleft()
        else:
            try:
                each = next(self._rest)
            except StopIteration:
                self.is_done = True
                raise
        self.taken.append(each)
        return f"{each[1]}\n"

    def push(self, lines: list[tuple[int, str]]) -> None:
        self._waiting.extendleft(reversed(lines))
        self.taken.clear()
        self.is_done = False


def _without_empty_ends(header: list[str], rows: list[tuple[int, list[str]]]) -> list[str]:
    """The header without the empty names at its end that no row below has a cell for: `name,price,` above `a,5`."""
    most = max((len(row) for _, row in rows), default=len(header))
    while len(header) > most and not header[-1].strip():
        header = header[:-1]
    return header


def _document(
    source: Source, header: list[str], rows: list[list[str]], numbers: list[int], start: int, caption: str, notes: str,
    *, is_last: bool,
) -> Document:  # fmt: skip
    return Document(
        kind="table", source=source.name, header=header, rows=rows, lines=numbers, first_row=start, is_last=is_last,
        caption=caption[:200], notes=notes, ignored=source.ignored,
    )  # fmt: skip
