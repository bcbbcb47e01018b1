"""Calibration of intervals by stretching."""

from __future__ import annotations

import numpy as np
import pytest

from numerate.config import ConfigError
from numerate.records.conformal import LEVELS, Calibration, stretches

Z = {0.5: 0.6744898, 0.8: 1.2815516, 0.9: 1.6448536, 0.95: 1.9599640, 0.99: 2.5758293}
"""Half-widths of the standard normal distribution's central intervals, from a table."""


def ends(medians: np.ndarray, sure: float) -> tuple[np.ndarray, np.ndarray]:
    """The intervals of normal distributions that are `sure` times too narrow."""
    half = np.array([Z[level] for level in LEVELS]) / sure
    return medians[:, None] - half, medians[:, None] + half


@pytest.mark.parametrize("sure", [0.1, 1.0, 5.0])
def test_coverage_of_new_values_is_the_level(sure: float) -> None:
    draws = np.random.default_rng(0)
    medians, new = draws.normal(size=2000), draws.normal(size=4000)
    factors = stretches(medians + draws.normal(size=2000), medians, *ends(medians, sure))
    assert factors == pytest.approx([sure] * 5, rel=0.12), (
        "intervals are stretched by the factor that they are too narrow"
    )
    calibration = Calibration(stretch={"x": factors or ()})
    truth = new + draws.normal(size=4000)
    for level in LEVELS:
        p = [(1 - level) / 2, (1 + level) / 2]
        narrow = new[:, None] + np.array([-1, 1]) * Z[level] / sure
        low, high = calibration.apply("x", p, narrow, new).T
        assert np.mean((truth >= low) & (truth <= high)) == pytest.approx(level, abs=0.025)


def test_the_two_sides_of_an_interval_are_separate() -> None:
    truth = np.concatenate([np.linspace(-1, 0, 100), np.linspace(0, 10, 100)])
    low, high = -np.ones((200, 5)), np.full((200, 5), 10.0)
    assert stretches(truth, np.zeros(200), low, high) == pytest.approx(LEVELS, abs=0.02)


def test_quantiles_keep_their_order() -> None:
    calibration = Calibration(stretch={"x": (4.0, 3.0, 2.0, 1.0, 0.5)})
    p = np.array([0.99, 0.5, 0.75, 0.05, 0.9])
    found = calibration.apply("x", p, np.array([[2.3, 0.0, 0.7, -1.6, 1.3]]), np.zeros(1))[0]
    assert np.all(np.diff(found[np.argsort(p)]) >= 0) and found[1] == 0


def test_too_few_values_and_unknown_fields_are_not_calibrated() -> None:
    assert stretches(np.zeros(29), np.zeros(29), -np.ones((29, 5)), np.ones((29, 5))) is None
    assert Calibration().apply("x", [0.1], np.array([[5.0]]), np.zeros(1)).tolist() == [[5.0]]
    with pytest.raises(ConfigError, match="stretch of 'x': expected 5 factors of at least 0"):
        Calibration(stretch={"x": (1.0, 2.0)})
