"""Loss normalisation of steps with several batches: gradient accumulation, several processes, or both.

A loss is a mean over the masked tokens or numbers of a batch, and batches differ in how many they have. So the mean of
the batches' losses is not the loss of all their texts in one batch. To make them equal, the terms of a step are counted
before its first batch is run, and every batch divides by its even share; see `numerate.objectives.cross_entropy`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from numerate.modeling.outputs import real_tokens
from numerate.processing.slot_positions import number_positions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numerate.modeling.number_model import NumberModel

__all__ = ["batch_counts", "step_counts"]


def batch_counts(model: NumberModel, batch: Mapping[str, Any]) -> dict[str, Tensor] | None:
    """Number of terms in each mean of a batch's loss: int64 tensors by name, with the same names for each batch.

    None if the counts are not known in advance: where the backbone computes the loss (classification), and for masks
    that are drawn in the forward pass, as for texts without a `sample_id`. The model is not run.
    """
    labels, objective, info = batch.get("labels"), model.objective, model.info
    if labels is not None:
        if not info.is_language_model:
            return None
    elif objective is None or objective.needs_labels or (objective.draws and batch.get("sample_id") is None):
        return None
    prefix = "decoder_" if info.is_encoder_decoder else ""
    fields = {key.removeprefix(prefix): value for key, value in batch.items() if key.startswith(prefix)}
    if prefix and fields.get("input_ids") is not None and fields.get("number_slots") is not None:
        # Slots are aligned with the decoder's input, labels with its output: one token later.
        fields["number_slots"] = torch.nn.functional.pad(fields["number_slots"][:, 1:], (0, 1))
    task = model.task(fields, labels, return_loss=True)
    if task is None or task.labels is None:
        return None
    if objective is None:
        found = {"tokens": (task.labels[:, int(info.is_causal) :] != -100).sum()}
    else:
        found = objective.counts(task, info.is_causal)
    slots, numbers = task.inputs.get("number_slots"), 0
    if model.head is not None and slots is not None and task.scored is not None:
        numbers = len(number_positions(slots, task.scored, before=real_tokens(model, task.inputs))[0])
    return found | {"numbers": task.labels.new_tensor(numbers)}


@torch.no_grad()
def step_counts(model: NumberModel, batches: Sequence[Mapping[str, Any]], accelerator: Any) -> dict[str, Tensor] | None:
    """The argument `loss_counts` of `NumberModel.forward` for all batches of a step, which makes their mean exact.

    These are counts by name, summed over the processes of an `accelerate.Accelerator` (None for this process only), and
    the number of `batches`. None if counts are not known, or the step is a single batch.
    """
    if accelerator is None and len(batches) < 2:
        return None
    each = [batch_counts(model, batch) for batch in batches]
    known = [counts for counts in each if counts is not None]
    if not known or len(known) < len(each):
        return None
    names = sorted(known[0])
    rows = torch.stack([torch.stack([counts[name] for name in names]) for counts in known])
    total = torch.cat([rows.sum(dim=0), rows.new_tensor([len(batches)])])
    if accelerator is not None:
        total = accelerator.reduce(total.to(accelerator.device), "sum")
    return dict(zip([*names, "batches"], total.unbind(), strict=True))
