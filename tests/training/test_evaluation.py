"""Training, evaluation and `predict` ask a model in the same way, and the input tells nothing about a hidden number."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tiny_models import new_backbone, tokenizer_of

import numerate
from numerate.modeling.recipe import load_recipe
from numerate.processing.slot_positions import table_of
from numerate.training import evaluation

TEXT = "The tower is {} metres tall, rose 3.2% to 45.7 and weighs 10,100 tons."
SHORT, LONG = "7", "1,234,567.5"
WITH_HEAD = [name for name in numerate.recipe_names() if load_recipe(name).head is not None]


def model_of(recipe: str, **objective: Any) -> Any:
    torch.manual_seed(0)
    plan = {"kind": "masked", "scale_in_sight": 1.0} | objective
    return numerate.attach(new_backbone("bert"), tokenizer_of("bert"), recipe, objective=plan).eval()


def batch_of(model: Any, *texts: str) -> dict[str, Any]:
    return dict(model.processor(list(texts), padding=True, return_tensors="pt"))


def inputs_of(model: Any, work: Any, *positional: Any, **options: Any) -> list[dict[str, torch.Tensor]]:
    """What the backbone gets, row by row and without padding, while `work` runs."""
    found: list[dict[str, torch.Tensor]] = []

    def keep(_: Any, __: Any, given: dict[str, Any]) -> None:
        fields = {key: value for key, value in given.items() if isinstance(value, torch.Tensor)}
        for row, real in enumerate(given["attention_mask"].bool()):
            found.append({key: value[row][real] for key, value in fields.items()})

    hook = model.backbone.register_forward_pre_hook(keep, with_kwargs=True)
    with torch.no_grad():
        work(*positional, **options)
    hook.remove()
    return found


def assert_same(one: dict[str, torch.Tensor], two: dict[str, torch.Tensor], what: str) -> None:
    assert one.keys() == two.keys(), what
    for key, value in one.items():
        said = f"{what}, {key}: "
        torch.testing.assert_close(two[key], value, rtol=1e-5, atol=1e-6, msg=lambda text, said=said: said + text)


CASES = [{}, {"hide_slot": True}, {"kind": "distillation"}, {"kind": "column"}]


@pytest.mark.parametrize("recipe", WITH_HEAD)
def test_training_evaluation_and_predict_ask_the_same(recipe: str) -> None:
    for options in CASES:
        model = model_of(recipe, what="numbers", **options)
        batch = batch_of(model, TEXT.format(SHORT), TEXT.format(LONG), "In 1999 about 45 kg cost much.")
        values = table_of(batch).values()[0].tolist()
        for value, text in ((7.0, TEXT.format("[NUM]")), (45.7, TEXT.format(SHORT).replace("45.7", "[NUM]"))):
            wanted = torch.zeros_like(batch["number_given"], dtype=torch.bool)
            wanted[:2, values.index(value)] = True
            trained = inputs_of(model, model, **batch, number_wanted=wanted, return_loss=True)
            asked = inputs_of(model, evaluation.asked_alone, model, batch | {"number_wanted": wanted})
            predicted = inputs_of(model, model.predict, text)
            assert len(trained) == 3 and len(asked) == 2 and len(predicted) == 1
            assert_same(predicted[0], trained[0], f"training, {options}, {value}")
            assert_same(predicted[0], asked[0], f"evaluation, {options}, {value}")
            if value == 7.0:
                assert_same(trained[0], trained[1], f"training of a longer number, {options}")
                assert_same(asked[0], asked[1], f"evaluation of a longer number, {options}")


def test_a_percent_sign_stays_in_sight() -> None:
    model = model_of("in-place")
    batch = batch_of(model, TEXT.format(SHORT))
    sign = batch["input_ids"] == model.processor.tokenizer.convert_tokens_to_ids("%")
    batch["number_scale"] = torch.where(sign & (batch["number_slots"] != 0), -4, 0)
    found = evaluation.asked_alone(model, batch)
    assert found[:, 3].tolist() == pytest.approx([7.0, 3.2, 45.7, 10_100.0])
    with torch.no_grad():
        said = model.predict(TEXT.format(SHORT).replace("3.2%", "[NUM]%"))
    torch.testing.assert_close(found[1:2, 0], said.median().double(), rtol=1e-5, atol=1e-6)


def test_rows_chunks_and_numbers_that_are_asked_in_the_text() -> None:
    model = model_of("luna")
    batch = batch_of(model, TEXT.format(SHORT), "It rose 3.2% to [NUM] and 8.", "No number here.")
    found = evaluation.asked_alone(model, batch)
    percent = 3.2 if "number_scale" in batch else 0.032
    assert found[:, 3].tolist() == pytest.approx([7.0, percent, 45.7, 10_100.0, percent, 8.0])
    torch.testing.assert_close(evaluation.asked_alone(model, batch, 1, passes=5), found[:4], rtol=1e-5, atol=1e-5)
    assert evaluation.asked_alone(model, batch, 0).shape == (0, 4)
    assert evaluation.asked_alone(model, batch_of(model, "No number here.")).shape == (0, 4)
    counts = evaluation.measure(found)
    assert counts["numbers"] == 6 and 0 <= counts["within_2"] <= 1
    model.train()
    assert evaluation.asked_alone(model, batch).allclose(found) and model.training, "without dropout"


def test_predict_refuses_a_model_that_never_hid_numbers() -> None:
    with pytest.raises(ValueError, match=r"masks only words \(what='words'\)"):
        model_of("in-place", what="words").predict("It rose to [NUM].")
    with pytest.raises(ValueError, match=r"joint=False"):
        model_of("luna", joint=False).predict("It rose to [NUM].")
    assert len(model_of("luna", number_ratio=0.0).predict("It rose to [NUM].")) == 1
