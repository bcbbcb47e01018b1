"""XLSX and DOCX files as documents, with the packages of the extra `check`."""

from __future__ import annotations

import datetime
import io
import itertools
import re
import warnings
import zipfile
from typing import TYPE_CHECKING, Any

from numerate.apps.documents import Document, Problem
from numerate.apps.formats.cell_formats import shown_number
from numerate.apps.formats.table_shape import LEADING, column_names, header_document, is_data, title_rows
from numerate.errors import NumerateError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.formats.source_lines import Source

__all__ = ["ExtraMissingError", "archive_of", "read_xlsx"]

ROWS = 20_000
MAX_ARCHIVE = 1 << 30
"""Bytes of a file; larger ones are refused."""
MAX_UNPACKED = 4 << 30
"""Bytes of its parts together: a small archive can stand for any number of them."""
_NO_VALUE = re.compile(rb"(<c\b[^>]*>)\s*<f\b[^>]*(?:/>|>[^<]*</f>)(\s*<v>\s*</v>|\s*<v\s*/>)?\s*</c>")
_TEXT = re.compile(rb"\bt=[\"']str[\"']")
"""A cell of a formula whose value is a text; one that is stored as empty is a value: `=IF(A1="","",A1)`."""
_ERRORS = frozenset(("#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!", "#SPILL!", "#CALC!"))


class ExtraMissingError(NumerateError, ImportError):
    """A package of the extra `check` is not installed."""


def archive_of(source: Source, what: str) -> io.BytesIO | Problem:
    """The whole file, whose table of contents stands at its end; or what is wrong with it.

    Args:
        source: The file.
        what: What it should be, with its article.
    """
    data = source.stream.read(MAX_ARCHIVE + 1)
    source.on_position(len(data))
    if len(data) > MAX_ARCHIVE:
        return Problem(source.name, f"larger than {MAX_ARCHIVE >> 20} MB: write its tables as CSV", fatal=True)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(part.file_size for part in archive.infolist())
            if any(part.flag_bits & 1 for part in archive.infolist()):
                return Problem(source.name, "protected by a password: save it without", fatal=True)
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        said = " ".join(str(error).split())[:100]
        return Problem(source.name, f"not {what} file: {said}; save it again in the program it comes from", fatal=True)
    if size > MAX_UNPACKED:
        return Problem(source.name, f"unpacks to {size >> 20} MB: write its tables as CSV", fatal=True)
    return io.BytesIO(data)


def read_xlsx(source: Source) -> Iterator[Document | Problem]:
    """Each sheet as a table: the first row that is no title names the columns; formulas count by their stored value.

    Titles above it are texts.

    Raises:
        ExtraMissingError: openpyxl is not installed.
    """
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise ExtraMissingError(f'{source.name}: reading XLSX needs openpyxl: pip install "numerate[check]"') from None
    data = archive_of(source, "an XLSX")
    if isinstance(data, Problem):
        yield data
        return
    if count := _uncomputed(data):
        said = f"{count} formula{'s' * (count > 1)} without a stored value: save the file in a spreadsheet program"
        yield Problem(source.name, said)
    with warnings.catch_warnings():  # of styles and extensions that openpyxl does not know
        warnings.simplefilter("ignore")
        try:
            book = load_workbook(data, read_only=True, data_only=True)
        except Exception as error:  # whatever openpyxl raises for a file that is not as it should be
            yield _unreadable(source, error)
            return
        for sheet in book.worksheets:
            try:
                yield from _sheet(source, sheet)
            except NumerateError:
                raise
            except Exception as error:
                yield _unreadable(source, error, f"sheet {sheet.title!r}: ")
        book.close()


def _unreadable(source: Source, error: Exception, where: str = "") -> Problem:
    is_told = isinstance(error, KeyError | OSError | ValueError | zipfile.BadZipFile)
    said = " ".join(str(error).split())[:100] if is_told else f"a part cannot be read ({type(error).__name__})"
    return Problem(source.name, f"{where}not an XLSX file: {said}; save it again in a spreadsheet program", fatal=True)


