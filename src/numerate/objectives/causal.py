"""The next token, and the next number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from numerate.config import Config
from numerate.objectives.base import Objective, Task, Vocabulary, labelled_numbers
from numerate.objectives.number_tokens import NumberTokenLossConfig  # noqa: TC001 (the config's type is looked up)
from numerate.registry import objectives

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Causal", "CausalConfig"]


@dataclass(frozen=True, kw_only=True)
class CausalConfig(Config):
    """Options of `causal`.

    Attributes:
        number_weight: Weight of the numbers' loss beside the tokens'.
        number_warmup: In how many steps it grows to that, from nothing; 0 for at once.
        per_token: Divide the numbers' loss by the number of tokens, not of numbers: with the weight 1 the whole is then
            the mean negative log-likelihood of a token, as in the 2018 language models.
        number_tokens: A number-token loss beside the cross-entropy; None for none.
    """

    kind: ClassVar[str] = "causal"
    number_weight: float = 1.0
    number_warmup: int = 0
    per_token: bool = False
    number_tokens: NumberTokenLossConfig | None = None


@objectives.register("causal")
class Causal(Objective):
    """Predicts each token from those before it, and each number from the token before its slot.

    Nothing is hidden: the attention of a causal model never sees what it predicts. A number with no token before it is
    not predicted. Given labels, it predicts the labelled tokens and the numbers that begin with one.
    """

    Config = CausalConfig
    config: CausalConfig
    draws = False

    def prepare(self, batch: dict[str, Any], vocabulary: Vocabulary) -> Task:
        """Labels every real token and asks for every number."""
        ids = batch["input_ids"]
        attention = batch.get("attention_mask")
        labels = ids if attention is None else torch.where(attention.bool(), ids, torch.full_like(ids, -100))
        return labelled_numbers(dict(batch), labels)

    def label(self, batch: dict[str, Any], labels: Tensor) -> Task:
        """Asks for the labelled numbers, too."""
        return labelled_numbers(batch, labels)
