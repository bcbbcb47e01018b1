"""`numerate train records` and `numerate predict`, from a file to numbers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from numerate.cli.app import app
from numerate.cli.prediction_commands import Predictions
from numerate.cli.run_commands import train
from numerate.errors import NumerateError
from numerate.records import RecordModel

CPU = ["training.use_cpu=true"]
HEADER = "plot,when,height (m),mass,flag\n"


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A CSV, and the model that was trained on it."""
    folder = tmp_path_factory.mktemp("records")
    draws = np.random.default_rng(0)
    lines = []
    for i in range(90):
        height = draws.uniform(1, 9)
        mass = "" if i % 3 else f"{height**2:.3f}"
        lines.append(f"{'ab'[i % 2]},2024-06-{1 + i % 30:02d} 08:00,{height:.4f},{mass},{i % 4 == 0}\n")
    (folder / "my.csv").write_text(HEADER + "".join(lines))
    (folder / "dev.csv").write_text(HEADER + "".join(lines[:9]))
    files = {"data": str(folder / "my.csv"), "dev": str(folder / "dev.csv")}
    train("records", output_dir=str(folder / "out"), **files, scale="tiny", changes=CPU)
    return {"model": str(folder / "out"), "file": str(folder / "my.csv")}


def test_run_json_describes_the_training(places: dict[str, str]) -> None:
    written = json.loads((Path(places["model"]) / "run.json").read_text())
    assert written["config"]["resolved"]["data"]["train"] == places["file"]
    assert "eval_loss" in written["figures"]["metrics"]
    model = RecordModel.load(places["model"])
    assert {path: each.holds for path, each in model.schema.fields.items()} == {
        "plot": "text", "when": "time", '["height (m)"]': "number", "mass": "number", "flag": "text",
    }  # fmt: skip


def test_every_record_gets_a_prediction(places: dict[str, str]) -> None:
    found = list(Predictions(places["model"], places["file"], "mass", level=0.5, samples=3))
    assert [each["record"] for each in found] == list(range(90))
    assert all(each["low"] < each["median"] < each["high"] and len(each["samples"]) == 3 for each in found)
    rows = [{"plot": "a", "height (m)": 2.0}]
    (Path(places["model"]) / "one.json").write_text(json.dumps(rows))
    [one] = Predictions(places["model"], str(Path(places["model"]) / "one.json"), "mass", level=0.5)
    wanted = RecordModel.load(places["model"]).predict(rows, "mass", (0.25, 0.5, 0.75))[0]
    assert [one["low"], one["median"], one["high"]] == wanted.tolist() and "samples" not in one


