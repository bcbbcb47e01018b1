"""Residue number system embedder: one-hot remainders by several moduli, mapped linearly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from numerate.config import Config
from numerate.embedders.base import Embedder, NumberTable, finite_values
from numerate.embedders.digit_grid import beyond_grid, check_digits, grid_units
from numerate.embedders.residue_codes import moduli_for, residues_of
from numerate.registry import embedders

__all__ = ["ResiduesConfig", "ResiduesEmbedder"]


@dataclass(frozen=True, kw_only=True)
class ResiduesConfig(Config):
    """Options of `residues`.

    Attributes:
        integer_digits: Digits before the point (m); numbers from 10^m on overflow.
        fraction_digits: Digits after the point (n); further digits are rounded.
    """

    kind: ClassVar[str] = "residues"
    integer_digits: int = 10
    fraction_digits: int = 5

    def __post_init__(self) -> None:
        check_digits(self.integer_digits, self.fraction_digits)


@embedders.register("residues")
class ResiduesEmbedder(Embedder):
    """Sum of learned vectors, one for each remainder of round(x · 10^n) by small moduli, plus overflow and NaN flags.

    The remainder of a sum is the sum of the remainders, modulus by modulus; for integers (`fraction_digits=0`) the same
    holds for products. So arithmetic needs small tables and no carries (in `fourier`, this holds for sums only). Our
    design, after the residue number systems of computer hardware. The moduli are 5, 7, 8, 9, 11, 13, 17, ..., as many
    as distinguish all numbers. Remainders do not show the magnitude: add `log-fourier` (`sum`) where it matters. -0 is
    0. Overflow (|x| ≥ 10^m, infinities) is the largest number that fits, with a flag; NaN has its flag alone.

    Shape:
        N numbers to `(N, dim)`.

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
