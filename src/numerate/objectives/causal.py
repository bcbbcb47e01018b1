"""Objective `causal`: predicts the next token and the next number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from numerate.objectives.base import Objective, ObjectiveConfig, Task, Vocabulary, labelled_numbers
from numerate.registry import objectives

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Causal", "CausalConfig"]


@dataclass(frozen=True, kw_only=True)
class CausalConfig(ObjectiveConfig):
    """Options of `causal`, beside those of every objective.

    Attributes:
        per_token: Divide the number loss by the count of tokens instead of numbers: with weight 1, the loss is then
            the mean negative log-likelihood of a token, as in the language models of 2018.
    """

    kind: ClassVar[str] = "causal"
    per_token: bool = False


@objectives.register("causal")
class Causal(Objective):
    """Predicts each token from those before it, and each number from the token before its slot.

    Nothing is masked: a causal model never sees what it predicts. A number without a token before it is not predicted.
    With labels, only the labelled tokens and the numbers that start with one are predicted.
    """

    Config = CausalConfig
    config: CausalConfig
    draws = False

    def prepare(self, batch: dict[str, Any], vocabulary: Vocabulary) -> Task:
        """Labels every real token and every number."""
        ids = batch["input_ids"]
        attention = batch.get("attention_mask")
        labels = ids if attention is None else torch.where(attention.bool(), ids, torch.full_like(ids, -100))
        return labelled_numbers(dict(batch), labels)

    def label(self, batch: dict[str, Any], labels: Tensor) -> Task:
        """Predicts the labelled tokens and their numbers."""
        return labelled_numbers(batch, labels)
