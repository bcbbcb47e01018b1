"""xVal's Tables 4 and 5, rendered: errors beside the paper's, whether intervals hold, and what it all cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.files import write_atomically
from numerate.report.figure_style import save
from numerate.report.pages import page
from numerate.report.tables import Cell, Table, table
from numerate.training.results import read_predictions, write
from numerate_lab.engine.grid import mean_and_spread
from numerate_lab.papers.xval2023.record_figures import nature_figures
from numerate_lab.papers.xval2023.record_tables import folder_of, paper_hours, paper_of, read_baselines, read_cells

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numerate_lab.papers.xval2023.record_tables import NatureTable

    Cells = Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]]

__all__ = ["cost_table", "error_table", "trust_table", "write_nature"]

_FORM = ".3g"


def write_nature(name: str, config: NatureTable, output: Path, rates: dict[str, float]) -> list[Path]:
    """Writes `<name>.md` into the output folder, and `table.json`, `index.html` and figures beside the cells.

    Of temperatures from a file, `<name>-<its name>.md`: several files have a table each.

    Args:
        name: `xval-table4` or `xval-table5`.
        config: Its settings.
        output: The folder that the cells' folder is in.
        rates: What each encoding chose.
    """
    folder = folder_of(output, config)
    cells, simple = read_cells(config, folder, rates), read_baselines(folder)
    tables = [error_table(name, config, cells, simple)]
    if config.cell.task == "temperature":
        tables.append(error_table(name, config, cells, simple, "mse_kelvin"))
    tables += [made for made in (trust_table(name, config, cells),) if made is not None]
    tables.append(cost_table(name, config, cells, rates))
    figures = nature_figures(config.cell.task, _columns(cells, folder))
    files = [save(figure, folder / "figures" / f"{title}.svg") for title, figure in figures.items()]
    plain = {
        row: {budget: [_without_cell(run) for run in runs] for budget, runs in of.items()} for row, of in cells.items()
    }
    settings = config.to_dict() | {"cell": config.cell.told()}
    write(folder / "table.json", config=settings, figures={"cells": plain, "baselines": simple, "rates": rates})
    parts: list[tuple[str, list[Any]]] = [("Tables", list(tables)), ("Figures", list(figures.values()))]
    source = config.cell.task_options.get("source", "synthetic")
    title = name if source == "synthetic" else f"{name}-{Path(source).stem}"
    text = write_atomically(output / f"{title}.md", "\n".join(shown.markdown() for shown in tables).encode())
    return [text, folder / "table.json", page(name, parts, folder / "index.html"), *files]


def _without_cell(run: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in run.items() if key != "cell"}


def _columns(cells: Cells, folder: Path) -> dict[str, Any]:
    """What the first cell of each encoding predicted."""
    found = {}
    for name, of in cells.items():
        runs = next(iter(of.values()))
        if runs and (file := folder / f"{runs[0]['cell'].name}.npz").is_file():
            found[name] = read_predictions(file)
    return found


def _of_columns(name: str, config: NatureTable, of: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, list[Any]]:
    """An encoding's figures by the table's columns: of its budgets (temperature), or of its questions (planets)."""
    labels, _ = paper_of(name)
    if config.cell.task == "temperature":
        return {labels[budget]: [run["test last"] for run in runs] for budget, runs in of.items()}
    runs = next(iter(of.values()))
    return {label: [run[key] for run in runs if key in run] for key, label in labels.items()}


def error_table(name: str, config: NatureTable, cells: Cells, simple: Mapping[str, Any], metric: str = "mse") -> Table:
    """Mean squared errors, invalid answers in brackets, the paper's beside ours, and what needs no learning below."""
    labels, paper = paper_of(name)
    shown = [labels[key] for key in labels if config.cell.task == "planets" or key in config.budgets]
    rows: dict[str, dict[str, Any]] = {}
    for row, of in cells.items():
        rows[row] = {label: _error(found, metric) for label, found in _of_columns(name, config, of).items()}
    for row, figures in simple.items():
        if config.cell.task == "temperature":
            rows[row] = dict.fromkeys(shown, _error([figures["test last"]], metric))
        else:
            rows[row] = {label: _error([figures[key]], metric) for key, label in labels.items() if key in figures}
    unit = "K²" if metric == "mse_kelvin" else "written units"
    theirs = None if metric == "mse_kelvin" else _in_columns(paper, labels, shown)
    return table(
        rows, dict.fromkeys(shown, _FORM), best="min", paper=theirs, corner="encoding",
        title=f"{name}: mean squared error, {unit}", notes=_notes(config) if metric == "mse" else (),
    )  # fmt: skip


def _in_columns(
    paper: Mapping[str, Mapping[str, float]], labels: Mapping[str, str], shown: Sequence[str]
) -> dict[str, dict[str, float]]:
    """The paper's figures in the columns that are shown: beside centred records where those alone were trained."""
    where = {label: label for label in shown}
    for key, label in labels.items():
        if label not in shown and labels.get(f"centred-{key}") in shown:
            where[label] = labels[f"centred-{key}"]
    return {
        row: {where[label]: value for label, value in cells.items() if label in where} for row, cells in paper.items()
    }


