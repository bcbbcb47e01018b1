"""Manual cases of the notations with exponents: xVal's Table 1, NumBERT, RegressLM's IEEE-style tokens."""

from __future__ import annotations

from functools import lru_cache

import pytest

from numerate import notations
from numerate.config import ConfigError
from numerate.notation.base import END, Notation
from numerate.numerals.numeral import Numeral


@lru_cache
def build(name: str, options: tuple = ()) -> Notation:
    return notations[name].build(**dict(options))


def write(name: str, text: str, **options: object) -> list[str]:
    special = text if text in ("nan", "inf", "-inf") else None
    numeral = Numeral(text, 0, len(text), float(text), special=special)
    return [piece.text for piece in build(name, tuple(options.items())).write(numeral)]


def read(name: str, *pieces: str, **options: object) -> Numeral:
    return build(name, tuple(options.items())).read(pieces)


@pytest.mark.parametrize(
    ("name", "size", "tokens"), [("p10", 28, 5), ("p1000", 918, 3), ("b1999", 1816, 2), ("fp15", 28_800, 1)]
)
def test_vocabulary_sizes_of_xval_table_1(name: str, size: int, tokens: int) -> None:
    notation = notations[name]()
    assert len(notation.core_vocabulary) == len(set(notation.core_vocabulary)) == size
    assert notation.tokens_per_number == tokens == len(write(name, "-60.2"))
    assert notation.extra_vocabulary == ("[ZERO]", "[OVER]", "[-OVER]", "[NAN]", "[INF]", "[-INF]")
    assert notation.vocabulary == notation.core_vocabulary + notation.extra_vocabulary


@pytest.mark.parametrize(
    ("text", "p10", "p1000", "b1999", "fp15", "back"),
    [
        ("-6.02e1", "- 6 0 2 E-1", "- 602 E-1", "-602 E-1", "-602E-1", -60.2),
        ("1", "+ 1 0 0 E-2", "+ 100 E-2", "+100 E-2", "+100E-2", 1.0),
        ("100", "+ 1 0 0 E+0", "+ 100 E+0", "+100 E+0", "+100E+0", 100.0),
        ("3.14159", "+ 3 1 4 E-2", "+ 314 E-2", "+314 E-2", "+314E-2", 3.14),
        ("9.995", "+ 1 0 0 E-1", "+ 100 E-1", "+100 E-1", "+100E-1", 10.0),
        ("9.985", "+ 9 9 8 E-2", "+ 998 E-2", "+998 E-2", "+998E-2", 9.98),
        ("1.005", "+ 1 0 0 E-2", "+ 100 E-2", "+100 E-2", "+100E-2", 1.0),
        ("1.015", "+ 1 0 2 E-2", "+ 102 E-2", "+102 E-2", "+102E-2", 1.02),
        ("-0.00012345", "- 1 2 3 E-6", "- 123 E-6", "-123 E-6", "-123E-6", -0.000123),
        ("1e-8", "+ 1 0 0 E-10", "+ 100 E-10", "+100 E-10", "+100E-10", 1e-8),
        ("9.994999e7", "+ 9 9 9 E+5", "+ 999 E+5", "+999 E+5", "+999E+5", 9.99e7),
        ("6e-9", "+ 1 0 0 E-10", "+ 100 E-10", "+100 E-10", "+100E-10", 1e-8),
    ],
)
def test_numbers_in_range(text: str, p10: str, p1000: str, b1999: str, fp15: str, back: float) -> None:
    for name, pieces in {"p10": p10, "p1000": p1000, "b1999": b1999, "fp15": fp15}.items():
        assert write(name, text) == pieces.split()
        assert read(name, *pieces.split()).value == back


@pytest.mark.parametrize("name", ["p10", "p1000", "b1999", "fp15"])
def test_numbers_out_of_range(name: str) -> None:
    for texts, token, back in (
        (("0", "-0.0", "5e-9", "-4.99e-9", "1e-300", "5e-324"), "[ZERO]", "0.0"),
        (("1e8", "9.995e7", "1e300", "1e400"), "[OVER]", "100000000.0"),
        (("-1e8", "-99999999", "-1e400"), "[-OVER]", "-100000000.0"),
        (("nan",), "[NAN]", "nan"),
        (("inf",), "[INF]", "inf"),
        (("-inf",), "[-INF]", "-inf"),
    ):
        assert [write(name, text) for text in texts] == [[token]] * len(texts)
        assert str(read(name, token).value) == back
        assert build(name).legal_next([token]) == {END}


def test_tolerance_is_half_a_unit_of_the_third_digit() -> None:
    notation = notations["p1000"]()
    assert notation.tolerance(1.234) == pytest.approx(0.005)
    assert notation.tolerance(-60.2) == pytest.approx(0.05)
    assert notation.tolerance(1e-9) == pytest.approx(0.5e-8)
    assert notation.tolerance(1.5e8) == pytest.approx(0.5e8)
    assert notation.tolerance(0.0) == 0.0


def test_rounding_uses_all_written_digits() -> None:
    assert write("p1000", "1.00500000000000000000000001") == ["+", "101", "E-2"]


def test_vocabulary_of_fp15_is_sorted_by_value() -> None:
    notation = notations["fp15"]()
    values = [notation.read([token]).value for token in notation.core_vocabulary[::7]]
    assert values == sorted(values)
    assert notation.vocabulary[0] == "-999E+5" and notation.vocabulary[28_799] == "+999E+5"


