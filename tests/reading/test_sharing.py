"""Numbers that share scale, percent sign, unit or currency; the cases are in cases/sharing.txt."""

from __future__ import annotations

from fractions import Fraction

import pytest

import numerate
from numerate import find, render


@pytest.mark.parametrize(
    ("text", "written", "value", "power"),
    [
        ("$43-65 million", 43.0, 43e6, 6),
        ("50-60%", 50.0, 0.5, -2),
        ("7 to 9%", 7.0, 0.07, -2),
        ("1.1-1.2 billion", 1.1, 1.1e9, 9),
        ("5 to 10 bps", 5.0, 0.0005, -4),
        ("0.3 ± 0.1%", 0.3, 0.003, -2),
        ("123456789.123456-123456789.2 million", 123456789.123456, 123456789123456.0, 6),
    ],
)
def test_a_shared_scale_is_no_part_of_the_text(text: str, written: float, value: float, power: int) -> None:
    first = find(text)[0]
    assert (first.written, first.value, first.power, first.shared) == (written, value, power, True)
    assert render(first.style, first.value) == first.text
    assert first.exact is not None
    assert first.exact == Fraction(first.text) * Fraction(10) ** power
    assert render(first.style, 2 * first.value) == render(first.style, first.value).replace(
        first.text, f"{2 * written:.{first.decimals}f}"
    )


@pytest.mark.parametrize("text", ["1/3 to 1/2 million", "⅓–⅔ million", "1/7-1/3%"])
def test_fractions_share_exactly(text: str) -> None:
    for numeral in find(text):
        assert numeral.exact is not None
        assert float(numeral.exact) == numeral.value
        assert render(numeral.style, numeral.value) == numeral.text


def test_a_long_list_shares_the_unit_at_its_end() -> None:
    numerals = find(", ".join(map(str, range(100, 3_000))) + " and 3000 kg")
    assert {(n.unit, n.shared) for n in numerals[:-1] if n.kind != "year"} >= {("kg", True)}
    assert find(", ".join(map(str, range(1, 99))) + " and 99 kg")[0].unit == "kg"


def test_the_unit_span_is_that_of_the_unit() -> None:
    text = "between 10 and 20 °C, or $5-7"
    assert [text[slice(*n.unit_span)] for n in find(text) if n.unit_span] == ["°C", "°C", "$", "$"]


def test_columns_have_the_shared_values() -> None:
    texts = ["$43-65 million", "50-60%", "4 × 4 × 5 mm"]
    columns = numerate.find_columns(texts)
    assert columns.value.tolist() == [n.value for text in texts for n in find(text)]


def test_a_decreasing_scale_is_only_likely() -> None:
    assert [n.confidence for n in find("fell from 10 to 8 million")] == ["likely", "certain"]
    assert [n.confidence for n in find("8 to 10 million")] == ["certain", "certain"]
