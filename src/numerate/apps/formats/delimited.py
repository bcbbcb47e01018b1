"""CSV and TSV files as tables, in pieces, so that a file of any size needs the same memory."""

from __future__ import annotations

import csv
from itertools import islice
from typing import TYPE_CHECKING

from numerate.apps.consistency.table_numbers import cell_number
from numerate.apps.documents import Document, Problem
from numerate.apps.formats.source_lines import Lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.formats.source_lines import Source

__all__ = ["read_delimited", "read_tabs", "sniffed_delimiter"]

ROWS = 20_000
"""Rows of one piece."""
NAMED_ROWS = 10
"""Broken rows that are named one by one; the others are counted."""
csv.field_size_limit(1 << 20)


def read_tabs(source: Source) -> Iterator[Document | Problem]:
    """A file with tabs between the cells."""
    return read_delimited(source, "\t")


def read_delimited(source: Source, delimiter: str | None = None) -> Iterator[Document | Problem]:
    """A CSV file; the delimiter is the mark that splits the first lines most evenly, unless it is given.

    A row with more or fewer cells than the header is named and left out.
    """
    lines = Lines(source)
    stream = iter(lines)
    first = list(islice(stream, 20))
    mark = delimiter or sniffed_delimiter(first)
    counted = _Counted(first, stream)
    rows = csv.reader(counted, delimiter=mark)
    header: list[str] = []
    kept: list[list[str]] = []
    numbers: list[int] = []
    broken = start = 0
    for row in _safely(rows, source, counted):
        if not row or not any(cell.strip() for cell in row):
            continue
        if not header:
            header, is_data = _header(row)
            if not is_data:
                continue
        if len(row) != len(header):
            while len(row) > len(header) and not row[-1].strip():
                row.pop()
            if len(row) != len(header):
                broken += 1
                if broken <= NAMED_ROWS:
                    what = f"row with {len(row)} cells instead of {len(header)} left out"
                    yield Problem(source.name, what, counted.number)
                continue
        kept.append(row)
        numbers.append(counted.number)
        if len(kept) == ROWS + 1:  # one more than a piece, so that the last piece is known
            yield _document(source, header, kept[:-1], numbers[:-1], start, is_last=False)
            start += ROWS
            kept, numbers = kept[-1:], numbers[-1:]
    if broken > NAMED_ROWS:
        yield Problem(source.name, f"{broken - NAMED_ROWS} more rows with another number of cells left out")
    if kept:
        yield _document(source, header, kept, numbers, start, is_last=True)
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


class _Counted:
    """Lines for the CSV parser, with the number of the line given last."""

    def __init__(self, first: list[str], rest: Iterator[str]) -> None:
        self.number = 0
        self._first, self._rest = iter(first), rest

    def __iter__(self) -> _Counted:
        return self

    def __next__(self) -> str:
        line = next(self._first, None)
        if line is None:
            line = next(self._rest)
        self.number += 1
        return line + "\n"


def _safely(rows: Iterator[list[str]], source: Source, counted: _Counted) -> Iterator[list[str]]:
    while True:
        try:
            yield next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            source.problems.append(Problem(source.name, f"not CSV: {error}", counted.number))


def _header(row: list[str]) -> tuple[list[str], bool]:
    """Names of the columns, and whether the first row is data already."""
    numbers = sum(cell_number(cell) is not None for cell in row)
    years = sum(cell.strip().isdecimal() and len(cell.strip()) == 4 for cell in row)
    if numbers - years > 0.5 * len(row):
        return [f"column {index}" for index in range(1, len(row) + 1)], True
    return [cell.strip() or f"column {index}" for index, cell in enumerate(row, 1)], False


def _document(
    source: Source, header: list[str], rows: list[list[str]], numbers: list[int], start: int, *, is_last: bool
) -> Document:
    return Document(
        kind="table", source=source.name, header=header, rows=rows, lines=numbers, first_row=start, is_last=is_last,
        ignored=source.ignored,
    )  # fmt: skip
