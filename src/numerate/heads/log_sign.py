"""Regression head for sign and log-magnitude, a log-normal of fixed spread (LUNA)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from numerate.config import Config
from numerate.embedders.option_checks import check_dropout, check_positive
from numerate.heads.base import Head, NumberTable, ValueDistribution, run_wide
from numerate.heads.normal import log_cdf, log_interval, log_normal, normal_samples, rounding_interval
from numerate.heads.values import half_unit
from numerate.registry import heads

__all__ = ["LogSignConfig", "LogSignDistribution", "LogSignHead"]

_HIGHEST = 709.0
"""Largest argument of exp() without overflow."""


@dataclass(frozen=True, eq=False, repr=False)
class LogSignDistribution(ValueDistribution):
    """A sign, and a size |x| with normal ln(eps + |x|); negative sizes are set to 0, which gets a point mass.

    Shape:
        center: (N,), float64, mean of ln(eps + |x|).
        plus_logit: (N,), float64, log-odds of the plus sign.
    """

    _density = True
    center: Tensor
    plus_logit: Tensor
    spread: float
    eps: float

    def _above(self, size: Tensor) -> Tensor:
        """Distance from a size up to the centre, in spreads: Φ of it is P(|X| > size) for sizes from 0."""
        return (self.center[:, None] - torch.log(self.eps + size)) / self.spread

    def _log_prob(self, values: Tensor, precision: Tensor) -> Tensor:
        del precision
        above = self._above(values.abs())
        density = self._log_sign(values) + log_normal(above) - torch.log(self.spread * (self.eps + values.abs()))
        return torch.where(values == 0, log_cdf(-above), density)

    def _log_mass(self, values: Tensor, precision: Tensor) -> Tensor:
        size = values.abs()
        with_zero = size <= half_unit(precision)
        away = torch.where(with_zero, 1.0, size)  # arbitrary where `with_zero`
        finer = precision.masked_fill(with_zero, -1)
        middle, half = rounding_interval(away, finer, lambda x: torch.log(self.eps + x), -torch.log(self.eps + away))
        mass = log_interval((middle - self.center[:, None]) / self.spread, half - math.log(self.spread))
        return torch.where(with_zero, super()._log_mass(values, precision), self._log_sign(values) + mass)

    def _log_sign(self, values: Tensor) -> Tensor:
        return functional.logsigmoid(torch.where(values < 0, -self.plus_logit[:, None], self.plus_logit[:, None]))

    def _cdf(self, values: Tensor) -> Tensor:
        beyond = torch.special.ndtr(self._above(values.abs()))
        plus = self.plus_logit.sigmoid()[:, None]
        return torch.where(values < 0, (1 - plus) * beyond, 1 - plus * beyond)

    def mean(self) -> Tensor:
        """Expected value: (N,)."""
        variance = self.spread**2
        zero = (self.center - math.log(self.eps)) / self.spread
        whole = (self.center + variance / 2).clamp_max(_HIGHEST).exp() * torch.special.ndtr(zero + self.spread)
        size = (whole - self.eps * torch.special.ndtr(zero)).clamp_min(0.0)
        return (2 * self.plus_logit.sigmoid() - 1) * size

    def mode(self) -> Tensor:
        """The most probable sign and logarithm, sgn · (exp(m) - eps) of the two outputs: (N,)."""
        return self.plus_logit.sign() * (self.center.clamp_max(_HIGHEST).exp() - self.eps).clamp_min(0.0)

    def _sample(self, count: int, generator: torch.Generator | None) -> Tensor:
        logarithm = self.center + self.spread * normal_samples(self.center, count, generator)
        size = (logarithm.clamp_max(_HIGHEST).exp() - self.eps).clamp_min(0.0)
        chance = torch.rand(size.shape, generator=generator, dtype=torch.float64, device=size.device)
        return torch.where(chance < self.plus_logit.sigmoid(), size, -size) + 0.0


@dataclass(frozen=True, kw_only=True)
class LogSignConfig(Config):
    """Options of `log-sign`.

    Attributes:
        eps: Added to |x| before the logarithm.
        dropout: Dropout on the hidden states.
        spread: Standard deviation of the logarithm; the loss implies 1.
        sign_spread: Standard deviation of the sign around -1 or 1; the loss does not depend on either spread.
    """

    kind: ClassVar[str] = "log-sign"
    eps: float = 1e-7
    dropout: float = 0.1
    spread: float = 1.0
    sign_spread: float = 0.5

    def __post_init__(self) -> None:
        check_positive(self, "eps", "spread", "sign_spread")
        check_dropout(self)


@heads.register("log-sign", "luna")
class LogSignHead(Head):
    """One network regresses ln(1e-7 + |x|) and sgn x with squared errors (the regression head of LUNA, 2022).

    The loss is the mean of the two squared errors; 0 has the targets (ln 1e-7, 0). As a distribution: the sign's output
    s, read as normal around -1 or 1, gives log-odds of 2·s / sign_spread² for plus; the logarithm is normal around its
    output, and the part below ln 1e-7 is the mass of 0. NaN and the infinities are not targets.

    Shape: `(N, dim)` to N distributions.

    Example:
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
        """Distributions for (N, dim) hidden states."""
        center, sign = run_wide(self.layers, hidden).unbind(-1)
        return LogSignDistribution(center, 2 * sign / self.config.sign_spread**2, self.config.spread, self.config.eps)

    def _loss(self, hidden: Tensor, numbers: NumberTable) -> Tensor:
        return (run_wide(self.layers, hidden) - self.targets(numbers)).square().mean(-1)
