"""From records to a training run: schema learnt, records written alike, some kept out for the calibration."""

from __future__ import annotations

import dataclasses
import filecmp
import os
import random
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

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
"""Records kept out of training, so that intervals can be calibrated."""
FEWEST_RECORDS = 10
_WORDS = ("null", "true", "false")
M = TypeVar("M")


@dataclass(frozen=True)
class RecordFiles:
    """The records of some files, each time from the beginning.

    Attributes:
        paths: Of any format that `numerate.training.sources` knows.
        format: Which one; None for what each name ends in.
        limit: At most so many.
    """

    paths: tuple[str, ...]
    format: str | None = None
    limit: int | None = None

    def __iter__(self) -> Iterator[Any]:
        return islice((row for path in self.paths for _, row in rows_of(path, self.format)), self.limit)


@dataclass(frozen=True)
class RecordRun:
    """A run whose records are written alike, and what its model needs besides.

    Attributes:
        run: The run, with files of texts for its data.
        schema: Learnt from the training records.
        tokenizer: Its keys and frequent texts are tokens.
        held: Records kept out of training.
    """

    run: Run
    schema: Schema
    tokenizer: Any
    held: list[Any]

    @classmethod
    def of_files(cls, run: Run, folder: Path) -> RecordRun:
        """A run's own files, written alike below `folder`."""
        data = run.data
        if data.train is None:
            raise RunError("the run learns from records: give them with --data")
        if data.split is not None:
            raise RunError(f"data.split: records are not split by a field, got {data.split!r}; give files")
        train = RecordFiles(_several(data.train), data.format, data.limit)
        dev = None if data.dev is None else RecordFiles(_several(data.dev), data.format, data.dev_limit)
        return cls.of_rows(run, train, folder, dev, leave_out=data.leave_out)

    @classmethod
    def of_rows(
        cls, run: Run, rows: Iterable[Any], folder: Path, dev: Iterable[Any] | None = None,
        *, leave_out: Iterable[str] = (),
    ) -> RecordRun:  # fmt: skip
        """Records that can be gone through twice.

        Args:
            run: The run `records`, or one like it.
            rows: For training and calibration.
            folder: Gets the texts.
            dev: For evaluation on the way.
            leave_out: Fields that the model is not to see.
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
        """The trainer of the run."""
        trainer = build(self.run, folder, tokenizer=self.tokenizer)
        if quiet:
            for callback in list(trainer.callback_handler.callbacks):
                if type(callback).__name__ in ("Lines", "Progress"):
                    trainer.remove_callback(callback)
        return trainer

    def finished(self, make: Callable[[NumberModel, Schema], M], model: NumberModel) -> M:
        """The trained model with its schema, calibrated."""
        made: Any = make(model, self.schema)
        made.calibrate(self.held)
        return made


def _several(paths: str | tuple[str, ...]) -> tuple[str, ...]:
    return (paths,) if isinstance(paths, str) else paths


def _written(path: Path, texts: Iterable[str]) -> str:
    """Writes texts, a line each; a file that says the same is left alone, so that what was made of it still fits."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.{os.getpid()}")
    with new.open("w", encoding="utf-8", newline="") as file:
        file.writelines(f"{text}\n" for text in texts)
    if path.is_file() and filecmp.cmp(path, new, shallow=False):
        new.unlink()
    else:
        new.replace(path)
    return str(path)
