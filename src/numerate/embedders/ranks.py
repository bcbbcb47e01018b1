"""Thermometer code of a number's rank among the numbers of the training data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from numerate.config import Config
from numerate.embedders.base import Embedder, NumberTable, as_bits, finite_values
from numerate.embedders.option_checks import check_option, check_positive, check_within
from numerate.processing.number_table import float_values
from numerate.registry import embedders

__all__ = ["RanksConfig", "RanksEmbedder"]


@dataclass(frozen=True, kw_only=True)
class RanksConfig(Config):
    """Options of `ranks`.

    Attributes:
        knots: Numbers between which the rank is interpolated, at least 2.
        power: Weight of a number that occurs n times is n ** power: 1 for plain quantiles, 0 for those of the different
            numbers. In between, both frequent and rare numbers that stand close together keep a distance.
        gain: Size of the coordinates.
    """

    kind: ClassVar[str] = "ranks"
    knots: int = 16384
    power: float = 0.5
    gain: float = 1.0

    def __post_init__(self) -> None:
        check_option(self.knots >= 2, self, "knots must be at least 2", "knots")
        check_within(self, "power", 0, 1)
        check_positive(self, "gain")


@embedders.register("ranks")
class RanksEmbedder(Embedder):
    """Thermometer code of a number's rank in the data that it was fitted to, without weights.

    With r the rank from 0 to 1, coordinate j of `dim` is -1 below r = j / dim, 1 above r = (j + 1) / dim and rises
    linearly between: close numbers differ in a coordinate of small range, and larger numbers have larger coordinates.
    Our design, for comparisons. Before `fit` the ranks are those of powers of ten, ±10^-12 to ±10^12. Numbers beyond
    those of the data, overflow and infinities included, have the first or the last rank. 0 and -0 are the same; NaN is
    0. Continuous through 0.

    Shape: N numbers to `(N, dim)`.

    Example:
        >>> embedder = RanksEmbedder.build(dim=2)
        >>> embedder.fit(torch.tensor([0.0, 10.0, 20.0, 40.0, 80.0], dtype=torch.float64))
        >>> embedder(NumberTable.of_values([10.0, 20.0, 60.0])).tolist()
        [[0.0, -1.0], [1.0, -1.0], [1.0, 0.5]]
    """

    Config = RanksConfig
    config: RanksConfig
    continuous = True
    through_zero = True
    knot_bits: Tensor
    rank_bits: Tensor

    def __init__(self, dim: int, config: RanksConfig) -> None:
        super().__init__(dim, config)
        for name in ("knot_bits", "rank_bits"):
            self.register_buffer(name, torch.zeros(config.knots, dtype=torch.int64))
        sizes = 10.0 ** torch.arange(-12, 13, dtype=torch.float64)
        self._set_knots(torch.cat([-sizes.flip(0), sizes.new_zeros(1), sizes]), torch.ones(51, dtype=torch.float64))

    @torch.no_grad()
    def fit(self, values: Tensor) -> None:
        """Takes the ranks of the finite values; without at least two different ones the ranks stay as they are."""
        values = values.to(torch.float64)
        different, counts = values[values.isfinite()].unique(return_counts=True)
        if len(different) > 1:
            self._set_knots(different, counts.to(torch.float64) ** self.config.power)

    def _set_knots(self, different: Tensor, weights: Tensor) -> None:
        """Spreads the knots evenly over ascending numbers; spare knots repeat the last one."""
        ranks = weights.cumsum(0) - weights / 2
        ranks = (ranks - ranks[0]) / (ranks[-1] - ranks[0])
        count = self.config.knots
        if len(different) > count:
            chosen = torch.searchsorted(ranks, torch.linspace(0, 1, count, dtype=torch.float64, device=ranks.device))
            chosen = chosen.clamp_max(len(different) - 1)
        else:
            chosen = torch.arange(count, device=ranks.device).clamp_max(len(different) - 1)
        self.knot_bits.copy_(as_bits(different[chosen]))
        self.rank_bits.copy_(as_bits(ranks[chosen]))

    def ranks(self, numbers: NumberTable) -> Tensor:
        """Ranks from 0 to 1, float64 (N,).

        Example:
            >>> round(RanksEmbedder.build(dim=2).ranks(NumberTable.of_values([0.0])).item(), 3)
            0.5
        """
        values, _ = finite_values(numbers)
        knots, ranks = float_values(self.knot_bits), float_values(self.rank_bits)
        values = values.clamp(knots[0], knots[-1])
        # Ordered as integers: bit patterns of negative numbers descend.
        after = torch.searchsorted(_ordered(self.knot_bits), _ordered(as_bits(values + 0.0)), right=True)
        after = after.clamp(1, self.config.knots - 1)
        low, high = knots[after - 1], knots[after]
        part = torch.where(high > low, (values - low) / (high - low), 1.0)
        return torch.lerp(ranks[after - 1], ranks[after], part)

    def forward(self, numbers: NumberTable) -> Tensor:
        """Embeds a flat table of N numbers: (N, dim)."""
        places = torch.arange(self.dim, device=numbers.bits.device)
        filled = (self.ranks(numbers)[:, None] * self.dim - places).clamp(0, 1)
        return self._cast(self.config.gain * (2 * filled - 1))


def _ordered(bits: Tensor) -> Tensor:
    """Bit patterns of floats as integers of the same order."""
    return torch.where(bits < 0, bits ^ 0x7FFFFFFFFFFFFFFF, bits)
