"""Fine-tuning of pretrained models on prepared batches: settings of a trial, encodings by name, and the training."""

from __future__ import annotations

import dataclasses
import functools
import math
import tempfile
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import torch

from numerate.config import check_names
from numerate.embedders.option_checks import check_option, check_positive
from numerate.modeling.fitting import first_numbers, fit_parts
from numerate.training.device_batches import the_batch
from numerate.training.learning_rates import number_rate
from numerate.training.step_graphs import padded_to
from numerate_lab.engine.task import Task
from numerate_lab.tasks.finetuning.compiled_layers import compile_layers
from numerate_lab.tasks.finetuning.recorded_steps import RecordedSteps, learn, rated_optimizer
from numerate_lab.tasks.finetuning.row_names import row_fields
from numerate_lab.tasks.finetuning.started_trial import StartedTrial

if TYPE_CHECKING:
    from numerate.modeling.number_model import NumberModel
    from numerate.training.device_batches import BatchesByLength
    from numerate_lab.engine.task import Figures, TrialConfig

__all__ = ["FineTuningTask", "FineTuningTrial", "fine_tune"]


@dataclass(frozen=True, kw_only=True)
class FineTuningTrial(StartedTrial):
    """Settings of one fine-tuning; a task adds its own.

    Attributes:
        source: Folder or file of the data.
        layers: Use only the first so many layers of the model; None for all.
        batch: Examples per batch.
        epochs: Number of epochs.
        share: Share of the steps that are trained, with the whole schedule: a try of a learning rate has less than 1.
        number_rate: Learning rate of all weights outside of the backbone; None for ten times the rate, at most 1e-3.
        schedule: Learning-rate schedule, a name of `TrainingArguments`.
        warmup: Share of the steps with a rising rate.
        weight_decay: Weight decay of AdamW.
        bf16: Train in mixed precision on an accelerator; evaluation then uses float32 with TF32 products.
        most_train: Maximum number of training examples, drawn at random; None for all.
        most_eval: Maximum number of examples of each measured split.
        max_tokens: Longer examples are cut.
    """

    kind: ClassVar[str] = "fine-tuning"
    layers: int | None = None
    batch: int = 32
    epochs: int = 5
    share: float = 1.0
    number_rate: float | None = None
    schedule: str = "linear"
    warmup: float = 0.06
    weight_decay: float = 0.01
    bf16: bool = True
    most_train: int | None = None
    most_eval: int | None = None
    max_tokens: int = 512

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names(self)
        check_positive(self, "batch", "epochs", "max_tokens", "most_train", "most_eval", "layers")
        check_positive(self, "rate", "number_rate")
        check_option(0 < self.share <= 1, self, "share must lie in (0, 1]", "share")

    @property
    def name(self) -> str:
        """File name of the trial's result."""
        part = "" if self.share == 1 else f"-part{self.share:g}"
        return f"{self.encoding}-rate{self.rate:g}-seed{self.seed}-epochs{self.epochs}{part}"

    def tried(self, rate: float, share: float) -> Self:
        """A training on a share of the steps."""
        return dataclasses.replace(self.final(rate, 0), share=share)


