"""Our motion against REBOUND's IAS15, where that is installed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import numerate
import numerate_lab
from numerate_lab.tasks.planets.planet_systems import PlanetsConfig, PlanetSource
from numerate_lab.tasks.planets.rebound_simulator import has_rebound, rebound_trajectories

if TYPE_CHECKING:
    from numerate_lab.tasks.planets.system_draws import Systems

needs_rebound = pytest.mark.skipif(not has_rebound(), reason="needs REBOUND: pip install numerate[science]")


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


@needs_rebound
def test_processes_share_the_systems_and_progress_is_told() -> None:
    angles, times = np.linspace(0, 1, 60)[:, None], np.tile(np.arange(3.0), (60, 1))
    columns = np.array([[1.0, 1e-5]] * 60), np.ones((60, 1)), np.zeros((60, 1)), angles, times
    found = {}
    for processes in (1, 2):
        told: list[tuple[int, int]] = []
        found[processes] = rebound_trajectories(
            *columns, progress=lambda *done, told=told: told.append(done), processes=processes
        )
        assert told == [(25, 60), (50, 60), (60, 60)]
    assert found[1].shape == (60, 3, 1, 2) and np.array_equal(found[1], found[2])
    assert rebound_trajectories(*(column[:0] for column in columns)).shape == (0, 3, 1, 2)
    with pytest.raises(ValueError, match="processes must be 1 or more, got 0"):
        rebound_trajectories(*columns, processes=0)


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r"numerate\[science\]"):
        rebound_trajectories(*(np.ones((1, 1)) for _ in range(5)))


def test_the_core_does_without() -> None:
    # GPL-3: nothing of ours may bring it along, so that no file imports it, nor the one file that asks for it.
    packages = [Path(str(one.__file__)).parent for one in (numerate, numerate_lab)]
    files = {path: path.read_text("utf-8") for package in packages for path in package.rglob("*.py")}
    assert not [path for path, text in files.items() if re.search(r"^\s*(import|from) rebound", text, re.MULTILINE)]
    # Where it is imported by name.
    assert [path.name for path, text in files.items() if '"rebound"' in text] == ["rebound_simulator.py"]
    assert not [
        path for path, text in files.items() if "import planets_rebound" in text or "planets_rebound import" in text
    ]
