"""Fixed-point conversion: numbers as integer multiples of 10^-n with a limited number of digits."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from numerate.config import Config, ConfigError

__all__ = ["DigitsConfig", "beyond_grid", "check_digits", "grid_units"]

_LARGE = 1e300
"""Values are clamped here, so that multiplying by a power of ten stays finite."""


def check_digits(integer_digits: int, fraction_digits: int) -> None:
    """Raises a ConfigError unless a float64 holds all digits before and after the point: 1 to 15 in all."""
    if integer_digits < 0 or fraction_digits < 0:
        raise ConfigError(f"digits must not be negative, got {integer_digits=}, {fraction_digits=}")
    if not 1 <= integer_digits + fraction_digits <= 15:
        raise ConfigError(f"a float64 holds 1 to 15 digits in all, got {integer_digits=}, {fraction_digits=}")


@dataclass(frozen=True, kw_only=True)
class DigitsConfig(Config):
    """Options of embedders and heads with a fixed number of digits.

    Attributes:
        integer_digits: Digits before the point (m); numbers from 10^m on overflow.
        fraction_digits: Digits after the point (n); further digits are rounded.
    """

    integer_digits: int = 10
    fraction_digits: int = 5

    def __post_init__(self) -> None:
        check_digits(self.integer_digits, self.fraction_digits)


def grid_units(values: Tensor, digits: int, fraction_digits: int) -> Tensor:
    """Finite values rounded to integer multiples of 10^-n (ties to even), clamped to `digits` digits: int64.

    Example:
        >>> grid_units(torch.tensor([0.29, -12.0, 1e9], dtype=torch.float64), 4, 2).tolist()
        [29, -1200, 9999]
    """
    highest = 10.0**digits - 1
    return (values.clamp(-_LARGE, _LARGE) * 10.0**fraction_digits).round().clamp(-highest, highest).to(torch.int64)


def beyond_grid(values: Tensor, digits: int, fraction_digits: int) -> Tensor:
    """Which values, infinities included, have too many digits before the point: bool.

    Example:
        >>> beyond_grid(torch.tensor([99.99, 99.996, -torch.inf], dtype=torch.float64), 4, 2).tolist()
        [False, True, True]
    """
    return (values.abs().clamp_max(_LARGE) * 10.0**fraction_digits).round() >= 10.0**digits
