"""Files as strangers have them: other encodings, damaged, with merged and nested cells, with quotes never closed."""

from __future__ import annotations

import gzip
import json
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from numerate.apps.check import CheckOptions, Outcome, check, check_file
from numerate.apps.documents import Document
from numerate.apps.formats import delimited, html_pages, json_arrays, json_records, source_lines, text
from numerate.apps.formats.json_records import record_document
from numerate.apps.formats.opening import read_documents
from numerate.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path

LAKE = "The lake is 28 km (27 mi) long."
CSV = "item,count,price,amount\na,2,3.50,7.00\nb,5,1.25,6.25\nc,4,2.20,8.80\nd,7,3.00,31.00\ne,3,9.10,27.30\n"
SUMS = [["a", "b", "total"], ["11", "22", "33"], ["14", "25", "39"], ["31", "13", "44"], ["17", "18", "36"]]


def checked(path: Path, content: bytes | str) -> Outcome:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return check_file(str(path), CheckOptions())


def found(outcome: Outcome) -> list[tuple[str, int | None]]:
    return [(each.written, each.line) for each in outcome.findings]


def said(outcome: Outcome) -> list[tuple[int | None, str]]:
    return [(each.line, each.message) for each in outcome.problems]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_encodings_are_known_by_mark_or_zeros(tmp_path: Path, encoding: str) -> None:
    contents = {
        "a.txt": f"First.\r\n\r\n{LAKE}\r\n", "a.md": f"First.\n\n{LAKE}\n", "a.csv": CSV,
        "a.html": f"\n\n<p>{LAKE}</p>",
        "a.json": json.dumps([{"t": LAKE}]), "a.jsonl": f"{json.dumps({'t': 'x'})}\n\n{json.dumps({'t': LAKE})}\n",
    }  # fmt: skip
    expected = {"a.csv": ("31.00", 5), "a.json": ("27 mi", 1)}
    for name, content in contents.items():
        outcome = checked(tmp_path / name, content.encode(encoding))
        assert (found(outcome), said(outcome)) == ([expected.get(name, ("27 mi", 3))], []), name


