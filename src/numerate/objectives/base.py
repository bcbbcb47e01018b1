"""What every objective is: it turns a batch into a task, on the device the batch is on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from numerate.batch import GIVEN
from numerate.objectives.number_tokens import NumberTokenLoss
from numerate.slots import first_tokens, table_of

if TYPE_CHECKING:
    from torch import Tensor

    from numerate.batch import NumberTable
    from numerate.config import Config
    from numerate.objectives.number_tokens import NumberTokenLossConfig

__all__ = ["Objective", "Task", "Vocabulary", "labelled_numbers", "token_loss"]


@dataclass(frozen=True)
class Vocabulary:
    """What an objective must know of the tokens and of the model.

    Attributes:
        mask_id: The mask token's id, if there is one.
        num_id: The id of [NUM], the first of our own.
        special_ids: Ids of the tokenizer's special tokens.
        predicts_numbers: Whether the model has a number head.
    """

    mask_id: int | None
    num_id: int
    special_ids: tuple[int, ...]
    predicts_numbers: bool = True


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
    targets: NumberTable | None = None
    scored: Tensor | None = None


class Objective(ABC):
    """Masks a batch and weighs the two losses, of tokens and of numbers.

    Attributes:
        Config: The frozen dataclass of its options; its `kind` is the registered name.
        needs_labels: Whether there is nothing to learn from a batch without labels.
    """

    Config: ClassVar[type[Config]]
    needs_labels: ClassVar[bool] = False

    def __init__(self, config: Any = None) -> None:
        self.config = self.Config() if config is None else config
        self.number_tokens: NumberTokenLoss | None = None

    def bind(self, tokenizer: Any) -> None:
        """Makes the number-token loss that the config asks for, if any, for a model with this tokenizer."""
        wanted: NumberTokenLossConfig | None = getattr(self.config, "number_tokens", None)
        if wanted is not None:
            options = {key: value for key, value in wanted.to_dict().items() if key not in ("kind", "version")}
            self.number_tokens = NumberTokenLoss(tokenizer, **options)

    @property
    def counts_tokens(self) -> bool:
        """Whether the numbers' loss is counted per token, so that the whole is the mean NLL of a token."""
        return bool(getattr(self.config, "per_token", False))

    @classmethod
    def build(cls, **options: Any) -> Objective:
        """Builds the objective from its config's options."""
        return cls(cls.Config.from_dict(options))

    @abstractmethod
    def prepare(self, batch: dict[str, Any], vocabulary: Vocabulary) -> Task:
        """Makes a task of a batch; draws its masks on the batch's device."""

    def label(self, batch: dict[str, Any], labels: Tensor) -> Task:
        """Makes a task of a batch that comes with token labels; nothing more is masked."""
        return Task(batch, labels)

    def combine(self, tokens: Tensor | None, numbers: Tensor | None) -> Tensor | None:
        """The loss from the mean loss of the tokens and that of the numbers."""
        weight = getattr(self.config, "number_weight", 1.0)
        parts = [part for part in (tokens, None if numbers is None else weight * numbers) if part is not None]
        return sum(parts[1:], parts[0]) if parts else None


def labelled_numbers(batch: dict[str, Any], labels: Tensor) -> Task:
    """A task in which the labelled tokens are predicted, and the numbers that begin with one.

    Args:
        batch: Its slots are aligned with `labels`.
        labels: (B, T), -100 where nothing is predicted.
    """
    table, slots = table_of(batch), batch.get("number_slots")
    if table is None or slots is None:
        return Task(batch, labels)
    first = first_tokens(slots, table.bits.shape[1])
    begins = labels.gather(1, first.clamp_max(labels.shape[1] - 1)) != -100
    return Task(batch, labels, table, begins & (table.given == GIVEN) & table.values().isfinite())


def token_loss(
    logits: Tensor, labels: Tensor, own: Tensor | None = None, first_id: int = 0, shift: bool = False
) -> Tensor:
    """Mean cross-entropy over the labelled tokens; 0 if there is none.

    The backbone's logits and those of our tokens are normalised together but never joined: a joined copy of the widest
    tensor of a step, with rows of odd length, costs more than all else that we add.

    Args:
        logits: (B, T, V) of the backbone.
        labels: (B, T), -100 where nothing is predicted.
        own: (B, T, K) of our tokens, whose ids begin at `first_id`.
        first_id: The id of our first token.
        shift: Whether the logits at t predict the token at t + 1.
    """
    labels = labels.to(logits.device)
    if shift:
        logits, labels = logits[:, :-1], labels[:, 1:]
        own = own if own is None else own[:, :-1]
    wanted = labels != -100
    if not torch.compiler.is_compiling():  # most tokens of a masked batch have no label
        logits, labels = logits[wanted], labels[wanted]
        own = own if own is None else own[wanted]
    size, known = logits.shape[-1], labels.clamp_min(0)
    scores = logits.float()
    whole = scores.logsumexp(dim=-1)
    if torch.compiler.is_compiling():  # in one pass with the sum above; a gather would be scattered into zeros after it
        picked = torch.where(torch.arange(size, device=labels.device) == known[..., None], scores, 0.0).sum(dim=-1)
    else:
        picked = scores.gather(-1, known.clamp_max(size - 1)[..., None])[..., 0]
    if own is not None:
        ours = own.to(scores)
        whole = torch.logaddexp(whole, ours.logsumexp(dim=-1))
        mine = ours.gather(-1, (known - first_id).clamp_min(0)[..., None])[..., 0]
        picked = torch.where(known >= first_id, mine, picked)
    terms = whole - picked
    if torch.compiler.is_compiling():
        terms = torch.where(wanted, terms, 0.0)
    return terms.sum() / wanted.sum().clamp_min(1)
