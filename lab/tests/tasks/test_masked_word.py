"""Masked words: batched scores against one word at a time, masks, training, and dependence on the number."""

from __future__ import annotations

import copy
import dataclasses
import json
from typing import TYPE_CHECKING, Any

import number_data
import numpy as np
import pytest
import torch
from tiny_models import new_backbone, tokenizer_of

from numerate.modeling.attaching import attach
from numerate.training.sources import SourceError
from numerate_lab.engine.trial import run_trial
from numerate_lab.tasks.masked_prediction import word_scores
from numerate_lab.tasks.masked_prediction.masked_word import MOVES, MaskedWords, WordTrial
from numerate_lab.tasks.masked_prediction.number_sentences import NumberSentence, sentence_of_row
from numerate_lab.tasks.masked_prediction.prediction_setup import encoding_fields, load_split
from numerate_lab.tasks.masked_prediction.word_positions import Encoded, WordPositions, encode
from numerate_lab.tasks.masked_prediction.word_prediction import (
    MaskWords,
    number_shift,
    score_words,
    word_batches,
)
from numerate_lab.tasks.masked_prediction.word_scores import WordScores, compare, summary

if TYPE_CHECKING:
    from pathlib import Path

    from numerate.modeling.number_model import NumberModel

SENTENCES = [*map(sentence_of_row, number_data.rows("dev", 5)), NumberSentence("plain", "A cat sat on the mat.")]


def attached(recipe: str, name: str = "bert", tokenizer: Any = None, **parts: Any) -> NumberModel:
    torch.manual_seed(3)
    model = attach(new_backbone(name), tokenizer or tokenizer_of(name), recipe, **parts)
    for part in (model.embedder, model.gate, model.reach, model.late_reach, model.relations):
        for weight in [] if part is None else part.parameters():  # most parts start at zero
            weight.data.add_(torch.randn_like(weight) * 0.1)
    return model


def prepared(model: NumberModel, numbers: str = "annotated") -> tuple[WordPositions, Encoded]:
    positions = WordPositions.of(SENTENCES, model.processor.tokenizer)
    return positions, encode(model.processor, SENTENCES, positions, numbers)


def logits_one_by_one(model: NumberModel, row: dict[str, Any], place: int) -> torch.Tensor:
    """Logits of one masked word, alone in its batch, without padding."""
    fields = {key: torch.as_tensor(value)[None] for key, value in row.items()}
    fields["input_ids"] = fields["input_ids"].clone()
    fields["input_ids"][0, place] = model.processor.tokenizer.mask_token_id
    with torch.no_grad():
        return model.eval()(**fields, return_loss=False).logits[0, place].double()


CASES = [("bert", "luna"), ("roberta", "in-place"), ("modernbert", "value-prefix"), ("distilbert", "num")]


@pytest.mark.parametrize(("name", "recipe"), CASES)
def test_batched_scores_equal_those_of_one_word_at_a_time(name: str, recipe: str) -> None:
    model = attached(recipe, name)
    positions, made = prepared(model, "all" if recipe in ("luna", "num") else "annotated")
    assert_one_at_a_time(model, positions, made)


def test_batched_scores_with_late_reach_and_relations() -> None:
    encoding = encoding_fields("in-place-late-relations")
    parts = encoding["parts"]
    assert parts["late_reach"] and parts["relations"] and encoding["numbers"] == "all"
    model = attached(encoding["recipe"], "bert", **parts)
    positions, made = prepared(model, "all")
    assert max(len(row["number_given"]) for row in made.rows) > 1, "ratios need two numbers"
    whole = assert_one_at_a_time(model, positions, made)
    for part in (model.late_reach, model.relations):  # both change the scores
        weights = [weight.data.clone() for weight in part.parameters()]
        for weight in part.parameters():
            weight.data.zero_()
        assert np.abs(score_words(model, made, positions).nll - whole).max() > 1e-4
        for weight, own in zip(part.parameters(), weights, strict=True):
            weight.data.copy_(own)


