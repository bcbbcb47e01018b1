"""What every head gives: N distributions over numbers, one a row."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Self

import torch
from torch import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from numerate.processing.number_table import NumberTable

__all__ = ["LARGEST", "NumberDistribution", "ValueDistribution", "from_order", "row_index", "to_order"]

LARGEST = 1.7976931348623157e308
"""The largest float64."""
_SIZE = 0x7FFFFFFFFFFFFFFF
"""All bits of a float64 but the sign's."""
_INFINITY = 0x7FF0000000000000
_CHUNK = 1 << 18
"""How many (row, candidate) pairs are scored at once."""


def to_order(values: Tensor) -> Tensor:
    """float64 values as int64 that are ordered as they are; neighbours differ by 1."""
    bits = values.view(torch.int64)
    return torch.where(bits < 0, bits ^ _SIZE, bits)


def from_order(order: Tensor) -> Tensor:
    """The float64 values behind `to_order`'s integers."""
    return torch.where(order < 0, order ^ _SIZE, order).view(torch.float64)


def row_index(index: Tensor | slice | int, count: int) -> Tensor | slice:
    """What picks rows and leaves them rows: one row by its place is a slice of one.

    Example:
        >>> row_index(-1, 5)
        slice(4, 5, None)
    """
    if not isinstance(index, int):
        return index
    first = range(count)[index]
    return slice(first, first + 1)


class NumberDistribution(ABC):
    """N distributions over numbers, one a row, in float64.

    `log_prob`, `cdf` and `mean` can be differentiated by the hidden states. No head predicts NaN or an infinity: their
    log-probability is -inf (and their gradient 0).

    Shape:
        Rows: N. Values or probabilities given as (N,) are one a row and give (N,); as (N, C), C a row and give (N, C).
        Samples: a leading dimension.
    """

    @abstractmethod
    def __len__(self) -> int:
        """How many distributions there are."""

    @abstractmethod
    def __getitem__(self, index: Tensor | slice | int) -> Self:
        """Some of the rows; an int gives a distribution of one row."""

    @property
    def is_density(self) -> bool:
        """Whether `log_prob` is a density in terms of the value (an atom's, its mass); if not, it is a mass."""
        return False

    @property
    def is_written(self) -> bool:
        """Whether `log_prob` is the probability of a number *as it is written*, "1.50" apart from "1.5"."""
        return False

    @property
    def unseen(self) -> Tensor:
        """Probability that `cdf` and its kin leave out: (N,); 0 unless a head has to enumerate what they speak of."""
        return torch.zeros(len(self), dtype=torch.float64, device=self.device)

    @property
    def is_empty(self) -> Tensor:
        """Which rows give no number any probability, as a vocabulary does that has seen nothing: (N,) bool."""
        return torch.zeros(len(self), dtype=torch.bool, device=self.device)

    def without_unknown(self) -> Self:
        """The same without a place for unknown numbers, which then have the probability 0; most heads have none."""
        return self

    @abstractmethod
    def log_prob(self, numbers: NumberTable) -> Tensor:
        """Log-density (or log-mass) of each row's number: (N,), differentiable."""

    def log_prob_adjusted(self, numbers: NumberTable) -> Tensor:
        """`log_prob`, with that of an unknown number shared by all unknown types (Ueberla): (N,)."""
        return self.log_prob(numbers)

    def log_mass(self, numbers: NumberTable) -> Tensor:
        """Log-probability of each row's number *as it is written*, with all that rounds to it: (N,).

        This is what heads are compared by and combined in: "3.1" is less probable than "3". How probable it is that a
        number is written with so many digits is not part of it.
        """
        if self.is_density:
            raise NotImplementedError(f"{type(self).__name__} must define log_mass()")
        return self.log_prob(numbers)

    @abstractmethod
    def cdf(self, values: Tensor) -> Tensor:
        """P(X <= value): (N,), or (N, C) for values of that shape."""

    @torch.no_grad()
    def quantile(self, p: float | Tensor) -> Tensor:
        """Generalised inverse of `cdf`: the smallest float64 whose cdf is at least p (-inf for p = 0).

        Args:
            p: One probability for all rows, or (N,), or (N, C).
        """
        # Bisection among the float64 themselves: exact for any cdf, with jumps or without.
        rows = len(self)
        first = self.cdf(torch.zeros(rows, dtype=torch.float64, device=self.device))
        goal = torch.as_tensor(p, dtype=torch.float64, device=first.device)
        if not bool(((goal >= 0) & (goal <= 1)).all()):
            raise ValueError(f"probabilities must lie in [0, 1], got {p=}")
        goal = goal.expand(rows) if goal.dim() == 0 else goal
        high = torch.full(goal.shape, _INFINITY, dtype=torch.int64, device=goal.device)
        low = -high - 2  # right below -inf
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
        """Most probable value of each row: (N,); of a density, in the space that the head thinks in (see there)."""

    @abstractmethod
    def sample(self, count: int, generator: torch.Generator | None = None) -> Tensor:
        """(count, N) samples."""

    @property
    @abstractmethod
    def device(self) -> torch.device:
        """Where the distributions live."""

    def median(self) -> Tensor:
        """The value that as many numbers lie below as above."""
        return self.quantile(0.5)

    def interval(self, level: float = 0.9) -> tuple[Tensor, Tensor]:
        """The central interval that holds `level` of the probability: lower and upper ends."""
        if not 0 < level < 1:
            raise ValueError(f"level must lie between 0 and 1, got {level=}")
        return self.quantile((1 - level) / 2), self.quantile((1 + level) / 2)

    def scores(self, candidates: NumberTable) -> Tensor:
        """`log_prob` of each of C candidates for each row: (N, C). Heads that share work between them override it."""
        rows, count = len(self), len(candidates)
        row = torch.arange(rows, device=self.device).repeat_interleave(count)
        column = torch.arange(count, device=self.device).repeat(rows)
        return self[row].log_prob(candidates[column]).reshape(rows, count)

    def mass_scores(self, candidates: NumberTable) -> Tensor:
        """`log_mass` of each of C candidates for each row: (N, C)."""
        rows, count = len(self), len(candidates)
        row = torch.arange(rows, device=self.device).repeat_interleave(count)
        column = torch.arange(count, device=self.device).repeat(rows)
        return self[row].log_mass(candidates[column]).reshape(rows, count)

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


