"""Head over the 64 bits of a float64, each predicted independently (BitTokens)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from numerate.config import Config
from numerate.embedders.option_checks import check_positive
from numerate.heads.base import LARGEST, Head, NumberTable, ValueDistribution, run_wide
from numerate.heads.places import below, log_between, log_equal
from numerate.heads.values import half_unit
from numerate.registry import heads

__all__ = ["BitsConfig", "BitsDistribution", "BitsHead"]

_EXPONENT, _FRACTION = 11, 52
_INFINITY = 0x7FF0000000000000
_MAX_LOGIT = 300.0
"""Logits are clamped to ±this, so that no probability is 0."""


def _bits_of(patterns: Tensor, count: int) -> Tensor:
    """The lowest `count` bits, most significant first: int64 (..., count)."""
    return patterns[..., None] >> torch.arange(count - 1, -1, -1, device=patterns.device) & 1


def _joined(bits: Tensor) -> Tensor:
    """int64 patterns from at most 63 bits, most significant first."""
    shifts = torch.arange(bits.shape[-1] - 1, -1, -1, device=bits.device)
    return (bits.to(torch.int64) << shifts).sum(-1)


def _log_not_all(logits: Tensor) -> Tensor:
    """log(1 - P(all bits are 1)), numerically stable for all logits."""
    ones = functional.logsigmoid(logits).sum(-1)  # below 0, if only by 1e-130
    return torch.where(ones > -0.7, torch.log(-torch.expm1(ones)), torch.log1p(-torch.exp(ones.clamp_max(-0.1))))


@dataclass(frozen=True, eq=False, repr=False)
class BitsDistribution(ValueDistribution):
    """Independent bits of a float64, conditional on a finite number: probability masses on all finite float64.

    The patterns of NaN and the infinities, whose exponent bits are all 1, are excluded and the rest is renormalised. 0
    has the sum of the masses of 0 and -0.

    Shape:
        logits: (N, 64), float64, log-odds of 1: sign, exponent, fraction.
    """

    logits: Tensor

    @property
    def _sizes(self) -> Tensor:
        """Logits of all bits except the sign: (N, 63)."""
        return self.logits[:, 1:].clamp(-_MAX_LOGIT, _MAX_LOGIT)

    @property
    def _minus(self) -> Tensor:
        """Log-odds of the minus sign: (N, 1)."""
        return self.logits[:, :1].clamp(-_MAX_LOGIT, _MAX_LOGIT)

    @property
    def _log_finite(self) -> Tensor:
        return _log_not_all(self._sizes[:, :_EXPONENT])[:, None]

    @property
    def _table(self) -> Tensor:
        """Log-probabilities of 0 and 1 for all bits except the sign: (N, 63, 2)."""
        return torch.stack([functional.logsigmoid(-self._sizes), functional.logsigmoid(self._sizes)], dim=-1)

    def _log_sign(self, values: Tensor) -> Tensor:
        minus = torch.where(values < 0, self._minus, -self._minus)
        return functional.logsigmoid(minus).masked_fill(values == 0, 0.0)

    def _log_prob(self, values: Tensor, precision: Tensor) -> Tensor:
        del precision
        bits = _bits_of(values.abs().view(torch.int64), 63)
        return log_equal(self._table, bits) + self._log_sign(values) - self._log_finite

    def _log_mass(self, values: Tensor, precision: Tensor) -> Tensor:
        size, half = values.abs(), half_unit(precision)
        with_zero = size <= half
        plus = (values > 0).to(torch.int64)
        low, high = (size - half).clamp_min(0.0), (size + half).clamp_max(LARGEST)
        pattern = size.view(torch.int64)
        first = (low.view(torch.int64) + plus).minimum(pattern)
        last = (high.view(torch.int64) - 1 + plus).maximum(pattern)
        away = log_between(self._table, _bits_of(first, 63), _bits_of(last, 63))
        away = away + self._log_sign(values) - self._log_finite
        return torch.where(with_zero, super()._log_mass(values, precision), away)

    def _cdf(self, values: Tensor) -> Tensor:
        # Bit patterns are ordered like the sizes; the one after the largest finite number is infinity.
        pattern = values.abs().view(torch.int64)
        patterns = torch.where(values < 0, pattern, pattern + 1)
        less = (below(self._table, _bits_of(patterns, 63)) / self._log_finite.exp()).clamp_max(1.0)
        less = less.masked_fill(patterns >= _INFINITY, 1.0)
        return torch.where(values < 0, self._minus.sigmoid() * (1 - less), 1 - (-self._minus).sigmoid() * (1 - less))

    def mean(self) -> Tensor:
        """Expected value: (N,). A single improbable exponent bit can dominate it: prefer the median."""
        chances = self._sizes.sigmoid()
        halves = torch.pow(0.5, torch.arange(1, _FRACTION + 1, dtype=torch.float64, device=self.device))
        fraction = (chances[:, _EXPONENT:] * halves).sum(-1)
        exponents = torch.arange(2**_EXPONENT - 1, device=self.device)  # without that of NaN and the infinities
        ones = _bits_of(exponents, _EXPONENT).to(torch.float64)
        logits = self._sizes[:, :_EXPONENT]
        log_chances = functional.logsigmoid(logits) @ ones.T + functional.logsigmoid(-logits) @ (1 - ones).T
        shares = (log_chances - self._log_finite).exp()
        powers = (exponents << _FRACTION).view(torch.float64).clone()
        lowest = 2.0**-1022 * shares[:, 0] * fraction
        size = (lowest + (1 + fraction) * (shares[:, 1:] @ powers[1:])).clamp_max(LARGEST)
        return -(self._minus[:, 0] / 2).tanh() * size

    def mode(self) -> Tensor:
        """Most probable value: (N,), bit by bit; if it is not finite, the least certain exponent bit is flipped."""
        sizes = self._sizes
        bits = (sizes > 0).to(torch.int64)
        endless = bits[:, :_EXPONENT].all(-1)
        least = sizes[:, :_EXPONENT].argmin(-1, keepdim=True)
        bits = torch.where(endless[:, None], bits.scatter(1, least, 0), bits)
        size = _joined(bits).view(torch.float64)
        values = torch.where(self._minus[:, 0] > 0, -size, size)
        chance = functional.logsigmoid(torch.where(bits == 1, sizes, -sizes)).sum(-1)
        zero = functional.logsigmoid(-sizes).sum(-1) > chance + functional.logsigmoid(self._minus[:, 0].abs())
        return values.masked_fill(zero, 0.0) + 0.0

    def _sample(self, count: int, generator: torch.Generator | None) -> Tensor:
        chances = self.logits.clamp(-_MAX_LOGIT, _MAX_LOGIT).sigmoid()
        shape = (count, *chances.shape)
        random = torch.rand(shape, generator=generator, dtype=torch.float64, device=self.device)
        bits = (random < chances).to(torch.int64)
        # Exponent bits one by one: while all are 1, the next is drawn conditional on a later 0.
        still = torch.ones_like(bits[..., 0], dtype=torch.bool)
        for place in range(1, _EXPONENT + 1):
            here, rest = self._sizes[:, place - 1 : _EXPONENT], self._sizes[:, place:_EXPONENT]
            log_one = functional.logsigmoid(here[:, 0]) + _log_not_all(rest) - _log_not_all(here)
            drawn = torch.where(still, log_one.exp(), chances[:, place]) > random[..., place]
            bits[..., place] = drawn
            still = still & drawn
        size = _joined(bits[..., 1:]).view(torch.float64)
        return torch.where(bits[..., 0] == 1, -size, size) + 0.0


@dataclass(frozen=True, kw_only=True)
class BitsConfig(Config):
    """Options of `bits`.

    Attributes:
        weight: Factor of the loss; 10 in BitTokens' released code, where it is added to the loss of words.
    """

    kind: ClassVar[str] = "bits"
    weight: float = 1.0

    def __post_init__(self) -> None:
        check_positive(self, "weight")


@heads.register("bits", "bittokens")
class BitsHead(Head):
    """Linear layer with a logit for each of the 64 bits of a float64 (BitTokens, Kreitner et al. 2026).

    The loss is the mean binary cross-entropy of the bits, times `weight`, so -0 differs from 0. NaN and the infinities
    are not targets and are never predicted: the distribution is conditional on a finite number.

    Shape: `(N, dim)` to N distributions over all finite float64.

    Example:
        >>> head = BitsHead.build(dim=8)
        >>> head(torch.zeros(2, 8)).logits.shape, head.loss(torch.zeros(1, 8), NumberTable.of_values([1e308])).shape
        (torch.Size([2, 64]), torch.Size([1]))
    """

    Config = BitsConfig
    config: BitsConfig

    def __init__(self, dim: int, config: BitsConfig) -> None:
        super().__init__(dim, config)
        self.layers = nn.Linear(dim, 64)

    def forward(self, hidden: Tensor) -> BitsDistribution:
        """Distributions for (N, dim) hidden states."""
        return BitsDistribution(run_wide(self.layers, hidden))

    def _loss(self, hidden: Tensor, numbers: NumberTable) -> Tensor:
        bits, logits = _bits_of(numbers.bits, 64).to(torch.float64), run_wide(self.layers, hidden)
        each = functional.binary_cross_entropy_with_logits(logits, bits, reduction="none")
        return self.config.weight * each.mean(-1)
