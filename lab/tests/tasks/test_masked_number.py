"""Masked numbers: asked for without a hint, scored by the head, against baselines and wrong numbers."""

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
from numerate_lab.tasks.masked_prediction.anomalies import KINDS, wrong_numbers
from numerate_lab.tasks.masked_prediction.masked_number import MaskedNumber, ask
from numerate_lab.tasks.masked_prediction.number_guesses import NumberGuesses, baselines, figures
from numerate_lab.tasks.masked_prediction.number_sentences import NumberSentence, sentence_of_row
from numerate_lab.tasks.masked_prediction.prediction_setup import LiteracyConfig, load_split

if TYPE_CHECKING:
    from pathlib import Path

SENTENCES = list(map(sentence_of_row, number_data.rows("dev", 6)))


def config_in(folder: Path, **options: Any) -> LiteracyConfig:
    (folder / "data").mkdir()
    source, model = number_data.write_data(folder / "data"), number_data.write_model(folder / "model")
    return LiteracyConfig(source=source, model=model, predict="numbers", batch=8, **options)


@pytest.mark.parametrize("numbers", ["annotated", "all"])
@pytest.mark.parametrize("recipe", ["in-place", "luna", "exponent", "default"])
def test_what_is_asked_for_leaves_no_trace_of_the_number(recipe: str, numbers: str) -> None:
    model = attach(new_backbone("bert"), tokenizer_of("bert"), recipe)
    one = ask(model.processor, SENTENCES, numbers)
    other = ask(model.processor, [s.with_number("987,654,321.5") for s in SENTENCES], numbers)
    assert [row["input_ids"] for row in one.rows] == [row["input_ids"] for row in other.rows]
    for row, place, sentence in zip(one.rows, one.number, SENTENCES, strict=True):
        assert row["input_ids"].count(model.processor.num_id) >= 1 and place >= 0
        assert row["number_given"][place] == 0
        before = sentence.text[: sentence.numeral.start]
        same = ask(model.processor, [NumberSentence("x", before + "7", sentence_numeral(before))], numbers)
        assert place == same.number[0]  # as many numbers stand before it
    with pytest.raises(ValueError, match="every sentence must have a number"):
        ask(model.processor, [NumberSentence("x", "none")])


def sentence_numeral(before: str) -> Numeral:
    return Numeral("7", len(before), len(before) + 1, 7.0)


@pytest.mark.parametrize(("recipe", "parts"), [("exponent", {"head": "mixture"}), ("in-place", {}), ("xval", {})])
def test_guesses_are_those_of_predict(recipe: str, parts: dict[str, Any], tmp_path: Path) -> None:
    task = MaskedNumber(config_in(tmp_path, recipe=recipe, parts=parts, numbers="all"))
    model = task.build()
    guesses = task.guess(model, "test", seed=4)
    sentences, _ = load_split(task.config, "test")
    wrong = wrong_numbers([s.numeral for s in sentences], "added", seed=4)
    for index in (0, 3, 7):
        own = sentences[index].numeral
        text = sentences[index].text[: own.start] + "[NUM]" + sentences[index].text[own.end :]
        said = model.predict(text)
        table, other = (NumberTable.of_numerals([each]) for each in (own, wrong[index]))
        median, low = float(said.median()), float(said.interval(0.9)[0])
        if recipe == "xval":
            assert guesses.median[index] == pytest.approx(float(model.processor.scaling.invert([""], [median])[0]))
            assert np.isnan(guesses.nats[index]) and np.isnan(guesses.crps[index])
            continue
        assert guesses.median[index] == pytest.approx(median, rel=1e-4)
        assert guesses.low[index] == pytest.approx(low, rel=1e-3, abs=1e-6)
        assert guesses.nats[index] == pytest.approx(-float(said.log_mass(table)), rel=1e-4)
        assert guesses.score[index] == pytest.approx(-float(said.log_prob(table)), rel=1e-4)
        assert guesses.wrong["added"][0, index] == pytest.approx(-float(said.log_prob(other)), rel=1e-4)
        tail = abs(float(said.cdf(other.values())) - 0.5)
        assert guesses.wrong["added"][1, index] == pytest.approx(tail, abs=1e-5)
    assert guesses.gold.tolist() == [s.numeral.value for s in sentences]


def test_training_learns_and_does_not_touch_the_encoder(tmp_path: Path) -> None:
    options = {
        "recipe": "exponent",
        "parts": {"head": {"kind": "mixture"}},
        "epochs": 4,
        "rate": 1e-2,
        "most_train": 24,
    }
    task = MaskedNumber(config_in(tmp_path, **options))
    model = task.build()
    first = model.backbone.encoder.layer[0].output.dense.weight.detach().clone()
    before = np.nanmean(task.guess(model, "train").nats)
    task.train(model)
    assert np.nanmean(task.guess(model, "train").nats) < before - 0.1
    assert torch.equal(model.backbone.encoder.layer[0].output.dense.weight.cpu(), first)
    results, columns = task.evaluate(model, "test")
    assert list(results) == ["model", "median", "unit median", "conversion"]
    assert {"gold", "median", "nats", "wrong_added"} <= set(columns)
    assert results["model"]["coverage_90"] is not None and results["median"]["crps"] is None
    gold = torch.from_numpy(columns["gold"])
    assert results["model"]["log_mae"] == pytest.approx(
        float(metrics.log_mae(torch.from_numpy(columns["median"]), gold))
    )


