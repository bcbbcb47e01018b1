"""Draws for masks: several at once equal single ones."""

from __future__ import annotations

import pytest
import torch

from numerate.objectives.draws import Draws


@pytest.mark.parametrize("samples", [torch.tensor([5, -9, 2**40]), None])
def test_several_draws_equal_single_ones(samples: torch.Tensor | None) -> None:
    present = torch.rand(3, 7, generator=torch.Generator().manual_seed(0)) > 0.3
    torch.manual_seed(0)
    single = Draws(samples, present, seed=3, epoch=2)
    wanted = [single.tokens(), single.numbers(4), single.numbers(4), single.tokens()]
    torch.manual_seed(0)
    together = Draws(samples, present, seed=3, epoch=2)
    found = [*together.several(None, 4, 4), together.tokens()]
    assert all(torch.equal(one, other) for one, other in zip(found, wanted, strict=True))
    assert not torch.equal(wanted[1], wanted[2])


def test_compiled_draws_are_the_same() -> None:
    def drawn(samples: torch.Tensor, present: torch.Tensor) -> tuple[torch.Tensor, ...]:
        draws = Draws(samples, present, seed=3, epoch=torch.tensor(2))
        return (*draws.several(None, 5), draws.numbers(4))

    given = torch.arange(6) * 977, torch.ones(6, 9, dtype=torch.bool)
    for one, other in zip(drawn(*given), torch.compile(drawn)(*given), strict=True):
        assert torch.equal(one, other)
