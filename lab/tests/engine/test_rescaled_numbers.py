"""Trials scale the vectors of numbers to a multiple of the words' size."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from numerate.embedders.rescaled import RescaledEmbedder
from numerate.processing.number_table import NumberTable
from numerate_lab.tasks.asked_number.asked_task import AskedNumber, AskedNumberTrial


@pytest.mark.parametrize(("encoding", "rescaled"), [("fourier", True), ("xval", False), ("p10", False)])
def test_number_vectors_have_twice_the_size_of_words(encoding: str, rescaled: bool) -> None:
    config = AskedNumberTrial(task="add-6", encoding=encoding, examples=300, width=32, layers=1, heads=2)
    task = AskedNumber(config)
    model = task.build().cpu()
    assert isinstance(model.embedder, RescaledEmbedder) == rescaled
    assert model.own_rows.square().mean().sqrt().item() == pytest.approx(1.0, rel=0.3)
    unchanged = AskedNumber(dataclasses.replace(config, embedding_scale=0.0)).build()
    assert not isinstance(unchanged.embedder, RescaledEmbedder)
    assert unchanged.own_rows.square().mean().sqrt().item() < 0.3
    if isinstance(model.embedder, RescaledEmbedder):
        batch = model.processor(task.source.texts("train", 300), padding=True, return_tensors="pt")
        values = batch["number_bits"].view(torch.float64)[batch["number_given"] == 1]
        size = model.embedder(NumberTable.of_values(values.tolist())).square().mean().sqrt()
        words = model.backbone.get_input_embeddings().weight.square().mean().sqrt()
        assert (size / words).item() == pytest.approx(2.0, rel=0.05)
