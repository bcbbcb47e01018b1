"""Outputs of a `NumberModel`: logits of our own tokens, number distributions and the loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from numerate.modeling.introspection import NumberOutput, append_logits, rebuilt
from numerate.modeling.placement import earlier_numbers
from numerate.objectives.base import Pass, Task
from numerate.objectives.cross_entropy import aligned, mean_over, sum_and_pick, token_loss
from numerate.processing.number_table import ASKED
from numerate.processing.slot_positions import NumberPlaces, predicting_tokens
from numerate.processing.static_shapes import (
    LaterCounts,
    chosen_rows,
    first_numbers,
    first_places,
    has_fixed_shapes,
    is_recorded,
    numbers_where,
    tokens_where,
    uses_capacity,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import Tensor

    from numerate.heads.base import NumberDistribution
    from numerate.heads.pointer import PointerContext
    from numerate.modeling.number_model import NumberModel

__all__ = ["Predicted", "context_of", "number_outputs", "number_states", "real_tokens", "with_own_logits"]

Positions = tuple["Tensor", "Tensor", "Tensor"]
"""Row, token and number index of each predicted number."""


class Predicted:
    """The tokens and numbers that a step predicts; made before the backbone runs, see `LaterCounts`.

    Args:
        model: The model.
        fields: The batch, with slots at the tokens where the numbers are predicted.
        places: Places of the numbers in these fields; None if there are none.
        task: What is learnt from the batch; None for no loss.
        has_labelled: Whether the places of the labelled tokens are known already, so that nobody asks for them here.
    """

    def __init__(
        self, model: NumberModel, fields: dict[str, Any], places: NumberPlaces | None = None, task: Task | None = None,
        *, has_labelled: bool = False,
    ) -> None:  # fmt: skip
        self.fields, self.places, self.before = fields, places, real_tokens(model, fields)
        self.has_tokens = self.has_numbers = False
        if task is None:
            return
        exact: list[Tensor] = []
        if model.info.is_language_model and task.labels is not None and self.before is None:
            self.has_tokens, self._labels, self._token_share = True, task.labels, task.token_share
            self._token_places = task.token_places
            if not (has_labelled or task.token_places is not None or uses_capacity(task.labels, task.token_share)):
                exact.append(task.labels != -100)
        if model.head is not None and places is not None and task.targets is not None and task.scored is not None:
            self.has_numbers, self._share, self._number_places = True, task.share, task.number_places
            if task.number_places is None:
                self._scored, self._tokens = self.at(places, task.scored)
                if not uses_capacity(self._scored, task.share):
                    exact.append(self._scored)
        self._counts = LaterCounts(*exact)

    @property
    def scored(self) -> Tensor:
        """(B, M) which numbers are predicted."""
        return self._scored

    def at(self, places: NumberPlaces, wanted: Tensor, stay: bool = False) -> tuple[Tensor, Tensor]:
        """(B, M) which of the `wanted` numbers can be predicted, and at which token; see `predicting_tokens`."""
        first = places.slot if self.before is None else places.first
        return predicting_tokens(first, wanted, places.slots.shape[1], before=self.before, stay=stay)

    def tokens(self) -> tuple[Tensor | None, bool]:
        """Places of the labelled tokens (None for all tokens), and whether each of these places has a label."""
        if not self.has_tokens:
            return None, False
        if self._token_places is not None:
            return self._token_places, True
        mask = self._labels != -100
        if uses_capacity(mask, self._token_share) and not torch.compiler.is_compiling():
            return first_places(mask, self._token_share), False
        return tokens_where(mask, self._counts[0]), True

    def numbers(self) -> tuple[Positions, Tensor | None]:
        """Row, token and number index of each number that the loss is computed for, and None.

        On an accelerator and in compiled code, which do not know their count: a fixed number of places, and a mask
        (N,) of the scored.
        """
        if self._number_places is not None:
            return self._number_places, None
        mask = self._scored
        if uses_capacity(mask, self._share):
            rows, numbers = first_numbers(mask, self._share)
            tokens = self._tokens[rows, numbers].clamp_max(self.fields["input_ids"].shape[1] - 1)
            return (rows, tokens, numbers), mask[rows, numbers]
        rows, numbers = numbers_where(mask, self._counts[-1])
        return (rows, self._tokens[rows, numbers], numbers), None


def number_outputs(
    model: NumberModel, output: Any, hidden: Tensor | None, wanted: Predicted, task: Task | None = None,
    *, every: bool = False, again: Callable[..., Any] | None = None, shares: Mapping[str, Tensor] | None = None,
    labelled: Tensor | None = None, read: Tensor | None = None,
) -> NumberOutput:  # fmt: skip
    """Appends the logits of our tokens, predicts the numbers and computes the loss.

    Args:
        model: The model.
        output: The backbone's output.
        hidden: (B, T, hidden) last hidden states; None where the backbone does not return them.
        wanted: What is predicted.
        task: What is learnt from the batch; None for no loss.
        every: Predict all given numbers instead of those that are asked for.
        again: Runs another backbone on the same inputs, for objectives that need it; see `Pass.again`.
        shares: Counts that the losses are divided by, see `numerate.objectives.cross_entropy.mean_over`; by default
            those of the batch.
        labelled: Places of the tokens that have logits (N, 1, V), without labels none; None if all have.
        read: (N, 1, hidden) states of these tokens.
    """
    items = dict(output)
    own, known, token_terms, number_terms = None, None, None, None
    head, objective, causal = model.head, model.objective, model.info.is_causal
    first_id = model.processor.first_id
    labels = task.labels if task is not None and model.info.is_language_model else None
    if labelled is not None and hidden is not None and labels is not None:
        if task is not None and task.token_places is None:
            _count_left_out(model, labels != -100, len(labelled), task.token_share)
        labels = labels.flatten().index_select(0, labelled)[:, None]
    else:
        read = hidden
    is_mute = labelled is not None and labels is None  # only the numbers are asked for
    if model.own_logits is not None and read is not None and not is_mute:
        own = model.own_logits(read.to(model.own_logits.weight))
        if head is not None and head.gates:  # it decides between words and numbers in its own way
            ids = torch.zeros_like(wanted.fields["input_ids"]) if labels is None else aligned(labels, causal)
            known = sum_and_pick(items["logits"], ids)
            number = head.number_logit(read, own[..., 0], known[0])
            own = torch.cat([number[..., None].to(own), own[..., 1:]], dim=-1)
    if task is not None and labels is not None:
        where, exact = wanted.tokens() if known is None and labelled is None else (None, False)
        if where is not None and not exact and task is not None:
            _count_left_out(model, labels != -100, len(where), task.token_share)
        token_terms = token_loss(
            items["logits"],
            labels,
            own,
            first_id,
            shift=causal,
            known=known,
            shares=shares,
            where=where,
            exact=exact,
            few=labelled is not None,
        )
        if objective is not None and objective.number_tokens is not None:
            extra = objective.number_tokens(items["logits"], labels, shift=causal, shares=shares)
            token_terms = token_terms + extra
    # A training step needs only its loss: the concatenated copy would cost more than everything else that we add.
    if own is not None and not (model.training and token_terms is not None):
        items["logits"] = append_logits(items["logits"], own, first_id)
    if task is not None and hidden is not None:
        number_terms = _number_loss(model, hidden, wanted, task, shares)
        if number_terms is not None and not has_fixed_shapes():  # a side effect would split a compiled graph
            model.number_loss = number_terms.detach()
    loss = token_terms
    if objective is not None and task is not None:
        seen = Pass(model, task, output.get("logits"), hidden, again, shares)  # type: ignore[arg-type]
        loss = objective.total(token_terms, number_terms, seen)
    if loss is not None:
        items["loss"] = loss
    result = rebuilt(output, items)
    result.source_index = None if task is None else task.source
    # A training step needs only its loss; a recorded CUDA graph returns tensors only.
    step = model.training and loss is not None and not every and model.on_numbers is None
    if not (step or is_recorded()):
        result.numbers, result.number_index = _predicted_numbers(model, hidden, wanted, every)
        if model.on_numbers is not None:
            targets = None if task is None else task.targets
            model.on_numbers(result.numbers, result.number_index, targets)
    return result


def _count_left_out(model: NumberModel, mask: Tensor, places: int, share: float) -> None:
    """Adds what finds no place to `left_out`, on the device and in place, so that a recorded step counts, too."""
    if torch.compiler.is_compiling() or places >= mask.numel() or not uses_capacity(mask, share):
        return
    missed = (mask.sum() - places).clamp_min(0)
    if model.left_out is None:
        model.left_out = missed
    else:
        model.left_out.add_(missed)


def _number_loss(
    model: NumberModel, hidden: Tensor, wanted: Predicted, task: Task, shares: Mapping[str, Tensor] | None
) -> Tensor | None:
    if model.head is None or task.targets is None or not wanted.has_numbers:
        return None
    where, counted = wanted.numbers()
    rows, _, numbers = where
    if counted is not None:
        _count_left_out(model, wanted.scored, len(rows), task.share)
    states = number_states(model, hidden, wanted, where)
    targets = task.targets[rows, numbers] if task.number_places is None else task.targets
    terms = model.head.loss(states, targets, *context_of(model, hidden, wanted, where))
    count: Tensor | int = len(rows)
    if counted is not None:
        terms, count = terms.where(counted, 0.0), counted.sum()  # a term that is not counted may be infinite
    if task.labels is not None and getattr(model.objective, "counts_tokens", False):
        count = (task.labels[:, int(model.info.is_causal) :] != -100).sum()
        return mean_over(terms.sum(), count, shares, "tokens")
    return mean_over(terms.sum(), count, shares, "numbers")


def _predicted_numbers(
    model: NumberModel, hidden: Tensor | None, wanted: Predicted, every: bool
) -> tuple[NumberDistribution | None, Tensor | None]:
    """Distributions of the numbers that are asked for (or of all), and (N, 2) row and number index of each."""
    places = wanted.places
    if model.head is None or hidden is None or places is None:
        return None, None
    # A number that is asked for may be the first token of its text; a given one would be visible there.
    asked, tokens = wanted.at(places, places.known if every else places.table.given == ASKED, stay=not every)
    rows, numbers = numbers_where(asked)
    if len(rows) == 0 and not every:
        return None, None
    where = rows, tokens[rows, numbers], numbers
    states = number_states(model, hidden, wanted, where)
    return model.head(states, *context_of(model, hidden, wanted, where)), torch.stack([rows, numbers], dim=1)


def number_states(model: NumberModel, hidden: Tensor, wanted: Predicted, where: Positions) -> Tensor:
    """What the number head reads at each place: (N, hidden) last hidden states, with `pooled` plus the text's mean."""
    rows, tokens, _ = where
    hidden = hidden.to(model.device)  # a backbone may be spread over several devices
    states = chosen_rows(hidden, rows, tokens)
    if not model.options.pooled:
        return states
    mask = wanted.fields.get("attention_mask")
    real = torch.ones_like(hidden[..., :1]) if mask is None else mask.to(hidden)[..., None]
    if wanted.before is None:
        return states + ((hidden * real).sum(1) / real.sum(1))[rows]
    return states + chosen_rows((hidden * real).cumsum(1) / real.cumsum(1).clamp_min(1), rows, tokens)


