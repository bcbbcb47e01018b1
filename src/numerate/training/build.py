"""Builds the trainer of a run: arguments, model and encoded data."""

from __future__ import annotations

import dataclasses
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from transformers import TrainingArguments, set_seed
from transformers.trainer_callback import PrinterCallback, ProgressCallback
from transformers.trainer_pt_utils import LengthGroupedSampler

from numerate.config import ConfigError
from numerate.modeling.fitting import first_numbers, fit_parts
from numerate.modeling.saving import check_saveable
from numerate.registry import near_names
from numerate.training.argument_checks import check_arguments
from numerate.training.data import RemoteShards, encode, given_folder, prepared_split, texts_of
from numerate.training.engines.places import inside
from numerate.training.evaluation import seed_of
from numerate.training.learning_rates import number_rate
from numerate.training.models import build_model
from numerate.training.progress import Lines, Progress
from numerate.training.run import OWN_TRAINING, Run, RunError
from numerate.training.shards import Shards
from numerate.training.sources import SPLITS, SourceError
from numerate.training.trainer import NumberTrainer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numerate.modeling.number_model import NumberModel
    from numerate.training.engines.local import Engine

__all__ = ["Prepared", "RunTrainer", "build", "build_trainer", "prepare", "training_arguments"]


class RunTrainer(NumberTrainer):
    """`NumberTrainer` that can group the rows of `Shards` by length without reading them."""

    def _get_train_sampler(self, train_dataset: Any = None) -> Any:
        rows = train_dataset or self.train_dataset
        by_length = self._by_length(rows, lambda: seed_of(self.args.seed, int(self.state.epoch or 0)))
        return by_length or super()._get_train_sampler(train_dataset)

    def _get_eval_sampler(self, eval_dataset: Any) -> Any:
        return self._by_length(eval_dataset, lambda: self.eval_seed) or super()._get_eval_sampler(eval_dataset)

    def _by_length(self, rows: Any, seed: Callable[[], int]) -> Any:
        """A sampler that groups rows by length, for a data set with `lengths`; None for others."""
        if self.args.train_sampling_strategy != "group_by_length" or not hasattr(rows, "lengths"):
            return None
        size = self.args.train_batch_size * self.args.gradient_accumulation_steps
        return _ByLength(size, [int(length) for length in rows.lengths], seed)


class _ByLength(LengthGroupedSampler):
    """The stock length-grouped sampler, with an order that depends only on a seed.

    The stock one uses the random generator that dropout uses, too: a run resumed in its second epoch would get another
    order, and so would processes that read texts of other lengths.
    """

    def __init__(self, batch_size: int, lengths: list[int], seed: Callable[[], int]) -> None:
        super().__init__(batch_size, lengths=lengths)
        self._seed = seed

    def __iter__(self) -> Iterator[int]:
        self.generator = torch.Generator().manual_seed(self._seed())
        return super().__iter__()


@dataclass(frozen=True)
class Prepared:
    """A run, its model before training, and its encoded texts by split: `train`, `dev`, `test`."""

    run: Run
    model: NumberModel
    data: dict[str, Shards | RemoteShards]


def build(run: Run, output_dir: str | Path, *, backbone: Any = None, tokenizer: Any = None) -> NumberTrainer:
    """A trainer of a run, ready for `train()`; `output_dir` gets the checkpoints and the encoded texts.

    `backbone` and `tokenizer` are used instead of the run's checkpoint.

    Raises:
        RunError, SourceError, ShardsError: The run or its data are wrong.
    """
    arguments, own = training_arguments(run, output_dir)
    folder = given_folder(run) or Path(output_dir) / "prepared"
    with arguments.main_process_first(desc="preparing the data"):
        ready = prepare(run, folder, backbone=backbone, tokenizer=tokenizer, seed=arguments.seed)
    if "train" not in ready.data:
        raise RunError("the run has no training texts: give --data, or data.train in the run")
    try:
        check_saveable(ready.model)
    except ConfigError as error:  # known now, and not after the training
        raise RunError(f"the trained model could not be saved: {error}") from None
    return build_trainer(ready, arguments, **own)


