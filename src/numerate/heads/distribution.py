"""Interface of predicted distributions over numbers, and the base class of those over values."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import torch
from torch import Tensor

from numerate.embedders.base import LARGEST
from numerate.errors import NumerateError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numerate.processing.number_table import NumberTable

__all__ = [
    "LARGEST",
    "DistributionError",
    "NumberDistribution",
    "ValueDistribution",
    "from_order",
    "half_unit",
    "to_order",
    "where_finite",
]

_MAGNITUDE = 0x7FFFFFFFFFFFFFFF
"""Mask of all bits of a float64 except the sign bit."""
_INFINITY = 0x7FF0000000000000
_CHUNK = 1 << 18
"""Number of (row, candidate) pairs that `rank` scores at once."""


class DistributionError(NumerateError, ValueError):
    """An argument outside of its range, such as a probability above 1."""


def to_order(values: Tensor) -> Tensor:
    """float64 values as int64 in the same order; neighbouring floats differ by 1."""
    bits = values.view(torch.int64)
    return torch.where(bits < 0, bits ^ _MAGNITUDE, bits)


def from_order(order: Tensor) -> Tensor:
    """Inverse of `to_order`."""
    return torch.where(order < 0, order ^ _MAGNITUDE, order).view(torch.float64)


def half_unit(precision: Tensor) -> Tensor:
    """Half of the last written digit's unit, 0.5 · 10^precision, in float64."""
    return 0.5 * torch.pow(10.0, precision.to(torch.float64).clamp(-330, 308))


def where_finite(function: Callable[[Tensor, Tensor], Tensor], values: Tensor, precision: Tensor) -> Tensor:
    """`function(values, precision)`, with -inf for values that are NaN or infinite."""
    endless = (values - values) != 0  # NaN for infinities and NaN; fewer operations than `isfinite`
    return function(values.masked_fill(endless, 0.0), precision).masked_fill(endless, -torch.inf)


