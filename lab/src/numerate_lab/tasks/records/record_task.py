"""Tasks of records: a trunk learns records with numbers masked, and is asked for some of their numbers.

A share of all numbers is masked in training, and in a share of the records one of the questions of the tests, all its
numbers at once. Both shares are the same for all encodings.
"""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch.utils.data import Dataset

from numerate.config import ConfigError
from numerate.processing.number_table import NumberTable
from numerate.processing.record_tokenizer import record_tokenizer
from numerate_lab.engine.encodings import Encoding, encoding_of
from numerate_lab.engine.paper_tables import load_scales
from numerate_lab.engine.task import Column, Columns, Figures, TrialConfig
from numerate_lab.engine.trunk_training import TrunkTask, TrunkTrial, attach_scaled, fresh_trunk
from numerate_lab.tasks.records.record_answers import Predictions, answers, missed_variance, scores
from numerate_lab.tasks.records.record_arrays import Records
from numerate_lab.tasks.records.record_rows import NumberWriter, Rows, encode_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

    from numerate.modeling.number_model import NumberModel
    from numerate_lab.engine.task import Log

__all__ = ["RecordBatches", "RecordsTask", "RecordsTrial", "encode_records", "record_encoding"]

_FITTED_ON = 500
"""Records of each shape, at most, that a head is fitted on."""
_EVALUATED_AT_ONCE = 200_000
"""Tokens of a batch in evaluation."""


@dataclass(frozen=True, kw_only=True)
class RecordsTrial(TrunkTrial):
    """The settings of one trial; for `encoding`, see `record_encoding`.

    Attributes:
        task_options: Settings of the records, such as `{"points": [30, 59]}`.
        ratio: Share of all numbers that are masked in training.
        asking: Share of the training records in which one of the tests' questions is masked besides.
        hide_slot: Whether [MASK] hides a masked number, and the token head learns that it is one, as xVal's does.
    """

    encoding: str = "xval+scalar"
    examples: int = 100_000
    amount: float = 300_000
    batch: int = 128
    dev: int = 500
    test: int = 2000
    looks: int = 0
    task_options: dict[str, Any] = field(default_factory=dict)
    ratio: float = 0.2
    asking: float = 0.0
    hide_slot: bool = False

    def __post_init__(self) -> None:
        record_encoding(self.encoding)
        super().__post_init__()
        for name in ("ratio", "asking"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"{name} must lie between 0 and 1, got {getattr(self, name)}")
        if not self.ratio + self.asking > 0:
            raise ConfigError(f"ratio or asking must be positive, got {self.ratio=}, {self.asking=}")

    @property
    def name(self) -> str:
        """The trial's file name, without suffix."""
        hidden = "-hidden-slot" if self.hide_slot else ""
        return f"{self.encoding}-rate{self.rate:g}-seed{self.seed}-{self.amount:g}-{self.budget}{hidden}"


def record_encoding(name: str) -> Encoding:
    """The encoding of a name, of those that predict a number at once.

    Example:
        >>> record_encoding("in-place").options["notation"]["kind"], record_encoding("p10").has_head
        ('keep', False)
    """
    found = encoding_of(name)
    if found.causal or name == "keep":
        raise ConfigError(f"numbers of records are predicted at once; {name!r} is predicted token by token")
    if found.options.get("embedder") == {"kind": "periodic"}:
        # Numbers of these records lie near 0: waves of the value itself, as in the run `records`.
        waves = {"kind": "periodic", "scale": "none", "sigma": 0.5}
        return dataclasses.replace(found, options=found.options | {"embedder": waves})
    return found


