"""Scalar embedders, and the zero-initialised gate."""

from __future__ import annotations

import math

import pytest
import torch

from numerate.config import ConfigError
from numerate.embedders.gate import ZeroGate
from numerate.embedders.values import LogValueEmbedder, ScaledValueEmbedder, ValueEmbedder

from .examples import table


def test_positive_numbers_as_in_the_paper() -> None:
    for kind, feature in ((ValueEmbedder, float), (LogValueEmbedder, math.log10)):
        embedder = kind.build(768)
        count = sum(p.numel() for name, p in embedder.named_parameters() if not name.startswith("marks"))
        # The last 768, the bias of the output, is in the released code and not in the paper.
        assert count == 768 * 200 + 200 + 200 + 768
        embedder = kind.build(16, hidden=20).eval()
        values = [0.001, 1.0, 329.0, 999999.0]
        x = torch.tensor([[feature(v)] for v in values])
        torch.testing.assert_close(embedder(table(values)), embedder.outer(torch.relu(embedder.inner(x))))
    assert (ValueEmbedder.build(16, final_relu=True)(table([5.0, -5.0])) >= 0).all()


def test_value_beyond_its_limit_is_compressed_logarithmically() -> None:
    embedder = ValueEmbedder.build(4, limit=100.0)
    scalar, marks = embedder._scalar(table([-99.0, 100.0, 100 * math.e, -1e300, math.inf, math.nan]))
    expected = [-99.0, 100.0, 200.0, -100 * (1 + math.log(1e298)), 100 * (1 + math.log(1.7976931348623157e306)), 0.0]
    assert scalar.tolist() == pytest.approx(expected)
    assert marks.tolist() == [[0, 0, 0]] * 4 + [[0, 1, 0], [1, 0, 0]]


def test_half_precision_module_saturates_instead_of_overflowing() -> None:
    embedder = ValueEmbedder.build(4).to(torch.float16)
    assert embedder._scalar(table([1e5]))[0].item() < 257
    assert ScaledValueEmbedder.build(4).to(torch.float16)(table([1e308])).item() < 257


def test_log_value_flags() -> None:
    _, marks = LogValueEmbedder.build(4)._scalar(table([5.0, -5.0, 0.0, -0.0, math.nan, math.inf, -math.inf]))
    assert marks.to(torch.int64).tolist() == [
        [0, 0, 0, 0, 0],
        [1, 0, 0, 0, 0],
        [0, 1, 0, 0, 0],
        [0, 1, 0, 0, 0],
        [0, 0, 1, 0, 0],
        [0, 0, 0, 1, 0],
        [1, 0, 0, 0, 1],
    ]


def test_scaled_value_is_the_number() -> None:
    assert ScaledValueEmbedder.build(8)(table([2.5, -7.0, 0.0])).tolist() == [[2.5], [-7.0], [0.0]]
    assert ScaledValueEmbedder.build(8, limit=5)(table([2.5, -7.0])).tolist() == [[2.5], [-5.0]]
    assert list(ScaledValueEmbedder.build(8).parameters()) == []


def test_invalid_options_are_quoted() -> None:
    for name, value in (("hidden", 0), ("dropout", 1.0), ("limit", -1.0)):
        with pytest.raises(ConfigError, match=f"value config: {name} must .*, got {value}"):
            ValueEmbedder.build(8, **{name: value})
    with pytest.raises(ConfigError, match=r"limit must be positive, got -1\.0"):
        ScaledValueEmbedder.build(8, limit=-1.0)
    with pytest.raises(ConfigError, match="width must be positive, got 0"):
        ZeroGate(0)


def test_zero_gate_starts_closed_and_gets_a_gradient() -> None:
    for per_dim in (False, True):
        gate, embedder = ZeroGate(8, per_dim=per_dim), LogValueEmbedder.build(8)
        hidden = torch.randn(3, 8)
        output = hidden + gate(embedder(table([1.0, -1e300, math.nan])))
        assert torch.equal(output, hidden)
        output.square().sum().backward()
        assert gate.gate.grad is not None and (gate.gate.grad != 0).all()
        assert gate.gate.numel() == (8 if per_dim else 1)
