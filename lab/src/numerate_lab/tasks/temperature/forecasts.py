"""Temperature: records of the weather at some stations, whose last temperatures are asked for, as in xVal's paper.

A record tells where 60 to 90 stations are, when it begins, and the temperatures of each over two to four days:
`{'description':{'coords':[[sin lat,sin lon,cos lon],..],'start':[..]},'data':[[..],..]}`. Asked for are the last
temperatures of all stations at once, in units of the standard deviation of the training temperatures.

Splits are stretches of time: first `train`, then `dev`, and `test` at the end, a gap before each of these two; a
record lies within one of them. Sample `i` depends on config, seed, split and `i` alone.
"""

from __future__ import annotations

import dataclasses
import functools
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch

from numerate import metrics
from numerate.config import Config
from numerate.reading.records import RecordsReader
from numerate_lab.tasks.asked_number.asked_number import Truth, compared
from numerate_lab.tasks.records.record_arrays import rounded
from numerate_lab.tasks.records.record_source import RecordSource, check_settings
from numerate_lab.tasks.temperature.linear_baseline import TemperatureLine
from numerate_lab.tasks.temperature.station_texts import Sample, write
from numerate_lab.tasks.temperature.weather_fields import DAY, TemperatureField, read_field, synthetic_field

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.metrics import Interval, Score

__all__ = ["BASELINES", "SPLITS", "TemperatureConfig", "TemperatureSource"]

SPLITS = ("train", "dev", "test")
BASELINES = ("persistence", "climatology", "yesterday", "line")
"""What needs no network: the temperature before; the mean of this place and hour in training; the temperature before
and what it changed by yesterday at this hour; a straight line, see `TemperatureLine`."""
LINE_RECORDS = 3000
"""Training records that the line is drawn through: more change nothing."""


@dataclass(frozen=True, kw_only=True)
class TemperatureConfig(Config):
    """Which records are drawn. The paper says days and stations; the rest is ours.

    Attributes:
        source: A file for `read_field`, or `synthetic`.
        days: Fewest and most days of a record, two at least.
        stations: Fewest and most stations, different ones.
        steps: Hours from one temperature to the next, any of these; those that the field does not have are left out.
        dev: Share of all times,
        test: and at the end of all.
        gap: Hours before dev, and before test, that belong to no split.
        decimals: Of the numbers in a record.
        quote: What keys are written in: `'` as in the paper's data, or `"`, which makes JSON of it.
        synthetic_days: How long the synthetic field is,
        synthetic_seed: and which.
    """

    kind: ClassVar[str] = "temperature"
    source: str = "synthetic"
    days: tuple[int, int] = (2, 4)
    stations: tuple[int, int] = (60, 90)
    steps: tuple[int, ...] = (3, 4)
    dev: float = 0.15
    test: float = 0.2
    gap: int = 24
    decimals: int = 4
    quote: str = "'"
    synthetic_days: int = 60
    synthetic_seed: int = 0

    def __post_init__(self) -> None:
        is_share = self.dev > 0 and self.test > 0 and self.dev + self.test < 1
        wrong = {
            f"steps={self.steps}": not self.steps or any(step not in (1, 2, 3, 4, 6, 8, 12) for step in self.steps),
            f"steps must differ: {self.steps}": len(set(self.steps)) != len(self.steps),
            f"dev={self.dev}, test={self.test}": not is_share,
            f"gap={self.gap}": self.gap < 0,
            f"decimals={self.decimals}": not 1 <= self.decimals <= 12,
            f"synthetic_days={self.synthetic_days}": self.synthetic_days < 1,
        }
        check_settings(self, {"days": 2, "stations": 1}, wrong)


