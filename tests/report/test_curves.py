"""Plots of predictions over gold values, and learning curves, show the given data."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from numerate.report import learning_curves, predicted_against_true
from numerate.report.figure_style import rendered


def test_points_are_pairs_of_gold_value_and_prediction() -> None:
    gold = torch.tensor([1.0, -200.0, 0.0, math.inf, 3e4], dtype=torch.float64)
    predicted = torch.tensor([2.0, -100.0, 0.5, 1.0, math.nan], dtype=torch.float64)
    axes = predicted_against_true(predicted, gold, "km").axes[0]
    line, points = axes.lines
    assert points.get_xydata().tolist() == [[1.0, 2.0], [-200.0, -100.0], [0.0, 0.5]]
    assert (np.asarray(line.get_xdata()) == np.asarray(line.get_ydata())).all()
    assert (axes.get_xscale(), axes.get_yscale()) == ("symlog", "symlog")
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("gold value (km)", "prediction (km)")
    legend = axes.get_legend()
    assert legend is not None
    assert legend.get_title().get_text() == "2 not finite"
    low, high = axes.get_xlim()
    assert low < -200 and high > 2 and axes.get_ylim() == (low, high)


def test_extreme_values_can_be_drawn() -> None:
    for values in [
        [],
        [0.0],
        [1e-300, 1e300],
        [1.7976931348623157e308, -1.7976931348623157e308],
        [5e-324, 1.0],
        [-3.0],
    ]:
        assert rendered(predicted_against_true(values, values)), values


def test_many_points_are_rasterised() -> None:
    values = torch.linspace(1, 100, 5_000)
    assert len(rendered(predicted_against_true(values, values))) < 100_000


def test_threshold_must_be_positive() -> None:
    with pytest.raises(ValueError, match=r"got threshold=0"):
        predicted_against_true([1.0], [1.0], threshold=0)


def test_learning_curves() -> None:
    axes = learning_curves({"a": ([0, 5], [2.0, math.inf]), "b": ([1], torch.tensor([3.0]))}, "nats", log=True).axes[0]
    assert [line.get_label() for line in axes.lines] == ["a", "b"]
    np.testing.assert_array_equal(axes.lines[0].get_xydata(), [[0, 2], [5, math.nan]])
    assert axes.lines[1].get_xydata().tolist() == [[1.0, 3.0]]
    assert axes.lines[1].get_marker() == "o"
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_yscale()) == ("step", "nats", "log")
    with pytest.raises(ValueError, match="'a' must have the same length, got 2 and 1"):
        learning_curves({"a": ([0, 1], [1.0])})
    with pytest.raises(ValueError, match="at least one entry"):
        learning_curves({})
