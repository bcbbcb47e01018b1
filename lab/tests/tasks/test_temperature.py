"""Temperatures that are asked for: the truth, baselines, errors, intervals, and a model's answers."""

from __future__ import annotations

import ast
import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertForMaskedLM

import numerate
from numerate.processing.record_tokenizer import record_tokenizer
from numerate.reading import make_reader
from numerate_lab.tasks.temperature.forecasts import BASELINES, TemperatureConfig, TemperatureSource
from numerate_lab.tasks.temperature.weather_fields import TemperatureField, synthetic_field

if TYPE_CHECKING:
    from pathlib import Path

FEW: dict[str, Any] = {"stations": (3, 6)}


@pytest.fixture(scope="module")
def task() -> TemperatureSource:
    return TemperatureSource(TemperatureConfig(**FEW))


def temperatures_of(text: str) -> np.ndarray:
    """Temperatures (S, T) as a record says them."""
    return np.array(ast.literal_eval(text)["data"])


# What is asked for.


def test_what_is_asked_for_is_the_last_of_each_station(task: TemperatureSource) -> None:
    texts, truth, reader = task.texts("test", 6), task.truth("test", 6), make_reader("records")
    rows = truth.groups["record"]
    lasts = [temperatures_of(text)[:, -1].tolist() for text in texts]
    assert truth.values.tolist() == [value for row in lasts for value in row]
    assert rows.tolist() == [number for number, row in enumerate(lasts) for _ in row]
    assert truth.spans is not None
    for number, text in enumerate(texts):
        numerals = reader.find(text)
        asked = [numerals[slot] for slot in truth.groups["slot"][rows == number].tolist()]
        times = temperatures_of(text).shape[1]
        assert [n.path for n in asked] == [f"data[{row}][{times - 1}]" for row in range(len(lasts[number]))]
        assert [n.value for n in asked] == lasts[number]
        assert [(n.start, n.end) for n in asked] == [tuple(span) for span in truth.spans[rows == number].tolist()]
    for number, question in enumerate(task.questions(texts, truth)):
        parts = zip(question.split("[NUM]"), [*map(repr, lasts[number]), ""], strict=True)
        assert "".join(piece for pair in parts for piece in pair) == texts[number]
        assert question.count("[NUM]") == question.count("[NUM]]") == len(lasts[number])
    with pytest.raises(ValueError, match="5 texts for answers of 6 records"):
        task.questions(texts[:5], truth)


