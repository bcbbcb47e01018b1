"""`NumberTrainer`: the Hugging Face Trainer with number metrics, a non-finite guard and atomic checkpoints."""

from __future__ import annotations

import contextlib
import functools
import logging
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from transformers import set_seed
from transformers.utils.generic import find_labels

from numerate.modeling.asking import has_trained_head
from numerate.modeling.fitting import first_numbers, fit_parts
from numerate.modeling.number_model import NumberModel
from numerate.modeling.tasks import base_of
from numerate.processing.encoding import ENCODE, NumberCollator
from numerate.training.checkpoints import recover
from numerate.training.compiled_backbone import compiled_backbone, compiled_modules
from numerate.training.flat_collator import FlatCollator
from numerate.training.guard import SAMPLE_ID, NonFiniteGuard
from numerate.training.learning_rates import number_rate, set_number_rates
from numerate.training.loss_normalisation import step_counts
from numerate.training.number_evaluation import NumberEvaluation
from numerate.training.objective import ObjectiveCallback
from numerate.training.output_folder import output_folder
from numerate.training.prepared_batches import Packed, Preparation
from numerate.training.progress import Throughput
from numerate.training.sharding import keep_shared_weights_together
from numerate.training.step_graphs import NUMBERS, TOKENS, StepGraphs, padded_to, why_not

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from torch import nn

__all__ = ["NumberTrainer"]

_log = logging.getLogger(__name__)
_LABELS = ("labels", "label", "label_ids", "start_positions")
"""Fields of a row that give a loss; collators name some of them `labels`."""


