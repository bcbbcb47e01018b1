"""Prefix trie of candidate strings: an LSTM decoder scores shared prefixes once, level by level."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from numerate.heads.spelling_lstm import EDGE, SpellingDecoder, to_symbols

__all__ = ["Level", "Trie"]

_PAIRS = 1 << 15
"""Number of (row, prefix) pairs that are scored at once."""


@dataclass(frozen=True, eq=False)
class Level:
    """The distinct prefixes of one length, sorted by parent.

    Shape:
        parents, symbols: (n,) int64, index of the prefix without its last symbol in the level above; the last symbol.
        ended, nodes: (E,) int64, candidates of this length, and the index of the prefix that each equals.
    """

    parents: Tensor
    symbols: Tensor
    ended: Tensor
    nodes: Tensor


@dataclass(frozen=True, eq=False)
class Trie:
    """The prefixes of C candidate strings.

    Shape:
        levels: One for each length from 1 to the longest.
        count: C.
        empty: (E,) int64, the candidates that are empty strings, and so no numbers.

    Example:
        >>> from numerate.heads.number_strings import strings_of_texts
        >>> trie = Trie.of(strings_of_texts(["12", "1.5", "1", "12.5"]))
        >>> [len(level.symbols) for level in trie.levels]
        [1, 2, 2, 1]
    """

    levels: list[Level]
    count: int
    empty: Tensor

    @classmethod
    def of(cls, strings: Tensor) -> Trie:
        """The trie of (C, 32) strings, which may repeat."""
        symbols, lengths = to_symbols(strings), (strings != 0).sum(-1)
        node = torch.zeros_like(lengths)
        levels = []
        for place in range(int(lengths.max()) if len(lengths) else 0):
            alive = (lengths > place).nonzero()[:, 0]
            prefixes, inverse = (node[alive] * 16 + symbols[alive, place]).unique(return_inverse=True)
            node[alive] = inverse
            ended = (lengths == place + 1).nonzero()[:, 0]
            levels.append(Level(prefixes // 16, prefixes % 16, ended, node[ended]))
        return cls(levels, len(strings), (lengths == 0).nonzero()[:, 0])

    def _chunks(self, hidden: Tensor) -> tuple[Tensor, ...]:
        widest = max((len(level.symbols) for level in self.levels), default=1)
        return hidden.split(max(1, _PAIRS // widest))

    def scores(self, decoder: SpellingDecoder, hidden: Tensor) -> Tensor:
        """Log-probability of each candidate for each of N states: (N, C), -inf for empty ones; differentiable."""
        return torch.cat([self._scores(decoder, rows) for rows in self._chunks(hidden)])

    def _scores(self, decoder: SpellingDecoder, hidden: Tensor) -> Tensor:
        rows, width = hidden.shape
        state, cell = decoder.start(hidden)
        following = decoder.log_next(state)[:, None]
        state, cell, so_far = state[:, None], cell[:, None], following.new_zeros(rows, 1)
        columns, which = [following.new_full((rows, len(self.empty)), -torch.inf)], [self.empty]
        for level in self.levels:
            shape = (rows, len(level.symbols))
            so_far = so_far[:, level.parents] + following[:, level.parents, level.symbols]
            state, cell = decoder.step(
                level.symbols.repeat(rows),
                state[:, level.parents].reshape(-1, width),
                cell[:, level.parents].reshape(-1, width),
            )
            following = decoder.log_next(state).unflatten(0, shape)
            state, cell = state.unflatten(0, shape), cell.unflatten(0, shape)
            columns.append(so_far[:, level.nodes] + following[:, level.nodes, EDGE])
            which.append(level.ended)
        return torch.cat(columns, dim=1)[:, torch.cat(which).argsort()]

    @torch.no_grad()
    def best(self, decoder: SpellingDecoder, hidden: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """The k most probable candidates for each of N states: (N, k) log-probabilities, (N, k) indices.

        Exact branch and bound: a string is never more probable than its prefix, so prefixes that are less probable than
        the k-th best string found so far are dropped.
        """
        parts = [self._best(decoder, rows, k) for rows in self._chunks(hidden)]
        return torch.cat([scores for scores, _ in parts]), torch.cat([where for _, where in parts])

    def _best(self, decoder: SpellingDecoder, hidden: Tensor, k: int) -> tuple[Tensor, Tensor]:
        rows = len(hidden)
        state, cell = decoder.start(hidden)
        following = decoder.log_next(state)
        row, node = torch.arange(rows, device=hidden.device), torch.zeros_like(self.empty).new_zeros(rows)
        so_far = following.new_zeros(rows)
        best = following.new_full((rows, len(self.empty)), -torch.inf)
        where = self.empty.expand(rows, -1)
        for level in self.levels:
            least = best.amin(1) if best.shape[1] >= k else best.new_full((rows,), -torch.inf)
            # Each pair (row, prefix) is replaced by the pairs with the prefix's children, which are consecutive.
            edges = torch.searchsorted(level.parents, torch.stack([node, node + 1]))
            pair = torch.arange(len(node), device=node.device).repeat_interleave(edges[1] - edges[0])
            first = (edges[1] - edges[0]).cumsum(0) - (edges[1] - edges[0])
            child = edges[0][pair] + torch.arange(len(pair), device=node.device) - first[pair]
            so_far = so_far[pair] + following[pair, level.symbols[child]]
            worth = (so_far > least[row[pair]]).nonzero()[:, 0]
            pair, node, so_far = pair[worth], child[worth], so_far[worth]
            row = row[pair]
            state, cell = decoder.step(level.symbols[node], state[pair], cell[pair])
            following = decoder.log_next(state)
            whole = best.new_full((rows, len(level.symbols)), -torch.inf)
            whole[row, node] = so_far + following[:, EDGE]
            best = torch.cat([best, whole[:, level.nodes]], dim=1)
            where = torch.cat([where, level.ended.expand(rows, -1)], dim=1)
            best, chosen = best.topk(min(k, best.shape[1]), dim=1)
            where = where.gather(1, chosen)
        best, chosen = best.topk(min(k, best.shape[1]), dim=1)
        return best, where.gather(1, chosen)
