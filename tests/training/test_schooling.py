"""An embedder that was at school tells sizes apart; one that was not does not."""

from __future__ import annotations

import math

import pytest
import torch

from numerate.batch import NumberTable
from numerate.registry import embedders
from numerate.training.schooling import lessons, made_up_numbers, school

NUMBERS = NumberTable.of_values([1.0, 25.0, 300.5, 0.04, -7.0, 12_345.0])


def spelling(seed: int = 0) -> torch.nn.Module:
    torch.manual_seed(seed)
    return embedders["char-lstm"].build(dim=16, size="0.1M")


def test_lessons_are_worked_by_hand() -> None:
    asked = lessons(torch.tensor([1000.0, -0.01, 0.0], dtype=torch.float64))
    for row, (size, sign) in zip(asked, [(3.0, 1.0), (-2.0, -1.0), (-7.0, 0.0)], strict=True):
        waves = [f(2 * math.pi * size / period) for period in (16, 8, 4, 2, 1) for f in (math.sin, math.cos)]
        torch.testing.assert_close(row, torch.tensor([size / 4, sign, *waves]), atol=1e-4, rtol=0)


def test_made_up_numbers_are_written_as_they_are_worth() -> None:
    values = made_up_numbers(400, seed=3).values()
    assert values.isfinite().all() and (values < 0).any() and (values.abs() > 1e5).any() and (values.abs() < 0.1).any()
    assert not torch.equal(values, made_up_numbers(400, seed=4).values())


def test_schooling_teaches_sizes() -> None:
    """A linear map fitted to the vectors of some numbers finds the size of others."""
    seen, unseen = made_up_numbers(600, seed=1000), made_up_numbers(200, seed=1001)

    def error(embedder: torch.nn.Module) -> float:
        with torch.no_grad():
            known, asked = (torch.cat([embedder(t), torch.ones(len(t), 1)], 1).double() for t in (seen, unseen))
        sizes = [(table.values().abs() + 1e-7).log10() for table in (seen, unseen)]
        found = asked @ torch.linalg.lstsq(known, sizes[0][:, None]).solution
        return float((found[:, 0] - sizes[1]).abs().mean())

    pupil = spelling()
    before = error(pupil)
    school(pupil, NUMBERS, steps=60, rate=1e-2)
    assert error(pupil) < 0.8 * before


def test_schooling_is_repeatable_and_draws_nothing_from_others() -> None:
    pupils = [spelling(), spelling()]
    draws = []
    for pupil in pupils:
        torch.manual_seed(5)
        school(pupil, NUMBERS, steps=2)
        draws.append(torch.rand(3))
    assert all(torch.equal(a, b) for a, b in zip(pupils[0].parameters(), pupils[1].parameters(), strict=True))
    torch.manual_seed(5)
    assert torch.equal(draws[0], torch.rand(3)) and torch.equal(draws[0], draws[1])


def test_what_cannot_be_taught_is_refused() -> None:
    with pytest.raises(ValueError, match="schooling needs steps and numbers, however: steps=5, 0 numbers"):
        school(spelling(), NumberTable.of_values([math.inf]), steps=5)
    fixed = embedders["char-lstm"].build(dim=4, size="0.1M").requires_grad_(False)
    with pytest.raises(ValueError, match="char-lstm has no weights to teach"):
        school(fixed, NUMBERS)
