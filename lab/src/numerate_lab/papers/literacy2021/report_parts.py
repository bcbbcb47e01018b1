"""What tables of masked words and of masked numbers share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.report.tables import Cell
from numerate_lab.engine.grid import mean_and_spread
from numerate_lab.papers.literacy2021.prediction_grid import finals_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numerate_lab.papers.literacy2021.prediction_grid import LiteracyGrid

__all__ = ["edges", "mean_cell", "title_of"]


def edges(grid: LiteracyGrid, output: str | Path) -> list[str]:
    """Who chose the lowest or the highest of the rates: another beyond it might be better still."""
    if len(grid.rates) < 3:
        return []
    ends: dict[str, list[str]] = {"lowest": [], "highest": []}
    for encoder in grid.encoders:
        for cell in finals_of(grid, encoder, output)[:1]:
            rate = cell["config"]["rate" if grid.cell.train == "head" else "backbone_rate"]
            end = {min(grid.rates): "lowest", max(grid.rates): "highest"}.get(rate)
            if end is not None:
                ends[end].append(encoder)
    told = [f"the {end} of {len(grid.rates)} rates: {', '.join(names)}" for end, names in ends.items() if names]
    return [f"Chosen at an edge, so that one beyond it might be better: {'; '.join(told)}."] if told else []


def mean_cell(values: Sequence[float | None], form: str) -> Cell | None:
    """The mean over seeds with half of its 95 % interval; None if no seed has a value."""
    mean, half = mean_and_spread(list(values))
    return None if mean != mean else Cell(mean, "" if half is None else f" ± {half:{form}}")


def title_of(grid: LiteracyGrid) -> str:
    """What a grid is, at the head of a table."""
    trained = "frozen encoder" if grid.cell.train == "head" else "all weights trained"
    return f"{grid.name}, {trained}, {grid.seeds} seed{'' if grid.seeds == 1 else 's'}"
