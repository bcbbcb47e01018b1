"""How much a straight line learns of the weather, beside what needs no learning: see docs/findings/temperature.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from numerate_lab.tasks.temperature.forecasts import TemperatureConfig, TemperatureSource
from numerate_lab.tasks.temperature.linear_baseline import TemperatureLine

if TYPE_CHECKING:
    from pathlib import Path

CONFIG = TemperatureConfig(stations=(3, 6), days=(2, 3))


@pytest.fixture(scope="module")
def task() -> TemperatureSource:
    return TemperatureSource(CONFIG)


def test_it_is_ridge_regression_on_what_a_record_tells(task: TemperatureSource) -> None:
    from sklearn.linear_model import Ridge

    train, test = task.samples("train", 200), task.samples("test", 20)
    line = TemperatureLine(train, task.field.time)

    def known(sample, row):  # station by station, the slow way
        day, values = 24 // sample.hours, sample.values
        hour = task.field.time[sample.times[-1]] % 86_400 / 3600
        own = [values[row, -2 - back] for back in range(day + 1)]
        shared = [float(np.mean(values[:, -2 - back])) for back in range(day + 1)]
        waves = [f(k * 2 * np.pi * hour / 24) for k in (1, 2) for f in (np.sin, np.cos)]
        return [*own, *shared, 1.0, *waves]

    for hours in task.steps:
        chosen = [sample for sample in train if sample.hours == hours]
        inputs = [known(sample, row) for sample in chosen for row in range(len(sample.cells))]
        change = [row[-1] - row[-2] for sample in chosen for row in sample.values]
        model = Ridge(alpha=1.0, fit_intercept=False, solver="cholesky").fit(inputs, change)
        for sample in (sample for sample in test if sample.hours == hours):
            rows = [known(sample, row) for row in range(len(sample.cells))]
            assert line.guess(sample) == pytest.approx(sample.values[:, -2] + model.predict(rows), abs=1e-8)


def test_the_answer_is_not_looked_at(task: TemperatureSource) -> None:
    line = TemperatureLine(task.samples("train", 50), task.field.time)
    sample = task.samples("test", 1)[0]
    before = line.guess(sample)
    sample.values[:, -1] = 1e6
    assert line.guess(sample).tolist() == before.tolist()
    assert task.baselines("test", 0)["line"].shape == (0,)


@pytest.mark.slow
@pytest.mark.shared("data/temperature")
@pytest.mark.parametrize(
    ("name", "least", "most"), [("era5_italy_2022-05_06", 0.5, 0.8), ("era5_uk_2019-03", 0.95, 1.2)]
)
def test_a_straight_line_beats_yesterday_in_italy_only(shared: Path, name: str, least: float, most: float) -> None:
    source = str(shared / "data" / "temperature" / f"{name}.npz")
    for stations in ((12, 16), (8, 8)):
        task = TemperatureSource(TemperatureConfig(source=source, stations=stations, days=(2, 3)))
        truth, guesses = task.truth("test", 400), task.baselines("test", 400)
        line, yesterday = (float(task.measure(guesses[each], truth)["mse"]) for each in ("line", "yesterday"))
        print(f"{name}, {stations} stations: {line:.4f}, yesterday {yesterday:.4f}")
        assert least < line / yesterday < most
