"""Attention to the other numbers of a text: copying one of them, or predicting the ratio to them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from numerate.heads.base import NumberTable, run_wide
from numerate.heads.enumerated import StringDistribution, Support
from numerate.heads.number_strings import hashes_of, packed, strings_of

__all__ = ["CopiedDistribution", "Pointer", "PointerContext", "RatioPredictor", "log_sum", "zero_term"]

_REACH = 16
"""Largest distance, counted in numbers, that has a bias of its own; larger distances share it."""
_INITIAL_BIAS = -3.0
"""Initial score of every number. Other choices of a head score about 0, and a text may have many numbers to copy."""


def log_sum(terms: Tensor) -> Tensor:
    """Logsumexp over the last dimension, with gradients of 0 where all terms are -inf: (..., K) to (...).

    Example:
        >>> log_sum(torch.tensor([[0.0, 0.0], [-torch.inf, -torch.inf]])).exp().tolist()
        [2.0, 0.0]
    """
    never = (terms == -torch.inf).all(-1)  # its gradient would be NaN
    return terms.masked_fill(never[..., None], 0.0).logsumexp(-1).masked_fill(never, -torch.inf)


def zero_term(module: nn.Module) -> Tensor:
    """A 0 that depends on all weights of a module: they get a gradient (of 0) where the module is not used."""
    return 0.0 * torch.stack([weight.sum() for weight in module.parameters()]).sum()


@dataclass(frozen=True, eq=False)
class PointerContext:
    """The numbers that N predicted numbers may point at: those of their own texts that are visible to them.

    Shape:
        table: (B, M), the numbers of all texts of the batch.
        read_states: (B, M, D), the state of the first token after which a number is known; arbitrary if not visible.
        query_states: (B, M, D), the state from which a number is, or would be, predicted; None if no head reads it.
        rows, numbers: (N,) int64, the text and the index in it of each predicted number; all pairs are distinct.
        visible: (N, M) bool, which numbers of its text each predicted number may point at.
    """

    table: NumberTable
    read_states: Tensor
    query_states: Tensor | None
    rows: Tensor
    numbers: Tensor
    visible: Tensor


@dataclass(frozen=True, eq=False, repr=False)
class CopiedDistribution(StringDistribution):
    """A copy of one of up to M candidate numbers (different ones in each row), as written; equal strings add up.

    In a row without candidates every number has probability 0.

    Shape:
        log_masses: (N, M), float64; -inf where there is no candidate.
        pairs: (N, M, 2) int64, the strings as `packed` gives them.
        values: (N, M), float64.

    Example:
        >>> from numerate import find
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
    def of(cls, scores: Tensor, context: PointerContext) -> CopiedDistribution:
        """The softmax of (N, M) scores, which are -inf for numbers that are not visible."""
        total = log_sum(scores)
        log_masses = scores - total.masked_fill(total == -torch.inf, 0.0)[:, None]
        shape = (*context.table.bits.shape, 2)
        pairs = packed(strings_of(context.table.flat())).reshape(shape)  # once for each text, not for each prediction
        return cls(log_masses, pairs[context.rows], context.table.values()[context.rows])

    @property
    def is_empty(self) -> Tensor:
        """Rows without a candidate: (N,) bool."""
        return (self.log_masses == -torch.inf).all(-1)

    def _support(self) -> Support:
        """All candidates, sorted by value; unused entries have value 0 and probability 0."""
        values, order = self.values.masked_fill(self.log_masses == -torch.inf, 0.0).sort(dim=-1, stable=True)
        return Support(values, self.log_masses.gather(1, order), self.log_masses.new_zeros(len(self)))

    def log_prob_strings(self, strings: Tensor) -> Tensor:
        """Log-probability of each row's string, summed over all its copies: (N,), differentiable."""
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
        known = (types[found] == self.pairs).all(-1)  # hashes may collide, so the strings are compared, too
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
    """Attention scores of the visible numbers: query against key, plus a learned bias for the distance.

    The key of a number is made of two states: that of the token which has read it (`told`), and that from which it was
    predicted itself (`asked`), which encodes the kind of number expected there.

    Shape: `(N, dim)` and a `PointerContext` to `(N, M)`, -inf for numbers that are not visible.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.query, self.told, self.asked = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim, bias=False)
        self.distance = nn.Embedding(2 * _REACH + 1, 1)
        nn.init.constant_(self.distance.weight, _INITIAL_BIAS)

    def forward(self, hidden: Tensor, context: PointerContext) -> Tensor:
        """Scores of the numbers of each row's text, in float64: (N, M)."""
        if context.query_states is None:
            raise ValueError("query_states is None: a pointer reads them, see `Head.reads_queries`")
        keys = run_wide(self.told, context.read_states) + run_wide(self.asked, context.query_states)
        at = (context.rows, context.numbers)
        # With the queries at the places of their own numbers, one matrix product per text needs no copies of the keys.
        queries = torch.zeros_like(keys).index_put(at, run_wide(self.query, hidden))
        scores = torch.bmm(queries, keys.mT)[at] / math.sqrt(keys.shape[-1])
        places = torch.arange(scores.shape[1], device=scores.device)
        distance = (context.numbers[:, None] - places).clamp(-_REACH, _REACH) + _REACH
        bias = self.distance.weight.to(scores.dtype)[:, 0]
        scores = scores + functional.embedding(distance, bias[:, None])[..., 0]
        return scores.masked_fill(~context.visible, -torch.inf)


class RatioPredictor(nn.Module):
    """Predicts the ratio between a number and each other number of its text (28 km are 17 mi).

    Shape: `(N, dim)` and a `PointerContext` to three tensors `(N, M)`.

    Args:
        dim: Width of the states.
        hidden: Width of the hidden layer, the sum of a map of each of the two states.
        dropout: Dropout on the hidden layer.
    """

    def __init__(self, dim: int, hidden: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.own = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, hidden))
        self.other = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, hidden, bias=False))
        self.says = nn.Sequential(nn.GELU(), nn.Linear(hidden, 3))

    def forward(self, hidden: Tensor, context: PointerContext) -> tuple[Tensor, Tensor, Tensor]:
        """Logarithm of the ratio, certainty and relevance, in float64: (N, M) each."""
        own = run_wide(self.own, hidden, double=False)
        other = run_wide(self.other, context.read_states, double=False)
        # Not `other[rows]`, whose gradient needs a sort.
        both = self.dropout(own[:, None] + other.index_select(0, context.rows))
        logarithm, certainty, score = run_wide(self.says, both).unbind(-1)
        return logarithm, certainty, score
