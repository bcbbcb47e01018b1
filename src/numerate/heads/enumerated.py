"""Distributions that answer `cdf`, `quantile` and `mean` by enumerating their most probable numbers or strings."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from numerate.heads.base import LARGEST, NumberDistribution, NumberTable
from numerate.heads.number_strings import strings_of

__all__ = ["EnumeratedDistribution", "StringDistribution", "Support"]

_LIKELY = 200
"""Most numbers of a support among which `best` looks for the most probable ones."""


@dataclass(frozen=True, eq=False)
class Support:
    """S enumerated numerals for each row and their probabilities; all methods are conditional on the support.

    In a row whose numerals all have probability 0 (an unfitted vocabulary), the first numeral gets probability 1.

    Shape:
        values: (S,), the same for all rows, or (N, S); float64, finite and sorted. Two strings may share a value.
        log_masses: (N, S), float64; -inf for an unused entry.
        unseen: (N,), the probability of everything outside the support.

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
        """Probabilities conditional on the support: (N, S)."""
        nothing = (self.log_masses == -torch.inf).all(-1, keepdim=True)
        first = torch.arange(self.log_masses.shape[1], device=self.log_masses.device) == 0
        return torch.where(nothing & first, 0.0, self.log_masses).softmax(-1)

    def _cumulative(self) -> Tensor:
        sums = self.shares().cumsum(-1)
        return sums / sums[:, -1:]  # ends at 1 exactly

    def cdf(self, values: Tensor) -> Tensor:
        """P(X <= value): (N,), or (N, C) for values of that shape; NaN at NaN."""
        columns = (values[:, None] if values.dim() == 1 else values).to(torch.float64).contiguous()
        index = torch.searchsorted(self.values.contiguous(), columns, right=True)
        result = functional.pad(self._cumulative(), (1, 0)).gather(1, index)
        result = torch.where(columns.isnan(), columns, result)
        return result[:, 0] if values.dim() == 1 else result

    def quantile(self, p: Tensor) -> Tensor:
        """The smallest value whose cdf is at least p, -inf for p = 0: (N,), or (N, C) for p of that shape."""
        columns = (p[:, None] if p.dim() == 1 else p).to(torch.float64).contiguous()
        cumulative = self._cumulative()
        index = torch.searchsorted(cumulative, columns).clamp_max(cumulative.shape[1] - 1)
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
        chosen = torch.multinomial(self.shares().detach(), count, replacement=True, generator=generator)
        return self._pick(chosen).T + 0.0

    def _pick(self, index: Tensor) -> Tensor:
        return self.values[index] if self.values.dim() == 1 else self.values.gather(1, index)


class EnumeratedDistribution(NumberDistribution):
    """N distributions over more numbers than can be summed over: the most probable ones are enumerated.

    `cdf`, `quantile`, `mean`, `median`, `mode`, `interval` and `sample` are conditional on the enumerated `support`, so
    that cdf(inf) is 1; `unseen` is the probability outside of it. A subclass defines `_support`.
    """

    @abstractmethod
    def _support(self) -> Support:
        """Computes the support."""

    def support(self) -> Support:
        """The enumerated numbers with their probabilities; computed once with and once without gradients."""
        cache: dict[bool, Support] = vars(self).setdefault("_supports", {})
        mode = torch.is_grad_enabled()
        if mode not in cache:
            cache[mode] = self._support()
        return cache[mode]

    @property
    def _lists_values(self) -> bool:
        return True

    @property
    def unseen(self) -> Tensor:
        """Probability of all numbers outside the support: (N,)."""
        return self.support().unseen

    def _cdf_at(self, values: Tensor) -> Tensor:
        return self.support().cdf(values)

    def _quantile_at(self, p: Tensor) -> Tensor:
        return self.support().quantile(p)

    def _likely_values(self) -> Tensor:
        """The values of the most probable numbers of the support."""
        support = self.support()
        best = support.shares().topk(min(_LIKELY, support.log_masses.shape[1]))
        return support._pick(best.indices).masked_fill(best.values == 0, torch.nan)

    def mean(self) -> Tensor:
        """Expected value, given the support: (N,)."""
        return self.support().mean()

    def mode(self) -> Tensor:
        """Value of the most probable number of the support: (N,)."""
        return self.support().mode()

    def _sample(self, count: int, generator: torch.Generator | None) -> Tensor:
        return self.support().sample(count, generator)


class StringDistribution(EnumeratedDistribution):
    """N distributions over *strings*: `log_prob` is that of the numeral as it is written, "1.50" or "1.5"."""

    _written = True

    @abstractmethod
    def log_prob_strings(self, strings: Tensor) -> Tensor:
        """Log-probability of each row's string, (N, 32) character ids of `strings_of`: (N,), differentiable."""

    def mass_scores(self, candidates: NumberTable) -> Tensor:
        """`log_mass`, which is `log_prob` for strings, of each of C candidates for each row: (N, C)."""
        return self.scores(candidates)

    def _log_prob_of(self, numbers: NumberTable) -> Tensor:
        return self.log_prob_strings(strings_of(numbers)).masked_fill(~numbers.values().isfinite(), -torch.inf)
