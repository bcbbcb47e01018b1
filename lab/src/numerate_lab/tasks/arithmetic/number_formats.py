"""Decimals by the column, exact: a whole number of digits times a power of ten; their sums, quotients, roots and text.

Whole numbers are int64 where that is wide enough and Python's own otherwise. Whatever has no end as a decimal is cut
behind more digits than are wanted, with a 1 put behind it, so that rounding half to even is right in every case.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Decimals", "lengths_of", "mixed", "plain", "power", "quotient", "rounded", "shares_of", "spread"]

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


def rounded(digits: int, exponent: int, significant: int | None) -> tuple[int, int]:
    """The nearest decimal with so many significant digits, half to even; None leaves it as it is.

    Example:
        >>> rounded(12345, 0, 4), rounded(12355, 0, 4), rounded(-99996, -2, 4), rounded(123, 0, 4)
        ((1234, 1), (1236, 1), (-1000, 0), (123, 0))
    """
    size = abs(digits)
    if significant is None or size < 10**significant:
        return digits, exponent
    cut = len(str(size)) - significant
    kept, rest = divmod(size, 10**cut)
    half = 5 * 10 ** (cut - 1)
    kept += rest > half or (rest == half and kept & 1)
    if kept == 10**significant:
        kept, cut = kept // 10, cut + 1
    return (-kept if digits < 0 else kept), exponent + cut


def quotient(above: int, below: int, exponent: int, digits: int, inexact: bool = False) -> tuple[int, int]:
    """`above / below` times a power of ten, to more than `digits` digits: exact, or with a 1 behind the last.

    Example:
        >>> quotient(6, 4, 0, 3), quotient(2, 3, 0, 3)
        ((15000, -4), (66661, -5))
    """
    shift = max(0, digits + len(str(abs(below))) - len(str(abs(above))) + 1)
    found, rest = divmod(abs(above) * 10**shift, abs(below))
    if rest or inexact:
        found, shift = found * 10 + 1, shift + 1
    return (-found if (above < 0) != (below < 0) else found), exponent - shift


def power(digits: int, exponent: int, by: int, root: bool, wanted: int) -> tuple[int, int]:
    """A decimal to the power `by`, or to 1 / `by`; to more than `wanted` digits where it has no end.

    Example:
        >>> power(15, -1, 3, False, 5), power(2, 0, -1, False, 3), power(225, -2, 2, True, 3)
        ((3375, -3), (5000, -4), (1500000, -6))
    """
    if not root:
        raised = digits ** abs(by), exponent * abs(by)
        return raised if by > 0 else quotient(1, raised[0], -raised[1], wanted)
    if digits <= 0:
        raise ValueError(f"a root must be of a positive number, got {plain(digits, exponent)}")
    inexact, degree = False, abs(by)
    if by < 0:
        digits, exponent = quotient(1, digits, -exponent, degree * (wanted + 2))
        inexact = digits % 10 == 1  # an exact reciprocal divides a power of ten, so that it ends in 0, 2, 4, 5, 6 or 8
    shift = degree * (wanted + 2)
    shift += (exponent - shift) % degree
    found = _root(digits * 10**shift, degree)
    if inexact or found**degree != digits * 10**shift:
        found, exponent = found * 10 + 1, exponent - degree
    return found, (exponent - shift) // degree


def spread(digits: Sequence[int], exponent: int, wanted: int) -> tuple[int, int]:
    """The standard deviation of whole numbers times a power of ten: of all there are, not of a sample.

    Example:
        >>> digits, exponent = spread([2, 4, 4, 4, 5, 5, 7, 9], 0, 3)
        >>> plain(digits, exponent)
        '2.000000'
    """
    count, total = len(digits), sum(digits)
    variance = count * sum(number * number for number in digits) - total * total
    if variance == 0:
        return 0, exponent
    shift = wanted + 2 + len(str(count))
    root = math.isqrt(variance * 100**shift)
    return quotient(root, count, exponent - shift, wanted, root * root != variance * 100**shift)


def _root(number: int, degree: int) -> int:
    """The largest whole number whose power is not above `number`."""
    if degree == 2:
        return math.isqrt(number)
    guess = 1 << -(-number.bit_length() // degree)
    while True:  # Newton's way, from above
        better = ((degree - 1) * guess + number // guess ** (degree - 1)) // degree
        if better >= guess:
            return guess
        guess = better


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
        if not self.exponent.any():
            return list(map(str, numbers))
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


def mixed(state: np.ndarray) -> np.ndarray:
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
    keys = np.where(np.isnan(values), np.uint64(0), mixed(bits + np.uint64(_GOLDEN)))
    return (mixed(keys.sum(axis=1, dtype=np.uint64) + np.uint64(_GOLDEN)) >> np.uint64(11)) / float(1 << 53)