class TemperatureSource(RecordSource):
    """Temperatures at stations, the last ones asked for: as `QuestionSource`, but several numbers a text.

    Args:
        config: What is drawn; or the `source` of one that is otherwise the default.
        field: Temperatures that are at hand already; the config's source is then not looked at.

    Attributes:
        mean: Of the training temperatures, in kelvin.
        kelvin: Their standard deviation: what 1 in a record is worth.
        bounds: The first time of each split, and the one behind its last.
        answer_slot: None, because a text has several answers; see the group `slot` of `truth`.

    Example:
        >>> task = TemperatureSource(TemperatureConfig(stations=(2, 2), decimals=2))
        >>> text, truth = task.texts("test", 1)[0], task.truth("test", 1)
        >>> text[:40], task.questions([text], truth)[0].count("[NUM]")
        ("{'description':{'coords':[[0...", 2)
        >>> guesses = task.baselines("test", 1)["persistence"]
        >>> task.measure(guesses, truth)["mse_kelvin"].count
        2
    """

    splits = SPLITS
    answer_slot = None

    def __init__(self, config: TemperatureConfig | str = "synthetic", field: TemperatureField | None = None) -> None:
        self.config = TemperatureConfig(source=config) if isinstance(config, str) else config
        if field is None and self.config.source == "synthetic":
            field = synthetic_field(self.config.synthetic_days, seed=self.config.synthetic_seed)
        self.field = read_field(self.config.source) if field is None else field
        every, hours = len(self.field.time), self.field.hours
        self.steps = tuple(step for step in self.config.steps if step % hours == 0)
        if not self.steps:
            raise ValueError(f"a field of every {hours} h has none of the steps {self.config.steps}")
        gap, dev = -(-self.config.gap // hours), round(self.config.dev * every)
        test_from = every - round(self.config.test * every)
        dev_from = test_from - gap - dev
        self.bounds = {
            "train": (0, dev_from - gap), "dev": (dev_from, dev_from + dev), "test": (test_from, every),
        }  # fmt: skip
        longest = max(self._length(self.config.days[1], step) for step in self.steps)
        for split, (first, behind) in self.bounds.items():
            if behind - first < longest:
                spans = f"{max(behind - first, 0) * hours} h"
                raise ValueError(f"records of {self.config.days[1]} days do not fit into {split!r}, which has {spans}")
        self._cells = self.field.known_cells()
        if len(self._cells) < self.config.stations[1]:
            raise ValueError(f"{len(self._cells)} known cells for stations={self.config.stations}")
        self._flat = self.field.t2m.reshape(every, -1)
        training = self._flat[: self.bounds["train"][1], self._cells].astype(np.float64)
        self.mean, self.kelvin = float(training.mean()), float(training.std())
        if not self.kelvin > 0:
            raise ValueError(f"training temperatures are all {self.mean} K")

    def samples(self, split: str, count: int, seed: int = 0, start: int = 0) -> list[Sample]:
        """Samples `start` to `start + count` of a split."""
        self.check_range(split, count, start)
        return [self._sample(split, seed, number) for number in range(start, start + count)]

    def written(self, samples: Sequence[Sample]) -> list[str]:
        """The records of some samples as text."""
        return [write(self.field, sample, self.config.decimals, self.config.quote) for sample in samples]

    def truth(self, split: str, count: int, seed: int = 0, start: int = 0) -> Truth:
        """The last temperatures of all records, station by station, in the units of the records.

        Groups: `record`, counted from 0; `slot`, which number of the record it is; `cell` of the grid; `time` in
        seconds since 1970; `hour` of the day; and `step` in hours.
        """
        samples, reader = self.samples(split, count, seed, start), RecordsReader()
        asked = []  # of each answer: record, slot, cell, time, hours of a step, and where it begins and ends
        strings = []
        for record, (text, sample) in enumerate(zip(self.written(samples), samples, strict=True)):
            spans, time = reader.spans(text), int(self.field.time[sample.times[-1]])
            for slot, cell in zip(sample.slots.tolist(), sample.cells.tolist(), strict=True):
                begin, end, *_ = spans[slot]
                asked.append((record, slot, cell, time, sample.hours, begin, end))
                strings.append(text[begin:end])
        columns = np.array(asked, dtype=np.int64).reshape(-1, 7)
        groups: dict[str, np.ndarray] = dict(zip(("record", "slot", "cell", "time", "step"), columns.T, strict=False))
        groups["hour"] = groups["time"] % DAY // 3600
        values = np.array([float(string) for string in strings], dtype=np.float64)
        precision = np.full(len(strings), -self.config.decimals, dtype=np.int64)  # 0.5 means 0.5000
        return Truth(values, strings, precision, columns[:, 5:], groups)

    def questions(self, texts: Sequence[str], truth: Truth, mark: str = "[NUM]") -> list[str]:
        """The texts with a mark in place of all that is asked for, as `NumberModel.predict` takes them."""
        records, spans = truth.groups["record"], truth.spans
        if spans is None or (len(records) and int(records.max()) >= len(texts)):
            raise ValueError(f"{len(texts)} texts for answers of {len(np.unique(records))} records")
        found = list(texts)
        # From behind, so that what stands before keeps its place.
        for record, (begin, end) in zip(records[::-1].tolist(), spans[::-1].tolist(), strict=True):
            found[record] = found[record][:begin] + mark + found[record][end:]
        return found

    def baselines(self, split: str, count: int, seed: int = 0, start: int = 0) -> dict[str, np.ndarray]:
        """What each of BASELINES predicts for `truth` of the same arguments, (N,) each; from what records say alone."""
        rows = [np.zeros((len(BASELINES), 0))]
        for sample in self.samples(split, count, seed, start):
            values, day = sample.values, 24 // sample.hours
            change = values[:, -1 - day] - values[:, -2 - day]
            usual = self._usual[self._slot_of_day(sample.times[-1]), sample.cells]
            rows.append(np.stack([values[:, -2], usual, values[:, -2] + change, self._line.guess(sample)]))
        return dict(zip(BASELINES, np.concatenate(rows, axis=1), strict=True))

    def measure(self, predicted: Any, truth: Truth) -> dict[str, Score]:
        """The figures of `RecordSource.measure`, and the mean squared error `mse_kelvin` in kelvin squared."""
        found = super().measure(predicted, truth)
        kelvin = dataclasses.replace(found["mse"], value=found["mse"].value * self.kelvin**2)
        return found | {"mse_kelvin": kelvin}

    def interval(self, predicted: Any, truth: Truth, other: Any = None, **options: Any) -> Interval:
        """The mean squared error in the units of the records, with an interval by a bootstrap that draws whole days.

        Stations of one day share its weather, and records that overlap share even more. `predicted` and `other` are
        as for `measure`; with `other`, it is the difference to these predictions. `options` are those of
        `metrics.bootstrap`.
        """
        errors = [
            torch.from_numpy((compared(given, truth)[0] - truth.values) ** 2)
            for given in (predicted, other)
            if given is not None
        ]
        return metrics.bootstrap(*errors, clusters=torch.from_numpy(truth.groups["time"] // DAY), **options)

    def _length(self, days: int, step: int) -> int:
        """How many times of the field a record goes over, its last one included."""
        return (24 * days - step) // self.field.hours + 1

    def _sample(self, split: str, seed: int, number: int) -> Sample:
        rng = np.random.default_rng([seed, zlib.crc32(split.encode()), number])
        days, stations = (int(rng.integers(low, high + 1)) for low, high in (self.config.days, self.config.stations))
        step = self.steps[int(rng.integers(len(self.steps)))]
        first, behind = self.bounds[split]
        first += int(rng.integers(behind - first - self._length(days, step) + 1))
        times = first + step // self.field.hours * np.arange(24 * days // step)
        cells = rng.choice(self._cells, stations, replace=False)
        values = self._flat[np.ix_(times, cells)].T.astype(np.float64)
        return Sample(times, cells, step, rounded((values - self.mean) / self.kelvin, self.config.decimals))

    def _slot_of_day(self, times: Any) -> Any:
        return self.field.time[times] % DAY // (3600 * self.field.hours)

    @functools.cached_property
    def _usual(self) -> np.ndarray:
        """The mean of each time of day (as many as the field has) and cell in training, in the units of the records."""
        training = self._flat[: self.bounds["train"][1]]
        slots = self._slot_of_day(np.arange(len(training)))
        means = [training[slots == slot].mean(0, dtype=np.float64) for slot in range(24 // self.field.hours)]
        return (np.stack(means) - self.mean) / self.kelvin

    @functools.cached_property
    def _line(self) -> TemperatureLine:
        return TemperatureLine(self.samples("train", LINE_RECORDS), self.field.time)