@dataclasses.dataclass(frozen=True, eq=False)
class ValueDistribution(NumberDistribution):
    """Distributions that look at a number's value and precision alone, whatever the way it is written.

    A subclass is a dataclass of tensors whose first dimension is the row (and of what is no tensor, the same for all
    rows), and defines the methods with an underscore, for finite values of shape (N, C).
    """

    def _log_prob(self, values: Tensor, precision: Tensor) -> Tensor:
        raise NotImplementedError

    def _cdf(self, values: Tensor) -> Tensor:
        raise NotImplementedError

    def _log_mass(self, values: Tensor, precision: Tensor) -> Tensor:
        """By the difference of two cdfs; where that is lost in rounding, by the density or the single mass there."""
        half = 0.5 * torch.pow(10.0, precision.to(torch.float64).clamp(-330, 308))
        below, above = (values - half).clamp(-LARGEST, LARGEST), (values + half).clamp(-LARGEST, LARGEST)
        mass = self._cdf(above) - self._cdf(below)
        point = self._log_prob(values, precision)
        if self.is_density:
            point = point + precision * 2.302585092994046
        return torch.where(mass > 1e-9, mass.clamp_min(1e-300).log(), point)

    def _tensors(self) -> dict[str, Tensor]:
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {name: value for name, value in fields.items() if isinstance(value, Tensor)}

    @property
    def device(self) -> torch.device:
        """Where the distributions live."""
        return next(iter(self._tensors().values())).device

    def __len__(self) -> int:
        return next(iter(self._tensors().values())).shape[0]

    def __getitem__(self, index: Tensor | slice | int) -> Self:
        index = row_index(index, len(self))
        return dataclasses.replace(self, **{name: tensor[index] for name, tensor in self._tensors().items()})

    def log_prob(self, numbers: NumberTable) -> Tensor:
        """Log-density (or log-mass) of each row's number: (N,), differentiable."""
        return _where_finite(self._log_prob, numbers.values()[:, None], numbers.precision[:, None])[:, 0]

    def log_mass(self, numbers: NumberTable) -> Tensor:
        """Log-probability of each row's number with all that rounds to it: (N,), differentiable."""
        return _where_finite(self._log_mass, numbers.values()[:, None], numbers.precision[:, None])[:, 0]

    def scores(self, candidates: NumberTable) -> Tensor:
        """`log_prob` of each of C candidates for each row: (N, C)."""
        values = candidates.values().expand(len(self), -1)
        return _where_finite(self._log_prob, values, candidates.precision.expand(len(self), -1))

    def mass_scores(self, candidates: NumberTable) -> Tensor:
        """`log_mass` of each of C candidates for each row: (N, C)."""
        values = candidates.values().expand(len(self), -1)
        return _where_finite(self._log_mass, values, candidates.precision.expand(len(self), -1))

    def cdf(self, values: Tensor) -> Tensor:
        """P(X <= value): (N,), or (N, C) for values of that shape; 0 at -inf, 1 at inf, NaN at NaN."""
        values = values.to(torch.float64)
        columns = values[:, None] if values.dim() == 1 else values
        finite = columns.isfinite()
        inside = self._cdf(columns.masked_fill(~finite, 0.0)).clamp(0.0, 1.0)
        result = torch.where(finite, inside, torch.where(columns.isnan(), columns, (columns > 0).to(torch.float64)))
        return result[:, 0] if values.dim() == 1 else result


def _where_finite(rule: Callable[[Tensor, Tensor], Tensor], values: Tensor, precision: Tensor) -> Tensor:
    finite = values.isfinite()
    return rule(values.masked_fill(~finite, 0.0), precision).masked_fill(~finite, -torch.inf)
