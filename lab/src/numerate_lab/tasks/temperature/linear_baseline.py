"""A straight line through the day before: the simplest thing that learns, and what a network has to beat."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numerate_lab.tasks.temperature.weather_fields import DAY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate_lab.tasks.temperature.station_texts import Sample

__all__ = ["TemperatureLine"]


class TemperatureLine:
    """Least squares for a station's last change, one line for each step, from what a record tells.

    It sees the station's temperatures of the day before and one more, the means of all stations at those times, and the
    hour of the day as two waves. `samples` are those of training, `time` (T,) the field's in seconds since 1970.

    Example:
        >>> from numerate_lab.tasks.temperature.forecasts import TemperatureSource
        >>> task = TemperatureSource()
        >>> line = TemperatureLine(task.samples("train", 50), task.field.time)
        >>> sample = task.samples("test", 1)[0]
        >>> line.guess(sample).shape == sample.cells.shape
        True
    """

    def __init__(self, samples: Sequence[Sample], time: np.ndarray) -> None:
        self._time = time
        self._weights = {}
        for hours in sorted({sample.hours for sample in samples}):
            chosen = [sample for sample in samples if sample.hours == hours]
            known = np.concatenate([self._known(sample) for sample in chosen])
            change = np.concatenate([sample.values[:, -1] - sample.values[:, -2] for sample in chosen])
            # A ridge of one record's worth: with few records there are more columns than rows.
            squared = known.T @ known + np.eye(known.shape[1])
            self._weights[hours] = np.linalg.solve(squared, known.T @ change)

    def guess(self, sample: Sample) -> np.ndarray:
        """The last temperature of each station, (S,)."""
        return sample.values[:, -2] + self._known(sample) @ self._weights[sample.hours]

    def _known(self, sample: Sample) -> np.ndarray:
        before = sample.values[:, -2 : -3 - 24 // sample.hours : -1]
        angle = 2 * np.pi * (self._time[sample.times[-1]] % DAY) / DAY
        hour = [1.0, np.sin(angle), np.cos(angle), np.sin(2 * angle), np.cos(2 * angle)]
        shared = np.concatenate([before.mean(0), hour])
        return np.concatenate([before, np.tile(shared, (len(before), 1))], axis=1)
