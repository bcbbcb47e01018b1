"""Recorded steps are the steps that they stand for."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import torch
import transformers

from numerate.processing.static_shapes import Counts
from numerate.training import CudaGraphTrainer
from numerate_lab.engine.trial import CellConfig, Prepared, build, counts_a_text, train

CELL = CellConfig(
    task="multiply-3", encoding="xval", examples=256, amount=32 * 40, batch=32, width=32, layers=2, heads=2,
    dev=16, test=16, looks=0, precision="fp32",
)  # fmt: skip


def of(encoding: str) -> tuple[CellConfig, Prepared, Any]:
    config = dataclasses.replace(CELL, encoding=encoding)
    prepared = Prepared(config)
    return config, prepared, prepared.asked("train", config.examples)[0]


@pytest.mark.parametrize(
    ("encoding", "counts"),
    [("xval", Counts(1, 0)), ("p10", Counts(1, 5)), ("fp15", Counts(1, 1)), ("digits", Counts(0, None))],
)
def test_what_each_text_predicts(encoding: str, counts: Counts) -> None:
    config, prepared, asked = of(encoding)
    model = build(config, prepared.task).to(prepared.device)
    assert counts_a_text(model, asked) == counts
    if "number_wanted" in asked.fields:
        asked.fields["number_wanted"][3] = False  # a text that asks for nothing: batches would differ
        assert counts_a_text(model, asked) is None


def test_what_cannot_be_recorded(tmp_path: Any) -> None:
    config, prepared, asked = of("char-lstm+mixture")
    model = build(config, prepared.task)
    assert not CudaGraphTrainer.can_record(model)
    several = transformers.TrainingArguments(str(tmp_path), gradient_accumulation_steps=2, use_cpu=True, report_to=[])
    with pytest.raises(ValueError, match="cannot be recorded; use NumberTrainer"):
        CudaGraphTrainer(model, several, train_dataset=[asked[slice(0, 2)]], counts=Counts(2, 0))


@pytest.mark.parametrize(
    "encoding", ["xval", "p10", "fourier", "residues", "digits"] if torch.cuda.is_available() else ["xval"]
)
def test_losses_are_those_of_plain_steps(encoding: str) -> None:
    """Where there is nothing to record them, steps are plain ones, whatever the cell wants."""
    config, prepared, asked = of(encoding)
    plain, recorded = (
        train(build(chosen, prepared.task).to(prepared.device), chosen, asked)["losses"]
        for chosen in (config, dataclasses.replace(config, recorded=True))
    )
    assert len(plain) == len(recorded) > 5
    for one, other in zip(plain, recorded, strict=True):
        assert one["loss"] == pytest.approx(other["loss"], rel=1e-3)
