"""XVal's tables, rendered: figures beside the paper's, whether intervals hold, and costs."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from numerate.files import write_atomically
from numerate.report.figure_style import save
from numerate.report.pages import page
from numerate.report.tables import Cell, Table, table
from numerate.training.results import Result
from numerate_lab.engine.grid import baselines_of, finals, mean_and_spread, read_results
from numerate_lab.engine.page import figure_cell, write_comparison
from numerate_lab.papers.xval2023.record_figures import record_figures
from numerate_lab.papers.xval2023.xval_tables import SETTINGS, paper_figures, table1

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numerate_lab.engine.grid import Grid
    from numerate_lab.engine.task import Figures

    Results = Mapping[str, Mapping[str, Sequence[Figures]]]
    """Figures of the trials of each encoding and variant."""

__all__ = ["cost_table", "error_table", "trust_table", "write_arithmetic", "write_records", "write_table1"]

_FORM = ".3g"


def write_table1(output: Path) -> list[Path]:
    """Table 1, which needs no training: `xval-table1.json` and `.md`."""
    columns = {"tokens a number": ".0f", "vocabulary": ",.0f"}
    paper = SETTINGS["tables"]["xval-table1"]["paper"]
    ours, theirs = ({n: dict(zip(columns, row, strict=True)) for n, row in of.items()} for of in (table1(), paper))
    shown = table(ours, columns, paper=theirs, corner="encoding")  # type: ignore[arg-type]
    Result({"table": "xval-table1"}, ours).write(output / "xval-table1.json")
    return [output / "xval-table1.json", _write_markdown(output / "xval-table1.md", [shown])]


def write_arithmetic(name: str, grid: Grid, output: Path) -> list[Path]:
    """Table 2 or 3: adjusted R² of each column beside the paper's, and the share of exact answers below."""
    labels, paper = paper_figures(name)
    results = read_results(grid, output)
    tables = []
    for metric, form, factor, theirs in (("adjusted_r2", ".5f", 1.0, paper), ("exact_match", ".2f", 100.0, None)):
        rows: dict[str, dict[str, Any]] = {}
        for encoding, runs in results.items():
            parts = [run.figures.get("test by task", {}) for run in runs]
            rows[encoding] = {
                label: figure_cell([part[task][metric]["value"] for part in parts if task in part], form, factor)
                for task, label in labels.items()
            }
        title = f"{name}: {'adjusted R²' if theirs else 'exact answers, %'}"
        columns = dict.fromkeys(labels.values(), form)
        tables.append(table(rows, columns, best="max", paper=theirs, corner="encoding", title=title))
    return [_write_markdown(output / f"{name}.md", tables), *write_comparison(grid, output)]


def write_records(name: str, grid: Grid, output: Path) -> list[Path]:
    """Table 4 or 5: `<name>.md` in the output folder, and `table.json`, `index.html` and figures beside the trials.

    For temperatures from a file it is `<name>-<file>.md`: each file has a table of its own.
    """
    folder, simple = output / grid.name, baselines_of(grid, output)
    results: dict[str, dict[str, list[Figures]]] = {}
    rates, columns = {}, {}
    for encoding in grid.encodings:
        runs = {variant: finals(grid, output, encoding, variant) for variant in grid.variants}
        results[encoding] = {variant: [run.figures for run in some] for variant, some in runs.items()}
        for run in itertools.chain.from_iterable(runs.values()):
            rates[encoding] = run.config.rate
        first = next(iter(runs.values()))
        if first and first[0].has_columns:
            given = first[0].columns()
            columns[encoding] = {
                key.replace("a1-gap_gap_", "gap_"): torch.from_numpy(one) for key, one in given.items()
            }
    units = ("mse", "mse_kelvin") if grid.task == "temperature" else ("mse",)
    made = [error_table(name, grid, results, simple, metric) for metric in units]
    made += [trust_table(name, grid, results), cost_table(name, grid, results, rates)]
    tables = [one for one in made if one is not None]
    figures = record_figures(grid.task, columns)
    files = [save(figure, folder / "figures" / f"{title}.svg") for title, figure in figures.items()]
    found = {"trials": results, "baselines": simple, "rates": rates}
    Result(grid.settings(), found).write(folder / "table.json")
    parts: list[tuple[str, list[Any]]] = [("Tables", list(tables)), ("Figures", list(figures.values()))]
    source = _source(grid)
    title = name if source == "synthetic" or grid.task == "planets" else f"{name}-{Path(source).stem}"
    text = _write_markdown(output / f"{title}.md", tables)
    return [text, folder / "table.json", page(name, parts, folder / "index.html"), *files]


def _source(grid: Grid) -> str:
    trial: Any = grid.trial
    return str(trial.task_options.get("source", "synthetic")).replace("\\", "/")


def _write_markdown(path: Path, tables: Sequence[Table]) -> Path:
    return write_atomically(path, "\n".join(shown.markdown() for shown in tables).encode())


def _of_columns(name: str, grid: Grid, of: Mapping[str, Sequence[Figures]]) -> dict[str, list[Any]]:
    """An encoding's figures by the table's columns: its variants (temperature), or its questions (planets)."""
    labels, _ = paper_figures(name)
    if grid.task == "temperature":
        return {labels[budget]: [run["test last"] for run in runs] for budget, runs in of.items()}
    runs = next(iter(of.values()))
    return {label: [run[key] for run in runs if key in run] for key, label in labels.items()}


