"""Probability of the number of decimals, and distributions over numbers as they are written."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from numerate.config import ConfigError
from numerate.heads.base import NumberDistribution, NumberTable
from numerate.heads.distribution import DistributionError

__all__ = ["MOST_DECIMALS", "DecimalsRNN", "WrittenDistribution", "decimals_of"]

MOST_DECIMALS = 30
"""Larger numbers of decimals count as this one; more are not significant in a float64 of everyday size."""
_START, _DIGIT = 0, 1
_MOST_ROUNDED = 1e15
"""Above it a float64 has no decimals to round."""


def decimals_of(numbers: NumberTable) -> Tensor:
    """Number of decimals that each number is written with, at most `MOST_DECIMALS`: int64, of the numbers' shape.

    Example:
        >>> decimals_of(NumberTable.of_values([1500, 0.25, 5e-324])).tolist()
        [0, 2, 30]
    """
    return (-numbers.precision.to(torch.int64)).clamp(0, MOST_DECIMALS)


class DecimalsRNN(nn.Module):
    """p(r | h) of r decimals: a small LSTM generates START, r times DIGIT, END (Spithourakis & Riedel, 2018).

    It starts from the hidden state (with cell 0) and decides r + 1 times whether one more digit follows; at
    `MOST_DECIMALS` the end is certain, so the p(r) sum to 1.

    Shape: `(N, dim)` to `(N, R + 1)`, log p(r) of r = 0 ... R.

    Args:
        dim: Width of the hidden states.
        width: Width of the LSTM, with a linear layer in front; by default `dim`, without one.

    Example:
        >>> rnn = DecimalsRNN(8)
        >>> rnn(torch.zeros(2, 8)).exp().sum(-1).round(decimals=6).tolist()
        [1.0, 1.0]
    """

    def __init__(self, dim: int, width: int | None = None) -> None:
        super().__init__()
        if width is not None and width < 1:
            raise ConfigError(f"width must be positive, got {width}")
        self.start = nn.Identity() if width is None else nn.Linear(dim, width)
        width = width or dim
        self.symbols = nn.Embedding(2, width)
        self.cell = nn.LSTMCell(width, width)
        self.more = nn.Linear(width, 1)
        with torch.no_grad():  # forget gates start open
            self.cell.bias_ih[width : 2 * width] = 1.0

    def forward(self, hidden: Tensor, longest: int = MOST_DECIMALS) -> Tensor:
        """Log p(r) for r up to `longest`: (N, longest + 1), float64; outside autocast and in float32 at least."""
        if not 0 <= longest <= MOST_DECIMALS:
            raise DistributionError(f"longest must lie in 0 to {MOST_DECIMALS}, got {longest}")
        own = self.more.weight.dtype
        wide = torch.promote_types(own, torch.float32)
        if own != wide:
            weights = {name: weight.to(wide) for name, weight in self.named_parameters()}
            return torch.func.functional_call(self, weights, (hidden, longest))
        with torch.autocast(hidden.device.type, enabled=False):
            state = self.start(hidden.to(wide))
            cell, steps = torch.zeros_like(state), []
            for step in range(min(longest + 1, MOST_DECIMALS)):
                symbol = self.symbols.weight[_START if step == 0 else _DIGIT].expand_as(state)
                state, cell = self.cell(symbol, (state, cell))
                steps.append(self.more(state))
            odds = torch.cat(steps, dim=-1).to(torch.float64)
        so_far = functional.pad(functional.logsigmoid(odds).cumsum(-1), (1, 0))
        return (so_far + functional.pad(functional.logsigmoid(-odds), (0, 1)))[:, : longest + 1]

    def log_prob(self, hidden: Tensor, decimals: Tensor) -> Tensor:
        """Log p(r) of one number of decimals for each row, at most `MOST_DECIMALS`: (N,), float64."""
        longest = int(decimals.max()) if len(decimals) else 0
        return self(hidden, longest).gather(1, decimals[:, None])[:, 0]


@dataclass(frozen=True, eq=False, repr=False)
class WrittenDistribution(NumberDistribution):
    """Numbers as they are written: p(r) of r decimals, times the probability of all values that round to the number.

    `log_prob`, `scores` and `rank` are those of the written number; all other methods are those of the value.

    Shape:
        values: N distributions over values.
        hidden: (N, dim), input of `rnn`, which is unrolled on demand and only as far as needed.
    """

    _written = True

    values: NumberDistribution
    hidden: Tensor
    rnn: DecimalsRNN

    def log_decimals(self, longest: int = MOST_DECIMALS) -> Tensor:
        """Log p(r) for r = 0 ... longest: (N, longest + 1)."""
        return self.rnn(self.hidden, longest)

    def _log_prob_of(self, numbers: NumberTable) -> Tensor:
        return self.values.log_mass(numbers) + self.rnn.log_prob(self.hidden, decimals_of(numbers))

    def _log_mass_of(self, numbers: NumberTable) -> Tensor:
        return self.values.log_mass(numbers)

    def scores(self, candidates: NumberTable) -> Tensor:
        """`log_prob` of each of C candidates for each row: (N, C)."""
        decimals = decimals_of(candidates)
        longest = int(decimals.max()) if len(decimals) else 0
        return self.values.mass_scores(candidates) + self.log_decimals(longest)[:, decimals]

    def mass_scores(self, candidates: NumberTable) -> Tensor:
        """`log_mass` of each of C candidates for each row: (N, C)."""
        return self.values.mass_scores(candidates)

    def _cdf_at(self, values: Tensor) -> Tensor:
        return self.values.cdf(values)

    def _quantile_at(self, p: Tensor) -> Tensor:
        return self.values.quantile(p)

    def mean(self) -> Tensor:
        """Expected value of each row: (N,)."""
        return self.values.mean()

    def mode(self) -> Tensor:
        """Mode of the distribution of values: (N,)."""
        return self.values.mode()

    def written_mode(self) -> Tensor:
        """`mode`, rounded to its most probable number of decimals: (N,)."""
        mode = self.mode()
        steps = torch.pow(10.0, self.log_decimals(9).argmax(-1).to(torch.float64))
        rounded = (mode * steps).round() / steps
        return torch.where(mode.abs() < _MOST_ROUNDED, rounded, mode) + 0.0

    def _sample(self, count: int, generator: torch.Generator | None) -> Tensor:
        """Samples of values, not rounded to a number of decimals."""
        return self.values.sample(count, generator)