def test_command_line(places: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = tmp_path / "odd.csv"
    odd.write_text(HEADER.strip() + ",new\na,2024-06-02,99,inf,True,7\n")
    arguments = ["predict", places["model"], str(odd), "--field", "mass"]
    done = CliRunner().invoke(app, [*arguments, "--json", "--samples", "2"])
    assert done.exit_code == 0, done.output
    line = json.loads(done.stdout)
    assert line["field"] == "mass" and len(line["samples"]) == 2
    assert 'unusual input, see docs/records.md: 1 outside (["height (m)"]); 1 unknown (new)' in done.stderr
    columns = CliRunner().invoke(app, [*arguments, "--samples", "2"]).stdout.rstrip("\n").split("\t")  # a pipe
    assert columns == [str(each) for each in (0, line["median"], line["low"], line["high"], "", *line["samples"])]
    assert CliRunner().invoke(app, arguments).stdout == "\t".join(columns[:5]) + "\n"
    monkeypatch.setattr("numerate.cli.prediction_commands.on_terminal", lambda: True)
    table = CliRunner().invoke(app, arguments).stdout
    assert "mass, with 90 % intervals" in table and f"{line['median']:.6g}" in table
    assert "samples" not in table and "samples" in CliRunner().invoke(app, [*arguments, "--samples", "1"]).stdout
    times = CliRunner().invoke(app, [*arguments[:-1], "when", "--json"])
    when = json.loads(times.stdout)
    assert when["median"].startswith("2024-0") and when["low"].endswith("Z")
    shown = CliRunner().invoke(app, [*arguments[:-1], "when"]).stdout  # to the second, and on one line
    assert when["median"].split(".")[0].removesuffix("Z") + "Z" in shown and "…" not in shown


def test_written_numbers_are_predicted_in_their_unit(tmp_path: Path) -> None:
    """`$59,696` and `12 %` are numbers, from the CSV to the prediction."""
    draws = np.random.default_rng(1)
    lines = ["customer,revenue,margin\n"]
    for i in range(60):
        revenue = draws.uniform(2e4, 9e4)
        lines.append(f'C{i:03d},"${revenue:,.0f}",{revenue / 5000:.1f} %\n')
    (tmp_path / "sales.csv").write_text("".join(lines))
    train("records", output_dir=str(tmp_path / "out"), data=str(tmp_path / "sales.csv"), scale="tiny", changes=CPU)
    schema = RecordModel.load(tmp_path / "out").schema
    assert [(each.holds, each.unit) for each in schema.fields.values()] == [
        ("name", ""), ("number", "USD"), ("number", "%"),
    ]  # fmt: skip
    found = Predictions(str(tmp_path / "out"), str(tmp_path / "sales.csv"), "revenue")
    first = next(iter(found))
    assert found.unit == first["unit"] == "USD" and 1e4 < first["median"] < 1e5
    assert found.unusual_input() == ""
    command = ["predict", str(tmp_path / "out"), str(tmp_path / "sales.csv"), "--field", "margin"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0 and {line.split("\t")[4] for line in done.stdout.splitlines()} == {"%"}
    assert "number (USD)" in RecordModel.load(tmp_path / "out").report()


def test_fields_can_be_left_out(places: dict[str, str], tmp_path: Path) -> None:
    command = ["train", "records", "--data", places["file"], "--output-dir", str(tmp_path / "out"), "--scale", "tiny"]
    done = CliRunner().invoke(app, [*command, *CPU, "data.leave_out=[plot, height (m)]"])
    assert done.exit_code == 0, done.output
    schema = RecordModel.load(tmp_path / "out").schema
    assert [path for path, each in schema.fields.items() if each.left_out] == ["plot", '["height (m)"]']
    assert schema.write({"plot": "a", "height (m)": 2.0, "mass": 3}, "mass").count('"') == 6  # when, mass, flag
    command[5] = str(tmp_path / "other")
    done = CliRunner().invoke(app, [*command, *CPU, "data.leave_out=[plott]"])
    assert done.exit_code != 0 and "unknown field 'plott' to leave out: did you mean 'plot'" in done.output


def test_error_messages(places: dict[str, str], tmp_path: Path) -> None:
    model, file = places["model"], places["file"]
    for arguments, options, message in (
        ((model, file, "masss"), {}, "unknown field 'masss': did you mean 'mass'"),
        ((model, file, "mass"), {"level": 1.0}, "--level must lie between 0 and 1, got 1.0"),
        ((model, file, "mass"), {"samples": -1}, "--samples must lie between 0 and 100,000, got -1"),
        ((str(tmp_path), file, "mass"), {}, "is no model of records"),
        ((model, str(tmp_path / "none.csv"), "mass"), {}, "none.csv': no such file"),
    ):
        with pytest.raises(NumerateError, match=message):
            list(Predictions(*arguments, **options))  # type: ignore[arg-type]
    (tmp_path / "torn.jsonl").write_text('{"mass": 1}\n{"mass":\n')
    with pytest.raises(NumerateError, match="torn.jsonl:2: not JSON"):  # noqa: RUF043
        list(Predictions(model, str(tmp_path / "torn.jsonl"), "mass"))


def test_other_commands_refuse_records(places: dict[str, str], tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["eval", places["model"], "--data", places["file"]])
    assert done.exit_code == 2 and "numerate predict" in done.stderr
    done = CliRunner().invoke(app, ["prepare", "records", "--data", places["file"], "-o", str(tmp_path / "p")])
    assert done.exit_code == 2 and "numerate train records" in done.stderr
    with pytest.raises(NumerateError, match="no records to train on: give --data"):
        train("records", output_dir=str(tmp_path / "out"), scale="tiny", changes=CPU)
    (tmp_path / "words.csv").write_text("a,b\n" + "x,y\n" * 20)
    with pytest.raises(NumerateError, match="no field has numbers that vary; the fields are a, b"):
        train("records", output_dir=str(tmp_path / "out"), data=str(tmp_path / "words.csv"), scale="tiny", changes=CPU)
