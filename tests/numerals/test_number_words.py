"""Writing numbers in letters: number words, Roman numerals, NaN and infinity."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numerate.numerals.number_words import render_roman, render_special, render_words

WORDS = [
    (0, "lower-&", 0, "zero"),
    (-0.0, "lower-&", 0, "minus zero"),
    (13, "lower-&", 0, "thirteen"),
    (21, "lower-&", 0, "twenty-one"),
    (21, "lower ", 0, "twenty one"),
    (21, "capital-", 0, "Twenty-one"),
    (-21, "upper-", 0, "MINUS TWENTY-ONE"),
    (105, "lower-&", 0, "one hundred and five"),
    (105, "lower-", 0, "one hundred five"),
    (1005, "lower-&", 0, "one thousand and five"),
    (105_000, "lower-&", 0, "one hundred and five thousand"),
    (1_000_001, "lower-", 0, "one million one"),
    (2019, "lower-&", 0, "two thousand and nineteen"),
    (1e23, "lower-&", 0, "one hundred sextillion"),
    (0.5, "lower-&", 0, "one half"),
    (1.5, "lower-&", 0, "one and a half"),
    (2.75, "lower-&", 0, "two and three quarters"),
    (-0.625, "lower-&", 0, "minus five eighths"),
    (2 / 3, "lower-&", 0, "two thirds"),
    (0.1, "lower-&", 0, "one tenth"),
    (5 / 12, "lower-&", 0, "five twelfths"),
    (3 / 16, "lower-&", 0, "three sixteenths"),
    (0.5, "lower-&.", 0, "zero point five"),
    (3.14, "lower-&", 0, "three point one four"),
    (100 + 1 / 3, "lower-&", 0, "one hundred and a third"),
    (3e6, "lower-&", 6, "three million"),
    (2.5e6, "lower-&", 6, "two and a half million"),
    (5e5, "lower-&", 6, "half a million"),
    (7.5e5, "lower-&", 6, "three quarters of a million"),
    (1.5e9, "lower-&.", 9, "one point five billion"),
    (5, "lower-&", 6, "five"),
    (2.5e9, "lower-&", 6, "two billion five hundred million"),
    (3, "lower-&", -2, "three"),
    (21, "lower-&#", 0, "twenty-first"),
    (112, "capital-&#", 0, "One hundred and twelfth"),
    (2000, "lower-&#", 0, "two thousandth"),
    (1e65, "lower-&", 0, "one hundred vigintillion"),
    (1e66, "lower-&", 0, "1e+66"),
    (1e70, "lower-&", 0, "1e+70"),
    (-1e-20, "lower-&", 0, "-1e-20"),
    (math.inf, "lower-&", 0, "inf"),
]

SPECIALS = [
    ("NaN", math.nan),
    ("nan", math.nan),
    ("NAN", math.nan),
    ("null", math.nan),
    ("Infinity", math.inf),
    ("-Infinity", -math.inf),
    ("+Infinity", math.inf),
    ("inf", math.inf),
    ("-inf", -math.inf),
    ("+inf", math.inf),
    ("Inf", math.inf),
    ("INF", math.inf),
    ("INFINITY", math.inf),
    ("-Inf", -math.inf),
    ("∞", math.inf),
    ("−∞", -math.inf),
]


@pytest.mark.parametrize(("value", "form", "power", "words"), WORDS)
def test_render_words(value: float, form: str, power: int, words: str) -> None:
    assert render_words(value, form, power) == words


@given(
    st.floats(),
    st.sampled_from(["lower", "capital", "upper"]),
    st.sampled_from(["-&", "-", " &", " ", "-&.", "-&#"]),
    st.integers(-12, 70),
)
def test_render_words_of_any_float(value: float, case: str, joints: str, power: int) -> None:
    words = render_words(value, case + joints, power)
    assert words and words == words.strip()


@pytest.mark.parametrize(
    ("value", "upper", "letters"),
    [
        (1, True, "I"),
        (4, False, "iv"),
        (1984, True, "MCMLXXXIV"),
        (3999, True, "MMMCMXCIX"),
        (0, True, "0"),
        (4000, True, "4000"),
        (-3, True, "-3"),
        (2.5, False, "2.5"),
        (math.inf, True, "inf"),
    ],
)
def test_render_roman(value: float, upper: bool, letters: str) -> None:
    assert render_roman(value, upper) == letters


def test_special_values_keep_their_spelling() -> None:
    for like, value in SPECIALS:
        assert render_special(like, value) == like


@pytest.mark.parametrize(
    ("like", "nan", "inf", "minus_inf"),
    [
        ("", "nan", "inf", "-inf"),
        ("nan", "nan", "inf", "-inf"),
        ("NaN", "NaN", "Infinity", "-Infinity"),
        ("NAN", "NAN", "INF", "-INF"),
        ("-inf", "nan", "inf", "-inf"),
        ("+inf", "nan", "+inf", "-inf"),
        ("Infinity", "NaN", "Infinity", "-Infinity"),
        ("INFINITY", "NAN", "INFINITY", "-INFINITY"),
        ("null", "null", "Infinity", "-Infinity"),
        ("−∞", "NaN", "∞", "−∞"),
    ],
)
def test_special_values_follow_the_style_of_another(like: str, nan: str, inf: str, minus_inf: str) -> None:
    assert [render_special(like, value) for value in (math.nan, math.inf, -math.inf)] == [nan, inf, minus_inf]


@given(st.sampled_from([like for like, _ in SPECIALS]), st.floats(allow_nan=False, allow_infinity=False))
def test_finite_values_in_a_special_style_are_digits(like: str, value: float) -> None:
    assert float(render_special(like, value)) == value
    assert not render_special(like, value).endswith(".0")
