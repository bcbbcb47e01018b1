"""What every objective is: it turns a batch into a task, on the device the batch is on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from numerate.config import ConfigError
from numerate.objectives.cross_entropy import aligned
from numerate.objectives.number_tokens import NumberTokenLoss
from numerate.processing.number_table import GIVEN
from numerate.processing.slot_positions import first_tokens, table_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import Tensor, nn

    from numerate.config import Config
    from numerate.objectives.number_tokens import NumberTokenLossConfig
    from numerate.processing.number_table import NumberTable

__all__ = ["Objective", "Pass", "Task", "Vocabulary", "labelled_numbers"]


@dataclass(frozen=True)
class Vocabulary:
    """What an objective must know of the tokens and of the model.

    Attributes:
        mask_id: The mask token's id, if there is one.
        num_id: The id of [NUM], the first of our own.
        special_ids: Ids of the tokenizer's special tokens.
        predicts_numbers: Whether the model has a number head.
        size: How many ids the tokenizer has, for random words; 0 if nobody knows.
    """

    mask_id: int | None
    num_id: int
    special_ids: tuple[int, ...]
    predicts_numbers: bool = True
    size: int = 0


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


@dataclass(frozen=True, eq=False)
class Pass:
    """What an objective may look at beside the two losses, once the model has run on a task.

    Attributes:
        model: The `NumberModel`.
        task: The task.
        logits: (B, T, V) of the backbone; None where it is no language model.
        hidden: (B, T, H) its last states.
        again: Runs another backbone on the same embeddings, cut off from their gradient; or with `own_words` on the
            token ids, with embeddings of its own and without ours. Gives its output.
        shares: What the means of the loss are taken over, by the names of `Objective.counts`, where that is not the
            batch's own; see `mean_over`.
    """

    model: Any
    task: Task
    logits: Tensor | None
    hidden: Tensor | None
    again: Callable[..., Any]
    shares: Mapping[str, Tensor] | None = None


class Objective(ABC):
    """Masks a batch and weighs the two losses, of tokens and of numbers.

    Attributes:
        Config: The frozen dataclass of its options; its `kind` is the registered name.
        needs_labels: Whether there is nothing to learn from a batch without labels.
        draws: Whether batches without labels are masked by chance; two looks at one then agree only if it has
            `sample_id`s.
        epoch: Which pass over the data this is, for masks that depend on it; a trainer sets it.
        steps: How many steps of the optimiser it has been told of.
    """

    Config: ClassVar[type[Config]]
    needs_labels: ClassVar[bool] = False
    draws: ClassVar[bool] = True

    def __init__(self, config: Any = None) -> None:
        self.config = self.Config() if config is None else config
        self.number_tokens: NumberTokenLoss | None = None
        self.epoch = self.steps = 0
        if (warmup := getattr(self.config, "number_warmup", 0)) < 0:
            raise ConfigError(f"number_warmup must not be negative, got {warmup}")

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

    def parts(self, hidden_dim: int) -> nn.Module | None:
        """Layers of the objective's own, which the model trains and saves as `objective_parts`; most have none."""
        del hidden_dim

    def step(self, model: Any) -> None:
        """What is to be done after each step of the optimiser; a trainer calls it, with the `NumberModel`."""
        del model
        self.steps += 1

    def state(self) -> dict[str, Tensor]:
        """What a checkpoint must hold so that a run can be resumed exactly, beside the model; mostly nothing."""
        return {"steps": torch.tensor(self.steps)} if getattr(self.config, "number_warmup", 0) else {}

    def load_state(self, state: dict[str, Tensor], model: Any) -> None:
        """Takes up what `state` gave."""
        del model
        self.steps = int(state["steps"])

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

    def counts(self, task: Task, shift: bool) -> dict[str, Tensor]:
        """How many terms each mean of the loss is taken over, by name, the same names for each batch.

        The numbers that a head predicts are not among them: the model knows which they are.

        Args:
            task: What `prepare` or `label` gave.
            shift: Whether the logits at t predict the token at t + 1.
        """
        if task.labels is None:
            raise ValueError(f"objective {self.config.kind!r}: nothing can be counted without labels")
        found = {"tokens": (aligned(task.labels, shift) != -100).sum()}
        if self.number_tokens is not None:
            found["number_tokens"] = self.number_tokens.count(task.labels, shift)
        return found

    def weight_of_numbers(self, training: bool = True) -> float:
        """Of their loss beside the tokens' in the next step of training; once it has grown, and in evaluation, all."""
        weight, warmup = getattr(self.config, "number_weight", 1.0), getattr(self.config, "number_warmup", 0)
        return weight * min(1.0, (self.steps + 1) / warmup) if training and warmup else weight

    def combine(self, tokens: Tensor | None, numbers: Tensor | None, training: bool = True) -> Tensor | None:
        """The loss from the mean loss of the tokens and that of the numbers."""
        weight = self.weight_of_numbers(training)
        parts = [part for part in (tokens, None if numbers is None else weight * numbers) if part is not None]
        return sum(parts[1:], parts[0]) if parts else None

    def total(self, tokens: Tensor | None, numbers: Tensor | None, seen: Pass) -> Tensor | None:
        """The loss, where more than the two losses may count."""
        return self.combine(tokens, numbers, seen.model.training)


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
