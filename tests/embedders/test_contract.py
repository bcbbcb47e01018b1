"""The contract of all registered embedders; a new embedder is tested as soon as it is registered."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math

import pytest
import safetensors.torch
import torch
from torch.autograd import gradcheck

from numerate.config import ConfigError
from numerate.embedders.base import Embedder
from numerate.registry import embedders

from .examples import EXTREMES, ORDINARY, table

DIM = 16
SMALL = {"char-lstm": {"size": "0.1M"}, "char-former": {"size": "0.1M", "layers": 1}}
"""Options that keep the tests short; all other embedders are built with their defaults."""
AUTOCAST = (None, torch.bfloat16, torch.float16)
POINTS = (0.37, -0.37, 1.7, -123.4, 1e4 + 0.3, 98765.43, 3.3e-3, 123456.789, 9.99e5 + 0.5, 3.3e-95, -3.3e-95, 2e-120)
"""Numbers at which continuity is tested."""

pytestmark = pytest.mark.filterwarnings("ignore:mkldnn_matmul.*failed")  # a CPU without bf16


def fresh(name: str, seed: int = 0) -> Embedder:
    torch.manual_seed(seed)
    return embedders[name].build(DIM, **SMALL.get(name, {})).eval()


@pytest.fixture(params=embedders.names())
def embedder(request: pytest.FixtureRequest) -> Embedder:
    return fresh(request.param)


def difference(one: torch.Tensor, other: torch.Tensor) -> float:
    """Largest difference, relative to the vector's largest coordinate or 1."""
    scale = other.abs().amax(dim=-1, keepdim=True).clamp_min(1.0)
    return ((one - other).abs() / scale).max().item()


def test_package_exports_its_registry() -> None:
    import numerate
    import numerate.embedders.base

    assert numerate.embedders.names() == embedders.names()
    assert numerate.embedders.registry["num"] is embedders["num"]
    assert "num" in numerate.embedders.registry and "nix" not in numerate.embedders.registry


def test_config_and_class(embedder: Embedder) -> None:
    assert embedders[embedder.config.kind] is type(embedder)
    assert issubclass(type(embedder), Embedder)
    assert type(embedder).__doc__ and "Example:" in type(embedder).__doc__
    text = embedder.config.to_json()
    again = type(embedder).Config.from_json(text)
    assert again == embedder.config and again.to_json() == text
    rebuilt, state = type(embedder).build(DIM, **json.loads(text)), embedder.state_dict()
    assert {k: v.shape for k, v in rebuilt.state_dict().items()} == {k: v.shape for k, v in state.items()}
    with pytest.raises(ConfigError, match=r"dim must be at least 1, got 0|sum to dim, got .*dim=0"):
        type(embedder).build(0)
    with pytest.raises(ConfigError, match="unknown key 'no_such_option'"):
        type(embedder).build(DIM, no_such_option=1)


def test_shape_and_dtype(embedder: Embedder) -> None:
    assert embedder.width in (DIM, 1)
    exact = {name: buffer.clone() for name, buffer in embedder.named_buffers() if not buffer.is_floating_point()}
    for dtype in (torch.bfloat16, torch.float32, torch.float64):
        output = embedder.to(dtype)(table())
        assert output.shape == (len(ORDINARY), embedder.width) and output.dtype == dtype
        assert embedder(table([]))[:0].shape == (0, embedder.width)
    assert all(torch.equal(buffer, embedder.get_buffer(name)) for name, buffer in exact.items()), "rounded by bfloat16"


def test_each_vector_depends_on_its_number_alone(embedder: Embedder) -> None:
    numbers = table(EXTREMES)
    together = embedder(numbers)
    alone = torch.cat([embedder(numbers[k : k + 1]) for k in range(len(numbers))])
    assert difference(alone, together) < 1e-6
    order = torch.randperm(len(numbers), generator=torch.Generator().manual_seed(1))
    assert difference(embedder(numbers[order]), together[order]) < 1e-6
    missing = 32 - numbers.characters.shape[-1]
    padded = dataclasses.replace(numbers, characters=torch.nn.functional.pad(numbers.characters, (0, missing)))
    assert difference(embedder(padded), together) < 1e-6
    assert difference(embedder(numbers), together) < 1e-6, "dropout must be off in eval mode"
    empty = dataclasses.replace(numbers, characters=numbers.characters[:, :0])
    assert embedder(empty).isfinite().all()


