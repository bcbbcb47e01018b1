"""HTML page of `numerate demo`: metrics, learning curves, predictions against true values, hidden numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numerate.apps.with_and_without import BLIND, SENSE
from numerate.report.curves import learning_curves, predicted_against_true
from numerate.report.number_lines import number_line
from numerate.report.pages import page
from numerate.report.tables import table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numerate.apps.with_and_without import Outcome
    from numerate.heads.distribution import NumberDistribution
    from numerate.report.tables import Table

__all__ = ["COLUMNS", "curves_of", "demo_page", "demo_table"]

COLUMNS = {
    "log_mae": ("numbers: log-MAE", ".3f", "min"),
    "mdape": ("numbers: MdAPE %", ".1f", "min"),
    "coverage_90": ("numbers: 90 % covers", ".3f", None),
    "nll": ("words: NLL", ".3f", "min"),
    "hit": ("words: hit@1", ".3f", "max"),
    "unit_nll": ("units: NLL", ".3f", "min"),
    "unit_hit": ("units: hit@1", ".3f", "max"),
}
"""Metrics of `Outcome.figures` with their headings, formats, and whether the smallest or largest is best."""
NOTES = (
    "log-MAE: mean absolute error of log10; MdAPE: median absolute error in percent; 90 % covers: share of the true "
    "numbers inside the 90 % intervals. Sub-words of numbers do not count as words.",
    "Both models have the same initial weights, texts, order, masks and steps; only one gets the numbers' values, "
    "also in its head, as ratios. Each number is asked for alone, as one [NUM]: neither model sees its digits or its "
    "length.",
)


def demo_table(figures: Mapping[str, Mapping[str, float]]) -> Table:
    """Table of metrics with one row for each model and baseline; a dash where a baseline has no value.

    Example:
        >>> print(demo_table({"median": {"log_mae": 1.25, "mdape": 99.0}}).markdown().splitlines()[2])
        | median | **1.250** | **99.0** | – | – | – | – | – |
    """
    rows = {name: {COLUMNS[key][0]: one.get(key) for key in COLUMNS} for name, one in figures.items()}
    formats = {heading: form for heading, form, _ in COLUMNS.values()}
    return table(rows, formats, best={heading: best for heading, _, best in COLUMNS.values()}, notes=NOTES)  # type: ignore[arg-type]


def curves_of(logs: Mapping[str, Sequence[Mapping[str, float]]], key: str) -> dict[str, tuple[list[Any], list[Any]]]:
    """Steps and values of one metric of the Trainer's logs, for each model.

    Example:
        >>> log = [{"step": 1, "loss": 2.0}, {"step": 1, "eval_loss": 3.0}, {"step": 2, "loss": 1.0}]
        >>> curves_of({"a": log}, "loss")
        {'a': ([1, 2], [2.0, 1.0])}
    """
    found = {name: [(entry["step"], entry[key]) for entry in log if key in entry] for name, log in logs.items()}
    return {name: ([step for step, _ in pairs], [value for _, value in pairs]) for name, pairs in found.items()}


def demo_page(
    path: str | Path,
    figures: Mapping[str, Mapping[str, float]],
    logs: Mapping[str, Sequence[Mapping[str, float]]],
    outcomes: Mapping[str, Outcome],
    asked: Mapping[str, Mapping[str, tuple[NumberDistribution, float]]],
) -> Path:
    """Writes the page from the metrics, the Trainer's log and the predictions of each model; returns its path.

    `asked` has, for each sentence with `___` for its hidden number, each model's distribution and the true value.
    """
    lines = [
        number_line(seen, precisions=(0,), gold=gold, points=600, title=f"{name}: {sentence}")
        for sentence, answers in asked.items()
        for name, (seen, gold) in answers.items()
    ]
    sections = {
        "Hidden numbers and masked words": [demo_table(figures)],
        "Learning": [
            learning_curves(curves_of(logs, "eval_log_mae"), ylabel="log-MAE of hidden numbers, held-out texts"),
            learning_curves(curves_of(logs, "loss"), ylabel="training loss"),
        ],
        "Predicted against true": [
            predicted_against_true(outcomes[name].median, outcomes[name].gold, title=name) for name in (BLIND, SENSE)
        ],
        "One hidden number": ["Probability of each whole number in place of the hidden number.", *lines],
    }
    return page("numerate: a model without and with number values", sections, path)
