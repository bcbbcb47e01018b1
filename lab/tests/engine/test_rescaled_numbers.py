"""Trials scale the vectors of numbers to a multiple of the words' size."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from numerate.embedders.rescaled import RescaledEmbedder
from numerate.processing.number_table import NumberTable
from numerate_lab.engine.trial import CellConfig, build
from numerate_lab.tasks.asked_number.named_tasks import task_of


@pytest.mark.parametrize(("encoding", "rescaled"), [("fourier", True), ("xval", False), ("p10", False)])
def test_number_vectors_have_twice_the_size_of_words(encoding: str, rescaled: bool) -> None:
    config = CellConfig(task="add-6", encoding=encoding, examples=300, width=32, layers=1, heads=2)
    model = build(config, task_of("add-6", {}))
    assert isinstance(model.embedder, RescaledEmbedder) == rescaled
    assert model.own_rows.square().mean().sqrt().item() == pytest.approx(1.0, rel=0.3)
    unchanged = build(dataclasses.replace(config, loudness=0.0), task_of("add-6", {}))
    assert not isinstance(unchanged.embedder, RescaledEmbedder)
    assert unchanged.own_rows.square().mean().sqrt().item() < 0.3
    if isinstance(model.embedder, RescaledEmbedder):
        batch = model.processor(task_of("add-6", {}).texts("train", 300), padding=True, return_tensors="pt")
        values = batch["number_bits"].view(torch.float64)[batch["number_given"] == 1]
        embedder: RescaledEmbedder = model.embedder
        size = embedder(NumberTable.of_values(values.tolist())).square().mean().sqrt()
        words = model.backbone.get_input_embeddings().weight.square().mean().sqrt()
        assert (size / words).item() == pytest.approx(2.0, rel=0.05)
