"""Tables of LUNA (2022): the paper's figures beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.files import write_atomically
from numerate.report.tables import table as report_table
from numerate_lab.engine.grid import Grid, baselines_of, read_results
from numerate_lab.engine.page import figure_cell, write_comparison
from numerate_lab.engine.paper_tables import Paper, check_name, load_yaml, paper
from numerate_lab.registry import tasks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate_lab.engine.paper_tables import Options

__all__ = ["ProbeTable"]

_TABLES: dict[str, Any] = load_yaml("numerate_lab.papers.luna2022")["tables"]


@paper("luna-table2")
class ProbeTable(Paper):
    """Table 2: probes of number vectors.

    `--encoder` chooses encodings, `--model` adds rows of pretrained models, `--data` is a folder or file of tables, and
    `--corpus` one of the settings of Wallace et al. (2019) instead of tables, as `integers-99`.
    """

    def grids(self, table: str, options: Options) -> list[Grid]:
        """One grid for each setting."""
        plan = _TABLES[table]
        check_name("scale", options.scale, list(plan["scales"]))
        scale, task = plan["scales"][options.scale], tasks[plan["task"]]
        rows = {name: task.encoding(name) for name in options.encoders or plan["encodings"]}
        for model in options.models:
            rows[Path(model).name] = {"model": model}
        found = []
        for setting in options.corpora or ("tables",):
            fields = scale["trial"] | {"setting": setting, "source": options.data or "generated"}
            found.append(Grid(
                task=plan["task"], encodings=rows, rates=tuple(scale["rates"]), name=f"probes-{setting}",
                rate_share=scale.get("rate_share", 0.25), seeds=options.seeds or scale["seeds"], save=options.save,
                trial=task.trial(plan["task"], fields),
            ))  # fmt: skip
        return found

    def write(self, table: str, grids: Sequence[Grid], options: Options) -> list[Path]:
        """`<table>-<setting>.md` with the paper's figures beside ours, and the page of the comparison."""
        plan, written = _TABLES[table], []
        for grid in grids:
            results = read_results(grid, options.output)
            if not results:
                continue
            setting: str = grid.trial.setting  # type: ignore[attr-defined]
            columns = list(tasks[grid.task](grid.trial).shown())
            rows: dict[str, dict[str, Any]] = {
                name: {c.label: figure_cell([c.of(run.figures) for run in runs], c.form, c.factor) for c in columns}
                for name, runs in results.items()
            }
            for name, figures in baselines_of(grid, options.output).items():
                rows[name] = {c.label: figure_cell([c.of(figures)], c.form, c.factor) for c in columns}
            labels, best = [c.label for c in columns], {c.label: c.best for c in columns}
            theirs = plan["paper"] if setting == "tables" else {}
            known = {name: dict(zip(labels, row, strict=True)) for name, row in theirs.items() if name in rows}
            shown = report_table(
                rows, {c.label: c.form for c in columns}, best=best, paper=known or None,  # type: ignore[arg-type]
                corner="encoding", title=f"{plan['about']}: {setting}", notes=plan["notes"] if theirs else (),
            )  # fmt: skip
            own = setting if grid.name == f"probes-{setting}" else grid.name  # of another scale in the same folder
            file = Path(options.output) / f"{table}-{own}.md"
            written += [write_atomically(file, shown.markdown().encode()), *write_comparison(grid, options.output)]
        return written
