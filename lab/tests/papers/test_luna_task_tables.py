"""Tables 3, 4 and 5 of LUNA: grids, starts, runs of seconds on invented files, the paper's figures beside ours."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

import fact_files
import pytest
import torch
from report_data import write_reports
from tiny_models import new_backbone, tokenizer_of

from numerate.errors import NumerateError
from numerate.modeling.attaching import attach
from numerate_lab.engine.paper_tables import Options, reproduce
from numerate_lab.papers.luna2022.task_tables import _PLANS, TaskTables
from numerate_lab.registry import tables, tasks

if TYPE_CHECKING:
    from pathlib import Path

TATQA = {"most": 6, "batch": 16, "epochs": 1}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files in `data/tatqa` and `data/tabfact`, a tiny model in `bert`, and one with LUNA's parts in `luna`."""
    place = tmp_path_factory.mktemp("luna")
    for name in ("tatqa", "tabfact"):
        (place / "data" / name).mkdir(parents=True)
    write_reports(place / "data" / "tatqa" / "dev.json")
    fact_files.write_lines(place / "data" / "tabfact")
    new_backbone("bert", max_position_embeddings=512).save_pretrained(place / "bert")
    tokenizer_of("bert").save_pretrained(place / "bert")
    torch.manual_seed(3)
    embedder = {"kind": "char-lstm", "size": "0.1M"}
    model = attach(new_backbone("bert", max_position_embeddings=512), tokenizer_of("bert"), "luna", embedder=embedder)
    model.save_pretrained(place / "luna", backbone=True)
    return place


def options_of(folder: Path, output: Path, lines: list[str] | None = None, **more: Any) -> Options:
    log = (lambda line: None) if lines is None else lines.append
    given: dict[str, Any] = {"data": str(folder / "data"), "models": (str(folder / "bert"),), "output": str(output)}
    return Options(**given | {"log": log} | more)


def cells(text: str, row: str) -> list[str]:
    """The cells of the first line of a Markdown table that begins with a name."""
    line = next(line for line in text.replace("\\", "").splitlines() if line.startswith(f"| {row} |"))
    return [cell.strip().strip("*") for cell in line.split("|")[2:-1]]


def test_grids_of_every_scale(folder: Path, tmp_path: Path) -> None:
    known = {"luna-grid": "tatqa-grid", "luna-table3": "tatqa", "luna-table5": "tatqa"}
    for table, plan in _PLANS["tables"].items():
        if "grids" not in plan:
            continue
        assert tables[table] is TaskTables
        for scale in ("tiny", "small"):
            own = {
                row: str(folder / "bert")  # a plain model fits all rows
                for row in _PLANS["grids"].get(known.get(table), {}).get("rows", ())
                if "@" in row
            }
            given: dict[str, Any] = {"data": None, "models": ()} if table == "luna-table4" else {}
            if table == "luna-grid":  # data of cards is another one
                given = {"corpora": ("tatqa-grid", "tabfact-grid")}
            named = given.get("corpora", plan["grids"])
            grids = TaskTables().grids(table, options_of(folder, tmp_path, scale=scale, starts=own, **given))
            assert [grid.name for grid in grids] == [f"luna-{name.removesuffix('-grid')}" for name in named]
            for grid, name in zip(grids, named, strict=True):
                whole = _PLANS["grids"][name]
                assert list(grid.encodings) == whole["rows"] and grid.base in whole["rows"]
                labels = [column.label for column in tasks[grid.task](grid.trial).shown()]
                assert [label for label in labels if label in whole["columns"]] == whole["columns"]
                ours = {row for row in whole["paper"] if not row.startswith("paper: ")}
                assert ours <= set(whole["rows"])
                assert all(len(row) == len(whole["columns"]) for row in whole["paper"].values())
                for row in grid.encodings:  # each trial has the start that its name says, and no other
                    assert list(getattr(grid.of(row), "starts", {})) == ([row] if "@" in row else [])
    random, user = TaskTables().grids("luna-table4", Options(log=lambda line: None))
    assert (random.trial.split, user.trial.split) == ("random", "user")  # type: ignore[attr-defined]


def test_gains_of_the_paper() -> None:
    """Held against what the text and the average column of Table 3 say: AVG of the five figures of a row."""
    both = [_PLANS["grids"][name]["paper"] for name in ("tatqa", "tabfact")]
    averages = {
        "bare": 53.64, "luna": 55.80, "luna@pretrained": 59.16, "luna@distilled": 63.67,
        "luna-replace@distilled": 57.77, "addback-char-former@distilled": 61.75, "addback-dice-luna@distilled": 51.92,
        "paper: CharLSTM 1M": 61.87, "addback-0.1M@distilled": 61.37, "luna@no-regression": 60.61,
    }  # fmt: skip
    for row, average in averages.items():
        figures = [one[0] for part in both for one in part[row] if one]
        assert len(figures) == 5 and sum(figures) / 5 == pytest.approx(average, abs=0.0051), row
    assert both[0]["luna@distilled"][0][0] - both[0]["bare"][0][0] == pytest.approx(9.43)
    assert both[1]["luna@distilled"][0][0] - both[1]["bare"][0][0] == pytest.approx(3.94)


