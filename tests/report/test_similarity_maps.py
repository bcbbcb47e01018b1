"""Cosine maps against an independent computation."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from numerate.report import cosine_map


def test_map_is_sorted_by_value() -> None:
    vectors = np.random.default_rng(0).normal(size=(5, 7))
    labels = ["10", ".", "9.5", "-3", "1,000"]
    figure = cosine_map(torch.from_numpy(vectors), labels, "Numerals")
    axes = figure.axes[0]
    order = [3, 2, 0, 4, 1]
    expected = [
        [np.dot(vectors[i], vectors[j]) / np.linalg.norm(vectors[i]) / np.linalg.norm(vectors[j]) for j in order]
        for i in order
    ]
    np.testing.assert_allclose(axes.images[0].get_array(), expected, atol=1e-12)
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["-3", "9.5", "10", "1,000", "."]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["-3", "9.5", "10", "1,000", "."]
    assert axes.images[0].get_clim() == (-1.0, 1.0)
    assert axes.get_title(loc="left") == "Numerals"
    assert figure.axes[1].get_ylabel() == "cosine similarity"


def test_large_and_empty_vectors() -> None:
    cosines = cosine_map([[1e300, 1e300], [0.0, 0.0], [1e-300, 0.0]], [1, 2, 3]).axes[0].images[0].get_array()
    assert cosines is not None
    assert cosines[0, 2] == pytest.approx(math.sqrt(0.5))
    assert np.ma.getmaskarray(cosines)[1].all() or np.isnan(np.asarray(cosines)[1]).all()


def test_labels_that_only_float_reads_come_last() -> None:
    figure = cosine_map(torch.eye(5), ["nan", "1_0", "infinity", "٣", "7"])
    assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == ["7", "nan", "1_0", "infinity", "٣"]


def test_large_maps_have_fewer_labels() -> None:
    axes = cosine_map(torch.eye(90), list(range(90))).axes[0]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == [str(value) for value in range(0, 90, 3)]


def test_number_of_labels_must_match() -> None:
    with pytest.raises(ValueError, match="one label for each vector, got 1 for 2 vectors"):
        cosine_map(torch.eye(2), ["1"])
    with pytest.raises(ValueError, match="got 0"):
        cosine_map(torch.zeros(0, 2), [])
