"""A grid: encodings compared on one task, each with its best learning rate, on the same data and budget.

First every encoding tries every learning rate on a share of the budget; the rate that does best on dev is its own. Then
it is trained with all seeds on the whole budget. Each trial has files of its own, so an interrupted grid is resumed,
and encodings, rates or seeds can be added later.
"""

from __future__ import annotations

import contextlib
import functools
import json
import math
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from numerate.config import Config, ConfigError
from numerate.files import json_hash
from numerate.metrics.significance import mean_interval
from numerate.training.output_folder import output_folder
from numerate.training.results import Result
from numerate_lab.engine.pool import run_jobs
from numerate_lab.engine.task import Figures, Log, Task, TrialConfig, Workspace, alike, finite
from numerate_lab.engine.trial import TrialResult, read_trial, run_trial, same_figures
from numerate_lab.registry import tasks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "Grid", "against_base", "baselines_of", "best_rate", "compare_with_base", "finals", "mean_and_spread",
    "prepare_grid", "read_results", "recompute", "run_grids", "whole_tries",
]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Grid(Config):
    """What is compared.

    Attributes:
        task: A name in `numerate_lab.registry.tasks`.
        encodings: Name -> fields of the trial that the encoding sets besides `encoding`.
        variants: Name -> fields of the trial: the columns of a table, such as several budgets; rates are tried on the
            first one.
        rates: Learning rates that each encoding may choose from; none for the rate that its trial has.
        rate_share: Share of the budget that a try of a learning rate gets.
        seeds: Final trainings of each encoding and variant.
        base: The encoding that all others are compared with, example by example; None for none.
        resamples: Resamples of the bootstraps of that comparison.
        name: The folder of results, below the output folder.
        choice: Name of this choice of rates, where several grids share the trials of one folder; part of the names of
            comparisons with the base.
        save: Whether to save the model of each encoding's first seed, in `models/<encoding>` there.
        trial: The fields that all trials have in common.
    """

    kind: ClassVar[str] = "grid"
    task: str
    encodings: dict[str, dict[str, Any]]
    variants: dict[str, dict[str, Any]] = field(default_factory=lambda: {"": {}})
    rates: tuple[float, ...] = (3e-4, 1e-3, 3e-3)
    rate_share: float = 0.25
    seeds: int = 3
    base: str | None = None
    resamples: int = 10_000
    name: str = ""
    choice: str = ""
    save: bool = False
    trial: TrialConfig = field(default_factory=TrialConfig)

    def __post_init__(self) -> None:
        if not self.encodings or not self.variants:
            raise ConfigError("a grid needs at least one encoding and one variant")
        if self.seeds < 1:
            raise ConfigError(f"seeds must be at least 1, got {self.seeds}")
        if any(not rate > 0 for rate in self.rates):
            raise ConfigError(f"rates must be positive, got {self.rates}")
        if not 0 < self.rate_share <= 1:
            raise ConfigError(f"rate_share must lie in (0, 1], got {self.rate_share}")
        for name in self.encodings:
            self.tries(name)

    @property
    def task_class(self) -> type[Task]:
        """The class of the task."""
        return tasks[self.task]

    def of(self, encoding: str, variant: str | None = None) -> TrialConfig:
        """The trial of an encoding and a variant (the first one, if None), with any rate and seed."""
        fields = next(iter(self.variants.values())) if variant is None else self.variants[variant]
        try:
            return replace(self.trial, **{"encoding": encoding} | fields | self.encodings[encoding])
        except (TypeError, ConfigError) as error:
            raise ConfigError(f"encoding {encoding!r}: {error}") from None

    def tries(self, encoding: str) -> dict[float, TrialConfig]:
        """Learning rate -> the trial that tries it, the smallest rate first; empty if there is no choice."""
        if len(self.rates) < 2:
            return {}
        return {rate: self.of(encoding).tried(rate, self.rate_share) for rate in sorted(self.rates)}

    def finals(self, encoding: str, rate: float, variant: str | None = None) -> list[TrialConfig]:
        """The trials of one encoding and variant that are compared, by seed."""
        trial = self.of(encoding, variant)
        return [trial.final(rate, seed) for seed in range(self.seeds)]

    def settings(self) -> Figures:
        """The grid's settings as results keep them: see `TrialConfig.settings`; starts have names instead of paths."""
        found = self.to_dict() | {"trial": self.trial.settings()}
        for fields in found["encodings"].values():
            if "starts" in fields:
                fields["starts"] = {row: Path(folder).name for row, folder in fields["starts"].items()}
        return found


