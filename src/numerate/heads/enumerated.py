"""Distributions over more numbers than can be summed over, by the most probable ones; and over numerals as written."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional

from numerate.heads.base import LARGEST, NumberDistribution
from numerate.heads.number_strings import strings_of

if TYPE_CHECKING:
    from numerate.processing.number_table import NumberTable

__all__ = ["EnumeratedDistribution", "StringDistribution", "Support"]


@dataclass(frozen=True, eq=False)
class Support:
    """S numerals a row and the probability of each; all methods are conditional on one of them being meant.

    Where none is (a vocabulary that has seen nothing), the first has all the probability.

    Shape:
        values: (S,), the same for all rows, or (N, S); float64, finite and in order. Two strings may have one value.
        log_masses: (N, S), float64; -inf for a free place.
        unseen: (N,), the probability of all other strings.

    Example:
        >>> values, masses = torch.tensor([1.0, 2.0, 8.0]).double(), torch.tensor([[0.25, 0.125, 0.125]]).double()
        >>> support = Support(values, masses.log(), torch.tensor([0.5]).double())
        >>> support.cdf(torch.tensor([2.0]).double()).item(), support.quantile(torch.tensor([0.5]).double()).item()
        (0.75, 1.0)
    """

    values: Tensor
    log_masses: Tensor
    unseen: Tensor

    def shares(self) -> Tensor:
        """Probabilities given that the number is among those seen: (N, S)."""
        nothing = (self.log_masses == -torch.inf).all(-1, keepdim=True)
        first = torch.arange(self.log_masses.shape[1], device=self.log_masses.device) == 0
        return torch.where(nothing & first, 0.0, self.log_masses).softmax(-1)

    def _reached(self) -> Tensor:
        sums = self.shares().cumsum(-1)
        return sums / sums[:, -1:]  # ends at 1 exactly

    def cdf(self, values: Tensor) -> Tensor:
        """P(X <= value): (N,), or (N, C) for values of that shape; NaN at NaN."""
        columns = (values[:, None] if values.dim() == 1 else values).to(torch.float64).contiguous()
        index = torch.searchsorted(self.values.contiguous(), columns, right=True)
        result = functional.pad(self._reached(), (1, 0)).gather(1, index)
        result = torch.where(columns.isnan(), columns, result)
        return result[:, 0] if values.dim() == 1 else result

    def quantile(self, p: Tensor) -> Tensor:
        """The smallest value whose cdf is at least p, -inf for p = 0: (N,), or (N, C) for p of that shape."""
        columns = (p[:, None] if p.dim() == 1 else p).to(torch.float64).contiguous()
        reached = self._reached()
        index = torch.searchsorted(reached, columns).clamp_max(reached.shape[1] - 1)
        result = self._pick(index).masked_fill(columns == 0, -torch.inf) + 0.0
        return result[:, 0] if p.dim() == 1 else result

    def mean(self) -> Tensor:
        """Expected value: (N,)."""
        return (self.shares() * self.values).sum(-1).clamp(-LARGEST, LARGEST)

    def mode(self) -> Tensor:
        """Value of the most probable *string*: (N,)."""
        return self._pick(self.shares().argmax(-1, keepdim=True))[:, 0] + 0.0

    def sample(self, count: int, generator: torch.Generator | None = None) -> Tensor:
        """(count, N) samples."""
        if len(self.log_masses) == 0:
            return self.log_masses.new_zeros(count, 0)
        chosen = torch.multinomial(self.shares().detach(), count, replacement=True, generator=generator)
        return self._pick(chosen).T + 0.0

    def _pick(self, index: Tensor) -> Tensor:
        return self.values[index] if self.values.dim() == 1 else self.values.gather(1, index)


class EnumeratedDistribution(NumberDistribution):
    """N distributions over more numbers than can be summed over: the most probable ones are enumerated.

    What speaks of values (`cdf`, `quantile`, `mean`, `median`, `mode`, `interval`, `sample`) comes from those that
    `support` enumerates and is conditional on them, so that cdf(inf) is 1; `unseen` says how much probability lies
    elsewhere.
    """

    @abstractmethod
    def support(self) -> Support:
        """The numbers that are enumerated, with their probabilities."""

    @property
    def unseen(self) -> Tensor:
        """The probability of all numbers outside the support: (N,)."""
        return self.support().unseen

    def cdf(self, values: Tensor) -> Tensor:
        """P(X <= value), given the support: (N,), or (N, C) for values of that shape; NaN at NaN."""
        return self.support().cdf(values)

    @torch.no_grad()
    def quantile(self, p: float | Tensor) -> Tensor:
        """Generalised inverse of `cdf`: the smallest value whose cdf is at least p (-inf for p = 0)."""
        goal = torch.as_tensor(p, dtype=torch.float64, device=self.device)
        if not bool(((goal >= 0) & (goal <= 1)).all()):
            raise ValueError(f"probabilities must lie in [0, 1], got {p=}")
        return self.support().quantile(goal.expand(len(self)) if goal.dim() == 0 else goal)

    def mean(self) -> Tensor:
        """Expected value, given the support: (N,)."""
        return self.support().mean()

    def mode(self) -> Tensor:
        """Value of the most probable number of the support: (N,)."""
        return self.support().mode()

    def sample(self, count: int, generator: torch.Generator | None = None) -> Tensor:
        """(count, N) samples, given the support."""
        return self.support().sample(count, generator)


class StringDistribution(EnumeratedDistribution):
    """N distributions over *strings*: `log_prob` is that of the numeral as it is written, "1.50" or "1.5"."""

    @abstractmethod
    def log_prob_strings(self, strings: Tensor) -> Tensor:
        """Log-probability of each row's string, (N, 32) ids as `strings_of` gives them: (N,), differentiable."""

    @property
    def is_written(self) -> bool:
        """Whether `log_prob` is that of a number as it is written: it is."""
        return True

    def mass_scores(self, candidates: NumberTable) -> Tensor:
        """`log_mass`, here `log_prob`, of each of C candidates for each row: (N, C)."""
        return self.scores(candidates)

    def log_prob(self, numbers: NumberTable) -> Tensor:
        """Log-probability of each row's number as it is written: (N,), differentiable."""
        return self.log_prob_strings(strings_of(numbers)).masked_fill(~numbers.values().isfinite(), -torch.inf)

    def log_prob_adjusted(self, numbers: NumberTable) -> Tensor:
        """`log_prob` with that of "unknown" shared by all unknown types (Ueberla): (N,); here nothing is unknown."""
        return self.log_prob(numbers)
