"""A model's doubts about the cells of real tables: false alarms and planted slips, by the row alone and by the table.

    python benchmarks/table_doubts.py --model models/numerate-mini --data ../shared/data

Tables that no training saw: test tables of Wikipedia (`held_out_tables` of `mini_corpus`) and those of annual reports
(tatqa, second half; titles above a table are joined to its header). Each number that stands in a cell is scored as it
is, and with one slip, of a kind that is drawn. `row`: the model sees the row alone. `column`: cells that are usual in
their column are not reported. `confirmed`: nor cells that a total or a relation of columns confirms, which is what
`numerate check` does; the table has the slip in it when that is asked.
"""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import harness
import numpy as np
from mini_corpus import held_out_tables
from planted_slips import KINDS, planted
from slip_cases import header_of, is_decimal
from slip_scores import replaced
from slips import RATES

import numerate
from numerate.apps.consistency.confirmed import confirmed_cells
from numerate.apps.consistency.tables.table_numbers import NumberTable
from numerate.apps.documents import Document
from numerate.apps.plausible_scores import scores_of
from numerate.apps.shown_texts import units_of
from numerate.apps.table_mates import is_usual, mates_of
from numerate.modeling.number_calibration import group_of
from numerate.modeling.plausibility import hidden_numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.apps.shown_texts import Unit
    from numerate.modeling.plausibility import HiddenNumbers

WAYS = ("row", "column", "confirmed")
_SLIPS = [kind for kind in KINDS if kind != "unit"]
"""Another unit would need another pass."""


def reports(data: Path, split: str) -> list[tuple[Document, list[Unit]]]:
    """The tables of annual reports, with all their rows."""
    with gzip.open(data / "tatqa" / "dev.json.gz", "rt", encoding="utf-8") as file:
        contexts = json.load(file)
    half, found = len(contexts) // 2, []
    for index, each in enumerate(contexts[:half] if split == "dev" else contexts[half:]):
        table = each["table"]["table"]
        first = next((at for at, row in enumerate(table) if row[0].strip()), len(table))
        rows = [tuple(row) for row in table[first:]]
        document = Document(kind="table", header=tuple(header_of(table)), rows=rows, source=f"report {index}")
        found.append((document, [unit for unit in units_of(document) if any(map(str.isdigit, unit.text))]))
    return found


class Doubts:
    """P-values of numbers in cells, right and with slips, by each of `WAYS`."""

    def __init__(self, model: Any, tables: Sequence[tuple[Document, list[Unit]]], seed: int = 0) -> None:
        self.reader, self.kinds = model.processor.reader, model.processor.kinds
        self.calibration = model.calibration
        self.units = [(document, unit) for document, units in tables for unit in units]
        self.draw = random.Random(seed)
        self.right: dict[str, list[float]] = {way: [] for way in WAYS}
        self.wrong: dict[str, list[float]] = {way: [] for way in WAYS}
        self.slips: list[str] = []
        self.in_columns = 0
        for hidden in hidden_numbers(model, [unit.text for _, unit in self.units]):
            self._add(hidden)

    def _add(self, hidden: HiddenNumbers) -> None:
        chosen = [at for at in range(len(hidden)) if self._is_asked(hidden, at)]
        if not chosen:
            return
        numerals = [hidden.numerals[at] for at in chosen]
        self._judge(replaced(hidden, chosen, numerals), numerals, self.right)
        made = {at: self._slip(hidden, at) for at in chosen}
        slipped = [at for at in chosen if made[at] is not None]
        if slipped:
            self.slips += [made[at][0] for at in slipped]
            some = replaced(hidden, slipped, [made[at][1] for at in slipped])
            self._judge(some, [hidden.numerals[at] for at in slipped], self.wrong)

    def _is_asked(self, hidden: HiddenNumbers, at: int) -> bool:
        """Whether it is a number other than 0 inside of a cell that is asked about in this part of the row."""
        numeral, unit = hidden.numerals[at], self.units[hidden.rows[at]][1]
        inside = unit.keep[0] <= numeral.start < unit.keep[1] and unit.cells is not None
        if not inside or not numeral.value or not np.isfinite(numeral.value) or not is_decimal(numeral):
            return False
        return unit.cells.cell_at(numeral.start, numeral.end) is not None

    def _slip(self, hidden: HiddenNumbers, at: int) -> Any:
        """A slip that changes the number into another one that the model reads, and its kind; None if there is none."""
        text, numeral = self.units[hidden.rows[at]][1].text, hidden.numerals[at]
        for kind in self.draw.sample(_SLIPS, len(_SLIPS)):
            made = planted(text, numeral, kind, self.reader, self.draw)
            if made is not None and made[1] is not None and (self.kinds is None or made[1].kind in self.kinds):
                return kind, made[1]
        return None

    def _judge(self, hidden: HiddenNumbers, right: Sequence[Any], into: dict[str, list[float]]) -> None:
        """Adds the p-values; columns are looked up with the right numbers, which stand in the tables."""
        units = [self.units[row] for row in hidden.rows]
        mates = [mates_of(*place, numeral) for place, numeral in zip(units, right, strict=True)]
        groups = [group_of(each, cell=True) for each in hidden.numerals]
        scores = scores_of(hidden, self.calibration.forms, sizes=self.calibration.sizes)[0]
        row = self.calibration.p_values("odds", groups, scores["odds"])
        pairs = zip(hidden.numerals, mates, strict=True)
        usual = np.array([beside is not None and is_usual(each, beside) for each, beside in pairs], dtype=bool)
        by_way = {"row": row, "column": np.where(usual, 1.0, row), "confirmed": np.where(usual, 1.0, row)}
        for at, (document, unit) in enumerate(units):
            if by_way["column"][at] <= max(RATES) and _confirmed(document, unit, right[at], hidden.numerals[at]):
                by_way["confirmed"][at] = 1.0
        for way, values in by_way.items():
            into[way] += values.tolist()
        if into is self.right:
            self.in_columns += sum(each is not None for each in mates)

    def figures(self) -> dict[str, Any]:
        """Shares of cells that are reported at each rate: right ones, and those with slips, by kind."""
        slips = np.array(self.slips)
        found: dict[str, Any] = {"cells": len(self.right["row"]), "with a column": self.in_columns, "slips": len(slips)}
        for way in WAYS:
            right, wrong = np.array(self.right[way]), np.array(self.wrong[way])
            found[way] = {}
            for rate in RATES:
                kinds = {kind: float((wrong[slips == kind] <= rate).mean()) for kind in _SLIPS if (slips == kind).any()}
                found[way][f"{rate:g}"] = {
                    "false alarms": _share(right <= rate), "found": _share(wrong <= rate),
                    "found by kind": kinds,
                }  # fmt: skip
        return found


