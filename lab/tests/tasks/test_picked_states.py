"""A head run on some tokens alone gives the logits, losses and weights that it gives on all."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import number_data
import pytest
import torch
from tiny_models import new_backbone, tokenizer_of

from numerate.modeling.attaching import attach
from numerate_lab.tasks.masked_prediction import fitting as literacy_fit
from numerate_lab.tasks.masked_prediction.masked_word import MaskedWord
from numerate_lab.tasks.masked_prediction.picked_states import picks_states, states_at
from numerate_lab.tasks.masked_prediction.prediction_setup import LiteracyConfig

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = ["It weighs 1,200 kg.", "A cat of 4 kg sat on the mat with 3 mice."]


@pytest.mark.parametrize("name", ["bert", "roberta", "distilbert", "modernbert"])
@pytest.mark.parametrize("recipe", ["exponent", "in-place", "default"])
def test_logits_are_those_of_all_tokens(name: str, recipe: str) -> None:
    model = attach(new_backbone(name), tokenizer_of(name), recipe).eval()
    assert picks_states(model)
    batch = model.processor(TEXTS, padding=True, return_tensors="pt")
    rows, columns = torch.tensor([1, 0, 1]), torch.tensor([4, 2, 1])
    with torch.no_grad():
        whole = model(**batch, return_loss=False).logits
        with states_at(model, rows, columns):
            some = model(**batch, return_loss=False).logits
        again = model(**batch, return_loss=False).logits
    torch.testing.assert_close(some[:, 0], whole[rows, columns], rtol=1e-5, atol=1e-6)
    assert torch.equal(again, whole), "the hook is gone"


def test_a_causal_model_is_left_alone() -> None:
    assert not picks_states(attach(new_backbone("gpt2"), tokenizer_of("gpt2"), "exponent"))


@pytest.mark.parametrize("recipe", ["exponent", "in-place"])
def test_training_gives_the_same_weights(recipe: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir()
    source, folder = number_data.write_data(tmp_path / "data"), number_data.write_model(tmp_path / "model")
    config = LiteracyConfig(source=source, model=folder, recipe=recipe, epochs=2, batch=16, most_train=32, train="all")
    states = []
    for picked in (True, False):
        monkeypatch.setattr(literacy_fit, "picks_states", lambda model, picked=picked: picked)
        task = MaskedWord(replace(config))
        model = task.build()
        for module in model.modules():  # whose draws depend on the shape
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        before = {key: value.clone() for key, value in model.state_dict().items()}
        done = task.train(model)
        states.append((done["train_loss"], model.state_dict()))
        assert any(not torch.equal(value.cpu(), before[key].cpu()) for key, value in model.state_dict().items())
    assert states[0][0] == pytest.approx(states[1][0], rel=1e-5)
    for key, value in states[0][1].items():
        torch.testing.assert_close(value, states[1][1][key], rtol=1e-3, atol=2e-5, msg=key)
