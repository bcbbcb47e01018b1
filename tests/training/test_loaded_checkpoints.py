"""Checkpoints and `save_model` of any Trainer load with `numerate.from_pretrained`."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny_models import assert_same, new_backbone, tokenizer_of
from training_runs import TEXTS, arguments, rows_of
from transformers import AutoModel, AutoModelForSequenceClassification, Trainer

import numerate
from numerate.modeling.artefact import ArtefactError
from numerate.processing.encoding import NumberCollator
from numerate.training import NumberTrainer

if TYPE_CHECKING:
    from pathlib import Path


def base_in(folder: Path, name: str = "bert") -> Any:
    new_backbone(name).save_pretrained(folder)
    tokenizer_of(name).save_pretrained(folder)
    return type(new_backbone(name)).from_pretrained(folder, attn_implementation="eager")


def train(model: Any, folder: Path, kind: Any, **options: Any) -> Any:
    collator = NumberCollator(model.processor.tokenizer)
    args = arguments(folder, max_steps=2, save_strategy="steps", save_steps=2, **options)
    trainer = kind(model, args, data_collator=collator, train_dataset=rows_of(model, TEXTS[:8]))
    trainer.train()
    return trainer


@pytest.mark.parametrize("kind", [Trainer, NumberTrainer])
@pytest.mark.parametrize("how", ["full", "lora", "added", "tied"])
def test_checkpoints_load(how: str, kind: Any, tmp_path: Path) -> None:
    from peft import LoraConfig, get_peft_model

    name = "gpt2" if how == "tied" else "bert"
    backbone, lora = base_in(tmp_path / "base", name), LoraConfig(r=2, target_modules=["query", "value"])
    if how == "lora":
        backbone = get_peft_model(backbone, lora)
    elif how == "added":
        backbone.add_adapter(lora)
    model = numerate.attach(backbone, tokenizer_of(name), "in-place", fit=TEXTS)
    trainer = train(model, tmp_path / "run", kind)
    trainer.save_model(str(tmp_path / "saved"))
    for folder in (tmp_path / "run" / "checkpoint-2", tmp_path / "saved"):
        again = numerate.from_pretrained(folder, attn_implementation="eager")
        assert_same(model.eval(), again, name)
        assert again.fitted
    # What was loaded from a checkpoint keeps its weights when it is saved.
    again.save_pretrained(tmp_path / "again")
    assert_same(model, numerate.from_pretrained(tmp_path / "again", attn_implementation="eager"), name)
    if kind is Trainer:
        given = numerate.from_pretrained(tmp_path / "saved", base_in(tmp_path / "other", name), tokenizer_of(name))
        assert_same(model, given, name)


def test_a_checkpoint_of_a_new_backbone_needs_no_other_folder(tmp_path: Path) -> None:
    model = numerate.attach(new_backbone("bert"), tokenizer_of("bert"), "luna")
    train(model, tmp_path, NumberTrainer)
    again = numerate.from_pretrained(tmp_path / "checkpoint-2", attn_implementation="eager")
    assert_same(model.eval(), again, "bert")
    assert numerate.from_pretrained(tmp_path / "checkpoint-2", dtype=torch.bfloat16).backbone.dtype == torch.bfloat16


@pytest.mark.parametrize("spoilt", ["no config", "not JSON", "extra", "missing", "shape", "kind"])
def test_spoilt_checkpoints_are_refused(spoilt: str, tmp_path: Path) -> None:
    model = numerate.attach(new_backbone("bert"), tokenizer_of("bert"), "luna")
    state = {key: value.clone() for key, value in model.state_dict().items()}
    text = json.loads(bytes(state["number_config"].tolist()))
    if spoilt == "no config":
        del state["number_config"]
    elif spoilt == "not JSON":
        state["number_config"] = state["number_config"][1:].clone()
    elif spoilt == "kind":
        text["model"]["head"]["kind"] = "os.system"
        state["number_config"] = torch.tensor(list(json.dumps(text).encode()), dtype=torch.uint8)
    elif spoilt == "extra":
        state["backbone.more"] = torch.zeros(3)
    elif spoilt == "missing":
        del state["backbone.bert.embeddings.word_embeddings.weight"]
    else:
        state["own_rows"] = torch.zeros(7, 7)
    save_file(state, tmp_path / "model.safetensors")
    with pytest.raises(ArtefactError):
        numerate.from_pretrained(tmp_path, new_backbone("bert"), tokenizer_of("bert"))


def test_the_config_in_a_state_dict_is_ignored_when_it_is_loaded(tmp_path: Path) -> None:
    one, two = (numerate.attach(new_backbone("bert"), tokenizer_of("bert"), name) for name in ("luna", "luna"))
    save_file(one.state_dict(), tmp_path / "file")
    two.load_state_dict(load_file(tmp_path / "file"))
    assert "number_config" not in one.own_state()
    old = {key: value for key, value in one.state_dict().items() if key != "number_config"}
    assert not two.load_state_dict(old).missing_keys, "state dicts of earlier versions load"


def test_the_newer_of_two_saved_models_is_loaded(tmp_path: Path) -> None:
    model = numerate.attach(base_in(tmp_path / "base"), tokenizer_of("bert"), "in-place", fit=TEXTS)
    model.save_pretrained(tmp_path / "out")
    trainer = train(model, tmp_path / "run", NumberTrainer, learning_rate=1e-2)
    trainer.save_model(str(tmp_path / "out"))
    again = numerate.from_pretrained(tmp_path / "out", attn_implementation="eager")
    assert_same(model.eval(), again, "bert")
    again.save_pretrained(tmp_path / "out")  # now both are there, and nothing says which is newer
    with pytest.raises(ArtefactError, match=r"has number_config\.json and a Trainer's model\.safetensors: remove"):
        numerate.from_pretrained(tmp_path / "out")


def test_a_checkpoint_on_a_given_backbone_is_saved_with_it(tmp_path: Path) -> None:
    model = numerate.attach(base_in(tmp_path / "base"), tokenizer_of("bert"), "in-place", fit=TEXTS)
    train(model, tmp_path / "run", NumberTrainer, learning_rate=1e-2)
    given = base_in(tmp_path / "base")
    loaded = numerate.from_pretrained(tmp_path / "run" / "checkpoint-2", given)
    loaded.save_pretrained(tmp_path / "out")
    assert_same(model.eval(), numerate.from_pretrained(tmp_path / "out", attn_implementation="eager"), "bert")


def test_a_new_classifier_is_saved_with_its_head(tmp_path: Path) -> None:
    new_backbone("bert").save_pretrained(tmp_path / "base")
    classifier = AutoModelForSequenceClassification.from_pretrained(tmp_path / "base", num_labels=3)
    model = numerate.attach(classifier, tokenizer_of("bert"), freeze=True)
    model.save_pretrained(tmp_path / "out")
    again = numerate.from_pretrained(tmp_path / "out")
    assert torch.equal(again.backbone.classifier.weight, model.backbone.classifier.weight)


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_evaluation_with_the_padding_collator_of_transformers(name: str, tmp_path: Path) -> None:
    from transformers import DataCollatorWithPadding

    model = numerate.attach(new_backbone(name), tokenizer_of(name), "in-place", fit=TEXTS)
    rows = rows_of(model, TEXTS[:8])
    collator = DataCollatorWithPadding(model.processor)
    trainer = NumberTrainer(model, arguments(tmp_path), data_collator=collator, eval_dataset=rows)
    assert trainer.evaluate()["eval_numbers"] > 0


def stock_file(model: Any, folder: Path, **options: Any) -> Path:
    """What `save_model` of the stock Trainer writes."""
    Trainer(model, arguments(folder), **options).save_model(str(folder))
    return folder


@pytest.mark.parametrize("adapters", [False, True])
def test_a_stock_checkpoint_of_a_classifier(adapters: bool, tmp_path: Path) -> None:
    from peft import LoraConfig, get_peft_model

    base_in(tmp_path / "base")
    classifier: Any = AutoModelForSequenceClassification.from_pretrained(
        tmp_path / "base", num_labels=5, attn_implementation="eager"
    )
    if adapters:
        classifier = get_peft_model(classifier, LoraConfig(r=2, target_modules=["query"]))
    model = numerate.attach(classifier, tokenizer_of("bert"))
    again = numerate.from_pretrained(stock_file(model, tmp_path / "out"), attn_implementation="eager")
    assert again.backbone.config.num_labels == 5
    assert_same(model.eval(), again, "bert")


def test_a_stock_checkpoint_of_an_encoder_without_pooling(tmp_path: Path) -> None:
    base_in(tmp_path / "base")
    encoder = AutoModel.from_pretrained(tmp_path / "base", add_pooling_layer=False, attn_implementation="eager")
    model = numerate.attach(encoder, tokenizer_of("bert"), fit=TEXTS)
    again = numerate.from_pretrained(stock_file(model, tmp_path / "out"), attn_implementation="eager")
    assert again.backbone.pooler is None
    assert_same(model.eval(), again, "bert")
    NumberTrainer(model, arguments(tmp_path / "number")).save_model()
    assert numerate.from_pretrained(tmp_path / "number").backbone.pooler is None


def test_a_checkpoint_that_the_stock_trainer_saves_again(tmp_path: Path) -> None:
    model = numerate.attach(base_in(tmp_path / "base"), tokenizer_of("bert"), fit=TEXTS)
    train(model, tmp_path / "run", NumberTrainer, learning_rate=1e-2)
    loaded = numerate.from_pretrained(tmp_path / "run" / "checkpoint-2", attn_implementation="eager")
    folder = stock_file(loaded, tmp_path / "out", processing_class=loaded.processor)
    shutil.rmtree(tmp_path / "run")
    assert_same(model.eval(), numerate.from_pretrained(folder, attn_implementation="eager"), "bert")


@pytest.mark.parametrize("key", ["num_hidden_layers", "attn_implementation", "auto_map"])
def test_a_hostile_config_in_a_stock_checkpoint(key: str, tmp_path: Path) -> None:
    model = numerate.attach(base_in(tmp_path / "base"), tokenizer_of("bert"), "luna")
    state = {name: value.clone() for name, value in model.state_dict().items()}
    text = json.loads(bytes(state["number_config"].tolist()))
    value: Any = {"num_hidden_layers": 10**6, "attn_implementation": "evil/kernel", "auto_map": {"AutoModel": "a.B"}}
    text["base"] |= {key: value[key], "model_type": "nosuch" if key == "auto_map" else "bert"}
    state["number_config"] = torch.tensor(list(json.dumps(text).encode()), dtype=torch.uint8)
    save_file(state, tmp_path / "model.safetensors")
    with pytest.raises(ArtefactError):
        numerate.from_pretrained(tmp_path)
