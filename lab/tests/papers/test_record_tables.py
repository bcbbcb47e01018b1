"""xVal's Tables 4 and 5: end to end at tiny scale, and one real step of the paper's sizes."""

from __future__ import annotations

import dataclasses
import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from numerate.cli.app import app
from numerate.config import ConfigError
from numerate.training.results import read_predictions
from numerate_lab.engine import trunk_trial as trunk_cell
from numerate_lab.engine.trunk_trial import steps_for, time_steps
from numerate_lab.papers.xval2023 import record_tables as nature
from numerate_lab.papers.xval2023.record_report import cost_table
from numerate_lab.papers.xval2023.record_tables import (
    TABLES,
    NatureTable,
    baselines,
    best_rate,
    config_for,
    folder_of,
    paper_of,
    read_baselines,
    read_cells,
    reproduce,
)
from numerate_lab.tasks.planets.planet_systems import PlanetsConfig, PlanetsTask
from numerate_lab.tasks.records import record_runs as nature_runs
from numerate_lab.tasks.records.record_runs import run_cell, speed_file, train
from numerate_lab.tasks.records.record_trial import NatureCell, NatureData, Ready, build, encode_records
from numerate_lab.tasks.temperature.weather_fields import synthetic_field

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("scale", ["tiny", "small", "paper"])
def test_settings(table: str, scale: str) -> None:
    config = config_for(table, scale)
    columns, paper = paper_of(table)
    assert len(config.encodings) == {"xval-table4": 9, "xval-table5": 12}[table] and set(paper) <= set(config.encodings)
    assert all(set(row) <= set(columns.values()) for row in paper.values())
    budgets = {"samples"} if table == "xval-table5" else set(columns)
    assert config.budgets and set(config.budgets) <= budgets
    assert len(config.rates) == (1 if scale == "tiny" else 3)


def test_bad_settings() -> None:
    with pytest.raises(ValueError, match="unknown scale 'smal': did you mean 'small'"):
        config_for("xval-table5", "smal")
    with pytest.raises(ValueError, match=r"takes no data: 'era5\.npz'"):
        config_for("xval-table5", "tiny", source="era5.npz")
    with pytest.raises(ConfigError, match="unknown budget 'token': did you mean 'tokens'"):
        NatureTable(budgets={"token": 1.0})


