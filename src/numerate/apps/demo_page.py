"""The demo's page: how two twins learnt, what they say of one sentence, and how near their numbers are."""

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
"""Figures of `Outcome.figures` to their headings, formats, and which end is good."""
NOTES = (
    "log-MAE: mean distance in orders of magnitude; MdAPE: median error in percent; 90 % covers: share of the true "
    "numbers inside the 90 % intervals. Sub-words of numbers are not among the words.",
    "Both twins: same first weights, head, texts, order, masks and steps; only one gets the numbers' values. Where a "
    "number is masked, both still see how many sub-words it had, and so about how many digits.",
)


def demo_table(figures: Mapping[str, Mapping[str, float]]) -> Table:
    """The figures of twins and baselines, one row each; what a baseline does not say is a dash.

    Example:
        >>> print(demo_table({"median": {"log_mae": 1.25, "mdape": 99.0}}).markdown().splitlines()[2])
        | median | **1.250** | **99.0** | – | – | – | – | – |
    """
    rows = {name: {COLUMNS[key][0]: one.get(key) for key in COLUMNS} for name, one in figures.items()}
    formats = {heading: form for heading, form, _ in COLUMNS.values()}
    return table(rows, formats, best={heading: best for heading, _, best in COLUMNS.values()}, notes=NOTES)  # type: ignore[arg-type]


def curves_of(logs: Mapping[str, Sequence[Mapping[str, float]]], key: str) -> dict[str, tuple[list[Any], list[Any]]]:
    """One figure of the Trainer's logs over its steps, for each name.

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
    """Writes the page.

    Args:
        path: Where to.
        figures: By model or baseline, see `Outcome.figures`.
        logs: The Trainer's, by model.
        outcomes: What the models said, by name.
        asked: By sentence, with `___` for its hidden number: what each model says (one distribution), and the truth.

    Returns:
        The path.
    """
    lines = [
        number_line(seen, precisions=(0,), gold=gold, points=600, title=f"{name}: {sentence}")
        for sentence, answers in asked.items()
        for name, (seen, gold) in answers.items()
    ]
    sections = {
        "Masked numbers and words": [demo_table(figures)],
        "Learning": [
            learning_curves(curves_of(logs, "eval_log_mae"), ylabel="log-MAE of masked numbers, held out"),
            learning_curves(curves_of(logs, "loss"), ylabel="training loss"),
        ],
        "Predicted against true": [
            predicted_against_true(outcomes[name].median, outcomes[name].gold, title=name) for name in (BLIND, SENSE)
        ],
        "One hidden number": ["How probable each whole number is where a number is hidden.", *lines],
    }
    return page("numerate: number-blind against number sense", sections, path)
