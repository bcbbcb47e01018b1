"""Corrections of cells are written as their column is."""

from __future__ import annotations

import pytest

from numerate.apps.check import check
from numerate.apps.consistency.tables.cell_numbers import cell_number
from numerate.apps.consistency.tables.cell_style import like_cell


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        (["406.51", "186.40"], 460.51, "460.51"),
        (["6746", "12802"], 7545.93, "7546"),
        (["930", "12,802"], 1840.0, "1,840"),
        (["930", "12802"], 1840.0, "1840"),
        (["$1,930.00"], 18400.5, "$18,400.50"),
        (["(317)", "12"], -1317.0, "(1,317)"),
        (["(317)", "12"], 31.0, "31"),
        (["−8", "3"], -12.0, "−12"),
        (["+3.1 %"], 2.04, "+2.0 %"),
        (["-3.1%"], 2.0, "2.0%"),
        (["12", "3.25"], 15.25, "15.25"),
        (["12.5", "3.25"], 15.5, "15.5"),
        (["1 930 €", "2 000 €"], 21930.0, "21 930 €"),
        (["317", "(12)"], -317.0, "(317)"),
        (["8:10", "9:00"], 500.0, "8:20"),
        (["08:10:00"], 545.5, "09:05:30"),
    ],
)
def test_the_style_of_the_column(column: list[str], value: float, expected: str) -> None:
    rows = [[cell] for cell in column]
    assert like_cell(rows, 0, 0, value) == expected
    read = cell_number(expected)
    assert read is not None and abs(read[0] - value) <= read[1] / 2


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        (["72,30", "9,10"], 27.3, "27,30"),
        (["5.506,00", "800,00"], 5605.0, "5.605,00"),
        (["51,0 %", "10,0 %"], 15.0, "15,0 %"),
        (["€ 1.930,00", "€ 310,50"], 18400.5, "€ 18.400,50"),
        (["1 930,25 €", "310,50 €"], 21930.0, "21 930,00 €"),
    ],
)
def test_a_decimal_comma_stays_a_comma(column: list[str], value: float, expected: str) -> None:
    assert like_cell([[cell] for cell in column], 0, 0, value) == expected


def test_percentages_with_decimal_commas_are_compared() -> None:
    text = "Region;2022;2023;Change\nNord;1.250,00;1.375,00;10,0 %\nSud;2.000,00;2.200,00;10,0 %\n"
    found = check(f"{text}Ost;800,00;880,00;10,0 %\nWest;1.000,00;1.150,00;51,0 %\n", model=False, kind="csv")
    assert [(each.written, each.meant) for each in found] == [("51,0 %", "15,0 %")]


@pytest.mark.parametrize(
    ("cell", "value", "expected"),
    [("8:10 h", 500.0, "500"), ("1.2e3", 1300.0, "1,300"), ("12", 12.3, "12.3"), ("n/a", 1234.0, "1,234")],
)
def test_other_cells_get_a_plain_number(cell: str, value: float, expected: str) -> None:
    """No plain decimal, or one that rounding would make the same again."""
    assert like_cell([[cell]], 0, 0, value) == expected


def test_cents_of_a_total_are_kept() -> None:
    rows = [{"item": item, "amount": amount} for item, amount in
            (("parts", "186.40"), ("labour", "240.00"), ("tax", "34.11"), ("Total", "406.51"))]  # fmt: skip
    (found,) = check(rows)
    assert found.meant == "460.51" and "add up to 460.51, not 406.51" in found.message
