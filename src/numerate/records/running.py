"""Turns records into a training run: schema, texts, tokenizer, and records held out for the calibration."""

from __future__ import annotations

import dataclasses
import random
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from numerate.files import write_atomically
from numerate.processing.record_tokenizer import record_tokenizer
from numerate.records.learning import learn
from numerate.records.schema import FieldError
from numerate.training.build import build
from numerate.training.run import Run, RunError
from numerate.training.sources import rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from numerate.modeling.number_model import NumberModel
    from numerate.records.schema import Schema
    from numerate.training.trainer import NumberTrainer

__all__ = ["RecordFiles", "RecordRun"]

HELD_SHARE = 0.25
MOST_HELD = 2_000
"""Maximum number of records held out of the training, for the calibration."""
FEWEST_RECORDS = 10
_WORDS = ("null", "true", "false")
M = TypeVar("M")


@dataclass(frozen=True)
class RecordFiles:
    """At most `limit` records of files (see `numerate.training.sources`); every iteration starts at the first."""

    paths: tuple[str, ...]
    format: str | None = None
    limit: int | None = None

    def __iter__(self) -> Iterator[Any]:
        return islice((row for path in self.paths for _, row in rows_of(path, self.format)), self.limit)


@dataclass(frozen=True)
class RecordRun:
    """A run on records, ready for training.

    The run has the records as text files, the tokenizer has keys and frequent texts as tokens, and `held` are the
    records held out of the training.
    """

    run: Run
    schema: Schema
    tokenizer: Any
    held: list[Any]

    @classmethod
    def of_files(cls, run: Run, folder: Path) -> RecordRun:
        """Prepares the files of a run; text files are written into a subfolder of `folder`."""
        data = run.data
        if data.train is None:
            raise RunError("no records to train on: give --data")
        if data.split is not None:
            raise RunError(f"data.split is not supported for records, got {data.split!r}; give one file per split")
        train = RecordFiles(_several(data.train), data.format, data.limit)
        dev = None if data.dev is None else RecordFiles(_several(data.dev), data.format, data.dev_limit)
        return cls.of_rows(run, train, folder, dev, leave_out=data.leave_out)

    @classmethod
    def of_rows(
        cls, run: Run, rows: Iterable[Any], folder: Path, dev: Iterable[Any] | None = None,
        *, leave_out: Iterable[str] = (),
    ) -> RecordRun:  # fmt: skip
        """Prepares records, which are iterated twice, for a run like `records`; the folder gets the text files.

        `dev` are records for evaluation during training; `leave_out` are fields that the model does not see.
        """
        schema = learn(rows, leave_out=leave_out)
        held: list[Any] = []
        sample: list[str] = []
        draws = random.Random(run.training.get("seed", 42))  # noqa: S311 (no secret)

        def texts() -> Iterator[str]:
            for row in rows:
                if draws.random() < HELD_SHARE and len(held) < MOST_HELD:
                    held.append(row)
                    continue
                text = schema.write(row)
                if len(sample) < run.data.sample:
                    sample.append(text)
                yield text

        paths = {"train": _written(folder / "records" / "train.jsonl", texts())}
        if len(sample) + len(held) < FEWEST_RECORDS:
            raise FieldError(f"at least {FEWEST_RECORDS} records are needed, got {len(sample) + len(held)}")
        tokenizer = record_tokenizer(sample, words=[*_WORDS, *schema.words])
        if dev is not None:
            paths["dev"] = _written(folder / "records" / "dev.jsonl", map(schema.write, dev))
        scaling = dict(run.model.scaling or {})
        scaling["choose"] = schema.choose() | dict(scaling.get("choose") or {})
        run = dataclasses.replace(run.with_data(**paths), model=dataclasses.replace(run.model, scaling=scaling))
        return cls(run, schema, tokenizer, held)

    def trainer(self, folder: Path, *, quiet: bool = False) -> NumberTrainer:
        """The trainer of the run; with `quiet`, without progress output."""
        trainer = build(self.run, folder, tokenizer=self.tokenizer)
        if quiet:
            for callback in list(trainer.callback_handler.callbacks):
                if type(callback).__name__ in ("Lines", "Progress"):
                    trainer.remove_callback(callback)
        return trainer

    def finished(self, make: Callable[[NumberModel, Schema], M], model: NumberModel) -> M:
        """The trained model with its schema and calibration."""
        made: Any = make(model, self.schema)
        made.calibrate(self.held)
        return made


def _several(paths: str | tuple[str, ...]) -> tuple[str, ...]:
    return (paths,) if isinstance(paths, str) else paths


def _written(path: Path, texts: Iterable[str]) -> str:
    """Writes texts, one per line; an equal file is left untouched, so that its encoded texts stay valid."""
    return str(write_atomically(path, (f"{text}\n".encode() for text in texts), keep_equal=True))
