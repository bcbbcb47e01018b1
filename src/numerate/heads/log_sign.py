"""The logarithm of a number's size and its sign, as two real numbers of fixed spread."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from numerate.config import Config
from numerate.heads.base import Head, ValueDistribution
from numerate.heads.normal import log_cdf, log_interval, log_normal, normal_samples, rounding_interval
from numerate.registry import heads

if TYPE_CHECKING:
    from numerate.processing.number_table import NumberTable

__all__ = ["LogSignConfig", "LogSignDistribution", "LogSignHead"]

_HIGHEST = 709.0
"""exp() of more overflows."""


@dataclass(frozen=True, eq=False)
class LogSignDistribution(ValueDistribution):
    """A sign, and a size of which ln(eps + size) is normal; sizes below 0 count as 0, so that 0 has a mass.

    Shape:
        center: (N,), float64, of ln(eps + |x|).
        lean: (N,), float64, log-odds of the plus sign.
    """

    center: Tensor
    lean: Tensor
    spread: float
    eps: float

    @property
    def is_density(self) -> bool:
        """A density, and a mass at 0."""
        return True

    def _above(self, size: Tensor) -> Tensor:
        """In spreads, how far the centre lies above a size: Φ of it is P(|X| > size), for sizes from 0."""
        return (self.center[:, None] - torch.log(self.eps + size)) / self.spread

    def _log_prob(self, values: Tensor, precision: Tensor) -> Tensor:
        del precision
        above = self._above(values.abs())
        density = self._log_sign(values) + log_normal(above) - torch.log(self.spread * (self.eps + values.abs()))
        return torch.where(values == 0, log_cdf(-above), density)

    def _log_mass(self, values: Tensor, precision: Tensor) -> Tensor:
        size = values.abs()
        with_zero = size <= 0.5 * torch.pow(10.0, precision.to(torch.float64))
        away = torch.where(with_zero, 1.0, size)  # any number, where the other branch is taken
        finer = precision.masked_fill(with_zero, -1)
        middle, half = rounding_interval(away, finer, lambda x: torch.log(self.eps + x), -torch.log(self.eps + away))
        mass = log_interval((middle - self.center[:, None]) / self.spread, half - math.log(self.spread))
        return torch.where(with_zero, super()._log_mass(values, precision), self._log_sign(values) + mass)

    def _log_sign(self, values: Tensor) -> Tensor:
        return functional.logsigmoid(torch.where(values < 0, -self.lean[:, None], self.lean[:, None]))

    def _cdf(self, values: Tensor) -> Tensor:
        beyond = torch.special.ndtr(self._above(values.abs()))
        plus = self.lean.sigmoid()[:, None]
        return torch.where(values < 0, (1 - plus) * beyond, 1 - plus * beyond)

    def mean(self) -> Tensor:
        """Expected value: (N,)."""
        variance = self.spread**2
        zero = (self.center - math.log(self.eps)) / self.spread
        whole = (self.center + variance / 2).clamp_max(_HIGHEST).exp() * torch.special.ndtr(zero + self.spread)
        size = (whole - self.eps * torch.special.ndtr(zero)).clamp_min(0.0)
        return (2 * self.lean.sigmoid() - 1) * size

    def mode(self) -> Tensor:
        """The most probable sign and logarithm, sgn · (exp(m) - eps) of the two outputs: (N,)."""
        return self.lean.sign() * (self.center.clamp_max(_HIGHEST).exp() - self.eps).clamp_min(0.0)

    def sample(self, count: int, generator: torch.Generator | None = None) -> Tensor:
        """(count, N) samples."""
        logarithm = self.center + self.spread * normal_samples(self.center, count, generator)
        size = (logarithm.clamp_max(_HIGHEST).exp() - self.eps).clamp_min(0.0)
        chance = torch.rand(size.shape, generator=generator, dtype=torch.float64, device=size.device)
        return torch.where(chance < self.lean.sigmoid(), size, -size) + 0.0


@dataclass(frozen=True, kw_only=True)
class LogSignConfig(Config):
    """Options of `log-sign`.

    Attributes:
        eps: What is added to |x| before the logarithm.
        dropout: Dropout on the hidden states.
        spread: Standard deviation of the logarithm; 1 is what the loss implies.
        sign_spread: Standard deviation of the sign, around -1 or 1; neither spread takes part in the loss.
    """

    kind: ClassVar[str] = "log-sign"
    eps: float = 1e-7
    dropout: float = 0.1
    spread: float = 1.0
    sign_spread: float = 0.5

    def __post_init__(self) -> None:
        for name in ("eps", "spread", "sign_spread"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be positive, got {getattr(self, name)}")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be in [0, 1), got {self.dropout=}")


@heads.register("log-sign", "luna")
class LogSignHead(Head):
    """ln(1e-7 + |x|) and sgn x by one network, learnt by their squared errors (the regression head of LUNA, 2022).

    The loss is the mean of the two squared errors; 0 has the targets (ln 1e-7, 0). As a distribution: with a normal
    spread around -1 and 1, the sign's output s gives log-odds of 2·s / sign_spread² for plus; the logarithm is normal
    around its output, and what falls below ln 1e-7 is the mass of 0. NaN and the infinities are no targets.

    **Shape**

    - Input: `(N, dim)`
    - Output: N distributions

    Example:
        >>> from numerate.processing.number_table import NumberTable
        >>> head = LogSignHead.build(dim=8)
        >>> head.targets(NumberTable.of_values([-1.0, 0.0]))[1].tolist()
        [-16.118..., 0.0]
    """

    Config = LogSignConfig
    config: LogSignConfig

    def __init__(self, dim: int, config: LogSignConfig) -> None:
        super().__init__(dim, config)
        self.layers = nn.Sequential(
            nn.Dropout(config.dropout), nn.Linear(dim, dim), nn.GELU(), nn.LayerNorm(dim), nn.Linear(dim, 2)
        )

    def targets(self, numbers: NumberTable) -> Tensor:
        """(ln(eps + |x|), sgn x): (N, 2), float64."""
        values = numbers.values()
        return torch.stack([torch.log(self.config.eps + values.abs()), values.sign()], dim=-1)

    def forward(self, hidden: Tensor) -> LogSignDistribution:
        """The distributions that (N, dim) hidden states stand for."""
        center, sign = self._run(self.layers, hidden).unbind(-1)
        return LogSignDistribution(center, 2 * sign / self.config.sign_spread**2, self.config.spread, self.config.eps)

    def _loss(self, hidden: Tensor, numbers: NumberTable) -> Tensor:
        return (self._run(self.layers, hidden) - self.targets(numbers)).square().mean(-1)
