"""Calibrated intervals: split conformal prediction on records that were held out of the training.

The intervals of a network may be ten times too narrow or too wide for its errors. So for each field and level, the
central interval is stretched about its median (in scaled units) until it contains that share of the held-out values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from numerate.config import Config, ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LEVELS", "Calibration", "stretches"]

LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)
FEWEST = 30
"""A field with fewer held-out values is not calibrated."""
_LEAST = 1e-12


@dataclass(frozen=True, kw_only=True)
class Calibration(Config):
    """Stretch factors of the intervals of each field at each of `LEVELS`.

    Attributes:
        stretch: Factors by field; other fields are not stretched.
        held_out: Number of held-out values by field.

    Example:
        >>> calibration = Calibration(stretch={"x": (1.0, 1.0, 2.0, 2.0, 2.0)})
        >>> calibration.apply("x", [0.05, 0.5, 0.95], np.array([[-1.0, 0.0, 3.0]]), np.zeros(1)).round(9).tolist()
        [[-2.0, 0.0, 6.0]]
    """

    kind: ClassVar[str] = "record-calibration"
    stretch: dict[str, tuple[float, ...]] = field(default_factory=dict)
    held_out: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, factors in self.stretch.items():
            if len(factors) != len(LEVELS) or not all(math.isfinite(each) and each >= 0 for each in factors):
                raise ConfigError(f"stretch of {name!r}: expected {len(LEVELS)} factors of at least 0, got {factors}")

    def apply(
        self, name: str, p: Sequence[float] | np.ndarray, quantiles: np.ndarray, medians: np.ndarray
    ) -> np.ndarray:
        """Stretched quantiles (N, Q) of the field `name`, sorted so that they do not cross.

        `p` are their probabilities, (Q,) or (N, Q); quantiles (N, Q) and medians (N,) are in scaled units.
        """
        factors = self.stretch.get(name)
        if factors is None:
            return quantiles
        shares = np.asarray(p, dtype=np.float64)
        wide = np.interp(np.abs(2 * shares - 1), LEVELS, factors)
        stretched = medians[:, None] + wide * (quantiles - medians[:, None])
        shares = np.broadcast_to(shares, stretched.shape)
        order = np.argsort(shares, axis=1, kind="stable")
        back = np.argsort(order, axis=1, kind="stable")
        return np.take_along_axis(np.sort(stretched, axis=1), back, axis=1)


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
    # The rank of split conformal prediction, with a correction for the finite sample.
    ranks = [min(count, math.ceil((count + 1) * level)) - 1 for level in LEVELS]
    return tuple(float(min(ratios[rank, at], 1e12)) for at, rank in enumerate(ranks))
