"""What the other cells of a table's column say of a number: how usual its size, sign and decimals are among them.

A language model sees one row. The cells above and below say on which scale the column counts, and beside `36,000` and
`52,000` a cell of `48,000` is usual, whatever the model expected of the row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

__all__ = ["FEWEST_MATES", "ColumnMates"]

FEWEST_MATES = 3
"""Fewer other cells say nothing."""
_MOST = 400
"""Mates that are looked at."""
_NARROWEST = 0.01
"""Least bandwidth, of the natural logarithm of the size."""
_WIDE, _WIDE_SHARE = 2.0, 0.1
"""Scale in e-folds, and share, of a wide component: columns have values unlike all others."""
_T_PEAK = math.gamma(2) / (math.sqrt(3 * math.pi) * math.gamma(1.5))
"""Density at 0 of Student's t with 3 degrees of freedom."""
EVEN_MATES = 20
"""Fewer cells do not show how a column is spread."""
IQR_OF_NORMAL = 1.349
"""Interquartile range of a normal distribution, in standard deviations."""
FARTHEST, BEYOND = 4.0, 0.25
"""Standard deviations from the middle of an evenly spread column to its farthest value, and from there to the next."""
_UNSEEN = 0.5
"""Cells that a sign or a number of decimals is thought to have beside those that are counted."""


@dataclass(frozen=True, eq=False)
class ColumnMates:
    """The other numbers of a column.

    Attributes:
        values: (M,) the numbers as they are written, without scale word or percent sign; zeros are left out.
        decimals: (M,) how many decimals they have.

    Example:
        >>> mates = ColumnMates(np.array([36_000.0, 52_000.0, 41_000.0]), np.zeros(3, dtype=int))
        >>> usual, odd = mates.log_density(np.array([48_000.0, 48.0]), np.zeros(2, dtype=int))
        >>> bool(usual > odd + 3)
        True
    """

    values: np.ndarray
    decimals: np.ndarray

    def log_density(self, values: np.ndarray, decimals: np.ndarray) -> np.ndarray:
        """Log-densities of the natural logarithm of the size, times the shares of the sign and of the decimals.

        Args:
            values: Numbers of any shape, none of them 0.
            decimals: How many decimals each would be written with; of the same shape.
        """
        count = len(self.values)
        logs = np.log(np.abs(self.values))
        low, middle, high = np.quantile(logs, (0.16, 0.5, 0.84))
        spread = max(float(high - low) / 2, float(logs.std()) / 2)
        width = max(1.06 * spread * count**-0.2, _NARROWEST)
        size = np.log(np.maximum(np.abs(values), 1e-12))
        # Kernels of Student's t with 3 degrees of freedom, whose tails are heavier than a normal's.
        apart = (size[..., None] - logs) / width
        near = (_T_PEAK / width / (1 + apart**2 / 3) ** 2).mean(-1)
        wide = np.exp(-np.abs(size - middle) / _WIDE) / (2 * _WIDE)
        density = (1 - _WIDE_SHARE) * near + _WIDE_SHARE * wide
        same = np.where(values < 0, (self.values < 0).sum(), (self.values > 0).sum())
        sign = (same + _UNSEEN) / (count + 2 * _UNSEEN)
        counts = np.bincount(np.clip(self.decimals, 0, 12), minlength=13)
        written = (counts[np.clip(decimals, 0, 12)] + _UNSEEN) / (count + 3 * _UNSEEN)
        return np.log(density * sign * written)

    def is_inside(self, value: float) -> bool:
        """Whether a value lies among the others of a column that is spread evenly, by differences and not by ratios.

        Among random numbers from 0 to 1, 0.005 is as usual as 0.5, though its size is that of few others.

        Example:
            >>> mates = ColumnMates(np.arange(1.0, 40.0) / 40, np.full(39, 3))
            >>> mates.is_inside(0.005), mates.is_inside(5.0)
            (True, False)
        """
        if len(self.values) < EVEN_MATES:
            return False
        low, middle, high = np.quantile(self.values, (0.25, 0.5, 0.75))
        width = float(high - low) / IQR_OF_NORMAL
        if width <= 0 or np.abs(self.values - middle).max() > FARTHEST * width:
            return False
        beyond = BEYOND * width
        return bool(self.values.min() - beyond <= value <= self.values.max() + beyond)

    @classmethod
    def of(cls, values: np.ndarray, steps: np.ndarray, own: int) -> ColumnMates | None:
        """The mates of row `own` of a column; None if there are fewer than three.

        Args:
            values: (R,) the numbers of the column, NaN where there is none.
            steps: (R,) what the last written digit of each is worth.
            own: Index of the number that is asked about, which does not vouch for itself.
        """
        kept = np.isfinite(values) & (values != 0)
        kept[own] = False
        rows = np.flatnonzero(kept)
        if len(rows) < FEWEST_MATES:
            return None
        rows = rows[np.argsort(np.abs(rows - own), kind="stable")[:_MOST]]
        with np.errstate(divide="ignore"):
            decimals = np.rint(-np.log10(np.maximum(steps[rows], 1e-12))).astype(int)
        return cls(values[rows], np.maximum(decimals, 0))
