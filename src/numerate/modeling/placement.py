"""Numbers in a batch of token embeddings: placing their vectors, and finding where they are predicted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional

from numerate.heads.pointer import PointerContext
from numerate.processing.number_table import GIVEN, NumberTable
from numerate.processing.slot_positions import last_tokens, number_positions, table_of
from numerate.processing.static_shapes import has_fixed_shapes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numerate.embedders.base import Embedder

__all__ = ["PLACEMENTS", "earlier_numbers", "place", "rows_at", "vectors_of"]

_ODD = -7046029254386353131
"""The golden ratio as 64 bits; it spreads what it multiplies."""
PLACEMENTS = ("replace", "add", "scale")
"""What a number's vector does to the embedding of its slot."""


def vectors_of(embedder: Embedder, table: NumberTable) -> Tensor:
    """One vector for each number of a (B, M) table; a costly embedder gets numbers that are written alike once.

    Shape:
        Output: (B, M, width).
    """
    flat = table.flat()
    shape = (*table.bits.shape, embedder.width)
    if flat.bits.numel() == 0:
        return torch.zeros(shape, dtype=embedder._dtype(), device=flat.bits.device)
    # To find the distinct ones takes longer than a cheap embedder, and their number is no static shape to compile.
    if not embedder.costly or has_fixed_shapes():
        return embedder(flat).reshape(shape)
    # Eight characters make an integer: rows are sorted by few columns.
    characters = torch.nn.functional.pad(flat.characters, (0, -flat.characters.shape[1] % 8)).view(torch.int64)
    keys = torch.cat([flat.bits[:, None], flat.precision[:, None], characters], dim=1)
    first, inverse = _first_alike(keys)
    return embedder(flat[first])[inverse].reshape(shape)


def _first_alike(keys: Tensor) -> tuple[Tensor, Tensor]:
    """For the distinct among rows (N, K) of integers, where each stands first, and for all rows, which it is.

    By a hash of each row: `unique` of rows reads memory that is not its own in builds for CUDA 13.
    """
    mixed = torch.zeros_like(keys[:, 0])
    for column in keys.unbind(1):
        mixed = (mixed ^ column) * _ODD
        mixed = mixed ^ (mixed >> 29)
    _, inverse = torch.unique(mixed, return_inverse=True)
    order = torch.arange(len(inverse), device=inverse.device)
    first = torch.full_like(inverse, len(inverse)).scatter_reduce_(0, inverse, order, "amin")
    first = first[: int(inverse.max()) + 1]
    # Two rows of one hash are as good as impossible, and would be one number for another: then all are distinct.
    return (first, inverse) if bool((keys[first][inverse] == keys).all()) else (order, order)


def place(embeddings: Tensor, slots: Tensor, table: NumberTable, vectors: Tensor, placement: str) -> Tensor:
    """Puts the vectors of given numbers on their slots; every other embedding stays bit for bit.

    Shape:
        embeddings: (B, T, D). slots: (B, T) int64. vectors: (B, M, D), or (B, M, 1) for `scale`.
    """
    if table.bits.shape[1] == 0:
        return embeddings
    index = (slots - 1).clamp_min(0)
    given = (table.given == GIVEN).gather(1, index) & (slots > 0)
    vectors = vectors.to(embeddings.dtype)
    if vectors.shape[-1] == 1:
        rows = vectors.gather(1, index[..., None])
    else:
        # A product with ones and zeros, exact: a gather's gradient is added up by atomic additions, of all tokens
        # without a number into one row, which is slow on a GPU and adds in any order.
        chosen = (slots[..., None] - 1) == torch.arange(vectors.shape[1], device=slots.device)
        rows = torch.bmm(chosen.to(vectors.dtype), vectors)
    if placement == "replace":
        placed = rows.expand_as(embeddings)
    elif placement == "add":
        placed = embeddings + rows
    elif placement == "scale":
        placed = embeddings * rows
    else:
        raise ValueError(f"placement must be one of {', '.join(PLACEMENTS)}, got {placement=}")
    return torch.where(given[..., None], placed, embeddings)


def rows_at(rows: Tensor, index: Tensor, wanted: Tensor) -> Tensor:
    """Some rows of a small table, one a token; where none is wanted, whatever row.

    Shape:
        rows: (K, D). index, wanted: (B, T). Output: (B, T, D).
    """
    count = rows.shape[0]
    if count == 1:  # its gradient is a sum
        return rows.expand(*index.shape, -1)
    # Tokens that want none are spread over the table: their gradients, all zero, would queue for the first row.
    anywhere = torch.arange(index.shape[-1], device=index.device) % count
    # Not `rows[...]`, whose gradient adds the tokens of a row one after the other.
    return functional.embedding(torch.where(wanted, index, anywhere), rows)


def earlier_numbers(
    hidden: Tensor,
    fields: Mapping[str, Any],
    where: tuple[Tensor, Tensor, Tensor],
    *,
    before: Tensor | None = None,
    delay: int | None = 0,
) -> PointerContext | None:
    """Which numbers of its own text each predicted number may point at: those given, finite and already read.

    Args:
        hidden: (B, T, D) states.
        fields: The batch as the model reads it, with its number table and slots.
        where: Row, token and number index of each predicted number, as `number_positions` gives them.
        before: As there.
        delay: How many tokens after its last one a number has been read; None for a model that sees both sides, where
            every *other* given number may be pointed at.

    Returns:
        None for a batch without a number table.
    """
    table, slots = table_of(fields), fields.get("number_slots")
    if table is None or slots is None:
        return None
    rows, tokens, numbers = where
    count = table.bits.shape[1]
    given = (table.given == GIVEN) & table.values().isfinite()
    last = last_tokens(slots, count)
    given = given & (last >= 0)
    seen = given[rows] & (torch.arange(count, device=slots.device) != numbers[:, None])  # never the number itself
    if delay is not None:
        seen = seen & (last[rows] + delay <= tokens[:, None])
    text, token, number = number_positions(slots, given, before=before, stay=True)
    read = (last[text, number] + (delay or 0)).clamp_max(slots.shape[1] - 1)
    blank = hidden.new_zeros(*table.bits.shape, hidden.shape[-1])
    told, asked = (blank.index_put((text, number), hidden[text, place]) for place in (read, token))
    return PointerContext(table, told, asked, rows, numbers, seen)
