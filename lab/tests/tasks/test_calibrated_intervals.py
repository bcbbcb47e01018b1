"""Calibrated intervals: coverage on fresh numbers, signs, and guesses that are missing."""

from __future__ import annotations

import numpy as np
import pytest

from numerate_lab.tasks.masked_prediction.calibrated_intervals import conformity, interval_figures, stretched


def guesses(count: int, width: float, seed: int) -> dict[str, np.ndarray]:
    """Log-normal numbers around known medians, with 90 % intervals that are `width` times as wide as they should be."""
    draws = np.random.default_rng(seed)
    middle = draws.uniform(1, 9, count)
    half = 1.6449 * width
    columns = {"gold": middle + draws.normal(size=count), "median": middle, "low": middle - half, "high": middle + half}
    return {name: np.sinh(column) for name, column in columns.items()}


@pytest.mark.parametrize("width", [0.5, 1.0, 3.0])
def test_coverage_on_fresh_numbers(width: float) -> None:
    dev, test = guesses(4000, width, 0), guesses(4000, width, 1)
    found = interval_figures(test | {"calibration": conformity(dev)})
    assert found["calibrated_90"] == pytest.approx(0.9, abs=0.02)
    if width == 1.0:
        assert found["coverage_90"] == pytest.approx(0.9, abs=0.02)
    else:
        assert (found["coverage_90"] < 0.7) == (width < 1)
    # 2 · 1.645 in natural logarithms, whatever the model said.
    assert found["calibrated_decades_90"] == pytest.approx(2 * 1.6449 / np.log(10), rel=0.08)
    low, high = stretched(dev, conformity(dev))
    assert np.mean((dev["gold"] >= low) & (dev["gold"] <= high)) == pytest.approx(0.9, abs=0.001)


def test_guesses_that_are_missing_or_negative() -> None:
    columns = {name: np.array([-5.0, np.nan, 0.0]) for name in ("median", "low", "high")}
    columns = {name: each + {"low": -1, "high": 1}.get(name, 0) for name, each in columns.items()}
    columns["gold"] = np.array([-5.5, 3.0, 0.0])
    ratios = conformity(columns)
    assert 0 < ratios[0] < 1 and ratios[1] == np.inf and ratios[2] == 0
    found = interval_figures(columns | {"calibration": ratios}, np.array([True, True, False]))
    assert found["coverage_90"] == found["coverage_90_restated"] == 1.0, "only guesses that are there"
    assert found["decades_90"] == np.inf, "an interval over 0 has no width in orders of magnitude"
    assert interval_figures({"gold": columns["gold"], "median": columns["median"]}) == {}
