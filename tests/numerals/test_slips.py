"""Readings of a number before a slip of the writer's hand."""

from __future__ import annotations

import pytest

import numerate
from numerate.numerals.slips import SLIPS, slip_readings, slips_of


def readings(text: str) -> dict[str, set[str]]:
    numeral = numerate.find(text)[0]
    found: dict[str, set[str]] = {}
    for each in slip_readings(numeral):
        assert each.slip in SLIPS and 0 < each.share < 1 and each.written != numeral.written
        found.setdefault(each.slip, set()).add(each.text(numeral))
    return found


@pytest.mark.parametrize(
    ("text", "slip", "meant"),
    [
        ("It is 4500 m long.", "factor", "450"),
        ("It is 45 m long.", "factor", "4.5"),
        ("It has 45 rooms.", "factor", "45000"),
        ("It cost $1,234,000.", "factor", "123,400"),
        ("born in 1897", "exchanged", "1987"),
        ("about 125 people", "dropped", "1250"),
        ("about 125 people", "dropped", "1025"),
        ("about 1225 people", "doubled", "125"),
        ("about 725 people", "digit", "125"),
        ("It rose 3.2%.", "sign", "-3.2%"),
        ("It rose 0.15% a year.", "percent", "15%"),
        ("about 1.500 people", "separator", "1500"),
        ("about 1,500 people", "separator", "1.5"),
        ("28 km away", "unit", "28 mi"),
        ("It rose to 1.5 billion.", "factor", "15 billion"),
    ],
)
def test_what_was_meant_is_among_the_readings(text: str, slip: str, meant: str) -> None:
    assert meant in readings(text)[slip]


def test_readings_that_change_nothing_are_left_out() -> None:
    assert "exchanged" not in readings("11 people") and "doubled" not in readings("123 people")
    assert slip_readings(numerate.find("about 0 people")[0]) == []
    for text in ("inf people", "1e400 people", "6.02e23 atoms", "9" * 400 + " people"):
        for numeral in numerate.find(text):
            assert all(each.written != numeral.written for each in slip_readings(numeral))
    assert len(slip_readings(numerate.find("123456789012 atoms")[0])) < 300


def test_cells_keep_decimal_commas_and_zeros() -> None:
    def meant(written: str, value: float) -> set[tuple[str, str]]:
        return {(slip.name, slip.text) for slip in slips_of(written, value)}

    assert {("factor", "1967,92"), ("hundred", "196,792"), ("sign", "-19679,2")} <= meant("19679,2", 19679.2)
    assert ("hundred", "25.0") in meant("2500.0", 2500.0) and ("factor", "250") in meant("25", 25.0)
    assert ("percent", "0.45") in meant("45", 45.0) and ("percent", "450%") in meant("4.5%", 0.045)
    assert ("factor", "$123.4") in meant("$1,234", 1234.0)


def test_ordinals_are_whole() -> None:
    numeral = numerate.find("the 53rd week")[0]
    readings = {each.text(numeral) for each in slip_readings(numeral)}
    assert "35th" in readings and "530th" in readings
    assert all(each.written >= 1 and each.written.is_integer() for each in slip_readings(numeral))