def assert_one_at_a_time(model: NumberModel, positions: WordPositions, made: Encoded) -> np.ndarray:
    """Compares every eleventh word with a batch of its own; returns the losses of all words."""
    found = score_words(model, made, positions, tokens=90)
    assert len(found.nll) == len(positions) > 60
    for index in range(0, len(positions), 11):
        row, place = made.rows[positions.sentence[index]], int(made.places[index])
        logits = logits_one_by_one(model, row, place)
        target = int(positions.target[index])
        assert found.nll[index] == pytest.approx(-float(logits.log_softmax(0)[target]), abs=1e-6, rel=1e-6)
        order = logits.argsort(descending=True).tolist()
        for k in (1, 5, 20, 100):
            assert found.hits(k)[index] == pytest.approx(float(target in order[:k]), abs=1e-6)
    return found.nll


def test_meaning_sums_all_spellings_of_unit_words(monkeypatch: pytest.MonkeyPatch) -> None:
    model = attached("subwords")
    positions, made = prepared(model)
    place = int(np.flatnonzero(positions.labels["unit"])[0])
    word = model.processor.tokenizer.convert_ids_to_tokens(int(positions.target[place]))
    others = [token for token in model.processor.tokenizer.get_vocab() if token.isalpha() and token != word][:2]
    monkeypatch.setattr(word_scores, "UNITS", dict.fromkeys([word, *others], "it"))
    found = score_words(model, made, positions)
    assert found.meaning is not None
    logits = logits_one_by_one(model, made.rows[positions.sentence[place]], int(made.places[place]))
    ids = model.processor.tokenizer.convert_tokens_to_ids([word, *others])
    assert found.meaning[place] == pytest.approx(-float(logits.softmax(0)[ids].sum().log()), abs=1e-6)
    assert found.meaning[place] < found.nll[place] - 1e-3
    words = ~positions.labels["unit"]
    assert np.array_equal(found.meaning[words], found.nll[words])


def test_masked_tokens_are_words(monkeypatch: pytest.MonkeyPatch) -> None:
    model = attached("luna")
    positions, made = prepared(model, "all")
    plain, seen = model.forward, []

    def noted(**fields: Any) -> Any:
        seen.append(fields)
        return plain(**fields)

    monkeypatch.setattr(model, "forward", noted)
    score_words(model, made, positions, tokens=200)
    mask_id, count = model.vocabulary.mask_id, 0
    for fields in seen:
        masked = fields["input_ids"] == mask_id
        assert (masked.sum(1) == 1).all()
        assert (fields["attention_mask"][masked] == 1).all() and (fields["number_slots"][masked] == 0).all()
        special = torch.tensor(sorted(set(tokenizer_of("bert").all_special_ids) - {mask_id}))
        ends = torch.isin(fields["input_ids"], special) & (fields["attention_mask"] == 1)
        assert (ends.sum(1) >= 2).all()  # [CLS] and [SEP] remain
        count += len(masked)
    assert count == len(positions)


def test_left_padding_gives_the_same_scores() -> None:
    left = copy.deepcopy(tokenizer_of("roberta"))
    left.padding_side = "left"
    one, other = attached("exponent", "roberta"), attached("exponent", "roberta", left)
    results = [score_words(model, prepared(model)[1], prepared(model)[0]) for model in (one, other)]
    np.testing.assert_allclose(results[0].nll, results[1].nll, atol=1e-5)


def test_scoring_restores_the_training_mode() -> None:
    model = attached("num").train()
    positions, made = prepared(model)
    score_words(model, made, positions)
    number_shift(model, SENTENCES, positions)
    assert model.training and model.backbone.training


def masked_words(model: NumberModel, seed: int, ratio: float = 0.3, **options: float) -> list[list[tuple[str, int]]]:
    positions, made = prepared(model)
    mask = MaskWords(int(model.vocabulary.mask_id or 0), ratio, seed=seed, **options)
    batches = word_batches(made, positions, 4)
    found: list[list[tuple[str, int]]] = [[] for _ in SENTENCES]
    for part, batch in zip(batches.parts, batches.batches, strict=True):
        result = mask([batch])
        assert "word_places" not in result and "word_places" in batch
        hidden = result["labels"] != -100
        assert (result["input_ids"][hidden] == mask.mask_id).all() and (result["labels"][hidden] != mask.mask_id).all()
        assert torch.equal(result["input_ids"][~hidden], batch["input_ids"][~hidden])
        assert (batch["number_slots"][hidden] == 0).all() and (batch["attention_mask"][hidden] == 1).all()
        tokenizer: Any = model.processor.tokenizer
        for line, row in enumerate(part):
            found[row] = tokenizer.convert_ids_to_tokens(result["labels"][line][hidden[line]])
    return found