def test_baselines_by_hand(task: TemperatureSource) -> None:
    texts, truth, guesses = task.texts("test", 7), task.truth("test", 7), task.baselines("test", 7)
    assert tuple(guesses) == BASELINES
    data = [temperatures_of(text) for text in texts]
    assert guesses["persistence"].tolist() == [row[-2] for rows in data for row in rows.tolist()]
    steps = truth.groups["step"][np.unique(truth.groups["record"], return_index=True)[1]].tolist()
    assert set(steps) == {3, 4}
    changed = [
        r[-2] + r[-1 - 24 // step] - r[-2 - 24 // step]
        for rows, step in zip(data, steps, strict=True)
        for r in rows.tolist()
    ]
    assert guesses["yesterday"] == pytest.approx(changed, abs=1e-12)
    field, end = task.field, task.bounds["train"][1]
    for place in range(0, len(truth), 5):
        cell, time = int(truth.groups["cell"][place]), int(truth.groups["time"][place])
        alike = [field.t2m[i, cell // 24, cell % 24] for i in range(end) if (field.time[i] - time) % 86_400 == 0]
        usual = (np.mean(alike, dtype=np.float64) - task.mean) / task.kelvin
        assert guesses["climatology"][place] == pytest.approx(usual, abs=1e-9)
        at = field.time.tolist().index(time)
        assert truth.values[place] * task.kelvin + task.mean == pytest.approx(
            field.t2m[at, cell // 24, cell % 24], abs=1e-3
        )
        assert truth.groups["hour"][place] == datetime.datetime.fromtimestamp(time, datetime.UTC).hour


def test_a_perfect_cycle_is_known_from_yesterday() -> None:
    field = synthetic_field(days=31, shape=(3, 3))
    cycle = np.cos(2 * np.pi * (field.time / 3600 - 15) / 24)[:, None, None] * np.arange(1, 10).reshape(3, 3)
    task = TemperatureSource(
        TemperatureConfig(stations=(3, 9), decimals=9),
        TemperatureField(280 + cycle, *(getattr(field, n) for n in ("time", "lat", "lon"))),
    )
    truth, guesses = task.truth("test", 30), task.baselines("test", 30)
    for name, low, high in (("yesterday", 0, 1e-15), ("climatology", 0, 1e-15), ("persistence", 0.1, 3)):
        assert low <= float(task.measure(guesses[name], truth)["mse"]) <= high


def test_errors_in_both_units(task: TemperatureSource) -> None:
    truth = task.truth("test", 5)
    guess = truth.values + np.where(np.arange(len(truth)) % 2, 0.5, -0.1)
    scores = task.measure(guess, truth)
    expected = np.mean((guess - truth.values) ** 2)
    assert float(scores["mse"]) == pytest.approx(expected)
    assert float(scores["mse_kelvin"]) == pytest.approx(np.mean(((guess - truth.values) * task.kelvin) ** 2))
    assert scores["mse"].count == len(truth) and float(scores["invalid"]) == float(scores["exact_match"]) == 0
    given: list[Any] = [*truth.strings[:-2], None, "no idea"]
    scores = task.measure(given, truth)
    assert float(scores["mse"]) == 0 and float(scores["invalid"]) == pytest.approx(2 / len(truth))
    # 0.5 stands for 0.5000.
    near = task.measure(truth.values + 0.4e-4, truth), task.measure(truth.values + 0.6e-4, truth)
    assert [float(one["exact_match"]) for one in near] == [1, 0]
    with pytest.raises(ValueError, match="equally many"):
        task.measure([1.0], truth)


def test_intervals_draw_whole_days(task: TemperatureSource) -> None:
    truth = task.truth("test", 120)
    guesses = task.baselines("test", 120)
    days, errors = truth.groups["time"] // 86_400, (guesses["climatology"] - truth.values) ** 2
    found = task.interval(guesses["climatology"], truth, resamples=4000)
    assert found.estimate == pytest.approx(errors.mean()) and found.clusters == len(set(days.tolist()))
    rng, labels = np.random.default_rng(1), np.unique(days)
    sums, sizes = (np.array([part(errors[days == day]) for day in labels]) for part in (np.sum, len))
    rows = rng.integers(len(labels), size=(4000, len(labels)))
    low, high = np.quantile(sums[rows].sum(1) / sizes[rows].sum(1), [0.025, 0.975])
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.06 * (high - low))
    # Stations as if they were independent would claim far more than is known.
    alone = numerate.metrics.bootstrap(errors.tolist(), resamples=1000)
    assert found.high - found.low > 3 * (alone.high - alone.low)
    apart = task.interval(guesses["yesterday"], truth, guesses["persistence"], resamples=1000)
    other = (guesses["yesterday"] - truth.values) ** 2 - (guesses["persistence"] - truth.values) ** 2
    assert apart.estimate == pytest.approx(other.mean()) and apart.high < 0


# Models.


def small_model(task: TemperatureSource, recipe: str, **options: Any) -> Any:
    tokenizer = record_tokenizer(task.texts("train", 2))
    torch.manual_seed(0)
    shape = BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=1200,
    )  # fmt: skip
    return numerate.attach(BertForMaskedLM(shape), tokenizer, recipe=recipe, reader="records", **options)


def test_a_model_is_asked_for_all_stations_at_once(task: TemperatureSource) -> None:
    model = small_model(task, "xval", implied_commas=True)
    texts, truth = task.texts("test", 3), task.truth("test", 3)
    answers = model.predict(task.questions(texts, truth)).median()
    assert answers.shape == (len(truth),)
    batch = model.processor(texts, return_tensors="pt", padding=True)
    found = batch["number_bits"].view(torch.float64)[truth.groups["record"], truth.groups["slot"]]
    assert found.tolist() == truth.values.tolist()
    assert task.measure(answers, truth)["mse"].count == len(truth)


# ERA5.


@pytest.mark.slow
@pytest.mark.shared("data/temperature")
@pytest.mark.parametrize(
    ("name", "steps", "persistence", "yesterday"),
    [("era5_uk_2019-03", (3, 4), 0.70, 0.23), ("era5_italy_2022-05_06", (3,), 0.16, 0.045)],
)
def test_real_weather(shared: Path, name: str, steps: tuple[int, ...], persistence: float, yesterday: float) -> None:
    task = TemperatureSource(str(shared / "data" / "temperature" / f"{name}.npz"))
    assert task.steps == steps
    truth, guesses = task.truth("test", 400), task.baselines("test", 400)
    found = {name: float(task.measure(guess, truth)["mse"]) for name, guess in guesses.items()}
    assert found["persistence"] == pytest.approx(persistence, rel=0.1)
    assert found["yesterday"] == pytest.approx(yesterday, rel=0.25)
    assert found["yesterday"] < found["persistence"] < found["climatology"]
    # Without records: all cells, at all times that end one of two days or more, each hour once.
    with np.load(shared / "data" / "temperature" / f"{name}.npz", allow_pickle=False) as file:
        t2m, hours = file["t2m"].astype(np.float64), int(file["time"][1] - file["time"][0]) // 3600
    first, behind = task.bounds["test"]
    variance, day, every = t2m[: task.bounds["train"][1]].var(), 24 // hours, []
    for step in (step // hours for step in steps):
        at = np.arange(first + 2 * day - step, behind)
        change = t2m[at] - t2m[at - step]
        every.append(((change**2).mean(), ((change - t2m[at - day] + t2m[at - day - step]) ** 2).mean()))
    whole = np.mean(every, axis=0) / variance
    assert (found["persistence"], found["yesterday"]) == pytest.approx(tuple(whole), rel=0.15)
    days = task.interval(guesses["yesterday"], truth, guesses["persistence"], resamples=1000)
    assert days.high < 0 and days.clusters == len({int(t) // 86_400 for t in truth.groups["time"]})
