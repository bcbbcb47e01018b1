r"""Tables in plain text: lines whose cells stand below each other, as in e-mails, logs and printed reports.

               Out        In   Balance
01 Feb                         1,204.56
02 Feb       38.20             1,166.36
05 Feb              2,140.00   3,306.36

Cells are divided by two spaces or more, tabs, bars, leaders (`Tiles ........ 12.00`), or the colon behind a name
(`Closing stock: 365`). Those between spaces belong to a column by their place, the others by their number in the line.
"""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, NamedTuple

from numerate.apps.consistency.tables.cell_numbers import CURRENCY
from numerate.apps.documents import Document
from numerate.apps.formats.table_shape import column_names, is_data

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numerate.apps.findings import Finding

__all__ = ["AlignedTable", "aligned_tables"]

_CELL = re.compile(r"[^\s|│┃]+(?:[ \u00a0\u202f][^\s|│┃]+)*")
_LEADER = re.compile(r"[.·…_]{3,}")
_MOVE = re.compile(r"\b(?:up|off|down|dn) +(?=\d)")
_QUOTED = re.compile(r"[ \t]*(?:>[ \t]*)*(?:[*•+-][ \t]+)?")
_RULE = re.compile(r"[ \t>|│┃]*[-=_+—─━┼├┤:.|]{2,}[-=_+—─━┼├┤:.| \t]*")
_AMOUNT = (
    rf"[~≈]?[-+−–]?\(?[-+−–]?(?:{CURRENCY} ?)?[-−]?\d(?:[\d.,:'’\u00a0\u202f ]*\d)?\)?-?"
    rf"(?:[ \u00a0]?(?:{CURRENCY}|[%‰*†]))?"
)
_NUMBER = re.compile(_AMOUNT)
_NAMED = re.compile(rf"([^\W\d_][^:\d]{{1,40}}): ({_AMOUNT})(?: [a-z]{{1,12}})?")
_YEAR = re.compile(r"(?:19|20)\d\d")
_COLUMN = re.compile(r"([Tt])he cells of 'column \d+'| of 'column \d+'")
_LINES = {"T": "The lines above", "t": "the lines", None: ""}
LONGEST, MOST_LINES, LEAST_LINES = 300, 2_000, 3
"""Characters of a line, and lines, of a table; lines with numbers of one without names of columns."""
NEAR_LINES = 20
"""Lines above a blank one that a total below it is compared with."""
ASIDE = 2
"""Characters by which the ends of two numbers of one column may differ."""
LONGEST_TITLE = 48
"""Characters of a line in a table that is the title of the rows below it."""


class _Line(NamedTuple):
    """A line of a text: where it begins, and start, end and text of its cells, from its own start."""

    start: int
    cells: list[tuple[int, int, str]]
    is_divided: bool
    """Whether tabs, bars or a colon divide the cells."""

    @property
    def numbers(self) -> list[tuple[int, int, str]]:
        return [each for each in self.cells if _NUMBER.fullmatch(each[2])]


class AlignedTable(NamedTuple):
    """A table in a text: the rows as a document, and the span in the text of each cell, None for an empty one."""

    document: Document
    spans: list[list[tuple[int, int] | None]]

    def placed(self, found: Finding) -> Finding | None:
        """A finding of the table as one of the text."""
        if found.cell is None:
            return None
        row, column = found.cell
        span = self.spans[row][column]
        if span is None:
            return None
        column_spans = [(at, each[column]) for at, each in enumerate(self.spans) if at != row]
        others = [
            {"text": self.document.rows[at][column], "start": other[0], "end": other[1]}
            for at, other in column_spans
            if other is not None
        ]
        begin = self.document.rows[row][column].find(found.written)
        span = (span[0] + max(begin, 0), span[0] + max(begin, 0) + len(found.written)) if begin >= 0 else span
        message = _COLUMN.sub(lambda match: _LINES[match[1]], found.message)
        evidence = {**found.evidence, "others": others}
        return dataclasses.replace(found, message=message, cell=None, key=None, span=span, evidence=evidence)


