"""A gate between what is known of a frequent number and what its characters say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn

from numerate.config import Config
from numerate.embedders.base import INITIAL_STD, Embedder, as_bits
from numerate.embedders.characters import N_CHARACTERS, read_characters, recurrent_summary
from numerate.registry import embedders

if TYPE_CHECKING:
    from numerate.processing.number_table import NumberTable

__all__ = ["GatedCharsConfig", "GatedCharsEmbedder"]

_FREE = 0x7FFFFFFFFFFFFFFF
"""Marks a row without a value: the pattern of a NaN that no number table holds, and the largest int64."""


@dataclass(frozen=True, kw_only=True)
class GatedCharsConfig(Config):
    """Options of `gated-chars`.

    Attributes:
        known: How many of the most frequent values get a vector of their own in `fit`; 0 for none.
        hidden: Width of the character LSTM (50 in the paper), mapped to `dim` where it differs.
    """

    kind: ClassVar[str] = "gated-chars"
    known: int = 0
    hidden: int = 50

    def __post_init__(self) -> None:
        if self.known < 0:
            raise ValueError(f"known must not be negative, got {self.known=}")
        if self.hidden < 1:
            raise ValueError(f"hidden must be positive, got {self.hidden=}")


@embedders.register("gated-chars")
class GatedCharsEmbedder(Embedder):
    """(1 - g) · token + g · characters, with a gate g in every column (Spithourakis & Riedel 2018).

    The token vector is that of the value if `fit` found it to be frequent, else one learned vector for all other
    numbers; the character vector is the last state of an LSTM over the written form; the gate is a sigmoid of both.
    Values are compared as float64, so `1.50` and `1.5` share a token vector (in the paper they do not) but not the
    characters; 0 and -0 share it, too. A sign is a character; `inf` and `nan` are unknown letters and can be frequent
    values like others; overflow is read from the characters, at most 32 of them.

    **Shape**

    - Input: a flat number table of N numbers, `characters` (N, L)
    - Output: `(N, dim)`

    Example:
        >>> from numerate.processing.number_table import NumberTable
        >>> embedder = GatedCharsEmbedder.build(dim=8, known=2)
        >>> embedder.fit(torch.tensor([7.0, 3.0, 7.0, 9.0, 3.0]))
        >>> embedder.token_ids(NumberTable.of_values([3, 5, 7])).tolist()
        [0, 2, 1]
    """

    Config = GatedCharsConfig
    costly = True
    known_bits: Tensor

    def __init__(self, dim: int, config: GatedCharsConfig) -> None:
        super().__init__(dim, config)
        self.register_buffer("known_bits", torch.full((config.known,), _FREE))
        self.tokens = nn.Embedding(config.known + 1, dim)
        nn.init.normal_(self.tokens.weight, std=INITIAL_STD)
        self.characters = nn.Embedding(N_CHARACTERS, config.hidden)
        self.lstm = nn.LSTM(config.hidden, config.hidden, batch_first=True)
        self.widen = nn.Identity() if config.hidden == dim else nn.Linear(config.hidden, dim)
        self.gate = nn.Linear(2 * dim, dim)

    @torch.no_grad()
    def fit(self, values: Tensor) -> None:
        """Gives the most frequent of `values` a vector each; of equally frequent ones, the smaller bit patterns."""
        patterns, counts = _patterns(values).unique(return_counts=True)
        order = counts.argsort(descending=True, stable=True)[: len(self.known_bits)]
        self.known_bits.fill_(_FREE)
        self.known_bits[: len(order)] = patterns[order].sort().values.to(self.known_bits.device)

    def token_ids(self, numbers: NumberTable) -> Tensor:
        """The row of each number in the table of tokens, (N,) int64; the last row is for all others."""
        others = len(self.known_bits)
        if others == 0:
            return torch.zeros_like(numbers.bits)
        patterns = _patterns(numbers.values())
        place = torch.searchsorted(self.known_bits, patterns).clamp_max(others - 1)
        return torch.where(self.known_bits[place] == patterns, place, others)

    def forward(self, numbers: NumberTable) -> Tensor:
        """Embeds a flat table of N numbers: (N, dim)."""
        characters, lengths = read_characters(numbers)
        token = self.tokens(self.token_ids(numbers))
        written = self.widen(recurrent_summary(self.lstm, self.characters(characters), lengths))
        gate = torch.sigmoid(self.gate(torch.cat([token, written.to(token.dtype)], dim=-1)))
        return torch.lerp(token, written.to(token.dtype), gate.to(token.dtype))


def _patterns(values: Tensor) -> Tensor:
    """Bit patterns, with -0 as 0 and every NaN as the canonical one."""
    values = values.to(torch.float64)
    return as_bits(torch.where(values == 0, 0.0, values)).masked_fill(values.isnan(), 0x7FF8000000000000)
