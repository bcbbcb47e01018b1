"""Table of masked numbers: every encoding and head, and its error relative to the best baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from numerate import metrics
from numerate.report.tables import Cell, Table, table
from numerate_lab.engine.grid import baselines_of, finals
from numerate_lab.engine.page import figure_cell
from numerate_lab.engine.paper_tables import load_yaml
from numerate_lab.papers.literacy2021.report import best_on_dev, edge_notes, title_of
from numerate_lab.tasks.masked_prediction.number_guesses import baseline_guesses

if TYPE_CHECKING:
    from pathlib import Path

    from numerate_lab.engine.grid import Grid

__all__ = ["BASELINES", "number_table"]

_UNTRAINED = ("median", "unit median", "conversion")
BASELINES = (*_UNTRAINED, "spelled", "default+mog")
"""Baselines of number heads: medians without words, the number in another unit, a model without a number head, and the
head of 2018."""
_FIGURES, _NOTES = (load_yaml("numerate_lab.papers.literacy2021")[key] for key in ("number_figures", "number_notes"))


def number_table(grid: Grid, output: str | Path) -> Table:
    """Figures of every encoding and head, and of baselines without training."""
    results = {name: finals(grid, output, name) for name in grid.encodings}
    baselines, rows, left_out = baselines_of(grid, output), {}, {}
    for name, found in results.items():
        known = [result.figures["test"] for result in found]
        rows[name] = {key: figure_cell([row.get(key) for row in known], form) for key, (form, _) in _FIGURES.items()}
        left_out[name] = sum(row.get("log_mae_left_out", 0) for row in known)
        if found:
            untrained = {each: baselines[each]["test"] for each in _UNTRAINED if each in baselines and each not in rows}
            rows |= {each: {key: row.get(key) for key in _FIGURES} for each, row in untrained.items()}
    errors, restated = _log_errors(grid, results)
    for name, share in _relative_errors(errors, grid.resamples).items():
        rows.setdefault(name, {})["of the best baseline"] = share
    once = {name: own[~restated] for name, own in errors.items()}
    for name, share in _relative_errors(once, grid.resamples).items():
        rows[name]["told once, of the best baseline"] = share
    lost = [name for name, found in results.items() if found and name not in errors]
    known = {key: each for key, each in _FIGURES.items() if any(_is_there(row.get(key)) for row in rows.values())}
    forms, bold = ({key: each[index] for key, each in known.items()} for index in (0, 1))
    # What the sentence tells once comes first: the other half can be converted by a rule.
    columns = {"log_mae_told_once": ".3f", "told once, of the best baseline": ".3f", "log_mae_restated": ".3f"}
    columns = {key: form for key, form in columns.items() if key in forms or key not in _FIGURES}
    columns |= {"log_mae": ".3f", "of the best baseline": ".3f"} | forms
    best = best_on_dev(grid, output, None, apart=BASELINES)
    notes = [_NOTES["baselines"].format(", ".join(BASELINES))]
    notes += [_NOTES["lost"].format(", ".join(lost))] if lost else []
    notes += [_NOTES["calibrated"]] if "calibrated_90" in forms else []
    notes += [_NOTES["auc"], *([_NOTES["dev"].format(best)] if best else [])]
    notes += [_NOTES["left out"].format(name, count) for name, count in left_out.items() if count]
    notes += edge_notes(grid, output)
    title = f"Masked numbers, {title_of(grid)}"
    rows = {name: {key: cell for key, cell in row.items() if key in columns} for name, row in rows.items()}
    shown: Any = {"best": bold, "corner": "encoder + head", "title": title, "notes": notes}
    return table(rows, columns, **shown)


def _is_there(cell: Any) -> bool:
    return (cell.value if isinstance(cell, Cell) else cell) is not None


def _log_errors(grid: Grid, results: dict[str, Any]) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Error of the median in orders of magnitude for each test sentence, mean over seeds: (N,) by system.

    Also which numbers are restated in another unit: (N,) bool.
    """
    errors, gold, restated = {}, np.zeros(0), np.zeros(0, dtype=bool)
    for name, found in results.items():
        if found and all(result.has_columns for result in found):
            columns = [result.columns() for result in found]
            gold = columns[0]["test_gold"]
            errors[name] = np.mean([_orders_off(each["test_median"], gold) for each in columns], axis=0)
    if errors:
        guesses, restated = baseline_guesses(grid.of(next(iter(errors))), "test")  # type: ignore[arg-type]
        errors |= {name: _orders_off(median, gold) for name, median in guesses.items()}
    return errors, restated


def _orders_off(median: np.ndarray, gold: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.abs(np.log10(np.abs(median)) - np.log10(np.abs(gold)))
    return np.where(np.isfinite(off), off, np.nan)


def _relative_errors(errors: dict[str, np.ndarray], resamples: int) -> dict[str, Cell]:
    """Mean error of each system divided by that of the best baseline, on sentences where both guess."""
    known = {name: errors[name] for name in BASELINES if name in errors and not np.isnan(errors[name]).all()}
    if not known:
        return {}
    best = known[min(known, key=lambda name: float(np.nanmean(known[name])))]
    found = {}
    for name, own in errors.items():
        both = ~np.isnan(own) & ~np.isnan(best)
        if not both.any():
            continue
        share = own[both].mean() / best[both].mean()
        # First-order expansion of the quotient of means.
        pair = (torch.from_numpy(each[both]) for each in (own, share * best))
        over = metrics.bootstrap(*pair, resamples=resamples, level=0.99)
        low, high = (share + end / best[both].mean() for end in (over.low, over.high))
        found[name] = Cell(share, "" if own is best else f" ({low:.3f} to {high:.3f})")
    return found
