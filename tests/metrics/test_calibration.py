"""CRPS against closed forms; PIT, coverage and calibration error on known distributions."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch
from torch import Tensor

from numerate import metrics
from numerate.heads.base import ValueDistribution
from numerate.registry import heads

NAN, INF = math.nan, math.inf


@dataclasses.dataclass(frozen=True, eq=False)
class Normal(ValueDistribution):
    """A normal distribution with a closed-form cdf; quantiles come from the bisection of `ValueDistribution`."""

    mean_: Tensor
    spread: Tensor

    def _cdf(self, values: Tensor) -> Tensor:
        return torch.special.ndtr((values - self.mean_[:, None]) / self.spread[:, None])

    def mean(self) -> Tensor:
        return self.mean_

    mode = mean

    def _sample(self, count: int, generator: torch.Generator | None) -> Tensor:
        noise = torch.randn(count, len(self), generator=generator, dtype=torch.float64)
        return self.mean_ + self.spread * noise


@dataclasses.dataclass(frozen=True, eq=False)
class Dice(Normal):
    """A fair die: 1 to 6 with equal probability, so that the cdf consists of jumps."""

    def _cdf(self, values: Tensor) -> Tensor:
        return (values.floor().clamp(0, 6) / 6).expand(len(self), -1)


def closed_form(mean: Tensor, spread: Tensor, gold: Tensor) -> Tensor:
    z = (gold - mean) / spread
    density = torch.exp(-z.square() / 2) / math.sqrt(2 * math.pi)
    return spread * (z * (2 * torch.special.ndtr(z) - 1) + 2 * density - 1 / math.sqrt(math.pi))


def normals() -> tuple[Normal, Tensor]:
    mean = torch.tensor([0.0, 5.0, -3.0, 1e6, 0.0, 0.0, 7.0], dtype=torch.float64)
    spread = torch.tensor([1.0, 0.1, 20.0, 3.0, 1e-3, 1.0, 2.0], dtype=torch.float64)
    gold = torch.tensor([0.0, 5.3, -40.0, 1e6 + 1, 4.0, 30.0, 6.0], dtype=torch.float64)
    return Normal(mean, spread), gold


def test_crps_of_a_normal_distribution() -> None:
    rows, gold = normals()
    expected = closed_form(rows.mean_, rows.spread, gold)
    for row in range(len(gold)):
        found = metrics.crps(rows[row], gold[row : row + 1]).value
        assert found == pytest.approx(float(expected[row]), rel=1e-9)
    assert metrics.crps(rows, gold).value == pytest.approx(float(expected.mean()), rel=1e-9)
    with pytest.raises(metrics.MetricError, match=r"give distributions of a head, got \[1.0\]; for samples, crps_of_s"):
        metrics.crps([1.0], [2.0])  # type: ignore[arg-type]


def test_crps_of_a_quantile_function_without_cdf() -> None:
    # exponential distribution: CRPS = y + 2 exp(-y) - 3/2
    score = metrics.crps_of_quantiles(lambda level: -torch.log1p(-level), [0.2, 1.0, 9.0])
    expected = sum(y + 2 * math.exp(-y) - 1.5 for y in (0.2, 1.0, 9.0)) / 3
    assert score.value == pytest.approx(expected, rel=1e-9)


def test_crps_of_a_point_is_the_absolute_error() -> None:
    score = metrics.crps_of_quantiles(lambda level: torch.full_like(level, 3.0), [1.0, 7.0])
    assert score.value == pytest.approx(3.0, rel=1e-9)


def test_crps_of_a_die() -> None:
    die = Dice(torch.zeros(1).double(), torch.ones(1).double())
    # the integral of (F - 1[x >= 2])² over x, step by step
    exact = (1 / 6) ** 2 + sum((k / 6 - 1) ** 2 for k in range(2, 6))
    assert metrics.crps(die, [2.0], nodes=512).value == pytest.approx(exact, abs=5e-3)
    samples = torch.arange(1.0, 7.0)[:, None]
    assert metrics.crps_of_samples(samples, [2.0]).value == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("fair", [False, True])
def test_crps_of_samples_by_all_pairs(fair: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    samples = torch.randn(9, 4, generator=generator, dtype=torch.float64) * 3 + 100
    gold = torch.tensor([99.0, 101.0, 90.0, 130.0], dtype=torch.float64)
    pairs = (samples[:, None] - samples[None]).abs().sum((0, 1)) / (9 * (8 if fair else 9))
    expected = ((samples - gold).abs().mean(0) - pairs / 2).mean()
    assert metrics.crps_of_samples(samples, gold, fair=fair).value == pytest.approx(float(expected), rel=1e-12)


def test_fair_crps_is_unbiased() -> None:
    # Averaged over many groups of 3 samples, the fair score equals that of the distribution; the other is higher.
    groups = 20_000
    draws = torch.randn(3, groups, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    gold = torch.full((groups,), 0.7, dtype=torch.float64)
    exact = float(closed_form(*torch.tensor([0.0, 1.0, 0.7], dtype=torch.float64)))
    assert metrics.crps_of_samples(draws, gold, fair=True).value == pytest.approx(exact, abs=0.01)
    # E|X - X'| = 2/sqrt(pi), of which the biased score subtracts only 2/3
    assert metrics.crps_of_samples(draws, gold).value == pytest.approx(exact + 1 / (3 * math.sqrt(math.pi)), abs=0.01)


def test_crps_edge_cases() -> None:
    score = metrics.crps_of_samples([[1.0, NAN, 2.0], [1.0, 0.0, 2.0]], [2.0, 1.0, NAN])
    assert (score.value, score.count, score.skipped, score.non_finite) == (1.0, 1, 1, 1)
    assert math.isnan(metrics.crps_of_samples(torch.zeros(5, 0), []).value)
    with pytest.raises(ValueError, match="at least 2 samples are needed, got 1"):
        metrics.crps_of_samples([[1.0]], [1.0], fair=True)
    with pytest.raises(ValueError, match=r"\(1, 2\) for 1"):
        metrics.crps_of_samples([[1.0, 2.0]], [1.0])
    rows, gold = normals()
    assert metrics.crps(rows, gold.index_fill(0, torch.tensor([2]), NAN)).skipped == 1
    assert math.isnan(metrics.crps(rows[:0], []).value)
    with pytest.raises(ValueError, match="got 1 for 7 rows"):
        metrics.crps(rows, [1.0])


def test_pinball_matches_manual_calculation() -> None:
    losses = metrics.pinball([[1.0, 2.0, 3.0]], [0.1, 0.5, 0.9], [2.5])
    assert losses.tolist() == [pytest.approx([0.15, 0.25, 0.05])]


def distance_from_uniform(places: Tensor) -> float:
    """Kolmogorov-Smirnov distance from the uniform distribution, times the square root of the count."""
    ordered = places.sort().values
    steps = torch.arange(1, len(ordered) + 1) / len(ordered)
    return float((ordered - steps).abs().max()) * math.sqrt(len(ordered))


def test_pit_of_right_distributions_is_uniform() -> None:
    count = 4000
    rows = Normal(torch.linspace(-9, 9, count).double(), torch.linspace(0.1, 5, count).double())
    gold = rows.sample(1, torch.Generator().manual_seed(0))[0]
    assert distance_from_uniform(metrics.pit(rows, gold)) < 1.5
    # Values rounded to integers are uniform only if the precision is known.
    coarse = dataclasses.replace(rows, spread=torch.full((count,), 0.3).double())
    written = coarse.sample(1, torch.Generator().manual_seed(1))[0].round()
    assert distance_from_uniform(metrics.pit(coarse, written)) > 5
    assert distance_from_uniform(metrics.pit(coarse, written, precision=torch.zeros(count))) < 1.5


def test_pit_of_distributions_with_jumps_is_uniform() -> None:
    count = 4000
    dice = Dice(torch.zeros(count).double(), torch.ones(count).double())
    gold = torch.randint(1, 7, (count,), generator=torch.Generator().manual_seed(0)).double()
    places = metrics.pit(dice, gold)
    assert distance_from_uniform(places) < 1.5
    assert bool(((places >= (gold - 1) / 6) & (places <= gold / 6)).all())
    assert torch.equal(places, metrics.pit(dice, gold))
    assert not torch.equal(places, metrics.pit(dice, gold, seed=1))
    # [2.5, 3.5) contains only the jump at 3; [2, 3) (2.5 ± 0.5) contains the jump at 2, but not the one at 3.
    three = metrics.pit(dice, torch.full((count,), 3.0), precision=torch.zeros(count))
    assert (float(three.min()), float(three.max())) == pytest.approx((2 / 6, 3 / 6), abs=1e-3)
    half = metrics.pit(dice, torch.full((count,), 2.5), precision=torch.zeros(count))
    assert (float(half.min()), float(half.max())) == pytest.approx((1 / 6, 2 / 6), abs=1e-3)


def test_pit_edge_cases() -> None:
    rows, _ = normals()
    gold = [NAN, INF, 1.7976931348623157e308, -1.7976931348623157e308, 5e-324, 0.0, 7.0]
    for precision in (None, [0, 0, 300, 300, -400, -324, 0]):
        places = metrics.pit(rows, gold, precision)
        assert places.isnan().tolist() == [True, True, *[False] * 5]
        assert bool(((places[2:] >= 0) & (places[2:] <= 1)).all())


@pytest.mark.parametrize("name", ["scalar", "mixture"])
def test_metrics_take_the_distributions_of_heads(name: str) -> None:
    torch.manual_seed(0)
    rows = heads[name].build(8)(torch.randn(6, 8))
    gold = torch.tensor([0.0, 1.0, -5.0, 3.1, 1e6, 2.5])
    assert math.isfinite(metrics.crps(rows, gold, nodes=16).value)
    assert bool(metrics.pit(rows, gold, torch.zeros(6)).isfinite().all())
    assert metrics.coverage(*rows.interval(0.9), gold).count == 6


def test_coverage_and_calibration_error_of_right_and_wrong_spreads() -> None:
    count = 5000
    rows = Normal(torch.zeros(count).double(), torch.ones(count).double())
    gold = rows.sample(1, torch.Generator().manual_seed(2))[0]
    lower, upper = torch.full((count,), -1.6448536), torch.full((count,), 1.6448536)
    places = metrics.pit(rows, gold)
    assert metrics.coverage(lower, upper, gold).value == pytest.approx(0.9, abs=0.015)
    assert metrics.pit_coverage(places, 0.9).value == pytest.approx(
        metrics.coverage(lower, upper, gold).value, abs=1e-3
    )
    assert metrics.calibration_error(places).value < 0.015
    narrow = metrics.pit(Normal(torch.zeros(count).double(), torch.full((count,), 0.25).double()), gold)
    # cdf of a normal distribution four times as wide, at the quantiles of the narrow one
    levels = torch.linspace(0.05, 0.95, 19, dtype=torch.float64)
    expected = (torch.special.ndtr(torch.special.ndtri(levels) / 4) - levels).abs().mean()
    assert metrics.calibration_error(narrow).value == pytest.approx(float(expected), abs=0.015)


def test_coverage_edge_cases() -> None:
    score = metrics.coverage([0.0, NAN, 0.0, -INF], [1.0, 1.0, 1.0, INF], [1.0, 0.5, NAN, 9.0])
    assert (score.value, score.count, score.skipped, score.non_finite) == (2 / 3, 3, 1, 1)
    assert math.isnan(metrics.coverage([], [], []).value)
    assert math.isnan(metrics.pit_coverage([NAN]).value)
    assert math.isnan(metrics.calibration_error([]).value)
    with pytest.raises(ValueError, match=r"level=1\.5"):
        metrics.pit_coverage([0.5], level=1.5)


def test_expected_calibration_error_matches_manual_calculation() -> None:
    sure, right = [0.95, 0.85, 0.75, 0.2, 0.3], [1, 0, 1, 0, 1]
    # two bins, boundary 0.5: (0.95 + 0.85 + 0.75 - 2) / 5 and |1 - 0.5| / 5
    assert metrics.expected_calibration_error(sure, right, bins=2).value == pytest.approx((0.55 + 0.5) / 5)
    # by mass: 0.2, 0.3, 0.75 (1.25 against 2) and 0.85, 0.95 (1.8 against 1)
    mass = metrics.expected_calibration_error(sure, right, bins=2, equal_mass=True)
    assert mass.value == pytest.approx((0.75 + 0.8) / 5)
    assert metrics.expected_calibration_error([0.0, 1.0], [0, 1]).value == 0
    score = metrics.expected_calibration_error([NAN, 1.0], [0, 1])
    assert (score.value, score.non_finite) == (0, 1)
    assert metrics.expected_calibration_error([0.5, 1.0], [NAN, 1]).skipped == 1
    assert math.isnan(metrics.expected_calibration_error([], []).value)
    with pytest.raises(ValueError, match=r"got 1.5 to 1.5"):
        metrics.expected_calibration_error([1.5], [1])
    with pytest.raises(ValueError, match="bins=0"):
        metrics.expected_calibration_error([1.0], [1], bins=0)
    with pytest.raises(ValueError, match="nodes=1"):
        metrics.crps_of_quantiles(lambda level: level, [0.5], nodes=1)


def test_arguments_that_do_not_fit_are_quoted() -> None:
    rows = [[1.0], [2.0], [3.0]]
    with pytest.raises(ValueError, match=r"got \(3, 1\), \(3,\) and \(1,\)"):
        metrics.pinball(rows, [0.1, 0.5, 0.9], [2.5])  # the last two exchanged: it was broadcast
    with pytest.raises(ValueError, match="levels must be between 0 and 1, got 95"):
        metrics.pinball(rows, [95.0], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"between 0 and 1, got 12\.5"):
        metrics.calibration_error([0.5, 12.5])
    with pytest.raises(ValueError, match="PIT values must be between 0 and 1, got -1"):
        metrics.pit_coverage([0.5, -1.0])
