"""Numbers shared by the tests of embedders."""

from __future__ import annotations

import math

from numerate.processing.number_table import NumberTable

EXTREMES = (
    *(0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan),
    *(5e-324, -5e-324, 2.2250738585072014e-308, 1e-300, -1e-100, 1e-45, 1.1754943508222875e-38, 1e-20),
    *(1e-9, 6e-8, 0.1, 1 / 3, -0.5, math.pi, 9.999999999999998, 10.0, 257.0),
    *(65504.0, 65520.0, 70000.0, 999999.5, 16777217.0, -123456789.123, 2.0**53 - 1, 2.0**53 + 2),
    *(1e15, 1e16, -1e22, 3.4028234663852886e38, 3.5e38, -1e100, 1e300, 1.7976931348623157e308, -1.7976931348623157e308),
)
"""41 values at the limits of floating-point formats."""

ORDINARY = (0.25, -3.75, 12.0, 1987.0, 0.003, -45.5, 100.0, 6.02e23, 7.0, 7.5)


def table(values: tuple[float, ...] | list[float] = ORDINARY) -> NumberTable:
    return NumberTable.of_values(values)
