"""Collated batches that stay on the device, for small data sets and many epochs."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from torch.utils.data import Dataset

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import torch
    from torch import Tensor

    from numerate.processing.encoding import NumberCollator

__all__ = ["BatchesByLength", "the_batch"]


class BatchesByLength(Dataset["dict[str, Tensor]"]):
    """A data set whose examples are batches of texts of similar length.

    Args:
        rows: Processed texts, or a data set that gives several at once (`__getitems__`), such as `Shards`.
        collate: Pads rows to a batch.
        size: Texts per batch.
        lengths: Sort key of each row; by default its number of tokens. With lengths that do not depend on the notation
            of numbers, models with different notations get the same batches.

    The attribute `parts` has the indices of the rows of each of the `batches`.

    Example:
        >>> rows = [{"input_ids": [0] * length} for length in (3, 1, 2)]
        >>> BatchesByLength(rows, lambda some: {"count": len(some)}, size=2).parts
        [[1, 2], [0]]
    """

    def __init__(
        self,
        rows: Sequence[Mapping[str, Any]],
        collate: NumberCollator,
        size: int,
        lengths: Sequence[int] | None = None,
    ) -> None:
        keys = [len(row["input_ids"]) for row in rows] if lengths is None else lengths
        several = getattr(rows, "__getitems__", lambda part: [rows[index] for index in part])
        order = sorted(range(len(rows)), key=keys.__getitem__)
        self.parts = [order[start : start + size] for start in range(0, len(order), size)]
        self.batches = [collate(several(part)) for part in self.parts]

    def to(self, device: torch.device) -> BatchesByLength:
        """Moves all batches to a device, so that no step waits for its batch."""
        self.batches = [{key: value.to(device) for key, value in batch.items()} for batch in self.batches]
        return self

    def __len__(self) -> int:
        return len(self.batches)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        return self.batches[index]


def the_batch(batches: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    """The collator of a Trainer with one such batch per step: a shallow copy of the batch."""
    return copy.copy(batches[0])