def _uncomputed(data: io.BytesIO) -> int:
    """Formulas without a stored value, which programs other than spreadsheets write."""
    count = 0
    with zipfile.ZipFile(data) as archive:
        for name in archive.namelist():
            if name.startswith("xl/worksheets/") and name.endswith(".xml"):
                try:
                    with archive.open(name) as part:
                        rest = b""
                        while chunk := part.read(1 << 20):
                            whole = rest + chunk
                            end = whole.rfind(b"</c>") + 4
                            found = _NO_VALUE.findall(whole[:end])
                            count += sum(not (value and _TEXT.search(cell)) for cell, value in found)
                            rest = whole[end if end > 3 else 0 :][-(1 << 16) :]
                except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
                    continue  # openpyxl says what is wrong with it
    data.seek(0)
    return count


def _sheet(source: Source, sheet: Any) -> Iterator[Document | Problem]:
    sheet.reset_dimensions()  # what the file says of its size may be wrong
    rows = ((number, [_cell(cell) for cell in row]) for number, row in enumerate(sheet.iter_rows(), 1))
    filled = ((number, cells) for number, cells in rows if any(cells))
    first = list(itertools.islice(filled, LEADING))
    skipped = title_rows([cells for _, cells in first])
    title = " ".join(cell for _, cells in first[:skipped] for cell in cells if cell)
    caption = f"{sheet.title}: {title[:200]}" if title else sheet.title
    for number, cells in first[:skipped]:
        text = " ".join(filter(None, cells))
        if any(map(str.isdecimal, text)):
            yield Document(kind="text", source=source.name, text=text, lines=[number], caption=sheet.title)
    header: list[str] = []
    kept: list[list[str]] = []
    numbers: list[int] = []
    start = errors = 0
    for number, cells in itertools.chain(first[skipped:], filled):
        errors += sum(cell in _ERRORS for cell in cells)
        if not header:
            width, has_data = max(len(row) for _, row in first), is_data(cells)
            header = column_names([] if has_data else cells, width)
            if not has_data:
                top = header_document(
                    cells, source=source.name, line=number, caption=caption, is_alone=len(first) == skipped + 1
                )
                if top is not None:
                    yield top
                continue
        if len(kept) == ROWS:
            yield _table(source, caption, header, kept, numbers, start, is_last=False)
            start, kept, numbers = start + ROWS, [], []
        header += column_names([], len(cells))[len(header) :]
        kept.append(cells + [""] * (len(header) - len(cells)))
        numbers.append(number)
    if kept:
        kept = [row + [""] * (len(header) - len(row)) for row in kept]
        yield _table(source, caption, header, kept, numbers, start, is_last=True)
    if errors:
        said = f"sheet {sheet.title!r}: {errors} cell{'s' * (errors > 1)} with an error such as #DIV/0!"
        yield Problem(source.name, said)


def _table(
    source: Source, title: str, header: list[str], rows: list[list[str]], numbers: list[int], start: int, *,
    is_last: bool,
) -> Document:  # fmt: skip
    return Document(
        kind="table", source=source.name, header=list(header), rows=rows, lines=numbers, first_row=start,
        caption=title, is_last=is_last,
    )  # fmt: skip


def _cell(cell: Any) -> str:
    """The value of a cell as its number format shows it."""
    value = cell.value
    if value is None or isinstance(value, bool):
        return "" if value is None else str(value).lower()
    if isinstance(value, datetime.datetime):
        return value.date().isoformat() if value.time() == datetime.time() else value.isoformat(" ")
    if isinstance(value, datetime.time):
        return value.strftime("%H:%M:%S" if value.second else "%H:%M")
    if isinstance(value, datetime.timedelta):  # of the format [h]:mm:ss, which shows days as hours
        seconds = round(value.total_seconds())
        minutes, rest = divmod(abs(seconds), 60)
        return f"{'-' if seconds < 0 else ''}{minutes // 60}:{minutes % 60:02}:{rest:02}"
    if not isinstance(value, int | float):
        return str(value).strip()
    return shown_number(value, cell.number_format)