def test_p10_with_the_sizes_of_regress_lm() -> None:
    options = {"digits": 4, "lowest": -10, "highest": 10}
    notation = notations["p10"].build(**options)
    assert len(notation.core_vocabulary) == 2 + 10 + 21
    assert write("p10", "-123456.5", **options) == ["-", "1", "2", "3", "5", "E+2"]


def test_p10_errors() -> None:
    with pytest.raises(ValueError, match=r"p10: \['\+', '0', '0', '1', 'E\+0'\] is not a number: '0' is not allowed"):
        read("p10", "+", "0", "0", "1", "E+0")
    with pytest.raises(ValueError, match="not complete"):
        read("p10", "+", "1", "0", "1")


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("314.1", "3141 [EXP] 2"),
        ("-314.1", "-3141 [EXP] 2"),
        ("0.00021", "21 [EXP] -4"),
        ("1500", "15 [EXP] 3"),
        ("7", "7 [EXP] 0"),
        ("0", "0 [EXP] 0"),
        ("-0.00", "-0 [EXP] 0"),
        ("6.02e23", "602 [EXP] 23"),
        ("5e-324", "5 [EXP] -324"),
        ("1e400", "1 [EXP] 400"),
        ("nan", "[NAN]"),
        ("-inf", "[-INF]"),
    ],
)
def test_scientific(text: str, pieces: str) -> None:
    assert write("scientific", text) == pieces.split()
    assert str(read("scientific", *pieces.split()).value) == str(float(text))


def test_scientific_with_trailing_zeros() -> None:
    assert write("scientific", "1500", trailing_zeros=True) == ["1500", "[EXP]", "3"]
    assert write("scientific", "0.50", trailing_zeros=True) == ["50", "[EXP]", "-1"]


def test_scientific_reads_subwords_and_spaces() -> None:
    assert read("scientific", "3", "14", " 1", "[EXP]", " ", "-", "2").value == 0.03141
    notation = notations["scientific"]()
    assert [piece.own for piece in notation.write(Numeral("314.1", 0, 5, 314.1))] == [False, True, False]
    assert notation.legal_next(["31"]) == {*"0123456789", "[EXP]"}
    assert notation.legal_next(["31", "[EXP]"]) == {*"0123456789", "-"}
    assert notation.legal_next(["31", "[EXP]", "-"]) == {*"123456789"}
    assert notation.legal_next(["31", "[EXP]", "-1234"]) == {END}
    assert notation.legal_next(["0", "[EXP]", "0"]) == {END}


@pytest.mark.parametrize(
    ("text", "options", "pieces", "back"),
    [
        ("1.23456789e-222", {"exponent_digits": 3}, "+ - 2 2 2 1 2 3 5", 1.235e-222),
        ("-60.2", {}, "- + 1 6 0 2 0", -60.2),
        ("0", {}, "+ + 0 0 0 0 0", 0.0),
        ("-0.0", {}, "- + 0 0 0 0 0", -0.0),
        ("9.9995", {}, "+ + 1 1 0 0 0", 10.0),
        ("0.99995", {}, "+ + 0 1 0 0 0", 1.0),
        ("1e300", {}, "+ + 9 9 9 9 9", 9.999e9),
        ("1e-9", {}, "+ - 9 1 0 0 0", 1e-9),
        ("6e-10", {}, "+ - 9 1 0 0 0", 1e-9),
        ("5e-10", {}, "+ + 0 0 0 0 0", 0.0),
        ("-5", {"base": 2, "exponent_digits": 3, "mantissa_digits": 3}, "- + 0 1 0 1 0 1", -5.0),
        ("0.1", {"base": 2, "exponent_digits": 3, "mantissa_digits": 3}, "+ - 1 0 0 1 1 0", 0.09375),
        ("1234567.891", {"base": 1000, "mantissa_digits": 3}, "+ + 2 1 234 568", 1234568.0),
        ("inf", {}, "[INF]", float("inf")),
    ],
)
def test_ieee(text: str, options: dict, pieces: str, back: float) -> None:
    assert write("ieee", text, **options) == pieces.split()
    assert repr(read("ieee", *pieces.split(), **options).value) == repr(back)


def test_vocabulary_and_legal_pieces_of_ieee() -> None:
    notation = notations["ieee"].build(base=16)
    assert len(notation.vocabulary) == 16 + 2 + 3
    assert notation.tokens_per_number == 2 + 1 + 4
    assert "0" not in notation.legal_next(["+", "-"])
    assert "0" not in notation.legal_next(["+", "+", "3"])
    assert notation.legal_next(["+", "+", "0", "0"]) == {"0"}


def test_wide_ieee_is_exact_for_float64() -> None:
    options = {"base": 2, "exponent_digits": 11, "mantissa_digits": 53}
    for text in ("0.1", "5e-324", "1.7976931348623157e+308", "-2.2250738585072014e-308"):
        assert read("ieee", *write("ieee", text, **options), **options).value == float(text)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("ieee", {"base": 1}),
        ("ieee", {"exponent_digits": 9}),
        ("ieee", {"mantissa_digits": 0}),
        ("p10", {"digits": 0}),
        ("p1000", {"lowest": 3, "highest": 2}),
        ("fp15", {"digits": 4}),
        ("digits", {"group": 2}),
        ("digits", {"max_digits": 16}),
        ("scientific", {"max_digits": 10**6}),
        ("numerologic", {"max_digits": 3}),
    ],
)
def test_options_out_of_range(name: str, options: dict) -> None:
    with pytest.raises(ConfigError, match=next(iter(options))):
        notations[name].build(**options)
