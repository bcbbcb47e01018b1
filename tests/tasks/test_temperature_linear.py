"""How much a straight line learns of the weather, beside what needs no learning: see docs/temperature.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from numerate.tasks.temperature import TemperatureConfig, TemperatureTask

if TYPE_CHECKING:
    from pathlib import Path


def rows(task: TemperatureTask, split: str, count: int) -> dict[int, tuple[np.ndarray, ...]]:
    """By hours of a step: what is known of a station, its last temperature, and what yesterday says of that."""
    found: dict[int, list[tuple[np.ndarray, ...]]] = {}
    for sample in task.samples(split, count):
        day, values = 24 // sample.hours, sample.values
        angle = task.field.time[sample.times[-1]] % 86400 / 86400 * 2 * np.pi
        hour = [1.0, np.sin(angle), np.cos(angle), np.sin(2 * angle), np.cos(2 * angle)]
        before = values[:, -2 : -3 - day : -1]  # the day before and one more
        known = np.concatenate([before, np.tile(before.mean(0), (len(values), 1)), np.tile(hour, (len(values), 1))], 1)
        guess = values[:, -2] + values[:, -1 - day] - values[:, -2 - day]
        found.setdefault(sample.hours, []).append((known, values[:, -1], guess))
    return {hours: tuple(map(np.concatenate, zip(*parts, strict=True))) for hours, parts in found.items()}


@pytest.mark.slow
@pytest.mark.shared("data/temperature")
@pytest.mark.parametrize(
    ("name", "least", "most"), [("era5_italy_2022-05_06", 0.5, 0.8), ("era5_uk_2019-03", 0.95, 1.2)]
)
def test_a_straight_line_beats_yesterday_in_italy_only(shared: Path, name: str, least: float, most: float) -> None:
    source = str(shared / "data" / "temperature" / f"{name}.npz")
    task = TemperatureTask(TemperatureConfig(source=source, stations=(12, 16), days=(2, 3)))
    training, test = rows(task, "train", 3000), rows(task, "test", 400)
    squares = []
    for hours, (known, truth, guess) in test.items():
        inputs, wanted, _ = training[hours]
        squared = inputs.T @ inputs + np.eye(inputs.shape[1])
        weights = np.linalg.solve(squared, inputs.T @ (wanted - inputs[:, 0]))
        squares.append(np.stack([known @ weights + known[:, 0] - truth, guess - truth]) ** 2)
    line, yesterday = np.concatenate(squares, axis=1).mean(1)
    print(f"{name}: {line:.4f}, yesterday {yesterday:.4f}")
    assert least < line / yesterday < most
