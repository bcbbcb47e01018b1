"""Parts that are new to a backbone: fitted to the training numbers once, and with a learning rate of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from tiny_models import new_backbone, tokenizer_of
from training_runs import Interrupt, are_equal, arguments, losses_of, model_of, rows_of, state_of, trainer_of
from transformers import Trainer

import numerate
from numerate.config import ConfigError
from numerate.modeling.fitting import first_numbers
from numerate.processing.encoding import NumberCollator
from numerate.training import NumberTrainer, parameter_groups

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = [f"The tower is {height} metres tall." for height in range(1000, 1040)]


def anchors(model: Any) -> torch.Tensor:
    return model.head.anchors.view(torch.float64).clone()


def test_the_trainer_fits_head_and_embedder_once(tmp_path: Path) -> None:
    model = model_of()
    before = anchors(model)
    rows = rows_of(model, TEXTS)
    trainer = NumberTrainer(model, arguments(tmp_path, max_steps=1), train_dataset=rows)
    assert not model.fitted and torch.equal(anchors(model), before)
    trainer.train()
    fitted = anchors(model)
    assert model.fitted and not torch.equal(fitted, before)
    other = rows_of(model, ["It costs 3 or 4."] * 4)
    NumberTrainer(model, arguments(tmp_path, max_steps=1), train_dataset=other).train()
    assert torch.equal(anchors(model), fitted), "a trained head keeps its components"
    model.save_pretrained(tmp_path / "saved", backbone=True)
    again = numerate.from_pretrained(tmp_path / "saved")
    NumberTrainer(again, arguments(tmp_path, max_steps=1), train_dataset=other).train()
    assert torch.equal(anchors(again), fitted), "and so does a loaded one"


def test_attach_fits_to_texts(tmp_path: Path) -> None:
    trained = model_of()
    NumberTrainer(trained, arguments(tmp_path, max_steps=1), train_dataset=rows_of(trained, TEXTS)).train()
    model = numerate.attach(new_backbone("bert"), tokenizer_of("bert"), "in-place", fit=iter(TEXTS))
    assert model.fitted and torch.equal(anchors(model), anchors(trained)), "one place that fits"
    with pytest.raises(TypeError, match="fit must be an iterable of texts, got one text: 'The tower"):
        numerate.attach(new_backbone("bert"), tokenizer_of("bert"), "in-place", fit=TEXTS[0])
    with pytest.raises(ValueError, match="fit has no numbers"):
        numerate.attach(new_backbone("bert"), tokenizer_of("bert"), "in-place", fit=[float("nan")])


def test_numbers_of_any_data_set() -> None:
    model = model_of()
    rows = rows_of(model, TEXTS)
    values = sorted(float(height) for height in range(1000, 1040))
    batch = model.processor(TEXTS, padding=True, return_tensors="pt")
    for name, data in (("rows", rows), ("iterator", iter(rows)), ("batches", [batch]), ("texts", [{"text": "5"}])):
        found = first_numbers(data).values().sort().values.tolist()
        assert found == ([] if name == "texts" else values), name


def rates(trainer: Any) -> dict[str, set[tuple[float, float]]]:
    """Learning rate and weight decay of the backbone's weights, and of all others."""
    names = {id(weight): name for name, weight in trainer.model.named_parameters()}
    found: dict[str, set[tuple[float, float]]] = {"backbone": set(), "new": set()}
    for group in trainer.optimizer.param_groups:
        for weight in group["params"]:
            own = "backbone" if names.pop(id(weight)).startswith("backbone.") else "new"
            found[own].add((group["lr"], group["weight_decay"]))
    assert not names, "every weight is in one group"
    return found


@pytest.mark.parametrize(("rate", "wanted", "new"), [(1e-5, None, 1e-4), (5e-5, "same", 5e-5), (1e-3, 2e-3, 2e-3)])
def test_new_parts_have_a_learning_rate_of_their_own(
    tmp_path: Path, rate: float, wanted: float | str | None, new: float
) -> None:
    more = {"number_learning_rate": wanted}
    trainer = trainer_of(tmp_path, more=more, learning_rate=rate, weight_decay=0.1, max_steps=4)
    trainer.create_optimizer_and_scheduler(4)
    assert rates(trainer) == {"backbone": {(rate, 0.1), (rate, 0.0)}, "new": {(new, 0.1), (new, 0.0)}}
    trainer.optimizer.step()
    trainer.lr_scheduler.step()
    later = {key: {lr for lr, _ in found} for key, found in rates(trainer).items()}
    assert later == {"backbone": {0.75 * rate}, "new": {0.75 * new}}, "the schedule scales both alike"


