"""Temperature over a region and a while: read from npz or NetCDF, or made up where there is none."""

from __future__ import annotations

import calendar
import importlib
import importlib.util
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["DAY", "FieldError", "TemperatureField", "read_field", "synthetic_field"]

DAY = 86_400
"""Seconds of a day."""
HOUR = 3_600
NAMES = {"t2m": ("t2m",), "time": ("time", "valid_time"), "lat": ("lat", "latitude"), "lon": ("lon", "longitude")}
"""What a file may call them: ours, and those of the Climate Data Store."""


class FieldError(ValueError):
    """A file that holds no temperature field, or one that cannot be used."""


@dataclass(frozen=True, eq=False)
class TemperatureField:
    """Temperature 2 m above ground, on a grid.

    Attributes:
        t2m: (T, Y, X) floats, in kelvin; NaN where unknown.
        time: (T,) int64, seconds since 1970 in UTC, rising evenly by a whole number of hours.
        lat: (Y,) degrees north.
        lon: (X,) degrees east.

    Example:
        >>> field = TemperatureField(np.full((3, 1, 2), 280.0), np.arange(3) * 3600, np.array([50.0]), np.array([0, 1]))
        >>> field.hours, field.known_cells().tolist()
        (1, [0, 1])
    """

    t2m: np.ndarray
    time: np.ndarray
    lat: np.ndarray
    lon: np.ndarray

    def __post_init__(self) -> None:
        shape = (len(self.time), len(self.lat), len(self.lon))
        if self.t2m.shape != shape or self.t2m.dtype.kind != "f":
            raise FieldError(f"t2m must be floats (time, lat, lon) = {shape}, got {self.t2m.shape}, {self.t2m.dtype}")
        if len(self.time) < 2:
            raise FieldError(f"a field needs two times or more, got {len(self.time)}")
        steps = np.diff(self.time)
        uneven = np.flatnonzero((steps != steps[0]) | (steps <= 0))
        if len(uneven) or steps[0] % HOUR:
            at = int(uneven[0]) if len(uneven) else 0
            raise FieldError(f"times must rise evenly by whole hours, got {int(steps[at])} s behind time {at}")
        for name, most in (("lat", 90), ("lon", 360)):
            if not (np.abs(getattr(self, name)) <= most).all():
                raise FieldError(f"{name} must be degrees within ±{most}, got {getattr(self, name).tolist()[:3]}")

    @property
    def hours(self) -> int:
        """From one time to the next."""
        return int(self.time[1] - self.time[0]) // HOUR

    def known_cells(self) -> np.ndarray:
        """Places in the grid, row by row, whose temperature is known at all times; int64."""
        return np.flatnonzero(np.isfinite(self.t2m).all(0).ravel())


def read_field(path: str | Path) -> TemperatureField:
    """A field from a file: `.npz`, anything else is NetCDF.

    Arrays are `t2m` (time, lat, lon) in kelvin, `time` (npz: seconds since 1970 or datetime64), `lat` and `lon`, or as
    the Climate Data Store calls them: `valid_time`, `latitude`, `longitude`. NetCDF needs the package netCDF4.

    Example:
        >>> read_field("no.npz")
        Traceback (most recent call last):
        numerate_lab.tasks.temperature.weather_fields.FieldError: no.npz: no such file
    """
    path = Path(path)
    if not path.is_file():
        raise FieldError(f"{path}: no such file")
    try:
        return TemperatureField(*(_npz(path) if path.suffix == ".npz" else _netcdf(path)))
    except FieldError as error:
        raise FieldError(f"{path.name}: {error}") from None


def _npz(path: Path) -> list[np.ndarray]:
    try:
        # Opened here, because NumPy leaves a file open that turns out to be torn.
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            t2m, time, lat, lon = (file[name] for name in _named(list(file.files)))
    except FieldError:
        raise
    except (OSError, EOFError, ValueError, zipfile.BadZipFile) as error:
        raise FieldError(f"no npz of arrays: {error}") from None
    if time.dtype.kind == "M":
        time = time.astype("datetime64[s]").astype(np.int64)
    if time.dtype.kind not in "iu":
        raise FieldError(f"time must be whole seconds or datetime64, got {time.dtype}")
    return [t2m, time.astype(np.int64), lat, lon]


