"""Gaussian mixtures fitted by expectation maximisation at several granularities: the components of `mog`."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from numerate.heads.distribution import DistributionError

__all__ = ["Gaussians", "evenly_spread", "fit_gaussians", "pooled_gaussians"]

_FARTHEST = 1e100
"""Numbers are clamped to ±this, so that their squares are finite."""
_LEAST_SPREAD = 1e-3
"""Least spread, as in the paper's fits; times the median size where that is below 1."""
_SMALLEST_SPREAD = 1e-30
_LEAST_SHARE = 1e-9
"""Least spread relative to the mean: a component then still covers millions of float64 numbers."""
_CHUNK = 1 << 20
"""Number of (value, component) pairs that are processed at once."""


class Gaussians(NamedTuple):
    """K normal distributions, sorted by mean.

    Shape:
        means, spreads, weights: (K,), float64.
    """

    means: Tensor
    spreads: Tensor
    weights: Tensor


def evenly_spread(count: int, unit: float = 1e-3, largest: float = 1e9) -> Gaussians:
    """Normal distributions spaced evenly in asinh(x / unit) up to ±largest, each as wide as the spacing.

    Example:
        >>> evenly_spread(3).means.tolist()
        [-79370..., 0.0, 79370...]
    """
    gap = 2 * math.asinh(largest / unit) / count
    at = gap * (torch.arange(count, dtype=torch.float64) - (count - 1) / 2)
    spreads = unit * gap * torch.cosh(at).clamp_max(largest / unit)
    return Gaussians(unit * torch.sinh(at), spreads, torch.full((count,), 1 / count, dtype=torch.float64))


def fit_gaussians(values: Tensor, count: int, steps: int = 100, tolerance: float = 1e-3) -> Gaussians:
    """A mixture of at most `count` normal distributions, fitted by expectation maximisation.

    Initial means are evenly spaced percentiles (k-means gives no narrow component where a few numbers are a million
    times larger than the rest); where percentiles coincide, other distinct values. Initial spreads are half the
    distance to the nearer neighbour. There are at most as many components as distinct values.

    Args:
        values: (N,) float64; NaN and infinities are dropped, the rest is clamped to ±1e100.
        count: Number of components.
        steps: Maximum number of steps.
        tolerance: Stop when the mean log-density gains less than this in a step.

    Example:
        >>> fit_gaussians(torch.tensor([1.0, 2, 3, 101, 102, 103]).double(), 2).means.tolist()
        [2.0..., 102.0...]
    """
    if count < 1:
        raise DistributionError(f"count must be positive, got {count}")
    points, times = torch.unique(values[values.isfinite()].clamp(-_FARTHEST, _FARTHEST), return_counts=True)
    if not len(points):
        raise DistributionError(f"no finite number to fit {count} components to")
    times, sizes = times.to(torch.float64), points[points != 0].abs()
    middle = sizes.median().item() if len(sizes) else 1.0
    least = max(_SMALLEST_SPREAD, _LEAST_SPREAD * min(1.0, middle))
    mixture = _start(points, times, count, least)
    before = -math.inf
    for _ in range(steps):
        mixture, gained = _step(points, times, mixture, least)
        if gained - before < tolerance:
            break
        before = gained
    order = torch.sort(mixture.means, stable=True).indices
    return Gaussians(*(part[order] for part in mixture))