def test_groups_for_an_optimizer_of_ones_own(tmp_path: Path) -> None:
    model = numerate.attach(new_backbone("bert"), tokenizer_of("bert"), "in-place", fit=TEXTS)
    rows, frozen = rows_of(model, TEXTS), model.backbone.get_input_embeddings().weight.requires_grad_(False)
    optimizer = torch.optim.AdamW(parameter_groups(model, 1e-4))
    stock = Trainer(
        model, arguments(tmp_path, max_steps=1), NumberCollator(model.processor), rows, optimizers=(optimizer, None)
    )
    stock.train()
    inner = {id(weight) for weight in model.backbone.parameters() if weight is not frozen}
    found = [(group["initial_lr"], {id(weight) for weight in group["params"]}) for group in optimizer.param_groups]
    assert [rate for rate, _ in found] == [1e-4, 1e-3]
    assert found[0][1] == inner and found[1][1].isdisjoint(inner)
    assert sum(len(weights) for _, weights in found) == len(list(model.parameters())) - 1


def test_groups_of_a_model_inside_another() -> None:
    """PEFT, DDP and others put words before the names of weights."""
    from peft import LoraConfig, get_peft_model

    model = numerate.attach(new_backbone("bert"), tokenizer_of("bert"), fit=TEXTS)
    for whole in (get_peft_model(model, LoraConfig(target_modules=["query"])), torch.nn.Sequential(model)):
        new, rest = parameter_groups(whole, 1e-4)[::-1]
        inner = {id(weight) for weight in model.backbone.parameters() if weight.requires_grad}
        assert {id(weight) for weight in rest["params"]} == inner and rest["lr"] == 1e-4
        assert inner.isdisjoint(map(id, new["params"])) and new["params"] and new["lr"] == 1e-3


def test_a_wrong_rate_is_refused(tmp_path: Path) -> None:
    for rate in ("fast", None, -1.0):
        with pytest.raises(ConfigError, match=f"the learning rate must be a number from 0, got {rate!r}"):
            parameter_groups(torch.nn.Linear(1, 1), rate)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="number_learning_rate must be a rate, 'same' or None, got 'fast'"):
        trainer_of(tmp_path, more={"number_learning_rate": "fast"})


def test_a_run_with_two_rates_resumes(tmp_path: Path) -> None:
    options = {"learning_rate": 1e-4, "max_steps": 4, "save_strategy": "steps", "save_steps": 2}
    whole = trainer_of(tmp_path / "whole", **options)
    whole.train()
    with pytest.raises(KeyboardInterrupt):
        trainer_of(tmp_path / "cut", more={"callbacks": [Interrupt(3)]}, **options).train()
    again = trainer_of(tmp_path / "cut", **options)
    again.train(resume_from_checkpoint=True)
    assert len(again.optimizer.param_groups) == 4 and losses_of(again) == losses_of(whole)
    assert are_equal(state_of(again), state_of(whole))


def test_a_trained_head_is_not_fitted_again(tmp_path: Path) -> None:
    """Neither after a resumed training, nor after one of the stock Trainer."""
    model = model_of()
    rows = rows_of(model, TEXTS)
    NumberTrainer(
        model, arguments(tmp_path / "a", max_steps=2, save_strategy="steps", save_steps=1), train_dataset=rows
    ).train()
    resumed = model_of()
    options = {"save_strategy": "steps", "save_steps": 1}
    NumberTrainer(resumed, arguments(tmp_path / "a", max_steps=3, **options), train_dataset=rows).train(True)
    fitted = anchors(resumed)
    other = rows_of(model, ["It costs 3 or 4."] * 4)
    NumberTrainer(resumed, arguments(tmp_path / "b", max_steps=1), train_dataset=other).train()
    assert resumed.fitted and torch.equal(anchors(resumed), fitted)
    stock = model_of()
    before = anchors(stock)
    Trainer(stock, arguments(tmp_path / "c", max_steps=1), NumberCollator(stock.processor), rows).train()
    NumberTrainer(stock, arguments(tmp_path / "d", max_steps=1), train_dataset=other).train()
    assert torch.equal(anchors(stock), before)


