"""xVal's analyses as figures."""

from __future__ import annotations

import pytest
import torch
from analysis_figures import continuity_figure, embedding_figure, structure_figure
from embedding_analysis import Continuity, EmbeddingCurve, embedding_curve
from tiny_models import new_backbone, tokenizer_of

import numerate


def test_the_way_goes_from_0_to_1_and_is_flat_where_vectors_are() -> None:
    values = torch.tensor([-1.0, 0.0, 1.0, 2.0], dtype=torch.float64)
    vectors = torch.tensor([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [2.0, 0.0]])
    line = embedding_figure({"made up": EmbeddingCurve(values, vectors)}).axes[0].lines[0]
    assert line.get_ydata().tolist() == [0.0, 0.5, 1.0, 1.0] and line.get_label() == "made up"


def test_of_a_model() -> None:
    model = numerate.attach(new_backbone("bert"), tokenizer_of("bert"), "xval")
    curve = embedding_curve(model, [-2.0, -1.0, 0.0, 1.0, 2.0], "It is {}.")
    said = torch.tensor(embedding_figure({"xval": curve}).axes[0].lines[0].get_ydata())
    assert said[0] == 0 and said[-1] == pytest.approx(1.0) and bool((said.diff() > 0).all()), "xVal's is monotone"


def test_largest_steps_are_told() -> None:
    one = Continuity(torch.tensor([0.0, 1.0]), torch.tensor([3.0, 5.0]), 2.0, 0.5)
    axes = continuity_figure({"smooth": one}).axes[0]
    assert axes.lines[0].get_ydata().tolist() == [3.0, 5.0] and "largest step 2" in axes.lines[0].get_label()


def test_tokens_of_a_notation() -> None:
    model = numerate.attach(new_backbone("bert"), tokenizer_of("bert"), "p10")
    assert len(structure_figure(model).axes) >= 1
    with pytest.raises(ValueError, match="'keep' has no tokens of its own"):
        structure_figure(numerate.attach(new_backbone("bert"), tokenizer_of("bert"), "subwords"))
