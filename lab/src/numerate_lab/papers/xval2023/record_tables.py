"""Tables 4 and 5 of xVal (Golkar et al. 2023): records of nature in all encodings, the paper's figures beside ours.

As in `engine.grid`: first every encoding tries every learning rate on a part of the budget, and the one that
does best on dev records is its own; then it is trained on the whole. A cell whose files are there is not trained again.
"""

from __future__ import annotations

import dataclasses
import functools
import tempfile
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch

from numerate.config import Config, ConfigError
from numerate.files import read_yaml
from numerate.registry import near_names
from numerate.training.results import differences, is_there, read_figures, write
from numerate_lab.engine.pool import run_jobs
from numerate_lab.tasks.records.record_answers import missed, scores
from numerate_lab.tasks.records.record_runs import ends_of, run_cell, speed_file, time_alone
from numerate_lab.tasks.records.record_trial import NatureCell, NatureData, nature_encoding

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "SCALES", "TABLES", "NatureTable", "baselines", "best_rate", "config_for", "folder_of", "load_nature", "paper_of",
    "read_baselines", "read_cells", "reproduce",
]  # fmt: skip


def load_nature() -> dict[str, Any]:
    """The tables' settings, as shipped."""
    text = (resources.files("numerate_lab.papers.xval2023") / "records.yaml").read_text(encoding="utf-8")
    return read_yaml(text, "records.yaml")


_ALL = load_nature()
TABLES: tuple[str, ...] = tuple(_ALL["tables"])
SCALES: tuple[str, ...] = tuple(_ALL["scales"])
_CENTRED = "centred-"
_NO_SPEED = ("amount", "rate", "seed", "looks", "dev", "test")
"""Settings that make no step faster."""


@dataclass(frozen=True, kw_only=True)
class NatureTable(Config):
    """What a table is made of.

    Attributes:
        encodings: Names, see `numerate_lab.tasks.records.record_trial.nature_encoding`.
        rates: Learning rates that each may choose from.
        rate_share: Share of the budget that a try of a learning rate gets.
        seeds: Trainings of each encoding and budget.
        budgets: `samples`, `tokens` or `seconds`, and how much; with `centred-` before it, of centred records.
        cell: What all cells have in common.
    """

    kind: ClassVar[str] = "nature-table"
    encodings: tuple[str, ...] = ("xval+scalar",)
    rates: tuple[float, ...] = (3e-4, 1e-3, 3e-3)
    rate_share: float = 0.1
    seeds: int = 1
    budgets: dict[str, float] = field(default_factory=lambda: {"samples": 1000.0})
    cell: NatureCell = field(default_factory=NatureCell)

    def __post_init__(self) -> None:
        if not self.encodings or not self.rates or self.seeds < 1 or not self.budgets:
            raise ConfigError(f"no table: {self.encodings=}, {self.rates=}, {self.seeds=}, {self.budgets=}")
        if not 0 < self.rate_share <= 1:
            raise ConfigError(f"rate_share must lie in (0, 1], got {self.rate_share}")
        known = [centred + kind for centred in ("", _CENTRED) for kind in ("samples", "tokens", "seconds")]
        if unknown := [name for name in self.budgets if name not in known]:
            raise ConfigError(f"unknown budget {unknown[0]!r}: {near_names(unknown[0], known)}")
        for name in self.encodings:
            nature_encoding(name)

    def tries(self, encoding: str) -> list[NatureCell]:
        """The cells that an encoding's learning rate is chosen by; none if there is no choice."""
        if len(self.rates) == 1:
            return []
        first, amount = next(iter(self.budgets.items()))
        cell = self._cell(encoding, first, amount * self.rate_share)
        return [dataclasses.replace(cell, rate=rate, looks=0) for rate in self.rates]

    def timed(self, encoding: str) -> list[NatureCell]:
        """A cell for each budget of time, whose steps are timed before any is trained."""
        budgets = {name: amount for name, amount in self.budgets.items() if name.endswith("seconds")}
        return [self._cell(encoding, name, amount) for name, amount in budgets.items()]

    def finals(self, encoding: str, rate: float) -> dict[str, list[NatureCell]]:
        """The cells of an encoding's row, by budget."""
        return {
            name: [
                dataclasses.replace(self._cell(encoding, name, amount), rate=rate, seed=seed)
                for seed in range(self.seeds)
            ]
            for name, amount in self.budgets.items()
        }

    def _cell(self, encoding: str, budget: str, amount: float) -> NatureCell:
        kind: Any = budget.removeprefix(_CENTRED)
        return dataclasses.replace(
            self.cell, encoding=encoding, budget=kind, amount=float(amount), centred=kind != budget, seed=0
        )


