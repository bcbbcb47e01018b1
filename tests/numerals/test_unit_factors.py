"""Sizes of units, held against pint's."""

from __future__ import annotations

import pytest

from numerate.numerals import unit_factors
from numerate.numerals.unit_factors import converted, dimension_name, measure_of, system_of
from numerate.numerals.unit_tables import pint_unit

OTHERWISE = {"decade", "rpm"}
"""For pint, a decade is a factor of ten, and a revolution is 2 pi."""


def test_all_factors_agree_with_pint() -> None:
    compound = ["km/h", "mg/L", "mi^2", "m/s^2", "ft*lbf", "acre*ft", "kWh", "µm", "MHz", "kPa", "g/cm^3", "1/s"]
    for unit in [*unit_factors._UNITS, *compound]:
        measure = measure_of(unit)
        assert measure is not None, unit
        if unit in OTHERWISE:
            continue
        size = (1 * pint_unit(unit)).to_base_units().magnitude
        assert any(factor == pytest.approx(size, rel=1e-5) for factor in measure.factors), unit


def test_conversions() -> None:
    assert converted(100, "°C", "°F") == pytest.approx((212,)) and converted(5, "°C", "°F", difference=True) == (9,)
    assert converted(10, "gal", "L") == pytest.approx((37.85411784, 45.4609))
    assert converted(1, "kg", "km") == () and converted(1, "USD", "EUR") == () and converted(1, "m", "quux") == ()
    assert dimension_name("km/h") == "speed" and dimension_name("USD") is None and dimension_name("kg/quux") is None
    assert system_of("mi^2") == "imperial" and system_of("km^2") == "metric"
