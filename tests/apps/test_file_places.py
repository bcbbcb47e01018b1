"""Where findings stand in files as people write them: titles, notes, merged cells, markup."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from numerate.apps.check import check
from numerate.apps.check_reports import place_of
from numerate.apps.documents import Document
from numerate.apps.formats.cell_formats import shown_number

if TYPE_CHECKING:
    from pathlib import Path


def found_in(path: Path) -> list[tuple[str, str | None, int | None, int | None]]:
    """Written, meant, line and column of each finding, in the order of the file."""
    findings = check(path, model=False)
    return sorted(((each.written, each.meant, each.line, each.column) for each in findings), key=lambda each: each[2:])


def book(path: Path, sheets: dict[str, list[list[Any]]]) -> Path:
    openpyxl = pytest.importorskip("openpyxl")
    whole = openpyxl.Workbook()
    whole.remove(whole.active)
    for name, rows in sheets.items():
        sheet = whole.create_sheet(name)
        for row in rows:
            sheet.append(row)
    whole.save(path)
    return path


def test_titles_above_a_csv_header(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text(
        '"Survey: the lake is 28 km (27 mi) long";;\n\n"12 men and 15 women,\n28 people in all";;\n'
        "name;length;depth\na;1;2\nb;3;4\nc;3;4\n"
    )
    assert found_in(file) == [("27 mi", "17 mi", 1, 29), ("28", "27", 4, 1)]
    file.write_text("The lake is 28 km (27 mi) long # numerate: ignore,,\nname,length,depth\na,1,2\nb,3,4\nc,3,4\n")
    assert found_in(file) == []


def test_titles_above_the_header_of_a_sheet(tmp_path: Path) -> None:
    table: list[list[Any]] = [["name", "length", "depth"], ["a", 1, 2], ["b", 2, 3], ["c", 3, 4]]
    lakes = [["Survey: the lake is 28 km (27 mi) long"], [], *table]
    file = book(tmp_path / "a.xlsx", {"Lakes": lakes, "Staff": [["12 men and 15 women, 28 people in all"], *table]})
    first, second = check(file, model=False)
    assert (first.written, first.line, place_of(first)) == ("27 mi", 1, f"{file}:1 'Lakes'")
    assert (second.written, second.table) == ("28", "Staff")


@pytest.mark.parametrize(
    ("value", "number_format", "shown"),
    [
        (72.3, "[$€-407] #,##0.00", "72.30"),
        (72.3, '#,##0.0 "kg"', "72.3"),
        (72.3, '"Q1 0" 0', "72"),
        (72.34, "0.0#", "72.34"),
        (72.0, "0.0#", "72.0"),
        (72.0, "#.##", "72"),
        (0.0525, "0.00%", "5.25%"),
        (-5.5, "#,##0.00;[Red](#,##0.00)", "-5.50"),
        (1234567.0, "#,##0,", "1234567"),
        (1234567.0, "0.00E+00", "1234567"),
        (2.5, "# ?/?", "2.5"),
        (2.5, "General", "2.5"),
        (2.5, "@", "2.5"),
        (2.5, None, "2.5"),
        (12.0, "00000", "12"),
    ],
)
def test_numbers_of_cells_have_the_decimals_that_are_shown(value: float, number_format: str, shown: str) -> None:
    assert shown_number(value, number_format) == shown


def test_a_currency_of_a_format_has_no_decimals(tmp_path: Path) -> None:
    file = tmp_path / "a.xlsx"
    rows = [[2, 3.5, 7.0], [5, 1.25, 6.25], [4, 2.2, 8.8], [3, 9.1, 72.3], [8, 1.1, 8.8]]
    openpyxl = pytest.importorskip("openpyxl")
    whole = openpyxl.load_workbook(book(file, {"a": [["count", "price", "amount"], *rows]}))
    for cells in whole["a"].iter_rows(min_row=2):
        cells[2].number_format = "[$€-407] #,##0.00"
    whole.save(file)
    assert [each[:3] for each in found_in(file)] == [("72.30", "27.30", 5)]


def test_captions_of_tables_are_texts_and_years_above_a_column_no_values(tmp_path: Path) -> None:
    file = tmp_path / "a.html"
    file.write_text(
        "<p>Trees.</p>\n<table><caption>The wood is\n  28 km (27&nbsp;mi) long</caption>\n"
        "<tr><th rowspan=2>Kind<th colspan=2>Year</tr><tr><th>2022<th>2023</tr>\n"
        "<tr><td>oak<td>10<td>20</tr>\n<tr><td>elm<td>30<td>40</tr>\n<tr><td>ash<td>5<td>6</tr>\n"
        "<tr><td>Total<td>45<td>69</tr></table><p>All.</p>"
    )
    assert found_in(file) == [("27\u00a0mi", "17\u00a0mi", 3, 10), ("69", "66", 8, None)]
    total = next(each for each in check(file, model=False) if each.cell is not None)
    assert (total.key, total.table) == ("Year 2023", "The wood is 28 km (27 mi) long")


def test_a_cell_of_a_workbook_is_named_as_spreadsheets_do(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "Sales"
    book.active["A1"] = "All sales of the northern and of the southern branch in thousand dollars"
    for row in [["Region", *range(2000, 2029)], *([f"R{at}", *([at * at + 7] * 29)] for at in range(1, 5))]:
        book.active.append(row)
    book.active.append(["Total", *([58] * 28), 85])
    book.save(tmp_path / "a.xlsx")
    (found,) = check(tmp_path / "a.xlsx", model=False)
    title = "'Sales: All sales of the northern and of the southern branch…'"
    assert place_of(found) == f"{tmp_path / 'a.xlsx'}:7 {title} cell AD7, 2028"


def test_numbered_rows_have_no_total() -> None:
    rows = [["1", "a", "12"], ["2", "b", "15"], ["3", "c", "9"], ["4", "Total", "36"]]
    assert check(Document(kind="table", header=["row", "x", "y"], rows=rows), model=False) == []
    rows[3][2] = "63"
    (found,) = check(Document(kind="table", header=["row", "x", "y"], rows=rows), model=False)
    assert (found.cell, found.meant) == ((3, 2), "36")
