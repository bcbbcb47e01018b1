"""Numbers in a batch of token embeddings: placing their vectors, and finding where they are predicted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional

from numerate.batch import GIVEN, NumberTable
from numerate.fixed_shapes import has_fixed_shapes, numbers_where
from numerate.heads.copied import Earlier

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numerate.embedders.base import Embedder

__all__ = [
    "PLACEMENTS",
    "earlier_numbers",
    "first_tokens",
    "number_positions",
    "place",
    "rows_at",
    "table_of",
    "vectors_of",
]

_ODD = -7046029254386353131
"""The golden ratio as 64 bits; it spreads what it multiplies."""
PLACEMENTS = ("replace", "add", "scale")
"""What a number's vector does to the embedding of its slot."""


def table_of(fields: Mapping[str, Any]) -> NumberTable | None:
    """The number table among a batch's fields; None if it is absent. Only `number_bits` is needed."""
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
        raise ValueError(f"placement must be one of {', '.join(PLACEMENTS)}, however: {placement=}")
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


def first_tokens(slots: Tensor, numbers: int, written: bool = False) -> Tensor:
    """The first token of each of a row's numbers, T for one that has none.

    Args:
        slots: (B, T) int64.
        numbers: How many numbers a row has at most.
        written: Of all the tokens that write a number, not of its slot alone.

    Returns:
        (B, numbers) int64.

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
    """The last token that writes each of a row's numbers, -1 for one that has none: (B, numbers) int64.

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
    """Where some numbers are predicted.

    Args:
        slots: (B, T) slots.
        wanted: (B, M) which numbers are sought.
        before: For causal models, (B, T): which tokens are real. A number is then predicted by the token before it, and
            before the subwords that write it.
        stay: What becomes of a number with no real token before it: predicted where it stands, instead of left out.

    Returns:
        Row, token and number index of each that has a token: three (N,) tensors.
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


def earlier_numbers(
    hidden: Tensor,
    fields: Mapping[str, Any],
    where: tuple[Tensor, Tensor, Tensor],
    *,
    before: Tensor | None = None,
    delay: int | None = 0,
) -> Earlier | None:
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
    return Earlier(table, told, asked, rows, numbers, seen)
