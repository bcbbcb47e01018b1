"""`residues`: against all numbers that few moduli tell apart, one by one."""

from __future__ import annotations

import math

import pytest
import torch

from numerate.heads.residues import ResiduesDistribution, ResiduesHead

from .examples import f64, fresh, states, table


def small(candidates: int) -> ResiduesDistribution:
    head = fresh("residues", integer_digits=1, fraction_digits=1, candidates=candidates)
    distribution = head(states(3))
    assert isinstance(distribution, ResiduesDistribution)
    assert distribution.moduli == (5, 7, 8)
    return distribution


def enumerated(distribution: ResiduesDistribution, row: int) -> dict[float, float]:
    """Each value's probability, by going through all whole numbers of tenths."""
    log_five, log_seven, log_eight = distribution.log_residues[row].split((5, 7, 8))
    masses = {}
    for tenths in range(-139, 141):
        log_mass = log_five[tenths % 5] + log_seven[tenths % 7] + log_eight[tenths % 8]
        masses[tenths / 10] = math.exp(log_mass.item())
    assert math.fsum(masses.values()) == pytest.approx(1.0)
    return masses


def test_all_numbers_enumerated() -> None:
    distribution = small(candidates=280)
    for row in range(3):
        masses = enumerated(distribution, row)
        one, values = distribution[row], sorted(masses)
        assert one.unseen.item() == pytest.approx(0.0, abs=1e-12)
        assert one.support().values[0].tolist() == pytest.approx(values)
        inside = [value for value in values if abs(value) < 10]
        assert one.scores(table(inside))[0].exp().tolist() == pytest.approx([masses[v] for v in inside])
        expected = [math.fsum(m for v, m in masses.items() if v <= value) for value in values]
        assert one.cdf(f64([values]))[0].tolist() == pytest.approx(expected)
        assert one.mean().item() == pytest.approx(math.fsum(v * m for v, m in masses.items()))
        assert one.mode().item() == max(values, key=masses.__getitem__)
        for whole in (3.0, -7.0, 0.0):
            near = math.fsum(m for v, m in masses.items() if abs(v - whole) <= 0.5)
            assert one.log_mass(table([whole])).exp().item() == pytest.approx(near)


def test_the_most_probable_are_found() -> None:
    distribution = small(candidates=17)
    for row in range(3):
        masses = enumerated(distribution, row)
        best = sorted(masses, key=masses.__getitem__)[-17:]
        support = distribution[row].support()
        assert support.values[0].tolist() == pytest.approx(sorted(best))
        assert support.unseen.item() == pytest.approx(1 - math.fsum(masses[v] for v in best))


def test_loss_is_the_mean_cross_entropy() -> None:
    head = ResiduesHead.build(dim=12, integer_digits=1, fraction_digits=1).double()
    hidden = states(2).double()
    scores = head.layers(hidden).split((5, 7, 8), dim=1)
    wanted = torch.tensor([[-32 % 5, -32 % 7, -32 % 8], [0, 0, 0]])
    terms = [torch.nn.functional.cross_entropy(one, wanted[:, k], reduction="none") for k, one in enumerate(scores)]
    torch.testing.assert_close(head.loss(hidden, table([-3.2, 0.04])), torch.stack(terms).mean(0))


def test_options_are_checked() -> None:
    with pytest.raises(ValueError, match="candidates=0"):
        ResiduesHead.build(dim=8, candidates=0)
    with pytest.raises(ValueError, match="digits=16"):
        ResiduesHead.build(dim=8, integer_digits=16, fraction_digits=0)
