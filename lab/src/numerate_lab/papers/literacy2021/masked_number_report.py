"""Masked numbers as a table: every encoder and head, and what each is worth beside the best baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from numerate import metrics
from numerate.report.tables import Cell, Table, table
from numerate_lab.papers.literacy2021.prediction_grid import best_on_dev, finals_of, kept
from numerate_lab.papers.literacy2021.report_parts import edges, mean_cell, title_of
from numerate_lab.tasks.masked_prediction.number_guesses import NumberGuesses, baselines_of

if TYPE_CHECKING:
    from pathlib import Path

    from numerate_lab.papers.literacy2021.prediction_grid import LiteracyGrid

__all__ = ["BASELINES", "number_table"]

_TAKEN = ("median", "unit median", "conversion")
BASELINES = (*_TAKEN, "spelled", "default+mog")
"""What every number head has to beat: no words at all, the unit alone, the same number in another unit, a number-blind
model, and that of 2018."""
_NUMBERS = {
    "log_mae": (".3f", "min"), "log_mae_restated": (".3f", "min"), "log_mae_told_once": (".3f", "min"),
    "exponent_accuracy": (".3f", "max"), "mdape": (".1f", "min"), "crps": (".4g", "min"),
    "coverage_90": (".3f", None), "nats": (".3f", "min"),
    **{f"{name}_{kind}": (".3f", "max") for name in ("auc", "tail_auc")
       for kind in ("swapped", "added", "dropped", "exchanged")},
}  # fmt: skip


def number_table(grid: LiteracyGrid, output: str | Path) -> Table:
    """Masked numbers: every encoder and head, and guesses that look at no words."""
    rows: dict[str, dict[str, Any]] = {}
    for encoder in grid.encoders:
        cells = finals_of(grid, encoder, output)
        known = [cell["results"]["test"] for cell in cells]
        rows[encoder] = {
            key: mean_cell([row["model"].get(key) for row in known], form) for key, (form, _) in _NUMBERS.items()
        }
        for name in _TAKEN:
            if known and name not in rows:
                rows[name] = {key: known[0][name].get(key) for key in _NUMBERS}
    errors = _log_errors(grid, output)
    for name, share in _of_the_best(errors, grid.resamples).items():
        rows[name]["of the best baseline"] = share
    lost = [name for name in grid.encoders if name not in errors and finals_of(grid, name, output)]
    silent = {
        name: sum(cell["results"]["test"]["model"].get("log_mae_left_out", 0) for cell in finals_of(grid, name, output))
        for name in grid.encoders
    }
    columns = {"log_mae": ".3f", "of the best baseline": ".3f"} | {key: form for key, (form, _) in _NUMBERS.items()}
    bold: dict[str, Any] = {key: choice for key, (_, choice) in _NUMBERS.items()}
    best = best_on_dev(grid, output, apart=BASELINES)
    notes = (
        f"Baselines: {', '.join(BASELINES)}; their least log-MAE is 1 in the second column, of sentences that both "
        "guess at, with paired 99 % intervals. Restated: the sentence tells the number again, in another unit.",
        *([f"Predictions not kept, so that the second column does not know them: {', '.join(lost)}."] if lost else []),
        "auc: by the density; tail auc: by how far in a tail. A dash: not defined for this system.",
        *([f"Least log-MAE on dev, in the tries of rates: {best}."] if best else []),
        *(
            f"{name} says 0 or no number {count} times, over all seeds: its log-MAE leaves these out."
            for name, count in silent.items()
            if count
        ),
        *edges(grid, output),
    )
    return table(
        rows, columns, best=bold, corner="encoder + head", title=f"Masked numbers, {title_of(grid)}", notes=notes
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
