"""The next token, and the next number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from numerate.batch import GIVEN
from numerate.config import Config
from numerate.objectives.base import Objective, Task, Vocabulary
from numerate.registry import objectives
from numerate.slots import table_of

__all__ = ["Causal", "CausalConfig"]


@dataclass(frozen=True, kw_only=True)
class CausalConfig(Config):
    """Options of `causal`.

    Attributes:
        number_weight: Weight of the numbers' loss beside the tokens'.
    """

    kind: ClassVar[str] = "causal"
    number_weight: float = 1.0


@objectives.register("causal")
class Causal(Objective):
    """Predicts each token from those before it, and each number from the position before its slot.

    Nothing is hidden: the attention of a causal model never sees what it predicts.
    """

    Config = CausalConfig
    config: CausalConfig

    def prepare(self, batch: dict[str, Any], vocabulary: Vocabulary) -> Task:
        """Labels every real token and asks for every number."""
        ids = batch["input_ids"]
        attention = batch.get("attention_mask")
        labels = ids if attention is None else torch.where(attention.bool(), ids, torch.full_like(ids, -100))
        table = table_of(batch)
        scored = None if table is None else (table.given == GIVEN) & table.values().isfinite()
        return Task(dict(batch), labels, table, scored)