def test_tables_3_and_5_share_their_trainings(folder: Path, tmp_path: Path) -> None:
    starts, lines = {"pretrained": str(folder / "luna")}, []
    rows = ("bare", "luna@pretrained", "words")
    more: dict[str, Any] = {"starts": starts, "encoders": rows, "settings": TATQA, "corpora": ("tatqa",)}
    reproduce("luna-table3", options_of(folder, tmp_path, lines, **more))
    text = (tmp_path / "luna-table3-tatqa.md").read_text("utf-8")
    assert cells(text, "bare")[1:6:2] == ["50.15 ± 0.8", "57.84 ± 0.7", "38.37 ± 1.9"]
    assert cells(text, "words")[1] == "33.35" and cells(text, "addback-dice-luna@distilled")[:2] == ["–", "47.15 ± 1.2"]
    assert (
        cells(text, "oracle")[0] == "100.00"
        and "**100.00**" not in text
        and "less bare" in text
        and "Cross-validation over the contexts of dev.json" in text
    )
    trial = json.loads((tmp_path / "luna-tatqa" / "luna@pretrained-rate0.001-seed0-epochs1.json").read_text("utf-8"))
    assert trial["config"]["starts"] == {"pretrained": "luna"}

    # Nothing is trained again, though only one row is asked for, and all rows that are there are shown.
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "luna-tatqa").glob("*-seed*.json")}
    again: list[str] = []
    reproduce("luna-table5", options_of(folder, tmp_path, again, **more | {"encoders": ("bare",), "starts": {}}))
    assert "1 of 1 encodings are done already" in again[0]
    assert before == {file: file.stat().st_mtime_ns for file in (tmp_path / "luna-tatqa").glob("*-seed*.json")}
    text = (tmp_path / "luna-table5-tatqa.md").read_text("utf-8")
    by_type = trial_figures(tmp_path, "words")["test by answer type"]
    found = cells(text, "words")
    assert found[0] == f"{100 * by_type['span']['em']['value']:.2f}" and "| luna@distilled |" in text
    assert cells(text, "bare")[1:8:2] == ["62.62", "68.66", "36.39", "43.75"]
    assert "Questions: span 12, multi-span 6, arithmetic 24, count 6" in text and "701 span" in text
    reproduce("luna-table5", options_of(folder, tmp_path, again, **more | {"recompute": True}))
    assert again[-1].endswith(": same")


def trial_figures(output: Path, row: str) -> dict[str, Any]:
    return json.loads((output / "luna-tatqa" / f"{row}-rate0.001-seed0-epochs1.json").read_text("utf-8"))["figures"]


def test_table3_of_facts_grows_by_a_start(folder: Path, tmp_path: Path) -> None:
    lines: list[str] = []
    given = options_of(folder, tmp_path, lines, corpora=("tabfact",), encoders=("bare",))
    reproduce("luna-table3", given)
    starts = {"distilled": str(folder / "luna")}
    reproduce("luna-table3", dataclasses.replace(given, starts=starts, encoders=("bare", "luna@distilled")))
    assert any("1 of 2 encodings are done already" in line for line in lines), "a later start changes no other row"
    text = (tmp_path / "luna-table3-tabfact.md").read_text("utf-8")
    assert cells(text, "luna@distilled")[1] == "66.07 ± 0.5" and cells(text, "luna@distilled")[4] == "62.24 ± 0.4"
    assert cells(text, "bare")[-1] == cells(text, "luna@distilled")[-1] == "1"
    assert "simple % (paper)" not in text and "| most frequent label |" in text and "less bare" in text
    # More seeds of one row: the other stays in the table, and is compared with all of them.
    reproduce("luna-table3", dataclasses.replace(given, starts=starts, seeds=2))
    text = (tmp_path / "luna-table3-tabfact.md").read_text("utf-8")
    assert [cells(text, row)[-1] for row in ("bare", "luna@distilled")] == ["2", "1"]
    compared = json.loads((tmp_path / "luna-tabfact" / "luna@distilled-against-bare.json").read_text("utf-8"))
    assert len(compared["config"]["other"]) == 2 and len(compared["config"]["one"]) == 1


def test_rows_without_a_start_are_left_out_aloud(folder: Path, tmp_path: Path) -> None:
    lines: list[str] = []
    tatqa, tabfact = TaskTables().grids("luna-table3", options_of(folder, tmp_path, lines))
    assert list(tatqa.encodings) == ["bare", "luna", "luna-replace", "in-place", "words", "prompts"]
    assert "words" not in tabfact.encodings
    assert len(lines) == 2 and lines[0].startswith("luna-table3, tatqa: left out are luna@pretrained, luna@distilled,")
    (only,) = TaskTables().grids("luna-table3", options_of(folder, tmp_path, lines, encoders=("words",)))
    assert only.name == "luna-tatqa" and lines[-1].endswith("tabfact is left out, it has none of the rows words")


