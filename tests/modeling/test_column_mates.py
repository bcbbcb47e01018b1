"""What the other cells of a column say of a number: a density over sizes, signs and decimals, without itself."""

from __future__ import annotations

import numpy as np
import pytest

from numerate.modeling.column_mates import ColumnMates


def whole(*values: float) -> ColumnMates:
    return ColumnMates(np.array(values), np.zeros(len(values), dtype=int))


def test_it_is_a_density_over_sizes_and_signs() -> None:
    mates = whole(36_000.0, 52_000.0, -41_000.0, 44_000.0)
    logs = np.linspace(-20, 40, 60_001)
    values = np.concatenate([np.exp(logs), -np.exp(logs)])
    density = np.exp(mates.log_density(values, np.zeros(len(values), dtype=int)))
    # Four of four mates are whole numbers, of at least two more that are imagined.
    written = (4 + 0.5) / (4 + 1.5)
    assert density.sum() * (logs[1] - logs[0]) == pytest.approx(written, rel=1e-3)


def test_sizes_signs_and_decimals_of_the_mates_are_usual() -> None:
    mates = whole(36_000.0, 52_000.0, 41_000.0)
    usual, small, negative, broken = mates.log_density(
        np.array([48_000.0, 48.0, -48_000.0, 48_000.5]), np.array([0, 0, 0, 1])
    )
    assert usual > small + 3 and usual > negative + 1.5 and usual > broken + 1.5
    # The narrower the column, the more it says.
    years = whole(1996.0, 1998.0, 2001.0, 2003.0)
    right, exchanged = years.log_density(np.array([1999.0, 9199.0]), np.array([0, 0]))
    assert right > 2 and right > exchanged + 6


def test_a_number_does_not_vouch_for_itself() -> None:
    values, steps = np.array([10.0, 0.0, np.nan, 12.0, 11.5, 9.0]), np.array([1.0, 1.0, 1.0, 1.0, 0.1, 1.0])
    mates = ColumnMates.of(values, steps, 0)
    assert mates is not None
    assert sorted(mates.values.tolist()) == [9.0, 11.5, 12.0]
    assert dict(zip(mates.values.tolist(), mates.decimals.tolist(), strict=True)) == {12.0: 0, 11.5: 1, 9.0: 0}
    assert ColumnMates.of(values[:5], steps[:5], 0) is None


def test_numbers_between_the_ends_of_an_even_column_are_usual() -> None:
    rng = np.random.default_rng(0)
    even = ColumnMates(np.round(rng.uniform(0, 1, 60), 3), np.full(60, 3))
    assert even.is_inside(0.005) and even.is_inside(0.999)
    assert not even.is_inside(5.0) and not even.is_inside(-0.5)
    # Twenty cells at least; and sizes of a lognormal column are compared by ratios.
    assert not ColumnMates(even.values[:19], even.decimals[:19]).is_inside(0.005)
    assert not ColumnMates(rng.lognormal(0, 2, 60), np.zeros(60, dtype=int)).is_inside(0.005)
