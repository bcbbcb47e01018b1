"""Number pre-training as a task: losses by name, a saved model that other tasks start from, and bad input."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import number_data
import pytest
import torch
from report_data import write_reports

from numerate.config import ConfigError
from numerate.modeling.attaching import from_pretrained
from numerate_lab.engine.grid import Grid, read_results, run_grids
from numerate_lab.engine.page import write_comparison
from numerate_lab.tasks.pretraining.pretraining_task import (
    LOSSES,
    Pretraining,
    PretrainingTrial,
    encode_texts,
    model_folder,
)
from numerate_lab.tasks.tatqa.tatqa_task import TatqaTask
from numerate_lab.tasks.tatqa.tatqa_trial import TatqaTrial

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables in `data/tables`, two of them left out by `data/tabfact`, reports, and a tiny model."""
    place = tmp_path_factory.mktemp("pretraining")
    for name in ("tables", "tabfact", "tatqa"):
        (place / "data" / name).mkdir(parents=True)
    rows = [
        {
            "id": f"t{n}",
            "header": ["year", "wins"],
            "rows": [[str(1990 + n), str(n)], ["1999", str(7 + n)]],
            "title": f"Cup {n}",
        }
        for n in range(30)
    ]
    (place / "data" / "tables" / "some.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    other = [{"table_id": f"x{n}", "header": ["y", "w"], "rows": rows[n]["rows"]} for n in (3, 4)]
    (place / "data" / "tabfact" / "tables.jsonl").write_text("".join(json.dumps(row) + "\n" for row in other))
    write_reports(place / "data" / "tatqa" / "dev.json", 4)
    number_data.write_model(place / "bert")
    return place


def trial(folder: Path, row: str = "addback-0.1M@distilled", **options: Any) -> PretrainingTrial:
    fields: dict[str, Any] = Pretraining.scales["tiny"] | {
        "leave_out": (str(folder / "data" / "tabfact" / "tables.jsonl"),)
    }
    fields |= Pretraining.encoding(row) | {"source": str(folder / "data"), "model": str(folder / "bert")} | options
    return PretrainingTrial(encoding=row, **fields)


def test_losses_by_name(folder: Path) -> None:
    found = {name: Pretraining(trial(folder, f"addback-0.1M@{name}")).run().model for name in LOSSES}
    objectives = {
        name: (one.objective["kind"], one.objective.get("what", "both"), one.objective.get("alpha", 0.4))
        for name, one in found.items()
    }  # type: ignore[union-attr, index]
    assert objectives == {
        "distilled": ("distillation", "both", 0.4), "pretrained": ("distillation", "both", 0.0),
        "no-regression": ("distillation", "words", 0.4), "words": ("distillation", "words", 0.0),
        "regression": ("distillation", "numbers", 0.0), "default": ("masked", "both", 0.4),
    }  # fmt: skip
    assert found["distilled"].embedder == {"kind": "char-lstm", "size": "0.1M"}
    ours = Pretraining(trial(folder, "in-place@default")).run().model
    assert ours.embedder == {"kind": "log-fourier"} and ours.recipe == "in-place"
    assert Pretraining(trial(folder, "luna@words")).run().model.embedder["size"] == "1M"  # type: ignore[index]


def test_a_model_that_a_task_starts_from(folder: Path, tmp_path: Path) -> None:
    rows = ("addback-0.1M@pretrained", "in-place@default")
    grid = Grid(
        task="pretraining", encodings={row: Pretraining.encoding(row) for row in rows}, rates=(1e-3,), seeds=1,
        name="starts", trial=trial(folder),
    )  # fmt: skip
    run_grids([grid], tmp_path, log=lambda line: None)
    text = (tmp_path / "starts" / "compare.md").read_text("utf-8") if write_comparison(grid, tmp_path) else ""
    assert "log-MAE of numbers" in text and "in-place@default" in text
    assert "Losses of different objectives cannot be compared." in text
    losses = [line.split("|")[2] for line in text.splitlines() if "@" in line]
    assert losses and not any("**" in loss for loss in losses), "no loss is the best"
    for row, (result,) in read_results(grid, tmp_path).items():
        training = result.figures["training"]
        assert training["steps"] == 3 and training["texts"] == 20, "30 tables, 2 left out, 8 held out"
        saved = model_folder(tmp_path / "starts", row)
        described = json.loads((saved / "run.json").read_text())["config"]["resolved"]
        assert described["data"]["train"] == [str(folder / "data" / "tables" / "some.jsonl")]
        assert {value.dtype for value in from_pretrained(saved).backbone.state_dict().values()} == {torch.bfloat16}
        size = {"epochs": 1, "folds": 2, "batch": 8, "most": 4, "max_tokens": 120, "bf16": False}
        config = TatqaTrial(
            source=str(folder / "data" / "tatqa" / "dev.json"), model=str(folder / "bert"), encoding=row,
            starts={row: str(saved)}, **size, **TatqaTask.encoding(row),
        )  # fmt: skip
        # Its run.json names the reports' neighbours among what was left out, and is not refused for that.
        encoder: Any = TatqaTask(config).build()[0].numbers
        first = next(iter(from_pretrained(saved).embedder.parameters())).float()  # type: ignore[union-attr]
        assert torch.equal(next(iter(encoder.embedder.parameters())), first)


def test_texts_that_were_encoded_beforehand(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = encode_texts(trial(folder), tmp_path / "encoded")
    assert place == tmp_path / "encoded" / "luna"
    config = trial(folder, encoded=str(tmp_path / "encoded"), source=str(tmp_path / "no tables"))
    built = [Pretraining(each).build() for each in (trial(folder), config)]
    first, again = ([row["input_ids"] for row in one.trainer.train_dataset] for one in built)
    assert len(first) == 20 and [list(row) for row in first] == [list(row) for row in again]
    assert len(built[1].trainer.eval_dataset) == 8
    # Another version of a library may describe the same tokenizer in other words: tokens count.
    monkeypatch.setattr("numerate.training.shards.fingerprint", lambda processor: "another")
    other = Pretraining(config).build()
    assert [list(row["input_ids"]) for row in other.trainer.train_dataset] == [list(row) for row in first]
    monkeypatch.undo()
    built[1].train(tmp_path / "model", None)
    described = json.loads((tmp_path / "model" / "run.json").read_text())["config"]["resolved"]
    assert described["data"]["train"] == [str(place)]


def test_bad_input(folder: Path) -> None:
    with pytest.raises(ConfigError, match="row 'luna@better': behind the @ stand its losses, one of distilled"):
        Pretraining.encoding("luna@better")
    with pytest.raises(ConfigError, match="unknown losses 'wrds': did you mean 'words'"):
        PretrainingTrial(source="x", model="y", losses="wrds")
    with pytest.raises(ConfigError, match="28 texts, of which 28 are held out: give more tables, or a smaller"):
        Pretraining(trial(folder, dev=28)).build()
    with pytest.raises(ConfigError, match=r"leave_out is 'tables\.jsonl', expected list"):
        PretrainingTrial.from_dict({"source": "x", "model": "y", "leave_out": "tables.jsonl"})
