"""Base class of distributions that depend on a number's value and precision, not on its written form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from numerate.heads.distribution import LARGEST, NumberDistribution

if TYPE_CHECKING:
    from collections.abc import Callable

    from numerate.processing.number_table import NumberTable

__all__ = ["ValueDistribution", "half_unit", "where_finite"]


def half_unit(precision: Tensor) -> Tensor:
    """Half of the last written digit's unit, 0.5 · 10^precision, in float64."""
    return 0.5 * torch.pow(10.0, precision.to(torch.float64).clamp(-330, 308))


def where_finite(function: Callable[[Tensor, Tensor], Tensor], values: Tensor, precision: Tensor) -> Tensor:
    """`function(values, precision)`, with -inf for values that are NaN or infinite."""
    endless = (values - values) != 0  # NaN for infinities and NaN; fewer operations than `isfinite`
    return function(values.masked_fill(endless, 0.0), precision).masked_fill(endless, -torch.inf)


@dataclass(frozen=True, eq=False, repr=False)
class ValueDistribution(NumberDistribution):
    """Base class of distributions that depend on a number's value and precision, not on its written form.

    A subclass defines the methods with an underscore, for finite values of shape (N, C).
    """

    def _log_prob(self, values: Tensor, precision: Tensor) -> Tensor:
        raise NotImplementedError

    def _cdf(self, values: Tensor) -> Tensor:
        raise NotImplementedError

    def _log_mass(self, values: Tensor, precision: Tensor) -> Tensor:
        """Difference of two cdf values; where it is lost in rounding, the density times the unit, or the point mass."""
        half = half_unit(precision)
        below, above = (values - half).clamp(-LARGEST, LARGEST), (values + half).clamp(-LARGEST, LARGEST)
        mass = self._cdf(above) - self._cdf(below)
        point = self._log_prob(values, precision)
        if self.is_density:
            point = point + precision * 2.302585092994046
        return torch.where(mass > 1e-9, mass.clamp_min(1e-300).log(), point)

    def _log_prob_of(self, numbers: NumberTable) -> Tensor:
        return where_finite(self._log_prob, numbers.values()[:, None], numbers.precision[:, None])[:, 0]

    def _log_mass_of(self, numbers: NumberTable) -> Tensor:
        return where_finite(self._log_mass, numbers.values()[:, None], numbers.precision[:, None])[:, 0]

    def scores(self, candidates: NumberTable) -> Tensor:
        """`log_prob` of each of C candidates for each row: (N, C)."""
        values = candidates.values().expand(len(self), -1)
        return where_finite(self._log_prob, values, candidates.precision.expand(len(self), -1))

    def mass_scores(self, candidates: NumberTable) -> Tensor:
        """`log_mass` of each of C candidates for each row: (N, C)."""
        values = candidates.values().expand(len(self), -1)
        return where_finite(self._log_mass, values, candidates.precision.expand(len(self), -1))

    def _cdf_at(self, values: Tensor) -> Tensor:
        finite = values.isfinite()
        inside = self._cdf(values.masked_fill(~finite, 0.0)).clamp(0.0, 1.0)
        return torch.where(finite, inside, torch.where(values.isnan(), values, (values > 0).to(torch.float64)))