def _error(found: Sequence[Mapping[str, Any]], metric: str) -> Cell:
    mean, half = mean_and_spread([one[metric]["value"] for one in found])
    mark = "" if half is None else f" ± {half:{_FORM}}"
    ends = found[0].get("interval") if len(found) == 1 and metric == "mse" else None
    if ends is not None and ends["low"] is not None:
        mark += f" ({ends['low']:{_FORM}} to {ends['high']:{_FORM}})"
    invalid = mean_and_spread([one["invalid"]["value"] for one in found])[0] if found else 0.0
    if invalid > 0:
        mark += f" ({100 * invalid:.3g} % invalid)"
    return Cell(None if mean != mean else mean, mark)


def trust_table(name: str, config: NatureTable, cells: Cells) -> Table | None:
    """Of those that predict distributions: how much 90 % intervals hold, and the CRPS; None if none does."""
    rows: dict[str, dict[str, Any]] = {}
    for row, of in cells.items():
        for label, found in _of_columns(name, config, of).items():
            known = [one for one in found if "crps" in one]
            if known:
                held = mean_and_spread([one["coverage"]["value"] for one in known])[0]
                missed = mean_and_spread([one["crps"]["value"] for one in known])[0]
                rows.setdefault(row, {})[label] = f"{100 * held:.1f} %, {missed:.3g}"
    if not rows:
        return None
    shown = list(dict.fromkeys(label for cells_of in rows.values() for label in cells_of))
    notes = ["Shares of the truth within central 90 % intervals, and mean CRPS in written units."]
    return table(rows, dict.fromkeys(shown, ""), corner="encoding", title=f"{name}: intervals", notes=notes)


def cost_table(name: str, config: NatureTable, cells: Cells, rates: Mapping[str, float]) -> Table:
    """Tokens of a record, parameters, and for each budget the steps and seconds that it lasted."""
    hours, rows = paper_hours(name), {}
    for row, of in cells.items():
        runs = [run for some in of.values() for run in some]
        if not runs:
            continue
        rows[row] = {
            "rate": f"{rates[row]:g}",
            "tokens a record": runs[0]["training"]["tokens_a_record"],
            "parameters": f"{runs[0]['parameters'] / 1e6:.2f} M",
            "encoded a second": runs[0]["training"]["encoded_a_second"],
        }
        for budget, some in of.items():
            if some:
                seconds = mean_and_spread([run["training"]["seconds"] for run in some])[0]
                rows[row][f"{budget}: steps"] = some[0]["training"]["steps"]
                rows[row][f"{budget}: seconds"] = seconds
                if (alone := some[0]["training"].get("seconds_a_step")) is not None:
                    rows[row]["ms a step, alone"] = 1000 * alone
        if hours:
            rows[row]["hours (paper)"] = hours.get(row)
    formats = {"rate": "", "tokens a record": ".0f", "parameters": "", "encoded a second": ",d"}
    for budget in config.budgets:
        formats |= {f"{budget}: steps": ",d", f"{budget}: seconds": ".0f"}
    formats |= {"ms a step, alone": ".2f"} if any("ms a step, alone" in row for row in rows.values()) else {}
    formats |= {"hours (paper)": ".0f"} if hours else {}
    return table(rows, formats, corner="encoding", title=f"{name}: costs")


def _notes(config: NatureTable) -> list[str]:
    cell, budgets = config.cell, config.budgets
    told = ", ".join(f"{amount:,.12g} {name.replace('-', ' ')}" for name, amount in budgets.items())
    chosen = f"each encoding has its best of {len(config.rates)} rates, chosen on dev records with "
    chosen += f"{config.rate_share:.0%} of the first budget"
    notes = [
        f"{cell.examples:,} different training records, the same for all, in batches of {cell.batch}; the same trunk "
        f"({cell.layers} x {cell.width}); budgets: {told}; "
        + (chosen if len(config.rates) > 1 else f"one learning rate, {min(config.rates):g}")
        + f"; {config.seeds} seed{'' if config.seeds == 1 else 's'}. Tested are the weights that did best on dev "
        f"records, at {cell.looks} looks and at the end. Errors are of answers that are numbers.",
        f"Masked in training, equally for all: {cell.ratio:.0%} of all numbers, and in {cell.asking:.0%} of the "
        "records one of the tests' questions.",
    ]
    if cell.task == "planets":
        told_times = "all times" if cell.times is None else f"the first {cell.times} times"
        notes.append(f"Records tell {told_times} of each system. The paper's own sets beyond training are not public.")
    else:
        source = cell.task_options.get("source", "synthetic")
        made_up = " (made up: nothing about weather follows)" if source == "synthetic" else ""
        notes.append(
            f"Temperatures: {str(source).replace(chr(92), '/').rsplit('/', 1)[-1]}{made_up}. In brackets, 95 % "
            "intervals that draw whole days. The unit of the paper's errors is not known. Seconds are those of "
            "trainings side by side; equal time goes by steps that were timed alone. Centred: all temperatures of a "
            "record are told, for all encodings, as differences from the mean of those that it tells, and the mean is "
            "added again before anything is measured."
        )
    return notes
