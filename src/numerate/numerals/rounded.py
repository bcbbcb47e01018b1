"""Values written with a few significant digits."""

from __future__ import annotations

import math
from decimal import Decimal

from numerate.numerals.numeral import Numeral

__all__ = ["numeral_of"]


def numeral_of(value: float, digits: int) -> Numeral:
    """A value written with `digits` significant digits; the numeral's value is the rounded one.

    Example:
        >>> [numeral_of(value, 4).text for value in (324.0, 0.0123456, -1e20, 0.0)]
        ['324', '0.01235', '-1e20', '0']
    """
    number = Decimal(f"{value + 0.0:.{digits - 1}e}").normalize()
    if number == 0:
        text = "0"
    elif -7 <= number.adjusted() < 16:
        text = format(number, "f")
    else:
        text = f"{number.scaleb(-number.adjusted()):f}e{number.adjusted()}"
    if not math.isfinite(float(text)):  # rounded up above the largest float64
        return numeral_of(math.copysign(1.7976e308, value), min(digits, 5))
    return Numeral(text, 0, len(text), float(text))
