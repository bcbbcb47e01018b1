"""The grammar of units: every unit that it names has one meaning, which pint confirms and converts back."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numerate.numerals import unit_grammar
from numerate.numerals.unit_context import VETO
from numerate.numerals.unit_tables import (
    BOUND,
    CURRENCIES,
    PHRASES,
    PREFIXED,
    SHORTER_SPELLINGS,
    UNITS,
    UnitError,
    pint_registry,
    pint_unit,
)
from numerate.numerals.units import to_quantity, unit_after

pytest.importorskip("pint")

UNKNOWN = {
    "IU": "an international unit has a size of its own for each substance",
    "Eq": "an equivalent depends on the valence of the ion",
}
"""Units that pint does not know -> reason."""
POWERS = {"a": -18, "f": -15, "p": -12, "n": -9, "µ": -6, "m": -3, "c": -2, "d": -1, "h": 2, "k": 3, "M": 6, "G": 9}
POWERS |= {"T": 12, "P": 15, "E": 18, "Z": 21, "Y": 24}
NORMAL = {*UNITS.values(), *BOUND.values(), *PREFIXED, *(normal for rows in PHRASES.values() for _, normal in rows)}
NORMAL |= set(SHORTER_SPELLINGS.values())


def is_unknown(unit):
    parts = re.split(r"[/*^()]", unit)
    return any(PREFIXED.get(part, ("", part))[1] in UNKNOWN for part in parts)


def comes_back(unit, value=3.0):
    """Whether a quantity of the unit, in base units and back, is the same."""
    known, base = pint_unit(unit), to_quantity(value, unit, "SI", "3")
    back = base.to(known) if isinstance(known, pint_registry().Unit) else base.to(known.units) / known.magnitude
    return back.magnitude == pytest.approx(value, rel=1e-9)


def test_every_normal_spelling_converts_and_comes_back():
    units = sorted(NORMAL - CURRENCIES)
    assert len(units) > 400
    assert [unit for unit in units if not is_unknown(unit) and not comes_back(unit)] == []


def test_units_that_pint_does_not_know():
    assert {unit for unit in NORMAL - CURRENCIES if is_unknown(unit)} > set(UNKNOWN)
    for unit in UNKNOWN:
        with pytest.raises(UnitError, match="pint knows no unit"):
            to_quantity(1.0, unit, "SI", "1")


def test_prefixes_have_their_size():
    for unit, (prefix, base) in PREFIXED.items():
        if prefix and base not in UNKNOWN:
            ratio = to_quantity(1.0, unit, "SI", "1") / to_quantity(1.0, base, "SI", "1")
            assert ratio.to("").magnitude == pytest.approx(10.0 ** POWERS[prefix], rel=1e-9), unit


def test_units_of_the_case_table_convert():
    rows = (Path(__file__).parents[1] / "reading" / "cases" / "units.txt").read_text("utf-8").split("\n")
    units = {match[1] for row in rows if (match := re.search(r"=> .* quantity (\S+)$", row))}
    assert len(units) > 200
    assert [unit for unit in sorted(units) if not is_unknown(unit) and not comes_back(unit)] == []


SYMBOLS = sorted(
    word
    for word, unit in UNITS.items()
    if unit in PREFIXED and len(word) in (2, 3) and unit != "dB" and word not in VETO
)
# Written power -> power. Digits without a mark are read after lengths only.
RAISED = {"": 1, "²": 2, "³": 3, "^2": 2, "^{3}": 3, "**2": 2, "⁻¹": -1, "⁻²": -2, "^-1": -1, "^{-2}": -2, "−1": -1}
factors = st.tuples(st.sampled_from(SYMBOLS), st.sampled_from(sorted(RAISED)))


def meaning(written):
    """The pint unit of factors (symbol, written power), by multiplication and not by the grammar."""
    unit = pint_unit("")
    for symbol, power in written:
        unit = unit * pint_unit(UNITS[symbol]) ** RAISED[power]
    return unit


@pytest.mark.parametrize("mark", ["·", " ", "⋅"])
@settings(max_examples=40, deadline=None)
@given(some=st.lists(factors, min_size=1, max_size=3))
def test_products_mean_the_product_of_their_factors(mark, some):
    if any(is_unknown(UNITS[symbol]) for symbol, _ in some):
        return
    if mark == " ":  # a space multiplies only before a negative power
        some = [some[0], *((symbol, power) for symbol, power in some[1:] if RAISED[power] < 0)]
    text = "5 " + mark.join(symbol + power for symbol, power in some)
    found = unit_after(text, 1)
    assert found is not None and found[2] == len(text), text
    if not found[0].startswith(("m/s", "1/ms")):  # `ms−1` is read as m/s
        assert pint_unit(found[0]) == meaning(some), text


@settings(max_examples=60, deadline=None)
@given(above=factors, below=st.lists(factors, min_size=1, max_size=3), brackets=st.booleans())
def test_quotients_mean_the_quotient_of_their_factors(above, below, brackets):
    below = [(symbol, power) for symbol, power in below if RAISED[power] > 0]
    if not below or any(is_unknown(UNITS[symbol]) for symbol, _ in [above, *below]):
        return
    brackets = brackets or len(below) > 1
    bottom = "·".join(symbol + power for symbol, power in below)
    text = f"5 {above[0]}{above[1]}/" + (f"({bottom})" if brackets else bottom)
    found = unit_after(text, 1)
    assert found is not None and found[2] == len(text), text
    if above[0] != "ms" and not (below[0][0] == "mK" and above[0].endswith("W")):  # `W/mK` is W/(m*K)
        assert pint_unit(found[0]) == meaning([above]) / meaning(below), text


@pytest.mark.parametrize(
    ("text", "unit", "written"),
    [
        ("3 m-2 m", "m", "m"),
        ("5 cm-3 cm", "cm", "cm"),
        ("a 10 km-long road", "km", "km"),
        ("5 m·", "m", "m"),
        ("5 m/(s", "m", "m"),
        ("5 m/()", "m", "m"),
        ("5 m/ ", "m", "m"),
        ("5 m per", "m", "m"),
        ("5 km/h/", "km/h", "km/h"),
        ("5 W/(m²·K", "W", "W"),
        ("5 kg m", "kg*m", "kg m"),
        ("5 lbs in May", "lb", "lbs"),
        ("5 m in May", "m", "m"),
        ("5 s. The", "s", "s"),
        ("5 mg/kg bw", "mg/kg", "mg/kg"),
        ("5 mol%", "mol%", "mol%"),
        ("5 mol percent", "mol", "mol"),
        ("5 mmol/L, or", "mmol/L", "mmol/L"),
        ("5 km^", None, ""),
        ("5 N/A", None, ""),
        ("2 F/A-18 jets", None, ""),
        ("5 A/V", None, ""),
        ("5 A/B tests", None, ""),
        ("70 M/42 M", None, ""),
        ("5 cells", None, ""),
        ("5 dm", None, ""),
        ("5 Mb", None, ""),
        ("1987 grain harvest", None, ""),
        ("a 1957 cup match", None, ""),
        ("Formula 3 Euro Series", None, ""),
        ("3 L/R", "L", "L"),
    ],
)
def test_ends_of_units(text, unit, written):
    position = re.search(r"\d+", text).end()
    found = unit_after(text, position)
    assert (found and (found[0], text[found[1] : found[2]])) == (unit and (unit, written)), text


def test_a_unit_has_a_bounded_number_of_factors():
    for mark in ("·", "/", " per "):
        found = unit_after("5 " + mark.join(["kg"] * 50), 1)
        assert found is not None and found[2] < 60
    assert unit_grammar.MAX_FACTORS == 6
