"""Remainders and the way back, against Python's own whole numbers."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from numerate.embedders.residue_codes import from_residues, moduli_for, residues_of


@pytest.mark.parametrize("digits", range(1, 16))
def test_moduli_tell_all_numbers_apart(digits: int) -> None:
    moduli = moduli_for(digits)
    assert all(math.gcd(a, b) == 1 for a, b in itertools.combinations(moduli, 2))
    assert 2 * 10**digits < math.prod(moduli) < 2**53


@pytest.mark.parametrize("digits", [0, 16])
def test_digits_that_no_float_holds(digits: int) -> None:
    with pytest.raises(ValueError, match=f"digits={digits}"):
        moduli_for(digits)


@given(st.lists(st.integers(-(10**15) + 1, 10**15 - 1), max_size=8))
def test_there_and_back(numbers: list[int]) -> None:
    moduli = moduli_for(15)
    units = torch.tensor(numbers, dtype=torch.int64)
    residues = residues_of(units, moduli)
    assert residues.tolist() == [[number % modulus for modulus in moduli] for number in numbers]
    assert from_residues(residues, moduli).tolist() == numbers


@given(st.integers(-99_999, 99_999), st.integers(-99_999, 99_999))
def test_sums_and_products_are_local(one: int, other: int) -> None:
    moduli = moduli_for(10)
    a, b = (residues_of(torch.tensor([number]), moduli) for number in (one, other))
    by = torch.tensor(moduli)
    for joined, worth in (((a + b) % by, one + other), ((a - b) % by, one - other), ((a * b) % by, one * other)):
        assert from_residues(joined, moduli).tolist() == [worth]
