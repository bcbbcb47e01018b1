"""Tables 1 to 5 of xVal (Golkar et al. 2023) as grids, the paper's figures beside ours."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.registry import notations
from numerate_lab.engine.grid import Grid
from numerate_lab.engine.paper_tables import Options, Paper, check_name, load_yaml, merged, paper
from numerate_lab.registry import tasks

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["SETTINGS", "TABLES", "XVal", "grid_for", "paper_figures", "table1"]

SETTINGS = load_yaml("numerate_lab.papers.xval2023")
TABLES: tuple[str, ...] = tuple(SETTINGS["tables"])
_CENTRED = "centred-"


def table1() -> dict[str, tuple[int, int]]:
    """Tokens of a number and tokens of its notation, counted from the notations themselves.

    Example:
        >>> table1()["p1000"]
        (3, 918)
    """
    from numerate.numerals.numeral import Numeral

    found = {}
    for name in SETTINGS["tables"]["xval-table1"]["paper"]:
        notation: Any = notations["marker" if name == "xval" else name].build()
        pieces = notation.write(Numeral("-60.2", 0, 5, -60.2))
        vocabulary: Sequence[str] = getattr(notation, "core_vocabulary", notation.vocabulary)
        found[name] = (len(pieces), len(vocabulary))
    return found


def grid_for(
    table: str, scale: str = "small", encodings: Sequence[str] = (), seeds: int | None = None, source: str | None = None
) -> Grid:
    """The grid behind a table: one of `TABLES` but the first, which needs no training.

    `encodings` and `seeds` replace those of the table and its scale. `source` is a file of temperatures; None for
    synthetic ones.

    Example:
        >>> grid_for("xval-table5", "paper").trial.width
        768
    """
    check_name("table", table, TABLES[1:])
    own = SETTINGS["tables"][table]
    group = SETTINGS["groups"][own["group"]]
    check_name("scale", scale, list(group["scales"]))
    settings = merged(group["scales"][scale], {"trial": own.get("trial", {})}, own.get("scales", {}).get(scale, {}))
    if source is not None and own["task"] != "temperature":
        raise ValueError(f"{table} makes its records itself and takes no data, got {source!r}")
    registered = own["task"].partition(",")[0]
    made = tasks[registered]
    trial = made.trial(own["task"], settings["trial"] | ({} if source is None else {"source": source}))
    names = encodings or own.get("encodings", group["encodings"])
    folder = re.sub(r"[^A-Za-z0-9.-]+", "_", own["task"])
    if own["task"] == "temperature":
        folder += f"-{Path(source or 'synthetic').stem}"
    options: dict[str, Any] = {"rate_share": settings["rate_share"]} if "rate_share" in settings else {}
    if "budgets" in settings:
        options["variants"] = {name: _budget(name, amount) for name, amount in settings["budgets"].items()}
    return Grid(
        task=registered, encodings={name: made.encoding(name) for name in names}, rates=tuple(settings["rates"]),
        seeds=settings["seeds"] if seeds is None else seeds, name=folder, trial=trial, **options,
    )  # fmt: skip


def _budget(name: str, amount: float) -> dict[str, Any]:
    """The trial's fields of a budget; `centred-` before it stands for centred records."""
    fields = {"budget": name.removeprefix(_CENTRED), "amount": float(amount)}
    return fields | ({"centred": True} if name.startswith(_CENTRED) else {})


def paper_figures(table: str) -> tuple[dict[str, str], dict[str, dict[str, float]]]:
    """A table's columns, by key in a trial's figures or by variant, and the paper's figures by encoding and column."""
    settings = SETTINGS["tables"][table]
    labels, found = dict(settings["columns"]), {}
    for name, row in settings["paper"].items():
        row_of = row if isinstance(row, dict) else dict(zip(labels, row, strict=True))
        found[name] = {labels[key]: value for key, value in row_of.items()}
    return labels, found


@paper(*TABLES)
class XVal(Paper):
    """Tables 1 to 5."""

    def grids(self, table: str, options: Options) -> list[Grid]:
        """One grid for each table but the first."""
        if table == "xval-table1":
            return []
        return [grid_for(table, options.scale, options.models, options.seeds, options.data)]

    def write(self, table: str, grids: Sequence[Grid], options: Options) -> list[Path]:
        """Tables beside the paper's, a page, and the figures of Tables 4 and 5."""
        from numerate_lab.papers.xval2023 import xval_report as report

        output = Path(options.output)
        if table == "xval-table1":
            return report.write_table1(output)
        write = report.write_arithmetic if SETTINGS["tables"][table]["group"] == "arithmetic" else report.write_records
        return write(table, grids[0], output)