def training_arguments(run: Run, output_dir: str | Path) -> tuple[TrainingArguments, dict[str, Any]]:
    """The arguments of the stock Trainer, and the options of `NumberTrainer`."""
    known = [field.name for field in dataclasses.fields(TrainingArguments) if field.init]
    for name in run.training:
        if name not in (*known, *OWN_TRAINING):
            raise RunError(f"training: unknown key {name!r}: {near_names(name, [*known, *OWN_TRAINING])}")
    check_arguments(run.training, TrainingArguments)
    own = {name: run.training[name] for name in OWN_TRAINING if name in run.training}
    given = {name: value for name, value in run.training.items() if name not in own}
    usual: dict[str, Any] = {"report_to": "none", "dataloader_pin_memory": torch.cuda.is_available()}
    usual["disable_tqdm"] = not sys.stderr.isatty()
    if torch.cuda.is_available() and given.get("dataloader_pin_memory", True):
        usual["accelerator_config"] = {"non_blocking": True}  # else the host waits for the step before at every copy
    if int(os.environ.get("WORLD_SIZE", "1")) > 1 and (given.get("use_cpu") or not torch.accelerator.is_available()):
        usual |= {"use_cpu": True, "ddp_backend": "gloo"}  # by default, each process would train alone
    if run.data.group_by_length:
        usual["train_sampling_strategy"] = "group_by_length"
    if texts_of(run, "dev") is None and prepared_split(run, "dev") is None:
        given |= {"eval_strategy": "no", "load_best_model_at_end": False}
    try:
        whole: dict[str, Any] = usual | given | {"output_dir": str(output_dir)}
        arguments = TrainingArguments(**whole)
        number_rate(arguments.learning_rate, own.get("number_learning_rate"))  # refuses a wrong one
        return arguments, own
    except (ArithmeticError, AttributeError, ImportError, LookupError, TypeError, ValueError) as error:
        raise RunError(f"training: {' '.join(str(error).split())[:300]}") from None


def prepare(
    run: Run, folder: str | Path, *, backbone: Any = None, tokenizer: Any = None, seed: int = 0, model: Any = None,
    engine: Engine | None = None, output: str | None = None,
) -> Prepared:  # fmt: skip
    """Builds a run's model, fits it to the training texts, and encodes the texts; existing encodings are reused.

    The folder gets `train`, `dev` and `test` (see `numerate.training.shards`), and `start` with the tokenizer and
    scaling that were fitted to the texts. `backbone` and `tokenizer` are used instead of the run's checkpoint, `model`
    instead of building one; `seed` is the random seed of the weights. `engine` encodes (one process by default), and
    `output` is a folder or address for the encoded texts instead of `folder`.
    """
    folder = Path(folder)
    texts = {split: found for split in SPLITS if (found := texts_of(run, split)) is not None}
    for split, found in list(texts.items()):
        try:
            found.check()
        except SourceError:
            # A file with a split field need not have rows of every split.
            if split == "train" or getattr(run.data, split) is not None:
                raise
            del texts[split]
    set_seed(seed)
    is_new = model is None
    if is_new:
        model = build_model(run, folder / "start", backbone=backbone, tokenizer=tokenizer)
    model.max_tokens = run.data.max_tokens
    data: dict[str, Shards | RemoteShards] = {}
    for split in SPLITS:
        if split in texts:
            target = inside(output, split) if output is not None else folder / split
            data[split] = encode(texts[split], model, target, run.data.max_tokens, engine=engine)
        elif (place := prepared_split(run, split)) is not None:
            data[split] = Shards(place, model.processor)
    if is_new and isinstance(rows := data.get("train"), Shards):
        fit_parts(model, first_numbers(rows))
    return Prepared(run, model, data)


def build_trainer(ready: Prepared, arguments: TrainingArguments, **options: Any) -> NumberTrainer:
    """The trainer of a prepared run; `options` are those of `NumberTrainer`."""
    trainer = RunTrainer(
        ready.model, arguments, train_dataset=ready.data.get("train"), eval_dataset=ready.data.get("dev"), **options
    )
    for stock in (ProgressCallback, PrinterCallback):
        trainer.remove_callback(stock)
    trainer.add_callback(Lines() if arguments.disable_tqdm else Progress())
    return trainer
