"""xVal's tables: settings, rendering by hand, end to end at tiny scale, and one real step of the paper's sizes."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from numerate.cli.app import app
from numerate_lab.engine.grid import baselines_of, best_rate, finals, recompute, run_grids
from numerate_lab.engine.task import Workspace
from numerate_lab.papers.xval2023.record_figures import distributions, likelihood_along, predictions, record_figures
from numerate_lab.papers.xval2023.xval_report import cost_table, error_table, trust_table
from numerate_lab.papers.xval2023.xval_tables import SETTINGS, TABLES, grid_for, paper_figures, table1
from numerate_lab.tasks.planets.planet_systems import PlanetsConfig, PlanetSource
from numerate_lab.tasks.temperature.weather_fields import synthetic_field

if TYPE_CHECKING:
    from pathlib import Path


def test_table_1_is_exact() -> None:
    assert {name: list(row) for name, row in table1().items()} == SETTINGS["tables"]["xval-table1"]["paper"]


def test_settings() -> None:
    sizes = {"xval-table2": 13, "xval-table3": 10, "xval-table4": 9, "xval-table5": 12}
    for table in TABLES[1:]:
        columns, paper = paper_figures(table)
        for scale in ("tiny", "small", "paper"):
            grid = grid_for(table, scale)
            assert len(grid.encodings) == sizes[table] and set(paper) <= set(grid.encodings), (table, scale)
            assert all(set(row) <= set(columns.values()) for row in paper.values())
            assert len(grid.rates) == (1 if scale == "tiny" else 3)
            if grid.task == "temperature":
                assert set(grid.variants) <= set(columns)
    assert list(paper_figures("xval-table2")[0]) == grid_for("xval-table2").trial.task.split(",")  # type: ignore[attr-defined]
    centred = grid_for("xval-table4").of("p10", "centred-seconds")
    assert (centred.budget, centred.amount, centred.centred) == ("seconds", 40.0, True)  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="unknown scale 'smal': did you mean 'small'"):
        grid_for("xval-table5", "smal")
    with pytest.raises(ValueError, match=r"takes no data, got 'era5\.npz'"):
        grid_for("xval-table5", "tiny", source="era5.npz")


def figure_of(mse: float | None, invalid: float = 0.0, **more: Any) -> dict[str, Any]:
    found = {"mse": {"value": mse}, "invalid": {"value": invalid}, "mse_kelvin": {"value": mse and 4 * mse}}
    return found | more


def trained(**more: Any) -> dict[str, Any]:
    training = {"steps": 5, "seconds": 12.4, "tokens_a_text": 333.3, "encoded_a_second": 2000}
    return {"training": training, "parameters": 3_200_000} | more


def test_planets_beside_the_paper() -> None:
    grid = grid_for("xval-table5", "tiny", ("p10", "float+mixture"))
    sure = {"coverage": {"value": 0.881}, "crps": {"value": 0.0123}}
    results = {
        "p10": {"samples": [trained(**{"test a1": figure_of(0.002, 0.01), "a1-gap a1": figure_of(None, 1.0)})]},
        "float+mixture": {
            "samples": [
                trained(**{"test a1": figure_of(0.001, **sure)}),
                trained(**{"test a1": figure_of(0.003, **sure)}),
            ]
        },
    }
    text = error_table("xval-table5", grid, results, {"mean": {"test a1": figure_of(0.5)}}).markdown()
    rows = {line.split(" | ")[0].strip("| "): line for line in text.splitlines() if line.startswith("| ")}
    assert rows["p10"].startswith("| p10 | **0.002 (1 % invalid)** | 0.00076 | – (100 % invalid) | 0.0076 | – | 0.2")
    # Student's interval.
    assert rows["float+mixture"].startswith("| float+mixture | **0.002 ± 0.0127 (0 % invalid)** |")
    assert rows["mean"].startswith("| mean | 0.5 | – |") and "the first 4 times" in text and "5%" in text
    trust = trust_table("xval-table5", grid, results)
    assert trust is not None and "| float+mixture | 88.1 %, 0.0123 |" in trust.markdown()
    assert trust_table("xval-table5", grid, {"p10": results["p10"]}) is None
    costs = cost_table("xval-table5", grid, results, {"p10": 1e-3, "float+mixture": 1e-3}).markdown()
    assert "| p10 | 0.001 | 333 | 3.20 M | 2,000 | 5 | 12 |" in costs


def test_temperatures_by_budget() -> None:
    grid = grid_for("xval-table4", "tiny", ("xval+scalar",), source="folder/era5.npz")
    ends = {"interval": {"low": 0.1, "high": 0.3, "estimate": 0.2}}
    run_of = trained(**{"test last": figure_of(0.2, **ends)})
    results = {"xval+scalar": {variant: [run_of] for variant in grid.variants}}
    simple = {"yesterday": {"test last": figure_of(0.25)}}
    text = error_table("xval-table4", grid, results, simple).markdown()
    assert "| xval+scalar | **0.2 (0.1 to 0.3) (0 % invalid)** | 1.75 | **0.2 (0.1 to 0.3) (0 % invalid)** |" in text
    assert "| yesterday | 0.25 | – | 0.25 | 0.25 | 0.25 |" in text and "era5.npz" in text and "folder" not in text
    kelvin = error_table("xval-table4", grid, results, simple, "mse_kelvin").markdown()
    assert "| xval+scalar | **0.8 (0 % invalid)** | **0.8 (0 % invalid)** |" in kelvin and "paper" not in kelvin
    assert "hours (paper)" in cost_table("xval-table4", grid, results, {"xval+scalar": 1e-3}).markdown()
    # Where centred records alone were trained, the paper's figures stand beside those.
    grid = grid_for("xval-table4", "small", ("xval+scalar", "p10"))
    results = {name: {"centred-samples": [trained(**{"test last": figure_of(0.2)})]} for name in grid.encodings}
    text = error_table("xval-table4", grid, results, simple).markdown()
    assert "| xval+scalar | **0.2 (0 % invalid)** | 1.75 |" in text and "| p10 | **0.2 (0 % invalid)** | 73 |" in text


def columns() -> dict[str, dict[str, torch.Tensor]]:
    gold = torch.linspace(1.0, 2.0, 50)
    given = gold.clone()
    given[7] = torch.nan
    keys = ("test_a1", "test_e1", "test_m1", "a1-gap_a1", "stepsize-between_stepsize", "test_last")
    one = {f"{key}_{what}": values for key in keys for what, values in (("gold", gold), ("predicted", given))}
    gap = {"gap_line": torch.linspace(0.9, 1.2, 7), "gap_gold": torch.tensor([1.0, 1.1])}
    return {"p10": one | gap | {"gap_likelihood": torch.eye(7)[:2]}, "xval+scalar": one}


def test_figures() -> None:
    figure = predictions(columns(), "test_a1", "Axes", marks=[1.5])
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["p10", "xval+scalar"]
    points = figure.axes[0].lines[2].get_xydata()
    assert len(points) == 50 and abs(points[3] - [1 + 3 / 49] * 2).max() < 1e-6
    assert figure.axes[0].texts[0].get_text() == "1 of 50 no number"
    with pytest.raises(ValueError, match="at least one encoding"):
        predictions(columns(), "test_nothing")
    truth, given = distributions(columns(), "test_m1", bins=5).axes[0].patches
    assert truth.get_data().values.sum() == pytest.approx(1.0)
    assert given.get_data().values.sum() == pytest.approx(49 / 50), "one was no number"
    figure = likelihood_along(columns(), marks=[1.0])
    assert len(figure.axes) == 1 and figure.axes[0].images[0].get_array().tolist() == torch.eye(7)[:2].tolist()
    assert len(record_figures("planets", columns())) == 7 and len(record_figures("temperature", columns())) == 2
    assert record_figures("planets", {}) == {}


def run(table: str, output: Path, *more: str) -> str:
    result = CliRunner().invoke(app, ["reproduce", table, "-o", str(output), *more])
    assert result.exit_code == 0, result.output
    return result.output


def test_arithmetic_from_end_to_end(tmp_path: Path) -> None:
    run("xval-table3", tmp_path, "--model", "xval+scalar", "--model", "p10")
    text = (tmp_path / "xval-table3.md").read_text("utf-8")
    assert "| xval+scalar |" in text and "0.99998" in text and "2 operands (paper)" in text
    again = run("xval-table3", tmp_path, "--model", "xval+scalar", "--model", "p10", "--recompute")
    assert again.count(": same") == 2
    run("xval-table1", tmp_path)
    assert "28,800 | 28,800" in (tmp_path / "xval-table1.md").read_text("utf-8")


def test_planets_from_end_to_end(tmp_path: Path) -> None:
    run("xval-table5", tmp_path, "--model", "float+mixture")
    text = (tmp_path / "xval-table5.md").read_text("utf-8")
    assert all(part in text for part in ("| xval+scalar |", "| 6.4e-05 |", "| mean |", "a₁ in the gap (paper)"))
    assert "xval-table5: intervals" in text and text.count("| float+mixture |") == 3
    figures = {file.stem.split("-")[0] for file in (tmp_path / "planets" / "figures").iterdir()}
    assert figures == {"figure3", "figure5", "figure6", "figure7"}
    grid = grid_for("xval-table5", "tiny", ("float+mixture",))
    assert set(recompute(grid, tmp_path).values()) == {True}
    (result,) = finals(grid, tmp_path, "float+mixture")
    given = result.columns()
    assert given["a1-gap_gap_likelihood"].max(1).tolist() == [1.0] * len(given["a1-gap_gap_gold"])
    trial: Any = grid.trial
    options = PlanetsConfig.from_dict(trial.task_options | {"block": trial.test})
    truth = PlanetSource(options, asks="a1").truth("a1-gap", trial.test).values
    assert given["a1-gap_a1_gold"] == pytest.approx(truth, abs=0.51e-4), "the truth is that of the systems"


@pytest.mark.slow
def test_temperatures_from_end_to_end(tmp_path: Path) -> None:
    """From a file, whose place is not told; steps are timed before anything is trained."""
    file = tmp_path / "somewhere" / "weather.npz"
    file.parent.mkdir()
    field = synthetic_field(days=30, shape=(4, 4))
    np.savez(file, t2m=field.t2m, time=field.time, lat=field.lat, lon=field.lon)
    lines = run("xval-table4", tmp_path / "out", "--model", "xval+scalar", "--data", str(file)).splitlines()
    assert [one.name for one in (tmp_path / "out").glob("*.md")] == ["xval-table4-weather.md"]
    text = (tmp_path / "out" / "xval-table4-weather.md").read_text("utf-8")
    simple = ("| persistence |", "| climatology |", "| yesterday |")
    assert all(part in text for part in (*simple, "K²", "centred, equal samples", "hours (paper)", "1.75"))
    events = [line.partition(", ")[2] for line in lines if line.startswith("temperature-weather, ")]
    assert events[0] == "xval+scalar: timing steps" and len(events) == 5
    for written in (tmp_path / "out" / "temperature-weather").glob("*.json"):
        content = written.read_text("utf-8")
        assert "weather.npz" in content and "somewhere" not in content, written.name
    grid = grid_for("xval-table4", "tiny", ("xval+scalar",), source=str(file))
    task = grid.task_class(grid.trial, Workspace())
    truth = task.source.truth("test", task.config.test)
    for variant in grid.variants:
        (result,) = finals(grid, tmp_path / "out", "xval+scalar", variant)
        given, found = result.columns(), result.figures["test last"]
        np.testing.assert_allclose(given["test_last_gold"], truth.values, atol=1e-9)
        again = task.source.measure(given["test_last_predicted"], truth)
        assert found["mse"]["value"] == pytest.approx(again["mse"].value, rel=1e-4)
        assert found["mse_kelvin"]["value"] == pytest.approx(again["mse_kelvin"].value, rel=1e-4)
        assert found["interval"]["low"] < found["mse"]["value"] < found["interval"]["high"]
    guess = task.source.baselines("test", task.config.test)["yesterday"]
    stored = baselines_of(grid, tmp_path / "out")["yesterday"]["test last"]["mse"]["value"]
    assert stored == pytest.approx(task.source.measure(guess, truth)["mse"].value)


def test_the_best_rate_misses_least(tmp_path: Path) -> None:
    grid = grid_for("xval-table5", "small", ("p10",))
    tries: Any = grid.tries("p10")
    assert [trial.amount for trial in tries.values()] == [120_000.0] * 3
    (tmp_path / grid.name).mkdir()
    for trial, (mse, invalid) in zip(tries.values(), ((None, 1.0), (0.5, 0.2), (0.5, 0.0)), strict=True):
        one = {"mse": {"value": mse}, "invalid": {"value": invalid}, "variance": {"value": 2.0}}
        content = json.dumps({"figures": {"dev": {"a1": one, "m1": one}}})
        (tmp_path / grid.name / f"{trial.name}.json").write_text(content)
    assert best_rate(grid, tmp_path, "p10") == list(tries)[2]


def test_rates_of_records_are_chosen_on_half_of_the_budget() -> None:
    for table in ("xval-table4", "xval-table5"):
        for scale in ("tiny", "small", "paper"):
            assert grid_for(table, scale).rate_share >= 0.5


def test_bad_names_are_one_line(tmp_path: Path) -> None:
    for more, message in (
        (["xval-table5", "--model", "p100"], "unknown encoding 'p100'"),
        (["xval-table5", "--data", "x.npz"], "takes no data"),
        (["xval-table4", "--data", str(tmp_path / "none.npz"), "--model", "p10"], "none.npz"),
        (["xval-table6"], "unknown table 'xval-table6'"),
        (["xval-table1", "--recompute"], "nothing to recompute"),
    ):
        bad = CliRunner().invoke(app, ["reproduce", more[0], "-o", str(tmp_path), *more[1:]])
        assert bad.exit_code == 2 and message in " ".join(bad.output.split()) and "Traceback" not in bad.output


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "encoding"),
    [("xval-table2", "xval+scalar"), ("xval-table3", "fp15"), ("xval-table4", "xval+scalar"), ("xval-table5", "p1000")],
)
def test_one_real_step_of_the_papers_sizes(table: str, encoding: str) -> None:
    grid = grid_for(table, "paper", (encoding,))
    trial: Any = dataclasses.replace(grid.trial, encoding=encoding, examples=2, batch=1, amount=1.0, looks=0)  # type: ignore[call-arg]
    if table == "xval-table5":
        trial = dataclasses.replace(trial, task_options=trial.task_options | {"block": 2})
    task = grid.task_class(trial)
    model = task.build()
    found = task.train(model)
    assert found["steps"] == 1 and found["losses"][0]["loss"] > 0
    assert sum(weight.numel() for weight in model.backbone.parameters()) > 40e6


@pytest.mark.slow
def test_several_processes_give_the_same(tmp_path: Path) -> None:
    grid = grid_for("xval-table5", "tiny", ("xval+scalar", "log-fourier+mixture"))
    for processes in (1, 2):
        run_grids([grid], tmp_path / str(processes), processes=processes)
    for name in grid.encodings:
        one, two = (finals(grid, tmp_path / str(processes), name)[0].columns() for processes in (1, 2))
        for key, column in one.items():
            np.testing.assert_allclose(column, two[key], rtol=1e-4, atol=1e-6, err_msg=key)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["xval+scalar", "log-fourier+mixture"])
def test_planets_are_learnt(encoding: str, tmp_path: Path) -> None:
    from numerate_lab.engine.trial import run_trial
    from numerate_lab.tasks.planets.planets_task import Planets, PlanetsTrial

    trial = PlanetsTrial(
        task_options={"block": 2048, "planets": [2, 2]}, times=4, examples=8192, batch=64, width=32, layers=2, heads=2,
        dev=64, test=256, asking=1.0, ratio=0.05, amount=50_000, rate=3e-3, encoding=encoding,
    )  # fmt: skip
    found = run_trial(Planets(trial), tmp_path)
    # Time steps and eccentricities take longer; the mass can hardly be told from four times.
    assert found["test a1"]["mse"]["value"] < 0.3 * found["test a1"]["variance"]["value"]
