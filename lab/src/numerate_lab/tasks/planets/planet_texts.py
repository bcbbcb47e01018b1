"""Planet systems as the paper's records: `{'description':{'planet0':{'m':1.3,'a':1.0,'e':0.4},...},'data':[...]}`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numerate_lab.tasks.planets.planet_systems import PlanetsConfig
    from numerate_lab.tasks.planets.system_draws import Systems

__all__ = ["FIELDS", "Record", "rounded", "write"]

FIELDS = {
    "stepsize": "description.stepsize",
    "a1": "description.planet0.a",
    "e1": "description.planet0.e",
    "m1": "description.planet0.m",
}
"""What can be asked for, and the path of each: the time step, and what is known of the planet that comes first."""

Record = tuple[str, dict[str, tuple[int, int]]]
"""A text, and where the number of each of FIELDS begins and ends in it."""


def rounded(numbers: np.ndarray, significant: int | None) -> np.ndarray:
    """Numbers of so many significant digits, each the float64 that its decimal is read as; as they are for None.

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


def write(config: PlanetsConfig, systems: Systems) -> list[Record]:
    """The records, in one line each and without spaces; numbers as Python writes them, rounded first if so configured.

    Masses and eccentricities are in the paper's units, `mass_unit` and `eccentricity_unit` times as large.
    """
    quote, digits = config.quote, config.significant
    masses = rounded(systems.masses * config.mass_unit, digits).tolist()
    eccentricities = rounded(systems.eccentricities * config.eccentricity_unit, digits).tolist()
    axes, stepsizes = rounded(systems.axes, digits).tolist(), rounded(systems.stepsizes, digits).tolist()
    positions = rounded(systems.positions, digits)
    names = [f"{quote}{name}{quote}:" for name in ("description", "stepsize", "data", "m", "a", "e")]
    description, stepsize, data, *keys = names
    found = []
    for row, (planets, points) in enumerate(zip(systems.planets.tolist(), systems.points.tolist(), strict=True)):
        parts, length, spans = [f"{{{description}{{"], 0, {}
        for planet in range(planets):
            opened = f"{quote}planet{planet}{quote}:{{"
            values = [repr(column[row][planet]) for column in (masses, axes, eccentricities)]
            if planet == 0:
                length = len(parts[0]) + len(opened)
                for key, name, value in zip(keys, ("m1", "a1", "e1"), values, strict=True):
                    length += len(key)
                    spans[name] = length, length + len(value)
                    length += len(value) + 1  # the comma
            inside = ",".join(key + value for key, value in zip(keys, values, strict=True))
            parts.append(f"{opened}{inside}}},")
        start, value = sum(map(len, parts)) + len(stepsize), repr(stepsizes[row])
        spans["stepsize"] = start, start + len(value)
        track = str(positions[row, :points, :planets].tolist()).replace(" ", "")
        found.append(("".join([*parts, stepsize, value, "},", data, track, "}"]), spans))
    return found
