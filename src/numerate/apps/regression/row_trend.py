"""A trend of table rows in closed form, about which the network of `NumberRegressor` learns the rest.

Ridge regression on the standardised fields, of the target or its logarithm. All choices (regularisation, fields as
they are, their logarithms or products, and whether there is a trend at all) are made by the leave-one-out likelihood,
which a ridge regression has in closed form.
"""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from numerate.apps.regression.network import TargetScale
from numerate.apps.regression.row_features import Columns, Form, Term
from numerate.apps.regression.rows import places
from numerate.config import Config, ConfigError
from numerate.processing.scaling import field_of
from numerate.records.learning import learn
from numerate.records.schema import FieldError, Schema

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Trend", "fit_trend", "network_share"]

FEWEST_ROWS = 10
"""Fewer rows get no trend."""
ENOUGH_ROWS = 30
"""With fewer rows, the choice among trends is made anew without each row, and not only the fit."""
MOST_ROWS = 20_000
"""Of more rows, as many random ones decide on the trend."""
LEAST_GAIN, LEAST_GAIN_OF_ROW = 3.0, 0.02
"""A trend must be more likely than a constant by this many nats, over all rows and for each row."""
MOST_RESIDUALS = 999
PENALTIES = np.logspace(-9, 3, 37)
"""Penalties to choose from, for one row and standardised fields."""
SHARES = (0.25, 0.5, 0.75, 1.0)
"""Shares of the network to choose from, besides none."""
_UNREACHED = 1e-10
"""Singular values below this share of the largest are 0 but for rounding."""
_ROUNDED = 1e-12
"""A share of a row below this is 0 but for rounding."""
_FORMS: tuple[tuple[Form, ...], ...] = (
    ("number",), ("number", "missing"), ("number", "logarithm"), ("logarithm",), ("number", "product"),
)  # fmt: skip
"""Forms of the fields to choose from, the simplest first."""


@dataclass(frozen=True, kw_only=True)
class Trend(Config):
    """A linear trend of rows, and the distribution of what it leaves unexplained.

    Attributes:
        schema: The fields of the rows.
        terms: The summands.
        target: The line on which the trend is linear: the target itself or its logarithm.
        intercept: The trend of a mean row.
        residuals: Leave-one-out residuals of the training rows in increasing order, or as many quantiles of them.
        network_share: How far the network's distribution of the residual counts, from 0 (not at all) to 1.

    Example:
        >>> rows = [{"x": at, "odd": bool(at % 2)} for at in range(50)]
        >>> trend, _ = fit_trend(rows, np.array([3.0 * row["x"] + 100 * row["odd"] for row in rows]))
        >>> trend.target.number(trend.at([{"x": 100, "odd": True}, {"x": 100, "odd": False}])).round(3).tolist()
        [400.0, 300.0]
    """

    kind: ClassVar[str] = "row-trend"
    schema: Schema
    terms: tuple[Term, ...]
    target: TargetScale
    intercept: float
    residuals: tuple[float, ...]
    network_share: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.network_share <= 1:
            raise ConfigError(f"network_share must be from 0 to 1, got {self.network_share}")
        if not self.residuals:
            raise ConfigError("residuals must not be empty")
        for at, term in enumerate(self.terms):
            if term.form == "product" and not all(0 <= factor < at for factor in term.factors):
                raise ConfigError(f"the factors of a product must be earlier terms, got {term.factors} at {at}")

    def at(self, rows: Sequence[dict[str, Any]]) -> np.ndarray:
        """The trend of rows on the line of the target: (N,) float64."""
        weights = np.array([term.weight for term in self.terms])
        return self.intercept + Columns(rows, self.schema).features(self.terms) @ weights

    def knows(self, rows: Sequence[dict[str, Any]]) -> bool:
        """Whether any row has a field of the training rows.

        Example:
            >>> rows = [{"x": at} for at in range(50)]
            >>> trend, _ = fit_trend(rows, np.arange(50.0))
            >>> trend.knows([{}, {"x": None}]), trend.knows([{"X": 3}])
            (True, False)
        """
        return any(field_of(place) in self.schema.fields for row in rows for place, _ in places(row))

    def residual_quantiles(self, p: Sequence[float]) -> np.ndarray:
        """Quantiles of the residual of a new row: (Q,) float64.

        They are those of leave-one-out residuals, with the correction for a finite sample. Beyond the outermost
        residuals, tails are those of a normal distribution.
        """
        shares, outermost = np.asarray(p, dtype=np.float64), 1 / (len(self.residuals) + 1)
        inner = np.quantile(self.residuals, np.clip(shares, outermost, 1 - outermost), method="weibull")
        middle, normal = np.median(self.residuals), NormalDist()
        edge = normal.inv_cdf(1 - outermost)
        beyond = [max(1.0, abs(normal.inv_cdf(min(max(float(share), 1e-15), 1 - 1e-15))) / edge) for share in shares]
        return middle + np.array(beyond) * (inner - middle)

    def mixed(self, p: Sequence[float], network: np.ndarray) -> np.ndarray:
        """Quantiles of the residual, averaged of those of all rows and the network's for each row: (N, Q)."""
        return (1 - self.network_share) * self.residual_quantiles(p) + self.network_share * network