def test_stray_bytes_are_told_and_lose_nothing(tmp_path: Path) -> None:
    outcome = checked(tmp_path / "nul.txt", f"{LAKE}\n\0\n{LAKE}\n")
    assert found(outcome) == [("27 mi", 1), ("27 mi", 3)] and outcome.is_complete
    assert said(outcome) == [(None, "1 NUL byte read as spaces")]
    assert found(checked(tmp_path / "nul.csv", CSV.replace("b,5", "b\0,5"))) == [("31.00", 5)]
    assert found(checked(tmp_path / "mac.txt", f"First.\r\r{LAKE}\rLast.\r")) == [("27 mi", 3)]
    assert found(checked(tmp_path / "mac.csv", CSV.replace("\n", "\r"))) == [("31.00", 5)]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"%PDF-1.7\n1 0 obj\n", "binary file left out, a PDF file: convert it to text or DOCX first"),
        ("a.md", b"\x89PNG\r\n\x1a\n\0\0", "binary file left out, an image"),
        ("a.dat", b"\x7fELF\0\0\1\1", "binary file left out, not text"),
        ("a.csv", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0", "save it as DOCX or XLSX"),
        ("a.txt", b" \n\n", "empty file, nothing to check"),
        ("a.txt.gz", gzip.compress(b"", mtime=0), "empty file, nothing to check"),
    ],
)
def test_what_is_no_text_is_named_with_what_to_do(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    outcome = checked(tmp_path / name, content)
    (problem,) = outcome.problems
    assert problem.message.endswith(message) and problem.is_harmless and not outcome.is_complete
    if "empty" in message:
        assert check(tmp_path / name) == []
    else:
        with pytest.raises(BadInput, match="binary file left out"):
            check(tmp_path / name)


def test_a_damaged_archive_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    whole = gzip.compress(f"{LAKE}\n\n".encode() + bytes(range(48, 58)) * 50_000)
    outcome = checked(tmp_path / "cut.txt.gz", whole[:-20])
    assert found(outcome) == [("27 mi", 1)]
    assert said(outcome) == [(None, "damaged: the compressed file ends too early")] and not outcome.is_complete
    wrong = checked(tmp_path / "wrong.txt.gz", whole[:200] + b"\xff" * 50 + whole[250:])
    assert len(wrong.problems) == 1 and wrong.problems[0].message.startswith("damaged: ")
    assert found(checked(tmp_path / "two.txt.gz", gzip.compress(b"A.\n\n") + gzip.compress(LAKE.encode()))) == [
        ("27 mi", 3)
    ]
    plain = checked(tmp_path / "plain.txt.gz", LAKE)
    assert found(plain) == [("27 mi", 1)] and plain.is_complete and "not compressed" in plain.problems[0].message


def test_quotes_that_are_never_closed_cost_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for content in (CSV.replace("b,5", '"b,5'), f"{CSV}f,1,2,2\n".replace("b,5", '"b,5')):
        outcome = checked(tmp_path / "a.csv", content)
        assert said(outcome) == [(3, 'line left out: its quote (") is never closed')]
        assert found(outcome) == [("31.00", 5)]
    monkeypatch.setattr(delimited, "MAX_QUOTED_LINES", 3)
    assert [line for line, _ in said(checked(tmp_path / "b.csv", CSV.replace("b,5", '"b,5')))] == [3]
    fine = checked(tmp_path / "c.csv", CSV.replace("b,5", '"b\nb",5').replace("c,4", 'c 5" pipe,4'))
    assert found(fine) == [("31.00", 6)] and not fine.problems


def test_titles_hints_and_names_of_columns(tmp_path: Path) -> None:
    titled = checked(tmp_path / "a.csv", f"Sales of the year\n\nin units,,,\n{CSV}")
    assert found(titled) == [("31.00", 8)] and not titled.problems
    assert titled.findings[0].table == "Sales of the year in units"
    assert found(checked(tmp_path / "b.csv", "sep=;\n" + CSV.replace(",", ";"))) == [("31.00", 6)]
    twice = checked(
        tmp_path / "c.csv", "\n".join(",".join(row) for row in [["n", "n", ""], *SUMS[1:], ["12", "13", "25"]])
    )
    assert [(each.written, each.key) for each in twice.findings] == [("36", "column 3")]
    (table,) = (each for each in read_documents(str(tmp_path / "c.csv")) if isinstance(each, Document))
    assert table.header == ["n", "n (2)", "column 3"]


def test_json_keeps_numbers_as_written_and_what_is_before_a_break(tmp_path: Path) -> None:
    big = checked(tmp_path / "a.json", f'{{"a": {"9" * 5000}, "b": 2.50, "c": NaN, "d": "{LAKE}"}}')
    assert found(big) == [("27 mi", None)] and not big.problems
    document = next(each for each in read_documents(str(tmp_path / "a.json")) if isinstance(each, Document))
    assert document.rows[0][1] == "2.50"
    cut = checked(tmp_path / "b.json", f'[{{"t": "{LAKE}"}},\n{{"t": "x"}},\n {{"t": ')
    assert found(cut) == [("27 mi", 1)] and not cut.problems[0].fatal
    assert said(cut) == [(3, "not JSON: Expecting value; this value and what follows are left out")]
    assert checked(tmp_path / "b.json", "[nothing]").problems[0].fatal
    deep = checked(tmp_path / "c.jsonl", "[" * 100_000 + f'\n{{"t": "{LAKE}"}}\n')
    assert found(deep) == [("27 mi", 2)] and [line for line, _ in said(deep)] == [1]
    concatenated = checked(tmp_path / "d.json", f'{{"t": "{LAKE}"}}\n{{"t": "x"}}\n')
    assert found(concatenated) == [("27 mi", 1)] and not concatenated.problems


def test_long_arrays_come_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_records, "ROWS", 50)
    monkeypatch.setattr(json_arrays, "CHUNK", 7)
    rows: list[Any] = [{"n": n, "t": "x" * (n % 30), "s": [n, {"ä": 1.50}]} for n in range(120)]
    rows[70]["t"], rows[90] = LAKE, [1, "]"]
    path = tmp_path / "a.json"
    for indent in (None, 1):
        outcome = checked(path, " \n" + json.dumps(rows, indent=indent) + " \n")
        first = None if indent is None else json.dumps(rows, indent=1)[: json.dumps(rows, indent=1).index(LAKE)]
        line = 2 if first is None else 2 + first[: first.rindex("{")].count("\n")
        assert found(outcome) == [("27 mi", line)] and not outcome.problems and outcome.documents == 3
    pieces = [each for each in read_documents(str(path)) if isinstance(each, Document)]
    expected = record_document([row for row in rows if isinstance(row, dict)])
    assert [row[:4] for piece in pieces for row in piece.rows if row[0]] == expected.rows
    assert [piece.is_last for piece in pieces] == [False, False, True]
    for content, message in (("[1, 2", "never closed"), ("[1, 2] 3", "follows the list"), ("[1 2", "never closed")):
        outcome = checked(tmp_path / "b.json", content)
        assert outcome.documents == 1 and message in outcome.problems[0].message, content


