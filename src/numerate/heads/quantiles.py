"""Quantile regression head over the signed logarithm, and the piecewise distribution of its quantiles."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from numerate.config import Config
from numerate.embedders.option_checks import check_option, check_positive, check_within
from numerate.heads.base import LARGEST, Head, NumberTable, ValueDistribution, run_wide
from numerate.heads.mixture import from_signed_log, signed_log, signed_log_slope
from numerate.heads.normal import rounding_interval
from numerate.registry import heads

__all__ = ["QuantilesConfig", "QuantilesDistribution", "QuantilesHead"]

_SOFTPLUS_ONE = math.log(math.e - 1)
"""softplus(x) = 1."""
_LEAST_STEP = 0.05
"""Least initial distance between two quantiles, in the signed logarithm."""


def _log_growth(k: Tensor) -> Tensor:
    """Log of (e^k - 1) / k for any k, the integral of e^(k·t) over t from 0 to 1."""
    small = k.abs() < 1e-5
    safe = torch.where(small, 1.0, k)
    size = safe.abs()
    rest = torch.log(-torch.expm1(-size)) - size.log()
    return torch.where(small, k / 2, torch.where(safe > 0, size, 0.0) + rest)


@dataclass(frozen=True, eq=False, repr=False)
class QuantilesDistribution(ValueDistribution):
    """Distributions of asinh(x / unit) with uniform density between quantiles and exponential tails.

    Each tail starts with the density of the segment beside it. Values beyond float64 are clamped to its range.

    Shape:
        knots: (N, Q), float64, sorted: the quantiles of the signed logarithm.
    """

    _density = True
    knots: Tensor
    levels: tuple[float, ...]
    unit: float

    def _levels(self) -> Tensor:
        return torch.tensor(self.levels, dtype=torch.float64, device=self.device)

    def _tail_scales(self) -> tuple[Tensor, Tensor]:
        """Scales of the lower and the upper exponential tail: (N,) each."""
        low, high = self.knots[:, 1] - self.knots[:, 0], self.knots[:, -1] - self.knots[:, -2]
        first, second, last = self.levels[0], self.levels[1], 1 - self.levels[-1]
        return low * (first / (second - first)), high * (last / (self.levels[-1] - self.levels[-2]))

    def _place(self, at: Tensor) -> Tensor:
        """Index of the segment, of Q + 1, that each signed logarithm falls into: (N, C)."""
        return torch.searchsorted(self.knots.detach().contiguous(), at.contiguous(), right=True)

    def _log_densities(self) -> Tensor:
        """Log-density of the signed logarithm in each segment, for the tails at their inner ends: (N, Q + 1)."""
        flat = self._levels().diff().log() - self.knots.diff(dim=1).log()
        return functional.pad(flat[:, None], (1, 1), mode="replicate")[:, 0]

    def _beyond(self, at: Tensor) -> Tensor:
        """Distance into a tail in units of its scale; 0 between the outer quantiles: (N, C)."""
        low, high = self._tail_scales()
        below, above = (self.knots[:, :1] - at) / low[:, None], (at - self.knots[:, -1:]) / high[:, None]
        return torch.where(at < self.knots[:, :1], below, torch.where(at > self.knots[:, -1:], above, 0.0))

    def _log_prob(self, values: Tensor, precision: Tensor) -> Tensor:
        del precision
        at = signed_log(values, self.unit)
        slope = signed_log_slope(values, self.unit)
        return self._log_densities().gather(1, self._place(at)) - self._beyond(at) + slope

    def _log_mass(self, values: Tensor, precision: Tensor) -> Tensor:
        """Sum over the segments that the rounding interval overlaps; all terms are positive."""
        slope = signed_log_slope(values, self.unit)
        at, log_half = rounding_interval(values, precision, lambda x: signed_log(x, self.unit), slope)
        at, log_half = at[..., None], log_half[..., None]
        half = log_half.clamp(-690.0, 690.0).exp()
        start = functional.pad(self.knots, (1, 0), value=-1e6)[:, None]
        end = functional.pad(self.knots, (0, 1), value=1e6)[:, None]
        under, over = ((at - start) / half).clamp_max(1.0), ((end - at) / half).clamp_max(1.0)
        share = (under + over) / 2
        touched = share > 0
        log_width = torch.where(touched, log_half + math.log(2) + torch.where(touched, share, 1.0).log(), 0.0)
        # In a tail the density decays over the width of the overlap, starting at its inner end.
        low, high = (scale[:, None, None] for scale in self._tail_scales())
        none = torch.zeros_like(share[..., 1:-1])
        inner = [(start[..., 1:2] - at[..., :1] - half * over[..., :1]) / low, none]
        inner.append((at[..., :1] - half * under[..., -1:] - end[..., -2:-1]) / high)
        distance = torch.cat(inner, dim=-1).clamp_min(0.0)
        width = log_width.clamp(-690.0, 690.0).exp()
        decay = torch.cat([width[..., :1] / low, none, width[..., -1:] / high], dim=-1)
        terms = self._log_densities()[:, None] + log_width - distance + _log_growth(-decay)
        return torch.where(touched, terms, -1e300).logsumexp(-1).clamp_max(0.0)

    def _cdf(self, values: Tensor) -> Tensor:
        at = signed_log(values, self.unit)
        inner = (self._place(at) - 1).clamp(0, len(self.levels) - 2)
        low, high, levels = self.knots.gather(1, inner), self.knots.gather(1, inner + 1), self._levels()
        first, second = levels[inner], levels[inner + 1]
        flat = first + (second - first) * ((at - low) / (high - low)).clamp(0.0, 1.0)
        tail = torch.exp(-self._beyond(at))
        result = torch.where(at < self.knots[:, :1], self.levels[0] * tail, flat)
        result = torch.where(at > self.knots[:, -1:], 1 - (1 - self.levels[-1]) * tail, result)
        return torch.where(values >= LARGEST, 1.0, result)

    def mean(self) -> Tensor:
        """Expected value, with values beyond float64 clamped to its range: (N,)."""
        low, high = self._tail_scales()
        limit = math.log(LARGEST) - math.log(self.unit)  # leaves a factor of 2
        knots = self.knots.clamp(-limit, limit)
        parts = []
        for sign in (1.0, -1.0):  # x is unit / 2 · (e^u - e^-u)
            steps = sign * knots.diff(dim=1)
            flat = self._levels().diff().log() + sign * knots[:, :-1] + _log_growth(steps)
            terms = [flat]
            for scale, knot, out, level in (
                (high, knots[:, -1], sign, 1 - self.levels[-1]),
                (low, knots[:, 0], -sign, self.levels[0]),
            ):
                # The tail up to the limit, `length` scales long, and the rest beyond it.
                reach = (limit - knot * out * sign).clamp_min(0.0)
                length = reach / scale
                inside = length.clamp_min(1e-300).log() + _log_growth(out * reach - length)
                rest = out * reach - length
                terms.append((math.log(level) + sign * knot + torch.logaddexp(inside, rest))[:, None])
            parts.append(torch.cat(terms, dim=1).logsumexp(-1) + math.log(self.unit / 2))
        up, down = (part.clamp_max(math.log(LARGEST)).exp() for part in parts)
        return up - down

    def mode(self) -> Tensor:
        """Middle of the segment with the highest density of the *signed logarithm*: (N,)."""
        best = self._log_densities()[:, 1:-1].argmax(-1, keepdim=True)
        return from_signed_log((self.knots.gather(1, best) + self.knots.gather(1, best + 1))[:, 0] / 2, self.unit)

    def _sample(self, count: int, generator: torch.Generator | None) -> Tensor:
        chance = torch.rand(len(self), count, generator=generator, dtype=torch.float64, device=self.device)
        levels, (low, high) = self._levels(), self._tail_scales()
        inner = (torch.searchsorted(levels, chance, right=True) - 1).clamp(0, len(levels) - 2)
        share = (chance - levels[inner]) / (levels[inner + 1] - levels[inner])
        start, end = self.knots.gather(1, inner), self.knots.gather(1, inner + 1)
        at = start + (end - start) * share
        below = self.knots[:, :1] + low[:, None] * (chance.clamp_min(1e-300) / levels[0]).log()
        above = self.knots[:, -1:] - high[:, None] * ((1 - chance) / (1 - levels[-1])).log()
        at = torch.where(chance < levels[0], below, torch.where(chance > levels[-1], above, at))
        return from_signed_log(at, self.unit).T


@dataclass(frozen=True, kw_only=True)
class QuantilesConfig(Config):
    """Options of `quantiles`.

    Attributes:
        levels: Probabilities whose quantiles are predicted, sorted, at least two.
        unit: Scale of the signed logarithm: linear well below it, logarithmic well above.
        largest: Quantiles start evenly spaced in the signed logarithm from -largest to largest.
        min_step: Least distance of two quantiles, in the signed logarithm.
        hidden: Size of the hidden layer; the backbone's width by default.
    """

    kind: ClassVar[str] = "quantiles"
    levels: tuple[float, ...] = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
    unit: float = 1e-3
    largest: float = 1e9
    min_step: float = 1e-4
    hidden: int | None = None

    def __post_init__(self) -> None:
        ordered = all(low < high for low, high in zip((0.0, *self.levels), (*self.levels, 1.0), strict=True))
        valid = len(self.levels) >= 2 and ordered
        check_option(valid, self, "levels must be sorted, at least two, between 0 and 1", "levels")
        ordered = 1e-100 <= self.unit < self.largest <= 1e100
        check_option(ordered, self, "unit must be below largest, both in 1e-100 to 1e100", "unit", "largest")
        check_within(self, "min_step", 1e-12, 1)
        check_positive(self, "hidden")


@heads.register("quantiles", "pinball")
class QuantilesHead(Head):
    """Non-crossing quantiles of the signed logarithm asinh(x / unit), trained with the pinball loss.

    Our design, after time-series models. The middle quantile and positive steps to its neighbours are predicted, so
    quantiles cannot cross. The loss is twice the mean pinball loss over the levels, in the signed logarithm (about its
    CRPS); `log_prob` is not part of it. `fit` sets the initial quantiles to those of data. Every finite float64 can be
    scored; NaN and the infinities are not targets.

    Shape: `(N, dim)` to N distributions of Q quantiles.

    Example:
        >>> head = QuantilesHead.build(dim=8, levels=(0.1, 0.5, 0.9))
        >>> distribution = head(torch.zeros(2, 8))
        >>> distribution.knots.shape, [round(p, 6) for p in distribution.cdf(distribution.quantile(0.9)).tolist()]
        (torch.Size([2, 3]), [0.9, 0.9])
    """

    Config = QuantilesConfig
    config: QuantilesConfig
    anchors: Tensor

    def __init__(self, dim: int, config: QuantilesConfig) -> None:
        super().__init__(dim, config)
        hidden = config.hidden or dim
        self.layers = nn.Sequential(
            nn.LayerNorm(dim), nn.Linear(dim, hidden), nn.GELU(), nn.Linear(hidden, len(config.levels))
        )
        farthest = math.asinh(config.largest / config.unit)
        anchors = farthest * (2 * torch.tensor(config.levels, dtype=torch.float64) - 1)
        # float64 as int64 bit patterns, which `.to(dtype)` does not round.
        self.register_buffer("anchors", anchors.view(torch.int64))

    def fit(self, numbers: NumberTable) -> None:
        """Sets the initial quantiles to those of the numbers."""
        values = numbers.values()[self.valid(numbers)].cpu()
        if not len(values):
            return
        ordered = signed_log(values, self.config.unit).sort().values
        ranks = torch.tensor(self.config.levels, dtype=torch.float64) * (len(ordered) - 1)
        self.anchors.copy_(ordered[ranks.round().to(torch.int64)].view(torch.int64))

    def forward(self, hidden: Tensor) -> QuantilesDistribution:
        """Distributions for (N, dim) hidden states."""
        config, anchors = self.config, self.anchors.view(torch.float64)
        outputs = run_wide(self.layers, hidden)
        steps = anchors.diff().clamp_min(_LEAST_STEP)
        middle = len(config.levels) // 2
        center = anchors[middle] + steps.sum() / 2 * outputs[:, :1]
        risen = (config.min_step + steps * functional.softplus(outputs[:, 1:] + _SOFTPLUS_ONE)).cumsum(-1)
        risen = functional.pad(risen, (1, 0))
        return QuantilesDistribution(center + risen - risen[:, middle, None], config.levels, config.unit)

    def _loss(self, hidden: Tensor, numbers: NumberTable) -> Tensor:
        distribution = self.forward(hidden)
        off = signed_log(numbers.values(), self.config.unit)[:, None] - distribution.knots
        levels = off.new_tensor(self.config.levels)
        return 2 * torch.maximum(levels * off, (levels - 1) * off).mean(-1)
