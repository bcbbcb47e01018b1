"""`numerate eval`: the metrics of a trained model and of a run before training."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from known_distributions import known_texts
from typer.testing import CliRunner

from numerate.cli.app import app
from numerate.cli.run_commands import evaluate, train
from numerate.errors import NumerateError

if TYPE_CHECKING:
    from pathlib import Path

CPU = ["training.use_cpu=true"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with its texts beside it."""
    place = tmp_path_factory.mktemp("run")
    for split, count in (("train", 60), ("dev", 30)):
        rows = [json.dumps({"body": text.text}) for text in known_texts(split, count)]
        (place / f"{split}.jsonl").write_text("\n".join(rows))
    paths = {"data": str(place / "train.jsonl"), "dev": str(place / "dev.jsonl")}
    metrics = train("luna", output_dir=str(place / "o"), **paths, scale="tiny", changes=[*CPU, "data.text=body"])
    (place / "metrics.json").write_text(json.dumps(metrics))
    return place


def test_metrics_equal_those_of_the_training(folder: Path) -> None:
    trained = json.loads((folder / "metrics.json").read_text())
    found = evaluate(str(folder / "o"), str(folder / "dev.jsonl"))  # the field's name is in run.json
    assert found["texts"] == 30 and found["data"].endswith("dev.jsonl")
    for name in ("loss", "numbers", "log_mae", "mdape", "coverage_90"):
        assert found[name] == pytest.approx(trained[f"eval_{name}"], rel=1e-5), name
    assert evaluate(str(folder / "o"), str(folder / "train.jsonl"))["texts"] == 60


def test_loading_shows_no_bar_in_a_pipe(folder: Path) -> None:
    code = """
import sys
from numerate.apps.fill import load_model
from numerate.cli.app import app
load_model(sys.argv[1])
app(["eval", *sys.argv[1:]])
"""
    words = [str(folder / "o"), "--data", str(folder / "dev.jsonl")]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "texts" in done.stdout and "Loading weights" not in done.stderr


def test_a_field_selects_the_held_out_rows(folder: Path, tmp_path: Path) -> None:
    rows = [
        json.loads(line) | {"part": part}
        for part in ("train", "dev")
        for line in (folder / f"{part}.jsonl").read_text().splitlines()
    ]
    (both := tmp_path / "both.jsonl").write_text("\n".join(map(json.dumps, rows)))
    named = evaluate(str(folder / "o"), str(both), changes=["data.split=part"])
    assert named == evaluate(str(folder / "o"), str(folder / "dev.jsonl")) | {"data": str(both)}
    assert evaluate(str(folder / "o"), str(both))["texts"] == 90, "without, all texts are measured"


def test_a_folder_chooses_neither_files_nor_the_network(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder may be anybody's: of its run.json, only settings of an allow-list are used."""
    shutil.copytree(folder / "o", hostile := tmp_path / "o")
    settings = json.loads((hostile / "run.json").read_text())
    plan = settings["config"]["resolved"]
    plan["training"]["push_to_hub"] = True
    (hostile / "run.json").write_text(json.dumps(settings))
    with monkeypatch.context() as patched:  # without anything else that is wrong
        patched.setattr("huggingface_hub.HfApi.create_repo", lambda *_, **__: pytest.fail("it reached the network"))
        evaluate(str(hostile), str(folder / "dev.jsonl"))
    plan["training"] |= {
        "push_to_hub": True, "hub_model_id": "evil/model", "report_to": "wandb", "logging_dir": str(tmp_path / "logs"),
        "output_dir": str(tmp_path / "out"), "deepspeed": "evil.json", "per_device_eval_batch_size": 7,
    }  # fmt: skip
    plan["data"] |= {"dev": "evil/texts", "test": "/etc/passwd", "train": str(tmp_path / "x"), "format": "hub"}
    plan["model"] |= {"checkpoint": "evil/model", "scratch": None}
    (hostile / "run.json").write_text(json.dumps(settings))

    def network(*_: object, **__: object) -> None:
        pytest.fail("it reached the network")

    monkeypatch.setattr("socket.socket.connect", network)
    monkeypatch.setattr("huggingface_hub.HfApi.create_repo", network)
    data = str(folder / "dev.jsonl")
    found = evaluate(str(hostile), data)
    assert found["texts"] == 30 and found["numbers"] == evaluate(str(folder / "o"), data)["numbers"]
    with pytest.raises(NumerateError, match="no texts to measure: give --data"):
        evaluate(str(hostile), None)
    assert {path.name for path in tmp_path.iterdir()} == {"o"}
    (hostile / "run.json").rename(tmp_path / "run.json")
    (hostile / "run.json").symlink_to(tmp_path / "run.json")
    with pytest.raises(NumerateError, match="links to a file outside of its folder"):
        evaluate(str(hostile), data)
    (hostile / "run.json").unlink()
    for text in ("[]", "{}", '{"config": {"resolved": {"data": 3}}}', "{", '{"a":' * 99_999):
        (hostile / "run.json").write_text(text)
        with pytest.raises(NumerateError, match=r"run\.json"):
            evaluate(str(hostile), data)


def test_table_and_json(folder: Path) -> None:
    runner = CliRunner()
    arguments = ["eval", str(folder / "o"), "--data", str(folder / "dev.jsonl")]
    told = json.loads(runner.invoke(app, [*arguments, "--json"]).stdout)
    shown = runner.invoke(app, arguments).stdout
    assert "orders of magnitude" in shown and f"{told['log_mae']:.4g}" in shown


def test_a_run_before_training(folder: Path) -> None:
    changes = [*CPU, "data.text=body", f"data.train={folder / 'train.jsonl'}"]
    found = evaluate("luna-scratch", str(folder / "dev.jsonl"), scale="tiny", changes=changes)
    trained = evaluate(str(folder / "o"), str(folder / "dev.jsonl"))
    assert found["numbers"] > 0 and found["loss"] > trained["loss"], "it has learnt something"


def test_bad_input(folder: Path, tmp_path: Path) -> None:
    for name, data, scale, message in (
        (str(tmp_path), "x.txt", None, "has no number_config.json"),
        (str(folder / "o"), "x.txt", "tiny", "is a trained model, not a run"),
        (str(folder / "o"), str(tmp_path / "no.jsonl"), None, "no such file"),
        (str(tmp_path), None, None, "no texts to measure: give --data"),
    ):
        with pytest.raises(NumerateError, match=message):
            evaluate(name, data, scale=scale)
