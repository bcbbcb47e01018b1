"""Interface of predicted distributions over numbers."""

from __future__ import annotations

import dataclasses
import math
import operator
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import torch
from torch import Tensor

from numerate.embedders.base import LARGEST
from numerate.heads.arguments import DistributionError, columns_of, fitted_shape, probabilities_of, table_of, values_of
from numerate.heads.rows import moved, row_index
from numerate.heads.summaries import best_candidates, described
from numerate.processing.number_table import NumberTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numerate.heads.arguments import NumberContext, Numbers
    from numerate.heads.summaries import Candidate

__all__ = ["LARGEST", "DistributionError", "NumberDistribution", "from_order", "to_order"]

_MAGNITUDE = 0x7FFFFFFFFFFFFFFF
"""Mask of all bits of a float64 except the sign bit."""
_INFINITY = 0x7FF0000000000000
_FEW_ROWS = 8
"""Rows whose quantiles are first sought at `_PLACES`."""
_PLACES = torch.arange(-1023, 1024) * ((_INFINITY >> 10) + 1)
"""Orders of float64 numbers of all sizes, with 0 in the middle: a factor of four from one to the next."""
_AT_ONCE = 1024
"""Values for which the cdf is asked at once in a search for quantiles."""
_LEVELS = 199
"""Number of quantiles among which `best` looks for the most probable numbers."""
_SPARED_BITS = 24
"""Bits of a value that `best` does not need before it rounds: 4 in a thousand million of it."""
_CHUNK = 1 << 18
"""Number of (row, candidate) pairs that `rank` scores at once."""


def to_order(values: Tensor) -> Tensor:
    """float64 values as int64 in the same order; neighbouring floats differ by 1."""
    bits = values.view(torch.int64)
    return torch.where(bits < 0, bits ^ _MAGNITUDE, bits)


def from_order(order: Tensor) -> Tensor:
    """Inverse of `to_order`."""
    return torch.where(order < 0, order ^ _MAGNITUDE, order).view(torch.float64)


