"""`FlatCollator`: the collator of `NumberTrainer` for rows that come as flat arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numerate.processing.flat_rows import FlatRows

if TYPE_CHECKING:
    from collections.abc import Callable

    from numerate.processing.encoding import NumberCollator

__all__ = ["FlatCollator"]


@dataclass(frozen=True)
class FlatCollator:
    """Collates `FlatRows` as a whole, without columns that a model does not take; other rows as the stock Trainer.

    The stock Trainer removes columns row by row, which would make a dict of each row.

    Attributes:
        collate: Pads the rows.
        stock: The stock Trainer's collator around it.
        columns: Names of the fields that the model takes.
        change: Changes a batch, for example pads it to one of few shapes; None for no change.
    """

    collate: NumberCollator
    stock: Any
    columns: frozenset[str]
    change: Callable[[dict[str, Any]], dict[str, Any]] | None = None

    def __call__(self, rows: Any) -> Any:
        """One batch of the rows."""
        if isinstance(rows, FlatRows):
            batch = {key: value for key, value in self.collate(rows).items() if key in self.columns}
        else:
            batch = self.stock(rows)
        return batch if self.change is None else self.change(batch)
