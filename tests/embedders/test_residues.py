"""Residue number system: remainders and their inverse against Python's integers, and the embedder."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from numerate.config import ConfigError
from numerate.embedders.residues import ResiduesEmbedder, from_residues, moduli_for, residues_of

from .examples import table


def test_moduli_distinguish_all_numbers() -> None:
    for digits in range(1, 16):
        moduli = moduli_for(digits)
        assert all(math.gcd(a, b) == 1 for a, b in itertools.combinations(moduli, 2))
        assert 2 * 10**digits < math.prod(moduli) < 2**53
    for digits in (0, 16):
        with pytest.raises(ConfigError, match=f"digits={digits}"):
            moduli_for(digits)


@given(st.lists(st.integers(-(10**15) + 1, 10**15 - 1), max_size=8))
def test_round_trip(numbers: list[int]) -> None:
    moduli = moduli_for(15)
    units = torch.tensor(numbers, dtype=torch.int64)
    residues = residues_of(units, moduli)
    assert residues.tolist() == [[number % modulus for modulus in moduli] for number in numbers]
    assert from_residues(residues, moduli).tolist() == numbers


@given(st.integers(-99_999, 99_999), st.integers(-99_999, 99_999))
def test_sums_and_products_need_no_carries(one: int, other: int) -> None:
    moduli = moduli_for(10)
    a, b = (residues_of(torch.tensor([number]), moduli) for number in (one, other))
    by = torch.tensor(moduli)
    for joined, expected in (((a + b) % by, one + other), ((a - b) % by, one - other), ((a * b) % by, one * other)):
        assert from_residues(joined, moduli).tolist() == [expected]


def test_features_are_one_hot_remainders_and_flags() -> None:
    embedder = ResiduesEmbedder.build(dim=6, integer_digits=2, fraction_digits=1)
    assert embedder.moduli == (5, 7, 8, 9)
    features = embedder.features(table([12.34, -0.1, 1e9, math.nan, -math.inf]))
    starts, highest = (0, 5, 12, 20), 999

    def places(units: int) -> list[int]:
        return [start + units % modulus for start, modulus in zip(starts, embedder.moduli, strict=True)]

    shown = [row.nonzero()[:, 0].tolist() for row in features]
    assert shown == [places(123), places(-1), [*places(highest), 29], [30], [*places(-highest), 29]]


def test_vectors_are_sums_of_weight_columns() -> None:
    embedder = ResiduesEmbedder.build(dim=6, integer_digits=2, fraction_digits=0)
    weights, bias = embedder.project.weight, embedder.project.bias
    expected = weights[:, 3] + weights[:, 5 + 0] + weights[:, 12 + 1] + bias
    torch.testing.assert_close(embedder(table([-7.0]))[0], expected)
    with pytest.raises(ConfigError, match="integer_digits=10, fraction_digits=6"):
        ResiduesEmbedder.build(dim=6, integer_digits=10, fraction_digits=6)
