"""A comparison as tables and one page: figures with intervals, paired intervals, error breakdown, learning curves."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from numerate.files import write_atomically
from numerate.metrics.significance import bootstrap
from numerate.report.pages import page
from numerate.report.tables import Cell, Table, table
from numerate.training.results import Result
from numerate_lab.engine.error_breakdown import magnitude_table, place_table
from numerate_lab.engine.grid import against_base, baselines_of, mean_and_spread, read_results, whole_tries
from numerate_lab.engine.task import Workspace
from numerate_lab.engine.trial import columns_of_split
from numerate_lab.engine.trunk_training import TrunkTrial

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

    from numerate.metrics.significance import Interval
    from numerate_lab.engine.grid import Grid
    from numerate_lab.engine.task import Answers, Column, Task
    from numerate_lab.engine.trial import TrialResult

    Results = Mapping[str, Sequence[TrialResult]]

__all__ = ["base_table", "comparison_table", "figure_cell", "paired_table", "write_comparison"]

_RESAMPLES = 2000
_PAIRED = (
    "95 % intervals by bootstrap over the test examples, of means over seeds; behind the best: its figure less this "
    "one's, example by example. They say how sure the order of these models is, not how another training would end. "
    "Where all N examples are alike the interval has no width, though as many as 3 in N may be otherwise."
)


def write_comparison(grid: Grid, output: str | Path) -> list[Path]:
    """Writes `compare.json`, `compare.md` and `index.html` beside a grid's trials."""
    folder = Path(output) / grid.name
    results = read_results(grid, output)
    task = grid.task_class(grid.of(next(iter(grid.encodings))), Workspace(folder))
    title = getattr(grid.trial, "task", grid.task)
    simple, shown = baselines_of(grid, output), list(task.shown())
    tables = []
    for name, columns in itertools.groupby(shown, key=lambda column: column.table):
        notes = _notes(grid, output, results) if not tables else ()
        tables.append(comparison_table(results, list(columns), f"{title}, {name}", notes, simple))
    tables += _group_tables(results, shown)
    answers, scores, clusters = _predictions(task, results)
    by_example = paired_table(scores, f"{title}, test, by example", clusters)
    breakdown = [base_table(grid, output), magnitude_table(answers), place_table(answers), by_example]
    tables += [made for made in breakdown if made is not None]
    summary = Result(grid.settings(), _summary(results, shown)).write(folder / "compare.json")
    text = write_atomically(folder / "compare.md", "\n".join(made.markdown() for made in tables).encode())
    parts: list[tuple[str, list[Any]]] = [("Figures", list(tables))]
    parts.append(("Learning, and predictions against the truth", list(_figures(results, answers))))
    return [summary, text, page(f"Comparison: {title}", parts, folder / "index.html")]


def figure_cell(values: Sequence[float | None], form: str, factor: float = 1.0) -> Cell:
    """The mean over seeds, and half of its 95 % interval where there are several.

    Example:
        >>> figure_cell([0.25, 0.75], ".1f", 100.0)
        Cell(value=50.0, mark=' ± 317.7')
    """
    mean, half = mean_and_spread(values)
    mark = "" if half is None else f" ± {factor * half:{form}}"
    return Cell(None if mean != mean else factor * mean, mark)


def comparison_table(
    results: Results, columns: Sequence[Column], title: str, notes: Sequence[str], baselines: Mapping[str, Any]
) -> Table:
    """One row for each encoding: its figures with intervals, its learning rate and its cost; baselines below."""
    rows: dict[str, dict[str, Any]] = {}
    for name, runs in results.items():
        rows[name] = {c.label: figure_cell([c.of(run.figures) for run in runs], c.form, c.factor) for c in columns}
        rows[name] |= {"seeds": len(runs), "rate": f"{runs[0].config.rate:g}"} | _cost(runs)
    for name, figures in baselines.items():
        rows[name] = {c.label: figure_cell([c.of(figures)], c.form, c.factor) for c in columns}
    formats = {c.label: c.form for c in columns} | {"seeds": ".0f", "rate": ""}
    formats |= {"tokens": ".1f", "seconds": ".0f", "parameters": ""}
    best: Any = {c.label: c.best for c in columns}
    return table(rows, formats, best=best, corner="encoding", title=title, notes=notes)


