"""Significance tests and confidence intervals: t-tests, binomial and sign test, McNemar's test, clustered bootstrap.

All but `bootstrap` need scipy (extra `eval`), which is imported at the first call. Pairs with a NaN are left out and
counted. If a test is undefined (too few examples, or a t-test of equal values), statistic and p-value are NaN; if there
is no evidence at all (a binomial test without trials), the p-value is 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import torch
from torch import Tensor

from numerate.metrics.score import MetricError, as_floats, as_pair, as_truths, import_scipy

if TYPE_CHECKING:
    from collections.abc import Sequence

    Numbers = Tensor | Sequence[Any]

__all__ = [
    "Interval", "Test", "binomial_test", "bootstrap", "mcnemar", "mean_interval", "paired_t_test", "sign_test",
    "t_test",
]  # fmt: skip

Alternative = Literal["two-sided", "greater", "less"]
_CHUNK = 1 << 23
"""Number of drawn clusters held in memory at once."""
_ROUNDING = 1e-13
"""Rounding of a mean, at most, relative to the largest value."""


@dataclass(frozen=True, slots=True)
class Test:
    """Result of a significance test.

    Attributes:
        statistic: The test statistic: t, number of wins, or chi squared.
        p: The p-value: probability of a result at least as extreme if there is no difference.
        count: Number of examples used (in sign tests and McNemar's test, those that differ).
        skipped: Number of pairs left out because of a NaN or, in sign tests, because they are equal.
    """

    __test__ = False  # pytest must not collect this class
    statistic: float
    p: float
    count: int
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Interval:
    """A bootstrap estimate.

    Attributes:
        estimate: The mean (or mean difference) of all examples.
        low: Lower end of the percentile interval.
        high: Upper end of the percentile interval.
        p: Two-sided p-value of the hypothesis that the estimate is 0.
        clusters: Number of clusters.
        skipped: Number of examples left out because of a NaN.
    """

    estimate: float
    low: float
    high: float
    p: float
    clusters: int
    skipped: int = 0


def paired_t_test(one: Numbers, other: Numbers) -> Test:
    """Two-sided Student's t-test of the hypothesis that the mean of the paired differences `one - other` is 0.

    Example:
        >>> result = paired_t_test([2.0, 3.0, 5.0, 4.0], [1.0, 3.0, 3.0, 3.0])
        >>> round(result.statistic, 4), round(result.p, 4)
        (2.4495, 0.0917)
    """
    first, second = _near_one(*as_pair(one, other))[0]
    gaps = first - second
    kept = gaps[gaps.isfinite()]
    count, skipped = len(kept), len(gaps) - len(kept)
    if count < 2:
        return Test(math.nan, math.nan, count, skipped)
    return _t_result(float(kept.mean()), float(kept.std()) / math.sqrt(count), count - 1, count, skipped)


def t_test(one: Numbers, other: Numbers, equal_spread: bool = False) -> Test:
    """Two-sided t-test of the hypothesis that two independent samples have the same mean (Welch's test by default).

    Args:
        one: (N,) first sample.
        other: (M,) second sample.
        equal_spread: Use Student's test, which assumes equal variances, as Thawani et al. 2021 do.

    Example:
        >>> round(t_test([1.0, 2.0, 3.0], [2.0, 4.0, 6.0]).p, 4)
        0.2209
    """
    samples = _near_one(*(as_floats(values) for values in (one, other)))[0]
    first, second = (values[values.isfinite()] for values in samples)
    n, m = len(first), len(second)
    skipped = len(samples[0]) + len(samples[1]) - n - m
    if n < 2 or m < 2:
        return Test(math.nan, math.nan, n + m, skipped)
    gap, a, b = float(first.mean() - second.mean()), float(first.var()) / n, float(second.var()) / m
    if equal_spread:
        pooled = (a * n * (n - 1) + b * m * (m - 1)) / (n + m - 2)
        return _t_result(gap, math.sqrt(pooled * (1 / n + 1 / m)), n + m - 2, n + m, skipped)
    freedom = (a + b) ** 2 / (a**2 / (n - 1) + b**2 / (m - 1)) if a + b > 0 else 1.0
    return _t_result(gap, math.sqrt(a + b), freedom, n + m, skipped)


def binomial_test(wins: int, trials: int, chance: float = 0.5, alternative: Alternative = "two-sided") -> Test:
    """Exact binomial test of the hypothesis that each trial is won with probability `chance`.

    The two-sided p-value sums the probabilities of all outcomes that are at most as probable as the observed one.

    Example:
        >>> binomial_test(9, 10).p, binomial_test(9, 10, alternative="greater").p, binomial_test(0, 0).p
        (0.0214843..., 0.0107421..., 1.0)
    """
    if not 0 <= wins <= trials:
        raise MetricError(f"wins must be between 0 and the number of trials, got {wins=}, {trials=}")
    if not 0 <= chance <= 1:
        raise MetricError(f"chance must be between 0 and 1, got {chance=}")
    if alternative not in get_args(Alternative):
        raise MetricError(f"alternative must be 'two-sided', 'greater' or 'less', got {alternative=}")
    p = import_scipy("stats").binomtest(wins, trials, chance, alternative).pvalue if trials else 1.0
    return Test(float(wins), float(p), trials)


def sign_test(one: Numbers, other: Numbers) -> Test:
    """Binomial test of the hypothesis that `one` is larger than `other` as often as smaller; equal pairs are skipped.

    Example:
        >>> result = sign_test([2.0, 3.0, 5.0, 4.0], [1.0, 3.0, 3.0, 3.0])
        >>> round(result.p, 12), result.count, result.skipped
        (0.25, 3, 1)
    """
    first, second = as_pair(one, other)
    wins, losses = int((first > second).sum()), int((first < second).sum())
    result = binomial_test(wins, wins + losses)
    return Test(result.statistic, result.p, wins + losses, len(first) - wins - losses)


def mcnemar(one: Numbers, other: Numbers, exact: bool = True) -> Test:
    """McNemar's test of the hypothesis that two systems are right equally often on the same examples.

    Args:
        one: (N,) whether the first system was right.
        other: (N,) whether the second system was right.
        exact: Use the binomial distribution; the statistic is b, the number of examples that only the first system got
            right. If False, use chi squared with continuity correction: max(0, |b - c| - 1)² / (b + c).

    Example:
        >>> mine, theirs = [True] * 10 + [False] * 2, [False] * 9 + [True] + [True, False]
        >>> mcnemar(mine, theirs).p, round(mcnemar(mine, theirs, exact=False).p, 4)
        (0.0214843..., 0.0269)
    """
    pair = as_pair(one, other)
    known = ~(pair[0].isnan() | pair[1].isnan())
    first, second = (as_truths(values[known], "answers") for values in pair)
    b, c = int((first & ~second).sum()), int((~first & second).sum())
    skipped = int((~known).sum())
    if exact:
        return Test(float(b), binomial_test(b, b + c).p, b + c, skipped)
    chi = max(0, abs(b - c) - 1) ** 2 / (b + c) if b + c else 0.0
    return Test(chi, math.erfc(math.sqrt(chi / 2)), b + c, skipped)


def bootstrap(
    one: Numbers,
    other: Numbers | None = None,
    clusters: Tensor | Sequence[Any] | None = None,
    resamples: int = 10_000,
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Bootstrap percentile interval of a mean, or of the mean of paired differences, resampling whole clusters.

    Examples of one cluster, such as tokens of one sentence, are not independent: resampling them one by one gives
    intervals that are too narrow.

    Args:
        one: (N,) one figure per example: an error, or 0 or 1 for wrong or right.
        other: (N,) figures of another system on the same examples; the estimate is then the mean of `one - other`.
        clusters: (N,) ids of clusters, numbers or texts; by default every example is its own cluster.
        resamples: Number of bootstrap samples.
        level: Confidence level.
        seed: Random seed. Samples are drawn on the CPU, so that they do not depend on the device.

    Example:
        >>> bootstrap([1.0, 2.0, 3.0, 4.0], clusters=[0, 0, 1, 1])
        Interval(estimate=2.5, low=1.5, high=3.5, p=0.000199..., clusters=2, skipped=0)
    """
    if resamples < 1:
        raise MetricError(f"resamples must be at least 1, got {resamples=}")
    if not 0 < level < 1:
        raise MetricError(f"level must be between 0 and 1, got {level=}")
    given, unit = _near_one(*([as_floats(one)] if other is None else as_pair(one, other)))
    values = (given[0] if other is None else given[0] - given[1]).cpu()
    groups = torch.arange(len(values)) if clusters is None else _group_numbers(clusters)
    if groups.shape != values.shape:
        raise MetricError(
            f"clusters must have one id per example, got {tuple(groups.shape)} for {len(values)} examples"
        )
    good = values.isfinite()
    values, skipped = values[good], int((~good).sum())
    if not len(values):
        return Interval(math.nan, math.nan, math.nan, math.nan, 0, skipped)
    _, index, sizes = groups[good].unique(return_inverse=True, return_counts=True)
    count, centre = len(sizes), values.mean()
    sums = torch.zeros(count, dtype=torch.float64).index_add_(0, index, values - centre)
    both = torch.stack([sums, sizes.to(torch.float64)], dim=1)
    generator, means = torch.Generator().manual_seed(seed), []
    for start in range(0, resamples, step := max(1, _CHUNK // count)):
        rows = min(step, resamples - start)
        drawn = both[torch.randint(count, (rows, count), generator=generator)].sum(dim=1)
        means.append(drawn[:, 0] / drawn[:, 1] + centre)
    every = torch.cat(means)
    # The mean of a sample without any difference is 0, which rounding turns into 1e-18: evidence of nothing.
    every = torch.where(every.abs() > _ROUNDING * values.abs().max(), every, 0.0).numpy()
    low, high = np.quantile(every, [(1 - level) / 2, (1 + level) / 2]).tolist()
    tail = 1 + min(int((every <= 0).sum()), int((every >= 0).sum()))
    return Interval(unit * float(centre), unit * low, unit * high, min(1.0, 2 * tail / (resamples + 1)), count, skipped)


def mean_interval(values: Sequence[float], level: float = 0.95) -> tuple[float, float | None]:
    """Mean of a few values (e.g. one per seed) and half-width of its Student's t interval; None for one value.

    Example:
        >>> mean, half = mean_interval([0.9, 1.0, 1.1])
        >>> round(mean, 3), round(half, 3)
        (1.0, 0.248)
    """
    given = as_floats(values)
    if not len(given) or not 0 < level < 1:
        raise MetricError(f"needs at least 1 value and a level between 0 and 1, got {len(given)} values, {level=}")
    count = len(given)
    if not bool(given.isfinite().all()):
        return float(given.sum()) / count, None if count == 1 else math.nan
    (scaled,), unit = _near_one(given)
    near = scaled.tolist()
    mean = math.fsum(near) / count
    if count == 1:
        return mean * unit, None
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in near) / (count - 1) / count)
    return mean * unit, float(import_scipy("special").stdtrit(count - 1, (1 + level) / 2)) * spread * unit


def _group_numbers(clusters: Tensor | Sequence[Any]) -> Tensor:
    """Cluster ids of any kind as integers, in the order of the ids."""
    if isinstance(clusters, Tensor):
        return clusters.cpu()
    ids = np.asarray(clusters)
    return torch.from_numpy(np.unique(ids, return_inverse=True)[1].reshape(ids.shape))


def _near_one(*samples: Tensor) -> tuple[list[Tensor], float]:
    """Samples divided by one power of two, which is returned, too: sums and squares of the largest floats overflow.

    A power of two changes no digit.
    """
    sizes = [float(values[values.isfinite()].abs().max()) for values in samples if bool(values.isfinite().any())]
    exponent = math.frexp(max(sizes, default=1.0))[1]
    unit = math.ldexp(1.0, min(max(exponent, -1000), 1020))
    return [values / unit for values in samples], unit


def _t_result(gap: float, spread: float, freedom: float, count: int, skipped: int) -> Test:
    if spread == 0:
        t, p = (math.nan, math.nan) if gap == 0 else (math.copysign(math.inf, gap), 0.0)
        return Test(t, p, count, skipped)
    t = gap / spread
    p = import_scipy("special").betainc(freedom / 2, 0.5, freedom / (freedom + t * t))
    return Test(t, float(p), count, skipped)