def run_grids(grids: Sequence[Grid], output: str | Path, *, processes: int = 1, log: Log = print) -> None:
    """Runs all trials that have no result yet, and compares each encoding with the grid's base.

    `<grid.name>/<trial.name>.json` and `.npz` are written below `output`, and `baselines.json`. The encodings of all
    grids share the processes: a small model leaves most of an accelerator idle.

    Raises:
        OtherSettingsError: There is a result of other settings in the same folder.
        OutputFolderError: A folder cannot be written to, or another process runs a grid there.
        RuntimeError: Some encodings failed in processes of their own; the others are done.
    """
    with contextlib.ExitStack() as folders:
        # Found writable, and held by one process at a time, before anything is trained.
        for name in dict.fromkeys(grid.name for grid in grids):
            folders.enter_context(output_folder(Path(output) / name))
        _run_held(grids, output, processes, log)


def _run_held(grids: Sequence[Grid], output: str | Path, processes: int, log: Log) -> None:
    jobs: dict[str, Any] = {}
    timings: list[Any] = []
    with tempfile.TemporaryDirectory(prefix="numerate-") as shared:
        for index, grid in enumerate(grids):
            folder, data = Path(output) / grid.name, Path(shared) / str(index)
            missing = [name for name in grid.encodings if not _is_complete(grid, Path(output), name)]
            if done := len(grid.encodings) - len(missing):
                log(f"{grid.name}: {done} of {len(grid.encodings)} encodings are done already")
            baselines = folder / "baselines.json"
            if missing or (baselines.is_file() and not _has_settings(baselines, grid.trial.settings())):
                prepare_grid(grid, folder, data, log)
            for name in missing:
                # Grids of one folder share trials, so that one process runs them one after the other.
                own = jobs.setdefault(f"{grid.name}, {name}", functools.partial(_run_encodings, [], name, Path(output)))
                own.args[0].append((grid, data))
                timed = (grid.task_class(grid.of(name, variant), Workspace(folder, data)) for variant in grid.variants)
                timings += [(grid, task.config, task.workspace) for task in timed if task.needs_timing]
        try:
            if timings:  # in one process, while nothing else runs
                run_jobs({"timings": functools.partial(_time_steps, timings)}, processes, log, "timings")
            run_jobs(jobs, processes, log, "encodings")
        finally:  # what was trained is compared, whatever became of the others
            later = {
                f"{grid.name} {grid.choice}, {name}": functools.partial(compare_with_base, grid, name, Path(output))
                for grid in grids
                for name in grid.encodings
                if grid.base in grid.encodings and name != grid.base
            }
            run_jobs(later, processes, log, "comparisons")


def best_rate(grid: Grid, output: str | Path, encoding: str) -> float:
    """The learning rate whose try did best on dev; the smallest of equals."""
    if len(grid.rates) < 2:
        return grid.rates[0] if grid.rates else grid.of(encoding).rate
    folder = Path(output) / grid.name
    tries = whole_tries(grid, output, encoding) or grid.tries(encoding)
    task = grid.task_class(grid.of(encoding))
    errors = {}
    for rate, trial in tries.items():
        result = read_trial(trial, folder)
        if result is None:
            raise FileNotFoundError(f"{folder / trial.name}.json: no such file; the try of a learning rate is missing")
        errors[rate] = task.error(result.figures)
    return min(errors, key=lambda rate: math.inf if math.isnan(errors[rate]) else errors[rate])


def whole_tries(grid: Grid, output: str | Path, encoding: str) -> dict[float, TrialConfig]:
    """Trials of seed 0 on the whole budget, if there are results of at least two learning rates.

    They choose the rate instead of the short tries where the task says so: a share of the budget may tell nothing yet.
    """
    if not grid.task_class.finals_are_tries or len(grid.rates) < 2:
        return {}
    whole = {rate: grid.of(encoding).final(rate, 0) for rate in sorted(grid.rates)}
    folder = Path(output) / grid.name
    there = {rate: trial for rate, trial in whole.items() if (folder / f"{trial.name}.json").is_file()}
    return there if len(there) > 1 else {}


