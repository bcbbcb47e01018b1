"""Significance tests against SciPy and manual calculations; the bootstrap against theory."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
import scipy.stats
import torch

from numerate import metrics
from numerate.errors import NumerateError


def test_missing_scipy_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    with pytest.raises(ImportError, match=r'pip install "numerate\[eval\]"') as error:
        metrics.mean_interval([1.0, 2.0])
    assert isinstance(error.value, NumerateError)


@pytest.mark.parametrize("count", [2, 3, 10, 300])
def test_t_tests_against_scipy(count: int) -> None:
    generator = np.random.default_rng(count)
    one, other = generator.normal(size=count), generator.normal(size=count) * 2 + 0.5
    expected = scipy.stats.ttest_rel(one, other)
    found = metrics.paired_t_test(one, other)
    assert (found.statistic, found.p) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-9)
    longer = generator.normal(size=count + 3)
    for equal in (False, True):
        expected = scipy.stats.ttest_ind(one, longer, equal_var=equal)
        found = metrics.t_test(one, longer, equal_spread=equal)
        assert (found.statistic, found.p) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-9)


def test_t_test_edge_cases() -> None:
    for result in (metrics.paired_t_test([], []), metrics.paired_t_test([1.0], [2.0]), metrics.t_test([1.0], [2.0])):
        assert math.isnan(result.p)
    same = metrics.paired_t_test([1.0, 2.0], [1.0, 2.0])
    assert math.isnan(same.statistic)
    assert math.isnan(same.p)
    assert metrics.paired_t_test([2.0, 3.0], [1.0, 2.0]).p == 0
    assert metrics.paired_t_test([2.0, 3.0, math.nan, 9.0], [1.0, 1.0, 0.0, 1.0]).skipped == 1
    assert metrics.t_test([1.0, 1.0], [2.0, 2.0]).statistic == -math.inf
    tiny = metrics.paired_t_test(torch.linspace(0.9, 1.1, 5000), torch.zeros(5000))
    assert 0 <= tiny.p < 1e-300


@pytest.mark.parametrize(("wins", "trials", "chance"), [(0, 5, 0.5), (3, 7, 0.5), (8, 10, 0.3), (20, 60, 0.4)])
def test_binomial_test_sums_the_probabilities(wins: int, trials: int, chance: float) -> None:
    chances = [math.comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in range(trials + 1)]
    rare = [p for p in chances if p <= chances[wins] * (1 + 1e-7)]
    for alternative, expected in (("two-sided", rare), ("greater", chances[wins:]), ("less", chances[: wins + 1])):
        assert metrics.binomial_test(wins, trials, chance, alternative).p == pytest.approx(math.fsum(expected))


def test_binomial_test_edge_cases() -> None:
    assert metrics.binomial_test(5, 5).p == pytest.approx(2 / 32)
    assert metrics.binomial_test(3, 3, 1.0).p == 1
    assert metrics.binomial_test(2, 3, 1.0).p == 0
    assert metrics.binomial_test(0, 0).p == 1
    assert metrics.binomial_test(108_448, 163_942, 0.6557, "greater").p < 1e-6  # many trials
    with pytest.raises(ValueError, match="wins=4"):
        metrics.binomial_test(4, 3)
    with pytest.raises(ValueError, match="chance=2"):
        metrics.binomial_test(1, 3, 2)
    with pytest.raises(ValueError, match="alternative='both'"):
        metrics.binomial_test(1, 3, alternative="both")  # type: ignore[arg-type]


def test_sign_test() -> None:
    result = metrics.sign_test([1.0, 2.0, 3.0, 4.0, 5.0, math.nan], [0.0, 1.0, 2.0, 3.0, 5.0, 1.0])
    assert (result.statistic, result.count, result.skipped) == (4, 4, 2)
    assert result.p == pytest.approx(2 / 16)
    assert metrics.sign_test([], []).p == 1


def test_mcnemar_matches_manual_calculation() -> None:
    mine = [1] * 15 + [0] * 5 + [1] * 30 + [0] * 8
    theirs = [0] * 15 + [1] * 5 + [1] * 30 + [0] * 8
    exact = metrics.mcnemar(mine, theirs)
    assert (exact.statistic, exact.count) == (15, 20)
    assert exact.p == pytest.approx(2 * sum(math.comb(20, k) for k in range(6)) / 2**20)
    chi = metrics.mcnemar(mine, theirs, exact=False)
    assert chi.statistic == pytest.approx(81 / 20)
    assert chi.p == pytest.approx(scipy.stats.chi2.sf(81 / 20, 1))
    assert metrics.mcnemar(mine, mine).p == metrics.mcnemar(mine, mine, exact=False).p == 1
    assert metrics.mcnemar([1.0, math.nan], [0.0, 1.0]).skipped == 1
    # equal counts on both sides are no evidence
    assert metrics.mcnemar([1, 0], [0, 1], exact=False).p == 1


def test_bootstrap_interval_matches_normal_approximation() -> None:
    values = torch.randn(400, generator=torch.Generator().manual_seed(0), dtype=torch.float64) + 0.2
    found = metrics.bootstrap(values)
    half = 1.96 * float(values.std()) / 20
    assert found.estimate == pytest.approx(float(values.mean()))
    assert (found.low, found.high) == pytest.approx((found.estimate - half, found.estimate + half), abs=0.01)
    assert found == metrics.bootstrap(values)
    assert found != metrics.bootstrap(values, seed=1)
    wide = metrics.bootstrap(values, level=0.99)
    assert wide.low < found.low < found.high < wide.high


def test_bootstrap_resamples_whole_clusters() -> None:
    # Ten equal tokens per sentence carry no more information than one.
    means = torch.randn(50, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    tokens, sentence = means.repeat_interleave(10), torch.arange(50).repeat_interleave(10)
    clustered = metrics.bootstrap(tokens, clusters=sentence)
    assert clustered.clusters == 50
    assert clustered.high - clustered.low == pytest.approx(
        metrics.bootstrap(means).high - metrics.bootstrap(means).low, rel=1e-9
    )
    naive = metrics.bootstrap(tokens)
    assert clustered.high - clustered.low > 2.5 * (naive.high - naive.low)


def test_bootstrap_of_clusters_of_different_sizes() -> None:
    # The four equally probable draws of two clusters have the means 1, 7/3, 7/3 and 5.
    found = metrics.bootstrap([1.0, 1.0, 5.0], clusters=[4, 4, 9], level=0.4, resamples=4000)
    assert (found.low, found.high) == pytest.approx((7 / 3, 7 / 3))
    wide = metrics.bootstrap([1.0, 1.0, 5.0], clusters=[4, 4, 9], level=0.9, resamples=4000)
    assert (wide.low, wide.high) == pytest.approx((1, 5))


def test_paired_bootstrap() -> None:
    generator = torch.Generator().manual_seed(2)
    hard = torch.randn(200, generator=generator, dtype=torch.float64) * 10
    one, other = hard + 0.5, hard + torch.randn(200, generator=generator, dtype=torch.float64)
    paired = metrics.bootstrap(one, other)
    assert paired.estimate == pytest.approx(float((one - other).mean()))
    assert paired.low > 0
    assert paired.p < 0.01
    assert metrics.bootstrap(hard, hard).p == 1


def test_a_sample_without_differences_is_no_evidence() -> None:
    """Of 12 clusters, only one has a difference: it is missing in (11/12)^12 = 35 % of the samples."""
    one, clusters = torch.zeros(216, dtype=torch.float64), torch.arange(216) // 18
    one[:2] = 0.5
    found = metrics.bootstrap(one, torch.zeros_like(one), clusters)
    assert found.low == 0 < found.high
    assert found.p == pytest.approx(2 * (11 / 12) ** 12, abs=0.02)
    less = metrics.bootstrap(torch.zeros_like(one), one, clusters)
    assert (less.low, less.high, less.p) == (-found.high, 0, found.p)


def test_bootstrap_edge_cases() -> None:
    nothing = metrics.bootstrap([])
    assert math.isnan(nothing.estimate)
    assert math.isnan(nothing.low)
    assert metrics.bootstrap([1.0, math.nan, 3.0], resamples=10).skipped == 1
    single = metrics.bootstrap([2.0], resamples=10)
    assert (single.low, single.high) == (2, 2)
    with pytest.raises(ValueError, match="resamples=0"):
        metrics.bootstrap([1.0], resamples=0)
    with pytest.raises(ValueError, match="level=1"):
        metrics.bootstrap([1.0], level=1)
    with pytest.raises(ValueError, match=r"\(2,\) for 1 examples"):
        metrics.bootstrap([1.0], clusters=[1, 2])


@pytest.mark.parametrize(("count", "level"), [(2, 0.95), (3, 0.9), (5, 0.99), (12, 0.95), (40, 0.5)])
def test_mean_interval_against_scipy(count: int, level: float) -> None:
    values = [math.sin(3.0 * place) for place in range(count)]
    mean, half = metrics.mean_interval(values, level)
    low, high = scipy.stats.t.interval(level, count - 1, np.mean(values), scipy.stats.sem(values))
    assert (mean - half, mean + half) == (pytest.approx(low, rel=1e-9), pytest.approx(high, rel=1e-9))
    assert metrics.mean_interval([2.5]) == (2.5, None)
    with pytest.raises(ValueError, match="needs at least 1 value"):
        metrics.mean_interval([])


LARGEST = 1.7976931348623157e308


@pytest.mark.parametrize("unit", [1.0, 2.0**-1000, 2.0**1020])
def test_results_do_not_depend_on_the_unit(unit: float) -> None:
    one, other = [1.0, 2.5, 3.0, 7.0], [2.0, 4.0, 6.0, 15.0]
    large, wide = [value * unit for value in one], [-value * unit for value in other]
    for test in (metrics.t_test, metrics.paired_t_test):
        expected = test(one, [-value for value in other])
        found = test(large, wide)
        assert (found.statistic, found.p, found.count) == (expected.statistic, expected.p, expected.count)
    assert metrics.t_test(large, wide, equal_spread=True) == metrics.t_test(one, [-v for v in other], True)
    mean, half = metrics.mean_interval(one)
    assert metrics.mean_interval(large) == (mean * unit, half * unit)
    near, far = metrics.bootstrap(one, resamples=99), metrics.bootstrap(large, resamples=99)
    assert (far.estimate, far.low, far.high, far.p) == (near.estimate * unit, near.low * unit, near.high * unit, near.p)


def test_the_mean_of_the_largest_floats() -> None:
    assert metrics.mean_interval([LARGEST, LARGEST]) == (LARGEST, 0.0)
    assert metrics.mean_interval([1e200, -1e200]) == (0.0, pytest.approx(12.706e200, rel=1e-4))
    assert metrics.mean_interval([LARGEST, -LARGEST]) == (0.0, math.inf)
    mean, half = metrics.mean_interval([math.inf, -math.inf])
    assert math.isnan(mean) and math.isnan(half)
    assert metrics.mean_interval([math.inf]) == (math.inf, None)
    assert metrics.mean_interval([0.0, 0.0]) == (0.0, 0.0)


def test_clusters_may_be_named() -> None:
    names, numbers = ["b", "b", "a", "a"], [0, 0, 1, 1]
    values = [1.0, 2.0, 3.0, 4.0]
    named, numbered = (metrics.bootstrap(values, clusters=ids, resamples=200) for ids in (names, numbers))
    assert named.clusters == numbered.clusters == 2 and named.estimate == numbered.estimate == 2.5
    assert named.low == 1.5 and named.high == 3.5


def test_answers_that_are_neither_right_nor_wrong_are_quoted() -> None:
    with pytest.raises(ValueError, match=r"answers must be true or false \(1 or 0\), got 3"):
        metrics.mcnemar([1.0, 3.0], [1.0, 0.0])
    with pytest.raises(ValueError, match="values must be numbers, got 'a'"):
        metrics.mean_interval(["a"])  # type: ignore[list-item]
