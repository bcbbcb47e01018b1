"""One cell that breaks several totals and relations is reported once, with its own correction."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from numerate.apps.consistency.checker import ConsistencyChecker
from numerate.apps.documents import Document

if TYPE_CHECKING:
    from numerate.apps.findings import Finding

SALES = [
    ["North", "1200", "1320", "120", "10.0%"], ["South", "800", "760", "-40", "-5.0%"],
    ["East", "450", "540", "90", "20.0%"], ["West", "990", "1089", "99", "10.0%"],
    ["Centre", "610", "671", "61", "10.0%"], ["Total", "4050", "4380", "330", "8.1%"],
]  # fmt: skip
ORDERS = [
    ["Jan", "120", "3,50", "420,00"], ["Feb", "95", "3,60", "342,00"], ["Mar", "130", "3,40", "442,00"],
    ["Apr", "101", "3,55", "358,55"], ["May", "99", "3,45", "341,55"], ["Total", "545", "", "1904,10"],
]  # fmt: skip
GRID = [
    ["North", "12", "31", "27", "70"], ["South", "45", "18", "22", "85"], ["East", "33", "24", "16", "73"],
    ["West", "28", "37", "41", "106"], ["All", "118", "110", "106", "334"],
]  # fmt: skip
TABLES = {
    "sales": (["Region", "2022", "2023", "Change", "Growth"], SALES),
    "orders": (["Month", "Quantity", "Price", "Amount"], ORDERS),
    "grid": (["Region", "Q1", "Q2", "Q3", "Total"], GRID),
}


def found(name: str, row: int = 0, column: int = 0, cell: str = "", ignore: tuple[str, ...] = ()) -> list[Finding]:
    header, rows = TABLES[name]
    rows = [list(each) for each in rows]
    rows[row][column] = cell or rows[row][column]
    return ConsistencyChecker(ignore).check(Document(kind="table", header=header, rows=rows))


@pytest.mark.parametrize("name", TABLES)
def test_right_tables_are_silent(name: str) -> None:
    assert found(name) == []


@pytest.mark.parametrize(
    ("name", "row", "column", "cell"),
    [
        ("sales", 2, 2, "450"),  # total, change and growth
        ("sales", 1, 1, "880"),
        ("orders", 1, 3, "432,00"),  # the target of a relation, and a part of the total
        ("orders", 3, 1, "110"),  # a source of a relation
        ("grid", 1, 2, "81"),  # a cell within row totals and column totals
        ("grid", 3, 4, "160"),  # the total of a row
        ("grid", 4, 1, "181"),  # the total of a column
    ],
)
def test_one_finding_at_the_wrong_cell(name: str, row: int, column: int, cell: str) -> None:
    (finding,) = found(name, row, column, cell)
    meant = TABLES[name][1][row][column]
    assert (finding.cell, finding.written, finding.meant) == ((row, column), cell, meant)
    assert finding.rule == "relation" and meant in finding.message and finding.evidence["kind"] == "shared"


def test_a_single_contradiction_blames_what_is_computed() -> None:
    (finding,) = found("sales", 2, 4, "2.0%")
    assert (finding.rule, finding.cell, finding.meant) == ("relation", (2, 4), "20.0%")


def test_ignored_rules_stay_out() -> None:
    assert [each.rule for each in found("orders", 1, 3, "432,00", ("relation",))] == ["total"]
    assert [each.rule for each in found("orders", 1, 3, "432,00", ("total",))] == ["relation"]


def test_a_total_that_holds_once_its_parts_do_is_not_blamed() -> None:
    amounts = [(12 + 7 * k % 31, 305 + 5 * k) for k in range(20)]
    rows = [[f"item {k}", str(n), str(p), str(n * p)] for k, (n, p) in enumerate(amounts)]
    rows.append(["Total", str(sum(n for n, _ in amounts)), "", str(sum(n * p for n, p in amounts))])
    right = rows[1][3], rows[5][3]
    rows[1][3], rows[5][3] = "9850", "5160"
    found = ConsistencyChecker().check(
        Document(kind="table", header=["Item", "Quantity", "Price", "Amount"], rows=rows)
    )
    assert {(each.cell, each.meant) for each in found} == {((1, 3), right[0]), ((5, 3), right[1])}
