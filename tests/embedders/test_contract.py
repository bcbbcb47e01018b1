"""What every registered embedder keeps to; a new one is tested as soon as it is registered."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from typing import TYPE_CHECKING

import pytest
import safetensors.torch
import torch
from torch.autograd import gradcheck

from numerate.embedders.base import Embedder
from numerate.registry import embedders

from .examples import EXTREMES, ORDINARY, table

if TYPE_CHECKING:
    from numerate.processing.number_table import NumberTable

DIM = 16
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SMALL = {"char-lstm": {"size": "0.1M"}, "char-former": {"size": "0.1M", "layers": 1}}
"""Options that keep the tests short; an embedder that is not named here is built with its defaults."""

pytestmark = pytest.mark.filterwarnings("ignore:mkldnn_matmul.*failed")  # a CPU without bf16


@pytest.fixture(params=embedders.names())
def embedder(request: pytest.FixtureRequest) -> Embedder:
    return fresh(request.param)


def fresh(name: str, seed: int = 0) -> Embedder:
    torch.manual_seed(seed)
    return embedders[name].build(DIM, **SMALL.get(name, {})).eval()


def assert_near(one: torch.Tensor, other: torch.Tensor) -> None:
    """Equal to 1e-6, measured against the larger of 1 and the vector's own size."""
    scale = one.abs().amax(dim=-1, keepdim=True).clamp_min(1.0)
    assert ((one - other).abs() / scale).max().item() < 1e-6


def test_registered_name_is_the_kind_of_its_config(embedder: Embedder) -> None:
    name = embedder.config.kind
    assert embedders[name] is type(embedder)
    assert issubclass(embedders[name], Embedder)
    assert dataclasses.is_dataclass(embedder.Config)
    assert type(embedder).__doc__ and "Shape:" in type(embedder).__doc__


def test_package_answers_like_its_registry() -> None:
    import numerate
    import numerate.embedders.base

    assert numerate.embedders.names() == embedders.names()
    assert numerate.embedders.registry["num"] is embedders["num"]
    assert "num" in numerate.embedders.registry and "nix" not in numerate.embedders.registry
    assert numerate.embedders.names() == embedders.names()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_shape_and_dtype(embedder: Embedder, dtype: torch.dtype) -> None:
    assert embedder.width in (DIM, 1)
    output = embedder.to(dtype)(table())
    assert output.shape == (len(ORDINARY), embedder.width)
    assert output.dtype == dtype
    assert embedder(table([]))[:0].shape == (0, embedder.width)


def test_moving_to_low_precision_and_back_loses_no_edges(embedder: Embedder) -> None:
    exact = {name: buffer.clone() for name, buffer in embedder.named_buffers() if not buffer.is_floating_point()}
    embedder.to(torch.bfloat16).to(torch.float32)
    assert all(torch.equal(buffer, embedder.get_buffer(name)) for name, buffer in exact.items())
    assert embedder.to(torch.bfloat16)(table()).dtype == torch.bfloat16


def test_batch_invariance(embedder: Embedder) -> None:
    numbers = table(EXTREMES)
    together = embedder(numbers)
    alone = torch.cat([embedder(numbers[k : k + 1]) for k in range(len(numbers))])
    assert_near(together, alone)


def test_permutation_invariance(embedder: Embedder) -> None:
    numbers = table(EXTREMES)
    order = torch.randperm(len(numbers), generator=torch.Generator().manual_seed(1))
    assert_near(embedder(numbers)[order], embedder(numbers[order]))


def test_padding_of_characters_changes_nothing(embedder: Embedder) -> None:
    numbers = table(EXTREMES)
    missing = 32 - numbers.characters.shape[-1]
    padded = dataclasses.replace(numbers, characters=torch.nn.functional.pad(numbers.characters, (0, missing)))
    assert_near(embedder(numbers), embedder(padded))


def test_number_without_characters(embedder: Embedder) -> None:
    numbers = table()
    empty = dataclasses.replace(numbers, characters=numbers.characters[:, :0])
    assert embedder(empty).isfinite().all()


@pytest.mark.parametrize("dtype", [None, torch.bfloat16, torch.float16], ids=["fp32", "bf16", "fp16"])
def test_extreme_values_are_finite(embedder: Embedder, dtype: torch.dtype | None) -> None:
    assert len(EXTREMES) >= 40
    with torch.autocast("cpu", dtype=dtype or torch.bfloat16, enabled=dtype is not None):
        output = embedder.train()(table(EXTREMES))
    assert output.isfinite().all()
    if list(embedder.parameters()):
        # Gradients of about 1 arrive, as behind a layer norm.
        (output.float() * torch.randn(output.shape) / math.sqrt(output.numel())).sum().backward()
        gradients = {name: p.grad for name, p in embedder.named_parameters() if p.grad is not None}
        assert gradients
        assert [name for name, gradient in gradients.items() if not gradient.isfinite().all()] == []


def test_every_weight_gets_a_gradient(embedder: Embedder) -> None:
    if list(embedder.parameters()):
        embedder(table(EXTREMES)).double().square().sum().backward()
    assert [name for name, p in embedder.named_parameters() if p.grad is None] == []


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


