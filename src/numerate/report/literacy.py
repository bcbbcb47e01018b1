"""Masked words and masked numbers as tables: the papers' figures beside ours, and every encoder against `default`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from numerate import metrics
from numerate.bench.compare import mean_and_spread
from numerate.bench.literacy import BASE, best_on_dev, best_rate, comparison, finals_of, kept, not_kept
from numerate.bench.literacy_tables import COLUMNS, about, paper_of, parts_of
from numerate.bench.result import write
from numerate.report.saving import write_whole
from numerate.report.tables import Cell, Table, table
from numerate.tasks.literacy import PLAIN
from numerate.tasks.number_guesses import NumberGuesses, baselines_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numerate.bench.literacy import LiteracyGrid

__all__ = ["BASELINES", "against_base", "mended_table", "number_table", "word_table", "write_tables"]

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
_TAKEN = ("median", "unit median", "conversion")
BASELINES = (*_TAKEN, "spelled", "default+mog")
"""What every number head has to beat: no words at all, the unit alone, the same number in another unit, a number-blind
model, and that of 2018."""
_GROUPS = ("all", "unit", "whole", "near", "moves")
_NUMBERS = {
    "log_mae": (".3f", "min"), "log_mae_restated": (".3f", "min"), "log_mae_told_once": (".3f", "min"),
    "exponent_accuracy": (".3f", "max"), "mdape": (".1f", "min"), "crps": (".4g", "min"),
    "coverage_90": (".3f", None), "nats": (".3f", "min"),
    **{f"{name}_{kind}": (".3f", "max") for name in ("auc", "tail_auc")
       for kind in ("swapped", "added", "dropped", "exchanged")},
}  # fmt: skip


def word_table(name: str, grid: LiteracyGrid, output: str | Path, part: str) -> Table:
    """A table as the papers have it, nats and perplexity first: one group of words, means over seeds."""
    corpus = grid.name.partition("-")[0]
    split, group = (PLAIN, "all") if part == PLAIN else ("test", part)
    rows, missing, fewer = {}, {}, {}
    for encoder in grid.encoders:
        known = [cell["results"].get(split, {}).get(group, {}) for cell in finals_of(grid, encoder, output)]
        if 0 < len(known) < grid.seeds:
            fewer[encoder] = len(known)
        if known and known[0].get("missing"):
            missing[encoder] = known[0]["missing"]
        rows[encoder] = {
            column: _mean([row.get(key) for row in known], _FORMS[column]) for column, key in _MEASURES.items()
        }
    title = f"{about(name)}: {part}, {_title(grid)}"
    notes = ["PPL e is e to the power of nats; PPL is 2 to it, as the papers print it. ±: 95 % over seeds."]
    if missing:
        counts = ", ".join(f"{encoder} {count}" for encoder, count in missing.items())
        notes.append(
            f"Words that an encoder has no token for, left out of its row (comparisons leave both out): {counts}."
        )
    if fewer:
        notes.append(f"Fewer seeds: {', '.join(f'{encoder} {count}' for encoder, count in fewer.items())}.")
    paper = paper_of(name, corpus, part) or None
    return table(rows, _FORMS, best=_BEST, paper=paper, corner="encoder", title=title, notes=notes)


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
    return table(rows, columns, corner=f"against {BASE}", title=_title(grid), notes=notes)


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


def number_table(grid: LiteracyGrid, output: str | Path) -> Table:
    """Masked numbers: every encoder and head, and guesses that look at no words."""
    rows: dict[str, dict[str, Any]] = {}
    for encoder in grid.encoders:
        cells = finals_of(grid, encoder, output)
        known = [cell["results"]["test"] for cell in cells]
        rows[encoder] = {
            key: _mean([row["model"].get(key) for row in known], form) for key, (form, _) in _NUMBERS.items()
        }
        for name in _TAKEN:
            if known and name not in rows:
                rows[name] = {key: known[0][name].get(key) for key in _NUMBERS}
    errors = _log_errors(grid, output)
    for name, share in _of_the_best(errors, grid.resamples).items():
        rows[name]["of the best baseline"] = share
    lost = [name for name in grid.encoders if name not in errors and finals_of(grid, name, output)]
    columns = {"log_mae": ".3f", "of the best baseline": ".3f"} | {key: form for key, (form, _) in _NUMBERS.items()}
    bold: dict[str, Any] = {key: choice for key, (_, choice) in _NUMBERS.items()}
    best = best_on_dev(grid, output, apart=BASELINES)
    notes = (
        f"Baselines: {', '.join(BASELINES)}; their least log-MAE is 1 in the second column, of sentences that both "
        "guess at, with paired 99 % intervals. Restated: the sentence tells the number again, in another unit.",
        *([f"Predictions not kept, so that the second column does not know them: {', '.join(lost)}."] if lost else []),
        "auc: by the density; tail auc: by how far in a tail. A dash: not defined for this system.",
        *([f"Least log-MAE on dev, in the tries of rates: {best}."] if best else []),
    )
    return table(
        rows, columns, best=bold, corner="encoder + head", title=f"Masked numbers, {_title(grid)}", notes=notes
    )


def _log_errors(grid: LiteracyGrid, output: str | Path) -> dict[str, np.ndarray]:
    """By system, how many orders of magnitude its median is off for each test sentence, mean over seeds: (N,)."""
    errors: dict[str, np.ndarray] = {}
    gold = np.zeros(0)
    for encoder in grid.encoders:
        cells = finals_of(grid, encoder, output)
        if cells and kept(cells):
            guesses = [NumberGuesses.load(cell["predictions"]["test"]) for cell in cells]
            gold = guesses[0].gold
            errors[encoder] = np.mean([_orders_off(each.median, gold) for each in guesses], axis=0)
    if errors:
        config = grid.finals(next(iter(errors)), grid.rates[0])[0]
        errors |= {name: _orders_off(median, gold) for name, median in baselines_of(config, "test")[0].items()}
    return errors


def _orders_off(median: np.ndarray, gold: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.abs(np.log10(np.abs(median)) - np.log10(np.abs(gold)))
    return np.where(np.isfinite(off), off, np.nan)


def _of_the_best(errors: dict[str, np.ndarray], resamples: int) -> dict[str, Cell]:
    """The mean error of each system in units of the best baseline's, on the sentences that both guess at."""
    known = {name: errors[name] for name in BASELINES if name in errors}
    if not known:
        return {}
    best = known[min(known, key=lambda name: float(np.nanmean(known[name])))]
    found = {}
    for name, own in errors.items():
        both = ~np.isnan(own) & ~np.isnan(best)
        share = own[both].mean() / best[both].mean()
        # A quotient of means, to first order: the mean of what is over, in units of the denominator.
        pair = (torch.from_numpy(each[both]) for each in (own, share * best))
        over = metrics.bootstrap(*pair, resamples=resamples, level=0.99)
        low, high = (share + end / best[both].mean() for end in (over.low, over.high))
        found[name] = Cell(share, "" if own is best else f" ({low:.3f} to {high:.3f})")
    return found