def _cost(runs: Sequence[TrialResult]) -> dict[str, Any]:
    first = runs[0].figures
    tokens = first["training"].get("tokens_a_text", first["training"].get("tokens_a_record"))
    seconds = mean_and_spread([run.figures["training"].get("seconds") for run in runs])[0]
    found = {"tokens": tokens, "seconds": None if seconds != seconds else seconds}
    return found | {"parameters": f"{first['parameters'] / 1e6:.2f} M" if "parameters" in first else None}


def _summary(results: Results, columns: Sequence[Column]) -> dict[str, Any]:
    """For each encoding, means and halves of 95 % intervals over its seeds, and its cost."""
    found: dict[str, Any] = {}
    for name, runs in results.items():
        row: dict[str, Any] = {"seeds": len(runs), "rate": runs[0].config.rate} | _cost(runs)
        for column in columns:
            mean, half = mean_and_spread([column.of(run.figures) for run in runs])
            row.setdefault(column.split, {})[column.metric] = {"mean": None if mean != mean else mean, "half": half}
        found[name] = row
    return found


def _group_tables(results: Results, columns: Sequence[Column]) -> list[Table]:
    """A column's figure by each group of test examples, such as the digits of an answer, where there are two labels."""
    first = next((run.figures for runs in results.values() for run in runs), {})
    found = []
    for group in sorted(key.removeprefix("test by ") for key in first if key.startswith("test by ")):
        for column in (column for column in columns if column.by_group and column.split == "test"):
            parts = {name: [run.figures.get(f"test by {group}", {}) for run in runs] for name, runs in results.items()}
            labels = {label for each in parts.values() for part in each for label in part}
            ordered = sorted(labels, key=lambda one: (not one.isdigit(), int(one) if one.isdigit() else 0, one))
            if len(ordered) < 2:
                continue
            rows: dict[str, dict[str, Cell]] = {name: {} for name in parts}
            for name, label in itertools.product(parts, ordered):
                values = [part[label][column.metric]["value"] for part in parts[name] if label in part]
                rows[name][label] = Cell(figure_cell(values, ".1f", column.factor).value)
            best: Any = column.best
            title = f"{column.label} by {group}"
            found.append(table(rows, dict.fromkeys(ordered, ".1f"), best=best, corner="encoding", title=title))
    return found


def _predictions(
    task: Task, results: Results
) -> tuple[dict[str, list[Answers]], dict[str, dict[str, np.ndarray]], np.ndarray | None]:
    """By encoding: the answers of each seed, and scores by example, means over seeds; and the examples' clusters.

    An encoding is left out where its predictions are not there, or are of other examples.
    """
    answers: dict[str, list[Answers]] = {}
    scores: dict[str, dict[str, np.ndarray]] = {}
    gold: np.ndarray | None = None
    clusters: np.ndarray | None = None
    for name, runs in results.items():
        if not all(run.has_columns for run in runs):
            continue
        columns = [columns_of_split(run.columns(), "test") for run in runs]
        given = [task.answers("test", each) for each in columns]
        known = [one for one in given if one is not None]
        if len(known) == len(runs) and known:
            gold = known[0].gold if gold is None else gold
            if not all(np.array_equal(one.gold, gold) for one in known):
                continue
            answers[name] = known
        clusters = task.clusters("test", columns[0])
        each_score = [task.example_scores("test", each) for each in columns]
        scores[name] = {key: np.mean([one[key] for one in each_score], axis=0) for key in each_score[0]}
    return answers, {name: one for name, one in scores.items() if one}, clusters


def base_table(grid: Grid, output: str | Path) -> Table | None:
    """How much better than the grid's base each encoding is, with 95 % intervals; None without a comparison."""
    rows: dict[str, dict[str, str]] = {}
    for name in grid.encodings:
        compared = against_base(grid, output, name) if name != grid.base else {}
        found = {key: one for key, one in compared.items() if isinstance(one, dict) and {"low", "high"} <= one.keys()}
        if found:
            rows[name] = {key: _signed(one["estimate"], one["low"], one["high"]) for key, one in found.items()}
    if not rows:
        return None
    columns = dict.fromkeys((key for row in rows.values() for key in row), "")
    title = f"{getattr(grid.trial, 'task', grid.task)}, test, less {grid.base}"
    note = "Paired differences of means over seeds, in percentage points, with 95 % intervals by bootstrap."
    return table(rows, columns, corner="encoding", title=title, notes=[note])