def test_state_dict_through_safetensors(embedder: Embedder) -> None:
    embedder.fit(torch.tensor(ORDINARY * 3, dtype=torch.float64))
    data = safetensors.torch.save(embedder.state_dict())
    other = fresh(embedder.config.kind, seed=1)
    other.load_state_dict(safetensors.torch.load(data))
    assert torch.equal(embedder(table(EXTREMES)), other(table(EXTREMES)))


@pytest.mark.parametrize("values", [[], [math.nan], [0.0], [5.0] * 100, list(EXTREMES)], ids=str)
def test_fit_takes_any_data(embedder: Embedder, values: list[float]) -> None:
    embedder.fit(torch.tensor(values, dtype=torch.float64))
    assert embedder(table(EXTREMES)).isfinite().all()


def test_outermost_weights_multiply_every_vector(embedder: Embedder) -> None:
    before, weights = embedder(table(ORDINARY)), [weight.clone() for weight in embedder.parameters()]
    if embedder.scale_(3.0):
        torch.testing.assert_close(embedder(table(ORDINARY)), 3 * before, rtol=1e-4, atol=1e-5)
    else:
        assert not embedder.outermost
        assert all(torch.equal(*pair) for pair in zip(weights, embedder.parameters(), strict=True))


def test_config_round_trip(embedder: Embedder) -> None:
    text = embedder.config.to_json()
    again = type(embedder).Config.from_json(text)
    assert again == embedder.config
    assert again.to_json() == text
    rebuilt = type(embedder).build(DIM, **json.loads(text))
    assert {k: v.shape for k, v in rebuilt.state_dict().items()} == {
        k: v.shape for k, v in embedder.state_dict().items()
    }


def test_wrong_sizes_are_quoted(embedder: Embedder) -> None:
    with pytest.raises(ValueError, match="dim=0"):
        type(embedder).build(0)
    with pytest.raises(ValueError, match="unknown key 'no_such_option'"):
        type(embedder).build(DIM, no_such_option=1)


def test_dropout_is_off_in_eval(embedder: Embedder) -> None:
    assert torch.equal(embedder(table()), embedder(table()))


def relative_step(embedder: Embedder, near: NumberTable, far: NumberTable) -> torch.Tensor:
    one, other = embedder(near), embedder(far)
    return (one - other).norm(dim=-1) / one.norm(dim=-1).clamp_min(1e-9)


POINTS = (0.37, -0.37, 1.7, -123.4, 1e4 + 0.3, 98765.43, 3.3e-3, 123456.789, 9.99e5 + 0.5, 3.3e-95, -3.3e-95, 2e-120)


@pytest.mark.parametrize("name", [name for name in embedders.names() if fresh(name).continuous])
def test_continuity_where_claimed(name: str) -> None:
    embedder = fresh(name).to(torch.float64)
    steps = [relative_step(embedder, table(POINTS), table([x * (1 + e) for x in POINTS])) for e in (1e-3, 1e-5, 1e-7)]
    for coarse, fine in itertools.pairwise(steps):
        assert (fine <= 0.05 * coarse + 1e-12).all()
    assert (steps[-1] < 1e-3).all()


@pytest.mark.parametrize("name", [name for name in embedders.names() if fresh(name).through_zero])
def test_continuity_through_zero_where_claimed(name: str) -> None:
    embedder = fresh(name).to(torch.float64)
    for x in (1e-102, -1e-102, 5e-324, -5e-324):
        assert relative_step(embedder, table([0.0]), table([x])).item() < 1e-9


def test_signs_differ_where_claimed(embedder: Embedder) -> None:
    positive, negative = embedder(table([2.5, 730.0])), embedder(table([-2.5, -730.0]))
    differ = (positive != negative).any(dim=-1)
    assert differ.all() if embedder.signed else not differ.any()


@pytest.mark.parametrize("dtype", [None, torch.bfloat16, torch.float16], ids=["fp32", "bf16", "fp16"])
def test_accelerator_agrees_with_cpu(embedder: Embedder, dtype: torch.dtype | None) -> None:
    expected = embedder(table(EXTREMES)).detach()
    embedder.to(DEVICE)
    with torch.autocast(DEVICE, dtype=dtype or torch.bfloat16, enabled=dtype is not None):
        output = embedder(table(EXTREMES).to(DEVICE))
    tolerance = 1e-3 if dtype is None else 5e-2  # cuDNN's recurrent layers use TF32
    scale = expected.abs().amax(dim=-1, keepdim=True).clamp_min(1.0)
    assert ((output.float().cpu() - expected).abs() / scale).max().item() < tolerance
    if output.requires_grad:
        embedder.train()(table(EXTREMES).to(DEVICE)).square().mean().sqrt().backward()
        assert all(p.grad.isfinite().all() for p in embedder.parameters() if p.grad is not None)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # the compiler's own
def test_compiled_equals_eager(embedder: Embedder) -> None:
    numbers = table(EXTREMES).to(DEVICE)
    expected = embedder.to(DEVICE)(numbers)
    scale = expected.abs().amax(dim=-1, keepdim=True).clamp_min(1.0)
    assert ((torch.compile(embedder)(numbers) - expected).abs() / scale).max().item() < 1e-4
