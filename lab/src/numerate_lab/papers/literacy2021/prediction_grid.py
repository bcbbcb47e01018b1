"""The grid of masked words and masked numbers: every encoder with its best learning rate, several seeds, resumable.

As in `engine.grid`: each encoder tries every rate for a part of the epochs, takes the one that does best on
dev, and is trained with all seeds. A process does one encoder, so that its texts are encoded once.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from numerate.config import Config, ConfigError
from numerate.files import content_hash
from numerate.training.results import differences, is_there, write
from numerate_lab.engine.pool import run_jobs
from numerate_lab.tasks.masked_prediction.prediction_setup import PLAIN, LiteracyConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "BASE",
    "GROUPS",
    "LiteracyGrid",
    "best_on_dev",
    "best_rate",
    "comparison",
    "finals_of",
    "kept",
    "not_kept",
    "recompute",
    "run_grids",
]

BASE = "default"
"""What all encoders are held against."""
GROUPS = ("all", "unit", "whole", "other", "next", "near", "moves")
"""The groups of words that are compared."""
_PATHS = ("source", "model", "plain", "output", "save")


@dataclass(frozen=True, kw_only=True)
class LiteracyGrid(Config):
    """Encoders on one set of sentences and one model.

    Attributes:
        encoders: By name, what of the cell's config differs; see `runs/literacy.yaml`.
        rates: Learning rates that each may choose from: of all that is trained, or, where all weights are, of the
            encoder below our parts.
        rate_share: Share of the epochs that a try of a rate gets.
        dev: Sentences that rates are chosen by.
        chosen_by: The group of words there whose nats count.
        seeds: Trainings of each encoder.
        resamples: Of the bootstraps.
        name: Of its folder.
        setting: Corpus, model and what is trained; a table's file is named after it, and has all grids that share it.
        save: Keep the model of each encoder's first seed, in `models/<encoder>` there.
        cell: What all cells have in common.
    """

    kind: ClassVar[str] = "literacy-grid"
    encoders: dict[str, dict[str, Any]]
    rates: tuple[float, ...] = (3e-4, 1e-3, 3e-3)
    rate_share: float = 0.25
    dev: int = 1500
    chosen_by: str = "all"
    seeds: int = 3
    resamples: int = 10_000
    name: str = "literacy"
    setting: str = ""
    save: bool = False
    cell: LiteracyConfig

    def __post_init__(self) -> None:
        if not self.encoders or not self.rates:
            raise ConfigError(f"nothing to compare: encoders {list(self.encoders)}, rates {self.rates}")
        if self.seeds < 1:
            raise ConfigError(f"seeds must be 1 or more, got {self.seeds}")
        if not 0 < self.rate_share <= 1:
            raise ConfigError(f"rate_share must lie in (0, 1], got {self.rate_share}")
        for name in self.encoders:
            cell = self._cell(name, min(self.rates))
            if (cell.predict == "words") != (self.cell.predict == "words"):
                raise ConfigError(f"encoder {name!r} predicts {cell.predict}, the others {self.cell.predict}")
            if len(self.rates) > 1 and self._tried(cell) >= cell.epochs:
                raise ConfigError(
                    f"a try of a rate is as long as all of {cell.epochs} epochs: give one rate, more epochs, or a "
                    f"smaller rate_share than {self.rate_share}"
                )

    def tries(self, encoder: str) -> list[LiteracyConfig]:
        """The cells that an encoder's rate is chosen by; none if there is no choice."""
        if len(self.rates) == 1:
            return []
        epochs = self._tried(self._cell(encoder, min(self.rates)))
        dev = self.dev if self.cell.most_eval is None else min(self.dev, self.cell.most_eval)
        plan: dict[str, Any] = {"epochs": epochs, "splits": ("dev",), "most_eval": dev}
        plan |= {"plain": None, "shift": None, "output": None}
        return [dataclasses.replace(self._cell(encoder, rate), **plan) for rate in self.rates]

    def finals(self, encoder: str, rate: float) -> list[LiteracyConfig]:
        """The cells that are compared, one for each seed."""
        # Which words move with the number is asked of the base alone: the same words for all.
        plan: dict[str, Any] = {"splits": ("test",)} | ({} if encoder == BASE else {"shift": None})
        cell = dataclasses.replace(self._cell(encoder, rate), **plan)
        return [dataclasses.replace(cell, seed=seed) for seed in range(self.seeds)]

    def _tried(self, cell: LiteracyConfig) -> int:
        return max(1, round(self.rate_share * cell.epochs))

    def _cell(self, encoder: str, rate: float) -> LiteracyConfig:
        try:
            cell = dataclasses.replace(self.cell, **self.encoders[encoder])
        except (TypeError, ConfigError) as error:
            raise ConfigError(f"encoder {encoder!r}: {error}") from None
        which = {"rate": rate} if cell.train == "head" else {"backbone_rate": rate}
        return dataclasses.replace(cell, **which)


