"""Columns of exact decimals, each a whole number times a power of ten: their text, their nearest floats, their hash.

Whole numbers are int64 where that is wide enough and Python's own otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Decimals", "lengths_of", "plain", "shares_of"]

_POWERS = np.array([float(10**power) for power in range(23)])
"""The powers of ten that a float64 has exactly."""
_EXACT_DIGITS = 1 << 53
_GOLDEN, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
"""SplitMix64's step and factors."""


def plain(digits: int, exponent: int) -> str:
    """A decimal as it is written, without an exponent.

    Example:
        >>> plain(-1320, -3), plain(5, -2), plain(7, 3)
        ('-1.320', '0.05', '7000')
    """
    if exponent >= 0:
        return str(digits * 10**exponent)
    text = str(abs(digits)).rjust(1 - exponent, "0")
    return f"{'-' * (digits < 0)}{text[:exponent]}.{text[exponent:]}"


@dataclass(frozen=True)
class Decimals:
    """Columns of decimals.

    Attributes:
        digits: Whole numbers of any shape, int64 or objects.
        exponent: The power of ten of each, int64, of the same shape.

    Example:
        >>> pair = Decimals(np.array([[132, 3210]]), np.array([[-2, -2]]))
        >>> pair.values().tolist(), pair.texts()
        ([[1.32, 32.1]], ['1.32', '32.10'])
    """

    digits: np.ndarray
    exponent: np.ndarray

    def __getitem__(self, index: Any) -> Decimals:
        return Decimals(self.digits[index], self.exponent[index])

    def texts(self) -> list[str]:
        """How each is written, flat."""
        numbers = self.digits.ravel().tolist()
        return list(map(plain, numbers, self.exponent.ravel().tolist()))

    def values(self) -> np.ndarray:
        """The nearest float64 of each."""
        wide = self.digits.dtype == object
        if not wide and (np.abs(self.digits) < _EXACT_DIGITS).all() and (np.abs(self.exponent) < len(_POWERS)).all():
            # Both are exact, and the one operation rounds once.
            powers = _POWERS[np.abs(self.exponent)]
            return np.where(self.exponent < 0, self.digits / powers, self.digits * powers)
        return np.array([float(text) for text in self.texts()]).reshape(self.digits.shape)


def lengths_of(digits: np.ndarray) -> np.ndarray:
    """How many digits whole numbers have; 0 has one.

    Example:
        >>> lengths_of(np.array([0, -9, 10, 999, 1000])).tolist()
        [1, 1, 2, 3, 4]
    """
    if digits.dtype == object:
        return np.array([len(str(abs(number))) for number in digits.ravel()]).reshape(digits.shape)
    return np.searchsorted(10 ** np.arange(1, 19), np.abs(digits), side="right") + 1


def _mixed(state: np.ndarray) -> np.ndarray:
    """SplitMix64's output function on uint64."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(_FIRST)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(_SECOND)
    return state ^ (state >> np.uint64(31))


def shares_of(values: np.ndarray) -> np.ndarray:
    """A number in [0, 1) for each row of operands (N, K), NaN where there is none: of their values, not their order.

    Example:
        >>> shares = shares_of(np.array([[3.0, 5.0], [5.0, 3.0], [3.0, 6.0]]))
        >>> bool(shares[0] == shares[1]), bool(shares[0] == shares[2])
        (True, False)
    """
    bits = (values + 0.0).view(np.uint64)  # + 0.0 makes -0 the same as 0
    keys = np.where(np.isnan(values), np.uint64(0), _mixed(bits + np.uint64(_GOLDEN)))
    return (_mixed(keys.sum(axis=1, dtype=np.uint64) + np.uint64(_GOLDEN)) >> np.uint64(11)) / float(1 << 53)
