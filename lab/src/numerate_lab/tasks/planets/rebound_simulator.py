"""The same motion by REBOUND's IAS15, which the paper used: to hold our own against, or in its place.

REBOUND is under GPL-3. It is an extra (`pip install "numerate[science]"`), is imported when it is first asked for, and
nothing else here needs it.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["has_rebound", "rebound_trajectories"]


_SYSTEMS = 25
"""Systems that a process is given at a time: a tenth of a second's work."""


def has_rebound() -> bool:
    """Whether REBOUND is installed."""
    return importlib.util.find_spec("rebound") is not None


def rebound_trajectories(
    masses: np.ndarray,
    axes: np.ndarray,
    eccentricities: np.ndarray,
    angles: np.ndarray,
    times: np.ndarray,
    progress: Callable[[int, int], None] | None = None,
    processes: int = 1,
) -> np.ndarray:
    """Where the planets of many systems are at some times, by IAS15.

    Args:
        masses: (B, N), the star first.
        axes: (B, N - 1).
        eccentricities: (B, N - 1).
        angles: (B, N - 1), true longitudes.
        times: (B, T), rising; NaN behind a system's last one.
        progress: Told how many systems are done, and of how many.
        processes: So many share the systems.

    Returns:
        (B, T, N - 1, 2) float64, NaN at times that are NaN; the same for any number of processes.
    """
    if not has_rebound():
        raise ModuleNotFoundError('REBOUND is not installed: pip install "numerate[science]"')
    if processes < 1:
        raise ValueError(f"processes must be 1 or more, got {processes}")
    columns, count = (masses, axes, eccentricities, angles, times), len(masses)
    parts = [tuple(column[start : start + _SYSTEMS] for column in columns) for start in range(0, count, _SYSTEMS)]
    found = [np.zeros((0, times.shape[1], axes.shape[1], 2))]
    with _pool(processes) as mapped:
        for part in mapped(_moved, parts):
            found.append(part)
            if progress is not None:
                progress(sum(map(len, found)), count)
    return np.concatenate(found)


@contextlib.contextmanager
def _pool(processes: int) -> Iterator[Callable[..., Iterator[np.ndarray]]]:
    """`map`, by several processes if there are to be several."""
    if processes == 1:
        yield map
        return
    # A fresh process each: REBOUND's C code and torch's threads do not like to be forked.
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool.map


def _moved(columns: tuple[np.ndarray, ...]) -> np.ndarray:
    """Some systems, one after the other."""
    rebound: Any = importlib.import_module("rebound")
    masses, axes, eccentricities, angles, times = columns
    found = np.full((len(masses), times.shape[1], axes.shape[1], 2), np.nan)
    for row in range(len(masses)):
        simulation = rebound.Simulation()
        simulation.integrator = "ias15"
        simulation.add(m=float(masses[row, 0]))
        elements = (each[row].tolist() for each in (masses[:, 1:], axes, eccentricities, angles))
        for mass, axis, eccentricity, angle in zip(*elements, strict=True):
            simulation.add(m=mass, a=axis, e=eccentricity, theta=angle)
        for place, time in enumerate(times[row].tolist()):
            if time != time:
                break
            simulation.integrate(time)
            found[row, place] = [(planet.x, planet.y) for planet in simulation.particles[1:]]
    return found
