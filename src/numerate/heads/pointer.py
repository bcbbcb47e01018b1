"""Numbers that stand earlier in the same text: which a prediction may point at, the pointer, and its distribution."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from numerate.heads.distribution import row_index
from numerate.heads.enumerated import StringDistribution, Support
from numerate.heads.number_strings import hashes_of, packed, strings_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numerate.processing.number_table import NumberTable

__all__ = ["CopiedDistribution", "Pointer", "PointerContext", "log_sum"]

_REACH = 16
"""From so many numbers away on, all distances are one."""
_AT_FIRST = -3.0
"""Score of a number before training; a head's other choices have about 0, and a text may have many numbers."""


def log_sum(terms: Tensor) -> Tensor:
    """Logsumexp over the last dimension, with gradients of 0 where all terms are -inf: (..., K) to (...).

    Example:
        >>> log_sum(torch.tensor([[0.0, 0.0], [-torch.inf, -torch.inf]])).exp().tolist()
        [2.0, 0.0]
    """
    never = (terms == -torch.inf).all(-1)  # its gradient would be NaN
    return terms.masked_fill(never[..., None], 0.0).logsumexp(-1).masked_fill(never, -torch.inf)


@dataclass(frozen=True, eq=False)
class PointerContext:
    """What N predicted numbers may point at: the numbers of their own texts, as far as each is allowed to see them.

    Shape:
        table: (B, M), the numbers of all texts of the batch.
        told: (B, M, D), the state of the first token that knows a number; anything where nobody sees it.
        asked: (B, M, D), the state that a number was, or would have been, predicted from.
        rows, numbers: (N,) int64, which text and which of its numbers is predicted; no two are the same.
        seen: (N, M) bool, which numbers of its text each may point at.
    """

    table: NumberTable
    told: Tensor
    asked: Tensor
    rows: Tensor
    numbers: Tensor
    seen: Tensor


