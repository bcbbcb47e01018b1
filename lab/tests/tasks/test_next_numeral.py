"""The next-numeral task: what it measures, against sums by hand."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch

from numerate.processing.number_table import NumberTable
from numerate_lab.papers.numerals2018.numeral_models import config_for
from numerate_lab.tasks.next_numeral.next_numeral import BatchesByLength, NextNumeral


@pytest.fixture(scope="module")
def task() -> NextNumeral:
    return NextNumeral(dataclasses.replace(config_for("clinical", "h-softmax", "tiny"), most_texts=12))


@pytest.mark.parametrize("name", ["softmax", "h-softmax", "mog"])
def test_perplexities_are_the_sums_of_what_the_model_says(task: NextNumeral, name: str) -> None:
    config = dataclasses.replace(config_for("clinical", name, "tiny"), most_texts=12)
    model = task.build(config)
    found = task.evaluate(model, "dev", size=5)
    words, numerals = [], []
    for text in task.texts["dev"]:
        batch = dict(model.processor([text], return_tensors="pt", truncation=True, max_length=1024))
        with torch.no_grad():
            logs = model.eval()(**batch, return_loss=False).logits[0].double().log_softmax(-1)
        distribution, numbers = model.numbers_of(batch)
        said = iter(distribution.log_prob(numbers).tolist())
        for place, token in enumerate(batch["input_ids"][0].tolist()[1:]):
            term = float(logs[place, token])
            if batch["number_slots"][0, place + 1]:
                numerals.append(term + next(said))
            else:
                words.append(term)
    for part, terms in (("words", words), ("numerals", numerals), ("all", words + numerals)):
        assert found.perplexities[part].pp == pytest.approx(math.exp(-sum(terms) / len(terms)), rel=1e-4)
        assert found.perplexities[part].count == len(terms)
    assert found.perplexities["words"].app > found.perplexities["words"].pp
    assert (found.perplexities["numerals"].app > found.perplexities["numerals"].pp) == (name != "mog")


def test_flat_and_hierarchical_models_are_adjusted_alike(task: NextNumeral) -> None:
    gaps = []
    for name in ("softmax", "h-softmax"):
        model = task.build(dataclasses.replace(config_for("clinical", name, "tiny"), most_texts=12))
        found = task.evaluate(model, "dev").perplexities
        gaps.append([math.log(found[part].app) - math.log(found[part].pp) for part in ("words", "numerals", "all")])
    assert gaps[0] == pytest.approx(gaps[1], rel=1e-9)


def test_batches_hold_every_text_once(task: NextNumeral) -> None:
    model = task.build(task.config)
    batches = task.batches(model, "train", 5).batches
    assert sum(len(batch["input_ids"]) for batch in batches) == len(task.texts["train"])
    lengths = [int(batch["attention_mask"].sum(1).max()) for batch in batches]
    assert lengths == sorted(lengths)
    assert isinstance(task.batches(model, "train", 5), BatchesByLength)


def test_training_lowers_the_dev_loss_and_keeps_the_best(task: NextNumeral) -> None:
    config = dataclasses.replace(config_for("clinical", "mog", "tiny"), most_texts=12, batch=4, epochs=2, rate=1e-2)
    model = task.build(config)
    told = task.train(model, config, use_cpu=True)
    assert told["epochs"] == 2 and told["dev_losses"][1] < told["dev_losses"][0]
    with torch.no_grad():
        dev = [model.eval()(**batch, return_loss=True).loss for batch in task.batches(model, "dev", 4).batches]
    assert float(torch.stack(dev).mean()) == pytest.approx(told["dev_loss"], rel=1e-5)


def test_vocabulary_sizes_are_filled_in(task: NextNumeral) -> None:
    config = config_for("clinical", "combination", "tiny")
    model = task.build(config)
    assert model.head is not None
    sizes = [member.get("size") for member in model.head.config.to_dict()["members"]]  # type: ignore[attr-defined]
    assert sizes[0] == len(task.vocabulary.numerals)
    assert isinstance(task.train_numbers(), NumberTable)
    with pytest.raises(ValueError, match="backbone must be"):
        dataclasses.replace(config, backbone="rnn")