@dataclass(frozen=True, eq=False)
class NumberDistribution(ABC):
    """N distributions over numbers, one for each row, in float64.

    `log_prob`, `cdf` and `mean` are differentiable with respect to the hidden states. NaN and the infinities are never
    predicted: their log-probability is -inf (with gradient 0). A subclass is a frozen dataclass; its tensors and
    distributions have one entry for each row, all other fields are shared by the rows.

    Shape:
        Values or probabilities of shape (N,) hold one entry for each row and give (N,); of shape (N, C), C entries and
        give (N, C). Samples have a leading dimension.
    """

    _density: ClassVar[bool] = False
    _written: ClassVar[bool] = False

    def _row_fields(self) -> dict[str, Any]:
        """Fields with one entry for each row: tensors, distributions, plain tuples of distributions (no NamedTuple)."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        rows = (Tensor, NumberDistribution)
        return {k: v for k, v in fields.items() if isinstance(v[0] if type(v) is tuple and v else v, rows)}

    def __len__(self) -> int:
        return len(next(iter(self._row_fields().values())))

    def __getitem__(self, index: Tensor | slice | int) -> Self:
        """Some of the rows; an int gives a distribution of one row."""
        if isinstance(index, int):
            first = range(len(self))[index]
            index = slice(first, first + 1)
        rows = self._row_fields().items()
        chosen = {k: tuple(part[index] for part in v) if isinstance(v, tuple) else v[index] for k, v in rows}
        return dataclasses.replace(self, **chosen)

    @property
    def device(self) -> torch.device:
        """Device of the tensors."""
        return next(iter(self._row_fields().values())).device

    @property
    def is_density(self) -> bool:
        """Whether `log_prob` is a density of the value (at an atom, its mass); otherwise it is a mass."""
        return self._density

    @property
    def is_written(self) -> bool:
        """Whether `log_prob` is the probability of a number *as it is written*: "1.50" differs from "1.5"."""
        return self._written

    @property
    def unseen(self) -> Tensor:
        """Probability of the numbers that `cdf`, `quantile` and `mean` leave out: (N,); 0 without enumeration."""
        return torch.zeros(len(self), dtype=torch.float64, device=self.device)

    @property
    def is_empty(self) -> Tensor:
        """Rows in which every number has probability 0, such as an unfitted vocabulary: (N,) bool."""
        return torch.zeros(len(self), dtype=torch.bool, device=self.device)

    def without_unknown(self) -> Self:
        """The distribution given that the number is in the vocabulary; unchanged where there is no vocabulary."""
        return self

    @abstractmethod
    def log_prob(self, numbers: NumberTable) -> Tensor:
        """Log-density (or log-mass) of each row's number: (N,), differentiable."""

    def log_prob_adjusted(self, numbers: NumberTable) -> Tensor:
        """`log_prob`, with the probability of "unknown" split among all unknown types (Ueberla): (N,)."""
        return self.log_prob(numbers)

    def log_mass(self, numbers: NumberTable) -> Tensor:
        """Log-probability of all values that round to each row's number at its written precision: (N,).

        Heads are compared and combined by it: "3.1" is less probable than "3". The probability of the number of
        decimals is not included.
        """
        if self.is_density:
            raise NotImplementedError(f"{type(self).__name__} must define log_mass()")
        return self.log_prob(numbers)

    @abstractmethod
    def cdf(self, values: Tensor) -> Tensor:
        """P(X <= value): (N,), or (N, C) for values of that shape."""

    def _probabilities(self, p: float | Tensor) -> Tensor:
        """The argument of `quantile` as (N,) or (N, C) float64."""
        chances = torch.as_tensor(p, dtype=torch.float64, device=self.device)
        if not bool(((chances >= 0) & (chances <= 1)).all()):
            raise DistributionError(f"probabilities must lie in [0, 1], got {p=}")
        return chances.expand(len(self)) if chances.dim() == 0 else chances

    @torch.no_grad()
    def quantile(self, p: float | Tensor) -> Tensor:
        """Generalised inverse of `cdf`: the smallest float64 whose cdf is at least p (-inf for p = 0).

        Args:
            p: One probability for all rows, or (N,), or (N, C).
        """
        # Bisection over the float64 numbers themselves: exact for any cdf, with or without jumps.
        goal = self._probabilities(p)
        high = torch.full(goal.shape, _INFINITY, dtype=torch.int64, device=goal.device)
        low = -high - 2  # just below -inf
        for _ in range(64):
            middle = (low & high) + ((low ^ high) >> 1)
            reached = self.cdf(from_order(middle)) >= goal
            low, high = torch.where(reached, low, middle), torch.where(reached, middle, high)
        return from_order(high) + 0.0  # -0 becomes 0

    @abstractmethod
    def mean(self) -> Tensor:
        """Expected value of each row: (N,), within the range of float64."""

    @abstractmethod
    def mode(self) -> Tensor:
        """Most probable value of each row: (N,); a subclass says in which coordinates its density is maximal."""

    @abstractmethod
    def sample(self, count: int, generator: torch.Generator | None = None) -> Tensor:
        """(count, N) samples."""

    def median(self) -> Tensor:
        """The 0.5 quantile: (N,)."""
        return self.quantile(0.5)

    def interval(self, level: float = 0.9) -> tuple[Tensor, Tensor]:
        """Lower and upper end of the central interval that holds `level` of the probability: (N,) each."""
        if not 0 < level < 1:
            raise DistributionError(f"level must lie between 0 and 1, got {level=}")
        return self.quantile((1 - level) / 2), self.quantile((1 + level) / 2)

    def scores(self, candidates: NumberTable) -> Tensor:
        """`log_prob` of each of C candidates for each row: (N, C)."""
        rows, columns = self._pairs(candidates)
        return rows.log_prob(columns).reshape(len(self), len(candidates))

    def mass_scores(self, candidates: NumberTable) -> Tensor:
        """`log_mass` of each of C candidates for each row: (N, C)."""
        rows, columns = self._pairs(candidates)
        return rows.log_mass(columns).reshape(len(self), len(candidates))

    def _pairs(self, candidates: NumberTable) -> tuple[Self, NumberTable]:
        """All N · C pairs of a row and a candidate."""
        row = torch.arange(len(self), device=self.device).repeat_interleave(len(candidates))
        return self[row], candidates[torch.arange(len(candidates), device=self.device).repeat(len(self))]

    @torch.no_grad()
    def rank(self, candidates: NumberTable, k: int) -> tuple[Tensor, Tensor]:
        """The k most probable of C candidates for each row: (N, k) log-probabilities and (N, k) indices."""
        step = max(1, _CHUNK // max(1, len(self)))
        best = torch.empty(len(self), 0, dtype=torch.float64, device=self.device)
        where = torch.empty(len(self), 0, dtype=torch.int64, device=self.device)
        for start in range(0, len(candidates), step):
            scores = self.scores(candidates[start : start + step])
            indices = torch.arange(start, start + scores.shape[1], device=self.device).expand_as(scores)
            best, where = torch.cat([best, scores], dim=1), torch.cat([where, indices], dim=1)
            best, chosen = best.topk(min(k, best.shape[1]), dim=1)
            where = where.gather(1, chosen)
        return best, where


@dataclass(frozen=True, eq=False)
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

    def log_prob(self, numbers: NumberTable) -> Tensor:
        """Log-density (or log-mass) of each row's number: (N,), differentiable."""
        return where_finite(self._log_prob, numbers.values()[:, None], numbers.precision[:, None])[:, 0]

    def log_mass(self, numbers: NumberTable) -> Tensor:
        """Log-probability of all values that round to each row's number: (N,), differentiable."""
        return where_finite(self._log_mass, numbers.values()[:, None], numbers.precision[:, None])[:, 0]

    def scores(self, candidates: NumberTable) -> Tensor:
        """`log_prob` of each of C candidates for each row: (N, C)."""
        values = candidates.values().expand(len(self), -1)
        return where_finite(self._log_prob, values, candidates.precision.expand(len(self), -1))

    def mass_scores(self, candidates: NumberTable) -> Tensor:
        """`log_mass` of each of C candidates for each row: (N, C)."""
        values = candidates.values().expand(len(self), -1)
        return where_finite(self._log_mass, values, candidates.precision.expand(len(self), -1))

    def cdf(self, values: Tensor) -> Tensor:
        """P(X <= value): (N,), or (N, C) for values of that shape; 0 at -inf, 1 at inf, NaN at NaN."""
        values = values.to(torch.float64)
        columns = values[:, None] if values.dim() == 1 else values
        finite = columns.isfinite()
        inside = self._cdf(columns.masked_fill(~finite, 0.0)).clamp(0.0, 1.0)
        result = torch.where(finite, inside, torch.where(columns.isnan(), columns, (columns > 0).to(torch.float64)))
        return result[:, 0] if values.dim() == 1 else result
