"""Numbers spelled by a masked language model: fixed length of the mask, probabilities, samples and training."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from tiny_models import tokenizer_of

from numerate_lab.tasks.masked_prediction.masked_number import MaskedNumbers, NumberTrial
from numerate_lab.tasks.masked_prediction.prediction_setup import load_split
from numerate_lab.tasks.masked_prediction.spelled_number import PLACES, SpelledNumbers, Spelling, _known

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def config(prediction_folder: Path) -> NumberTrial:
    data, model = prediction_folder / "data" / "units", prediction_folder / "bert"
    options: Any = {"recipe": "subwords", "predict": "spelled", "batch": 8, "epochs": 1}
    return NumberTrial(source=str(data), model=str(model), **options)


def speller(config: NumberTrial) -> SpelledNumbers:
    task = MaskedNumbers(config)
    return SpelledNumbers(task, task.build())


def test_masked_rows_do_not_depend_on_the_number(config: NumberTrial) -> None:
    spelling, sentences = Spelling(tokenizer_of("bert")), load_split(config, "dev")[0]
    rows, places = spelling.rows(sentences, 128)
    other, _ = spelling.rows([s.with_number("987,654,321.5") for s in sentences], 128)
    assert rows == other
    mask = spelling.tokenizer.mask_token_id
    for row, place in zip(rows, places, strict=True):
        assert [i for i, token in enumerate(row["input_ids"]) if token == mask] == list(range(place, place + PLACES))
    assert spelling.rows(sentences, 4)[1].tolist() == [-1] * len(sentences)


def test_tokens_spell_the_number() -> None:
    spelling = Spelling(tokenizer_of("bert"))
    for text, value in (("7", 7.0), ("1,250", 1250.0), ("0.5", 0.5), ("20.25", 20.25)):
        tokens = spelling.tokens(text)
        assert len(tokens) == PLACES and spelling.value(tokens) == value, text
    assert np.isnan(spelling.value([spelling.filler] * PLACES))


def test_probabilities_equal_those_of_a_loop(config: NumberTrial) -> None:
    numbers = speller(config)
    model, spelling, sentences = numbers.model.eval(), numbers.spelling, load_split(config, "dev")[0]
    guesses = numbers.guess("dev", draws=3)
    assert np.isfinite(guesses["wrong_swapped"][0]).all() and (guesses["low"] <= guesses["high"]).all()
    rows, places = spelling.rows(sentences, 128)
    for index, (row, place, sentence) in enumerate(zip(rows, places, sentences, strict=True)):
        ids, total = list(row["input_ids"]), 0.0
        for turn, token in enumerate(spelling.tokens(sentence.numeral.text)):  # type: ignore[union-attr]
            with torch.no_grad():
                logits = model.backbone(input_ids=torch.tensor([ids])).logits[0, place + turn].double()
            total -= float(logits.log_softmax(-1)[token])
            if token == spelling.filler:
                break
            ids[place + turn] = token
        assert guesses["nats"][index] == pytest.approx(total, rel=1e-5)


def test_samples_follow_the_probabilities(config: NumberTrial) -> None:
    numbers = speller(config)
    numbers.model.eval()
    batch: dict[str, Any] = numbers.batches("dev", 1).batches[0]
    place = batch.pop("place").repeat(1500)
    fields = {
        "input_ids": batch["input_ids"].repeat(1500, 1),
        "attention_mask": batch["attention_mask"].repeat(1500, 1),
    }
    with torch.no_grad():
        drawn = numbers._draw(fields, place, torch.Generator().manual_seed(0))
        first = numbers._logits({key: value[:1] for key, value in fields.items()}, place[:1])[0]
    allowed = numbers.spelling.allowed
    first = first[allowed].softmax(-1)
    assert bool(torch.isin(drawn, allowed).all())
    counts = torch.bincount(drawn[:, 0], minlength=int(allowed.max()) + 1)[allowed] / 1500
    assert float((counts - first).abs().sum() / 2) < 0.08
    filler = drawn == numbers.spelling.filler
    assert bool((filler[:, 1:] >= filler[:, :-1]).all()), "only fillers follow a filler"


def test_training_continues_random_beginnings(config: NumberTrial) -> None:
    right = torch.tensor([[5, 0, 0, 0, 0, 0]] * 2000 + [[5, 5, 5, 5, 5, 5]] * 2000)
    known = _known(right, 0, torch.Generator().manual_seed(0))[:, 0]
    short, long = known[:2000], known[2000:]
    # After one token the number ends; of six tokens, the last is always predicted.
    assert short.unique().tolist() == [0, 1] and long.unique().tolist() == [0, 1, 2, 3, 4, 5]
    assert float((short == 0).double().mean()) == pytest.approx(0.75, abs=0.04)
    assert float((long == 0).double().mean()) == pytest.approx(0.5 + 0.5 / 6, abs=0.04)
    numbers, seen = speller(config), []

    def collated(model: Any, config: Any, batches: Any, collate: Any) -> dict[str, Any]:
        some = batches(torch.device("cpu"))
        seen.extend((some[index], collate([some[index]])) for index in range(len(some)))
        return {}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("numerate_lab.tasks.masked_prediction.spelled_number.fit", collated)
        numbers.train()
    for before, batch in seen:
        for row, place in enumerate(before["place"].tolist()):
            labels, tokens = batch["labels"][row], before["spelled"][row].tolist()
            learned = (labels != -100).nonzero()[:, 0].tolist()
            length = sum(token != numbers.spelling.filler for token in tokens)
            # Labels reach from some token to the first filler or the last place; tokens before are given.
            assert learned == list(range(learned[0], place + min(length, PLACES - 1) + 1))
            assert labels[learned].tolist() == tokens[learned[0] - place : min(length, PLACES - 1) + 1]
            assert batch["input_ids"][row, place : learned[0]].tolist() == tokens[: learned[0] - place]


def test_training_learns(config: NumberTrial) -> None:
    nats = []
    for epochs in (1, 6):
        numbers = speller(replace(config, epochs=epochs, most_train=16, rate=1e-2, train="all"))
        numbers.train()
        nats.append(numbers.guess("train", draws=1)["nats"].mean())
    assert nats[1] < nats[0] - 0.5
    task = MaskedNumbers(replace(config, most_train=16))
    figures = task.score("dev", task.ask(task.build(), "dev"))["dev"]
    assert {"auc_swapped", "crps", "coverage_90"} <= set(figures)
