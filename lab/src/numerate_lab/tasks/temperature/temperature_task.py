"""The temperatures of xVal's Table 4 on the engine: records of weather stations, whose last temperatures are asked."""

from __future__ import annotations

import functools
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import torch

from numerate_lab.engine.paper_tables import load_scales
from numerate_lab.registry import tasks
from numerate_lab.tasks.records.record_answers import Predictions, scores
from numerate_lab.tasks.records.record_arrays import Records, rounded
from numerate_lab.tasks.records.record_task import RecordsTask, RecordsTrial
from numerate_lab.tasks.temperature.forecasts import TemperatureConfig, TemperatureSource
from numerate_lab.tasks.temperature.station_texts import placed

if TYPE_CHECKING:
    from torch import Tensor

    from numerate_lab.engine.task import Figures, TrialConfig

__all__ = ["Temperature", "TemperatureTrial", "temperature_records"]


@dataclass(frozen=True, kw_only=True)
class TemperatureTrial(RecordsTrial):
    """The settings of one trial; `task_options` are those of `TemperatureConfig`, with the file as `source`.

    Attributes:
        centred: Whether all temperatures of a record are told as differences from the mean of those that it tells.
    """

    kind: ClassVar[str] = "temperature"
    centred: bool = False

    @property
    def name(self) -> str:
        """The trial's file name, without suffix."""
        return f"{super().name}{'-centred' if self.centred else ''}"

    @property
    def speed_name(self) -> str:
        """The name of the file that says how long a step takes."""
        return f"{super().speed_name}{'-centred' if self.centred else ''}"

    def settings(self) -> Figures:
        """The settings, with the name of the file of temperatures."""
        found = super().settings()
        if "source" in self.task_options:
            found["task_options"]["source"] = Path(self.task_options["source"]).name
        return found

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Reads settings; `source` may stand beside the other fields."""
        data = dict(data)
        if (source := data.pop("source", None)) is not None:
            data["task_options"] = data.get("task_options", {}) | {"source": source}
        return super().from_dict(data)


@tasks.register("temperature")
class Temperature(RecordsTask):
    """The last temperatures of all stations of a record."""

    Trial: ClassVar[type[TrialConfig]] = TemperatureTrial
    questions: ClassVar[dict[str, tuple[str, ...]]] = {"test": ("last",)}
    scales: ClassVar[dict[str, dict[str, Any]]] = load_scales("records", "temperature")

    @functools.cached_property
    def source(self) -> TemperatureSource:
        """The source of samples, read once for all trials."""
        key = json.dumps(self.config.task_options, sort_keys=True)
        return self.workspace.once(
            ("source", key), lambda: TemperatureSource(TemperatureConfig.from_dict(self.config.task_options))
        )

    def make_records(self, split: str, count: int) -> Records:
        """Samples of a split, centred or not."""
        return temperature_records(self.source, split, count, centred=self.config.centred)

    def records_key(self, split: str) -> str:
        """Centred records are others."""
        return f"{super().records_key(split)}{'-centred' if self.config.centred else ''}"

    def measured(self, split: str, predicted: Predictions, gold: Tensor, charge: float | None = None) -> Figures:
        """Also in kelvin, and for the test set intervals that draw whole days, also of the difference to yesterday."""
        found = super().measured(split, predicted, gold, charge)
        value = found["mse"]["value"]
        found["mse_kelvin"] = found["mse"] | {"value": None if value is None else value * self.source.kelvin**2}
        if split == "test":
            truth = self.source.truth(split, self.config.test)
            found["interval"] = _ends_of(self.source.interval(predicted.values.numpy(), truth))
            best = self.source.baselines(split, self.config.test)["yesterday"]
            found["beyond yesterday"] = _ends_of(self.source.interval(predicted.values.numpy(), truth, best))
        return found

    def baselines(self) -> Figures:
        """Persistence, climatology, yesterday's change and a linear model."""
        found, count = {}, self.config.test
        truth, gold = self.source.truth("test", count), torch.from_numpy(self.examples("test").gold("last"))
        for name, guess in self.source.baselines("test", count).items():
            figures = scores(torch.from_numpy(guess), gold)
            figures["interval"] = _ends_of(self.source.interval(guess, truth))
            figures["mse_kelvin"] = {"value": figures["mse"]["value"] * self.source.kelvin**2}
            found[name] = {"test last": figures}
        return found


def _ends_of(found: Any) -> Figures:
    """An interval as JSON types."""
    values = {name: getattr(found, name) for name in ("estimate", "low", "high")}
    return {name: value if math.isfinite(value) else None for name, value in values.items()} | {"days": found.clusters}


def temperature_records(
    source: TemperatureSource, split: str, count: int, *, centred: bool = False, seed: int = 0
) -> Records:
    """Records of temperatures; asked for (`last`) are the last ones of all stations.

    With `centred`, all temperatures are differences from the mean of all but the last ones: what is learnt in May may
    then hold in June. (Of numbers masked in training, and not asked for in tests, the mean tells the sum.)
    """
    samples, decimals = source.samples(split, count, seed), source.config.decimals

    def make(rows: np.ndarray) -> tuple[Any, ...]:
        some, guesses = [samples[row] for row in rows.tolist()], None
        where, when = (np.stack(each) for each in zip(*(placed(source.field, one) for one in some), strict=True))
        values = np.stack([sample.values for sample in some])
        if centred:
            mean = rounded(values[:, :, :-1].mean(axis=(1, 2), keepdims=True), decimals)
            guesses = mean[:, :, 0].repeat(values.shape[1], axis=1)
            values -= mean
        numbers = np.concatenate([part.reshape(len(some), -1) for part in (where, when, values)], axis=1)
        return source.written(some[:1])[0], {"last": some[0].slots.tolist()}, numbers, guesses

    # Of equal numbers of times, some are every three hours and some every four: the same shape.
    return Records.grouped([sample.values.shape for sample in samples], decimals, make)
