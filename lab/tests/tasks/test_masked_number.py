"""Masked numbers: no trace of the number in the input, scores of the head, baselines and wrong numbers."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import number_data
import numpy as np
import pytest
import torch
from tiny_models import new_backbone, tokenizer_of

from numerate import metrics
from numerate.modeling.attaching import attach
from numerate.numerals.numeral import Numeral
from numerate.processing.number_table import NumberTable
from numerate_lab.engine.task import Workspace
from numerate_lab.tasks.masked_prediction.masked_number import MaskedNumbers, NumberTrial, mask_numbers
from numerate_lab.tasks.masked_prediction.number_guesses import KINDS, baselines, figures, wrong_numbers
from numerate_lab.tasks.masked_prediction.number_sentences import NumberSentence, sentence_of_row
from numerate_lab.tasks.masked_prediction.prediction_setup import load_split

if TYPE_CHECKING:
    from pathlib import Path

SENTENCES = list(map(sentence_of_row, number_data.rows("dev", 6)))


def config_in(folder: Path, **options: Any) -> NumberTrial:
    return NumberTrial(source=str(folder / "data" / "units"), model=str(folder / "bert"), batch=8, **options)


@pytest.mark.parametrize("recipe", ["in-place", "luna", "exponent", "subwords"])
def test_masked_input_has_no_trace_of_the_number(recipe: str) -> None:
    model = attach(new_backbone("bert"), tokenizer_of("bert"), recipe)
    for numbers in ("annotated", "all"):
        one = mask_numbers(model.processor, SENTENCES, numbers)
        other = mask_numbers(model.processor, [s.with_number("987,654,321.5") for s in SENTENCES], numbers)
        assert [row["input_ids"] for row in one.rows] == [row["input_ids"] for row in other.rows]
        for row, place, sentence in zip(one.rows, one.number, SENTENCES, strict=True):
            assert row["input_ids"].count(model.processor.num_id) >= 1 and place >= 0
            assert row["number_given"][place] == 0
            before = sentence.text[: sentence.numeral.start]
            same = mask_numbers(model.processor, [NumberSentence("x", before + "7", sentence_numeral(before))], numbers)
            assert place == same.number[0], "the same count of numbers before it"
    with pytest.raises(ValueError, match="every sentence must have an annotated number"):
        mask_numbers(model.processor, [NumberSentence("x", "none")])


def sentence_numeral(before: str) -> Numeral:
    return Numeral("7", len(before), len(before) + 1, 7.0)


@pytest.mark.parametrize(("recipe", "parts"), [("exponent", {"head": "mixture"}), ("in-place", {}), ("xval", {})])
def test_guesses_equal_predict(recipe: str, parts: dict[str, Any], prediction_folder: Path) -> None:
    task = MaskedNumbers(config_in(prediction_folder, recipe=recipe, parts=parts, numbers="all"))
    model = task.build()
    guesses = task.ask(model, "test", seed=4)
    sentences, _ = load_split(task.config, "test")
    wrong = wrong_numbers([s.numeral for s in sentences], "added", seed=4)
    for index in (0, 3, 7):
        own = sentences[index].numeral
        text = sentences[index].text[: own.start] + "[NUM]" + sentences[index].text[own.end :]
        said = model.predict(text)
        table, other = (NumberTable.of_numerals([each]) for each in (own, wrong[index]))
        median, low = float(said.median()), float(said.interval(0.9)[0])
        if recipe == "xval":
            assert guesses["median"][index] == pytest.approx(median)
            assert np.isnan(guesses["nats"][index]) and np.isnan(guesses["crps"][index])
            continue
        assert guesses["median"][index] == pytest.approx(median, rel=1e-4)
        assert guesses["low"][index] == pytest.approx(low, rel=1e-3, abs=1e-6)
        assert guesses["nats"][index] == pytest.approx(-float(said.log_mass(table)), rel=1e-4)
        assert guesses["score"][index] == pytest.approx(-float(said.log_prob(table)), rel=1e-4)
        assert guesses["wrong_added"][0, index] == pytest.approx(-float(said.log_prob(other)), rel=1e-4)
        tail = abs(float(said.cdf(other.values())) - 0.5)
        assert guesses["wrong_added"][1, index] == pytest.approx(tail, abs=1e-5)
    assert guesses["gold"].tolist() == [s.numeral.value for s in sentences]


def test_training_learns_and_keeps_the_encoder(prediction_folder: Path) -> None:
    options: dict[str, Any] = {"recipe": "exponent", "parts": {"head": {"kind": "mixture"}}, "most_train": 24}
    task = MaskedNumbers(config_in(prediction_folder, epochs=4, rate=1e-2, **options))
    model = task.build()
    first = model.backbone.encoder.layer[0].output.dense.weight.detach().clone()
    before = np.nanmean(task.ask(model, "train")["nats"])
    task.train(model)
    assert np.nanmean(task.ask(model, "train")["nats"]) < before - 0.1
    assert torch.equal(model.backbone.encoder.layer[0].output.dense.weight.cpu(), first)
    columns = task.ask(model, "test")
    figures, baselines = task.score("test", columns)["test"], task.baselines()
    assert list(baselines) == ["median", "unit median", "conversion"]
    assert {"gold", "median", "nats", "wrong_added"} <= set(columns)
    assert figures["coverage_90"] is not None and baselines["median"]["test"]["crps"] is None
    pair = (torch.from_numpy(columns[name]) for name in ("median", "gold"))
    assert figures["log_mae"] == pytest.approx(float(metrics.log_mae(*pair)))
    assert task.error({"dev": figures}) == figures["log_mae"]
    assert task.error({"dev": figures | {"log_mae_left_out": 1}}) == np.inf


def test_trials_of_one_encoding_share_their_batches(prediction_folder: Path) -> None:
    config, workspace = config_in(prediction_folder, recipe="exponent", parts={"head": "mixture"}), Workspace()
    tasks = [
        MaskedNumbers(dataclasses.replace(config, **more), workspace)
        for more in ({}, {"seed": 1, "rate": 1e-2}, {"numbers": "all"}, {"most_train": 5})
    ]
    first, second, *others = [task.batches(task.build(), "train", 8) for task in tasks]
    assert first is second and len({id(each) for each in (first, *others)}) == 3


def test_encodings_need_a_head(prediction_folder: Path) -> None:
    with pytest.raises(ValueError, match="recipe 'subwords' has no number head: give parts="):
        MaskedNumbers(config_in(prediction_folder, recipe="subwords")).build()
    assert MaskedNumbers.encoding("exponent")["parts"]["head"] == {"kind": "mixture"}
    assert MaskedNumbers.encoding("xval") == {"recipe": "xval"}
    assert MaskedNumbers.encoding("spelled")["predict"] == "spelled"


def test_figures_equal_the_metrics() -> None:
    rng = np.random.default_rng(0)
    gold = 10 ** rng.uniform(0, 4, 40)
    median = gold * 10 ** rng.normal(0, 0.3, 40)
    median[3] = np.nan  # its sentence was cut
    score, other = rng.normal(0, 1, 40), rng.normal(1, 1, (2, 40))
    other[:, :5] = np.nan  # no such wrong number
    guesses = {"gold": gold, "median": median, "low": gold / 2, "high": gold * 0.9, "wrong_dropped": other}
    row = figures(guesses | {"nats": score, "crps": score + 3, "score": score, "tail": score})
    there = np.arange(40) != 3
    pair = torch.from_numpy(median[there]), torch.from_numpy(gold[there])
    assert (row["count"], row["missing"], row["coverage_90"]) == (39, 1, 0.0)
    assert row["mdape"] == pytest.approx(float(metrics.mdape(*pair)))
    assert row["exponent_accuracy"] == pytest.approx(
        float(np.mean(np.floor(np.log10(median[there])) == np.floor(np.log10(gold[there]))))
    )
    assert row["nats"] == pytest.approx(score.mean()) and row["crps"] == pytest.approx(score.mean() + 3)
    wins = [(bad > good) + 0.5 * (bad == good) for bad in other[0, 5:] for good in score[5:]]
    assert row["auc_dropped"] == pytest.approx(np.mean(wins))


@pytest.mark.parametrize("guess", [0.0, -np.inf])
def test_guesses_without_an_order_of_magnitude_are_counted(guess: float) -> None:
    gold = np.array([100.0, 1000.0, 10.0, 0.0])

    def row(*median: float) -> dict[str, Any]:
        return figures({"gold": gold, "median": np.array(median)})

    good, bad = row(10.0, 10.0, 10.0, 5.0), row(10.0, guess, 10.0, 5.0)
    # Correct numbers of 0 are excluded for every guess, so that no guess can profit from them.
    assert "log_mae_left_out" not in good and (good["count"], good["log_mae"]) == (4, 1.0)
    assert bad["log_mae_left_out"] == 1 and (bad["count"], bad["log_mae"]) == (4, 0.5)
    assert row(guess, guess, guess, 0.0)["log_mae_left_out"] == 3 and row(guess, guess, guess, 0.0)["log_mae"] is None
    assert bad.keys() - good.keys() == {"log_mae_left_out"}


def test_unit_medians_fall_back_to_the_median_of_all() -> None:
    def made(unit: str | None, value: int) -> NumberSentence:
        return NumberSentence("x", str(value), Numeral(str(value), 0, len(str(value)), float(value)), unit)

    train = [made("kg", 1), made("kg", 3), made("km", 100), made(None, 7)]
    found = baselines(train, [made("kg", 9), made("km", 9), made("mi", 9), made(None, 9)])
    assert found["median"].tolist() == [5.0] * 4 and found["unit median"].tolist() == [2.0, 100.0, 5.0, 7.0]


def test_the_word_after_the_number_is_the_unit_if_none_is_named() -> None:
    def made(text: str, value: int) -> NumberSentence:
        start = text.index(str(value))
        return NumberSentence("x", text, Numeral(str(value), start, start + len(str(value)), float(value)))

    train = [made("up 3 pct", 3), made("down 5 Pct.", 5), made("a 900 mln loan", 900), made("in 60.", 60)]
    test = [made("at 7 pct", 7), made("some 7 mln", 7), made("7 men", 7), made("by 7", 7)]
    assert baselines(train, test)["unit median"].tolist() == [4.0, 900.0, 32.5, 60.0]


NUMERALS = [sentence.numeral for sentence in map(sentence_of_row, number_data.rows("train", 200))]


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_numbers_of_each_kind(kind: str) -> None:
    made = wrong_numbers(NUMERALS, kind, seed=1)
    assert made == wrong_numbers(NUMERALS, kind, seed=1) and made != wrong_numbers(NUMERALS, kind, seed=2)
    assert sum(each is not None for each in made) > 100
    for right, wrong in zip(NUMERALS, made, strict=True):
        if wrong is None:
            continue
        assert wrong.value != right.value
        digits, others = (n.text.replace(",", "") for n in (right, wrong))
        if kind == "swapped":
            assert wrong in NUMERALS
            continue
        assert float(others) == wrong.value and (others[0] != "0" or others.startswith("0."))
        if kind == "exchanged":
            assert sorted(digits) == sorted(others) and sum(a != b for a, b in zip(digits, others, strict=True)) == 2
        else:
            shorter, longer = sorted((digits, others), key=len)
            assert len(longer) == len(shorter) + 1 and (len(others) > len(digits)) == (kind == "added")
            assert any(longer[:at] + longer[at + 1 :] == shorter for at in range(len(longer)))


def test_numbers_without_a_wrong_number_of_a_kind() -> None:
    seven, same = Numeral("7", 0, 1, 7.0), Numeral("55", 0, 2, 55.0)
    assert wrong_numbers([seven, same], "dropped")[0] is None and wrong_numbers([same], "exchanged") == [None]
    assert wrong_numbers([seven, seven], "swapped") == [None, None]
    with pytest.raises(ValueError, match="kind must be one of swapped, added, dropped, exchanged, got 'lost'"):
        wrong_numbers([seven], "lost")


def test_wrong_numbers_have_the_notation_of_correct_ones() -> None:
    right = [
        Numeral(text, 0, len(text), float(text.replace(",", ""))) for text in ("1,250", "7,000", "2500", "95", "950")
    ]
    for kind in ("added", "dropped", "exchanged"):
        for seed in range(20):
            for own, wrong in zip(right, wrong_numbers(right, kind, seed), strict=True):
                if wrong is None:
                    continue
                assert wrong.value == float(wrong.text.replace(",", ""))
                # Most long numbers here have commas; a number without commas keeps its notation.
                assert ("," in wrong.text) == (wrong.value >= 1000 and own.text != "2500"), (own.text, wrong.text)
    bare = [Numeral(text, 0, len(text), float(text)) for text in ("1250", "7000", "950")]
    assert all("," not in wrong.text for wrong in wrong_numbers(bare, "added") if wrong is not None)
