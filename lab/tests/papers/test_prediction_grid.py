"""The grid of masked words: rates chosen on dev, seeds, cells that are there already, tables of what was found."""

from __future__ import annotations

import dataclasses
import json
import shutil
from typing import TYPE_CHECKING, Any

import number_data
import pytest
from tiny_models import new_backbone, tokenizer_of
from typer.testing import CliRunner

from numerate.apps.fill import fill
from numerate.cli.app import app
from numerate.config import ConfigError
from numerate.modeling.attaching import attach
from numerate_lab.papers.literacy2021.prediction_grid import (
    LiteracyGrid,
    best_on_dev,
    best_rate,
    comparison,
    finals_of,
    recompute,
    run_grids,
)
from numerate_lab.papers.literacy2021.prediction_report import against_base, mended_table, word_table, write_tables
from numerate_lab.papers.literacy2021.prediction_tables import (
    SCALES,
    TABLES,
    encoder_of,
    grids_for,
    load_tables,
    paper_of,
    parts_of,
)
from numerate_lab.tasks.masked_prediction.masked_word import MaskedWord
from numerate_lab.tasks.masked_prediction.prediction_setup import LiteracyConfig, load_split
from numerate_lab.tasks.masked_prediction.prediction_trial import compare_cells, run_cell
from numerate_lab.tasks.masked_prediction.word_scores import WordScores

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data and a model."""
    found = tmp_path_factory.mktemp("literacy")
    for corpus in ("units", "market"):
        (found / "data" / corpus).mkdir(parents=True)
        number_data.write_data(found / "data" / corpus)
    (found / "data" / "plain.jsonl").write_text('{"text": "A cat sat on the mat."}\n', "utf-8")
    number_data.write_model(found / "bert")
    return found


@pytest.fixture(scope="module")
def grid(folder: Path) -> LiteracyGrid:
    """Two encoders, two rates, two seeds, trained."""
    cell = LiteracyConfig(
        source=str(folder / "data" / "units"), model=str(folder / "bert"), epochs=2, batch=16, most_train=16,
        most_eval=6, plain=str(folder / "data" / "plain.jsonl"),
    )  # fmt: skip
    encoders = {name: encoder_of(name) for name in ("default", "exponent")}
    made = LiteracyGrid(encoders=encoders, rates=(1e-3, 1e-2), seeds=2, rate_share=0.5, resamples=50, cell=cell)
    run_grids([made], folder / "out", say=lambda line: None)
    return made


def test_rates_are_chosen_on_dev(grid: LiteracyGrid, folder: Path) -> None:
    tries = grid.tries("exponent")
    assert [cell.epochs for cell in tries] == [1, 1] and {cell.splits for cell in tries} == {("dev",)}
    nats = {cell.rate: run_cell(cell)["results"]["dev"]["all"]["nats"] for cell in tries}
    chosen = best_rate(grid, "exponent", folder / "out" / grid.name)
    assert chosen == min(nats, key=nats.__getitem__)
    assert [(cell.seed, cell.rate, cell.epochs) for cell in grid.finals("exponent", chosen)] == [
        (0, chosen, 2),
        (1, chosen, 2),
    ]


def test_results_do_not_tell_where_things_lay(grid: LiteracyGrid, folder: Path) -> None:
    files = list((folder / "out" / grid.name).glob("*.json"))
    assert len(files) == 9 and not [file for file in files if str(folder) in file.read_text("utf-8")]


def test_the_best_on_dev_is_asked_of_the_tries(grid: LiteracyGrid, folder: Path, tmp_path: Path) -> None:
    assert best_on_dev(grid, folder / "out") == "exponent"  # but for the base, there is no other
    nats = {
        name: min(run_cell(cell)["results"]["dev"]["unit"]["nats"] for cell in grid.tries(name))
        for name in ("default", "exponent")
    }
    assert best_on_dev(grid, folder / "out", apart=()) == min(nats, key=nats.__getitem__)
    assert best_on_dev(grid, tmp_path) == ""


def test_a_comparison_is_that_of_the_cells(grid: LiteracyGrid, folder: Path) -> None:
    one, other = (finals_of(grid, name, folder / "out") for name in ("exponent", "default"))
    assert len(one) == len(other) == 2
    found, wanted = comparison(grid, "exponent", folder / "out"), compare_cells(one, other, resamples=50)
    assert found["unit"]["nats_difference"] == wanted["unit"]["nats_difference"]
    assert found["plain"]["count"] > 3
    shown = against_base(grid, folder / "out").markdown()
    assert f"{wanted['unit']['nats_difference']['estimate']:+.4f}" in shown and "| default |" not in shown
    assert f"{100 * wanted['all']['hit']['estimate']:.2f} \\[" in shown


def test_a_cell_that_was_trained_anew_is_compared_anew(grid: LiteracyGrid, folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "out", tmp_path / "out")
    known = tmp_path / "out" / grid.name / "exponent-against-default.json"
    told = json.loads(known.read_text("utf-8"))
    del told["config"]["nats"]  # as files were written before they told it
    known.write_text(json.dumps(told), "utf-8")
    lines: list[str] = []
    run_grids([grid], tmp_path / "out", say=lines.append)
    assert lines == []
    told["config"]["nats"] = [[9.0, 9.0], [9.0, 9.0]]
    known.write_text(json.dumps(told), "utf-8")
    run_grids([grid], tmp_path / "out", say=lines.append)
    assert len(lines) == 1 and "unit words" in lines[0]
    assert known.read_bytes() == (folder / "out" / grid.name / known.name).read_bytes()


def test_what_is_there_is_not_made_again(grid: LiteracyGrid, folder: Path) -> None:
    files = {file: file.read_bytes() for file in (folder / "out" / grid.name).glob("*.json")}
    assert len(files) == 2 * (2 + 2) + 1
    lines: list[str] = []
    run_grids([grid], folder / "out", say=lines.append)
    assert lines == [] and all(file.read_bytes() == content for file, content in files.items())
    other = dataclasses.replace(grid, cell=dataclasses.replace(grid.cell, batch=8))
    with pytest.raises(ValueError, match="is there with batch 16 and not 8"):
        run_grids([other], folder / "out", say=lines.append)


def test_a_moved_folder_is_read_where_it_is(grid: LiteracyGrid, folder: Path) -> None:
    for file in (folder / "out" / grid.name).glob("default-rate*.json"):
        figures = json.loads(file.read_text("utf-8"))["figures"]
        assert all("/" not in name for name in figures["predictions"].values())
    assert finals_of(grid, "default", folder / "out")[0]["predictions"]["test"].startswith(str(folder / "out"))


def test_words_that_an_encoder_mends(grid: LiteracyGrid, folder: Path) -> None:
    shown = mended_table(grid, "exponent", folder / "out", most=3)
    assert shown.head == ("sentence", "number", "default", "exponent")
    one, other = (
        WordScores.load(finals_of(grid, name, folder / "out")[0]["predictions"]["test"])
        for name in ("exponent", "default")
    )
    sentences, positions = load_split(grid.cell, "test")
    right = [one.better[i] == 0 and one.equal[i] == 1 and other.better[i] > 0 for i in range(len(positions))]
    gains = sorted((one.nll[i] - other.nll[i], i) for i in range(len(positions)) if right[i])[:3]
    wanted = []
    for _, i in gains:
        text, start, end = sentences[positions.sentence[i]].text, positions.start[i], positions.end[i]
        wanted.append((f"{text[:start]}[{text[start:end]}]{text[end:]}", f"{other.nll[i]:.3f}", f"{one.nll[i]:.3f}"))
    assert [(row[0].text, row[2].text, row[3].text) for row in shown.body] == wanted


def test_figures_are_means_over_seeds(grid: LiteracyGrid, folder: Path) -> None:
    cells = finals_of(grid, "exponent", folder / "out")
    shown = word_table("literacy-table3", grid, folder / "out", "all")
    row = dict(zip(shown.head, next(row for row in shown.body if row[0].text == "exponent"), strict=True))
    for column, key, form in (("nats", "nats", ".4f"), ("PPL e", "ppl", ".2f"), ("PPL", "ppl_2nats", ".2f")):
        mean = sum(cell["results"]["test"]["all"][key] for cell in cells) / 2
        assert row[column].text.startswith(f"{mean:{form}} ± ")


def test_one_that_fails_leaves_the_others_their_table(grid: LiteracyGrid, folder: Path, tmp_path: Path) -> None:
    broken = {"default": encoder_of("default"), "broken": {"recipe": "no-such-recipe"}}
    bad = dataclasses.replace(
        grid, encoders=broken, rates=(1e-3,), seeds=1, cell=dataclasses.replace(grid.cell, epochs=1)
    )
    with pytest.raises(LookupError, match="no-such-recipe"):
        run_grids([bad], tmp_path, say=lambda line: None)
    assert finals_of(bad, "broken", tmp_path) == [] and len(finals_of(bad, "default", tmp_path)) == 1
    text = write_tables("literacy-table3", [bad], tmp_path)[0].read_text("utf-8")
    assert "| broken | – | – |" in text and "| default | **" in text


@pytest.mark.parametrize("table", TABLES)
def test_tables_name_what_there_is(table: str, folder: Path) -> None:
    options: Any = {"data": str(folder / "data"), "models": [str(folder / "bert")]}
    options["plain"] = str(folder / "data" / "plain.jsonl")
    for scale in SCALES:
        for train in ("head", "all"):
            grids = grids_for(table, scale, train=train, **options)
            assert len({grid.name for grid in grids}) == len(grids) >= 2
            assert all(grid.seeds >= (1 if scale == "tiny" else 3) for grid in grids)
            assert all(len(grid.rates) >= (1 if scale == "tiny" else 3) for grid in grids)
    for part in parts_of(table):
        known = load_tables()["encoders"]
        assert all(name.partition(" (")[0] in known for name in paper_of(table, "units", part))


def test_every_encoder_can_be_attached() -> None:
    backbone, tokenizer = new_backbone("bert"), tokenizer_of("bert")
    for name, options in load_tables()["encoders"].items():
        model = attach(backbone, tokenizer, options["recipe"], **options.get("parts", {}))
        wanted = options.get("parts", {}).get("embedder", {})
        has: Any = model.embedder
        assert not wanted or wanted.items() <= has.config.to_dict().items() or "members" in wanted, name
        dataclasses.replace(LiteracyConfig(source="x", model="y"), **options)


@pytest.mark.slow
def test_every_encoder_is_built_and_run(folder: Path) -> None:
    cell = LiteracyConfig(source=str(folder / "data" / "units"), model=str(folder / "bert"), most_train=8)
    for name, options in load_tables()["encoders"].items():
        if name != "spelled":
            task = MaskedWord(dataclasses.replace(cell, **options))
            assert len(task.evaluate(task.build(), "dev").nll) > 20, name


def test_a_model_of_ours_is_taken_by_its_backbone(folder: Path, tmp_path: Path) -> None:
    number_data.write_model(tmp_path / "mlm-4x256" / "backbone")
    grid, other = grids_for(
        "float-table1",
        "tiny",
        data=str(folder / "data"),
        models=[str(tmp_path / "mlm-4x256"), "bert"],
        corpora=["units"],
    )
    assert grid.name == "units-mlm-4x256-head" and grid.cell.model == str(tmp_path / "mlm-4x256" / "backbone")
    assert other.name == "units-bert-head" and other.cell.model == "bert"


def test_all_weights_have_rates_of_their_own(folder: Path) -> None:
    where = {"data": str(folder / "data"), "models": (str(folder / "bert"),), "corpora": ("units",)}
    trained = {}
    for train in ("head", "all"):
        (grid,) = grids_for("literacy-table3", "small", train=train, encoders=("default",), **where)  # type: ignore[arg-type]
        trained[train] = grid.finals("default", grid.rates[0])[0]
    assert (trained["head"].rate, trained["head"].backbone_rate) == (3e-4, None)
    assert (trained["all"].rate, trained["all"].backbone_rate) == (3e-4, 3e-5)


def test_another_choice_of_rates_changes_nothing_else(folder: Path) -> None:
    where = {"data": str(folder / "data"), "models": (str(folder / "bert"),), "corpora": ("units",)}
    for table, encoder in (("literacy-table3", "default"), ("masked-numbers", "default+mog")):
        for train in ("head", "all"):
            one, other = (
                grids_for(table, scale, train=train, encoders=(encoder,), **where)[0]  # type: ignore[arg-type]
                for scale in ("small", "small-by-unit")
            )
            assert one.cell == other.cell and one.rates == other.rates
            assert (one.chosen_by, other.chosen_by) == ("all", "unit")
            assert one.name != other.name and one.setting != other.setting
            assert one.cell.rate == 3e-3 or table != "masked-numbers", "a table's own rate counts"


def test_bad_names() -> None:
    with pytest.raises(LookupError, match="unknown encoder 'exponant': did you mean 'exponent'"):
        encoder_of("exponant")
    with pytest.raises(LookupError, match="unknown head 'mixtur'"):
        encoder_of("num+mixtur")
    cell = LiteracyConfig(source="x", model="y")
    with pytest.raises(ConfigError, match="nothing to compare"):
        LiteracyGrid(encoders={}, cell=cell)
    with pytest.raises(ConfigError, match="recip"):
        LiteracyGrid(encoders={"a": {"recip": "num"}}, cell=cell)
    with pytest.raises(ConfigError, match=r"rate_share must lie in \(0, 1\], got 2"):
        LiteracyGrid(encoders={"default": {}}, rate_share=2.0, cell=cell)


def test_the_command_renders_tables(folder: Path, tmp_path: Path) -> None:
    shared = ["--data", str(folder / "data"), "--model", str(folder / "bert"), "-o", str(tmp_path), "--corpus", "units"]
    encoders = ["--encoder", "default", "--encoder", "exponent"]
    for name in ("literacy-table6", "float-table1", "literacy-table5"):  # of the same cells
        result = CliRunner().invoke(app, ["reproduce", name, *shared, *encoders])
        assert result.exit_code == 0, result.output
    text = (tmp_path / "literacy-table6-units-bert-head.md").read_text("utf-8")
    assert "71.06" in text and "H@1 (paper)" in text and "against default" in text
    assert "default (BERT-large)" in (tmp_path / "float-table1-units-bert-head.md").read_text("utf-8")
    assert "Mended by exponent" in (tmp_path / "literacy-table5-units-bert-head.md").read_text("utf-8")
    # The models come when they are asked for, of cells that are there, too; and words move with a number.
    result = CliRunner().invoke(app, ["reproduce", "literacy-table6", *shared, *encoders, "--save"])
    assert result.exit_code == 0, result.output
    models = [str(tmp_path / "units-bert-head" / "models" / name) for name in ("default", "exponent")]
    filled = fill("The [MASK] weighs 45 kg.", models, swap=["45000"])
    assert [row["model"] for row in filled] == [name for name in models for _ in range(2)]
    assert all(row["moved"] > 0 for row in filled[1::2])
    assert "/" not in json.dumps(
        json.loads((tmp_path / "literacy-table6-units-bert-head.json").read_text("utf-8"))["config"]
    )
    numbers = ["reproduce", "masked-numbers", *shared, "--encoder", "spelled", "--encoder", "num+mog"]
    result = CliRunner().invoke(app, numbers)
    assert result.exit_code == 0, result.output
    text = (tmp_path / "masked-numbers-units-bert-head.md").read_text("utf-8")
    assert "| spelled |" in text and "| unit median |" in text and "| num+mog |" in text
    header, _, *lines = [line for line in text.splitlines() if line.startswith("|")]
    at = [name.strip() for name in header.split("|")].index("of the best baseline")
    ratios = {cells[1].strip(): cells[at].strip() for cells in (line.split("|") for line in lines)}
    baselines = ("median", "unit median", "conversion", "spelled")
    assert min(float(ratios[name].partition(" ")[0].strip("*")) for name in baselines) == 1.0
    assert ratios["num+mog"].count(" to ") == 1  # an interval
    # A repository may not keep all predictions: the table is there all the same, and says what it does not know.
    for file in (tmp_path / "units-bert-head-numbers").glob("num+mog-*.json"):
        for name in json.loads(file.read_text("utf-8"))["figures"]["predictions"].values():
            (file.parent / "predictions" / name).unlink()
    result = CliRunner().invoke(app, numbers)
    assert result.exit_code == 0, result.output
    text = (tmp_path / "masked-numbers-units-bert-head.md").read_text("utf-8")
    assert "the second column does not know them: num+mog." in text and "| num+mog |" in text


def test_figures_come_out_again_of_the_predictions(grid: LiteracyGrid, folder: Path, tmp_path: Path) -> None:
    found = recompute(grid, folder / "out")
    assert len(found) == 2 * 2 + 1 and all(found.values())
    shutil.copytree(folder / "out", tmp_path / "out")
    file = next((tmp_path / "out" / grid.name).glob("exponent-rate*-seed1-epochs2.json"))
    known = json.loads(file.read_text("utf-8"))
    known["figures"]["results"]["plain"]["all"]["nats"] += 1e-6
    file.write_text(json.dumps(known), "utf-8")
    comparison_file = tmp_path / "out" / grid.name / "exponent-against-default.json"
    known = json.loads(comparison_file.read_text("utf-8"))
    known["figures"]["unit"]["nats_change"]["high"] += 1e-6
    comparison_file.write_text(json.dumps(known), "utf-8")
    wrong = [name for name, same in recompute(grid, tmp_path / "out").items() if not same]
    assert wrong == [file.stem, "exponent-against-default"]
    for name in json.loads(file.read_text("utf-8"))["figures"]["predictions"].values():
        (file.parent / "predictions" / name).unlink()
    found = recompute(grid, tmp_path / "out")
    assert found[file.stem] is None and found["exponent-against-default"] is None
    assert [same for name, same in found.items() if name.startswith("default")] == [True, True]
    comparison_file.unlink()
    with pytest.raises(ValueError, match=rf"{file.stem}: what it predicted was not kept; delete"):
        run_grids([grid], tmp_path / "out", say=lambda line: None)
    shutil.rmtree(file.parent / "predictions")
    with pytest.raises(ValueError, match="seed0-epochs2: what it predicted was not kept; delete"):
        mended_table(grid, "exponent", tmp_path / "out")


def test_the_command_computes_again(folder: Path, tmp_path: Path) -> None:
    shared = ["--data", str(folder / "data"), "--model", str(folder / "bert"), "-o", str(tmp_path), "--corpus", "units"]
    shared += ["--encoder", "num+mog"]
    for more, code, says in (
        (["--recompute"], 2, "there are no predictions to compute from"),
        ([], 0, "masked-numbers-units-bert-head.md"),
        (["--recompute"], 0, "num+mog-rate0.001-seed0-epochs1: the same"),
    ):
        result = CliRunner().invoke(app, ["reproduce", "masked-numbers", *shared, *more])
        assert result.exit_code == code and says in result.output, result.output


def test_the_command_says_what_is_missing(folder: Path, tmp_path: Path) -> None:
    for options, words in (
        ([], "needs a masked language model"),
        (["--model", str(folder / "bert")], "needs sentences with numbers"),
        (["--model", "x", "--data", str(tmp_path)], "no such folder"),
        (["--model", "x", "--data", str(folder / "data"), "--train", "tail"], "unknown train 'tail'"),
    ):
        result = CliRunner().invoke(app, ["reproduce", "literacy-table3", "-o", str(tmp_path), *options])
        assert result.exit_code != 0 and words in result.output and "Traceback" not in result.output


@pytest.mark.slow
def test_several_processes_give_the_same(grid: LiteracyGrid, folder: Path, tmp_path: Path) -> None:
    lines: list[str] = []
    run_grids([grid], tmp_path, processes=2, say=lines.append)
    assert len(lines) == 2 * (2 + 2) + 1
    for encoder in grid.encoders:
        one, two = (finals_of(grid, encoder, output) for output in (folder / "out", tmp_path))
        assert [cell["results"] for cell in one] == [cell["results"] for cell in two]
    assert comparison(grid, "exponent", tmp_path) == comparison(grid, "exponent", folder / "out")
