"""Parsing of values of records."""

from __future__ import annotations

import datetime
import decimal
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from numerate.records.cells import read_cell, time_text

NOON = 1709208000.0  # date -u -d 2024-02-29T12:00 +%s
ZONE = datetime.timezone(datetime.timedelta(hours=2))


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (7, 7.0), (-1.5, -1.5), ("7", 7.0), (" -1.5e3 ", -1500.0), ("+.5", 0.5), ("0", 0.0), ("5.", 5.0),
        ("1E-400", 0.0), (np.float32(0.5), 0.5), (np.int64(3), 3.0), (decimal.Decimal("2.5"), 2.5),
        (Fraction(1, 4), 0.25),
    ],
)  # fmt: skip
def test_numbers(value: Any, number: float) -> None:
    assert read_cell(value)[:2] == ("number", number)


def test_half_a_character_is_replaced() -> None:
    """JSON can escape lone surrogates, and no tokenizer accepts them."""
    assert read_cell("a\ud800b").text == "a\ufffdb" and read_cell("Zoë").text == "Zoë"


@pytest.mark.parametrize(
    "value",
    [None, "", "  ", "NA", "n/a", "NaN", "null", "None", "NaT", math.nan, np.float64("nan"), np.datetime64("NaT", "s")],
)
def test_missing(value: Any) -> None:
    assert read_cell(value) == ("missing", pytest.approx(math.nan, nan_ok=True), "", False)


@pytest.mark.parametrize("value", [math.inf, -math.inf, "inf", "-Infinity", "1e999", 10**400, np.float32("inf")])
def test_infinities_are_missing_and_marked(value: Any) -> None:
    cell = read_cell(value)
    assert cell.kind == "missing" and cell.infinite


@pytest.mark.parametrize(
    "value",
    [
        "2024-02-29T12:00:00", "2024-02-29 12:00", "2024-02-29T12:00:00Z", "2024-02-29T14:00:00+02:00",
        datetime.datetime(2024, 2, 29, 12), datetime.datetime(2024, 2, 29, 14, tzinfo=ZONE),
        np.datetime64("2024-02-29T12:00"), np.datetime64("2024-02-29T12:00:00.000000000"),
    ],
)  # fmt: skip
def test_times_are_seconds_since_1970(value: Any) -> None:
    assert read_cell(value)[:2] == ("time", NOON)


@pytest.mark.parametrize(
    "value", [datetime.timedelta(minutes=1.5), np.timedelta64(90, "s"), np.timedelta64(90 * 10**9, "ns")]
)
def test_differences_of_times_are_seconds(value: Any) -> None:
    assert read_cell(value)[:2] == ("number", 90.0)
    assert read_cell(np.timedelta64("NaT", "ns")).kind == "missing"


def test_dates_begin_at_midnight() -> None:
    midnight = NOON - 12 * 3600
    assert read_cell("2024-02-29").number == read_cell(datetime.date(2024, 2, 29)).number == midnight
    assert time_text(midnight) == "2024-02-29T00:00:00+00:00" and time_text(1e300) == time_text(math.inf) == "nan"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("Paris", "Paris"), ("007", "007"), ("1_000", "1_000"), ("<0.01", "<0.01"), ("2023-02-29", "2023-02-29"),
        (True, "true"), (np.bool_(False), "false"), ("١٢", "١٢"), (1j, "1j"), ("1,5", "1,5"),
    ],
)  # fmt: skip
def test_all_else_is_text(value: Any, text: str) -> None:
    assert read_cell(value)[::2] == ("text", text)