class FineTuningTask(Task):
    """A task that fine-tunes a pretrained model; a subclass says what its examples are."""

    config: Any
    Trial: ClassVar[type[TrialConfig]] = FineTuningTrial
    shares_compiled = True

    @classmethod
    def encoding(cls, name: str) -> dict[str, Any]:
        """Recipe, parts and start of an encoding: `bare`, `in-place`, `luna@pretrained`, `log-fourier+mixture`.

        Example:
            >>> FineTuningTask.encoding("luna@pretrained")
            {'recipe': 'luna', 'start': 'pretrained'}
            >>> FineTuningTask.encoding("bare")
            {'recipe': 'subwords'}
        """
        return row_fields(name, {each.name for each in dataclasses.fields(cls.Trial)})

    @functools.cached_property
    def device(self) -> torch.device:
        """An accelerator, if there is one."""
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def fine_tune(model: NumberModel, config: FineTuningTrial, batches: BatchesByLength) -> Figures:
    """Trains with `NumberTrainer` on prepared batches: `steps`, `seconds`, `seconds_an_epoch` and `losses`.

    The number parts of a model that is not fitted yet are fitted to the batches' numbers first.
    """
    import transformers

    from numerate.training import NumberTrainer

    cuda = torch.cuda.is_available()
    if config.bf16 and cuda:
        torch.set_float32_matmul_precision("high")
    if config.compiled and cuda:
        compile_layers(model.backbone)
    steps = max(1, round(config.share * config.epochs * len(batches)))
    if config.recorded:
        return _tune_recorded(model, config, batches, steps)
    with tempfile.TemporaryDirectory() as folder:
        arguments = transformers.TrainingArguments(
            folder, max_steps=steps, per_device_train_batch_size=1, learning_rate=config.rate,
            weight_decay=config.weight_decay, lr_scheduler_type=config.schedule, warmup_steps=min(0.99, config.warmup),
            logging_steps=max(1, steps // 20), save_strategy="no", report_to="none", disable_tqdm=True,
            seed=config.seed, remove_unused_columns=False, dataloader_pin_memory=False, bf16=config.bf16 and cuda,
            use_cpu=not cuda,
        )  # fmt: skip
        trainer = NumberTrainer(
            model,
            arguments,
            data_collator=the_batch,
            train_dataset=batches.to(arguments.device),
            number_metrics=False,
            number_learning_rate=config.number_rate,
        )
        trainer.remove_callback(transformers.PrinterCallback)
        begin = time.perf_counter()
        trainer.train()
        if cuda:
            torch.cuda.synchronize()
        seconds = time.perf_counter() - begin
    losses = [{"step": entry["step"], "loss": entry["loss"]} for entry in trainer.state.log_history if "loss" in entry]
    epoch = round(seconds * len(batches) / steps, 2)
    return {"steps": steps, "seconds": round(seconds, 2), "seconds_an_epoch": epoch, "losses": losses}


def _tune_recorded(model: NumberModel, config: FineTuningTrial, batches: BatchesByLength, steps: int) -> Figures:
    """The same in a loop without the Trainer, whose steps are recorded on an accelerator; rates fall linearly."""
    device, begin = model.device, time.perf_counter()
    cuda = device.type == "cuda"
    numbers = first_numbers(batches.batches)
    if not model.fitted and len(numbers):
        fit_parts(model, numbers)
    batches.to(device)
    optimizer, schedule = rated_optimizer(
        model.named_parameters(), backbone="backbone.", rate=config.rate,
        new_rate=number_rate(config.rate, config.number_rate), weight_decay=config.weight_decay, warmup=config.warmup,
        steps=steps, recorded=cuda,
    )  # fmt: skip
    names = list(batches.batches[0])

    def step(size: Any, *tensors: torch.Tensor) -> torch.Tensor:
        del size
        fields: dict[str, Any] = dict(zip(names, tensors, strict=True))
        return learn(lambda: model(**fields).loss, optimizer, 1.0, config.bf16 and cuda, device)

    run, draws = RecordedSteps(step, enabled=cuda), np.random.default_rng(config.seed)
    order, losses = np.zeros(0, int), []
    model.train()
    for done in range(steps):
        if done % len(batches) == 0:
            order = draws.permutation(len(batches))
        batch = padded_to(batches[int(order[done % len(batches)])], numbers=16, characters=32)
        losses.append(run(tuple(batch[name].shape for name in names), *(batch[name] for name in names)).clone())
        schedule.step()
    model.eval()
    parts = [(int(part[-1]), part) for part in np.array_split(np.arange(steps), min(20, steps))]
    told = [{"step": end + 1, "loss": float(torch.stack([losses[at] for at in part]).mean())} for end, part in parts]
    if not math.isfinite(told[-1]["loss"]):
        raise FloatingPointError(f"the loss is {told[-1]['loss']}: give a smaller rate than {config.rate:g}")
    seconds = time.perf_counter() - begin
    epoch = round(seconds * len(batches) / steps, 2)
    return {"steps": steps, "seconds": round(seconds, 2), "seconds_an_epoch": epoch, "losses": told}
