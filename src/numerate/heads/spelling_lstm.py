"""An LSTM over the characters of numerals, as the heads of 2018 use it: read as a whole, or step by step."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from numerate.processing.number_table import CHARACTERS

__all__ = ["EDGE", "SYMBOLS", "SpellingCell", "SpellingLSTM", "to_symbols"]

SYMBOLS = "0123456789-e."
"""What a string is made of; a symbol is its place here."""
EDGE = len(SYMBOLS)
"""The start, where it is read, and the end, where it is predicted."""
_OF_ID = [SYMBOLS.index(next((c for c in SYMBOLS if CHARACTERS[c] == index), "0")) for index in range(16)]


def to_symbols(strings: Tensor) -> Tensor:
    """Symbols behind the character ids of strings, `EDGE` for padding: int64.

    Example:
        >>> from numerate.heads.number_strings import strings_of_texts
        >>> to_symbols(strings_of_texts(["-1.5"]))[0, :6].tolist()
        [10, 1, 12, 5, 13, 13]
    """
    table = torch.tensor(_OF_ID, device=strings.device)
    return table[strings.to(torch.int64)].masked_fill(strings == 0, EDGE)


@dataclass(frozen=True, eq=False)
class SpellingCell:
    """The weights of a `SpellingLSTM` in the type it runs in, ready for one step after another.

    Shape:
        inputs: (14, 4 · width), what each symbol adds to the gates.
        recurrent: (width, 4 · width).
    """

    inputs: Tensor
    recurrent: Tensor

    def start(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """The two states after the start symbol, from (N, width) states and empty cells."""
        edge = torch.full((len(hidden),), EDGE, device=hidden.device)
        return self.step(edge, hidden.to(self.inputs.dtype), torch.zeros_like(hidden, dtype=self.inputs.dtype))

    def step(self, symbols: Tensor, state: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        """State and cell after one more symbol: (N,), (N, width), (N, width)."""
        with torch.autocast(state.device.type, enabled=False):
            gates = torch.addmm(self.inputs[symbols], state, self.recurrent)
            take, keep, new, show = gates.chunk(4, dim=-1)
            cell = keep.sigmoid() * cell + take.sigmoid() * new.tanh()
            return show.sigmoid() * cell.tanh(), cell

    def unrolled(self, symbols: Tensor, lengths: Tensor, state: Tensor) -> tuple[list[Tensor], Tensor]:
        """States after each of a row's first symbols, longest rows first and no work done for those that have ended.

        Args:
            symbols: (N, T) int64.
            lengths: (N,), how many of each row to read.
            state: (N, width) first states; cells are empty.

        Returns:
            For each step the (rows still read, width) states; and the (N,) order of the rows.
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
        """States after whole rows of at least one symbol, from empty states: (N, width)."""
        states, order = self.unrolled(symbols, lengths, self.recurrent.new_zeros(len(symbols), len(self.recurrent)))
        if not states:
            return self.recurrent.new_zeros(0, len(self.recurrent))
        following = [*(len(state) for state in states[1:]), 0]
        ended = torch.cat([state[count:] for state, count in zip(states, following, strict=True)][::-1])
        return ended[order.argsort()]


class SpellingLSTM(nn.Module):
    """Embedding and weights of one layer, with the forget gates open at first (bias 1, as in 2018).

    **Shape**

    - Input: strings (N, 32) of character ids, none empty
    - Output: `(N, width)`, the states after their last characters

    Example:
        >>> from numerate.heads.number_strings import strings_of_texts
        >>> SpellingLSTM(6)(strings_of_texts(["1.50", "7"])).shape
        torch.Size([2, 6])
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.symbols = nn.Embedding(len(SYMBOLS) + 1, width)
        self.input = nn.Linear(width, 4 * width)
        self.recurrent = nn.Linear(width, 4 * width, bias=False)
        with torch.no_grad():
            self.input.bias.zero_()
            self.input.bias[width : 2 * width] = 1.0

    def cell(self) -> SpellingCell:
        """The weights in float32 at least."""
        weights = (self.symbols.weight, self.input.weight, self.input.bias, self.recurrent.weight)
        wide = torch.promote_types(weights[0].dtype, torch.float32)
        symbols, inner, bias, recurrent = (weight.to(wide) for weight in weights)
        with torch.autocast(symbols.device.type, enabled=False):
            return SpellingCell(symbols @ inner.T + bias, recurrent.T)

    def forward(self, strings: Tensor) -> Tensor:
        """States after the last characters of (N, 32) strings: (N, width)."""
        return self.cell().last(to_symbols(strings), (strings != 0).sum(-1))
