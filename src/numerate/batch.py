"""The number table that travels beside `input_ids`.

Numbers travel as integers, so that no mixed-precision or sharding wrapper can round them on the way: a float64 is its bit
pattern in an int64. Features are computed from it in float64 or integers and cast to the model's type only at the end.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numerate.numeral import Numeral

__all__ = [
    "ASKED",
    "CHARACTERS",
    "GIVEN",
    "MAX_CHARACTERS",
    "PADDING",
    "UNKNOWN_CHARACTER",
    "NumberTable",
    "bits_of",
    "encode_characters",
]

ASKED, GIVEN, PADDING = 0, 1, 2
"""`number_given`: a number asked for, a number given, no number at all."""

CHARACTERS = {char: index for index, char in enumerate("0123456789", start=1)} | {
    "-": 12,
    "−": 12,
    "e": 13,
    "E": 13,
    ".": 14,
    "%": 15,
    ",": 16,
    "+": 17,
}
"""LUNA's alphabet of 19: 0 pads, 1 to 10 are the digits, 11 is LUNA's DEC (never written), 18 is unknown."""
UNKNOWN_CHARACTER = 18
MAX_CHARACTERS = 32

_DOUBLE, _LONG = struct.Struct("<d"), struct.Struct("<q")


def bits_of(value: float) -> int:
    """The bit pattern of a float64 as a signed 64-bit integer; every NaN becomes the canonical one.

    Example:
        >>> hex(bits_of(1.0))
        '0x3ff0000000000000'
    """
    return _LONG.unpack(_DOUBLE.pack(value))[0] if value == value else 0x7FF8000000000000


def encode_characters(text: str) -> list[int]:
    """Character ids of a written number, at most 32 of them (the front of the number, where it is largest).

    Example:
        >>> encode_characters("-1.5")
        [12, 2, 14, 6]
    """
    get = CHARACTERS.get
    return [get(char, UNKNOWN_CHARACTER) for char in text[:MAX_CHARACTERS]]


@dataclass(frozen=True)
class NumberTable:
    """N numbers as integer tensors, each with the same leading shape.

    Shape:
        bits: (..., ) int64, float64 bit patterns.
        characters: (..., L) uint8, the written form, 0-padded.
        precision: (..., ) int16, power of ten of the last written digit.
        given: (..., ) uint8, `GIVEN`, `ASKED` or `PADDING`.

    Example:
        >>> table = NumberTable.of_values([1.5, -2.0])
        >>> table.values().tolist()
        [1.5, -2.0]
    """

    bits: Tensor
    characters: Tensor
    precision: Tensor
    given: Tensor

    @classmethod
    def of_values(cls, values: Iterable[float], device: torch.device | str | None = None) -> NumberTable:
        """A table of bare values, written as Python writes them."""
        numbers = [float(value) for value in values]
        return cls._build(
            [bits_of(number) for number in numbers],
            [encode_characters(repr(number).removesuffix(".0")) for number in numbers],
            [-len(repr(number).removesuffix(".0").partition("e")[0].partition(".")[2]) for number in numbers],
        ).to(device)

    @classmethod
    def of_numerals(cls, numerals: Sequence[Numeral], written: bool = False) -> NumberTable:
        """A table of numerals, with their own characters and precision.

        Args:
            numerals: What a reader found.
            written: Take the bare number as it stands (1.5 of `1.5 billion`) instead of its meaning.
        """
        return cls._build(
            [bits_of(n.written if written else n.value) for n in numerals],
            [encode_characters(n.text) for n in numerals],
            [max(-30_000, min(30_000, n.precision)) for n in numerals],
        )

    @classmethod
    def _build(cls, bits: list[int], characters: list[list[int]], precision: list[int]) -> NumberTable:
        longest = max(map(len, characters), default=0)
        padded = [row + [0] * (longest - len(row)) for row in characters]
        return cls(
            torch.tensor(bits, dtype=torch.int64),
            torch.tensor(padded, dtype=torch.uint8).reshape(len(bits), longest),
            torch.tensor(precision, dtype=torch.int16),
            torch.full((len(bits),), GIVEN, dtype=torch.uint8),
        )

    def values(self) -> Tensor:
        """The numbers as float64."""
        return self.bits.view(torch.float64)

    def to(self, device: torch.device | str | None) -> NumberTable:
        """The table on another device."""
        return self if device is None else self._map(lambda tensor: tensor.to(device))

    def flat(self) -> NumberTable:
        """The table with its leading dimensions joined: (N,), (N, L)."""
        characters = self.characters.reshape(-1, self.characters.shape[-1])
        return NumberTable(self.bits.reshape(-1), characters, self.precision.reshape(-1), self.given.reshape(-1))

    def __getitem__(self, index: Tensor | slice) -> NumberTable:
        return self._map(lambda tensor: tensor[index])

    def __len__(self) -> int:
        return self.bits.shape[0]

    def _map(self, change: object) -> NumberTable:
        return NumberTable(*(change(getattr(self, field.name)) for field in fields(self)))  # type: ignore[operator]
