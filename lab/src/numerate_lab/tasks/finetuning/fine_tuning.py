"""Fine-tuning of pretrained models on prepared batches: settings of a trial, encodings by name, and the training."""

from __future__ import annotations

import dataclasses
import functools
import tempfile
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import torch

from numerate.config import check_names
from numerate.embedders.option_checks import check_option, check_positive
from numerate.training.device_batches import the_batch
from numerate_lab.engine.task import Task
from numerate_lab.tasks.finetuning.compiled_layers import compile_layers
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
