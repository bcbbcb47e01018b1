"""`decades`: coordinates against Python's arithmetic, and what they make linear."""

from __future__ import annotations

import math

import pytest
import torch

from numerate.config import ConfigError
from numerate.embedders.decades import DecadesEmbedder

from .examples import table


def test_coordinates() -> None:
    embedder = DecadesEmbedder.build(dim=8, low=-1, high=2, gain=1.0)
    values = [0.0, -0.0, 250.0, -0.25, 1e9, 1e-9, math.inf, -math.inf, math.nan]
    features = embedder.features(table(values))
    assert features.shape == (9, embedder.columns)
    assert (features[:, 0] + 5).tolist() == pytest.approx([0, 0, 2.5, -2.5, 1, 1, 10, -10, 0])
    assert (features[:, 1] / 2 + 2).tolist() == [0, 0, 2, -1, 2, -1, 2, 2, 0]
    one_hot = [row.nonzero()[:, 0].tolist() for row in features[:, 2:6]]
    assert one_hot == [[1], [1], [3], [0], [3], [0], [3], [3], []]
    assert features[:, 6].tolist() == [2.0] * 9 and features[:, 7].tolist() == [0.0] * 8 + [1.0]


def test_waves_are_triangles_of_two_periods_and_phases() -> None:
    embedder = DecadesEmbedder.build(dim=8, low=0, high=0, wave_low=-1, wave_high=2)
    waves = embedder.features(table([1234.5, -1234.5]))[:, 5:]
    for row, value in zip(waves.tolist(), (1234.5, -1234.5), strict=True):
        expected = []
        for place in range(-1, 3):
            for period in (10, 30):
                for phase in (0, 0.25):
                    turn = (value / (period * 10.0**place) + phase) % 1
                    expected.append(1 - 4 * min(turn, 1 - turn))
        assert row == pytest.approx(expected)
    assert waves.abs().max() <= 1


def test_sums_of_one_exponent_share_a_threshold() -> None:
    """Two mantissas are 0 together where their sum is a power of ten, whatever its size; differences are linear."""
    embedder = DecadesEmbedder.build(dim=8, gain=3.0)
    mantissas = embedder.features(table([0.04, 0.06, 400.0, 600.0, 4e8, 6e8]))[:, 0]
    assert mantissas.view(3, 2).sum(1).tolist() == pytest.approx([0, 0, 0], abs=1e-9)
    years = embedder.features(table([1990.0, 1992.0, 1994.0]))
    steps = years.diff(dim=0)[:, 5 + 18 - 1 :]
    place = 4 * 2 + 2  # units, the longer period: no turning point between these years
    torch.testing.assert_close(steps[0, place : place + 1], steps[1, place : place + 1])
    assert steps[0, place].abs() > 0.2


def test_circles_of_the_mantissa() -> None:
    embedder = DecadesEmbedder.build(dim=80, map="pad", gain=1.5, mantissa_periods=[10, 2.5])
    assert embedder.columns == 58 + 4
    values = [0.0, 250.0, -0.25, math.nan]
    circles = embedder.features(table(values))[:, 58:]
    for row, mantissa in zip(circles.tolist(), (0.0, 2.5, -2.5), strict=False):
        expected = [3 * wave(math.tau * mantissa / period) for period in (10, 2.5) for wave in (math.cos, math.sin)]
        assert row == pytest.approx(expected)
    assert not circles[3].any()
    with pytest.raises(ConfigError, match=r"mantissa_periods must be positive, got \(10.0, 0.0\)"):
        DecadesEmbedder.build(dim=80, mantissa_periods=[10, 0])


def test_options() -> None:
    padded = DecadesEmbedder.build(dim=60, map="pad")
    numbers = table()
    torch.testing.assert_close(padded(numbers)[:, :58], padded.features(numbers).float())
    assert not padded(numbers)[:, 58:].any() and not list(padded.parameters())
    for options, message in (
        ({"dim": 57, "map": "pad"}, "dim must be at least 58, got 57"),
        ({"dim": 8, "low": 3, "high": 2}, "low to high must lie in -300 to 300, got low=3, high=2"),
        ({"dim": 8, "wave_high": 16}, "must lie in -15 to 15, got wave_low=-2, wave_high=16"),
        ({"dim": 8, "gain": 0.0}, "gain must be positive, got 0.0"),
    ):
        with pytest.raises(ConfigError, match=message):
            DecadesEmbedder.build(**options)  # type: ignore[arg-type]
