"""TabFact as a task: a sequence classifier reads a statement and a table, and says whether the statement is true.

The official `val` split is halved by table: learning rates are chosen on one half (`dev`), the other is reported
(`test`). With `report="official"`, they are chosen on all of `val`, and the official test split is reported.
"""

from __future__ import annotations

import functools
import random
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
import torch

from numerate.files import content_hash, json_hash
from numerate.metrics.significance import bootstrap
from numerate.modeling.introspection import evaluating
from numerate.processing.encoding import NumberCollator
from numerate.reading import make_reader
from numerate.training.checkpoints import atomic
from numerate.training.device_batches import BatchesByLength
from numerate.training.shards import Shards, fingerprint, write_rows
from numerate_lab.engine.made_once import made_once
from numerate_lab.engine.paper_tables import load_scales
from numerate_lab.engine.task import Column
from numerate_lab.engine.trial import columns_of_split
from numerate_lab.registry import tasks
from numerate_lab.tasks.finetuning.fine_tuning import FineTuningTask, FineTuningTrial, fine_tune
from numerate_lab.tasks.finetuning.number_prompts import add_prompts
from numerate_lab.tasks.finetuning.starting_points import check_untouched, start_classifier
from numerate_lab.tasks.tabfact.fact_data import (
    CHANNELS,
    half_of,
    official_hash,
    read_statements,
    read_table_files,
    shared_tables,
)
from numerate_lab.tasks.tabfact.fact_encoding import encode_statements, laid_out

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numerate.modeling.number_model import NumberModel
    from numerate.processing.processor import NumberProcessor
    from numerate_lab.engine.task import Columns, Figures, Log
    from numerate_lab.tasks.tabfact.fact_data import FactTable, Statement

__all__ = ["TabFact", "TabFactTrial"]

_ROWS = 64
_BESIDE = "beside.npz"
_JITTER = 8
"""Lengths are sorted with noise of so many tokens, or the statements of one table would stand in one batch."""


@dataclass(frozen=True, kw_only=True)
class TabFactTrial(FineTuningTrial):
    """Settings of a trial of TabFact.

    Attributes:
        layout: How a table becomes text: by `rows`, by `columns`, or by Table-BERT's `template`.
        caption: Whether the table's caption comes first; LUNA leaves it out.
        linked: Whether a statement has only the columns that share a word with it, as of Table-BERT, and rows that do
            so first.
        apart: Files of tables that a start was pre-trained on (JSON lines with `rows`): statements about tables that
            share a row with them are left out of dev and test, for all encodings.
        prompts: Embedder of number prompts; None for none. A row sets it.
        report: `half`: choose on one half of `val` and report the other; `official`: report the official test split.
    """

    kind: ClassVar[str] = "tabfact"
    layout: Literal["rows", "columns", "template"] = "rows"
    caption: bool = False
    linked: bool = False
    prompts: dict[str, Any] | None = None
    report: Literal["half", "official"] = "half"
    apart: tuple[str, ...] = ()

    def settings(self) -> Figures:
        """The settings, with names of files instead of paths, and hashes of the official files and of `apart`."""
        found: Figures = super().settings() | {"apart": [Path(file).name for file in self.apart]}
        hashes = {"source": official_hash(self.source)}
        if self.apart and all(Path(file).is_file() for file in self.apart):
            hashes["apart"] = json_hash([content_hash(file) for file in self.apart])[:12]
        known = {name: value for name, value in hashes.items() if value is not None}
        return found | ({"contents": found.get("contents", {}) | known} if known else {})


class _Encoded(NamedTuple):
    """Rows of a split, which of them were cut, and their lengths for the bare model."""

    rows: Any
    cut: np.ndarray
    lengths: np.ndarray


@functools.lru_cache(maxsize=3)
def _official(source: str, split: str) -> tuple[list[Statement], dict[str, FactTable]]:
    return read_statements(source, split)


@functools.lru_cache(maxsize=2)
def _shared(source: str, split: str, files: tuple[str, ...]) -> set[str]:
    return shared_tables(_official(source, split)[1], files)


