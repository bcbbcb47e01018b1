"""The number table: tensors beside `input_ids` with the values and written forms of a batch's numbers.

Values are stored as integers, so that no mixed-precision or sharding wrapper can round them: a float64 is its bit
pattern in an int64. `number_slots` (B, T) maps tokens to numbers: k where the vector of the row's k-th number goes, -k
at a token that only writes it (a subword beside its [NUM]), 0 elsewhere. `number_scale` (B, T), only of notations that
keep the text, is twice the power of ten of a percent sign or scale word at its tokens (-4 at `%`, 12 at `million`),
plus 1 if such a token also writes text behind the number; 0 elsewhere. Features are computed in float64 or integers
and cast to the model's type at the end.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from numerate.numerals.numeral import Numeral

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "ASKED", "CHARACTERS", "GIVEN", "MAX_CHARACTERS", "PADDING", "UNKNOWN_CHARACTER", "NumberTable", "Written",
    "bit_patterns", "character_rows", "clipped_precision", "encode_characters", "float_values", "given_value",
    "has_scale_elsewhere", "padded_table", "precisions",
]  # fmt: skip

ASKED, GIVEN, PADDING = 0, 1, 2
"""Values of `number_given`: a number that is asked for, a given number, padding."""

CHARACTERS = {char: index for index, char in enumerate("0123456789", start=1)}
CHARACTERS |= {"-": 12, "−": 12, "e": 13, "E": 13, ".": 14, "%": 15, ",": 16, "+": 17}
"""LUNA's alphabet of 19: 0 is padding, 1 to 10 are the digits, 11 is LUNA's DEC (never used), 18 is unknown."""
UNKNOWN_CHARACTER = 18
MAX_CHARACTERS = 32
_EXPONENT = 0x7FF0000000000000
"""Bits of the exponent of a float64."""

_TO_IDS = np.full(256, UNKNOWN_CHARACTER, dtype=np.uint8)
_TO_IDS[0] = 0
for _char, _id in CHARACTERS.items():
    if _char.isascii():
        _TO_IDS[ord(_char)] = _id
_PLAIN_DECIMAL = np.isin(np.arange(256), [0, *b"0123456789.,+-"])


def bit_patterns(values: np.ndarray) -> np.ndarray:
    """Float64 values as int64 bit patterns; every NaN becomes the canonical one.

    Example:
        >>> hex(bit_patterns(np.array([1.0]))[0])
        '0x3ff0000000000000'
    """
    bits = np.ascontiguousarray(values, dtype=np.float64).view(np.int64)
    return np.where(np.isnan(values), np.int64(0x7FF8000000000000), bits)


class Written(NamedTuple):
    """Written numbers, concatenated, one byte for each character ("?" outside ASCII, except the minus sign).

    Attributes:
        codes: (total,) uint8.
        lengths: (N,) int64, at most `MAX_CHARACTERS` each.
    """

    codes: np.ndarray
    lengths: np.ndarray

    @classmethod
    def of(cls, texts: Sequence[str]) -> Written:
        """The texts, cut at `MAX_CHARACTERS`."""
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        if lengths.max(initial=0) > MAX_CHARACTERS:
            texts, lengths = [text[:MAX_CHARACTERS] for text in texts], np.minimum(lengths, MAX_CHARACTERS)
        joined = "".join(texts).replace("−", "-").encode("ascii", "replace")
        return cls(np.frombuffer(joined, np.uint8), lengths)

    def character_rows(self) -> np.ndarray:
        """Character ids: (N, L) uint8, L the longest, 0-padded."""
        rows = np.zeros((len(self.lengths), int(self.lengths.max(initial=0))), dtype=np.uint8)
        rows[np.arange(rows.shape[1]) < self.lengths[:, None]] = _TO_IDS[self.codes]
        return rows

    def plain_precisions(self) -> tuple[np.ndarray, np.ndarray]:
        """Precisions, right for plain English decimals: (N,) int16; and (N,) bool, true for all other numbers."""
        ends = np.cumsum(self.lengths)
        points = np.flatnonzero(self.codes == ord("."))
        if len(points) == len(ends) and (points < ends).all() and (points >= ends - self.lengths).all():
            owners = np.arange(len(ends))  # one point in each number, as in most tables
        else:
            owners = np.searchsorted(ends, points, side="right")
        result = np.zeros(len(ends), dtype=np.int16)
        # The number of digits after the first point, which overwrites that of later points.
        result[owners[::-1]] = (points + 1 - ends[owners])[::-1]
        unsettled = self.lengths == MAX_CHARACTERS
        unsettled[np.searchsorted(ends, np.flatnonzero(~_PLAIN_DECIMAL[self.codes]), side="right")] = True
        return result, unsettled


def character_rows(texts: Sequence[str]) -> np.ndarray:
    """Character ids of written numbers: (N, L) uint8, L the longest but at most 32, 0-padded.

    Example:
        >>> character_rows(["-1.5", "7"])
        array([[12,  2, 14,  6],
               [ 8,  0,  0,  0]], dtype=uint8)
    """
    return Written.of(texts).character_rows()


def encode_characters(text: str) -> list[int]:
    """Character ids of one written number.

    Example:
        >>> encode_characters("-1.5")
        [12, 2, 14, 6]
    """
    return character_rows([text])[0].tolist()


def precisions(numerals: Sequence[Numeral]) -> np.ndarray:
    """The power of ten of each numeral's last written digit: (N,) int16."""
    result, unsettled = Written.of([n.text for n in numerals]).plain_precisions()
    for index, numeral in enumerate(numerals):
        if unsettled[index] or numeral.point != ".":
            result[index] = clipped_precision(numeral)
    return result


