"""`FlatRows`: the rows of a batch as flat arrays, which are padded with few array operations.

Padding 256 rows of ten fields one by one takes longer than a training step of a small model; from flat arrays it takes
a twentieth of that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import torch

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["FlatRows", "places_of_rows"]


def places_of_rows(starts: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places in a flat array of all elements of some rows, in their order, and the length of each row.

    Args:
        starts: (R + 1,) start of each row in the flat array.
        rows: (B,) indices of rows.

    Example:
        >>> places, lengths = places_of_rows(np.array([0, 2, 3, 6]), np.array([2, 0]))
        >>> places.tolist(), lengths.tolist()
        ([3, 4, 5, 0, 1], [3, 2])
    """
    first = np.asarray(starts[rows], dtype=np.int64)
    lengths = np.asarray(starts[rows + 1], dtype=np.int64) - first
    ends = np.cumsum(lengths)
    return np.repeat(first - (ends - lengths), lengths) + np.arange(int(lengths.sum())), lengths


@dataclass(frozen=True, eq=False)
class FlatRows(Sequence[dict[str, Any]]):
    """B encoded texts; `rows[i]` is the i-th as a dict, as a data set gives it.

    Shape:
        lengths: (B,) tokens of each row. tokens: fields of all tokens, row after row; None for zeros.
        counts: (B,) numbers of each row. numbers: fields of all N numbers.
        char_lengths: (N,) characters of each number. chars: those of all numbers.
        sample_id: (B,), or None.
    """

    lengths: np.ndarray
    tokens: Mapping[str, np.ndarray | None]
    counts: np.ndarray
    numbers: Mapping[str, np.ndarray]
    char_lengths: np.ndarray
    chars: np.ndarray
    sample_id: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.lengths)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> Any:
        """One row as a dict of arrays, or several."""
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        index = range(len(self))[index]
        begin, first = int(self.lengths[:index].sum()), int(self.counts[:index].sum())
        end, last = begin + int(self.lengths[index]), first + int(self.counts[index])
        none = np.zeros(end - begin, dtype=np.int64)
        row: dict[str, Any] = {
            name: none.copy() if values is None else values[begin:end].astype(np.int64)
            for name, values in self.tokens.items()
        }
        row |= {name: values[first:last].copy() for name, values in self.numbers.items()}
        lengths = self.char_lengths[first:last]
        start = int(self.char_lengths[:first].sum())
        characters = np.zeros((last - first, max(1, int(lengths.max(initial=0)))), dtype=np.uint8)
        there = np.arange(characters.shape[1]) < lengths[:, None]
        characters[there] = self.chars[start : start + int(lengths.sum())]
        row["number_chars"] = characters
        return row if self.sample_id is None else row | {"sample_id": int(self.sample_id[index])}

    @classmethod
    def joined(cls, parts: Sequence[FlatRows], order: np.ndarray) -> FlatRows:
        """The rows of several parts in another order: `order` has their indices, counted over all parts."""
        one = parts[0]
        if len(parts) > 1:
            lengths = np.concatenate([part.lengths for part in parts])
            tokens: dict[str, np.ndarray | None] = {}
            for name in one.tokens:
                known = [part.tokens[name] for part in parts]
                zeros = [np.zeros(int(part.lengths.sum()), dtype=np.int64) for part in parts]
                filled = [zero if some is None else some for some, zero in zip(known, zeros, strict=True)]
                tokens[name] = None if all(some is None for some in known) else np.concatenate(filled)
            one = cls(
                lengths, tokens, np.concatenate([part.counts for part in parts]),
                {name: np.concatenate([part.numbers[name] for part in parts]) for name in one.numbers},
                np.concatenate([part.char_lengths for part in parts]), np.concatenate([part.chars for part in parts]),
                None if one.sample_id is None else np.concatenate([np.asarray(part.sample_id) for part in parts]),
            )  # fmt: skip
        return one if np.array_equal(order, np.arange(len(one))) else one.taken(order)

    def taken(self, rows: np.ndarray) -> FlatRows:
        """Some rows, in this order."""
        at, lengths = places_of_rows(_starts(self.lengths), rows)
        which, counts = places_of_rows(_starts(self.counts), rows)
        letters, char_lengths = places_of_rows(_starts(self.char_lengths), which)
        return FlatRows(
            lengths, {name: None if values is None else values[at] for name, values in self.tokens.items()},
            counts, {name: values[which] for name, values in self.numbers.items()},
            char_lengths, self.chars[letters], None if self.sample_id is None else self.sample_id[rows],
        )  # fmt: skip

    def padded(
        self, fill: Mapping[str, int], *, left: bool = False, multiple: int = 1, least: int = 0
    ) -> dict[str, Tensor]:
        """One batch of tensors: (B, T) fields of tokens and (B, M) fields of numbers, which are padded on the right.

        Args:
            fill: Padding by field; 0 for others.
            left: Pad tokens on the left.
            multiple: T is a multiple of it.
            least: The smallest T.
        """
        width = -(-max(int(self.lengths.max(initial=0)), least) // multiple) * multiple
        place = _within(width - self.lengths, width, after=True) if left else _within(self.lengths, width)
        batch: dict[str, np.ndarray] = {}
        for name, values in self.tokens.items():
            if values is None and not fill.get(name, 0):
                batch[name] = np.zeros(place.shape, dtype=np.int64)
            else:
                batch[name] = _filled(place, 0 if values is None else values, fill.get(name, 0), np.dtype(np.int64))
        there = _within(self.counts, int(self.counts.max(initial=0)))
        for name, values in self.numbers.items():
            batch[name] = _filled(there, values, fill.get(name, 0), values.dtype)
        letters = np.zeros(there.shape, dtype=np.int64)
        letters[there] = self.char_lengths
        written = _within(letters, max(1, int(letters.max(initial=0))))
        batch["number_chars"] = _filled(written, self.chars, 0, np.dtype(np.uint8))
        if self.sample_id is not None:
            batch["sample_id"] = np.asarray(self.sample_id, dtype=np.int64)
        return {name: torch.from_numpy(values) for name, values in batch.items()}


def _starts(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths, dtype=np.int64)])


def _within(lengths: np.ndarray, width: int, after: bool = False) -> np.ndarray:
    """(..., width) which of so many places are below each of the `lengths`, or with `after` which are not."""
    places = np.arange(width)
    return places >= lengths[..., None] if after else places < lengths[..., None]


def _filled(place: np.ndarray, values: Any, fill: int, kind: np.dtype) -> np.ndarray:
    """An array of `fill` with the values where `place` is true."""
    result = np.full(place.shape, fill, dtype=kind)
    result[place] = values
    return result