def paired_table(
    scores: Mapping[str, Mapping[str, np.ndarray]], title: str, clusters: np.ndarray | None = None
) -> Table | None:
    """Each encoding's scores with intervals, and how far behind the best it is; None if there are fewer than two.

    `scores` has, by encoding and label, a score of every test example (N,); more is better. Examples of one of the
    `clusters`, (N,) ids, are resampled together.
    """
    if len(scores) < 2:
        return None
    options: dict[str, Any] = {"resamples": _RESAMPLES}
    options |= {} if clusters is None else {"clusters": torch.from_numpy(clusters.astype(np.int64))}
    rows: dict[str, dict[str, str]] = {name: {} for name in scores}
    for label in next(iter(scores.values())):
        each = {name: torch.from_numpy(one[label]) for name, one in scores.items()}
        best = max(each, key=lambda name: float(each[name].nanmean()))
        for name, one in each.items():
            behind = "the best" if name == best else _shown(bootstrap(each[best], one, **options))
            rows[name] |= {label: _shown(bootstrap(one, **options)), f"{label}, behind the best": behind}
    columns = dict.fromkeys(next(iter(rows.values())), "")
    notes = [_PAIRED] if clusters is None else [_PAIRED, f"Resampled are {len(np.unique(clusters))} whole clusters."]
    return table(rows, columns, corner="encoding", title=title, notes=notes)


def _shown(found: Interval) -> str:
    estimate, low, high = (round(100 * value, 2) + 0.0 for value in (found.estimate, found.low, found.high))
    return f"{estimate:.2f} ({low:.2f} to {high:.2f})"


def _signed(estimate: float, low: float, high: float) -> str:
    return f"{100 * estimate:+.2f} ({100 * low:+.2f} to {100 * high:+.2f})"


def _figures(results: Results, answers: Mapping[str, Sequence[Answers]]) -> list[Figure]:
    """Learning curves of all encodings, and each one's predictions against the truth (seed 0)."""
    from numerate.report.curves import learning_curves, predicted_against_true

    figures = []
    looks = {name: runs[0].figures["training"].get("looks") or [] for name, runs in results.items()}
    known = {key for seen in looks.values() for look in seen for key in look} - {"step"}
    for key in sorted(known & {"log_smape"} or known):
        curves = {
            name: ([look["step"] for look in seen], [look[key] for look in seen])
            for name, seen in looks.items()
            if seen and all(look.get(key) is not None for look in seen)
        }
        if curves:
            figures.append(learning_curves(curves, ylabel=f"{key.replace('log_smape', 'log-sMAPE')} on dev"))
    for name, each in answers.items():
        pair = (torch.from_numpy(each[0].predicted).double(), torch.from_numpy(each[0].gold).double())
        figures.append(predicted_against_true(*pair, title=name))
    return figures


def _notes(grid: Grid, output: str | Path, results: Results) -> list[str]:
    share, count = f"{grid.rate_share:.0%}", len(grid.rates)
    chosen = f"each encoding has its best of {count} learning rates, chosen on dev with {share} of the budget"
    if whole := {name: len(tried) for name in results if (tried := whole_tries(grid, output, name))}:
        chosen += "".join(f"; {name} its best of {number}, with all of it" for name, number in whole.items())
    rates = chosen if count > 1 else f"one learning rate, {min(grid.rates):g}" if grid.rates else "no choice of rates"
    trial, notes = grid.trial, [rates[0].upper() + rates[1:] + "."]
    if isinstance(trial, TrunkTrial):
        notes.insert(0, (
            f"Equal {trial.budget}: {trial.amount:g}, batches of {trial.batch}, {trial.examples:,} different training "
            f"examples, the same trunk ({trial.layers} x {trial.width})."
        ))  # fmt: skip
    notes.append("± is half of a 95 % interval over seeds; without, there is one seed.")
    more = [note for name in results for note in grid.task_class(grid.of(name)).notes()]
    return notes + list(dict.fromkeys(more))
