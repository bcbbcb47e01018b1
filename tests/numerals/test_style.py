"""Styles: `render` reproduces a numeral's text, and writes other values in the same way."""

import dataclasses
import json
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numerate import find, render
from numerate.numerals.style import Style, shared_style
from numerate.numerals.style_inference import style_of


@pytest.mark.parametrize(
    ("like", "value", "text"),
    [
        ("5", 7, "7"),
        ("007", 42, "042"),
        ("1,234", 9876543, "9,876,543"),
        ("1,234", 12, "12"),
        ("1,23,456", 98765432, "9,87,65,432"),
        ("1'234.5", 9876.54, "9'876.5"),
        ("1.234,5", 9876.5, "9.876,5"),
        ("816 000", 1234567, "1 234 567"),
        ("2.50", 3, "3.00"),
        (".5", 0.25, ".2"),
        ("-5", 3, "3"),
        ("5", -3, "-3"),
        ("−5", -3, "−3"),
        ("+5", 3, "+3"),
        ("+5", -3, "-3"),
        ("(1,234)", -5678, "(5,678)"),
        ("(1,234)", 5678, "5,678"),
        ("$(24.8) million", -1.5e6, "(1.5) million"),
        ("-$5", -7, "-$7"),
        ("-$5", 7, "$7"),
        ("($5)", -7, "($7)"),
        ("3.2%", 0.055, "5.5%"),
        ("30bps", 0.0045, "45bps"),
        ("12 percent", 0.5, "50 percent"),
        ("1.5 billion", 2.25e9, "2.2 billion"),
        ("10M", 2e7, "20M"),
        ("1st", 22, "22nd"),
        ("1,000th", 2001, "2,001st"),
        ("1.5e-9", 2.5e10, "2.5e10"),
        ("1e+05", 2e7, "2e+07"),
        ("3.2×10^6", 4.5e-7, "4.5×10^-7"),
        ("6.02×10²³", 1.6e-19, "1.60×10⁻¹⁹"),
        ("10⁶", 1e9, "10⁹"),
        ("10^{6}", 1e-3, "10^{-3}"),
        ("2½", 3.5, "3½"),
        ("2½", 3, "3"),
        ("1.5e3", 9990, "1.0e4"),
        ("0½", 1.5, "1½"),
        ("½", 1.5, "3⁄2"),
        ("1 1/2", 2.5, "2 1/2"),
        ("3/4", 0.25, "1/4"),
        ("0x1F", 255, "0xFF"),
        ("0x001f", 255, "0x00ff"),
        ("0b101", 6, "0b110"),
        ("٣٫١٤", 2.5, "٢٫٥٠"),
        ("１２％", 0.34, "３４％"),
    ],
)
def test_render_in_the_style_of_a_numeral(like, value, text):
    (n,) = find(like)
    assert render(n.style, n.value) == n.text
    assert render(n.style, value) == text


def test_plain_styles_are_cached():
    assert style_of("12", 12.0) is style_of("99", 99.0)


@given(
    value=st.floats(allow_nan=False, allow_infinity=False),
    style=st.builds(
        Style,
        negative=st.sampled_from(["-", "−", "()"]),
        plus=st.sampled_from(["", "+"]),
        width=st.integers(0, 6),
        group=st.sampled_from(["", ",", " ", "'"]),
        decimals=st.integers(0, 8),
        power=st.sampled_from([0, 6, 9, -2]),
        suffix=st.sampled_from(["", "%", " million"]),
    ),
)
def test_render_any_value(value, style):
    assert render(style, value)


def test_render_special_values():
    assert [render(Style(), value) for value in (math.nan, math.inf, -math.inf)] == ["nan", "inf", "-inf"]
    assert render(Style(family="words", suffix="lower-&", power=-2, outer=" percent"), 0.25) == "twenty-five percent"


def test_render_bare_power_of_zero():
    (n,) = find("10^6")
    assert (render(n.style, 0.0), render(n.style, 2.5e3)) == ("0", "2.5×10^3")


EDGES = [
    "0x10^9", "0x10⁹", "10^0", "10⁰", "10^-400", "10^400", "2×10^0", "1e400", "1e-0", "0e5", "0basis points", "0x1F",
    "½", "3/4", "5%", "(1,234)", "($5)", "1st", "٣rd", "1.5 billion", "12345678901234567890", "twenty-one",
    "fifteen hundred",
]  # fmt: skip


@pytest.mark.parametrize("text", EDGES)
@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 1e308, -5e-324, 0.0, -1.0])
def test_every_style_writes_every_value(text, value):
    (numeral,) = find(text, words=True)
    assert render(numeral.style, numeral.value) == text
    written = render(numeral.style, value)
    if math.isfinite(value) or numeral.overflow:
        assert any(char.isdecimal() or char.isalpha() or char in "½" for char in written)
    else:
        assert written in ("inf", "-inf", "nan")


@pytest.mark.parametrize("value", [-1.0, -12.0, -999.0, -1234.0])
@pytest.mark.parametrize("like", ["(1,234)", "(1,234) million", "($1,234)", "(1,234)%", "(1,234.50)"])
def test_accounting_style_is_read_back_with_its_sign(like, value):
    (numeral,) = find(like)
    scaled = value * 10**numeral.power
    (again,) = find(f"loss {render(numeral.style, scaled)}")
    assert again.value == pytest.approx(scaled)


def test_an_ordinal_of_another_script_has_the_suffix_of_its_value():
    assert [(n.text, n.kind) for n in find("٣rd")] == [("٣rd", "ordinal")]
    assert [(n.text, n.kind) for n in find("٣th")] == [("٣", "identifier")]


@pytest.mark.parametrize(
    ("text", "value", "written"),
    [
        ("25,000 km", -1234.5, "-1,234.5"), ("25.000,50 Euro", 1234.5, "1.234,5"), ("no number", 1234.5, "1234.5"),
        ("3.5 and 4", 1234.5, "1234.5"), ("12,34,56,789 rupees", 12345678.5, "1,23,45,678.5"),
        ("−3", -1234.5, "−1234.5"),
        ("1.234.567", 1234.5, "1.234,5"), ("1 234,56", 1234.5, "1 234,5"),
    ],
)  # fmt: skip
def test_shared_style_of_a_text(text: str, value: float, written: str) -> None:
    style = shared_style(numeral.style for numeral in find(text))
    assert render(dataclasses.replace(style, decimals=1), value) == written


@pytest.mark.parametrize(
    ("text", "value", "written"),
    [
        ("($0x4)", -4.0, "($0x4)"), ("1'000^2", 1000.0, "1'000"), ("2/10^30", 0.2, "2/10"), ("-0x0", -0.0, "-0x0"),
    ],
)  # fmt: skip
def test_rare_forms_are_read_rendered_and_exact(text: str, value: float, written: str) -> None:
    found = find(text)[0]
    assert (found.text, repr(found.value), found.exact) == (written, repr(value), Fraction(str(value)))
    assert render(found.style, found.value) == written


def test_records_keep_the_sign_of_a_hexadecimal_zero() -> None:
    assert repr(find("-0x0", reader="records")[0].value) == "-0.0"


def test_an_infinite_uncertainty_is_json() -> None:
    found = find("6±6e838")[0]
    assert found.uncertainty == math.inf and json.loads(json.dumps(found.to_dict(), allow_nan=False))["uncertainty"]


def test_render_takes_a_style() -> None:
    (numeral,) = find("1,234.50")
    with pytest.raises(
        TypeError, match=r"render takes a numeral's style and a value, got Numeral.*: pass numeral\.style"
    ):
        render(numeral, 5)  # type: ignore[arg-type]
