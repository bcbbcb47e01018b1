"""Ready batches that stay on the device: for small data that is trained on many times."""

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
    """Ready batches of texts of about the same length; a data set whose examples are batches.

    Args:
        rows: Processed texts.
        collate: Pads some of them to a batch.
        size: Texts a batch.
        lengths: What they are sorted by; by default how many tokens each has. With lengths that do not depend on how
            numbers are written, models that write them differently get the same batches.

    Attributes:
        parts: Which rows are in each batch.
        batches: The batches.

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
        order = sorted(range(len(rows)), key=keys.__getitem__)
        self.parts = [order[start : start + size] for start in range(0, len(order), size)]
        self.batches = [collate([rows[index] for index in part]) for part in self.parts]

    def to(self, device: torch.device) -> BatchesByLength:
        """The same with all batches on a device, so that no step waits for its batch."""
        self.batches = [{key: value.to(device) for key, value in batch.items()} for batch in self.batches]
        return self

    def __len__(self) -> int:
        return len(self.batches)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        return self.batches[index]


def the_batch(batches: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    """The collator of a Trainer that takes one ready batch a step: the batch itself, copied shallowly."""
    return copy.copy(batches[0])
