"""Shapes that do not depend on what a batch says, for steps that are recorded once and then replayed (CUDA graphs).

How many numbers and tokens of a batch are predicted is usually found out by looking, for which an accelerator has to be
waited for, and which a recording cannot do. Where all batches have the same counts, they can be told beforehand.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

__all__ = ["Counts", "chosen_rows", "fixed_counts", "has_fixed_shapes", "is_recorded", "numbers_where",
           "tokens_where"]  # fmt: skip


@dataclass(frozen=True)
class Counts:
    """What every batch has as many of.

    Attributes:
        numbers: Numbers that are predicted.
        tokens: Tokens that are predicted; None if batches differ, and all positions are to be looked at.
    """

    numbers: int
    tokens: int | None = None

    def times(self, rows: int) -> Counts:
        """Those of a batch of so many rows that have these each."""
        return Counts(self.numbers * rows, None if self.tokens is None else self.tokens * rows)


# A plain name of the module, which `torch.compile` can follow; it cannot follow a ContextVar.
_counts: Counts | None = None


@contextmanager
def fixed_counts(counts: Counts) -> Iterator[None]:
    """Within, every batch is taken to have these counts; that is not checked, since it would be looking."""
    global _counts
    before, _counts = _counts, counts
    try:
        yield
    finally:
        _counts = before


def is_recorded() -> bool:
    """Whether this is within `fixed_counts`."""
    return _counts is not None


def has_fixed_shapes() -> bool:
    """Whether no shape may depend on what a batch says: within `fixed_counts`, and where a model is compiled."""
    return is_recorded() or torch.compiler.is_compiling()


def numbers_where(wanted: Tensor) -> tuple[Tensor, Tensor]:
    """Where a mask (B, M) of numbers is true, as `wanted.nonzero(as_tuple=True)`.

    Example:
        >>> with fixed_counts(Counts(numbers=2)):
        ...     numbers_where(torch.tensor([[True, False], [False, True]]))
        (tensor([0, 1]), tensor([0, 1]))
    """
    return _places(wanted, None if _counts is None else _counts.numbers)


def tokens_where(wanted: Tensor) -> tuple[Tensor, Tensor] | None:
    """The same of a mask (B, T) of tokens; None where their count is not fixed and may not be looked at."""
    if has_fixed_shapes() and (_counts is None or _counts.tokens is None):
        return None
    return _places(wanted, None if _counts is None else _counts.tokens)


def _places(wanted: Tensor, count: int | None) -> tuple[Tensor, Tensor]:
    found = wanted.nonzero() if count is None else torch.nonzero_static(wanted, size=count)
    rows, columns = found.unbind(1)
    return rows, columns


def chosen_rows(states: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """`states[rows, columns]` of (B, T, D) states: (N, D). The way back is an addition, where that needs a sort."""
    return states.flatten(0, 1).index_select(0, rows * states.shape[1] + columns)