def test_markup_that_never_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html_pages, "MAX_TAG", 5000)
    monkeypatch.setattr(html_pages, "CHUNK", 2000)
    filler = "<a \n" * 3000
    for start, end in (("<!-- ", "-->"), ("<img src='", "'>"), ("<script>", "</script>")):
        outcome = checked(tmp_path / "a.html", f"<p>{LAKE}</p>{start}{filler.replace('>', '')}{end}\n<p>{LAKE}</p>")
        assert found(outcome) == [("27 mi", 1), ("27 mi", 3002)], start
        assert len(outcome.problems) == (start != "<script>")
    outcome = checked(tmp_path / "b.html", f"<p>{LAKE}</p><a " + "<a " * 4000)
    assert found(outcome) == [("27 mi", 1)]


def html_rows(rows: list[list[str]], tag: str = "td") -> str:
    return "".join(f"<tr>{''.join(f'<{tag}>{cell}</{tag}>' for cell in row)}</tr>\n" for row in rows)


def test_html_shows_what_a_reader_sees(tmp_path: Path) -> None:
    inner = f"<table>{html_rows(SUMS[:1], 'th')}{html_rows(SUMS[1:])}</table>"
    spans = (
        "<table><caption>Sums</caption><tr><th rowspan=2>who</th><th colspan=2>parts</th><th rowspan=2>total</th></tr>"
        "<tr><th>a</th><th>b</th></tr>"
        + "".join(
            f"<tr>{'<td rowspan=2>x</td>' if at % 2 == 0 else ''}{''.join(f'<td>{cell}</td>' for cell in row)}</tr>"
            for at, row in enumerate(SUMS[1:])
        )
        + "</table>"
    )
    outcome = checked(
        tmp_path / "a.html",
        f"<head><title>{LAKE}</title></head><script>'{LAKE}'</script><style>{LAKE}</style><!-- {LAKE} -->"
        f"<p hidden>{LAKE} <p>x</p></p><div style='display: none'>{LAKE}<div>{LAKE}</div>{LAKE}</div>\n"
        f"<p>The lake is 28&nbsp;km (27&#32;mi) long.</p>\n<table><tr><td>{inner}</td><td>x</td></tr><tr><td>y</td>"
        f"<td>z</td></tr></table>\n<table><tr><td>{LAKE}</td></tr></table>{spans}<p>{LAKE}<script>'{LAKE}",
    )
    assert sorted((each.written, each.key, each.table) for each in outcome.findings if each.cell) == [
        ("36", "total", ""), ("36", "total", "Sums"),
    ]  # fmt: skip
    assert len([each for each in outcome.findings if not each.cell]) == 3
    tables = [each for each in read_documents(str(tmp_path / "a.html")) if isinstance(each, Document) and each.header]
    assert tables[-1].header == ["who", "parts a", "parts b", "total"] and tables[-1].rows[1] == ["", *SUMS[2]]
    open_table = checked(tmp_path / "b.html", f"<table>{html_rows(SUMS)}")
    assert [each.written for each in open_table.findings] == ["36"]


def test_markdown_leaves_out_code_and_keeps_places(tmp_path: Path) -> None:
    rows = "\n".join(" | ".join(row) for row in [SUMS[0], ["--", ":-:", "-"], *SUMS[1:]])
    outcome = checked(
        tmp_path / "a.md",
        f"---\ntitle: {LAKE}\n---\n# Lake\n\n    {LAKE}\n\n~~~~\n{LAKE}\n~~~\n{LAKE}\n~~~~\n\n````\n```\n{LAKE}\n````\n"
        f"`{LAKE}` ``{LAKE} ` x``\n<!-- {LAKE}\n{LAKE} -->\n<pre>\n{LAKE}\n</pre>\n\n"
        f"The lake is **28 km** (*27* mi) long, 5*3 or ~~9~~.\n\n{rows}\n\n> {LAKE}\n\n- {LAKE}\n\n    {LAKE}\n",
    )
    assert found(outcome) == [("36", 32), ("27 mi", 25), ("27 mi", 34), ("27 mi", 36), ("27 mi", 38)]
    (place,) = (each for each in outcome.findings if each.line == 25)
    assert place.column == 25 and "5*3 or" in place.passage


