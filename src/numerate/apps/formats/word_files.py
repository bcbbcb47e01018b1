"""DOCX files as documents: paragraphs, notes, headers and footers as one text, and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numerate.apps.documents import Document, Problem
from numerate.apps.formats.html_characters import shifted_text
from numerate.apps.formats.office import ExtraMissingError, archive_of
from numerate.apps.formats.table_shape import Cell, grid_of, table_of_grid

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.formats.source_lines import Source

__all__ = ["read_docx"]

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_CHOICE = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_SHIFTS = {"superscript": "sup", "subscript": "sub"}
_PARTS = ("footnotes", "endnotes", "comments", "header", "footer")
MAX_DEPTH = 30


def read_docx(source: Source) -> Iterator[Document | Problem]:
    """Tables as tables, and the paragraphs as one text; the line of a finding is the number of its paragraph.

    In a table, it is that of the paragraph above it, so that tables can be told apart.
    Footnotes, endnotes, comments, headers and footers follow the paragraphs of the body.

    Raises:
        ExtraMissingError: python-docx is not installed.
    """
    try:
        import docx
    except ImportError:
        raise ExtraMissingError(
            f'{source.name}: reading DOCX needs python-docx: pip install "numerate[check]"'
        ) from None
    data = archive_of(source, "a DOCX")
    if isinstance(data, Problem):
        yield data
        return
    try:
        file: Any = docx.Document(data)
        body = file.element.body
        others = [part for part in file.part.package.iter_parts() if _is_text(str(part.partname))]
    except Exception as error:  # whatever python-docx and lxml raise for a damaged file
        yield _unreadable(source, error)
        return
    reading = _Reading(source)
    yield from reading.block(body)
    for part in sorted(others, key=lambda each: str(each.partname)):
        try:
            root = _root(part)
        except Exception as error:
            yield Problem(source.name, f"{part.partname}: {' '.join(str(error).split())[:100]}")
            continue
        yield from reading.block(root)
    yield from reading.text()


class _Reading:
    """Paragraphs and tables in the order of the file."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.paragraphs: list[tuple[int, str]] = []
        self.count = 0

    def block(self, element: Any, depth: int = 0) -> Iterator[Document]:
        """The tables inside of an element; its paragraphs are kept."""
        for child in element:
            if child.tag == f"{_W}p":
                self.count += 1
                text = _text(child)
                if text.strip():
                    self.paragraphs.append((self.count, text))
                if depth < MAX_DEPTH:
                    for box in child.iter(f"{_W}txbxContent"):
                        if not any(parent.tag == _CHOICE for parent in box.iterancestors()):
                            yield from self.block(box, depth + 1)
            elif child.tag == f"{_W}tbl" and depth < MAX_DEPTH:
                yield from self.table(child, depth)
            elif isinstance(child.tag, str) and depth < MAX_DEPTH:
                yield from self.block(child, depth + 1)

    def table(self, element: Any, depth: int) -> Iterator[Document]:
        """A table, and those inside of its cells; one that only arranges the page is text."""
        rows: list[list[Cell]] = []
        heads = 0
        for row in element.iter(f"{_W}tr"):
            if next(row.iterancestors(f"{_W}tbl")) is not element:
                continue
            cells: list[Cell] = []
            for cell in row.iter(f"{_W}tc"):
                if next(cell.iterancestors(f"{_W}tr")) is not row:
                    continue
                text = "\n".join(_text(each) for each in cell.iterchildren(f"{_W}p")).strip()
                joined = _property(cell, "vMerge")  # the cells below a merged one repeat nothing
                cells.append(Cell("" if joined in ("", "continue") else text, _columns(cell)))
                for inner in cell.iterchildren(f"{_W}tbl"):
                    yield from self.table(inner, depth + 1)
            is_head = row.find(f"{_W}trPr/{_W}tblHeader") is not None
            heads += is_head and heads == len(rows)
            is_head = is_head or (not rows and len(cells) > 1)  # one cell alone is a title
            rows.append([Cell(each.text, each.columns, is_head=is_head) for each in cells])
        above = max(1, self.count)
        found = table_of_grid(
            grid_of(rows), heads=heads, source=self.source.name, lines=[above] * len(rows)
        )  # fmt: skip
        if found is not None:
            yield found
        else:
            self.count += 1
            self.paragraphs += [(self.count, cell.text) for row in rows for cell in row if cell.text]

    def text(self) -> Iterator[Document]:
        """All paragraphs as one text."""
        anchors, size = [], 0
        for _, text in self.paragraphs:
            anchors.append(size)
            size += len(text) + 2
        if anchors:
            yield Document(
                kind="text", source=self.source.name, text="\n\n".join(text for _, text in self.paragraphs),
                anchors=anchors, lines=[number for number, _ in self.paragraphs],
            )  # fmt: skip


def _text(paragraph: Any) -> str:
    """The text of a paragraph with its hyperlinks and insertions, without text boxes and what was deleted or hidden.

    Raised and lowered digits become those of Unicode, or `5 m2` and `108` would be read.
    """
    parts: list[str] = []
    for node in paragraph.iter(f"{_W}t", f"{_W}tab", f"{_W}br", f"{_W}cr", f"{_W}noBreakHyphen"):
        if next(node.iterancestors(f"{_W}p")) is not paragraph or _is_unseen(node):
            continue
        name = node.tag.removeprefix(_W)
        if name == "tab" and node.getparent().tag != f"{_W}r":  # a tab stop of the style
            continue
        text = {"t": node.text or "", "noBreakHyphen": "-"}.get(name, " ")
        shift = node.getparent().find(f"{_W}rPr/{_W}vertAlign")
        tag = _SHIFTS.get("" if shift is None else shift.get(f"{_W}val", ""))
        parts.append(text if tag is None else shifted_text(text, tag))
    return "".join(parts).replace("\n", " ")


def _is_unseen(node: Any) -> bool:
    """Whether a piece of text was moved elsewhere, or is formatted as hidden."""
    hidden = node.getparent().find(f"{_W}rPr/{_W}vanish")
    if hidden is not None and hidden.get(f"{_W}val", "true") not in ("0", "false", "off"):
        return True
    return next(node.iterancestors(f"{_W}moveFrom"), None) is not None


def _columns(cell: Any) -> int:
    text = _property(cell, "gridSpan") or "1"
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 5 else 1


def _property(cell: Any, name: str) -> str | None:
    """A property of a cell: its value, an empty text if it has none, None if it is not there."""
    found = cell.find(f"{_W}tcPr/{_W}{name}")
    return None if found is None else found.get(f"{_W}val", "")


def _is_text(name: str) -> bool:
    return name.startswith("/word/") and name.rpartition("/")[2].startswith(_PARTS) and name.endswith(".xml")


def _root(part: Any) -> Any:
    element = getattr(part, "element", None)
    if element is not None:
        return element
    from docx.oxml import parse_xml

    return parse_xml(part.blob)


def _unreadable(source: Source, error: Exception) -> Problem:
    said = " ".join(str(error).split())[:100] or type(error).__name__
    return Problem(source.name, f"not a DOCX file: {said}; save it again in the program it comes from", fatal=True)
