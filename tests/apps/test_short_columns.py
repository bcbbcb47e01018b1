"""Slips in columns of few values, which are too short for a distribution."""

from __future__ import annotations

import pytest

from numerate.apps.distributions import ColumnDistributions
from numerate.apps.documents import Document

PH = ["8.05", "8.02", "8.07", "8.04", "8.10", "8.03", "8.06", "8.05", "8.04", "8.08", "8.01"]
SALT = ["34.9", "35.0", "35.1", "34.8", "34.9", "35.0", "35.1", "35.0"]
PRICES = ["1,290", "1,340", "1,275", "1,310", "1,405", "1,330"]


def with_commas(values: list[str]) -> list[str]:
    return [value.replace(".", ",") for value in values]


def found(values: list[str], name: str = "x") -> list[tuple[str, str | None]]:
    rows = [[value, "a"] for value in values]
    table = Document(kind="table", header=[name, "note"], rows=rows)
    return [(each.written, each.meant) for each in ColumnDistributions().check(table)]


@pytest.mark.parametrize(
    ("others", "written", "meant"),
    [(PH, "81.2", "8.12"), (PH, "0.805", "8.05"), (SALT, "43.9", "34.9"), (SALT, "349", "34.9"),
     (PRICES, "13,200", "1,320"), (PRICES, "1.320", "1320"), (PRICES, "133", "1330"),
     (with_commas(PH), "81,2", "8,12"), (with_commas(SALT), "349", "34,9"),
     (["1988", "2010", "1999", "2004", "1995", "2001"], "19881", "1988"),
     ([f"{value} kg" for value in SALT], "350 kg", "35 kg"), ([f"{value} %" for value in SALT], "343 %", "34.3 %")],
)  # fmt: skip
def test_a_slip_among_few_values_is_named(others: list[str], written: str, meant: str) -> None:
    for at in (0, 3, len(others)):
        assert found([*others[:at], written, *others[at:]]) == [(written, meant)]
    assert not found(others)


@pytest.mark.parametrize(
    "values",
    [
        [*PH, "8.91"],  # odd, but no slip gives it
        [*SALT[:4], "349"],  # too few
        ["4", "5", "6", "5", "4", "6", "50"],  # counts
        ["60", "60", "60", "60", "60", "59", "6"],  # laps of one who retired
        ["1,290", "2,340", "3,275", "5,310", "13,100", "131,000"],  # far apart
        ["20 July", "21 July", "24 July", "26 July", "30 July", "28 July", "2 August"],
        ["75", "74", "73", "72", "76", "71", "7"],
        ["1970", "1985", "1991", "1999", "1988", "1975", "19xx"],
        ["1915", "1946", "1954", "1964", "1995", "1947", "1595"],  # a year that is old
        ["100", "102", "101", "103", "99", "98", "603"],  # the sum of six others would be a total
        ["-8.1", "8.0", "8.2", "8.1", "8.3", "8.0", "81"],
    ],
)
def test_odd_values_that_are_no_slip_are_left_alone(values: list[str]) -> None:
    assert not found(values)


def test_codes_totals_and_times_are_left_alone() -> None:
    assert not found([*SALT, "349"], name="station id")
    assert not found(["12:05", "12:10", "12:20", "12:30", "12:40", "1:20"])
    rows = [["a", "101"], ["b", "104"], ["c", "99"], ["d", "102"], ["e", "105"], ["f", "100"], ["Total", "1010"]]
    table = Document(kind="table", header=["ward", "beds"], rows=rows)
    assert not [each for each in ColumnDistributions().check(table) if each.rule == "column-slip"]


def test_the_message_tells_the_other_values() -> None:
    table = Document(kind="table", header=["pH"], rows=[[value] for value in [*PH, "81.2"]], first_row=2)
    (finding,) = ColumnDistributions().check(table)
    assert finding.cell == (13, 0) and finding.evidence["expected"] == pytest.approx(8.12)
    assert "where the other 11 are from 8.01 to 8.1; probably a factor of ten: 8.12." in finding.message
