"""Shapes that do not depend on what a batch says, for steps that are recorded once and then replayed (CUDA graphs).

How many numbers of a batch are predicted is usually found out by looking, for which an accelerator has to be waited
for, and which a recording cannot do. Where all batches have the same count, it can be told beforehand.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

__all__ = ["fixed_count", "has_fixed_shapes", "where_true"]

_count: ContextVar[int | None] = ContextVar("numbers predicted a batch", default=None)


@contextmanager
def fixed_count(numbers: int) -> Iterator[None]:
    """Within, every batch is taken to have so many numbers to be predicted.

    Args:
        numbers: Of a batch; it is not checked, since that would be looking.
    """
    before = _count.set(numbers)
    try:
        yield
    finally:
        _count.reset(before)


def has_fixed_shapes() -> bool:
    """Whether no shape may depend on what a batch says: in `fixed_count`, and where a model is compiled."""
    return _count.get() is not None or torch.compiler.is_compiling()


def where_true(wanted: Tensor) -> tuple[Tensor, ...]:
    """Where a mask is true, as `wanted.nonzero(as_tuple=True)`; in `fixed_count`, so many places.

    Example:
        >>> with fixed_count(2):
        ...     where_true(torch.tensor([[True, False], [False, True]]))
        (tensor([0, 1]), tensor([0, 1]))
    """
    count = _count.get()
    if count is None:
        return wanted.nonzero(as_tuple=True)
    return torch.nonzero_static(wanted, size=count).unbind(1)
