"""`RecordModel`: predicts any number or time of a record from its other fields."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import torch

from numerate.config import Config, ConfigError
from numerate.files import write_atomically
from numerate.modeling.artefact import ArtefactError, load_artefact
from numerate.modeling.attaching import from_pretrained
from numerate.modeling.folder_checks import read_json
from numerate.modeling.introspection import base_of, evaluating
from numerate.modeling.tokenizer_checks import longest_text
from numerate.processing.number_table import ASKED
from numerate.processing.scaling import field_of
from numerate.records.conformal import LEVELS, Calibration, stretches
from numerate.records.field_table import Counts, table
from numerate.records.schema import FieldError, Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numerate.heads.base import NumberDistribution
    from numerate.modeling.number_model import NumberModel
    from numerate.processing.scaling import Scaling

__all__ = ["RECORDS_FILE", "RecordModel", "RecordModelConfig", "as_rows"]

RECORDS_FILE = "records.json"
"""File of a saved model of records, beside those of every saved model."""
BATCH = 256
MOST_CHECKS = 20_000
"""Maximum number of held-out predictions of a calibration, over all fields."""
LEAST_CHECKS = 100


@dataclass(frozen=True, kw_only=True)
class RecordModelConfig(Config):
    """Config that is saved beside the network: the schema, and the calibration of the intervals."""

    kind: ClassVar[str] = "record-model"
    schema: Schema
    calibration: Calibration


class RecordModel:
    """A network, the schema of its records, and the calibration of its intervals.

    The attribute `counts` has the unusual input of predictions so far, which `report` shows.

    Example:
        >>> rows = [{"x": x, "y": x} for x in range(40)]
        >>> model = RecordModel.fit(rows, scale="tiny")
        >>> model.predict([{"x": 7}, {"x": 9.5}], "y").shape
        (2, 3)
        >>> model.predict(rows[:1], "z")
        Traceback (most recent call last):
        numerate.records.schema.FieldError: unknown field 'z': known: x, y
    """

    def __init__(self, model: NumberModel, schema: Schema, calibration: Calibration | None = None) -> None:
        self.model, self.schema, self.calibration = model, schema, calibration or Calibration()
        self.counts = Counts()

    @classmethod
    def fit(
        cls, rows: Any, *, scale: str | None = None, changes: Iterable[str] = (), leave_out: Iterable[str] = (),
        seed: int = 42, say: Callable[[str], None] | None = None,
    ) -> Self:  # fmt: skip
        """Trains a model with the run `records`.

        Args:
            rows: Records, as a list of dicts or a pandas DataFrame.
            scale: One of the run's scales.
            changes: Changes to the run, each `key.sub=value`, as `training.max_steps=2000`.
            leave_out: Fields that the model does not see, such as row numbers.
            seed: Random seed of weights and masks.
            say: If given, progress is shown.

        Raises:
            FieldError: The records cannot be learnt from.
        """
        from numerate.records.running import RecordRun
        from numerate.training.run import load_run

        changes = (changes,) if isinstance(changes, str) else changes
        fixed = (f"training.seed={seed}", "training.save_strategy=no", "training.eval_strategy=no")
        run = load_run("records", scale=scale, changes=(*changes, *fixed))
        with tempfile.TemporaryDirectory() as folder:
            ready = RecordRun.of_rows(run, as_rows(rows), Path(folder), leave_out=leave_out)
            trainer = ready.trainer(Path(folder), quiet=say is None)
            trainer.train()
            network: Any = trainer._numbers
        return ready.finished(cls, network)

    def predict(self, rows: Any, field: str, quantiles: Sequence[float] = (0.05, 0.5, 0.95)) -> Any:
        """Quantiles of a field of each record, in the field's units, whether or not the record has it.

        Args:
            rows: Records as in `fit`; the record's own value of the field is not used.
            field: Path of the field, as `description.planet0.m`, `data[3][0]` or `body mass`.
            quantiles: Probabilities between 0 and 1.

        Returns:
            (N, Q) float64, or datetime64 for times; a DataFrame with the same index for a DataFrame.

        Raises:
            FieldError: There is no such field, it has no numbers, or a record is too long.
        """
        try:
            levels = [float(p) for p in quantiles]
        except (TypeError, ValueError):
            raise FieldError(
                f"quantiles must be a list of numbers, such as (0.05, 0.5, 0.95), got {quantiles!r}"
            ) from None
        if not levels or not all(0 < p < 1 for p in levels):
            raise FieldError(f"quantiles must lie between 0 and 1, got {tuple(levels)}")
        records, path = as_rows(rows), self.schema.path(field)
        found = self._values(records, path, np.broadcast_to(np.array(levels), (len(records), len(levels))))
        return _like(rows, found, levels, is_time=self.schema.fields[field_of(path)].is_time)

    def sample(self, rows: Any, field: str, count: int = 100, seed: int = 0) -> Any:
        """Samples of a field of each record: (N, count) array, or a DataFrame for one; see `predict`."""
        if not isinstance(count, Integral) or count < 1:
            raise FieldError(f"count must be a positive whole number, got {count!r}")
        if not isinstance(seed, Integral) or seed < 0:
            raise FieldError(f"seed must be a whole number from 0, got {seed!r}")
        records, path = as_rows(rows), self.schema.path(field)
        drawn = np.random.default_rng(seed).uniform(1e-9, 1 - 1e-9, (len(records), count))
        found = self._values(records, path, drawn)
        return _like(rows, found, list(range(count)), is_time=self.schema.fields[field_of(path)].is_time)

    def save(self, folder: str | Path) -> None:
        """Saves network, backbone and tokenizer (safetensors and JSON), and `records.json`."""
        self.model.save_pretrained(folder, backbone=True)
        self.save_records(folder)

    def save_records(self, folder: str | Path) -> None:
        """Writes `records.json` beside a network that is already saved."""
        config = RecordModelConfig(schema=self.schema, calibration=self.calibration)
        write_atomically(Path(folder) / RECORDS_FILE, config.to_json().encode())

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Loads a folder of `save` or `numerate train records`.

        Raises:
            ArtefactError: The folder has no model of records, or a damaged one.
        """
        file = Path(folder) / RECORDS_FILE
        if not Path(folder).is_dir():
            raise ArtefactError(f"{folder}: no such folder")
        if not file.is_file():
            raise ArtefactError(
                f"{folder} has no {RECORDS_FILE}: it is no model of records; `numerate train records` makes one"
            )
        try:
            config = RecordModelConfig.from_dict(read_json(file, Path(folder)))
        except ConfigError as error:
            raise ArtefactError(f"{file}: {error}") from None
        if not load_artefact(folder).config.base_included:  # `save` always writes it: nothing else may be named
            raise ArtefactError(f"{folder} has no backbone of its own: it was not written by RecordModel.save")
        return cls(from_pretrained(folder), config.schema, config.calibration)

    def report(self) -> str:
        """A table of all fields with kind, range, scaler and calibration, and the counts of unusual input."""
        return table(self.schema, self._scaling, self.calibration, self.counts)

    @property
    def _scaling(self) -> Scaling:
        scaling = self.model.processor.scaling
        if scaling is None:
            raise ArtefactError("the model has no scaling: train it with the run `records`")
        return scaling

    def _values(self, records: Sequence[Any], path: str, p: np.ndarray) -> np.ndarray:
        """Calibrated quantiles in the field's units: (N, Q)."""
        name = field_of(path)
        plan = self.schema.fields[name]
        if plan.holds == "constant":
            for record in records:
                self.schema.write(record, counts=self.counts)
            self.counts.records += len(records)
            return np.full(p.shape, plan.low)
        parts: list[np.ndarray] = [np.empty((0, p.shape[1]))]
        for start in range(0, len(records), BATCH):
            some, shares = records[start : start + BATCH], p[start : start + BATCH]
            numbers = self._ask(some, [path] * len(some), self.counts)
            scaled = numbers.quantile(torch.from_numpy(np.array(shares)).to(numbers.device)).cpu().numpy()
            scaled = self.calibration.apply(name, shares, scaled, numbers.median().cpu().numpy())
            parts.append(self._scaling.invert([name] * scaled.size, scaled.ravel().tolist()).reshape(scaled.shape))
        self.counts.records += len(records)
        return np.concatenate(parts)

    @torch.no_grad()
    def _ask(self, records: Sequence[Any], paths: Sequence[str], counts: Counts | None = None) -> NumberDistribution:
        """The uncalibrated distribution of one number of each record, in scaled units."""
        texts, wanted = [], []
        for record, path in zip(records, paths, strict=True):
            text, asked = self.schema.write_asking(record, path, counts)
            if path not in asked:
                raise FieldError(f"a record has no place for {path!r}: {text[:80]}")
            texts.append(text)
            wanted.append((asked.index(path), len(asked)))
        most = self._longest()
        batch = dict(self.model.processor(texts, padding=True, return_tensors="pt").to(self.model.device))
        if most is not None and batch["input_ids"].shape[1] > most:
            raise FieldError(f"a record has at most {most} tokens, got {batch['input_ids'].shape[1]}")
        # The requested numbers are in reading order, row by row.
        found = (batch["number_given"] == ASKED).sum(1).tolist()
        if found != [count for _, count in wanted]:
            raise FieldError(
                f"the records have {[count for _, count in wanted][:5]}... requested numbers, found {found[:5]}"
            )
        starts = np.cumsum([0, *found[:-1]])
        with evaluating(self.model):
            numbers: Any = self.model(**batch, return_loss=False).numbers
        return numbers[torch.tensor([start + at for start, (at, _) in zip(starts.tolist(), wanted, strict=True)])]

    def _longest(self) -> int | None:
        """Maximum number of tokens of a record; None for no limit."""
        processor: Any = self.model.processor
        return longest_text(base_of(self.model.backbone).config, processor.tokenizer)

    def _short(self, records: Sequence[Any]) -> list[bool]:
        """Whether each record is short enough for the network."""
        most = self._longest()
        if most is None:
            return [True] * len(records)
        found: list[bool] = []
        for start in range(0, len(records), BATCH):
            texts = [self.schema.write(record) for record in records[start : start + BATCH]]
            found += [len(ids) <= most for ids in self.model.processor(texts)["input_ids"]]
        return found

    def calibrate(self, held: Sequence[Any], seed: int = 0) -> None:
        """Fits the calibration to records that were held out of the training.

        Records that are too long for the network are left out, as `predict` refuses them.
        """
        scaling, draws = self._scaling, np.random.default_rng(seed)
        fields = self.schema.numbers()
        held = [record for record, is_short in zip(held, self._short(held), strict=True) if is_short]
        each = min(len(held), max(LEAST_CHECKS, MOST_CHECKS // max(1, len(fields))))
        given = [self._given(record) for record in held]
        stretch, counts = {}, {}
        for name in fields:
            having = [at for at, places in enumerate(given) if name in places]
            chosen = sorted(draws.permutation(having)[:each].tolist())
            truth, ends = [], []
            for start in range(0, len(chosen), BATCH):
                some = chosen[start : start + BATCH]
                asked = [given[at][name][draws.integers(len(given[at][name]))] for at in some]
                numbers = self._ask([held[at] for at in some], [path for path, _ in asked])
                p = [0.5, *((1 - level) / 2 for level in LEVELS), *((1 + level) / 2 for level in LEVELS)]
                shares = torch.tensor(p, dtype=torch.float64, device=numbers.device).expand(len(some), -1)
                ends.append(numbers.quantile(shares).cpu().numpy())
                truth.append(scaling.apply([name] * len(some), [value for _, value in asked]))
            if chosen:
                q = np.concatenate(ends)
                low, high = q[:, 1 : 1 + len(LEVELS)], q[:, 1 + len(LEVELS) :]
                factors = stretches(np.concatenate(truth), q[:, 0], low, high)
                counts[name] = len(chosen)
                if factors is not None:
                    stretch[name] = factors
        self.calibration = Calibration(stretch=stretch, held_out=counts)

    def _given(self, record: Any) -> dict[str, list[tuple[str, float]]]:
        """Paths and values of a record's numbers, by field."""
        found: dict[str, list[tuple[str, float]]] = {}
        text = self.schema.write(record)
        for numeral in self.model.processor.reader.find(text):
            found.setdefault(field_of(numeral.path), []).append((numeral.path, numeral.value))
        return found


def _is_frame(rows: Any) -> bool:
    """Whether `rows` is a pandas DataFrame, without importing pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(rows, pandas.DataFrame)


def as_rows(rows: Any) -> list[dict[str, Any]]:
    """Records as a list of dicts."""
    if _is_frame(rows):
        if twice := [name for name, times in Counter(map(str, rows.columns)).items() if times > 1]:
            raise FieldError(f"several columns are named {twice[0][:60]!r}; rename them")
        names = [str(name) for name in rows.columns]
        return [dict(zip(names, map(_listed, row), strict=True)) for row in rows.itertuples(index=False, name=None)]
    if isinstance(rows, str | bytes | dict) or not hasattr(rows, "__iter__"):
        raise FieldError(f"give a list of records or a DataFrame, got a {type(rows).__name__}")
    return [_listed(row) for row in rows]


def _listed(value: Any) -> Any:
    """The value with arrays as lists: pandas reads lists of a Parquet file as arrays."""
    if isinstance(value, np.ndarray):
        return _listed(value.tolist()) if value.ndim else value[()]
    if isinstance(value, dict):
        return {key: _listed(each) for key, each in value.items()}
    return [_listed(each) for each in value] if isinstance(value, list | tuple) else value


def _like(rows: Any, values: np.ndarray, columns: list[Any], *, is_time: bool) -> Any:
    """Values (N, Q) as an array, or as a DataFrame with the index of `rows`; with `is_time`, seconds become times."""
    if is_time:
        micro = np.clip(np.nan_to_num(values) * 1e6, -6e16, 2e17)  # years 69 to 8307, the range of datetime64
        values = np.round(micro).astype(np.int64).astype("datetime64[us]")
    if not _is_frame(rows):
        return values
    return sys.modules["pandas"].DataFrame(values, index=rows.index, columns=columns)
