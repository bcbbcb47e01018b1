"""Numbers spelled by a masked language model: no hint of their length, and the probabilities of a loop."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import number_data
import numpy as np
import pytest
import torch
from tiny_models import tokenizer_of

from numerate_lab.tasks.masked_prediction.prediction_setup import LiteracyConfig, load_split
from numerate_lab.tasks.masked_prediction.prediction_trial import run_cell
from numerate_lab.tasks.masked_prediction.spelled_number import PLACES, SpelledNumber, Spelling, _known

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def config(tmp_path: Path) -> LiteracyConfig:
    (tmp_path / "data").mkdir()
    source, model = number_data.write_data(tmp_path / "data"), number_data.write_model(tmp_path / "model")
    return LiteracyConfig(source=source, model=model, recipe="default", predict="spelled", batch=8, epochs=1)


def test_every_number_is_asked_for_alike(config: LiteracyConfig) -> None:
    spelling, sentences = Spelling(tokenizer_of("bert")), load_split(config, "dev")[0]
    rows, places = spelling.rows(sentences, 128)
    other, _ = spelling.rows([s.with_number("987,654,321.5") for s in sentences], 128)
    assert rows == other
    mask = spelling.tokenizer.mask_token_id
    for row, place in zip(rows, places, strict=True):
        assert [i for i, token in enumerate(row["input_ids"]) if token == mask] == list(range(place, place + PLACES))
    assert spelling.rows(sentences, 4)[1].tolist() == [-1] * len(sentences)


@pytest.mark.parametrize(("text", "value"), [("7", 7.0), ("1,250", 1250.0), ("0.5", 0.5), ("20.25", 20.25)])
def test_tokens_spell_the_number(text: str, value: float) -> None:
    spelling = Spelling(tokenizer_of("bert"))
    tokens = spelling.tokens(text)
    assert len(tokens) == PLACES and spelling.value(tokens) == value
    assert np.isnan(spelling.value([spelling.filler] * PLACES))


def test_probabilities_are_those_of_a_loop(config: LiteracyConfig) -> None:
    task = SpelledNumber(config)
    model = task.build().eval()
    spelling, sentences = task.spelling(model), load_split(config, "dev")[0]
    guesses = task.guess(model, "dev", draws=3)
    assert np.isfinite(guesses.wrong["swapped"][0]).all() and (guesses.low <= guesses.high).all()
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
        assert guesses.nats[index] == pytest.approx(total, rel=1e-5)


def test_draws_follow_the_probabilities(config: LiteracyConfig) -> None:
    task = SpelledNumber(config)
    model = task.build().eval()
    batch: dict[str, Any] = task.batches(model, "dev", 1).batches[0]
    place = batch.pop("place").repeat(1500)
    fields = {
        "input_ids": batch["input_ids"].repeat(1500, 1),
        "attention_mask": batch["attention_mask"].repeat(1500, 1),
    }
    with torch.no_grad():
        drawn = task._draw(model, fields, place, torch.Generator().manual_seed(0))
        first = task._logits(model, {key: value[:1] for key, value in fields.items()}, place[:1])[0]
    allowed = task.spelling(model).allowed
    first = first[allowed].softmax(-1)
    assert bool(torch.isin(drawn, allowed).all())
    counts = torch.bincount(drawn[:, 0], minlength=int(allowed.max()) + 1)[allowed] / 1500
    assert float((counts - first).abs().sum() / 2) < 0.08
    filler = drawn == task.spelling(model).filler
    assert bool((filler[:, 1:] >= filler[:, :-1]).all()), "behind a filler stand only fillers"


def test_half_of_the_numbers_are_learnt_from_the_first_token_on_and_none_behind_its_end(config: LiteracyConfig) -> None:
    right = torch.tensor([[5, 0, 0, 0, 0, 0]] * 2000 + [[5, 5, 5, 5, 5, 5]] * 2000)
    known = _known(right, 0, torch.Generator().manual_seed(0))[:, 0]
    short, long = known[:2000], known[2000:]
    # Behind one token comes the end; of six, the last is always left to be said.
    assert short.unique().tolist() == [0, 1] and long.unique().tolist() == [0, 1, 2, 3, 4, 5]
    assert float((short == 0).double().mean()) == pytest.approx(0.75, abs=0.04)
    assert float((long == 0).double().mean()) == pytest.approx(0.5 + 0.5 / 6, abs=0.04)
    task, seen = SpelledNumber(config), []
    model = task.build()

    def collated(model: Any, config: Any, batches: Any, collate: Any) -> dict[str, Any]:
        some = batches(torch.device("cpu"))
        seen.extend((some[index], collate([some[index]])) for index in range(len(some)))
        return {}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("numerate_lab.tasks.masked_prediction.spelled_number.fit", collated)
        task.train(model)
    for before, batch in seen:
        for row, place in enumerate(before["place"].tolist()):
            labels, tokens = batch["labels"][row], before["spelled"][row].tolist()
            told = (labels != -100).nonzero()[:, 0].tolist()
            length = sum(token != task.spelling(model).filler for token in tokens)
            # From some token on to the first filler, or to the last place; and all others are masked or told.
            assert told == list(range(told[0], place + min(length, PLACES - 1) + 1))
            assert labels[told].tolist() == tokens[told[0] - place : min(length, PLACES - 1) + 1]
            assert batch["input_ids"][row, place : told[0]].tolist() == tokens[: told[0] - place]


def test_it_learns_and_is_measured(config: LiteracyConfig) -> None:
    nats = []
    for epochs in (1, 10):
        task = SpelledNumber(replace(config, epochs=epochs, most_train=16, rate=5e-3, train="all"))
        model = task.build()
        task.train(model)
        nats.append(task.guess(model, "train", draws=1).nats.mean())
    assert nats[1] < nats[0] - 0.5
    cell = run_cell(replace(config, splits=("dev",)))
    assert list(cell["results"]["dev"]) == ["model", "median", "unit median", "conversion"]
    assert {"auc_swapped", "crps", "coverage_90"} <= set(cell["results"]["dev"]["model"])
