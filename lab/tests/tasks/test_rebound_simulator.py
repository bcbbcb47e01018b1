"""Our motion against REBOUND's IAS15, where that is installed."""

from __future__ import annotations

import importlib
import importlib.util
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import numerate
import numerate_lab
from numerate_lab.tasks.planets.planet_systems import PlanetsConfig, PlanetSource

if TYPE_CHECKING:
    from numerate_lab.tasks.planets.system_draws import Systems

needs_rebound = pytest.mark.skipif(
    importlib.util.find_spec("rebound") is None, reason='needs REBOUND: pip install "numerate-lab[science]"'
)


def rebound_trajectories(
    masses: np.ndarray, axes: np.ndarray, eccentricities: np.ndarray, angles: np.ndarray, times: np.ndarray
) -> np.ndarray:
    """Positions of planets by REBOUND's IAS15, which the paper used: (B, T, N - 1, 2), NaN at times that are NaN.

    Args:
        masses: (B, N), the star first.
        axes: (B, N - 1).
        eccentricities: (B, N - 1).
        angles: (B, N - 1), true longitudes.
        times: (B, T), rising; NaN behind a system's last one.
    """
    rebound: Any = importlib.import_module("rebound")
    found = np.full((len(masses), times.shape[1], axes.shape[1], 2), np.nan)
    for row in range(len(masses)):
        simulation = rebound.Simulation()
        simulation.integrator = "ias15"
        simulation.add(m=float(masses[row, 0]))
        elements = (each[row].tolist() for each in (masses[:, 1:], axes, eccentricities, angles))
        for mass, axis, eccentricity, angle in zip(*elements, strict=True):
            simulation.add(m=mass, a=axis, e=eccentricity, theta=angle)
        for place, time in enumerate(times[row, np.isfinite(times[row])].tolist()):
            simulation.integrate(time)
            found[row, place] = [(planet.x, planet.y) for planet in simulation.particles[1:]]
    return found


def greatest_difference(systems: Systems) -> tuple[float, int]:
    """Between the positions that we have and REBOUND's, and of how many numbers."""
    greatest, numbers = 0.0, 0
    for planets in np.unique(systems.planets).tolist():
        rows = np.flatnonzero(systems.planets == planets)
        masses, axes, eccentricities, angles = (
            x[rows, :planets] for x in (systems.masses, systems.axes, systems.eccentricities, systems.angles)
        )
        masses = np.concatenate([np.ones((len(rows), 1)), masses], 1)
        truth = rebound_trajectories(masses, axes, eccentricities, angles, systems.times()[rows])
        found = systems.positions[rows, :, :planets]
        assert np.array_equal(np.isnan(found), np.isnan(truth))
        greatest = max(greatest, float(np.nanmax(np.abs(found - truth))))
        numbers += int((~np.isnan(truth)).sum())
    return greatest, numbers


@needs_rebound
def test_fifty_systems() -> None:
    task = PlanetSource(PlanetsConfig(block=50))
    greatest, numbers = greatest_difference(task.samples("test", 50, seed=1))
    assert numbers > 50 * 2 * 2 * 30 and greatest < 1e-8


@needs_rebound
@pytest.mark.slow
@pytest.mark.parametrize(
    ("preset", "split"),
    [("paper", "test"), ("paper", "stepsize-between"), ("paper", "a1-gap"), ("public-code", "test")],
)
def test_a_thousand_systems(preset: str, split: str) -> None:
    # Some of the gap's planets meet at a hundredth of their distance from the star, which magnifies every error.
    greatest, _ = greatest_difference(PlanetSource(preset).samples(split, 1000, seed=2))
    print(f"{preset} {split}: {greatest:.2g}")
    assert greatest < 1e-6


def test_the_core_does_without() -> None:
    # GPL-3: none of our packages may import it or name it as a module.
    packages = [Path(str(one.__file__)).parent for one in (numerate, numerate_lab)]
    files = {path: path.read_text("utf-8") for package in packages for path in package.rglob("*.py")}
    imported = re.compile(r"^\s*(import|from) rebound|[\"']rebound[\"']", re.MULTILINE)
    assert not [path.name for path, text in files.items() if imported.search(text)]
