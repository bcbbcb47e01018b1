"""Components of `mixture` for ratios to other numbers of the text: explicit, absent, and learnt."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
import torch

from numerate.heads.mixture import MixtureDistribution, MixtureHead, signed_log
from numerate.heads.pointer import PointerContext

from .examples import DIM, f64, states, table, unwritten_table

if TYPE_CHECKING:
    from numerate.processing.number_table import NumberTable


def context(values: torch.Tensor, visible: torch.Tensor, states: torch.Tensor | None = None) -> PointerContext:
    """One predicted number for each text, its last one."""
    states = torch.zeros(*values.shape, DIM) if states is None else states
    rows = torch.arange(len(values))
    last = torch.full_like(rows, values.shape[1] - 1)
    return PointerContext(unwritten_table(values), states, states, rows, last, visible)


def test_each_visible_number_has_a_component() -> None:
    torch.manual_seed(0)
    head = MixtureHead.build(dim=DIM, components=3, ratios=True)
    assert head.looks_back and not MixtureHead.build(dim=DIM).looks_back
    assert head.ratios is not None
    with torch.no_grad():  # every pair has the ratio 1.6 with high certainty and relevance
        head.ratios.says[1].weight.zero_()
        head.ratios.says[1].bias.copy_(torch.tensor([5 * math.log(1.6), -40.0, 60.0]))
    visible = torch.tensor([[True, True, False], [True, False, False]])
    earlier = context(f64([[17.0, 400.0, 0.0], [-5.0, math.inf, 0.0]]), visible)
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
    # All estimates are finite, although some components have weight 0.
    for figure in (found.mean(), found.mode(), found.cdf(torch.tensor([1.0, 2.0]).double()), found.sample(3)):
        assert bool(figure.isfinite().all())
    assert found.mode()[1].item() == pytest.approx(-8.0, rel=1e-3)


def test_without_visible_numbers_it_is_a_plain_mixture() -> None:
    torch.manual_seed(0)
    head, hidden, gold = MixtureHead.build(dim=DIM, ratios=True), states(2), table([3.0, -1e6])
    alone = head.loss(hidden, gold)
    none = context(f64([[1.0, 2.0], [3.0, 4.0]]), torch.zeros(2, 2, dtype=torch.bool))
    torch.testing.assert_close(head.loss(hidden, gold, none), alone)
    for earlier in (None, none):
        head.zero_grad()
        head.loss(hidden, gold, earlier).sum().backward()
        assert all(weight.grad is not None and bool(weight.grad.isfinite().all()) for weight in head.parameters())


def test_learns_ratios_of_units() -> None:
    """Of two visible numbers, one is the target in another unit, which its state encodes; the other is random."""
    torch.manual_seed(0)
    head = MixtureHead.build(dim=DIM, components=4, ratios=True)
    kinds, optimizer = torch.randn(3, DIM), torch.optim.Adam(head.parameters(), lr=4e-3)
    factors = torch.tensor([1.609, 0.3048])

    def drawn(count: int) -> tuple[torch.Tensor, NumberTable, PointerContext]:
        unit, place = torch.randint(2, (count,)), torch.randint(2, (count,))
        values = torch.exp(6 * torch.rand(count, 3)).double()
        read = kinds[2].expand(count, 3, DIM).clone()
        read[torch.arange(count), place] = kinds[unit]
        gold = values[torch.arange(count), place] * factors[unit]
        earlier = context(values, torch.tensor([[True, True, False]]).expand(count, 3), read)
        return torch.randn(count, DIM), unwritten_table(gold), earlier

    for _ in range(250):
        optimizer.zero_grad()
        hidden, gold, earlier = drawn(64)
        head.loss(hidden, gold, earlier).mean().backward()
        optimizer.step()
    hidden, gold, earlier = drawn(300)
    error = (head(hidden, earlier).median() / gold.values()).log().abs()
    assert float(error.median()) < 0.05
    alone = (head(hidden).median() / gold.values()).abs().log().abs()
    assert float(alone.median()) > 0.5  # without the context
