"""`numerate compare`: encodings side by side on one task, at equal budget."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from numerate.errors import BadInput
from numerate.files import read_yaml

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["compare_encodings", "parsed_options", "parsed_rates"]

_SCALES: dict[str, dict[str, Any]] = {
    "tiny": {
        "examples": 2000, "amount": 4000, "batch": 100, "width": 32, "layers": 2, "heads": 2, "dev": 100, "test": 200,
    },
    "small": {},
}  # fmt: skip


def compare_encodings(
    output: str,
    *,
    task: str,
    encodings: tuple[str, ...],
    heads: tuple[str, ...],
    budget: str,
    amount: float | None,
    rates: tuple[float, ...],
    rate_share: float,
    seeds: int,
    scale: str,
    options: dict[str, Any],
    processes: int,
    say: Callable[[str], None],
) -> None:
    """Trains all cells that are not there yet, and writes table and page.

    Args:
        output: A folder; a folder of the task's name is made in it.
        task: A preset, several by commas, or a file of texts whose last number is asked for.
        encodings: Names.
        heads: Of those that may have one and do not name it.
        budget: `samples`, `tokens` or `seconds`.
        amount: How much; None for the scale's.
        rates: Learning rates to choose from.
        rate_share: Share of the budget that a try of one gets.
        seeds: Trainings of each.
        scale: `tiny` or `small`.
        options: More of a cell's options, such as `width`.
        processes: Trainings at a time.
        say: Prints a line.
    """
    from numerate.config import ConfigError
    from numerate.registry import UnknownNameError, near_names
    from numerate.training.results import OtherSettingsError
    from numerate_lab.engine.comparison_page import write_comparison
    from numerate_lab.engine.encodings import grid
    from numerate_lab.engine.grid import CompareConfig, compare
    from numerate_lab.engine.trial import CellConfig
    from numerate_lab.tasks.asked_number.named_tasks import task_of

    if scale not in _SCALES:
        raise BadInput(f"unknown scale {scale!r}: {near_names(scale, list(_SCALES))}")
    try:
        task_of(task, options.get("task_options"))
        shared = CellConfig.from_dict({"task": task, "budget": budget} | _SCALES[scale] | options)
        if amount is not None:
            shared = dataclasses.replace(shared, amount=amount)
        config = CompareConfig(
            encodings=tuple(grid(encodings, heads)), rates=rates, rate_share=rate_share, seeds=seeds, cell=shared
        )
    except (ConfigError, UnknownNameError, ValueError, OSError) as error:
        raise BadInput(str(error)) from None
    try:
        chosen = compare(config, output, processes=processes, say=say)
    except (ConfigError, OtherSettingsError) as error:
        raise BadInput(str(error)) from None
    for file in write_comparison(config, output, chosen):
        say(str(file))


def parsed_rates(text: str) -> tuple[float, ...]:
    """Learning rates by commas."""
    try:
        rates = tuple(float(part) for part in text.split(","))
    except ValueError:
        rates = ()
    if not rates or min(rates) <= 0:
        raise BadInput(f"--rates {text!r}: give positive numbers by commas, as 3e-4,1e-3")
    return rates


def parsed_options(texts: list[str]) -> dict[str, Any]:
    """`key=value` each, the value as YAML."""
    found: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise BadInput(f"--option {text!r}: write key=value, as width=128")
        found[key] = read_yaml(value, f"--option {text}")
    return found