def _share(are: np.ndarray) -> float | None:
    """The share of those that are; None if there are none at all."""
    return float(are.mean()) if len(are) else None


def table_figures(model: Any, data: Path, most: int, split: str = "test", seed: int = 0) -> dict[str, Any]:
    """Figures of tables of Wikipedia, at most so many, and of annual reports."""
    tables = {"wiki": held_out_tables(data, split, most), "tatqa": reports(data, split)}
    return {name: Doubts(model, each, seed).figures() for name, each in tables.items()}


def _confirmed(document: Document, unit: Unit, right: Any, numeral: Any) -> bool:
    """Whether the table confirms a cell in which a number stands instead of the right one."""
    cell = None if unit.cells is None else unit.cells.cell_at(right.start, right.end)
    if cell is None or unit.row is None:
        return False
    column, start, end = cell
    rows = [list(row) for row in document.rows]
    written = rows[unit.row][column]
    rows[unit.row][column] = written[:start] + numeral.text + written[end:]
    table = NumberTable(Document(kind="table", header=document.header, rows=rows, caption=document.caption))
    return bool(confirmed_cells(table)[unit.row, column]) if column < len(document.header) else False


def main(given: Sequence[str] | None = None) -> None:
    parser = harness.parser_of(__doc__)
    parser.add_argument("--model", required=True, help="folder or Hub id of a calibrated model")
    parser.add_argument("--data", default="../shared/data", help="folder of the data sets")
    parser.add_argument("--split", default="test", choices=("dev", "test"), help="which tables")
    parser.add_argument("--tables", type=int, default=250, help="most tables of Wikipedia; four rows of each are asked")
    parser.add_argument("--seed", type=int, default=0, help="seed of the choice of slips")
    options = parser.parse_args(given)
    model = numerate.from_pretrained(options.model)
    result = table_figures(model, Path(options.data), options.tables, options.split, options.seed)
    print("| tables | cells | rate | false alarms: row, column, confirmed | slips found: row, column, confirmed |")
    print("|---|---:|---:|---|---|")
    for name, found in result.items():
        for rate in map("{:g}".format, RATES):
            alarms, hits = (
                ", ".join(f"{found[way][rate][what]:.3f}" for way in WAYS) for what in ("false alarms", "found")
            )
            print(f"| {name} | {found['cells']:,} | {rate} | {alarms} | {hits} |")
    harness.write(options, result)


if __name__ == "__main__":
    main()