@dataclass(frozen=True, eq=False)
class CopiedDistribution(StringDistribution):
    """One of up to M numbers, others in each row, as it is written there; those written alike add up.

    A row that has none is empty: every number has the probability 0.

    Shape:
        log_masses: (N, M), float64; -inf for what is no candidate.
        pairs: (N, M, 2) int64, the strings as `packed` gives them.
        values: (N, M), float64.

    Example:
        >>> from numerate import find
        >>> from numerate.processing.number_table import NumberTable
        >>> numbers = NumberTable.of_numerals(find("1.50 7 1.50"))
        >>> masses = torch.tensor([[0.25, 0.5, 0.25]]).double()
        >>> copied = CopiedDistribution(masses.log(), packed(strings_of(numbers))[None], numbers.values()[None])
        >>> copied.scores(NumberTable.of_numerals(find("7 1.5 1.50"))).exp().tolist(), copied.median().tolist()
        ([[0.5, 0.0, 0.5]], [1.5])
    """

    log_masses: Tensor
    pairs: Tensor
    values: Tensor

    @classmethod
    def of(cls, scores: Tensor, earlier: PointerContext) -> CopiedDistribution:
        """The softmax of (N, M) scores, which are -inf where nothing may be pointed at."""
        total = log_sum(scores)
        log_masses = scores - total.masked_fill(total == -torch.inf, 0.0)[:, None]
        shape = (*earlier.table.bits.shape, 2)
        pairs = packed(strings_of(earlier.table.flat())).reshape(shape)  # once a text, not once a prediction
        return cls(log_masses, pairs[earlier.rows], earlier.table.values()[earlier.rows])

    @property
    def device(self) -> torch.device:
        """Where the distributions live."""
        return self.log_masses.device

    def __len__(self) -> int:
        return len(self.log_masses)

    def __getitem__(self, index: Tensor | slice | int) -> Self:
        index = row_index(index, len(self))
        return dataclasses.replace(
            self, log_masses=self.log_masses[index], pairs=self.pairs[index], values=self.values[index]
        )

    @property
    def is_empty(self) -> Tensor:
        """Which rows have nothing to point at: (N,) bool."""
        return (self.log_masses == -torch.inf).all(-1)

    @property
    def unseen(self) -> Tensor:
        """Nothing lies outside the support: (N,)."""
        return self.log_masses.new_zeros(len(self))

    def support(self) -> Support:
        """The candidates in the order of their values; those that are none stand for 0, without probability."""
        values, order = self.values.masked_fill(self.log_masses == -torch.inf, 0.0).sort(dim=-1, stable=True)
        return Support(values, self.log_masses.gather(1, order), self.unseen)

    def log_prob_strings(self, strings: Tensor) -> Tensor:
        """Log-probability of each row's string, of all its copies together: (N,), differentiable."""
        alike = (self.pairs == packed(strings)[:, None]).all(-1)
        return log_sum(self.log_masses.masked_fill(~alike, -torch.inf))

    def scores(self, candidates: NumberTable) -> Tensor:
        """`log_prob` of each of C candidates for each row: (N, C)."""
        wanted = packed(strings_of(candidates))
        if not len(wanted):
            return self.log_masses.new_zeros(len(self), 0)
        hashes, place = hashes_of(wanted).unique(return_inverse=True)
        types = wanted.new_zeros(len(hashes), 2).index_put((place,), wanted)
        found = torch.searchsorted(hashes, hashes_of(self.pairs).contiguous()).clamp_max(len(hashes) - 1)
        known = (types[found] == self.pairs).all(-1)  # a hash may lie; the characters do not
        masses = self.log_masses.exp().masked_fill(~known, 0.0)
        sums = masses.new_zeros(len(self), len(hashes)).scatter_add(1, found, masses)[:, place]
        never = (sums == 0) | ~candidates.values().isfinite()
        return sums.masked_fill(never, 1.0).log().masked_fill(never, -torch.inf)

    @torch.no_grad()
    def mode(self) -> Tensor:
        """Value of the most probable string: (N,); 0 for an empty row."""
        if not self.log_masses.numel():
            return self.log_masses.new_zeros(len(self))
        hashes, order = hashes_of(self.pairs).sort(dim=-1, stable=True)
        group = functional.pad(hashes[:, 1:] != hashes[:, :-1], (1, 0)).cumsum(-1)
        masses = self.log_masses.exp().gather(1, order)
        sums = torch.zeros_like(masses).scatter_add(1, group, masses).gather(1, group)
        best = order.gather(1, sums.masked_fill(masses == 0, 0.0).argmax(-1, keepdim=True))
        return self.values.gather(1, best)[:, 0].masked_fill(self.is_empty, 0.0) + 0.0


class Pointer(nn.Module):
    """Scores the numbers that stand earlier: what is asked for against what each is, and how far away it stands.

    A number is known by two states: of the token that has read it, and of the one it was itself predicted from, which
    tells what was asked for then.

    **Shape**

    - Input: `(N, dim)` and what they may point at
    - Output: `(N, M)`, -inf where nothing is seen
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.query, self.told, self.asked = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim, bias=False)
        self.distance = nn.Embedding(2 * _REACH + 1, 1)
        nn.init.constant_(self.distance.weight, _AT_FIRST)

    def forward(self, hidden: Tensor, earlier: PointerContext, run: Callable[[nn.Module, Tensor], Tensor]) -> Tensor:
        """Scores in float64; `run` runs a layer in the precision that heads run in."""
        keys = run(self.told, earlier.told) + run(self.asked, earlier.asked)
        at = (earlier.rows, earlier.numbers)
        # Queries at the places of their own numbers make one product a text, without a copy of the keys for each.
        queries = torch.zeros_like(keys).index_put(at, run(self.query, hidden))
        scores = torch.bmm(queries, keys.mT)[at] / math.sqrt(keys.shape[-1])
        places = torch.arange(scores.shape[1], device=scores.device)
        back = (earlier.numbers[:, None] - places).clamp(-_REACH, _REACH) + _REACH
        bias = self.distance.weight.to(scores.dtype)[:, 0]
        return (scores + functional.embedding(back, bias[:, None])[..., 0]).masked_fill(~earlier.seen, -torch.inf)

    def nothing(self) -> Tensor:
        """A 0 that all weights have a gradient by, of 0: where nothing is to be pointed at, training goes on."""
        return 0.0 * torch.stack([weight.sum() for weight in self.parameters()]).sum()
