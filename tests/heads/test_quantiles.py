"""`quantiles`: the piecewise distribution against arbitrary-precision arithmetic, and a training run."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re

import mpmath
import pytest
import torch

from numerate.config import ConfigError
from numerate.heads.quantiles import QuantilesDistribution, QuantilesHead

from .examples import DIM, f64, fresh, states, table

KNOTS, LEVELS, UNIT = [-2.0, 1.0, 1.5, 6.0], (0.1, 0.4, 0.7, 0.95), 0.1


def example(rows: int = 1) -> QuantilesDistribution:
    return QuantilesDistribution(f64([KNOTS] * rows), LEVELS, UNIT)


def cdf_by_hand(x: mpmath.mpf) -> mpmath.mpf:
    """Linear between the points (knot, level), with exponential tails of the same initial slope."""
    u = mpmath.asinh(x / mpmath.mpf(UNIT))
    points = [(mpmath.mpf(k), mpmath.mpf(p)) for k, p in zip(KNOTS, LEVELS, strict=True)]
    slopes = [(q - p) / (b - a) for (a, p), (b, q) in itertools.pairwise(points)]
    (first, low), (last, high) = points[0], points[-1]
    if u <= first:
        return low * mpmath.exp((u - first) * slopes[0] / low)
    if u >= last:
        return 1 - (1 - high) * mpmath.exp((last - u) * slopes[-1] / (1 - high))
    return next(p + (u - a) * s for (a, p), (b, _), s in zip(points, points[1:], slopes, strict=False) if u <= b)


@mpmath.workdps(60)
def test_density_and_mass_equal_mpmath() -> None:
    for value in (-200.0, -0.5, -0.1, 0.0, 0.15, 0.25, 3.0, 19.0, 25.0, 1e6, 0.2000001):
        numbers = table([value])
        x, half = mpmath.mpf(value), mpmath.mpf(10) ** int(numbers.precision[0]) / 2
        mass = cdf_by_hand(x + half) - cdf_by_hand(x - half)
        density = mpmath.diff(cdf_by_hand, x, h=mpmath.mpf(10) ** -30)
        assert example().cdf(numbers.values()).item() == pytest.approx(float(cdf_by_hand(x)), rel=1e-10)
        assert example().log_prob(numbers).item() == pytest.approx(float(mpmath.log(density)), rel=1e-9)
        assert example().log_mass(numbers).item() == pytest.approx(float(mpmath.log(mass)), rel=1e-7)


def test_masses_of_a_grid_sum_to_one() -> None:
    for decimals in (0, 1, 2):
        steps = 10**decimals
        numbers = table(torch.arange(-300 * steps, 300 * steps + 1).double() / steps)
        numbers = dataclasses.replace(numbers, precision=torch.full_like(numbers.precision, -decimals))
        end = 300 + 0.5 / steps
        outside = 1 - (example().cdf(f64([end])) - example().cdf(f64([-end]))).item()
        assert example().mass_scores(numbers).exp().sum().item() + outside == pytest.approx(1.0, abs=1e-6)


def test_mass_of_a_tiny_interval() -> None:
    """At precision 10^-200 a difference of cdfs would be 0, between the quantiles and in both tails."""
    numbers = table([0.25, -300.0, 1e6, 0.0])
    fine = dataclasses.replace(numbers, precision=torch.full_like(numbers.precision, -200))
    expected = example(4).log_prob(fine) - 200 * math.log(10)
    torch.testing.assert_close(example(4).log_mass(fine), expected, rtol=1e-9, atol=0)


def test_cdf_at_the_knots_is_the_level() -> None:
    for knot, level in zip(KNOTS, LEVELS, strict=True):
        assert example().cdf(f64([UNIT * math.sinh(knot)])).item() == pytest.approx(level, rel=1e-12)
        assert example().quantile(level).item() == pytest.approx(UNIT * math.sinh(knot), rel=1e-9)


def test_mean_equals_mpmath() -> None:
    light = QuantilesDistribution(f64([[-1.0, 0.5, 1.0, 1.5]]), (0.1, 0.4, 0.9, 0.97), UNIT)
    # Tails of scales 0.5 and 0.03 / 0.14, whose means are finite.

    def integral(low: float, high: float, density: float) -> mpmath.mpf:
        return density * (mpmath.cosh(high) - mpmath.cosh(low))

    total = integral(-1.0, 0.5, 0.2) + integral(0.5, 1.0, 1.0) + integral(1.0, 1.5, 0.14)
    total += mpmath.quad(lambda u: 0.2 * mpmath.exp((u + 1) / 0.5) * mpmath.sinh(u), [-mpmath.inf, -10, -1])
    fall = 0.03 / 0.14
    total += mpmath.quad(lambda u: 0.14 * mpmath.exp((1.5 - u) / fall) * mpmath.sinh(u), [1.5, 5, mpmath.inf])
    assert light.mean().item() == pytest.approx(float(UNIT * total), rel=1e-9)


def test_mean_of_heavy_tails_is_finite() -> None:
    """Where the mean of a tail is infinite, values are clamped to the range of float64."""
    knots = f64([[-30.0, 0.0, 30.0], [-30.0, 0.0, 1.0], [2000.0, 2001.0, 2005.0]])
    heavy = QuantilesDistribution(knots, (0.1, 0.5, 0.9), 1)
    assert heavy.mean().isfinite().all() and heavy.mode().isfinite().all()
    assert heavy.mean()[1] < -1e100 and heavy.mean()[2] > 1e307
    assert heavy.quantile(0.99).isfinite().all() and heavy.sample(100).isfinite().all()


def test_loss_is_the_pinball_loss() -> None:
    head = fresh("quantiles", levels=(0.2, 0.5, 0.9), unit=0.5)
    distribution, values = head(states(3)), [3.0, -200.0, 0.0]
    assert isinstance(distribution, QuantilesDistribution)
    expected = []
    for knots, value in zip(distribution.knots.tolist(), values, strict=True):
        off = [math.asinh(value / 0.5) - knot for knot in knots]
        terms = [p * x if x > 0 else (p - 1) * x for p, x in zip((0.2, 0.5, 0.9), off, strict=True)]
        expected.append(2 * sum(terms) / 3)
    assert head.loss(states(3), table(values)).tolist() == pytest.approx(expected, rel=1e-5)


def test_quantiles_never_cross() -> None:
    head = fresh("quantiles")
    with torch.no_grad():
        for weight in head.parameters():
            weight.mul_(50)
    distribution = head(states(100))
    assert isinstance(distribution, QuantilesDistribution)
    assert (distribution.knots.diff(dim=1) >= 0.99e-4).all()


def test_fit_starts_at_the_quantiles_of_the_numbers() -> None:
    head = QuantilesHead.build(DIM)
    with torch.no_grad():
        for weight in head.parameters():
            weight.zero_()
    values = (3 + torch.randn(2000, generator=torch.Generator().manual_seed(0)).double()).exp()
    head.fit(table(values))
    for level in (0.1, 0.5, 0.9):
        expected = values.quantile(level).item()
        assert head(states(1)).quantile(level).item() == pytest.approx(expected, rel=0.05)


def test_invalid_options_are_quoted() -> None:
    for levels in ((0.5,), (0.5, 0.5), (0.9, 0.1), (0.0, 0.5), (0.5, 1.0)):
        with pytest.raises(
            ConfigError, match=re.escape(f"levels must be sorted, at least two, between 0 and 1, got {levels}")
        ):
            QuantilesHead.build(DIM, levels=levels)
    for options, message in (
        ({"unit": 2.0, "largest": 1.0}, "got unit=2.0, largest=1.0"),
        ({"min_step": 2.0}, "min_step must lie in 1e-12 to 1, got 2.0"),
        ({"hidden": 0}, "hidden must be positive, got 0"),
    ):
        with pytest.raises(ConfigError, match=message):
            QuantilesHead.build(DIM, **options)


def test_learns_calibrated_intervals() -> None:
    """Years for one state, heavy-tailed counts for another: 90 % intervals hold 90 % of held-out numbers."""
    generator = torch.Generator().manual_seed(0)
    kind = torch.randint(2, (3000,), generator=generator)
    years = 1950 + 15 * torch.randn(3000, generator=generator).double()
    counts = (5 + 1.5 * torch.randn(3000, generator=generator).double()).exp()
    values = torch.where(kind == 0, years, counts)
    hidden = torch.nn.functional.one_hot(kind, DIM).float() + 0.05 * states(3000)
    numbers, head = table(values), fresh("quantiles")
    head.fit(numbers[:1500])
    optimizer = torch.optim.Adam(head.parameters(), lr=2e-2)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.02, 150)
    for _ in range(150):
        batch = torch.randint(1500, (300,), generator=generator)
        optimizer.zero_grad()
        head.loss(hidden[batch], numbers[batch]).mean().backward()
        optimizer.step()
        schedule.step()
    with torch.no_grad():
        distribution, held = head(hidden[1500:]), values[1500:]
        low, high = distribution.interval(0.9)
        for some in (kind[1500:] == 0, kind[1500:] == 1):
            inside = ((low <= held) & (held <= high))[some].double().mean().item()
            assert 0.85 < inside < 0.95
        assert distribution.median()[kind[1500:] == 0].mean().item() == pytest.approx(1950, abs=5)
