"""Runs a `NumberModel` step by step for generation: the encoder once, then the decoder token by token with a cache."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from numerate.modeling.inputs import embed, late_change, number_vectors
from numerate.modeling.introspection import base_of, run_with_embeddings
from numerate.modeling.last_state import check_length
from numerate.modeling.outputs import Predicted, number_outputs
from numerate.processing.scaling import EVERYTHING

if TYPE_CHECKING:
    from torch import Tensor

    from numerate.modeling.number_model import NumberModel

__all__ = ["check_can_generate", "encode", "next_token_logits", "start_and_end_tokens"]


def check_can_generate(model: NumberModel) -> None:
    """Refuses a model that cannot continue texts, or whose numbers have no value without a field."""
    info, scaling = model.info, model.processor.scaling
    if not (info.is_language_model and (info.is_causal or info.is_encoder_decoder)):
        raise ValueError(f"generate needs a model that reads from left to right, got {info.task!r}")
    model._refuse_offload()
    if scaling is not None and scaling.by != "none":
        fields = [key for key in scaling.fields if key not in ("", EVERYTHING)]
        if fields:  # a generated number belongs to no field, so that nobody knows its scale
            raise ValueError(f"generate: numbers are scaled by {scaling.by} ({fields[0]!r}, ...); it takes 'none'")


def start_and_end_tokens(model: NumberModel) -> tuple[int | None, frozenset[int]]:
    """The first token of an encoder-decoder's decoder (None for a causal model), and the tokens that end a text."""
    settings = getattr(base_of(model.backbone), "generation_config", None)
    ends: Any = getattr(settings, "eos_token_id", None)
    ends = model.processor.tokenizer.eos_token_id if ends is None else ends
    several = frozenset(ends if isinstance(ends, list) else [] if ends is None else [ends])
    if not model.info.is_encoder_decoder:
        return None, several
    start = getattr(settings, "decoder_start_token_id", None)
    return model.backbone.config.decoder_start_token_id if start is None else start, several


def encode(model: NumberModel, fields: dict[str, Any]) -> Any:
    """The output of an encoder-decoder's encoder for a batch."""
    embeddings = embed(model, model.backbone.get_input_embeddings(), fields)
    encoder: Any = base_of(model.backbone).get_encoder()
    passed = {"inputs_embeds": embeddings, "attention_mask": fields["attention_mask"]}
    try:
        return encoder(**passed, return_dict=True)
    except (IndexError, RuntimeError) as error:
        check_length(model.backbone, passed, error)
        raise


def next_token_logits(
    model: NumberModel, fields: dict[str, Any], past: Any = None, encoded: Any = None, cached: bool = True
) -> tuple[Tensor, Tensor, Any]:
    """One step of generation: reads new tokens and predicts the next one.

    Args:
        model: The model.
        fields: The new tokens with their number table; `attention_mask` and `number_slots` cover all tokens, those
            before included.
        past: The cache of the tokens before.
        encoded: The output of `encode`, for an encoder-decoder.
        cached: Whether to return a cache.

    Returns:
        Logits (B, V) and hidden state (B, hidden) at the last token, and the cache; None if there is none.
    """
    backbone = model.backbone
    takes = inspect.signature(base_of(backbone).forward).parameters
    passed: dict[str, Any] = {"past_key_values": past} if "past_key_values" in takes else {}
    passed |= {"use_cache": cached, "return_dict": True}
    passed |= {"logits_to_keep": 1} if "logits_to_keep" in takes else {}
    mask, numbers = fields["attention_mask"], number_vectors(model, fields)
    model.last_state.change = late_change(model, numbers)
    if encoded is not None:
        embeddings = embed(model, backbone.get_decoder().get_input_embeddings(), fields, numbers)
        passed |= {"encoder_outputs": encoded, "attention_mask": fields["encoder_mask"]}
        output, hidden = model.last_state.run(backbone, decoder_inputs_embeds=embeddings, **passed)
    else:
        embeddings = embed(model, backbone.get_input_embeddings(), fields, numbers)
        if "position_ids" in takes:
            after = model.info.positions_after
            places = mask.cumsum(1) - 1 if after is None else mask.cumsum(1) * mask + after
            passed["position_ids"] = places.clamp_min(0)[:, -embeddings.shape[1] :]
        output, hidden = run_with_embeddings(
            backbone, model.info, model.last_state, model._plain(fields), embeddings, attention_mask=mask, **passed
        )
    if hidden is None:
        raise ValueError(f"{type(backbone).__name__} does not return its last hidden state")
    output.logits, last = output.logits[:, -1:], {"input_ids": fields["input_ids"][:, -1:], "number_slots": None}
    result: Any = number_outputs(model, output, hidden[:, -1:], Predicted(model, last))
    return result.logits[:, -1], hidden[:, -1], output.get("past_key_values")
