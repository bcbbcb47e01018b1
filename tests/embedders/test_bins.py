"""Binned embedders and prototypes: bins, quantiles, piecewise linear encoding, mantissas."""

from __future__ import annotations

import math
import re

import pytest
import rtdl_num_embeddings
import torch

from numerate.config import ConfigError
from numerate.embedders.base import quantiles, signed_log
from numerate.embedders.bins import ExponentEmbedder, PiecewiseEmbedder
from numerate.embedders.prototype import PrototypeEmbedder

from .examples import EXTREMES, table


def test_exponent_bins() -> None:
    expected = {
        329: 130,
        1: 79,
        100: 119,
        1e4: 159,
        1e-4: 0,
        1e6: 199,
        1.0000001: 80,
        10 ** (-4 + 0.0501): 1,
        1e-9: 0,
        1e9: 199,
        math.inf: 199,
        -329: 130,
        -math.inf: 199,
        0.0: 200,
        math.nan: 201,
    }
    found = ExponentEmbedder.build(8).bin_ids(table([*expected, -0.0])).tolist()
    assert dict(zip(expected, found, strict=False)) == expected and found[-1] == 200


def test_exponent_sign_and_zero_are_options() -> None:
    plain = ExponentEmbedder.build(8, sign=False, zero=False)
    assert torch.equal(plain(table([5.0])), plain(table([-5.0])))
    assert plain.bin_ids(table([0.0])).item() == 0
    signed = ExponentEmbedder.build(8)
    difference = signed(table([-5.0, -3e9])) - signed(table([5.0, 3e9]))
    torch.testing.assert_close(difference, signed.negative.expand(2, -1))
    assert sum(p.numel() for p in signed.parameters()) == (200 + 3) * 8


def test_exponent_bins_are_fitted_only_with_the_option() -> None:
    embedder = ExponentEmbedder.build(8, n_bins=4, fitted=True)
    embedder.fit(torch.tensor([1.0, -2.0, 3.0, 4.0, 5.0, 0.0, math.nan]))
    assert embedder.bin_ids(table([1, 2, 3, 4, 5, 100])).tolist() == [0, 0, 1, 2, 3, 3]
    untouched = ExponentEmbedder.build(8)
    untouched.fit(torch.tensor([1.0, 2.0]))
    assert untouched.bin_ids(table([329])).item() == 130


def test_quantiles_equal_torch() -> None:
    values = torch.randn(1001, dtype=torch.float64)
    expected = torch.quantile(values, torch.linspace(0, 1, 18, dtype=torch.float64))
    torch.testing.assert_close(quantiles(values, 18), expected)


@pytest.mark.filterwarnings("ignore:The 0-th feature has just two bin edges")
@pytest.mark.parametrize(
    ("variant", "activation", "bins"),
    [
        ("A", False, (-2.0, -0.5, 0.0, 1.0, 3.0)),
        ("B", True, (-2.0, -0.5, 0.0, 1.0, 3.0)),
        ("A", True, (-1.0, 1.0)),
        ("B", False, (-1.0, 1.0)),
        ("B", False, (0.0, 1.0, 2.0)),
    ],
    ids=str,
)
def test_piecewise_equals_rtdl(variant: str, activation: bool, bins: tuple[float, ...]) -> None:
    torch.manual_seed(0)
    theirs = rtdl_num_embeddings.PiecewiseLinearEmbeddings(
        [torch.tensor(bins)], 7, activation=activation, version=variant
    )
    torch.nn.init.normal_(theirs.linear.weight)
    ours = PiecewiseEmbedder.build(7, edges=bins, scale="none", variant=variant, activation=activation)
    with torch.no_grad():
        ours.linear.weight.copy_(theirs.linear.weight[0].T)
        if variant == "A":
            ours.linear.bias.copy_(theirs.linear.bias[0])
        else:
            ours.linear0.weight.copy_(theirs.linear0.weight[0][:, None])
            ours.linear0.bias.copy_(theirs.linear0.bias[0])
    x = torch.cat([4 * torch.randn(200), torch.tensor(bins), torch.tensor([-50.0, 50.0])])
    torch.testing.assert_close(ours(table(x.tolist())), theirs(x[:, None])[:, 0], atol=2e-5, rtol=1e-5)


