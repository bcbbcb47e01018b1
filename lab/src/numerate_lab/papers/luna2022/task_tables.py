"""Tables 3, 4 and 5 of LUNA: questions over reports, facts over tables and card fraud, one grid for each task."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from numerate.config import ConfigError
from numerate.files import write_atomically
from numerate.registry import near_names
from numerate.report.tables import Cell
from numerate.report.tables import table as report_table
from numerate_lab.engine.grid import Grid, baselines_of, compare_with_base, read_results
from numerate_lab.engine.page import base_table, figure_cell, write_comparison
from numerate_lab.engine.paper_tables import Paper, check_name, load_yaml, paper
from numerate_lab.registry import tasks
from numerate_lab.tasks.finetuning.starting_points import start_misfit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numerate.report.tables import Table
    from numerate_lab.engine.paper_tables import Options
    from numerate_lab.engine.trial import TrialResult

    Results = Mapping[str, Sequence[TrialResult]]

__all__ = ["TaskTables", "data_fields", "grid_of_rows"]

_PLANS = load_yaml("numerate_lab.papers.luna2022")
for _plan in _PLANS["grids"].values():
    if "product" in _plan:
        _plan["rows"] += [one + other for one in _plan["product"]["before"] for other in _plan["product"]["behind"]]
_NAMES = ("tatqa_dataset_{}.json", "{}.json", "{}.json.gz")
"""Files of TAT-QA by split: the official names, and short ones."""
_FORM = ".2f"
"""As many decimals as the paper has."""


@paper("luna-table3", "luna-table4", "luna-table5", "luna-grid")
class TaskTables(Paper):
    """Tables 3 (TAT-QA and TabFact), 4 (card transactions), 5 (TAT-QA by answer type), and the whole grid of 3 and 4.

    `--corpus` chooses among a table's grids and `--encoder` among their rows, or names other encodings of the task.
    Rows such as `luna@pretrained` need `--start pretrained=FOLDER`, or `--start luna@pretrained=FOLDER` for one row
    alone, and are left out without a start that has their notation and embedder. Tables of one task share trainings.
    """

    takes: ClassVar[tuple[str, ...]] = ("starts", "settings")

    def grids(self, table: str, options: Options) -> list[Grid]:
        """One grid for each task or split."""
        known: list[str] = _PLANS["tables"][table]["grids"]
        chosen = options.corpora or known
        for name in chosen:
            check_name("grid", name, known)
        asked = {name: _asked(table, name, options.encoders) for name in chosen}
        # Rows of earlier commands are shown, too, so their starts may be given with other rows.
        _check_starts(options.starts, {row for name in chosen for row in (*asked[name], *_asked(table, name, ()))})
        made = []
        for name, rows in asked.items():
            if not rows:
                options.log(f"{table}: {name} is left out, it has none of the rows {', '.join(options.encoders)}")
                continue
            made.append(grid_of_rows(table, name, rows, options, strict=bool(options.encoders)))
            if missing := [row for row in rows if row not in made[-1].encodings]:
                options.log(f"{table}, {name}: left out are {', '.join(missing)}: give --start ROW=FOLDER")
        return made

    def write(self, table: str, grids: Sequence[Grid], options: Options) -> list[Path]:
        """`<table>-<grid>.md` with the paper's figures beside ours, and the page of each comparison.

        All rows are shown that have results in the folder, also those of earlier commands with other `--encoder` or
        `--seeds`.
        """
        written: list[Path] = []
        for grid in grids:
            name = next(one for one in _PLANS["tables"][table]["grids"] if _folder(one) == grid.name)
            every = grid_of_rows(table, name, _asked(table, name, ()), options)
            most = max(grid.seeds, every.seeds, _PLANS["grids"][name]["scales"][options.scale]["seeds"])
            whole = dataclasses.replace(grid, encodings=every.encodings | grid.encodings, seeds=most)
            results = read_results(whole, options.output)
            if not results:
                continue
            for row in results:
                if whole.base in results and row != whole.base:
                    compare_with_base(whole, row, Path(options.output), options.log)
            made = _by_group if "groups" in _PLANS["tables"][table] else _by_column
            shown = [made(table, name, whole, results, options), base_table(whole, options.output)]
            text = "\n".join(one.markdown() for one in shown if one is not None)
            file = Path(options.output) / f"{table}-{name}.md"
            written += [write_atomically(file, text.encode()), *write_comparison(whole, options.output)]
        return written


def _asked(table: str, name: str, encoders: Sequence[str]) -> list[str]:
    """The rows of a grid among those that are asked for; what is a row of no grid, as `fourier`, is for all."""
    own = _PLANS["grids"][name]["rows"]
    known = {row for grid in _PLANS["tables"][table]["grids"] for row in _PLANS["grids"][grid]["rows"]}
    return [row for row in encoders or own if row in own or row not in known]


def _folder(name: str) -> str:
    """The folder of a grid's results; grids of the same rows share one."""
    return f"luna-{_PLANS['grids'][name].get('folder', name)}"