def test_extreme_values_are_finite(embedder: Embedder) -> None:
    """Vectors and gradients are finite, with and without autocast, and every weight gets a gradient."""
    embedder.train()
    for dtype in AUTOCAST:
        embedder.zero_grad()
        with torch.autocast("cpu", dtype=dtype or torch.bfloat16, enabled=dtype is not None):
            output = embedder(table(EXTREMES))
        assert output.isfinite().all(), dtype
        if list(embedder.parameters()):
            # Incoming gradients of about 1, as behind a layer norm.
            (output.float() * torch.randn(output.shape) / math.sqrt(output.numel())).sum().backward()
        for name, weight in embedder.named_parameters():
            assert weight.grad is not None and weight.grad.isfinite().all(), (dtype, name)


def test_gradcheck(embedder: Embedder) -> None:
    embedder.to(torch.float64)
    names, weights = zip(*embedder.named_parameters(), strict=True) if list(embedder.parameters()) else ((), ())
    numbers = table([0.25, -3.75, 12.5])

    def run(*values: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(embedder, dict(zip(names, values, strict=True)), (numbers,))

    if weights:
        inputs = tuple(weight.detach().requires_grad_() for weight in weights)
        assert gradcheck(run, inputs, fast_mode=True)
    else:
        assert not embedder(numbers).requires_grad


def test_fit_and_state_dict(embedder: Embedder) -> None:
    """`fit` accepts any data; its result is saved and loaded."""
    for values in ([], [math.nan], [0.0], [5.0] * 100, list(EXTREMES), ORDINARY * 3):
        embedder.fit(torch.tensor(values, dtype=torch.float64))
        assert embedder(table(EXTREMES)).isfinite().all(), values[:1]
    other = fresh(embedder.config.kind, seed=1)
    other.load_state_dict(safetensors.torch.load(safetensors.torch.save(embedder.state_dict())))
    assert difference(other(table(EXTREMES)), embedder(table(EXTREMES))) < 1e-6


def test_outermost_weights_scale_every_vector(embedder: Embedder) -> None:
    before, weights = embedder(table(ORDINARY)), [weight.clone() for weight in embedder.parameters()]
    if embedder.scale_(3.0):
        torch.testing.assert_close(embedder(table(ORDINARY)), 3 * before, rtol=1e-4, atol=1e-5)
    else:
        assert not embedder.outermost
        assert all(torch.equal(*pair) for pair in zip(weights, embedder.parameters(), strict=True))


def test_claims_of_continuity_and_sign(embedder: Embedder) -> None:
    def relative_step(one: list[float], other: list[float]) -> torch.Tensor:
        first, second = embedder(table(one)), embedder(table(other))
        return (first - second).norm(dim=-1) / first.norm(dim=-1).clamp_min(1e-9)

    differ = (embedder(table([2.5, 730.0])) != embedder(table([-2.5, -730.0]))).any(dim=-1)
    assert differ.all() if embedder.signed else not differ.any()
    embedder.to(torch.float64)
    if embedder.continuous:
        steps = [relative_step(list(POINTS), [x * (1 + e) for x in POINTS]) for e in (1e-3, 1e-5, 1e-7)]
        for coarse, fine in itertools.pairwise(steps):
            assert (fine <= 0.05 * coarse + 1e-12).all()
        assert (steps[-1] < 1e-3).all()
    if embedder.through_zero:
        assert (relative_step([0.0] * 4, [1e-102, -1e-102, 5e-324, -5e-324]) < 1e-9).all()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="compares an accelerator with the CPU")
def test_accelerator_agrees_with_cpu() -> None:
    for name, dtype in itertools.product(embedders.names(), AUTOCAST):
        embedder = fresh(name)
        expected = embedder(table(EXTREMES)).detach()
        embedder.to("cuda")
        with torch.autocast("cuda", dtype=dtype or torch.bfloat16, enabled=dtype is not None):
            output = embedder(table(EXTREMES).to("cuda"))
        tolerance = 1e-3 if dtype is None else 5e-2  # cuDNN's recurrent layers use TF32
        assert difference(output.float().cpu(), expected) < tolerance, (name, dtype)
        if output.requires_grad:
            embedder.train()(table(EXTREMES).to("cuda")).square().mean().sqrt().backward()
            assert all(p.grad.isfinite().all() for p in embedder.parameters() if p.grad is not None), (name, dtype)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # the compiler's own
def test_compiled_equals_eager(embedder: Embedder) -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    numbers = table(EXTREMES).to(device)
    expected = embedder.to(device)(numbers)
    assert difference(torch.compile(embedder)(numbers), expected) < 1e-4