def test_piecewise_fit_equals_rtdl_bins() -> None:
    values = torch.cat([torch.randn(300, dtype=torch.float64), torch.zeros(200, dtype=torch.float64)])
    bins = rtdl_num_embeddings.compute_bins(values[:, None], n_bins=10)[0]
    assert len(bins) < 11  # zeros fill several quantiles, which are merged
    theirs = rtdl_num_embeddings.PiecewiseLinearEncoding([bins])
    ours = PiecewiseEmbedder.build(7, n_bins=10, scale="none")
    ours.fit(values)
    x = 3 * torch.randn(100, dtype=torch.float64)
    encoded = ours.encode(table(x.tolist()))
    used = [k for k in range(10) if encoded[:, k].any()]
    torch.testing.assert_close(encoded[:, used].float(), theirs(x.float()[:, None]), atol=1e-4, rtol=1e-4)


def test_piecewise_fits_constant_data() -> None:
    embedder = PiecewiseEmbedder.build(7, scale="none")
    embedder.fit(torch.full((50,), 3.0))
    assert embedder.encode(table([2.5, 3.0, 4.0]))[:, -1].tolist() == [0.0, 0.5, 1.5]
    assert PiecewiseEmbedder.build(7, edges=(2.0, 2.0, 2.0)).fit(torch.tensor([])) is None


def test_piecewise_log_scale() -> None:
    embedder = PiecewiseEmbedder.build(7, edges=(-99, 0, 99))
    assert embedder.encode(table([9, -9, 99])).tolist() == [[1.0, 0.5], [0.5, 0.0], [1.0, 1.0]]
    assert signed_log(torch.tensor([-1e308], dtype=torch.float64), 0.01).item() == pytest.approx(-308.25, abs=0.01)
    assert embedder.encode(table(EXTREMES)).isfinite().all()


def test_prototype_mantissas_and_exponents() -> None:
    values = [1e22, 123.0, -0.00125, 9.999999999999998, 1e-300, 5e-324, 1.7976931348623157e308, 1e23, 0.1]
    mantissas, exponents = PrototypeEmbedder.build(8).split(table(values))
    assert exponents.tolist() == [22, 2, -3, 0, -300, -324 + 1, 308, 23, -1]
    assert mantissas.tolist() == pytest.approx([1, 1.23, -1.25, 9.999999999999998, 1, 1, 1.7976931348623157, 1, 1])


def test_prototype_follows_the_formula() -> None:
    embedder = PrototypeEmbedder.build(768)
    vector = embedder(table([-250.0]))[0]
    centres = torch.linspace(-10, 10, 576)
    torch.testing.assert_close(vector[:576], torch.exp(-((-2.5 - centres) ** 2) / 25))
    assert torch.equal(vector[576:], embedder.exponents.weight[2 + 8 + 1])
    rows = embedder(table([1e-9, 1e-8, 1e12, 1e13, 1e200, math.nan]))[:, 576:]
    assert torch.equal(rows, embedder.exponents.weight[[0, 1, 21, 22, 22, 23]])


def test_invalid_options_are_quoted() -> None:
    for build, message in (
        (lambda: ExponentEmbedder.build(8, n_bins=0), "exponent config: n_bins must be positive, got 0"),
        (lambda: ExponentEmbedder.build(8, low=3, high=2), "got low=3.0, high=2.0"),
        (lambda: PiecewiseEmbedder.build(8, edges=()), "edges must not be empty, got ()"),
        (lambda: PiecewiseEmbedder.build(8, unit=0), "unit must be positive, got 0.0"),
        (lambda: PrototypeEmbedder.build(3), "dim must be at least 4, got 3"),
        (lambda: PrototypeEmbedder.build(8, low=3, high=2), "low must not exceed high, got low=3, high=2"),
    ):
        with pytest.raises(ConfigError, match=re.escape(message)):
            build()
