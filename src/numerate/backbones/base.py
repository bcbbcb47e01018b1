"""Code that the backbones share: checks of sizes and inputs, embeddings and the token loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch.nn import functional
from transformers import PreTrainedModel

if TYPE_CHECKING:
    from torch import Tensor, nn

__all__ = ["Backbone", "check_sizes", "token_cross_entropy"]


def check_sizes(config: Any, *names: str) -> None:
    """Raises an error if a size of a config is not positive (None is allowed), or `dropout` is not in [0, 1)."""
    for name in names:
        value = getattr(config, name)
        if value is not None and value < 1:
            raise ValueError(f"{name} must be positive, got {name}={value}")
    if not 0 <= config.dropout < 1:
        raise ValueError(f"dropout must be in [0, 1), got dropout={config.dropout}")


def token_cross_entropy(logits: Tensor, labels: Tensor | None, shift: bool) -> Tensor | None:
    """Mean cross-entropy of logits (B, T, V) and labels (B, T), -100 ignored; with `shift`, of the next token."""
    if labels is None:
        return None
    if shift:
        logits, labels = logits[:, :-1], labels[:, 1:]
    targets = labels.reshape(-1).to(logits.device)
    return functional.cross_entropy(logits.flatten(0, 1).float(), targets, ignore_index=-100)


class Backbone(PreTrainedModel):
    """A Hugging Face model whose token vectors are `words` and whose output matrix, if any, is `output`."""

    main_input_name = "input_ids"
    _input_embed_layer = "words"

    def get_output_embeddings(self) -> nn.Module | None:
        """The output matrix."""
        return getattr(self, "output", None)

    def set_output_embeddings(self, new_embeddings: nn.Module) -> None:
        """Replaces the output matrix."""
        self.output = new_embeddings  # type: ignore[assignment]

    def _embedded(self, input_ids: Tensor | None, inputs_embeds: Tensor | None, mask: Tensor | None) -> Tensor:
        """Token vectors (B, T, E) of one of the two inputs, after checking their shape against the attention mask."""
        if (input_ids is None) == (inputs_embeds is None):
            raise ValueError("give either input_ids or inputs_embeds")
        vectors = self.get_input_embeddings()(input_ids) if inputs_embeds is None else inputs_embeds
        if mask is not None and mask.shape != vectors.shape[:2]:
            raise ValueError(f"attention_mask must be (B, T) = {tuple(vectors.shape[:2])}, got {tuple(mask.shape)}")
        return vectors

    def _gives_states(self, output_hidden_states: bool | None) -> bool:
        return bool(self.config.output_hidden_states if output_hidden_states is None else output_hidden_states)
