"""Masked words and masked numbers as tables: the papers' figures beside ours, and every encoder against `default`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from numerate.files import write_atomically
from numerate.report.tables import Cell, Table, table
from numerate.training.results import write
from numerate_lab.engine.grid import mean_and_spread
from numerate_lab.papers.literacy2021.masked_number_report import number_table
from numerate_lab.papers.literacy2021.prediction_grid import (
    BASE,
    best_on_dev,
    best_rate,
    comparison,
    finals_of,
    kept,
    not_kept,
)
from numerate_lab.papers.literacy2021.prediction_tables import COLUMNS, about, paper_of, parts_of
from numerate_lab.papers.literacy2021.report_parts import edges, mean_cell, title_of
from numerate_lab.tasks.masked_prediction.prediction_setup import PLAIN

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numerate_lab.papers.literacy2021.prediction_grid import LiteracyGrid

__all__ = ["against_base", "magnitude_table", "mended_table", "word_table", "write_tables"]

_MEASURES = {
    "nats": "nats", "PPL e": "ppl", "PPL": "ppl_2nats", "H@1": "hit@1", "H@5": "hit@5", "H@20": "hit@20",
    "H@100": "hit@100",
}  # fmt: skip
_FORMS = {"nats": ".4f", "PPL e": ".2f", **COLUMNS}
_BEST: dict[str, Any] = dict.fromkeys(("nats", "PPL e", "PPL"), "min") | dict.fromkeys(list(COLUMNS)[1:], "max")
AIMS = {"head": -8.0, "all": -5.0}
"""By how many per cent the nats of unit words are to change against `default`, with a frozen encoder and without."""
SLACK = 0.005
"""So many nats worse may all words be, and texts without numbers."""
_GROUPS = ("all", "unit", "whole", "near", "moves")


def word_table(name: str, grid: LiteracyGrid, output: str | Path, part: str) -> Table:
    """A table as the papers have it, nats and perplexity first: one group of words, means over seeds."""
    split, group = (PLAIN, "all") if part == PLAIN else ("test", part)
    rows, missing, fewer = {}, {}, {}
    for encoder in grid.encoders:
        known = [cell["results"].get(split, {}).get(group, {}) for cell in finals_of(grid, encoder, output)]
        if 0 < len(known) < grid.seeds:
            fewer[encoder] = len(known)
        if known and known[0].get("missing"):
            missing[encoder] = known[0]["missing"]
        rows[encoder] = {
            column: mean_cell([row.get(key) for row in known], _FORMS[column]) for column, key in _MEASURES.items()
        }
    title = f"{about(name)}: {part}, {title_of(grid)}"
    notes = ["PPL e is e to the power of nats; PPL is 2 to it, as the papers print it. ±: 95 % over seeds."]
    if missing:
        counts = ", ".join(f"{encoder} {count}" for encoder, count in missing.items())
        notes.append(
            f"Words that an encoder has no token for, left out of its row (comparisons leave both out): {counts}."
        )
    if fewer:
        notes.append(f"Fewer seeds: {', '.join(f'{encoder} {count}' for encoder, count in fewer.items())}.")
    notes += edges(grid, output)
    paper = paper_of(name, grid.cell.source, part) or None
    return table(rows, _FORMS, best=_BEST, paper=paper, corner="encoder", title=title, notes=notes)


def magnitude_table(grid: LiteracyGrid, output: str | Path) -> Table | None:
    """Nats of all words by the power of ten of their sentence's number, means over seeds; None if there are not two."""
    rows: dict[str, dict[str, float | None]] = {}
    counts: dict[str, int] = {}
    for encoder in grid.encoders:
        known = [cell["results"].get("test", {}) for cell in finals_of(grid, encoder, output)]
        powers = [group for group in known[0] if re.fullmatch(r"1e-?\d+", group)] if known else []
        counts |= {group: known[0][group]["count"] for group in powers if known[0][group]["count"]}
        rows[encoder] = {group: _finite_mean([row[group]["nats"] for row in known if group in row]) for group in powers}
    order = sorted(counts, key=lambda group: int(group[2:]))
    if len(order) < 2:
        return None
    note = "Words: " + ", ".join(f"{counts[group]:,} of {group}" for group in order) + "."
    title = f"nats by magnitude of the number: all, {title_of(grid)}"
    formats = dict.fromkeys(order, ".4f")
    return table(rows, formats, best="min", corner="encoder", title=title, notes=[note])