def config_for(
    table: str, scale: str = "small", encodings: Sequence[str] = (), seeds: int | None = None, source: str | None = None
) -> NatureTable:
    """The settings of a table.

    Args:
        table: One of `TABLES`.
        scale: One of `SCALES`.
        encodings: Instead of the table's, or all.
        seeds: Instead of the scale's.
        source: Of temperatures, a file; without, they are made up.

    Example:
        >>> config_for("xval-table5", "paper").cell.width
        768
    """
    for what, given, known in (("table", table, TABLES), ("scale", scale, SCALES)):
        if given not in known:
            raise ValueError(f"unknown {what} {given!r}: {near_names(given, list(known))}")
    settings = _ALL["tables"][table]
    task = settings["task"]
    if source is not None and task != "temperature":
        raise ValueError(f"{table} makes its records itself, and takes no data: {source!r}")
    size, own = _ALL["scales"][scale]["all"], _ALL["scales"][scale][table]
    options = own["cell"].get("task_options", {}) | ({"source": source} if source is not None else {})
    cell = NatureCell.from_dict({"task": task} | size["cell"] | own["cell"] | {"task_options": options})
    return NatureTable(
        encodings=tuple(encodings or settings.get("encodings", _ALL["encodings"])), rates=tuple(size["rates"]),
        seeds=size["seeds"] if seeds is None else seeds, cell=cell, rate_share=own.get("rate_share", 0.1),
        budgets={name: float(amount) for name, amount in own["budgets"].items()},
    )  # fmt: skip


def paper_of(table: str) -> tuple[dict[str, str], dict[str, dict[str, float]]]:
    """A table's columns by what they are called in cells' figures, and the paper's figures by encoding and column."""
    settings = _ALL["tables"][table]
    labels, found = dict(settings["columns"]), {}
    for name, row in settings["paper"].items():
        cells = row if isinstance(row, dict) else dict(zip(labels, row, strict=True))
        found[name] = {labels[key]: value for key, value in cells.items()}
    return labels, found


def paper_hours(table: str) -> dict[str, float]:
    """The hours that the paper's trainings took, where it tells them."""
    return dict(_ALL["tables"][table].get("hours", {}))


def folder_of(output: str | Path, config: NatureTable) -> Path:
    """Where a table's cells are."""
    source = Path(config.cell.task_options.get("source", "synthetic")).stem
    return Path(output) / (config.cell.task if config.cell.task == "planets" else f"temperature-{source}")


def reproduce(
    config: NatureTable, output: str | Path, *, processes: int = 1, say: Callable[[str], None] = print
) -> dict[str, float]:
    """Trains all cells that have no result yet in the output folder.

    Args:
        config: The table.
        output: Cells are written into a folder below it.
        processes: So many encodings at a time: a small model leaves most of an accelerator idle.
        say: Prints a line.

    Returns:
        The learning rate that each encoding chose.

    Raises:
        ValueError: There is a result of other settings.
    """
    folder = folder_of(output, config)
    baseline = folder / "baselines.json"
    with tempfile.TemporaryDirectory(prefix="numerate-") as data:
        missing = [name for name in config.encodings if not _is_done(config, folder, name)]
        if missing or not baseline.is_file() or differences(baseline, config.cell.told()):
            _prepare(config, folder, data, say)
        jobs = {name: functools.partial(_row, config, name, folder, data) for name in missing}
        cells = [cell for name in missing for cell in config.timed(name)]
        untimed = [cell for cell in cells if not is_there(speed_file(cell, folder), cell.told(), apart=_NO_SPEED)]
        if untimed:  # in one process, which gives the accelerator back when it ends
            run_jobs({"speeds": functools.partial(_time, untimed, folder, data)}, processes, say, "timings")
        if missing:
            run_jobs(jobs, processes, say, "encodings")
    return {name: best_rate(config, folder, name) for name in config.encodings}


def best_rate(config: NatureTable, folder: str | Path, encoding: str) -> float:
    """The learning rate whose try did best on dev records; the smallest of those that did equally well."""
    tries = sorted(config.tries(encoding), key=lambda cell: cell.rate)
    if not tries:
        return config.rates[0]
    return min(tries, key=lambda cell: missed(read_figures(Path(folder) / f"{cell.name}.json")["dev"])).rate


