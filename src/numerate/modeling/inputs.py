"""Inputs of a `NumberModel`'s backbone: token embeddings with the vectors of numbers in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from numerate.modeling.placement import place, rows_at, vectors_of
from numerate.processing.slot_positions import NumberPlaces

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import Tensor, nn

    from numerate.modeling.number_model import NumberModel

__all__ = ["NumberVectors", "decoder_inputs", "embed", "late_change", "number_vectors"]


class NumberVectors(NamedTuple):
    """The places of a batch's numbers and their vectors (B, M, width)."""

    places: NumberPlaces
    vectors: Tensor


def number_vectors(
    model: NumberModel, fields: Mapping[str, Any], places: NumberPlaces | None = None
) -> NumberVectors | None:
    """Places and vectors of a batch's numbers; None without an embedder or a table."""
    places = NumberPlaces.of(fields) if places is None else places
    if model.embedder is None or places is None:
        return None
    vectors = vectors_of(model.embedder, places.table)
    if model.relations is not None:
        vectors = vectors + model.relations(places.slots, places.table, places)
    return NumberVectors(places, vectors)


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
    (places, vectors), length = numbers, ids.shape[1]
    gated = vectors if model.gate is None else model.gate(vectors)
    placed = place(embeddings, places.slots[:, -length:], places.table, gated, model.placement)
    return placed if model.reach is None else model.reach(placed, places.slots, places.table, vectors, places)


def late_change(model: NumberModel, numbers: NumberVectors | None) -> Callable[[Tensor], Tensor] | None:
    """The function that adds vectors to the backbone's last hidden state, for `late_reach`; None if there are none."""
    late = model.late_reach
    if late is None or numbers is None:
        return None
    places, vectors = numbers
    return lambda state: late(state, places.slots, places.table, vectors, places)


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
        ids = _shifted(model, labels)
        fields = fields | {"input_ids": ids, "number_slots": shifted}
    elif slots is not None and zero is not None:
        predicted = fields | {"number_slots": torch.cat([slots[:, 1:], zero], dim=1)}
    return embed(model, model.backbone.get_decoder().get_input_embeddings(), fields), predicted


def _shifted(model: NumberModel, labels: Tensor) -> Tensor:
    """Labels (B, T) moved by one token, behind the decoder's first one: the decoder's inputs."""
    backbone: Any = model.backbone
    if hasattr(backbone, "prepare_decoder_input_ids_from_labels"):
        return backbone.prepare_decoder_input_ids_from_labels(labels)
    start = torch.full_like(labels[:, :1], backbone.config.decoder_start_token_id)
    moved = torch.cat([start, labels[:, :-1]], dim=1)
    return moved.masked_fill(moved == -100, backbone.config.pad_token_id or 0)
