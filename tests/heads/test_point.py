"""`scalar` and `log-sign`: the losses of the papers, and the distributions around the predictions."""

from __future__ import annotations

import math

import pytest
import torch

from numerate.config import ConfigError
from numerate.heads.log_sign import LogSignDistribution, LogSignHead
from numerate.heads.scalar import NormalDistribution, ScalarHead

from .examples import DIM, f64, fresh, states, table


def test_scalar_loss_is_the_squared_error() -> None:
    head = fresh("xval")
    assert isinstance(head, ScalarHead)
    values = [1.5, -2.0, 0.0]
    outputs = head.layers(states(3))[:, 0].tolist()
    expected = [(output - value) ** 2 for output, value in zip(outputs, values, strict=True)]
    torch.testing.assert_close(head.loss(states(3), table(values)), torch.tensor(expected))


def test_scalar_has_the_layers_of_the_paper() -> None:
    shapes = {name: tuple(weight.shape) for name, weight in ScalarHead.build(768).state_dict().items()}
    assert shapes == {
        "layers.0.weight": (3072, 768),
        "layers.0.bias": (3072,),
        "layers.2.weight": (1, 3072),
        "layers.2.bias": (1,),
    }


def test_scalar_targets_beyond_the_limit_are_clamped() -> None:
    head = fresh("scalar", limit=100.0)
    numbers = table([100.0, 101.0, -1e300, math.nan, math.inf])
    assert head.clamped(numbers).tolist() == [False, True, True, False, False]
    assert head.valid(numbers).tolist() == [True, True, True, False, False]
    same = states(1).expand(5, -1)
    loss = head.loss(same, numbers).tolist()
    assert loss[0] == pytest.approx(loss[1]) and loss[3:] == [0.0, 0.0]


def test_normal_distribution_follows_the_formula() -> None:
    distribution = NormalDistribution(f64([1.0, -2.0]), spread=2.0)
    expected = -0.5 * (2.0 / 2.0) ** 2 - math.log(2.0 * math.sqrt(2 * math.pi))
    assert distribution.log_prob(table([3.0, 0.0])).tolist() == pytest.approx([expected] * 2)
    assert distribution.cdf(f64([3.0, -2.0])).tolist() == pytest.approx([0.841344746, 0.5])
    low, high = distribution.interval(0.95)
    assert (high - low).tolist() == pytest.approx([2 * 2 * 1.959963985] * 2)


def test_log_sign_loss_is_the_mean_of_two_squared_errors() -> None:
    head = fresh("luna")
    assert isinstance(head, LogSignHead)
    values = [1.5, -200.0, 0.0]
    outputs = head.layers(states(3)).tolist()
    expected = [
        ((a - math.log(1e-7 + abs(v))) ** 2 + (b - (v > 0) + (v < 0)) ** 2) / 2
        for (a, b), v in zip(outputs, values, strict=True)
    ]
    torch.testing.assert_close(head.loss(states(3), table(values)), torch.tensor(expected))


def test_log_sign_has_the_layers_of_the_paper() -> None:
    layers = LogSignHead.build(DIM).layers
    assert isinstance(layers, torch.nn.Sequential)
    kinds = [type(layer).__name__ for layer in layers]
    assert kinds == ["Dropout", "Linear", "GELU", "LayerNorm", "Linear"]
    assert layers[0].p == 0.1 and layers[4].out_features == 2


def test_log_sign_point_estimate_and_mean() -> None:
    center = f64([math.log(5.0 + 1e-7), math.log(5.0 + 1e-7), -40.0, 800.0])
    distribution = LogSignDistribution(center, f64([60.0, -60.0, 3.0, 60.0]), spread=0.5, eps=1e-7)
    assert distribution.mode().tolist()[:3] == pytest.approx([5.0, -5.0, 0.0])
    assert distribution.mean().tolist()[:2] == pytest.approx([5 * math.exp(0.125), -5 * math.exp(0.125)], rel=1e-6)
    assert distribution.mode().isfinite().all() and distribution.mean().isfinite().all()
    assert distribution.median().tolist()[:3] == pytest.approx([5.0, -5.0, 0.0])


def test_log_sign_has_an_atom_at_zero() -> None:
    head = fresh("log-sign")
    eps = math.log(1e-7)
    distribution = LogSignDistribution(f64([eps, eps + 3]), torch.zeros(2).double(), 1.0, 1e-7)
    zero = torch.zeros(2).double()
    assert distribution.log_prob(table([0.0, 0.0])).exp().tolist() == pytest.approx([0.5, 0.0013498980316])
    jump = distribution.cdf(zero) - distribution.cdf(zero - 5e-324)
    assert jump.tolist() == pytest.approx([0.5, 0.0013498980316])
    assert head.loss(states(1), table([0.0])).isfinite().all()


def test_log_sign_mass_in_the_tails() -> None:
    """Equal to a Riemann sum of the density where the difference of cdfs is 0."""
    distribution = LogSignDistribution(f64([0.0]), f64([1.0]), 0.5, 1e-7)
    at = torch.linspace(199.5, 200.5, 20_001, dtype=torch.float64)
    density = distribution.scores(table(at))[0]
    expected = torch.logsumexp(density[:-1].logaddexp(density[1:]) - math.log(2), 0) - math.log(20_000)
    assert distribution.log_mass(table([200.0])).item() == pytest.approx(expected.item(), rel=1e-7)
    assert expected < -50


def test_invalid_options_are_quoted() -> None:
    for head, options, message in (
        (ScalarHead, {"spread": 0.0}, "spread must be positive, got 0.0"),
        (ScalarHead, {"hidden": 0}, "hidden must be positive, got 0"),
        (ScalarHead, {"limit": 1e19}, "limit must lie in .*, got 1e"),
        (LogSignHead, {"eps": 0.0}, "eps must be positive, got 0.0"),
        (LogSignHead, {"dropout": 1.0}, "dropout must lie in"),
    ):
        with pytest.raises(ConfigError, match=message):
            head.build(DIM, **options)