def read_cells(config: NatureTable, folder: str | Path, rates: dict[str, float]) -> dict[str, dict[str, list[Any]]]:
    """The figures of the cells that are there, by encoding and budget."""
    return {
        name: {
            budget: [
                read_figures(Path(folder) / f"{cell.name}.json") | {"cell": cell}
                for cell in cells
                if (Path(folder) / f"{cell.name}.json").is_file()
            ]
            for budget, cells in config.finals(name, rates[name]).items()
        }
        for name in config.encodings
    }


def read_baselines(folder: str | Path) -> dict[str, Any]:
    """What `baselines` found when the cells were trained."""
    return read_figures(Path(folder) / "baselines.json")


def baselines(data: NatureData) -> dict[str, dict[str, Any]]:
    """The figures of what needs no learning, by name and then as in cells: the mean, or those of the task."""
    found: dict[str, dict[str, Any]] = {}
    if data.cell.task == "temperature":
        task: Any = data.task
        truth, gold = task.truth("test", data.cell.test), data.records("test").gold("last")
        for name, guess in task.baselines("test", data.cell.test).items():
            figures = scores(torch.from_numpy(guess), torch.from_numpy(gold))
            figures["interval"] = ends_of(task.interval(guess, truth))
            figures["mse_kelvin"] = {"value": figures["mse"]["value"] * task.kelvin**2}
            found[name] = {"test last": figures}
        return found
    training = data.records("train")
    found["mean"] = {}
    for split, asks in data.cell.splits.items():
        records = data.records(split)
        for ask in asks:
            gold = torch.from_numpy(records.gold(ask))
            mean = torch.full_like(gold, float(np.mean(training.gold(ask))))
            found["mean"][f"{split} {ask}"] = scores(mean, gold)
    return found


def _prepare(config: NatureTable, folder: Path, data: str, say: Callable[[str], None]) -> None:
    """Makes all records and measures what needs no learning."""
    import time

    start = time.perf_counter()
    source = NatureData(config.cell, data)
    source.prepare()
    if any(name.startswith(_CENTRED) for name in config.budgets):
        NatureData(dataclasses.replace(config.cell, centred=True), data).prepare()
    say(f"{config.cell.examples:,} training records were made in {time.perf_counter() - start:.1f} s")
    write(folder / "baselines.json", config=config.cell.told(), figures=baselines(source))


def _time(cells: Sequence[NatureCell], folder: Path, data: str, say: Callable[[str], None]) -> None:
    """Times the steps of some cells, one after the other."""
    for cell in cells:
        say(f"{cell.encoding}: {1000 * time_alone(cell, folder, data):.2f} ms a step, alone")
        torch.compiler.reset()  # what was compiled for one encoding's lengths is not for another's


def _is_done(config: NatureTable, folder: Path, name: str) -> bool:
    if not all(_is_there(folder, cell) for cell in config.tries(name)):
        return False
    finals = config.finals(name, best_rate(config, folder, name))
    return all(_is_there(folder, cell) for cells in finals.values() for cell in cells)


def _is_there(folder: Path, cell: NatureCell) -> bool:
    """Whether a cell has been trained; one of other settings is an error."""
    return is_there(folder / f"{cell.name}.json", cell.told())


def _row(config: NatureTable, name: str, folder: Path, data: str, say: Callable[[str], None]) -> None:
    """All cells of one encoding that are not there yet."""
    for choose in (False, True):
        finals = config.finals(name, best_rate(config, folder, name)) if choose else {"": config.tries(name)}
        for cell in (cell for cells in finals.values() for cell in cells):
            if not _is_there(folder, cell):
                say(_told(cell, run_cell(cell, folder, data, test=choose)))


def _told(cell: NatureCell, figures: dict[str, Any]) -> str:
    found = {f"dev {ask}": one for ask, one in figures["dev"].items()}
    keys = [f"{split} {ask}" for split, asks in cell.splits.items() for ask in asks]
    found = {key: figures[key] for key in keys if key in figures} or found
    values = {key: one["mse"]["value"] for key, one in found.items()}
    shown = [f"{key} {'none' if value is None else f'{value:.3g}'}" for key, value in values.items()]
    trained = figures["training"]
    speed = f"{trained['steps']} steps, {trained['seconds']:.0f} s, encoded {trained['encoded_a_second']:,} records/s"
    return f"{cell.name}: mse {', '.join(shown)} ({speed})"
