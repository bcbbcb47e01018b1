"""Gaussian mixtures: against scikit-learn, textbook EM, and heavy-tailed numbers as in texts."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from numerate.heads.distribution import DistributionError
from numerate.heads.gaussians import Gaussians, evenly_spread, fit_gaussians, pooled_gaussians

from .examples import EXTREMES, f64

MEANS, SPREADS, SHARES = (-40.0, 0.0, 25.0, 300.0), (3.0, 0.5, 2.0, 20.0), (0.2, 0.3, 0.4, 0.1)


def separated() -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    parts = [m + s * torch.randn(int(4000 * w), generator=generator) for m, s, w in zip(MEANS, SPREADS, SHARES)]  # noqa: B905
    return torch.cat(parts).double()


def heavy_tailed() -> torch.Tensor:
    """Half integers, most of them small, a few far above a million: like the numbers of a text."""
    generator = torch.Generator().manual_seed(1)
    sizes = (1 + 2.5 * torch.randn(6_000, generator=generator)).double().exp()
    rare = 10 ** (6 + 20 * torch.rand(20, generator=generator)).double()
    values = torch.where(torch.rand(6_000, generator=generator) < 0.5, sizes.round(), (sizes * 100).round() / 100)
    return torch.cat([values, rare])


def steps_by_hand(values: np.ndarray, fit: Gaussians, steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Textbook expectation maximisation from a given start, without chunks and counts."""
    means, spreads, weights = (part.numpy().copy() for part in fit)
    for _ in range(steps):
        z = (values[:, None] - means) / spreads
        chances = weights * np.exp(-(z**2) / 2) / spreads
        chances /= chances.sum(1, keepdims=True)
        own = chances.sum(0)
        means = (chances * values[:, None]).sum(0) / own
        spreads = np.sqrt((chances * (values[:, None] - means) ** 2).sum(0) / own)
        weights = own / len(values)
    return means, spreads, weights


def test_recovers_the_true_components() -> None:
    fit = fit_gaussians(separated(), 4)
    assert fit.means.tolist() == pytest.approx(list(MEANS), abs=2.0)
    assert fit.spreads.tolist() == pytest.approx(list(SPREADS), rel=0.1)
    assert fit.weights.tolist() == pytest.approx(list(SHARES), abs=0.01)


def test_agrees_with_scikit_learn() -> None:
    mixture = pytest.importorskip("sklearn.mixture")
    values, fit = separated(), fit_gaussians(separated(), 4, steps=1000, tolerance=1e-10)
    start = fit_gaussians(separated(), 4, steps=0)
    # From the same start: its own k-means start ends in a worse optimum.
    options = {"means_init": start.means[:, None].numpy(), "precisions_init": start.spreads.numpy() ** -2}
    options |= {"weights_init": start.weights.numpy(), "tol": 1e-9, "max_iter": 1000}
    other = mixture.GaussianMixture(4, covariance_type="spherical", **options)
    other.fit(values[:, None].numpy())
    np.testing.assert_allclose(fit.means, other.means_[:, 0], rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(fit.spreads, np.sqrt(other.covariances_), rtol=1e-3)
    np.testing.assert_allclose(fit.weights, other.weights_, rtol=1e-3)


def test_chunked_steps_equal_textbook_em(monkeypatch: pytest.MonkeyPatch) -> None:
    """With overlapping components and repeated numbers."""
    monkeypatch.setattr("numerate.heads.gaussians._CHUNK", 40)
    generator = torch.Generator().manual_seed(2)
    values = (10 * torch.randn(300, generator=generator).double()).round()
    start, fit = fit_gaussians(values, 5, steps=0), fit_gaussians(values, 5, steps=7, tolerance=-math.inf)
    for part, expected in zip(fit, steps_by_hand(values.numpy(), start, 7), strict=True):
        np.testing.assert_allclose(part, expected, rtol=1e-9, atol=1e-9)


def test_start_is_at_percentiles_with_local_spreads() -> None:
    values = torch.cat([torch.arange(100), torch.tensor([1e7])]).double()
    start = fit_gaussians(values, 5, steps=0)
    assert start.means.tolist() == [0, 25, 50, 75, 1e7]
    assert start.spreads.tolist() == [12.5, 12.5, 12.5, 12.5, (1e7 - 75) / 2]
    assert start.weights.tolist() == pytest.approx([13 / 101, 25 / 101, 25 / 101, 37 / 101, 1 / 101])


def test_components_left_by_ties_start_at_other_values() -> None:
    values = f64([7.0] * 90 + [1.0, 2.0, 3.0, 20.0, 30.0])
    start = fit_gaussians(values, 5, steps=0)
    assert len(set(start.means.tolist())) == 5
    assert {1.0, 7.0, 30.0} <= set(start.means.tolist())
    assert len(fit_gaussians(values, 100).means) == 6  # no more than there are distinct values


def test_heavy_tails_have_narrow_components() -> None:
    """Components must be as fine as the numbers are dense."""
    pooled = pooled_gaussians(heavy_tailed(), 8)
    assert pooled.means.shape == (255,)
    assert (pooled.means.diff() >= 0).all()
    narrow = pooled.spreads < 0.5
    assert narrow.sum() > 60  # integers are resolved
    assert pooled.spreads.max() > 1e22
    for power in (4, 5, 6):  # a start from k-means has none up to 32 components
        assert fit_gaussians(heavy_tailed(), 2**power).spreads.min() < 5.0


def test_fit_gains_with_every_granularity() -> None:
    values = heavy_tailed()
    gained = []
    for power in range(7):
        fit = fit_gaussians(values, 2**power)
        z = (values[:, None] - fit.means) / fit.spreads
        gained.append((fit.weights.log() - fit.spreads.log() - z.square() / 2).logsumexp(-1).mean().item())
    assert gained == sorted(gained)


def test_any_data_can_be_fitted() -> None:
    for values in ([], [math.nan], [0.0], [5.0] * 100, [1e-5, 2e-5, 4e-5], EXTREMES):
        pooled = pooled_gaussians(f64(values), 8)
        assert all(part.shape == (255,) and part.isfinite().all() for part in pooled), values[:1]
        assert (pooled.spreads > 0).all() and (pooled.means.diff() >= 0).all(), values[:1]
        assert pooled.weights.sum().item() == pytest.approx(1.0), values[:1]


def test_spreads_have_lower_bounds() -> None:
    assert fit_gaussians(f64([5.0] * 100), 1).spreads.tolist() == [1e-3]
    assert fit_gaussians(f64([1e26] * 100), 1).spreads.tolist() == pytest.approx([1e17])
    assert fit_gaussians(f64([2e-5] * 100), 1).spreads.tolist() == pytest.approx([2e-8])


def test_invalid_input_is_quoted() -> None:
    with pytest.raises(DistributionError, match="count must be positive, got 0"):
        fit_gaussians(f64([1.0]), 0)
    with pytest.raises(DistributionError, match="no finite number"):
        fit_gaussians(f64([math.inf]), 2)


def test_evenly_spread() -> None:
    spread = evenly_spread(255)
    assert (spread.means.diff() > 0).all() and spread.means[127] == 0
    torch.testing.assert_close(spread.means, -spread.means.flip(0))
    # Neighbours are about one spread apart, which leaves no gaps.
    assert ((spread.means.diff() / spread.spreads[1:]).abs() < 1.3).all()
