"""Planets: records of systems that move under gravity, of which a number is asked for, as in xVal's second experiment.

A record tells the masses, semi-major axes and eccentricities of two to four planets, the time step, and where all of
them were at each step: `{'description':{'planet0':{'m':..,'a':..,'e':..},..,'stepsize':..},'data':[[[x,y],..],..]}`.
Asked for is the time step, or one of the numbers of planet0. Splits `train`, `dev` and `test` are drawn alike; two more
ask for what training has never seen:

| split | what differs |
|---|---|
| `stepsize-between` | the time step lies between those of training, of which there are 262 |
| `a1-gap` | planet0 is the innermost and moved out, to where no training planet is: from 1 to 1.1667 |

Presets are `paper`, and `public-code`, which differs from it. Systems are drawn in blocks that depend on config, seed,
split and place alone, so that any part of a split can be had at any time.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import zlib
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from numerate.config import Config
from numerate.reading.records import RecordsReader
from numerate.registry import UnknownNameError, near_names
from numerate_lab.tasks.asked_number.asked_number import Truth
from numerate_lab.tasks.planets.integrator import TOLERANCE
from numerate_lab.tasks.planets.planet_texts import FIELDS, write
from numerate_lab.tasks.planets.system_draws import Systems, draw_block
from numerate_lab.tasks.records.record_source import RecordSource, check_settings

__all__ = ["FIELDS", "PRESETS", "SPLITS", "PlanetSource", "PlanetsConfig"]

SPLITS = ("train", "dev", "test", "stepsize-between", "a1-gap")
MOST_KEPT = 8
"""Blocks that a task remembers."""


@dataclass(frozen=True, kw_only=True)
class PlanetsConfig(Config):
    """What systems are drawn; the defaults are the paper's. Units: G and the star's mass are 1.

    Attributes:
        planets: Fewest and most planets.
        mass: Of a planet, uniform from least to most, as are the next.
        inner: The innermost planet's semi-major axis; the others are evenly spaced up to `outer`.
        outer: The outermost planet's.
        eccentricity: Of the orbits, whose perihelia all lie at angle 0.
        angle: Where planets start, in radians.
        aligned: Share of systems that all start at angle 0.
        time: Least and most time, whole numbers; an inner planet goes around in 2 pi.
        points: Fewest and most times that a system is seen at, the first and the last included.
        bound: A system with a coordinate of this size or more is rejected.
        mass_unit: What masses are multiplied by in a record,
        eccentricity_unit: and eccentricities.
        significant: Digits of the numbers in a record; None for all 17, as in the paper's data.
        quote: What keys are written in: `'` as in the paper's data, or `"`, which makes JSON of it.
        margin: How far the split `stepsize-between` keeps from the time steps of training.
        block: Systems that are drawn at once; other blocks have other systems.
        tolerance: Of the motion; see `integrator`.
    """

    kind: ClassVar[str] = "planets"
    planets: tuple[int, int] = (2, 4)
    mass: tuple[float, float] = (1e-5, 5e-5)
    inner: float = 1.0
    outer: tuple[float, float] = (1.5, 3.0)
    eccentricity: tuple[float, float] = (0.0, 0.1)
    angle: tuple[float, float] = (-math.pi / 6, math.pi / 6)
    aligned: float = 0.0
    time: tuple[int, int] = (15, 24)
    points: tuple[int, int] = (30, 59)
    bound: float = 10.0
    mass_unit: float = 1e5
    eccentricity_unit: float = 20.0
    significant: int | None = None
    quote: str = "'"
    margin: float = 0.001
    block: int = 1024
    tolerance: float = TOLERANCE

    def __post_init__(self) -> None:
        least = {"planets": 2, "mass": 0.0, "time": 1, "points": 2, "eccentricity": 0.0}
        wrong = {
            f"orbits are ellipses: eccentricity={self.eccentricity}": self.eccentricity[1] >= 1,
            f"inner={self.inner}, outer={self.outer}": not 0 < self.inner < self.outer[0] <= self.outer[1],
            f"angle={self.angle}": self.angle[0] > self.angle[1],
            f"aligned={self.aligned}": not 0 <= self.aligned <= 1,
            f"bound must be beyond the orbits: bound={self.bound}": not self.bound > self.outer[1],
            "units must be positive": not min(self.mass_unit, self.eccentricity_unit) > 0,
            f"significant={self.significant}": not 1 <= (17 if self.significant is None else self.significant) <= 17,
            f"margin={self.margin}": not self.margin >= 0,
            f"block={self.block}": self.block < 1,
            f"tolerance={self.tolerance}": not 0 < self.tolerance < 1e-3,
        }
        check_settings(self, least, wrong)

    @property
    def gap_end(self) -> float:
        """The smallest semi-major axis that a planet other than the innermost can have: 1.1667 in the paper."""
        return self.inner + (self.outer[0] - self.inner) / (self.planets[1] - 1)


class PlanetSource(RecordSource):
    """Planet systems, and one number asked for in each; a `QuestionSource`.

    Args:
        config: What is drawn; or a preset's name.
        asks: `stepsize`, or `a1`, `e1`, `m1`: the semi-major axis, eccentricity or mass of planet0.
        device: Where motion is computed. Another device's blocks differ by rounding.

    Attributes:
        answer_path: The key path of what is asked for, for `wanted_numbers`.
        answer_slot: Which number of each text it is; None where this differs from text to text.

    Example:
        >>> task = PlanetSource(PlanetsConfig(block=4, significant=3), asks="a1")
        >>> task.texts("test", 1)[0][:45]
        "{'description':{'planet0':{'m':...,'a':...
        >>> truth = task.truth("a1-gap", 4)
        >>> bool((truth.values > 1).all() and (truth.values < 1.17).all())
        True
        >>> float(task.measure(truth.values + 0.1, truth)["mse"])
        0.01...
    """

    splits = SPLITS

    def __init__(self, config: PlanetsConfig | str = "paper", asks: str = "stepsize", device: str = "cpu") -> None:
        if isinstance(config, str):
            if config not in PRESETS:
                raise UnknownNameError(f"unknown planets {config!r}: {near_names(config, list(PRESETS))}")
            config = PRESETS[config]
        if asks not in FIELDS:
            raise UnknownNameError(f"planets can be asked for {', '.join(FIELDS)}, got {asks!r}")
        self.config, self.asks, self.device = config, asks, device
        self.answer_path = FIELDS[asks]
        low, high = config.planets
        self.answer_slot = self._slot(high) if asks != "stepsize" or low == high else None
        self._block = functools.lru_cache(MOST_KEPT)(self._made)

    def samples(self, split: str, count: int, seed: int = 0, start: int = 0) -> Systems:
        """Systems `start` to `start + count` of a split."""
        self.check_range(split, count, start)
        size, parts = self.config.block, []
        for number in range(start // size, max(start, start + count - 1) // size + 1):
            first = number * size
            parts.append(self._block(split, seed, number)[max(start - first, 0) : start + count - first])
        return Systems.joined(parts)

    def written(self, samples: Systems) -> list[str]:
        """The records of some systems as text."""
        return write(self.config, samples)

    def truth(self, split: str, count: int, seed: int = 0, start: int = 0) -> Truth:
        """The answers in the units of the records; the group `planets` is the number of planets."""
        systems = self.samples(split, count, seed, start)
        # Answers stand in the description: there is no need to write how all planets moved.
        short = dataclasses.replace(systems, points=np.zeros_like(systems.points))
        pairs = zip(self.written(short), systems.planets.tolist(), strict=True)
        asked = [RecordsReader().find(text)[self._slot(planets)] for text, planets in pairs]
        values = np.array([one.value for one in asked], dtype=np.float64)
        precision = np.array([one.precision for one in asked], dtype=np.int64)
        places = np.array([(one.start, one.end) for one in asked], dtype=np.int64).reshape(-1, 2)
        return Truth(values, [one.text for one in asked], precision, places, {"planets": systems.planets})

    def _slot(self, planets: int) -> int:
        """The index of the answer among the numbers of a record."""
        return {"m1": 0, "a1": 1, "e1": 2, "stepsize": 3 * planets}[self.asks]

    def _made(self, split: str, seed: int, number: int) -> Systems:
        rng = np.random.default_rng([seed, zlib.crc32(split.encode()), number])
        return draw_block(self.config, split, rng, self.device)


PRESETS = {
    "paper": PlanetsConfig(),
    # Five planets and angles all around are what the code published later has, not what the paper's figures come from.
    "public-code": PlanetsConfig(planets=(2, 5), angle=(0.0, 2 * math.pi), aligned=0.3),
}
"""Named configs."""
