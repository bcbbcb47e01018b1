"""Gated combination of a token vector and a character LSTM (Spithourakis & Riedel 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from numerate.config import Config
from numerate.embedders.base import INITIAL_STD, Embedder, NumberTable, as_bits
from numerate.embedders.characters import N_CHARACTERS, framed, read_characters, recurrent_summary
from numerate.embedders.option_checks import check_option, check_positive
from numerate.registry import embedders

__all__ = ["GatedCharsConfig", "GatedCharsEmbedder"]

_FREE = 0x7FFFFFFFFFFFFFFF
"""Marks an unused row: the bit pattern of a NaN that no number table holds, and the largest int64."""


@dataclass(frozen=True, kw_only=True)
class GatedCharsConfig(Config):
    """Options of `gated-chars`.

    Attributes:
        known: Number of values, the most frequent ones, that get a vector of their own in `fit`.
        hidden: Width of the character LSTM (50 in the paper), mapped to `dim` where it differs.
        framed: Whether the LSTM reads a start sign before and an end sign after the characters, as in the released
            code.
    """

    kind: ClassVar[str] = "gated-chars"
    known: int = 0
    hidden: int = 50
    framed: bool = False

    def __post_init__(self) -> None:
        check_option(self.known >= 0, self, "known must not be negative", "known")
        check_positive(self, "hidden")


@embedders.register("gated-chars")
class GatedCharsEmbedder(Embedder):
    """(1 - g) · token + g · characters, with a gate g for every column (Spithourakis & Riedel 2018).

    Frequent values (`fit`) have a token vector each, all other numbers share one; the character vector is the last
    state of an LSTM over the written form; the gate is a sigmoid of a linear map of both. Values are compared as
    float64, so `1.50` and `1.5`, or 0 and -0, share a token vector (in the paper they do not). A sign is a character;
    `inf` and `nan` are unknown letters; overflow is read from the characters, at most 32 of them.

    Shape: N numbers with characters (N, L) to `(N, dim)`.

    Example:
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
        self.framed = config.framed
        self.characters = nn.Embedding(N_CHARACTERS + 2 * config.framed, config.hidden)
        self.lstm = nn.LSTM(config.hidden, config.hidden, batch_first=True)
        self.widen = nn.Identity() if config.hidden == dim else nn.Linear(config.hidden, dim)
        self.gate = nn.Linear(2 * dim, dim)

    @torch.no_grad()
    def fit(self, values: Tensor) -> None:
        """Assigns token vectors to the most frequent values; ties go to the smaller bit pattern."""
        patterns, counts = _patterns(values).unique(return_counts=True)
        order = counts.argsort(descending=True, stable=True)[: len(self.known_bits)]
        self.known_bits.fill_(_FREE)
        self.known_bits[: len(order)] = patterns[order].sort().values.to(self.known_bits.device)

    def token_ids(self, numbers: NumberTable) -> Tensor:
        """Row of each number in the token table, (N,) int64; the last row is for all other numbers."""
        others = len(self.known_bits)
        if others == 0:
            return torch.zeros_like(numbers.bits)
        patterns = _patterns(numbers.values())
        place = torch.searchsorted(self.known_bits, patterns).clamp_max(others - 1)
        return torch.where(self.known_bits[place] == patterns, place, others)

    def forward(self, numbers: NumberTable) -> Tensor:
        """Embeds a flat table of N numbers: (N, dim)."""
        characters, lengths = read_characters(numbers)
        if self.framed:
            characters, lengths = framed(characters, lengths, N_CHARACTERS, N_CHARACTERS + 1)
        token = self.tokens(self.token_ids(numbers))
        written = self.widen(recurrent_summary(self.lstm, self.characters(characters), lengths))
        gate = torch.sigmoid(self.gate(torch.cat([token, written.to(token.dtype)], dim=-1)))
        return torch.lerp(token, written.to(token.dtype), gate.to(token.dtype))


def _patterns(values: Tensor) -> Tensor:
    """Bit patterns, with -0 as 0 and every NaN as the canonical one."""
    values = values.to(torch.float64)
    return as_bits(torch.where(values == 0, 0.0, values)).masked_fill(values.isnan(), 0x7FF8000000000000)
