"""`exponent-mantissa`: against arbitrary-precision arithmetic, sums over grids, and a training run."""

from __future__ import annotations

import dataclasses
import math

import mpmath
import pytest
import torch

from numerate.config import ConfigError
from numerate.heads.exponent_mantissa import ExponentMantissaDistribution, ExponentMantissaHead

from .examples import DIM, f64, fresh, states, table

SIGNS, EXPONENTS, CENTERS, SPREADS, LOWEST = [0.2, 0.1, 0.7], [0.3, 0.6, 0.1], [2.0, 9.5, 5.0], [1.5, 0.4, 60.0], -1


def example(rows: int = 1) -> ExponentMantissaDistribution:
    signs, exponents, centers, spreads = (f64([x] * rows) for x in (SIGNS, EXPONENTS, CENTERS, SPREADS))
    return ExponentMantissaDistribution(signs.log(), exponents.log(), centers, spreads, LOWEST)


def normal(x: mpmath.mpf, center: float, spread: float) -> mpmath.mpf:
    return mpmath.erfc((center - x) / spread / mpmath.sqrt(2)) / 2


def cdf_by_hand(x: mpmath.mpf) -> mpmath.mpf:
    below = mpmath.mpf(0)
    for k, (p, m, s) in enumerate(zip(EXPONENTS, CENTERS, SPREADS, strict=True)):
        mantissa = min(max(abs(x) / mpmath.mpf(10) ** (k + LOWEST), mpmath.mpf(1)), mpmath.mpf(10))
        part = (normal(mantissa, m, s) - normal(1, m, s)) / (normal(10, m, s) - normal(1, m, s))
        below += mpmath.mpf(p) * part
    minus, zero, plus = map(mpmath.mpf, SIGNS)
    return minus * (1 - below) if x < 0 else minus + zero + plus * below


@mpmath.workdps(140)
def test_density_and_mass_equal_mpmath() -> None:
    for value in (0.12, -0.5, 1.0, 3.5, -9.99, 10.5, 99.0, 1.25, 0.1, 12.000000001):
        numbers = table([value])
        x, half = mpmath.mpf(value), mpmath.mpf(10) ** int(numbers.precision[0]) / 2
        mass = cdf_by_hand(x + half) - cdf_by_hand(x - half)
        assert example().cdf(numbers.values()).item() == pytest.approx(float(cdf_by_hand(x)), rel=1e-12)
        assert example().log_mass(numbers).item() == pytest.approx(float(mpmath.log(mass)), rel=1e-6)
        density = mpmath.diff(cdf_by_hand, x, h=mpmath.mpf(10) ** -25, direction=1)
        assert example().log_prob(numbers).item() == pytest.approx(float(mpmath.log(density)), rel=1e-7)


def test_zero_is_an_atom() -> None:
    zero = table([0.0])
    assert example().log_prob(zero).exp().item() == pytest.approx(0.1)
    assert example().cdf(f64([0.0])).item() == pytest.approx(0.3)
    near = cdf_by_hand(mpmath.mpf(0.5)) - cdf_by_hand(mpmath.mpf(-0.5))
    assert example().log_mass(zero).exp().item() == pytest.approx(float(near))
    fine = dataclasses.replace(zero, precision=torch.full_like(zero.precision, -3))
    assert example().log_mass(fine).exp().item() == pytest.approx(0.1)


def test_masses_of_a_grid_sum_to_one() -> None:
    for decimals in (0, 1, 2):
        steps = 10**decimals
        numbers = table(torch.arange(-100 * steps, 100 * steps + 1).double() / steps)
        numbers = dataclasses.replace(numbers, precision=torch.full_like(numbers.precision, -decimals))
        size = numbers.values().abs()
        inside = (size == 0) | ((size >= 0.1) & (size < 100))  # other numbers are scored as the nearest inside
        total = example().mass_scores(numbers[inside]).exp().sum().item()
        total += sum(float(abs(cdf_by_hand(mpmath.mpf(s * (100 - 0.5 / steps))) - (s > 0))) for s in (-1, 1))
        assert total == pytest.approx(1.0, abs=1e-9)


def test_mass_of_a_tiny_interval() -> None:
    """At precision 10^-200 a difference of cdfs would be 0."""
    numbers = table([3.0, 1.0])
    fine = dataclasses.replace(numbers, precision=torch.full_like(numbers.precision, -200))
    density, mass = example(2).log_prob(fine), example(2).log_mass(fine)
    assert mass[0].item() == pytest.approx(density[0].item() - 200 * math.log(10), rel=1e-12)
    # The part of the interval below 1 has another exponent.
    other = example().log_prob(table([math.nextafter(1.0, 0.0)]))[0]
    both = torch.logaddexp(density[1], other) - math.log(2) - 200 * math.log(10)
    assert mass[1].item() == pytest.approx(both.item(), rel=1e-9)


