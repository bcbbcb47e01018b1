"""Vocabulary of numerals: the most frequent strings of a table, with look-up on the device."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from numerate.heads.base import LARGEST, NumberTable
from numerate.heads.number_strings import floats_of, hashes_of, packed, strings_of, texts_of, unpacked
from numerate.processing.number_table import PADDING

__all__ = ["KnownNumerals"]

_ROWS = 1 << 16
"""Number of numbers that are converted to strings at once."""


class KnownNumerals(nn.Module):
    """V entries for numerals, sorted by value, some of them unused; all are unused before `fit`.

    All buffers are int64, which `.to(dtype)` does not round.

    Shape:
        pairs: (V, 2), the strings as `packed` gives them; 0 for an unused entry.
        value_bits: (V,), float64 bit patterns.
        hashes: (V,), sorted; `places`: (V,), the entry of each hash.
        oov_types: (), number of types in the training table that are not in the vocabulary.

    Example:
        >>> from numerate import find
        >>> known = KnownNumerals(3)
        >>> known.fit(NumberTable.of_numerals(find("10 1.5 1.50 10 7 1.5 1.50")))
        >>> known.texts(), int(known.oov_types)
        (['1.5', '1.50', '10'], 1)
    """

    pairs: Tensor
    value_bits: Tensor
    hashes: Tensor
    places: Tensor
    oov_types: Tensor

    def __init__(self, size: int) -> None:
        super().__init__()
        self.register_buffer("pairs", torch.zeros(size, 2, dtype=torch.int64))
        self.register_buffer("value_bits", torch.zeros(size, dtype=torch.int64))
        self.register_buffer("hashes", torch.zeros(size, dtype=torch.int64))
        self.register_buffer("places", torch.arange(size))
        self.register_buffer("oov_types", torch.tensor(0))

    @torch.no_grad()
    def fit(self, numbers: NumberTable) -> None:
        """Takes the most frequent strings; ties are broken deterministically."""
        # On the CPU: `unique` of rows has an out-of-bounds read in builds for CUDA 13.
        numbers = numbers[numbers.values().isfinite() & (numbers.given != PADDING)].to("cpu")
        parts = [packed(strings_of(numbers[start : start + _ROWS])) for start in range(0, len(numbers), _ROWS)]
        types, counts = torch.cat([self.pairs[:0].cpu(), *parts]).unique(dim=0, return_counts=True)
        chosen = counts.argsort(descending=True, stable=True)[: len(self.pairs)].sort().values
        strings = unpacked(types[chosen])
        values = floats_of(strings)
        order = values.argsort(stable=True)
        size = len(order)
        self.pairs.zero_()[:size] = types[chosen][order].to(self.pairs.device)
        # Unused entries come last; in an empty vocabulary they have value 0.
        ends = torch.full((len(self.pairs),), LARGEST if size else 0.0, dtype=torch.float64)
        ends[:size] = values[order]
        self.value_bits.copy_(ends.view(torch.int64))
        hashes, places = hashes_of(self.pairs).sort(stable=True)
        self.hashes.copy_(hashes)
        self.places.copy_(places)
        self.oov_types.fill_(len(types) - size)

    @property
    def values(self) -> Tensor:
        """Values of the entries: (V,) float64."""
        return self.value_bits.view(torch.float64)

    def unused(self) -> Tensor:
        """Which entries are unused: (V,) bool."""
        return (self.pairs == 0).all(-1)

    def find(self, strings: Tensor) -> Tensor:
        """Entry of each (N, 32) string: (N,) int64, V if unknown."""
        pairs = packed(strings)
        near = torch.searchsorted(self.hashes, hashes_of(pairs)).clamp_max(len(self.hashes) - 1)
        place = self.places[near]
        # Hashes may collide, so the strings are compared, too.
        known = (self.pairs[place] == pairs).all(-1) & (strings[:, 0] != 0)
        return torch.where(known, place, len(self.pairs))

    def strings(self) -> Tensor:
        """The numerals, sorted by value, without unused entries: (at most V, 32) uint8."""
        return unpacked(self.pairs[~self.unused()])

    def texts(self) -> list[str]:
        """The numerals as texts, sorted by value."""
        return texts_of(self.strings())
