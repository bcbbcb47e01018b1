"""Numbers in a batch of token embeddings: placing their vectors, and finding the ones asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from numerate.batch import GIVEN, NumberTable

if TYPE_CHECKING:
    from numerate.embedders.base import Embedder

__all__ = ["PLACEMENTS", "number_positions", "place", "table_of", "vectors_of"]

PLACEMENTS = ("replace", "add", "scale")
"""What a number's vector does to the embedding of its slot."""


def table_of(fields: dict[str, Any], prefix: str = "") -> NumberTable | None:
    """The number table among a model's keyword arguments; None if it is absent."""
    bits = fields.get(f"{prefix}number_bits")
    if bits is None:
        return None
    given = fields.get(f"{prefix}number_given")
    precision, characters = fields.get(f"{prefix}number_precision"), fields.get(f"{prefix}number_chars")
    return NumberTable(
        bits,
        characters if characters is not None else bits.new_zeros((*bits.shape, 0), dtype=torch.uint8),
        precision if precision is not None else bits.new_zeros(bits.shape, dtype=torch.int16),
        given if given is not None else torch.full_like(bits, GIVEN, dtype=torch.uint8),
    )


def vectors_of(embedder: Embedder, table: NumberTable) -> Tensor:
    """One vector for each number of a (B, M) table; equal numbers are embedded once.

    Shape:
        Output: (B, M, width).
    """
    flat = table.flat()
    shape = (*table.bits.shape, embedder.width)
    if flat.bits.numel() == 0:
        return torch.zeros(shape, dtype=embedder._dtype(), device=flat.bits.device)
    if torch.compiler.is_compiling():  # the number of distinct numbers is no static shape
        return embedder(flat).reshape(shape)
    keys = torch.cat([flat.bits[:, None], flat.precision[:, None], flat.characters], dim=1)
    _, inverse = torch.unique(keys, dim=0, return_inverse=True)
    first = torch.full((int(inverse.max()) + 1,), len(inverse), device=inverse.device, dtype=torch.int64)
    first.scatter_reduce_(0, inverse, torch.arange(len(inverse), device=inverse.device), "amin")
    return embedder(flat[first])[inverse].reshape(shape)


def place(embeddings: Tensor, slots: Tensor, table: NumberTable, vectors: Tensor, placement: str) -> Tensor:
    """Puts the vectors of given numbers on their slots; every other embedding stays bit for bit.

    Shape:
        embeddings: (B, T, D). slots: (B, T) int64. vectors: (B, M, D), or (B, M, 1) for `scale`.
    """
    if table.bits.shape[1] == 0:
        return embeddings
    index = (slots - 1).clamp_min(0)
    given = (table.given == GIVEN).gather(1, index) & (slots > 0)
    rows = vectors.to(embeddings.dtype).gather(1, index[..., None].expand(-1, -1, vectors.shape[-1]))
    if placement == "replace":
        placed = rows.expand_as(embeddings)
    elif placement == "add":
        placed = embeddings + rows
    elif placement == "scale":
        placed = embeddings * rows
    else:
        raise ValueError(f"placement must be one of {', '.join(PLACEMENTS)}, however: {placement=}")
    return torch.where(given[..., None], placed, embeddings)


def number_positions(slots: Tensor, wanted: Tensor, shift: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """Where some numbers stand.

    Args:
        slots: (B, T) slots.
        wanted: (B, M) which numbers are sought.
        shift: -1 where the position *before* a number predicts it, as in causal models.

    Returns:
        Row, token and number index of each that has a token: three (N,) tensors.
    """
    batch, length = slots.shape
    first = torch.full((batch, wanted.shape[1] + 1), length, device=slots.device, dtype=torch.int64)
    tokens = torch.arange(length, device=slots.device).expand(batch, -1)
    first = first.scatter_reduce(1, slots, tokens, "amin")[:, 1:]
    rows, numbers = (wanted & (first < length)).nonzero(as_tuple=True)
    return rows, (first[rows, numbers] + shift).clamp_min(0), numbers
