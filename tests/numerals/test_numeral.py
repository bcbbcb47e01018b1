"""`Numeral`: properties that are derived from text and value."""

import json
import math
from fractions import Fraction

import pytest

from numerate import Numeral, find
from numerate.numerals.numeral import make_numeral


def one(text, **options):
    (numeral,) = find(text, **options)
    return numeral


@pytest.mark.parametrize(
    ("text", "written", "decimals", "precision", "exact"),
    [
        ("12", 12, 0, 0, 12),
        ("1,234.50", 1234.5, 2, -2, Fraction(2469, 2)),
        ("1.5 billion", 1.5, 1, 8, 1_500_000_000),
        ("3.2%", 3.2, 1, -3, Fraction(32, 1000)),
        ("7%", 7, 0, -2, Fraction(7, 100)),
        ("30bps", 30, 0, -4, Fraction(3, 1000)),
        ("0.1", 0.1, 1, -1, Fraction(1, 10)),
        ("-2.50", -2.5, 2, -2, Fraction(-5, 2)),
        ("(1,234)", -1234, 0, 0, -1234),
        ("1.5e-9", 1.5e-9, 1, -10, Fraction(15, 10**10)),
        ("3.2×10^6", 3.2e6, 1, 5, 3_200_000),
        ("10^6", 1e6, 0, 6, 1_000_000),
        ("3/4", 0.75, 0, -1, Fraction(3, 4)),
        ("1/3", 1 / 3, 0, -1, Fraction(1, 3)),
        ("½ million", 0.5, 0, 5, 500_000),
        ("0x1F", 31, 0, 0, 31),
        ("1.234,5", 1234.5, 1, -1, Fraction(2469, 2)),
        ("9007199254740993", 9007199254740992.0, 0, 0, 9007199254740993),
    ],
)
def test_properties_of_numerals_in_digits(text, written, decimals, precision, exact):
    n = one(text)
    assert (n.written, n.decimals, n.precision, n.exact) == (written, decimals, precision, exact)


@pytest.mark.parametrize(
    ("text", "decimals", "precision", "exact"),
    [
        ("two thirds", 0, -1, Fraction(2, 3)),
        ("one point five billion", 1, 8, 1_500_000_000),
        ("minus five eighths", 0, -1, Fraction(-5, 8)),
        ("three million", 0, 6, 3_000_000),
        ("two and a half million", 0, 5, 2_500_000),
        ("a million", 0, 6, 1_000_000),
        ("fifteen hundred", 0, 2, 1500),
        ("twenty-one", 0, 0, 21),
        ("zero point two five", 2, -2, Fraction(1, 4)),
        ("ten percent", 0, -2, Fraction(1, 10)),
        ("one hundred sextillion", 0, 23, 10**23),
    ],
)
def test_properties_of_number_words(text, decimals, precision, exact):
    n = one(text, words=True)
    assert (n.decimals, n.precision, n.exact) == (decimals, precision, exact)


def test_number_words_beyond_float64_have_no_exact_value():
    words = "nine quadrillion seven trillion one hundred ninety-nine billion two hundred fifty-four million seven"
    assert one(words, words=True).exact is None


@pytest.mark.parametrize(
    ("text", "value", "overflow", "exact"),
    [
        ("1e309", math.inf, True, Fraction(10) ** 309),
        ("-1e309", -math.inf, True, -(Fraction(10) ** 309)),
        ("1e-330", 0.0, False, Fraction(1, 10**330)),
        ("1e10001", math.inf, True, None),
        ("9" * 1001, math.inf, True, None),
        ("1e308", 1e308, False, Fraction(10) ** 308),
    ],
)
def test_overflow_and_exact_value(text, value, overflow, exact):
    n = one(text)
    assert (n.value, n.overflow, n.special, n.exact) == (value, overflow, None, exact)


def test_infinity():
    n = one("[-Infinity]", reader="records")
    assert (n.special, n.overflow, n.exact, n.to_dict()["value"]) == ("-inf", False, None, "-inf")


def test_to_dict_gives_json_types():
    text = "$1.5 billion, 1e999, 3.2 km"
    rows = [n.to_dict() for n in find(text)]
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows
    assert rows[0] == {
        "start": 1, "end": 12, "text": "1.5 billion", "value": 1.5e9, "written": 1.5, "decimals": 1, "kind": "money",
        "unit": "USD",
    }  # fmt: skip
    assert (rows[1]["value"], rows[2]["unit"]) == ("inf", "km")


def test_make_numeral_returns_a_frozen_numeral():
    made = make_numeral("5", 0, 1, 5.0, unit="km")
    assert type(made) is Numeral
    assert made == Numeral("5", 0, 1, 5.0, unit="km")
    assert (made.kind, made.style.decimals) == ("quantity", 0)
    with pytest.raises(AttributeError):
        made.value = 6.0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("text", "exact"),
    [("10^0", 1), ("10⁰", 1), ("-10^0", -1), ("10^400", 10**400), ("10^-400", Fraction(1, 10**400)), ("1e0", 1),
     ("0basis points", 0), ("0b11", 3), ("0x" + "f" * 300, 16**300 - 1)],
)  # fmt: skip
def test_exact_agrees_with_the_value_at_the_edge(text, exact):
    numeral = one(text)
    assert numeral.text == text and numeral.exact == exact
    assert numeral.overflow or float(exact) == numeral.value
    assert numeral.style and numeral.decimals == 0 and isinstance(numeral.precision, int)
