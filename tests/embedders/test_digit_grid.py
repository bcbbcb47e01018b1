"""Fixed-point conversion, against the decimal module."""

from __future__ import annotations

from decimal import Decimal

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from numerate.config import ConfigError
from numerate.embedders.digit_grid import beyond_grid, check_digits, grid_units


@given(st.integers(-(10**8), 10**8), st.integers(0, 5))
def test_decimals_become_the_right_integers(number: int, places: int) -> None:
    value = float(Decimal(number).scaleb(-places))
    assert grid_units(torch.tensor([value], dtype=torch.float64), 15, places).tolist() == [number]


def test_integers_are_rounded_and_clamped() -> None:
    values = torch.tensor([1e300, -1e5, 99.96, 0.25, 0.35], dtype=torch.float64)
    assert grid_units(values, 3, 1).tolist() == [999, -999, 999, 2, 4]


@given(st.floats(), st.integers(1, 15), st.integers(0, 5))
def test_overflow_is_detected(value: float, digits: int, places: int) -> None:
    found = bool(beyond_grid(torch.tensor([value], dtype=torch.float64), digits, places))
    if value != value:
        assert not found
    elif abs(value) == float("inf"):
        assert found
    else:
        assert found == (abs(round(Decimal(value).scaleb(places))) >= 10**digits)


def test_invalid_numbers_of_digits_are_quoted() -> None:
    for digits in ((-1, 3), (0, 0), (10, 6)):
        with pytest.raises(ConfigError, match=f"integer_digits={digits[0]}, fraction_digits={digits[1]}"):
            check_digits(*digits)