def run_grids(
    grids: Sequence[LiteracyGrid], output: str | Path, *, processes: int = 1, say: Callable[[str], None] = print
) -> None:
    """Trains all cells of some grids that have no result yet, and compares each encoder with `default`.

    Args:
        grids: All their encoders share the processes.
        output: `<name of the grid>/<cell>.json` is written below it, and what was predicted in `predictions/` there.
        processes: So many encoders at a time.
        say: Prints a line.

    Raises:
        RuntimeError: Some encoders failed in processes of their own; the others are trained and compared.
    """
    jobs, later = {}, {}
    for grid in grids:
        for encoder in grid.encoders:
            folder = Path(output) / grid.name
            jobs[f"{grid.name}, {encoder}"] = functools.partial(_of_encoder, grid, encoder, folder)
            if grid.cell.predict == "words" and BASE in grid.encoders and encoder != BASE:
                later[f"{grid.name}, {encoder}"] = functools.partial(_against_base, grid, encoder, folder)
    try:
        run_jobs(jobs, processes, say, "encoders")
    finally:  # what was trained is compared, whatever became of the others
        run_jobs(later, processes, say, "comparisons")


def best_rate(grid: LiteracyGrid, encoder: str, folder: Path) -> float:
    """The rate whose try did best on dev, by nats of words or log-MAE of numbers; the smallest of equals."""
    tries = dict(zip(grid.rates, grid.tries(encoder), strict=False))
    if not tries:
        return grid.rates[0]

    return min(sorted(tries), key=lambda rate: _on_dev(folder, encoder, tries[rate], grid.chosen_by))


def best_on_dev(grid: LiteracyGrid, output: str | Path, group: str = "unit", apart: Sequence[str] = (BASE,)) -> str:
    """The encoder whose try of its rate did best on dev, by nats of some words or log-MAE; what test says is not asked.

    Args:
        grid: Its encoders.
        output: The folder of the grids.
        group: Of words.
        apart: Encoders that are not meant.

    Returns:
        Its name; empty where nothing was tried.
    """
    folder, found = Path(output) / grid.name, {}
    for encoder in grid.encoders:
        tries = {} if encoder in apart else dict(zip(grid.rates, grid.tries(encoder), strict=False))
        if tries and all(_file(folder, encoder, cell).is_file() for cell in tries.values()):
            chosen = tries[best_rate(grid, encoder, folder)]
            found[encoder] = _on_dev(folder, encoder, chosen, group)
    return min(found, key=found.__getitem__, default="")


def _on_dev(folder: Path, encoder: str, cell: LiteracyConfig, group: str) -> float:
    """How a try did on dev; less is better."""
    dev = _read(folder, encoder, cell)["results"]["dev"]
    value = dev[group]["nats"] if cell.predict == "words" else dev["model"]["log_mae"]
    # Who guesses 0 is not measured there, and shall not be chosen for it.
    unsaid = cell.predict != "words" and dev["model"].get("log_mae_left_out", 0)
    return math.inf if value is None or unsaid else value


