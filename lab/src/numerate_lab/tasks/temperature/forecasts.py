"""Temperature: records of the weather at some stations, whose last temperatures are asked for, as in xVal's paper.

A record tells where 60 to 90 stations are, when it begins, and the temperatures of each over two to four days:
`{'description':{'coords':[[sin lat,sin lon,cos lon],..],'start':[..]},'data':[[..],..]}`. Asked for are the last
temperatures of all stations at once, in units of the standard deviation of the training temperatures.

Splits are stretches of time: first `train`, then `dev`, and `test` at the end, a gap before each of these two; a
record lies within one of them. Sample `i` depends on config, seed, split and `i` alone.
"""

from __future__ import annotations

import dataclasses
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch

from numerate import metrics
from numerate.config import Config
from numerate.metrics import Interval, Score
from numerate.registry import near_names
from numerate_lab.tasks.asked_number.asked_number import Truth, compared, measure
from numerate_lab.tasks.records.record_arrays import rounded
from numerate_lab.tasks.temperature.linear_baseline import TemperatureLine
from numerate_lab.tasks.temperature.station_texts import Record, Sample, write
from numerate_lab.tasks.temperature.weather_fields import DAY, TemperatureField, read_field, synthetic_field

if TYPE_CHECKING:
    from collections.abc import Sequence

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
        for name, least in (("days", 2), ("stations", 1)):
            low, high = getattr(self, name)
            if not least <= low <= high:
                raise ValueError(f"temperature: {name} must be from {least} up, least and most: {(low, high)}")
        for wrong, message in (
            (not self.steps or any(step < 1 or 24 % step or step > 12 for step in self.steps), f"steps={self.steps}"),
            (len(set(self.steps)) != len(self.steps), f"steps must differ: {self.steps}"),
            (not (self.dev > 0 and self.test > 0 and self.dev + self.test < 1), f"dev={self.dev}, test={self.test}"),
            (self.gap < 0, f"gap={self.gap}"),
            (not 1 <= self.decimals <= 12, f"decimals={self.decimals}"),
            (self.quote not in ("'", '"'), f"quote must be ' or \", got {self.quote!r}"),
            (self.synthetic_days < 1, f"synthetic_days={self.synthetic_days}"),
        ):
            if wrong:
                raise ValueError(f"temperature: {message}")


