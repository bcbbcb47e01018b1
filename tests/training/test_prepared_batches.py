"""Masks that are drawn in the data loader: the same training as with masks of the forward pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from tiny_models import NUMBERS, PLAIN, new_backbone, tokenizer_of
from training_runs import arguments

import numerate
from numerate.processing.static_shapes import capacities
from numerate.training import NumberTrainer
from numerate.training.prepared_batches import Preparation

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = [*NUMBERS, *PLAIN] * 3


def trainer_of(folder: Path, recipe: str = "in-place", *, labelled: bool = True, **options: Any) -> NumberTrainer:
    torch.manual_seed(0)
    objective = {"kind": "masked", "ratio": 0.3, "number_ratio": 0.4}
    model = numerate.attach(new_backbone("bert"), tokenizer_of("bert"), recipe, objective=objective)
    rows = [dict(model.processor(text)) | {"sample_id": index} for index, text in enumerate(TEXTS)]
    options = {"max_steps": 8, "per_device_train_batch_size": 6, "logging_steps": 1, **options}
    return NumberTrainer(model, arguments(folder, **options), train_dataset=rows, labelled_logits=labelled)


def figures(trainer: NumberTrainer) -> list[dict[str, float]]:
    trainer.train()
    logs = [entry for entry in trainer.state.log_history if "loss" in entry]
    return [{name: value for name, value in entry.items() if "per_second" not in name} for entry in logs]


@pytest.mark.parametrize(
    ("recipe", "options"),
    [
        ("in-place", {}),
        ("in-place", {"labelled": False}),
        ("in-place", {"dataloader_num_workers": 1}),
        ("in-place", {"dataloader_num_workers": 1, "dataloader_persistent_workers": True}),
        ("luna", {}),
        ("fone", {}),
    ],
)
def test_the_training_is_the_same(tmp_path: Path, recipe: str, options: dict[str, Any]) -> None:
    one, other = (trainer_of(tmp_path / name, recipe, **options) for name in ("device", "loader"))
    other.masks_in_loader, seen = True, []
    forward = other.model.forward
    other.model.forward = lambda **batch: seen.append(batch.keys()) or forward(**batch)  # type: ignore[union-attr,assignment,func-returns-value]
    other._set_signature_columns_if_needed()
    other._signature_columns = [*one._numbers.forward.__code__.co_varnames, "sample_id"]  # type: ignore[union-attr]
    expected, found = figures(one), figures(other)
    assert {frozenset(keys) for keys in seen} == {frozenset(("input_ids", "prepared"))}
    for wanted, got in zip(expected, found, strict=True):
        assert got == pytest.approx(wanted, rel=1e-5)
    for (name, weight), same in zip(one.model.named_parameters(), other.model.parameters(), strict=True):
        torch.testing.assert_close(same, weight, rtol=1e-4, atol=1e-6, msg=name)


def test_the_tokens_of_the_texts_are_counted_and_nothing_is_left_out(tmp_path: Path) -> None:
    counted = []
    for name in ("device", "loader"):
        trainer = trainer_of(tmp_path / name, max_steps=2, logging_steps=9)
        trainer.masks_in_loader, kept = name == "loader", []
        trainer.throughput.read = lambda kept=kept, all=trainer.throughput: kept.append(int(all.tokens)) or {}  # type: ignore[method-assign,func-returns-value]
        with capacities():
            trainer.train()
        counted.append(int(trainer.throughput.tokens))
        assert name == "device" or trainer.model.left_out is None  # type: ignore[union-attr]
    assert counted[0] == counted[1] > 0


def test_masks_stay_in_the_forward_pass_where_they_must(tmp_path: Path) -> None:
    trainer = trainer_of(tmp_path)
    model, args = trainer._numbers, trainer.args
    assert Preparation.of(model, args) is not None and not trainer.masks_in_loader
    args.gradient_accumulation_steps = 2
    assert Preparation.of(model, args) is None and Preparation.of(None, args) is None
    args.gradient_accumulation_steps = 1
    prepare: Any = Preparation.of(model, args)
    batch = dict(model.processor(TEXTS[:3], return_tensors="pt", padding=True))  # type: ignore[union-attr]
    assert prepare(batch) is batch, "without sample_id, masks come from torch's generator"