def fit_trend(rows: Sequence[dict[str, Any]], targets: np.ndarray) -> tuple[Trend, np.ndarray] | None:
    """The trend of rows and its leave-one-out residuals (N,); None if a constant explains the targets as well."""
    if len(rows) < FEWEST_ROWS:
        return None
    if len(rows) > MOST_ROWS:
        chosen = np.sort(np.random.default_rng(0).choice(len(rows), MOST_ROWS, replace=False))
        fitted = fit_trend([rows[at] for at in chosen], targets[chosen])
        if fitted is None:
            return None
        trend, own = fitted
        residuals = trend.target.line(trend.target.seen(targets)) - trend.at(rows)
        residuals[chosen] = own
        return trend, residuals
    found = _chosen_trend(rows, targets)
    if found is None or len(rows) >= ENOUGH_ROWS:
        return found
    trend, residuals = found[0], _without_choice(*found, rows, targets)
    return dataclasses.replace(trend, residuals=_table(residuals)), residuals


def _chosen_trend(rows: Sequence[dict[str, Any]], targets: np.ndarray) -> tuple[Trend, np.ndarray] | None:
    """The most likely trend, and its leave-one-out residuals."""
    if targets.min() == targets.max():
        return None
    try:
        schema = dataclasses.replace(learn(rows, needs_numbers=False), words=())
    except FieldError:
        return None  # no fields, or too many
    columns = Columns(rows, schema)
    scales = [TargetScale.standardising(targets), TargetScale.of(targets)]
    scales = scales[: 1 + scales[1].logarithmic]
    choices = [(), *dict.fromkeys(terms for terms in map(columns.terms, _FORMS) if terms)]
    designs = [_Design.of(terms, columns.features(terms)) for terms in choices]
    # Constants first: a trend must be better than the better one of them.
    found = [_fitted(designs[0], scale, targets) for scale in scales]
    found += [_fitted(design, scale, targets) for scale in scales for design in designs[1:]]
    best = functools.reduce(lambda one, other: other if _is_better(other, one) else one, found)
    if not best.terms:
        return None
    weighted = zip(best.terms, best.weights.tolist(), strict=True)
    terms = tuple(dataclasses.replace(term, weight=weight) for term, weight in weighted)
    table = _table(best.residuals)
    trend = Trend(schema=schema, terms=terms, target=best.scale, intercept=best.intercept, residuals=table)
    return trend, best.residuals


def _without_choice(
    trend: Trend, residuals: np.ndarray, rows: Sequence[dict[str, Any]], targets: np.ndarray
) -> np.ndarray:
    """Residuals (N,) of trends that were chosen, not only fitted, without the row.

    In few rows, the form and penalty with the least error owe it to chance in part, and intervals are too narrow.
    """
    line, found = trend.target.line(trend.target.seen(targets)), residuals.copy()
    for at, row in enumerate(rows):
        fitted = _chosen_trend([*rows[:at], *rows[at + 1 :]], np.delete(targets, at))
        if fitted is None:
            found[at] = line[at] - np.median(np.delete(line, at))
            continue
        expected = trend.target.seen(fitted[0].target.number(fitted[0].at([row])))
        found[at] = line[at] - trend.target.line(expected)[0]
    return np.where(np.isfinite(found), found, residuals)


