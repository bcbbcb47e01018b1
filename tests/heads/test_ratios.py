"""Ratios to other numbers of the text: by hand, learnt, and where there are none."""

from __future__ import annotations

import math

import pytest
import torch

from numerate.heads.mixture import MixtureDistribution, MixtureHead, signed_log
from numerate.heads.pointer import PointerContext
from numerate.processing.number_table import NumberTable

from .examples import DIM, states, table


def context(values: list[list[float]], seen: list[list[bool]], told: torch.Tensor | None = None) -> PointerContext:
    """One predicted number a text, which is its last."""
    numbers = NumberTable.of_values([value for row in values for value in row])
    shape = (len(values), len(values[0]))
    index = torch.arange(shape[0] * shape[1]).reshape(shape)
    told = torch.zeros(*shape, DIM) if told is None else told
    rows = torch.arange(len(values))
    return PointerContext(numbers[index], told, told, rows, torch.full_like(rows, shape[1] - 1), torch.tensor(seen))


def test_each_other_number_has_a_component_of_its_own() -> None:
    torch.manual_seed(0)
    head = MixtureHead.build(dim=DIM, components=3, ratios=True)
    assert head.looks_back and not MixtureHead.build(dim=DIM).looks_back
    assert head.ratios is not None
    with torch.no_grad():  # what is said of any pair: 1.6 times the other, sure, and to the point
        head.ratios.says[1].weight.zero_()
        head.ratios.says[1].bias.copy_(torch.tensor([5 * math.log(1.6), -40.0, 60.0]))
    earlier = context([[17.0, 400.0, 0.0], [-5.0, math.inf, 0.0]], [[True, True, False], [True, False, False]])
    found = head(states(2), earlier)
    assert isinstance(found, MixtureDistribution)
    assert found.means.shape == (2, 3 + 1 + 3)
    torch.testing.assert_close(
        found.means[0, 4:6], signed_log(torch.tensor([17.0, 400.0]).double(), 1e-3) + math.log(1.6)
    )
    weights = found.log_weights.exp()
    assert weights[0, 4:].tolist() == pytest.approx([0.5, 0.5, 0.0], abs=1e-6)
    assert weights[1, 4:].tolist() == pytest.approx([1.0, 0.0, 0.0], abs=1e-6)
    assert found.median()[1].item() == pytest.approx(-8.0, rel=1e-3)
    # Every figure of the distribution is finite, although some components have no weight at all.
    for figure in (found.mean(), found.mode(), found.cdf(torch.tensor([1.0, 2.0]).double()), found.sample(3)):
        assert bool(figure.isfinite().all())
    assert found.mode()[1].item() == pytest.approx(-8.0, rel=1e-3)


def test_without_other_numbers_it_is_the_mixture_that_it_was() -> None:
    torch.manual_seed(0)
    head, hidden, gold = MixtureHead.build(dim=DIM, ratios=True), states(2), table([3.0, -1e6])
    alone = head.loss(hidden, gold)
    none = context([[1.0, 2.0], [3.0, 4.0]], [[False, False], [False, False]])
    torch.testing.assert_close(head.loss(hidden, gold, none), alone)
    for earlier in (None, none):
        head.zero_grad()
        head.loss(hidden, gold, earlier).sum().backward()
        assert all(weight.grad is not None and bool(weight.grad.isfinite().all()) for weight in head.parameters())


def test_ratios_are_learnt_by_unit() -> None:
    """Of two other numbers, one is the same in another unit, by a ratio that its state tells, and one is anything."""
    torch.manual_seed(0)
    head = MixtureHead.build(dim=DIM, components=4, ratios=True)
    kinds, optimizer = torch.randn(3, DIM), torch.optim.Adam(head.parameters(), lr=3e-3)
    factors = torch.tensor([1.609, 0.3048])

    def drawn(count: int) -> tuple[torch.Tensor, NumberTable, PointerContext]:
        unit, place = torch.randint(2, (count,)), torch.randint(2, (count,))
        values = torch.exp(6 * torch.rand(count, 3)).double()
        told = kinds[2].expand(count, 3, DIM).clone()
        told[torch.arange(count), place] = kinds[unit]
        gold = values[torch.arange(count), place] * factors[unit]
        seen = torch.tensor([[True, True, False]]).expand(count, 3)
        earlier = context(values.tolist(), seen.tolist(), told)
        return torch.randn(count, DIM), NumberTable.of_values(gold.tolist()), earlier

    for _ in range(350):
        optimizer.zero_grad()
        hidden, gold, earlier = drawn(64)
        head.loss(hidden, gold, earlier).mean().backward()
        optimizer.step()
    hidden, gold, earlier = drawn(300)
    off = (head(hidden, earlier).median() / gold.values()).log().abs()
    assert float(off.median()) < 0.05
    alone = (head(hidden).median() / gold.values()).abs().log().abs()
    assert float(alone.median()) > 0.5  # who does not look at them
