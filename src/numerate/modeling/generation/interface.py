"""What a `NumberModel` needs to generate: its encoder alone, and its decoder token by token with a cache."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from numerate.modeling.generation import Generation, generate
from numerate.modeling.introspection import base_of, evaluating
from numerate.processing.scaling import EVERYTHING

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Speaks"]


class Speaks:
    """The part of a `NumberModel` that generates; `numerate.modeling.generation` works over what it offers."""

    backbone: Any
    info: Any
    processor: Any
    last_state: Any
    _embed: Any
    _finish: Any

    def generate(self, prompts: str | list[str], max_new_tokens: int = 64, **options: Any) -> Generation:
        """Goes on from prompts in words and numbers, see `numerate.modeling.generation.generate`."""
        if not (self.info.is_language_model and (self.info.is_causal or self.info.is_encoder_decoder)):
            raise ValueError(f"generate needs a model that reads from left to right, got {self.info.task!r}")
        scaling = self.processor.scaling
        if scaling is not None and scaling.by != "none":
            fields = [key for key in scaling.fields if key not in ("", EVERYTHING)]
            if fields:  # a number that is said has no field: it would be scaled as another's
                raise ValueError(f"generate: numbers are scaled by {scaling.by} ({fields[0]!r}, ...); it takes 'none'")
        with evaluating(self):  # type: ignore[arg-type]
            return generate(
                self,  # type: ignore[arg-type]
                self.processor,
                prompts,
                max_new_tokens,
                **options,
            )

    def first_tokens(self) -> tuple[int | None, frozenset[int]]:
        """What its decoder begins with (None without an encoder), and what ends a text."""
        settings = getattr(base_of(self.backbone), "generation_config", None)
        ends = getattr(settings, "eos_token_id", None)
        ends = self.processor.tokenizer.eos_token_id if ends is None else ends
        start = getattr(settings, "decoder_start_token_id", None)
        start = self.backbone.config.decoder_start_token_id if start is None and self.info.is_encoder_decoder else start
        several = ends if isinstance(ends, list) else [] if ends is None else [ends]
        return start if self.info.is_encoder_decoder else None, frozenset(several)

    def encode(self, fields: dict[str, Any]) -> Any:
        """What the encoder of an encoder-decoder makes of a batch."""
        embeddings = self._embed(self.backbone.get_input_embeddings(), fields)
        encoder: Any = base_of(self.backbone).get_encoder()
        return encoder(inputs_embeds=embeddings, attention_mask=fields["attention_mask"], return_dict=True)

    def read_on(
        self, fields: dict[str, Any], past: Any = None, encoded: Any = None, cached: bool = True
    ) -> tuple[Tensor, Tensor, Any]:
        """Reads on in a text: one step of generation.

        Args:
            fields: The new tokens with their number table; `attention_mask` is of all, `encoder_mask` of the encoder's.
            past: The cache of what was read before.
            encoded: What `encode` gave, for an encoder-decoder.
            cached: Whether to keep what is read.

        Returns:
            The logits (B, V) and the state (B, hidden) at the last token, and the cache, None if there is none.
        """
        takes = inspect.signature(base_of(self.backbone).forward).parameters
        passed: dict[str, Any] = {"past_key_values": past, "use_cache": cached, "return_dict": True}
        passed |= {"logits_to_keep": 1} if "logits_to_keep" in takes else {}
        mask = fields["attention_mask"]
        if encoded is not None:
            embeddings = self._embed(self.backbone.get_decoder().get_input_embeddings(), fields)
            passed |= {"encoder_outputs": encoded, "attention_mask": fields["encoder_mask"]}
            output, hidden = self.last_state.run(self.backbone, decoder_inputs_embeds=embeddings, **passed)
        else:
            embeddings = self._embed(self.backbone.get_input_embeddings(), fields)
            if "position_ids" in takes:
                after = self.info.positions_after
                places = mask.cumsum(1) - 1 if after is None else mask.cumsum(1) * mask + after
                passed["position_ids"] = places.clamp_min(0)[:, -embeddings.shape[1] :]
            output, hidden = self.last_state.run(self.backbone, inputs_embeds=embeddings, attention_mask=mask, **passed)
        if hidden is None:
            raise ValueError(f"{type(self.backbone).__name__} does not give its last hidden state")
        output.logits, last = output.logits[:, -1:], {"input_ids": fields["input_ids"][:, -1:], "number_slots": None}
        result = self._finish(output, hidden[:, -1:], last, None, False)
        return result.logits[:, -1], hidden[:, -1], output.get("past_key_values")
