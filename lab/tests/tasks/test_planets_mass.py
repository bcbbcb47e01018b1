"""What records can tell of a mass, whoever reads them: for the figures see docs/findings/planets.md."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from numerate_lab.tasks.planets.planet_systems import PlanetsConfig
from numerate_lab.tasks.planets.system_draws import Systems, _drawn, _followed

CONFIG = PlanetsConfig()
ROUNDED = 1e-4 / 12**0.5
"""The standard deviation of what rounding to four decimals takes away."""
SPREAD = 4 / 12**0.5
"""Of the masses, in the units of the records."""


def slopes(systems: Systems) -> dict[str, np.ndarray]:
    """How positions change with all that a system has, in the units of the records: (N, T, K, 2) by name and planet."""
    found = {}
    units = {"masses": CONFIG.mass_unit, "axes": 1.0, "eccentricities": CONFIG.eccentricity_unit, "angles": 1.0}
    steps = {"masses": 2e-6, "axes": 1e-6, "eccentricities": 1e-6, "angles": 1e-6}
    for name, unit in units.items():
        for planet in range(CONFIG.planets[1]):
            push = np.zeros(CONFIG.planets[1])
            push[planet] = steps[name]
            found[f"{name} {planet}"] = _slope(systems, name, push) / (2 * steps[name] * unit)
    return found | {"stepsizes 0": _slope(systems, "stepsizes", np.array(1e-7)) / 2e-7}


def _slope(systems: Systems, name: str, push: np.ndarray) -> np.ndarray:
    ends = []
    for change in (push, -push):
        moved = {name: getattr(systems, name) + change, "positions": np.full_like(systems.positions, np.nan)}
        ends.append(_followed(CONFIG, dataclasses.replace(systems, **moved), "cpu").positions)
    return ends[0] - ends[1]


def least_error(systems: Systems, changes: dict[str, np.ndarray], times: int, digits: int | None) -> float:
    """The mean squared error on m₁ of who knows all but where planets start and what rounding took: the least there is.

    To first order around the truth, with normal distributions in place of uniform ones.
    """
    errors = []
    for row, planets in enumerate(systems.planets.tolist()):
        places = systems.positions[row, :times, :planets].ravel()
        noise = np.full(places.shape, ROUNDED)
        if digits is not None:
            lost = 10.0 ** (np.floor(np.log10(np.abs(places) + 1e-12)) - digits + 1) / 12**0.5
            noise = np.maximum(noise, lost)
        kept = [name for name in changes if int(name.split()[1]) < planets]
        known = [SPREAD if name == "masses 0" else 1.0 if name.startswith("angles") else ROUNDED for name in kept]
        seen = np.stack([changes[name][row, :times, :planets].ravel() for name in kept], 1) / noise[:, None]
        left = np.linalg.inv(seen.T @ seen + np.diag(1 / np.array(known) ** 2))
        errors.append(left[kept.index("masses 0"), kept.index("masses 0")])
    return float(np.mean(errors))


@pytest.mark.slow
def test_the_mass_is_in_the_last_digits() -> None:
    systems = _followed(CONFIG, _drawn(CONFIG, "test", np.random.default_rng(0), 60), "cpu")
    changes = slopes(systems)
    found = {
        (times, digits): least_error(systems, changes, times, digits) for times in (12, 30) for digits in (None, 3)
    }
    print(found)
    # Of the twelve times of the scale `small`, four decimals tell the mass; three digits tell some of it.
    assert 0.01 < found[12, None] < 0.05 and 0.25 < found[12, 3] < 0.65
    assert found[30, None] < 0.01 and found[30, 3] < 0.1
