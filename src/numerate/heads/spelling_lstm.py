"""LSTM over the characters of numerals, as encoder or step by step as decoder (Spithourakis & Riedel 2018)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from numerate.embedders.characters import framed
from numerate.processing.number_table import CHARACTERS

__all__ = ["EDGE", "SYMBOLS", "SpellingCell", "SpellingDecoder", "SpellingLSTM", "to_symbols"]

SYMBOLS = "0123456789-e."
"""The characters of a string; a symbol is an index into them."""
EDGE = len(SYMBOLS)
"""The start symbol as input, the end symbol as prediction."""
_SYMBOL_OF_ID = [SYMBOLS.index(next((c for c in SYMBOLS if CHARACTERS[c] == index), "0")) for index in range(16)]


def to_symbols(strings: Tensor) -> Tensor:
    """Symbols of strings of character ids, `EDGE` for padding: int64.

    Example:
        >>> from numerate.heads.number_strings import strings_of_texts
        >>> to_symbols(strings_of_texts(["-1.5"]))[0, :6].tolist()
        [10, 1, 12, 5, 13, 13]
    """
    table = torch.tensor(_SYMBOL_OF_ID, device=strings.device)
    return table[strings.to(torch.int64)].masked_fill(strings == 0, EDGE)


@dataclass(frozen=True, eq=False)
class SpellingCell:
    """The weights of a `SpellingLSTM` in the type that it runs in, for single steps.

    Shape:
        inputs: (14 or, framed, 15, 4 · width), contribution of each symbol to the gates.
        recurrent: (width, 4 · width).
    """

    inputs: Tensor
    recurrent: Tensor

    def start(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """State and cell after the start symbol, from (N, width) states and cells of 0: (N, width) each."""
        edge = torch.full((len(hidden),), EDGE, device=hidden.device)
        return self.step(edge, hidden.to(self.inputs.dtype), torch.zeros_like(hidden, dtype=self.inputs.dtype))

    def step(self, symbols: Tensor, state: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        """State and cell after one more symbol, (N,): (N, width) each."""
        with torch.autocast(state.device.type, enabled=False):
            gates = torch.addmm(self.inputs[symbols], state, self.recurrent)
            take, keep, new, show = gates.chunk(4, dim=-1)
            cell = keep.sigmoid() * cell + take.sigmoid() * new.tanh()
            return show.sigmoid() * cell.tanh(), cell

    def unrolled(self, symbols: Tensor, lengths: Tensor, state: Tensor) -> tuple[list[Tensor], Tensor]:
        """States after each symbol of each row; the longest rows come first, and ended rows are dropped.

        Args:
            symbols: (N, T) int64.
            lengths: (N,), number of symbols to read from each row.
            state: (N, width) initial states; cells start at 0.

        Returns:
            The (active rows, width) states of each step, and the (N,) order of the rows.
        """
        order = lengths.argsort(descending=True, stable=True)
        steps = torch.arange(1, symbols.shape[1] + 1, device=lengths.device)
        active = [count for count in (lengths[:, None] >= steps).sum(0).tolist() if count]
        state, symbols = state.to(self.inputs.dtype)[order], symbols[order]
        cell = torch.zeros_like(state)
        states = []
        for step, count in enumerate(active):
            state, cell = self.step(symbols[:count, step], state[:count], cell[:count])
            states.append(state)
        return states, order

    def last(self, symbols: Tensor, lengths: Tensor) -> Tensor:
        """Last states of rows of at least one symbol, from states of 0: (N, width)."""
        states, order = self.unrolled(symbols, lengths, self.recurrent.new_zeros(len(symbols), len(self.recurrent)))
        if not states:
            return self.recurrent.new_zeros(0, len(self.recurrent))
        following = [*(len(state) for state in states[1:]), 0]
        ended = torch.cat([state[count:] for state, count in zip(states, following, strict=True)][::-1])
        return ended[order.argsort()]


@dataclass(frozen=True, eq=False)
class SpellingDecoder(SpellingCell):
    """A `SpellingCell` with an output layer that predicts the next symbol.

    Shape:
        weight: (width, 14), bias: (14,), from states to logits of the next symbol, the end last.
    """

    weight: Tensor
    bias: Tensor

    def log_next(self, state: Tensor) -> Tensor:
        """Log-probabilities of the next symbol, the end last: (N, 14), float64."""
        with torch.autocast(state.device.type, enabled=False):
            return torch.addmm(self.bias, state, self.weight).to(torch.float64).log_softmax(-1)


class SpellingLSTM(nn.Module):
    """Symbol embedding and one LSTM layer whose forget gates start open (bias 1, as in 2018).

    With `framed` it reads a start sign before and an end sign after the characters, as in the released code of 2018.

    Shape: strings (N, 32) of character ids, none empty to `(N, width)`, the states after their last characters.

    Example:
        >>> from numerate.heads.number_strings import strings_of_texts
        >>> SpellingLSTM(6)(strings_of_texts(["1.50", "7"])).shape
        torch.Size([2, 6])
    """

    def __init__(self, width: int, framed: bool = False) -> None:
        super().__init__()
        self.framed = framed
        self.symbols = nn.Embedding(len(SYMBOLS) + 1 + framed, width)
        self.input = nn.Linear(width, 4 * width)
        self.recurrent = nn.Linear(width, 4 * width, bias=False)
        with torch.no_grad():
            self.input.bias.zero_()
            self.input.bias[width : 2 * width] = 1.0

    def cell(self) -> SpellingCell:
        """The weights for single steps, in float32 at least."""
        weights = (self.symbols.weight, self.input.weight, self.input.bias, self.recurrent.weight)
        wide = torch.promote_types(weights[0].dtype, torch.float32)
        symbols, inner, bias, recurrent = (weight.to(wide) for weight in weights)
        with torch.autocast(symbols.device.type, enabled=False):
            return SpellingCell(symbols @ inner.T + bias, recurrent.T)

    def forward(self, strings: Tensor) -> Tensor:
        """States after the last character of each of (N, 32) strings: (N, width)."""
        symbols, lengths = to_symbols(strings), (strings != 0).sum(-1)
        if self.framed:
            symbols, lengths = framed(symbols, lengths, EDGE, EDGE + 1)
        return self.cell().last(symbols, lengths)
