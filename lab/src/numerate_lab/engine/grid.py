"""The neutral bench: every encoding with its best learning rate, the same texts in the same order, one budget.

First every encoding tries every learning rate on a part of the budget; the one that does best on dev texts is its own.
Then it is trained with as many seeds as are wanted on the whole budget. Each training is a cell with files of its own,
so a comparison that was stopped goes on, and one can be widened.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from numerate.config import Config, ConfigError
from numerate.metrics.significance import mean_interval
from numerate.training.results import is_there, read_figures
from numerate_lab.engine.encodings import encoding_of
from numerate_lab.engine.pool import run_jobs
from numerate_lab.engine.trial import CellConfig, Prepared, run_cell

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["CompareConfig", "best_rate", "compare", "folder_of", "mean_and_spread", "read_cells", "whole_tries"]

CHOSEN_BY = "log_smape"
"""What learning rates are chosen by on dev texts: the share of right leading digits, which all encodings have."""


@dataclass(frozen=True, kw_only=True)
class CompareConfig(Config):
    """What is compared.

    Attributes:
        encodings: Names, see `numerate_lab.engine.encodings`.
        rates: Learning rates that each may choose from.
        rate_share: Share of the budget that a try of a learning rate gets.
        seeds: Trainings of each encoding.
        cell: What all cells have in common.
    """

    kind: ClassVar[str] = "compare"
    encodings: tuple[str, ...] = ("p10", "xval", "fourier", "bits", "digits")
    rates: tuple[float, ...] = (3e-4, 1e-3, 3e-3)
    rate_share: float = 0.25
    seeds: int = 3
    cell: CellConfig = field(default_factory=CellConfig)

    def __post_init__(self) -> None:
        if not self.encodings or not self.rates or self.seeds < 1:
            raise ConfigError(f"nothing to compare: {self.encodings=}, {self.rates=}, {self.seeds=}")
        if not 0 < self.rate_share <= 1:
            raise ConfigError(f"rate_share must lie in (0, 1], got {self.rate_share}")
        for name in self.encodings:
            encoding_of(name)

    def tries(self) -> list[CellConfig]:
        """The cells that learning rates are chosen by; none if there is no choice."""
        if len(self.rates) == 1:
            return []
        amount = self.cell.amount * self.rate_share
        # A try of the whole budget is a final one.
        less: dict[str, Any] = {"looks": 0, "splits": ()} if self.rate_share < 1 else {}
        return [
            dataclasses.replace(self.cell, encoding=name, rate=rate, seed=0, amount=amount, **less)
            for name in self.encodings
            for rate in self.rates
        ]

    def finals(self, rates: dict[str, float]) -> list[CellConfig]:
        """The cells that are compared."""
        return [
            dataclasses.replace(self.cell, encoding=name, rate=rates[name], seed=seed)
            for seed in range(self.seeds)
            for name in self.encodings
        ]


def folder_of(output: str | Path, config: CompareConfig) -> Path:
    """Where the cells of a comparison's task are."""
    return Path(output) / re.sub(r"[^A-Za-z0-9.-]+", "_", Path(config.cell.task).name)


def compare(
    config: CompareConfig, output: str | Path, *, processes: int = 1, say: Callable[[str], None] = print
) -> dict[str, float]:
    """Trains all cells that have no result yet in the output folder.

    Args:
        config: What is compared.
        output: Cells are written into a folder below it that has the task's name.
        processes: So many trainings at a time: a small model leaves most of an accelerator idle.
        say: Prints a line.

    Returns:
        The learning rate that each encoding chose.

    Raises:
        OtherSettingsError: There is a result of another comparison in the same folder.
        ConfigError: Equal time, and several processes: how long a step takes would be a matter of the others.
    """
    if config.cell.budget == "seconds" and processes > 1:
        raise ConfigError(f"equal time is measured by one training at a time, got {processes} processes")
    folder = folder_of(output, config)
    there = sum(is_there(folder / f"{cell.name}.json", cell.to_dict()) for cell in config.tries())
    if there:
        say(f"{there} of {len(config.tries())} tries are there already")
    jobs = {name: functools.partial(_of_encoding, config, name, folder) for name in config.encodings}
    run_jobs(jobs, processes, say, "encodings")
    return {name: best_rate(config, folder, name) for name in config.encodings}


def best_rate(config: CompareConfig, folder: str | Path, encoding: str) -> float:
    """The learning rate whose try did best on dev texts; the smallest of those that did equally well.

    Where several rates have been trained on the whole budget, these are the tries: one of a part may tell nothing yet.
    """
    tries = whole_tries(config, folder, encoding) or [cell for cell in config.tries() if cell.encoding == encoding]
    if not tries:
        return config.rates[0]

    def score(cell: CellConfig) -> float:
        value = read_figures(Path(folder) / f"{cell.name}.json")["dev"][CHOSEN_BY]["value"]
        return -math.inf if value is None else value

    return max(sorted(tries, key=lambda cell: cell.rate), key=score).rate


def whole_tries(config: CompareConfig, folder: str | Path, encoding: str) -> list[CellConfig]:
    """The cells of seed 0 that were trained on the whole budget, if they are of two rates at least."""
    tries = [cell for cell in config.tries() if cell.encoding == encoding]
    whole = [dataclasses.replace(cell, amount=config.cell.amount) for cell in tries]
    there = [cell for cell in whole if (Path(folder) / f"{cell.name}.json").is_file()]
    return there if len(there) > 1 else []


def read_cells(config: CompareConfig, folder: str | Path, rates: dict[str, float]) -> dict[str, list[dict[str, Any]]]:
    """The figures of each encoding's cells that are there, by name."""
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in config.encodings}
    for cell in config.finals(rates):
        if (Path(folder) / f"{cell.name}.json").is_file():
            found[cell.encoding].append(read_figures(Path(folder) / f"{cell.name}.json") | {"cell": cell})
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


def _of_encoding(config: CompareConfig, name: str, folder: Path, say: Callable[[str], None]) -> None:
    """All cells of one encoding, one after the other, on texts that are encoded once."""
    prepared: Prepared | None = None
    for choose in (False, True):
        rates = {name: best_rate(config, folder, name)} if choose else {}
        alone = dataclasses.replace(config, encodings=(name,))
        for cell in alone.finals(rates) if choose else alone.tries():
            if not is_there(folder / f"{cell.name}.json", cell.to_dict()):
                prepared = prepared or Prepared(cell)
                say(_told(cell, run_cell(cell, folder, prepared, say)))


def _told(cell: CellConfig, figures: dict[str, Any]) -> str:
    test, trained = figures["test"], figures["training"]
    shown = [
        f"{name} {test[name]['value']:.6g}"
        for name in ("exact_match", "r2", CHOSEN_BY)
        if test[name]["value"] is not None
    ]
    return f"{cell.name}: {', '.join(shown)} ({trained['steps']} steps, {trained['seconds']:.0f} s)"
