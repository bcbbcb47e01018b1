"""Where findings stand in files as people write them: titles, notes, merged cells, markup."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from numerate.apps.check import check
from numerate.apps.check_reports import place_of

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
