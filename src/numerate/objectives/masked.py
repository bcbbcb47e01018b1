"""Masked tokens and masked numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from numerate.batch import ASKED, GIVEN
from numerate.config import Config, ConfigError
from numerate.objectives.base import Objective, Task, Vocabulary
from numerate.registry import objectives
from numerate.slots import table_of

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Masked", "MaskedConfig"]


@dataclass(frozen=True, kw_only=True)
class MaskedConfig(Config):
    """Options of `masked`.

    Attributes:
        ratio: Share of the tokens that are masked.
        number_ratio: Share of the numbers that are masked.
        number_weight: Weight of the numbers' loss beside the tokens'.
    """

    kind: ClassVar[str] = "masked"
    ratio: float = 0.15
    number_ratio: float = 0.15
    number_weight: float = 1.0

    def __post_init__(self) -> None:
        for name in ("ratio", "number_ratio"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"{name} must lie between 0 and 1, however: {getattr(self, name)}")


@objectives.register("masked")
class Masked(Objective):
    """Hides tokens behind [MASK] and numbers with all their tokens; the model fills in both.

    A masked number's slot is no longer given, and its subwords are masked with it, so that it cannot be read off them.
    Padding and special tokens are never masked.
    """

    Config = MaskedConfig
    config: MaskedConfig

    def prepare(self, batch: dict[str, Any], vocabulary: Vocabulary) -> Task:
        """Draws the masks and applies them."""
        ids: Tensor = batch["input_ids"]
        if vocabulary.mask_id is None:
            raise ValueError("objective 'masked' needs a tokenizer with a mask token; use objective='causal'")
        inputs = dict(batch)
        table = table_of(batch)
        slots = batch.get("number_slots")
        if slots is None:
            slots = torch.zeros_like(ids)
        special = torch.isin(ids, torch.tensor(vocabulary.special_ids, device=ids.device))
        attention = batch.get("attention_mask")
        real = ~special if attention is None else ~special & attention.bool()
        hidden = (torch.rand(ids.shape, device=ids.device) < self.config.ratio) & real & (slots == 0)
        asked, masked = torch.zeros_like(hidden), None
        if table is not None and table.bits.shape[1]:
            drawn = torch.rand(table.bits.shape, device=ids.device) < self.config.number_ratio
            masked = drawn & (table.given == GIVEN) & table.values().isfinite()
            inputs["number_given"] = torch.where(masked, torch.full_like(table.given, ASKED), table.given)
            asked = masked.gather(1, (slots - 1).clamp_min(0)) & (slots > 0)
        labels = torch.where(hidden, ids, torch.full_like(ids, -100))
        # A masked number is [NUM] where it has a token of its own, and [MASK] on each of its subwords.
        masked_id = torch.full_like(ids, vocabulary.mask_id)
        own = asked & (ids >= vocabulary.num_id)
        inputs["input_ids"] = torch.where(hidden | (asked & ~own), masked_id, ids)
        return Task(inputs, labels, table, masked)
