"""What the papers' code does differently: embeddings applied twice, rewritten numbers, own tokens, rates by part."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForMaskedLM

from numerate.config import ConfigError
from numerate.processing.number_table import NumberTable
from numerate_lab.tasks.masked_prediction.masked_word import MaskedWords, WordTrial
from numerate_lab.tasks.masked_prediction.number_sentences import sentence_of_row
from numerate_lab.tasks.masked_prediction.prediction_setup import _embed_twice, build, load_split
from numerate_lab.tasks.masked_prediction.prediction_training import _optimizer

if TYPE_CHECKING:
    from pathlib import Path

ROWS = [
    {"comment": "The bridge is 1,200 feet long.", "offset": 14, "length": 5, "number": "1200", "unit": "feet"},
    {"comment": "It has a mass of 0.125 grams.", "offset": 17, "length": 5, "number": "0.125", "unit": "grams"},
    {"comment": "A cat of 4 kg in 2014.", "offset": 9, "length": 1, "number": "4", "unit": "kg"},
]


@pytest.fixture(scope="module")
def config(prediction_folder: Path) -> WordTrial:
    source = str(prediction_folder / "data" / "units")
    return WordTrial(source=source, model=str(prediction_folder / "bert"), recipe="subwords")


@pytest.mark.parametrize("recipe", ["subwords", "exponent"])
def test_embedded_twice_equals_the_released_code(recipe: str, config: WordTrial) -> None:
    model = build(dataclasses.replace(config, recipe=recipe, embedded="twice")).eval()
    batch: Any = model.processor([row["comment"] for row in ROWS], padding=True, return_tensors="pt")
    bare = AutoModelForMaskedLM.from_pretrained(config.model, dtype=torch.float32).eval()
    own = batch["input_ids"] >= model.processor.first_id
    embedder: Any = model.embedder
    with torch.no_grad():
        found = model(**batch, return_loss=False).logits[..., : bare.config.vocab_size]
        vectors = bare.bert.embeddings(input_ids=batch["input_ids"].masked_fill(own, 0))
        if recipe == "exponent":
            names = ("bits", "chars", "precision", "given")
            table = NumberTable(*(batch[f"number_{name}"] for name in names))
            for row, column in (batch["number_slots"] > 0).nonzero().tolist():
                slot = int(batch["number_slots"][row, column]) - 1
                vectors[row, column] = embedder(table[torch.tensor([row]), torch.tensor([slot])])[0]
        wanted = bare(inputs_embeds=vectors, attention_mask=batch["attention_mask"]).logits
        once = build(dataclasses.replace(config, recipe=recipe)).eval()(**batch, return_loss=False).logits
    real = batch["attention_mask"].bool()
    torch.testing.assert_close(found[real], wanted[real], rtol=1e-4, atol=1e-5)
    assert not torch.allclose(found[real], once[..., : found.shape[-1]][real], atol=1e-3)


def test_rewritten_numbers(config: WordTrial) -> None:
    texts = [sentence_of_row(row).rendered().text for row in ROWS]
    assert texts == ["The bridge is 1200 feet long.", "It has a mass of 0.12 grams.", "A cat of 4 kg in 2014."]
    one = sentence_of_row({"comment": "1 kg", "offset": 0, "length": 1, "number": "1"}).rendered()
    assert one.text == "1.0 kg" and one.numeral is not None and one.numeral.value == 1.0, "as in the released code"
    (before, words), (after, same) = (
        load_split(dataclasses.replace(config, rendered=rendered), "test") for rendered in (False, True)
    )
    assert [s.rendered().text for s in before] == [s.text for s in after] != [s.text for s in before]
    assert np.array_equal(words.target, same.target) and np.array_equal(words.sentence, same.sentence)


def test_own_words_are_the_tokens_of_an_encoding(config: WordTrial) -> None:
    own = dataclasses.replace(config, words="own")
    sentences, more = load_split(own, "test")
    fewer = load_split(config, "test")[1]
    keys = [
        set(zip(words.sentence.tolist(), words.start.tolist(), words.target.tolist(), strict=True))
        for words in (fewer, more)
    ]
    assert keys[0] < keys[1]
    inside = np.zeros(len(more), dtype=bool)
    for index, row in enumerate(more.sentence):
        numeral: Any = sentences[row].numeral
        inside[index] = more.start[index] < numeral.end and more.end[index] > numeral.start
    assert inside.any()
    missing = {}
    for recipe in ("subwords", "exponent"):
        task = MaskedWords(dataclasses.replace(own, recipe=recipe))
        missing[recipe] = task.encoded(task.build(), "test").places < 0
    assert not missing["subwords"][inside].any() and missing["exponent"][inside].all()
    assert not missing["exponent"][~inside].any()
    scores = MaskedWords(own).scores(build(own), "test")
    assert np.isfinite(scores.nll).all()


def test_embedded_twice_needs_an_embedding_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = type("Bare", (), {"base_model": None})
    monkeypatch.setattr("numerate_lab.tasks.masked_prediction.prediction_setup.base_of", lambda backbone: bare)
    with pytest.raises(ConfigError, match="embedded='twice' needs an encoder with an embedding layer"):
        _embed_twice(type("M", (), {"backbone": None}))  # type: ignore[arg-type]


def test_learning_rates_by_part(config: WordTrial) -> None:
    options: Any = {"recipe": "in-place", "rate": 1e-3, "number_rate": 1e-2}
    for train, backbone_rate in (("head", None), ("all", 1e-4)):
        plan = dataclasses.replace(config, train=train, backbone_rate=backbone_rate, **options)
        model: Any = build(plan)
        rates = {
            id(weight): group["lr"] for group in _optimizer(model, plan).param_groups for weight in group["params"]
        }
        assert {rates[id(w)] for part in (model.embedder, model.gate) for w in part.parameters()} == {1e-2}
        assert rates[id(model.own_rows)] == rates[id(model.backbone.cls.predictions.bias)] == 1e-3
        encoder = {rates.get(id(weight)) for weight in model.backbone.bert.parameters()}
        assert encoder == ({None} if train == "head" else {1e-4})
        assert len(rates) == sum(weight.requires_grad for weight in model.parameters())
    plain = dataclasses.replace(config, recipe="in-place", rate=1e-3)
    assert [group["lr"] for group in _optimizer(build(plain), plain).param_groups] == [1e-3]