def test_lines_without_end_come_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_lines, "MAX_LINE", 1000)
    monkeypatch.setattr(source_lines, "MAX_RECORD", 1000)
    long = "Nothing here, moving on. " * 100
    for name in ("a.txt", "a.md"):
        outcome = checked(tmp_path / name, f"x\n\n{long}{LAKE}\n\n{LAKE}\n")
        assert found(outcome) == [("27 mi", 3), ("27 mi", 5)] and not outcome.problems
        assert outcome.findings[0].column == len(long) + LAKE.index("27") + 1
    pieces = [each.text for each in read_documents(str(tmp_path / "a.txt")) if isinstance(each, Document)]
    assert max(map(len, pieces)) <= 2000 and "".join(pieces).count("moving on") == 100
    outcome = checked(tmp_path / "a.jsonl", f'{{"t": "{LAKE}"}}\n{{"t": "{long}"}}\n{{"t": "{LAKE}"}}\n')
    assert found(outcome) == [("27 mi", 1), ("27 mi", 3)] and [line for line, _ in said(outcome)] == [2]
    monkeypatch.setattr(text, "BLOCK", 10)
    assert len(list(read_documents(str(tmp_path / "a.txt")))) > 3


def test_sheets_with_titles_merged_cells_and_formulas(tmp_path: Path) -> None:
    from openpyxl import Workbook

    book = Workbook()
    sheet: Any = book.active
    sheet.append(["Report of the year"])
    sheet.merge_cells("A1:D1")
    for row in ["", *CSV.splitlines()]:
        sheet.append([float(cell) if cell[:1].isdecimal() else cell for cell in row.split(",")])
    sheet["F9"] = "a remark beyond the header"
    sheet["E4"] = "=B4*C4"
    other = book.create_sheet("Errors")
    other.append(["a", "b"])
    other.append(["#DIV/0!", LAKE])
    book.create_sheet("Empty")
    book.save(tmp_path / "a.xlsx")
    outcome = check_file(str(tmp_path / "a.xlsx"), CheckOptions())
    assert sorted((each.written, each.line, each.table) for each in outcome.findings) == [
        ("27 mi", 2, "Errors"), ("31", 7, "Sheet: Report of the year"),
    ]  # fmt: skip
    assert [message.partition(":")[0] for _, message in said(outcome)] == [
        "1 formula without a stored value", "sheet 'Errors'",
    ]  # fmt: skip


def test_word_files_with_notes_and_merged_cells(tmp_path: Path) -> None:
    import docx

    file = docx.Document()
    file.add_paragraph("First.")
    file.add_paragraph(LAKE)
    table = file.add_table(6, 3)
    table.cell(0, 0).merge(table.cell(0, 2)).text = "Sums"
    for cells, row in zip(list(table.rows)[1:], SUMS, strict=True):
        for cell, content in zip(cells.cells, row, strict=True):
            cell.text = content
    nested = file.add_table(2, 2).cell(1, 1).add_table(5, 3)
    for cells, row in zip(nested.rows, SUMS, strict=True):
        for cell, content in zip(cells.cells, row, strict=True):
            cell.text = content
    file.sections[0].footer.paragraphs[0].text = f"Footer. {LAKE}"
    file.save(str(tmp_path / "a.docx"))
    spaces = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    note = f"<w:footnotes {spaces}><w:footnote><w:p><w:r><w:t>Note. {LAKE}</w:t></w:r></w:p></w:footnote></w:footnotes>"
    relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/footnotes"
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"
    with zipfile.ZipFile(tmp_path / "a.docx") as old, zipfile.ZipFile(tmp_path / "b.docx", "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "[Content_Types].xml":
                part = f'<Override PartName="/word/footnotes.xml" ContentType="{kind}"/></Types>'
                data = data.replace(b"</Types>", part.encode())
            if name == "word/_rels/document.xml.rels":
                link = f'<Relationship Id="rIdNote" Type="{relation}" Target="footnotes.xml"/></Relationships>'
                data = data.replace(b"</Relationships>", link.encode())
            new.writestr(name, data)
        new.writestr("word/footnotes.xml", note)
    outcome = check_file(str(tmp_path / "b.docx"), CheckOptions())
    assert [each.written for each in outcome.findings if each.cell] == ["36", "36"] and not outcome.problems
    texts = [each for each in outcome.findings if not each.cell]
    assert texts[0].line == 2 and [each.passage for each in texts] == [LAKE, LAKE, LAKE]


def test_archives_that_unpack_to_too_much_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from numerate.apps.formats import office

    monkeypatch.setattr(office, "MAX_UNPACKED", 10_000)
    with zipfile.ZipFile(tmp_path / "a.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", "x" * 100_000)
    outcome = check_file(str(tmp_path / "a.xlsx"), CheckOptions())
    assert "unpacks to" in outcome.problems[0].message and outcome.problems[0].fatal
    (tmp_path / "b.xlsx").write_bytes((tmp_path / "a.xlsx").read_bytes()[:60])
    assert "not an XLSX file" in check_file(str(tmp_path / "b.xlsx"), CheckOptions()).problems[0].message