def test_a_start_is_for_rows_of_its_notation_and_embedder(folder: Path, tmp_path: Path) -> None:
    given = options_of(folder, tmp_path, corpora=("tatqa",), starts={"distilled": str(folder / "luna")})
    (grid,) = TaskTables().grids("luna-table3", given)
    started = [row for row in grid.encodings if "@" in row]
    # A character LSTM of that size behind the subwords: a row of 9M would end the command behind all those before it.
    assert started == ["luna@distilled", "addback-0.1M@distilled"]
    row = "addback-dice-luna@distilled"
    with pytest.raises(NumerateError, match=f"starts from 'distilled': give --start distilled=FOLDER, or {row}"):
        TaskTables().grids("luna-table3", dataclasses.replace(given, encoders=(row,)))
    large = "addback-9M@distilled"
    with pytest.raises(NumerateError, match=r"has an embedder with size='0\.1M', the row has '9M'"):
        TaskTables().grids("luna-table3", dataclasses.replace(given, encoders=(large,)))
    with pytest.raises(NumerateError, match=rf"--start {large}: .*size='0\.1M', the row has '9M'"):
        TaskTables().grids("luna-table3", dataclasses.replace(given, starts={large: str(folder / "luna")}))


def test_files_of_training_and_test(folder: Path, tmp_path: Path) -> None:
    for name in ("train", "dev", "test_gold"):
        write_reports(tmp_path / f"tatqa_dataset_{name}.json", 3)
    options = options_of(folder, tmp_path, data=str(tmp_path), corpora=("tatqa",))
    (grid,) = TaskTables().grids("luna-table3", options)
    names = [getattr(grid.trial, field).rpartition("_")[2] for field in ("source", "dev", "test")]
    assert names == ["train.json", "dev.json", "gold.json"]
    (tmp_path / "tatqa_dataset_test_gold.json").unlink()  # dev is then the test, as in the paper
    (grid,) = TaskTables().grids("luna-table3", options)
    trial: Any = grid.trial
    assert trial.source.endswith("tatqa_dataset_train.json") and trial.dev is None
    assert trial.test.endswith("tatqa_dataset_dev.json")


def test_table4_has_a_table_for_each_split(tmp_path: Path) -> None:
    lines: list[str] = []
    rows = ("baseline", "ours")
    reproduce("luna-table4", Options(output=str(tmp_path), encoders=rows, log=lines.append))
    random, user = ((tmp_path / f"luna-table4-cards-{split}.md").read_text("utf-8") for split in ("random", "user"))
    assert cells(random, "baseline")[1] == "84.79 ± 0.3" and cells(random, "addback-9M")[1] == "86.17 ± 0.1"
    assert "F1 (paper)" not in user and "| frequencies |" in user and "split by user" in user
    for text, split in ((random, "random"), (user, "user")):
        file = tmp_path / f"luna-cards-{split}" / f"ours-{split}-rate0.001-seed0-epochs1.json"
        value = json.loads(file.read_text("utf-8"))["figures"]["test"]["f1"]
        assert cells(text, "ours")[0] == f"{100 * value:.2f}" and "less baseline" in text


def test_bad_options(folder: Path, tmp_path: Path) -> None:
    for table, more, message in (
        ("luna-table3", {"data": None}, "luna-table3 needs --data, .* got --data None, 1 models"),
        ("luna-table3", {"models": ()}, "and one --model, got .* 0 models"),
        ("luna-table3", {"corpora": ("tabfacts",)}, "unknown grid 'tabfacts': did you mean 'tabfact'?"),
        ("luna-table3", {"scale": "paper"}, "unknown scale 'paper'"),
        ("luna-table3", {"starts": {"pretraind": "x"}}, "no row starts from it: did you mean 'pretrained'?"),
        ("luna-table3", {"starts": {"pretrained": str(tmp_path / "gone")}}, "gone: no such folder"),
        ("luna-table5", {"encoders": ("luna@mine",)}, "starts from 'mine': give --start mine=FOLDER, or luna@mine"),
        ("luna-table5", {"data": str(tmp_path)}, "no file of TAT-QA there"),
        ("luna-table5", {"settings": {"epoch": 3}}, "epoch"),
        ("luna-table2", {"starts": {"pretrained": "x"}}, "luna-table2 takes no --start, got pretrained"),
        ("xval-table1", {"settings": {"epochs": 1}}, "xval-table1 takes no --option, got epochs"),
    ):
        with pytest.raises(NumerateError, match=message):
            reproduce(table, options_of(folder, tmp_path / "out", **more))
