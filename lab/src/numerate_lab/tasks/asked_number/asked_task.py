"""The task of texts that ask for one number: arithmetic presets, several of them as one, or a file of texts."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import torch
from torch.utils.data import Dataset

from numerate.metrics import right_digit_shares
from numerate.modeling.fitting import fit_parts
from numerate.notation.decimal_form import parse_numeral
from numerate.processing.number_table import NumberTable
from numerate.processing.scaling import Scaling
from numerate.processing.static_shapes import Counts
from numerate_lab.engine.encodings import encoding_of
from numerate_lab.engine.paper_tables import load_scales
from numerate_lab.engine.task import Answers, Column, Columns, Figures, TrialConfig
from numerate_lab.engine.trunk_training import TrunkTask, TrunkTrial, attach_scaled, fresh_trunk
from numerate_lab.registry import tasks
from numerate_lab.tasks.arithmetic.problems import PRESETS
from numerate_lab.tasks.asked_number.asked_number import Truth, compared, scores
from numerate_lab.tasks.asked_number.asking import CHUNK, Asked, answers, encode
from numerate_lab.tasks.asked_number.named_sources import source_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

    from numerate.modeling.number_model import NumberModel
    from numerate_lab.tasks.asked_number.asked_number import QuestionSource

__all__ = ["AskedNumber", "AskedNumberTrial"]

FITTED_ON = 20_000
"""Texts that a tokenizer, a scaling and a head are fitted on."""


@dataclass(frozen=True, kw_only=True)
class AskedNumberTrial(TrunkTrial):
    """The settings of one trial.

    Attributes:
        task: An arithmetic preset (`multiply-3`), several joined by commas for one model of all, or a file of texts.
        task_options: What differs from the preset, such as `{"digits": [2, 4]}`.
        scaling: How values get near 0 for encodings that need it (xVal): `range`, `standard` or `log`.
        splits: Test sets beside `test`, such as `longer`.
        recorded: Whether steps are recorded and replayed on an accelerator, where an encoding can be: see
            `CudaGraphTrainer`. Small models then train several times faster.
    """

    kind: ClassVar[str] = "asked-number"
    task: str = "multiply-3"
    task_options: dict[str, Any] = field(default_factory=dict)
    scaling: Literal["range", "standard", "log"] = "range"
    splits: tuple[str, ...] = ()
    recorded: bool = False

    def __post_init__(self) -> None:
        encoding_of(self.encoding)
        super().__post_init__()

    def settings(self) -> Figures:
        """The settings, with a file of texts by its name."""
        found = super().settings()
        return found | {"task": Path(self.task).name} if Path(self.task).exists() else found


@tasks.register("texts", "jsonl", "arithmetic", *PRESETS)
class AskedNumber(TrunkTask):
    """Texts with one number hidden, which the model fills in; a subclass may bring texts of its own in `source`."""

    Trial: ClassVar[type[TrialConfig]] = AskedNumberTrial
    finals_are_tries: ClassVar[bool] = True
    reader: ClassVar[str] = "standard"
    """The reader that finds the numbers of a text."""
    scales: ClassVar[dict[str, dict[str, Any]]] = load_scales("texts")

    @classmethod
    def trial(cls, name: str, options: Mapping[str, Any]) -> TrialConfig:
        """The trial of a preset, several presets, or a file."""
        config = cls.Trial.from_dict({"task": name} | dict(options))
        cls(config).source  # noqa: B018 (an unknown name is an error now)
        return config

    @functools.cached_property
    def source(self) -> QuestionSource:
        """Where texts and right answers come from."""
        return source_of(self.config.task, self.config.task_options)

    def splits(self, final: bool) -> tuple[str, ...]:
        """Dev, and after a final training the test sets."""
        return ("dev", "test", *self.config.splits) if final else ("dev",)

    def examples(self, split: str) -> tuple[list[str], Truth]:
        """The texts of a split, with their answers, and the answers."""
        count = {"train": self.config.examples, "dev": self.config.dev}.get(split, self.config.test)
        return self.workspace.once(
            ("examples", split), lambda: (self.source.texts(split, count), self.source.truth(split, count))
        )

    def build(self) -> NumberModel:
        """A fresh trunk with numbers in the trial's encoding; tokenizer, scaling and head are fitted to train texts."""
        from numerate.training.run import TokenizerPlan
        from numerate.training.scratch import train_tokenizer

        config, count = self.config, min(FITTED_ON, self.config.examples)
        texts, truth = self.source.texts("train", count), self.source.truth("train", count)
        numerals = [parsed for text in truth.strings if (parsed := parse_numeral(text)) is not None]
        whole = max((math.floor(math.log10(abs(n.value))) + 1 for n in numerals if n.value), default=1)
        encoding = encoding_of(config.encoding).for_digits(whole, max(0, -int(truth.precision.min())))
        tokenizer = train_tokenizer(TokenizerPlan(vocabulary=1000), texts)
        longest = 4 * max(len(text) for text in texts) + 64
        backbone = fresh_trunk(config, tokenizer, longest, causal=encoding.causal)
        options: dict[str, Any] = {"reader": config.task_options.get("reader", self.reader)}
        options["objective"] = {"kind": "labelled"} if encoding.causal else {"kind": "masked", "what": "numbers"}
        if encoding.scaled:
            from numerate.reading import find_batch

            found = [numeral for row in find_batch(texts) for numeral in row]
            options["scaling"] = Scaling(by="none", scaler=config.scaling).fit(found)
        model = attach_scaled(config, encoding, backbone, tokenizer, **options)
        _fit(model, texts, self.source.answer_slot)
        return model.to(self.device)

    def encoded(self, model: NumberModel, split: str) -> Asked:
        """The texts of a split on the device, encoded once for all trials of one encoding."""
        causal = encoding_of(self.config.encoding).causal

        def make() -> Asked:
            texts, truth = self.examples(split)
            return encode(model, texts, truth, self.source.answer_slot, causal=causal).to(self.device)

        return self.workspace.once(("encoded", split), make)

    def batches(self, model: NumberModel) -> tuple[Dataset[dict[str, Tensor]], float]:
        """Batches in an order drawn from the seed, and the mean tokens of a text."""
        asked = self.encoded(model, "train")
        return _Batches(asked, self.config.batch, self.config.seed), asked.tokens / len(asked)

    def predicted_counts(self, model: NumberModel) -> Counts | None:
        """What a batch predicts, if steps are to be recorded and all texts predict the same number of tokens."""
        from numerate.training import CudaGraphTrainer

        if not self.config.recorded or not CudaGraphTrainer.can_record(model):
            return None
        counts = counts_of_texts(model, self.encoded(model, "train"))
        return None if counts is None else counts.times(self.config.batch)

    def ask(self, model: NumberModel, split: str) -> Columns:
        """`predicted` and `gold` values, and which predictions are `exact`: strings are compared digit by digit."""
        values, exact = compared(answers(model, self.encoded(model, split)), truth := self.examples(split)[1])
        return {"predicted": values, "exact": exact, "gold": np.asarray(truth.values, dtype=np.float64)}

    def score(self, split: str, columns: Columns) -> Figures:
        """The metrics of a split, and of each group of a test set: `test by digits`."""
        truth = self.examples(split)[1]
        exact = self._exact(truth, columns)

        def measured(rows: np.ndarray) -> Figures:
            found = scores(columns["predicted"][rows], exact[rows], truth[rows])
            return {name: score.to_dict() for name, score in found.items()}

        found: Figures = {split: measured(np.arange(len(truth)))}
        for group, labels in truth.groups.items() if split != "dev" else ():
            each = np.unique(labels).tolist()
            found[f"{split} by {group}"] = {str(label): measured(np.flatnonzero(labels == label)) for label in each}
        return found

    def _exact(self, truth: Truth, columns: Columns) -> np.ndarray:
        # Results of version 0.2.0 and before do not keep the column.
        return columns["exact"] if "exact" in columns else compared(columns["predicted"], truth)[1]

    def error(self, figures: Mapping[str, Any]) -> float:
        """The share of wrong leading digits on dev, which all encodings have."""
        value = figures["dev"]["log_smape"]["value"]
        return math.inf if value is None else -value

    def looked(self, figures: Figures) -> Figures:
        """The metrics of a learning curve."""
        return {name: figures["dev"][name]["value"] for name in ("exact_match", "log_smape", "r2")}

    def shown(self) -> list[Column]:
        """Exact answers, R², log-sMAPE, median percentage error and invalid answers, of each test set."""
        metrics = (
            ("exact_match", "exact %", ".2f", "max", 100.0, True), ("r2", "R²", ".5f", "max", 1.0, False),
            ("log_smape", "log-sMAPE %", ".2f", "max", 100.0, True), ("mdape", "MdAPE %", ".2f", "min", 1.0, False),
            ("invalid", "invalid %", ".2f", "min", 100.0, False),
        )  # fmt: skip
        return [
            Column(split, metric, label, form, best, factor, split, by_group)
            for split in self.splits(final=True)[1:]
            for metric, label, form, best, factor, by_group in metrics
        ]

    def notes(self) -> list[str]:
        """How encodings of as many tokens as digits are predicted."""
        name, encoding = self.config.encoding, encoding_of(self.config.encoding)
        if encoding.causal:
            return [f"{name}: tokens are predicted one by one, by a trunk that sees earlier tokens only."]
        return [f"{name}: the masked tokens show {shown}."] if (shown := encoding.shown()) != "nothing" else []

    def answers(self, split: str, columns: Columns) -> Answers | None:
        """Predicted and right answers, with the power of ten of their last digit."""
        return Answers(columns["predicted"], columns["gold"], self.examples(split)[1].precision)

    def example_scores(self, split: str, columns: Columns) -> dict[str, np.ndarray]:
        """Whether each answer is exact, and its share of right leading digits."""
        predicted, gold = (torch.from_numpy(columns[name]).double() for name in ("predicted", "gold"))
        exact = self._exact(self.examples(split)[1], columns).astype(np.float64)
        return {"exact %": exact, "log-sMAPE %": right_digit_shares(predicted, gold).numpy()}


