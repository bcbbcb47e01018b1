"""HTML pages as documents: the visible text in blocks, and tables."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import TYPE_CHECKING

from numerate.apps.documents import Document
from numerate.apps.formats.source_lines import Lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.documents import Problem
    from numerate.apps.formats.source_lines import Source

__all__ = ["read_html"]

_HIDDEN = frozenset(("script", "style", "template", "noscript", "code", "pre", "svg", "math", "head"))
_BLOCKS = frozenset(
    [
        "p",
        "div",
        "section",
        "article",
        "li",
        "ul",
        "ol",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "blockquote",
        "br",
        "hr",
        "tr",
        "table",
        "main",
        "aside",
        "header",
        "footer",
        "dd",
        "dt",
        "figcaption",
    ]
)
BLOCK = 64 * 1024


def read_html(source: Source) -> Iterator[Document | Problem]:
    """The text of a page with the line of each piece, and each table with its rows; scripts and code are left out."""
    lines = Lines(source)
    page = _Page(source)
    for line in lines:
        page.feed(line + "\n")
        yield from page.finished()
    page.close()
    page.flush()
    yield from page.finished()
    yield from source.named_problems()


class _Page(HTMLParser):
    def __init__(self, source: Source) -> None:
        super().__init__(convert_charrefs=True)
        self.source = source
        self.done: list[Document] = []
        self.hidden = 0
        self.parts: list[str] = []
        self.anchors: list[int] = []
        self.places: list[tuple[int, int]] = []
        self.size = 0
        self.tables: list[list[tuple[int, list[str]]]] = []
        self.cell: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _HIDDEN:
            self.hidden += 1
        elif tag == "table":
            self.tables.append([])
        elif tag == "tr" and self.tables:
            self._end_cell()
            self.tables[-1].append((self.getpos()[0], []))
        elif tag in ("td", "th") and self.tables and self.tables[-1]:
            self._end_cell()
            self.cell = []
        elif tag in _BLOCKS and not self.tables:
            self._add("\n\n" if tag != "br" else "\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in _HIDDEN:
            self.hidden = max(0, self.hidden - 1)
        elif tag in ("td", "th", "tr"):
            self._end_cell()
        elif tag == "table" and self.tables:
            self._end_cell()
            self._table(self.tables.pop())
        elif tag in _BLOCKS and not self.tables:
            self._add("\n\n")
            if self.size > BLOCK:
                self.flush()

    def handle_data(self, data: str) -> None:
        if self.hidden:
            return
        if self.cell is not None:
            self.cell.append(data)
        elif not self.tables and data.strip():
            line, column = self.getpos()
            self.anchors.append(self.size)
            self.places.append((line, column + 1))
            self._add(data)

    def finished(self) -> Iterator[Document]:
        """The documents that are complete."""
        while self.done:
            yield self.done.pop(0)

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
                    columns=tuple(column for _, column in self.places),
                    ignored=self.source.ignored,
                )
            )
        self.parts, self.anchors, self.places, self.size = [], [], [], 0

    def _add(self, text: str) -> None:
        self.parts.append(text)
        self.size += len(text)

    def _end_cell(self) -> None:
        if self.cell is not None and self.tables and self.tables[-1]:
            self.tables[-1][-1][1].append(" ".join("".join(self.cell).split()))
        self.cell = None

    def _table(self, rows: list[tuple[int, list[str]]]) -> None:
        rows = [(line, cells) for line, cells in rows if any(cells)]
        if len(rows) < 2:
            return
        header = rows[0][1]
        width = len(header)
        cells = [(row + [""] * width)[:width] for _, row in rows[1:]]
        self.done.append(
            Document(
                kind="table",
                source=self.source.name,
                header=header,
                rows=cells,
                lines=[line for line, _ in rows[1:]],
                ignored=self.source.ignored,
            )
        )
