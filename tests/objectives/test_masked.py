"""Options of `masked`: what is masked, by what it is replaced, and how it is drawn."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tiny_models import new_backbone, number_batch, tokenizer_of

import numerate
from numerate.config import ConfigError
from numerate.objectives.base import Vocabulary
from numerate.objectives.draws import hashed_uniform
from numerate.objectives.masked import wanted_numbers
from numerate.processing.number_table import ASKED, GIVEN, NumberTable
from numerate.registry import objectives

from .test_objectives import IN_PLACE, MARKED, WORDS, batch

SIZED = Vocabulary(mask_id=4, num_id=100, special_ids=(0, 2, 3, 4), size=60)
BEHIND = batch([[2, 10, 20, 21, 100, 11, 3]], [[0, 0, -1, -1, 1, 0, 0]], [[5.5]])


def splitmix(state: int) -> int:
    """One output of SplitMix64, with Python integers."""
    state = (state + 0x9E3779B97F4A7C15) % 2**64
    state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    state = (state ^ state >> 27) * 0x94D049BB133111EB % 2**64
    return state ^ state >> 31


def many(rows: int = 64) -> dict[str, Any]:
    one = batch([[10 + i % 40 for i in range(400)]], [[*range(1, 201), *[0] * 200]], [[float(i) for i in range(200)]])
    return {key: value.expand(rows, *value.shape[1:]) for key, value in one.items()}


def test_hash_is_splitmix64() -> None:
    got = hashed_uniform(torch.tensor([5, -3]), torch.tensor([[0, 1, 7], [0, 1, 7]]), seed=11, epoch=2, stream=1)
    golden = 0x9E3779B97F4A7C15
    for row, sample in enumerate((5, -3)):
        key = sample % 2**64
        for part in (11, 2, 1):
            key = splitmix((key + golden * 2 * part) % 2**64)
        wanted = [(splitmix((key + golden * place) % 2**64) >> 40) / 2**24 for place in (0, 1, 7)]
        assert got[row].tolist() == wanted


def test_hash_is_uniform_and_depends_on_every_argument() -> None:
    samples, places = torch.arange(200), torch.arange(500).expand(200, 500)
    draws = [hashed_uniform(samples, places, *more).double() for more in ((0, 0, 1), (1, 0, 1), (0, 1, 1), (0, 0, 2))]
    for index, one in enumerate(draws):
        assert one.min() >= 0 and one.max() < 1
        assert one.mean().item() == pytest.approx(0.5, abs=0.003) and one.var().item() == pytest.approx(
            1 / 12, abs=1e-3
        )
        counts = torch.histc(one, 50, 0, 1)
        assert ((counts - 2000).square() / 2000).sum() < 100  # chi-square with 49 degrees of freedom
        for other in draws[:index]:
            assert abs(torch.corrcoef(torch.stack([one.flatten(), other.flatten()]))[0, 1]) < 0.02
    assert abs(torch.corrcoef(torch.stack([draws[0][:-1].flatten(), draws[0][1:].flatten()]))[0, 1]) < 0.02


def test_masks_of_a_sample_do_not_depend_on_the_batch() -> None:
    objective = objectives["masked"].build(ratio=0.5, number_ratio=0.5, replace=[0.5, 0.25], seed=3)
    rows = {key: value.clone() for key, value in many(4).items()} | {"sample_id": torch.tensor([8, 9, 10, 11])}
    whole = objective.prepare(dict(rows), SIZED)
    torch.manual_seed(1)
    part = objective.prepare({key: value[2:3] for key, value in rows.items()}, SIZED)
    assert torch.equal(whole.labels[2:3], part.labels) and torch.equal(whole.scored[2:3], part.scored)
    assert torch.equal(whole.inputs["input_ids"][2:3], part.inputs["input_ids"])
    # The masks do not depend on padding, either.
    padded = {key: value[2:3] for key, value in rows.items()}
    for key in ("input_ids", "attention_mask", "number_slots"):
        padded[key] = torch.nn.functional.pad(padded[key], (3, 0))
    assert torch.equal(objective.prepare(padded, SIZED).inputs["input_ids"][:, 3:], part.inputs["input_ids"])
    objective.epoch = 1
    assert not torch.equal(objective.prepare(dict(rows), SIZED).labels, whole.labels)
    assert not torch.equal(whole.labels[0], whole.labels[1])


def test_option_what() -> None:
    every: dict[str, Any] = {"ratio": 1.0, "number_ratio": 1.0}
    both, numbers, words = (
        objectives["masked"].build(what=what, **every).prepare(dict(IN_PLACE), WORDS).inputs["input_ids"].tolist()
        for what in ("both", "numbers", "words")
    )
    assert both == [[2, 4, 100, 4, 3, 0]] and numbers == [[2, 10, 100, 11, 3, 0]] and words == [[2, 4, 20, 21, 4, 3]]


def test_only_wanted_numbers_are_masked() -> None:
    asked = dict(MARKED) | {"number_wanted": torch.tensor([[0, 0], [0, 1]])}
    for ratio in (0.0, 1.0):
        task = objectives["masked"].build(ratio=0.0, number_ratio=ratio).prepare(dict(asked), WORDS)
        assert task.scored.tolist() == [[False, False], [False, True]]
        assert task.inputs["number_given"].tolist() == [[GIVEN, GIVEN], [GIVEN, ASKED]]
    assert not objectives["masked"].build(what="words").prepare(dict(asked), WORDS).scored.any()


def test_wanted_numbers_from_record_keys() -> None:
    torch.manual_seed(0)
    options: dict[str, Any] = {"kind": "masked", "ratio": 0.0, "number_ratio": 0.0}
    backbone = new_backbone("bert")
    model = numerate.attach(
        backbone, tokenizer_of("bert"), "xval", reader="records", head="mixture", objective=options
    ).eval()
    records = ['{"planet0":{"m":1.5,"a":2},"planet1":{"m":7}}', '{"year":3}']
    rows = model.processor(records, padding=True, return_tensors="pt")
    rows["number_wanted"] = wanted_numbers(rows.numerals, "planet*.m")
    assert rows["number_wanted"].tolist() == [[True, False, True], [False, False, False]]
    loss = model(**rows, return_loss=True).loss
    given = torch.where(rows["number_wanted"], ASKED, rows["number_given"]).to(torch.uint8)
    asked = model(**dict(rows) | {"number_given": given})
    wanted = -asked.numbers.log_prob(NumberTable.of_values([1.5, 7.0])).mean()
    assert loss.item() == pytest.approx(wanted.item(), rel=1e-5)


def test_shares_of_replaced_tokens() -> None:
    torch.manual_seed(0)
    objective = objectives["masked"].build(ratio=0.5, number_ratio=0.5, replace=[0.8, 0.1])
    rows = many()
    task = objective.prepare(dict(rows), SIZED)
    ids, seen = rows["input_ids"], task.inputs["input_ids"]
    drawn = torch.cat([task.scored, task.labels[:, 200:] != -100], dim=1)
    assert (task.labels[:, :200] == -100).all(), "the head predicts numbers"
    assert torch.equal(seen[~drawn], ids[~drawn])
    assert torch.equal(task.labels[:, 200:][drawn[:, 200:]], ids[:, 200:][drawn[:, 200:]])
    for part, token in ((slice(0, 200), 100), (slice(200, 400), 4)):  # numbers, words
        at = drawn[:, part]
        hidden, same = (seen[:, part] == token)[at].double().mean(), (seen[:, part] == ids[:, part])[at].double().mean()
        assert hidden.item() == pytest.approx(0.8, abs=0.015)
        assert same.item() == pytest.approx(0.1 + 0.1 / 56, abs=0.015)
    # A masked or replaced number has no vector; one that is kept has its vector, and is predicted, too.
    lost = task.inputs["number_given"] == ASKED
    assert lost[task.scored].double().mean().item() == pytest.approx(0.9, abs=0.015) and not lost[~task.scored].any()
    stays = task.scored & ~lost
    assert torch.equal(seen[:, :200][stays], ids[:, :200][stays])


def test_random_words_are_not_special_tokens() -> None:
    torch.manual_seed(0)
    objective = objectives["masked"].build(ratio=1.0, replace=[0.0, 1.0])
    rows = many()
    seen = objective.prepare({key: rows[key] for key in ("input_ids", "attention_mask")}, SIZED).inputs["input_ids"]
    assert sorted(seen.unique().tolist()) == [i for i in range(60) if i not in SIZED.special_ids]
    with pytest.raises(ValueError, match=r"vocabulary\.size=0"):
        objective.prepare(dict(MARKED), WORDS)


def test_slot_can_be_masked_as_in_luna() -> None:
    options: dict[str, Any] = {"ratio": 0.0, "number_ratio": 1.0, "hide_slot": True}
    task = objectives["masked"].build(**options).prepare(dict(BEHIND), SIZED)
    assert task.inputs["input_ids"].tolist() == [[2, 10, 4, 11, 3, 0, 0]]
    assert task.labels.tolist() == [[-100, -100, 100, -100, -100, -100, -100]], "[NUM] is to be predicted, as in xVal"
    task = objectives["masked"].build(**options, joint=False).prepare(dict(BEHIND), SIZED)
    assert task.inputs["input_ids"].tolist() == [[2, 10, 20, 21, 4, 11, 3]] and task.scored.tolist() == [[True]]
    assert (task.labels != 100).all(), "not so in LUNA"
    luna = objectives["distillation"].build(**options).prepare(dict(BEHIND), SIZED)
    assert luna.inputs["input_ids"].tolist() == [[2, 10, 4, 11, 3, 0, 0]] and (luna.labels == -100).all()
    stays = objectives["masked"].build(**options, joint=False, replace=[0.0, 0.0]).prepare(dict(BEHIND), SIZED)
    assert torch.equal(stays.inputs["input_ids"], BEHIND["input_ids"]) and stays.scored.tolist() == [[True]]
    assert stays.inputs["number_given"].tolist() == [[GIVEN]]


def test_model_masks_by_sample_id_and_epoch() -> None:
    torch.manual_seed(0)
    model = numerate.attach(new_backbone("bert"), tokenizer_of("bert"), "luna")
    model.objective = objectives["masked"].build(ratio=0.4, number_ratio=0.4, replace=[0.6, 0.2])
    rows = number_batch(model, "bert", ["It cost 5 or 6.", "The tower is 324 metres tall and 7 wide."])
    rows["sample_id"] = torch.tensor([4, 5])
    one = model.eval()(**rows, return_loss=True).loss
    assert torch.equal(one, model(**rows, return_loss=True).loss), "the same masks each time"
    model.objective.epoch = 1
    assert not torch.equal(one, model(**rows, return_loss=True).loss)


def test_bad_options() -> None:
    for options, message in [
        ({"replace": [0.8, 0.3]}, "a sum of at most 1, got \\(0.8, 0.3\\)"),
        ({"replace": [-0.1, 0.3]}, "got \\(-0.1, 0.3\\)"),
        ({"what": "letters"}, "'letters'"),
    ]:
        with pytest.raises(ConfigError, match=message):
            objectives["masked"].build(**options)


def test_all_added_tokens_of_a_number_are_masked_together() -> None:
    for name in ["p10", "p1000", "b1999", "fp15", "digits"]:
        model = numerate.attach(
            new_backbone("bert"),
            tokenizer_of("bert"),
            notation={"kind": name, "slot": True},
            objective={"kind": "masked"},
        )
        batch = model.processor(["It rose from 12.5 to 300.", "It is -7."], return_tensors="pt", padding=True)
        slots = batch["number_slots"]
        for row, texts in enumerate((["12.5", "300"], ["-7"])):
            for number, text in enumerate(texts, start=1):
                ids = batch["input_ids"][row][slots[row] == number]
                pieces = [model.processor.own_tokens[token - model.processor.num_id] for token in ids.tolist()]
                assert model.processor.notation.read(pieces).value == float(text), name
        wanted = torch.tensor([[False, True], [True, False]])
        task = model.objective.prepare(
            {**batch, "number_wanted": wanted, "sample_id": torch.arange(2)}, model.vocabulary
        )
        asked = (slots > 0) & wanted.gather(1, (slots - 1).clamp_min(0))
        assert torch.equal(task.labels[asked], batch["input_ids"][asked]), name
        assert (task.inputs["input_ids"][asked] == model.vocabulary.mask_id).all(), name
        assert (task.labels[(slots > 0) & ~asked] == -100).all(), "the other numbers are read"