def test_masks_are_the_same_for_every_encoding() -> None:
    several = [masked_words(attached(recipe), seed=5) for recipe in ("subwords", "none", "luna", "p10")]
    assert all(each == several[0] for each in several) and sum(map(len, several[0])) > 10
    assert masked_words(attached("subwords"), seed=6) != several[0]


def test_shares_of_masked_words() -> None:
    model = attached("num")
    positions, made = prepared(model)
    batches = word_batches(made, positions, 6)
    batch = batches.batches[0]
    mask = MaskWords(int(model.vocabulary.mask_id or 0), 0.15, next_ratio=0.9)
    hidden, following = 0, 0
    for _ in range(200):
        labels = mask([batch])["labels"] != -100
        hidden += int(labels.sum())
        places = batch["word_places"].clamp_min(0)
        following += int((labels.gather(1, places) & batch["word_next"]).sum())
    count, behind = int((batch["word_places"] >= 0).sum()), int(batch["word_next"].sum())
    assert following / (200 * behind) == pytest.approx(0.9, abs=0.05)
    assert (hidden - following) / (200 * (count - behind)) == pytest.approx(0.15, abs=0.01)


def test_predictions_do_not_depend_on_invisible_numbers() -> None:
    for recipe in ("none", "num"):
        model = attached(recipe)
        positions, _ = prepared(model)
        shift = number_shift(model, SENTENCES, positions)
        numbered = positions.sentence < len(SENTENCES) - 1
        assert np.abs(shift[numbered]).max() < 1e-6 and np.isnan(shift[~numbered]).all(), recipe


def test_shift_is_the_total_variation_of_predictions() -> None:
    model = attached("exponent")
    positions, made = prepared(model)
    shift = number_shift(model, SENTENCES, positions, factor=100.0)
    changed = [sentence.scaled(100.0) for sentence in SENTENCES]
    after = encode(model.processor, changed, positions.moved(SENTENCES, changed))
    assert shift[positions.sentence < len(SENTENCES) - 1].min() > 0
    for index in range(0, len(positions), 9):
        row = int(positions.sentence[index])
        if row < len(SENTENCES) - 1:
            pair = [logits_one_by_one(model, e.rows[row], int(e.places[index])).softmax(0) for e in (made, after)]
            assert shift[index] == pytest.approx(float((pair[0] - pair[1]).abs().sum() / 2), abs=1e-6)


@pytest.fixture(scope="module")
def config(prediction_folder: Path) -> WordTrial:
    data = prediction_folder / "data"
    return WordTrial(
        source=str(data / "units"), model=str(prediction_folder / "bert"), recipe="exponent", batch=8, epochs=2,
        rate=1e-2, most_train=24, encoding="exponent", plain=str(data / "plain.jsonl"), shift=1000.0,
    )  # fmt: skip


def test_trained_weights(config: WordTrial) -> None:
    for train in ("head", "all"):
        task = MaskedWords(dataclasses.replace(config, train=train, most_train=8))
        model = task.build()
        before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
        done = task.train(model)
        changed = {name for name, weight in model.named_parameters() if not torch.equal(weight.cpu(), before[name])}
        assert done["steps"] == 2 and done["train_loss"] > 0
        assert any(name.startswith("embedder.") for name in changed)
        assert "backbone.cls.predictions.transform.dense.weight" in changed
        encoder = {name for name in changed if name.startswith("backbone.bert.")}
        assert bool(encoder) == (train == "all")