def finals_of(grid: LiteracyGrid, encoder: str, output: str | Path) -> list[dict[str, Any]]:
    """What `run_cell` gave for each seed that is there, as `compare_cells` takes it."""
    folder = Path(output) / grid.name
    if not all(_file(folder, encoder, cell).is_file() for cell in grid.tries(encoder)):
        return []
    cells = grid.finals(encoder, best_rate(grid, encoder, folder))
    return [_read(folder, encoder, cell) for cell in cells if _file(folder, encoder, cell).is_file()]


def comparison(grid: LiteracyGrid, encoder: str, output: str | Path) -> dict[str, Any]:
    """What is known of an encoder against `default`, by group of words and `plain`; see `compare_cells`."""
    file = Path(output) / grid.name / f"{encoder}-against-{BASE}.json"
    return json.loads(file.read_text(encoding="utf-8"))["figures"] if file.is_file() else {}


def recompute(grid: LiteracyGrid, output: str | Path) -> dict[str, bool | None]:
    """Whether the figures of each cell and comparison come out again from the predictions beside them, by name.

    None where predictions were not kept: those of a repository may be too many.
    """
    import numpy as np

    from numerate_lab.tasks.masked_prediction.prediction_trial import figures_of

    found: dict[str, bool | None] = {}
    folder = Path(output) / grid.name
    for encoder in grid.encoders:
        for cell in finals_of(grid, encoder, output):
            config, same = LiteracyConfig.from_dict(cell["config"]), True
            if not kept([cell]):
                found[cell["name"]] = None
                continue
            for split, path in cell["predictions"].items():
                with np.load(path, allow_pickle=False) as file:
                    same &= _alike(figures_of(config, split, dict(file)), cell["results"][split])
            found[cell["name"]] = same
        if known := comparison(grid, encoder, output):
            both = [cell for name in (encoder, BASE) for cell in finals_of(grid, name, output)]
            again = _alike(_compared(grid, encoder, folder), known) if kept(both) else None
            found[f"{encoder}-against-{BASE}"] = again
    return found


def kept(cells: Sequence[dict[str, Any]]) -> bool:
    """Whether what cells (of `finals_of`) predicted is still there: a repository may not keep all of it."""
    return all(Path(path).is_file() for cell in cells for path in cell["predictions"].values())


def not_kept(cell: dict[str, Any]) -> str:
    """What to say of a cell without its predictions."""
    return f"{cell['name']}: what it predicted was not kept; delete {cell['name']}.json to have it trained anew"


def _alike(one: Any, other: Any) -> bool:
    """Whether figures are the same but for the last digits, in which machines differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_alike(one[key], other[key]) for key in one)
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    return one == other


def _of_encoder(grid: LiteracyGrid, encoder: str, folder: Path, say: Callable[[str], None]) -> None:
    """All cells of one encoder, one after the other, on texts that are encoded once."""
    for cell in grid.tries(encoder):
        _run(folder, encoder, cell, say)
    for cell in grid.finals(encoder, best_rate(grid, encoder, folder)):
        keep = folder / "models" / encoder if grid.save and cell.seed == 0 else None
        _run(folder, encoder, cell, say, keep)


def _run(
    folder: Path, encoder: str, cell: LiteracyConfig, say: Callable[[str], None], keep: Path | None = None
) -> None:
    from numerate_lab.tasks.masked_prediction.prediction_trial import run_cell

    file = _file(folder, encoder, cell)
    if is_there(file, cell.to_dict() | _contents(cell), apart=_PATHS) and (keep is None or keep.is_dir()):
        return
    predictions = str(folder / "predictions") if "test" in cell.splits else None
    found = run_cell(dataclasses.replace(cell, output=predictions, save=None if keep is None else str(keep)))
    found = {key: value for key, value in found.items() if key != "config"}
    # A folder of results may be moved: what was predicted is looked for below it.
    found["predictions"] = {split: Path(path).name for split, path in found["predictions"].items()}
    write(file, config=_told(cell) | _contents(cell) | {"encoder": encoder}, figures=found)
    split = cell.splits[0]
    group, key = ("all", "nats") if cell.predict == "words" else ("model", "log_mae")
    value = found["results"][split][group][key]
    shown = "none" if value is None else f"{value:.4f}"
    say(f"{folder.name}, {file.stem}: {split} {key} {shown} ({sum(found['seconds'].values()):.0f} s)")


def _contents(cell: LiteracyConfig) -> dict[str, Any]:
    """What model and data hold: another model may have the same folder's name. A Hub name tells that by itself."""
    places = {"model": cell.model, "source": cell.source, "plain": cell.plain}
    known = {key: content_hash(place) for key, place in places.items() if place is not None}
    return {"contents": {key: value for key, value in known.items() if value is not None}}


