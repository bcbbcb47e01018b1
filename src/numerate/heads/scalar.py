"""Regression head: a normal distribution of fixed spread around one predicted scalar (xVal)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from numerate.config import Config
from numerate.embedders.option_checks import check_option, check_positive
from numerate.heads.base import LARGEST, Head, NumberTable, ValueDistribution, run_wide
from numerate.heads.normal import log_interval, log_normal, normal_samples
from numerate.registry import heads

__all__ = ["NormalDistribution", "ScalarConfig", "ScalarHead"]


@dataclass(frozen=True, eq=False, repr=False)
class NormalDistribution(ValueDistribution):
    """Normal distributions with a common spread.

    Shape:
        center: (N,), float64.
    """

    _density = True
    center: Tensor
    spread: float

    def _log_prob(self, values: Tensor, precision: Tensor) -> Tensor:
        del precision
        return log_normal((values - self.center[:, None]) / self.spread) - math.log(self.spread)

    def _log_mass(self, values: Tensor, precision: Tensor) -> Tensor:
        middle = (values - self.center[:, None]) / self.spread
        return log_interval(middle, precision.to(torch.float64) * math.log(10) + math.log(0.5 / self.spread))

    def _cdf(self, values: Tensor) -> Tensor:
        return torch.special.ndtr((values - self.center[:, None]) / self.spread)

    def mean(self) -> Tensor:
        """The centre: (N,)."""
        return self.center

    def mode(self) -> Tensor:
        """The centre: (N,)."""
        return self.center

    def _sample(self, count: int, generator: torch.Generator | None) -> Tensor:
        return (self.center + self.spread * normal_samples(self.center, count, generator)).clamp(-LARGEST, LARGEST)


@dataclass(frozen=True, kw_only=True)
class ScalarConfig(Config):
    """Options of `scalar`.

    Attributes:
        spread: Standard deviation of the distribution. The loss does not depend on it: for calibrated intervals, set
            it to the error on held-out numbers.
        hidden: Size of the hidden layer; by default four times the backbone's width, as in the paper.
        limit: Targets are clamped to ±limit, so that one huge number cannot make training diverge.
    """

    kind: ClassVar[str] = "scalar"
    spread: float = 1.0
    hidden: int | None = None
    limit: float = 1e9

    def __post_init__(self) -> None:
        check_positive(self, "spread", "hidden")
        check_option(0 < self.limit <= 1e18, self, "limit must lie in (0, 1e18]", "limit")


@heads.register("scalar", "xval")
class ScalarHead(Head):
    """A scalar from a network with one hidden layer, trained with the squared error (the number head of xVal, 2023).

    Numbers should be scaled into about [-5, 5] beforehand. The mean of the losses is the paper's MSE; the distribution
    is normal around the output. Targets beyond ±limit are clamped (`clamped`), but not in `log_prob`; NaN and the
    infinities are not targets.

    Shape: `(N, dim)` to N normal distributions.

    Example:
        >>> head = ScalarHead.build(dim=8)
        >>> head(torch.zeros(2, 8)).mean().shape, head.loss(torch.zeros(2, 8), NumberTable.of_values([1.5, -2])).shape
        (torch.Size([2]), torch.Size([2]))
    """

    Config = ScalarConfig
    config: ScalarConfig

    def __init__(self, dim: int, config: ScalarConfig) -> None:
        super().__init__(dim, config)
        hidden = config.hidden or 4 * dim
        self.layers = nn.Sequential(nn.Linear(dim, hidden), nn.GELU(), nn.Linear(hidden, 1))

    def forward(self, hidden: Tensor) -> NormalDistribution:
        """Distributions for (N, dim) hidden states."""
        return NormalDistribution(run_wide(self.layers, hidden)[:, 0], self.config.spread)

    def clamped(self, numbers: NumberTable) -> Tensor:
        """Targets beyond ±limit: (N,) bool."""
        return self.valid(numbers) & (numbers.values().abs() > self.config.limit)

    def _loss(self, hidden: Tensor, numbers: NumberTable) -> Tensor:
        target = numbers.values().clamp(-self.config.limit, self.config.limit)
        return (run_wide(self.layers, hidden)[:, 0] - target).square()
