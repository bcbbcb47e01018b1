"""A comparison as one table and one page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numerate.files import write_atomically
from numerate.report.pages import page
from numerate.report.tables import Cell, Table, table
from numerate.training.results import read_predictions, write
from numerate_lab.engine.encodings import encoding_of
from numerate_lab.engine.error_breakdown import magnitude_table, place_table
from numerate_lab.engine.grid import folder_of, mean_and_spread, read_cells, whole_tries
from numerate_lab.engine.paired import example_figures, paired_table, said_by_encoding

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from matplotlib.figure import Figure

    from numerate_lab.engine.grid import CompareConfig

__all__ = ["comparison_table", "curve_figures", "group_table", "summary", "write_comparison"]

COLUMNS = {"exact_match": "exact %", "r2": "R²", "log_smape": "log-sMAPE %", "mdape": "MdAPE %", "invalid": "invalid %"}
_IN_PERCENT = ("exact_match", "log_smape", "invalid")
_BEST = {"exact %": "max", "R²": "max", "log-sMAPE %": "max", "MdAPE %": "min", "invalid %": "min"}


def summary(cells: Mapping[str, Sequence[Mapping[str, Any]]], split: str = "test") -> dict[str, dict[str, Any]]:
    """For each encoding, means and halves of 95 % intervals over its seeds, and what they cost."""
    found: dict[str, dict[str, Any]] = {}
    for name, runs in cells.items():
        known = [run for run in runs if split in run]
        if not known:
            continue
        row: dict[str, Any] = {"seeds": len(known), "rate": known[0]["cell"].rate}
        for metric in COLUMNS:
            mean, half = mean_and_spread([run[split][metric]["value"] for run in known])
            row[metric] = {"mean": None if mean != mean else mean, "half": half}
        row["tokens_a_text"] = known[0]["training"]["tokens_a_text"]
        row["seconds"] = mean_and_spread([run["training"]["seconds"] for run in known])[0]
        row["parameters"] = known[0]["parameters"]
        found[name] = row
    return found


def _shown(row: Mapping[str, Any], metric: str) -> Cell:
    mean, half = row[metric]["mean"], row[metric]["half"]
    factor = 100.0 if metric in _IN_PERCENT else 1.0
    digits = 5 if metric == "r2" else 2
    mark = "" if half is None else f" ± {factor * half:.{digits}f}"
    return Cell(None if mean is None else factor * mean, mark)


def comparison_table(found: Mapping[str, Mapping[str, Any]], title: str, notes: Sequence[str] = ()) -> Table:
    """One row an encoding: its figures with intervals, its learning rate and its costs."""
    rows: dict[str, dict[str, Any]] = {}
    for name, row in found.items():
        rows[name] = {label: _shown(row, metric) for metric, label in COLUMNS.items()}
        rows[name] |= {"seeds": row["seeds"], "rate": f"{row['rate']:g}", "tokens": row["tokens_a_text"]}
        rows[name] |= {"seconds": row["seconds"], "parameters": f"{row['parameters'] / 1e6:.2f} M"}
    formats = {label: ".5f" if label == "R²" else ".2f" for label in COLUMNS.values()}
    formats |= {"seeds": ".0f", "rate": "", "tokens": ".1f", "seconds": ".0f", "parameters": ""}
    return table(rows, formats, best=_BEST, corner="encoding", title=title, notes=notes)  # type: ignore[arg-type]


def group_table(
    cells: Mapping[str, Sequence[Mapping[str, Any]]], group: str, metric: str, split: str = "test"
) -> Table | None:
    """One metric for each label of a group, such as the digits of an answer; None if there are not two of them."""
    key = f"{split} by {group}"
    labels: list[str] = []
    for runs in cells.values():
        for run in runs:
            labels += [label for label in run.get(key, {}) if label not in labels]
    if len(labels) < 2:
        return None
    labels.sort(key=lambda label: (not label.isdigit(), int(label) if label.isdigit() else 0, label))
    factor = 100.0 if metric in _IN_PERCENT else 1.0
    rows = {}
    for name, runs in cells.items():
        known = [run[key] for run in runs if key in run]
        means = {
            label: mean_and_spread([k[label][metric]["value"] for k in known if label in k])[0] for label in labels
        }
        rows[name] = {label: None if mean != mean else factor * mean for label, mean in means.items()}
    formats = dict.fromkeys(labels, ".4f" if metric == "r2" else ".1f")
    best = "min" if metric in ("mdape", "invalid") else "max"
    return table(rows, formats, best=best, corner="encoding", title=f"{COLUMNS[metric]} by {group}")


def curve_figures(folder: Path, cells: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Figure]:
    """Learning curves of all encodings, and each one's predictions against the truth (seed 0)."""
    from numerate.report.curves import learning_curves, predicted_against_true

    figures = []
    looks = {name: runs[0]["training"]["looks"] for name, runs in cells.items() if runs}
    curves = {
        name: ([look["step"] for look in seen], [look["log_smape"] for look in seen])
        for name, seen in looks.items()
        if seen and all(look["log_smape"] is not None for look in seen)
    }
    if curves:
        figures.append(learning_curves(curves, ylabel="log-sMAPE on dev texts"))
    for name, runs in cells.items():
        file = folder / f"{runs[0]['cell'].name}.npz" if runs else None
        if file is not None and file.is_file():
            said = read_predictions(file)
            figures.append(predicted_against_true(said["test_predicted"], said["test_gold"], title=name))
    return figures


