"""Plans of `findings_runs.py`: their parts as grids, their order as goals, and how long all of it is expected to take.

A part is a `table` of `numerate reproduce` or a `task` of `numerate compare`, with the expected `seconds` of one
training of each row. Beside them, a part may have:

    corpora    grids of the table, as `tatqa` of luna-table3
    encoding   for luna-table2: rows are encodings, and --data is given
    settings   fields of every trial, over those of the scale
    options    for a task: fields of every trial; `{data}`, `{model}` stand for folders
    rates      learning rates; each is tried on the whole budget, or a `share` of it
    fields     of a table's every trial, over those of the table
    row_fields of the trials of a row, as `{p10: {precision: bf16}}`
    compared   whether the rows are shown as a comparison instead of the table
    name       of the folder of results, where two parts are of one table
    begun      the share of a training's time that has to be left for it to be begun, where its parts are kept (1)
    seeds      the most seeds that are ever wanted (3)
    tries      for `plan` alone: how many rates are tried, and on which share of the budget
    makes      models that rows of other parts start from, by the same names, as `luna@distilled`
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numerate_lab.engine.grid import Grid
    from numerate_lab.engine.trial_pool import Goal

PLAN = Path(__file__).parent / "plans" / "findings.yaml"
MODEL = "minilm-mlm"


def read_plan(file: str | Path = PLAN) -> dict[str, Any]:
    """The plan: `parts` and `order`, and what `prepare` copies in `data`, if it is said."""
    from numerate.files import read_yaml

    return read_yaml(Path(file).read_text(encoding="utf-8"), str(file))


def grids_of(part: dict[str, Any], data: str | Path, scale: str, starts: dict[str, str] | None = None) -> list[Grid]:
    """The grids of a part, with the most seeds that are ever wanted; every rate is tried as the part's table says.

    Planets and arithmetic try every rate on the whole budget, where tries and final trainings are the same. `starts`
    are folders by row, which may be made later.
    """
    from numerate_lab.engine.paper_tables import Options
    from numerate_lab.registry import tables

    rows, seeds = tuple(part["seconds"]), int(part.get("seeds", 3))
    if "task" in part:
        return [_task_grid(part, data, scale, seeds)]
    folder, model, table = str(Path(data)), str(Path(data) / MODEL), part["table"]
    if table.startswith("luna-"):
        return _luna_grids(part, data, scale, starts or {})
    options = {
        "xval-table5": Options(scale=scale, models=rows, seeds=seeds),
        "numerals-heads": Options(scale=scale, models=rows, seeds=seeds, data=folder),
    }.get(table)
    own = {"models": (model,), "encoders": rows, "data": folder, "corpora": ("units",)}
    options = options or Options(scale=scale, seeds=seeds, **own)
    grids = list(tables[table]().grids(table, options))
    is_planets, tiny = table == "xval-table5", scale == "tiny"
    share = part.get("share", 1.0 if is_planets else None)
    rates = ((1e-3, 3e-3) if is_planets else None) if tiny else part.get("rates")
    return [
        dataclasses.replace(
            grid,
            rates=tuple(rates or grid.rates),
            rate_share=grid.rate_share if share is None else share,
            trial=dataclasses.replace(grid.trial, **({} if tiny else part.get("fields", {}))),
            encodings=_with_row_fields(part, grid),
            name=part.get("name", grid.name),
        )
        for grid in grids
    ]


def _with_row_fields(part: dict[str, Any], grid: Grid) -> dict[str, dict[str, Any]]:
    """The rows of a grid, with the fields that the part gives to some of them."""
    given = part.get("row_fields", {})
    return {name: dict(fields) | given.get(name, {}) for name, fields in grid.encodings.items()}


def _task_grid(part: dict[str, Any], data: str | Path, scale: str, seeds: int) -> Grid:
    from numerate_lab.commands.compare import grid_of

    given = part.get("options", {})
    placed = _placed({key: value for key, value in given.items() if "{" in str(value)}, data)  # needed at every scale
    size = given | placed if scale != "tiny" else placed
    rates = tuple(part["rates"])
    if scale == "tiny" and len(rates) > 1:
        rates = (1e-3, 3e-3)
    settings: dict[str, Any] = {"rates": rates, "rate_share": part.get("share", 1.0), "seeds": seeds}
    grid = grid_of(part["task"], tuple(part["seconds"]), scale=scale, options=size, **settings)
    return dataclasses.replace(grid, name=part.get("name", grid.name))


def _placed(value: Any, data: str | Path) -> Any:
    """A setting with the folders that it names in braces."""
    if isinstance(value, dict):
        return {key: _placed(each, data) for key, each in value.items()}
    if isinstance(value, list):
        return [_placed(each, data) for each in value]
    places = {"{data}": str(Path(data)), "{model}": str(Path(data) / MODEL)}
    for name, folder in places.items():
        value = value.replace(name, folder) if isinstance(value, str) else value
    return value


def luna_options(part: dict[str, Any], data: str | Path, scale: str, starts: dict[str, str], **more: Any) -> Any:
    """The options of `numerate reproduce` for a part that is a table of LUNA."""
    from numerate_lab.engine.paper_tables import Options

    table = part["table"]
    own = {} if table == "luna-table4" else {"data": str(Path(data))}
    own |= {"models": (str(Path(data) / MODEL),)} if table in ("luna-table3", "luna-table5", "luna-grid") else {}
    settings = _placed(part.get("settings", {}), data) if scale != "tiny" else {}
    return Options(
        scale=part.get("scale", scale) if scale != "tiny" else scale, encoders=tuple(part["seconds"]),
        seeds=int(part.get("seeds", 3)), corpora=tuple(part.get("corpora", ())), starts=starts, settings=settings,
        **own, **more,
    )  # fmt: skip


def _luna_grids(part: dict[str, Any], data: str | Path, scale: str, starts: dict[str, str]) -> list[Grid]:
    from numerate_lab.papers.luna2022.task_tables import grid_of_rows
    from numerate_lab.registry import tables

    options = luna_options(part, data, scale, {row: starts[row] for row in part["seconds"] if row in starts})
    if part["table"] == "luna-table2":
        grids = list(tables[part["table"]]().grids(part["table"], options))
        settings = part.get("settings", {}) if scale != "tiny" else {}
        grids = [
            dataclasses.replace(
                grid, trial=dataclasses.replace(grid.trial, **settings), name=part.get("name", grid.name)
            )
            for grid in grids
        ]
    else:
        rows = tuple(part["seconds"])
        grids = [grid_of_rows(part["table"], name, rows, options, strict=True) for name in part["corpora"]]
    changes: dict[str, Any] = {} if scale == "tiny" or "rates" not in part else {"rates": tuple(part["rates"])}
    if scale != "tiny" and "share" in part:
        changes["rate_share"] = part["share"]
    return [dataclasses.replace(grid, **changes, encodings=_with_row_fields(part, grid)) for grid in grids]


def starts_of(plan: dict[str, Any], work: str | Path, data: str | Path, scale: str) -> dict[str, str]:
    """The folders of the models that the plan's parts make for others, by row; they may not be there yet."""
    from numerate_lab.tasks.pretraining.pretraining_task import model_folder

    found: dict[str, str] = {}
    for part in plan["parts"].values():
        if part.get("makes"):
            (grid,) = grids_of(part, data, scale)
            found |= {row: str(model_folder(Path(work).resolve() / grid.name, row)) for row in part["seconds"]}
    return found


