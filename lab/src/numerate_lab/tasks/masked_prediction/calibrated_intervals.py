"""Intervals of guessed numbers: how many numbers they hold, how wide they are, and both after calibration on dev."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import torch

from numerate import metrics

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LEVEL", "conformity", "interval_figures", "stretched"]

LEVEL = 0.9
"""Level of the intervals whose coverage is measured."""


def conformity(guesses: Mapping[str, np.ndarray]) -> np.ndarray:
    """How far each number lies from the median, as a multiple of its interval's half: (N,), infinite without a guess.

    On the scale of asinh, which is nearly logarithmic from 1 on and takes 0 and negative numbers, too.

    Example:
        >>> ends = {"low": np.sinh([0.0, 0.0]), "median": np.sinh([1.0, 1.0]), "high": np.sinh([2.0, 3.0])}
        >>> conformity({"gold": np.sinh([0.5, 4.0])} | ends).round(6).tolist()
        [0.5, 1.5]
    """
    gold, median, low, high = (np.arcsinh(guesses[name]) for name in ("gold", "median", "low", "high"))
    half = np.where(gold >= median, high - median, median - low)
    with np.errstate(invalid="ignore"):
        ratios = np.abs(gold - median) / np.maximum(half, 1e-12)
    return np.where(np.isnan(ratios), np.inf, ratios)


def stretched(guesses: Mapping[str, np.ndarray], ratios: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the intervals, stretched until they hold `LEVEL` of held-out numbers: (N,) each.

    `ratios` are the `conformity` of the same model on dev: split conformal prediction, with the correction for few
    numbers.

    Example:
        >>> guesses = {"low": np.sinh([0.0]), "median": np.sinh([1.0]), "high": np.sinh([2.0])}
        >>> low, high = stretched(guesses, np.linspace(0.01, 2.0, 200))
        >>> np.arcsinh([*low, *high]).round(6).tolist()
        [-0.81, 2.81]
    """
    rank = min(len(ratios), math.ceil((len(ratios) + 1) * LEVEL)) - 1
    factor = float(np.sort(ratios)[rank]) if len(ratios) else 1.0
    median, low, high = (np.arcsinh(guesses[name]) for name in ("median", "low", "high"))
    with np.errstate(over="ignore"):
        return np.sinh(median - factor * (median - low)), np.sinh(median + factor * (high - median))


def interval_figures(guesses: Mapping[str, np.ndarray], restated: np.ndarray | None = None) -> dict[str, float]:
    """Figures of the columns `low` and `high`; none if there are no intervals.

    `coverage_90` is the share of numbers within them, and `decades_90` their median width in orders of magnitude. With
    a column `calibration`, the `conformity` on dev, `calibrated_90` and `calibrated_decades_90` are those of
    `stretched` intervals. With `restated` (N,), the numbers that a sentence repeats in another unit, coverage has both
    groups: calibration is right on average, which it need not be in each of them.

    Example:
        >>> ends = {"low": np.array([1.0, 1.0]), "median": np.array([3.0, 3.0]), "high": np.array([10.0, 10.0])}
        >>> found = interval_figures({"gold": np.array([5.0, 20.0])} | ends, np.array([True, False]))
        >>> found["coverage_90"], found["coverage_90_restated"], found["decades_90"]
        (0.5, 1.0, 1.0)
    """
    if "low" not in guesses or np.isnan(guesses["low"]).all():
        return {}
    there, found = ~np.isnan(guesses["median"]), {}
    kinds = {"coverage": (guesses["low"], guesses["high"])}
    if "calibration" in guesses:
        kinds["calibrated"] = stretched(guesses, guesses["calibration"])
    groups = {"": there}
    if restated is not None:
        groups |= {"_told_once": there & ~restated, "_restated": there & restated}
    for kind, (low, high) in kinds.items():
        for group, rows in groups.items():
            below, above, gold = (torch.from_numpy(np.asarray(each)[rows]) for each in (low, high, guesses["gold"]))
            found[f"{kind}_90{group}"] = float(metrics.coverage(below, above, gold))
        with np.errstate(divide="ignore", invalid="ignore"):
            decades = np.log10(high[there]) - np.log10(low[there])
        # An interval that reaches 0 has no width in orders of magnitude: it counts as wider than all others.
        width = float(np.median(np.where(np.isnan(decades), np.inf, decades)))
        found["decades_90" if kind == "coverage" else "calibrated_decades_90"] = width
    return found
