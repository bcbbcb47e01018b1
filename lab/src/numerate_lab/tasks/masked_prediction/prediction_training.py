"""Training of one trial: learning rates by part, prepared batches on the device, no checkpoints.

A masked-LM head runs on selected tokens only, because logits of all tokens dominate the cost.
"""

from __future__ import annotations

import tempfile
import time
from typing import TYPE_CHECKING, Any

import torch

from numerate.modeling.introspection import base_of
from numerate.modeling.picked_states import picks_states, states_at
from numerate.training.learning_rates import set_rate

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch.utils.data import Dataset

    from numerate.modeling.number_model import NumberModel
    from numerate_lab.tasks.masked_prediction.prediction_setup import PredictionTrial

__all__ = ["fit"]


def _optimizer(model: NumberModel, config: PredictionTrial, **options: Any) -> torch.optim.Optimizer:
    """AdamW; the encoder and the parts that see number vectors have learning rates of their own."""
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=config.rate, weight_decay=config.weight_decay, **options)
    if config.backbone_rate is not None:
        set_rate(optimizer, base_of(model.backbone).base_model.parameters(), config.backbone_rate)
    if config.number_rate is not None:
        parts = (model.embedder, model.gate, model.reach, model.late_reach, model.relations)
        weights = (weight for part in parts if part is not None for weight in part.parameters())
        set_rate(optimizer, weights, config.number_rate)
    return optimizer


def fit(
    model: NumberModel, config: PredictionTrial, batches: Callable[[torch.device], Dataset[Any]],
    collate: Callable[[list[Any]], dict[str, Any]], *, words: bool = True,
) -> dict[str, Any]:  # fmt: skip
    """Trains with `NumberTrainer` on prepared batches: `steps`, the mean `train_loss` and `seconds`.

    `batches` returns the batches on a device, `collate` makes the model's input from a batch. With `words`, only words
    are predicted; the head then runs on labelled tokens only, one of seven.
    """
    import transformers

    begin = time.perf_counter()
    if config.bf16 and torch.cuda.is_available():
        torch.set_float32_matmul_precision("high")
    with tempfile.TemporaryDirectory() as folder:
        arguments = transformers.TrainingArguments(
            output_dir=folder, per_device_train_batch_size=1, num_train_epochs=config.epochs,
            learning_rate=config.rate, weight_decay=config.weight_decay, lr_scheduler_type=config.schedule,
            warmup_steps=config.warmup, save_strategy="no", logging_strategy="no", report_to="none",
            disable_tqdm=True, seed=config.seed, remove_unused_columns=False, dataloader_pin_memory=False,
            bf16=config.bf16 and torch.cuda.is_available(),
        )  # fmt: skip
        optimizer = _optimizer(model.to(arguments.device), config, fused=arguments.device.type == "cuda")
        trainer = _trainer(picked=words and picks_states(model))(
            model, arguments, data_collator=collate, train_dataset=batches(arguments.device), number_metrics=False,
            optimizers=(optimizer, None),
        )  # fmt: skip
        trainer.remove_callback(transformers.PrinterCallback)
        result = trainer.train()
    seconds = round(time.perf_counter() - begin, 2)
    return {"steps": result.global_step, "train_loss": result.training_loss, "seconds": seconds}


def _trainer(picked: bool) -> Any:
    """`NumberTrainer`, or a subclass that computes logits of labelled tokens only."""
    from numerate.training import NumberTrainer

    class Picking(NumberTrainer):
        def compute_loss(self, model: Any, inputs: dict[str, Any], *positional: Any, **options: Any) -> Any:
            labels = inputs["labels"]
            rows, columns = (labels != -100).nonzero(as_tuple=True)
            with states_at(self._numbers, rows, columns):  # type: ignore[arg-type]
                inputs = inputs | {"labels": labels[rows, columns][:, None]}
                return super().compute_loss(model, inputs, *positional, **options)

    return Picking if picked else NumberTrainer
