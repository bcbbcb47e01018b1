"""Card transactions (LUNA 2022, Table 4): does TabBERT find fraud better if its cells know their numbers?

TabBERT is pre-trained from scratch on masked cells of windows of 10 rows; then an LSTM on its frozen row states decides
whether a window has a fraudulent row. F1 counts fraud as the positive class.
"""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import torch

from numerate.backbones.tabbert import NumerateTabBertConfig, NumerateTabBertForMaskedLM
from numerate.config import ConfigError, check_names
from numerate.embedders.option_checks import check_option, check_positive
from numerate.heads.log_sign import LogSignHead
from numerate.registry import UnknownNameError, embedders, heads, near_names
from numerate_lab.engine.paper_tables import load_yaml
from numerate_lab.engine.task import Column, Task, TrialConfig
from numerate_lab.engine.trial import columns_of_split
from numerate_lab.registry import tasks
from numerate_lab.tasks.transactions.card_histories import CardHistoriesConfig, card_histories
from numerate_lab.tasks.transactions.card_rows import CardRows, load_arrays, read_rows, save_arrays
from numerate_lab.tasks.transactions.cell_windows import (
    FIELDS,
    NUMBER_FIELDS,
    CellWindows,
    TimeUnit,
    cell_windows,
    split_windows,
)  # fmt: skip
from numerate_lab.tasks.transactions.fraud_scores import best_threshold, f1_difference, fraud_figures
from numerate_lab.tasks.transactions.number_cells import NumberCells, NumberCellsConfig
from numerate_lab.tasks.transactions.transaction_training import (
    DeviceWindows,
    check_fraud,
    fraud_scores,
    pretrain,
    train_fraud_head,
)  # fmt: skip

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numerate_lab.engine.task import Columns, Figures, Log

__all__ = ["Transactions", "TransactionsTrial", "encoding_fields"]

_SETTINGS = load_yaml("numerate_lab.tasks.transactions", "settings.yaml")
GENERATED = "generated"
"""The source of made-up histories."""
_FITTED = 50_000
"""Numbers that embedder and head are fitted to."""


