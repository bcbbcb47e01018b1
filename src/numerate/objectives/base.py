"""What every objective is: it turns a batch into a task, on the device the batch is on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch

if TYPE_CHECKING:
    from torch import Tensor

    from numerate.batch import NumberTable
    from numerate.config import Config

__all__ = ["Objective", "Task", "Vocabulary", "token_loss"]


@dataclass(frozen=True)
class Vocabulary:
    """What an objective must know of the tokens."""

    mask_id: int | None
    num_id: int
    special_ids: tuple[int, ...]


@dataclass(frozen=True)
class Task:
    """A batch made into a task.

    Attributes:
        inputs: The batch as the model shall see it.
        labels: (B, T) token ids to predict, -100 elsewhere; None if no tokens are predicted.
        targets: The table before masking; None if there are no numbers.
        scored: (B, M) which of the numbers are predicted.
    """

    inputs: dict[str, Any]
    labels: Tensor | None
    targets: NumberTable | None
    scored: Tensor | None


class Objective(ABC):
    """Masks a batch and weighs the two losses, of tokens and of numbers.

    Attributes:
        Config: The frozen dataclass of its options; its `kind` is the registered name.
    """

    Config: ClassVar[type[Config]]

    def __init__(self, config: Any = None) -> None:
        self.config = self.Config() if config is None else config

    @classmethod
    def build(cls, **options: Any) -> Objective:
        """Builds the objective from its config's options."""
        return cls(cls.Config.from_dict(options))

    @abstractmethod
    def prepare(self, batch: dict[str, Any], vocabulary: Vocabulary) -> Task:
        """Makes a task of a batch; draws its masks on the batch's device."""

    def combine(self, tokens: Tensor | None, numbers: Tensor | None) -> Tensor | None:
        """The loss from the mean loss of the tokens and that of the numbers."""
        weight = getattr(self.config, "number_weight", 1.0)
        parts = [part for part in (tokens, None if numbers is None else weight * numbers) if part is not None]
        return sum(parts[1:], parts[0]) if parts else None


def token_loss(logits: Tensor, labels: Tensor, shift: bool = False) -> Tensor:
    """Mean cross-entropy over the labelled tokens; 0 if there is none.

    Args:
        logits: (B, T, V).
        labels: (B, T), -100 where nothing is predicted.
        shift: Whether the logits at t predict the token at t + 1.
    """
    if shift:
        logits, labels = logits[:, :-1], labels[:, 1:]
    total = torch.nn.functional.cross_entropy(
        logits.reshape(-1, logits.shape[-1]).float(), labels.reshape(-1), ignore_index=-100, reduction="sum"
    )
    return total / (labels != -100).sum().clamp_min(1)