def network_share(truth: np.ndarray, network: np.ndarray, trend: np.ndarray, p: Sequence[float]) -> float:
    """How far a network's quantiles should count beside those of the trend, from 0 to 1.

    The share with the least pinball loss on held-out rows; 0 if the gain is less than two standard errors, because a
    network that has learnt nothing only adds noise.

    Args:
        truth: (N,) residuals of held-out rows.
        network: (N, Q) quantiles of the network.
        trend: (Q,) quantiles of the residuals of all rows.
        p: (Q,) probabilities.

    Example:
        >>> truth = np.random.default_rng(0).normal(size=50)
        >>> [network_share(truth, sign * truth[:, None], np.zeros(1), (0.5,)) for sign in (1, -1)]
        [1.0, 0.0]
    """
    if len(truth) < 2:
        return 0.0

    def losses(share: float) -> np.ndarray:
        apart = truth[:, None] - ((1 - share) * trend + share * network)
        return np.maximum(np.asarray(p) * apart, (np.asarray(p) - 1) * apart).mean(axis=1)

    alone = losses(0.0)
    gains = {share: alone - losses(share) for share in SHARES}
    best = max(SHARES, key=lambda share: gains[share].mean())
    error = gains[best].std(ddof=1) / np.sqrt(len(truth))
    return best if gains[best].mean() > 2 * error else 0.0


class _Design(NamedTuple):
    """Features of the rows with their singular value decomposition, which is shared by all targets and penalties."""

    terms: tuple[Term, ...]
    means: np.ndarray
    left: np.ndarray
    sizes: np.ndarray
    right: np.ndarray

    @classmethod
    def of(cls, terms: tuple[Term, ...], features: np.ndarray) -> _Design:
        means = features.mean(axis=0)
        left, sizes, right = np.linalg.svd(features - means, full_matrices=False)
        reached = sizes > _UNREACHED * sizes.max(initial=0.0)
        return cls(terms, means, left[:, reached], sizes[reached], right[reached])


class _Fitted(NamedTuple):
    """A trend to choose: terms (none for a constant), and leave-one-out residuals and likelihoods (N,)."""

    scale: TargetScale
    terms: tuple[Term, ...]
    weights: np.ndarray
    intercept: float
    residuals: np.ndarray
    likelihoods: np.ndarray


def _is_better(one: _Fitted, other: _Fitted) -> bool:
    """Whether a less simple trend is more likely by more than chance, and by something that counts."""
    gains = one.likelihoods - other.likelihoods
    least = 0.0 if other.terms else max(LEAST_GAIN, LEAST_GAIN_OF_ROW * len(gains))
    return float(gains.sum()) > max(least, 2 * float(gains.std()) * len(gains) ** 0.5)


def _fitted(design: _Design, scale: TargetScale, targets: np.ndarray) -> _Fitted:
    """Ridge regression with the penalty of the least leave-one-out error."""
    _, means, left, sizes, right = design
    line = scale.line(scale.seen(targets))
    count, middle = len(line), float(line.mean())
    along, errors = left.T @ (line - middle), []
    # What no feature can reach, of the targets and of each row. Computed apart from the features' part: with as many
    # features as rows both parts of a residual are nearly 0, and the error is their ratio.
    beyond, free = line - middle - left @ along, 1 - 1 / count - (left**2).sum(axis=1)
    free = np.where(free < _ROUNDED, 0.0, free)
    for penalty in count * PENALTIES:
        left_over = penalty / (sizes**2 + penalty)
        errors.append((beyond + left @ (left_over * along)) / (free + left**2 @ left_over))
    best = min(range(len(errors)), key=lambda at: float(np.mean(errors[at] ** 2)))
    residuals, weights = errors[best], right.T @ (sizes / (sizes**2 + count * PENALTIES[best]) * along)
    variance = max(float(np.mean(residuals**2)), 1e-24)
    likelihoods = _log_slope(scale, targets) - (np.log(variance) + residuals**2 / variance) / 2
    return _Fitted(scale, design.terms, weights, middle - float(means @ weights), residuals, likelihoods)


def _log_slope(scale: TargetScale, targets: np.ndarray) -> np.ndarray:
    """The logarithm of the line's slope at each target, which makes likelihoods on two lines comparable."""
    if not scale.logarithmic:
        return np.full(len(targets), -np.log(scale.spread))
    return -np.log(np.hypot(targets, scale.unit))


def _table(residuals: np.ndarray) -> tuple[float, ...]:
    """Residuals as they are saved: sorted, at most `MOST_RESIDUALS`, without an insignificant shift of their median."""
    spread, middle = float(residuals.std()), float(np.median(residuals))
    error = 1.2533 * spread / np.sqrt(len(residuals))  # of the median of normal residuals
    kept = max(0.0, 1 - (error / middle) ** 2) if middle else 0.0
    ordered = np.sort(residuals) - (1 - kept) * middle
    if len(ordered) > MOST_RESIDUALS:
        ordered = np.quantile(ordered, np.arange(1, MOST_RESIDUALS + 1) / (MOST_RESIDUALS + 1), method="weibull")
    return tuple(ordered.tolist())
