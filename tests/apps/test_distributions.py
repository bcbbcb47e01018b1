"""Distributions of columns: false alarms as asked for, slips found and named."""

from __future__ import annotations

import numpy as np
import pytest

from numerate.apps.distributions import ColumnDistributions
from numerate.apps.documents import Document
from numerate.numerals.slips import slips_of


def column(values: list[str], name: str = "height") -> Document:
    return Document(kind="table", header=[name], rows=[[value] for value in values])


@pytest.mark.parametrize(
    ("written", "meant", "slip"),
    [("1780", "178", "factor"), ("17.8", "178", "factor"), ("-178", "178", "sign"), ("718", "178", "exchanged"),
     ("1178", "178", "doubled"), ("178000", "178", "thousands")],
)  # fmt: skip
def test_slips_are_named(written: str, meant: str, slip: str) -> None:
    rng = np.random.default_rng(0)
    right = [f"{value:.0f}" for value in rng.normal(175, 8, 400)]
    found = ColumnDistributions(0.0005).check(column([*right, written]))
    named = [each for each in found if each.cell == (400, 0)]
    assert [(each.rule, each.meant, each.evidence["slip"]) for each in named] == [("column-slip", meant, slip)]
    assert named[0].probability > 0.9


def test_a_correction_at_the_edge_of_the_column_is_named() -> None:
    rng = np.random.default_rng(3)
    right = [f"{value:.2f}" for value in rng.normal(8.05, 0.02, 100).clip(8.0, 8.1)]
    (named,) = ColumnDistributions().check(column([*right, "81.2"], "pH"))
    assert (named.rule, named.meant) == ("column-slip", "8.12")
    # What no slip brings near is an outlier as before.
    (odd,) = ColumnDistributions().check(column([*right, "66.6"], "pH"))
    assert odd.rule == "column-outlier"


def test_a_pair_of_columns_says_more_than_each() -> None:
    rng = np.random.default_rng(1)
    area = np.exp(rng.normal(4, 0.8, 500))
    price = area * 50 * np.exp(rng.normal(0, 0.1, 500))
    rows = [[f"{a:.0f}", f"{p:.0f}"] for a, p in zip(area, price, strict=True)]
    rows.append(["40", "20000"])  # 2,000 was meant; 20,000 is a usual price, but not of so small a flat
    found = ColumnDistributions(0.001).check(Document(kind="table", header=["area", "price"], rows=rows))
    wrong = next(each for each in found if each.cell == (500, 1))
    assert (wrong.rule, wrong.meant) == ("pair-slip", "2000")


def test_a_large_table_is_fitted_before_its_pieces_are_checked() -> None:
    rng = np.random.default_rng(2)
    values = [[f"{value:.1f}"] for value in rng.normal(20, 2, 3_000)]
    values[2_500] = ["210.0"]
    pieces = [
        Document(kind="table", header=["x"], rows=values[at : at + 1_000], first_row=at, is_last=at == 2_000)
        for at in (0, 1_000, 2_000)
    ]
    checker = ColumnDistributions(0.0001)
    checker.fit(pieces)
    found = [each for piece in pieces for each in checker.check(piece)]
    assert (2_500, 0) in [each.cell for each in found] and len(found) < 5


@pytest.mark.parametrize(
    ("header", "values"),
    [("order id", ["5", "7", "1", "900000"] * 20), ("n", [str(i) for i in range(100)]), ("x", ["1", "2"] * 50),
     ("x", ["1", "2", "3"]), ("x", ["a", "b"] * 20), ("x", [""] * 30)],
)  # fmt: skip
def test_codes_and_few_values_tell_nothing(header: str, values: list[str]) -> None:
    assert ColumnDistributions(0.01).check(column(values, header)) == []


def test_slips_of_a_number() -> None:
    meant = {slip.text: slip.name for slip in slips_of("12.5%", 12.5)}
    assert meant["125%"] == "factor" and meant["1.25%"] == "factor" and meant["0.125%"] == "percent"
    assert meant["21.5%"] == "exchanged" and meant["-12.5%"] == "sign"
    assert list(slips_of("none", 5.0)) == [] and list(slips_of("0", 0.0)) == []


def test_a_deduction_of_two_years_is_of_the_row() -> None:
    """The only negative row of a balance is improbable in both columns, and right; with a slip it stands alone."""
    draw = np.random.default_rng(3)
    sizes = draw.lognormal(9, 1, 24)
    rows = [[f"item {k}", f"{size:.0f}", f"{size * draw.uniform(0.8, 1.2):.0f}"] for k, size in enumerate(sizes)]
    right = [*rows, ["allowances", "(287604)", "(223487)"]]
    header = ["", "2019", "2018"]
    assert ColumnDistributions(0.001).check(Document(kind="table", header=header, rows=right)) == []
    alone = [[row[0], row[1]] for row in right]
    found = ColumnDistributions(0.001).check(Document(kind="table", header=header[:2], rows=alone))
    assert "(287604)" not in [each.written for each in found]  # brackets are meant
    minus = [*rows, ["allowances", "-287604", "223"]]
    found = ColumnDistributions(0.001).check(Document(kind="table", header=header, rows=minus))
    assert (24, 1) in [each.cell for each in found]
