"""Masked tokens and masked numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from numerate.batch import ASKED, GIVEN
from numerate.config import Config, ConfigError
from numerate.objectives.base import Objective, Task, Vocabulary
from numerate.objectives.number_tokens import NumberTokenLossConfig  # noqa: TC001 (the config's type is looked up)
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
        joint: Mask the subwords that write a masked number beside its slot with it. Without, they are words like others
            (as in LUNA's paper), and the number can be read off them.
        number_weight: Weight of the numbers' loss beside the tokens'.
        number_tokens: A number-token loss beside the cross-entropy; None for none.
    """

    kind: ClassVar[str] = "masked"
    ratio: float = 0.15
    number_ratio: float = 0.15
    joint: bool = True
    number_weight: float = 1.0
    number_tokens: NumberTokenLossConfig | None = None

    def __post_init__(self) -> None:
        for name in ("ratio", "number_ratio"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"{name} must lie between 0 and 1, however: {getattr(self, name)}")


@objectives.register("masked")
class Masked(Objective):
    """Hides tokens behind [MASK] and numbers with all the tokens of their slots; the model fills in both.

    A masked number's vector is not placed. Where its slot is a token of our own, that token stays and the number is
    predicted there; the subwords that write it, in its slot or beside it, are masked and predicted with it. Padding
    and special tokens are never masked, nor is a number that neither a head nor subwords could give back.
    """

    Config = MaskedConfig
    config: MaskedConfig

    def prepare(self, batch: dict[str, Any], vocabulary: Vocabulary) -> Task:
        """Draws the masks and applies them."""
        ids: Tensor = batch["input_ids"]
        if vocabulary.mask_id is None:
            raise ValueError("objective 'masked' needs a tokenizer with a mask token; use objective='causal'")
        inputs = dict(batch)
        table, slots = table_of(batch), batch.get("number_slots")
        if slots is None:
            slots = torch.zeros_like(ids)
        special = torch.isin(ids, torch.tensor(vocabulary.special_ids, device=ids.device))
        attention = batch.get("attention_mask")
        real = ~special if attention is None else ~special & attention.bool()
        if not self.config.joint:
            slots = slots.clamp_min(0)
        hidden = (torch.rand(ids.shape, device=ids.device) < self.config.ratio) & real & (slots == 0)
        masked = None
        if table is not None and table.bits.shape[1]:
            drawn = torch.rand(table.bits.shape, device=ids.device) < self.config.number_ratio
            masked = drawn & (table.given == GIVEN) & table.values().isfinite()
            index, own = (slots.abs() - 1).clamp_min(0), ids >= vocabulary.num_id
            if not vocabulary.predicts_numbers:
                written = torch.zeros(len(ids), masked.shape[1] + 1, dtype=torch.bool, device=ids.device)
                masked = masked & written.scatter_reduce(1, slots.abs(), ~own, "amax")[:, 1:]
            inputs["number_given"] = torch.where(masked, torch.full_like(table.given, ASKED), table.given)
            hidden = hidden | (masked.gather(1, index) & (slots != 0) & ~own)
        labels = torch.where(hidden, ids, torch.full_like(ids, -100))
        inputs["input_ids"] = torch.where(hidden, torch.full_like(ids, vocabulary.mask_id), ids)
        return Task(inputs, labels, table, masked)
