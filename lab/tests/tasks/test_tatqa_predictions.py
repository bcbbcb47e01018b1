"""Predictions in TAT-QA's official format: what is written has the scores of the training, and bad input one line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from report_data import write_reports
from tiny_models import new_backbone, tokenizer_of
from typer.testing import CliRunner

from numerate.cli.app import app
from numerate.errors import BadInput
from numerate_lab.commands.compare import compare_encodings
from numerate_lab.tasks.tatqa.official_scores import exact_match_and_f1
from numerate_lab.tasks.tatqa.prediction_file import export_predictions, read_predictions

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison by cross-validation in `folds`, one with a test file in `files`, and their data."""
    place = tmp_path_factory.mktemp("predictions")
    for name, count, first in (("dev.json", 4, 0), ("gold.json", 2, 50)):
        write_reports(place / name, count, first=first)
    new_backbone("bert", max_position_embeddings=512).save_pretrained(place / "bert")
    tokenizer_of("bert").save_pretrained(place / "bert")
    size = {"batch": 16, "epochs": 3, "folds": 2, "max_tokens": 160, "bf16": False, "model": str(place / "bert")}
    for name, more in (("folds", {}), ("files", {"test": str(place / "gold.json")})):
        compare_encodings(
            str(place / name), task="tatqa", encodings=["bare"], rates=(3e-3,), seeds=1, scale="small",
            options={"source": str(place / "dev.json")} | size | more, log=lambda line: None,
        )  # fmt: skip
    return place


def result_of(folder: Path, name: str) -> Path:
    return next((folder / name / "tatqa").glob("bare-rate*.json"))


@pytest.mark.parametrize(("name", "data"), [("folds", "dev.json"), ("files", "gold.json")])
def test_what_is_written_has_the_scores_of_the_training(folder: Path, tmp_path: Path, name: str, data: str) -> None:
    result, out = result_of(folder, name), tmp_path / "predictions.json"
    done = CliRunner().invoke(app, ["export", "tatqa", str(result), "--data", str(folder / data), "-o", str(out)])
    assert done.exit_code == 0 and done.output.strip() == str(out), done.output
    written = json.loads(out.read_text("utf-8"))
    predicted = read_predictions(out)
    questions = {
        one["uid"]: one for context in json.loads((folder / data).read_text("utf-8")) for one in context["questions"]
    }
    assert written.keys() == questions.keys() and all(isinstance(entry[0], list) for entry in written.values())
    scores = []
    for uid, one in questions.items():
        gold = one["answer"] if isinstance(one["answer"], list) else [str(one["answer"])]
        scores.append(exact_match_and_f1(*predicted[uid], gold, one["scale"], one["answer_type"]))
    figures = json.loads(result.read_text("utf-8"))["figures"]["test"]
    assert sum(one for one, _ in scores) / len(scores) == pytest.approx(figures["em"]["value"])
    assert sum(one for _, one in scores) / len(scores) == pytest.approx(figures["f1"]["value"])
    assert sum(1 for items, _ in predicted.values() if items) > 0


def test_bad_input(folder: Path, tmp_path: Path) -> None:
    result = result_of(folder, "folds")
    stored: dict[str, Any] = json.loads(result.read_text("utf-8"))
    for changes, message in (
        ({"kind": "tabfact"}, "a result of 'tabfact', and no final training of tatqa"),
        ({"trying": True}, "a try of a rate, and no final training of tatqa"),
        ({}, "changed.npz: no such file; the predictions of changed.json were not kept"),
    ):
        file = tmp_path / "changed.json"
        file.write_text(json.dumps(stored | {"config": stored["config"] | changes}))
        with pytest.raises(BadInput, match=message):
            export_predictions(file, folder / "dev.json", tmp_path / "out.json")
    for place, data, message in (
        (tmp_path / "gone.json", folder / "dev.json", "not the result of a training"),
        (result, folder / "gold.json", "gold.json: other questions than those of bare-rate"),
    ):
        with pytest.raises(BadInput, match=message):
            export_predictions(place, data, tmp_path / "out.json")
    for text, message in (
        ("[]", r"expected an object of question ids, got '\[\]'"),
        ('{"a": ["x"]}', "question 'a' has .*, expected"),
        ('{"a": ["x", "dozen"]}', "expected .answer, scale."),
        ("{", "not a file of predictions"),
    ):
        (tmp_path / "p.json").write_text(text)
        with pytest.raises(BadInput, match=message):
            read_predictions(tmp_path / "p.json")
    (tmp_path / "p.json").write_text('{"a": [12.5, "percent"]}')
    assert read_predictions(tmp_path / "p.json") == {"a": (["12.5"], "percent")}