@dataclass(frozen=True, eq=False, repr=False)
class NumberDistribution(ABC):
    """N distributions over numbers, one for each row, in float64; the interface follows `torch.distributions`.

    `log_prob`, `cdf` and `mean` are differentiable with respect to the hidden states. NaN and the infinities are never
    predicted: their log-probability is -inf (with gradient 0). A subclass is a frozen dataclass (with `repr=False`);
    its tensors and distributions have one entry for each row, all other fields are shared by the rows. It defines the
    methods with an underscore that raise `NotImplementedError` here, `mean` and `mode`.

    Attributes:
        contexts: Where each row's number stands in its text, for `best` and for numerals as arguments; None if unknown.

    Shape:
        Values and probabilities are one number for all rows, (N,) with one entry for each row, or (N, C) with C entries
        for each row. They give (N,), (N,) and (N, C). One row (N = 1) takes any shape and gives the same. Samples have
        leading dimensions: `distribution.cdf(samples.T)`.

    Example:
        >>> from numerate.registry import heads
        >>> distribution = heads["scalar"].build(dim=8)(torch.zeros(2, 8))
        >>> distribution.log_prob(3.0).shape, distribution.cdf([1.0, 2.0]).shape, distribution.sample(7).shape
        (torch.Size([2]), torch.Size([2]), torch.Size([7, 2]))
        >>> len(distribution[:1]), distribution[0].cdf([-1e9, 0.5, 1e9]).shape
        (1, torch.Size([3]))
    """

    _density: ClassVar[bool] = False
    _written: ClassVar[bool] = False
    _row_tuples: ClassVar[tuple[str, ...]] = ("contexts",)
    """Fields that are tuples with one entry for each row, which are no tensors."""

    contexts: tuple[NumberContext, ...] | None = dataclasses.field(default=None, kw_only=True)

    def _row_fields(self) -> dict[str, Any]:
        """Fields with one entry for each row: tensors, distributions, plain tuples of distributions (no NamedTuple)."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        rows = (Tensor, NumberDistribution)
        return {k: v for k, v in fields.items() if isinstance(v[0] if type(v) is tuple and v else v, rows)}

    def __len__(self) -> int:
        return len(next(iter(self._row_fields().values())))

    def __getitem__(self, index: Any) -> Self:
        """Some of the rows, by an index, slice, mask or sequence as of a tensor; an index gives one row."""
        index = row_index(index, len(self))
        rows = self._row_fields().items()
        chosen: dict[str, Any] = {
            k: tuple(part[index] for part in v) if isinstance(v, tuple) else v[index] for k, v in rows
        }
        named = {name: getattr(self, name) for name in self._row_tuples}
        if any(entries is not None for entries in named.values()):
            kept = torch.arange(len(self))[index.cpu() if isinstance(index, Tensor) else index].tolist()
            chosen |= {k: None if v is None else tuple(v[row] for row in kept) for k, v in named.items()}
        return dataclasses.replace(self, **chosen)

    def __iter__(self) -> Iterator[Self]:
        """The rows, each as a distribution of one row."""
        return (self[row] for row in range(len(self)))

    def __repr__(self) -> str:
        return described(self)

    @property
    def batch_shape(self) -> torch.Size:
        """(N,), as in `torch.distributions`."""
        return torch.Size([len(self)])

    @property
    def event_shape(self) -> torch.Size:
        """(), as in `torch.distributions`: each row is a distribution over single numbers."""
        return torch.Size()

    @property
    def device(self) -> torch.device:
        """Device of the tensors."""
        return next(iter(self._row_fields().values())).device

    def to(self, device: torch.device | str) -> Self:
        """The distributions on another device; modules that they share with a head are copied."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return dataclasses.replace(self, **{name: moved(value, device) for name, value in fields.items()})

    def cpu(self) -> Self:
        """The distributions on the CPU."""
        return self.to("cpu")

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

    def log_prob(self, numbers: Numbers) -> Tensor:
        """Log-density (or log-mass) of numbers: (N,) or (N, C), differentiable.

        Args:
            numbers: A float, a list, an array, a tensor, a numeral or several (`numerate.find`), or a number table;
                see the class for their shapes.
        """
        return self._of_each(numbers, lambda rows, table: rows._log_prob_of(table))

    def log_prob_adjusted(self, numbers: NumberTable) -> Tensor:
        """`log_prob`, with the probability of "unknown" split among all unknown types (Ueberla): (N,)."""
        return self.log_prob(numbers)

    def log_mass(self, numbers: Numbers) -> Tensor:
        """Log-probability of all values that round to numbers at their written precision: (N,) or (N, C).

        Heads are compared and combined by it: "3.1" is less probable than "3". The probability of the number of
        decimals is not included.
        """
        return self._of_each(numbers, lambda rows, table: rows._log_mass_of(table))

    def cdf(self, values: Numbers) -> Tensor:
        """P(X <= value): (N,) or (N, C), for numbers as `log_prob` takes them; 0 at -inf, 1 at inf, NaN at NaN."""
        columns, shape = columns_of(values_of(values, self.contexts).to(self.device), len(self))
        return self._cdf_at(columns).reshape(shape)

    @torch.no_grad()
    def quantile(self, p: float | Sequence[float] | Sequence[Sequence[float]] | Tensor) -> Tensor:
        """Generalised inverse of `cdf`: the smallest float64 whose cdf is at least p (-inf for p = 0).

        Args:
            p: One probability for all rows, or (N,), or (N, C).
        """
        columns, shape = columns_of(probabilities_of(p, self.device), len(self))
        return self._quantile_at(columns).reshape(shape)

    @abstractmethod
    def mean(self) -> Tensor:
        """Expected value of each row: (N,), within the range of float64."""

    @abstractmethod
    def mode(self) -> Tensor:
        """Most probable value of each row: (N,); a subclass says in which coordinates its density is maximal."""

    def sample(self, count: int | Sequence[int] = (), generator: torch.Generator | None = None) -> Tensor:
        """Samples: (N,), with a count (count, N), with a shape (*shape, N)."""
        sizes: Any = count if hasattr(count, "__iter__") else (count,)
        try:
            shape = tuple(operator.index(size) for size in sizes)
        except TypeError:
            raise DistributionError(f"give a number of samples or a shape, got {count!r}") from None
        if any(size < 0 for size in shape):
            raise DistributionError(f"the number of samples must not be negative, got {count}")
        total = math.prod(shape)
        if not total:
            return torch.empty(*shape, len(self), dtype=torch.float64, device=self.device)
        return self._sample(total, generator).reshape(*shape, len(self))

    def median(self) -> Tensor:
        """The 0.5 quantile: (N,)."""
        return self.quantile(0.5)

    def interval(self, level: float = 0.9) -> tuple[Tensor, Tensor]:
        """Lower and upper end of the central interval that holds `level` of the probability: (N,) each."""
        if level is None or isinstance(level, str) or not 0 < level < 1:
            raise DistributionError(f"level must lie between 0 and 1, got {level=}")
        ends = torch.tensor([(1 - level) / 2, (1 + level) / 2], dtype=torch.float64, device=self.device)
        low, high = self.quantile(ends.expand(len(self), 2)).unbind(-1)  # both with one search
        return low, high

    def best(self, k: int = 5) -> list[list[Candidate]]:
        """The k most probable numbers of each row, written as its text writes numbers (see `summaries.Candidate`).

        A distribution over written numbers gives its numerals. One over values gives numbers rounded to the digits that
        its spread supports, each with the probability of all values that round to it.
        """
        if not isinstance(k, int) or k < 1:
            raise DistributionError(f"k must be at least 1, got {k!r}")
        return best_candidates(self, k)

    def _log_prob_of(self, numbers: NumberTable) -> Tensor:
        """`log_prob` of each row's number: (N,)."""
        raise NotImplementedError(f"{type(self).__name__} must define _log_prob_of()")

    def _log_mass_of(self, numbers: NumberTable) -> Tensor:
        """`log_mass` of each row's number: (N,)."""
        if self.is_density:
            raise NotImplementedError(f"{type(self).__name__} must define _log_mass_of()")
        return self._log_prob_of(numbers)

    def _cdf_at(self, values: Tensor) -> Tensor:
        """`cdf` at (N, C) values."""
        raise NotImplementedError(f"{type(self).__name__} must define _cdf_at()")

    def _quantile_at(self, p: Tensor) -> Tensor:
        """`quantile` at (N, C) probabilities."""
        return self._searched_quantile(p)

    def _searched_quantile(self, p: Tensor, spared_bits: int = 0) -> Tensor:
        """`quantile` at (N, C) probabilities, or numbers a little above it: the last bits may be spared."""
        # Over the float64 numbers themselves: exact for any cdf, with or without jumps. A call of the cdf costs more
        # than some hundred more values in it, so that few quantiles are sought by many parts at once. The first call
        # is one for all quantiles of a row, at numbers of all sizes; many rows begin with 0 only.
        places = _PLACES if len(self) <= _FEW_ROWS else _PLACES[len(_PLACES) // 2, None]
        places = places.to(p.device)
        known = self._cdf_at(from_order(places).expand(len(self), -1)).nan_to_num(nan=-1.0).cummax(-1)[0]
        ends = torch.nn.functional.pad(places, (1, 1))
        ends[0], ends[-1] = -_INFINITY - 2, _INFINITY  # from just below -inf
        below = torch.searchsorted(known, p.contiguous())
        low, high = ends[below], ends[below + 1]
        halvings = max([1, *(each for each in range(1, 8) if p.numel() << each <= _AT_ONCE)])
        counts = torch.arange(1, 1 << halvings, device=p.device)
        bits = max(1, int(ends.diff().max()).bit_length() - spared_bits)
        for _ in range(math.ceil(bits / halvings)):
            step = ((high - low + len(counts)) >> halvings)[..., None]
            inner = torch.minimum(low[..., None] + step * counts, high[..., None])
            reached = self._cdf_at(from_order(inner.flatten(1))).reshape(inner.shape) >= p[..., None]
            below = (reached.cumsum(-1) == 0).sum(-1, keepdim=True)
            tried = torch.cat([low[..., None], inner, high[..., None]], dim=-1)
            low, high = tried.gather(-1, below).squeeze(-1), tried.gather(-1, below + 1).squeeze(-1)
        return from_order(high) + 0.0  # -0 becomes 0

    def _near_quantile(self, p: Tensor) -> Tensor:
        """`quantile` at (N, C) probabilities for what is rounded afterwards: of densities, without the last bits."""
        rounds = self.is_density and type(self)._quantile_at is NumberDistribution._quantile_at
        return self._searched_quantile(p, _SPARED_BITS) if rounds else self._quantile_at(p)

    def _sample(self, count: int, generator: torch.Generator | None) -> Tensor:
        """(count, N) samples."""
        raise NotImplementedError(f"{type(self).__name__} must define _sample()")

    @torch.no_grad()
    def _likely_values(self) -> Tensor:
        """Values among which `best` looks for the most probable ones: (N, C)."""
        levels = torch.linspace(0, 1, _LEVELS + 2, dtype=torch.float64, device=self.device)[1:-1]
        return torch.cat([self._near_quantile(levels.expand(len(self), -1)), self.mode()[:, None]], dim=1)

    @property
    def _lists_values(self) -> bool:
        """Whether `_likely_values` are the numbers that have a probability of their own, not points on a line."""
        return False

    def _of_each(self, numbers: Numbers, function: Callable[[Self, NumberTable], Tensor]) -> Tensor:
        """A function of rows and as many numbers, for numbers of any shape that fits."""
        if isinstance(numbers, NumberTable) and tuple(numbers.bits.shape) == (len(self),):
            return function(self, numbers)  # as in training: nothing to compute
        table = table_of(numbers, self.contexts).to(self.device)
        shape = fitted_shape(tuple(table.bits.shape), len(self))
        places = columns_of(torch.arange(table.bits.numel(), device=self.device).reshape(table.bits.shape), len(self))[
            0
        ]
        rows = torch.arange(len(self), device=self.device).repeat_interleave(places.shape[1])
        whole = self if places.shape[1] == 1 else self[rows]
        return function(whole, table.flat()[places.reshape(-1)]).reshape(shape)

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
    def rank(self, candidates: Numbers, k: int) -> tuple[Tensor, Tensor]:
        """The k most probable of C candidates for each row: (N, k) log-probabilities and (N, k) indices."""
        if k < 1:
            raise DistributionError(f"k must be at least 1, got {k}")
        # Each row is asked for all candidates, so that a unit can be taken off them only if it is that of all rows.
        contexts = self.contexts if len({each.power for each in self.contexts or ()}) == 1 else None
        return self._rank(table_of(candidates, contexts).flat().to(self.device), k)

    def _rank(self, candidates: NumberTable, k: int) -> tuple[Tensor, Tensor]:
        """`rank` of a flat table."""
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
