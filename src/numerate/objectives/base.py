"""Base class of objectives: an objective turns a batch into a prediction task, on the batch's device."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from numerate.config import Config, check_names
from numerate.embedders.option_checks import check_option
from numerate.objectives.cross_entropy import aligned
from numerate.objectives.number_tokens import NumberTokenLoss, NumberTokenLossConfig
from numerate.processing.number_table import GIVEN
from numerate.processing.slot_positions import first_tokens, table_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import Tensor, nn

    from numerate.processing.number_table import NumberTable
    from numerate.processing.slot_positions import NumberPlaces

__all__ = ["Objective", "ObjectiveConfig", "Pass", "Task", "Vocabulary", "labelled_numbers"]


@dataclass(frozen=True)
class Vocabulary:
    """Token ids and model properties that an objective needs.

    Attributes:
        mask_id: Id of the mask token; None if the tokenizer has none.
        num_id: Id of [NUM], the first token that numerate adds.
        special_ids: Ids of the tokenizer's special tokens.
        predicts_numbers: Whether the model has a number head.
        size: Number of ids of the tokenizer, for drawing random words; 0 if unknown.
        pad_id: Id of the padding token.
        several_tokens: Whether a number may have more tokens than [NUM].
        spells_numbers: Whether the notation spells numbers in tokens that the token head predicts, as `p10` does.
        pads_left: Whether texts are padded on the left by a tokenizer whose backbone takes position ids.
    """

    mask_id: int | None
    num_id: int
    special_ids: tuple[int, ...]
    predicts_numbers: bool = True
    size: int = 0
    pad_id: int = 0
    several_tokens: bool = True
    spells_numbers: bool = False
    pads_left: bool = False


@dataclass(frozen=True)
class Task:
    """A batch with masked inputs and targets.

    Attributes:
        inputs: The batch as the model sees it.
        labels: (B, T) token ids to predict, -100 elsewhere; None if no tokens are predicted.
        targets: The numbers to predict; None if there are no numbers.
        numbers: The number table before masking, if it differs from `targets`: by percent signs left in sight.
        scored: (B, M) which numbers are predicted.
        source: (B, T) the place in the original batch of each token of `inputs`, -1 for padding at a vacated place;
            None if no token was moved.
        share: The expected share of scored numbers, if each is drawn by itself; 1 if it is not known.
        token_share: The largest expected share of labelled tokens, if each is drawn by itself; 1 if it is not known.
        token_places: (N,) places of the labelled tokens among all tokens of the batch, if they are known.
        number_places: Row, token and number index (N,) of the scored numbers, if they are known; `targets` are then
            those of these numbers only: (N,).
        places: The places of the batch's numbers, if they are known.
    """

    inputs: dict[str, Any]
    labels: Tensor | None
    targets: NumberTable | None = None
    scored: Tensor | None = None
    source: Tensor | None = None
    numbers: NumberTable | None = None
    share: float = 1.0
    token_share: float = 1.0
    token_places: Tensor | None = None
    number_places: tuple[Tensor, Tensor, Tensor] | None = None
    places: NumberPlaces | None = None


@dataclass(frozen=True, eq=False)
class Pass:
    """Results of one forward pass that an objective may use beside the two losses.

    Attributes:
        model: The `NumberModel`.
        task: The task that the model was run on.
        logits: (B, T, V) of the backbone; None if it is not a language model.
        hidden: (B, T, H) last hidden states of the backbone.
        again: Runs another backbone on the same input embeddings (detached) and returns its output; with `own_words`,
            on the token ids with that backbone's own embeddings and without number vectors.
        shares: Denominators of the means of the loss, by the names of `Objective.counts`, if they are not the batch's
            own counts; see `mean_over`.
    """

    model: Any
    task: Task
    logits: Tensor | None
    hidden: Tensor | None
    again: Callable[..., Any]
    shares: Mapping[str, Tensor] | None = None


@dataclass(frozen=True, kw_only=True)
class ObjectiveConfig(Config):
    """Options of every objective.

    Attributes:
        number_weight: Weight of the number loss relative to the token loss.
        number_warmup: Number of steps in which this weight grows from 0; 0 for the full weight from the start.
        number_tokens: Number-token loss that is added to the cross-entropy; None for none.
    """

    number_weight: float = 1.0
    number_warmup: int = 0
    number_tokens: NumberTokenLossConfig | None = None

    def __post_init__(self) -> None:
        check_names(self)
        check_option(self.number_warmup >= 0, self, "number_warmup must not be negative", "number_warmup")


class Objective(ABC):
    """Masks a batch and combines the token loss and the number loss.

    Attributes:
        Config: Frozen dataclass of its options; its `kind` is the registered name.
        needs_labels: Whether a batch without labels is an error.
        draws: Whether batches without labels are masked at random; two passes over the same batch then agree only if
            it has `sample_id`s.
        reads_logits: Whether `total` reads the logits of tokens without a label.
        epoch: Current pass over the data, for masks that depend on it; the trainer sets it.
        steps: Number of optimizer steps so far.
    """

    Config: ClassVar[type[ObjectiveConfig]]
    needs_labels: ClassVar[bool] = False
    draws: ClassVar[bool] = True
    reads_logits: ClassVar[bool] = False

    def __init__(self, config: Any = None) -> None:
        self.config = self.Config() if config is None else config
        self.number_tokens: NumberTokenLoss | None = None
        self.epoch = self.steps = 0

    def bind(self, tokenizer: Any) -> None:
        """Builds the number-token loss of the config, if any, for a tokenizer."""
        if (wanted := self.config.number_tokens) is not None:
            self.number_tokens = NumberTokenLoss(tokenizer, **wanted.to_dict())

    @property
    def counts_tokens(self) -> bool:
        """Whether the number loss is divided by the token count, so that the sum is the mean NLL of a token."""
        return bool(getattr(self.config, "per_token", False))

    def parts(self, hidden_dim: int) -> nn.Module | None:
        """Layers of the objective, which the model trains and saves as `objective_parts`; None by default."""
        del hidden_dim

    def step(self, model: Any) -> None:
        """Updates the objective; a trainer calls it with the `NumberModel` after each optimizer step."""
        del model
        self.steps += 1

    def state(self) -> dict[str, Tensor]:
        """Tensors that a checkpoint needs beside the model to resume a run exactly."""
        return {"steps": torch.tensor(self.steps)} if self.config.number_warmup else {}

    def load_state(self, state: dict[str, Tensor], model: Any) -> None:
        """Restores what `state` returned."""
        del model
        self.steps = int(state["steps"])

    @classmethod
    def build(cls, **options: Any) -> Objective:
        """Builds the objective from its config's options."""
        return cls(cls.Config.from_dict(options))

    @abstractmethod
    def prepare(self, batch: dict[str, Any], vocabulary: Vocabulary) -> Task:
        """Makes a task from a batch without labels; masks are drawn on the batch's device."""

    def label(self, batch: dict[str, Any], labels: Tensor) -> Task:
        """Makes a task from a batch with token labels; nothing is masked."""
        return Task(batch, labels)

    def counts(self, task: Task, shift: bool) -> dict[str, Tensor]:
        """Number of terms of each mean in the loss, by name; the names are the same for every batch.

        The numbers that a head predicts are not included: the model counts them.

        Args:
            task: Result of `prepare` or `label`.
            shift: Whether the logits at t predict the token at t + 1.
        """
        if task.labels is None:
            raise ValueError(f"objective {self.config.kind!r} can count tokens only with labels, got labels=None")
        found = {"tokens": (aligned(task.labels, shift) != -100).sum()}
        if self.number_tokens is not None:
            found["number_tokens"] = self.number_tokens.count(task.labels, shift)
        return found

    def weight_of_numbers(self, training: bool = True) -> float:
        """Weight of the number loss in the next training step; in evaluation, the full weight."""
        weight, warmup = self.config.number_weight, self.config.number_warmup
        return weight * min(1.0, (self.steps + 1) / warmup) if training and warmup else weight

    def combine(self, tokens: Tensor | None, numbers: Tensor | None, training: bool = True) -> Tensor | None:
        """Adds the mean token loss and the weighted mean number loss; None if both are None."""
        weight = self.weight_of_numbers(training)
        weighted = numbers if numbers is None or weight == 1 else weight * numbers
        parts = [part for part in (tokens, weighted) if part is not None]
        return sum(parts[1:], parts[0]) if parts else None

    def total(self, tokens: Tensor | None, numbers: Tensor | None, seen: Pass) -> Tensor | None:
        """The loss of a batch; objectives with more than two losses override it."""
        return self.combine(tokens, numbers, seen.model.training)


def labelled_numbers(batch: dict[str, Any], labels: Tensor) -> Task:
    """Makes a task that predicts the labelled tokens and the numbers whose first token is labelled.

    The batch's slots are aligned with the `labels` (B, T), which are -100 where nothing is predicted.
    """
    table, slots = table_of(batch), batch.get("number_slots")
    if table is None or slots is None:
        return Task(batch, labels)
    first = first_tokens(slots, table.bits.shape[1])
    begins = labels.gather(1, first.clamp_max(labels.shape[1] - 1)) != -100
    return Task(batch, labels, table, begins & (table.given == GIVEN) & table.values().isfinite())
