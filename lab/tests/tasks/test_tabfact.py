"""TabFact as a task: the bare row is the plain classifier, starts, halves, intervals by table, a whole comparison."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

import fact_files
import number_data
import numpy as np
import pytest
import torch
from tiny_models import new_backbone, tokenizer_of
from transformers import AutoModelForSequenceClassification

from numerate import from_pretrained
from numerate.config import ConfigError
from numerate.modeling.attaching import attach
from numerate.registry import UnknownNameError
from numerate.training.sources import SourceError
from numerate_lab.commands.compare import compare_encodings, grid_of
from numerate_lab.engine.grid import against_base, read_results, recompute
from numerate_lab.engine.task import Workspace
from numerate_lab.tasks.finetuning.starting_points import check_untouched, start_classifier
from numerate_lab.tasks.tabfact import fact_data
from numerate_lab.tasks.tabfact.fact_data import FactTable, half_of, shared_tables
from numerate_lab.tasks.tabfact.fact_encoding import segments
from numerate_lab.tasks.tabfact.tabfact_task import TabFact, TabFactTrial

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data in `data`, a tiny masked language model in `bert`, and one with LUNA's parts in `pretrained`."""
    place = tmp_path_factory.mktemp("tabfact")
    (place / "data").mkdir()
    fact_files.write_lines(place / "data")
    number_data.write_model(place / "bert")
    torch.manual_seed(5)
    model = attach(new_backbone("bert"), tokenizer_of("bert"), "luna", embedder={"kind": "char-lstm", "size": "0.1M"})
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.01 * torch.randn_like(weight))
    model.save_pretrained(place / "pretrained", backbone=True)
    return place


def trial(folder: Path, **options: Any) -> TabFactTrial:
    settings: dict[str, Any] = {
        "source": str(folder / "data"),
        "model": str(folder / "bert"),
        "batch": 8,
        "bf16": False,
    }
    return TabFactTrial(**settings | {"max_tokens": 64, "epochs": 1, "rate": 1e-3} | options)


def test_a_comparison_from_the_command_line(folder: Path, tmp_path: Path) -> None:
    starts = {"pretrained": str(folder / "pretrained")}
    options = {"source": str(folder / "data"), "model": str(folder / "bert"), "starts": starts, "epochs": 2}
    settings: dict[str, Any] = {
        "task": "tabfact", "encodings": ["bare", "luna@pretrained"], "scale": "tiny", "base": "bare",
        "rates": (1e-3, 3e-3), "rate_share": 0.5, "seeds": 1, "options": options,
    }  # fmt: skip
    lines: list[str] = []
    compare_encodings(str(tmp_path), log=lines.append, **settings)
    text = (tmp_path / "tabfact" / "compare.md").read_text("utf-8")
    for part in ("| luna@pretrained |", "tabfact, test, less bare", "most frequent label", "whole clusters"):
        assert part in text, part
    grid = grid_of(**settings)
    results = read_results(grid, tmp_path)
    assert {name: len(some) for name, some in results.items()} == {"bare": 1, "luna@pretrained": 1}
    figures = results["bare"][0].figures
    assert figures["test"]["simple"]["count"] + figures["test"]["complex"]["count"] == figures["test"]["all"]["count"]
    assert against_base(grid, tmp_path, "luna@pretrained").keys() == {"all", "simple", "complex"}
    assert all(recompute(grid, tmp_path).values())
    stored = json.loads((tmp_path / "tabfact" / f"{results['luna@pretrained'][0].config.name}.json").read_text())
    assert stored["config"]["starts"] == {"pretrained": "pretrained"} and stored["config"]["contents"]["start"]
    again: list[str] = []
    compare_encodings(str(tmp_path), log=again.append, **settings)
    assert "2 of 2 encodings are done already" in again[0]


def test_the_bare_row_is_the_plain_classifier(folder: Path) -> None:
    task = TabFact(trial(folder, recipe="subwords", layout="template"))
    model = task.build()
    torch.manual_seed(0)
    plain = AutoModelForSequenceClassification.from_pretrained(
        folder / "bert", num_labels=2, dtype=torch.float32
    ).eval()
    columns = task.ask(model, "test")
    statements, tables = task.examples("test")
    cells = [segments(tables[one.table], "template") for one in statements]
    batch = tokenizer_of("bert")(
        [[one.text] for one in statements], cells, is_split_into_words=True, truncation=True, max_length=64,
        padding=True, return_tensors="pt",
    )  # fmt: skip
    with torch.no_grad():
        logits = plain(**batch).logits
    assert np.allclose(columns["score"], (logits[:, 1] - logits[:, 0]).numpy(), atol=1e-5)
    right = (columns["score"] > 0) == (columns["label"] == 1)
    assert task.score("test", columns)["test"]["all"] == {"value": right.mean(), "count": len(statements)}