@dataclass(frozen=True, kw_only=True)
class TransactionsTrial(TrialConfig):
    """Settings of one trial of card transactions.

    Attributes:
        source: A CSV file of IBM's format, or `generated`; see `card_histories`.
        rows: Number of rows; None for all of a file.
        users: Number of users of generated rows.
        fraud_rate: Share of fraudulent rows among generated ones.
        data_seed: Seed of generated rows and of the split.
        split: `random` over windows, as published: the same user is on both sides; or by `user`, whose token is then
            [UNK] on all sides.
        window: Rows of a window.
        stride: Rows between the starts of pre-training windows.
        placement: How numbers meet cells: `addback`, `replace`, or None for none.
        embedder: Embedder of numbers.
        head: Head of masked numbers.
        relations: Rows before and after a number whose ratios to it are part of its vector.
        numbers: Fields that are read as numbers, some of minute, cents, zip, mcc.
        time_unit: Unit of the timestamp as a number; the paper's is nanoseconds.
        embedding_scale: Initial size of number vectors as a multiple of the token vectors' size; 0 for as they are.
        number_weight: Weight of the loss of masked numbers.
        scored: Cells with a loss: the `masked` ones, or `all`, as in the released code.
        ratio: Share of masked cells.
        field_size: Width of a cell.
        field_heads: Attention heads of the field transformer.
        layers: Layers of the row transformer.
        heads: Its attention heads.
        dropout: Of both.
        epochs: Epochs of pre-training.
        batch: Windows per step of pre-training.
        warmup: Share of the steps with a rising rate; then it falls linearly to 0.
        weight_decay: AdamW's.
        head_epochs: Epochs of the fraud head.
        head_batch: Its windows per step.
        head_rate: Its learning rate.
        bf16: Mixed precision on an accelerator.
    """

    kind: ClassVar[str] = "transactions"
    paths: ClassVar[tuple[str, ...]] = ("source",)
    source: str = GENERATED
    rows: int | None = 200_000
    users: int = 400
    fraud_rate: float = 0.01
    data_seed: int = 0
    split: Literal["random", "user"] = "random"
    window: int = 10
    stride: int = 10
    placement: Literal["addback", "replace"] | None = None
    embedder: dict[str, Any] | None = None
    head: dict[str, Any] | None = None
    relations: int = 0
    numbers: tuple[str, ...] = NUMBER_FIELDS
    time_unit: TimeUnit = "minutes"
    embedding_scale: float = 1.0
    number_weight: float = 1.0
    scored: Literal["masked", "all"] = "masked"
    ratio: float = 0.15
    field_size: int = 64
    field_heads: int = 8
    layers: int = 12
    heads: int = 12
    dropout: float = 0.1
    epochs: int = 3
    batch: int = 64
    warmup: float = 0.05
    weight_decay: float = 0.0
    head_epochs: int = 10
    head_batch: int = 256
    head_rate: float = 1e-3
    bf16: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbers", tuple(self.numbers))  # a list, if it comes from YAML
        check_names(self)
        check_positive(self, "rows", "users", "window", "stride", "field_size", "layers", "heads", "field_heads")
        check_positive(self, "epochs", "batch", "head_epochs", "head_batch", "head_rate", "rate", "number_weight")
        check_option(self.data_seed >= 0, self, "data_seed must not be negative", "data_seed")
        check_option(0 < self.ratio < 1, self, "ratio must lie between 0 and 1", "ratio")
        check_option(0 <= self.warmup < 1, self, "warmup must lie in [0, 1)", "warmup")
        check_option(self.embedding_scale >= 0, self, "embedding_scale must not be negative", "embedding_scale")
        for name in self.numbers:
            if name not in NUMBER_FIELDS:
                hint = near_names(name, list(NUMBER_FIELDS))
                raise ConfigError(f"transactions config: numbers has the unknown field {name!r}: {hint}")
        if (self.placement is None) != (self.embedder is None):
            given = f"placement={self.placement!r}, embedder={self.embedder!r}"
            raise ConfigError(f"transactions config: placement and embedder go together, got {given}")
        if self.relations < 0 or (self.relations and self.embedder is None):
            raise ConfigError(f"transactions config: relations needs an embedder, and 0 or more, got {self.relations}")
        if not self.numbers and (self.embedder or self.head):
            raise ConfigError("transactions config: an embedder or a head needs fields in numbers, got none")

    @property
    def name(self) -> str:
        """The trial's file name."""
        return f"{self.encoding}-{self.split}-rate{self.rate:g}-seed{self.seed}-epochs{self.epochs}"

    def tried(self, rate: float, share: float) -> Self:
        """A pre-training for a share of the epochs."""
        epochs = max(1, round(share * self.epochs))
        if epochs >= self.epochs:
            raise ConfigError(
                f"a try of a rate takes all {self.epochs} epochs: give one rate, more epochs, or a smaller rate_share "
                f"than {share}"
            )
        return dataclasses.replace(self.final(rate, 0), epochs=epochs)


def encoding_fields(name: str) -> dict[str, Any]:
    """Trial fields of an encoding: a name in `settings.yaml`, or PLACEMENT-EMBEDDER, and a head or `none` after a `+`.

    Example:
        >>> encoding_fields("replace-float+mixture")
        {'placement': 'replace', 'embedder': {'kind': 'float'}, 'head': {'kind': 'mixture'}}
    """
    first, plus, head = name.partition("+")
    known: dict[str, Any] = _SETTINGS["encodings"]
    placement, _, embedder = first.partition("-")
    if first in known:
        found = dict(known[first])
    elif placement in ("addback", "replace") and embedder in embedders:
        found = {"placement": placement, "embedder": {"kind": embedder}, "head": {"kind": "log-sign"}}
    else:
        names = [*known, *(f"{way}-{one}" for way in ("addback", "replace") for one in embedders.names())]
        raise UnknownNameError(f"unknown encoding {first!r}: {near_names(first, names)}")
    if not plus:
        return found
    return found | {"head": None if head == "none" else {"kind": heads.name_of(head)}}


@functools.lru_cache(maxsize=2)
def _rows(source: str, rows: int | None, users: int, fraud_rate: float, seed: int) -> CardRows:
    if source != GENERATED:
        return read_rows(source, most=rows)
    if rows is None:
        raise ConfigError("generated histories need a number of rows, got rows=None")
    return card_histories(CardHistoriesConfig(rows=rows, users=users, fraud_rate=fraud_rate, seed=seed))


