"""Parts of right files that a reader could lose without a word: unclosed elements, first rows, long lists, pipes."""

from __future__ import annotations

import datetime
import json
import os
import re
import threading
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from numerate.apps.check import CheckOptions, Outcome, check, check_file
from numerate.apps.formats import json_records

if TYPE_CHECKING:
    from pathlib import Path

LAKE = "The lake is 28 km (27 mi) long."
SUMS = "a,b,total\n11,22,33\n14,25,39\n31,13,47\n17,18,35\n"


def checked(path: Path, content: str) -> Outcome:
    path.write_text(content)
    return check_file(str(path), CheckOptions())


def places(found: Any) -> list[tuple[str, int | None, int | None]]:
    return [(each.written, each.line, each.column) for each in found]


def columns_of(page: str, shown: list[int]) -> list[int]:
    """Columns of the wrong numbers of a page of one line, of those that a reader sees."""
    return [[match.start() + 1 for match in re.finditer("27 mi", page)][at] for at in shown]


@pytest.mark.parametrize(
    ("page", "shown"),
    [
        (f"<html><head><title>{LAKE}</title><style>a {{}}</style><body><p>{LAKE}</html>", [1]),
        (f"<head><title>{LAKE}</title><p>{LAKE}", [1]),
        (f"<div><p hidden>{LAKE}</div><p>{LAKE}", [1]),
        (f"<p hidden>{LAKE}<br>{LAKE}<b>{LAKE}<p>{LAKE}", [3]),
        (f"<ul><li hidden>{LAKE}<ul><li>{LAKE}</ul><li>{LAKE}</ul>", [2]),
        (f"<ul><li style='display: none'>{LAKE}</ul>{LAKE}", [1]),
        (f"<div hidden><p>{LAKE}<div>{LAKE}</div>{LAKE}</div>{LAKE}", [3]),
        (f"<svg><text>{LAKE}</text><p>{LAKE}</p></svg><p>{LAKE}", [2]),
        (f"<pre>{LAKE}<p>{LAKE}</pre><p>{LAKE}", [2]),
    ],
)
def test_hidden_elements_end_where_browsers_end_them(page: str, shown: list[int]) -> None:
    assert [each.column for each in check(page, kind="html", model=False)] == columns_of(page, shown)


def test_a_raised_digit_that_is_not_closed_ends_with_its_cell() -> None:
    rows = "".join(f"<tr><td>{a}<td>{b}<td>{c}" for a, b, c in ((11, 22, 33), (14, 25, 39), (31, 13, 47), (17, 18, 35)))
    found = check(f"<table><tr><th>a<th>b<th>total<sup>1{rows}</table>", kind="html", model=False)
    assert [each.written for each in found] == ["47"]


def test_the_first_row_of_a_table_without_header_is_checked(tmp_path: Path) -> None:
    pairs = checked(tmp_path / "a.csv", "length,28 km (27 mi)\nwidth,5 km (3 mi)\ndepth,12 m\n")
    assert places(pairs.findings) == [("27 mi", 1, None)] and pairs.numbers == 4
    assert places(checked(tmp_path / "b.csv", f"{LAKE}\n").findings) == [("27 mi", 1, None)]
    assert not checked(tmp_path / "c.csv", "name,28 km (27 mi) numerate: ignore\na,5\nb,7\n").findings
    hours = checked(
        tmp_path / "d.csv", "day,0,1,2,3,total\na,11,22,33,44,110\nb,1,2,3,4,10\nc,2,2,2,2,8\nd,4,3,2,1,12\n"
    )
    assert [(each.written, each.key) for each in hours.findings] == [("12", "total")]


def test_empty_names_at_the_end_of_a_header(tmp_path: Path) -> None:
    outcome = checked(tmp_path / "a.csv", SUMS.replace("total", "total,,"))
    assert (places(outcome.findings), outcome.problems) == ([("47", 4, None)], [])


