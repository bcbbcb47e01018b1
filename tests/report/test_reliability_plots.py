"""Reliability and PIT diagrams, with their bands against scipy and a simulation."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats

from numerate.metrics import calibration_error
from numerate.report import binomial_band, pit_histogram, reliability


def test_band_has_binomial_quantiles() -> None:
    for level in [0.5, 0.95]:
        for count in [1, 7, 200, 5_003, 1_000_000]:
            shares = [0.0, 1e-7, 0.01, 0.3, 0.5, 0.999, 1.0]
            low, high = binomial_band(count, shares, level)
            for p, a, b in zip(shares, low.tolist(), high.tolist(), strict=True):
                expected = stats.binom.ppf([(1 - level) / 2, (1 + level) / 2], count, p)
                np.testing.assert_array_equal(np.round(np.array([a, b]) * count), expected)


def test_band_contains_simulated_shares() -> None:
    draws = torch.rand(2_000, 300, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    low, high = binomial_band(300, [0.2])
    shares = (draws <= 0.2).double().mean(1)
    assert 0.94 <= float(((low <= shares) & (shares <= high)).double().mean()) <= 0.98


def test_bad_arguments_of_the_band() -> None:
    for arguments, message in [((0, [0.5]), "count=0"), ((5, [1.5]), r"\[1.5\]"), ((5, [0.5], 1.0), "level=1.0")]:
        with pytest.raises(ValueError, match=message):
            binomial_band(*arguments)


def test_reliability_of_pit_values() -> None:
    pit = torch.rand(500, generator=torch.Generator().manual_seed(1), dtype=torch.float64) ** 2
    pit[3] = torch.nan
    axes = reliability(pit, title="Mixture").axes[0]
    x, y = np.asarray(axes.lines[1].get_xydata()).T
    np.testing.assert_allclose(x, np.arange(0.05, 0.96, 0.05))
    known = pit[~pit.isnan()].numpy()
    np.testing.assert_allclose(y, [(known <= p).mean() for p in x])
    assert float(calibration_error(pit)) == pytest.approx(np.abs(x - y).mean())
    band = axes.collections[0]
    assert band.get_label() == "95% by chance (n = 499)"
    vertices = band.get_paths()[0].vertices
    low, high = binomial_band(499, [0.5])
    middle = np.asarray(vertices)[np.isclose(np.asarray(vertices)[:, 0], 0.5)][:, 1]
    assert {round(v, 9) for v in middle.tolist()} == {round(float(low), 9), round(float(high), 9)}


def test_reliability_of_shares() -> None:
    axes = reliability((torch.tensor([0.5, 0.9]), [0.25, 0.75])).axes[0]
    assert axes.lines[1].get_xydata().tolist() == [[0.5, 0.25], [pytest.approx(0.9), 0.75]]
    assert len(axes.collections) == 0
    assert len(reliability(([0.5], [0.4]), count=10).axes[0].collections) == 1
    assert reliability((0.2, 0.4)).axes[0].lines[1].get_xydata().shape == (19, 2)  # two PIT values


def test_pit_histogram() -> None:
    pit = torch.rand(400, generator=torch.Generator().manual_seed(2), dtype=torch.float64) ** 0.5
    pit = torch.cat([pit, torch.tensor([0.0, 0.5, 1.0, torch.nan], dtype=torch.float64)])
    axes = pit_histogram(pit, bins=4).axes[0]
    expected, edges = np.histogram(pit[:-1].numpy(), bins=4, range=(0, 1), density=True)
    np.testing.assert_allclose([bar.get_height() for bar in axes.patches], expected)
    np.testing.assert_allclose([bar.get_x() for bar in axes.patches], edges[:-1])
    low, high = (4 * float(end) for end in binomial_band(403, [0.25]))
    extents = np.asarray(axes.collections[0].get_paths()[0].vertices)[:, 1]
    assert (extents.min(), extents.max()) == pytest.approx((low, high))


def test_bad_pit_values() -> None:
    for figure in [reliability, pit_histogram]:
        with pytest.raises(ValueError, match=r"must be in \[0, 1\], got 0.5 to 1.5"):
            figure([0.5, 1.5])  # type: ignore[operator]
        with pytest.raises(ValueError, match="got 0"):
            figure([float("nan")])  # type: ignore[operator]
        with pytest.raises(ValueError, match="bins=0"):
            pit_histogram([0.5], bins=0)
        with pytest.raises(ValueError, match="count=3"):
            reliability([0.5], count=3)
