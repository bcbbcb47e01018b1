"""xVal's analyses against closed forms and known functions, and the boosting baseline."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from embedding_analysis import boosting_baseline, continuity, embedding_curve, response
from tiny_models import tokenizer_of

import numerate
from numerate.backbones.trunk import NumerateTrunkConfig, NumerateTrunkForMaskedLM
from numerate_lab.tasks.arithmetic.problems import ArithmeticConfig, ArithmeticProblems


def attached(recipe: str, **options: Any) -> Any:
    torch.manual_seed(0)
    tokenizer = tokenizer_of("bert")
    sizes = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2, "max_position_embeddings": 64}
    backbone = NumerateTrunkForMaskedLM(NumerateTrunkConfig(vocab_size=len(tokenizer), dropout=0.0, **sizes))
    return numerate.attach(backbone, tokenizer, recipe, **options).eval()


class Answers:
    """A model that answers with a known function of the number in its text."""

    def __init__(self, function: Any) -> None:
        self.function, self.asked = function, 0

    def predict(self, texts: list[str]) -> Any:
        self.asked += len(texts)
        values = torch.tensor([self.function(float(text.split()[0])) for text in texts], dtype=torch.float64)
        return SimpleNamespace(median=lambda: values, mean=lambda: values + 1)


def test_the_curve_is_the_norm_of_x_u_plus_p() -> None:
    model = attached("xval")
    model.own_rows.data.mul_(10)
    values = [-40.0, -5.0, -1.0, -0.25, 0.25, 1.0, 5.0, 40.0, 1000.0]
    curve = embedding_curve(model, values, "it was {} or 7", slot=0)
    trunk, place = model.backbone.trunk, 3  # [CLS] it was [NUM]
    layer = trunk.blocks[0].norm1
    for value, vector in zip(values, curve.vectors, strict=True):
        mixed = value * model.own_rows[0] + trunk.positions.weight[place]
        centred = mixed - mixed.mean()
        wanted = centred / (centred.square().mean() + 1e-5).sqrt() * layer.weight + layer.bias
        torch.testing.assert_close(vector.float(), wanted, rtol=1e-4, atol=1e-4)
    # Unit weights: every vector is as long, and the large ones lie one upon the other.
    torch.testing.assert_close(curve.norm, torch.full((9,), 24.0**0.5, dtype=torch.float64), rtol=1e-3, atol=0)
    assert (curve.projection.diff() > 0).all(), "it goes one way"
    assert (float(curve.projection[0]), float(curve.projection[-1])) == pytest.approx((0, 1), abs=1e-6)
    assert curve.cosine[-2] > 0.99 > 0.9 > curve.cosine[3] and curve.cosine[0] < -0.9
    assert curve.values.tolist() == values


def test_the_curve_of_any_norm_and_slot() -> None:
    model = attached("xval")
    fixed = embedding_curve(model, [1.0, 2.0, 3.0], "it was {} or 7", slot=1).vectors
    assert torch.equal(fixed[0], fixed[2]), "the other number does not change"
    last = embedding_curve(model, [1.0, 2.0], layer=model.backbone.trunk.blocks[1].norm2).vectors
    assert not torch.equal(last, embedding_curve(model, [1.0, 2.0]).vectors)
    assert not model.backbone.trunk.blocks[0].norm1._forward_hooks, "nothing is left behind"
    for recipe, slot in (("xval", 1), ("digits", 0)):
        with pytest.raises(ValueError, match=f"no slot to number {slot}"):
            embedding_curve(attached(recipe), [1.0], slot=slot)


def test_smooth_answers_halve_their_steps_and_jumps_do_not() -> None:
    smooth = continuity(Answers(lambda x: x * x), "{} * 3 = [NUM]", -2, 2, 129)
    assert smooth.halving == pytest.approx(0.5, abs=0.02)
    middle = (smooth.values[1:] + smooth.values[:-1]) / 2
    torch.testing.assert_close(smooth.slopes, 2 * middle)
    assert smooth.largest_step == pytest.approx(4 - (2 - 4 / 128) ** 2)
    step = continuity(Answers(lambda x: float(x > 0.3)), "{} * 3 = [NUM]", -2, 2)
    assert (step.largest_step, step.halving) == (1.0, 1.0)
    constant = continuity(Answers(lambda x: 7.0), "{} [NUM]", 0, 1)
    assert np.isnan(constant.halving)
    assert continuity(Answers(abs), "{} [NUM]", 0, 1, 3, "mean").answers.tolist() == [1.0, 1.5, 2.0]
    for wrong in ({"points": 4}, {"low": 3.0}, {"text": "{} and 2"}):
        with pytest.raises(ValueError, match=", got "):
            continuity(Answers(abs), **{"text": "{} [NUM]", "low": 0.0, "high": 1.0} | wrong)


def test_an_attached_model_from_end_to_end() -> None:
    """xVal's answer follows its input smoothly; that of a model with a vector for each bin jumps."""
    text = "{} it was [NUM]"
    smooth = continuity(attached("xval"), text, 0.5, 1.5)
    assert smooth.halving == pytest.approx(0.5, abs=0.03) and smooth.largest_step > 0
    bins = continuity(attached("exponent", head="scalar"), text, 1, 30)
    assert bins.halving == pytest.approx(1.0, abs=0.01) and bins.largest_step > 0
    assert len(response(attached("xval"), text, np.linspace(0, 1, 300).tolist())) == 300, "in more than one batch"


def test_boosting_learns_products_and_not_wide_ones() -> None:
    config = ArithmeticConfig(operations=("+", "*"), digits=(1, 2))
    scores = boosting_baseline(ArithmeticProblems(config), train=3000, test=500, max_iter=60)
    assert 0.97 < scores["r2"].value < 1 and scores["r2"].count == 500
    assert scores["exact_match"].value < 0.2 and scores["invalid"].value == 0
    again = boosting_baseline(ArithmeticProblems(config), train=3000, test=500, max_iter=60)
    assert scores == again
    wide = boosting_baseline(ArithmeticProblems("wide-multiply"), train=1000, test=200, max_iter=5)
    assert wide["log_smape"].value < 0.2
