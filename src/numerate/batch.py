"""The number table that travels beside `input_ids`.

Numbers travel as integers, so that no mixed-precision or sharding wrapper can round them on the way: a float64 is its
bit pattern in an int64. Features are computed from it in float64 or integers and cast to the model's type at the end.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from numerate.numeral import Numeral

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "ASKED",
    "CHARACTERS",
    "GIVEN",
    "MAX_CHARACTERS",
    "PADDING",
    "UNKNOWN_CHARACTER",
    "NumberCollator",
    "NumberTable",
    "bit_patterns",
    "byte_rows",
    "character_rows",
    "clipped_precision",
    "encode_characters",
    "plain_precisions",
    "precisions",
    "table_of",
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


def character_rows(texts: Sequence[str]) -> np.ndarray:
    """Character ids of written numbers: (N, L) uint8, L the longest but at most 32, 0-padded.

    Example:
        >>> character_rows(["-1.5", "7"])
        array([[12,  2, 14,  6],
               [ 8,  0,  0,  0]], dtype=uint8)
    """
    return _TO_IDS[byte_rows(texts)]


def encode_characters(text: str) -> list[int]:
    """Character ids of one written number.

    Example:
        >>> encode_characters("-1.5")
        [12, 2, 14, 6]
    """
    return character_rows([text])[0].tolist()


def precisions(numerals: Sequence[Numeral]) -> np.ndarray:
    """Power of ten of each numeral's last written digit: (N,) int16."""
    result, unsettled = plain_precisions(byte_rows([n.text for n in numerals]))
    for index, numeral in enumerate(numerals):
        if unsettled[index] or numeral.point != ".":
            result[index] = clipped_precision(numeral)
    return result