def test_planets_from_end_to_end_and_on(tmp_path: Path) -> None:
    command = ["reproduce", "xval-table5", "-o", str(tmp_path), "--model", "float+mixture"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    text = (tmp_path / "xval-table5.md").read_text("utf-8")
    assert (
        "| xval+scalar |" in text and "| 6.4e-05 |" in text and "| mean |" in text and "a₁ in the gap (paper)" in text
    )
    assert "xval-table5: intervals" in text and text.count("| float+mixture |") == 3
    folder = tmp_path / "planets"
    figures = {file.stem.split("-")[0] for file in (folder / "figures").iterdir()}
    assert figures == {"figure3", "figure5", "figure6", "figure7"}
    config = config_for("xval-table5", "tiny", ("float+mixture",))
    files = {file: file.stat().st_mtime_ns for file in folder.glob("*-samples.*")}
    assert len(files) == 2
    # The table can be recomputed from the predictions.
    (cell,) = config.finals("float+mixture", config.rates[0])["samples"]
    said = read_predictions(folder / f"{cell.name}.npz")
    found = json.loads((folder / f"{cell.name}.json").read_text("utf-8"))["figures"]
    for split, asks in cell.splits.items():
        for ask in asks:
            away = said[f"{split}_{ask}_predicted"].double() - said[f"{split}_{ask}_gold"]
            assert found[f"{split} {ask}"]["mse"]["value"] == pytest.approx(float(away.square().mean()), rel=1e-4)
    assert said["gap_likelihood"].amax(1).tolist() == [1.0] * len(said["gap_gold"])
    # The truth is the task's own.
    options = PlanetsConfig.from_dict(config.cell.task_options | {"block": config.cell.test})
    truth = PlanetsTask(options, asks="a1").truth("a1-gap", config.cell.test).values
    assert said["a1-gap_a1_gold"].numpy() == pytest.approx(truth, abs=0.51e-4)
    lines: list[str] = []
    assert reproduce(config, tmp_path, say=lines.append) == dict.fromkeys(config.encodings, 3e-3)
    assert lines == [] and files == {file: file.stat().st_mtime_ns for file in files}


def test_the_mean_is_a_baseline(tmp_path: Path) -> None:
    cell = NatureCell(task_options={"block": 16, "time": [3, 4], "points": [5, 6]}, examples=16, dev=4, test=8)
    data = NatureData(cell, tmp_path)
    found = baselines(data)["mean"]
    train_gold, gold = data.records("train").gold("m1"), data.records("test").gold("m1")
    assert found["test m1"]["mse"]["value"] == pytest.approx(((gold - train_gold.mean()) ** 2).mean())
    assert set(found) == {f"{split} {ask}" for split, asks in cell.splits.items() for ask in asks}


def test_temperatures_from_end_to_end(tmp_path: Path) -> None:
    command = ["reproduce", "xval-table4", "-o", str(tmp_path), "--model", "xval+scalar"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    text = (tmp_path / "xval-table4.md").read_text("utf-8")
    baselines_there = ("| persistence |", "| climatology |", "| yesterday |")
    for part in (*baselines_there, "K²", "centred, equal samples", "hours (paper)", "1.75"):
        assert part in text, part
    config = config_for("xval-table4", "tiny", ("xval+scalar",))
    folder = folder_of(tmp_path, config)
    assert folder.name == "temperature-synthetic"
    data = NatureData(config.cell, tmp_path / "data")
    truth = data.task.truth("test", config.cell.test)
    for cells in config.finals("xval+scalar", 3e-3).values():
        (cell,) = cells
        said = read_predictions(folder / f"{cell.name}.npz")
        np.testing.assert_allclose(said["test_last_gold"].numpy(), truth.values, atol=1e-9)
        found = json.loads((folder / f"{cell.name}.json").read_text("utf-8"))["figures"]["test last"]
        again = data.task.measure(said["test_last_predicted"].double(), truth)
        assert found["mse"]["value"] == pytest.approx(again["mse"].value, rel=1e-4)
        assert found["mse_kelvin"]["value"] == pytest.approx(again["mse_kelvin"].value, rel=1e-4)
        assert found["interval"]["low"] < found["mse"]["value"] < found["interval"]["high"]
    simple = read_baselines(folder)["yesterday"]["test last"]["mse"]["value"]
    guess = data.task.baselines("test", config.cell.test)["yesterday"]
    assert simple == pytest.approx(data.task.measure(guess, truth)["mse"].value)


def test_rates_are_tried_and_a_stopped_run_goes_on(tmp_path: Path) -> None:
    whole = config_for("xval-table4", "tiny", ("xval+scalar",))
    cell = dataclasses.replace(whole.cell, looks=0, dev=6, test=6)
    config = dataclasses.replace(whole, rates=(1e-3, 3e-3), rate_share=0.5, budgets={"samples": 32.0}, cell=cell)
    lines: list[str] = []
    rates = reproduce(config, tmp_path, say=lines.append)
    assert [line.split(":")[0] for line in lines[1:3]] == [one.name for one in config.tries("xval+scalar")]
    assert "mse dev last" in lines[1] and "mse test last" in lines[3] and "records/s" in lines[3]
    folder = folder_of(tmp_path, config)
    (final,) = config.finals("xval+scalar", rates["xval+scalar"])["samples"]
    assert [file.stem for file in folder.glob("*.npz")] == [final.name]  # tries keep no predictions
    before = read_predictions(folder / f"{final.name}.npz")
    (folder / f"{final.name}.json").unlink()
    lines.clear()
    assert reproduce(config, tmp_path, say=lines.append) == rates
    assert [line.split(":")[0] for line in lines[1:]] == [final.name]
    again = read_predictions(folder / f"{final.name}.npz")
    assert all(torch.equal(before[name], again[name]) for name in before)


def test_results_of_other_settings_are_not_taken(tmp_path: Path) -> None:
    whole = config_for("xval-table4", "tiny", ("xval+scalar",))
    cell = dataclasses.replace(whole.cell, looks=0, dev=4, test=4, examples=8)
    config = dataclasses.replace(whole, budgets={"samples": 8.0}, cell=cell)
    reproduce(config, tmp_path, say=lambda line: None)
    other = dataclasses.replace(config, cell=dataclasses.replace(cell, width=16))
    with pytest.raises(ValueError, match=r"-samples\.json is there with width 32 and not 16: give another folder"):
        reproduce(other, tmp_path, say=lambda line: None)
    # What needs no learning belongs to the settings, too.
    folder = folder_of(tmp_path, config)
    (final,) = config.finals("xval+scalar", 3e-3)["samples"]
    (folder / f"{final.name}.json").unlink()
    longer = dataclasses.replace(config, cell=dataclasses.replace(cell, test=6))
    count = read_baselines(folder)["yesterday"]["test last"]["mse"]["count"]
    reproduce(longer, tmp_path, say=lambda line: None)
    assert read_baselines(folder)["yesterday"]["test last"]["mse"]["count"] > count


def test_a_file_has_a_table_of_its_own_and_its_place_is_not_told(tmp_path: Path) -> None:
    file = tmp_path / "somewhere" / "weather.npz"
    file.parent.mkdir()
    synthetic_field(days=30, shape=(4, 4)).save(file)
    command = ["reproduce", "xval-table4", "-o", str(tmp_path / "out"), "--model", "xval+scalar", "--data", str(file)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert [one.name for one in (tmp_path / "out").glob("*.md")] == ["xval-table4-weather.md"]
    for written in (tmp_path / "out" / "temperature-weather").glob("*.json"):
        text = written.read_text("utf-8")
        assert "weather.npz" in text and "somewhere" not in text, written.name


def test_the_weights_that_did_best_on_dev_are_tested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = config_for("xval-table4", "tiny", ("xval+scalar",)).cell
    cell = dataclasses.replace(whole, encoding="xval+scalar", looks=4, dev=4, test=4, examples=16, amount=64.0)
    ends = []
    for order in ([1.0, 3.0, 2.0, 3.0, 3.0], [3.0, 1.0, 2.0, 3.0, 3.0], [3.0, 3.0, 3.0, 3.0, 3.0]):
        told = iter(order)
        monkeypatch.setattr(nature_runs, "missed", lambda dev, told=told: next(told))
        figures = run_cell(cell, tmp_path / "cells", tmp_path / "data")
        looks = figures["training"]["looks"]
        assert [look["step"] for look in looks] == [1, 2, 3, 4]
        ends.append((figures["training"]["kept"], figures["dev"]["last"]["mse"]["value"]))
        # What is measured is what the look saw.
        assert ends[-1][1] == pytest.approx(looks[ends[-1][0] - 1]["last"], rel=1e-6)
    assert [kept for kept, _ in ends] == [1, 2, 4] and len({value for _, value in ends}) == 3


def test_looks_are_not_counted_as_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = config_for("xval-table4", "tiny").cell
    cell = dataclasses.replace(whole, encoding="xval+scalar", looks=2, examples=16, amount=64.0)
    records = NatureData(cell, tmp_path).records("train")
    now = [0.0]
    monkeypatch.setattr(trunk_cell, "time", SimpleNamespace(perf_counter=lambda: now[0]))

    def look() -> dict[str, float]:
        now[0] += 7.0
        return {"at": now[0]}

    found = train(build(cell, records), cell, records, look)
    assert [one["at"] for one in found["looks"]] == [7.0, 14.0] and found["seconds"] == 0.0


def test_a_step_takes_what_most_take_and_nothing_is_learnt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = config_for("xval-table4", "tiny").cell
    cell = dataclasses.replace(whole, encoding="xval+scalar", examples=16, batch=2, budget="seconds", amount=60.0)
    records = NatureData(cell, tmp_path).records("train")
    model, now, asked = build(cell, records), [0.0], []
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    ready = Ready(encode_records(model, records, torch.device("cpu")), cell)
    monkeypatch.setattr(trunk_cell, "time", SimpleNamespace(perf_counter=lambda: now[0]))

    class Slow:
        """The first ten steps take long, as those do in which something is compiled; and one later on."""

        def __len__(self) -> int:
            return 100

        def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
            now[0] += 50.0 if len(asked) < 10 or len(asked) == 22 else 2.0
            asked.append(index)
            return ready[0]

    found = time_steps(model, cell, Slow(), torch.device("cpu"))  # type: ignore[arg-type]
    assert found == 2.0 and steps_for(cell, 1.0, found) == 30
    assert all(weight.equal(before[name]) for name, weight in model.state_dict().items())


def test_equal_time_goes_by_steps_timed_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = dataclasses.replace(
        config_for("xval-table4", "tiny", encodings=("xval+scalar",)), budgets={"samples": 32, "seconds": 0.3}
    )
    events: list[str] = []
    timed, trained = nature.time_alone, nature.run_cell

    def time_alone(cell: NatureCell, folder: Path, data: str) -> float:
        events.append("timed")
        found = timed(cell, folder, data)
        file = speed_file(cell, folder)
        told = json.loads(file.read_text())
        assert told["figures"]["seconds_a_step"] == found > 0
        told["figures"]["seconds_a_step"] = 0.1  # on a machine of one's own
        file.write_text(json.dumps(told))
        return found

    def run_cell(cell: NatureCell, *where: Any, **options: Any) -> dict[str, Any]:
        events.append(cell.budget)
        return trained(cell, *where, **options)

    monkeypatch.setattr(nature, "time_alone", time_alone)
    monkeypatch.setattr(nature, "run_cell", run_cell)
    lines: list[str] = []
    rates = reproduce(config, tmp_path, say=lines.append)
    assert events[0] == "timed" and events.count("timed") == 1 and events[-1] == "seconds"
    assert any(line.startswith("xval+scalar: ") and line.endswith(" ms a step, alone") for line in lines)
    cells = read_cells(config, folder_of(tmp_path, config), rates)["xval+scalar"]
    assert cells["seconds"][0]["training"]["steps"] == 3
    shown = cost_table("xval-table4", config, {"xval+scalar": cells}, rates)
    assert dict(zip(shown.head, shown.body[0], strict=True))["ms a step, alone"].text == "100.00"


def test_bad_names_are_one_line(tmp_path: Path) -> None:
    for more, message in (
        (["xval-table5", "--model", "p100"], "unknown encoding 'p100'"),
        (["xval-table5", "--data", "x.npz"], "takes no data"),
        (["xval-table4", "--data", str(tmp_path / "none.npz"), "--model", "p10"], "none.npz"),
        (["xval-table6"], "unknown run 'xval-table6'"),
    ):
        bad = CliRunner().invoke(app, ["reproduce", more[0], "-o", str(tmp_path), *more[1:]])
        assert bad.exit_code != 0 and message in bad.output and "Traceback" not in bad.output


def test_the_best_rate_misses_least(tmp_path: Path) -> None:
    config = config_for("xval-table5", "small", ("p10",))
    tries = config.tries("p10")
    assert [cell.amount for cell in tries] == [24_000.0] * 3
    for cell, (mse, invalid) in zip(tries, ((None, 1.0), (0.5, 0.2), (0.5, 0.0)), strict=True):
        one = {"mse": {"value": mse}, "invalid": {"value": invalid}, "variance": {"value": 2.0}}
        figures = {"dev": {"a1": one, "m1": one}}
        (tmp_path / f"{cell.name}.json").write_text(json.dumps({"figures": figures}))
    assert best_rate(config, tmp_path, "p10") == tries[2].rate


@pytest.mark.slow
@pytest.mark.parametrize(("table", "encoding"), [("xval-table4", "xval+scalar"), ("xval-table5", "p1000")])
def test_one_real_step_of_the_papers_sizes(table: str, encoding: str, tmp_path: Path) -> None:
    shared = config_for(table, "paper").cell
    options = shared.task_options | ({"block": 2} if table == "xval-table5" else {})
    cell = dataclasses.replace(shared, encoding=encoding, examples=2, batch=1, amount=1.0, task_options=options)
    records = NatureData(cell, tmp_path).records("train")
    model = build(cell, records)
    trained = train(model, cell, records)
    assert trained["steps"] == 1 and trained["losses"][0]["loss"] > 0 and trained["tokens_a_record"] > 300
    assert sum(p.numel() for p in model.backbone.parameters()) > 40e6


@pytest.mark.slow
def test_several_processes_give_the_same(tmp_path: Path) -> None:
    config = config_for("xval-table5", "tiny", ("xval+scalar", "log-fourier+mixture"))
    found = []
    for processes in (1, 2):
        output = tmp_path / str(processes)
        reproduce(config, output, processes=processes, say=lambda line: None)
        cells = [cells[0] for name in config.encodings for cells in config.finals(name, 3e-3).values()]
        found.append([read_predictions(folder_of(output, config) / f"{cell.name}.npz") for cell in cells])
    for one, two in zip(*found, strict=True):
        assert all(torch.allclose(one[name].double(), two[name].double(), rtol=1e-4, atol=1e-6) for name in one)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["xval+scalar", "log-fourier+mixture"])
def test_planets_are_learnt(encoding: str, tmp_path: Path) -> None:
    cell = NatureCell(
        task_options={"block": 2048, "planets": [2, 2]}, times=4, examples=8192, batch=64, width=32, layers=2, heads=2,
        dev=64, test=256, asking=1.0, ratio=0.05, amount=50_000, rate=3e-3, encoding=encoding,
    )  # fmt: skip
    found = run_cell(cell, tmp_path / "cells", tmp_path / "data")
    # Time steps and eccentricities take longer; the mass is hardly to be had from four times.
    assert found["test a1"]["mse"]["value"] < 0.3 * found["test a1"]["variance"]["value"]
