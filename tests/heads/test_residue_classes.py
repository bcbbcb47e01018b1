"""`residues`: against enumeration of all numbers that a few moduli distinguish."""

from __future__ import annotations

import math

import pytest
import torch

from numerate.config import ConfigError
from numerate.heads.residue_classes import ResiduesDistribution, ResiduesHead

from .examples import f64, fresh, states, table


def small(candidates: int) -> ResiduesDistribution:
    head = fresh("residues", integer_digits=1, fraction_digits=1, candidates=candidates)
    distribution = head(states(3))
    assert isinstance(distribution, ResiduesDistribution)
    assert distribution.moduli == (5, 7, 8)
    return distribution


def enumerated(distribution: ResiduesDistribution, row: int) -> dict[float, float]:
    """The probability of each value, by enumeration of all tenths that the moduli distinguish."""
    log_five, log_seven, log_eight = distribution.log_residues[row].split((5, 7, 8))
    masses = {}
    for tenths in range(-139, 141):
        log_mass = log_five[tenths % 5] + log_seven[tenths % 7] + log_eight[tenths % 8]
        masses[tenths / 10] = math.exp(log_mass.item())
    assert math.fsum(masses.values()) == pytest.approx(1.0)
    return masses


def test_full_support_equals_enumeration() -> None:
    distribution = small(candidates=280)
    for row in range(3):
        every = enumerated(distribution, row)
        masses = {value: mass for value, mass in every.items() if abs(value) < 10}  # without overflow
        total = math.fsum(masses.values())
        one, values = distribution[row], sorted(masses)
        assert one.unseen.item() == pytest.approx(1 - total)
        assert one.scores(table(values))[0].exp().tolist() == pytest.approx([masses[v] for v in values])
        expected = [math.fsum(m for v, m in masses.items() if v <= value) / total for value in values]
        assert one.cdf(f64([values]))[0].tolist() == pytest.approx(expected)
        assert one.mean().item() == pytest.approx(math.fsum(v * m for v, m in masses.items()) / total)
        assert one.mode().item() == max(values, key=masses.__getitem__)
        for whole in (3.0, -7.0, 0.0):
            near = math.fsum(m for v, m in masses.items() if whole - 0.5 < v <= whole + 0.5)
            assert one.log_mass(table([whole])).exp().item() == pytest.approx(near)


def test_support_holds_the_most_probable_numbers() -> None:
    distribution = small(candidates=17)
    for row in range(3):
        masses = enumerated(distribution, row)
        best = sorted(masses, key=masses.__getitem__)[-17:]
        support = distribution[row].support()
        found = [round(value, 1) for value in support.values[0].tolist()]
        assert found == sorted(found) and len(set(found)) == 17
        assert all(abs(value) < 10 for value in found) and set(found) >= {value for value in best if abs(value) < 10}
        assert support.log_masses[0].exp().tolist() == pytest.approx([masses[value] for value in found])
        assert support.unseen.item() == pytest.approx(1 - math.fsum(masses[value] for value in found))


def test_predictions_do_not_overflow() -> None:
    head = fresh("residues", integer_digits=6, fraction_digits=0)
    distribution = head(states(300))
    mode = distribution.mode()
    assert (mode.abs() < 1e6).all() and (distribution.sample(50).abs() < 1e6).all()
    jump = distribution.support().shares().amax(1) * (1 - distribution.unseen)
    torch.testing.assert_close(distribution.log_prob(table(mode)).exp(), jump)


def test_gradients_do_not_depend_on_earlier_calls() -> None:
    head = fresh("residues", integer_digits=1, fraction_digits=1)
    hidden = states(3).requires_grad_()
    plain = torch.autograd.grad(head(hidden).mean().sum(), hidden)[0]
    distribution = head(hidden)
    distribution.median()
    torch.testing.assert_close(torch.autograd.grad(distribution.mean().sum(), hidden)[0], plain)


def test_loss_is_the_mean_cross_entropy() -> None:
    head = ResiduesHead.build(dim=12, integer_digits=1, fraction_digits=1).double()
    hidden = states(2).double()
    scores = head.layers(hidden).split((5, 7, 8), dim=1)
    wanted = torch.tensor([[-32 % 5, -32 % 7, -32 % 8], [0, 0, 0]])
    terms = [torch.nn.functional.cross_entropy(one, wanted[:, k], reduction="none") for k, one in enumerate(scores)]
    torch.testing.assert_close(head.loss(hidden, table([-3.2, 0.04])), torch.stack(terms).mean(0))


def test_invalid_options_are_quoted() -> None:
    with pytest.raises(ConfigError, match="candidates must be positive, got 0"):
        ResiduesHead.build(dim=8, candidates=0)
    with pytest.raises(ConfigError, match="digits=16"):
        ResiduesHead.build(dim=8, integer_digits=16, fraction_digits=0)


def test_a_single_candidate_does_not_overflow() -> None:
    log_residues = torch.cat(
        [part.log_softmax(-1) for part in torch.randn(500, 20).double().split((5, 7, 8), dim=1)], 1
    )
    distribution = ResiduesDistribution(log_residues, (5, 7, 8), digits=2, fraction_digits=1, candidates=1)
    # Four of ten sets of remainders overflow; then the next best remainder is taken.
    assert float((distribution.mode().abs() < 10).double().mean()) == 1.0
