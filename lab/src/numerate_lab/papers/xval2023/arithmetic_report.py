"""xVal's Tables 1 to 3, rendered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numerate.files import write_atomically
from numerate.report.tables import Cell, table
from numerate.training.results import write
from numerate_lab.engine.comparison_page import write_comparison
from numerate_lab.engine.grid import folder_of, mean_and_spread, read_cells
from numerate_lab.papers.xval2023.arithmetic_tables import PAPER_TABLE1, paper_of, table1

if TYPE_CHECKING:
    from pathlib import Path

    from numerate_lab.engine.grid import CompareConfig

__all__ = ["write_table", "write_table1"]


def write_table1(output: Path) -> list[Path]:
    """Table 1, which needs no training: `xval-table1.json` and `.md`."""
    ours = {name: {"tokens a number": t, "vocabulary": v} for name, (t, v) in table1().items()}
    theirs = {name: {"tokens a number": t, "vocabulary": v} for name, (t, v) in PAPER_TABLE1.items()}
    shown = table(ours, {"tokens a number": ".0f", "vocabulary": ",.0f"}, paper=theirs, corner="encoding")
    write(output / "xval-table1.json", config={"table": "xval-table1"}, figures=ours)
    return [output / "xval-table1.json", write_atomically(output / "xval-table1.md", shown.markdown().encode())]


def write_table(name: str, config: CompareConfig, output: Path, rates: dict[str, float]) -> list[Path]:
    """Table 2 or 3: adjusted R² of each column beside the paper's, and the share of exact answers below."""
    labels, paper = paper_of(name)
    cells = read_cells(config, folder_of(output, config), rates)
    tables = []
    for metric, form, factor, theirs in (("adjusted_r2", ".5f", 1.0, paper), ("exact_match", ".2f", 100.0, None)):
        rows: dict[str, dict[str, Any]] = {}
        for encoding, runs in cells.items():
            known = [run["test by task"] for run in runs if "test by task" in run]
            rows[encoding] = {}
            for task, label in labels.items():
                mean, half = mean_and_spread([part[task][metric]["value"] for part in known if task in part])
                mark = "" if half is None else f" ± {factor * half:{form}}"
                rows[encoding][label] = Cell(None if mean != mean else factor * mean, mark)
        title = f"{name}: {'adjusted R²' if theirs else 'exact answers, %'}"
        columns = dict.fromkeys(labels.values(), form)
        tables.append(table(rows, columns, best="max", paper=theirs, corner="encoding", title=title))
    text = "\n".join(shown.markdown() for shown in tables)
    files = write_comparison(config, output, rates)
    return [write_atomically(output / f"{name}.md", text.encode()), *files]
