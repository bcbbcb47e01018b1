"""The contract between the engine and a task: the settings of one trial, and a class that trains and measures it.

A task is one file with a class that is registered in `numerate_lab.registry.tasks`; the engine does everything else:
tries of learning rates, final trainings over seeds, result files, resuming, recomputing, tables and pages.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np

from numerate.config import Config, ConfigError
from numerate.files import content_hash
from numerate.training.results import Result

if TYPE_CHECKING:
    from numerate.modeling.number_model import NumberModel

__all__ = ["Answers", "Column", "Columns", "Figures", "Log", "Task", "TrialConfig", "Workspace"]

Columns = Mapping[str, np.ndarray]
"""Predictions of one split: named arrays, one row for each prediction."""
Figures = dict[str, Any]
"""Measured figures as JSON types."""
Log = Callable[[str], None]
"""Prints one line."""
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class TrialConfig(Config):
    """The settings of one trial: one model that is trained once and measured. A task adds fields in a subclass.

    Attributes:
        encoding: The encoding of numbers; a grid may set other fields with it, too.
        rate: The highest learning rate.
        seed: The seed of weights and order.
    """

    kind: ClassVar[str] = "trial"
    paths: ClassVar[tuple[str, ...]] = ()
    """Fields that name a file, a folder or a model: results keep their last part and a content hash."""
    unchecked: ClassVar[tuple[str, ...]] = ()
    """Fields that may differ between a stored result and the settings of today."""
    renamed: ClassVar[dict[str, str]] = {}
    """Old field name -> field name of today, for results that were stored before a field was renamed."""

    encoding: str = ""
    rate: float = 1e-3
    seed: int = 0

    @property
    def name(self) -> str:
        """The trial's file name, without suffix; different for all trials of a grid."""
        return f"{self.encoding}-rate{self.rate:g}-seed{self.seed}"

    def final(self, rate: float, seed: int) -> Self:
        """A final training with this learning rate and seed."""
        return dataclasses.replace(self, rate=rate, seed=seed)

    def tried(self, rate: float, share: float) -> Self:
        """A short training that tries a learning rate on a share of the budget; measured on dev alone."""
        del share
        return self.final(rate, 0)

    @property
    def needs(self) -> tuple[str, ...]:
        """Files or folders that other trials make, and that must be there before this one can be run."""
        return ()

    def settings(self) -> Figures:
        """The settings as results keep them: JSON types, names instead of paths, and `contents`, their hashes."""
        found: Figures = json.loads(json.dumps(self.to_dict()))
        contents = {}
        for name in self.paths:
            value = getattr(self, name)
            if value is not None and Path(value).exists():
                found[name], contents[name] = Path(value).name, content_hash(value)
        return found | ({"contents": contents} if contents else {})

    def exists(self, folder: str | Path, version: int = 1) -> bool:
        """Whether the folder has a result of this trial; a result of other settings is an `OtherSettingsError`."""
        wanted = self.settings() | {"task_version": version}
        wanted |= {old: wanted[new] for old, new in self.renamed.items()}
        file, ignore = Path(folder) / f"{self.name}.json", ("kind", "version", *self.unchecked)
        return Result.exists_with(file, wanted, ignore)

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Reads settings, also those with old field names and those that a result keeps."""
        if isinstance(data, Mapping):
            apart = ("contents", "task_version")
            data = {cls.renamed.get(key, key): value for key, value in data.items() if key not in apart}
        return super().from_dict(data)


@dataclass
class Workspace:
    """What the trials of one grid share.

    Attributes:
        results: The folder of the grid's results.
        data: A folder for data that is made once for all processes; None if there is none.
        memory: Values that are kept for all trials of one encoding, in one process.
    """

    results: Path = field(default_factory=Path)
    data: Path | None = None
    memory: dict[Any, Any] = field(default_factory=dict)

    def once(self, key: Any, make: Callable[[], T]) -> T:
        """The value of a key, which is made the first time."""
        if key not in self.memory:
            self.memory[key] = make()
        return self.memory[key]


@dataclass(frozen=True)
class Column:
    """One column of a comparison's table.

    Attributes:
        split: The key in a trial's figures, such as `test`,
        metric: and the metric in it, or a path of keys (`unit nats`); its figure is a number or a dict with a `value`.
        label: The column's title.
        form: How a figure is printed.
        best: `min` or `max`, which is printed bold; None where figures of different rows cannot be compared.
        factor: Multiplies the figure: 100 for percent.
        table: Columns of one name stand in one table.
        by_group: Whether there is a table of it by each group of examples, from figures such as `test by digits`.
    """

    split: str
    metric: str
    label: str
    form: str = ".3g"
    best: str | None = "min"
    factor: float = 1.0
    table: str = "test"
    by_group: bool = False

    def of(self, figures: Mapping[str, Any]) -> float | None:
        """The figure of one trial, unscaled; None if there is none."""
        found: Any = figures.get(self.split, {})
        for key in self.metric.split():
            found = found.get(key, {})
        return found.get("value") if isinstance(found, Mapping) else found


@dataclass(frozen=True, eq=False)
class Answers:
    """Numbers that a model gave for test examples, for the error breakdown of a comparison's page.

    Attributes:
        predicted: (N,) float64, NaN where there is no number.
        gold: (N,) float64.
        precision: (N,) int64, the power of ten of the last digit of each right answer; None if unknown.
    """

    predicted: np.ndarray
    gold: np.ndarray
    precision: np.ndarray | None = None


class Task:
    """One trial of a task: builds a model, trains it, asks it, and scores its answers.

    The constructor is cheap: data is read when it is first needed.

    Args:
        config: The trial, an instance of `Trial`.
        workspace: Shared by the trials of a grid; None for a trial alone.
    """

    version: ClassVar[int] = 1
    """Written into every result; raise it when figures of the same settings change."""
    Trial: ClassVar[type[TrialConfig]] = TrialConfig
    tolerance: ClassVar[float] = 1e-9
    """Relative difference of figures that `recompute` accepts; larger where columns are stored as float32."""
    finals_are_tries: ClassVar[bool] = False
    """Whether final trainings of several rates, where they exist, choose the rate instead of the short tries."""
    shares_files: ClassVar[bool] = False
    """Whether `prepare` makes files in the workspace that trials read; they would all make them otherwise."""
    shares_compiled: ClassVar[bool] = False
    """Whether what is compiled for one encoding serves all others."""
    scales: ClassVar[dict[str, dict[str, Any]]] = {"tiny": {}, "small": {}}
    """For `numerate compare --scale NAME`: fields of the trial."""

    def __init__(self, config: Any, workspace: Workspace | None = None) -> None:
        self.config = config
        self.workspace = workspace or Workspace()

    # What a task has to write.

    def examples(self, split: str) -> Any:
        """The examples of a split, as the task itself uses them; the same for every encoding."""
        raise NotImplementedError

    def build(self) -> NumberModel:
        """The model before training, its weights drawn from the trial's seed."""
        raise NotImplementedError

    def train(self, model: NumberModel, log: Log | None = None) -> Figures:
        """Trains the model; what there is to know of it: `steps`, `seconds`, `losses`, `looks`."""
        raise NotImplementedError

    def ask(self, model: NumberModel, split: str) -> Columns:
        """The model's predictions for a split, all that `score` needs of them."""
        raise NotImplementedError

    def score(self, split: str, columns: Columns) -> Figures:
        """Figures from stored predictions alone; they become entries of the trial's figures, such as `{split: ...}`."""
        raise NotImplementedError

    def error(self, figures: Mapping[str, Any]) -> float:
        """What learning rates are chosen by, from a trial's figures on dev; less is better, infinite for none."""
        raise NotImplementedError

    # What a task may write.

    @classmethod
    def trial(cls, name: str, options: Mapping[str, Any]) -> TrialConfig:
        """The trial of `numerate compare --task NAME --option ...`."""
        del name
        return cls.Trial.from_dict(dict(options))

    @classmethod
    def encoding(cls, name: str) -> dict[str, Any]:
        """Fields of the trial that an encoding's name stands for; an unknown name is an `UnknownNameError`."""
        from numerate_lab.engine.encodings import encoding_of

        encoding_of(name)
        return {}

    def splits(self, final: bool) -> tuple[str, ...]:
        """The splits that are measured, in a try of a learning rate and in a final training."""
        return ("dev", "test") if final else ("dev",)

    def prepare(self, log: Log) -> None:
        """Makes data that all trials of a grid share; called once, before any trial."""

    def baselines(self) -> Figures:
        """Figures of what needs no training, by name and then as in a trial's figures."""
        return {}

    @property
    def needs_timing(self) -> bool:
        """Whether steps must be timed, with nothing else running, before the trial: see `time_steps`."""
        return False

    def time_steps(self) -> None:
        """Times training steps and writes the result into the workspace's `results`."""

    def shown(self) -> Sequence[Column]:
        """The columns of a comparison's table."""
        return ()

    def notes(self) -> Sequence[str]:
        """Notes below a comparison's table."""
        return ()

    def answers(self, split: str, columns: Columns) -> Answers | None:
        """Predicted and right numbers, for the error breakdown; None if the task asks for none."""
        del split, columns

    def example_scores(self, split: str, columns: Columns) -> dict[str, np.ndarray]:
        """Scores by example, (N,) each, more is better, in the same order for all encodings: for paired intervals."""
        del split, columns
        return {}

    def clusters(self, split: str, columns: Columns) -> np.ndarray | None:
        """(N,) integer ids of examples that are resampled together for intervals, such as those of one table."""
        del split, columns

    def paired(self, ours: Sequence[Columns], base: Sequence[Columns], resamples: int) -> Figures:
        """An encoding against the grid's base encoding: columns (with split prefixes) of all seeds of both.

        Entries with `estimate`, `low` and `high` are shown on the page of a comparison.
        """
        raise ConfigError(f"{type(self).__name__} has no comparison with a base encoding")


def finite(value: Any) -> Any:
    """Nested figures with None for what JSON has no number for."""
    if isinstance(value, Mapping):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def alike(one: Any, other: Any, tolerance: float = 1e-9) -> bool:
    """Whether all nested figures of one are among the other's, but for rounding."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() <= other.keys() and all(alike(one[key], other[key], tolerance) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(alike(a, b, tolerance) for a, b in zip(one, other, strict=True))
    if isinstance(one, float) and isinstance(other, (int, float)):
        return math.isclose(one, other, rel_tol=tolerance, abs_tol=1e-12)
    return one == other