@tasks.register("tabfact")
class TabFact(FineTuningTask):
    """One trial of TabFact."""

    version = 1
    Trial = TabFactTrial
    scales: ClassVar[dict[str, dict[str, Any]]] = load_scales("tabfact")

    def examples(self, split: str) -> tuple[list[Statement], dict[str, FactTable]]:
        """The statements of a split and the tables of its official split."""
        config = self.config

        def make() -> tuple[list[Statement], dict[str, FactTable]]:
            halved = config.report == "half" and split != "train"
            official = self._official_of(split)
            statements, tables = _official(config.source, official)
            if halved:
                statements = [one for one in statements if half_of(one.table) == split]
            if config.apart and split != "train":
                known = _shared(config.source, official, config.apart)
                statements = [one for one in statements if one.table not in known]
            most = config.most_train if split == "train" else config.most_eval
            if most is not None and most < len(statements):
                chosen = sorted(random.Random(0).sample(range(len(statements)), most))  # noqa: S311
                statements = [statements[at] for at in chosen]
            if not statements:
                raise ValueError(f"{config.source}: no table of {official} is in the half {split!r}: give more tables")
            return statements, tables

        return self.workspace.once(
            ("examples", split, config.report, config.apart, config.most_train, config.most_eval), make
        )

    def build(self) -> NumberModel:
        """A classifier with a fresh head, drawn from the seed; never from a model that was trained on these tables."""
        config = self.config
        check_untouched(config.folder, ("tabfact", "tab_fact", "table-fact-checking"), read_table_files(config.source))
        torch.manual_seed(config.seed)
        model = start_classifier(config.folder, config.recipe, config.parts, layers=config.layers, base=config.model)
        if config.prompts is not None:
            add_prompts(model, config.prompts)
        return model.to(self.device)

    def encoded(self, model: NumberModel, split: str) -> _Encoded:
        """The rows of a split; trials of one notation share them, in all processes of a grid."""
        processor, data = model.processor, self.workspace.data

        def make() -> _Encoded:
            if data is None:
                return _Encoded(*self._rows(processor, split), self._lengths(processor.tokenizer, split))
            config, names = (
                self.config,
                ("layout", "caption", "linked", "max_tokens", "report", "most_train", "most_eval"),
            )
            described = [split, fingerprint(processor), *(getattr(config, name) for name in names), list(config.apart)]
            folder = made_once(
                data / f"{split}-{json_hash(described)[:16]}", lambda place: self._write(processor, split, place)
            )
            with np.load(folder / _BESIDE, allow_pickle=False) as beside:
                return _Encoded(Shards(folder / "rows", processor), beside["cut"], beside["lengths"])

        return self.workspace.once(("encoded", split), make)

    def _rows(self, processor: NumberProcessor, split: str) -> tuple[list[dict[str, Any]], np.ndarray]:
        """Rows of a split and which of them were cut."""
        statements, tables = self.examples(split)
        rows, cut = encode_statements(processor, statements, tables, **self._layout())
        return rows, np.array(cut)

    def _layout(self) -> dict[str, Any]:
        """How tables become text."""
        config = self.config
        return {
            "layout": config.layout, "caption": config.caption, "linked_only": config.linked,
            "max_tokens": config.max_tokens,
        }  # fmt: skip

    def _write(self, processor: NumberProcessor, split: str, place: Path) -> None:
        rows, cut = self._rows(processor, split)
        with atomic(place) as inside:
            write_rows(inside / "rows", rows, processor)
            np.savez(inside / _BESIDE, cut=cut, lengths=self._lengths(processor.tokenizer, split))

    def _lengths(self, tokenizer: Any, split: str) -> np.ndarray:
        """Tokens of each row without numbers of our own: all encodings then get the same batches."""
        statements, tables = self.examples(split)
        laid, index = laid_out(statements, tables, **self._layout())
        texts = [[one.text] for one in statements]
        counts = [
            [
                len(row)
                for row in tokenizer(
                    some, is_split_into_words=True, add_special_tokens=False, truncation=True,
                    max_length=self.config.max_tokens,
                )["input_ids"]
            ]
            for some in (laid, texts)
        ]  # fmt: skip
        whole = [count + counts[0][at] for count, at in zip(counts[1], index, strict=True)]
        return np.minimum(whole, self.config.max_tokens)

    def train(self, model: NumberModel, log: Log | None = None) -> Figures:
        """Trains the classifier on the statements of the official training split."""
        del log
        rows, cut, lengths = self.encoded(model, "train")
        noise = np.random.default_rng(self.config.seed).uniform(0, _JITTER, len(rows))
        # Recorded steps have few lengths.
        collate = NumberCollator(model.processor.tokenizer, pad_to_multiple_of=32 if self.config.recorded else None)
        batches = BatchesByLength(rows, collate, self.config.batch, (lengths + noise).tolist())
        labels = torch.tensor([one.label for one in self.examples("train")[0]])
        for part, batch in zip(batches.parts, batches.batches, strict=True):
            batch["labels"] = labels[part]
        tokens = sum(int(batch["attention_mask"].sum()) for batch in batches.batches) / len(rows)
        found = fine_tune(model, self.config, batches)
        return found | {"tokens_a_text": round(tokens, 2), "cut": round(float(cut.mean()), 4), "examples": len(rows)}

    @torch.no_grad()
    def ask(self, model: NumberModel, split: str) -> Columns:
        """The score of each statement (log-odds of being true), its label, table, channel, and numbers in it."""
        statements, tables = self.examples(split)
        rows, cut, lengths = self.encoded(model, split)
        made = BatchesByLength(rows, NumberCollator(model.processor.tokenizer), _ROWS, lengths.tolist())
        score = np.zeros(len(rows), np.float32)
        with evaluating(model), torch.compiler.set_stance("force_eager"):
            for part, batch in zip(made.parts, made.batches, strict=True):
                fields = {key: value.to(model.device) for key, value in batch.items()}
                logits: Any = model(**fields).logits
                score[part] = (logits[:, 1] - logits[:, 0]).float().cpu().numpy()
        index, reader = {name: at for at, name in enumerate(tables)}, make_reader("standard")
        channel = [CHANNELS.index(one.channel) if one.channel else -1 for one in statements]
        return {
            "score": score,
            "label": np.array([one.label for one in statements], np.int8),
            "table": np.array([index[one.table] for one in statements], np.int32),
            "channel": np.array(channel, np.int8),
            "numbers": np.array([len(reader.find(one.text)) for one in statements], np.int16),
            "cut": cut,
        }

    def score(self, split: str, columns: Columns) -> Figures:
        """Accuracy on all, simple and complex statements, and by the numbers in a statement and by truncation."""
        right = _right(columns)
        found: Figures = {split: {name: _share(right[rows]) for name, rows in _channels(columns).items()}}
        if split != "dev":
            few = np.minimum(columns["numbers"], 3)
            by_number = {f"{count}{'+' if count == 3 else ''}": _share(right[few == count]) for count in np.unique(few)}
            found[f"{split} by numbers"] = {name: {"all": value} for name, value in by_number.items()}
            cut = {"cut": right[columns["cut"]], "whole": right[~columns["cut"]]}
            found[f"{split} by table"] = {name: {"all": _share(some)} for name, some in cut.items() if len(some)}
        return found

    def error(self, figures: Mapping[str, Any]) -> float:
        """Share of wrong answers on dev."""
        return 1 - figures["dev"]["all"]["value"]

    def baselines(self) -> Figures:
        """The most frequent label of the training split."""
        labels = np.array([one.label for one in self.examples("train")[0]])
        statements = self.examples("test")[0]
        guess = float(labels.mean() >= 0.5) - 0.5
        channel = [CHANNELS.index(one.channel) if one.channel else -1 for one in statements]
        columns = {"score": np.full(len(statements), guess), "label": np.array([one.label for one in statements])}
        right, rows_of = _right(columns), _channels({"channel": np.array(channel)})
        return {"most frequent label": {"test": {name: _share(right[rows]) for name, rows in rows_of.items()}}}

    def shown(self) -> Sequence[Column]:
        """Accuracy on all, simple and complex statements."""
        named = (("all", "accuracy %"), ("simple", "simple %"), ("complex", "complex %"))
        return [Column("test", key, label, ".2f", "max", 100.0, by_group=key == "all") for key, label in named]

    def notes(self) -> Sequence[str]:
        """Which statements are reported."""
        if self.config.apart:
            count = len(_shared(self.config.source, self._official_of("test"), self.config.apart))
            files = ", ".join(Path(file).name for file in self.config.apart)
            return [f"Left out are {count} tables that share a row with {files}.", *self._split_note()]
        return self._split_note()

    def _official_of(self, split: str) -> str:
        """The official split that a split is taken from."""
        return "train" if split == "train" else "val" if self.config.report == "half" or split == "dev" else "test"

    def _split_note(self) -> list[str]:
        if self.config.report == "official":
            return ["Rates are chosen on TabFact's val, figures are of its official test split."]
        return ["TabFact's val is halved by table: rates are chosen on one half, figures are of the other."]

    def example_scores(self, split: str, columns: Columns) -> dict[str, np.ndarray]:
        """Whether each answer is right."""
        del split
        return {"accuracy %": _right(columns).astype(np.float64)}

    def clusters(self, split: str, columns: Columns) -> np.ndarray | None:
        """The table of each statement: statements of one table are not independent."""
        del split
        return columns["table"]

    def paired(self, ours: Sequence[Columns], base: Sequence[Columns], resamples: int) -> Figures:
        """Differences of accuracy with 95 % intervals by table, of means over seeds, by channel."""
        one, other = (np.mean([_right(columns_of_split(each, "test")) for each in side], 0) for side in (ours, base))
        columns = columns_of_split(ours[0], "test")
        found = {}
        for name, rows in _channels(columns).items():
            interval = bootstrap(
                torch.from_numpy(one[rows]), torch.from_numpy(other[rows]),
                torch.from_numpy(columns["table"][rows].astype(np.int64)), resamples=resamples,
            )  # fmt: skip
            found[name] = {key: getattr(interval, key) for key in ("estimate", "low", "high", "p", "clusters")}
        return found


def _right(columns: Columns) -> np.ndarray:
    return (columns["score"] > 0) == (columns["label"] == 1)


def _channels(columns: Columns) -> dict[str, np.ndarray]:
    """Rows of all, simple and complex statements; channels without any are left out."""
    channel = columns["channel"]
    found = {"all": np.ones(len(channel), bool)} | {name: channel == at for at, name in enumerate(CHANNELS)}
    return {name: rows for name, rows in found.items() if rows.any()}


def _share(right: np.ndarray) -> dict[str, Any]:
    return {"value": float(np.mean(right)), "count": len(right)}