def write_comparison(config: CompareConfig, output: str | Path, rates: dict[str, float]) -> list[Path]:
    """Writes `compare.json`, `compare.md` and `index.html` beside a comparison's cells."""
    folder = folder_of(output, config)
    cells = read_cells(config, folder, rates)
    found = summary(cells)
    notes = _notes(config, found, folder)
    tables = [comparison_table(found, f"{config.cell.task}, test", notes)]
    tables += [
        comparison_table(summary(cells, split), f"{config.cell.task}, {split} (beyond what was trained)")
        for split in config.cell.splits
    ]
    groups = sorted(
        {
            key.removeprefix("test by ")
            for runs in cells.values()
            for run in runs
            for key in run
            if key.startswith("test by ")
        }
    )
    tables += [
        made
        for group in groups
        for metric in ("exact_match", "log_smape")
        if (made := group_table(cells, group, metric))
    ]
    truth, said = said_by_encoding(config, folder, cells)
    figures = example_figures(truth, said, cells)
    more = (
        magnitude_table(truth, said),
        place_table(truth, said),
        paired_table(figures, f"{config.cell.task}, test, by example"),
    )
    tables += [made for made in more if made is not None]
    write(folder / "compare.json", config=config.to_dict(), figures=found)
    text = write_atomically(folder / "compare.md", "\n".join(shown.markdown() for shown in tables).encode())
    parts: list[tuple[str, list[Any]]] = [("Figures", list(tables))]
    parts.append(("Learning, and predictions against the truth", list(curve_figures(folder, cells))))
    return [folder / "compare.json", text, page(f"Comparison: {config.cell.task}", parts, folder / "index.html")]


def _notes(config: CompareConfig, found: Mapping[str, Mapping[str, Any]], folder: Path) -> list[str]:
    cell, share = config.cell, f"{config.rate_share:.0%}"
    chosen = f"each encoding has its best of {len(config.rates)} rates, chosen on dev texts with {share} of the budget"
    if whole := {name: len(tried) for name in found if (tried := whole_tries(config, folder, name))}:
        chosen += "".join(f"; {name} its best of {count}, with all of it" for name, count in whole.items())
    notes = [
        f"Equal {cell.budget}: {cell.amount:g}, batches of {cell.batch}, {cell.examples:,} different training texts, "
        f"the same trunk ({cell.layers} x {cell.width}); "
        + (f"{chosen}." if len(config.rates) > 1 else f"one learning rate, {min(config.rates):g}."),
        "± is half of a 95 % interval over seeds; without, there is one seed.",
    ]
    if any(encoding_of(name).causal for name in found):
        notes.append("Digits are said one by one by a trunk that only looks back; all else is filled in at once.")
    return notes
