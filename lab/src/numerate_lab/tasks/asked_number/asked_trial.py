"""One cell of a comparison: one encoding on one task, with one learning rate, seed and budget."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import torch
from torch.utils.data import Dataset

from numerate.notation.decimal_form import parse_numeral
from numerate.processing.number_table import NumberTable
from numerate.processing.scaling import Scaling
from numerate.processing.static_shapes import Counts
from numerate.training.results import write, write_predictions
from numerate_lab.engine.encodings import encoding_of
from numerate_lab.engine.trunk_trial import TrunkCell, attach_loud, fresh_trunk, steps_for, take_steps, time_steps
from numerate_lab.tasks.asked_number.asking import CHUNK, Asked, answers, encode
from numerate_lab.tasks.asked_number.named_tasks import task_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from numerate.metrics import Score
    from numerate.modeling.number_model import NumberModel
    from numerate_lab.engine.encodings import Encoding
    from numerate_lab.tasks.asked_number.asked_number import AskedNumberTask, Truth

__all__ = ["CellConfig", "Prepared", "build", "counts_a_text", "run_cell", "train"]

FITTED_ON = 20_000
"""Texts that a tokenizer, a scaling and a head are fitted on."""


@dataclass(frozen=True, kw_only=True)
class CellConfig(TrunkCell):
    """What one cell is.

    Attributes:
        task: An arithmetic preset (`multiply-3`), several joined by commas for one model of all, or a file of texts.
        task_options: What differs from the preset, such as `{"digits": [2, 4]}`.
        scaling: How values get near 0 for encodings that need it (xVal): `range`, `standard` or `log`.
        splits: Test sets beside `test`, such as `longer`.
        recorded: Whether steps are recorded and replayed on an accelerator, where an encoding can be: see
            `CudaGraphTrainer`. Small models then take several times as many.
    """

    kind: ClassVar[str] = "compare-cell"
    task: str = "multiply-3"
    task_options: dict[str, Any] = field(default_factory=dict)
    scaling: Literal["range", "standard", "log"] = "range"
    splits: tuple[str, ...] = ()
    recorded: bool = False

    def __post_init__(self) -> None:
        encoding_of(self.encoding)
        super().__post_init__()

    @property
    def name(self) -> str:
        """A file name that says which cell of a comparison it is."""
        short = "" if self.budget == "samples" else f"-{self.budget}"
        return f"{self.encoding}-rate{self.rate:g}-seed{self.seed}-{self.amount:g}{short}"


def build(config: CellConfig, task: AskedNumberTask) -> NumberModel:
    """A fresh trunk with numbers written in the cell's way; what has to be fitted is fitted to training texts."""
    from numerate.training.run import TokenizerPlan
    from numerate.training.scratch import train_tokenizer

    texts = task.texts("train", min(FITTED_ON, config.examples))
    truth = task.truth("train", min(FITTED_ON, config.examples))
    numerals = [parsed for text in truth.strings if (parsed := parse_numeral(text)) is not None]
    whole = max((math.floor(math.log10(abs(n.value))) + 1 for n in numerals if n.value), default=1)
    encoding = encoding_of(config.encoding).for_digits(whole, max(0, -int(truth.precision.min())))
    tokenizer = train_tokenizer(TokenizerPlan(vocabulary=1000), texts)
    longest = 4 * max(len(text) for text in texts) + 64
    backbone = fresh_trunk(config, tokenizer, longest, causal=encoding.causal)
    objective: Any = {"kind": "labelled"} if encoding.causal else {"kind": "masked", "what": "numbers"}
    scaled = _scaled(config, encoding, texts)
    model = attach_loud(config, encoding, backbone, tokenizer, reader="standard", objective=objective, **scaled)
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
    from numerate.training import CudaGraphTrainer

    ready, device = _Ready(asked, config.batch, config.seed), asked.fields["input_ids"].device
    counts = counts_a_text(model, asked) if config.recorded and CudaGraphTrainer.can_record(model) else None
    recorded = None if counts is None else counts.times(config.batch)
    seconds = time_steps(model, config, ready, device, recorded) if config.budget == "seconds" else None
    steps = steps_for(config, asked.tokens / len(asked), seconds)
    return take_steps(model, config, ready, steps, device, look, recorded)


def counts_a_text(model: NumberModel, asked: Asked) -> Counts | None:
    """How much each text predicts; None if not all have as many numbers, so that steps cannot be recorded."""
    numbers, tokens = set(), set()
    for batch in asked.batches(CHUNK):
        task: Any = model._task(batch, batch.get("labels"), return_loss=True)
        tokens |= set((task.labels != -100).sum(1).unique().tolist())
        numbers |= {0} if task.scored is None else set(task.scored.sum(1).unique().tolist())
    if len(numbers) > 1:
        return None
    return Counts(numbers.pop(), tokens.pop() if len(tokens) == 1 else None)


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


def run_cell(
    config: CellConfig, folder: str | Path, prepared: Prepared | None = None, say: Callable[[str], None] | None = None
) -> dict[str, Any]:
    """Trains and tests one cell, and writes `<name>.json` and `<name>.npz` into the folder; the figures.

    Args:
        config: The cell.
        folder: Where to write.
        prepared: Encoded texts of another cell of the same encoding and task.
        say: Prints a line; it is told how good the model is each time that dev examples are looked at.
    """
    if prepared is None or prepared.key != Prepared.key_of(config):
        prepared = Prepared(config)
    task, target = prepared.task, Path(folder)
    model = build(config, task).to(prepared.device)
    training, _ = prepared.asked("train", config.examples)
    held, held_truth = prepared.asked("dev", config.dev)

    def look() -> dict[str, Any]:
        found = task.measure(answers(model, held), held_truth)
        values = {name: found[name].to_dict()["value"] for name in ("exact_match", "log_smape", "r2")}
        if say is not None:
            told = (f"{name} {value:.6g}" for name, value in values.items() if value is not None)
            say(f"{config.name}, on the way: {', '.join(told)}")
        return values

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
