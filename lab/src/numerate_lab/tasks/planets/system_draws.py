"""Planet systems drawn at random, let go, and looked at: whole blocks at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from numerate_lab.tasks.planets.integrator import from_elements, move

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate_lab.tasks.planets.planet_systems import PlanetsConfig

__all__ = ["Systems", "draw_block", "stepsizes_of"]

MAX_TRIES = 100
"""Rounds of drawing anew what was rejected."""


@dataclass(frozen=True)
class Systems:
    """N systems of up to K planets, in the order of their records, seen at up to T times.

    Attributes:
        planets: (N,) int64, how many planets each has.
        masses: (N, K) in units of the star's; NaN where there is no planet.
        axes: (N, K) semi-major axes.
        eccentricities: (N, K).
        angles: (N, K), where each planet starts.
        points: (N,) int64, how many times each is seen at.
        stepsizes: (N,), the time between two of them.
        positions: (N, T, K, 2), NaN where there is nothing.
        rejected: (N,) int64, how many draws were rejected before this one.
    """

    planets: np.ndarray
    masses: np.ndarray
    axes: np.ndarray
    eccentricities: np.ndarray
    angles: np.ndarray
    points: np.ndarray
    stepsizes: np.ndarray
    positions: np.ndarray
    rejected: np.ndarray

    def __len__(self) -> int:
        return len(self.planets)

    def __getitem__(self, rows: slice | np.ndarray) -> Systems:
        return Systems(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))

    @staticmethod
    def joined(parts: Sequence[Systems]) -> Systems:
        """Several, one behind the other."""
        return Systems(*(np.concatenate([getattr(p, n) for p in parts]) for n in Systems.__dataclass_fields__))

    def times(self) -> np.ndarray:
        """(N, T) float64, NaN behind the last."""
        places = np.arange(self.positions.shape[1])
        return np.where(places < self.points[:, None], places * self.stepsizes[:, None], np.nan)

    def elements(self, config: PlanetsConfig) -> np.ndarray:
        """(N, K, 3) masses, semi-major axes and eccentricities in the units of the records."""
        masses, eccentricities = self.masses * config.mass_unit, self.eccentricities * config.eccentricity_unit
        return np.stack([masses, self.axes, eccentricities], axis=2)


def stepsizes_of(config: PlanetsConfig) -> np.ndarray:
    """All time steps that training systems have, rising: whole times divided by whole numbers of steps.

    Example:
        >>> from numerate_lab.tasks.planets.planet_systems import PlanetsConfig
        >>> steps = stepsizes_of(PlanetsConfig())
        >>> len(steps), round(float(np.diff(steps).max()), 4)
        (262, 0.0276)
    """
    whole = np.arange(config.time[0], config.time[1] + 1)
    return np.unique(whole[:, None] / (np.arange(config.points[0], config.points[1] + 1) - 1))


def draw_block(config: PlanetsConfig, split: str, rng: np.random.Generator, device: str = "cpu") -> Systems:
    """Draws `config.block` systems and follows them; those that are rejected are drawn and followed anew.

    Rejected is a system any of whose planets, at any of its times, has a coordinate of `config.bound` or more: it was
    thrown out, and one such number would stretch the scale of all others. So is one that cannot be followed, since two
    bodies hit each other. The systems that are tested are those that are kept.
    """
    found, missing = _followed(config, _drawn(config, split, rng, config.block), device), np.arange(0)
    for tries in range(MAX_TRIES):
        extent = np.abs(np.nan_to_num(found.positions, nan=0.0)).max((1, 2, 3))
        seen = np.isfinite(found.positions).sum((1, 2, 3)) == 2 * found.planets * found.points
        missing = np.flatnonzero(~(seen & (extent < config.bound)))
        if len(missing) == 0:
            return found
        anew = _followed(config, _drawn(config, split, rng, len(missing)), device)
        for name in Systems.__dataclass_fields__:
            getattr(found, name)[missing] = getattr(anew, name)
        found.rejected[missing] = tries + 1
    raise ValueError(f"{len(missing)} of {config.block} systems always reach bound={config.bound}: {split!r}")


def _drawn(config: PlanetsConfig, split: str, rng: np.random.Generator, count: int) -> Systems:
    """Systems that have not moved yet."""
    most, times = config.planets[1], config.points[1]
    planets = rng.integers(config.planets[0], most + 1, size=count)
    place, shape = np.arange(most), (count, most)
    exists = place < planets[:, None]
    masses, eccentricities = rng.uniform(*config.mass, shape), rng.uniform(*config.eccentricity, shape)
    outer = rng.uniform(*config.outer, (count, 1))
    axes = config.inner + (outer - config.inner) * place / (planets[:, None] - 1)
    angles = np.where(rng.random((count, 1)) < config.aligned, 0.0, rng.uniform(*config.angle, shape))
    order = np.where(exists, rng.random(shape), 2.0)  # none goes before one that exists
    if split == "a1-gap":
        # The innermost is asked for, and has moved to where no training planet is; the others stay as they were.
        axes[:, 0] = rng.uniform(config.inner, config.gap_end, count)
        order[:, 0] = -1.0
    order = np.argsort(order, axis=1, kind="stable")
    masses, axes, eccentricities, angles = (
        np.take_along_axis(np.where(exists, x, np.nan), order, 1) for x in (masses, axes, eccentricities, angles)
    )
    points = rng.integers(config.points[0], times + 1, size=count)
    if split == "stepsize-between":
        stepsizes = _between(config, rng, points)
    else:
        stepsizes = rng.integers(config.time[0], config.time[1] + 1, size=count) / (points - 1)
    positions, rejected = np.full((count, times, most, 2), np.nan), np.zeros(count, dtype=np.int64)
    return Systems(planets, masses, axes, eccentricities, angles, points, stepsizes, positions, rejected)


def _between(config: PlanetsConfig, rng: np.random.Generator, points: np.ndarray) -> np.ndarray:
    """Time steps from any time instead of whole ones, none within the margin of one that training has."""
    known = np.concatenate([[-np.inf], stepsizes_of(config), [np.inf]])
    found, missing = np.zeros(len(points)), np.arange(len(points))
    for _ in range(MAX_TRIES):
        found[missing] = rng.uniform(*config.time, len(missing)) / (points[missing] - 1)
        above = np.searchsorted(known, found)
        near = np.minimum(known[above] - found, found - known[above - 1])
        missing = np.flatnonzero(near < config.margin)
        if len(missing) == 0:
            return found
    raise ValueError(f"no time steps are further than margin={config.margin} from those of training")


def _followed(config: PlanetsConfig, systems: Systems, device: str) -> Systems:
    """The systems with their positions; those with equally many planets are integrated together."""
    times = torch.from_numpy(systems.times()).to(device)
    for planets in np.unique(systems.planets).tolist():
        rows = np.flatnonzero(systems.planets == planets)
        columns = (systems.masses, systems.axes, systems.eccentricities, systems.angles)
        masses, *elements = (torch.from_numpy(column[rows, :planets]).to(device) for column in columns)
        masses = torch.cat([torch.ones_like(masses[:, :1]), masses], dim=1)  # the star is the first
        places, speeds = from_elements(masses, *elements)
        motion = move(masses, places, speeds, times[torch.from_numpy(rows).to(device)], tolerance=config.tolerance)
        systems.positions[rows, :, :planets] = motion.positions[:, :, 1:].cpu().numpy()
    return systems