def _told(cell: LiteracyConfig) -> dict[str, Any]:
    """A cell's settings, of files and folders their names: where they lie on a machine makes no other result."""
    found = cell.to_dict()
    places = {key: Path(found[key]).name for key in _PATHS if found[key] is not None and Path(found[key]).exists()}
    return found | places


def _against_base(grid: LiteracyGrid, encoder: str, folder: Path, say: Callable[[str], None]) -> None:
    """Compares an encoder with the base on all seeds, and writes it down."""
    one, other = (finals_of(grid, name, folder.parent) for name in (encoder, BASE))
    if not one or not other:
        return
    config: dict[str, Any] = {"one": [cell["name"] for cell in one], "other": [cell["name"] for cell in other]}
    # One that was trained anew has its old name.
    nats = [[cell["results"]["test"]["all"]["nats"] for cell in cells] for cells in (one, other)]
    config |= {"resamples": grid.resamples, "nats": nats}
    file = folder / f"{encoder}-against-{BASE}.json"
    if file.is_file() and differences(file, config) is None:
        return
    found = _compared(grid, encoder, folder)
    write(file, config=config, figures=found)
    change = found["unit"]["nats_change"]["estimate"]
    shown = "none" if change is None else f"{100 * change:+.2f} %"
    say(f"{folder.name}, {encoder}: unit words {shown} against {BASE}")


def _compared(grid: LiteracyGrid, encoder: str, folder: Path) -> dict[str, Any]:
    """An encoder against the base by group of words, and on texts without numbers."""
    from numerate_lab.tasks.masked_prediction.prediction_trial import compare_cells

    one, other = (finals_of(grid, name, folder.parent) for name in (encoder, BASE))
    for cell in (cell for cell in (*one, *other) if not kept([cell])):
        raise ValueError(not_kept(cell))
    found: dict[str, Any] = compare_cells(one, other, groups=GROUPS, resamples=grid.resamples)
    if PLAIN in one[0]["predictions"]:
        found[PLAIN] = compare_cells(one, other, PLAIN, groups=("all",), resamples=grid.resamples)["all"]
    return _finite(found)


def _file(folder: Path, encoder: str, cell: LiteracyConfig) -> Path:
    rate = cell.rate if cell.train == "head" or cell.backbone_rate is None else cell.backbone_rate
    return folder / f"{encoder}-rate{rate:g}-seed{cell.seed}-epochs{cell.epochs}.json"


def _read(folder: Path, encoder: str, cell: LiteracyConfig) -> dict[str, Any]:
    file = _file(folder, encoder, cell)
    found = json.loads(file.read_text(encoding="utf-8"))["figures"]
    found["predictions"] = {split: str(folder / "predictions" / name) for split, name in found["predictions"].items()}
    # Where data and model lie now, and not where they lay when it was made.
    return found | {"config": cell.to_dict(), "name": file.stem}


def _finite(value: Any) -> Any:
    """Nested figures with None for what JSON has no number for."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
