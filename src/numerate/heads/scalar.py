"""The number itself, as one real number of fixed spread."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn

from numerate.config import Config
from numerate.heads.base import LARGEST, Head, ValueDistribution
from numerate.heads.normal import log_interval, log_normal, normal_samples
from numerate.registry import heads

if TYPE_CHECKING:
    from numerate.processing.number_table import NumberTable

__all__ = ["NormalDistribution", "ScalarConfig", "ScalarHead"]


@dataclass(frozen=True, eq=False)
class NormalDistribution(ValueDistribution):
    """A normal distribution a row, all of one spread.

    Shape:
        center: (N,), float64.
    """

    center: Tensor
    spread: float

    @property
    def is_density(self) -> bool:
        """A density."""
        return True

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

    def sample(self, count: int, generator: torch.Generator | None = None) -> Tensor:
        """(count, N) samples."""
        return (self.center + self.spread * normal_samples(self.center, count, generator)).clamp(-LARGEST, LARGEST)


@dataclass(frozen=True, kw_only=True)
class ScalarConfig(Config):
    """Options of `scalar`.

    Attributes:
        spread: Standard deviation of the distribution. It takes no part in the loss: set it to the error measured on
            held-out numbers for intervals that hold what they promise.
        hidden: Size of the hidden layer; four times the backbone's width, as in the paper, where None.
        limit: Targets are clamped to ±limit, beyond which one number would ruin a training.
    """

    kind: ClassVar[str] = "scalar"
    spread: float = 1.0
    hidden: int | None = None
    limit: float = 1e9

    def __post_init__(self) -> None:
        if not self.spread > 0:
            raise ValueError(f"spread must be positive, got {self.spread=}")
        if self.hidden is not None and self.hidden < 1:
            raise ValueError(f"hidden must be positive, got {self.hidden=}")
        if not 0 < self.limit <= 1e18:
            raise ValueError(f"limit must lie in (0, 1e18], got {self.limit=}")


@heads.register("scalar", "xval")
class ScalarHead(Head):
    """One real number through one hidden layer, learnt by its squared error (the number head of xVal, 2023).

    Numbers are expected scaled already, into about [-5, 5]. The loss is the squared error itself, whose mean over the
    numbers is the paper's MSE; the distribution is normal, around the output. Targets past ±limit are clamped (see
    `clamped`), NaN and the infinities are no targets; `log_prob` does not clamp.

    **Shape**

    - Input: `(N, dim)`
    - Output: N normal distributions

    Example:
        >>> from numerate.processing.number_table import NumberTable
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
        """The distributions that (N, dim) hidden states stand for."""
        return NormalDistribution(self._run(self.layers, hidden)[:, 0], self.config.spread)

    def clamped(self, numbers: NumberTable) -> Tensor:
        """Targets past ±limit: (N,) bool."""
        return self.valid(numbers) & (numbers.values().abs() > self.config.limit)

    def _loss(self, hidden: Tensor, numbers: NumberTable) -> Tensor:
        target = numbers.values().clamp(-self.config.limit, self.config.limit)
        return (self._run(self.layers, hidden)[:, 0] - target).square()
