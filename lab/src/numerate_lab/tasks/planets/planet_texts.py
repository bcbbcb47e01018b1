"""Planet systems as the paper's records: `{'description':{'planet0':{'m':1.3,'a':1.0,'e':0.4},...},'data':[...]}`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numerate_lab.tasks.records.record_arrays import record_text

if TYPE_CHECKING:
    from numerate_lab.tasks.planets.planet_systems import PlanetsConfig
    from numerate_lab.tasks.planets.system_draws import Systems

__all__ = ["FIELDS", "rounded", "write"]

FIELDS = {
    "stepsize": "description.stepsize",
    "a1": "description.planet0.a",
    "e1": "description.planet0.e",
    "m1": "description.planet0.m",
}
"""Questions and the key path of each answer: the time step, and the elements of the first planet."""


def rounded(numbers: np.ndarray, significant: int | None) -> np.ndarray:
    """Numbers rounded to significant digits, each the float64 that its decimal is read as; unchanged for None.

    Example:
        >>> rounded(np.array([1.23456, -0.00123456, 0.0]), 3).tolist()
        [1.23, -0.00123, 0.0]
    """
    if significant is None:
        return numbers
    sizes = np.where((numbers == 0) | ~np.isfinite(numbers), 1.0, np.abs(numbers))
    # A whole number divided by an exact power of ten is the float64 nearest to the decimal.
    scale = 10.0 ** np.clip(significant - 1 - np.floor(np.log10(sizes)), 0, 22)
    return np.rint(numbers * scale) / scale


def write(config: PlanetsConfig, systems: Systems) -> list[str]:
    """The records as text, with masses and eccentricities in the paper's units, rounded if the config says so."""
    elements = rounded(systems.elements(config), config.significant).tolist()
    stepsizes = rounded(systems.stepsizes, config.significant).tolist()
    positions = rounded(systems.positions, config.significant)
    found = []
    for row, (planets, points) in enumerate(zip(systems.planets.tolist(), systems.points.tolist(), strict=True)):
        named = {f"planet{i}": dict(zip("mae", elements[row][i], strict=True)) for i in range(planets)}
        description = named | {"stepsize": stepsizes[row]}
        record = {"description": description, "data": positions[row, :points, :planets].tolist()}
        found.append(record_text(record, config.quote))
    return found
