"""Tables of masked words: figures of the papers beside ours, and every encoding compared with `default`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.files import write_atomically
from numerate.report.tables import Cell, Table, table
from numerate.training.results import write
from numerate_lab.engine.grid import against_base, best_rate, finals, mean_and_spread
from numerate_lab.engine.trial import columns_of_split, read_trial
from numerate_lab.tasks.masked_prediction.prediction_setup import PLAIN, load_split
from numerate_lab.tasks.masked_prediction.word_scores import WordScores, corrected_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numerate_lab.engine.grid import Grid

__all__ = [
    "BASE", "base_table", "best_on_dev", "corrected_table", "edge_notes", "magnitude_table", "mean_cell", "title_of",
    "word_table", "write_tables",
]  # fmt: skip

BASE = "default"
"""The encoding that all others are compared with."""
COLUMNS = {"PPL": ".2f", "H@1": ".2f", "H@5": ".2f", "H@20": ".2f", "H@100": ".2f"}
"""Columns of the papers; their perplexity is 2 to the power of nats."""
_MEASURES = {
    "nats": "nats", "PPL e": "ppl", "PPL": "ppl_2nats", "H@1": "hit@1", "H@5": "hit@5", "H@20": "hit@20",
    "H@100": "hit@100",
}  # fmt: skip
_FORMS = {"nats": ".4f", "PPL e": ".2f", **COLUMNS}
_BEST: dict[str, Any] = dict.fromkeys(("nats", "PPL e", "PPL"), "min") | dict.fromkeys(list(COLUMNS)[1:], "max")
AIMS = {"head": -8.0, "all": -5.0}
"""Aimed change of the nats of unit words against `default` in percent, by what is trained."""
SLACK = 0.005
"""Accepted loss in nats on all words and on texts without numbers."""
_GROUPS = ("all", "unit", "whole", "near", "moves")


def edge_notes(grid: Grid, output: str | Path) -> list[str]:
    """A note on encodings whose chosen rate is the lowest or the highest: a rate beyond might be better."""
    if len(grid.rates) < 3:
        return []
    ends: dict[str, list[str]] = {"lowest": [], "highest": []}
    for encoding in grid.encodings:
        if finals(grid, output, encoding):
            rate = best_rate(grid, output, encoding)
            end = {min(grid.rates): "lowest", max(grid.rates): "highest"}.get(rate)
            if end is not None:
                ends[end].append(encoding)
    shown = [f"the {end} of {len(grid.rates)} rates: {', '.join(names)}" for end, names in ends.items() if names]
    return [f"Chosen at an edge, so that one beyond it might be better: {'; '.join(shown)}."] if shown else []


def mean_cell(values: Sequence[float | None], form: str) -> Cell | None:
    """Mean over seeds with half of its 95 % interval; None if no seed has a value."""
    mean, half = mean_and_spread(list(values))
    return None if mean != mean else Cell(mean, "" if half is None else f" ± {half:{form}}")


def title_of(grid: Grid) -> str:
    """Description of a grid in titles."""
    trial: Any = grid.trial
    trained = "frozen encoder" if trial.train == "head" else "all weights trained"
    return f"{grid.name}, {trained}, {grid.seeds} seed{'' if grid.seeds == 1 else 's'}"


def best_on_dev(grid: Grid, output: str | Path, group: str | None, apart: Sequence[str] = (BASE,)) -> str:
    """The encoding whose try of its chosen rate did best on dev; empty if no rates were tried.

    Args:
        grid: The grid.
        output: The folder above the grid's.
        group: Group of words whose nats count; None for the error of the task.
        apart: Encodings to exclude.
    """
    found, folder = {}, Path(output) / grid.name
    for encoding in grid.encodings:
        tries = {} if encoding in apart else grid.tries(encoding)
        if tries and all(read_trial(trial, folder) is not None for trial in tries.values()):
            chosen = read_trial(tries[best_rate(grid, output, encoding)], folder)
            assert chosen is not None  # noqa: S101 (for the type checker)
            figures = chosen.figures
            error = figures["dev"][group]["nats"] if group else grid.task_class(chosen.config).error(figures)
            found[encoding] = float("inf") if error is None else error
    return min(found, key=found.__getitem__, default="")


def word_table(about: str, grid: Grid, output: str | Path, part: str, paper: Mapping[str, Any]) -> Table:
    """A table as in the papers, for one group of words: means over seeds.

    Args:
        about: First part of the title.
        grid: The grid.
        output: The folder above the grid's.
        part: Group of words, or `plain` for texts without numbers.
        paper: Figures of the paper by encoding, in the order of `COLUMNS`.
    """
    split, group = (PLAIN, "all") if part == PLAIN else ("test", part)
    rows, missing, fewer = {}, {}, {}
    for encoding in grid.encodings:
        known = [result.figures.get(split, {}).get(group, {}) for result in finals(grid, output, encoding)]
        if 0 < len(known) < grid.seeds:
            fewer[encoding] = len(known)
        if known and known[0].get("missing"):
            missing[encoding] = known[0]["missing"]
        rows[encoding] = {
            column: mean_cell([row.get(key) for row in known], _FORMS[column]) for column, key in _MEASURES.items()
        }
    notes = ["PPL e is e to the power of nats; PPL is 2 to the power of nats, as in the papers. ±: 95 % over seeds."]
    if missing:
        counts = ", ".join(f"{encoding} {count}" for encoding, count in missing.items())
        notes.append(f"Words without a token, left out of the row (comparisons leave out those of both): {counts}.")
    if fewer:
        notes.append(f"Fewer seeds: {', '.join(f'{encoding} {count}' for encoding, count in fewer.items())}.")
    notes += edge_notes(grid, output)
    theirs = {name: dict(zip(COLUMNS, row, strict=True)) for name, row in paper.items()}
    title = f"{about}: {part}, {title_of(grid)}"
    return table(rows, _FORMS, best=_BEST, paper=theirs or None, corner="encoder", title=title, notes=notes)


def magnitude_table(grid: Grid, output: str | Path) -> Table | None:
    """Nats of all words by order of magnitude of the number, means over seeds; None for fewer than two orders."""
    rows: dict[str, dict[str, float | None]] = {}
    counts: dict[str, int] = {}
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
    shown, rows = [*_GROUPS, PLAIN], {}
    tests = {name: against_base(grid, output, name) for name in grid.encodings if name != BASE}
    for encoding, found in tests.items():
        row: dict[str, Any] = {}
        for group in shown:
            if (test := found.get(group)) is not None and test["count"]:
                difference = test["nats_difference"]
                mark = f" [{difference['low']:+.4f}, {difference['high']:+.4f}]"
                row[f"{group}, nats"] = Cell(difference["estimate"], mark)
        unit, every = found.get("unit"), found.get("all")
        if unit is not None and unit["ratio"] is not None:
            row["unit, %"] = _percent(unit["nats_change"])
            if (meaning := unit.get("meaning_change")) is not None and meaning["estimate"] is not None:
                row["unit meant, %"] = _percent(meaning)
        if every is not None:
            hit = every["hit"]
            row["hit@1, %"] = Cell(100 * hit["estimate"], f" [{100 * hit['low']:.2f}, {100 * hit['high']:.2f}]")
            row |= {key.replace("_", "-"): every[key]["p"] for key in ("t_test", "binomial", "mcnemar")}
        rows[encoding] = row
    columns = {f"{group}, nats": "+.4f" for group in shown if any(f"{group}, nats" in row for row in rows.values())}
    columns |= {name: "+.2f" for name in ("unit, %", "unit meant, %") if any(name in row for row in rows.values())}
    columns |= {"hit@1, %": ".2f", "t-test": ".1e", "binomial": ".1e", "mcnemar": ".1e"}
    notes = (
        "Less is better. whole: unit words of a single token, which no other piece of the word reveals. "
        f"{'unit meant: all spellings of the same unit count. ' if 'unit meant, %' in columns else ''}"
        "Brackets: 99 % intervals, bootstrap over sentences, losses averaged over seeds. "
        "hit@1, with the papers' bootstrap over words, and the tests (p-values) are for all words.",
        *_aim_notes(grid, output, tests),
    )
    return table(rows, columns, corner=f"against {BASE}", title=title_of(grid), notes=notes)


def _percent(change: dict[str, float]) -> Cell:
    return Cell(100 * change["estimate"], f" [{100 * change['low']:+.2f}, {100 * change['high']:+.2f}]")


def _aim_notes(grid: Grid, output: str | Path, tests: Mapping[str, Any]) -> list[str]:
    """Notes on the encodings that reach our aim, and on the best encoding on dev."""
    trial: Any = grid.trial
    aim = AIMS[trial.train]
    met = [name for name, found in tests.items() if _meets(found, aim)]
    sure = [name for name in met if 100 * tests[name]["unit"]["nats_change"]["high"] <= aim]
    lines = [
        f"Aim: unit words {aim:+.0f} %, with a 99 % interval below 0, all words and texts without numbers at most "
        f"+{SLACK} nats. Met by: {', '.join(met) or 'none'}. With the whole interval of unit words beyond "
        f"{aim:+.0f} %: {', '.join(sure) or 'none'}."
    ]
    best = best_on_dev(grid, output, "unit")
    return [*lines, f"Fewest nats of unit words on dev, in the tries of rates: {best}."] if best else lines


def _meets(tests: dict[str, Any], aim: float) -> bool:
    known = [tests.get(group) or {} for group in ("unit", "all", PLAIN)]
    if not all(each.get("count") for each in known) or known[0]["ratio"] is None:
        return False
    unit = known[0]["nats_change"]
    near = all(each["nats_difference"]["estimate"] <= SLACK for each in known[1:])
    return near and 100 * unit["estimate"] <= aim and unit["high"] < 0


def corrected_table(grid: Grid, output: str | Path, setting: str, most: int = 20) -> Path:
    """Writes the words that an encoding predicts correctly and `default` does not (Table 5 of Thawani et al.), seed 0.

    Args:
        grid: A grid of masked words.
        output: The folder above the grid's.
        setting: Last part of the file name.
        most: Maximum number of words per encoding, largest gain first.
    """
    results = {name: finals(grid, output, name)[:1] for name in grid.encodings}
    trained = {name: found[0] for name, found in results.items() if found}
    for result in (result for result in trained.values() if BASE in trained and not result.has_columns):
        name = result.config.name
        raise ValueError(f"{name}: its predictions were not kept; delete {name}.json to have it trained again")
    sentences, positions = load_split(grid.of(next(iter(grid.encodings))), "test")
    scores = {name: WordScores.of(columns_of_split(each.columns(), "test")) for name, each in trained.items()}
    shown = []
    for encoding in scores if BASE in scores else ():
        if encoding == BASE:
            continue
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


def write_tables(
    stem: str, settings: Mapping[str, Any], grids: Sequence[Grid], output: Path, paper: Mapping[str, Any]
) -> list[Path]:
    """Writes the tables of grids as `<stem>.md`, and their figures as `<stem>.json`.

    Args:
        stem: File name: table, corpus, model and kind of training.
        settings: Settings of the table: `about` and `parts`.
        grids: Grids of one setting.
        output: The folder above those of the grids.
        paper: Figures of the paper by group of words and encoding.
    """
    from numerate_lab.papers.literacy2021.number_report import number_table

    shown: list[Table] = []
    figures: dict[str, Any] = {}
    parts = settings.get("parts", ())
    for grid in grids:
        words = grid.task == "masked-words"
        if words:
            shown += [word_table(settings["about"], grid, output, part, paper.get(part, {})) for part in parts]
            if "other" in parts and (sizes := magnitude_table(grid, output)) is not None:
                shown.append(sizes)
            shown += [base_table(grid, output)] if len(grid.encodings) > 1 and BASE in grid.encodings else []
        else:
            shown.append(number_table(grid, output))
        figures[grid.name] = {
            encoding: {
                "rate": best_rate(grid, output, encoding),
                "seeds": {
                    result.config.name: _shown(result.figures, parts if words else None)
                    for result in finals(grid, output, encoding)
                },
            }
            for encoding in grid.encodings
        }
    write(
        output / f"{stem}.json",
        config={"table": stem, "grids": [grid.settings() for grid in grids]},
        figures=figures,
    )
    text = "\n".join(table.markdown() for table in shown)
    return [write_atomically(output / f"{stem}.md", text.encode()), output / f"{stem}.json"]


def _shown(figures: Mapping[str, Any], parts: Sequence[str] | None) -> Any:
    """The figures of a trial that a table shows; all others are in the trial's file."""
    if parts is None:
        return figures["test"]
    places = {part: (PLAIN, "all") if part == PLAIN else ("test", part) for part in parts}
    return {part: figures.get(split, {}).get(group) for part, (split, group) in places.items()}
