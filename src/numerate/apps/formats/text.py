"""Plain text and Markdown as documents."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from numerate.apps.documents import Document
from numerate.apps.formats.source_lines import Lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.documents import Problem
    from numerate.apps.formats.source_lines import Source

__all__ = ["read_markdown", "read_text"]

BLOCK = 64 * 1024
"""Characters after which a text is cut at the next blank line; four times as many cut it at any line."""
_FENCE = re.compile(r"\s{0,3}(```+|~~~+)")
_SEPARATOR = re.compile(r"\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*")
_CODE = re.compile(r"``[^`]*``|`[^`]*`|\]\([^)\s]*\)|<!--.*?-->|<[a-zA-Z/][^<>]*>|https?://\S+")
_MARKS = re.compile(r"\*+|__+|^\s{0,3}#+|^\s{0,3}>+")
_IGNORE_CELL = "numerate: ignore"


def read_text(source: Source) -> Iterator[Document | Problem]:
    """A text file in blocks of some 64 KB that end at blank lines."""
    lines, kept, size, first = Lines(source), [], 0, 1
    for line in lines:
        kept.append(line)
        size += len(line) + 1
        if (size > BLOCK and not line.strip()) or size > 4 * BLOCK:
            yield _document(source, kept, first)
            kept, size, first = [], 0, lines.number + 1
    if kept:
        yield _document(source, kept, first)
    yield from source.named_problems()


def read_markdown(source: Source) -> Iterator[Document | Problem]:
    """A Markdown file: tables become tables; code, links and markup are blanked, so that offsets stay true."""
    lines, kept, size, first = Lines(source), [], 0, 1
    fence, table, table_line = "", [], 0
    for line in lines:
        mark = _FENCE.match(line)
        if fence or mark:
            if mark and not fence:
                fence = mark[1][:3]
            elif mark and mark[1].startswith(fence):
                fence = ""
            kept.append("")
            size += 1
            continue
        if "|" in line and (table or line.lstrip().startswith("|") or line.count("|") > 1):
            table_line = table_line or lines.number
            table.append(line)
            kept.append("")
            continue
        if table:
            yield from _ended_table(source, table, table_line, kept)
            table, table_line = [], 0
        kept.append(_blanked(line))
        size += len(line) + 1
        if (size > BLOCK and not line.strip()) or size > 4 * BLOCK:
            yield _document(source, kept, first)
            kept, size, first = [], 0, lines.number + 1
    if table:
        yield from _ended_table(source, table, table_line, kept)
    if any(line.strip() for line in kept):
        yield _document(source, kept, first)
    yield from source.named_problems()


def _ended_table(source: Source, table: list[str], first: int, kept: list[str]) -> Iterator[Document]:
    """The table of the last lines; if they are none, they are put back into the text that is kept."""
    found = _table(source, table, first)
    if found is None:
        kept[-len(table) :] = [_blanked(each) for each in table]
    else:
        yield found


def _document(source: Source, lines: list[str], first: int) -> Document:
    return Document(
        kind="text", source=source.name, text="\n".join(lines), anchors=(0,), lines=(first,), ignored=source.ignored
    )


def _blanked(line: str) -> str:
    """The line with code, links, tags and emphasis as spaces."""
    if any(char in line for char in "`<*_#>]:"):
        line = _CODE.sub(lambda match: " " * len(match[0]), line)
        line = _MARKS.sub(lambda match: " " * len(match[0]), line)
    return line


def _table(source: Source, lines: list[str], first: int) -> Document | None:
    """The table of some lines; None if they have no separator, so that they are text."""
    if len(lines) < 3 or not _SEPARATOR.fullmatch(lines[1]):
        return None
    header = [_MARKS.sub("", cell).strip() for cell in _cells(lines[0])]
    rows, numbers = [], []
    for index, line in enumerate(lines[2:], 2):
        cells = [_CODE.sub("", _MARKS.sub("", cell)).strip() for cell in _cells(line)]
        rows.append((cells + [""] * len(header))[: len(header)])
        numbers.append(first + index)
    return Document(kind="table", source=source.name, header=header, rows=rows, lines=numbers, ignored=source.ignored)


def _cells(line: str) -> list[str]:
    return line.strip().removeprefix("|").removesuffix("|").replace("\\|", "¦").split("|")
