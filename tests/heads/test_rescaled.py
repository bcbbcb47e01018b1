"""Distributions of scaled numbers in the units of their fields."""

from __future__ import annotations

import math

import pytest
import torch
from torch import distributions as td

from numerate.heads.base import LARGEST
from numerate.heads.rescaled import RescaledDistribution
from numerate.heads.scalar import NormalDistribution
from numerate.numerals.numeral import Numeral
from numerate.processing.scaling import Scaling
from numerate.registry import heads

from .examples import f64, states, table
from .test_contract import build

KEYS = ("a", "b", "a", "new", "b")


def scaling(kind: str) -> Scaling:
    numerals = [Numeral("", 0, 0, float(v), path=p) for v, p in [(10, "a"), (30, "a"), (2000, "b"), (5000, "b")]]
    return Scaling(scaler=kind).fit(numerals)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["standard", "log"])
@pytest.mark.parametrize("name", heads.names())
def test_every_head_in_the_units_of_its_field(name: str, kind: str) -> None:
    with torch.no_grad():
        scaled = build(name)(states(5))
    found, scaler = RescaledDistribution(scaled, scaling(kind), KEYS), scaling(kind)
    p = f64([[0.1, 0.5, 0.8]]).expand(5, 3)
    expected = scaler.invert([key for key in KEYS for _ in range(3)], scaled.quantile(p).reshape(-1).numpy())
    torch.testing.assert_close(found.quantile(p).reshape(-1), torch.from_numpy(expected).clamp(-LARGEST, LARGEST))
    at = f64([12.0, 2500.0, -4.0, 7.5, 0.0])
    inner = torch.from_numpy(scaler.apply(KEYS, at.numpy()))
    torch.testing.assert_close(found.cdf(at), scaled.cdf(inner))
    assert found.sample(4).shape == (4, 5) and found.sample(4).isfinite().all() and found.mode().isfinite().all()
    assert found.is_density == scaled.is_density and found.is_written == scaled.is_written
    assert not found.log_prob(table(at)).isnan().any() and not found.log_mass(table(at)).isnan().any()
    torch.testing.assert_close(found[1:3].cdf(at[1:3]), found.cdf(at)[1:3])
    assert found[1:3].keys == KEYS[1:3] and len(found.cpu()) == 5
    assert not scaler.unseen or set(scaler.unseen) == {"new"}
    assert not found.scaling.unseen, "asking a distribution counts nothing"


def test_a_density_has_the_slope_of_its_scaler() -> None:
    normal = NormalDistribution(f64([0.5, -1.0]), 0.25)
    straight = RescaledDistribution(normal, scaling("standard"), ("a", "b"))
    known = td.Normal(f64([20 + 0.5 * 10, 3500 - 1500]), f64([2.5, 0.25 * 1500]))
    at = f64([22.0, 2100.0])
    torch.testing.assert_close(straight.log_prob(at), known.log_prob(at))
    torch.testing.assert_close(straight.mean(), known.mean)
    torch.testing.assert_close(straight.log_mass(at), (known.cdf(at + 0.5) - known.cdf(at - 0.5)).log())
    bent = RescaledDistribution(normal, scaling("log"), ("a", "b"))
    edges = bent.quantile(torch.linspace(0.01, 0.99, 400).double().expand(2, -1))
    middles, widths = (edges[:, 1:] + edges[:, :-1]) / 2, edges.diff(dim=1)
    total = (bent.log_prob(middles).exp() * widths).sum(1)
    torch.testing.assert_close(total, f64([0.98, 0.98]), rtol=1e-3, atol=0)
    torch.testing.assert_close(
        bent.mean(), bent.sample(40_000, torch.Generator().manual_seed(1)).mean(0), rtol=0.02, atol=0
    )


def test_the_mean_is_differentiable() -> None:
    center = f64([0.5, -1.0], requires_grad=True)
    RescaledDistribution(NormalDistribution(center, 1.0), scaling("standard"), ("a", "b")).mean().sum().backward()
    assert center.grad is not None and center.grad.tolist() == pytest.approx([10.0, 1500.0])


def test_best_numbers_are_those_of_the_field() -> None:
    found = RescaledDistribution(NormalDistribution(f64([0.0, 0.0]), 0.1), scaling("standard"), ("a", "b"))
    (first, *_), (second, *_) = found.best(2)
    assert first.value == pytest.approx(20, abs=0.6) and second.value == pytest.approx(3500, abs=60)
    assert math.exp(first.log_prob) < 1 and "3500" in repr(found)
