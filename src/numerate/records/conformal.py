"""Calibrated intervals: split conformal prediction on records that were held out of the training.

The intervals of a network may be ten times too narrow or too wide for its errors. So for each field and level, the
central interval is stretched about its median (in scaled units) until it contains that share of the held-out values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np  # noqa: TC002 (the examples use it)

from numerate.config import Config, ConfigError
from numerate.metrics.conformal import FEWEST, LEVELS, stretched, stretches

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["FEWEST", "LEVELS", "Calibration", "stretches"]


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
        return stretched(p, quantiles, medians, factors)
