"""Canonical strings of numbers against Python's decimals; values of strings against Python's float."""

from __future__ import annotations

import dataclasses
import math
import random
import re
from decimal import Decimal

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from numerate import find
from numerate.heads.number_strings import (
    floats_of,
    hashes_of,
    packed,
    strings_of,
    strings_of_texts,
    texts_of,
    unpacked,
    values_of,
)
from numerate.numerals.numeral import Numeral
from numerate.processing.number_table import CHARACTERS, NumberTable

from .examples import EXTREMES, table

NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?(e-?[0-9]+)?")


def written(*texts: str) -> list[str]:
    """The strings of plain decimals as a reader would find them."""
    values = [float(text.replace(",", "")) for text in texts]
    numerals = [Numeral(text, 0, len(text), value) for text, value in zip(texts, values, strict=True)]
    return texts_of(strings_of(NumberTable.of_numerals(numerals)))


def read(text: str) -> list[str]:
    return texts_of(strings_of(NumberTable.of_numerals(find(text))))


def test_plain_decimals_keep_their_written_form() -> None:
    cases = [
        ("7", "7"),
        ("007", "7"),
        ("000", "0"),
        ("0", "0"),
        ("-0", "-0"),
        ("0.50", "0.50"),
        (".5", "0.5"),
        ("-.5", "-0.5"),
        ("+.50", "0.50"),
        ("00.5", "0.5"),
        ("5.", "5"),
        ("+12", "12"),
        ("−12.0", "-12.0"),
        ("1,234,567.80", "1234567.80"),
        ("0,001,234", "1234"),
        ("9007199254740993", "9007199254740993"),
        ("1234567890123456789012345678901.", "1234567890123456789012345678901"),
        ("1234567890.12345678901234567890", "1234567890.12345678901234567890"),
        ("0." + "0" * 30, "0." + "0" * 30),
    ]
    texts, expected = zip(*cases, strict=True)
    assert written(*(text.replace("−", "-") for text in texts)) == list(expected)
    for text, result in cases:  # alone, in a narrower table
        assert written(text.replace("−", "-")) == [result]


def test_other_forms_are_written_out() -> None:
    for text, expected in (
        ("3.2%", "0.032"),
        ("150%", "1.50"),
        ("1.5 billion", "1500000000"),
        ("-2.50 million", "-2500000"),
        ("($5.00)", "-5.00"),
        ("1e3", "1000"),
        ("1.5e-3", "0.0015"),
        ("2.50e300", "2.5e300"),
        ("-6e-40", "-6e-40"),
        ("1.234.567,89", "1234567.89"),
        ("0.1234567890123456789012345678901234567890", "0.123456789012346"),
        ("12345678901234567890123456789012345678", "1.23456789012346e37"),
    ):
        assert read(text) == [expected]


def test_scaled_values_do_not_keep_their_written_form() -> None:
    numbers = table([12.5, 3.0])
    scaled = dataclasses.replace(numbers, bits=torch.tensor([0.125, 3e-9]).double().view(torch.int64))
    assert texts_of(strings_of(scaled)) == ["0.1", "0"]  # at the precision of the table
    scaled = dataclasses.replace(scaled, precision=torch.tensor([-3, -9], dtype=torch.int16))
    assert texts_of(strings_of(scaled)) == ["0.125", "0.000000003"]


def test_nan_and_infinities_have_empty_strings() -> None:
    assert texts_of(strings_of(table([math.nan, math.inf, -math.inf, 1.0]))) == ["", "", "", "1"]
    assert strings_of(table([])).shape == (0, 32)


def test_strings_of_extreme_values_are_close_to_them() -> None:
    finite = [value for value in EXTREMES if math.isfinite(value)]
    strings = strings_of(table(finite))
    assert strings.dtype == torch.uint8
    for text, value in zip(texts_of(strings), finite, strict=True):
        assert NUMBER.fullmatch(text) and len(text) <= 32
        # Compared as decimals: the largest float64, rounded to 15 digits, overflows. Denormals have fewer digits.
        assert abs(Decimal(text) - Decimal(value)) <= Decimal(value).copy_abs() * Decimal("1e-14") + Decimal("5e-324")


@given(st.integers(0, 10**15), st.integers(-18, 12), st.booleans())  # a float64 always represents 15 digits
def test_values_written_out_equal_decimals(units: int, precision: int, minus: bool) -> None:
    """Numbers without a plain written form, against the decimal module."""
    exact = Decimal(units).scaleb(precision) * (-1 if minus else 1)
    numbers = table([float(exact)])
    numbers = dataclasses.replace(
        numbers,
        characters=torch.tensor([[CHARACTERS["%"]]], dtype=torch.uint8),
        precision=torch.tensor([precision], dtype=torch.int16),
    )
    expected = f"{exact:f}" if units else f"{abs(exact):f}"
    assert texts_of(strings_of(numbers)) == [expected if units or precision < 0 else "0"]


def random_numerals(count: int) -> list[str]:
    """Numerals with and without sign, decimals and exponent, with 1 to 10 integer digits."""
    draw = random.Random(0)

    def digits(most: int) -> str:
        return "".join(draw.choices("0123456789", k=draw.randint(1, most)))

    def optional(text: str) -> str:
        return text if draw.random() < 0.5 else ""

    return [
        optional("-") + str(int(digits(10))) + optional("." + digits(9)) + optional("e" + optional("-") + digits(3))
        for _ in range(count)
    ]


def test_values_of_strings_equal_python() -> None:
    texts = [*random_numerals(5000), "0", "-0", "0.0", "0e5", "-0.000e-999", "9999999999.999999999e308", "5e-324"]
    strings = strings_of_texts(texts)
    expected = [float(text) for text in texts]
    for text, value, wanted in zip(texts, values_of(strings).tolist(), expected, strict=True):
        exact = "e" not in text and len(text) < 16
        assert value == pytest.approx(wanted, rel=0 if exact else 1e-14, abs=5e-324)
    clamped = [max(-1.7976931348623157e308, min(value, 1.7976931348623157e308)) for value in expected]
    assert floats_of(strings).tolist() == clamped


@given(st.lists(st.text("0123456789-.e", max_size=8), min_size=1, max_size=50))
def test_malformed_strings_have_no_value(texts: list[str]) -> None:
    values = values_of(strings_of_texts(texts)).tolist()
    for text, value in zip(texts, values, strict=True):
        assert math.isnan(value) == (NUMBER.fullmatch(text) is None), text


def test_packing_is_lossless() -> None:
    draw = random.Random(0)
    texts = sorted({"".join(draw.choices("0123456789-.e", k=draw.randint(0, 32))) for _ in range(3000)})
    strings = strings_of_texts(texts)
    pairs = packed(strings)
    assert pairs.dtype == torch.int64 and pairs.shape == (len(texts), 2)
    assert len(pairs.unique(dim=0)) == len(texts)
    assert torch.equal(unpacked(pairs), strings)
    assert len(hashes_of(pairs).unique()) == len(texts)
    assert len(hashes_of(packed(strings_of_texts([str(k) for k in range(100_000)]))).unique()) == 100_000