def _netcdf(path: Path) -> list[np.ndarray]:
    if importlib.util.find_spec("netCDF4") is None:
        raise ModuleNotFoundError(f"{path.name}: NetCDF needs netCDF4, which is not installed: pip install netCDF4")
    package: Any = importlib.import_module("netCDF4")
    try:
        file = package.Dataset(str(path))
    except OSError as error:
        raise FieldError(f"no NetCDF: {error}") from None
    with file:
        names = _named(list(file.variables))
        t2m, time = file.variables[names[0]], file.variables[names[1]]
        grid = list(t2m.dimensions)
        if [name for name in grid if name in names[1:]] != names[1:]:
            raise FieldError(f"t2m must be over (time, lat, lon) in this order, got {tuple(grid)}")
        others = tuple(axis for axis, name in enumerate(grid) if name not in names[1:])
        # Such as the member of an ensemble. Of several, nobody can say here which one is meant.
        if any(t2m.shape[axis] != 1 for axis in others):
            raise FieldError(f"t2m has {dict(zip(grid, t2m.shape, strict=True))}; keep time, lat and lon alone")
        kelvin = np.ma.filled(np.ma.asarray(t2m[:], dtype=np.float64), np.nan).squeeze(others)
        dates = package.num2date(time[:], time.units, getattr(time, "calendar", "standard"))
        seconds = [calendar.timegm(date.timetuple()) for date in np.ma.getdata(dates).ravel()]
        lat, lon = (np.ma.getdata(file.variables[name][:]).astype(np.float64) for name in names[2:])
    return [kelvin, np.array(seconds, dtype=np.int64), lat, lon]


def _named(present: list[str]) -> list[str]:
    """What a file calls t2m, time, lat and lon."""
    found = [next((name for name in options if name in present), "") for options in NAMES.values()]
    missing = [" or ".join(options) for options, name in zip(NAMES.values(), found, strict=True) if not name]
    if missing:
        raise FieldError(f"lacks {', '.join(missing)}; has {', '.join(present) or 'nothing'}")
    return found


def synthetic_field(
    days: int = 60, hours: int = 1, shape: tuple[int, int] = (16, 24), seed: int = 0, waves: int = 12
) -> TemperatureField:
    """A made-up field: warmer in the south, warmest at three in the afternoon, more so on land; and weather.

    Weather is a sum of plane waves over the region that come and go within three days. All begins with March 2021.
    Times are `hours` apart, which must divide 24. `shape` is rows and columns of a grid of quarter degrees, north to
    south and west to east. Another seed gives other weather over another land.

    Example:
        >>> synthetic_field(days=2, hours=3, shape=(4, 5)).t2m.shape
        (16, 4, 5)
    """
    if days < 1 or hours < 1 or 24 % hours or min(shape) < 1 or waves < 1:
        raise ValueError(
            f"a field needs days, hours that divide 24, cells and waves: {days=}, {hours=}, {shape=}, {waves=}"
        )
    rng = np.random.default_rng([seed, 0x2A])
    rows, columns = shape
    lat, lon = 52.0 - 0.25 * np.arange(rows), 5.0 + 0.25 * np.arange(columns)
    time = calendar.timegm((2021, 3, 1, 0, 0, 0)) + HOUR * hours * np.arange(24 * days // hours, dtype=np.int64)

    def wave_over(count: int) -> np.ndarray:
        """Plane waves of 3 to 15 degrees, (count, Y, X)."""
        angle, length, phase = rng.uniform(0, np.pi, count), rng.uniform(3, 15, count), rng.uniform(0, 2 * np.pi, count)
        along = np.cos(angle)[:, None, None] * lat[:, None] + np.sin(angle)[:, None, None] * lon
        return np.sin(2 * np.pi * along / length[:, None, None] + phase[:, None, None])

    land = 1 / (1 + np.exp(-4 * wave_over(3).sum(0)))  # from sea, 0, to land, 1
    local = (time[:, None] / HOUR + lon / 15) % 24
    diurnal = np.cos(2 * np.pi * (local - 15) / 24)[:, None, :] * (0.5 + 4 * land)
    kept = np.exp(-hours / 72)
    drive = rng.normal(size=(len(time), waves)) * np.sqrt(1 - kept**2)
    strength = rng.normal(size=waves)
    weather = np.empty((len(time), waves))
    for at, push in enumerate(drive):
        strength = kept * strength + push
        weather[at] = strength
    rough = rng.normal(scale=0.1, size=(len(time), rows, columns))
    weathered = np.einsum("tw,wyx->tyx", weather, wave_over(waves)) * np.sqrt(8 / waves)
    t2m = 283 - 0.6 * (lat - lat.mean())[:, None] + diurnal + weathered + rough
    return TemperatureField(t2m.astype(np.float32), time, lat, lon)
