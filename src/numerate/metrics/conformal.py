"""Split conformal prediction: intervals and p-values that hold on held-out data, whatever a model says of its errors.

Shared by records, by numbers in texts and by `NumberRegressor`. Everything here is a function of numpy arrays.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["FEWEST", "LEVELS", "conformal_rank", "stretched", "stretches", "thresholds"]

LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)
"""Probabilities of the intervals that are calibrated."""
FEWEST = 30
"""A group with fewer held-out values is not calibrated."""
_LEAST = 1e-12


def conformal_rank(count: int, level: float) -> int:
    """The rank, from 1, of the held-out score that a new one exceeds with a probability of at most 1 - level.

    It is `ceil((count + 1) * level)`, the correction for a finite sample, and may be `count + 1`: no score is enough.

    Example:
        >>> conformal_rank(99, 0.9), conformal_rank(5, 0.9)
        (90, 6)
    """
    return math.ceil((count + 1) * level - 1e-9)


def thresholds(scores: np.ndarray, levels: tuple[float, ...]) -> tuple[float, ...]:
    """For each false-alarm level, the score that a new one exceeds no more often than that.

    Levels must decrease. Those that the number of held-out scores is too small for are left out, so that the result may
    be shorter.

    Example:
        >>> thresholds(np.arange(1.0, 100.0), (0.5, 0.1, 0.001))
        (50.0, 90.0)
    """
    ordered, count = np.sort(np.asarray(scores, dtype=np.float64)), len(scores)
    ranks = [conformal_rank(count, 1 - level) for level in levels]
    return tuple(float(ordered[max(rank, 1) - 1]) for rank in ranks if rank <= count)


def stretches(truth: np.ndarray, medians: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[float, ...] | None:
    """The stretch factors of one field; None if there are too few values. All arguments are in scaled units.

    Args:
        truth: (N,) held-out values.
        medians: (N,) predicted medians.
        low: (N, L) lower ends of the central intervals at `LEVELS`.
        high: (N, L) upper ends.

    Example:
        >>> truth = np.linspace(-1, 1, 201)  # the intervals say ±0.5 at every level: too narrow for 0.9 by 1.8
        >>> ends = np.full((201, 5), 0.5)
        >>> [round(factor, 2) for factor in stretches(truth, np.zeros(201), -ends, ends)]
        [1.0, 1.62, 1.82, 1.92, 2.0]
    """
    count = len(truth)
    if count < FEWEST:
        return None
    apart = (truth - medians)[:, None]
    half = np.where(apart >= 0, high - medians[:, None], medians[:, None] - low)
    ratios = np.sort(np.abs(apart) / np.maximum(half, _LEAST), axis=0)
    ranks = [min(count, conformal_rank(count, level)) - 1 for level in LEVELS]
    return tuple(float(min(ratios[rank, at], 1e12)) for at, rank in enumerate(ranks))


def stretched(
    p: Sequence[float] | np.ndarray, quantiles: np.ndarray, medians: np.ndarray, factors: Sequence[float]
) -> np.ndarray:
    """Quantiles (N, Q) stretched about their medians (N,) by the `factors` of `stretches`, sorted so as not to cross.

    `p` are their probabilities, (Q,) or (N, Q); quantiles and medians are in the units that `stretches` was given.
    """
    shares = np.asarray(p, dtype=np.float64)
    wide = np.interp(np.abs(2 * shares - 1), LEVELS, factors)
    result = medians[:, None] + wide * (quantiles - medians[:, None])
    shares = np.broadcast_to(shares, result.shape)
    order = np.argsort(shares, axis=1, kind="stable")
    back = np.argsort(order, axis=1, kind="stable")
    return np.take_along_axis(np.sort(result, axis=1), back, axis=1)
