"""Masked words: the batched protocol against one word at a time, masks, training, and words that move with a number."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import number_data
import numpy as np
import pytest
import torch
from tiny_models import new_backbone, tokenizer_of

from numerate.modeling.attaching import attach
from numerate_lab.papers.literacy2021.prediction_tables import encoder_of
from numerate_lab.registry import tasks
from numerate_lab.tasks.masked_prediction import unit_spellings
from numerate_lab.tasks.masked_prediction.masked_word import (
    MaskedWord,
    MaskWords,
    number_shift,
    score_words,
    word_batches,
)
from numerate_lab.tasks.masked_prediction.number_sentences import NumberSentence, sentence_of_row
from numerate_lab.tasks.masked_prediction.prediction_setup import LiteracyConfig, load_split
from numerate_lab.tasks.masked_prediction.word_positions import Encoded, WordPositions, encode

if TYPE_CHECKING:
    from pathlib import Path

    from numerate.modeling.number_model import NumberModel

SENTENCES = [*map(sentence_of_row, number_data.rows("dev", 5)), NumberSentence("plain", "A cat sat on the mat.")]


def attached(recipe: str, name: str = "bert", tokenizer: Any = None, **parts: Any) -> NumberModel:
    torch.manual_seed(3)
    model = attach(new_backbone(name), tokenizer or tokenizer_of(name), recipe, **parts)
    for part in (model.embedder, model.gate, model.reach, model.late_reach, model.relations):
        for weight in [] if part is None else part.parameters():  # all but some embedders begin at zero
            weight.data.add_(torch.randn_like(weight) * 0.1)
    return model


def prepared(model: NumberModel, numbers: str = "annotated") -> tuple[WordPositions, Encoded]:
    positions = WordPositions.of(SENTENCES, model.processor.tokenizer)
    return positions, encode(model.processor, SENTENCES, positions, numbers)


def logits_one_by_one(model: NumberModel, row: dict[str, Any], place: int) -> torch.Tensor:
    """One word of one sentence masked, alone in its batch, without padding."""
    fields = {key: torch.as_tensor(value)[None] for key, value in row.items()}
    fields["input_ids"] = fields["input_ids"].clone()
    fields["input_ids"][0, place] = model.processor.tokenizer.mask_token_id
    with torch.no_grad():
        return model.eval()(**fields, return_loss=False).logits[0, place].double()


CASES = [("bert", "default"), ("bert", "none"), ("bert", "luna"), ("bert", "xval")]
CASES += [("roberta", "in-place"), ("modernbert", "value-prefix"), ("distilbert", "num")]


@pytest.mark.parametrize(("name", "recipe"), CASES)
def test_batched_scores_are_those_of_one_word_at_a_time(name: str, recipe: str) -> None:
    model = attached(recipe, name)
    positions, made = prepared(model, "all" if recipe in ("luna", "num") else "annotated")
    assert_one_at_a_time(model, positions, made)


@pytest.mark.parametrize("name", ["bert", "roberta", "modernbert"])
def test_so_are_those_of_a_number_told_to_the_head_with_its_ratios(name: str) -> None:
    encoder = encoder_of("in-place-late-relations")
    parts = encoder["parts"]
    assert parts["late_reach"] and parts["relations"] and encoder["numbers"] == "all"
    model = attached(encoder["recipe"], name, **parts)
    positions, made = prepared(model, "all")
    assert max(len(row["number_given"]) for row in made.rows) > 1, "one number has no ratio to another"
    whole = assert_one_at_a_time(model, positions, made)
    for part in (model.late_reach, model.relations):  # both are in what was measured
        weights = [weight.data.clone() for weight in part.parameters()]
        for weight in part.parameters():
            weight.data.zero_()
        assert np.abs(score_words(model, made, positions).nll - whole).max() > 1e-4
        for weight, own in zip(part.parameters(), weights, strict=True):
            weight.data.copy_(own)


def assert_one_at_a_time(model: NumberModel, positions: WordPositions, made: Encoded) -> np.ndarray:
    """Holds every eleventh word against a batch of its own; gives the losses of all."""
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


def test_meanings_are_those_of_all_spellings_at_units_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    model = attached("default")
    positions, made = prepared(model)
    place = int(np.flatnonzero(positions.labels["unit"])[0])
    word = model.processor.tokenizer.convert_ids_to_tokens(int(positions.target[place]))
    others = [token for token in model.processor.tokenizer.get_vocab() if token.isalpha() and token != word][:2]
    monkeypatch.setattr(unit_spellings, "UNITS", dict.fromkeys([word, *others], "it"))
    found = score_words(model, made, positions)
    assert found.meaning is not None
    logits = logits_one_by_one(model, made.rows[positions.sentence[place]], int(made.places[place]))
    ids = model.processor.tokenizer.convert_tokens_to_ids([word, *others])
    assert found.meaning[place] == pytest.approx(-float(logits.softmax(0)[ids].sum().log()), abs=1e-6)
    assert found.meaning[place] < found.nll[place] - 1e-3
    words = ~positions.labels["unit"]
    assert np.array_equal(found.meaning[words], found.nll[words])


def test_what_is_masked_is_never_a_special_token_a_slot_or_padding(monkeypatch: pytest.MonkeyPatch) -> None:
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
        assert (ends.sum(1) >= 2).all()  # [CLS] and [SEP] are still there
        count += len(masked)
    assert count == len(positions)


def test_padding_on_the_left_gives_the_same_scores() -> None:
    left = copy.deepcopy(tokenizer_of("roberta"))
    left.padding_side = "left"
    one, other = attached("exponent", "roberta"), attached("exponent", "roberta", left)
    results = [score_words(model, prepared(model)[1], prepared(model)[0]) for model in (one, other)]
    np.testing.assert_allclose(results[0].nll, results[1].nll, atol=1e-5)


def test_scoring_leaves_the_model_in_its_mode() -> None:
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


def test_every_encoder_has_the_same_words_masked() -> None:
    several = [masked_words(attached(recipe), seed=5) for recipe in ("default", "none", "luna", "in-place", "p10")]
    assert all(each == several[0] for each in several) and sum(map(len, several[0])) > 10
    assert masked_words(attached("default"), seed=6) != several[0]


def test_the_shares_that_are_masked() -> None:
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


@pytest.mark.parametrize("recipe", ["none", "num"])
def test_words_do_not_move_where_the_number_is_not_seen(recipe: str) -> None:
    model = attached(recipe)
    positions, _ = prepared(model)
    shift = number_shift(model, SENTENCES, positions)
    numbered = positions.sentence < len(SENTENCES) - 1
    assert np.abs(shift[numbered]).max() < 1e-6 and np.isnan(shift[~numbered]).all()


def test_words_move_as_their_distributions_do() -> None:
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
def config(tmp_path_factory: pytest.TempPathFactory) -> LiteracyConfig:
    folder: Path = tmp_path_factory.mktemp("literacy")
    (folder / "data").mkdir()
    source, model = number_data.write_data(folder / "data"), number_data.write_model(folder / "model")
    return LiteracyConfig(source=source, model=model, recipe="exponent", batch=8, epochs=2, rate=1e-2, most_train=24)


@pytest.mark.parametrize("train", ["head", "all"])
def test_what_is_trained(config: LiteracyConfig, train: Any) -> None:
    task = MaskedWord(LiteracyConfig.from_dict(config.to_dict() | {"train": train}))
    model = task.build()
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    done = task.train(model)
    changed = {name for name, weight in model.named_parameters() if not torch.equal(weight.cpu(), before[name])}
    assert done["steps"] == 6 and done["train_loss"] > 0
    assert any(name.startswith("embedder.") for name in changed)
    assert "backbone.cls.predictions.transform.dense.weight" in changed
    encoder = {name for name in changed if name.startswith("backbone.bert.")}
    assert bool(encoder) == (train == "all")


def test_training_makes_words_more_probable_and_is_repeatable(config: LiteracyConfig) -> None:
    task = tasks["masked-word"](config)
    model = task.build()
    before = task.evaluate(model, "train").nll.mean()
    task.train(model)
    assert task.evaluate(model, "train").nll.mean() < before - 0.1
    again = task.build()
    task.train(again)
    assert np.array_equal(task.evaluate(again, "dev").nll, task.evaluate(model, "dev").nll)
    assert len(task.shift(model, "dev")) == len(load_split(config, "dev")[1])


def test_a_model_without_a_mask_token(config: LiteracyConfig) -> None:
    model = attach(new_backbone("gpt2"), tokenizer_of("gpt2"), "num")
    positions, made = prepared(model)
    with pytest.raises(ValueError, match="need a tokenizer with a mask token; 'causal-lm' has none"):
        score_words(model, made, positions)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"ratio": 0.0}, "ratio must lie between 0 and 1, got 0.0"),
        ({"next_ratio": 2.0}, "next_ratio must lie between 0 and 1, got 2.0"),
        ({"epochs": 0}, "epochs must be positive, got 0"),
        ({"most_train": 0}, "most_train must be positive, got 0"),
        ({"rate": -1.0}, "rate must be positive, got -1.0"),
        ({"number_rate": 0.0}, "number_rate must be positive, got 0.0"),
        ({"backbone_rate": -3e-5}, "backbone_rate must be positive, got -3e-05"),
        ({"train": "tail"}, "train is 'tail', expected one of 'head', 'all'"),
        ({"embedded": "thrice"}, "embedded is 'thrice', expected one of 'once', 'twice'"),
        ({"words": "onw"}, "words is 'onw', expected one of 'shared', 'own'"),
        ({"predict": "word"}, "predict is 'word', expected one of 'words', 'numbers', 'spelled'"),
        ({"numbers": "some"}, "numbers is 'some', expected one of 'annotated', 'all'"),
        ({"scaler": "logs"}, r"scaler is 'logs', expected 'standard' \| 'range' \| 'log' \| 'none' \| None"),
    ],
)
def test_bad_options(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        LiteracyConfig(source="x", model="y", **options)
    with pytest.raises(ValueError, match=says):
        LiteracyConfig.from_dict({"source": "x", "model": "y", **options})