def context_of(model: NumberModel, hidden: Tensor, wanted: Predicted, where: Positions) -> list[PointerContext | None]:
    """The numbers of the text, for a head that looks at them; a decoder predicts a number a token before reading it."""
    if model.head is None or not model.head.looks_back:
        return []
    before = wanted.before
    delay = 0 if before is not None else 1 if model.info.is_encoder_decoder else None
    found = earlier_numbers(
        hidden.to(model.device), wanted.fields, where, before=before, delay=delay, places=wanted.places,
        queries=model.head.reads_queries,
    )  # fmt: skip
    return [found]


def with_own_logits(model: NumberModel, items: dict[str, Any], hidden: Tensor) -> dict[str, Any]:
    """The items of a backbone's output with the logits of our tokens behind its own, as outside of training."""
    if model.own_logits is None:
        return items
    own = model.own_logits(hidden.to(model.own_logits.weight))
    if model.head is not None and model.head.gates:
        total = items["logits"].logsumexp(-1)
        own = torch.cat([model.head.number_logit(hidden, own[..., 0], total)[..., None].to(own), own[..., 1:]], dim=-1)
    return items | {"logits": append_logits(items["logits"], own, model.processor.first_id)}


def real_tokens(model: NumberModel, fields: dict[str, Any]) -> Tensor | None:
    """For a causal model, (B, T) which tokens are not padding: the token before a number predicts it. Else None."""
    if not model.info.is_causal:
        return None
    attention = fields.get("attention_mask")
    return attention if attention is not None and attention.dim() == 2 else torch.ones_like(fields["input_ids"])