def finals(grid: Grid, output: str | Path, encoding: str, variant: str | None = None) -> list[TrialResult]:
    """The results of an encoding's final trainings that are there, by seed."""
    folder = Path(output) / grid.name
    try:
        rate = best_rate(grid, output, encoding)
    except FileNotFoundError:
        return []
    found = (read_trial(trial, folder) for trial in grid.finals(encoding, rate, variant))
    return [result for result in found if result is not None]


def read_results(grid: Grid, output: str | Path, variant: str | None = None) -> dict[str, list[TrialResult]]:
    """The results of all encodings that have some, by encoding."""
    found = {name: finals(grid, output, name, variant) for name in grid.encodings}
    return {name: results for name, results in found.items() if results}


def baselines_of(grid: Grid, output: str | Path) -> Figures:
    """What `Task.baselines` found when the grid was run; empty if there are none."""
    return _figures_in(Path(output) / grid.name / "baselines.json")


def against_base(grid: Grid, output: str | Path, encoding: str) -> Figures:
    """The comparison of an encoding with the grid's base, as it was written; empty if there is none."""
    return _figures_in(Path(output) / grid.name / _comparison_name(grid, encoding))


def _comparison_name(grid: Grid, encoding: str) -> str:
    return f"{encoding}-against-{grid.base}{f'-by-{grid.choice}' if grid.choice else ''}.json"


def _figures_in(file: Path) -> Figures:
    return json.loads(file.read_text(encoding="utf-8"))["figures"] if file.is_file() else {}


def recompute(grid: Grid, output: str | Path) -> dict[str, bool | None]:
    """Whether the figures of each final trial and comparison come out again from stored predictions, by name.

    None where predictions were not kept. The grid has paths to data as they are today; `output` is the folder that
    `run_grids` wrote into, or a packed table: see `numerate_lab.engine.packed`.
    """
    if Path(output).is_file():
        from numerate_lab.engine.packed import unpack

        with tempfile.TemporaryDirectory(prefix="numerate-") as folder:
            unpack(output, folder)
            if not Path(folder, grid.name).is_dir():  # the folder of this grid alone was packed
                unpack(output, Path(folder) / grid.name)
            return recompute(grid, folder)
    found: dict[str, bool | None] = {}
    workspace = Workspace(Path(output) / grid.name)
    for name in grid.encodings:
        for variant in grid.variants:
            for result in finals(grid, output, name, variant):
                found[result.config.name] = same_figures(grid.task_class(result.config, workspace), result)
        if known := against_base(grid, output, name):
            again = _compared(grid, name, output, _compared_trials(grid, name, output))
            found[f"{name}-against-{grid.base}"] = None if again is None else alike(again, known)
    return found


def mean_and_spread(values: Sequence[float | None]) -> tuple[float, float | None]:
    """The mean over the seeds that have a value, and half of its 95 % interval; NaN if none has one.

    Example:
        >>> mean, half = mean_and_spread([0.9, 1.0, 1.1])
        >>> round(mean, 3), round(half, 3)
        (1.0, 0.248)
    """
    known = [value for value in values if value is not None]
    return mean_interval(known) if known else (math.nan, None)


def _has_settings(file: Path, settings: Figures) -> bool:
    return file.is_file() and Result.read(file).differences(settings) is None


def _is_complete(grid: Grid, output: Path, encoding: str) -> bool:
    folder = output / grid.name

    def all_exist(trials: Iterable[TrialConfig]) -> bool:
        return all([trial.exists(folder, grid.task_class.version) for trial in trials])  # noqa: C419 (each is checked)

    if not all_exist(grid.tries(encoding).values()):
        return False
    rate = best_rate(grid, output, encoding)
    models = not grid.save or (folder / "models" / encoding).is_dir()
    return models and all_exist(trial for variant in grid.variants for trial in grid.finals(encoding, rate, variant))


def prepare_grid(grid: Grid, folder: Path, data: Path, log: Log) -> None:
    """Makes the data that trials share, and measures what needs no training."""
    for variant in grid.variants:
        grid.task_class(grid.of(next(iter(grid.encodings)), variant), Workspace(folder, data)).prepare(log)
    task = grid.task_class(grid.trial, Workspace(folder, data))
    if found := task.baselines():
        Result(grid.trial.settings(), finite(found)).write(folder / "baselines.json")