def plain_precisions(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What `precisions` is for plain English decimals as `byte_rows`: (N,) int16; and (N,) bool, true for all else."""
    columns = np.ascontiguousarray(rows.T)  # sums over short rows are slow, those over long columns are not
    written = columns != 0
    behind = np.logical_or.accumulate(columns == ord("."), axis=0) & written
    # As many digits as stand behind the point.
    decimals = np.maximum(np.count_nonzero(behind, axis=0) - 1, 0)
    plain = _PLAIN_DECIMAL[columns].all(axis=0) & (np.count_nonzero(written, axis=0) < MAX_CHARACTERS)
    return -decimals.astype(np.int16), ~plain


def clipped_precision(numeral: Numeral) -> int:
    """A numeral's precision, within int16."""
    return max(-30_000, min(30_000, numeral.precision))


def byte_rows(texts: Sequence[str]) -> np.ndarray:
    """Texts as rows of bytes, one a character ("?" beyond ASCII, but for the minus sign): (N, L) uint8, 0-padded."""
    width = min(MAX_CHARACTERS, max(map(len, texts), default=0))
    if width == 0:
        return np.zeros((len(texts), 0), dtype=np.uint8)
    codes = np.array(texts, dtype=f"U{width}").view(np.uint32).reshape(len(texts), width)
    rows = codes.astype(np.uint8)
    if codes.max(initial=0) > 127:
        rows[codes > 127] = ord("?")
        rows[codes == ord("−")] = ord("-")
    return rows


def table_of(
    counts: Sequence[int], written: np.ndarray, values: np.ndarray, precision: np.ndarray, given: np.ndarray
) -> dict[str, np.ndarray]:
    """The number table of a batch from its numbers, row after row.

    Args:
        counts: How many numbers each row has.
        written: All numbers as `byte_rows`.
        values: (N,) float64.
        precision: (N,) int16.
        given: (N,) uint8, `GIVEN` or `ASKED`.

    Returns:
        `number_bits`, `number_precision` and `number_given` of shape (B, M), `number_chars` (B, M, L); M is the largest
        count and may be 0, L is at least 1.
    """
    most = max(counts, default=0)
    place = np.arange(most) < np.asarray(counts, dtype=np.int64)[:, None]
    characters = _TO_IDS[written]
    table = {
        "number_bits": np.zeros(place.shape, dtype=np.int64),
        "number_chars": np.zeros((*place.shape, max(1, characters.shape[1])), dtype=np.uint8),
        "number_precision": np.zeros(place.shape, dtype=np.int16),
        "number_given": np.full(place.shape, PADDING, dtype=np.uint8),
    }
    table["number_bits"][place] = bit_patterns(values)
    if characters.shape[1]:
        table["number_chars"][place] = characters
    table["number_precision"][place] = precision
    table["number_given"][place] = given
    return table


class NumberCollator:
    """Pads processed examples to one batch of tensors, number table included; for the HF Trainer's `data_collator`.

    Args:
        tokenizer: Says the padding's id and side; a `NumberProcessor`'s `tokenizer`. It is not kept, so that workers
            of a `DataLoader` get no more than a few numbers.
        pad_to_multiple_of: Rounds the length of the rows up.
        label_padding: What labels are padded with.

    Example:
        >>> from types import SimpleNamespace
        >>> collate = NumberCollator(SimpleNamespace(pad_token_id=0, padding_side="right", pad_token_type_id=0))
        >>> rows = [{"input_ids": [5, 6], "number_slots": [0, 0]}, {"input_ids": [7], "number_slots": [1]}]
        >>> collate(rows)["input_ids"].tolist()
        [[5, 6], [7, 0]]
    """

    _TYPES: ClassVar[dict[str, torch.dtype]] = {
        "number_chars": torch.uint8, "number_given": torch.uint8, "number_precision": torch.int16,
    }  # fmt: skip

    def __init__(self, tokenizer: Any, pad_to_multiple_of: int | None = None, label_padding: int = -100) -> None:
        if tokenizer.pad_token_id is None:
            raise ValueError("the tokenizer has no padding token: set tokenizer.pad_token")
        self.side: str = tokenizer.padding_side
        self.multiple = pad_to_multiple_of or 1
        self._fill: dict[str, int] = {
            "input_ids": tokenizer.pad_token_id,
            "token_type_ids": tokenizer.pad_token_type_id,
            "special_tokens_mask": 1,
            "labels": label_padding,
            "number_given": PADDING,
        }

    def __call__(self, examples: Sequence[Mapping[str, Any]]) -> dict[str, Tensor]:
        """One batch of examples with the same fields."""
        rows = [dict(example) for example in examples]
        for row in rows:
            row.setdefault("attention_mask", [1] * len(row["input_ids"]))
            if row.keys() != rows[0].keys():
                raise ValueError(f"examples differ in their fields: {sorted(row)} and {sorted(rows[0])}")
        return {key: self._column(key, [row[key] for row in rows]) for key in (rows[0] if rows else ())}

    def _column(self, key: str, cells: list[Any]) -> Tensor:
        name = key.removeprefix("decoder_")
        tensors = [torch.as_tensor(cell) for cell in cells]
        if tensors[0].dim() == 0:
            return torch.stack(tensors)
        table = name.startswith("number_") and name != "number_slots"
        length = max(len(tensor) for tensor in tensors)
        if not table:  # a number's place in its table is what its slot says: tables are padded on the right always
            length = -(-length // self.multiple) * self.multiple
        if name == "number_chars":
            width = max(1, *(tensor.shape[1] if tensor.dim() == 2 else 0 for tensor in tensors))
            shape, fill = (len(cells), length, width), 0
        else:
            shape, fill = (len(cells), length), self._fill.get(name, 0)
        floating = any(tensor.is_floating_point() and len(tensor) for tensor in tensors)
        result = torch.full(shape, fill, dtype=tensors[0].dtype if floating else self._TYPES.get(name, torch.int64))
        for row, tensor in zip(result, tensors, strict=True):
            if len(tensor):
                part = row[-len(tensor) :] if self.side == "left" and not table else row[: len(tensor)]
                part[..., : tensor.shape[1]].copy_(tensor) if tensor.dim() == 2 else part.copy_(tensor)
        return result


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
        texts = [repr(number).removesuffix(".0") for number in numbers]
        return cls.of_numerals([Numeral(t, 0, len(t), v) for t, v in zip(texts, numbers, strict=True)]).to(device)

    @classmethod
    def of_numerals(cls, numerals: Sequence[Numeral], written: bool = False) -> NumberTable:
        """A table of numerals, with their own characters and precision.

        Args:
            numerals: What a reader found.
            written: Take the bare number as it stands (1.5 of `1.5 billion`) instead of its meaning.
        """
        values = [n.written if written else n.value for n in numerals]
        texts = [n.text for n in numerals]
        bits, characters = bit_patterns(np.array(values, dtype=np.float64)), character_rows(texts)
        given = np.full(len(texts), GIVEN, dtype=np.uint8)
        return cls(*map(torch.from_numpy, (bits, characters, precisions(numerals), given)))

    def values(self) -> Tensor:
        """The numbers as float64."""
        return self.bits.view(torch.float64)

    def to(self, device: torch.device | str | None) -> NumberTable:
        """The table on another device."""
        return self if device is None else self._map(lambda tensor: tensor.to(device))

    def flat(self) -> NumberTable:
        """The table with its leading dimensions joined: (N,), (N, L)."""
        characters = self.characters.reshape(self.bits.numel(), self.characters.shape[-1])
        return NumberTable(self.bits.reshape(-1), characters, self.precision.reshape(-1), self.given.reshape(-1))

    def expand(self, rows: int) -> NumberTable:
        """A table of one number, repeated without copying."""
        return self._map(lambda tensor: tensor.expand(rows, *tensor.shape[1:]))

    def __getitem__(self, index: Any) -> NumberTable:
        return self._map(lambda tensor: tensor[index])

    def __len__(self) -> int:
        return self.bits.shape[0]

    def _map(self, change: object) -> NumberTable:
        return NumberTable(*(change(getattr(self, field.name)) for field in fields(self)))  # type: ignore[operator]