def test_outside_numbers_are_scored_as_the_nearest() -> None:
    head = fresh("dexp", lowest=-2, highest=3)
    assert isinstance(head, ExponentMantissaHead)
    numbers = table([0.01, 0.0099, 9999.9, 1e4, -1e300, 0.0, math.nan])
    assert head.clamped(numbers).tolist() == [False, True, False, True, True, False, False]
    same = head(states(1)[[0] * 7])
    scores = same.log_prob(numbers)
    assert scores[0].item() == pytest.approx(scores[1].item())
    assert scores[3].item() == pytest.approx(same.log_prob(table([math.nextafter(1e4, 0)] * 7))[0].item())
    assert (same.log_mass(numbers)[:-1] <= 0).all() and same.log_mass(numbers)[:-1].isfinite().all()
    assert same.cdf(f64([1e4] * 7)).tolist() == pytest.approx([1.0] * 7)


def test_mean_and_mode_equal_mpmath() -> None:
    sizes = mpmath.mpf(0)
    for k, (p, m, s) in enumerate(zip(EXPONENTS, CENTERS, SPREADS, strict=True)):
        inside = normal(10, m, s) - normal(1, m, s)
        mean = mpmath.quad(lambda x, m=m, s=s: x * mpmath.npdf(x, m, s), [1, 5, 9, 9.5, 10]) / inside
        sizes += mpmath.mpf(p) * mean * mpmath.mpf(10) ** (k + LOWEST)
    assert example().mean().item() == pytest.approx(float(0.5 * sizes), rel=1e-9)
    assert example().mode().item() == pytest.approx(9.5)


def test_spread_of_the_paper() -> None:
    paper = ExponentMantissaHead.build(DIM, spread=10 * math.exp(-1.5))
    assert paper(states(2)).spreads.unique().tolist() == pytest.approx([2.2313])
    layers = [head.layers.get_submodule("2").weight for head in (paper, ExponentMantissaHead.build(DIM))]
    assert [weight.shape[0] for weight in layers] == [3 + 2 * 25, 3 + 3 * 25]


def test_invalid_options_are_quoted() -> None:
    for options, message in (
        ({"lowest": 3, "highest": 2}, "got lowest=3, highest=2"),
        ({"highest": 400}, "got lowest=-9, highest=400"),
        ({"spread": 0.0}, "spread must lie in 0.001 to 90, got 0.0"),
        ({"hidden": 0}, "hidden must be positive, got 0"),
    ):
        with pytest.raises(ConfigError, match=message):
            ExponentMantissaHead.build(DIM, **options)


def test_learns_a_known_distribution() -> None:
    """Negative tens for one state, zeros and thousands for another."""
    generator = torch.Generator().manual_seed(0)
    kind = torch.randint(2, (1200,), generator=generator)
    tens = -(45 + 8 * torch.randn(1200, generator=generator).double())
    thousands = 3000 + 900 * torch.randn(1200, generator=generator).double()
    rare = torch.rand(1200, generator=generator) < 0.3
    values = torch.where(kind == 0, tens, thousands.masked_fill(rare, 0.0))
    hidden = torch.nn.functional.one_hot(kind, DIM).float() + 0.05 * states(1200)
    head, numbers = fresh("exponent-mantissa"), table(values)
    optimizer = torch.optim.Adam(head.parameters(), lr=2e-2)
    for _ in range(80):
        batch = torch.randint(800, (200,), generator=generator)
        optimizer.zero_grad()
        head.loss(hidden[batch], numbers[batch]).mean().backward()
        optimizer.step()
    with torch.no_grad():
        loss, held, distribution = head.loss(hidden[800:], numbers[800:]), kind[800:], head(hidden[800:])
        assert loss[held == 0].mean().item() == pytest.approx(0.5 * math.log(2 * math.pi * math.e * 64), abs=0.2)
        zero = distribution.log_prob(table([0.0] * 400)).exp()
        assert zero[held == 1].mean().item() == pytest.approx(0.3, abs=0.05) and zero[held == 0].max() < 0.02
        assert distribution.mode()[held == 0].mean().item() == pytest.approx(-45, abs=4)
