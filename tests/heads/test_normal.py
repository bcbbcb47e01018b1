"""Functions of the normal distribution against arbitrary-precision arithmetic; digits against enumeration."""

from __future__ import annotations

import itertools
import math

import mpmath
import pytest
import torch

from numerate.heads.normal import log_cdf, log_interval, log_normal, rounding_interval
from numerate.heads.places import below, log_between, log_equal

from .examples import f64


def phi(x: mpmath.mpf) -> mpmath.mpf:
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


@mpmath.workdps(60)
def test_log_cdf() -> None:
    for z in (-1e12, -1e8, -3e3, -40.0, -5.0, -1.0, -0.999, 0.0, 0.3, 2.0, 9.0, 40.0):
        x, tensor = mpmath.mpf(z), f64(z, requires_grad=True)
        # Far out, the tail equals φ(x) / |x| · (1 - 1/x²) in float64.
        log_phi = -(x**2) / 2 - mpmath.log(2 * mpmath.pi) / 2
        far = z < -1e7
        expected = log_phi - mpmath.log(-x) + mpmath.log1p(-(x**-2)) if far else mpmath.log(phi(x))
        result = log_cdf(tensor)
        (slope,) = torch.autograd.grad(result, tensor)
        assert result.item() == pytest.approx(float(expected), rel=1e-13, abs=1e-300)
        assert log_normal(f64(z)).item() == pytest.approx(float(log_phi), rel=1e-14)
        assert slope.item() == pytest.approx(float(mpmath.exp(log_phi - expected)), rel=1e-10, abs=1e-300)


@mpmath.workdps(400)
def test_log_interval() -> None:
    middles, halves = (0.0, 1e-3, -0.7, 3.0, -30.0, 400.0, 7e4), (1e-200, 1e-9, 0.9e-4, 1.1e-4, 1e-2, 0.5, 2.0, 50.0)
    for middle, half in itertools.product(middles, halves):
        m, h = mpmath.mpf(abs(middle)), mpmath.mpf(half)
        if half < 1e-100:
            expected = mpmath.log(2 * h) - m**2 / 2 - mpmath.log(2 * mpmath.pi) / 2
        elif m > 1000:
            # An asymptotic tail integral, because mpmath's erfc would need billions of digits.
            rest = mpmath.log(1 - mpmath.exp(-2 * m * h)) if m > h else mpmath.mpf(0)
            low = m - h
            expected = -(low**2) / 2 - mpmath.log(2 * mpmath.pi) / 2 - mpmath.log(low) + rest
        else:
            expected = mpmath.log(phi(h - m) - phi(-h - m))
        result = log_interval(f64(middle), f64(half).log()).item()
        assert result == pytest.approx(float(expected), rel=1e-7, abs=1e-7), (middle, half)


def test_log_interval_gradients_are_finite_everywhere() -> None:
    places = f64([0.0, 1e-300, 1e-3, -1.0, 7.0, -300.0, 1e7, -1e15, 1e300])
    widths = f64([-800.0, -300.0, -20.0, -9.3, -9.2, -1.0, 0.0, 5.0, 30.0, 700.0])
    m, h = (grid.clone().requires_grad_() for grid in torch.meshgrid(places, widths, indexing="ij"))
    result = log_interval(m, h)
    assert result.isfinite().all() and (result <= 0).all()
    result.sum().backward()
    assert m.grad is not None and m.grad.isfinite().all() and m.grad.abs().max() < 1e16
    assert h.grad is not None and h.grad.isfinite().all()


def test_rounding_interval_of_narrow_and_wide_intervals() -> None:
    values = f64([2.0, 1e22, 3.0])
    precision = torch.tensor([0, 0, -400])
    middle, log_half = rounding_interval(values, precision, torch.log, -values.log())
    assert middle[0].item() == pytest.approx((math.log(1.5) + math.log(2.5)) / 2)
    assert log_half[0].item() == pytest.approx(math.log((math.log(2.5) - math.log(1.5)) / 2))
    assert log_half[1].item() == pytest.approx(math.log(0.5e-22))
    assert log_half[2].item() == pytest.approx(math.log(0.5 / 3) - 400 * math.log(10))


@pytest.mark.parametrize(("places", "base"), [(3, 10), (8, 2)], ids=["decimal", "binary"])
def test_independent_digits_equal_enumeration(places: int, base: int) -> None:
    generator = torch.Generator().manual_seed(0)
    table = torch.randn(2, places, base, generator=generator, dtype=torch.float64).mul(2).log_softmax(-1)
    every = torch.tensor(list(itertools.product(range(base), repeat=places))).expand(2, -1, -1)
    masses = log_equal(table, every).exp()
    torch.testing.assert_close(masses.sum(1), torch.ones(2).double())
    torch.testing.assert_close(below(table, every), masses.cumsum(1) - masses)
    ends = torch.randint(base**places, (400, 2), generator=generator).sort(dim=1).values
    sums = torch.stack([masses[:, low : high + 1].sum(1) for low, high in ends.tolist()], dim=1)
    torch.testing.assert_close(log_between(table, every[:, ends[:, 0]], every[:, ends[:, 1]]), sums.log())
