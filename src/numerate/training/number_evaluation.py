"""`NumberEvaluation`: the evaluation of `NumberTrainer`, with the objective's loss and number metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from numerate.modeling.asking import refusal
from numerate.modeling.number_model import NumberModel
from numerate.modeling.tasks import base_of
from numerate.objectives.masked import Masked
from numerate.training import evaluation
from numerate.training.atomic_checkpoints import AtomicCheckpoints
from numerate.training.guard import SAMPLE_ID

if TYPE_CHECKING:
    from torch import nn

__all__ = ["NumberEvaluation"]


class NumberEvaluation(AtomicCheckpoints):
    """The evaluation of `NumberTrainer`: loss of the objective with fixed masks, errors of predicted numbers.

    Args:
        *positional: Arguments of the stock Trainer.
        eval_seed: Random seed of the masks of an evaluation.
        number_metrics: Whether evaluation computes number metrics.
        **options: Options of the stock Trainer.
    """

    def __init__(self, *positional: Any, eval_seed: int, number_metrics: bool, **options: Any) -> None:
        self.eval_seed, self.number_metrics = eval_seed, number_metrics
        self._found: list[Tensor] = []
        self._evaluated = 0
        self._real: int | None = None
        super().__init__(*positional, **options)

    def evaluation_loop(self, *positional: Any, metric_key_prefix: str = "eval", **options: Any) -> Any:
        """The stock evaluation loop, with number metrics over the whole data set."""
        self._found, self._evaluated = [], 0
        # The data loader draws, too: training must not change by an evaluation.
        with evaluation.fixed_draws(self.eval_seed, self.args.device):
            output: Any = super().evaluation_loop(*positional, metric_key_prefix=metric_key_prefix, **options)
        found, self._found = evaluation.gathered(self._found, self.accelerator), []
        if self._measures(base_of(self._bare(self.model))) and len(found):
            scores = evaluation.measure(found)
            output.metrics.update({f"{metric_key_prefix}_{name}": value for name, value in scores.items()})
        return output

    def prediction_step(
        self, model: nn.Module, inputs: dict[str, Any], prediction_loss_only: bool, ignore_keys: Any = None
    ) -> tuple[Any, Any, Any]:
        """The stock prediction step; the loss of a batch without labels is that of the objective."""
        whole: Any = base_of(self._bare(model))
        if not isinstance(whole, NumberModel):
            inputs = {key: value for key, value in inputs.items() if key != SAMPLE_ID}
            return super().prediction_step(model, inputs, prediction_loss_only, ignore_keys)
        self._evaluated += 1
        if isinstance(labels := inputs.get("labels"), torch.Tensor) and not labels.numel():
            inputs = {key: value for key, value in inputs.items() if key != "labels"}  # collators ask for some
        seed = evaluation.seed_of(self.eval_seed, self._evaluated, self.args.process_index)
        is_labelled = bool(self.label_names) and all(inputs.get(name) is not None for name in self.label_names)
        learns = whole.objective is not None and not whole.objective.needs_labels
        asking = {"every_number": True} if self._measures(whole) and _reads_on(whole) else {}
        self._real = evaluation.real_rows(self.accelerator, inputs)
        # Texts with a `sample_id` get masks of their own epoch number, which is none of the training.
        with evaluation.fixed_draws(seed, self.args.device), evaluation.at_epoch(whole.objective, -1 - self.eval_seed):
            if is_labelled:
                inputs = evaluation.without_fill_ups(inputs, self._real, self.label_names)
                return super().prediction_step(model, inputs | asking, prediction_loss_only, ignore_keys)
            loss = None
            if learns or inputs.get("start_positions") is not None:
                with torch.no_grad(), self.compute_loss_context_manager():
                    prepared = self._prepare_inputs(evaluation.without_fill_ups(inputs, self._real))
                    prepared |= asking | {"return_loss": True}
                    loss = self.compute_loss(model, prepared).detach().mean()
                    self._ask(whole, inputs)
                if prediction_loss_only:
                    return loss, None, None
            # Logits are those of the unmasked batch.
            rest = super().prediction_step(model, inputs, prediction_loss_only, ignore_keys)
        return rest[0] if loss is None else loss, *rest[1:]

    def _ask(self, model: NumberModel, inputs: dict[str, Any]) -> None:
        """Asks a model that attends to both sides for each number of a batch alone; the predictions are kept."""
        learnt = isinstance(model.objective, Masked) and refusal(model) is None
        if not self._measures(model) or _reads_on(model) or not learnt:
            return
        passes, batch = 0, self._prepare_inputs(inputs)
        if self.is_fsdp_enabled:  # all processes gather the weights in each forward pass
            count = -(-len(evaluation.asked_numbers(batch, self._real)[0]) // len(batch["input_ids"]))
            counts: Any = self.accelerator.gather(torch.tensor([count], device=self.args.device))
            passes = int(counts.max())
        with self.accelerator.autocast():
            self._found.append(evaluation.asked_alone(model, batch, self._real, passes=passes).cpu())

    def compute_loss(
        self, model: nn.Module, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """The loss; in evaluation, the numbers are kept that a model reading from left to right predicts."""
        whole: Any = None if model.training else base_of(self._bare(model))  # unwrapping is slow
        if whole is None or not (self._measures(whole) and _reads_on(whole)):
            return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        given = dict(inputs)  # the stock Trainer may remove labels
        with evaluation.watched(whole) as kept:
            loss, outputs = super().compute_loss(model, inputs, True, num_items_in_batch)
        found = evaluation.predicted_numbers(whole, given, *kept[-1], rows=self._real) if kept else None
        self._found += [] if found is None else [found.cpu()]
        return (loss, outputs) if return_outputs else loss

    def _measures(self, model: Any) -> bool:
        return self.number_metrics and isinstance(model, NumberModel) and model.head is not None


def _reads_on(model: NumberModel) -> bool:
    """Whether a model predicts all numbers of a text in one pass, since it does not attend to the tokens after them."""
    return model.info.is_causal or model.info.is_encoder_decoder