def _finite_mean(values: Sequence[float | None]) -> float | None:
    mean = mean_and_spread(list(values))[0]
    return None if mean != mean else mean


def against_base(grid: LiteracyGrid, output: str | Path) -> Table:
    """What each encoder gains over `default`: differences of nats with paired 99 % intervals, and the papers' tests."""
    shown, rows = [*_GROUPS, PLAIN], {}
    for encoder in grid.encoders:
        if encoder == BASE:
            continue
        found = comparison(grid, encoder, output)
        row: dict[str, Any] = {}
        for group in shown:
            if (test := found.get(group)) is not None and test["count"]:
                difference = test["nats_difference"]
                mark = f" [{difference['low']:+.4f}, {difference['high']:+.4f}]"
                row[f"{group}, nats"] = Cell(difference["estimate"], mark)
        unit, every = found.get("unit"), found.get("all")
        if unit is not None and unit["ratio"] is not None:
            row["unit, %"] = _percent(unit["nats_change"])
            if (meant := unit.get("meaning_change")) is not None and meant["estimate"] is not None:
                row["unit meant, %"] = _percent(meant)
        if every is not None:
            hit = every["hit"]
            row["hit@1, %"] = Cell(100 * hit["estimate"], f" [{100 * hit['low']:.2f}, {100 * hit['high']:.2f}]")
            row |= {key.replace("_", "-"): every[key]["p"] for key in ("t_test", "binomial", "mcnemar")}
        rows[encoder] = row
    columns = {f"{group}, nats": "+.4f" for group in shown if any(f"{group}, nats" in row for row in rows.values())}
    columns |= {name: "+.2f" for name in ("unit, %", "unit meant, %") if any(name in row for row in rows.values())}
    columns |= {"hit@1, %": ".2f", "t-test": ".1e", "binomial": ".1e", "mcnemar": ".1e"}
    notes = (
        "Less is better. whole: unit words of one token; what other pieces of a word give away is not in it. "
        f"{'unit meant: any spelling of the same unit is right. ' if 'unit meant, %' in columns else ''}"
        "Brackets: 99 %, sentences drawn with replacement, losses averaged over seeds. "
        "hit@1, with the papers' bootstrap of single words, and the tests (p) are of all words.",
        *_aim(grid, output),
    )
    return table(rows, columns, corner=f"against {BASE}", title=title_of(grid), notes=notes)


def _percent(change: dict[str, float]) -> Cell:
    return Cell(100 * change["estimate"], f" [{100 * change['low']:+.2f}, {100 * change['high']:+.2f}]")


def _aim(grid: LiteracyGrid, output: str | Path) -> list[str]:
    """Which encoders come as far as we want to come, and which was best on dev."""
    aim = AIMS[grid.cell.train]
    found = {name: comparison(grid, name, output) for name in grid.encoders if name != BASE}
    met = [name for name, tests in found.items() if _meets(tests, aim)]
    sure = [name for name in met if 100 * found[name]["unit"]["nats_change"]["high"] <= aim]
    lines = [
        f"Aim: unit words {aim:+.0f} %, their 99 % interval below 0, all words and texts without numbers at most "
        f"+{SLACK} nats. Met by: {', '.join(met) or 'none'}. With the whole interval of unit words beyond "
        f"{aim:+.0f} %: {', '.join(sure) or 'none'}."
    ]
    best = best_on_dev(grid, output)
    return [*lines, f"Fewest nats of unit words on dev, in the tries of rates: {best}."] if best else lines


def _meets(tests: dict[str, Any], aim: float) -> bool:
    known = [tests.get(group) or {} for group in ("unit", "all", PLAIN)]
    if not all(each.get("count") for each in known) or known[0]["ratio"] is None:
        return False
    unit = known[0]["nats_change"]
    near = all(each["nats_difference"]["estimate"] <= SLACK for each in known[1:])
    return near and 100 * unit["estimate"] <= aim and unit["high"] < 0


