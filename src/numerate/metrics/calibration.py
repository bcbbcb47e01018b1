"""Calibration of predicted distributions: CRPS, PIT, coverage of intervals, calibration error."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from numerate.heads.base import LARGEST
from numerate.metrics.score import MetricError, Score, as_floats, as_pair, mean_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numerate.heads.base import NumberDistribution

    Numbers = Tensor | Sequence[Any]

__all__ = [
    "calibration_error", "coverage", "crps", "crps_of_quantiles", "crps_of_samples", "expected_calibration_error",
    "pinball", "pit", "pit_coverage",
]  # fmt: skip


def pinball(quantiles: Numbers, levels: Numbers, gold: Numbers) -> Tensor:
    """Pinball loss of predicted quantiles: (level - [y < q]) (y - q).

    Shape:
        Quantiles (N, C), levels (C,) or (N, C), gold (N,). Output: (N, C) float64.

    Example:
        >>> pinball([[1.0, 3.0]], [0.5, 0.9], [2.0])
        tensor([[0.5000, 0.1000]], dtype=torch.float64)
    """
    predicted = as_floats(quantiles, "quantiles", dims=2)
    level = torch.as_tensor(levels, dtype=torch.float64, device=predicted.device)
    truth = as_floats(gold, "gold values").to(predicted.device)
    if len(truth) != len(predicted) or level.shape not in (predicted.shape, predicted.shape[1:]):
        raise MetricError(
            f"quantiles (N, C) need levels (C,) or (N, C) and gold values (N,), got {tuple(predicted.shape)}, "
            f"{tuple(level.shape)} and {tuple(truth.shape)}"
        )
    _check_shares(level, "levels")
    gap = truth[:, None] - predicted
    return torch.where(gap < 0, (level - 1) * gap, level * gap)


def crps_of_samples(samples: Numbers, gold: Numbers, fair: bool = False) -> Score:
    """Mean continuous ranked probability score of samples: E|X - y| - E|X - X'| / 2; lower is better.

    Args:
        samples: (S, N) S samples per distribution. Examples with a sample that is not finite are left out and counted.
        gold: (N,) gold values.
        fair: Whether pairs (X, X') are of different samples only, which gives an unbiased estimate for the underlying
            distribution and needs at least 2 samples. If False, it is the score of the empirical distribution.

    Example:
        >>> crps_of_samples([[0.0], [2.0]], [1.0]).value, crps_of_samples([[0.0], [2.0]], [1.0], fair=True).value
        (0.5, 0.0)
    """
    drawn = as_floats(samples, "samples", dims=2)
    truth = as_floats(gold, "gold values").to(drawn.device)
    size, count = drawn.shape
    if count != len(truth):
        raise MetricError(f"samples must be (S, N) for N gold values, got {tuple(drawn.shape)} for {len(truth)}")
    if size < 1 + fair and count:
        raise MetricError(f"at least {1 + fair} samples are needed, got {size}")
    known = truth.isfinite()
    good = known & drawn.isfinite().all(dim=0)
    # Subtract the gold value first, so that a small spread around a large number keeps its digits.
    away = (drawn[:, good] - truth[good]).sort(dim=0).values
    ranks = torch.arange(size, dtype=torch.float64, device=away.device)[:, None]
    pairs = ((2 * ranks - size + 1) * away).sum(dim=0) * 2  # sum of |x_i - x_j| over all ordered pairs
    scores = away.abs().mean(dim=0) - pairs / (2 * size * (size - 1 if fair else size))
    return _mean(scores, known, good)


def crps_of_quantiles(
    quantile: Callable[[Tensor], Tensor], gold: Numbers, at_gold: Numbers | None = None, nodes: int = 64
) -> Score:
    """Mean CRPS of distributions given by their quantile function: twice the integral of the pinball loss over levels.

    The loss has a kink at the level of the gold value. It is integrated on both sides of the kink by Gauss-Legendre
    quadrature with nodes concentrated at the ends, for heavy tails. For distributions with jumps the error is about
    1 / nodes of the largest jump.

    Args:
        quantile: Function from levels (N, C) to values (N, C).
        gold: (N,) gold values.
        at_gold: (N,) cumulative probability of the gold values, cdf(y); found by bisection of `quantile` by default.
        nodes: Number of quadrature nodes on each side.

    Example:
        >>> uniform = crps_of_quantiles(lambda levels: levels, [0.5])
        >>> round(uniform.value, 12)  # 1/12, by hand
        0.083333333333
    """
    if nodes < 2:
        raise MetricError(f"nodes must be at least 2, got {nodes=}")
    truth = as_floats(gold, "gold values")
    known = truth.isfinite()
    safe = torch.where(known, truth, 0.0)
    split = _level_of(quantile, safe) if at_gold is None else as_floats(at_gold, "levels").to(truth.device)
    split = split.nan_to_num(0.5).clamp(0.0, 1.0)[:, None]
    places, weights = np.polynomial.legendre.leggauss(nodes)
    u = (places + 1) / 2
    # Concentrate nodes at both ends: if the gold value lies in a tail, the quantile grows fast near it, too.
    share = torch.from_numpy(u**3 * (10 - 15 * u + 6 * u**2)).to(truth.device)
    weight = torch.from_numpy(weights / 2 * 30 * (u * (1 - u)) ** 2).to(truth.device)
    levels = torch.cat([split * share, split + (1 - split) * share], dim=1)
    levels = levels.clamp(5e-324, 1 - 2**-53)  # the quantiles at 0 and 1 are usually infinite
    losses = pinball(quantile(levels), levels, safe)
    below, above = (losses[:, :nodes] * weight).sum(1), (losses[:, nodes:] * weight).sum(1)
    # A side with probability 0 has no loss, even if its quantile is infinite.
    below, above = torch.where(split[:, 0] > 0, below, 0.0), torch.where(split[:, 0] < 1, above, 0.0)
    scores = 2 * (split[:, 0] * below + (1 - split[:, 0]) * above)
    good = known & scores.isfinite()
    return _mean(scores[good], known, good)


@torch.no_grad()
def crps(distribution: NumberDistribution, gold: Numbers, nodes: int = 64) -> Score:
    """Mean CRPS of a head's distributions, one per gold value (N,); see `crps_of_quantiles`.

    Example:
        >>> from numerate.registry import heads
        >>> head = heads["scalar"].build(dim=4)
        >>> crps(head(torch.zeros(2, 4)), [0.0, 3.0]).count
        2
    """
    truth = _gold_values(distribution, gold)
    return crps_of_quantiles(distribution.quantile, truth, distribution.cdf(truth.nan_to_num(0.0)), nodes)


@torch.no_grad()
def pit(distribution: NumberDistribution, gold: Numbers, precision: Numbers | None = None, seed: int = 0) -> Tensor:
    """Randomised probability integral transform (PIT): uniform on [0, 1] if the distributions are right.

    If the cumulative probability jumps at the gold value, the result is a random value within the jump. With
    `precision`, a gold value stands for its rounding interval ([3.05, 3.15) for 3.1), and the result is a random value
    within the probability of that interval.

    Args:
        distribution: N distributions.
        gold: (N,) gold values; the result is NaN where they are not finite.
        precision: (N,) powers of ten of the last written digits, as in `NumberTable.precision`; none by default.
        seed: Random seed.

    Returns:
        (N,) float64 on the device of the distributions.

    Example:
        >>> from numerate.registry import heads
        >>> head = heads["scalar"].build(dim=4)
        >>> pit(head(torch.zeros(3, 4)), [0.0, 3.1, float("nan")], precision=[0, -1, 0]).isnan().tolist()
        [False, False, True]
    """
    truth = _gold_values(distribution, gold)
    low = high = torch.where(truth.isfinite(), truth, 0.0)
    if precision is not None:
        power = as_floats(precision, "precisions").to(truth.device)
        half = 0.5 * torch.pow(10.0, power.clamp(-330.0, 308.0))
        low, high = (low - half).clamp(-LARGEST, LARGEST), _before((high + half).clamp(-LARGEST, LARGEST))
        # A precision finer than float64 must not move the upper end below the value itself.
        high = torch.maximum(high, truth.nan_to_num(0.0, 0.0, 0.0))
    below, above = distribution.cdf(_before(low)), distribution.cdf(high)
    generator = torch.Generator().manual_seed(seed)  # on the CPU, so that results do not depend on the device
    place = torch.rand(len(truth), generator=generator, dtype=torch.float64).to(truth.device)
    return torch.where(truth.isfinite(), below + place * (above - below).clamp_min(0.0), torch.nan)


def coverage(lower: Numbers, upper: Numbers, gold: Numbers) -> Score:
    """Share of gold values within their intervals, ends included; an interval with a NaN end contains nothing.

    Example:
        >>> coverage([0.0, 0.0], [1.0, 1.0], [1.0, 2.0]).value
        0.5
    """
    low, truth = as_pair(lower, gold)
    high, _ = as_pair(upper, gold)
    known = truth.isfinite()
    inside = ((low <= truth) & (truth <= high.to(low.device)))[known]
    broken = (low.isnan() | high.to(low.device).isnan())[known]
    return Score(mean_of(inside.double()), len(inside), int((~known).sum()), int(broken.sum()))


def pit_coverage(places: Numbers, level: float = 0.9) -> Score:
    """Coverage of the central interval of a level, computed from PIT values; also correct for jumps and rounding.

    Example:
        >>> pit_coverage([0.01, 0.2, 0.5, 0.97], level=0.9).value
        0.5
    """
    if not 0 < level < 1:
        raise MetricError(f"level must be between 0 and 1, got {level=}")
    values = as_floats(places, "PIT values")
    _check_shares(values, "PIT values")
    known = values.isfinite()
    inside = (values[known] - 0.5).abs() <= level / 2
    return Score(mean_of(inside.double()), len(inside), int((~known).sum()))


def calibration_error(places: Numbers, levels: Numbers | None = None) -> Score:
    """Expected calibration error of distributions: mean over levels p of |share of PIT values up to p - p|.

    Args:
        places: (N,) PIT values; NaN is skipped.
        levels: The levels p; 0.05, 0.10 ... 0.95 by default.

    Example:
        >>> round(calibration_error([0.5] * 4, levels=[0.25, 0.75]).value, 12)
        0.25
    """
    values = as_floats(places, "PIT values")
    level = torch.linspace(0.05, 0.95, 19, dtype=torch.float64) if levels is None else as_floats(levels, "levels")
    _check_shares(values, "PIT values")
    _check_shares(level, "levels")
    level = level.to(values.device)
    known = values.isfinite()
    ordered = values[known].sort().values
    skipped = int((~known).sum())
    if not len(ordered) or not len(level):
        return Score(math.nan, len(ordered), skipped)
    observed = torch.searchsorted(ordered, level, right=True) / len(ordered)
    return Score(float((observed.to(torch.float64) - level).abs().mean()), len(ordered), skipped)


def expected_calibration_error(
    confidence: Numbers, correct: Numbers, bins: int = 15, equal_mass: bool = False
) -> Score:
    """Expected calibration error of a classifier: mean |accuracy - confidence| of bins, weighted by their sizes.

    Args:
        confidence: (N,) probability of the chosen class, in [0, 1]; NaN is counted and left out.
        correct: (N,) whether the chosen class was right.
        bins: Number of bins of equal width; a boundary belongs to the bin below it.
        equal_mass: Use bins with equal numbers of examples instead (equal confidences may be split).

    Example:
        >>> round(expected_calibration_error([0.9, 0.9, 0.6, 0.6], [True, True, True, False], bins=10).value, 12)
        0.1
    """
    if bins < 1:
        raise MetricError(f"bins must be at least 1, got {bins=}")
    sure, right = as_pair(confidence, correct)
    known = ~right.isnan()
    good = known & ~sure.isnan()
    skipped, broken = int((~known).sum()), int((known & ~good).sum())
    sure, order = sure[good].sort()
    right = right[good][order]
    if not len(sure):
        return Score(math.nan, 0, skipped, broken)
    if not 0 <= float(sure[0]) <= float(sure[-1]) <= 1:
        raise MetricError(f"confidences must be in [0, 1], got {float(sure[0])} to {float(sure[-1])}")
    if equal_mass:
        index = torch.arange(len(sure), device=sure.device) * bins // len(sure)
    else:
        edges = torch.arange(1, bins, dtype=torch.float64, device=sure.device) / bins
        index = torch.searchsorted(edges, sure)
    gaps = torch.zeros(bins, dtype=torch.float64, device=sure.device).index_add_(0, index, right - sure)
    return Score(float(gaps.abs().sum() / len(sure)), len(sure), skipped, broken)


def _mean(scores: Tensor, known: Tensor, good: Tensor) -> Score:
    value = float(scores.mean()) if len(scores) else math.nan
    return Score(value, len(scores), int((~known).sum()), int((known & ~good).sum()))


def _before(values: Tensor) -> Tensor:
    """The next smaller float64 of each value."""
    return torch.nextafter(values, torch.full_like(values, -torch.inf))


def _gold_values(distribution: NumberDistribution, gold: Numbers) -> Tensor:
    if not hasattr(distribution, "quantile"):
        raise MetricError(f"give distributions of a head, got {distribution!r:.60}; for samples, crps_of_samples")
    truth = as_floats(gold, "gold values").to(distribution.device)
    if len(distribution) != len(truth):
        raise MetricError(f"there must be one gold value per row, got {len(truth)} for {len(distribution)} rows")
    return truth


def _level_of(quantile: Callable[[Tensor], Tensor], gold: Tensor) -> Tensor:
    """The level up to which the quantiles do not exceed the gold value, by bisection to float64 precision."""
    low, high = torch.zeros_like(gold), torch.ones_like(gold)
    for _ in range(60):
        middle = (low + high) / 2
        under = quantile(middle[:, None])[:, 0] <= gold
        low, high = torch.where(under, middle, low), torch.where(under, high, middle)
    return (low + high) / 2


def _check_shares(values: Tensor, what: str) -> None:
    """Refuses numbers outside of 0 to 1; NaN is left to the metric."""
    outside = values[(values < 0) | (values > 1)]
    if len(outside):
        raise MetricError(f"{what} must be between 0 and 1, got {float(outside[0]):g}")