class NumberTrainer(NumberEvaluation):
    """The stock Trainer with seven changes.

    - Head and embedder are fitted to the numbers of the first 5,000 training texts, unless they were fitted or loaded.
    - The parts of numerate have a learning rate of their own; see `number_learning_rate`.
    - Evaluation of batches without labels gives the objective's loss, with the same masks each time; models with a
      number head also get `log_mae`, `mdape`, `within_2` and `coverage_90` (of 90 % intervals) over the predicted
      `numbers`, in units of the batch: scaled values, if the processor scales. A model that attends to both sides is
      asked for each number of a text alone, as `predict` asks.
    - A step of several batches (gradient accumulation or several processes) has the loss and gradient of all its texts
      in one batch, and not the mean of the batches' means; see `numerate.training.loss_normalisation`.
    - A step with a non-finite loss or gradient is skipped; see `NonFiniteGuard`. Mean losses in the log do not contain
      skipped steps, and `skipped_steps` counts them.
    - Checkpoints are written atomically; `train(resume_from_checkpoint=True)` resumes from the newest complete one.
    - The log has `texts_per_second` and `tokens_per_second` without padding, evaluation and saving.

    Args:
        model: A `NumberModel`, one inside of `get_peft_model`, or any other model of the stock Trainer.
        args: `TrainingArguments`.
        data_collator: By default a `NumberCollator`.
        train_dataset: Processed texts; a column `sample_id` (integers) names them in the log of bad steps, and makes
            their masks independent of the batch and the process.
        eval_dataset: Processed texts for evaluation.
        eval_seed: Random seed of the masks of an evaluation.
        number_metrics: Whether evaluation computes number metrics. A model that attends to both sides needs a forward
            pass over a text for each of its numbers.
        labelled_logits: Whether training steps of a masked language model compute token logits only where there is a
            label; loss and gradients are the same. See `NumberModel.labelled_logits`.
        number_learning_rate: Learning rate of the embedder, the head and all other weights outside of the backbone;
            "same" for `learning_rate`. By default ten times the `learning_rate`, but at most 1e-3 (and not below
            `learning_rate`): these weights are new, those of the backbone are trained. The schedule scales both alike.
        cuda_graphs: Whether to record training steps as CUDA graphs and replay them, several times as fast where a
            step takes longer to launch than to run; see `numerate.training.step_graphs`. Training runs as usual, with
            a warning, where they cannot be recorded.
        nonfinite_limit: Number of consecutive bad steps that ends the run.
        callbacks: Callbacks of the stock Trainer.
        **options: Other options of the stock Trainer.
    """

    def __init__(
        self,
        model: Any = None,
        args: Any = None,
        data_collator: Any = None,
        train_dataset: Any = None,
        eval_dataset: Any = None,
        *,
        eval_seed: int = 0,
        number_metrics: bool = True,
        labelled_logits: bool = True,
        number_learning_rate: float | str | None = None,
        cuda_graphs: bool = False,
        nonfinite_limit: int = 3,
        callbacks: Sequence[Any] | None = None,
        **options: Any,
    ) -> None:
        if options.get("model_init") is not None:
            raise TypeError("NumberTrainer takes a model, not model_init: make a NumberTrainer for each trial")
        inner = base_of(model)  # PEFT may have wrapped the whole model
        self._numbers = inner if isinstance(inner, NumberModel) else None
        if data_collator is None and (processor := getattr(inner, "processor", None)) is not None:
            data_collator = NumberCollator(processor.tokenizer)
        if isinstance(data_collator, NumberCollator):
            data_collator.empty_labels = False  # they are for the stock Trainer
        self.guard = NonFiniteGuard(nonfinite_limit)
        self._epochs = None if self._numbers is None else ObjectiveCallback(self._numbers, self.guard)
        self.labelled_logits = labelled_logits
        self.number_learning_rate = number_learning_rate
        self._counts: dict[str, Tensor] | None = None
        self._number_losses: list[Tensor] = []
        self.cuda_graphs, self._graphs = cuda_graphs, None
        self.masks_in_loader = self.compiles_whole = False
        self._steps = self._skipped_before = self._skipped_at_first = 0
        self._loss_before: Tensor | None = None
        self._first_step: int | None = None
        self._operations: int | None = None
        callbacks = [*(callbacks or ()), self.guard, *([] if self._epochs is None else [self._epochs])]
        super().__init__(
            model, args, data_collator, train_dataset, eval_dataset, callbacks=callbacks, eval_seed=eval_seed,
            number_metrics=number_metrics, **options,
        )  # fmt: skip
        if self._numbers is not None:
            self._set_labels(self._numbers)
        number_rate(self.args.learning_rate, number_learning_rate)  # refuses a wrong one before anything is loaded
        self.masks_in_loader = self.args.device.type != "cpu" and self.args.dataloader_num_workers > 0
        # The guard skips such steps; the stock filter would wait for the accelerator twice in every step.
        self.args.logging_nan_inf_filter = False
        self.guard.scales_gradients = getattr(self.accelerator, "scaler", None) is not None
        self.throughput = Throughput(self.args.world_size)
        if self.args.fsdp and not self.is_fsdp_enabled:
            _log.warning("fsdp is set, but accelerate does not shard here: every process keeps the whole model")
        if self._numbers is not None and self.is_fsdp_enabled:
            keep_shared_weights_together(self.accelerator, self._numbers)

    def _set_labels(self, model: NumberModel) -> None:
        """Sets the names of the labels, which the stock Trainer takes from the name of the model's class."""
        if self.args.label_names is None and model.info.task == "question-answering":
            self.label_names = find_labels(type(base_of(model.backbone)))
        if (smoothing := self.args.label_smoothing_factor) and model.info.is_language_model:
            raise ValueError(
                f"label_smoothing_factor={smoothing}: the stock Trainer would replace the model's loss by one without "
                "numbers: leave it at 0"
            )

    # Training.

    def train(self, resume_from_checkpoint: str | bool | None = None, *positional: Any, **options: Any) -> Any:
        """Trains; `resume_from_checkpoint=True` resumes from the newest complete checkpoint in the output folder.

        A folder to resume from must be complete if it has a manifest. Other arguments are those of the stock Trainer.

        Raises:
            OutputFolderError: Checkpoints cannot be written to the output folder, or another process writes there.
        """
        writes = self.args.process_index == 0 and str(getattr(self.args.save_strategy, "value", "")) != "no"
        with output_folder(str(self.args.output_dir), holds=writes):
            return self._train(resume_from_checkpoint, *positional, **options)

    def _train(self, resume_from_checkpoint: str | bool | None, *positional: Any, **options: Any) -> Any:
        folder = str(self.args.output_dir)
        self._check_rows("train_dataset", self.train_dataset)
        if self.args.should_save:
            recover(folder)
        if resume_from_checkpoint is not None and resume_from_checkpoint is not False:
            resume_from_checkpoint = self._complete(folder, resume_from_checkpoint)
        elif self._numbers is not None and not self._numbers.fitted:
            self._fit(self._numbers)
        if self._numbers is not None and _trains_in_half(self._numbers.backbone):
            _log.warning(
                "the backbone is trained in half precision and loses small steps: load it with dtype='float32'"
            )
        # The stock Trainer seeds in its constructor: random draws since then would change masks, dropout and order.
        set_seed(self.args.seed)
        self.throughput.restart()
        self._steps, self._skipped_before, self._operations = 0, self.guard.skipped, None
        self._skipped_at_first, self._first_step = self.guard.skipped, None
        self._graphs = self._new_graphs()
        with self._labelled(), self._compiled():
            output = super().train(resume_from_checkpoint, *positional, **options)
        if self._graphs is not None:
            _log.info("%d training steps were recorded as CUDA graphs", self._graphs.count)
            self._graphs = None
        # Mixed precision wraps `forward` and rebuilds its output, which would lose the distributions.
        self.accelerator.unwrap_model(self.model, keep_fp32_wrapper=False)
        if not self.is_fsdp_enabled:
            # With this mark, accelerate would leave the model as it is in a second training: in float32, not compiled.
            vars(self.model).pop("_is_accelerate_prepared", None)
        return output._replace(training_loss=output.metrics["train_loss"])

    def _run_epoch(self, *positional: Any, **options: Any) -> None:
        """An epoch of the stock Trainer, which would take one step more when a finished training is resumed."""
        if self.state.global_step >= self.state.max_steps:
            self.control.should_training_stop = True
            return
        super()._run_epoch(*positional, **options)

    def _new_graphs(self) -> StepGraphs | None:
        """The graphs of a training; None if there shall be none, or steps cannot be recorded."""
        if not self.cuda_graphs:
            return None
        model, scaled = self._numbers, getattr(self.accelerator, "scaler", None) is not None
        if (reason := why_not(model, self.args, scaled, self._compiles_backbone())) is not None or model is None:
            _log.warning("cuda_graphs: steps are not recorded, because %s", reason)
            return None
        if isinstance(self.data_collator, NumberCollator):
            self.data_collator.multiple = math.lcm(self.data_collator.multiple, TOKENS)
        return StepGraphs(model, self.args.max_grad_norm or math.inf)

    @contextlib.contextmanager
    def _labelled(self) -> Iterator[None]:
        """A context in which training steps compute only the token logits that they need."""
        model = self._numbers
        if model is None:
            yield
            return
        before, model.left_out = model.labelled_logits, None
        model.labelled_logits = before or self.labelled_logits
        try:
            yield
        finally:
            model.labelled_logits = before

    def _compiles_backbone(self) -> bool:
        """Whether `torch_compile` compiles the backbone, and not the whole model as in the stock Trainer."""
        args, sharded = self.args, self.is_fsdp_enabled or self.is_deepspeed_enabled
        if self._numbers is None or not args.torch_compile or args.n_gpu > 1 or sharded or self.compiles_whole:
            return False
        return bool(compiled_modules(self._numbers))

    @contextlib.contextmanager
    def _compiled(self) -> Iterator[None]:
        """A context in which the model is prepared as `torch_compile` says."""
        model, epochs = self._numbers, self._epochs
        if not self.args.torch_compile or model is None or epochs is None:
            yield
        elif self._compiles_backbone():
            with compiled_backbone(model, self.accelerator.state.dynamo_plugin):
                yield
        else:
            with epochs.as_tensor(self.args.device):  # a plain number would be compiled as a constant
                yield

    def _fit(self, model: NumberModel) -> None:
        """Fits head and embedder to the training data, unless the head was trained before."""
        if model.head is not None and any(True for _ in model.head.parameters()) and has_trained_head(model):
            return
        numbers = first_numbers(_in_order(self.train_dataset))
        if len(numbers):
            fit_parts(model, numbers)
        elif model.head is not None:
            _log.warning(
                "the number head is not fitted: the first training texts have no numbers; use attach(fit=texts)"
            )

    def _check_rows(self, name: str, rows: Any) -> None:
        """Refuses a data set of texts, or of rows of a bare tokenizer; a collator of one's own may take any rows."""
        model = self._numbers
        if model is None or not hasattr(rows, "__len__"):
            return
        if not len(rows):
            raise ValueError(f"{name} is empty: {ENCODE}")
        can_look = hasattr(rows, "__getitem__") and not isinstance(rows, Mapping)
        if not isinstance(self.data_collator, NumberCollator) or not can_look:
            return
        row = rows[0]
        if not hasattr(row, "keys") or "input_ids" not in row:
            raise TypeError(f"{name}[0] is {str(row)[:60]!r}: {ENCODE}")
        if "number_slots" not in row and (model.embedder is not None or model.head is not None):
            raise TypeError(f"{name}[0] has no number_slots, as of a bare tokenizer: use dict(model.processor(text))")
        if "sample_id" in row and not hasattr(row["sample_id"], "__index__"):
            raise TypeError(
                f"{name}[0] has sample_id={row['sample_id']!r}: use an integer, such as the index of the text"
            )
        own = self.compute_loss_func is not None or type(self).compute_loss is not NumberTrainer.compute_loss
        if model.objective is None and not own and not {*row.keys()} & {*_LABELS, *self.label_names}:
            raise ValueError(
                f"{name}[0] has no labels, and {type(base_of(model.backbone)).__name__} has no loss without: add them, "
                "or give attach an objective, as in objective={'kind': 'masked', 'what': 'numbers'} for a bare encoder"
            )

    def create_optimizer(self, model: Any = None) -> Any:
        """The stock optimizer with `number_learning_rate`; an optimizer that was given stays as it is."""
        is_given, optimizer = self.optimizer is not None, super().create_optimizer(model)
        if not is_given and self._numbers is not None:
            set_number_rates(optimizer, self._numbers, self.args.learning_rate, self.number_learning_rate)
        return optimizer

    def get_batch_samples(self, *positional: Any, **options: Any) -> tuple[list[Any], Any]:
        """The batches of a step; also counts the terms of the step's loss on all processes."""
        batches, items = super().get_batch_samples(*positional, **options)
        self._counts = None
        if self._numbers is not None and self.args.n_gpu <= 1:
            is_shared = self.args.world_size > 1 and self.args.average_tokens_across_devices
            self._counts = step_counts(self._numbers, batches, self.accelerator if is_shared else None)
        return batches, items

    def training_step(self, model: nn.Module, inputs: dict[str, Any], *positional: Any, **options: Any) -> Tensor:
        """Forward and backward pass of a micro-batch; guard and throughput record it."""
        if self._first_step is None:  # first step of a resumed run
            self._first_step = self.state.global_step
        if not self.guard.has_seen:
            self._loss_before = self._tr_loss.clone()
        packed: Packed | None = inputs.pop("packed", None)
        prepared = None if packed is None else packed.task()
        if prepared is not None:
            inputs |= prepared.inputs
        # A `NumberModel` draws its masks from the sample ids; other models do not accept them.
        taken = {key: value for key, value in inputs.items() if key != SAMPLE_ID or self._numbers is not None}
        if prepared is not None:
            taken = {"input_ids": inputs["input_ids"], "prepared": prepared}
        if self._counts is not None:
            taken["loss_counts"] = self._counts
        loss = self._forward_and_back(model, taken, *positional, **options)
        if self._numbers is not None and self._numbers.number_loss is not None:
            self._number_losses.append(self._numbers.number_loss)  # on its device: reading it would wait for the step
            self._numbers.number_loss = None
        batches = self.current_gradient_accumulation_steps
        self.guard.see(loss if batches == 1 else loss * batches, inputs)
        self.throughput.add(inputs, None if packed is None else packed.tokens)
        return loss

    def floating_point_ops(self, inputs: dict[str, Any]) -> int:
        """The stock estimate; the parameters are counted once, and not in every step."""
        ids = inputs.get("input_ids")
        if self._numbers is None or not isinstance(ids, Tensor) or not ids.numel():
            return super().floating_point_ops(inputs)
        if self._operations is None:
            self._operations = super().floating_point_ops(inputs) // ids.numel()
        return self._operations * ids.numel()

    def _forward_and_back(self, model: nn.Module, inputs: dict[str, Any], *positional: Any, **options: Any) -> Tensor:
        """The detached loss of a micro-batch; its gradients are added to those of the weights."""
        if self._graphs is None:
            return super().training_step(model, inputs, *positional, **options)
        usual = super().training_step
        return self._graphs.step(inputs, lambda batch: usual(model, batch, *positional, **options))

    def _clip_grad_norm(self, model: nn.Module) -> Any:
        replayed = None if self._graphs is None else self._graphs.norm
        return super()._clip_grad_norm(model) if replayed is None else replayed  # clipping is part of a graph

    def _get_grad_norm(self, model: nn.Module, grad_norm: Any = None) -> Any:
        norm = super()._get_grad_norm(model, grad_norm=grad_norm)
        self.guard.see_norm(norm)
        return norm

    def _maybe_log_save_evaluate(self, tr_loss: Tensor, *positional: Any, **options: Any) -> None:
        self._steps = self.state.global_step - self._globalstep_last_logged
        if self._loss_before is not None and self.guard.last_skipped:
            # A skipped step is no part of the mean: one NaN in the sum would stay forever.
            tr_loss.copy_(self._loss_before)
        self._loss_before = None
        super()._maybe_log_save_evaluate(tr_loss, *positional, **options)

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Logs; adds the mean loss of the number head, throughput and the number of skipped steps."""
        if "loss" in logs:
            skipped = self.guard.skipped - self._skipped_before
            logs["loss"] = _without_skipped(logs["loss"], self._steps, skipped)
            self._skipped_before = self.guard.skipped
            if self._number_losses:
                logs["number_loss"] = round(float(torch.stack(self._number_losses).nanmean()), 4)
                self._number_losses = []
            logs |= self.throughput.read()
            if (
                self._numbers is not None
                and self._numbers.left_out is not None
                and (missed := int(self._numbers.left_out))
            ):
                logs["left_out_tokens"] = missed
        if self.guard.skipped and ("loss" in logs or "train_loss" in logs):
            logs["skipped_steps"] = self.guard.skipped
        if "train_loss" in logs:
            steps, skipped = self.state.global_step - (self._first_step or 0), self.guard.skipped
            logs["train_loss"] = _without_skipped(logs["train_loss"], steps, skipped - self._skipped_at_first)
        super().log(logs, start_time)

    def _get_collator_with_removed_columns(self, data_collator: Any, description: str | None = None) -> Any:
        stock = super()._get_collator_with_removed_columns(data_collator, description)
        if stock is data_collator or not isinstance(data_collator, NumberCollator):
            return stock
        change: Any = None
        if (description or "").lower() == "training" and self._graphs is not None:
            change = padded_to
        elif (description or "").lower() == "training" and self.args.torch_compile and not self._compiles_backbone():
            # Code is compiled again, for half a minute, for every new count of numbers in a batch.
            change = functools.partial(padded_to, numbers=2 * NUMBERS)
        elif (description or "").lower() == "training" and self.masks_in_loader and self._epochs is not None:
            change = Preparation.of(self._numbers, self.args)
            self._epochs.shared = None if change is None else change.epoch
        return FlatCollator(data_collator, stock, frozenset(self._signature_columns or ()), change)

    def _set_signature_columns_if_needed(self) -> None:
        super()._set_signature_columns_if_needed()
        if self._signature_columns is not None and SAMPLE_ID not in self._signature_columns:
            self._signature_columns.append(SAMPLE_ID)

    # Evaluation.

    def evaluate(self, *positional: Any, **options: Any) -> dict[str, float]:
        """Evaluates; the time does not count for the training throughput."""
        self._check_rows("eval_dataset", self.eval_dataset)
        with self.throughput.paused():
            return super().evaluate(*positional, **options)


def _trains_in_half(backbone: nn.Module) -> bool:
    return any(each.requires_grad and each.dtype in (torch.bfloat16, torch.float16) for each in backbone.parameters())


def _in_order(rows: Any) -> Iterable[Any]:
    """The examples of a data set; of one with a length by their index, so that no iterator of it is started."""
    if rows is None:
        return ()
    return (rows[index] for index in range(len(rows))) if hasattr(rows, "__len__") else rows


def _without_skipped(mean: float, steps: int, skipped: int) -> float:
    """The mean over all steps, where skipped ones count as 0, turned into the mean of the others; NaN without any."""
    if not skipped:
        return mean
    return mean * steps / (steps - skipped) if steps > skipped else float("nan")
