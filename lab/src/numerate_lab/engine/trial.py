"""One trial: builds, trains, asks and scores a model, and writes the result as `<name>.json` and `<name>.npz`."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from numerate.files import write_atomically
from numerate.training.results import Result
from numerate_lab.engine.task import Columns, Figures, alike, finite

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numerate_lab.engine.task import Log, Task, TrialConfig

__all__ = [
    "TrialResult", "columns_of_split", "prediction_files", "read_columns", "read_trial", "run_trial", "same_figures",
    "write_columns",
]  # fmt: skip


@dataclass(frozen=True)
class TrialResult:
    """A trial that has been run.

    Attributes:
        config: Its settings, with paths as they are today.
        figures: As `run_trial` wrote them.
        folder: Where its files are.
    """

    config: TrialConfig
    figures: Figures
    folder: Path

    @property
    def has_columns(self) -> bool:
        """Whether its predictions are there: a repository may not keep all of them."""
        return all(file.is_file() for file in self._files().values())

    def columns(self) -> dict[str, np.ndarray]:
        """Its predictions, named `<split>_<column>`."""
        return read_columns(self._files())

    def _files(self) -> dict[str, Path]:
        return prediction_files(self.folder, self.config.name, self.figures)


def prediction_files(folder: Path, name: str, figures: Mapping[str, Any]) -> dict[str, Path]:
    """The files of a trial's predictions by split; `""` for the file that has all splits."""
    # Results of version 0.2.0 and before may have a file for each split, named in the figures.
    named = figures.get("predictions")
    if isinstance(named, dict) and not (folder / f"{name}.npz").is_file():
        return {split: folder / "predictions" / Path(file).name for split, file in named.items()}
    return {"": folder / f"{name}.npz"}


def read_columns(files: Mapping[str, Path]) -> dict[str, np.ndarray]:
    """The columns in the files of `prediction_files`, named `<split>_<column>`."""
    found = {}
    for split, file in files.items():
        with np.load(file, allow_pickle=False) as arrays:
            found |= {f"{split}_{name}" if split else name: arrays[name] for name in arrays.files}
    return found


def write_columns(file: Path, columns: Columns) -> bytes:
    """Writes columns as a compressed `.npz` file, and returns its content."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **columns)  # type: ignore[arg-type]
    write_atomically(file, buffer.getvalue())
    return buffer.getvalue()


def run_trial(
    task: Task, folder: str | Path, *, final: bool = True, save: Path | None = None, log: Log | None = None
) -> Figures:
    """Trains and measures one trial, and writes its files into the folder.

    A `final` training is measured on all splits and its predictions are kept; a try of a learning rate is measured on
    dev alone. `save` is where to save the model, if anywhere. `log` gets the figures on dev while training runs.

    Returns:
        `training` (what `Task.train` gave), `parameters`, `trained_parameters`, and the figures of each split.
    """
    config, target = task.config, Path(folder)
    for split in task.splits(final):  # a missing split is an error before training, not after it
        task.examples(split)
    model = task.build()
    trainable, whole = model.trainable_parameters()
    figures: Figures = {"training": task.train(model, log), "parameters": whole, "trained_parameters": trainable}
    kept: dict[str, np.ndarray] = {}
    for split in task.splits(final):
        columns = task.ask(model, split)
        figures |= task.score(split, columns)
        if final and split != "dev":
            kept |= {f"{split}_{name}": column for name, column in columns.items()}
    if kept:
        write_columns(target / f"{config.name}.npz", kept)
    figures = finite(figures)
    Result(config.settings() | {"task_version": task.version}, figures).write(target / f"{config.name}.json")
    if save is not None:
        model.save_pretrained(save, backbone=True)
    return figures


def read_trial(config: TrialConfig, folder: str | Path) -> TrialResult | None:
    """The result of a trial; None if it has not been run."""
    file = Path(folder) / f"{config.name}.json"
    if not file.is_file():
        return None
    return TrialResult(config, json.loads(file.read_text(encoding="utf-8"))["figures"], Path(folder))


def columns_of_split(columns: Columns, split: str) -> dict[str, np.ndarray]:
    """The columns of one split, without the split's name before theirs.

    Example:
        >>> columns_of_split({"test_gold": np.zeros(2), "plain_nll": np.zeros(3)}, "test")
        {'gold': array([0., 0.])}
    """
    return {name.removeprefix(f"{split}_"): value for name, value in columns.items() if name.startswith(f"{split}_")}


def same_figures(task: Task, result: TrialResult) -> bool | None:
    """Whether a result's figures come out again from its stored predictions; None if none were kept for any split."""
    columns = result.columns() if result.has_columns else {}
    by_split = {split: columns_of_split(columns, split) for split in task.splits(final=True)}
    again = [finite(task.score(split, own)) for split, own in by_split.items() if own]
    same = [alike(each[key], result.figures.get(key), task.tolerance) for each in again for key in each]
    return all(same) if again else None