def test_cells_of_one_encoder_share_their_batches(tmp_path: Path) -> None:
    config = config_in(tmp_path, recipe="exponent", parts={"head": "mixture"})
    tasks = [
        MaskedNumber(dataclasses.replace(config, **more))
        for more in ({}, {"seed": 1, "rate": 1e-2}, {"numbers": "all"}, {"most_train": 5}, {"recipe": "in-place"})
    ]
    first, second, *others = [task.batches(task.build(), "train", 8) for task in tasks]
    assert first is second and not any(other is first for other in others)
    assert len({id(each) for each in others}) == 3


def test_a_recipe_without_a_head_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="recipe 'default' has no number head: say parts="):
        MaskedNumber(config_in(tmp_path, recipe="default")).build()


def test_figures_against_the_metrics_called_by_hand() -> None:
    rng = np.random.default_rng(0)
    gold = 10 ** rng.uniform(0, 4, 40)
    median = gold * 10 ** rng.normal(0, 0.3, 40)
    median[3] = np.nan  # its sentence was cut
    score, other = rng.normal(0, 1, 40), rng.normal(1, 1, (2, 40))
    other[:, :5] = np.nan  # no such wrong number
    guesses = NumberGuesses(gold, median, gold / 2, gold * 0.9, score, score + 3, score, score, {"dropped": other})
    row = figures(guesses)
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


@pytest.mark.parametrize("guess", [0.0, np.inf, -np.inf])
def test_guesses_that_have_no_order_of_magnitude_are_told(guess: float) -> None:
    gold, nothing = np.array([100.0, 1000.0, 10.0, 0.0]), np.full(4, np.nan)

    def row(*median: float) -> dict[str, Any]:
        return figures(NumberGuesses(gold, np.array(median), nothing, nothing, nothing, nothing, nothing, nothing, {}))

    good, bad = row(10.0, 10.0, 10.0, 5.0), row(10.0, guess, 10.0, 5.0)
    # A number that is 0 itself is left out whatever was guessed: no guess makes a figure better by it.
    assert "log_mae_left_out" not in good and (good["count"], good["log_mae"]) == (4, 1.0)
    assert bad["log_mae_left_out"] == 1 and (bad["count"], bad["log_mae"]) == (4, 0.5)
    assert row(guess, guess, guess, 0.0)["log_mae_left_out"] == 3 and row(guess, guess, guess, 0.0)["log_mae"] is None
    assert bad.keys() - good.keys() == {"log_mae_left_out"}


def test_baselines_by_unit_fall_back_to_the_median_of_all() -> None:
    def made(unit: str | None, value: int) -> NumberSentence:
        return NumberSentence("x", str(value), Numeral(str(value), 0, len(str(value)), float(value)), unit)

    train = [made("kg", 1), made("kg", 3), made("km", 100), made(None, 7)]
    found = baselines(train, [made("kg", 9), made("km", 9), made("mi", 9), made(None, 9)])
    assert found["median"].tolist() == [5.0] * 4 and found["unit median"].tolist() == [2.0, 100.0, 5.0, 7.0]


def test_where_no_unit_is_named_the_word_behind_the_number_is_one() -> None:
    def made(text: str, value: int) -> NumberSentence:
        start = text.index(str(value))
        return NumberSentence("x", text, Numeral(str(value), start, start + len(str(value)), float(value)))

    train = [made("up 3 pct", 3), made("down 5 Pct.", 5), made("a 900 mln loan", 900), made("in 60.", 60)]
    test = [made("at 7 pct", 7), made("some 7 mln", 7), made("7 men", 7), made("by 7", 7)]
    assert baselines(train, test)["unit median"].tolist() == [4.0, 900.0, 32.5, 60.0]


NUMERALS = [sentence.numeral for sentence in map(sentence_of_row, number_data.rows("train", 200))]


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_numbers_are_wrong_in_the_way_they_say(kind: str) -> None:
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


def test_numbers_that_cannot_be_wrong_in_some_way() -> None:
    seven, same = Numeral("7", 0, 1, 7.0), Numeral("55", 0, 2, 55.0)
    assert wrong_numbers([seven, same], "dropped")[0] is None and wrong_numbers([same], "exchanged") == [None]
    assert wrong_numbers([seven, seven], "swapped") == [None, None]
    with pytest.raises(ValueError, match="kind must be one of swapped, added, dropped, exchanged, got 'lost'"):
        wrong_numbers([seven], "lost")


def test_wrong_numbers_are_written_as_right_ones_are() -> None:
    right = [
        Numeral(text, 0, len(text), float(text.replace(",", ""))) for text in ("1,250", "7,000", "2500", "95", "950")
    ]
    for kind in ("added", "dropped", "exchanged"):
        for seed in range(20):
            for own, wrong in zip(right, wrong_numbers(right, kind, seed), strict=True):
                if wrong is None:
                    continue
                assert wrong.value == float(wrong.text.replace(",", ""))
                # Most long numbers here have commas; one that was written without stays so.
                assert ("," in wrong.text) == (wrong.value >= 1000 and own.text != "2500"), (own.text, wrong.text)
    bare = [Numeral(text, 0, len(text), float(text)) for text in ("1250", "7000", "950")]
    assert all("," not in wrong.text for wrong in wrong_numbers(bare, "added") if wrong is not None)