def aligned_tables(text: str) -> Iterator[AlignedTable]:
    r"""The tables in a text.

    Example:
        >>> text = "We sold:\n\nnorth    12.50\nsouth     7.25\ntotal    19.75\n\nBest, Ann"
        >>> [table.document.rows for table in aligned_tables(text)]
        [[['north', '12.50'], ['south', '7.25'], ['total', '19.75']]]
    """
    if "\n" not in text or not any(mark in text for mark in ("  ", ": ", "\t", "|", "│", "...")):
        return
    for lines, caption in _blocks(text):
        table = _divided(lines, caption) if all(line.is_divided for line in lines) else _placed(lines, caption)
        if table is not None:
            yield table


def _blocks(text: str) -> Iterator[tuple[list[_Line], str]]:
    """Lines that may be a table, and the line above them. A blank line may stand above the total."""
    block: list[_Line] = []
    caption = above = ""
    is_blank = False
    position = 0
    for raw in text.split("\n"):
        start, position = position, position + len(raw) + 1
        if not raw.strip(" \t\r>|"):
            is_blank = True
            continue
        if len(raw) <= LONGEST and _RULE.fullmatch(raw):
            continue
        line = _line_of(raw, start)
        goes_on = line is not None and len(block) < MOST_LINES and (not is_blank or _is_below(block, line))
        if block and not goes_on:
            yield from _ended(block, caption)
            block = []
        if line is not None and (block or len(line.cells) > 1):
            caption = caption if block else above
            block.append(line)
        above = raw.strip() if line is None or len(line.cells) < 2 else ""
        is_blank = False
    yield from _ended(block, caption)


def _ended(block: list[_Line], caption: str) -> Iterator[tuple[list[_Line], str]]:
    """The block, without titles at its end, if it has enough lines with numbers."""
    while block and len(block[-1].cells) < 2:
        block.pop()
    counts = [len(line.numbers) for line in block]
    least = LEAST_LINES - (_head_of(block)[1] if block else 0)
    if sum(count > 0 for count in counts) >= least:
        yield block, caption[:LONGEST]


def _line_of(raw: str, start: int) -> _Line | None:
    """A line with its cells; None if it cannot belong to a table."""
    if len(raw) > LONGEST:
        return None
    quoted = _QUOTED.match(raw)
    begin = quoted.end() if quoted is not None else 0
    shown = _LEADER.sub(lambda found: " " * len(found[0]), raw) if "..." in raw or "__" in raw or "…" in raw else raw
    if _MOVE.search(shown):
        shown = _MOVE.sub(lambda found: found[0].replace(" ", "_"), shown)  # one cell: a number with its sign
    cells = [(*each.span(), each[0]) for each in _CELL.finditer(shown, begin)]
    named = _NAMED.fullmatch(raw, cells[0][0], cells[0][1]) if len(cells) == 1 else None
    if named is not None:
        return _Line(start, [(*named.span(part), named[part]) for part in (1, 2)], True)
    if not cells or (len(cells) == 1 and (len(cells[0][2]) > LONGEST_TITLE or cells[0][2][-1] in ".!?;,")):
        return None
    return _Line(start, cells, "\t" in raw.strip() or "|" in raw or "│" in raw or "┃" in raw)


def _is_below(block: Sequence[_Line], line: _Line) -> bool:
    """Whether the numbers of a line behind a blank one end below numbers of the block: a total."""
    ends = {end for each in block[-NEAR_LINES:] for _, end, _ in each.numbers}
    below = [end for _, end, _ in line.numbers]
    return bool(below) and all(any(abs(end - other) <= ASIDE for other in ends) for end in below)