class RecordsTask(TrunkTask):
    """A task of records; a subclass makes them in `make_records`, and names the questions in `questions`."""

    version: ClassVar[int] = 2
    Trial: ClassVar[type[TrialConfig]] = RecordsTrial
    keeps_best: ClassVar[bool] = True
    shares_files: ClassVar[bool] = True
    tolerance: ClassVar[float] = 1e-4  # results of version 0.2.0 keep float32
    questions: ClassVar[dict[str, tuple[str, ...]]] = {}
    """Test set -> the questions of its records; dev has those of `test`."""
    scales: ClassVar[dict[str, dict[str, Any]]] = load_scales("records")

    def make_records(self, split: str, count: int) -> Records:
        """The records of a split."""
        raise NotImplementedError

    @classmethod
    def encoding(cls, name: str) -> dict[str, Any]:
        """Nothing besides the name, which is checked."""
        record_encoding(name)
        return {}

    def splits(self, final: bool) -> tuple[str, ...]:
        """Dev, and after a final training all test sets."""
        return ("dev", *self.questions) if final else ("dev",)

    def asks(self, split: str) -> tuple[str, ...]:
        """The questions of a split's records."""
        return self.questions[split if split in self.questions else "test"]

    def count(self, split: str) -> int:
        """The number of records of a split."""
        return {"train": self.config.examples, "dev": self.config.dev}.get(split, self.config.test)

    def records_key(self, split: str) -> str:
        """The name of a split's file of records; trials that share their records have the same."""
        return f"{split}-{self.count(split)}"

    def examples(self, split: str) -> Records:
        """The records of a split: from memory, from the folder that processes share, or made."""
        key = self.records_key(split)

        def load() -> Records:
            if self.workspace.data is None:
                return self.make_records(split, self.count(split))
            file = self.workspace.data / f"{key}.npz"
            if not file.is_file():
                self.make_records(split, self.count(split)).save(file)
            return Records.load(file)

        return self.workspace.once(("records", key), load)

    def prepare(self, log: Log) -> None:
        """Makes all records that are not there yet."""
        start = time.perf_counter()
        for split in ("train", "dev", *self.questions):
            self.examples(split)
        log(f"{self.config.examples:,} training records were made in {time.perf_counter() - start:.1f} s")

    def build(self) -> NumberModel:
        """A fresh trunk with numbers in the trial's encoding; embedder and head are fitted to training records."""
        records, encoding = self.examples("train"), record_encoding(self.config.encoding)
        texts = records.texts(1)
        tokenizer = record_tokenizer(texts)
        numbers = max(part.shape[1] for part in records.numbers)
        # A record is longer than the first of its shape only by more digits before the point.
        backbone = fresh_trunk(self.config, tokenizer, max(len(text) for text in texts) + 2 * numbers)
        # Where digits stay as they are written, only the comma says where one number ends.
        options: dict[str, Any] = {"implied_commas": encoding.options["notation"]["kind"] != "keep"}
        hidden = {"hide_slot": True} if self.config.hide_slot else {}
        options |= {"reader": "records", "objective": {"kind": "masked", "what": "numbers"} | hidden}
        model = attach_scaled(self.config, encoding, backbone, tokenizer, **options)
        values = torch.from_numpy(np.concatenate([part[:_FITTED_ON].reshape(-1) for part in records.numbers]))
        if model.embedder is not None:
            model.embedder.fit(values)
        if model.head is not None:
            model.head.fit(NumberTable.of_values(values[:: max(1, len(values) // 20_000)].tolist()))
        model.fitted = True
        return model.to(self.device)

    def batches(self, model: NumberModel) -> tuple[RecordBatches, float]:
        """Batches with masks, and the mean tokens of a record."""
        rows = self._rows(model, "train")
        return RecordBatches(rows, self.config), float(torch.cat([part.lengths for part in rows]).double().mean())

    def _rows(self, model: NumberModel, split: str) -> list[Rows]:
        make = lambda: encode_records(model, self.examples(split), self.device)  # noqa: E731
        # Training rows may be too many to keep.
        return make() if split == "train" else self.workspace.once(("rows", self.records_key(split)), make)

    def ask(self, model: NumberModel, split: str) -> Columns:
        """For each question its `predicted` and `gold` numbers, ends of 90 % intervals, and mean CRPS and count.

        Also its `charge`: see `missed_variance`.
        """
        records, rows, columns = self.examples(split), self._rows(model, split), {}
        for ask in self.asks(split):
            predicted = _in_order(model, records, rows, ask)
            columns |= {f"{ask}_predicted": predicted.values.numpy(), f"{ask}_gold": records.gold(ask)}
            columns[f"{ask}_charge"] = np.array([self.charge(ask)])
            if predicted.intervals is not None:
                low, high = predicted.intervals.T.numpy()
                crps = np.array([predicted.crps, predicted.count], dtype=np.float64)
                columns |= {f"{ask}_low": low, f"{ask}_high": high, f"{ask}_crps": crps}
        return columns

    def charge(self, ask: str) -> float:
        """The largest squared distance of a training target from the targets' mean; the same for all encodings."""

        def farthest() -> float:
            targets = self.examples("train").gold(ask)
            return float(np.square(targets - targets.mean()).max())

        return self.workspace.once(("charge", ask, self.records_key("train")), farthest)

    def score(self, split: str, columns: Columns) -> Figures:
        """`{split} {question}` -> figures; on dev `dev` -> question -> figures."""
        found = {}
        for ask in self.asks(split):
            names = [name for name in ("predicted", "gold", "low", "high", "crps") if f"{ask}_{name}" in columns]
            given = {name: torch.from_numpy(np.asarray(columns[f"{ask}_{name}"])).double() for name in names}
            intervals = torch.stack([given["low"], given["high"]], dim=1) if "low" in given else None
            crps, count = given["crps"].tolist() if "crps" in given else (None, 0)
            predicted = Predictions(given["predicted"], intervals, crps, int(count))
            charge = float(columns[f"{ask}_charge"][0]) if f"{ask}_charge" in columns else None
            found[ask] = self.measured(split, predicted, given["gold"], charge)
        return {"dev": found} if split == "dev" else {f"{split} {ask}": one for ask, one in found.items()}

    def measured(self, split: str, predicted: Predictions, gold: Tensor, charge: float | None = None) -> Figures:
        """The figures of one question."""
        del split
        return scores(predicted.values, gold, predicted, charge)

    def error(self, figures: Mapping[str, Any]) -> float:
        """The mean log share of the variance that is missed on dev; answers that are no numbers cost the charge."""
        return missed_variance(figures["dev"])

    def looked(self, figures: Figures) -> Figures:
        """The mean squared error of each question."""
        return {ask: one["mse"]["value"] for ask, one in figures["dev"].items()}

    def shown(self) -> list[Column]:
        """The mean squared error of each question of each test set, and the share of answers that are no numbers."""
        asked = [(split, ask) for split, asks in self.questions.items() for ask in asks]
        shown = [Column(f"{split} {ask}", "mse", f"{ask}, {split}", table="mean squared error") for split, ask in asked]
        for split, ask in asked:
            title = f"{ask}, {split}"
            shown.append(Column(f"{split} {ask}", "invalid", title, ".2f", factor=100.0, table="invalid answers, %"))
        return shown


def encode_records(model: NumberModel, records: Records, device: torch.device) -> list[Rows]:
    """The rows of all records, shape by shape, on a device."""
    writer = NumberWriter(model, records.decimals, device)
    return [
        encode_rows(model, shape, torch.from_numpy(numbers).to(device), writer)
        for shape, numbers in zip(records.shapes, records.numbers, strict=True)
    ]


class RecordBatches(Dataset[dict[str, "Tensor"]]):
    """Training batches, each of one shape, with masks drawn when they are fetched; the same rows for all encodings.

    `parts` are rows by shape; batch size, shares of masked numbers and seed are the trial's.
    """

    def __init__(self, parts: list[Rows], config: RecordsTrial) -> None:
        self.parts, self.config, self.batches = parts, config, []
        order = torch.Generator().manual_seed(config.seed)
        for index, part in enumerate(parts):
            pieces = torch.randperm(len(part), generator=order).split(config.batch)
            # The rest of a shape is a small batch only where there is no whole one.
            self.batches += [(index, piece) for piece in pieces if len(piece) == min(config.batch, len(part))]
        device = parts[0].ids.device
        self._asks = {id(part): torch.stack([part.wanted(ask, 1)[0] for ask in part.asks]) for part in parts}
        self._draws = torch.Generator(device).manual_seed(config.seed)

    def __len__(self) -> int:
        return len(self.batches)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        which, rows = self.batches[index]
        part = self.parts[which]
        return part.batch(rows) | {"number_wanted": self.masks(part, len(rows))}

    def masks(self, part: Rows, count: int) -> Tensor:
        """Which numbers of `count` records are masked: (count, M) bool."""
        device = part.bits.device
        drawn = torch.rand(count, part.bits.shape[1], generator=self._draws, device=device)
        masks = drawn < self.config.ratio
        asks = self._asks[id(part)]
        which = torch.randint(len(asks), (count,), generator=self._draws, device=device)
        asking = torch.rand(count, 1, generator=self._draws, device=device) < self.config.asking
        return masks | (asks[which] & asking)


def _in_order(model: NumberModel, records: Records, rows: list[Rows], ask: str) -> Predictions:
    """Predictions in the order of all records; where records tell differences, the differences are undone."""
    # Logits over a large vocabulary need more memory.
    tokens = _EVALUATED_AT_ONCE // (8 if len(model.processor.own_tokens) > 10_000 else 1)
    whole = Predictions.joined([answers(model, part, ask, max(1, tokens // part.ids.shape[1])) for part in rows])

    def ordered(values: Tensor) -> Tensor:
        split = values.split([len(part) * len(part.asks[ask]) for part in rows])
        parts = [one.numpy().reshape(len(part), -1) for one, part in zip(split, rows, strict=True)]
        return torch.from_numpy(records.in_order(records.with_guesses(parts)))

    if whole.intervals is None:
        return Predictions(ordered(whole.values))
    ends = torch.stack([ordered(whole.intervals[:, k]) for k in (0, 1)], dim=1)
    return Predictions(ordered(whole.values), ends, whole.crps, whole.count)
