"""NumGPT embedder: radial basis functions of the mantissa and a learned vector for the exponent."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from numerate.config import Config
from numerate.embedders.base import INITIAL_STD, Embedder, NumberTable, as_bits, finite_values, size_bits
from numerate.embedders.option_checks import check_dim, check_option, check_positive
from numerate.processing.number_table import float_values
from numerate.registry import embedders

__all__ = ["PrototypeConfig", "PrototypeEmbedder", "mantissas_and_exponents", "power_bits"]

_FIRST_POWER = -323


def power_bits() -> Tensor:
    """Bit patterns of the powers of ten of float64, for `mantissas_and_exponents`: (632,) int64."""
    # A table, because 10 ** e on an accelerator may be wrong in the last place.
    powers = [math.ldexp(1.0, -1074)] + [float(f"1e{e}") for e in range(_FIRST_POWER + 1, 309)]
    return as_bits(torch.tensor(powers, dtype=torch.float64))


def mantissas_and_exponents(numbers: NumberTable, powers: Tensor) -> tuple[Tensor, Tensor]:
    """Mantissas (N,) float64, 1 <= |m| < 10 or 0 (±10 for infinities), and exponents of ten (N,) int64.

    Example:
        >>> mantissas, exponents = mantissas_and_exponents(NumberTable.of_values([-250.0, 0.001, 0]), power_bits())
        >>> mantissas.tolist(), exponents.tolist()
        ([-2.5, 1.0, 0.0], [2, -3, 0])
    """
    values, flags = finite_values(numbers)
    # The largest power of ten that is not above |x|.
    place = (torch.bucketize(size_bits(numbers.bits), powers, right=True) - 1).clamp_min(0)
    zero = values == 0
    mantissas = (values / float_values(powers)[place]).masked_fill(zero, 0.0).clamp(-10, 10)
    mantissas = torch.where(flags[:, 1:].any(-1), values.sign() * 10, mantissas)
    return mantissas, (place + _FIRST_POWER).masked_fill(zero, 0)


@dataclass(frozen=True, kw_only=True)
class PrototypeConfig(Config):
    """Options of `prototype`.

    Attributes:
        sigma: Width of the Gaussian around each prototype.
        low: Smallest exponent with a vector of its own.
        high: Largest exponent with a vector of its own.
    """

    kind: ClassVar[str] = "prototype"
    sigma: float = 5.0
    low: int = -8
    high: int = 12

    def __post_init__(self) -> None:
        check_positive(self, "sigma")
        check_option(self.low <= self.high, self, "low must not exceed high", "low", "high")


@embedders.register("prototype", "numgpt")
class PrototypeEmbedder(Embedder):
    """Radial basis functions of the mantissa and a learned vector for the exponent (NumGPT 2021).

    x = m · 10^e: three quarters of the columns are exp(-(m - q_i)² / σ²) with q_i evenly spaced on [-10, 10], one
    quarter is the vector of e. 0 and -0 are m = 0, e = 0. Exponents below -8 share a vector, and so do those above 12.
    Infinities are m = ±10 with the upper exponent. NaN is m = 0 with a vector of its own (our addition).

    Shape: N numbers to `(N, dim)`, dim at least 4.

    Example:
        >>> mantissas, exponents = PrototypeEmbedder.build(dim=8).split(NumberTable.of_values([-250.0, 0.001, 0]))
        >>> mantissas.tolist(), exponents.tolist()
        ([-2.5, 1.0, 0.0], [2, -3, 0])
    """

    Config = PrototypeConfig
    power_bits: Tensor

    def __init__(self, dim: int, config: PrototypeConfig) -> None:
        super().__init__(dim, config)
        check_dim(dim, 4)
        self.sigma, self.low, self.high = config.sigma, config.low, config.high
        self.n_prototypes = dim - dim // 4
        self.exponents = nn.Embedding(self.high - self.low + 4, dim // 4)
        nn.init.normal_(self.exponents.weight, std=INITIAL_STD)
        self.register_buffer("power_bits", power_bits(), persistent=False)

    def split(self, numbers: NumberTable) -> tuple[Tensor, Tensor]:
        """Mantissas (N,) float64, 1 <= |m| < 10 or 0 (±10 for infinities), and exponents (N,) int64."""
        return mantissas_and_exponents(numbers, self.power_bits)

    def forward(self, numbers: NumberTable) -> Tensor:
        """Embeds a flat table of N numbers: (N, dim)."""
        values = numbers.values()
        mantissas, exponents = self.split(numbers)
        prototypes = torch.linspace(-10, 10, self.n_prototypes, dtype=torch.float64, device=values.device)
        bells = torch.exp(-(((mantissas[:, None] - prototypes) / self.sigma) ** 2))
        rows = (exponents.clamp(self.low - 1, self.high + 1) - self.low + 1).masked_fill(
            values.isnan(), self.high - self.low + 3
        )
        return torch.cat([self._cast(bells), self.exponents(rows)], dim=-1)