@tasks.register("transactions")
class Transactions(Task):
    """One trial of card transactions."""

    version = 1
    Trial = TransactionsTrial
    scales: ClassVar[dict[str, dict[str, Any]]] = _SETTINGS["scales"]
    config: TransactionsTrial

    @classmethod
    def encoding(cls, name: str) -> dict[str, Any]:
        """Placement, embedder, head and numbers of an encoding."""
        return encoding_fields(name)

    def prepare(self, log: Log) -> None:
        """Reads a file once for all processes."""
        if self.config.source != GENERATED and self.workspace.data is not None:
            rows = self.card_rows()
            log(f"{Path(self.config.source).name}: {len(rows):,} rows, {int(rows.fraud.sum()):,} fraudulent")
            save_arrays(rows, self.workspace.data / "rows.npz")

    def card_rows(self) -> CardRows:
        """The transactions."""
        config, kept = self.config, self.workspace.data
        if config.source != GENERATED and kept is not None and (kept / "rows.npz").is_file():
            return self.workspace.once("rows", lambda: load_arrays(kept / "rows.npz"))
        return _rows(config.source, config.rows, config.users, config.fraud_rate, config.data_seed)

    @property
    def windows(self) -> CellWindows:
        """All windows, encoded; kept for the trials of one encoding."""
        config = self.config
        names = ("source", "rows", "users", "fraud_rate", "data_seed", "split", "window", "stride", "numbers")
        key = ("windows", config.time_unit, *(getattr(config, name) for name in names))

        def make() -> CellWindows:
            rows = self.card_rows()
            sizes = {"length": config.window, "stride": config.stride, "seed": config.data_seed}
            starts = split_windows(rows.user, config.split, **sizes)
            return cell_windows(
                rows, starts, config.numbers, length=config.window, time_unit=config.time_unit,
                known_users=config.split == "random",
            )  # fmt: skip

        return self.workspace.once(key, make)

    def examples(self, split: str) -> tuple[np.ndarray, np.ndarray]:
        """The first row of each window of a split, and whether the window is fraudulent."""
        return self.windows.starts[split], self.windows.labels(split)

    def data(self) -> DeviceWindows:
        """The windows on an accelerator, if there is one."""
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        return self.workspace.once(("device", id(self.windows)), lambda: DeviceWindows(self.windows, device))

    def build(self) -> NumberCells:  # type: ignore[override]
        """A fresh model; embedder and head are fitted to numbers of training windows."""
        config, windows = self.config, self.windows
        torch.manual_seed(config.seed)
        sizes = NumerateTabBertConfig(
            field_sizes=windows.vocabularies.sizes, field_size=config.field_size, num_field_heads=config.field_heads,
            num_hidden_layers=config.layers, num_attention_heads=config.heads, dropout=config.dropout,
            max_position_embeddings=config.window,
        )  # fmt: skip
        backbone = NumerateTabBertForMaskedLM(sizes)
        embedder = config.embedder
        if embedder is not None and config.embedding_scale:
            words: Any = backbone.get_input_embeddings().weight
            size = config.embedding_scale * float(words.detach().square().mean().sqrt())
            embedder = {"kind": "rescaled", "members": [embedder], "size": size}
        fields = tuple(FIELDS.index(name) for name in config.numbers)
        parts = NumberCellsConfig(
            fields=fields, placement=config.placement, embedder=embedder, head=config.head, relations=config.relations
        )
        model = NumberCells(backbone, parts)
        seen = (windows.starts["train"][:, None] + np.arange(config.window)).ravel()
        index = windows.numbers[torch.from_numpy(seen)].flatten().long()
        index = index[index >= 0]
        evenly = torch.linspace(0, len(index) - 1, min(len(index), _FITTED), dtype=torch.float64).long()
        numbers = windows.table[index[evenly]]
        if model.embedder is not None:
            model.embedder.fit(numbers.values())
        if model.head is not None:
            model.head.fit(numbers)
            if isinstance(model.head, LogSignHead):
                # It starts at the mean target, as a fitted mixture starts at the data: the squares of logarithms of
                # timestamps would outweigh all other losses for many steps.
                with torch.no_grad():
                    model.head.layers[-1].bias.copy_(model.head.targets(numbers).mean(0))
        return model

    def train(self, model: NumberCells, log: Log | None = None) -> Figures:  # type: ignore[override]
        """Pre-trains the model, then trains its fraud head on frozen features."""
        check_fraud(self.windows)
        data = self.data()
        model.to(data.device)
        found = pretrain(model, data, self.config, log) | train_fraud_head(model, data, self.config, log)
        return found | {"seconds": round(found["pretrain_seconds"] + found["head_seconds"], 2)}

    def ask(self, model: NumberCells, split: str) -> Columns:  # type: ignore[override]
        """The score, label and user of each window, and the threshold that was chosen on dev."""
        windows = self.windows
        return {
            "score": fraud_scores(model, self.data(), split, self.config.bf16),
            "fraud": windows.labels(split),
            "user": windows.users(split),
            "threshold": np.array([float(model.threshold)]),
        }

    def score(self, split: str, columns: Columns) -> Figures:
        """F1 and other figures of a split."""
        return {split: fraud_figures(columns["fraud"], columns["score"], float(columns["threshold"][0]))}

    def error(self, figures: Mapping[str, Any]) -> float:
        """One less the average precision on dev, which is less noisy than F1."""
        value = figures["dev"]["average_precision"]
        return np.inf if value is None else 1 - value

    def baselines(self) -> Figures:
        """What needs no model: every window is fraud; frequencies of fraud by field value in training rows."""
        windows, found = self.windows, {}
        gold = {split: windows.labels(split) for split in ("dev", "test")}
        always = {split: np.ones(len(labels)) for split, labels in gold.items()}
        for name, scores in (("always fraud", always), ("frequencies", _frequency_scores(windows))):
            threshold = best_threshold(gold["dev"], scores["dev"])[0]
            found[name] = {split: fraud_figures(gold[split], scores[split], threshold) for split in gold}
        return found

    def paired(self, ours: Sequence[Columns], base: Sequence[Columns], resamples: int) -> Figures:
        """The difference in test F1 with an interval by bootstrap: over users, or over windows of a random split."""
        sides = [[columns_of_split(columns, "test") for columns in side] for side in (ours, base)]
        predicted = [[one["score"] >= one["threshold"][0] for one in side] for side in sides]
        gold, user = sides[0][0]["fraud"], sides[0][0]["user"]
        clusters = user if self.config.split == "user" else np.arange(len(gold))
        return {"f1": f1_difference(gold, predicted[0], predicted[1], clusters, resamples=resamples)}

    def shown(self) -> Sequence[Column]:
        """F1 at the threshold of dev, F1 at 0.5, and average precision."""
        return (
            Column("test", "f1", "F1", ".2f", "max", 100.0),
            Column("test", "f1_at_half", "F1 at 0.5", ".2f", "max", 100.0),
            Column("test", "average_precision", "AP", ".2f", "max", 100.0),
            Column("dev", "f1", "F1 on dev", ".2f", "max", 100.0),
        )

    def notes(self) -> Sequence[str]:
        """What data and split the figures are of."""
        rows = "all" if self.config.rows is None else f"{self.config.rows:,}"
        if self.config.rows is not None and self.config.source != GENERATED:
            rows = f"the first {rows}"  # all of a file that has fewer
        source = "made-up histories" if self.config.source == GENERATED else Path(self.config.source).name
        by = "by user" if self.config.split == "user" else "at random over windows, the same users on all sides"
        return (f"{rows} rows of {source}, split {by}.",)


def _frequency_scores(windows: CellWindows) -> dict[str, np.ndarray]:
    """Naive Bayes over field values, fitted to training rows; a window's score is that of its most suspicious row."""
    seen = (windows.starts["train"][:, None] + np.arange(windows.length)).ravel()
    ids, fraud = windows.ids.numpy(), windows.fraud
    most = int(ids.max()) + 1
    stolen = np.bincount(ids[seen][fraud[seen]].ravel(), minlength=most)
    honest = np.bincount(ids[seen][~fraud[seen]].ravel(), minlength=most)
    share = (stolen + 0.5) / (fraud[seen].sum() + 1) / ((honest + 0.5) / ((~fraud[seen]).sum() + 1))
    suspicion = np.log(share)[ids].sum(1)
    spread = windows.starts
    return {
        split: 1 / (1 + np.exp(-suspicion[spread[split][:, None] + np.arange(windows.length)].max(1)))
        for split in ("dev", "test")
    }