def test_sheets_of_one_row_or_without_header(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active["C7"] = LAKE
    numbers = book.create_sheet("numbers")
    for a, b, c in ((3, 1, 94), *((k, k * k % 7, k + k * k % 7) for k in range(4, 12))):
        numbers.append([a, b, c])
    book.save(tmp_path / "a.xlsx")
    found = check(tmp_path / "a.xlsx", model=False)
    assert [(each.written, each.meant, each.table, each.line) for each in found] == [
        ("27 mi", "17 mi", "Sheet", 7), ("94", "4", "numbers", 1),
    ]  # fmt: skip


def test_times_of_sheets_keep_seconds_and_days(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["one", "other"])
    book.active.append([datetime.time(3, 10, 45), datetime.timedelta(days=1, hours=6, seconds=5)])
    book.save(tmp_path / "a.xlsx")
    from numerate.apps.formats.opening import read_documents

    (table,) = read_documents(str(tmp_path / "a.xlsx"))
    assert table.rows == [["03:10:45", "30:00:05"]]


def test_a_formula_whose_value_is_an_empty_text_has_a_value(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["a", "note", "sum"], [5, '=IF(A2>9,"x","")', "=A2+1"], [6, "", ""]):
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    with zipfile.ZipFile(tmp_path / "a.xlsx") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    (sheet,) = (name for name in parts if name.endswith("sheet1.xml"))
    parts[sheet] = parts[sheet].replace(b'<c r="B2"><f>', b'<c r="B2" t="str"><f>')  # as Excel writes it
    with zipfile.ZipFile(tmp_path / "b.xlsx", "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    (problem,) = check_file(str(tmp_path / "b.xlsx"), CheckOptions()).problems
    assert problem.message.startswith("1 formula without a stored value")


def test_long_lists_and_records_of_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = json.dumps({"list": [*map(str, range(60)), LAKE]})
    outcome = checked(tmp_path / "a.json", texts)
    assert [each.key for each in outcome.findings] == ["list[60]"] and not outcome.problems
    assert not checked(tmp_path / "b.jsonl", f"{texts}\n{texts}\n").problems
    monkeypatch.setattr(json_records, "MAX_KEYS", 50)
    for name, content in (("c.jsonl", f"{texts}\n{texts}\n"), ("d.json", f'{{"rows": [{texts}, {texts}]}}')):
        (problem,) = checked(tmp_path / name, content).problems
        assert problem.message == "22 values left out: 50 keys of records are read, and 50 values of each list"
        assert not problem.is_note
    keys = [{f"k{at}{each}": at for at in range(30)} for each in "ab"]
    for name, content in (("e.jsonl", "\n".join(map(json.dumps, keys))), ("f.json", json.dumps({"rows": keys}))):
        (problem,) = checked(tmp_path / name, content).problems
        assert problem.message.startswith("10 values left out")


def test_json_records_are_read_in_pieces_by_their_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_records, "MAX_VALUES", 30)
    rows = [{"a": at * 7 % 10, "b": at * 3 % 10, "sum": at * 7 % 10 + at * 3 % 10} for at in range(100)]
    rows[60]["sum"] += 90
    (found,) = checked(tmp_path / "a.jsonl", "\n".join(map(json.dumps, rows))).findings
    assert (found.line, found.cell) == (61, (60, 2))


def test_records_inside_of_a_json_object_have_lines(tmp_path: Path) -> None:
    rows = [dict(zip("abc", map(int, line.split(",")), strict=True)) for line in SUMS.splitlines()[1:]]
    whole = {"note": 'braces "{" in a text', "parts": {"rows": rows}, "empty": {}}
    text = json.dumps(whole, indent=1)
    line = text[: text.index("47")].count("\n") + 1
    (found,) = checked(tmp_path / "a.json", text).findings
    assert (found.written, found.line) == ("47", line - 3)  # the line of the object's brace
    twice = text.replace('"empty": {}', '"empty": {}, "empty": {}')
    (found,) = checked(tmp_path / "b.json", twice).findings
    assert (found.written, found.line) == ("47", None)


def test_deep_json_says_so(tmp_path: Path) -> None:
    deep = "[" * 100_000 + "]" * 100_000
    for name, content in (("a.json", deep), ("b.jsonl", deep), ("c.json", f'{{"a": {deep}}}')):
        (problem,) = checked(tmp_path / name, content).problems
        assert "nested too deeply" in problem.message and "recursion" not in problem.message


def test_all_sentences_of_a_long_cell_are_checked() -> None:
    padding = "It lies in the north of the country and has many fish. " * 100
    text = f"It took 12 men and 15 women, 28 people in all. {padding}{LAKE}"
    (record,) = ({"text": text},)
    found = check([record, {"text": "short"}], model=False)
    assert sorted((each.written, each.span) for each in found) == sorted(
        (each.written, each.span) for each in check(text, model=False, kind="text")
    )
    assert {each.written for each in found} == {"28", "27 mi"} and all(each.cell == (0, 0) for each in found)


def test_a_number_over_the_end_of_a_line_is_told_in_one() -> None:
    (found,) = check("The lake in the north of the country is 28\nkm (27\nmi) long.", model=False)
    assert (found.written, found.meant, found.message) == ("27\nmi", "17 mi", "28 km are 17 mi, not 27 mi.")


def test_word_files_without_moved_and_hidden_text(tmp_path: Path) -> None:
    docx = pytest.importorskip("docx")
    from docx.oxml import parse_xml
    from docx.oxml.ns import nsdecls

    file = docx.Document()
    file.add_paragraph("One.").add_run(LAKE).font.hidden = True
    moved = f'<w:moveFrom {nsdecls("w")} w:id="5" w:author="a"><w:r><w:t>{LAKE}</w:t></w:r></w:moveFrom>'
    file.add_paragraph("Two.")._p.append(parse_xml(moved))
    for _ in range(2):
        table = file.add_table(rows=2, cols=2)
        for at, text in enumerate(("name", "length", "lake", "28 km (27 mi)")):
            table.cell(*divmod(at, 2)).text = text
        file.add_paragraph(LAKE)
    file.save(tmp_path / "a.docx")
    found = check(tmp_path / "a.docx", model=False)
    assert sorted((each.line, each.cell) for each in found if each.cell) == [(2, (0, 1)), (3, (0, 1))]
    assert sorted(each.line for each in found if not each.cell) == [3, 4]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_large_table_from_a_pipe_is_read_once_and_whole(tmp_path: Path) -> None:
    rows = [f"{at},{at * 7 % 10},{at + at * 7 % 10}\n" for at in range(21_000)]
    rows[20_500] = "20500,5,99\n"
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_text("a,b,sum\n" + "".join(rows)))
    writer.start()
    outcome = check_file(str(tmp_path / "pipe"), CheckOptions(kind="csv"))
    writer.join()
    assert outcome.numbers == 63_000 and places(outcome.findings) == [("99", 20_502, None)]


def test_a_mark_above_holds_in_texts_and_paragraphs(tmp_path: Path) -> None:
    assert [each.line for each in check(f"<!-- numerate: ignore -->\n{LAKE}\n{LAKE}", model=False)] == [3]
    assert [each.line for each in check(f"# numerate: ignore sum\n{LAKE}", model=False)] == [2]
    assert [each.line for each in check(f"It is long. # numerate: ignore\n{LAKE}", model=False)] == [2]
    docx = pytest.importorskip("docx")
    file = docx.Document()
    for text in ("numerate: ignore", LAKE, LAKE):
        file.add_paragraph(text)
    file.save(tmp_path / "a.docx")
    assert [each.line for each in check(tmp_path / "a.docx", model=False)] == [3]