def _check_starts(starts: Mapping[str, str], rows: set[str]) -> None:
    used = sorted({name for row in rows if "@" in row for name in (row, row.partition("@")[2])})
    for name, folder in starts.items():
        if name not in used:
            raise ConfigError(f"--start {name}: no row starts from it: {near_names(name, used)}")
        if not Path(folder).is_dir():
            raise ConfigError(f"--start {name}={folder}: no such folder")


def grid_of_rows(table: str, name: str, rows: Sequence[str], options: Options, strict: bool = False) -> Grid:
    """The grid of those rows whose start is given; a missing start is an error if `strict`."""
    plan = _PLANS["grids"][name]
    check_name("scale", options.scale, list(plan["scales"]))
    scale, task = plan["scales"][options.scale], tasks[plan["task"]]
    encodings: dict[str, dict[str, Any]] = {}
    for row in rows:
        fields, start = task.encoding(row), row.partition("@")[2]
        if not start:
            encodings[row] = fields
            continue
        key = row if row in options.starts else start
        misfit = start_misfit(options.starts[key], fields) if key in options.starts else None
        if misfit and key == row:
            raise ConfigError(f"--start {row}: {misfit}")
        if misfit or key not in options.starts:
            if strict:
                said = f"; {misfit}" if misfit else ""
                raise ConfigError(
                    f"the row {row} starts from {start!r}: give --start {start}=FOLDER, or {row}=FOLDER{said}"
                )
            continue
        # A trial knows its own start only: starts that are given later leave finished trials as they are.
        encodings[row] = fields | {"starts": {key: options.starts[key]}}
    common = task.scales[options.scale] | plan.get("trial", {}) | scale["trial"]
    common |= data_fields(table, plan["task"], options) | dict(options.settings)
    return Grid(
        task=plan["task"], encodings=encodings, rates=tuple(scale["rates"]), rate_share=scale.get("rate_share", 0.25),
        seeds=options.seeds or scale["seeds"], base=plan["base"], name=_folder(name), save=options.save,
        trial=task.trial(plan["task"], common),
    )  # fmt: skip


