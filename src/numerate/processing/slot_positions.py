"""Positions of a batch's numbers: their first and last tokens, and the tokens that predict them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from numerate.processing.number_table import GIVEN, NumberTable
from numerate.processing.static_shapes import numbers_where

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

__all__ = ["first_tokens", "last_tokens", "number_positions", "table_of"]


def table_of(fields: Mapping[str, Any]) -> NumberTable | None:
    """The number table in a batch's fields; None without `number_bits`, the only field it needs."""
    bits = fields.get("number_bits")
    if bits is None:
        return None
    given, precision, characters = (fields.get(f"number_{name}") for name in ("given", "precision", "chars"))
    return NumberTable(
        bits,
        characters if characters is not None else bits.new_zeros((*bits.shape, 0), dtype=torch.uint8),
        precision if precision is not None else bits.new_zeros(bits.shape, dtype=torch.int16),
        given if given is not None else torch.full_like(bits, GIVEN, dtype=torch.uint8),
    )


def first_tokens(slots: Tensor, numbers: int, written: bool = False) -> Tensor:
    """The first token of each of a row's numbers in slots (B, T); T for a number without tokens: (B, numbers) int64.

    With `written`, all tokens that write a number count, not only its slot.

    Example:
        >>> first_tokens(torch.tensor([[0, 1, 1, -3, 3]]), 3).tolist()
        [[1, 5, 4]]
        >>> first_tokens(torch.tensor([[0, 1, 1, -3, 3]]), 3, written=True).tolist()
        [[1, 5, 3]]
    """
    batch, length = slots.shape
    slots = slots.abs() if written else slots.clamp_min(0)
    first = torch.full((batch, numbers + 1), length, device=slots.device, dtype=torch.int64)
    tokens = torch.arange(length, device=slots.device).expand(batch, -1)
    return first.scatter_reduce(1, slots, tokens, "amin")[:, 1:]


def last_tokens(slots: Tensor, numbers: int) -> Tensor:
    """The last token that writes each of a row's numbers; -1 for a number without tokens: (B, numbers) int64.

    Example:
        >>> last_tokens(torch.tensor([[0, 1, 1, -3, 3]]), 3).tolist()
        [[2, -1, 4]]
    """
    tokens = torch.arange(slots.shape[1], device=slots.device).expand_as(slots)
    none = torch.full((len(slots), numbers + 1), -1, device=slots.device)
    return none.scatter_reduce(1, slots.abs(), tokens, "amax")[:, 1:]


def number_positions(
    slots: Tensor, wanted: Tensor, *, before: Tensor | None = None, stay: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """The positions where numbers are predicted.

    Args:
        slots: (B, T) slots.
        wanted: (B, M) which numbers are predicted.
        before: For causal models, (B, T) which tokens are not padding: a number is predicted by the token before its
            first one.
        stay: Predict a number without a real token before it at its own token, instead of leaving it out.

    Returns:
        Row, token and number index of each number that has tokens: three (N,) tensors.
    """
    position = first_tokens(slots, wanted.shape[1], written=before is not None)
    wanted = wanted & (position < slots.shape[1])
    if before is not None:
        previous = position - 1
        seen = (previous >= 0) & before.bool().gather(1, previous.clamp(0, slots.shape[1] - 1))
        wanted = wanted if stay else wanted & seen
        position = torch.where(seen, previous, position)
    rows, numbers = numbers_where(wanted)
    return rows, position[rows, numbers], numbers
