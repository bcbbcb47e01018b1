"""Tails of samples: false alarms as asked for, whatever the shape of the distribution."""

from __future__ import annotations

import numpy as np
import pytest

from numerate.apps.tails import Tails

SHAPES = {
    "normal": lambda rng, n: rng.normal(50, 10, n),
    "lognormal": lambda rng, n: np.exp(rng.normal(3, 1, n)),
    "exponential": lambda rng, n: rng.exponential(5, n),
    "uniform": lambda rng, n: rng.uniform(0, 100, n),
    "heavy": lambda rng, n: rng.standard_t(3, n),
    "two humps": lambda rng, n: np.where(rng.random(n) < 0.5, rng.normal(0, 1, n), rng.normal(10, 2, n)),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_false_alarms_are_as_asked_for(shape: str) -> None:
    rng = np.random.default_rng(3)
    shares = {0.05: [], 0.01: []}
    for _ in range(12):
        values = SHAPES[shape](rng, 2_000)
        new = SHAPES[shape](rng, 2_000)  # numbers that the fit has not seen
        odds = Tails.fit(values).probability(new)
        for rate, found in shares.items():
            found.append((odds < rate).mean())
    assert 0.04 <= np.mean(shares[0.05]) <= 0.06
    assert 0.003 <= np.mean(shares[0.01]) <= 0.016


@pytest.mark.parametrize("count", [20, 22, 25, 30])
def test_short_columns_have_few_false_alarms(count: int) -> None:
    """Of 20 right values, 2 to 8 % were once in a thousand, as their outermost two cannot tell a scale."""
    rng = np.random.default_rng(5)
    for name, shape in SHAPES.items():
        odds = [Tails.fit(values).probability(values) for values in (shape(rng, count) for _ in range(200))]
        assert np.mean(np.concatenate(odds) < 1e-3) < (0.013 if name == "heavy" else 0.005), name
    tenfold = rng.normal(50, 5, count)
    tenfold[3] = 500
    assert Tails.fit(tenfold).probability(tenfold)[3] < 1e-3
