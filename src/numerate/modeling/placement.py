"""Places the vectors of numbers in a batch of token embeddings, and finds the numbers that a head may copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional

from numerate.heads.pointer import PointerContext
from numerate.processing.number_table import GIVEN, NumberTable
from numerate.processing.slot_positions import NumberPlaces, predicting_tokens
from numerate.processing.static_shapes import has_fixed_shapes, may_wait

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numerate.embedders.base import Embedder

__all__ = ["PLACEMENTS", "earlier_numbers", "place", "rows_at", "vectors_of"]

_ODD = -7046029254386353131
"""The golden ratio as 64 bits: a multiplier that spreads hash values."""
PLACEMENTS = {"replace": lambda old, rows: rows.expand_as(old), "add": torch.add, "scale": torch.mul}
"""What a number's vector can do to the embedding at its slot."""


def vectors_of(embedder: Embedder, table: NumberTable) -> Tensor:
    """One vector for each number of a (B, M) table; a costly embedder computes equal numbers only once.

    Shape:
        Output: (B, M, width).
    """
    flat = table.flat()
    shape = (*table.bits.shape, embedder.width)
    if flat.bits.numel() == 0:
        return torch.zeros(shape, dtype=embedder._dtype(), device=flat.bits.device)
    # Finding the distinct numbers takes longer than a cheap embedder, and gives shapes that depend on the data.
    if not (embedder.costly and may_wait()) or has_fixed_shapes():
        return embedder(flat).reshape(shape)
    # Eight characters are packed into one integer, so that a row has few columns.
    characters = torch.nn.functional.pad(flat.characters, (0, -flat.characters.shape[1] % 8)).view(torch.int64)
    keys = torch.cat([flat.bits[:, None], flat.precision[:, None], characters], dim=1)
    first, inverse = _distinct_rows(keys)
    return embedder(flat[first])[inverse].reshape(shape)


def _distinct_rows(keys: Tensor) -> tuple[Tensor, Tensor]:
    """The first index of each distinct row of (N, K) integers, and for every row the number of its distinct row.

    Rows are compared by a hash: `torch.unique` of rows reads invalid memory in builds for CUDA 13.
    """
    mixed = torch.zeros_like(keys[:, 0])
    for column in keys.unbind(1):
        mixed = (mixed ^ column) * _ODD
        mixed = mixed ^ (mixed >> 29)
    values, inverse = torch.unique(mixed, return_inverse=True)
    order = torch.arange(len(inverse), device=inverse.device)
    first = torch.full_like(inverse, len(inverse)).scatter_reduce_(0, inverse, order, "amin")
    first = first[: len(values)]
    # Two rows with the same hash are next to impossible; if it happens, all rows are treated as distinct.
    return (first, inverse) if bool((keys[first][inverse] == keys).all()) else (order, order)


def place(embeddings: Tensor, slots: Tensor, table: NumberTable, vectors: Tensor, placement: str) -> Tensor:
    """Places the vectors of given numbers at their slots; every other embedding stays the same, bit for bit.

    Shape:
        embeddings: (B, T, D). slots: (B, T) int64. vectors: (B, M, D), or (B, M, 1) for `scale`.
    """
    if placement not in PLACEMENTS:
        raise ValueError(f"placement must be one of {', '.join(PLACEMENTS)}, got {placement=}")
    count = table.bits.shape[1]
    if count == 0:
        return embeddings
    given = table.given == GIVEN
    chosen = (slots[..., None] == torch.arange(1, count + 1, device=slots.device)) & given[:, None]
    vectors = vectors.to(embeddings.dtype)
    # An exact product with ones and zeros. The gradient of a gather would be summed by atomic additions, for all
    # tokens without a number into one row, which is slow on a GPU and not deterministic.
    rows = torch.bmm(chosen.to(vectors.dtype), vectors)
    if placement == "add":
        return embeddings + rows
    return torch.where(chosen.any(-1, keepdim=True), PLACEMENTS[placement](embeddings, rows), embeddings)


def rows_at(rows: Tensor, index: Tensor, wanted: Tensor) -> Tensor:
    """One row of a small table for each token; any row where `wanted` is false.

    Shape:
        rows: (K, D). index, wanted: (B, T). Output: (B, T, D).
    """
    count = rows.shape[0]
    if count == 1:  # its gradient is a sum
        return rows.expand(*index.shape, -1)
    # Tokens that need no row are spread over the table: their zero gradients would all queue for the first row.
    anywhere = torch.arange(index.shape[-1], device=index.device) % count
    # Not `rows[...]`, whose gradient is summed token by token.
    return functional.embedding(torch.where(wanted, index, anywhere), rows)


def earlier_numbers(
    hidden: Tensor, fields: Mapping[str, Any], where: tuple[Tensor, Tensor, Tensor],
    *, before: Tensor | None = None, delay: int | None = 0, places: NumberPlaces | None = None, queries: bool = True,
) -> PointerContext | None:  # fmt: skip
    """The numbers of its text that each predicted number may copy: given, finite and already read.

    Args:
        hidden: (B, T, D) hidden states.
        fields: The batch as the model reads it, with its number table and slots.
        where: Row, token and number index of each predicted number: the output of `number_positions`.
        before: For causal models, (B, T): which tokens are not padding.
        delay: How many tokens after its last one a number has been read; None for a model that attends to both sides,
            where every *other* given number may be copied.
        places: Places of the numbers in the fields, if they are known already.
        queries: Whether the head reads `query_states`.

    Returns:
        None for a batch without a number table.
    """
    places = NumberPlaces.of(fields) if places is None else places
    if places is None:
        return None
    rows, tokens, numbers = where
    last, length = places.last, places.slots.shape[1]
    given = places.known & (last >= 0)
    index = torch.arange(places.count, device=last.device)
    seen = given[rows] & (index != numbers[:, None])  # a number never copies itself
    if delay is not None:
        seen = seen & (last[rows] + delay <= tokens[:, None])
    read = [last + delay if delay else last]
    if queries:
        first = places.slot if before is None else places.first
        read.append(predicting_tokens(first, given, length, before=before, stay=True)[1])
    start = length * torch.arange(last.shape[0], device=last.device)[:, None]
    # Numbers that are not given are never visible, so their states may be those of any token.
    states = [
        hidden.flatten(0, 1).index_select(0, (start + token.clamp(0, length - 1)).flatten()).unflatten(0, last.shape)
        for token in read
    ]
    return PointerContext(places.table, states[0], states[1] if queries else None, rows, numbers, seen)
