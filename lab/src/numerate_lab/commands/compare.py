"""`numerate compare`: encodings side by side on one task, at equal budget."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate_lab.engine.grid import Grid
    from numerate_lab.engine.task import Log

__all__ = ["compare_encodings", "grid_of", "parsed_options", "parsed_rates", "parsed_starts"]


def grid_of(
    task: str, encodings: Sequence[str], *, heads: Sequence[str] = (), scale: str = "small",
    options: dict[str, Any] | None = None, **settings: Any,
) -> Grid:  # fmt: skip
    """The grid of a comparison.

    Args:
        task: A registered task, an arithmetic preset, several presets by commas, or a file of texts.
        encodings: Names of encodings.
        heads: Heads for encodings that name none.
        scale: One of the task's scales, such as `tiny`.
        options: Fields of the task's trial, such as `width`.
        **settings: Fields of `Grid`, such as `rates`, and `base`, one of the encodings.
    """
    from numerate_lab.engine.encodings import with_heads
    from numerate_lab.engine.grid import Grid
    from numerate_lab.engine.paper_tables import check_name
    from numerate_lab.registry import tasks

    # A file, or several presets by commas, are texts with one number asked for.
    name = task if task in tasks else "texts"
    made = tasks[name]
    check_name("scale", scale, list(made.scales))
    names = with_heads(encodings, heads)
    chosen = {encoding: made.encoding(encoding) for encoding in names}
    trial = made.trial(task, made.scales[scale] | (options or {}))
    if settings.get("base") is not None:
        check_name("base", settings["base"], names)
    folder = re.sub(r"[^A-Za-z0-9.-]+", "_", Path(task).name)
    return Grid(task=name, encodings=chosen, name=folder, trial=trial, **settings)


def compare_encodings(
    output: str, *, options: dict[str, Any], budget: str | None = None, amount: float | None = None,
    processes: int = 1, log: Log, **settings: Any,
) -> None:  # fmt: skip
    """Runs all trials that have no result yet, and writes table and page.

    The task gets a folder in `output`. `budget` (`samples`, `tokens` or `seconds`) and `amount` replace those of the
    task and its scale; `options` and `settings` are those of `grid_of`.
    """
    from numerate_lab.engine.grid import run_grids
    from numerate_lab.engine.page import write_comparison

    given = {"budget": budget, "amount": amount}
    options = options | {key: value for key, value in given.items() if value is not None}
    try:
        grid = grid_of(options=options, **settings)
        run_grids([grid], output, processes=processes, log=log)
    except (ValueError, LookupError, OSError) as error:
        raise BadInput(str(error)) from None
    for file in write_comparison(grid, output):
        log(str(file))


def parsed_rates(text: str) -> tuple[float, ...]:
    """Learning rates by commas."""
    try:
        rates = tuple(float(part) for part in text.split(","))
    except ValueError:
        rates = ()
    if not rates or not all(0 < rate < math.inf for rate in rates):
        raise BadInput(f"--rates {text!r}: give positive numbers by commas, as 3e-4,1e-3")
    return rates


def parsed_options(texts: Sequence[str]) -> dict[str, Any]:
    """`key=value` each, the value as YAML."""
    from numerate.files import YamlError, read_yaml

    found: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise BadInput(f"--option {text!r}: write key=value, as width=128")
        try:
            found[key] = read_yaml(value, f"--option {key}")
        except YamlError as error:
            raise BadInput(str(error)) from None
    return found


def parsed_starts(texts: Sequence[str]) -> dict[str, str]:
    """`NAME=FOLDER` each.

    Example:
        >>> parsed_starts(["pretrained=out/luna"])
        {'pretrained': 'out/luna'}
    """
    found: dict[str, str] = {}
    for text in texts:
        name, _, folder = text.partition("=")
        if not name or not folder:
            raise BadInput(f"--start {text!r}: write NAME=FOLDER, as pretrained=out/luna")
        if name in found:
            raise BadInput(f"--start {text!r}: {name!r} is already {found[name]!r}; give each name once")
        found[name] = folder
    return found