def pooled_gaussians(values: Tensor, granularities: int) -> Gaussians:
    """Components of separately fitted mixtures of 1, 2, 4 ... 2^(g - 1) components, sorted by mean: 2^g - 1 in all.

    Weights are those of the fits, divided by the number of fits. Where there are too few distinct numbers, the missing
    components are spread over all magnitudes (`evenly_spread`) with weight 0.

    Example:
        >>> pooled_gaussians(torch.arange(100).double(), 8).means.shape
        torch.Size([255])
    """
    if not values.isfinite().any():
        return evenly_spread(2**granularities - 1)
    fits = [fit_gaussians(values, 2**power) for power in range(granularities)]
    missing = 2**granularities - 1 - sum(len(fit.means) for fit in fits)
    if missing:
        fits.append(evenly_spread(missing)._replace(weights=torch.zeros(missing, dtype=torch.float64)))
    means, spreads, weights = (torch.cat([part.cpu() for part in parts]) for parts in zip(*fits, strict=True))
    order = torch.sort(means, stable=True).indices
    return Gaussians(means[order], spreads[order], weights[order] / granularities)


def _start(points: Tensor, times: Tensor, count: int, least: float) -> Gaussians:
    reached = times.cumsum(0)
    ranks = torch.linspace(0, 1, count, dtype=torch.float64, device=points.device) * (reached[-1] - 1)
    chosen = torch.zeros_like(points, dtype=torch.bool)
    chosen[torch.searchsorted(reached, ranks, right=True).clamp_max(len(points) - 1)] = True
    others = (~chosen).nonzero()[:, 0]
    more = min(count - int(chosen.sum()), len(others))
    if more > 0:
        spaced = (torch.arange(more, device=points.device, dtype=torch.float64) + 0.5) * len(others) / more
        chosen[others[spaced.to(torch.int64)]] = True
    means = points[chosen]
    if len(means) > 1:
        gaps = means.diff()
        spreads = torch.minimum(torch.cat([gaps[:1], gaps]), torch.cat([gaps, gaps[-1:]])) / 2
    else:
        spreads = torch.ones_like(means)
    owners = torch.bucketize(points, (means[:-1] + means[1:]) / 2)
    weights = torch.zeros_like(means).index_add(0, owners, times) / reached[-1]
    return Gaussians(means, _floored(spreads, means, least), weights)


def _floored(spreads: Tensor, means: Tensor, least: float) -> Tensor:
    """Spreads with an absolute and a relative lower bound.

    Without it a component on one repeated number would shrink to width 0. The absolute bound is far below the rounding
    of written numbers; the relative one matters where neighbouring float64 numbers are far apart.
    """
    return torch.maximum(spreads, (means.abs() * _LEAST_SHARE).clamp_min(least))


def _step(points: Tensor, times: Tensor, mixture: Gaussians, least: float) -> tuple[Gaussians, float]:
    """One step of expectation maximisation, and the mean log-density before it."""
    means, spreads, weights = mixture
    base = weights.clamp_min(1e-300).log() - spreads.log() - 0.5 * math.log(2 * math.pi)
    chunk = max(1, _CHUNK // len(means))
    owned, centers, scatters, total = [], [], [], 0.0
    for some, repeats in zip(points.split(chunk), times.split(chunk), strict=True):
        terms = base - 0.5 * ((some[:, None] - means) / spreads).square()
        log_density = terms.logsumexp(-1, keepdim=True)
        total += float((log_density[:, 0] * repeats).sum())
        share = (terms - log_density).exp_() * repeats[:, None]
        own = share.sum(0)
        center = (share * some[:, None]).sum(0) / own.clamp_min(1e-300)
        owned.append(own)
        centers.append(center)
        # Around the chunk's centre: a difference of squares would cancel completely for numbers near 1e26.
        scatters.append((share * (some[:, None] - center).square()).sum(0))
    own, center, scatter = torch.stack(owned), torch.stack(centers), torch.stack(scatters)
    all_own = own.sum(0)
    alive = all_own > 1e-9  # components without numbers stay unchanged
    safe = torch.where(alive, all_own, 1.0)
    mean = torch.where(alive, (own * center).sum(0) / safe, means)
    variance = (scatter + own * (center - mean).square()).sum(0) / safe
    spread = torch.where(alive, _floored(variance.sqrt(), mean, least), spreads)
    return Gaussians(mean, spread, all_own / times.sum()), total / float(times.sum())
