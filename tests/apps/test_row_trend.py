"""The trend of table rows: closed form, honest residuals, and only where there is a relation."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from numerate.apps.regression import row_features, row_trend
from numerate.apps.regression.row_trend import Trend, fit_trend
from numerate.apps.regression.rows import row_text, table_rows
from numerate.config import ConfigError
from numerate.errors import NumerateError

DRAWS = np.random.default_rng(0)
X = DRAWS.normal(size=(200, 3))
NOISE = DRAWS.normal(size=200)
ROWS = table_rows(X) or []


def trend_of(rows: Any, y: np.ndarray) -> Trend:
    found = fit_trend(rows, y)
    assert found is not None
    return found[0]


def forms(trend: Trend) -> set[str]:
    return {term.form for term in trend.terms}


def predicted(trend: Trend, rows: list[dict[str, Any]]) -> np.ndarray:
    return trend.target.number(trend.at(rows))


def test_residuals_are_those_of_fits_without_the_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_trend, "PENALTIES", np.array([1e-12]))
    rows, y = ROWS[:30], X[:30] @ np.array([3.0, -2, 0]) + NOISE[:30]
    found = fit_trend(rows, y)
    assert found is not None
    trend, residuals = found
    design = np.column_stack([np.ones(30), X[:30]])
    for left_out in range(30):
        kept = np.arange(30) != left_out
        weights = np.linalg.lstsq(design[kept], y[kept], rcond=None)[0]
        wrong = y[left_out] - design[left_out] @ weights
        assert residuals[left_out] * trend.target.spread == pytest.approx(wrong, rel=1e-6)


@pytest.mark.parametrize("columns", [24, 25, 60])
def test_residuals_of_more_columns_than_rows(columns: int) -> None:
    """With as many columns as rows every fit is exact: rounded residuals once looked like perfect predictions."""
    design, y = np.random.default_rng(1).normal(size=(25, columns)), np.arange(25.0) % 7
    scale = row_trend.TargetScale.standardising(y)
    parts = row_trend._Design.of((), design - design.mean(axis=0))
    found, line = row_trend._fitted(parts, scale, y), scale.line(scale.seen(y))
    penalty = min(25 * row_trend.PENALTIES, key=lambda each: np.mean(_left_out(design, line, each) ** 2))
    assert found.residuals == pytest.approx(_left_out(design, line, penalty), rel=1e-4, abs=1e-6)


def _left_out(design: np.ndarray, line: np.ndarray, penalty: float) -> np.ndarray:
    """The error of a ridge regression at each row that was fitted without it."""
    errors = []
    for row in range(len(line)):
        kept = np.arange(len(line)) != row
        apart, middle = design[kept] - design[kept].mean(axis=0), line[kept].mean()
        dual = np.linalg.solve(apart @ apart.T + penalty * np.eye(kept.sum()), line[kept] - middle)
        errors.append(line[row] - middle - (design[row] - design[kept].mean(axis=0)) @ (apart.T @ dual))
    return np.array(errors)


def test_intervals_from_few_rows_allow_for_the_choice_of_the_trend() -> None:
    inside = []
    for seed in range(24):
        draws = np.random.default_rng(seed)
        design = draws.normal(size=(212, 8))
        y = design[:, 0] + 2 * design[:, 1] + draws.normal(size=212)
        rows = table_rows(design) or []
        if (found := fit_trend(rows[:12], y[:12])) is not None:
            ends = found[0].at(rows[12:])[:, None] + found[0].residual_quantiles((0.05, 0.95))
            low, high = found[0].target.number(ends).T
            inside.append(np.mean((low <= y[12:]) & (y[12:] <= high)))
    assert len(inside) >= 15 and np.mean(inside) > 0.84  # 0.74 with residuals of the chosen trend alone


def test_columns_are_read_in_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"x": at, "town": "Kiel" if at % 2 else "Bonn"} for at in range(100)]
    schema, made, full = trend_of(rows, np.arange(100.0)).schema, [], np.full
    monkeypatch.setattr(
        row_features.np, "full", lambda *given, **options: made.append(given) or full(*given, **options)
    )
    row_features.Columns(rows, schema)
    assert len(made) == 2, "one column each, and not one for each cell"


def test_noise_in_many_columns_is_no_trend() -> None:
    draws = np.random.default_rng(3)
    assert fit_trend(table_rows(draws.normal(size=(40, 120))) or [], draws.normal(size=40)) is None


@pytest.mark.parametrize(
    ("y", "logarithmic", "chosen"),
    [
        (3 * X[:, 0] - X[:, 1] + 50 + NOISE, False, {"number"}),
        (np.exp(X[:, 0] - 0.5 * X[:, 1] + 0.1 * NOISE), True, {"number"}),
        (X[:, 0] * X[:, 1] + 0.1 * NOISE, False, {"number", "product"}),
    ],
    ids=["linear", "exponential", "product"],
)
def test_the_simplest_form_that_fits_is_chosen(y: np.ndarray, logarithmic: bool, chosen: set[str]) -> None:
    trend = trend_of(ROWS, y)
    assert (trend.target.logarithmic, forms(trend)) == (logarithmic, chosen)
    assert np.corrcoef(predicted(trend, ROWS), y)[0, 1] > 0.9


def test_a_power_law_is_linear_in_logarithms() -> None:
    sizes = np.exp(2 * X[:, :2])
    rows = [{"a": a, "b": b} for a, b in sizes.tolist()]
    trend = trend_of(rows, sizes[:, 0] ** 2 / sizes[:, 1])
    assert trend.target.logarithmic and "logarithm" in forms(trend)
    np.testing.assert_allclose(predicted(trend, [{"a": 30.0, "b": 4.0}]), 900 / 4, rtol=0.05)


def test_without_a_relation_there_is_no_trend() -> None:
    assert fit_trend(ROWS, NOISE) is None and fit_trend(ROWS, np.abs(NOISE)) is None
    assert fit_trend(ROWS[:9], X[:9, 0]) is None, "too few rows"
    assert fit_trend(ROWS, np.full(200, 7.0)) is None, "a constant"
    assert fit_trend([{"name": f"a{at % 7}"} for at in range(200)], NOISE) is None, "no numbers"


def test_squares_of_targets_may_overflow() -> None:
    rows, targets = [{"x": at % 2} for at in range(200)], np.resize([1e200, -1e200], 200)
    found = fit_trend(rows, targets)
    assert found is not None
    np.testing.assert_allclose(found[0].target.number(found[0].at(rows)), targets, rtol=1e-6)


def test_cells_of_every_kind() -> None:
    towns = np.array(["Bonn", "Kiel", "Ulm"])[np.arange(200) % 3]
    rows: list[dict[str, Any]] = [
        {"price": f"${1000 + 50 * at:,}", "at": {"town": town, "sizes": [at % 7, None if at % 20 == 0 else at % 11]}}
        for at, town in enumerate(towns.tolist())
    ]
    y = np.array([50.0 * at + 900 * (town == "Ulm") + 30 * (at % 7) for at, town in enumerate(towns)])
    trend = trend_of(rows, y)
    assert {term.place for term in trend.terms} == {"price", "at.town", "at.sizes[0]", "at.sizes[1]"}
    np.testing.assert_allclose(predicted(trend, rows), y, atol=20)
    row = rows[43]
    assert abs(predicted(trend, [row | {"new": 5}])[0] - y[43]) < 20, "an unknown key"
    # What is not known is like the mean row, and no worse.
    unseen = [row | {"at": {**row["at"], "town": town}} for town in ("Kiel", "Ulm", "Rom", None)]
    kiel, ulm, rome, none = predicted(trend, unseen)
    assert kiel < rome == none < ulm
    assert np.isfinite(predicted(trend, [{}, {"price": "sold", "at": 3}, row | {"price": 1e308}])).all()


def test_missing_values_count_if_they_mean_something() -> None:
    is_missing = DRAWS.random(200) < 0.3
    rows = [
        {"x": row["x0"], "asked": None if no else 5.0 + at % 3}
        for at, (row, no) in enumerate(zip(ROWS, is_missing, strict=True))
    ]
    assert "missing" in forms(trend_of(rows, X[:, 0] + 4 * is_missing + 0.1 * NOISE))
    assert "missing" not in forms(trend_of(rows, X[:, 0] + 0.1 * NOISE))


def test_quantiles_of_residuals_hold_what_they_say() -> None:
    inside = []
    for seed in range(40):
        draws = np.random.default_rng(seed)
        x, noise = draws.normal(size=(140, 3)), draws.standard_t(5, size=140)
        y, rows = x[:, 0] * 3 + noise, table_rows(x) or []
        trend = trend_of(rows[:40], y[:40])
        low, high = trend.residual_quantiles((0.05, 0.95))
        apart = y[40:] / 1.0 - trend.target.number(trend.at(rows[40:]))
        inside.append(np.mean((low * trend.target.spread <= apart) & (apart <= high * trend.target.spread)))
    assert 0.87 < np.mean(inside) < 0.94
    ends = trend.residual_quantiles((1e-9, 0.001, 0.05, 0.5, 0.95, 0.999, 1 - 1e-9))
    assert (np.diff(ends) > 0).all(), "tails go on beyond the outermost residual"


def test_of_many_rows_some_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    y = 3 * X[:, 0] + NOISE
    every = fit_trend(ROWS, y)
    monkeypatch.setattr(row_trend, "MOST_ROWS", 50)
    some = fit_trend(ROWS, y)
    assert every is not None and some is not None and len(some[0].residuals) == 50
    assert some[1].shape == (200,) and np.corrcoef(some[1], every[1])[0, 1] > 0.9
    monkeypatch.setattr(row_features, "MOST_TERMS", 1)
    assert len(trend_of(ROWS, y).terms) == 1


def test_saved_as_json() -> None:
    trend = trend_of(ROWS, X[:, 0] * X[:, 1] + 0.1 * NOISE)
    again = Trend.from_json(trend.to_json())
    assert (again.at(ROWS) == trend.at(ROWS)).all() and again == trend
    broken = json.loads(trend.to_json())
    broken["terms"][3]["factors"] = [0, 9]
    with pytest.raises(ConfigError, match=r"factors of a product must be earlier terms, got \(0, 9\) at 3"):
        Trend.from_dict(broken)
    with pytest.raises(ConfigError, match="network_share must be from 0 to 1, got 2"):
        Trend.from_dict(json.loads(trend.to_json()) | {"network_share": 2.0})


def test_what_rows_are() -> None:
    assert table_rows(["a", "b"]) is None and table_rows([]) is None and table_rows(np.array(["a"])) is None
    assert table_rows(np.array([["a"], ["b"]])) is None, "one column of strings has texts"
    with pytest.raises(NumerateError, match="rows must be dicts, got str at 1: 'b'"):
        table_rows([{"a": 1}, "b"])
    assert row_text({"a": float("nan"), "b": "", "c": 1 / 3, "d": 10**7}) == "c: 0.333333; d: 10000000"
