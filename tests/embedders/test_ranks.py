"""`ranks`: weighted ranks against a direct count, the thermometer code, and data that are hard to rank."""

from __future__ import annotations

import math

import pytest
import torch

from numerate.config import ConfigError
from numerate.embedders.ranks import RanksEmbedder

from .examples import table

DATA = [-3.0, 0.0, 1.0, 1.0, 1.0, 1.0, 2000.0, 2001.0, 2001.0, 5e6]


def fitted(dim: int = 4, values: list[float] = DATA, **options: float) -> RanksEmbedder:
    embedder = RanksEmbedder.build(dim=dim, **options)
    embedder.fit(torch.tensor(values, dtype=torch.float64))
    return embedder


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_ranks_are_weighted_and_linear_between_numbers(power: float) -> None:
    different = sorted(set(DATA))
    weights = [DATA.count(one) ** power for one in different]
    middles = [sum(weights[:k]) + weights[k] / 2 for k in range(len(weights))]
    expected = [(middle - middles[0]) / (middles[-1] - middles[0]) for middle in middles]
    embedder = fitted(power=power)
    assert embedder.ranks(table(different)).tolist() == pytest.approx(expected)
    between = embedder.ranks(table([1000.5, -1.5])).tolist()
    assert between == pytest.approx([(expected[2] + expected[3]) / 2, (expected[0] + expected[1]) / 2])
    outside = [-math.inf, -4.0, 5e6 + 1, math.inf]
    assert embedder.ranks(table(outside)).tolist() == [0, 0, 1, 1]
    zeros = embedder.ranks(table([0.0, -0.0, math.nan]))
    assert (zeros == zeros[0]).all()


def test_vectors_are_a_thermometer() -> None:
    embedder = fitted(dim=5, gain=2.0)
    values = [-3.0, -0.5, 0.0, 0.7, 1.0, 17.0, 2000.0, 2000.25, 1e4, 5e6]
    vectors, ranks = embedder(table(values)), embedder.ranks(table(values))
    assert (vectors.diff(dim=0) >= 0).all() and vectors.abs().max() <= 2
    torch.testing.assert_close((vectors.double().sum(1) / 2 + 5) / 10, ranks)
    assert ((vectors.abs() < 2).sum(1) <= 1).all(), "one coordinate is between its ends"


def test_few_knots_are_spread_evenly() -> None:
    values = torch.arange(1001, dtype=torch.float64).tolist()
    embedder = fitted(values=values, knots=11)
    assert embedder.ranks(table([0.0, 250.0, 505.0, 1000.0])).tolist() == pytest.approx([0, 0.25, 0.505, 1])


def test_constant_data_keep_the_ranks() -> None:
    fresh = RanksEmbedder.build(dim=4)(table())
    for values in ([], [7.0] * 9, [math.nan, math.inf, 7.0]):
        torch.testing.assert_close(fitted(values=values)(table()), fresh)


def test_options() -> None:
    for options, message in (
        ({"knots": 1}, "knots must be at least 2, got 1"),
        ({"power": 1.5}, "power must lie in 0 to 1, got 1.5"),
        ({"gain": 0.0}, "gain must be positive, got 0.0"),
    ):
        with pytest.raises(ConfigError, match=message):
            RanksEmbedder.build(dim=4, **options)
