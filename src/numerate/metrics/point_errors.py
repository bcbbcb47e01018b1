"""Errors of predicted numbers: absolute, relative, logarithmic and squared errors, accuracies of sign and exponent.

All functions take predictions (N,) and gold values (N,) of any type and device, compute in float64 and return a
`Score`. Examples with a gold value that is not finite are skipped and counted. Predictions that are not finite are
counted; means leave them out, medians use an infinite error, accuracies and bounded errors use the worst value.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from numerate.metrics.score import MetricError, Score, as_pair, mean_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    Numbers = Tensor | Sequence[Any]

__all__ = [
    "adjusted_r2", "exponent_accuracy", "log_mae", "log_smape", "mae", "mape", "mdae", "mdape",
    "order_of_magnitude", "r2", "right_digit_shares", "rmse", "sign_accuracy", "smape",
]  # fmt: skip

_TINY = 1e-100
"""Avoids 0 / 0 in sMAPE; the value is that of BitTokens."""
_LEAST, _MOST = -324, 308
_POWERS = [float(f"1e{power}") for power in range(_LEAST, _MOST + 1)]
"""The float64 nearest to each power of ten (0 for 10^-324)."""


def rmse(predicted: Numbers, gold: Numbers) -> Score:
    """Root mean squared error, computed without overflow of the squares.

    Example:
        >>> float(rmse([1.0, 2.0], [4.0, 6.0])), float(rmse([3e200, 4e200], [0.0, 0.0]))
        (3.5355339059327378, 3.53553390593273...e+200)
    """
    errors, factor, score = _finite_errors(*as_pair(predicted, gold))
    if not score.count:
        return score
    largest = errors.max()
    if largest == 0:
        return replace(score, value=0.0)
    return replace(score, value=factor * float((errors / largest).square().mean().sqrt() * largest))


def mae(predicted: Numbers, gold: Numbers) -> Score:
    """Mean absolute error.

    Example:
        >>> mae([1.0, 2.0, float("nan")], [4.0, 6.0, 0.0])
        Score(value=3.5, count=2, skipped=0, non_finite=1)
    """
    errors, factor, score = _finite_errors(*as_pair(predicted, gold))
    return replace(score, value=factor * mean_of(errors))


def mdae(predicted: Numbers, gold: Numbers) -> Score:
    """Median absolute error; the error of a prediction that is not finite is infinite.

    Example:
        >>> float(mdae([1.0, 2.0, 9.0], [4.0, 6.0, 9.0]))
        3.0
    """
    one, other = as_pair(predicted, gold)
    known = other.isfinite()
    return _median(_distance(one[known], other[known]), one[known], int((~known).sum()))


def mape(predicted: Numbers, gold: Numbers) -> Score:
    """Mean absolute percentage error, in percent; gold values of 0 are skipped and counted.

    Example:
        >>> mape([50.0, 3.0, 5.0], [100.0, 2.0, 0.0])
        Score(value=50.0, count=2, skipped=1, non_finite=0)
    """
    one, other, skipped = _nonzero(*as_pair(predicted, gold))
    good = one.isfinite()
    shares = 100 * (_distance(one[good], other[good]) / other[good].abs())
    return Score(mean_of(shares), int(good.sum()), skipped, int((~good).sum()))


def mdape(predicted: Numbers, gold: Numbers) -> Score:
    """Median absolute percentage error, in percent; gold values of 0 are skipped and counted.

    Example:
        >>> mdape([50.0, 3.0, float("inf"), 5.0], [100.0, 3.0, 1.0, 0.0])
        Score(value=50.0, count=3, skipped=1, non_finite=1)
    """
    one, other, skipped = _nonzero(*as_pair(predicted, gold))
    return _median(100 * (_distance(one, other) / other.abs()), one, skipped)


def log_mae(predicted: Numbers, gold: Numbers) -> Score:
    """Mean of |log10 |x| - log10 |y||: the error in orders of magnitude, ignoring signs (see `sign_accuracy`).

    Gold values of 0 are skipped; predictions of 0, whose error is infinite, are counted in `non_finite`.

    Example:
        >>> log_mae([10.0, -1000.0, 0.0], [1000.0, 1000.0, 1.0])
        Score(value=1.0, count=2, skipped=0, non_finite=1)
    """
    one, other, skipped = _nonzero(*as_pair(predicted, gold))
    good = one.isfinite() & (one != 0)
    away = (one[good].abs().log10() - other[good].abs().log10()).abs()
    return Score(mean_of(away), int(good.sum()), skipped, int((~good).sum()))


def exponent_accuracy(predicted: Numbers, gold: Numbers) -> Score:
    """Share of predictions with the gold value's order of magnitude, ignoring signs; 0 is an order of its own.

    Example:
        >>> exponent_accuracy([999.0, 1000.0, -0.2, 0.0], [100.0, 999.0, 0.9, 0.0]).value
        0.75
    """
    one, other = as_pair(predicted, gold)
    known = other.isfinite()
    one, other = one[known], other[known]
    right = (order_of_magnitude(one) == order_of_magnitude(other)) & one.isfinite()
    return _share(right, one, int((~known).sum()))


def sign_accuracy(predicted: Numbers, gold: Numbers) -> Score:
    """Share of predictions with the gold value's sign (negative, zero or positive).

    Example:
        >>> sign_accuracy([1.0, -2.0, 0.0], [5.0, 2.0, -0.0]).value
        0.6666666666666666
    """
    one, other = as_pair(predicted, gold)
    known = other.isfinite()
    one, other = one[known], other[known]
    return _share((one.sign() == other.sign()) & one.isfinite(), one, int((~known).sum()))


def order_of_magnitude(values: Tensor) -> Tensor:
    """Exact power of ten of the first significant digit; -400 for 0, 400 for NaN and infinity.

    A rounded logarithm alone would be wrong near powers of ten, such as 999.9999999999999.

    Shape:
        Input: any shape, float64. Output: the same shape, int64.

    Example:
        >>> order_of_magnitude(torch.tensor([1000, 999.9999999999999, -0.02, 0, 5e-324], dtype=torch.float64)).tolist()
        [3, 2, -2, -400, -324]
    """
    sizes = values.to(torch.float64).abs()
    inside = sizes.isfinite() & (sizes > 0)
    safe = torch.where(inside, sizes, 1.0)
    powers = torch.tensor(_POWERS, dtype=torch.float64, device=values.device)
    guess = safe.log10().floor().to(torch.int64).clamp(_LEAST, _MOST)
    for _ in range(2):  # the guess is at most one too small or too large
        guess = torch.where(safe < powers[guess - _LEAST], guess - 1, guess).clamp_min(_LEAST)
        above = powers[(guess + 1 - _LEAST).clamp_max(_MOST - _LEAST)]
        guess = torch.where((safe >= above) & (guess < _MOST), guess + 1, guess)
    return torch.where(inside, guess, torch.where(sizes == 0, -400, 400))


def smape(predicted: Numbers, gold: Numbers) -> Score:
    """Symmetric MAPE: mean of |y^ - y| / (|y| + |y^| + 1e-100), from 0 to 1; 1 for predictions that are not finite.

    Example:
        >>> smape([1.0, 0.0, float("nan")], [3.0, 0.0, 2.0])
        Score(value=0.5, count=3, skipped=0, non_finite=1)
    """
    shares, score = _symmetric(*as_pair(predicted, gold))
    return replace(score, value=mean_of(shares))


def log_smape(predicted: Numbers, gold: Numbers) -> Score:
    """Mean of min(1, -log10(sMAPE + 1e-100) / 15), roughly the share of correct leading digits; higher is better.

    Example:
        >>> round(log_smape([1.0, 1.001], [1.0, 1.0]).value, 4)
        0.61
    """
    shares, score = _symmetric(*as_pair(predicted, gold))
    return replace(score, value=mean_of(_right_digits(shares)))


def right_digit_shares(predicted: Numbers, gold: Numbers) -> Tensor:
    """The terms whose mean is `log_smape`: (N,) float64, NaN for gold values that are not finite.

    Example:
        >>> right_digit_shares([1.0, 1.001, 5.0], [1.0, 1.0, float("nan")]).tolist()
        [1.0, 0.22..., nan]
    """
    one, other = as_pair(predicted, gold)
    found = torch.full_like(other, math.nan)
    found[other.isfinite()] = _right_digits(_symmetric(one, other)[0])
    return found


def _right_digits(shares: Tensor) -> Tensor:
    return (-(shares + _TINY).log10() / 15).clamp(0.0, 1.0)


def r2(predicted: Numbers, gold: Numbers) -> Score:
    """Coefficient of determination 1 - SSE / SST; NaN if the gold values do not vary.

    Example:
        >>> r2([1.0, 2.0, 4.0], [1.0, 2.0, 3.0]).value
        0.5
    """
    one, other = as_pair(predicted, gold)
    known = other.isfinite()
    good = known & one.isfinite()
    counts = int(good.sum()), int((~known).sum()), int((known & ~good).sum())
    one, other = one[good], other[good]
    # Compare values instead of testing the variance for 0: rounding can make the variance of equal values positive.
    if not len(one) or not bool((other != other[0]).any()):
        return Score(math.nan, *counts)
    # Scale both sums to terms of at most 1, so that neither tiny variances underflow nor large errors overflow.
    own = float(other.abs().max())
    both = max(float(one.abs().max()), own)
    spread, gaps = other / own - (other / own).mean(), one / both - other / both
    wide, far = float(spread.abs().max()), float(gaps.abs().max())
    ratio = far * (both / own) / wide
    share = float((gaps / (far or 1.0)).square().sum() / (spread / wide).square().sum())
    return Score(1 - ratio * ratio * share, *counts)


def adjusted_r2(predicted: Numbers, gold: Numbers, predictors: int) -> Score:
    """R2 adjusted for the number p of fitted predictors: 1 - (1 - R2)(n - 1) / (n - p - 1).

    Example:
        >>> adjusted_r2([1.0, 2.0, 4.0, 4.0], [1.0, 2.0, 3.0, 4.0], predictors=1).value
        0.7000000000000001
    """
    if predictors < 0:
        raise MetricError(f"predictors must be at least 0, got {predictors=}")
    plain = r2(predicted, gold)
    left = plain.count - predictors - 1
    return replace(plain, value=1 - (1 - plain.value) * (plain.count - 1) / left if left > 0 else math.nan)


def _distance(one: Tensor, other: Tensor) -> Tensor:
    """|one - other|; infinite where `one` is not finite."""
    return torch.where(one.isfinite(), (one - other).abs(), torch.inf)


def _finite_errors(one: Tensor, other: Tensor) -> tuple[Tensor, float, Score]:
    """Absolute errors of the finite pairs, divided by a factor (1 or 2) so that they do not overflow."""
    known = other.isfinite()
    good = known & one.isfinite()
    score = Score(math.nan, int(good.sum()), int((~known).sum()), int((known & ~good).sum()))
    one, other = one[good], other[good]
    errors = (one - other).abs()
    if bool(errors.isinf().any()):
        return (one / 2 - other / 2).abs(), 2.0, score
    return errors, 1.0, score


def _nonzero(one: Tensor, other: Tensor) -> tuple[Tensor, Tensor, int]:
    """Pairs with a gold value that is finite and not 0, and the number of other pairs."""
    good = other.isfinite() & (other != 0)
    return one[good], other[good], int((~good).sum())


def _median(errors: Tensor, predicted: Tensor, skipped: int) -> Score:
    """The median; for an even count the mean of the two middle errors."""
    count = len(errors)
    ordered = errors.sort().values
    value = math.nan
    if count:
        low, high = float(ordered[(count - 1) // 2]), float(ordered[count // 2])
        value = low if low == high else low / 2 + high / 2
    return Score(value, count, skipped, int((~predicted.isfinite()).sum()))


def _share(right: Tensor, predicted: Tensor, skipped: int) -> Score:
    return Score(mean_of(right.double()), len(right), skipped, int((~predicted.isfinite()).sum()))


def _symmetric(one: Tensor, other: Tensor) -> tuple[Tensor, Score]:
    known = other.isfinite()
    one, other = one[known], other[known]
    finite = one.isfinite()
    safe = torch.where(finite, one, 0.0)
    # Halve all terms, so that neither the difference nor the sum of the largest numbers overflows.
    share = (safe / 2 - other / 2).abs() / (safe.abs() / 2 + other.abs() / 2 + _TINY / 2)
    score = Score(math.nan, len(one), int((~known).sum()), int((~finite).sum()))
    return torch.where(finite, share, 1.0), score