def _time_steps(timings: Sequence[tuple[Grid, TrialConfig, Workspace]], log: Log) -> None:
    for grid, trial, workspace in timings:
        log(f"{grid.name}, {trial.encoding}: timing steps")
        grid.task_class(trial, workspace).time_steps()


def _run_encodings(grids: Sequence[tuple[Grid, Path]], encoding: str, output: Path, log: Log) -> None:
    for grid, data in grids:
        _run_encoding(grid, encoding, output, data, log)


def _run_encoding(grid: Grid, encoding: str, output: Path, data: Path, log: Log) -> None:
    """All trials of one encoding, one after the other."""
    folder = output / grid.name
    workspace = Workspace(folder, data)

    def run(trial: TrialConfig, final: bool, save: Path | None = None) -> None:
        if trial.exists(folder, grid.task_class.version) and (save is None or save.is_dir()):
            return
        figures = run_trial(grid.task_class(trial, workspace), folder, final=final, save=save, log=log)
        log(_line(grid, trial, figures, final))

    for trial in grid.tries(encoding).values():
        run(trial, final=grid.rate_share == 1)  # a try of the whole budget is a final training
    rate = best_rate(grid, output, encoding)
    for number, variant in enumerate(grid.variants):
        for trial in grid.finals(encoding, rate, variant):
            first = grid.save and number == 0 and trial.seed == 0
            run(trial, True, folder / "models" / encoding if first else None)


def _line(grid: Grid, trial: TrialConfig, figures: Figures, final: bool) -> str:
    """One line about a trial: its first figures, or its error on dev."""
    task, trained = grid.task_class(trial), figures["training"]
    values = {column.label: (column, column.of(figures)) for column in task.shown()} if final else {}
    shown = [f"{label} {column.factor * value:.4g}" for label, (column, value) in values.items() if value is not None]
    if not shown and "dev" in figures:
        shown = [f"dev error {task.error(figures):.4g}"]
    cost = f" ({trained['seconds']:.0f} s)" if "seconds" in trained else ""
    return f"{grid.name}, {trial.name}: {', '.join(shown[:4])}{cost}"


def compare_with_base(grid: Grid, encoding: str, output: Path, log: Log) -> None:
    """Compares an encoding with the base over all seeds, and writes the result."""
    sides = [finals(grid, output, name) for name in (encoding, grid.base or "")]
    if not all(sides):
        return
    one, other = ([result.config.name for result in results] for results in sides)
    # A trial that was trained anew has its old name, but other figures.
    figures = [[json_hash(result.figures)[:12] for result in results] for results in sides]
    config = {"one": one, "other": other, "resamples": grid.resamples, "figures": figures}
    file = output / grid.name / _comparison_name(grid, encoding)
    if _has_settings(file, config):
        return
    found = _compared(grid, encoding, output)
    if found is None:
        name = next(result.config.name for results in sides for result in results if not result.has_columns)
        raise ValueError(f"{name}: its predictions were not kept; delete {name}.json to have it trained again")
    Result(config, found).write(file)
    log(f"{grid.name}, {encoding}: compared with {grid.base}")


def _compared_trials(grid: Grid, encoding: str, output: str | Path) -> list[list[TrialResult]]:
    """The trainings that a stored comparison is of: it may have been made with other `seeds`."""
    config = Result.read(Path(output) / grid.name / _comparison_name(grid, encoding)).config
    named = [list(config.get(side, ())) for side in ("one", "other")]
    whole = replace(grid, seeds=max(grid.seeds, *map(len, named)))
    sides = [finals(whole, output, name) for name in (encoding, grid.base or "")]
    found = [[one for one in side if one.config.name in names] for side, names in zip(sides, named, strict=True)]
    return found if list(map(len, found)) == list(map(len, named)) else sides


def _compared(
    grid: Grid, encoding: str, output: str | Path, sides: Sequence[Sequence[TrialResult]] | None = None
) -> Figures | None:
    sides = sides or [finals(grid, output, name) for name in (encoding, grid.base or "")]
    if not all(result.has_columns for results in sides for result in results):
        return None
    ours, base = ([result.columns() for result in results] for results in sides)
    task = grid.task_class(sides[0][0].config, Workspace(Path(output) / grid.name))
    return finite(task.paired(ours, base, grid.resamples))
