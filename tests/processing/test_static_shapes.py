"""Steps with counts that are known beforehand give the same results as steps that find them in the batch."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from tiny_models import backbone_of, number_batch, tokenizer_of

import numerate
from numerate.processing.static_shapes import (
    Counts,
    LaterCounts,
    chosen_rows,
    first_numbers,
    fixed_counts,
    has_fixed_shapes,
    is_recorded,
    numbers_where,
    tokens_where,
)

TEXTS = ["The tower is 324 metres tall.", "A cat is 7 metres tall.", "Revenue rose 45 in winter."]


def test_places_equal_nonzero() -> None:
    wanted = torch.rand(5, 7, generator=torch.Generator().manual_seed(0)) < 0.4
    count, places = int(wanted.sum()), wanted.nonzero(as_tuple=True)
    assert not has_fixed_shapes()
    found, flat = [numbers_where(wanted), numbers_where(wanted, count)], [tokens_where(wanted)]
    flat.append(tokens_where(wanted, count))
    with fixed_counts(Counts(count, count)):
        assert has_fixed_shapes()
        found.append(numbers_where(wanted))
        flat.append(tokens_where(wanted))
    for one in found:
        assert torch.equal(torch.stack(one), torch.stack(places))
    for one in flat:
        assert one is not None and torch.equal(one, places[0] * 7 + places[1])
    with fixed_counts(Counts(count)):
        assert tokens_where(wanted) is None
    assert not has_fixed_shapes() and Counts(2, 3).times(4) == Counts(8, 12) and Counts(2).times(4) == Counts(8)


@pytest.mark.parametrize("share", [0.0, 0.15, 0.3, 1.0])
def test_a_fixed_number_of_places_begins_with_the_wanted_numbers(share: float) -> None:
    wanted = torch.rand(60, 50, generator=torch.Generator().manual_seed(0)) < share
    rows, numbers = first_numbers(wanted, share)
    expected = torch.stack(wanted.nonzero(as_tuple=True))
    assert torch.equal(torch.stack([rows, numbers])[:, : expected.shape[1]], expected)
    assert not wanted[rows, numbers][expected.shape[1] :].any()
    assert len(set(zip(rows.tolist(), numbers.tolist(), strict=True))) == len(rows)
    # A quarter more than expected, and 64, in whole numbers.
    assert len(rows) == {0.0: 64, 0.15: 626, 0.3: 1189, 1.0: 3000}[share]


def test_numbers_without_a_place_are_left_out() -> None:
    rows, numbers = first_numbers(torch.ones(10, 10, dtype=torch.bool), 0.1)
    assert torch.equal(rows * 10 + numbers, torch.arange(76))


@pytest.mark.slow
def test_the_compiled_number_loss_has_fewer_places_and_is_the_same() -> None:
    model = numerate.attach(
        backbone_of("bert"), tokenizer_of("bert"), "in-place", objective={"kind": "masked", "number_ratio": 0.2}
    )
    batch = number_batch(model, "bert", [" ".join(f"{n}.5 metres," for n in range(9))] * 20)
    batch["sample_id"] = torch.arange(20)
    model.train()
    for part in model.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0
    places = []
    model.head.layers.register_forward_hook(lambda _, inputs, __: places.append(len(inputs[0])))
    plain = model(**batch).loss
    compiled = torch.compile(model, backend="eager")(**batch).loss
    assert places[0] < places[1] == 180 * math.ceil(1280 * 0.2) // 1024 + 64 < 180
    torch.testing.assert_close(compiled, plain, rtol=1e-6, atol=1e-6)


def test_counts_are_copied_in_the_background() -> None:
    wanted = torch.rand(5, 7, generator=torch.Generator().manual_seed(0)) < 0.4
    there = wanted.cuda() if torch.cuda.is_available() else wanted
    counts = LaterCounts(there, ~there)
    expected = [int(wanted.sum()), int((~wanted).sum())] if there.is_cuda else [None, None]
    assert [counts[0], counts[1]] == expected


def test_compiled_code_does_not_look_at_the_batch() -> None:
    def doubled_unless_looked_at(wanted: torch.Tensor) -> torch.Tensor:
        return wanted + 1.0 if is_recorded() or tokens_where(wanted > 0) is not None else wanted * 2.0

    compiled = torch.compile(doubled_unless_looked_at, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(torch.full((2, 3), 4.0)), torch.full((2, 3), 8.0))


def test_chosen_rows_and_their_gradients_equal_indexing() -> None:
    states = torch.randn(3, 4, 5, dtype=torch.float64, requires_grad=True)
    rows, columns = torch.tensor([0, 2, 2, 0]), torch.tensor([1, 3, 0, 1])
    weights = torch.randn(4, 5, dtype=torch.float64)
    (mine,) = torch.autograd.grad((chosen_rows(states, rows, columns) * weights).sum(), states)
    (torchs,) = torch.autograd.grad((states[rows, columns] * weights).sum(), states)
    torch.testing.assert_close(mine, torchs)


@pytest.mark.parametrize(
    ("recipe", "options"),
    [
        ("p10", {}),
        ("xval", {}),
        ("float", {"head": "mixture"}),
        ("fone", {}),
        ("numerals-2018", {}),
        ("in-place", {}),
    ],
)
@pytest.mark.parametrize("count_tokens", [True, False])
def test_loss_and_gradients_are_the_same(recipe: str, options: dict[str, Any], count_tokens: bool) -> None:
    torch.manual_seed(0)
    objective = {"kind": "causal"}
    model = numerate.attach(backbone_of("gpt2"), tokenizer_of("gpt2"), recipe, objective=objective, **options)
    batch = number_batch(model.train(), "gpt2", TEXTS)
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    # Labels at the numbers only: each text has one number and as many tokens as its notation gives it.
    own = (batch["number_slots"] != 0) | (batch["input_ids"] >= model.processor.first_id)
    labels = batch["input_ids"].masked_fill(~own, -100)

    def loss_and_gradients() -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        model.zero_grad()
        loss = model(**batch, labels=labels).loss
        loss.backward()
        found = {name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None}
        return loss.detach(), found

    loss, gradients = loss_and_gradients()
    with fixed_counts(Counts(len(TEXTS), int((labels[:, 1:] != -100).sum()) if count_tokens else None)):
        fixed, recorded = loss_and_gradients()
    model.zero_grad()
    torch.testing.assert_close(fixed, loss)
    assert len(recorded) > 10 and (labels != -100).any()
    for name, gradient in gradients.items():
        torch.testing.assert_close(recorded.get(name, torch.zeros_like(gradient)), gradient, rtol=1e-4, atol=1e-6)