def mended_table(grid: LiteracyGrid, encoder: str, output: str | Path, most: int = 20) -> Table:
    """Words that an encoder gets right and `default` does not (Table 5 of Thawani et al.), first seed of both.

    Args:
        grid: With both of them, trained.
        encoder: Which.
        output: The folder of the grids.
        most: How many, those first whose loss falls most.
    """
    from numerate.tasks.literacy import load_split
    from numerate.tasks.word_scores import WordScores, mended

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
    return table(rows, columns, corner="sentence", title=f"Mended by {encoder}, nats, {_title(grid)}")


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
            shown += [against_base(grid, output)] if len(grid.encoders) > 1 and BASE in grid.encoders else []
        else:
            shown.append(number_table(grid, output))
        figures[grid.name] = {}
        for encoder in grid.encoders:
            if not (cells := finals_of(grid, encoder, output)):
                continue
            figures[grid.name][encoder] = {
                "rate": best_rate(grid, encoder, output / grid.name),
                "seeds": [{key: cell[key] for key in ("trained", "seconds", "results")} for cell in cells],
                f"against {BASE}": comparison(grid, encoder, output),
            }
    config = {"table": name, "grids": [_without_paths(grid) for grid in grids]}
    stem = f"{name}-{setting}" if setting else name
    write(output / f"{stem}.json", config=config, figures=figures)
    text = "\n".join(table.markdown() for table in shown)
    return [write_whole(output / f"{stem}.md", text.encode()), output / f"{stem}.json"]


def _mean(values: Sequence[float | None], form: str) -> Cell | None:
    mean, half = mean_and_spread(list(values))
    return None if mean != mean else Cell(mean, "" if half is None else f" ± {half:{form}}")


def _title(grid: LiteracyGrid) -> str:
    trained = "frozen encoder" if grid.cell.train == "head" else "all weights trained"
    return f"{grid.name}, {trained}, {grid.seeds} seed{'' if grid.seeds == 1 else 's'}"


def _without_paths(grid: LiteracyGrid) -> dict[str, Any]:
    """A grid's config with names for folders: where they lay is no part of a result."""
    found = grid.to_dict()
    for key in ("source", "model", "plain"):
        if found["cell"][key] is not None:
            found["cell"][key] = found["cell"][key].rstrip("/").rpartition("/")[2]
    return found
