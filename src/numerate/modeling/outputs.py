"""Outputs of a `NumberModel`: logits of our own tokens, number distributions and the loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from numerate.modeling.introspection import NumberOutput, append_logits, rebuilt
from numerate.modeling.placement import earlier_numbers
from numerate.objectives.base import Pass, Task
from numerate.objectives.cross_entropy import aligned, mean_over, sum_and_pick, token_loss
from numerate.processing.number_table import ASKED, GIVEN
from numerate.processing.slot_positions import number_positions, table_of
from numerate.processing.static_shapes import chosen_rows, is_recorded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import Tensor

    from numerate.heads.base import NumberDistribution
    from numerate.heads.pointer import PointerContext
    from numerate.modeling.number_model import NumberModel

__all__ = ["number_outputs", "real_tokens"]

Positions = tuple["Tensor", "Tensor", "Tensor"]
"""Row, token and number index of each predicted number."""


def number_outputs(
    model: NumberModel, output: Any, hidden: Tensor | None, fields: dict[str, Any], task: Task | None = None,
    *, every: bool = False, again: Callable[..., Any] | None = None, shares: Mapping[str, Tensor] | None = None,
    labelled: tuple[Tensor, Tensor] | None = None,
) -> NumberOutput:  # fmt: skip
    """Appends the logits of our tokens, predicts the numbers and computes the loss.

    Args:
        model: The model.
        output: The backbone's output.
        hidden: (B, T, hidden) last hidden states; None where the backbone does not return them.
        fields: The batch, with slots at the tokens where the numbers are predicted.
        task: What is learnt from the batch; None for no loss.
        every: Predict all given numbers instead of those that are asked for.
        again: Runs another backbone on the same inputs, for objectives that need it; see `Pass.again`.
        shares: Counts that the losses are divided by, see `numerate.objectives.cross_entropy.mean_over`; by default
            those of the batch.
        labelled: Rows and columns of the tokens that have logits (N, 1, V); None if all have.
    """
    items = dict(output)
    own, known, token_terms, number_terms = None, None, None, None
    head, objective, causal = model.head, model.objective, model.info.is_causal
    first_id = model.processor.first_id
    labels = task.labels if task is not None and model.info.is_language_model else None
    read = hidden
    if labelled is not None and hidden is not None and labels is not None:
        labels, read = labels[labelled][:, None], chosen_rows(hidden, *labelled)[:, None]
    if model.own_logits is not None and read is not None:
        own = model.own_logits(read.to(model.own_logits.weight))
        if head is not None and head.gates:  # it decides between words and numbers in its own way
            ids = torch.zeros_like(fields["input_ids"]) if labels is None else aligned(labels, causal)
            known = sum_and_pick(items["logits"], ids)
            number = head.number_logit(read, own[..., 0], known[0])
            own = torch.cat([number[..., None].to(own), own[..., 1:]], dim=-1)
    if task is not None and labels is not None:
        token_terms = token_loss(items["logits"], labels, own, first_id, shift=causal, known=known, shares=shares)
        if objective is not None and objective.number_tokens is not None:
            extra = objective.number_tokens(items["logits"], labels, shift=causal, shares=shares)
            token_terms = token_terms + extra
    # A training step needs only its loss: the concatenated copy would cost more than everything else that we add.
    if own is not None and not (model.training and token_terms is not None):
        items["logits"] = append_logits(items["logits"], own, first_id)
    if task is not None and hidden is not None:
        number_terms = _number_loss(model, hidden, fields, task, shares)
    loss = token_terms
    if objective is not None and task is not None:
        seen = Pass(model, task, output.get("logits"), hidden, again, shares)  # type: ignore[arg-type]
        loss = objective.total(token_terms, number_terms, seen)
    if loss is not None:
        items["loss"] = loss
    result = rebuilt(output, items)
    result.source_index = None if task is None else task.source
    if not is_recorded():  # a recorded CUDA graph returns tensors only
        result.numbers, result.number_index = _predicted_numbers(model, hidden, fields, every)
        if model.on_numbers is not None:
            targets = None if task is None else task.targets
            model.on_numbers(result.numbers, result.number_index, targets)
    return result


def _number_loss(
    model: NumberModel, hidden: Tensor, fields: dict[str, Any], task: Task, shares: Mapping[str, Tensor] | None
) -> Tensor | None:
    slots = fields["number_slots"]
    if model.head is None or slots is None or task.targets is None or task.scored is None:
        return None
    rows, tokens, numbers = where = number_positions(slots, task.scored, before=real_tokens(model, fields))
    earlier = [_earlier(model, hidden, fields, where)] if model.head.looks_back else []
    states = chosen_rows(hidden.to(model.device), rows, tokens)
    terms = model.head.loss(states, task.targets[rows, numbers], *earlier)
    if task.labels is not None and getattr(model.objective, "counts_tokens", False):
        count = (task.labels[:, int(model.info.is_causal) :] != -100).sum()
        return mean_over(terms.sum(), count, shares, "tokens")
    return mean_over(terms.sum(), len(rows), shares, "numbers")


def _predicted_numbers(
    model: NumberModel, hidden: Tensor | None, fields: dict[str, Any], every: bool
) -> tuple[NumberDistribution | None, Tensor | None]:
    """Distributions of the numbers that are asked for (or of all), and (N, 2) row and number index of each."""
    table, slots = table_of(fields), fields["number_slots"]
    if model.head is None or hidden is None or table is None or slots is None:
        return None, None
    wanted = (table.given == GIVEN) & table.values().isfinite() if every else table.given == ASKED
    # A number that is asked for may be the first token of its text; a given one would be visible there.
    before = real_tokens(model, fields)
    rows, tokens, numbers = where = number_positions(slots, wanted, before=before, stay=not every)
    if len(rows) == 0 and not every:
        return None, None
    earlier = [_earlier(model, hidden, fields, where)] if model.head.looks_back else []
    # On our device: a backbone may be spread over several.
    states = chosen_rows(hidden.to(model.device), rows, tokens)
    return model.head(states, *earlier), torch.stack([rows, numbers], dim=1)


def _earlier(model: NumberModel, hidden: Tensor, fields: dict[str, Any], where: Positions) -> PointerContext | None:
    """The numbers that a head may copy from the text. A decoder predicts a number one token before it reads it."""
    before = real_tokens(model, fields)
    delay = 0 if before is not None else 1 if model.info.is_encoder_decoder else None
    return earlier_numbers(hidden.to(model.device), fields, where, before=before, delay=delay)


def real_tokens(model: NumberModel, fields: dict[str, Any]) -> Tensor | None:
    """For a causal model, (B, T) which tokens are not padding: the token before a number predicts it. Else None."""
    if not model.info.is_causal:
        return None
    attention = fields.get("attention_mask")
    return attention if attention is not None and attention.dim() == 2 else torch.ones_like(fields["input_ids"])