def _fit(model: NumberModel, texts: list[str], answer_slot: int) -> None:
    """Fits the embedder to all numbers and the head to those asked for, in the units that they see."""
    batch = model.processor(texts[:2000], padding=True, return_tensors="pt")
    table = NumberTable(*(batch[f"number_{name}"] for name in ("bits", "chars", "precision", "given")))
    present = table.given == 1
    targets = None
    if model.head is not None:
        place = present.sum(1) + answer_slot if answer_slot < 0 else torch.full((len(texts[:2000]),), answer_slot)
        targets = table[torch.arange(len(place)), place.clamp_min(0)]
    fit_parts(model, table[present], targets)


class _Batches(Dataset[dict[str, "Tensor"]]):
    """Batches that are on the device already, so that no step waits for its batch."""

    def __init__(self, asked: Asked, size: int, seed: int) -> None:
        order = torch.randperm(len(asked), generator=torch.Generator().manual_seed(seed))
        device = asked.fields["input_ids"].device
        self.parts = [part for part in order.to(device).split(size) if len(part) == min(size, len(asked))]
        self.asked = asked

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        return self.asked[self.parts[index]]


def counts_of_texts(model: NumberModel, asked: Asked) -> Counts | None:
    """How much each text predicts; None if texts differ in their numbers, so that steps cannot be recorded."""
    numbers, tokens = set(), set()
    for batch in asked.batches(CHUNK):
        task: Any = model.task(batch, batch.get("labels"), return_loss=True)
        tokens |= set((task.labels != -100).sum(1).unique().tolist())
        numbers |= {0} if task.scored is None else set(task.scored.sum(1).unique().tolist())
    if len(numbers) > 1:
        return None
    return Counts(numbers.pop(), tokens.pop() if len(tokens) == 1 else None)
