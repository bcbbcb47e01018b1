"""Both tails of a sample: how often a right value lies so far out.

They are described by quantiles and, beyond the outer ones, by a generalised Pareto tail through them, so that a tail
probability means what it says for any shape of distribution, and a few wrong values do not move it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

__all__ = ["Tails"]

LEAST_EXCESS = 4
"""Fewer values beyond the start of a tail do not tell its scale."""
BINS = 32
"""Bins of the density that reports draw."""


@dataclass(frozen=True)
class Tails:
    """Both tails of a sample.

    Attributes:
        sample: Sorted values, transformed if `log`.
        log: Whether values are compared by their logarithm.
        ends: Where the lower and the upper tail begin.
        scales: Scales of the generalised Pareto tails.
        shapes: Their shapes; 0 is an exponential tail.

    Example:
        >>> tails = Tails.fit(np.exp(np.random.default_rng(0).normal(3, 1, 2000)))
        >>> tails.log, bool(tails.probability(np.array([20.0]))[0] > 0.5)
        (True, True)
        >>> bool(tails.probability(np.array([2e4]))[0] < 1e-4)
        True
    """

    sample: np.ndarray
    log: bool
    ends: tuple[float, float]
    scales: tuple[float, float]
    shapes: tuple[float, float]

    @classmethod
    def fit(cls, values: np.ndarray) -> Tails:
        """Fits the tails of a sample of at least a few dozen values."""
        use_log = bool((values > 0).all()) and _is_skewed(values)
        sample = np.sort(np.log(values) if use_log else values)
        fits = [_tail(side) for side in (-sample[::-1], sample)]
        return cls(
            sample,
            use_log,
            (-fits[0][0], fits[1][0]),
            (fits[0][1], fits[1][1]),
            (fits[0][2], fits[1][2]),
        )

    def probability(self, values: np.ndarray) -> np.ndarray:
        """Two-sided tail probability of each value: how often a right value lies so far out."""
        with np.errstate(divide="ignore", invalid="ignore"):
            moved = np.log(values) if self.log else np.asarray(values, dtype=np.float64)
        moved = np.where(np.isnan(moved), -np.inf, moved)
        count = len(self.sample)
        below = (np.searchsorted(self.sample, moved, "right") + 0.5) / (count + 1)
        above = (count - np.searchsorted(self.sample, moved, "left") + 0.5) / (count + 1)
        below = np.where(
            moved < self.ends[0], _outer(count) * _survival(self.ends[0] - moved, self.scales[0], self.shapes[0]), below
        )
        above = np.where(
            moved > self.ends[1], _outer(count) * _survival(moved - self.ends[1], self.scales[1], self.shapes[1]), above
        )
        return np.minimum(2 * np.minimum(below, above), 1.0)

    @cached_property
    def density(self) -> dict[str, list[float]]:
        """Shares of the sample in bins between its outer quantiles: `edges` (bins + 1) and `shares`."""
        low, high = np.quantile(self.sample, (0.005, 0.995))
        if not high > low:
            low, high = self.sample[0] - 0.5, self.sample[-1] + 0.5
        shares, edges = np.histogram(self.sample, BINS, (float(low), float(high)))
        edges = np.exp(edges) if self.log else edges
        return {
            "edges": [float(f"{edge:.6g}") for edge in edges],
            "shares": [round(float(share), 6) for share in shares / len(self.sample)],
        }

    def quantiles(self) -> list[float]:
        """Values at 1, 5, 25, 50, 75, 95 and 99 %."""
        found = np.quantile(self.sample, (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99))
        return [float(f"{value:.6g}") for value in (np.exp(found) if self.log else found)]


def _is_skewed(values: np.ndarray) -> bool:
    """Whether the logarithm is closer to symmetric than the value, by quantiles."""
    low, middle, high = np.quantile(values, (0.1, 0.5, 0.9))
    if low <= 0 or high <= low:
        return False
    linear = abs(high + low - 2 * middle) / (high - low)
    logs = np.log((low, middle, high))
    return bool(abs(logs[2] + logs[0] - 2 * logs[1]) / (logs[2] - logs[0]) < linear)


def _outer(count: int) -> float:
    """Share of a sample on each side that is described by a tail: some 15 values, where there are enough."""
    return float(np.clip(15 / count, 0.02, 0.1))


def _tail(sample: np.ndarray) -> tuple[float, float, float]:
    """Start, scale and shape of the upper tail of a sorted sample, from the quantiles of what lies beyond the start.

    The median and the upper quartile of the excess give scale and shape of a generalised Pareto tail, so that up to a
    quarter of the outermost values may be wrong. The shape of few values is drawn towards an exponential tail.
    """
    end = float(np.quantile(sample, 1 - _outer(len(sample))))
    spread = float(sample[-1] - sample[0]) or 1.0
    excess = sample[sample > end] - end
    if len(excess) < LEAST_EXCESS:
        # Two or three values tell no scale: that of an exponential tail which begins at the median.
        scale = (end - float(np.median(sample))) / np.log(0.5 / _outer(len(sample)))
        return end, max(float(scale), 1e-6 * spread), 0.0
    middle, quarter = np.maximum(np.quantile(excess, (0.5, 0.75)), 1e-9 * spread)
    # The shoulder before the tail has a say, too: the whole tail may be wrong cells.
    shoulder = end - float(np.quantile(sample, 1 - 2 * _outer(len(sample))))
    middle = min(middle, 3 * shoulder) if shoulder > 0 else middle
    shape = float(np.log2(max(quarter / middle - 1, 0.25))) * len(excess) / (len(excess) + 30)
    # A clearly negative shape has an end, beyond which nothing is possible: too sure for what a sample can tell.
    shape = float(np.clip(shape, -0.05, 0.4))
    scale = middle * shape / (2**shape - 1) if abs(shape) > 1e-6 else middle / np.log(2)
    return end, float(max(scale, 1e-9 * spread)), shape


def _survival(distance: np.ndarray, scale: float, shape: float) -> np.ndarray:
    distance = np.maximum(distance, 0.0)
    with np.errstate(over="ignore"):
        if abs(shape) < 1e-6:
            return np.exp(-distance / scale)
        return np.maximum(1 + shape * distance / scale, 1e-12) ** (-1 / shape)
