"""Token logits only where there is a label: the same loss and gradients as with all logits."""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING, Any

import pytest
import torch
from tiny_models import NUMBERS, PLAIN, new_backbone, tokenizer_of
from training_runs import arguments

import numerate
from numerate.modeling import number_model, outputs
from numerate.processing import static_shapes
from numerate.processing.static_shapes import capacities
from numerate.training import NumberTrainer

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor

TEXTS = [*NUMBERS, *PLAIN] * 3


def model_of(recipe: str = "in-place", **objective: Any) -> numerate.NumberModel:
    torch.manual_seed(0)
    given = {"kind": "masked", "ratio": 0.4, "number_ratio": 0.5, **objective}
    return numerate.attach(new_backbone("bert"), tokenizer_of("bert"), recipe, objective=given).train()


def gradients(model: numerate.NumberModel, batch: dict[str, Any], labelled: bool) -> tuple[Any, dict[str, Tensor]]:
    model.labelled_logits = labelled
    model.zero_grad(set_to_none=True)
    torch.manual_seed(1)
    output = model(**batch)
    output.loss.backward()
    return output, {name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None}


def batch_of(model: numerate.NumberModel) -> dict[str, Any]:
    batch = dict(model.processor(TEXTS, return_tensors="pt", padding=True))
    return batch | {"sample_id": torch.arange(len(TEXTS))}


def assert_equal(model: numerate.NumberModel, batch: dict[str, Any]) -> Any:
    without_dropout(model)
    whole, wanted = gradients(model, batch, labelled=False)
    some, found = gradients(model, batch, labelled=True)
    assert some.loss.item() == pytest.approx(whole.loss.item(), rel=1e-6)
    assert found.keys() == wanted.keys()
    for name, gradient in wanted.items():
        torch.testing.assert_close(found[name], gradient, rtol=1e-4, atol=1e-6, msg=name)
    assert some.logits.shape[1:] == (1, whole.logits.shape[-1])
    return some


@pytest.mark.parametrize(
    ("recipe", "objective"),
    [("in-place", {}), ("float", {}), ("subwords", {}), ("in-place", {"hide_slot": True}), ("luna", {"joint": False})],
)
@pytest.mark.parametrize("fixed", [False, True])
def test_loss_and_gradients_are_those_of_all_logits(recipe: str, objective: dict[str, Any], fixed: bool) -> None:
    model = model_of(recipe, **objective)
    batch = batch_of(model)
    with capacities() if fixed else contextlib.nullcontext():
        some = assert_equal(model, batch)
    if fixed and "joint" not in objective:  # more places than labels, whatever was drawn
        share = 0.9 if objective else 0.4
        most = batch["input_ids"].numel()
        assert len(some.logits) == min(most, most * math.ceil(1280 * share) // 1024 + 64)


@pytest.mark.parametrize("kind", ["number", "del", "was"])
def test_number_tokens_have_the_same_loss(kind: str) -> None:
    model = without_dropout(model_of("luna", joint=False, ratio=0.9, number_tokens={"loss": kind, "weight": 1.0}))
    batch = batch_of(model)
    (whole, wanted), (some, found) = (gradients(model, batch, labelled) for labelled in (False, True))
    assert some.loss.item() == pytest.approx(whole.loss.item(), rel=1e-6)
    for name, gradient in wanted.items():
        torch.testing.assert_close(found[name], gradient, rtol=1e-4, atol=1e-6, msg=name)


@pytest.mark.parametrize("labelled", [False, True])
def test_without_labels_the_loss_is_finite(labelled: bool) -> None:
    model = model_of(ratio=0.0, number_ratio=0.0)
    with capacities():
        output, _ = gradients(model, batch_of(model), labelled)
    assert output.loss.item() == 0.0


@pytest.mark.parametrize("labelled", [False, True])
def test_a_fixed_number_of_places_has_the_same_loss_and_gradients(labelled: bool) -> None:
    model = model_of(ratio=0.15, number_ratio=0.15)
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    batch = {name: torch.cat([value] * 4) for name, value in batch_of(model).items()}
    exact, wanted = gradients(model, batch, labelled)
    with capacities():
        some, found = gradients(model, batch, labelled)
    assert some.loss.item() == pytest.approx(exact.loss.item(), rel=1e-6) and int(model.left_out or 0) == 0
    for name, gradient in wanted.items():
        torch.testing.assert_close(found[name], gradient, rtol=1e-4, atol=1e-6, msg=name)


@pytest.mark.parametrize("labelled", [False, True])
def test_what_finds_no_place_is_counted(labelled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    model, few = model_of(), 5
    monkeypatch.setattr(static_shapes, "first_places", lambda mask, share: mask.flatten().nonzero()[:few, 0])
    monkeypatch.setattr(outputs, "first_places", static_shapes.first_places)
    batch = batch_of(model)
    task = model.task(dict(batch), None, return_loss=True)
    assert task is not None and task.labels is not None and task.scored is not None
    missed = int((task.labels != -100).sum()) + int(task.scored.sum()) - 2 * few
    with capacities():
        for turn in (1, 2):
            output, _ = gradients(model, batch, labelled)
            assert int(model.left_out) == turn * missed > 0 and output.loss.isfinite()  # type: ignore[arg-type]


def without_dropout(model: numerate.NumberModel) -> numerate.NumberModel:
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    return model


@pytest.mark.slow
def test_compiled_to_one_graph_with_a_fixed_number_of_places() -> None:
    model = without_dropout(model_of())
    model.labelled_logits = True
    batch = {name: torch.cat([value] * 4) for name, value in batch_of(model).items()}
    plain = model(**batch)
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)(**batch)
    assert compiled.loss.item() == pytest.approx(plain.loss.item(), rel=1e-5)
    assert len(plain.logits) < len(compiled.logits) < batch["input_ids"].numel()


@pytest.mark.slow
def test_compiled_for_batches_of_several_lengths() -> None:
    """The second length makes all sizes symbols, the count of numbers among them."""
    model = without_dropout(model_of())
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    for texts in (TEXTS[:4], TEXTS, [*TEXTS[:3], " and ".join(NUMBERS)]):
        batch = dict(model.processor(texts, return_tensors="pt", padding=True)) | {
            "sample_id": torch.arange(len(texts))
        }
        assert compiled(**batch).loss.item() == pytest.approx(model(**batch).loss.item(), rel=1e-4)


def test_the_trainer_computes_only_labelled_logits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shapes: list[tuple[int, ...]] = []
    run = number_model.number_outputs

    def seen(model: Any, output: Any, *positional: Any, **options: Any) -> Any:
        shapes.append(tuple(output["logits"].shape))
        return run(model, output, *positional, **options)

    monkeypatch.setattr(number_model, "number_outputs", seen)
    for given in (True, False):
        model = model_of()
        rows = [dict(model.processor(text)) for text in TEXTS]
        NumberTrainer(model, arguments(tmp_path, max_steps=1), train_dataset=rows, labelled_logits=given).train()
        assert (shapes[-1][1] == 1) == given and not model.labelled_logits