def data_fields(table: str, task: str, options: Options) -> dict[str, Any]:
    """The fields of a trial that say which data and model it uses.

    Card transactions are generated without `--data`. TAT-QA is trained and tested on the official files where there are
    some of training and test; without test gold, dev is the test, as in the paper; and without a training file, it is
    cross-validated over dev.

    Raises:
        ConfigError: Data or a model is missing.
    """
    if task == "transactions":
        return {} if options.data is None else {"source": options.data}
    if options.data is None or len(options.models) != 1:
        got = f"--data {options.data}, {len(options.models)} models"
        raise ConfigError(f"{table} needs --data, a folder with tatqa and tabfact, and one --model, got {got}")
    own = Path(options.data) / task
    folder = own if own.is_dir() else Path(options.data)
    model = {"model": options.models[0]}
    if task == "tabfact" or folder.is_file():
        return {"source": str(folder)} | model
    found = {split: _file(folder, split) for split in ("train", "dev", "test_gold")}
    if found["train"] and found["test_gold"]:
        return {"source": found["train"], "dev": found["dev"], "test": found["test_gold"]} | model
    if not found["dev"]:
        names = ", ".join(name.format("dev") for name in _NAMES)
        raise ConfigError(f"{folder}: no file of TAT-QA there, looked for {names}; without it, give --corpus tabfact")
    if found["train"]:
        return {"source": found["train"], "test": found["dev"]} | model
    return {"source": found["dev"]} | model


def _file(folder: Path, split: str) -> str | None:
    files = (folder / name.format(split) for name in _NAMES)
    return next((str(file) for file in files if file.is_file()), None)


def _by_column(table: str, name: str, grid: Grid, results: Results, options: Options) -> Table:
    """The columns of the paper's table, baselines without a model, and what only the paper has."""
    plan, about = _PLANS["grids"][name], _PLANS["tables"][table]
    task = grid.task_class(grid.of(next(iter(results))))
    columns = {column.label: column for column in task.shown() if column.label in plan["columns"]}
    rows: dict[str, dict[str, Any]] = {}
    for row, runs in results.items():
        rows[row] = {
            label: figure_cell([column.of(run.figures) for run in runs], _FORM, column.factor)
            for label, column in columns.items()
        } | {"seeds": len(runs)}  # fmt: skip
    for row, figures in baselines_of(grid, options.output).items():
        # As texts: a bound such as `oracle` is not the best of a column.
        values = {label: (one.of(figures), one.factor) for label, one in columns.items()}
        rows[row] = {
            label: f"{factor * value:{_FORM}}" for label, (value, factor) in values.items() if value is not None
        }
    theirs = {
        row: {label: _published(one) for label, one in zip(columns, figures, strict=True) if one}
        for row, figures in plan["paper"].items()
    }
    best: Any = {column.label: column.best for column in columns.values()}
    return report_table(
        rows, dict.fromkeys(columns, _FORM) | {"seeds": ".0f"}, best=best, paper=theirs or None,
        corner="row", title=f"{about['about']}: {plan['about']}",
        notes=[*task.notes(), *plan["notes"], *about["notes"]],
    )  # fmt: skip


def _published(figure: Sequence[float]) -> Cell:
    """A mean, and its deviation where the paper has one."""
    return Cell(figure[0], "".join(f" ± {deviation}" for deviation in figure[1:]))


def _by_group(table: str, name: str, grid: Grid, results: Results, options: Options) -> Table:
    """One measure by each group of questions."""
    del name, options
    about = _PLANS["tables"][table]
    measure, labels = about["measure"], [(title, one) for title, some in about["groups"].items() for one in some]
    rows: dict[str, dict[str, Any]] = {row: {} for row in results}
    counts: dict[str, int] = {}
    for title, label in labels:
        for row, runs in results.items():
            found = [run.figures.get(f"test by {title}", {}).get(label, {}).get(measure) for run in runs]
            known = [one for one in found if one is not None]
            if known:
                rows[row][label] = figure_cell([one["value"] for one in known], _FORM, 100.0)
                counts[label] = known[0]["count"]
    theirs = {
        row: dict(zip((label for _, label in labels), some, strict=False)) for row, some in about["paper"].items()
    }
    asked = ", ".join(f"{label} {count}" for label, count in counts.items())
    return report_table(
        rows, dict.fromkeys((label for _, label in labels), _FORM), best="max", paper=theirs, corner="row",
        title=about["about"], notes=[f"Questions: {asked}.", *grid.task_class(grid.trial).notes(), *about["notes"]],
    )  # fmt: skip
