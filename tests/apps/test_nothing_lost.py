"""Every number of a table is read, in all formats and around all sizes at which a reader changes its way."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

import pytest

from numerate.apps.documents import Document
from numerate.apps.formats.opening import read_documents
from numerate.apps.formats.table_shape import LEADING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

HEADER = ("name", "count", "price")
SIZES = (2, 3, LEADING - 2, LEADING - 1, LEADING, LEADING + 1, 2 * LEADING + 5)


def rows_of(count: int) -> list[tuple[str, int, str]]:
    """Rows whose numbers are all different."""
    return [(f"thing {'abcdefghij'[row % 10]}", 10_000 + row, f"{20_000 + row}.5") for row in range(count)]


def write_xlsx(path: Path, rows: Sequence[Sequence[object]]) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (HEADER, *rows):
        book.active.append(row)
    book.save(path)


def write_docx(path: Path, rows: Sequence[Sequence[object]]) -> None:
    docx = pytest.importorskip("docx")
    file = docx.Document()
    table = file.add_table(rows=0, cols=len(HEADER))
    for row in (HEADER, *rows):
        for cell, text in zip(table.add_row().cells, row, strict=True):
            cell.text = str(text)
    file.save(path)


def write_csv(path: Path, rows: Sequence[Sequence[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",").writerows([HEADER, *rows])


def write_html(path: Path, rows: Sequence[Sequence[object]]) -> None:
    cells = ["".join(f"<td>{cell}</td>" for cell in row) for row in rows]
    head = "".join(f"<th>{cell}</th>" for cell in HEADER)
    path.write_text(f"<table><tr>{head}</tr>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>", encoding="utf-8")


def write_markdown(path: Path, rows: Sequence[Sequence[object]]) -> None:
    lines = [" | ".join(map(str, row)) for row in (HEADER, ("---",) * len(HEADER), *rows)]
    path.write_text("".join(f"| {line} |\n" for line in lines), encoding="utf-8")


def write_json(path: Path, rows: Sequence[Sequence[object]]) -> None:
    records = [dict(zip(HEADER, row, strict=True)) for row in rows]
    if path.suffix == ".jsonl":
        path.write_text("".join(f"{json.dumps(each)}\n" for each in records), encoding="utf-8")
    else:
        path.write_text(json.dumps({"data": records}, indent=1), encoding="utf-8")


WRITERS: dict[str, Callable[[Path, Sequence[Sequence[object]]], None]] = {
    "xlsx": write_xlsx, "docx": write_docx, "csv": write_csv, "tsv": write_csv, "html": write_html,
    "md": write_markdown, "json": write_json, "jsonl": write_json,
}  # fmt: skip


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("count", SIZES)
def test_all_rows_are_read(tmp_path: Path, kind: str, count: int) -> None:
    path, rows = tmp_path / f"table.{kind}", rows_of(count)
    WRITERS[kind](path, rows)
    documents = list(read_documents(str(path)))
    assert all(isinstance(each, Document) for each in documents)
    cells = [cell for each in documents if isinstance(each, Document) for row in each.rows for cell in row]
    assert sorted(cell for cell in cells if cell[:1].isdigit()) == sorted(str(cell) for row in rows for cell in row[1:])
