"""A step whose shapes are told beforehand is the step whose shapes are found out."""

import pytest
import torch

from numerate.processing.static_shapes import (
    Counts,
    chosen_rows,
    fixed_counts,
    has_fixed_shapes,
    is_recorded,
    numbers_where,
    tokens_where,
)
from numerate_lab.tasks.asked_number.asked_task import AskedNumber, AskedNumberTrial

TOKENS = {"p10": 5, "fp15": 1, "xval+scalar": 0, "xval+mixture": 0, "float+mixture": 0, "fourier": 0, "bits": 0,
          "log-fourier": 0, "digits": None, "keep": None}  # fmt: skip
"""How many tokens of a text are predicted; None where texts differ."""


def test_places_are_those_of_nonzero() -> None:
    wanted = torch.rand(5, 7, generator=torch.Generator().manual_seed(0)) < 0.4
    count, places = int(wanted.sum()), wanted.nonzero(as_tuple=True)
    for counts in (None, Counts(count, count)):
        if counts is None:
            found = [numbers_where(wanted), tokens_where(wanted)]
            assert not has_fixed_shapes()
        else:
            with fixed_counts(counts):
                found = [numbers_where(wanted), tokens_where(wanted)]
                assert has_fixed_shapes()
        for told in found:
            assert told is not None
            assert torch.equal(torch.stack(told), torch.stack(places))
    with fixed_counts(Counts(count)):
        assert tokens_where(wanted) is None
    assert not has_fixed_shapes()


def test_compiled_code_looks_at_nothing() -> None:
    def doubled_unless_looked_at(wanted: torch.Tensor) -> torch.Tensor:
        return wanted + 1.0 if is_recorded() or tokens_where(wanted > 0) is not None else wanted * 2.0

    compiled = torch.compile(doubled_unless_looked_at, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(torch.full((2, 3), 4.0)), torch.full((2, 3), 8.0))


def test_rows_are_those_of_an_index_and_so_are_their_gradients() -> None:
    states = torch.randn(3, 4, 5, dtype=torch.float64, requires_grad=True)
    rows, columns = torch.tensor([0, 2, 2, 0]), torch.tensor([1, 3, 0, 1])
    weights = torch.randn(4, 5, dtype=torch.float64)
    (mine,) = torch.autograd.grad((chosen_rows(states, rows, columns) * weights).sum(), states)
    (torchs,) = torch.autograd.grad((states[rows, columns] * weights).sum(), states)
    torch.testing.assert_close(mine, torchs)


@pytest.mark.parametrize("encoding", TOKENS)
def test_loss_and_gradients_are_the_same(encoding: str) -> None:
    task = AskedNumber(AskedNumberTrial(task="multiply-3", encoding=encoding, examples=64, width=32, layers=1, heads=2))
    model = task.build().train()
    batch = task.encoded(model, "train")[slice(0, 16)]

    def taken() -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        model.zero_grad()
        loss = model(**batch, return_loss=True).loss
        loss.backward()
        return loss.detach(), {
            name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None
        }

    loss, gradients = taken()
    with fixed_counts(Counts(1, TOKENS[encoding]).times(16)):
        told, recorded = taken()
    torch.testing.assert_close(told, loss)
    assert len(recorded) > 10
    for name, gradient in gradients.items():  # where no tokens are predicted, their layers get none
        torch.testing.assert_close(recorded.get(name, torch.zeros_like(gradient)), gradient, rtol=1e-4, atol=1e-6)
