"""What tables of few rows tell by their names: rows that are wrong, and right ones that look like them."""

from __future__ import annotations

import pytest

from numerate.apps.consistency.checker import ConsistencyChecker
from numerate.apps.documents import Document


def found(*lines: str) -> list[tuple[str, str | None]]:
    header, *rows = ([cell.strip() for cell in line.split("|")] for line in lines)
    findings = ConsistencyChecker().check(Document(kind="table", header=header, rows=rows))
    return [(each.written, each.meant) for each in findings]


@pytest.mark.parametrize("name", ["Final", "T", "Total", "Score"])
def test_two_rows_of_parts_and_their_sum(name: str) -> None:
    head = f"team | 1 | 2 | 3 | {name}"
    assert found(head, "A | 22 | 18 | 25 | 65", "B | 19 | 24 | 17 | 60") == []
    assert found(head, "A | 22 | 18 | 25 | 56", "B | 19 | 24 | 17 | 60") == [("56", "65")]
    # After extra time nobody knows what is missing; two wrong rows are no sums.
    assert found(head, "A | 22 | 18 | 25 | 71", "B | 19 | 24 | 17 | 60") == []
    assert found(head, "A | 22 | 18 | 25 | 56", "B | 19 | 24 | 17 | 06") == []


@pytest.mark.parametrize(
    ("rows", "right", "wrong"),
    [
        (["Gross salary | 4,100.00", "Income tax | 512.25", "Pension | 205.00"], "Net salary | 3,382.75", "3,832.75"),
        (["Opening stock | 420", "Received | 180", "Issued | 235"], "Closing stock | 365", "356"),
        (["Anfangsbestand | 1240", "Zugang | 310", "Abgang | 415"], "Endbestand | 1135", "1153"),
        (["Members at the start | 212", "New | 31", "Resigned | 17"], "Members at the end | 226", "262"),
    ],
)
def test_what_is_left_of_the_first_row(rows: list[str], right: str, wrong: str) -> None:
    label, said = right.split(" | ")
    assert found("what | amount", *rows, right) == []
    assert found("what | amount", *rows, f"{label} | {wrong}") == [(wrong, said)]
    # An entry whose name does not say which way it goes.
    assert found("what | amount", *rows, "Transfers | 20", f"{label} | {wrong}") == []


def test_ranges_in_cells_go_up_as_the_others_do() -> None:
    rows = ["Sodium | 135-145", "Potassium | 5.1-3.5", "Urea | 2.5-7.8", "Chloride | 98-107"]
    assert found("test | reference", *rows) == [("5.1-3.5", "3.5-5.1")]
    assert found("test | score", *rows) == []
    assert found("test | reference", *rows[:2]) == []
    assert found("test | reference", *rows, "Iron | 30-10") == []


def test_a_row_that_is_the_sum_of_those_above_is_a_subtotal() -> None:
    rows = ["Bell | 120.00", "Discount | -12.00", "Coupon | -8.00", "Taxable | 100.00", "Tax | 8.25"]
    assert found("item | amount", *rows, "Total | 108.25") == []
    assert found("item | amount", *rows, "Total | 180.25") == [("180.25", "108.25")]
