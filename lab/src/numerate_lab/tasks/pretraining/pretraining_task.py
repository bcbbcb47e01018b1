"""The task `pretraining`: LUNA's number pre-training of a checkpoint on tables, whose models other tasks start from.

A row is an encoding and, behind an `@`, its losses: `luna@distilled`. The trained model is saved below the grid's
folder as `models/luna@distilled`, in bfloat16 with its backbone and a `run.json`, and is a start of that row.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch

from numerate.config import ConfigError
from numerate.embedders.option_checks import check_option, check_positive
from numerate.files import content_hash, json_hash
from numerate.modeling.attaching import load_recipe
from numerate.training.checkpoints import atomic
from numerate.training.results import Result
from numerate_lab.engine.made_once import made_once
from numerate_lab.engine.paper_tables import check_name, load_yaml
from numerate_lab.engine.task import Column, Task, TrialConfig
from numerate_lab.registry import tasks
from numerate_lab.tasks.finetuning.probed_embedder import load_probed_embedder
from numerate_lab.tasks.finetuning.row_names import row_fields
from numerate_lab.tasks.probes.number_pools import table_files

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numerate.processing.processor import NumberProcessor
    from numerate.training.run import Run
    from numerate_lab.engine.task import Columns, Figures, Log

__all__ = ["LOSSES", "Pretraining", "PretrainingTrial", "encode_texts", "model_folder"]

_YAML = load_yaml("numerate_lab.tasks.pretraining", "losses.yaml")
LOSSES: dict[str, dict[str, Any]] = _YAML["losses"]
"""Changes of the run by the name of its losses."""
MODELS = "models"
_FIRST = "first.json"
"""The first texts of a folder of encoded ones, to see whether a processor encodes them likewise."""
_COMPARED = 100


@dataclass(frozen=True, kw_only=True)
class PretrainingTrial(TrialConfig):
    """Settings of one pre-training.

    Attributes:
        source: A file of tables, several by commas, or a folder whose `tables` are learnt from.
        leave_out: Files of tables that must not be learnt from, as those of a task that starts from the model.
        model: Folder or Hub name of a masked language model.
        run: The run whose settings are changed.
        recipe: Recipe of `attach`. A row sets it.
        parts: More options of `attach`. A row sets them.
        losses: A name of `LOSSES`. A row sets it.
        probes: Folder of saved probes that the embedder starts from; None for a new one.
        rate: The highest learning rate of the backbone.
        number_rate: That of the number parts; None for ten times `rate`, at most 1e-3.
        warmup: Share of the steps with a rising rate.
        steps: Training steps.
        batch: Texts per step.
        max_tokens: Longer texts are cut.
        most_texts: Maximum number of training texts; None for all.
        dev: Texts that are held out, and measured on.
        bf16: Mixed precision on an accelerator.
        encoded: Folder of texts that were encoded beforehand, one folder for each recipe as `encode_texts` writes it;
            neither tables nor their texts are read then.
    """

    kind: ClassVar[str] = "pretraining"
    paths: ClassVar[tuple[str, ...]] = ("model", "probes")
    unchecked: ClassVar[tuple[str, ...]] = ("encoded",)
    source: str
    model: str
    leave_out: tuple[str, ...] = ()
    run: str = "luna"
    recipe: str = "luna"
    parts: dict[str, Any] = dataclasses.field(default_factory=dict)
    losses: str = "distilled"
    probes: str | None = None
    rate: float = 2e-4
    number_rate: float | None = None
    warmup: float = 0.1
    steps: int = 600
    batch: int = 48
    max_tokens: int = 256
    most_texts: int | None = None
    dev: int = 400
    bf16: bool = True
    encoded: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "leave_out", tuple(self.leave_out))
        check_positive(self, "steps", "batch", "max_tokens", "most_texts", "dev", "rate", "number_rate")
        check_option(0 <= self.warmup < 1, self, "warmup must lie in [0, 1)", "warmup")
        try:
            check_name("losses", self.losses, list(LOSSES))
        except ValueError as error:
            raise ConfigError(str(error)) from None

    @property
    def name(self) -> str:
        """File name of the trial's result."""
        return f"{self.encoding}-rate{self.rate:g}-seed{self.seed}-steps{self.steps}"

    def files(self) -> list[str]:
        """The files of tables that are learnt from, or the folder of encoded texts."""
        if self.encoded is not None:
            return [str(Path(self.encoded) / self.recipe)]
        folder = Path(self.source) / "tables"
        found = table_files(str(folder.parent) if folder.is_dir() else self.source)
        return [file for file in found if not folder.is_dir() or Path(file).parent == folder]

    def settings(self) -> Figures:
        """The settings with names of files instead of paths, and a hash of the tables."""
        found = super().settings()
        found |= {"source": Path(self.source).name, "leave_out": [Path(file).name for file in self.leave_out]}
        if self.encoded is not None:
            found["encoded"] = Path(self.encoded).name
        files = [*self.files(), *self.leave_out] if Path(self.source.split(",")[0]).exists() else []
        hashes = {Path(file).name: content_hash(file) for file in files if Path(file).is_file()}
        return found | {"contents": found.get("contents", {}) | {"tables": json_hash(hashes)[:12]}} if hashes else found


