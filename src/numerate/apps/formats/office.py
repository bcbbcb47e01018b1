"""XLSX and DOCX files as documents, with the packages of the extra `check`."""

from __future__ import annotations

import datetime
import io
import re
import zipfile
from typing import TYPE_CHECKING, Any

from numerate.apps.documents import Document, Problem
from numerate.errors import NumerateError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.formats.source_lines import Source

__all__ = ["ExtraMissingError", "read_docx", "read_xlsx"]

ROWS = 20_000
_DECIMALS = re.compile(r"0(?:\.(0+))?(%)?")


class ExtraMissingError(NumerateError, ImportError):
    """A package of the extra `check` is not installed."""


def read_xlsx(source: Source) -> Iterator[Document | Problem]:
    """Each sheet as a table: the first row that is not empty names the columns; formulas count by their last value.

    Raises:
        ExtraMissingError: openpyxl is not installed.
    """
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise ExtraMissingError(f'{source.name}: reading XLSX needs openpyxl: pip install "numerate[check]"') from None
    try:
        book = load_workbook(_seekable(source), read_only=True, data_only=True)
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        yield Problem(source.name, f"not an XLSX file: {' '.join(str(error).split())[:100]}", fatal=True)
        return
    try:
        for sheet in book.worksheets:
            yield from _sheet(source, sheet)
    finally:
        book.close()


def read_docx(source: Source) -> Iterator[Document | Problem]:
    """Paragraphs as texts and tables as tables, in their order.

    Raises:
        ExtraMissingError: python-docx is not installed.
    """
    try:
        import docx
        from docx.opc.exceptions import PackageNotFoundError
        from docx.table import Table
        from docx.text.paragraph import Paragraph
    except ImportError:
        raise ExtraMissingError(
            f'{source.name}: reading DOCX needs python-docx: pip install "numerate[check]"'
        ) from None
    try:
        file = docx.Document(_seekable(source))
    except (OSError, KeyError, ValueError, zipfile.BadZipFile, PackageNotFoundError) as error:
        yield Problem(source.name, f"not a DOCX file: {' '.join(str(error).split())[:100]}", fatal=True)
        return
    texts: list[str] = []
    for part in file.iter_inner_content():
        if isinstance(part, Paragraph):
            texts.append(part.text)
        elif isinstance(part, Table):
            rows = [[cell.text.strip() for cell in row.cells] for row in part.rows]
            if len(rows) > 1:
                width = len(rows[0])
                cells = [(row + [""] * width)[:width] for row in rows[1:]]
                yield Document(kind="table", source=source.name, header=rows[0], rows=cells)
    if any(text.strip() for text in texts):
        yield Document(kind="text", source=source.name, text="\n\n".join(texts))


def _seekable(source: Source) -> io.BytesIO:
    """The whole file: both formats are archives whose table of contents stands at the end."""
    data = source.stream.read()
    source.on_position(len(data))
    return io.BytesIO(data)


def _sheet(source: Source, sheet: Any) -> Iterator[Document]:
    header: list[str] = []
    kept: list[list[str]] = []
    numbers: list[int] = []
    start = 0
    for number, row in enumerate(sheet.iter_rows(), 1):
        cells = [_cell(cell) for cell in row]
        if not any(cells):
            continue
        if not header:
            header = [cell or f"column {index}" for index, cell in enumerate(cells, 1)]
            continue
        if len(kept) == ROWS:
            yield _table(source, sheet.title, header, kept, numbers, start, is_last=False)
            start, kept, numbers = start + ROWS, [], []
        kept.append((cells + [""] * len(header))[: len(header)])
        numbers.append(number)
    if kept:
        yield _table(source, sheet.title, header, kept, numbers, start, is_last=True)


def _table(
    source: Source,
    title: str,
    header: list[str],
    rows: list[list[str]],
    numbers: list[int],
    start: int,
    *,
    is_last: bool,
) -> Document:
    return Document(
        kind="table", source=source.name, header=header, rows=rows, lines=numbers, first_row=start, caption=title,
        is_last=is_last,
    )  # fmt: skip


def _cell(cell: Any) -> str:
    """The value of a cell as its number format shows it."""
    value = cell.value
    if value is None or isinstance(value, bool):
        return "" if value is None else str(value).lower()
    if isinstance(value, datetime.datetime):
        return value.date().isoformat() if value.time() == datetime.time() else value.isoformat(" ")
    if isinstance(value, datetime.time):
        return value.strftime("%H:%M")
    if not isinstance(value, int | float):
        return str(value).strip()
    shown = _DECIMALS.search(cell.number_format or "")
    if shown is not None and cell.number_format not in ("General", "@"):
        size, decimals = (100 * value if shown[2] else value), len(shown[1] or "")
        return f"{size:.{decimals}f}{'%' if shown[2] else ''}"
    return f"{value:.15g}"