def test_halves_and_limits(folder: Path) -> None:
    task = TabFact(trial(folder))
    halves = {split: {one.table for one in task.examples(split)[0]} for split in ("dev", "test")}
    assert not halves["dev"] & halves["test"] and len(halves["dev"] | halves["test"]) == fact_files.SIZES["val"]
    assert all(half_of(name) == split for split, names in halves.items() for name in names)
    few = TabFact(trial(folder, most_train=5, most_eval=3))
    assert [len(few.examples(split)[0]) for split in ("train", "dev", "test")] == [5, 3, 3]
    official = TabFact(trial(folder, report="official"))
    assert {one.table.split("-")[0] for one in official.examples("test")[0]} == {"test"}
    assert len({one.table for one in official.examples("dev")[0]}) == fact_files.SIZES["val"]


def test_tables_of_a_pre_training_are_left_out(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = FactTable("x", "", ("a", "b"), (("The fox has a den", "and 1,234 pups in it"), ("1", "2")))
    file, other = tmp_path / "tables.jsonl", tmp_path / "others.jsonl"
    file.write_text(json.dumps({"rows": [["the FOX has a den", "and 1234 pups, in it"]]}) + "\n", "utf-8")
    other.write_text(json.dumps({"rows": [["1", "2"], ["The fox", "has a den"]]}) + "\n", "utf-8")
    assert shared_tables({"x": table}, [str(other), str(file)]) == {"x"}
    assert shared_tables({"x": table}, [str(other)]) == set()
    task = TabFact(trial(folder))
    chosen = task.examples("test")[0][0].table
    monkeypatch.setattr(fact_data, "LEAST", 5)  # the rows of these tables are short
    other.write_text(json.dumps({"rows": [list(task.examples("test")[1][chosen].rows[0])]}) + "\n", "utf-8")
    apart = TabFact(trial(folder, apart=(str(other),)))
    left = {one.table for one in apart.examples("test")[0]}
    assert chosen not in left and left < {one.table for one in task.examples("test")[0]}
    assert len(apart.examples("train")[0]) == len(task.examples("train")[0])
    assert apart.config.settings()["apart"] == ["others.jsonl"] and "share a row with others.jsonl" in apart.notes()[0]
    file.write_text('{"cells": []}\n', "utf-8")
    with pytest.raises(SourceError, match=r"tables.jsonl:1: field 'rows' is missing; it has 'cells'"):
        shared_tables({"x": table}, [str(file)])


def test_results_know_the_official_files_and_the_tables_apart(folder: Path, tmp_path: Path) -> None:
    official, other = tmp_path / "official", tmp_path / "other.jsonl"
    official.mkdir()
    fact_files.write_official(official)
    (official / "LICENSE").write_text("beside the folders with tables and statements")
    other.write_text('{"id": "t", "rows": [["1"]]}\n')
    config = dataclasses.replace(trial(folder), source=str(official), apart=(str(other),))
    before = [config.settings()["contents"]]
    table = next((official / "data" / "all_csv").iterdir())
    for file in (table, official / "tokenized_data" / "val_examples.json", other):
        file.write_text(file.read_text("utf-8") + "\n", "utf-8")
        before.append(config.settings()["contents"])
    assert len({json.dumps(one) for one in before}) == 4, "other tables or statements are other settings"
    assert before[0]["model"] == before[3]["model"] == trial(folder).settings()["contents"]["model"]


def test_a_start_brings_encoder_and_number_parts(folder: Path) -> None:
    saved: Any = from_pretrained(folder / "pretrained")
    model = start_classifier(str(folder / "pretrained"), "luna", {})
    assert model.head is None and model.fitted and model.info.task == "sequence-classification"
    for name, weight in saved.backbone.base_model.state_dict().items():
        assert torch.equal(model.backbone.base_model.state_dict()[name], weight), name
    for name, weight in saved.embedder.state_dict().items():
        assert torch.equal(model.embedder.state_dict()[name], weight), name  # type: ignore[union-attr]
    assert torch.equal(model.own_rows, saved.own_rows)
    bare = start_classifier(str(folder / "pretrained"), "subwords", {})
    words = "backbone.base_model.embeddings.word_embeddings.weight"
    assert bare.embedder is None and torch.equal(bare.get_parameter(words), saved.get_parameter(words))
    with pytest.raises(
        ConfigError, match=r"has notation and embedder .*'char-lstm'.*, the row of recipe 'in-place' has"
    ):
        start_classifier(str(folder / "pretrained"), "in-place", {})
    few = start_classifier(str(folder / "pretrained"), "luna", {}, layers=1)
    assert few.backbone.config.num_hidden_layers == 1


def test_no_start_from_a_model_trained_on_the_tables(folder: Path, tmp_path: Path) -> None:
    check_untouched(folder / "pretrained", ("tabfact",))
    run = {"config": {"resolved": {"data": {"train": "data/TabFact/tables.jsonl.gz"}}}}
    (tmp_path / "run.json").write_text(json.dumps(run), "utf-8")
    with pytest.raises(
        ConfigError, match=r"run.json names 'tabfact': a model trained on these tables cannot be tested"
    ):
        TabFact(trial(folder, starts={"x": str(tmp_path)}, start="x", recipe="luna")).build()
    run["config"]["resolved"]["data"]["train"] = str((folder / "data" / "tables.jsonl").resolve())
    (tmp_path / "run.json").write_text(json.dumps(run), "utf-8")
    with pytest.raises(ConfigError, match="cannot be tested on them"):
        TabFact(trial(folder, starts={"x": str(tmp_path)}, start="x", recipe="luna")).build()
    with pytest.raises(ConfigError, match="unknown start 'y': known: x; give --option"):
        trial(folder, starts={"x": str(tmp_path)}, start="y")
    with pytest.raises(UnknownNameError, match="unknown encoding 'lunar'"):
        TabFact.encoding("lunar@x")


def test_intervals_are_by_table(folder: Path) -> None:
    task = TabFact(trial(folder))
    rng = np.random.default_rng(0)
    table = np.repeat(np.arange(40), 5)
    columns = {"table": table, "channel": (table % 2).astype(np.int8), "label": np.ones(200, np.int8)}
    whole = rng.random(40) < 0.7  # all statements of a table are right, or none
    ours = {f"test_{key}": value for key, value in (columns | {"score": np.where(whole[table], 1.0, -1.0)}).items()}
    base = {f"test_{key}": value for key, value in (columns | {"score": np.full(200, -1.0)}).items()}
    found = task.paired([ours, ours], [base], resamples=2000)
    deviation = np.sqrt(whole.mean() * (1 - whole.mean()) / 40)
    assert found["all"]["clusters"] == 40 and found["all"]["estimate"] == pytest.approx(whole.mean())
    assert found["all"]["high"] - found["all"]["low"] == pytest.approx(2 * 1.96 * deviation, rel=0.15)
    assert found["simple"]["estimate"] == pytest.approx(whole[::2].mean())


def test_it_learns(folder: Path) -> None:
    """The second statement of each table is false, and says so by its words: that is learnt within seconds."""
    for encoding in ("bare", "in-place"):
        config = dataclasses.replace(
            trial(folder, epochs=20, rate=3e-3, max_tokens=40), **TabFact.encoding(encoding), encoding=encoding
        )
        task = TabFact(config, Workspace())
        model = task.build()
        trained = task.train(model)
        losses = [entry["loss"] for entry in trained["losses"]]
        assert losses[-1] < 0.2 < 0.5 < losses[0] and trained["examples"] == 2 * fact_files.SIZES["train"]
        figures = task.score("test", task.ask(model, "test"))
        assert figures["test"]["all"]["value"] > 0.9, encoding
        assert task.error({"dev": figures["test"]}) == 1 - figures["test"]["all"]["value"]


def test_trials_of_one_notation_share_their_rows(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = TabFact(trial(folder, encoding="luna", **TabFact.encoding("luna")))
    rows, cut, lengths = alone.encoded(alone.build(), "dev")
    shared = TabFact(alone.config, Workspace(tmp_path, tmp_path / "data"))
    kept = shared.encoded(shared.build(), "dev")
    assert kept.cut.tolist() == cut.tolist() and kept.lengths.tolist() == lengths.tolist()
    assert len(kept.rows) == len(rows)
    for index, row in enumerate(rows):
        again = kept.rows[index]
        assert all(np.array_equal(again[key], value) for key, value in row.items() if key != "number_chars")
        written = [[char for char in number if char] for number in row["number_chars"].tolist()]
        assert [[char for char in number if char] for number in again["number_chars"].tolist()] == written

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("encoded again")

    monkeypatch.setattr("numerate_lab.tasks.tabfact.tabfact_task.encode_statements", refuse)
    other = TabFact(trial(folder, encoding="luna", seed=3, rate=1e-4, **TabFact.encoding("luna")), shared.workspace)
    other.workspace.memory.clear()
    model = other.build()
    assert len(other.encoded(model, "dev").rows) == len(rows)
    with pytest.raises(AssertionError, match="encoded again"):
        other.encoded(model, "test")


@pytest.mark.parametrize("row", ["bare", "luna", "in-place"])
def test_a_loop_for_recorded_steps_fits_one_batch(folder: Path, row: str) -> None:
    """The loop without the Trainer: as many steps as with it, and a few statements are learnt by heart."""
    own: dict[str, Any] = {"encoding": row, "most_train": 4, "epochs": 40, "rate": 3e-3, **TabFact.encoding(row)}
    task = TabFact(trial(folder, recorded=True, **own))
    model = task.build()
    found = task.train(model)
    assert found["steps"] == 40 and len(found["losses"]) == 20 and found["losses"][-1]["step"] == 40
    assert found["losses"][-1]["loss"] < 0.5 * found["losses"][0]["loss"]
    assert not model.training and task.ask(model, "dev")["score"].shape == (len(task.examples("dev")[0]),)