def error_table(name: str, grid: Grid, results: Results, simple: Mapping[str, Any], metric: str = "mse") -> Table:
    """Mean squared errors, each with its share of invalid answers, the paper's beside ours, and baselines below."""
    labels, paper = paper_figures(name)
    shown = [labels[key] for key in labels if grid.task == "planets" or key in grid.variants]
    rows: dict[str, dict[str, Any]] = {}
    for row, of in results.items():
        rows[row] = {label: _error(found, metric) for label, found in _of_columns(name, grid, of).items()}
    for row, figures in simple.items():
        if grid.task == "temperature":
            rows[row] = dict.fromkeys(shown, _error([figures["test last"]], metric, trained=False))
        else:
            known = {label: figures[key] for key, label in labels.items() if key in figures}
            rows[row] = {label: _error([one], metric, trained=False) for label, one in known.items()}
    options: dict[str, Any] = {"best": "min", "corner": "encoding"}
    if metric == "mse_kelvin":
        return table(rows, dict.fromkeys(shown, _FORM), title=f"{name}: mean squared error, K²", **options)
    # The paper's figures stand beside centred records where only those were trained.
    where = {label: label for label in shown}
    for key, label in labels.items():
        if label not in shown and labels.get(f"centred-{key}") in shown:
            where[label] = labels[f"centred-{key}"]
    options["paper"] = {
        row: {where[label]: value for label, value in of.items() if label in where} for row, of in paper.items()
    }
    options |= {"title": f"{name}: mean squared error, written units", "notes": _notes(grid)}
    return table(rows, dict.fromkeys(shown, _FORM), **options)


def _error(found: Sequence[Mapping[str, Any]], metric: str, trained: bool = True) -> Cell:
    cell = figure_cell([one[metric]["value"] for one in found], _FORM)
    mark = cell.mark
    ends = found[0].get("interval") if len(found) == 1 and metric == "mse" else None
    if ends is not None and ends["low"] is not None:
        mark += f" ({ends['low']:{_FORM}} to {ends['high']:{_FORM}})"
    if found and trained:  # also where it is 0: errors are of the other answers alone
        mark += f" ({100 * _mean(found, 'invalid'):.3g} % invalid)"
    return Cell(cell.value, mark)


def _mean(found: Sequence[Mapping[str, Any]], metric: str) -> float:
    return mean_and_spread([one[metric]["value"] for one in found])[0]


def trust_table(name: str, grid: Grid, results: Results) -> Table | None:
    """For encodings that predict distributions: how many 90 % intervals hold, and the CRPS; None if there is none."""
    rows: dict[str, dict[str, Any]] = {}
    for row, of in results.items():
        for label, found in _of_columns(name, grid, of).items():
            known = [one for one in found if "crps" in one]
            if known:
                shown = f"{100 * _mean(known, 'coverage'):.1f} %, {_mean(known, 'crps'):.3g}"
                rows.setdefault(row, {})[label] = shown
    if not rows:
        return None
    columns = dict.fromkeys((label for of in rows.values() for label in of), "")
    notes = ["Shares of the truth within central 90 % intervals, and mean CRPS in written units."]
    return table(rows, columns, corner="encoding", title=f"{name}: intervals", notes=notes)


def cost_table(name: str, grid: Grid, results: Results, rates: Mapping[str, float]) -> Table:
    """Learning rate, tokens, parameters, steps and seconds of each encoding, and the paper's hours."""
    rows: dict[str, dict[str, Any]] = {}
    hours = SETTINGS["tables"][name].get("hours", {})
    for row, of in results.items():
        runs = [run for some in of.values() for run in some]
        if not runs:
            continue
        trained = runs[0]["training"]
        rows[row] = {
            "rate": f"{rates[row]:g}",
            "tokens a record": trained.get("tokens_a_text", trained.get("tokens_a_record")),
            "parameters": f"{runs[0]['parameters'] / 1e6:.2f} M",
            "encoded a second": trained["encoded_a_second"],
        }
        for variant, some in of.items():
            if some:
                rows[row][f"{variant}: steps"] = some[0]["training"]["steps"]
                rows[row][f"{variant}: seconds"] = mean_and_spread([run["training"]["seconds"] for run in some])[0]
                if (alone := some[0]["training"].get("seconds_a_step")) is not None:
                    rows[row]["ms a step, alone"] = 1000 * alone
        if hours:
            rows[row]["hours (paper)"] = hours.get(row)
    formats = {"rate": "", "tokens a record": ".0f", "parameters": "", "encoded a second": ",d"}
    for variant in grid.variants:
        formats |= {f"{variant}: steps": ",d", f"{variant}: seconds": ".0f"}
    formats |= {"ms a step, alone": ".2f"} if any("ms a step, alone" in row for row in rows.values()) else {}
    formats |= {"hours (paper)": ".0f"} if hours else {}
    return table(rows, formats, corner="encoding", title=f"{name}: costs")


def _notes(grid: Grid) -> list[str]:
    """The notes below a table of errors: texts of `tables.yaml` with the grid's settings filled in."""
    trial: Any = grid.trial
    texts, source = SETTINGS["notes"], _source(grid)
    rates = {"count": len(grid.rates), "share": grid.rate_share, "least": min(grid.rates)}
    fields = {
        "grid": grid,
        "trial": trial,
        "budgets": ", ".join(f"{of['amount']:,.12g} {name.replace('-', ' ')}" for name, of in grid.variants.items()),
        "rates": texts["rates" if len(grid.rates) > 1 else "one rate"].format(**rates),
        "plural": "" if grid.seeds == 1 else "s",
        "source": source.rsplit("/", 1)[-1] + (texts["synthetic"] if source == "synthetic" else ""),
    }
    if grid.task == "planets":
        fields["times"] = "all times" if trial.times is None else f"the first {trial.times} times"
    return [texts[name].format(**fields) for name in ("trained", "masked", grid.task)]
