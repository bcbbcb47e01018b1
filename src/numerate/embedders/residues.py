"""Residue number system: integers as remainders by coprime moduli (Chinese remainder theorem), and their embedder.

Sums, differences and products are computed for each modulus on its own, without carries between places.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from numerate.embedders.base import Embedder, NumberTable, finite_values
from numerate.embedders.digit_grid import DigitsConfig, beyond_grid, check_digits, grid_units
from numerate.registry import embedders

__all__ = ["ResiduesConfig", "ResiduesEmbedder", "from_residues", "moduli_for", "residues_of"]

_MODULI = (5, 7, 8, 9, 11, 13, 17, 19, 23, 29, 31, 37, 41)
"""Small and pairwise coprime; their product distinguishes 3.6e15 numbers."""


def moduli_for(digits: int) -> tuple[int, ...]:
    """The first moduli whose product distinguishes all numbers of up to `digits` digits, negative ones included.

    Example:
        >>> moduli_for(6), math.prod(moduli_for(6))
        ((5, 7, 8, 9, 11, 13, 17), 6126120)
    """
    check_digits(digits, 0)
    count = next(k for k in range(1, len(_MODULI) + 1) if math.prod(_MODULI[:k]) > 2 * 10**digits)
    return _MODULI[:count]


def residues_of(units: Tensor, moduli: tuple[int, ...]) -> Tensor:
    """Non-negative remainders of int64 numbers: (...) to (..., K).

    Example:
        >>> residues_of(torch.tensor([12, -1]), (5, 7)).tolist()
        [[2, 5], [4, 6]]
    """
    # Modulus by modulus: a tensor of moduli cannot be created during CUDA graph capture.
    return torch.stack([torch.remainder(units, modulus) for modulus in moduli], dim=-1)


def from_residues(residues: Tensor, moduli: tuple[int, ...]) -> Tensor:
    """The integer nearest to 0 with these remainders: int64 (..., K) to (...).

    Example:
        >>> from_residues(torch.tensor([[2, 5], [4, 6]]), (5, 7)).tolist()
        [12, -1]
    """
    product = math.prod(moduli)
    # Each is 1 modulo its own modulus and 0 modulo the others; their weighted sum stays below 2^61.
    ones = [(product // m) * pow(product // m, -1, m) for m in moduli]
    whole = (residues * torch.tensor(ones, device=residues.device)).sum(-1) % product
    return torch.where(whole > product // 2, whole - product, whole)


@dataclass(frozen=True, kw_only=True)
class ResiduesConfig(DigitsConfig):
    """Options of `residues`: those of `DigitsConfig`."""

    kind: ClassVar[str] = "residues"


@embedders.register("residues")
class ResiduesEmbedder(Embedder):
    """Sum of learned vectors, one for each remainder of round(x · 10^n) by small moduli, plus overflow and NaN flags.

    Remainders of sums, and with `fraction_digits=0` of products, follow from the remainders of the operands, modulus by
    modulus: arithmetic needs small tables and no carries (in `fourier`, this holds for sums only). Our design. The
    moduli are 5, 7, 8, 9, 11, 13, 17, ..., as many as distinguish all numbers. Remainders do not show the magnitude:
    add `log-fourier` (`sum`) where it matters. -0 is 0. Overflow (|x| ≥ 10^m, infinities) is the largest number that
    fits, with a flag; NaN has its flag alone.

    Example:
        >>> embedder = ResiduesEmbedder.build(dim=8, integer_digits=2, fraction_digits=1)
        >>> embedder.moduli, embedder.features(NumberTable.of_values([0.1])).nonzero()[:, 1].tolist()
        ((5, 7, 8, 9), [1, 6, 13, 21])
    """

    Config = ResiduesConfig
    config: ResiduesConfig
    outermost = ("project",)

    def __init__(self, dim: int, config: ResiduesConfig) -> None:
        super().__init__(dim, config)
        self.digits = config.integer_digits + config.fraction_digits
        self.moduli = moduli_for(self.digits)
        self.project = nn.Linear(sum(self.moduli) + 2, dim)

    def features(self, numbers: NumberTable) -> Tensor:
        """float64 (N, sum of the moduli + 2): one-hot remainders, then flags for overflow and NaN."""
        values, specials = finite_values(numbers)
        places = self.config.fraction_digits
        residues = residues_of(grid_units(values, self.digits, places), self.moduli)
        ones = [residues[:, k, None] == torch.arange(m, device=values.device) for k, m in enumerate(self.moduli)]
        shown = torch.cat(ones, dim=-1).to(torch.float64) * (1 - specials[:, :1])
        overflow = beyond_grid(values, self.digits, places)
        return torch.cat([shown, overflow[:, None].to(torch.float64), specials[:, :1]], dim=-1)

    def forward(self, numbers: NumberTable) -> Tensor:
        """Embeds a flat table of N numbers: (N, dim)."""
        return self.project(self._cast(self.features(numbers)))