def _divided(lines: Sequence[_Line], caption: str) -> AlignedTable | None:
    """A table whose cells are divided by tabs or bars; all lines have the same number of them, but for titles."""
    width = max(len(line.cells) for line in lines)
    if width < 2 or any(1 < len(line.cells) < width for line in lines):
        return None
    rows = [[[cell] for cell in line.cells] + [[]] * (width - len(line.cells)) for line in lines]
    return _table(rows, lines, caption, has_head=_may_name_columns(lines[0]))


def _placed(lines: Sequence[_Line], caption: str) -> AlignedTable | None:
    """A table whose cells stand below each other."""
    titles, has_head = _head_of(lines)
    caption = " ".join([caption, *(cell for line in lines[:titles] for _, _, cell in line.cells)])[:LONGEST]
    lines = lines[titles:]
    body = [line for line in lines[has_head:] if line.numbers]
    numbers = _joined([(start, end) for line in body for start, end, _ in line.numbers])
    for line in body:
        places = [_over(numbers, start, end) for start, end, _ in line.numbers]
        if len(set(places)) < len(places):
            return None  # two numbers in one column: prose, or columns that are not aligned
    texts = [
        (start, end)
        for line in body
        for start, end, cell in line.cells
        if not _NUMBER.fullmatch(cell) and _over(numbers, start, end) is None
    ]
    columns = sorted([*numbers, *_joined(texts)])
    if len(columns) < 2 or not numbers:
        return None
    rows: list[list[list[tuple[int, int, str]]]] = []
    for line in lines:
        row: list[list[tuple[int, int, str]]] = [[] for _ in columns]
        for cell in line.cells:
            row[_column_of(columns, *cell)].append(cell)
        rows.append(row)
    return _table(rows, lines, caption, has_head=has_head)


def _head_of(lines: Sequence[_Line]) -> tuple[int, bool]:
    """How many lines above the names of the columns are titles, and whether the next line has such names."""
    first = next((at for at, line in enumerate(lines) if not _may_name_columns(line)), len(lines))
    return max(first - 1, 0), first > 0 and len(lines[first - 1].cells) > 1


def _may_name_columns(line: _Line) -> bool:
    """Whether no cell of a line is a number, or all numbers are years or run on."""
    cells = [cell for _, _, cell in line.cells]
    numbers = [cell for _, _, cell in line.numbers]
    return not numbers or (not is_data(cells) and (len(numbers) > 3 or all(map(_YEAR.fullmatch, numbers))))


def _joined(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans, those that overlap joined."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and start < found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _over(columns: Sequence[tuple[int, int]], start: int, end: int) -> int | None:
    """Index of the first column that a span overlaps."""
    return next((at for at, (first, last) in enumerate(columns) if start < last and end > first), None)


def _column_of(columns: Sequence[tuple[int, int]], start: int, end: int, text: str) -> int:
    """The column that a cell shares most characters with, or the nearest one; a long label belongs where it begins."""
    shared = [min(end, last) - max(start, first) for first, last in columns]
    if max(shared) <= 0 or _NUMBER.fullmatch(text):
        return shared.index(max(shared))
    over = [at for at, each in enumerate(shared) if each > 0]
    return over[0] if len(over) > 1 else shared.index(max(shared))


def _table(
    rows: Sequence[Sequence[Sequence[tuple[int, int, str]]]], lines: Sequence[_Line], caption: str, *, has_head: bool
) -> AlignedTable | None:  # fmt: skip
    """The table of the cells of each line and column."""
    texts = [[" ".join(text for _, _, text in cell) for cell in row] for row in rows]
    header = column_names(texts[0] if has_head else [""] * len(texts[0]))
    spans = [
        [(line.start + cell[0][0], line.start + cell[-1][1]) if cell else None for cell in row]
        for row, line in zip(rows, lines, strict=True)
    ]
    if len(texts) - has_head < 2:
        return None
    document = Document(kind="table", header=header, rows=texts[has_head:], caption=caption)
    return AlignedTable(document, spans[has_head:])
