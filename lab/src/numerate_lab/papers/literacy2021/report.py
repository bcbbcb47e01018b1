"""Tables of masked words: figures of the papers beside ours, and every encoding compared with `default`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.files import write_atomically
from numerate.report.tables import Cell, Table, table
from numerate_lab.engine.grid import against_base, best_rate, finals, mean_and_spread
from numerate_lab.engine.page import figure_cell
from numerate_lab.engine.paper_tables import load_yaml
from numerate_lab.engine.trial import columns_of_split, read_trial
from numerate_lab.tasks.masked_prediction.prediction_setup import PLAIN, load_split
from numerate_lab.tasks.masked_prediction.word_scores import HITS, WordScores, corrected_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numerate_lab.engine.grid import Grid

__all__ = [
    "BASE", "base_table", "best_on_dev", "corrected_table", "edge_notes", "figures_of", "magnitude_table", "title_of",
    "word_table",
]  # fmt: skip

_NOTES = load_yaml("numerate_lab.papers.literacy2021")["notes"]
BASE = "default"
"""The encoding that all others are compared with."""
_MEASURES: dict[str, tuple[str, str, Any]] = {
    "nats": ("nats", ".4f", "min"), "PPL e": ("ppl", ".2f", "min"), "PPL": ("ppl_2nats", ".2f", "min"),
    **{f"H@{k}": (f"hit@{k}", ".2f", "max") for k in HITS},
}  # fmt: skip
"""Columns of tables: figure, format, and which value is best."""
COLUMNS = list(_MEASURES)[2:]
"""Columns of the papers; their perplexity is 2 to the power of nats."""
AIMS = {"head": -8.0, "all": -5.0}
"""Aimed change of the nats of unit words against `default` in percent, by what is trained."""
SLACK = 0.005
"""Accepted loss in nats on all words and on texts without numbers."""


def edge_notes(grid: Grid, output: str | Path) -> list[str]:
    """A note on encodings whose chosen rate is the lowest or the highest: a rate beyond might be better."""
    if len(grid.rates) < 3:
        return []
    chosen = {name: best_rate(grid, output, name) for name in grid.encodings if finals(grid, output, name)}
    shown = []
    for end, edge in (("lowest", min(grid.rates)), ("highest", max(grid.rates))):
        if names := [name for name, rate in chosen.items() if rate == edge]:
            shown.append(f"the {end} of {len(grid.rates)} rates: {', '.join(names)}")
    return [f"Chosen at an edge, so that one beyond it might be better: {'; '.join(shown)}."] if shown else []


def title_of(grid: Grid) -> str:
    """Description of a grid in titles."""
    trial: Any = grid.trial
    trained = "frozen encoder" if trial.train == "head" else "all weights trained"
    chosen = f", rates chosen by {grid.choice} words" if grid.choice else ""
    return f"{grid.name}, {trained}, {grid.seeds} seed{'' if grid.seeds == 1 else 's'}{chosen}"


def best_on_dev(grid: Grid, output: str | Path, group: str | None, apart: Sequence[str] = (BASE,)) -> str:
    """The encoding, except those `apart`, whose try of its chosen rate did best on dev; empty if no rates were tried.

    The nats of a group of words count, or the error of the task if the group is None.
    """
    found, folder = {}, Path(output) / grid.name
    for encoding in grid.encodings:
        tries = {} if encoding in apart else grid.tries(encoding)
        results: dict[float, Any] = {rate: read_trial(trial, folder) for rate, trial in tries.items()}
        if results and all(results.values()):
            chosen = results[best_rate(grid, output, encoding)]
            dev, task = chosen.figures["dev"], grid.task_class(chosen.config)
            error = dev[group]["nats"] if group else task.error(chosen.figures)
            found[encoding] = float("inf") if error is None else error
    return min(found, key=found.__getitem__, default="")


def figures_of(figures: Mapping[str, Any], part: str) -> dict[str, Any] | None:
    """Figures of a group of words or, for `plain`, of texts without numbers; None if a trial has none."""
    split, group = (PLAIN, "all") if part == PLAIN else ("test", part)
    return figures.get(split, {}).get(group)


def word_table(about: str, grid: Grid, output: str | Path, part: str, paper: Mapping[str, Any]) -> Table:
    """A table as in the papers, for one group of words or `plain` (`part`): means over seeds.

    `about` is the first part of the title; `paper` has the paper's figures by encoding, in the order of `COLUMNS`.
    """
    rows, missing, fewer = {}, [], []
    for encoding in grid.encodings:
        known = [figures_of(result.figures, part) or {} for result in finals(grid, output, encoding)]
        if 0 < len(known) < grid.seeds:
            fewer.append(f"{encoding} {len(known)}")
        if known and known[0].get("missing"):
            missing.append(f"{encoding} {known[0]['missing']}")
        cells = {name: figure_cell([row.get(key) for row in known], form) for name, (key, form, _) in _MEASURES.items()}
        rows[encoding] = cells
    listed = {"missing": ", ".join(missing), "fewer": ", ".join(fewer)}
    notes = [_NOTES["perplexity"], *(_NOTES[key].format(names) for key, names in listed.items() if names)]
    notes += edge_notes(grid, output)
    theirs = {name: dict(zip(COLUMNS, row, strict=True)) for name, row in paper.items()}
    forms: Any
    best: Any
    forms, best = ({name: settings[index] for name, settings in _MEASURES.items()} for index in (1, 2))
    title = f"{about}: {part}, {title_of(grid)}"
    return table(rows, forms, best=best, paper=theirs or None, corner="encoder", title=title, notes=notes)


def magnitude_table(grid: Grid, output: str | Path) -> Table | None:
    """Nats of all words by order of magnitude of the number, means over seeds; None for fewer than two orders."""
    rows, counts = {}, {}
    for encoding in grid.encodings:
        known = [result.figures["test"] for result in finals(grid, output, encoding)]
        powers = [group for group in known[0] if re.fullmatch(r"1e-?\d+", group)] if known else []
        counts |= {group: known[0][group]["count"] for group in powers if known[0][group]["count"]}
        means = {group: mean_and_spread([row[group]["nats"] for row in known if group in row])[0] for group in powers}
        rows[encoding] = {group: None if mean != mean else mean for group, mean in means.items()}
    order = sorted(counts, key=lambda group: int(group[2:]))
    if len(order) < 2:
        return None
    note = "Words: " + ", ".join(f"{counts[group]:,} of {group}" for group in order) + "."
    title = f"nats by magnitude of the number: all, {title_of(grid)}"
    return table(rows, dict.fromkeys(order, ".4f"), best="min", corner="encoder", title=title, notes=[note])


def base_table(grid: Grid, output: str | Path) -> Table:
    """Differences of nats against `default` with paired 99 % intervals, and the tests of the papers."""
    tests = {name: against_base(grid, output, name) for name in grid.encodings if name != BASE}
    forms = {f"{group}, nats": "+.4f" for group in ("all", "unit", "whole", "near", "moves", PLAIN)}
    shares = ("unit", "unit told once", "unit restated")
    forms |= {"unit, %": "+.2f", "unit meant, %": "+.2f"} | {f"{group}, %": "+.2f" for group in shares[1:]}
    rows: dict[str, dict[str, Any]] = {}
    for encoding, found in tests.items():
        row = rows[encoding] = {}
        for group, test in found.items():
            if f"{group}, nats" in forms and test["count"]:
                row[f"{group}, nats"] = _interval(test["nats_difference"], "+.4f")
        unit, every = found.get("unit"), found.get("all")
        for group in shares:
            if (test := found.get(group)) is not None and test["ratio"] is not None:
                row[f"{group}, %"] = _interval(test["nats_change"], "+.2f", 100)
        meaning = None if unit is None or unit["ratio"] is None else unit.get("meaning_change")
        if meaning is not None and meaning["estimate"] is not None:
            row["unit meant, %"] = _interval(meaning, "+.2f", 100)
        if every is not None:
            row["hit@1, %"] = _interval(every["hit"], ".2f", 100)
            row |= {key.replace("_", "-"): every[key]["p"] for key in ("t_test", "binomial", "mcnemar")}
    columns = {name: form for name, form in forms.items() if any(name in row for row in rows.values())}
    columns |= {"hit@1, %": ".2f", "t-test": ".1e", "binomial": ".1e", "mcnemar": ".1e"}
    meant = _NOTES["meant"] if "unit meant, %" in columns else ""
    notes = [_NOTES["base"].format(meant=meant), *_aim_notes(grid, output, tests)]
    return table(rows, columns, corner=f"against {BASE}", title=title_of(grid), notes=notes)


def _interval(test: Mapping[str, float], form: str, factor: float = 1) -> Cell:
    low, high = factor * test["low"], factor * test["high"]
    return Cell(factor * test["estimate"], f" [{low:{form}}, {high:{form}}]")


def _aim_notes(grid: Grid, output: str | Path, tests: Mapping[str, Any]) -> list[str]:
    """Notes on the encodings that reach our aim, and on the best encoding on dev."""
    trial: Any = grid.trial
    aim = AIMS[trial.train]
    met, sure = [], []
    for name, found in tests.items():
        unit, *others = known = [found.get(group) or {} for group in ("unit", "all", PLAIN)]
        if not all(each.get("count") for each in known) or unit["ratio"] is None:
            continue
        estimate, high = (100 * unit["nats_change"][key] for key in ("estimate", "high"))
        if estimate <= aim and high < 0 and all(each["nats_difference"]["estimate"] <= SLACK for each in others):
            met.append(name)
            sure += [name] if high <= aim else []
    named = {"met": ", ".join(met) or "none", "sure": ", ".join(sure) or "none"}
    lines = [_NOTES["aim"].format(aim=aim, slack=SLACK, **named)]
    best = best_on_dev(grid, output, "unit")
    return [*lines, f"Fewest nats of unit words on dev, in the tries of rates: {best}."] if best else lines


def corrected_table(grid: Grid, output: str | Path, setting: str, most: int = 20) -> Path:
    """Writes the words that an encoding predicts correctly and `default` does not (Table 5 of Thawani et al.), seed 0.

    There are at most `most` words per encoding, largest gain first. `setting` is the last part of the file name.
    """
    trained = {name: found[0] for name in grid.encodings if (found := finals(grid, output, name))}
    shown, scores = [], {}
    for encoding, result in trained.items() if BASE in trained else ():
        if not result.has_columns:
            name = result.config.name
            raise ValueError(f"{name}: its predictions were not kept; delete {name}.json to have it trained again")
        scores[encoding] = WordScores.of(columns_of_split(result.columns(), "test"))
    sentences, positions = load_split(grid.of(next(iter(grid.encodings))), "test")
    for encoding in (name for name in scores if name != BASE):
        one, other, rows = scores[encoding], scores[BASE], {}
        for index in corrected_words(one, other, most).tolist():
            sentence = sentences[int(positions.sentence[index])]
            start, end = int(positions.start[index]), int(positions.end[index])
            text = f"{sentence.text[:start]}[{sentence.text[start:end]}]{sentence.text[end:]}"
            number = "" if sentence.numeral is None else sentence.numeral.text
            rows[text] = {"number": number, BASE: other.nll[index], encoding: one.nll[index]}
        columns = {"number": "", BASE: ".3f", encoding: ".3f"}
        title = f"Corrected by {encoding}, nats, {title_of(grid)}"
        shown.append(table(rows, columns, corner="sentence", title=title).markdown())
    return write_atomically(Path(output) / f"literacy-table5-{setting}.md", "\n".join(shown).encode())
