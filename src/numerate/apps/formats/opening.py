"""`read_documents`: the documents of a file by its name, or by its first bytes."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from numerate.apps.documents import Document, Problem
from numerate.apps.formats.delimited import read_delimited, read_tabs
from numerate.apps.formats.html_pages import read_html
from numerate.apps.formats.json_records import read_json, read_json_lines
from numerate.apps.formats.latex import read_latex
from numerate.apps.formats.office import read_xlsx
from numerate.apps.formats.source_lines import Source
from numerate.apps.formats.streams import SNIFFED, Gunzip, Recoded, binary_kind, first_bytes, open_bytes, text_encoding
from numerate.apps.formats.text import read_markdown, read_text
from numerate.apps.formats.word_files import read_docx
from numerate.errors import BadInput
from numerate.registry import near_names

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FORMATS", "check_format", "format_of", "read_documents", "suffix_format", "text_documents"]

Reader = Callable[[Source], Iterator[Document | Problem]]
FORMATS: Mapping[str, Reader] = {
    "text": read_text, "markdown": read_markdown, "latex": read_latex, "html": read_html, "csv": read_delimited,
    "tsv": read_tabs, "json": read_json, "jsonl": read_json_lines, "xlsx": read_xlsx, "docx": read_docx,
}  # fmt: skip
"""Name of a format -> its reader."""
_BINARY = ("xlsx", "docx")
_SUFFIXES = {
    ".txt": "text", ".text": "text", ".rst": "text", ".tex": "latex", ".log": "text", ".md": "markdown",
    ".markdown": "markdown", ".html": "html", ".htm": "html", ".xhtml": "html", ".csv": "csv", ".tsv": "tsv",
    ".tab": "tsv", ".json": "json", ".geojson": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".xlsx": "xlsx",
    ".xlsm": "xlsx", ".docx": "docx",
}  # fmt: skip
_HTML = re.compile(rb"\s*(?:<!--.*?-->\s*)?<(?:!doctype html|html|body|head|div|table|p)\b", re.IGNORECASE | re.DOTALL)

_CITATION = re.compile(rb"\[[^\[\]{}\"\n]*\][ \t]*[^\W\d_]")
"""A text that begins with a citation or a label, `[1] Miller found`, which is no JSON."""
_TABLE_ROW = re.compile(rb"^\s*\|?(?:\s*:?-{3,}:?\s*\|)+", re.MULTILINE)
"""The line below the header of a Markdown table."""


def read_documents(
    path: str, kind: str | None = None, on_position: Callable[[int], None] | None = None
) -> Iterator[Document | Problem]:
    """The documents of a file, and what could not be read of it.

    Args:
        path: The file; `-` is standard input, and `*.gz` is decompressed.
        kind: A name of `FORMATS`; None decides by the suffix, or by the first bytes.
        on_position: Called with the number of bytes read so far.

    Raises:
        BadInput: The file does not exist, or the format has no such name.
    """
    check_format(kind)
    stream = open_bytes(path)
    name = "standard input" if path == "-" else path
    source = Source(name, stream, on_position or (lambda position: None))
    try:
        try:
            start = _unpacked(source, path)
        except OSError as error:
            yield Problem(name, f"cannot be read: {(error.strerror or str(error)).lower()}", fatal=True)
            return
        if not start.strip():
            said = "empty file, nothing to check" if not source.problems else source.problems.pop().message
            yield Problem(name, said, fatal=True, is_harmless=not said.startswith("damaged"))
            return
        chosen = kind or format_of(path, start)
        if chosen not in _BINARY:
            start, source.stream = _recoded(source.stream, start)
            chosen = chosen or format_of(path, start)
            what = binary_kind(start)
            if chosen is None or what is not None:
                said = f"binary file left out, {what or 'not text'}"
                yield Problem(name, said, fatal=True, is_harmless=True)
                return
        yield from FORMATS[chosen](source)
        yield from source.named_problems()
    finally:
        if path != "-":
            source.stream.close()


def text_documents(text: str, kind: str | None = None) -> Iterator[Document | Problem]:
    """The documents of a text that is at hand, as a file with this content would give them.

    Args:
        text: The text.
        kind: A name of `FORMATS` but those of binary files; None: Markdown or CSV if there is a table, else text.

    Raises:
        BadInput: The format has no such name, or is one of binary files.
    """
    check_format(kind)
    if kind in _BINARY:
        raise BadInput(f"format {kind!r} is one of binary files: give a pathlib.Path")
    content = text.encode("utf-8", "replace")
    chosen = kind or format_of("-", content[:SNIFFED])
    if chosen is None or (kind is None and chosen not in ("markdown", "csv", "tsv")):
        chosen = "text"  # a text that looks like JSON or HTML may be one about it
    if chosen == "text":  # as it stands, so that spans are places in it
        yield Document(kind="text", text=text)
        return
    source = Source("text", io.BytesIO(content))
    yield from FORMATS[chosen](source)
    yield from source.named_problems()


def check_format(kind: str | None) -> None:
    """Checks the name of a format; None is allowed.

    Raises:
        BadInput: The name is unknown.
    """
    if kind is not None and kind not in FORMATS:
        raise BadInput(f"unknown format {kind!r}: {near_names(kind, list(FORMATS))}")


def suffix_format(path: str) -> str | None:
    """The format that the name of a file tells; None if it tells none.

    Example:
        >>> suffix_format("a.CSV.gz"), suffix_format("a.png")
        ('csv', None)
    """
    name = path.lower().removesuffix(".gz")
    return _SUFFIXES.get(Path(name).suffix)


def format_of(path: str, start: bytes) -> str | None:
    """The format of a file by the suffix of its name, else by its first bytes; None for a binary file.

    Example:
        >>> format_of("a.csv.gz", b""), format_of("-", b'[{"a": 1}]'), format_of("notes", b"It is 5 km.")
        ('csv', 'json', 'text')
    """
    if (kind := suffix_format(path)) is not None:
        return kind
    if start.startswith(b"PK\x03\x04"):
        return "docx" if b"word/" in start else "xlsx" if b"xl/" in start or b"[Content_Types]" in start else None
    if binary_kind(start) is not None:
        return None
    if _HTML.match(start):
        return "html"
    head = start.lstrip()
    if head[:1] in (b"{", b"[") and not _CITATION.match(head):
        return "jsonl" if head[:1] == b"{" and b"}\n{" in start else "json"
    if _TABLE_ROW.search(start):
        return "markdown"
    return _delimited(start) or "text"


def _delimited(start: bytes) -> str | None:
    r"""`csv` or `tsv` if the first lines have the same number of separators, at least two each; else None.

    Example:
        >>> _delimited(b"a,b,c\n1,2,3\n4,5,6\n"), _delimited(b"One, two, 3.\nFour, five, 6.\nSeven, eight, 9.\n")
        ('csv', None)
    """
    lines = [line for line in start.splitlines()[:20] if line.strip()]
    lines = lines[:-1] if len(lines) > 3 else lines  # the last one may be cut off
    if len(lines) < 3:
        return None
    for mark, kind in ((b"\t", "tsv"), (b";", "csv"), (b",", "csv")):
        counts = {line.count(mark) for line in lines}
        if len(counts) == 1 and counts.pop() >= 2 and not any(mark + b" " in line for line in lines):
            return kind
    return None


def _unpacked(source: Source, path: str) -> bytes:
    """Decompresses the stream of a source if its first bytes say so; returns the first bytes of the content."""
    start, source.stream = first_bytes(source.stream)
    if start.startswith(b"\x1f\x8b"):
        source.stream = io.BufferedReader(Gunzip(source.stream, source.damaged), 1 << 16)
        start = source.stream.peek(SNIFFED)[:SNIFFED]
    elif path.endswith(".gz") and start:
        source.problems.append(Problem(source.name, "not compressed in spite of its name", is_note=True))
    return start


def _recoded(stream: BinaryIO, start: bytes) -> tuple[bytes, BinaryIO]:
    """First bytes and stream as UTF-8 with line feeds."""
    encoding, mark = text_encoding(start)
    is_old_mac = b"\r" in start and b"\n" not in start
    if encoding == "utf-8" and not is_old_mac:
        return start, stream
    if encoding != "utf-8":
        stream.read(mark)
    recoded = io.BufferedReader(Recoded(stream, encoding), 1 << 16)
    return recoded.peek(SNIFFED)[:SNIFFED], recoded
