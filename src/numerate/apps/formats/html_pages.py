"""HTML pages as documents: the visible text in blocks, and tables."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import TYPE_CHECKING

from numerate.apps.documents import Document, Problem
from numerate.apps.formats.html_characters import SHIFTED, placed_pieces, shifted_text
from numerate.apps.formats.html_hidden import VOID, HiddenElements
from numerate.apps.formats.source_lines import Lines
from numerate.apps.formats.table_shape import Cell, grid_of, table_of_grid

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.formats.source_lines import Source

__all__ = ["read_html"]

_HIDDEN = frozenset(("script", "style", "template", "noscript", "code", "pre", "svg", "math", "head"))
_BLOCKS = frozenset((
    "p", "div", "section", "article", "li", "ul", "ol", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "br", "hr",
    "tr", "table", "main", "aside", "header", "footer", "dd", "dt", "dl", "figcaption", "form", "fieldset", "legend",
    "option", "textarea", "td", "th", "caption", "address", "details", "summary", "nav",
))  # fmt: skip
_INVISIBLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
BLOCK = 64 * 1024
CHUNK = 1 << 20
"""Characters that the parser gets at once: it searches what is not ended again each time."""
MAX_TAG = 1 << 20
"""Characters from which a tag or comment is left out."""
MAX_OPEN_TAG = 10_000
"""Characters from which a tag is left out that is not closed at the end of the page."""
MAX_TEXT = 1 << 20
"""Characters after which a text without blocks is cut."""
MAX_DEPTH = 50
"""Tables inside of each other; deeper ones are read as text."""


def read_html(source: Source) -> Iterator[Document | Problem]:
    """The text of a page with the line of each piece, and each table with its rows; scripts and code are left out."""
    lines = Lines(source)
    page = _Page(source)
    waiting: list[str] = []
    size = 0
    for line in lines:
        waiting.append(line if lines.is_cut else f"{line}\n")
        size += len(line) + 1
        if size > CHUNK:
            page.take("".join(waiting))
            waiting, size = [], 0
            yield from page.finished()
    page.take("".join(waiting))
    page.end()
    yield from page.finished()
    yield from source.named_problems()


@dataclass
class _Table:
    """A table that is being read, with the place of each row."""

    rows: list[list[Cell]] = field(default_factory=list)
    places: list[tuple[int, int]] = field(default_factory=list)
    parts: list[str] | None = None  # the text of the open cell
    caption: list[str] | None = None
    title: str = ""


class _Page(HTMLParser):
    def __init__(self, source: Source) -> None:
        super().__init__(convert_charrefs=True)
        self.source = source
        self.done: list[Document] = []
        self.hidden = HiddenElements()
        self.parts: list[str] = []
        self.anchors: list[int] = []
        self.places: list[tuple[int, int]] = []
        self.size = 0
        self.tables: list[_Table] = []
        self.next_place = (0, 0)
        self.skipped_until = ""
        self.parsed = 0  # characters of `rawdata` that the parser is through with
        self.shifted: list[str] = []  # <sup> and <sub> that are open

    def updatepos(self, i: int, j: int) -> int:
        """Notes how far the parser is, beside line and column."""
        self.parsed = j
        return super().updatepos(i, j)

    def take(self, text: str) -> None:
        """Parses a part of the page; a tag or comment that does not end for long is left out.

        The parser needs quadratic time for tags that are never closed.
        """
        if self.skipped_until:
            end = text.find(self.skipped_until)
            skipped = text if end < 0 else text[: end + len(self.skipped_until)]
            self.lineno += skipped.count("\n")
            if end < 0:
                return
            text, self.skipped_until = text[len(skipped) :], ""
        self.parsed = 0
        self.feed(text)
        if len(self.rawdata) > MAX_TAG:
            self._drop()

    def _drop(self) -> None:
        self.skipped_until = "" if self.cdata_elem else "-->" if self.rawdata.startswith("<!--") else ">"
        self.updatepos(0, len(self.rawdata))
        self.rawdata = ""
        if self.skipped_until:
            said = f"a tag or comment of more than {MAX_TAG >> 10} KB left out"
            self.source.problems.append(Problem(self.source.name, said, self.lineno))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self.hidden.is_inside and self.hidden.holds_start(tag):
            return
        values = dict(attrs)
        unseen = "hidden" in values or _INVISIBLE.search(values.get("style") or "") is not None
        if tag in _HIDDEN or (unseen and tag not in VOID):
            self.hidden.open(tag)
        elif tag == "table" and len(self.tables) < MAX_DEPTH:
            self.tables.append(_Table())
        elif self.tables and tag == "tr":
            self._end_cell()
            self.tables[-1].rows.append([])
            self.tables[-1].places.append(self.getpos())
        elif self.tables and tag == "caption":
            self.tables[-1].caption = []
            self._add("\n\n")
        elif self.tables and tag in ("td", "th"):
            self._start_cell(tag, values)
        elif tag in SHIFTED:
            self.shifted.append(tag)
        elif tag in _BLOCKS:
            self.shifted.clear()  # one that is never closed ends with its block
            self._break("\n\n" if tag != "br" else "\n")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _BLOCKS and not self.hidden.is_inside:  # <br/>; others that end at once have no text
            self._break("\n")

    def handle_endtag(self, tag: str) -> None:
        if self.hidden.is_inside and self.hidden.holds_end(tag):
            return
        if self.tables and tag in ("td", "th", "tr"):
            self._end_cell()
        elif self.tables and tag == "caption":
            self.tables[-1].title = " ".join("".join(self.tables[-1].caption or ()).split())
            self.tables[-1].caption = None
            self._add("\n\n")
        elif tag == "table" and self.tables:
            self._end_table()
        elif tag in SHIFTED:
            self.shifted = self.shifted[:-1]
        elif tag in _BLOCKS:
            self._break("\n\n")

    def handle_data(self, data: str) -> None:
        if self.hidden.is_inside:
            return
        shown = shifted_text(data, self.shifted[-1]) if self.shifted else data
        if self.tables and (caption := self.tables[-1].caption) is not None:
            caption.append(shown)  # it is the table's title, and a text that may be wrong itself
        elif self.tables:
            if self.tables[-1].parts is not None:
                self.tables[-1].parts.append(shown)
            return
        if data.strip():
            end = self.rawdata.find("<", self.parsed)
            raw = self.rawdata[self.parsed : end if end >= 0 else None]
            start = 0
            for size, place in placed_pieces(raw, data, self.getpos()):
                self._add(shown[start : start + size], place)
                start += size
        elif self.parts and not self.parts[-1][-1:].isspace():
            self._add(" ")  # between two elements of a line: <b>28</b> <i>km</i>

    def finished(self) -> Iterator[Document]:
        """The documents that are complete."""
        while self.done:
            yield self.done.pop(0)

    def end(self) -> None:
        """Ends the page: tables that are still open, and the text."""
        if len(self.rawdata) > MAX_OPEN_TAG and ">" not in self.rawdata:
            self._drop()
        self.close()
        while self.tables:
            self._end_table()
        self.flush()

    def flush(self) -> None:
        """Ends the text so far."""
        text = "".join(self.parts)
        if text.strip() and self.anchors:
            self.done.append(
                Document(
                    kind="text",
                    source=self.source.name,
                    text=text,
                    anchors=tuple(self.anchors),
                    lines=tuple(line for line, _ in self.places),
                    columns=tuple(column + 1 for _, column in self.places),
                    ignored=self.source.ignored,
                )
            )
        self.parts, self.anchors, self.places, self.size = [], [], [], 0

    def _add(self, text: str, place: tuple[int, int] | None = None) -> None:
        if place is not None:
            if place != self.next_place or not self.anchors:
                self.anchors.append(self.size)
                self.places.append(place)
            self.next_place = (place[0], place[1] + len(text)) if "\n" not in text else (0, 0)
        else:
            self.next_place = (0, 0)
        self.parts.append(text)
        self.size += len(text)
        if self.size > MAX_TEXT:
            self.flush()

    def _break(self, text: str) -> None:
        if self.tables:
            if self.tables[-1].parts is not None:
                self.tables[-1].parts.append("\n")
            return
        self._add(text)
        if self.size > BLOCK:
            self.flush()

    def _start_cell(self, tag: str, values: dict[str, str | None]) -> None:
        self._end_cell()
        self.shifted.clear()
        table = self.tables[-1]
        if not table.rows:
            table.rows.append([])
            table.places.append(self.getpos())
        spans = [_span(values.get(name)) for name in ("colspan", "rowspan")]
        table.rows[-1].append(Cell("", spans[0], spans[1], is_head=tag == "th"))
        table.parts = []

    def _end_cell(self) -> None:
        table = self.tables[-1]
        if table.parts is not None and table.rows and table.rows[-1]:
            table.rows[-1][-1].text = " ".join("".join(table.parts).split())
        table.parts = None

    def _end_table(self) -> None:
        """Ends the innermost table; one that only arranges the page is text."""
        self._end_cell()
        table = self.tables.pop()
        heads = 0
        for row in table.rows:
            if not row or not all(cell.is_head or not cell.text for cell in row):
                break
            heads += 1
        found = table_of_grid(
            grid_of(table.rows), heads=heads, source=self.source.name, caption=table.title,
            lines=[line for line, _ in table.places], ignored=self.source.ignored,
        )  # fmt: skip
        if found is not None:
            self.done.append(found)
        elif not self.tables:
            for row, place in zip(table.rows, table.places, strict=True):
                for cell in row:
                    self._add("\n\n")
                    self._add(cell.text, place)
            self._add("\n\n")
        elif self.tables[-1].parts is not None:
            self.tables[-1].parts += [f"{cell.text}\n" for row in table.rows for cell in row]


def _span(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 5 else 1