class TemperatureSource:
    """Temperatures at stations, the last ones asked for: as `QuestionSource`, but several numbers a text.

    Args:
        config: What is drawn; or the `source` of one that is otherwise the default.
        field: Temperatures that are at hand already; the config's source is then not looked at.

    Attributes:
        mean: Of the training temperatures, in kelvin.
        kelvin: Their standard deviation: what 1 in a record is worth.
        bounds: The first time of each split, and the one behind its last.
        answer_slot: None, for there are many in a text; see `wanted` and `answer_paths`.

    Example:
        >>> task = TemperatureSource(TemperatureConfig(stations=(2, 2), decimals=2))
        >>> text, truth = task.texts("test", 1)[0], task.truth("test", 1)
        >>> text[:40], task.questions([text], truth)[0].count("[NUM]")
        ("{'description':{'coords':[[0...", 2)
        >>> guesses = task.baselines("test", 1)["persistence"]
        >>> task.measure(guesses, truth)["mse_kelvin"].count
        2
    """

    answer_slot = None

    def __init__(self, config: TemperatureConfig | str = "synthetic", field: TemperatureField | None = None) -> None:
        self.config = TemperatureConfig(source=config) if isinstance(config, str) else config
        self.field = self._read() if field is None else field
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
        self._climatology: np.ndarray | None = None
        self._line: TemperatureLine | None = None

    def samples(self, split: str, count: int, seed: int = 0, start: int = 0) -> list[Sample]:
        """Samples `start` to `start + count` of a split."""
        if split not in SPLITS:
            raise ValueError(f"split {split!r}: {near_names(split, list(SPLITS))}")
        if count < 0 or start < 0:
            raise ValueError(f"count and start must not be negative, got {count=}, {start=}")
        return [self._sample(split, seed, number) for number in range(start, start + count)]

    def texts(self, split: str, count: int, seed: int = 0, start: int = 0) -> list[str]:
        """Their records, complete; see `QuestionSource`."""
        return [text for text, _ in self.records(split, count, seed, start)]

    def records(self, split: str, count: int, seed: int = 0, start: int = 0) -> list[Record]:
        """Their records, and where the last temperatures stand in each."""
        return write(self.field, self.samples(split, count, seed, start), self.config.decimals, self.config.quote)

    def truth(self, split: str, count: int, seed: int = 0, start: int = 0) -> Truth:
        """The last temperatures of all records, station by station, in the units of the records.

        Groups: `record`, counted from 0; `slot`, which number of the record it is; `cell` of the grid; `time` in
        seconds since 1970; `hour` of the day; and `step` in hours.
        """
        samples = self.samples(split, count, seed, start)
        written = write(self.field, samples, self.config.decimals, self.config.quote)
        sizes = np.array([len(sample.cells) for sample in samples], dtype=np.int64)
        times = np.array([self.field.time[sample.times[-1]] for sample in samples], dtype=np.int64).repeat(sizes)
        groups = {
            "record": np.arange(len(samples)).repeat(sizes),
            "slot": _joined([sample.slots for sample in samples]),
            "cell": _joined([sample.cells for sample in samples]),
            "time": times,
            "hour": times % DAY // 3600,
            "step": np.array([sample.hours for sample in samples], dtype=np.int64).repeat(sizes),
        }
        strings = [text[begin:end] for text, spans in written for begin, end in spans.tolist()]
        values = np.array([float(string) for string in strings], dtype=np.float64)
        precision = np.full(len(strings), -self.config.decimals, dtype=np.int64)  # 0.5 means 0.5000
        return Truth(values, strings, precision, _joined([spans for _, spans in written], (0, 2)), groups)

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

    def answer_paths(self, split: str, count: int, seed: int = 0, start: int = 0) -> list[list[str]]:
        """The key paths of what each record asks for, as the reader `records` names them: `data[0][17]`, ..."""
        samples = self.samples(split, count, seed, start)
        return [[f"data[{row}][{len(one.times) - 1}]" for row in range(len(one.cells))] for one in samples]

    def wanted(self, truth: Truth, width: int | None = None) -> torch.Tensor:
        """The field `number_wanted` of a batch of these records: (B, M) bool; M is `width`, or as small as can be."""
        record, slot = (torch.from_numpy(truth.groups[name]) for name in ("record", "slot"))
        shape = (int(record.max()) + 1, width or int(slot.max()) + 1) if len(truth) else (0, width or 0)
        wanted = torch.zeros(shape, dtype=torch.bool)
        wanted[record, slot] = True
        return wanted

    def sizes(self, split: str, count: int, seed: int = 0, start: int = 0, processor: Any = None) -> dict[str, Score]:
        """Means a record of `characters`, `numbers`, and with a model's processor `tokens`."""
        texts, samples = self.texts(split, count, seed, start), self.samples(split, count, seed, start)
        found = {"characters": [len(text) for text in texts], "numbers": [sample.numbers for sample in samples]}
        if processor is not None:
            found["tokens"] = [len(processor([text])["input_ids"][0]) for text in texts]
        return {name: Score(float(np.mean(each)) if each else np.nan, len(each)) for name, each in found.items()}

    def baselines(self, split: str, count: int, seed: int = 0, start: int = 0) -> dict[str, np.ndarray]:
        """What each of BASELINES predicts for `truth` of the same arguments, (N,) each; from what records say alone."""
        samples = self.samples(split, count, seed, start)
        rows: dict[str, list[np.ndarray]] = {name: [] for name in BASELINES}
        for sample in samples:
            values, day = sample.values, 24 // sample.hours
            change = values[:, -1 - day] - values[:, -2 - day]
            usual = self._usual()[self._slot_of_day(sample.times[-1]), sample.cells]
            guesses = values[:, -2], usual, values[:, -2] + change, self._fitted().guess(sample)
            for name, guess in zip(BASELINES, guesses, strict=True):
                rows[name].append(guess)
        return {name: _joined(each, dtype=np.float64) for name, each in rows.items()}

    def measure(self, predicted: Any, truth: Truth) -> dict[str, Score]:
        """The mean squared errors `mse`, in units of the records, and `mse_kelvin`; and the figures of `measure`."""
        values, _ = compared(predicted, truth)
        root = metrics.rmse(torch.from_numpy(values), torch.from_numpy(truth.values))
        mse, kelvin = root.value**2, (root.value * self.kelvin) ** 2
        both = {"mse": dataclasses.replace(root, value=mse), "mse_kelvin": dataclasses.replace(root, value=kelvin)}
        return both | measure(predicted, truth)

    def interval(
        self, predicted: Any, truth: Truth, other: Any = None, days: int = 1, kelvin: bool = False, **options: Any
    ) -> Interval:
        """The mean squared error and how far it can be trusted: a bootstrap that draws whole days.

        Stations of one day share its weather, and records that overlap share even more.

        Args:
            predicted: (N,) as for `measure`.
            truth: What was asked for.
            other: Other predictions, (N,): then of the difference to them.
            days: How many days stay together.
            kelvin: In kelvin squared, not in the units of the records.
            options: `resamples`, `level`, `seed` of `metrics.bootstrap`.
        """
        if days < 1:
            raise ValueError(f"days must be positive, got {days=}")
        unit = self.kelvin if kelvin else 1.0
        each = [None if one is None else self._squares(one, truth) * unit**2 for one in (predicted, other)]
        blocks = torch.from_numpy(truth.groups["time"] // (DAY * days))
        return metrics.bootstrap(each[0], each[1], blocks, **options)  # pyright: ignore[reportArgumentType]

    def _squares(self, predicted: Any, truth: Truth) -> torch.Tensor:
        return torch.from_numpy((compared(predicted, truth)[0] - truth.values) ** 2)

    def _read(self) -> TemperatureField:
        if self.config.source != "synthetic":
            return read_field(self.config.source)
        return synthetic_field(self.config.synthetic_days, seed=self.config.synthetic_seed)

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

    def _usual(self) -> np.ndarray:
        """The mean of each time of day (as many as the field has) and cell in training, in the units of the records."""
        if self._climatology is None:
            training = self._flat[: self.bounds["train"][1]]
            slots = self._slot_of_day(np.arange(len(training)))
            means = [training[slots == slot].mean(0, dtype=np.float64) for slot in range(24 // self.field.hours)]
            self._climatology = (np.stack(means) - self.mean) / self.kelvin
        return self._climatology

    def _fitted(self) -> TemperatureLine:
        if self._line is None:
            self._line = TemperatureLine(self.samples("train", LINE_RECORDS), self.field.time)
        return self._line


def _joined(parts: list[np.ndarray], empty: tuple[int, ...] = (0,), dtype: Any = np.int64) -> np.ndarray:
    return np.concatenate(parts) if parts else np.zeros(empty, dtype=dtype)
