"""What the run `records` learns from 2,000 records in minutes of one core; for results see docs/records.md."""

from __future__ import annotations

import numpy as np
import pytest

from numerate.records import RecordModel


def made_rows(draws: np.random.Generator, count: int) -> list[dict[str, float | None]]:
    """y = x, z = x², a constant, a column that is missing half of the time, and a heavy-tailed one."""
    x = draws.uniform(1, 10, count)
    m = 10 + 3 * np.sin(x) + 0.5 * draws.normal(size=count)
    h = np.exp(0.2 * x + 1.2 * draws.normal(size=count))
    missing = draws.random(count) < 0.5
    columns = zip(x.tolist(), m.tolist(), h.tolist(), missing.tolist(), strict=True)
    return [{"x": a, "y": a, "z": a * a, "c": 42.5, "m": None if no else b, "h": c} for a, b, c, no in columns]


@pytest.mark.slow
def test_identity_square_constant_missing_and_heavy_tail() -> None:
    draws = np.random.default_rng(1)
    model = RecordModel.fit(made_rows(draws, 2000), seed=1)
    new = made_rows(draws, 3000)
    for field in "xyzmh":
        having = [row for row in new if row[field] is not None]
        truth = np.array([row[field] for row in having])
        low, median, high = model.predict(having, field).T
        off = np.abs(median - truth) / np.abs(truth)
        covered = np.mean((low <= truth) & (truth <= high))
        errors = f"median error {np.median(off):.4%}, 95 of 100 below {np.quantile(off, 0.95):.2%}"
        print(f"{field}: {errors}, {covered:.1%} inside")
        assert 0.85 <= covered <= 0.95, field
        if field in "xyz":
            assert np.quantile(off, 0.95) <= 0.01, field
    assert model.predict(new[:3], "c").tolist() == [[42.5] * 3] * 3
