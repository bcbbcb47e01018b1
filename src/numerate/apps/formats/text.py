"""Plain text and Markdown as documents."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from numerate.apps.documents import Document
from numerate.apps.formats.markdown_lines import plain_cell, plain_line
from numerate.apps.formats.source_lines import Lines
from numerate.apps.formats.table_shape import column_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numerate.apps.documents import Problem
    from numerate.apps.formats.source_lines import Source

    Markup = Callable[[str], tuple[str, list[tuple[int, int]]]]

__all__ = ["Block", "read_markdown", "read_text"]

BLOCK = 64 * 1024
"""Characters after which a text is cut at the next blank line; four times as many cut it at any line."""
MAX_TABLE = 20_000
"""Rows after which a table of a Markdown file is ended."""
MAX_NOTE = 400
"""Characters of the paragraph above a table, and of that below, that are kept as its notes."""
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})(.*)")
_SEPARATOR = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*")
_BAR = re.compile(r"(?<!\\)\|")
_INDENTED = re.compile(r"(?: {4}|\t)")
_ITEM = re.compile(r"\s{0,3}(?:[-*+]|\d{1,9}[.)])\s")
_FRONT = {"---": "...", "+++": "+++"}
"""What begins front matter and, beside itself, ends it: YAML and TOML."""
_RAW = re.compile(r"<(script|style|pre)\b", re.IGNORECASE)


def read_text(source: Source) -> Iterator[Document | Problem]:
    """A text file in blocks of some 64 KB that end at blank lines."""
    lines = Lines(source)
    block = Block(source, lines)
    for line in lines:
        yield from block.add(line, line)
    yield from block.ended()
    yield from source.named_problems()


def read_markdown(source: Source) -> Iterator[Document | Problem]:
    """A Markdown file: tables become tables; code, links and markup are left out."""
    lines = Lines(source)
    block = Block(source, lines)
    hidden, noted = _Hidden(), _Noted()
    table: list[str] = []
    first = 0
    for line in lines:
        if lines.is_cut or lines.offset:  # neither table nor markup in lines of a megabyte
            yield from noted.ended()
            yield from block.add(line, line)
            continue
        shown = hidden.shown(line, lines.number, in_table=bool(table))
        is_row = shown is not None and "|" in shown and (table or shown.count("|") > 1 or _is_row(shown))
        if is_row and shown is not None and len(table) < MAX_TABLE:
            yield from noted.ended()
            first = first or lines.number
            table.append(shown)
            block.hold()
            continue
        if table:
            noted.table, table, first = _ended_table(source, table, first, block), [], 0
        yield from noted.add(shown or "")
        yield from block.add(shown or "", line, marked=True)
    if table:
        noted.table = _ended_table(source, table, first, block)
    yield from noted.ended()
    yield from block.ended()
    yield from source.named_problems()


class Block:
    """Lines of a text until they are enough for a document; `markup` gives the text of a line and its places."""

    def __init__(
        self, source: Source, lines: Lines, markup: Callable[[str], tuple[str, list[tuple[int, int]]]] = plain_line
    ) -> None:
        self.source, self.lines, self.markup = source, lines, markup
        self.kept: list[str] = []
        self.places: dict[int, list[tuple[int, int]]] = {}  # kept line -> offsets in it, and their columns in the file
        self.size = self.column = 0
        self.first = 1

    def hold(self) -> None:
        """Keeps the place of a line that may be part of a table."""
        if not self.kept:
            self.first, self.column = self.lines.number, 1
        self.kept.append("")
        self.size += 1

    def add(self, shown: str, line: str, *, marked: bool = False) -> Iterator[Document]:
        """Adds a line as it is shown; `line` is the line as it is written; markup of a `marked` one is taken out."""
        if not self.kept:
            self.first, self.column = self.lines.number, self.lines.offset + 1
        self.kept.append(self.plain(shown, len(self.kept)) if marked else shown)
        self.size += len(self.kept[-1]) + 1
        is_end = self.size > BLOCK and not line.strip()
        if is_end or self.size > 4 * BLOCK or self.lines.is_cut or self.lines.offset:
            yield from self.ended()

    def plain(self, line: str, index: int) -> str:
        """The line as a reader sees it, so that `(*27* mi)` reads as `(27 mi)`; remembers where its pieces were."""
        text, places = self.markup(line)
        if places != [(0, 1)]:
            self.places[index] = places
        return text

    def ended(self) -> Iterator[Document]:
        """The document of the lines so far."""
        if any(line.strip() for line in self.kept):
            anchors, lines, columns = [0], [self.first], [self.column]
            size = 0
            for index, line in enumerate(self.kept if self.places else ()):
                for offset, column in self.places.get(index, ((0, 1),)):
                    anchors.append(size + offset)
                    lines.append(self.first + index)
                    columns.append(column)
                size += len(line) + 1
            yield Document(
                kind="text", source=self.source.name, text="\n".join(self.kept), anchors=anchors, lines=lines,
                columns=columns, ignored=self.source.ignored,
            )  # fmt: skip
        self.kept, self.places, self.size = [], {}, 0


class _Hidden:
    """Parts of a Markdown file that are no text: front matter, code, comments and raw HTML of several lines."""

    def __init__(self) -> None:
        self.fence = self.until = ""
        self.is_after_text = self.in_list = False

    def shown(self, line: str, number: int, *, in_table: bool) -> str | None:
        """The line, None if it is hidden."""
        if self.until:
            return self._until_end(line)
        if number == 1 and line.rstrip() in _FRONT:
            self.until = line.rstrip()
            return None
        fence = _FENCE.match(line)
        if self.fence:
            if fence and fence[1].startswith(self.fence) and not fence[2].strip():
                self.fence = ""
            return None
        if fence and not (fence[1][0] == "`" and "`" in fence[2]):
            self.fence = fence[1]
            return None
        if not line.strip():
            self.is_after_text = False
            return line
        is_item = _ITEM.match(line) is not None
        if _INDENTED.match(line) and not (self.is_after_text or self.in_list or in_table):
            return None
        self.in_list = is_item or (self.in_list and (self.is_after_text or _INDENTED.match(line) is not None))
        self.is_after_text = True
        return self._opened(line)

    def _until_end(self, line: str) -> str | None:
        if self.until in _FRONT:
            self.until = "" if line.rstrip() in (self.until, _FRONT[self.until]) else self.until
            return None
        end = line.lower().find(self.until)
        if end < 0:
            return None
        end += len(self.until)
        self.until = ""
        return " " * end + line[end:]

    def _opened(self, line: str) -> str:
        """The line without a comment or raw HTML that goes on in the next line."""
        start = line.rfind("<!--")
        if start >= 0 and line.find("-->", start) < 0:
            self.until = "-->"
            return line[:start]
        raw = _RAW.search(line) if "<" in line else None
        if raw is not None and f"</{raw[1].lower()}" not in line.lower():
            self.until = f"</{raw[1].lower()}"
            return line[: raw.start()]
        return line


def _is_row(line: str) -> bool:
    """Whether a line with one bar may be a row of a table: `| a` or `a | b`."""
    return line.lstrip().startswith("|") or " | " in line or _SEPARATOR.fullmatch(line) is not None


class _Noted:
    """A table that waits for the end of the paragraph below it, which may say something about a row."""

    def __init__(self) -> None:
        self.table: Document | None = None
        self.below: list[str] = []

    def add(self, line: str) -> Iterator[Document]:
        """Adds a line below the table; the table is given once the paragraph has ended."""
        if self.table is None:
            return
        if line.strip() and len(self.below) < MAX_NOTE // 20:
            self.below.append(line.strip())
        elif self.below:
            yield from self.ended()

    def ended(self) -> Iterator[Document]:
        """The table with its notes, if one waits."""
        if self.table is not None:
            below = " ".join(self.below)[:MAX_NOTE]
            yield replace(self.table, notes=" ".join(filter(None, (self.table.notes, below))))
        self.table, self.below = None, []


def _ended_table(source: Source, table: list[str], first: int, block: Block) -> Document | None:
    """The table of the last lines; if they are none, they are put back into the text that is kept."""
    found = _table(source, table, first)
    start = len(block.kept) - len(table)
    if found is None:
        block.kept[start:] = [block.plain(each, start + index) for index, each in enumerate(table)]
        block.size += sum(map(len, table))
        return None
    above: list[str] = []
    for line in reversed(block.kept[max(0, start - MAX_NOTE // 20) : start]):
        if line.strip():
            above.append(line.strip())
        elif above:
            break
    return replace(found, notes=" ".join(reversed(above))[-MAX_NOTE:])


def _table(source: Source, lines: list[str], first: int) -> Document | None:
    """The table of some lines; None if they have no separator, so that they are text."""
    if len(lines) < 3 or "-" not in lines[1] or not _SEPARATOR.fullmatch(lines[1]):
        return None
    header = column_names([plain_cell(cell, keep_code=True) for cell in _cells(lines[0])])
    rows, numbers = [], []
    for index, line in enumerate(lines[2:], 2):
        cells = [plain_cell(cell) for cell in _cells(line)]
        rows.append((cells + [""] * len(header))[: len(header)])
        numbers.append(first + index)
    return Document(kind="table", source=source.name, header=header, rows=rows, lines=numbers, ignored=source.ignored)


def _cells(line: str) -> list[str]:
    return [cell.replace("\\|", "|") for cell in _BAR.split(_row_text(line))]


def _row_text(line: str) -> str:
    """A row without the bars at its ends; a bar behind a backslash is part of a cell."""
    text = line.strip().removeprefix("|")
    return text[:-1] if text.endswith("|") and not text.endswith("\\|") else text