def given_value(numeral: Numeral, written: bool = False) -> float:
    """The number that a model is given or asked for: the value, or the `written` number.

    A scale that stands at another number is not applied: 43 of `$43-65 million`. A model that is asked for
    `$[NUM]-65 million` has the scale word in sight, and `$43-[NUM]` tells nothing of a scale, so that the value of 43
    must not show that millions were hidden.
    """
    return numeral.written if written or has_scale_elsewhere(numeral) else numeral.value


def has_scale_elsewhere(numeral: Numeral) -> bool:
    """Whether a numeral's scale stands at another number; of `$43-65 million`, 65 shares the currency only."""
    return numeral.shared and not numeral.style.suffix


def clipped_precision(numeral: Numeral) -> int:
    """A numeral's precision, clipped to int16."""
    return max(-30_000, min(30_000, numeral.precision))


def padded_table(
    counts: Sequence[int], written: Written, values: np.ndarray, precision: np.ndarray, given: np.ndarray
) -> dict[str, np.ndarray]:
    """Builds the number table of a batch from its numbers, row by row.

    `counts` has the number of numbers in each row; `values` (N,) float64, `precision` (N,) int16 and `given` (N,) uint8
    (`GIVEN` or `ASKED`) are those of all numbers.

    Returns:
        `number_bits`, `number_precision` and `number_given` of shape (B, M), `number_chars` (B, M, L); M is the largest
        count and may be 0, L is at least 1.
    """
    most = max(counts, default=0)
    place = np.arange(most) < np.asarray(counts, dtype=np.int64)[:, None]
    characters = written.character_rows()
    if characters.shape[1] == 0:
        characters = np.zeros((len(characters), 1), dtype=np.uint8)

    def padded(column: np.ndarray, padding: int = 0) -> np.ndarray:
        shape = (*place.shape, *column.shape[1:])
        if len(column) == place.size:
            return column.reshape(shape)
        full = np.full(shape, padding, dtype=column.dtype)
        full[place] = column
        return full

    return {
        "number_bits": padded(bit_patterns(values)),
        "number_chars": padded(characters),
        "number_precision": padded(precision.astype(np.int16, copy=False)),
        "number_given": padded(given.astype(np.uint8, copy=False), PADDING),
    }


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
        """A table of values, with Python's written forms."""
        numbers = [float(value) for value in values]
        texts = [repr(number).removesuffix(".0") for number in numbers]
        return cls.of_numerals([Numeral(t, 0, len(t), v) for t, v in zip(texts, numbers, strict=True)]).to(device)

    @classmethod
    def of_numerals(cls, numerals: Sequence[Numeral], written: bool = False) -> NumberTable:
        """A table of a reader's numerals; `written` takes the written number (1.5 of `1.5 billion`), not the value."""
        values = [given_value(n, written) for n in numerals]
        texts = [n.text for n in numerals]
        bits, characters = bit_patterns(np.array(values, dtype=np.float64)), character_rows(texts)
        given = np.full(len(texts), GIVEN, dtype=np.uint8)
        return cls(*map(torch.from_numpy, (bits, characters, precisions(numerals), given)))

    @classmethod
    def unwritten(cls, values: Tensor) -> NumberTable:
        """A table of values of any shape for densities, which do not look at written forms: fast, for many values.

        Example:
            >>> NumberTable.unwritten(torch.tensor([[1.5, -2.0]])).values().tolist()
            [[1.5, -2.0]]
        """
        bits = torch.from_numpy(bit_patterns(values.detach().double().cpu().numpy()))
        nothing = torch.zeros(bits.shape, dtype=torch.int16)
        given = torch.full(bits.shape, GIVEN, dtype=torch.uint8)
        return cls(bits, torch.zeros((*bits.shape, 1), dtype=torch.uint8), nothing, given)

    def values(self) -> Tensor:
        """The numbers as float64."""
        return float_values(self.bits)

    def finite(self) -> Tensor:
        """Which numbers are neither infinite nor NaN: those whose exponent has a bit that is 0."""
        return (self.bits & _EXPONENT) != _EXPONENT

    def to(self, device: torch.device | str | None) -> NumberTable:
        """The table on another device."""
        return self if device is None else self._map(lambda tensor: tensor.to(device))

    def flat(self) -> NumberTable:
        """The table with its leading dimensions joined: (N,), (N, L)."""
        characters = self.characters.reshape(self.bits.numel(), self.characters.shape[-1])
        return NumberTable(self.bits.reshape(-1), characters, self.precision.reshape(-1), self.given.reshape(-1))

    def reshape(self, shape: Sequence[int]) -> NumberTable:
        """The table with other leading dimensions."""
        bits, precision, given = (part.reshape(tuple(shape)) for part in (self.bits, self.precision, self.given))
        return NumberTable(bits, self.characters.reshape(*shape, self.characters.shape[-1]), precision, given)

    def expand(self, rows: int) -> NumberTable:
        """A table of one number, repeated without copying."""
        return self._map(lambda tensor: tensor.expand(rows, *tensor.shape[1:]))

    def __getitem__(self, index: Any) -> NumberTable:
        return self._map(lambda tensor: tensor[index])

    def __len__(self) -> int:
        return self.bits.shape[0]

    def _map(self, change: object) -> NumberTable:
        return NumberTable(*(change(getattr(self, field.name)) for field in fields(self)))  # type: ignore[operator]


def float_values(bits: Tensor) -> Tensor:
    """Float64 values of int64 bit patterns.

    In an exported graph they are computed by arithmetic, because ONNX cannot read integers as floats.

    Example:
        >>> float_values(bits=torch.tensor([0x3FF8000000000000])).tolist()
        [1.5]
    """
    return _computed_values(bits) if torch.compiler.is_exporting() else bits.view(torch.float64)


def _computed_values(bits: Tensor) -> Tensor:
    """As `float_values`, by arithmetic.

    Example:
        >>> values = torch.tensor([1.5, -0.1, 5e-324, -1.7e308, torch.inf], dtype=torch.float64)
        >>> bool((_computed_values(values.view(torch.int64)) == values).all())
        True
    """
    size = torch.where(bits < 0, bits - (-(2**63)), bits)
    exponent = size // 2**52
    mantissa = (size - exponent * 2**52).double()
    power = torch.pow(2.0, (exponent.clamp(1, 2046) - 1023).double())
    value = (mantissa * 2.0**-52 + (exponent > 0).double()) * power
    special = torch.where(mantissa == 0, torch.inf, torch.nan).double()
    value = torch.where(exponent == 2047, special, value)
    return torch.where(bits < 0, -value, value)
