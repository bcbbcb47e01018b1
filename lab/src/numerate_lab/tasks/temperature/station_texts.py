"""Temperatures as the paper's records: `{'description':{'coords':[...],'start':[...]},'data':[[...],...]}`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from numerate_lab.tasks.records.record_arrays import record_text, rounded
from numerate_lab.tasks.temperature.weather_fields import DAY, TemperatureField

__all__ = ["Sample", "coordinates", "moment", "placed", "write"]


@dataclass(frozen=True, eq=False)
class Sample:
    """Some stations for some days.

    Attributes:
        times: (T,) int64, places in the field's times.
        cells: (S,) int64, places in its grid, row by row.
        hours: From one time to the next.
        values: (S, T) float64, temperatures in the units of the records, rounded as they are written.
    """

    times: np.ndarray
    cells: np.ndarray
    hours: int
    values: np.ndarray

    @property
    def slots(self) -> np.ndarray:
        """Which numbers of the record are the last temperatures, (S,) int64: behind coordinates and start."""
        stations, times = self.values.shape
        return 3 * stations + 4 + times * np.arange(1, stations + 1) - 1


def coordinates(lat: np.ndarray, lon: np.ndarray) -> np.ndarray:
    """Where places are, in degrees (S,), as numbers without a seam: sin lat, sin lon, cos lon; (S, 3).

    Example:
        >>> coordinates(np.array([30.0]), np.array([-90.0])).round(3).tolist()
        [[0.5, -1.0, 0.0]]
    """
    north, east = (np.radians(np.asarray(degrees, dtype=np.float64)) for degrees in (lat, lon))
    return np.stack([np.sin(north), np.sin(east), np.cos(east)], axis=-1)


def moment(seconds: int) -> np.ndarray:
    """When: sine and cosine of the time of day in UTC, then of the time of year; (4,).

    Example:
        >>> moment(6 * 3600).round(3).tolist()  # six in the morning of the first of January
        [1.0, 0.0, 0.004, 1.0]
    """
    year = np.datetime64(int(seconds), "s").astype("datetime64[Y]")
    first, behind = (one.astype("datetime64[s]").astype(np.int64) for one in (year, year + np.timedelta64(1, "Y")))
    turns = 2 * np.pi * np.array([seconds % DAY / DAY, (seconds - first) / (behind - first)])
    return np.stack([np.sin(turns), np.cos(turns)], axis=-1).ravel()


def placed(field: TemperatureField, sample: Sample) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of a record's description: coordinates (S, 3) of its stations, and its start (4,)."""
    rows, columns = np.divmod(sample.cells, len(field.lon))
    return coordinates(field.lat[rows], field.lon[columns]), moment(int(field.time[sample.times[0]]))


def write(field: TemperatureField, sample: Sample, decimals: int, quote: str) -> str:
    """The record of a sample as text; numbers as Python writes them once rounded."""
    where, when = (rounded(numbers, decimals).tolist() for numbers in placed(field, sample))
    record = {"description": {"coords": where, "start": when}, "data": sample.values.tolist()}
    return record_text(record, quote)