def goals_of(plan: dict[str, Any], data: str | Path, scale: str, work: str | Path = "build") -> list[Goal]:
    """The plan's order as goals of the trial pool; `work` is where models to start from are made."""
    from numerate_lab.engine.trial_pool import Goal

    starts = starts_of(plan, work, data, scale)
    grids = {name: grids_of(part, data, scale, starts) for name, part in plan["parts"].items()}
    return [
        Goal(step["part"], grid, tuple(step["rows"]), step.get("seeds", 1), part["seconds"], part.get("begun", 1.0))
        for step in plan["order"]
        for part in [plan["parts"][step["part"]]]
        for grid in grids[step["part"]]
    ]


def show_plan(plan: dict[str, Any], processes: int) -> None:
    """Prints each step's trainings, its minutes of one process, and when all steps up to it are done."""
    seen: set[tuple[Any, ...]] = set()
    total = 0.0
    usual = {"heads": {"share": 0.5}, "words": {"rates": 4}}
    print(f"{'part':16} {'trainings':>9} {'minutes':>8} {'all, in parallel':>17}  rows")
    for step in plan["order"]:
        name, part, count = step["part"], plan["parts"][step["part"]], 0.0
        tries = {"rates": 3, "share": 1.0} | usual.get(name, {}) | part.get("tries", {})
        trainings, grids = 0, len(part.get("corpora", ("",)))
        for row in step["rows"]:
            share = tries["share"]
            wanted = [(name, row, "rate", k, share) for k in range(tries["rates"])] if tries["rates"] > 1 else []
            # A whole try is the first seed of the final training; by two choices, words may take two rates.
            first = 0 if share < 1 or tries["rates"] < 2 else 1
            wanted += [(name, row, "seed", k, 1.0) for k in range(first, step.get("seeds", 1))]
            for each in (each for each in wanted if each not in seen):
                seen.add(each)
                trainings, count = trainings + grids, count + grids * part["seconds"][row] * each[-1]
        total += count
        print(f"{name:16} {trainings:9} {count / 60:8.1f} {total / 60 / processes:17.1f}  {', '.join(step['rows'])}")
    print(f"{total / 60:.0f} minutes of one process, {total / 60 / processes:.1f} with {processes} side by side")
