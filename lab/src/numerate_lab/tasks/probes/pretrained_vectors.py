"""Number vectors of pretrained models: the embedder of a saved one, or the pooled output of any Hugging Face model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from numerate_lab.tasks.finetuning.starting_points import plain_config

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from numerate.embedders.base import Embedder

__all__ = ["pooled_vectors", "saved_embedder"]

_BATCH = 1024


def saved_embedder(folder: str) -> Embedder | None:
    """The embedder of a model that numerate has saved; None for any other model."""
    if not (Path(folder) / "number_config.json").is_file():
        return None
    from numerate.modeling.attaching import from_pretrained

    found: Any = from_pretrained(folder).embedder
    if found is None:
        raise ValueError(f"{folder}: the saved model has no embedder; give a model with one")
    return found.to(torch.float32)


@torch.no_grad()
def pooled_vectors(model: str, texts: Sequence[str], device: torch.device) -> Tensor:
    """Mean of a model's last hidden states over the tokens of each text, in float32: (N, width).

    Args:
        model: A folder or Hub name; of an encoder-decoder, the encoder is taken.
        texts: Written numbers.
        device: Where to compute.
    """
    from transformers import AutoModel, AutoTokenizer

    plain_config(model)  # a missing model is told by its name
    tokenizer, backbone = AutoTokenizer.from_pretrained(model), AutoModel.from_pretrained(model)
    encoder = backbone.get_encoder() if getattr(backbone.config, "is_encoder_decoder", False) else backbone
    encoder = encoder.to(device).eval()
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    # Numbers of one length have about as many tokens: little padding.
    order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
    found: Tensor | None = None
    for begin in range(0, len(order), _BATCH):
        places = order[begin : begin + _BATCH]
        batch = tokenizer([texts[place] for place in places], padding=True, return_tensors="pt").to(device)
        fields = {key: batch[key] for key in ("input_ids", "attention_mask")}
        states = encoder(**fields).last_hidden_state.float()
        seen = batch["attention_mask"][..., None].float()
        vectors = (states * seen).sum(1) / seen.sum(1).clamp_min(1)
        found = vectors.new_zeros(len(texts), vectors.shape[1]) if found is None else found
        found[places] = vectors
    return torch.zeros(0, 0) if found is None else found
