"""Strings that are one written number with a unit, and columns of them."""

from __future__ import annotations

from typing import Any

import pytest

from numerate.records.field_table import Counts
from numerate.records.learning import learn
from numerate.records.quantities import read_quantity
from numerate.records.schema import Schema


@pytest.mark.parametrize(
    ("text", "number", "unit"),
    [
        ("$59,696", 59696, "USD"), ("12 %", 12, "%"), ("12%", 12, "%"), ("-3.5 km", -3.5, "km"), ("5 EUR", 5, "EUR"),
        ("($1,200)", -1200, "USD"), ("$1.5 million", 1.5e6, "USD"), ("1,234", 1234, ""), ("25 °C", 25, "°C"),
        ("$.50", 0.5, "USD"), ("0.5 kg", 0.5, "kg"), ("1 234 567 €", 1234567, "EUR"), ("30bps", 30, "bp"),
        ("₹1,23,456", 123456, "INR"), (" −5% ", -5, "%"), ("(317)", -317, ""), ("(0.4%)", -0.4, "%"), ("5-", -5, ""),
        ("- 5", -5, ""), ("$ (1,200 )", -1200, "USD"), ("$  62", 62, "USD"), ("(55) bps", -55, "bp"),
    ],
)  # fmt: skip
def test_numbers_with_a_unit(text: str, number: float, unit: str) -> None:
    assert read_quantity(text) == (number, unit, False)


@pytest.mark.parametrize(
    "text",
    [
        "007", "007 kg", "00.5", "555 123 456", "555-1234", "+1 555 123 4567", "(555) 123-4567", "1.2.3", "v2.1",
        "192.168.1.1", "12345-6789", "978-3-16-148410-0", "#12", "No. 5", "A4", "Q3", "Route 66", "12/31/2019",
        "31.12.2019", "2024-01-01", "12:30", "1990s", "3rd", "3/4", "4.5/5", "½", "<5 kg", "~5", "10-15 %", "$5-$10",
        "about 5", "5 people", "$5/month", "ten percent", "IV", "1_000", "", "$", "1" * 50,
    ],
)  # fmt: skip
def test_identifiers_dates_and_texts_are_no_numbers(text: str) -> None:
    assert read_quantity(text) is None


def test_european_numbers_need_their_locale() -> None:
    for text, number in (("1.234,56 €", 1234.56), ("999,00 €", 999.0), ("12,5 %", 12.5)):
        assert read_quantity(text) is None
        found = read_quantity(text, "eu")
        assert found is not None and found.number == number and found.comma


def field(values: list[Any]) -> Any:
    return learn([{"x": i, "c": value} for i, value in enumerate(values)]).fields["c"]


@pytest.mark.parametrize(
    ("values", "holds", "unit", "low", "high"),
    [
        (["$59,696", "$1,200.50", "$900", None, ""], "number", "USD", 900, 59696),
        (["12 %", "7.5 %", "0%"], "number", "%", 0, 12),
        (["1.5 km", "900 km"], "number", "km", 1.5, 900),
        (["999", "1,234", "12,000", 7], "number", "", 7, 12000),
        (["1.234,56 €", "999,00 €", "1.234 €"], "number", "EUR", 999, 1234.56),
        (["1.234,5", "12,5", "7"], "number", "", 7, 1234.5),
        (["$5", "$5"], "constant", "USD", 5, 5),
        (["$5", "€7", "$9"], "text", "", 0, 0),
        (["$5", "7", "$9"], "text", "", 0, 0),
        (["$5", "on request", "$9"], "text", "", 0, 0),
        (["12 %", "3 km"], "text", "", 0, 0),
        (["192.168.100.200", "192.168.100.201"], "text", "", 0, 0),
        (["007", "008"], "text", "", 0, 0),
        (["5", "7", "<1", "9"], "number", "", 5, 9),
    ],
)  # fmt: skip
def test_a_column_of_one_unit_is_a_number_field(
    values: list[Any], holds: str, unit: str, low: float, high: float
) -> None:
    found = field(values)
    assert (found.holds, found.unit, found.low, found.high) == (holds, unit, low, high)


def test_written_numbers_become_bare_ones() -> None:
    rows = [{"price": f"${1000 * i:,}", "rate": f"{i} %", "x": i} for i in range(20)]
    schema = learn(rows)
    assert schema.write(rows[7]) == '{"price":7000,"rate":7,"x":7}'
    assert schema.numbers() == ["price", "rate", "x"]
    counts = Counts()
    odd = {"price": "€5,000", "rate": 3.5, "x": 7}
    assert schema.write(odd, counts=counts) == '{"price":"€5,000","rate":3.5,"x":7}'
    assert counts["strays"] == {"price": 1}
    assert schema.write({"price": "4000", "rate": "2.5", "x": 1}) == '{"price":4000,"rate":2.5,"x":1}'
    again = Schema.from_json(schema.to_json())
    assert again == schema and again.write(rows[7]) == schema.write(rows[7])


def test_schemas_of_earlier_versions_read_texts_as_before() -> None:
    schema = learn([{"price": f"${1000 * i:,}", "x": i} for i in range(20)])
    saved = schema.to_dict()
    for each in saved["fields"].values():
        each.pop("unit"), each.pop("locale")
    saved["fields"]["price"] |= {"holds": "text"}
    assert Schema.from_dict(saved).write({"price": "$5,000", "x": 1}) == '{"price":"$5,000","x":1}'
