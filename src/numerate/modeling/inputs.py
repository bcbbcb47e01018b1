"""Inputs of a `NumberModel`'s backbone: token embeddings with the vectors of numbers in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from numerate.modeling.placement import place, rows_at, vectors_of
from numerate.processing.slot_positions import table_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import Tensor, nn

    from numerate.modeling.number_model import NumberModel
    from numerate.processing.number_table import NumberTable

__all__ = ["NumberVectors", "decoder_inputs", "embed", "late_change", "number_vectors"]

NumberVectors = tuple["Tensor", "NumberTable", "Tensor"]
"""The slots (B, T), the number table (B, M) and the numbers' vectors (B, M, width) of a batch."""


def number_vectors(model: NumberModel, fields: Mapping[str, Any]) -> NumberVectors | None:
    """Slots, number table and vectors of a batch's numbers; None without an embedder or a table."""
    table, slots = table_of(fields), fields["number_slots"]
    if model.embedder is None or table is None or slots is None:
        return None
    vectors = vectors_of(model.embedder, table)
    return slots, table, vectors if model.relations is None else vectors + model.relations(slots, table)


def embed(
    model: NumberModel, words: nn.Module, fields: Mapping[str, Any], numbers: NumberVectors | None = None
) -> Tensor:
    """Token embeddings (B, T, D) of a batch with our own rows and the numbers' vectors in them.

    `words` is the backbone's embedding layer; `numbers`, the output of `number_vectors`, is computed here by default.
    The slots may start before the T tokens: in cached generation, they cover the tokens in the cache, too.
    """
    ids: Tensor = fields["input_ids"]
    first_id = model.processor.first_id
    own = ids >= first_id
    embeddings = words(ids.masked_fill(own, 0))
    rows = rows_at(model.own_rows.to(embeddings.dtype), ids - first_id, own)
    embeddings = torch.where(own[..., None], rows, embeddings)
    numbers = number_vectors(model, fields) if numbers is None else numbers
    if numbers is None:
        return embeddings
    slots, table, vectors = numbers
    gated = vectors if model.gate is None else model.gate(vectors)
    placed = place(embeddings, slots[:, -ids.shape[1] :], table, gated, model.placement)
    return placed if model.reach is None else model.reach(placed, slots, table, vectors)


def late_change(model: NumberModel, numbers: NumberVectors | None) -> Callable[[Tensor], Tensor] | None:
    """The function that adds vectors to the backbone's last hidden state, for `late_reach`; None if there are none."""
    late = model.late_reach
    return None if late is None or numbers is None else lambda state: late(state, *numbers)


def decoder_inputs(model: NumberModel, fields: dict[str, Any], labels: Tensor | None) -> tuple[Tensor, dict[str, Any]]:
    """The decoder's embeddings, and its fields with slots aligned to the tokens that predict, as labels are.

    If the decoder's fields have no `input_ids`, these are the shifted `labels` (B, T), -100 where there is none.
    """
    slots = fields["number_slots"]
    zero = None if slots is None else torch.zeros_like(slots[:, :1])
    predicted = fields
    if fields["input_ids"] is None:
        if labels is None:
            raise ValueError("an encoder-decoder needs labels or decoder_input_ids")
        shifted = None if slots is None or zero is None else torch.cat([zero, slots[:, :-1]], dim=1)
        ids = model.backbone.prepare_decoder_input_ids_from_labels(labels)  # type: ignore[operator]
        fields = fields | {"input_ids": ids, "number_slots": shifted}
    elif slots is not None and zero is not None:
        predicted = fields | {"number_slots": torch.cat([slots[:, 1:], zero], dim=1)}
    return embed(model, model.backbone.get_decoder().get_input_embeddings(), fields), predicted
