"""The runs of LUNA's plan: rows that can be trained, data below its limit, models that come back bit by bit."""

from __future__ import annotations

import gzip
import json
import os
from typing import TYPE_CHECKING

import fact_files
import pytest
import torch
from report_data import write_reports
from safetensors.torch import load_file, save_file
from tiny_models import new_backbone, tokenizer_of

if TYPE_CHECKING:
    from pathlib import Path

PLAN = """
data: [tables/some.jsonl.gz, tabfact/tables.jsonl.gz, tabfact/train_partial.jsonl, tabfact/val.jsonl, tatqa/dev.json]
parts:
  starts:
    task: pretraining
    makes: true
    name: luna-starts
    rates: [1.0e-3]
    seeds: 1
    tries: {rates: 1}
    options: {source: "{data}", model: "{model}", leave_out: ["{data}/tabfact/tables.jsonl", "{data}/tatqa/dev.json"]}
    seconds: {addback-0.1M@pretrained: 5}
  tatqa: {table: luna-table3, corpora: [tatqa], seconds: {bare: 5, addback-0.1M@pretrained: 5, words: 5}}
  tabfact: {table: luna-table3, corpora: [tabfact], seconds: {bare: 5, addback-0.1M@pretrained: 5}}
  cards: {table: luna-table4, corpora: [cards-user], seconds: {baseline: 5, ours: 5}}
  probes: {table: luna-table2, seconds: {value: 5}}
order:
  - {part: tatqa, rows: [addback-0.1M@pretrained, bare, words]}
  - {part: starts, rows: [addback-0.1M@pretrained]}
  - {part: tabfact, rows: [bare, addback-0.1M@pretrained]}
  - {part: cards, rows: [baseline, ours]}
  - {part: probes, rows: [value]}
"""
"""Rows stand before the start that they need: they wait for it."""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data and a tiny model as `prepare` copies them."""
    place = tmp_path_factory.mktemp("source")
    for name in ("tables", "tabfact", "tatqa"):
        (place / name).mkdir()
    rows = [
        {"id": f"t{n}", "header": ["year", "wins"], "title": f"Cup {n}"}
        | {"rows": [[str(1990 + n), str(n * k)] for k in range(30)]}
        for n in range(60)
    ]
    with gzip.open(place / "tables" / "some.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    fact_files.write_lines(place / "tabfact")
    if not (place / "tabfact" / "tables.jsonl.gz").is_file():
        with gzip.open(place / "tabfact" / "tables.jsonl.gz", "wb") as file:
            file.write((place / "tabfact" / "tables.jsonl").read_bytes())
    write_reports(place / "tatqa" / "dev.json", 12)
    new_backbone("bert").to(torch.bfloat16).save_pretrained(place / "model")
    tokenizer_of("bert").save_pretrained(place / "model")
    return place


@pytest.mark.slow
def test_the_whole_chain_at_the_smallest_scale(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import findings_runs

    for name in ("OMP_NUM_THREADS", "TOKENIZERS_PARALLELISM", "HF_HUB_OFFLINE", "TORCHINDUCTOR_COMPILE_THREADS"):
        monkeypatch.setenv(name, os.environ.get(name, "1"))  # `run` sets them for its workers
    (tmp_path / "plan.yaml").write_text(PLAN, "utf-8")
    plan, data = f"--plan={tmp_path / 'plan.yaml'}", tmp_path / "data"
    findings_runs.main(["prepare", plan, f"--data={source}", f"--model={source / 'model'}", f"--output={data}"])
    assert (data / "tables" / "some.jsonl.xz").is_file() and (data / "minilm-mlm" / "model.low").is_file()
    shared = [f"--data={data}", plan, "--scale=tiny", "--processes=1", "--minutes=30"]
    row, starts = "addback-0.1M@pretrained", []
    for number in (1, 2):  # the second time there is nothing left to do, though the working folder is another one
        out, work = tmp_path / f"out{number}", tmp_path / f"work{number}"
        done = ["--done", *map(str, (tmp_path / "out1").glob("*.zip"))] if number == 2 else []
        findings_runs.main(["run", *shared, *done, f"--output={out}", f"--work={work}"])
        printed = capsys.readouterr().out
        assert "0 trials had no time" in printed and "failed" not in printed, printed
        assert (" done in " in printed) == (number == 1), printed
        starts.append(load_file(work / "luna-starts" / "models" / row / "backbone" / "model.safetensors"))
    assert all(torch.equal(weight, starts[1][name]) for name, weight in starts[0].items())
    results = tmp_path / "results"
    findings_runs.main(["join", *map(str, (tmp_path / "out1").iterdir()), "-o", str(results)])
    findings_runs.main(["tables", *shared, f"--output={results}"])
    printed = capsys.readouterr().out
    for name in (
        "luna-table3-tatqa.md",
        "luna-table3-tabfact.md",
        "luna-table4-cards-user.md",
        "luna-table2-tables.md",
    ):
        assert (results / name).is_file(), printed
    text = (results / "luna-table3-tatqa.md").read_text("utf-8").replace("\\", "")
    assert f"| {row} |" in text and "less bare" in text and "| words |" in text


def test_the_plan_names_rows_that_can_be_trained(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import findings_runs
    from plan_grids import starts_of

    (tmp_path / "minilm-mlm").symlink_to(source / "model")
    for name in ("tables", "tabfact", "tatqa"):
        (tmp_path / name).symlink_to(source / name)
    file = findings_runs.PLAN.with_name("luna.yaml")
    plan = findings_runs.read_plan(file)
    starts = starts_of(plan, tmp_path / "work", tmp_path, "small")
    goals = findings_runs.goals_of(plan, tmp_path, "small", tmp_path / "work")
    assert {goal.part for goal in goals} == set(plan["parts"])
    made = set(starts)
    for goal in goals:
        assert set(goal.encodings) <= set(goal.grid.encodings) & set(goal.seconds), goal.part
        assert goal.seeds <= goal.grid.seeds
        for row in goal.encodings:
            trial = goal.grid.of(row)
            if "@" in row and goal.part != "starts":
                assert row in made and trial.needs == (starts[row],), row
                assert goal.grid.tries(row) or len(goal.grid.rates) == 1
    asked = {(goal.part, row) for goal in goals for row in goal.encodings}
    assert asked == {(name, row) for name, part in plan["parts"].items() for row in part["seconds"]}
    tatqa = next(goal.grid.of("bare") for goal in goals if goal.part == "tatqa")
    assert (tatqa.epochs, tatqa.folds) == (20, 5)  # type: ignore[attr-defined]
    facts = next(goal.grid.of("bare") for goal in goals if goal.part == "tabfact")
    assert [name.rpartition("/")[2] for name in facts.apart] == ["wikitables.jsonl", "wikitablequestions.jsonl"]  # type: ignore[attr-defined]
    pretrained = next(goal.grid.of("luna@distilled") for goal in goals if goal.part == "starts")
    assert {part.split("/")[-2] for part in pretrained.leave_out} == {"tabfact", "tatqa"}  # type: ignore[attr-defined]
    findings_runs.main(["plan", f"--plan={file}", "--processes", "14"])
    assert "with 14 side by side" in capsys.readouterr().out


def test_models_come_back_bit_by_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import findings_runs
    import plan_starts

    torch.manual_seed(0)
    base = {"a": torch.randn(64, 50).bfloat16(), "b": torch.randn(7).bfloat16()}
    save_file(base, tmp_path / "base.safetensors")
    work, out = tmp_path / "work", tmp_path / "out"
    trained = {}
    for row in ("luna@x", "luna@y"):
        folder = work / "starts" / "models" / row / "backbone"
        folder.mkdir(parents=True)
        (folder.parent / "number_config.json").write_text("{}")
        trained[row] = {"a": base["a"] + 0.01, "b": base["b"].clone(), "new": torch.randn(3, 3).bfloat16()}
        save_file(trained[row], folder / "model.safetensors")
    out.mkdir()
    monkeypatch.setattr(plan_starts, "PIECE", 1500)
    folders = [work / "starts" / "models" / row for row in trained]
    assert plan_starts.pack_starts(folders, work, out, tmp_path / "base.safetensors", 5000) == ["luna@y"], "no room"
    files = sorted(out.glob("starts-*.zip"))
    assert len(files) > 1 and not (out / "unpacked").exists()
    findings_runs.join(files, tmp_path / "again")
    plan_starts.unpack_starts(tmp_path / "again", tmp_path / "base.safetensors")
    found = load_file(tmp_path / "again" / "starts" / "models" / "luna@x" / "backbone" / "model.safetensors")
    for name, weight in trained["luna@x"].items():
        assert torch.equal(weight.view(torch.int16), found[name].view(torch.int16)), name
    left = sorted(each.name for each in (tmp_path / "again").rglob("*") if each.is_file())
    assert left == ["model.safetensors", "number_config.json"]
    # A result whose model is gone is forgotten, so that the model is trained again.
    for row in trained:
        (work / "starts" / f"{row}-rate0.001-seed0-steps3.json").write_text("{}")
    places = {row: str(work / "starts" / "models" / row) for row in (*trained, "luna@z")}
    (work / "starts" / "luna@z-rate1-seed0-steps3.json").write_text("{}")
    assert plan_starts.forget_lost(places) == ["luna@z-rate1-seed0-steps3.json"]


def test_bad_input(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import findings_runs
    import plan_data
    import plan_starts

    (tmp_path / "plan.yaml").write_text("data: [tables/gone.jsonl]\nparts: {}\norder: []\n", "utf-8")
    asked = ["prepare", f"--plan={tmp_path / 'plan.yaml'}", f"--data={source}", f"--output={tmp_path / 'out'}"]
    with pytest.raises(SystemExit, match="--model None: give the folder of minilm-mlm"):
        findings_runs.main(asked)
    with pytest.raises(SystemExit, match=r"gone\.jsonl: no such file; the plan's data names it"):
        findings_runs.main([*asked, f"--model={source / 'model'}"])
    (tmp_path / "plan.yaml").write_text("data: [tatqa/dev.json]\nparts: {}\norder: []\n", "utf-8")
    monkeypatch.setattr(plan_data, "MOST", 0.01)
    with pytest.raises(SystemExit, match=r"MiB are more than 0\.01: name less"):
        findings_runs.main([*asked, f"--model={source / 'model'}"])
    with pytest.raises(ValueError, match=r"expected one model\.safetensors, found 0"):
        plan_starts.backbone_file(source / "tables")
    save_file({"a": torch.zeros(2)}, tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match=r"'a' is torch\.float32, expected bfloat16"):
        plan_starts.compress(tmp_path / "model.safetensors", tmp_path / "model.safetensors")


def test_a_model_of_the_task_is_one_file(tmp_path: Path) -> None:
    """What is packed is the backbone's file of a saved model."""
    from plan_starts import backbone_file

    from numerate.modeling.attaching import attach

    model = attach(new_backbone("bert"), tokenizer_of("bert"), "luna", embedder={"kind": "char-lstm", "size": "0.1M"})
    model.to(torch.bfloat16).save_pretrained(tmp_path / "model", backbone=True)
    assert backbone_file(tmp_path / "model").parent.name == "backbone"
