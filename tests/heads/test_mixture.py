"""`mixture`: against arbitrary-precision arithmetic, sums over grids, and a training run."""

from __future__ import annotations

import math

import mpmath
import pytest
import torch

from numerate.config import ConfigError
from numerate.heads.mixture import MixtureDistribution, MixtureHead, signed_log

from .examples import DIM, FINITE, f64, fresh, states, table, unwritten_table

WEIGHTS, MEANS, WIDTHS, UNIT = [0.2, 0.5, 0.3], [-3.0, 4.0, 9.0], [0.5, 1.5, 0.01], 1e-3


def example(mass: bool = False, rows: int = 1) -> MixtureDistribution:
    weights, means, widths = (f64([x] * rows) for x in (WEIGHTS, MEANS, WIDTHS))
    return MixtureDistribution(weights.log(), means, widths, UNIT, mass)


def cdf_by_hand(x: mpmath.mpf) -> mpmath.mpf:
    u = mpmath.asinh(x / mpmath.mpf(UNIT))
    parts = zip(WEIGHTS, MEANS, WIDTHS, strict=True)
    return mpmath.fsum(mpmath.mpf(w) * mpmath.erfc(-(u - m) / s / mpmath.sqrt(2)) / 2 for w, m, s in parts)


def test_signed_log() -> None:
    for x in FINITE:
        with mpmath.workdps(40):
            expected = float(mpmath.asinh(mpmath.mpf(x) / mpmath.mpf(UNIT)))
        assert signed_log(f64(x), UNIT).item() == pytest.approx(expected, rel=1e-14, abs=0)


@mpmath.workdps(60)
def test_density_and_mass_equal_mpmath() -> None:
    for value in (-0.02, 0.0, 1e-5, 0.027, 3.0, 4.05, 1987.0, -1e6):
        numbers, x = table([value]), mpmath.mpf(value)
        density = mpmath.diff(cdf_by_hand, x, h=mpmath.mpf(10) ** -25)
        half = mpmath.mpf(10) ** int(numbers.precision[0]) / 2
        mass = cdf_by_hand(x + half) - cdf_by_hand(x - half)
        assert example().cdf(numbers.values()).item() == pytest.approx(float(cdf_by_hand(x)), rel=1e-9, abs=1e-15)
        assert example().log_prob(numbers).item() == pytest.approx(float(mpmath.log(density)), rel=1e-9)
        assert example().log_mass(numbers).item() == pytest.approx(float(mpmath.log(mass)), rel=1e-7)
        assert torch.equal(example(mass=True).log_prob(numbers), example().log_mass(numbers))


def test_masses_of_a_grid_sum_to_one() -> None:
    for precision in (0, -1, -2):
        count = 40 * 10**-precision
        grid = torch.arange(-count, count + 1).double() / 10**-precision
        numbers = table(grid)
        numbers.precision.fill_(precision)
        total = example(mass=True).scores(numbers).exp().sum()
        assert total.item() == pytest.approx(1.0, abs=1e-6)


def test_mean_and_mode() -> None:
    parts = zip(WEIGHTS, MEANS, WIDTHS, strict=True)
    expected = sum(w * UNIT * math.sinh(m) * math.exp(s * s / 2) for w, m, s in parts)
    assert example().mean().item() == pytest.approx(expected)
    assert example().mode().item() == pytest.approx(UNIT * math.sinh(9.0))  # the narrow component
    grid = torch.linspace(-6, 12, 200_001, dtype=torch.float64)
    two = MixtureDistribution(
        f64([[0.5, 0.5]]).log(),
        f64([[1.0, 2.0]]),
        torch.ones(1, 2).double(),
        1.0,
        False,
    )
    density = two.scores(unwritten_table(torch.sinh(grid)))[0] + torch.cosh(grid).log()
    assert two.mode().item() == pytest.approx(torch.sinh(grid[density.argmax()]).item(), rel=1e-3)


def test_starts_spread_over_all_magnitudes() -> None:
    head = MixtureHead.build(64)
    distribution = head(torch.randn(200, 64, generator=torch.Generator().manual_seed(0)))
    values = [sign * 10.0**k for k in range(-3, 10) for sign in (1, -1)]
    share = distribution.scores(table(values)) + f64(values).abs().log()
    assert share.exp().mean(0).min() > 2e-3  # probability of a factor of e; there are about 57
    assert distribution.cdf(torch.full((200,), 1e12)).min() > 0.9
    assert MixtureHead.build(64, atom=False)(torch.zeros(1, 64)).means.shape == (1, 8)


def test_fit_moves_the_components_to_the_numbers() -> None:
    head = MixtureHead.build(8, components=4, atom=False)
    values = torch.linspace(1900, 2020, 1000, dtype=torch.float64)
    before = head(torch.zeros(1, 8)).scores(table(values)).mean()
    head.fit(table(values))
    after = head(torch.zeros(1, 8)).scores(table(values)).mean()
    assert after > before + 1


@pytest.mark.parametrize("mass", [False, True], ids=["density", "mass"])
def test_learns_calibrated_intervals(mass: bool) -> None:
    """Years for one state, heavy-tailed counts for another: 90 % intervals hold 90 % of held-out numbers."""
    generator = torch.Generator().manual_seed(0)
    kind = torch.randint(2, (4000,), generator=generator)
    years = (1950 + 15 * torch.randn(4000, generator=generator).double()).round()
    counts = (5 + 1.5 * torch.randn(4000, generator=generator).double()).exp().round()
    values = torch.where(kind == 0, years, counts)
    hidden = torch.nn.functional.one_hot(kind, 12).float() + 0.05 * states(4000)
    numbers, head = table(values), fresh("mixture", mass=mass)
    head.fit(numbers[:2000])
    optimizer = torch.optim.Adam(head.parameters(), lr=1e-2)
    first = head.loss(hidden[:2000], numbers[:2000]).mean().item()
    for _ in range(150):
        batch = torch.randint(2000, (256,), generator=generator)
        loss = head.loss(hidden[batch], numbers[batch]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        distribution, held = head(hidden[2000:]), values[2000:]
        assert head.loss(hidden[2000:], numbers[2000:]).mean() < first - 0.5
        low, high = distribution.interval(0.9)
        inside = ((low <= held) & (held <= high)).double().mean().item()
        assert 0.86 < inside < 0.94
        assert ((distribution.median() - 1950).abs() < 6)[kind[2000:] == 0].double().mean() > 0.95


def test_invalid_options_are_quoted() -> None:
    for options, message in (
        ({"components": 0}, "components must be positive, got 0"),
        ({"hidden": 0}, "hidden must be positive, got 0"),
        ({"unit": 2.0, "largest": 1.0}, "unit must be below largest, .*, got unit=2.0, largest=1.0"),
        ({"min_width": 0.0}, "min_width must lie in 1e-12 to 1, got 0.0"),
        ({"dropout": 1.0}, r"dropout must lie in \[0, 1\), got 1.0"),
    ):
        with pytest.raises(ConfigError, match=message):
            MixtureHead.build(DIM, **options)
