"""Number prompts: every layer of an encoder attends to keys and values that are made from the vectors of numbers.

LUNA (2022) names them among its failed attempts: "number prompts that give additional key and value for each
transformer layer instead of directly inputting NumBed". The text stays as it is; each number that is read in it is one
more key and value. They have no position.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from numerate.config import ConfigError
from numerate.modeling.introspection import base_of
from numerate.modeling.placement import vectors_of
from numerate.modeling.saving import build_part
from numerate.processing.number_table import GIVEN
from numerate.processing.slot_positions import table_of
from numerate.registry import embedders

if TYPE_CHECKING:
    from numerate.embedders.base import Embedder
    from numerate.modeling.number_model import NumberModel
    from numerate.processing.number_table import NumberTable

__all__ = ["NumberPrompts", "add_prompts"]

_INITIAL_STD = 0.02


class NumberPrompts(nn.Module):
    """Keys and values of all layers from the numbers of a batch.

    Args:
        embedder: Gives the vectors of numbers.
        layers: Layers of the encoder.
        heads: Its attention heads.
        width: Its hidden size.

    Shape: a table of (B, M) numbers to (layers, 2, B, heads, M, width / heads).

    Example:
        >>> from numerate.processing.number_table import NumberTable
        >>> prompts = NumberPrompts(embedders["log-fourier"].build(8), layers=3, heads=2, width=8)
        >>> prompts(NumberTable.of_values([1.0, 2.0])[torch.tensor([[0, 1]])]).shape
        torch.Size([3, 2, 1, 2, 2, 4])
    """

    def __init__(self, embedder: Embedder, layers: int, heads: int, width: int) -> None:
        super().__init__()
        self.embedder, self.shape = embedder, (layers, 2, heads, width // heads)
        self.project = nn.Linear(embedder.width, 2 * layers * width)
        nn.init.normal_(self.project.weight, std=_INITIAL_STD)
        nn.init.zeros_(self.project.bias)

    def forward(self, table: NumberTable) -> Tensor:
        """Keys and values of each layer."""
        vectors = self.project(vectors_of(self.embedder, table))
        batch, numbers = vectors.shape[:2]
        return vectors.view(batch, numbers, *self.shape).permute(2, 3, 0, 4, 1, 5)


def add_prompts(model: NumberModel, options: dict[str, Any]) -> NumberModel:
    """Gives a model without an embedder number prompts; `model.prompts` holds their weights.

    A model that is saved keeps them, but `numerate.from_pretrained` does not know them: they are for experiments.

    Args:
        model: An encoder or a classifier whose processor reads numbers.
        options: The embedder, `{"kind": name, option: value, ...}`.

    Raises:
        ConfigError: The encoder takes no keys and values of other tokens, or the model has an embedder.
    """
    if model.embedder is not None:
        raise ConfigError(f"number prompts stand instead of an embedder, got {model.embedder.config.kind!r}")
    encoder: Any = base_of(model.backbone).base_model
    config = encoder.config
    sizes = [getattr(config, name, None) for name in ("num_hidden_layers", "num_attention_heads", "hidden_size")]
    if model.info.is_causal or None in sizes or not hasattr(getattr(encoder, "encoder", None), "layer"):
        raise ConfigError(f"number prompts need an encoder such as BERT or RoBERTa, got {type(encoder).__name__}")
    layers, heads, width = (int(size) for size in sizes if size is not None)
    embedder = build_part(options, embedders, model.info.embedding_dim)
    prompts = NumberPrompts(embedder, layers, heads, width)
    model.prompts = prompts.to(model.device)
    told: dict[str, NumberTable | None] = {}

    def note(module: nn.Module, arguments: Any, fields: dict[str, Any]) -> None:
        del module, arguments
        told["table"] = table_of(fields)

    def add(module: nn.Module, arguments: Any, fields: dict[str, Any]) -> Any:
        del module
        table = told.get("table")
        if table is None or not table.bits.shape[1]:
            return None
        return arguments, fields | _prompted(prompts, table, fields)

    model.register_forward_pre_hook(note, with_kwargs=True)
    encoder.register_forward_pre_hook(add, with_kwargs=True)
    return model


def _prompted(prompts: NumberPrompts, table: NumberTable, fields: dict[str, Any]) -> dict[str, Any]:
    """The encoder's arguments with a cache of the prompts, which a layer puts before its own keys and values."""
    from transformers import DynamicCache

    cache = DynamicCache()
    for index, (keys, values) in enumerate(prompts(table)):
        cache.update(keys, values, index)
    given = fields["inputs_embeds"] if fields.get("input_ids") is None else fields["input_ids"]
    batch, length = given.shape[:2]
    mask = fields.get("attention_mask")
    mask = torch.ones(batch, length, dtype=torch.int64, device=given.device) if mask is None else mask
    positions = fields.get("position_ids")
    if positions is None:  # without, the encoder would count the prompts
        positions = torch.arange(length, device=given.device).expand(batch, length)
    seen = torch.cat([(table.given == GIVEN).to(mask.dtype), mask], dim=1)
    return {"past_key_values": cache, "attention_mask": seen, "position_ids": positions}