def model_folder(results: str | Path, row: str) -> Path:
    """Where the model of a row is saved, below the grid's folder of results."""
    return Path(results) / MODELS / row


def encode_texts(config: PretrainingTrial, target: str | Path) -> Path:
    """Encodes the texts of a trial's tables into `target/RECIPE`, for machines that shall not spend time on it.

    Returns:
        That folder, with the texts to learn from in `train` and those that are held out in `dev`.
    """
    place = Path(target) / config.recipe
    trained = _Trained(Pretraining(dataclasses.replace(config, encoded=None)))
    try:
        shutil.copytree(trained.prepared, place, dirs_exist_ok=True)
        with trained.texts.open(encoding="utf-8") as file:
            texts = [json.loads(line)["text"] for line, _ in zip(file, range(_COMPARED), strict=False)]
        (place / _FIRST).write_text(json.dumps(texts), "utf-8")
    finally:
        shutil.rmtree(trained.folder, ignore_errors=True)
    return place


def _same_texts(place: Path, processor: NumberProcessor, config: PretrainingTrial) -> dict[str, Any]:
    """Encoded texts by split, if the processor gives the first of them the same tokens and numbers.

    Raises:
        ConfigError: It does not.
    """
    from numerate.training.shards import Shards

    data: dict[str, Any] = {split: Shards(place / split) for split in ("train", "dev")}
    texts = json.loads((place / _FIRST).read_text("utf-8"))
    asked = processor(texts, truncation=True, max_length=config.max_tokens)
    for row in range(len(texts)):
        for key in ("input_ids", "number_slots", "number_bits"):
            if list(data["train"][row][key]) != list(asked[key][row]):
                raise ConfigError(f"{place}: its texts were encoded by another tokenizer or reader; encode them again")
    return data


