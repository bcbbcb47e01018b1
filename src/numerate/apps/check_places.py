"""Where a finding stands in its file: line, column and passage, and the marks `numerate: ignore` there."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from numerate.apps.formats.source_lines import ignore_mark, is_mark_alone

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.apps.documents import Document
    from numerate.apps.findings import Finding

__all__ = ["located", "marks_at"]

MAX_PASSAGE = 400
_ALIGNED = re.compile(r"[^\s.!?](?: {3,}|\t)\S")


def located(finding: Finding, document: Document) -> Finding:
    """The finding with source, line, column, table and passage."""
    if finding.cell is not None:
        row, column = finding.cell
        cells = document.rows[row - document.first_row]
        if finding.span is not None:
            text = cells[column]
            start = max(0, min(finding.span[0] - MAX_PASSAGE // 2, len(text) - MAX_PASSAGE))
            passage, shift = text[start : start + MAX_PASSAGE], start
            marked = finding.span[0] - shift, finding.span[1] - shift
        else:
            passage, marked = _row_passage(document.header, cells, column)
        key = finding.key if finding.key is not None or column >= len(document.header) else document.header[column]
        return replace(
            finding, source=document.source, line=document.row_line(row), passage=passage, marked=marked, key=key,
            table=document.caption,
        )  # fmt: skip
    start, end = finding.span or (0, 0)
    left, right = _row_around(document.text, start, end) or next(
        (span for span in document.sentences if span[0] <= start and end <= span[1]), (start, end)
    )
    if right - left > MAX_PASSAGE:
        left, right = max(left, start - MAX_PASSAGE // 2), min(right, end + MAX_PASSAGE // 2)
    line, column = document.position(start)
    cut = document.text.find("\n", start, end)  # a number that goes on in the next line
    _, at = document.position(max(start, (end if cut < 0 else cut) - 1))  # of its last character: markup may follow
    passage = document.text[left:right]
    message, meant = _in_one_line(finding.message), finding.meant and _in_one_line(finding.meant)
    return replace(
        finding, message=message, meant=meant, source=document.source, line=line, column=column, passage=passage,
        marked=(start - left, end - left), table=document.caption, end_column=None if at is None else at + 1,
    )  # fmt: skip


def _row_around(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The line of a number, without the space around it, if its cells are aligned: a row of a table."""
    begin, behind = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    line = text[begin : behind if behind >= 0 else len(text)]
    if _ALIGNED.search(line) is None or "\n" in text[start:end]:
        return None
    begin += len(line) - len(line.lstrip())
    return begin, begin + len(line.strip())


def _in_one_line(text: str) -> str:
    """A message that quotes a number over the end of a wrapped line, in one line."""
    return " ".join(text.split("\n")) if "\n" in text else text


def _row_passage(header: Sequence[str], cells: Sequence[str], column: int) -> tuple[str, tuple[int, int]]:
    """Cells around a cell with their names, and where the cell stands in that text."""
    parts, start, end = [], 0, 0
    size = 0
    for index in range(max(0, column - 4), min(len(cells), column + 4)):
        name = header[index] if index < len(header) else f"column {index + 1}"
        before = f"{' | ' if parts else ''}{name[:40]}: "
        cell = cells[index] if index == column else cells[index][:60]
        cell = cell[:MAX_PASSAGE].strip()
        if index == column:
            start = size + len(before)
            end = start + len(cell)
        parts.append(before + cell)
        size += len(parts[-1])
    return "".join(parts), (start, end)


def marks_at(finding: Finding, document: Document) -> frozenset[str] | None:
    """The rules that a mark at the finding's line or row switches off; None without a mark."""
    if finding.line is not None and finding.line in document.ignored:
        return document.ignored[finding.line]
    if finding.cell is not None:
        for cell in document.rows[finding.cell[0] - document.first_row]:
            if "numerate:" in cell:
                return ignore_mark(cell)
        return None
    if document.ignored or "numerate:" not in document.text or finding.span is None:
        return None
    first = document.text.rfind("\n", 0, finding.span[0]) + 1
    last = document.text.find("\n", finding.span[1])
    marks = ignore_mark(document.text[first : last if last >= 0 else None])
    end = first - (2 if document.anchors else 1)  # paragraphs of a file are parted by an empty line
    above = document.text[document.text.rfind("\n", 0, max(end, 0)) + 1 : max(end, 0)]
    return ignore_mark(above) if marks is None and is_mark_alone(above) else marks
