"""The same motion by REBOUND's IAS15, which the paper used: to hold our own against, or in its place.

REBOUND is under GPL-3. It is an extra (`pip install "numerate[science]"`), is imported when it is first asked for, and
nothing else here needs it.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["has_rebound", "rebound_trajectories"]


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
) -> np.ndarray:
    """Where the planets of many systems are at some times, by IAS15, one system after the other.

    Args:
        masses: (B, N), the star first.
        axes: (B, N - 1).
        eccentricities: (B, N - 1).
        angles: (B, N - 1), true longitudes.
        times: (B, T), rising; NaN behind a system's last one.
        progress: Told how many systems are done, and of how many.

    Returns:
        (B, T, N - 1, 2) float64, NaN at times that are NaN.
    """
    if not has_rebound():
        raise ModuleNotFoundError('REBOUND is not installed: pip install "numerate[science]"')
    rebound: Any = importlib.import_module("rebound")
    found = np.full((len(masses), times.shape[1], axes.shape[1], 2), np.nan)
    for row in range(len(masses)):
        simulation = rebound.Simulation()
        simulation.integrator = "ias15"
        simulation.add(m=float(masses[row, 0]))
        for mass, axis, eccentricity, angle in zip(
            masses[row, 1:].tolist(),
            axes[row].tolist(),
            eccentricities[row].tolist(),
            angles[row].tolist(),
            strict=True,
        ):
            simulation.add(m=mass, a=axis, e=eccentricity, theta=angle)
        for place, time in enumerate(times[row].tolist()):
            if time != time:
                break
            simulation.integrate(time)
            found[row, place] = [(planet.x, planet.y) for planet in simulation.particles[1:]]
        if progress is not None:
            progress(row + 1, len(masses))
    return found