def test_a_trial_from_settings_to_figures(config: WordTrial, tmp_path: Path) -> None:
    task = MaskedWords(config)
    before = task.scores(task.build(), "train").nll.mean()
    figures = run_trial(task, tmp_path)
    assert json.loads(json.dumps(figures, allow_nan=False)) == figures
    test, plain = figures["test"], figures["plain"]
    assert {"all", "unit", "other", "next", "near", "moves", "stays"} <= set(test)
    assert test["unit"]["count"] + test["other"]["count"] == test["all"]["count"] > 200
    assert plain["all"]["count"] == len(load_split(config, "plain")[1]) > 3 and plain["unit"]["count"] == 0
    with np.load(tmp_path / f"{config.name}.npz", allow_pickle=False) as file:
        stored = {name: file[name] for name in file.files}
    columns = {name.removeprefix("test_"): column for name, column in stored.items() if name.startswith("test_")}
    scores, positions = WordScores.of(columns), load_split(config, "test")[1]
    assert test["all"] == summary(scores) and test["unit"] == summary(scores, positions.labels["unit"])
    assert test["moves"] == summary(scores, columns["shift"] >= MOVES)
    assert {column.label: column.of(figures) for column in task.shown()}["unit nats"] == test["unit"]["nats"]
    # The same settings give the same model, which has learned.
    again = MaskedWords(config)
    model = again.build()
    again.train(model)
    assert again.scores(model, "train").nll.mean() < before - 0.1
    assert np.array_equal(again.scores(model).columns()["nll"], columns["nll"])
    # A paired comparison uses the words that move with the number in the base encoding.
    found = task.paired([stored], [stored | {"test_shift": stored["test_shift"] / 2}], resamples=50)
    assert found["near"] == compare([scores], [scores], positions, positions.labels["near"], resamples=50)
    assert found["moves"]["count"] == (columns["shift"] / 2 >= MOVES).sum() and found["plain"]["count"] > 3


def test_empty_splits_are_refused_before_training(
    config: WordTrial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MaskedWords, "train", lambda self, model, log: pytest.fail("trained"))
    for empty in ("train", "test", "plain"):
        (tmp_path / empty).mkdir()
        source, plain = number_data.write_data(tmp_path / empty), tmp_path / empty / "plain.jsonl"
        plain.write_text('{"text": "It has 3 legs."}\n' if empty == "plain" else '{"text": "None."}\n', "utf-8")
        if empty != "plain":
            (tmp_path / empty / f"{empty}.jsonl").write_text("", "utf-8")
        with pytest.raises(SourceError) as caught:
            run_trial(MaskedWords(dataclasses.replace(config, source=source, plain=str(plain))), tmp_path / "out")
        where = str(plain) if empty == "plain" else source
        assert str(caught.value).startswith(f"{where}: there is no sentence in the split {empty!r}; give ")


def test_filters_of_the_papers_are_settings(config: WordTrial) -> None:
    given = WordTrial.from_dict(config.to_dict() | {"lengths": [15, 45], "values": [0.1, 1000.0]})
    kept, every = (load_split(each, "train")[0] for each in (given, config))
    wanted = [s.id for s in every if 15 < len(s.text) < 45 and s.numeral is not None and 0.1 < s.numeral.value < 1000]
    assert [sentence.id for sentence in kept] == wanted and 0 < len(wanted) < len(every)


def test_a_model_without_a_mask_token() -> None:
    model = attach(new_backbone("gpt2"), tokenizer_of("gpt2"), "num")
    positions, made = prepared(model)
    with pytest.raises(ValueError, match="need a tokenizer with a mask token; 'causal-lm' has none"):
        score_words(model, made, positions)


def test_invalid_settings() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"ratio": 0.0}, "ratio must lie between 0 and 1, got 0.0"),
        ({"next_ratio": 2.0}, "next_ratio must lie between 0 and 1, got 2.0"),
        ({"epochs": 0}, "epochs must be positive, got 0"),
        ({"most_train": 0}, "most_train must be positive, got 0"),
        ({"most_plain": 0}, "most_plain must be positive, got 0"),
        ({"rate": -1.0}, "rate must be positive, got -1.0"),
        ({"backbone_rate": -3e-5}, "backbone_rate must be positive, got -3e-05"),
        ({"train": "tail"}, "train is 'tail', expected one of 'head', 'all'"),
        ({"words": "onw"}, "words is 'onw', expected one of 'shared', 'own'"),
        ({"scaler": "logs"}, r"scaler is 'logs', expected 'standard' \| 'range' \| 'log' \| 'none' \| None"),
    ]
    for options, message in cases:
        with pytest.raises(ValueError, match=message):
            WordTrial(source="x", model="y", **options)
        with pytest.raises(ValueError, match=message):
            WordTrial.from_dict({"source": "x", "model": "y", **options})
    trial = WordTrial(source="x", model="y", epochs=3)
    with pytest.raises(ValueError, match="a try of a rate takes all 3 epochs"):
        trial.tried(1e-3, 1.0)
    for name, message in (("exponant", "unknown encoding 'exponant': did you mean 'exponent'"), ("num+mixtur", "head")):
        with pytest.raises(LookupError, match=message):
            encoding_fields(name)
