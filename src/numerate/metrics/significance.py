"""Whether a difference is more than chance: t-tests, binomial and sign test, McNemar, bootstrap with clusters.

Pairs with a NaN are left out and counted. Where nothing can be said (too few examples, no difference at all to a test
that divides by its spread), the figures are NaN, or the p-value is 1 where no evidence is the exact answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from numerate.metrics.score import as_floats, as_pair

if TYPE_CHECKING:
    from collections.abc import Sequence

    Numbers = Tensor | Sequence[Any]

__all__ = [
    "Interval",
    "Test",
    "binomial_test",
    "bootstrap",
    "mcnemar",
    "mean_interval",
    "paired_t_test",
    "sign_test",
    "t_test",
]

Alternative = Literal["two-sided", "greater", "less"]
_CHUNK = 1 << 23
"""How many drawn clusters are held at once."""


@dataclass(frozen=True, slots=True)
class Test:
    """A test's result.

    Attributes:
        statistic: What was tested: t, a count of wins, chi squared.
        p: How probable a result at least as extreme is if there is no difference.
        count: Examples it stands on (in sign tests and McNemar's, those that differ).
        skipped: Pairs left out because of a NaN, or, in sign tests, because they are equal.
    """

    __test__ = False  # no test of pytest's
    statistic: float
    p: float
    count: int
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Interval:
    """A bootstrap estimate.

    Attributes:
        estimate: The mean (or difference of means) of all examples.
        low: Lower end of the percentile interval.
        high: Upper end.
        p: Two-sided p-value of the estimate's being 0.
        clusters: How many clusters were drawn from.
        skipped: Examples left out because of a NaN.
    """

    estimate: float
    low: float
    high: float
    p: float
    clusters: int
    skipped: int = 0


def paired_t_test(one: Numbers, other: Numbers) -> Test:
    """Student's test of whether the mean of `one - other`, pair by pair, is 0; two-sided.

    Example:
        >>> result = paired_t_test([2.0, 3.0, 5.0, 4.0], [1.0, 3.0, 3.0, 3.0])
        >>> round(result.statistic, 4), round(result.p, 4)
        (2.4495, 0.0917)
    """
    first, second = as_pair(one, other)
    gaps = first - second
    kept = gaps[gaps.isfinite()]
    count, skipped = len(kept), len(gaps) - len(kept)
    if count < 2:
        return Test(math.nan, math.nan, count, skipped)
    return _t(float(kept.mean()), float(kept.std()) / math.sqrt(count), count - 1, count, skipped)


def t_test(one: Numbers, other: Numbers, equal_spread: bool = False) -> Test:
    """Test of whether two independent samples have one mean; two-sided. By default Welch's, of any two spreads.

    Args:
        one: (N,).
        other: (M,).
        equal_spread: Student's form, which takes both spreads for one (Thawani et al. 2021 on right and wrong words).

    Example:
        >>> round(t_test([1.0, 2.0, 3.0], [2.0, 4.0, 6.0]).p, 4)
        0.2209
    """
    samples = [as_floats(values) for values in (one, other)]
    first, second = (values[values.isfinite()] for values in samples)
    n, m = len(first), len(second)
    skipped = len(samples[0]) + len(samples[1]) - n - m
    if n < 2 or m < 2:
        return Test(math.nan, math.nan, n + m, skipped)
    gap, a, b = float(first.mean() - second.mean()), float(first.var()) / n, float(second.var()) / m
    if equal_spread:
        pooled = (a * n * (n - 1) + b * m * (m - 1)) / (n + m - 2)
        return _t(gap, math.sqrt(pooled * (1 / n + 1 / m)), n + m - 2, n + m, skipped)
    freedom = (a + b) ** 2 / (a**2 / (n - 1) + b**2 / (m - 1)) if a + b > 0 else 1.0
    return _t(gap, math.sqrt(a + b), freedom, n + m, skipped)


def binomial_test(wins: int, trials: int, chance: float = 0.5, alternative: Alternative = "two-sided") -> Test:
    """Exact test of whether each of `trials` is won with probability `chance`.

    Two-sided, it sums all results that are no more probable than the one seen.

    Example:
        >>> binomial_test(9, 10).p, binomial_test(9, 10, alternative="greater").p, binomial_test(0, 0).p
        (0.0214843..., 0.0107421..., 1.0)
    """
    if not 0 <= wins <= trials:
        raise ValueError(f"wins must lie between 0 and the trials, got {wins=}, {trials=}")
    if not 0 <= chance <= 1:
        raise ValueError(f"chance must lie between 0 and 1, got {chance=}")
    k = torch.arange(trials + 1, dtype=torch.float64)
    log_p = math.lgamma(trials + 1) - torch.lgamma(k + 1) - torch.lgamma(trials - k + 1)
    log_p = log_p + torch.special.xlogy(k, chance) + torch.special.xlog1py(trials - k, -chance)
    if alternative == "greater":
        chosen = log_p[wins:]
    elif alternative == "less":
        chosen = log_p[: wins + 1]
    elif alternative == "two-sided":
        chosen = log_p[log_p <= log_p[wins] + 1e-7]  # what is equally probable is so but for rounding
    else:
        raise ValueError(f"alternative must be 'two-sided', 'greater' or 'less', got {alternative=}")
    return Test(float(wins), min(1.0, float(chosen.logsumexp(0).exp())), trials)


def sign_test(one: Numbers, other: Numbers) -> Test:
    """Binomial test of whether `one` is larger than `other` as often as smaller; equal pairs are skipped.

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
    """McNemar's test of whether two systems are right equally often on the same examples.

    Args:
        one: (N,) whether the first was right.
        other: (N,) whether the second was.
        exact: By the binomial distribution, with the first's lone successes as statistic; if not, by chi squared with
            the continuity correction, max(0, |b - c| - 1)² / (b + c).

    Example:
        >>> mine, theirs = [True] * 10 + [False] * 2, [False] * 9 + [True] + [True, False]
        >>> mcnemar(mine, theirs).p, round(mcnemar(mine, theirs, exact=False).p, 4)
        (0.0214843..., 0.0269)
    """
    pair = as_pair(one, other)
    known = ~(pair[0].isnan() | pair[1].isnan())
    first, second = (values[known].bool() for values in pair)
    b, c = int((first & ~second).sum()), int((~first & second).sum())
    skipped = int((~known).sum())
    if exact:
        return Test(float(b), binomial_test(b, b + c).p, b + c, skipped)
    chi = max(0, abs(b - c) - 1) ** 2 / (b + c) if b + c else 0.0
    return Test(chi, math.erfc(math.sqrt(chi / 2)), b + c, skipped)


def bootstrap(
    one: Numbers,
    other: Numbers | None = None,
    clusters: Numbers | None = None,
    resamples: int = 10_000,
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Percentile interval of a mean, or of the mean of paired differences, by drawing whole clusters with replacement.

    Tokens of one sentence are not independent: drawn one by one, they make an interval that is too narrow.

    Args:
        one: (N,) a figure of each example: an error, 0 or 1 for wrong or right.
        other: (N,) the same of another system on the same examples; the estimate is then the mean of `one - other`.
        clusters: (N,) integers, equal for examples that belong together; every example for itself by default.
        resamples: How many times.
        level: Of the interval.
        seed: Of the draws, which are made on the CPU: the same on every device.

    Example:
        >>> bootstrap([1.0, 2.0, 3.0, 4.0], clusters=[0, 0, 1, 1])
        Interval(estimate=2.5, low=1.5, high=3.5, p=0.000199..., clusters=2, skipped=0)
    """
    if resamples < 1:
        raise ValueError(f"resamples must be positive, got {resamples=}")
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level=}")
    values = as_floats(one) if other is None else torch.sub(*as_pair(one, other))
    values = values.cpu()
    groups = torch.arange(len(values)) if clusters is None else torch.as_tensor(clusters).cpu()
    if groups.shape != values.shape:
        raise ValueError(f"clusters must be one an example, got {tuple(groups.shape)} for {len(values)} examples")
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
    every = torch.cat(means).sort().values
    # Ends at the order statistics, by linear interpolation; torch.quantile takes no more than 16 million values.
    low, high = _at(every, (1 - level) / 2), _at(every, (1 + level) / 2)
    tail = 1 + min(int((every <= 0).sum()), int((every >= 0).sum()))
    return Interval(float(centre), low, high, min(1.0, 2 * tail / (resamples + 1)), count, skipped)


def mean_interval(values: Sequence[float], level: float = 0.95) -> tuple[float, float | None]:
    """The mean of a few values, such as one a seed, and half of its interval by Student's t; None for a single one.

    Example:
        >>> mean, half = mean_interval([0.9, 1.0, 1.1])
        >>> round(mean, 3), round(half, 3)
        (1.0, 0.248)
    """
    if not values or not 0 < level < 1:
        raise ValueError(f"needs values, and a level between 0 and 1, got {len(values)} of them, {level=}")
    mean, count = math.fsum(values) / len(values), len(values)
    if count == 1:
        return mean, None
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (count - 1) / count)
    low, high = 0.0, 1e9  # of t; its tails shrink as it grows
    for _ in range(200):
        middle = (low + high) / 2
        outside = _incomplete_beta((count - 1) / (count - 1 + middle * middle), (count - 1) / 2, 0.5)
        low, high = (middle, high) if outside > 1 - level else (low, middle)
    return mean, high * spread


def _at(ordered: Tensor, share: float) -> float:
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return float(ordered[low] + (place - low) * (ordered[high] - ordered[low]))


def _t(gap: float, spread: float, freedom: float, count: int, skipped: int) -> Test:
    if spread == 0:
        t, p = (math.nan, math.nan) if gap == 0 else (math.copysign(math.inf, gap), 0.0)
        return Test(t, p, count, skipped)
    t = gap / spread
    return Test(t, _incomplete_beta(freedom / (freedom + t * t), freedom / 2, 0.5), count, skipped)


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """Regularised incomplete beta function, by its continued fraction (modified Lentz); PyTorch has none."""
    if x <= 0 or x >= 1:
        return min(max(x, 0.0), 1.0)
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast on the other side
        return 1 - _incomplete_beta(1 - x, b, a)
    front = a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) - math.log(a)
    value, c, d = 1.0, 1.0, 0.0
    for step in range(2 * 10_000):
        m = step // 2
        if step == 0:
            term = 1.0
        elif step % 2 == 0:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        else:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1 / ((1 + term * d) or 1e-300)
        c = (1 + term / c) or 1e-300
        value *= c * d
        if step and abs(c * d - 1) < 1e-15:
            break
    return math.exp(front) * (value - 1)