def mended_table(grid: LiteracyGrid, encoder: str, output: str | Path, most: int = 20) -> Table:
    """Words that an encoder gets right and `default` does not (Table 5 of Thawani et al.), first seed of both.

    Args:
        grid: With both of them, trained.
        encoder: Which.
        output: The folder of the grids.
        most: How many, those first whose loss falls most.
    """
    from numerate_lab.tasks.masked_prediction.prediction_setup import load_split
    from numerate_lab.tasks.masked_prediction.word_scores import WordScores, mended

    firsts = [finals_of(grid, name, output)[0] for name in (encoder, BASE)]
    for cell in (cell for cell in firsts if not kept([cell])):
        raise ValueError(not_kept(cell))
    one, other = (WordScores.load(cell["predictions"]["test"]) for cell in firsts)
    sentences, positions = load_split(grid.finals(encoder, grid.rates[0])[0], "test")
    rows = {}
    for index in mended(one, other, most).tolist():
        sentence = sentences[int(positions.sentence[index])]
        start, end = int(positions.start[index]), int(positions.end[index])
        text = f"{sentence.text[:start]}[{sentence.text[start:end]}]{sentence.text[end:]}"
        number = "" if sentence.numeral is None else sentence.numeral.text
        rows[text] = {"number": number, BASE: other.nll[index], encoder: one.nll[index]}
    columns = {"number": "", BASE: ".3f", encoder: ".3f"}
    return table(rows, columns, corner="sentence", title=f"Mended by {encoder}, nats, {title_of(grid)}")


def write_tables(name: str, grids: Sequence[LiteracyGrid], output: Path) -> list[Path]:
    """Writes `<name>-<setting>.md` and `.json` of what is there, for each setting of the grids.

    Tables of one corpus are not written over by those of another, which may be trained at another time.
    """
    settings = dict.fromkeys(grid.setting for grid in grids)
    return [
        file
        for setting in settings
        for file in _write_table(name, setting, [grid for grid in grids if grid.setting == setting], output)
    ]


def _write_table(name: str, setting: str, grids: Sequence[LiteracyGrid], output: Path) -> list[Path]:
    shown: list[Table] = []
    figures: dict[str, Any] = {}
    for grid in grids:
        if grid.cell.predict == "words":
            shown += [word_table(name, grid, output, part) for part in parts_of(name)]
            if "other" in parts_of(name) and (sizes := magnitude_table(grid, output)) is not None:
                shown.append(sizes)
            shown += [against_base(grid, output)] if len(grid.encoders) > 1 and BASE in grid.encoders else []
        else:
            shown.append(number_table(grid, output))
        figures[grid.name] = {}
        for encoder in grid.encoders:
            if not (cells := finals_of(grid, encoder, output)):
                continue
            figures[grid.name][encoder] = {
                "rate": best_rate(grid, encoder, output / grid.name),
                "seeds": {cell["name"]: _shown(name, grid, cell["results"]) for cell in cells},
            }
    config = {"table": name, "grids": [_without_paths(grid) for grid in grids]}
    stem = f"{name}-{setting}" if setting else name
    write(output / f"{stem}.json", config=config, figures=figures)
    text = "\n".join(table.markdown() for table in shown)
    return [write_atomically(output / f"{stem}.md", text.encode()), output / f"{stem}.json"]


def _shown(name: str, grid: LiteracyGrid, results: dict[str, Any]) -> dict[str, Any]:
    """What a table shows of a cell; all the rest is in the cell's own file, and comparisons are in theirs."""
    if grid.cell.predict != "words":
        return {key: figures for key, figures in results["test"].items() if key == "model"}
    parts = {part: ("test", part) if part != PLAIN else (PLAIN, "all") for part in parts_of(name)}
    return {part: results.get(split, {}).get(group) for part, (split, group) in parts.items()}


def _without_paths(grid: LiteracyGrid) -> dict[str, Any]:
    """A grid's config with names for folders: where they lay is no part of a result."""
    found = grid.to_dict()
    for key in ("source", "model", "plain"):
        if found["cell"][key] is not None:
            found["cell"][key] = found["cell"][key].rstrip("/").rpartition("/")[2]
    return found
