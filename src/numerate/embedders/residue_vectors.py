"""Remainders of a number, in which sums and products are local."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn

from numerate.config import Config
from numerate.embedders.base import Embedder, finite_values
from numerate.embedders.digit_grid import beyond_grid, check_digits, grid_units
from numerate.embedders.residue_codes import moduli_for, residues_of
from numerate.registry import embedders

if TYPE_CHECKING:
    from numerate.processing.number_table import NumberTable

__all__ = ["ResiduesConfig", "ResiduesEmbedder"]


@dataclass(frozen=True, kw_only=True)
class ResiduesConfig(Config):
    """Options of `residues`.

    Attributes:
        integer_digits: Digits before the point; from 10^integer_digits on, a number overflows.
        fraction_digits: Digits after the point; finer ones are rounded away.
    """

    kind: ClassVar[str] = "residues"
    integer_digits: int = 10
    fraction_digits: int = 5

    def __post_init__(self) -> None:
        check_digits(self.integer_digits, self.fraction_digits)


@embedders.register("residues")
class ResiduesEmbedder(Embedder):
    """A vector for each remainder of round(x · 10^n) by some small moduli, summed; overflow and NaN have vectors, too.

    The remainders of a sum are the sums of the remainders, and of whole numbers (`fraction_digits=0`) those of a
    product are the products, modulus by modulus, whatever the sign. A model that computes needs small tables and no
    carries; compare `fourier`, in which sums are local and products are not. Ours, after the residue number systems of
    hardware. The moduli are 5, 7, 8, 9, 11, 13, 17, ..., as many as tell all numbers apart. How large a number is,
    remainders hide: put `log-fourier` beside them (`sum`) where that matters. -0 is 0. From 10^m on, and at infinities,
    a number shows the highest that fits and a flag; NaN shows its flag alone.

    **Shape**

    - Input: a flat number table of N numbers
    - Output: `(N, dim)`

    Example:
        >>> from numerate.processing.number_table import NumberTable
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
        """float64 (N, sum of the moduli + 2): a 1 for each remainder, then overflow, NaN."""
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
