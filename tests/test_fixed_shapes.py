"""A step whose shapes are told beforehand is the step whose shapes are found out."""

import pytest
import torch

from numerate.bench.cell import CellConfig, Prepared, build
from numerate.fixed_shapes import fixed_count, has_fixed_shapes, where_true

ENCODINGS = ("p10", "fp15", "xval+scalar", "xval+mixture", "float+mixture", "fourier", "bits", "log-fourier", "digits", "keep")  # fmt: skip


def test_places_are_those_of_nonzero() -> None:
    wanted = torch.rand(5, 7, generator=torch.Generator().manual_seed(0)) < 0.4
    with fixed_count(int(wanted.sum())):
        assert has_fixed_shapes()
        told = where_true(wanted)
    assert not has_fixed_shapes()
    for one, other in zip(told, wanted.nonzero(as_tuple=True), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_loss_and_gradients_are_the_same(encoding: str) -> None:
    config = CellConfig(task="multiply-3", encoding=encoding, examples=64, width=32, layers=1, heads=2)
    prepared = Prepared(config)
    asked, _ = prepared.asked("train", 64)
    model = build(config, prepared.task).to(prepared.device).train()
    batch = asked[slice(0, 16)]

    def taken() -> list[torch.Tensor]:
        model.zero_grad()
        loss = model(**batch, return_loss=True).loss
        loss.backward()
        return [loss.detach(), *(weight.grad for weight in model.parameters() if weight.grad is not None)]

    found_out = taken()
    with fixed_count(16):
        told = taken()
    assert len(told) == len(found_out) > 10
    for one, other in zip(told, found_out, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)