def test_adapters_of_a_whole_model(tmp_path: Path) -> None:
    from peft import LoraConfig, PeftModel, get_peft_model

    model = model_of("gpt2")
    rows = rows_of(model, TEXTS)
    whole: Any = get_peft_model(model, LoraConfig(target_modules=["c_attn"], fan_in_fan_out=True))
    options = arguments(tmp_path, max_steps=2, learning_rate=1e-5, save_strategy="steps", save_steps=2)
    trainer = NumberTrainer(whole, options, train_dataset=rows, eval_dataset=rows[:4])
    trainer.train()
    assert model.fitted and not torch.equal(anchors(model), anchors(model_of("gpt2")))
    rates = {id(weight): group["initial_lr"] for group in trainer.optimizer.param_groups for weight in group["params"]}
    assert rates[id(model.own_rows)] > rates[id(next(w for n, w in model.named_parameters() if "lora_A" in n))]
    measured = trainer.evaluate()
    assert measured["eval_numbers"] > 0 and measured["eval_loss"] > 0
    trainer.save_pretrained(tmp_path / "out")
    for folder in (tmp_path / "out", tmp_path / "checkpoint-2"):
        other = model_of("gpt2")
        PeftModel.from_pretrained(other, folder)
        asked = TEXTS[0].replace("1000", "[NUM]")
        assert torch.equal(other.predict(asked).mean(), model.predict(asked).mean())
    with pytest.raises(ValueError, match="whole NumberModel: load it with peft"):
        numerate.from_pretrained(tmp_path / "checkpoint-2")
    resumed = NumberTrainer(
        get_peft_model(model_of("gpt2"), LoraConfig(target_modules=["c_attn"], fan_in_fan_out=True)),
        arguments(tmp_path, max_steps=4, learning_rate=1e-5), train_dataset=rows,
    )  # fmt: skip
    resumed.train(resume_from_checkpoint=True)
    assert torch.equal(anchors(resumed._numbers), anchors(model))


def test_an_empty_data_set_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="train_dataset is empty"):
        NumberTrainer(model_of(), arguments(tmp_path, max_steps=1), train_dataset=[]).train()
    with pytest.raises(TypeError, match="takes a model, not model_init: make a NumberTrainer for each trial"):
        NumberTrainer(model_init=model_of, args=arguments(tmp_path), train_dataset=[])


def test_a_bare_encoder_without_labels_or_objective_is_refused(tmp_path: Path) -> None:
    """The stock Trainer lists the model's outputs, and does not say what to do."""
    rows = [dict(model_of("encoder").processor(text)) for text in TEXTS]
    said = r"train_dataset\[0\] has no labels, and BertModel has no loss without: add them, or give attach .*"
    with pytest.raises(ValueError, match=said):
        NumberTrainer(model_of("encoder"), arguments(tmp_path), train_dataset=rows).train()
    own = numerate.attach(
        new_backbone("encoder"), tokenizer_of("encoder"), fit=TEXTS, objective={"kind": "masked", "what": "numbers"}
    )
    NumberTrainer(own, arguments(tmp_path, max_steps=1), train_dataset=rows).train()
    mean = NumberTrainer(
        model_of("encoder"), arguments(tmp_path, max_steps=1), train_dataset=rows,
        compute_loss_func=lambda outputs, *_, **__: outputs.last_hidden_state.square().mean(),
    )  # fmt: skip
    assert mean.train().global_step == 1, "a loss of one's own needs no labels"


def test_rows_that_the_processor_did_not_make_are_refused(tmp_path: Path) -> None:
    from datasets import Dataset

    model = model_of()
    texts = r"train_dataset\[0\] is ['\"].*The tower .*['\"]: encode texts, as in \[dict\(model\.processor\(text\)\)"
    bare = r"train_dataset\[0\] has no number_slots, as of a bare tokenizer: use dict\(model\.processor\(text\)\)"
    named = r"train_dataset\[0\] has sample_id='a7': use an integer, such as the index of the text"
    given: list[tuple[Any, str]] = [
        (TEXTS, texts),
        ([{"text": text} for text in TEXTS], texts),
        (Dataset.from_dict({"text": TEXTS}), texts),
        ([dict(tokenizer_of("bert")(text)) for text in TEXTS], bare),
        (Dataset.from_dict(dict(tokenizer_of("bert")(TEXTS))), bare),
        ([dict(model.processor(text)) | {"sample_id": "a7"} for text in TEXTS], named),
    ]
    for rows, said in given:
        with pytest.raises(TypeError, match=said):
            NumberTrainer(model, arguments(tmp_path), train_dataset=rows).train()
        with pytest.raises(TypeError, match=said.replace("train", "eval", 1)):
            NumberTrainer(model, arguments(tmp_path), eval_dataset=rows).evaluate()
    with pytest.raises(TypeError, match="got 'The tower is 1000 metres tall"):
        NumberCollator(model.processor)(TEXTS)  # type: ignore[arg-type]
    own = NumberTrainer(
        model, arguments(tmp_path, max_steps=1, remove_unused_columns=False), train_dataset=TEXTS,
        data_collator=lambda rows: dict(model.processor(rows, padding=True, return_tensors="pt")),
    )  # fmt: skip
    assert own.train().global_step == 1, "a collator of one's own may encode texts"
