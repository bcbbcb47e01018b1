"""Cells are read however they are grouped, signed or priced: each value was written down by hand."""

from __future__ import annotations

import pytest

from numerate.apps.check import check
from numerate.apps.consistency.tables.cell_numbers import cell_number, has_decimal_commas
from numerate.apps.consistency.tables.cell_style import like_cell


@pytest.mark.parametrize(
    ("cell", "value", "step", "suffix"),
    [
        ("12,34,567", 1234567.0, 1.0, ""),
        ("₹ 1,23,456.50", 123456.5, 0.01, "₹"),
        ("Rs. 98,765", 98765.0, 1.0, "Rs."),
        ("CHF 1’234.50", 1234.5, 0.01, "CHF"),
        ("USD 1,234", 1234.0, 1.0, "USD"),
        ("HK$ 12", 12.0, 1.0, "HK$"),
        ("$(1,234)", -1234.0, 1.0, "$"),
        ("$ (0.75)", -0.75, 0.01, "$"),
        ("1,234.50-", -1234.5, 0.01, ""),
        ("350-", -350.0, 1.0, ""),
        ("1\u2009234\u2009567", 1234567.0, 1.0, ""),
        ("6.02 × 10^23", 6.02e23, 1e21, ""),
        ("1.6×10⁻¹⁹", 1.6e-19, 1e-20, ""),
    ],
)
def test_numbers_of_all_countries(cell: str, value: float, step: float, suffix: str) -> None:
    found = cell_number(cell)
    assert found is not None
    assert found[0] == pytest.approx(value, rel=1e-12) and found[1] == pytest.approx(step) and found[2] == suffix


@pytest.mark.parametrize("cell", ["2019-", "-5-", "(5", "1,23,45", "12,3", "CHFX 5", "USD", "5 x 7", "10^", ""])
def test_other_cells_are_no_numbers(cell: str) -> None:
    assert cell_number(cell) is None


def test_accounting_with_decimal_commas() -> None:
    assert has_decimal_commas(["1.234,50", "(224,40)", "1.000,00-", "R$ 12,50"])


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        (["98,765", "12,34,567"], 333333.0, "3,33,333"),
        (["₹4,56,789"], 12345678.0, "₹1,23,45,678"),
        (["CHF 1’234.50"], 1243.5, "CHF 1’243.50"),
        (["1,234-"], -1243.0, "1,243-"),
        (["1,234-"], 1243.0, "1,243"),
        (["$(1,234)"], -1243.0, "$(1,243)"),
        (["$(1,234)"], 1243.0, "$1,243"),
        (["(1.234,50)", "3,20"], -1243.5, "(1.243,50)"),
    ],
)
def test_corrections_are_written_alike(column: list[str], value: float, expected: str) -> None:
    assert like_cell([[cell] for cell in column], 0, 0, value) == expected


def test_relations_of_indian_numbers_are_learnt() -> None:
    cells = [
        ("Mumbai", "₹12,34,567", "₹3,45,678", "₹8,88,889"), ("Delhi", "₹9,87,654", "₹2,34,567", "₹7,53,087"),
        ("Pune", "₹4,56,789", "₹1,23,456", "₹3,33,533"), ("Surat", "₹6,54,321", "₹98,765", "₹5,55,556"),
    ]  # fmt: skip
    rows = [dict(zip(("City", "Sales", "Cost", "Profit"), row, strict=True)) for row in cells]
    assert [(each.written, each.meant) for each in check(rows, model=False)] == [("₹3,33,533", "₹3,33,333")]
