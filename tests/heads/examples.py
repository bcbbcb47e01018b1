"""Numbers, heads and hidden states shared by the tests of heads."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch

from numerate.processing.number_table import GIVEN, NumberTable
from numerate.registry import heads

if TYPE_CHECKING:
    from numerate.heads.base import Head

DIM = 12
EXTREMES = (
    *(0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan),
    *(5e-324, -5e-324, 2.2250738585072014e-308, 1e-300, -1e-100, 1e-45, 1.1754943508222875e-38, 1e-20),
    *(1e-9, 6e-8, 0.1, 1 / 3, -0.5, math.pi, 9.999999999999998, 10.0, 257.0),
    *(65504.0, 65520.0, 70000.0, 999999.5, 16777217.0, -123456789.123, 2.0**53 - 1, 2.0**53 + 2),
    *(1e15, 1e16, -1e22, 3.4028234663852886e38, 3.5e38, -1e100, 1e300, 1.7976931348623157e308, -1.7976931348623157e308),
)
"""41 values at the limits of floating-point formats."""
FINITE = tuple(value for value in EXTREMES if math.isfinite(value))
SEEN = (
    *(0.0, 0.0, 0.0, 3.0, 3.0, 12.0, 12.0, 12.5, 1987.0, 1987.0, 1987.0, -7.25, -7.25, -2.5, 1500.0, 0.04, 0.001),
    *(2018.0, 10.0, 10.0, 257.0, 1e6, 1e6, 1e22, -1e100, 1.5e300, 0.5, 0.5, 99.9, 45.0, 17.0, 365.0, -0.5, 7.75, 60.0),
)
"""Numbers that heads with a vocabulary are fitted to."""


def table(values: Any) -> NumberTable:
    return NumberTable.of_values(values.tolist() if isinstance(values, torch.Tensor) else values)


def unwritten_table(values: torch.Tensor) -> NumberTable:
    """A table of values of any shape without characters and with precision 0; much faster to make than `table`."""
    zeros = torch.zeros(values.shape, dtype=torch.int16)
    characters = torch.zeros(*values.shape, 1, dtype=torch.uint8)
    return NumberTable(values.double().view(torch.int64), characters, zeros, torch.full_like(zeros, GIVEN).byte())


def fresh(name: str, seed: int = 0, **options: Any) -> Head:
    torch.manual_seed(seed)
    head = heads[name].build(DIM, **options).eval()
    if hasattr(head, "is_oov") or name == "combination":  # a vocabulary is empty before it is fitted
        head.fit(table(SEEN))
    return head


def states(count: int, seed: int = 1, size: float = 2.0) -> torch.Tensor:
    return size * torch.randn(count, DIM, generator=torch.Generator().manual_seed(seed))


def f64(value: Any, requires_grad: bool = False) -> torch.Tensor:
    return torch.tensor(value, dtype=torch.float64, requires_grad=requires_grad)
