"""A head on selected tokens gives the same logits, losses and weights as on all tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from tiny_models import new_backbone, tokenizer_of

from numerate.modeling.attaching import attach
from numerate.modeling.picked_states import picks_states, states_at
from numerate_lab.tasks.masked_prediction import prediction_training as fitting
from numerate_lab.tasks.masked_prediction.masked_word import MaskedWords, WordTrial

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = ["It weighs 1,200 kg.", "A cat of 4 kg sat on the mat with 3 mice."]


@pytest.mark.parametrize(
    ("name", "recipe"),
    [("bert", "in-place"), ("roberta", "exponent"), ("distilbert", "subwords"), ("modernbert", "in-place")],
)
def test_logits_equal_those_of_all_tokens(name: str, recipe: str) -> None:
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
    assert torch.equal(again, whole), "the hook is removed"
    assert not picks_states(attach(new_backbone("gpt2"), tokenizer_of("gpt2"), "exponent"))


def test_training_gives_the_same_weights(prediction_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = WordTrial(
        source=str(prediction_folder / "data" / "units"), model=str(prediction_folder / "bert"), recipe="in-place",
        epochs=2, batch=16, most_train=32, train="all",
    )  # fmt: skip
    states = []
    for picked in (True, False):
        monkeypatch.setattr(fitting, "picks_states", lambda model, picked=picked: picked)
        task = MaskedWords(config)
        model = task.build()
        for module in model.modules():  # random draws depend on the shape
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        before = {key: value.clone() for key, value in model.state_dict().items()}
        done = task.train(model)
        states.append((done["train_loss"], model.state_dict()))
        assert any(not torch.equal(value.cpu(), before[key].cpu()) for key, value in model.state_dict().items())
    assert states[0][0] == pytest.approx(states[1][0], rel=1e-5)
    for key, value in states[0][1].items():
        torch.testing.assert_close(value, states[1][1][key], rtol=1e-3, atol=2e-5, msg=key)
