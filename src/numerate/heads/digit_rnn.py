"""Digit RNN: an LSTM decoder that generates a numeral symbol by symbol (Spithourakis & Riedel 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from numerate.config import Config
from numerate.embedders.option_checks import check_positive
from numerate.heads.base import LARGEST, GatedHead, NumberTable
from numerate.heads.enumerated import StringDistribution, Support
from numerate.heads.number_strings import hashes_of, packed, strings_of, values_of
from numerate.heads.spelling_lstm import EDGE, SYMBOLS, SpellingDecoder, SpellingLSTM, to_symbols
from numerate.heads.trie import Trie
from numerate.processing.number_table import CHARACTERS, MAX_CHARACTERS
from numerate.registry import heads

__all__ = ["DigitDistribution", "DigitRNNConfig", "DigitRNNHead"]

_SEED = 2018
_DRAWN = 1 << 14
"""Number of strings that are drawn at once."""


@dataclass(frozen=True, eq=False, repr=False)
class DigitDistribution(StringDistribution):
    """Strings of digits, "-", "." and "e" of any length, well-formed numbers and others.

    `support` holds the distinct numbers among `draws` strings drawn with one seed for all rows, the greedy string, and
    the ten digits, so that it is never empty; each has its exact probability. `unseen` is the rest: other numbers and
    malformed strings. The mode is the most probable number of the support.

    Shape:
        hidden: (N, width), the state before the start symbol.
        decoder: The LSTM and its output layer.
        draws: Number of strings that are drawn for the support.
    """

    hidden: Tensor
    decoder: SpellingDecoder
    draws: int

    def log_prob_strings(self, strings: Tensor, ended: bool = True) -> Tensor:
        """Log-probability of each row's string, or, if not `ended`, of all strings with this prefix: (N,)."""
        if len(strings) == 0:
            return self.hidden.sum(-1).to(torch.float64)
        symbols, lengths = to_symbols(strings), (strings != 0).sum(-1)
        read = functional.pad(symbols, (1, 0), value=EDGE)
        states, order = self.decoder.unrolled(read, lengths + 1, self.hidden)
        targets = functional.pad(symbols, (0, 1), value=EDGE)[order]
        rows = torch.cat([order[: len(state)] for state in states])
        steps = torch.cat([torch.full_like(order[: len(state)], step) for step, state in enumerate(states)])
        target = torch.cat([targets[: len(state), step] for step, state in enumerate(states)])
        terms = self.decoder.log_next(torch.cat(states)).gather(1, target[:, None])[:, 0]
        if not ended:
            terms = terms.masked_fill(target == EDGE, 0.0)
        # Every term has a cell of its own: unlike `index_add`, the sum is deterministic on all devices.
        return terms.new_zeros(len(strings), len(states)).index_put((rows, steps), terms).sum(-1)

    def scores(self, candidates: NumberTable) -> Tensor:
        """`log_prob` of each of C candidates for each row: (N, C); shared prefixes are scored once."""
        return Trie.of(strings_of(candidates)).scores(self.decoder, self.hidden)

    def _rank(self, candidates: NumberTable, k: int) -> tuple[Tensor, Tensor]:
        return Trie.of(strings_of(candidates)).best(self.decoder, self.hidden, k)

    def draw(self, count: int, generator: torch.Generator | None = None) -> Tensor:
        """Unbiased draws, cut at 32 characters: (count, N, 32) uint8; not all are numbers (see `values_of`)."""
        shape = (MAX_CHARACTERS + 1, count * len(self))
        random = torch.rand(shape, generator=generator, dtype=torch.float64, device=self.device)
        repeated = self.hidden.repeat(count, 1)
        return self._drawn(repeated, random)[0].reshape(count, len(self), -1)

    def _support(self) -> Support:
        """The numbers among strings that are drawn with a fixed seed, sorted by value."""
        parts = [self._support_of(rows) for rows in self.hidden.split(max(1, _DRAWN // self.draws))]
        columns = ([getattr(part, name) for part in parts] for name in ("values", "log_masses", "unseen"))
        return Support(*(torch.cat(column) for column in columns))

    def _support_of(self, hidden: Tensor) -> Support:
        rows, count = len(hidden), self.draws + 1 + 10
        # The same random numbers for every row, so that rows do not depend on each other, and drawn on the CPU, so that
        # they do not depend on the device.
        generator = torch.Generator().manual_seed(_SEED)
        random = torch.rand(MAX_CHARACTERS + 1, 1, self.draws, generator=generator, dtype=torch.float64)
        random = functional.pad(random, (0, 1), value=-1.0)  # one more string: the greedy one
        random = random.to(hidden.device).expand(-1, rows, -1).reshape(len(random), -1)
        strings, log_masses = self._drawn(hidden.repeat_interleave(self.draws + 1, 0), random)
        digits = torch.zeros(10, MAX_CHARACTERS, dtype=torch.uint8, device=hidden.device)
        digits[:, 0] = torch.arange(CHARACTERS["0"], CHARACTERS["0"] + 10, device=hidden.device)
        strings = torch.cat([strings.reshape(rows, self.draws + 1, MAX_CHARACTERS), digits.expand(rows, -1, -1)], dim=1)
        log_masses = torch.cat(
            [log_masses.reshape(rows, self.draws + 1), Trie.of(digits).scores(self.decoder, hidden)], dim=1
        )
        values = values_of(strings.reshape(-1, MAX_CHARACTERS)).reshape(rows, count)
        pairs = packed(strings)
        order = hashes_of(pairs).argsort(dim=1, stable=True)
        pairs = pairs.gather(1, order[..., None].expand_as(pairs))
        again = functional.pad((pairs[:, 1:] == pairs[:, :-1]).all(-1), (1, 0))
        values, log_masses = values.gather(1, order), log_masses.gather(1, order)
        log_masses = log_masses.masked_fill(again | ~values.isfinite(), -torch.inf)
        values, order = values.masked_fill(log_masses == -torch.inf, LARGEST).sort(dim=1, stable=True)
        log_masses = log_masses.gather(1, order)
        return Support(values, log_masses, (1 - log_masses.exp().sum(-1)).clamp_min(0.0))

    def _drawn(self, hidden: Tensor, random: Tensor) -> tuple[Tensor, Tensor]:
        """Inverse transform sampling with (33, N) random numbers: strings (N, 32) and log-probabilities (N,).

        A negative random number selects the most probable symbol. Strings that have not ended after 32 characters get
        the log-probability -inf.
        """
        ids = torch.tensor([CHARACTERS[char] for char in SYMBOLS] + [0], device=hidden.device)
        strings = torch.zeros(len(hidden), MAX_CHARACTERS, dtype=torch.uint8, device=hidden.device)
        log_masses = torch.full_like(hidden[:, 0], -torch.inf, dtype=torch.float64)
        state, cell = self.decoder.start(hidden)
        so_far = torch.zeros_like(log_masses)
        rows = torch.arange(len(hidden), device=hidden.device)
        for place in range(MAX_CHARACTERS + 1):
            following = self.decoder.log_next(state)
            goal = random[place, rows, None]
            drawn = (following.detach().exp().cumsum(-1) < goal).sum(-1).clamp_max(EDGE)
            symbols = torch.where(goal[:, 0] < 0, following.argmax(-1), drawn)
            so_far = so_far + following.gather(1, symbols[:, None])[:, 0]
            end = symbols == EDGE
            log_masses = log_masses.index_put((rows[end],), so_far[end])
            go_on = (~end).nonzero()[:, 0]
            if place == MAX_CHARACTERS or len(go_on) == 0:
                break
            rows, symbols, so_far = rows[go_on], symbols[go_on], so_far[go_on]
            strings[rows, place] = ids[symbols].to(torch.uint8)
            state, cell = self.decoder.step(symbols, state[go_on], cell[go_on])
        return strings, log_masses


@dataclass(frozen=True, kw_only=True)
class DigitRNNConfig(Config):
    """Options of `digit-rnn`.

    Attributes:
        samples: Number of strings that are drawn for `cdf`, `quantile` and `mean` (`DigitDistribution`).
        gate: How the model chooses between a word and a number, see `GatedHead`.
    """

    kind: ClassVar[str] = "digit-rnn"
    samples: int = 256
    gate: Literal["class", "logit"] = "class"

    def __post_init__(self) -> None:
        check_positive(self, "samples")


@heads.register("digit-rnn", "d-rnn")
class DigitRNNHead(GatedHead):
    """LSTM that starts from the hidden state and generates a numeral symbol by symbol, up to an end symbol.

    Every number has a probability, as it is written (`strings_of`): 1.50 differs from 1.5, and -0 from 0. NaN and the
    infinities are not targets. The LSTM is as wide as the hidden state; it predicts 14 symbols: the digits, "-", ".",
    "e" and the end.

    Shape: `(N, dim)` to N distributions over strings.

    Example:
        >>> head = DigitRNNHead.build(dim=8)
        >>> distribution = head(torch.zeros(2, 8))
        >>> distribution.log_prob(NumberTable.of_values([1.5, -1e300])).shape, distribution.unseen.shape
        (torch.Size([2]), torch.Size([2]))
    """

    Config = DigitRNNConfig
    config: DigitRNNConfig
    _written = True

    def __init__(self, dim: int, config: DigitRNNConfig) -> None:
        super().__init__(dim, config)
        self.spelling = SpellingLSTM(dim)
        self.out = nn.Linear(dim, len(SYMBOLS) + 1)

    def forward(self, hidden: Tensor) -> DigitDistribution:
        """Distributions for (N, dim) hidden states."""
        cell = self.spelling.cell()
        wide = torch.promote_types(cell.inputs.dtype, hidden.dtype)
        tensors = [hidden, cell.inputs, cell.recurrent, self.out.weight.T, self.out.bias]
        if not torch.is_grad_enabled():  # the distribution runs the weights later, and also without gradients then
            tensors = [tensor.detach() for tensor in tensors]
        hidden, inputs, recurrent, weight, bias = (tensor.to(wide) for tensor in tensors)
        return DigitDistribution(hidden, SpellingDecoder(inputs, recurrent, weight, bias), self.config.samples)
