"""Files of all formats as documents, and files that are damaged."""

from __future__ import annotations

import gc
import gzip
import io
import json
import sys
import weakref
from typing import TYPE_CHECKING, Any

import pytest

from numerate.apps.check import CheckOptions, check, check_file
from numerate.apps.documents import Document, Problem
from numerate.apps.formats import delimited, json_records, office
from numerate.apps.formats.opening import format_of, read_documents
from numerate.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path

LAKE = "The lake is 28 km (27 mi) long."
CSV = "item,count,price,amount\na,2,3.50,7.00\nb,5,1.25,6.25\nc,4,2.20,8.80\nd,7,3.00,31.00\ne,3,9.10,27.30\n"


def read(path: Path, kind: str | None = None) -> tuple[list[Document], list[Problem]]:
    parts = list(read_documents(str(path), kind))
    return [each for each in parts if isinstance(each, Document)], [each for each in parts if isinstance(each, Problem)]


def places(path: Path) -> list[tuple[str, str, int | None]]:
    return sorted((each.rule, each.written, each.line) for each in check(path))


def test_text(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text(f"First.\n\n{LAKE}\nLast.\n", "utf-8")
    assert places(file) == [("conversion", "27 mi", 3)]
    assert check(file)[0].column == 20


def test_a_long_text_is_read_in_pieces(tmp_path: Path) -> None:
    file = tmp_path / "a.txt.gz"
    filler = "Nothing to see here, move along please.\n\n" * 2_000
    file.write_bytes(gzip.compress(f"{filler}{LAKE}\n\n{filler}{LAKE}".encode()))
    documents, problems = read(file)
    assert len(documents) > 2 and not problems
    assert places(file) == [("conversion", "27 mi", 4_001), ("conversion", "27 mi", 8_003)]


def test_markdown(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    table = "| a | b | sum |\n|---|---|---|\n| 11 | 22 | 33 |\n| 14 | 25 | 39 |\n| 31 | 13 | 44 |\n| 17 | 18 | 36 |\n"
    file.write_text(
        f"# Lakes\n\nThe lake is **28 km** (27 mi) long.\n\n```\n{LAKE}\n```\n\n{table}\n`28 km (27 mi)` | x\n"
    )
    assert places(file) == [("conversion", "27 mi", 3), ("relation", "36", 14)]


def test_html(tmp_path: Path) -> None:
    file = tmp_path / "a.html"
    file.write_text(
        "<html><head><title>28 km (27 mi)</title></head><body>\n<script>var x = '28 km (27 mi)';</script>\n"
        "<p>The lake is 28&nbsp;km\n (<b>27</b> mi) long.</p>\n<table><tr><th>a</th><th>b</th><th>total</th></tr>\n"
        "<tr><td>11</td><td>22</td><td>33</td></tr>\n<tr><td>14</td><td>25</td><td>39</td></tr>\n"
        "<tr><td>31</td><td>13</td><td>44</td></tr>\n<tr><td>17</td><td>18</td><td>36</td></tr></table></body>"
    )
    assert places(file) == [("conversion", "27 mi", 4), ("relation", "36", 9)]


def test_csv_with_any_delimiter(tmp_path: Path) -> None:
    for name, text in (("a.csv", CSV), ("b.csv", CSV.replace(",", ";")), ("c.tsv", CSV.replace(",", "\t"))):
        file = tmp_path / name
        file.write_text(text)
        found = check(file)
        assert [(each.rule, each.written, each.meant, each.cell, each.line) for each in found] == [
            ("relation", "31.00", "21.00", (3, 3), 5)
        ], name


def test_european_decimals(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text(CSV.replace(",", ";").replace(".", ","))
    assert [(each.written, each.cell) for each in check(file)] == [("31,00", (3, 3))]


def test_large_tables_come_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "ROWS", 50)
    file = tmp_path / "a.csv"
    rows = [f"{i},{i % 13 + 1},{i % 7 + 2}.50,{(i % 13 + 1) * (i % 7 + 2.5):.2f}" for i in range(175)]
    rows[160] = rows[160].rpartition(",")[0] + ",9999.00"
    file.write_text("id,count,price,amount\n" + "\n".join(rows))
    documents, _ = read(file)
    assert [(len(each), each.first_row, each.is_last) for each in documents] == [
        (50, 0, False), (50, 50, False), (50, 100, False), (25, 150, True),
    ]  # fmt: skip
    assert [(each.cell, each.line) for each in check(file)] == [((160, 3), 162)]


def test_pieces_are_freed_without_the_garbage_collector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.csv"
    file.write_text("a,b\n" + "".join(f"{i % 97},{i % 89}\n" for i in range(1_000)))
    monkeypatch.setattr(delimited, "ROWS", 100)
    alive: list[weakref.ref[Document]] = []
    whole = delimited._document

    def made(*given: Any, **options: Any) -> Document:
        document = whole(*given, **options)
        alive.append(weakref.ref(document))
        return document

    monkeypatch.setattr(delimited, "_document", made)
    gc.disable()
    try:
        check_file(str(file), CheckOptions(false_alarms=0.01))
        left = sum(each() is not None for each in alive)
    finally:
        gc.enable()
    assert (len(alive), left) == (20, 0), "read twice"


def test_json_and_json_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = [{"n": n, "price": {"one": p, "all": n * p}} for n, p in ((2, 3.5), (5, 1.25), (4, 2.2), (3, 9.1))]
    records.append({"n": 7, "price": {"one": 3.0, "all": 31.0}, "note": LAKE})  # type: ignore[dict-item]
    whole, lines, inside = tmp_path / "a.json", tmp_path / "b.jsonl", tmp_path / "c.json"
    whole.write_text(json.dumps(records))
    lines.write_text("\n".join(map(json.dumps, records)))
    inside.write_text(json.dumps({"title": "x", "orders": records, "size": "It is 28 km (27 mi) long."}))
    expected = [("conversion", "27 mi", "note"), ("relation", "31.0", "price.all")]
    for file in (whole, lines):
        assert sorted((each.rule, each.written, each.key) for each in check(file)) == expected
    assert sorted((each.rule, str(each.key)) for each in check(inside)) == [
        ("conversion", "note"), ("conversion", "size"), ("relation", "price.all"),
    ]  # fmt: skip
    assert next(each for each in check(lines) if each.rule == "relation").line == 5
    monkeypatch.setattr(json_records, "ROWS", 4)
    assert len(read(lines)[0]) == 2


def test_xlsx(tmp_path: Path) -> None:
    from openpyxl import Workbook

    book = Workbook()
    sheet: Any = book.active
    for row in CSV.splitlines():
        sheet.append([float(cell) if cell[0].isdecimal() else cell for cell in row.split(",")])
    second = book.create_sheet("Shares")
    for name, share in (("part", "share"), ("a", 0.5), ("b", 0.25), ("c", 0.2), ("Total", 1.0)):
        second.append([name, share])
    for cell in second["B"][1:]:
        cell.number_format = "0%"
    book.save(tmp_path / "a.xlsx")
    assert sorted((each.rule, each.written, each.line) for each in check(tmp_path / "a.xlsx")) == [
        ("relation", "31", 5), ("total", "100%", 5),
    ]  # fmt: skip


def test_docx(tmp_path: Path) -> None:
    import docx

    file = docx.Document()
    file.add_paragraph(LAKE)
    rows = [row.split(",") for row in CSV.splitlines()]
    table = file.add_table(len(rows), 4)
    for row, cells in zip(table.rows, rows, strict=True):
        for cell, text in zip(row.cells, cells, strict=True):
            cell.text = text
    file.save(str(tmp_path / "a.docx"))
    assert sorted((each.rule, each.written) for each in check(tmp_path / "a.docx")) == [
        ("conversion", "27 mi"), ("relation", "31.00"),
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "package"), [("a.xlsx", "openpyxl"), ("a.docx", "docx")])
def test_a_missing_extra_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, package: str) -> None:
    (tmp_path / name).write_bytes(b"PK\x03\x04 not really")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(office.ExtraMissingError, match=r'pip install "numerate\[check\]"'):
        read(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"", "empty file"),
        ("a.txt", b"  \n\n", "empty file"),
        ("a.txt", b"\x00\x01\x02" * 50, "binary file"),
        ("noname", b"\x7fELF\x00\x00", "binary file"),
        ("a.csv", b"\x89PNG\r\n\x1a\n\x00\x00", "binary file"),
        ("a.xlsx", b"not a workbook at all", "not an XLSX file"),
        ("a.docx", b"PK\x03\x04 not really", "not a DOCX file"),
        ("a.json", b'{"a": 1,', "not JSON"),
    ],
)
def test_files_that_cannot_be_read_are_named(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    documents, problems = read(tmp_path / name)
    assert not documents and len(problems) == 1 and problems[0].fatal
    assert message in problems[0].message and problems[0].source == str(tmp_path / name)


def test_broken_rows_are_named_and_the_rest_is_checked(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text(CSV.replace("b,5", "x,1,2\n\nb,5") + "f,1,2,3,4,5\n")
    outcome = check_file(str(file), CheckOptions())
    assert [(each.line, each.fatal) for each in outcome.problems] == [(3, False), (9, False)]
    assert [each.written for each in outcome.findings] == ["31.00"]
    lines = tmp_path / "b.jsonl"
    lines.write_text('{"t": "' + LAKE + '"}\n{"t": \nnull\n{"t": "x"}\n')
    outcome = check_file(str(lines), CheckOptions())
    assert [each.line for each in outcome.problems] == [2] and len(outcome.findings) == 1


def test_mixed_encodings(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes("Größe: 5 °C (9 °F).\n".encode() + "Größe: ".encode("cp1252") + LAKE.encode() + b"\n")
    outcome = check_file(str(file), CheckOptions())
    assert [each.message for each in outcome.problems] == ["1 line is not UTF-8 and read as Windows-1252"]
    assert [(each.written, each.line) for each in outcome.findings] == [("27 mi", 2)]
    wide = tmp_path / "b.txt"
    wide.write_text(LAKE, "utf-16")
    assert len(check(wide)) == 1


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    for text, kind in ((LAKE, None), (CSV, "csv"), (json.dumps([{"a": LAKE}]), None)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        outcome = check_file("-", CheckOptions(kind=kind))
        assert [each.source for each in outcome.findings] == ["standard input"]


def test_marks_switch_lines_off(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text(
        f"{LAKE} <!-- numerate: ignore -->\n\n<!-- numerate: ignore conversion -->\n{LAKE}\n\n"
        f"{LAKE} <!-- numerate: ignore sum -->\n\n{LAKE}\n"
    )
    assert [each.line for each in sorted(check(file), key=lambda each: each.line or 0)] == [6, 8]
    assert check(f"{LAKE} numerate: ignore") == []
    table = tmp_path / "a.csv"
    table.write_text(CSV.replace("item", "note").replace("d,7", "numerate: ignore,7"))
    assert check(table) == []


def test_bad_arguments() -> None:
    with pytest.raises(BadInput, match=r"unknown format 'cvs': did you mean 'csv'"):
        list(read_documents("x", "cvs"))
    with pytest.raises(BadInput, match="no such file"):
        check_file("does/not/exist.txt", CheckOptions())


def test_tables_without_a_file_name() -> None:
    assert format_of("-", b"a,b,c\n1,2,3\n4,5,6\n") == "csv"
    assert format_of("-", b"a\tb\tc\n1\t2\t3\n4\t5\t6\n") == "tsv"
    assert format_of("-", b"It rose.\n\n| a | b |\n|---|---:|\n| 1 | 2 |\n") == "markdown"
    assert format_of("-", b"First, it rose, by 5.\nThen, it fell, by 4.\nLast, it rose, by 3.\n") == "text"
