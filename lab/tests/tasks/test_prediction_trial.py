"""One cell of the grid from config to figures, and two encoders compared from their files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import number_data
import numpy as np
import pytest

from numerate.training.sources import SourceError
from numerate_lab.tasks.masked_prediction.masked_word import MaskedWord
from numerate_lab.tasks.masked_prediction.prediction_setup import LiteracyConfig, load_split
from numerate_lab.tasks.masked_prediction.prediction_trial import MOVES, compare_cells, run_cell
from numerate_lab.tasks.masked_prediction.word_scores import WordScores, compare, summary

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Two encoders, trained for an epoch."""
    folder: Path = tmp_path_factory.mktemp("grid")
    (folder / "data").mkdir()
    plain = folder / "plain.jsonl"
    plain.write_text('{"text": "A cat sat on the mat."}\n{"text": "It has 3 legs."}\n', "utf-8")
    options: dict[str, Any] = {
        "source": number_data.write_data(folder / "data"), "model": number_data.write_model(folder / "model"),
        "epochs": 1, "batch": 16, "plain": str(plain), "shift": 1000.0, "output": str(folder / "out"),
    }  # fmt: skip
    return {name: run_cell(LiteracyConfig(recipe=name, **options)) for name in ("default", "exponent")}


def test_a_cell_says_all_there_is_to_say(grid: dict[str, dict[str, Any]]) -> None:
    cell = grid["exponent"]
    assert json.loads(json.dumps(cell, allow_nan=False)) == cell
    assert list(cell["results"]) == ["dev", "test", "plain"] and list(cell["seconds"]) == [
        "train",
        "dev",
        "test",
        "plain",
    ]
    assert LiteracyConfig.from_dict(cell["config"]).recipe == "exponent" and cell["version"] == 1
    assert 0 < cell["trained"] < cell["weights"] and cell["steps"] == 3
    test = cell["results"]["test"]
    assert {"all", "unit", "other", "next", "near", "moves", "stays"} <= set(test)
    assert test["unit"]["count"] + test["other"]["count"] == test["all"]["count"] > 200
    assert cell["results"]["plain"]["all"]["count"] == load_plain(cell) > 3
    assert cell["results"]["plain"]["unit"]["count"] == 0


def load_plain(cell: dict[str, Any]) -> int:
    return len(load_split(LiteracyConfig.from_dict(cell["config"]), "plain")[1])


def test_every_figure_comes_back_from_the_file(grid: dict[str, dict[str, Any]]) -> None:
    cell = grid["exponent"]
    scores = WordScores.load(cell["predictions"]["test"])
    with np.load(cell["predictions"]["test"], allow_pickle=False) as file:
        shift = file["shift"]
    positions = load_split(LiteracyConfig.from_dict(cell["config"]), "test")[1]
    assert cell["results"]["test"]["all"] == summary(scores)
    assert cell["results"]["test"]["moves"] == summary(scores, shift >= MOVES)
    assert cell["results"]["test"]["unit"] == summary(scores, positions.labels["unit"])


def test_two_encoders_compared(grid: dict[str, dict[str, Any]]) -> None:
    found = compare_cells([grid["exponent"]], [grid["default"]], resamples=50)
    positions = load_split(LiteracyConfig.from_dict(grid["default"]["config"]), "test")[1]
    one, other = ([WordScores.load(grid[name]["predictions"]["test"])] for name in ("exponent", "default"))
    assert found["near"] == compare(one, other, positions, positions.labels["near"], resamples=50)
    assert found["moves"]["count"] + found["stays"]["count"] == found["all"]["count"]
    assert found["all"]["nats"] == pytest.approx(grid["exponent"]["results"]["test"]["all"]["nats"])


def test_one_file_is_not_trained_and_measured_on_the_same_rows(grid: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    rows = [row for split in ("train", "dev", "test") for row in number_data.rows(split, 12)]
    file = tmp_path / "one.json"
    file.write_text(json.dumps(rows), "utf-8")
    options = grid["default"]["config"] | {"source": str(file), "plain": None, "shift": None, "output": None}
    config = LiteracyConfig.from_dict(options)
    texts = {split: {sentence.text for sentence in load_split(config, split)[0]} for split in ("train", "dev", "test")}
    assert not texts["train"] & texts["dev"] and not texts["train"] & texts["test"] and not texts["dev"] & texts["test"]
    found = run_cell(config)["results"]["test"]["all"]["count"]
    assert found == len(load_split(config, "test")[1]) > 0


@pytest.mark.parametrize("empty", ["train", "dev", "test", "plain"])
def test_an_empty_split_is_refused_before_anything_is_trained(
    empty: str, grid: dict[str, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MaskedWord, "train", lambda self, model: pytest.fail("trained"))
    source, plain = number_data.write_data(tmp_path), tmp_path / "plain.jsonl"
    plain.write_text('{"text": "It has 3 legs."}\n', "utf-8")
    if empty != "plain":
        (tmp_path / f"{empty}.jsonl").write_text("", "utf-8")
    options = grid["default"]["config"] | {"source": source} | ({"plain": str(plain)} if empty == "plain" else {})
    with pytest.raises(SourceError) as caught:
        run_cell(LiteracyConfig.from_dict(options))
    told = str(plain) if empty == "plain" else source
    assert str(caught.value).startswith(f"{told}: there is no sentence in the split {empty!r}; give ")


def test_a_cell_of_numbers(grid: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    options = grid["default"]["config"] | {"predict": "numbers", "parts": {"head": "mixture"}, "splits": ["test"]}
    cell = run_cell(LiteracyConfig.from_dict(options | {"output": str(tmp_path)}))
    assert json.loads(json.dumps(cell, allow_nan=False)) == cell
    assert list(cell["results"]["test"]) == ["model", "median", "unit median", "conversion"]
    with np.load(cell["predictions"]["test"], allow_pickle=False) as file:
        assert len(file["gold"]) == number_data.SIZES["test"] == cell["results"]["test"]["model"]["count"]


def test_the_papers_filters_are_settings(tmp_path: Path) -> None:
    number_data.write_data(tmp_path)
    model = number_data.write_model(tmp_path / "bert")
    whole = LiteracyConfig(source=str(tmp_path), model=str(model))
    given = LiteracyConfig.from_dict(whole.to_dict() | {"lengths": [15, 45], "values": [0.1, 1000.0]})
    kept, every = (load_split(config, "train")[0] for config in (given, whole))
    wanted = [
        one.id
        for one in every
        if 15 < len(one.text) < 45 and one.numeral is not None and 0.1 < one.numeral.value < 1000
    ]
    assert [one.id for one in kept] == wanted and 0 < len(wanted) < len(every)
