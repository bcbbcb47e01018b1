"""One cell of a comparison: one encoding on one task, with one learning rate, seed and budget."""

from __future__ import annotations

import copy
import math
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import torch
from torch.utils.data import Dataset

from numerate.attach import attach
from numerate.backbones import register_backbones
from numerate.batch import NumberTable
from numerate.bench.asked_tasks import task_of
from numerate.bench.asking import Asked, answers, encode
from numerate.bench.encodings import encoding_of
from numerate.bench.result import write, write_predictions
from numerate.config import Config, ConfigError
from numerate.notation.decimal_form import parse_numeral
from numerate.scaling import Scaling

if TYPE_CHECKING:
    from torch import Tensor

    from numerate.bench.encodings import Encoding
    from numerate.metrics import Score
    from numerate.model import NumberModel
    from numerate.tasks.asked_number import AskedNumberTask, Truth

__all__ = ["CellConfig", "Prepared", "build", "run_cell", "steps_for", "take_steps", "train"]

FITTED_ON = 20_000
"""Texts that a tokenizer, a scaling and a head are fitted on."""


@dataclass(frozen=True, kw_only=True)
class CellConfig(Config):
    """What one cell is.

    Attributes:
        task: An arithmetic preset (`multiply-3`), several joined by commas for one model of all, or a file of texts.
        task_options: What differs from the preset, such as `{"digits": [2, 4]}`.
        encoding: See `numerate.bench.encodings`.
        examples: Different training texts; they are gone through as often as the budget lasts.
        budget: What is equal between cells: `samples` trained on, `tokens` read, or `seconds` trained.
        amount: How much of it.
        batch: Texts a step.
        rate: Highest learning rate; it rises over `warmup` of the steps, and falls to 0 along a cosine.
        warmup: Share of the steps.
        weight_decay: Of AdamW.
        width: Of the trunk's states,
        layers: its blocks,
        heads: and their heads.
        dropout: Of the trunk.
        scaling: How values get near 0 for encodings that need it (xVal): `range`, `standard` or `log`.
        dev: Texts that learning rates are chosen by.
        test: Texts that are tested.
        splits: Test sets beside `test`, such as `longer`.
        looks: How often dev texts are looked at on the way.
        seed: Of weights and order; the texts are the same for all.
        precision: Of matrix products on an accelerator: `tf32`, `bf16` or `fp32`.
    """

    kind: ClassVar[str] = "compare-cell"
    task: str = "multiply-3"
    task_options: dict[str, Any] = field(default_factory=dict)
    encoding: str = "xval"
    examples: int = 200_000
    budget: Literal["samples", "tokens", "seconds"] = "samples"
    amount: float = 2_000_000
    batch: int = 1024
    rate: float = 1e-3
    warmup: float = 0.05
    weight_decay: float = 0.01
    width: int = 256
    layers: int = 4
    heads: int = 4
    dropout: float = 0.0
    scaling: Literal["range", "standard", "log"] = "range"
    dev: int = 1000
    test: int = 4000
    splits: tuple[str, ...] = ()
    looks: int = 5
    seed: int = 0
    precision: Literal["tf32", "bf16", "fp32"] = "tf32"

    def __post_init__(self) -> None:
        encoding_of(self.encoding)
        for name in ("examples", "batch", "dev", "test", "width", "layers", "heads"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, however: {getattr(self, name)}")
        if not self.amount > 0 or not self.rate > 0:
            raise ConfigError(f"amount and rate must be positive, however: {self.amount=}, {self.rate=}")

    @property
    def name(self) -> str:
        """A file name that says which cell of a comparison it is."""
        short = "" if self.budget == "samples" else f"-{self.budget}"
        return f"{self.encoding}-rate{self.rate:g}-seed{self.seed}-{self.amount:g}{short}"


def build(config: CellConfig, task: AskedNumberTask) -> NumberModel:
    """A fresh trunk with numbers written in the cell's way; what has to be fitted is fitted to training texts."""
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForMaskedLM

    from numerate.training.run import TokenizerPlan
    from numerate.training.scratch import train_tokenizer

    register_backbones()
    texts = task.texts("train", min(FITTED_ON, config.examples))
    truth = task.truth("train", min(FITTED_ON, config.examples))
    numerals = [parsed for text in truth.strings if (parsed := parse_numeral(text)) is not None]
    whole = max((math.floor(math.log10(abs(n.value))) + 1 for n in numerals if n.value), default=1)
    encoding = encoding_of(config.encoding).for_digits(whole, max(0, -int(truth.precision.min())))
    tokenizer = train_tokenizer(TokenizerPlan(vocabulary=1000), texts)
    longest = 4 * max(len(text) for text in texts) + 64
    torch.manual_seed(config.seed)
    sizes = AutoConfig.for_model(
        "numerate-trunk", vocab_size=len(tokenizer), hidden_size=config.width, num_hidden_layers=config.layers,
        num_attention_heads=config.heads, dropout=config.dropout, causal=encoding.causal, final_norm=True,
        max_position_embeddings=longest, pad_token_id=tokenizer.pad_token_id, token_head="linear",  # noqa: S106
    )  # fmt: skip
    backbone = (AutoModelForCausalLM if encoding.causal else AutoModelForMaskedLM).from_config(sizes)
    objective: Any = {"kind": "labelled"} if encoding.causal else {"kind": "masked", "what": "numbers"}
    model = attach(
        backbone,
        tokenizer,
        reader="standard",
        objective=objective,
        **encoding.options,
        **_scaled(config, encoding, texts),
    )
    _fit(model, texts, task.answer_slot)
    return model


def _scaled(config: CellConfig, encoding: Encoding, texts: list[str]) -> dict[str, Any]:
    from numerate.reading import find_batch

    if not encoding.scaled:
        return {}
    numerals = [numeral for row in find_batch(texts) for numeral in row]
    return {"scaling": Scaling(by="none", scaler=config.scaling).fit(numerals)}


def _fit(model: NumberModel, texts: list[str], answer_slot: int) -> None:
    """Fits the embedder to all numbers and the head to those asked for, in the units that they see."""
    batch = model.processor(texts[:2000], padding=True, return_tensors="pt")
    table = NumberTable(*(batch[f"number_{name}"] for name in ("bits", "chars", "precision", "given")))
    present = table.given == 1
    if model.embedder is not None:
        model.embedder.fit(table.values()[present])
    if model.head is not None:
        place = present.sum(1) + answer_slot if answer_slot < 0 else torch.full((len(texts[:2000]),), answer_slot)
        model.head.fit(table[torch.arange(len(place)), place.clamp_min(0)])


class _Ready(Dataset[dict[str, "Tensor"]]):
    """Batches that are cut already, so that no step waits for its batch."""

    def __init__(self, asked: Asked, size: int, seed: int) -> None:
        order = torch.randperm(len(asked), generator=torch.Generator().manual_seed(seed))
        device = asked.fields["input_ids"].device
        self.parts = [part for part in order.to(device).split(size) if len(part) == min(size, len(asked))]
        self.asked = asked

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        return self.asked[self.parts[index]]


def train(model: NumberModel, config: CellConfig, asked: Asked, look: Any = None) -> dict[str, Any]:
    """Trains with `NumberTrainer` for the cell's budget: steps, seconds, losses on the way.

    Args:
        model: What `build` gave.
        config: The cell.
        asked: The training texts, on the device that training takes.
        look: Called with the step a few times on the way; what it gives is kept.
    """
    ready = _Ready(asked, config.batch, config.seed)
    steps = steps_for(model, config, ready, asked.tokens / len(asked))
    return take_steps(model, config, ready, steps, asked.fields["input_ids"].device, look)


def steps_for(model: NumberModel, config: Any, ready: Dataset[dict[str, Tensor]], tokens_a_text: float) -> int:
    """How many steps a cell's budget lasts."""
    if config.budget == "seconds":
        return max(1, round(config.amount / _seconds_a_step(model, ready)))
    each = config.batch if config.budget == "samples" else tokens_a_text * config.batch
    return max(1, round(config.amount / each))


def take_steps(
    model: NumberModel,
    config: Any,
    ready: Dataset[dict[str, Tensor]],
    steps: int,
    device: torch.device,
    look: Any = None,
) -> dict[str, Any]:
    """Trains for so many steps on batches that are cut already; arguments and result as of `train`."""
    import transformers

    from numerate.training import NumberTrainer
    from numerate.training.batches import the_batch

    looks: list[dict[str, Any]] = []

    class Looks(transformers.TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            every = max(1, steps // max(1, config.looks))
            if look is not None and state.global_step % every == 0:
                looks.append({"step": state.global_step} | look())

    on_cpu = device.type == "cpu"
    with tempfile.TemporaryDirectory() as folder:
        arguments = transformers.TrainingArguments(
            folder, max_steps=steps, per_device_train_batch_size=1, learning_rate=config.rate,
            warmup_steps=min(0.99, config.warmup), weight_decay=config.weight_decay, lr_scheduler_type="cosine",
            logging_steps=max(1, steps // 20), save_strategy="no", report_to=[], disable_tqdm=True, seed=config.seed,
            remove_unused_columns=False, dataloader_pin_memory=False, use_cpu=on_cpu,
            bf16=config.precision == "bf16" and not on_cpu,
        )  # fmt: skip
        if config.precision == "tf32":
            torch.set_float32_matmul_precision("high")
        trainer = NumberTrainer(
            model, arguments, data_collator=the_batch, train_dataset=ready, callbacks=[Looks()], number_metrics=False
        )
        trainer.remove_callback(transformers.PrinterCallback)
        start = time.perf_counter()
        trainer.train()
        seconds = time.perf_counter() - start
    losses = [{"step": e["step"], "loss": e["loss"]} for e in trainer.state.log_history if "loss" in e]
    return {"steps": steps, "seconds": round(seconds, 2), "losses": losses, "looks": looks}


def _seconds_a_step(model: NumberModel, ready: Any, tries: int = 12) -> float:
    """How long a training step takes; on a copy, so that nothing is learnt."""
    rehearsing = copy.deepcopy(model).train()
    optimizer = torch.optim.AdamW(rehearsing.parameters(), lr=0.0)
    times = []
    for index in range(tries):
        start = time.perf_counter()
        rehearsing(**ready[index % len(ready)], return_loss=True).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return sorted(times)[tries // 2]


class Prepared:
    """A task's texts, encoded once for all cells of one encoding: they differ in weights, order, rate and budget.

    Args:
        config: Any of the cells.
    """

    def __init__(self, config: CellConfig) -> None:
        self.key = self.key_of(config)
        self.task = task_of(config.task, config.task_options)
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self._reader = build(config, self.task)
        self._causal = encoding_of(config.encoding).causal
        self._known: dict[tuple[str, int], tuple[Asked, Truth]] = {}

    @staticmethod
    def key_of(config: CellConfig) -> tuple[Any, ...]:
        """What must be equal for two cells to share their texts."""
        return config.task, repr(config.task_options), config.encoding, config.examples, config.scaling

    def asked(self, split: str, count: int) -> tuple[Asked, Truth]:
        """The first texts of a split, on the device, and what they ask for."""
        if (split, count) not in self._known:
            texts, truth = self.task.texts(split, count), self.task.truth(split, count)
            asked = encode(self._reader, texts, truth, self.task.answer_slot, causal=self._causal)
            self._known[split, count] = asked.to(self.device), truth
        return self._known[split, count]


def run_cell(config: CellConfig, folder: str | Path, prepared: Prepared | None = None) -> dict[str, Any]:
    """Trains and tests one cell, and writes `<name>.json` and `<name>.npz` into the folder; the figures.

    Args:
        config: The cell.
        folder: Where to write.
        prepared: Encoded texts of another cell of the same encoding and task.
    """
    if prepared is None or prepared.key != Prepared.key_of(config):
        prepared = Prepared(config)
    task, target = prepared.task, Path(folder)
    model = build(config, task).to(prepared.device)
    training, _ = prepared.asked("train", config.examples)
    held, held_truth = prepared.asked("dev", config.dev)

    def look() -> dict[str, Any]:
        found = task.measure(answers(model, held), held_truth)
        return {name: found[name].to_dict()["value"] for name in ("exact_match", "log_smape", "r2")}

    trained = train(model, config, training, look if config.looks else None)
    figures: dict[str, Any] = {
        "training": trained | {"tokens_a_text": round(training.tokens / len(training), 2)},
        "parameters": model.trainable_parameters()[1],
        "dev": _plain(task.measure(answers(model, held), held_truth)),
    }
    columns: dict[str, Tensor] = {}
    for split in ("test", *config.splits):
        texts, truth = prepared.asked(split, config.test)
        said = answers(model, texts)
        figures[split] = _plain(task.measure(said, truth))
        for group in truth.groups:
            figures[f"{split} by {group}"] = _by_group(task, said, truth, group)
        columns |= {f"{split}_predicted": torch.tensor([_value(one) for one in said], dtype=torch.float64)}
        columns |= {f"{split}_gold": torch.from_numpy(truth.values)}
    write_predictions(target / f"{config.name}.npz", columns, exact=tuple(columns))
    write(target / f"{config.name}.json", config=config.to_dict(), figures=figures)
    return figures


def _value(said: float | str | None) -> float:
    numeral = parse_numeral(said) if isinstance(said, str) else None
    return (said if isinstance(said, float) else math.nan) if numeral is None else numeral.value


def _by_group(task: AskedNumberTask, said: list[Any], truth: Truth, group: str) -> dict[str, Any]:
    import numpy as np

    found = {}
    for label in np.unique(truth.groups[group]).tolist():
        rows = np.flatnonzero(truth.groups[group] == label)
        found[str(label)] = _plain(task.measure([said[row] for row in rows], truth[rows]))
    return found


def _plain(scores: dict[str, Score]) -> dict[str, Any]:
    return {name: score.to_dict() for name, score in scores.items()}