@tasks.register("pretraining")
class Pretraining(Task):
    """One pre-training."""

    version = 1
    Trial = PretrainingTrial
    config: PretrainingTrial
    scales: ClassVar[dict[str, dict[str, Any]]] = _YAML["scales"]

    @classmethod
    def encoding(cls, name: str) -> dict[str, Any]:
        """Recipe, parts and losses of a row.

        Example:
            >>> Pretraining.encoding("addback-dice@pretrained")
            {'parts': {'embedder': {'kind': 'dice'}}, 'recipe': 'luna', 'losses': 'pretrained'}
        """
        found = row_fields(name)
        losses = found.pop("start", "")
        if losses not in LOSSES:
            raise ConfigError(f"row {name!r}: behind the @ stand its losses, one of {', '.join(LOSSES)}")
        return {"parts": {}} | found | {"losses": losses}

    def splits(self, final: bool) -> tuple[str, ...]:
        """Held-out texts alone."""
        del final
        return ("dev",)

    def examples(self, split: str) -> list[str]:
        """The files of the texts; dev is held out of them."""
        del split
        return self.config.files()

    def run(self) -> Run:
        """The run, with the texts of both splits drawn from the tables."""
        from numerate.training.run import load_run

        config = self.config
        # The run names an embedder, that of the paper: the recipe's own, or the row's, stands in its place.
        parts = {"embedder": load_recipe(config.recipe).embedder} | config.parts
        changes: dict[str, Any] = {"model.checkpoint": config.model, "model.recipe": config.recipe}
        changes |= {f"model.{key}": value for key, value in parts.items()}
        changes |= LOSSES[config.losses]
        changes |= {
            "data.max_tokens": config.max_tokens, "data.tables.leave_out": list(config.leave_out),
            "training.max_steps": config.steps, "training.per_device_train_batch_size": config.batch,
            "training.per_device_eval_batch_size": config.batch, "training.learning_rate": config.rate,
            "training.number_learning_rate": config.number_rate, "training.max_grad_norm": 1.0,
            "training.warmup_steps": round(config.warmup * config.steps), "training.save_strategy": "no",
            "training.eval_strategy": "no", "training.logging_steps": max(1, config.steps // 20),
            "training.seed": config.seed, "training.disable_tqdm": True,
            "training.bf16": config.bf16 and torch.cuda.is_available(),
            # Where they cannot be recorded, as those with a teacher, steps run as usual.
            "training.cuda_graphs": torch.cuda.is_available(),
        }  # fmt: skip
        return load_run(config.run, changes=[f"{key}={json.dumps(value)}" for key, value in changes.items()])

    def build(self) -> Any:
        """The trainer, whose texts are encoded; the last `dev` of them are held out."""
        return _Trained(self)

    def train(self, model: _Trained, log: Log | None = None) -> Figures:  # type: ignore[override]
        """Trains and saves the model."""
        return model.train(model_folder(self.workspace.results, self.config.encoding), log)

    def ask(self, model: _Trained, split: str) -> Columns:  # type: ignore[override]
        """Metrics on held-out texts, one number each."""
        del split
        return {name: np.array([value]) for name, value in model.metrics.items()}

    def score(self, split: str, columns: Columns) -> Figures:
        """The metrics."""
        return {split: {name: float(value[0]) for name, value in columns.items()}}

    def error(self, figures: Mapping[str, Any]) -> float:
        """The loss on held-out texts."""
        return figures["dev"]["loss"]

    def shown(self) -> Sequence[Column]:
        """Losses on held-out texts, and the error of numbers."""
        return Column("dev", "loss", "loss", ".4f", best=None), Column("dev", "log_mae", "log-MAE of numbers", ".3f")

    def notes(self) -> Sequence[str]:
        """What cannot be compared."""
        return ("Of held-out texts. Losses of different objectives cannot be compared.",)


class _Trained:
    """A trainer in a temporary folder, and what it measured."""

    def __init__(self, task: Pretraining) -> None:
        from numerate.modeling.fitting import first_numbers, fit_parts
        from numerate.training.build import build_trainer, prepare, training_arguments
        from numerate.training.shards import ShardsError

        config, run = task.config, task.run()
        self.task, self.begin = task, time.perf_counter()
        self.folder = Path(tempfile.mkdtemp(prefix="numerate-pretraining-"))
        if config.encoded is not None:
            data = dataclasses.replace(run.data, train=config.files()[0], dev=None, tables=None)
        else:
            written = self._written(run)
            self.texts = written[0]
            data = dataclasses.replace(run.data, train=str(written[0]), dev=str(written[1]), tables=None)
        self.described, plan = run, dataclasses.replace(run, data=data)
        arguments, own = training_arguments(plan, self.folder)
        self.prepared = self.folder / "prepared"
        try:
            ready = prepare(plan, self.prepared, seed=arguments.seed)
        except ShardsError:  # another version of a library may describe the same tokenizer in other words
            if config.encoded is None:
                raise
            bare = dataclasses.replace(plan, data=dataclasses.replace(data, train=None))
            ready = prepare(bare, self.prepared, seed=arguments.seed)
            texts = _same_texts(Path(config.files()[0]), ready.model.processor, config)
            ready = dataclasses.replace(ready, data=texts)
            fit_parts(ready.model, first_numbers(texts["train"]))
        if config.probes is not None:
            model = ready.model
            model.embedder = load_probed_embedder(config.probes, model.info.embedding_dim)
        self.trainer, self.metrics = build_trainer(ready, arguments, **own), {}

    def _written(self, run: Run) -> tuple[Path, Path]:
        """The texts of the tables as two files: those to learn from and those that are held out.

        All trials of a grid share them: a text tells nothing of how its numbers are encoded.
        """
        config, data = self.task.config, self.task.workspace.data
        described = [config.settings().get("contents"), config.dev, config.most_texts, dataclasses.asdict(run.data)]
        name = f"texts-{json_hash(json.loads(json.dumps(described, default=str)))[:16]}"
        folder = made_once((data or self.folder) / name, lambda place: self._write_texts(run, place))
        return folder / "train.jsonl", folder / "dev.jsonl"

    def _write_texts(self, run: Run, place: Path) -> None:
        from numerate.training.data import texts_of

        config = self.task.config
        tables = dataclasses.replace(run, data=dataclasses.replace(run.data, train=tuple(config.files())))
        texts = [text for text in texts_of(tables, "train") or () if text.strip()]
        if len(texts) <= config.dev:
            raise ConfigError(
                f"{config.source}: {len(texts)} texts, of which {config.dev} are held out: give more tables, or a "
                "smaller dev"
            )
        order = np.random.default_rng(0).permutation(len(texts))
        held, learnt = order[: config.dev], order[config.dev :][: config.most_texts]
        with atomic(place) as inside:
            for split, chosen in (("train", learnt), ("dev", held)):
                lines = "".join(json.dumps({"text": texts[at]}) + "\n" for at in chosen.tolist())
                (inside / f"{split}.jsonl").write_text(lines, "utf-8")

    def trainable_parameters(self) -> tuple[int, int]:
        """The number of parameters that are trained, and of all."""
        return self.trainer._numbers.trainable_parameters()  # type: ignore[union-attr]

    def train(self, target: Path, log: Log | None) -> Figures:
        trainer, config = self.trainer, self.task.config
        try:
            prepared = time.perf_counter() - self.begin
            trainer.train()
            found = trainer.evaluate()
            self.metrics = {
                key.removeprefix("eval_"): float(value)
                for key, value in found.items()
                if isinstance(value, (int, float)) and "per_second" not in key and "runtime" not in key
            }
            self._save(target)
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)
        losses = [{"step": one["step"], "loss": one["loss"]} for one in trainer.state.log_history if "loss" in one]
        if log is not None:
            log(f"{config.name}: loss {self.metrics['loss']:.4f}, saved in {target}")
        return {
            "steps": trainer.state.global_step, "seconds": round(time.perf_counter() - self.begin, 2),
            "preparing_seconds": round(prepared, 2), "losses": losses, "texts": len(trainer.train_dataset),  # type: ignore[arg-type]
        }  # fmt: skip

    def _save(self, target: Path) -> None:
        """Saves in bfloat16, as half as large, and at once, so that what waits for the folder finds it whole."""
        model: Any = self.trainer._numbers
        model = model.to("cpu").to(torch.bfloat16)
        target.parent.mkdir(parents=True, exist_ok=True)
        run = dataclasses.replace(self.described, scales={})
        with atomic(target) as inside:
            model.save_pretrained(inside, backbone=True)
            described = run.to_dict()
            described["data"] |= {"train": [str(file) for file in self.task.config.files()]}
            Result({"run": self.task.config.run, "resolved": described}, self.metrics).write(Path(inside) / "run.json")
