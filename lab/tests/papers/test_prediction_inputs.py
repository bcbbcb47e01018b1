"""What a grid of masked words is made of: two models of one name are two, and what cannot be is said at once."""

from __future__ import annotations

import dataclasses
import json
import shutil
from typing import TYPE_CHECKING, Any

import number_data
import pytest
from typer.testing import CliRunner

from numerate.cli.app import app
from numerate.config import ConfigError
from numerate.training.results import OtherSettingsError
from numerate_lab.papers.literacy2021.prediction_grid import LiteracyGrid, run_grids
from numerate_lab.papers.literacy2021.prediction_report import magnitude_table, word_table
from numerate_lab.papers.literacy2021.prediction_tables import encoder_of, grids_for, paper_of
from numerate_lab.tasks.masked_prediction.prediction_setup import LiteracyConfig

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data, and two models whose folders have one name."""
    found = tmp_path_factory.mktemp("inputs")
    (found / "data" / "units").mkdir(parents=True)
    number_data.write_data(found / "data" / "units")
    for place in ("one", "other"):
        number_data.write_model(found / place / "bert")
    config = json.loads((found / "other" / "bert" / "config.json").read_text("utf-8"))
    (found / "other" / "bert" / "config.json").write_text(json.dumps(config | {"layer_norm_eps": 1e-5}), "utf-8")
    return found


def made(folder: Path, **options: Any) -> LiteracyGrid:
    cell = LiteracyConfig(
        source=str(folder / "data" / "units"), model=str(folder / "one" / "bert"), epochs=3, batch=16, most_train=16,
        most_eval=6,
    )  # fmt: skip
    options = {"rates": (1e-4, 1e-3, 1e-2), "seeds": 1, "resamples": 50, "cell": cell} | options
    return LiteracyGrid(encoders={"default": encoder_of("default")}, **options)


def test_another_model_of_the_same_name_is_refused(folder: Path, tmp_path: Path) -> None:
    grid = made(folder, rates=(1e-3,))
    run_grids([grid], tmp_path, say=lambda line: None)
    lines: list[str] = []
    run_grids([grid], tmp_path, say=lines.append)
    assert lines == []
    moved = tmp_path / "moved" / "bert"
    shutil.copytree(folder / "one" / "bert", moved)  # the same model elsewhere is the same
    run_grids(
        [dataclasses.replace(grid, cell=dataclasses.replace(grid.cell, model=str(moved)))], tmp_path, say=lines.append
    )
    assert lines == []
    other = dataclasses.replace(grid.cell, model=str(folder / "other" / "bert"))
    with pytest.raises(OtherSettingsError, match="exists with contents"):
        run_grids([dataclasses.replace(grid, cell=other)], tmp_path, say=lines.append)
    with (folder / "data" / "units" / "test.jsonl").open("a", encoding="utf-8") as file:
        file.write("\n")
    with pytest.raises(OtherSettingsError, match="exists with contents"):
        run_grids([grid], tmp_path, say=lines.append)


def test_two_of_one_name_at_once_are_refused(folder: Path) -> None:
    models = [str(folder / place / "bert") for place in ("one", "other")]
    with pytest.raises(ValueError, match="two models or corpora would share the folder 'units-bert-head'"):
        grids_for("literacy-table3", "tiny", data=str(folder / "data"), models=models, corpora=["units"])


def test_a_corpus_is_a_folder_a_file_or_a_hub_name(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "Wiki-Convert.jsonl"
    file.write_text("", "utf-8")
    options: Any = {"models": [str(folder / "one" / "bert")], "encoders": ["default"]}
    for corpus, name in ((str(file), "Wiki-Convert"), ("usc-isi/WikiConvert", "WikiConvert")):
        (grid,) = grids_for("literacy-table3", "tiny", data=None, corpora=[corpus], **options)
        assert grid.cell.source == corpus and grid.name == f"{name}-bert-head"
        table = word_table("literacy-table3", grid, tmp_path, "all")
        assert "66.15" in table.markdown()  # the paper's, of Wiki-Convert
    assert paper_of("literacy-table3", "numeracy_600k.json", "all")["exponent"]["H@1"] == 60.03
    assert paper_of("literacy-table3", "reports", "all") == {}
    with pytest.raises(ValueError, match=r"unitz: no such folder; .* has units"):
        grids_for("literacy-table3", "tiny", data=str(folder / "data"), corpora=["unitz"], **options)
    with pytest.raises(ValueError, match="nowhere: no such folder; give --data"):
        grids_for("literacy-table3", "tiny", data=None, corpora=["nowhere"], **options)


def test_rates_at_an_edge_and_magnitudes_are_told(folder: Path, tmp_path: Path) -> None:
    grid = made(folder)
    run_grids([grid], tmp_path, say=lambda line: None)
    chosen = next((tmp_path / grid.name).glob("default-rate*-epochs3.json")).name.split("rate")[1].split("-seed")[0]
    notes = " ".join(word_table("literacy-table6", grid, tmp_path, "unit").notes)
    assert ("Chosen at an edge" in notes) == (float(chosen) != 1e-3)
    narrow = dataclasses.replace(grid, rates=(1e-3,))
    assert "Chosen at an edge" not in " ".join(word_table("literacy-table6", narrow, tmp_path, "unit").notes)
    shown = magnitude_table(grid, tmp_path)
    cell = json.loads(next((tmp_path / grid.name).glob("default-*-epochs3.json")).read_text("utf-8"))
    groups = cell["figures"]["results"]["test"]
    known = {group: one for group, one in groups.items() if group.startswith("1e") and one["count"]}
    if len(known) < 2:
        assert shown is None
    else:
        assert shown is not None and all(f"{one['nats']:.4f}" in shown.markdown() for one in known.values())


def test_what_cannot_be_is_said(folder: Path) -> None:
    with pytest.raises(ConfigError, match="seeds must be 1 or more, got 0"):
        made(folder, seeds=0)
    with pytest.raises(ConfigError, match="a try of a rate is as long as all of 3 epochs"):
        made(folder, rate_share=1.0)
    with pytest.raises(ConfigError, match="encoder 'spelled' predicts spelled, the others words"):
        LiteracyGrid(encoders={"spelled": encoder_of("spelled")}, cell=made(folder).cell)


def test_the_command_says_it_in_one_line(folder: Path, tmp_path: Path) -> None:
    shared = ["--data", str(folder / "data"), "--corpus", "units", "-o", str(tmp_path)]
    model = ["--model", str(folder / "one" / "bert")]
    for table, options, words in (
        ("literacy-table3", ["--model", "/nowhere/bert"], "/nowhere/bert: no such folder"),
        ("literacy-table4", model, "literacy-table4 is of texts without numbers"),
        ("literacy-table5", [*model, "--encoder", "exponent"], "add --encoder default"),
        ("masked-numbers", [*model, "--encoder", "default"], "default+mixture"),
        ("literacy-table3", [*model, "--seeds", "0"], "seeds must be 1 or more, got 0"),
    ):
        result = CliRunner().invoke(app, ["reproduce", table, *shared, *options])
        said = " ".join(result.output.split())
        assert result.exit_code == 2 and words in said and "Traceback" not in said, said
