"""Tables of masked words and masked numbers: grids, stored results, comparisons with `default`, and commands."""

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
from numerate.training.results import OtherSettingsError
from numerate_lab.engine.encodings import encoding_names
from numerate_lab.engine.grid import Grid, against_base, best_rate, finals, recompute, run_grids
from numerate_lab.engine.paper_tables import Options
from numerate_lab.engine.trial import columns_of_split
from numerate_lab.papers.float2024.tables import FloatEmbedding
from numerate_lab.papers.literacy2021.report import (
    base_table,
    best_on_dev,
    corrected_table,
    magnitude_table,
    word_table,
)
from numerate_lab.papers.literacy2021.tables import Literacy
from numerate_lab.tasks.masked_prediction.masked_number import NumberTrial
from numerate_lab.tasks.masked_prediction.masked_word import MaskedWords, WordTrial
from numerate_lab.tasks.masked_prediction.prediction_setup import _ENCODINGS, encoding_fields, load_split
from numerate_lab.tasks.masked_prediction.word_scores import WordScores

if TYPE_CHECKING:
    from pathlib import Path

FIGURES = Literacy().paper_figures


def silent(line: str) -> None:
    """Prints nothing."""


def options_in(folder: Path, **more: Any) -> Options:
    given: dict[str, Any] = {"data": str(folder / "data"), "models": (str(folder / "bert"),), "corpora": ("units",)}
    return Options(**given | {"log": silent} | more)


def grid_in(folder: Path, **more: Any) -> Grid:
    trial = WordTrial(
        source=str(folder / "data" / "units"), model=str(folder / "bert"), epochs=2, batch=16, most_train=16,
        most_eval=6, plain=str(folder / "data" / "plain.jsonl"), shift=1000.0,
    )  # fmt: skip
    encodings = Literacy().encodings("literacy-table3", ("default", "exponent"))
    given: dict[str, Any] = {"rates": (1e-3, 1e-2), "seeds": 2, "rate_share": 0.5, "resamples": 50, "base": "default"}
    given |= {"task": "masked-words", "name": "units-bert-head", "trial": trial, "encodings": encodings}
    return Grid(**given | more)


@pytest.fixture(scope="module")
def folder(prediction_folder: Path) -> Path:
    """Data and model."""
    return prediction_folder


@pytest.fixture(scope="module")
def trained(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Grid, Path]:
    """A grid of two encodings, two rates and two seeds, and the folder of its results."""
    grid, output = grid_in(folder), tmp_path_factory.mktemp("results")
    run_grids([grid], output, log=silent)
    return grid, output


def test_rates_are_chosen_on_dev(trained: tuple[Grid, Path]) -> None:
    grid, output = trained
    nats = {}
    for rate, trial in grid.tries("exponent").items():
        assert (trial.epochs, trial.plain, trial.shift) == (1, None, None)  # type: ignore[attr-defined]
        stored = json.loads((output / grid.name / f"{trial.name}.json").read_text("utf-8"))["figures"]
        assert "test" not in stored
        nats[rate] = stored["dev"]["all"]["nats"]
    assert best_rate(grid, output, "exponent") == min(nats, key=nats.__getitem__)
    assert best_on_dev(grid, output, "unit") == "exponent" and best_on_dev(grid, output / "no", "unit") == ""


def test_results_have_no_paths_and_are_not_made_again(trained: tuple[Grid, Path], folder: Path) -> None:
    grid, output = trained
    files = {file: file.read_bytes() for file in (output / grid.name).glob("*.json")}
    assert len(files) == 2 * (2 + 2) + 1 and not any(str(folder).encode() in content for content in files.values())
    run_grids([grid], output, log=silent)
    assert all(file.read_bytes() == content for file, content in files.items())
    other = dataclasses.replace(grid, trial=dataclasses.replace(grid.trial, batch=8))
    with pytest.raises(OtherSettingsError, match="batch"):
        run_grids([other], output, log=silent)


def test_other_data_or_models_of_the_same_name_are_refused(
    trained: tuple[Grid, Path], folder: Path, tmp_path: Path
) -> None:
    grid, output = trained
    shutil.copytree(folder / "bert", tmp_path / "bert")  # the same model in another place is the same
    moved = dataclasses.replace(grid, trial=dataclasses.replace(grid.trial, model=str(tmp_path / "bert")))
    run_grids([moved], output, log=lambda line: pytest.fail(line) if "seed" in line else None)
    config = json.loads((tmp_path / "bert" / "config.json").read_text("utf-8"))
    (tmp_path / "bert" / "config.json").write_text(json.dumps(config | {"layer_norm_eps": 1e-5}), "utf-8")
    with pytest.raises(OtherSettingsError, match="contents"):
        run_grids([moved], output, log=silent)


def test_comparison_with_the_base(trained: tuple[Grid, Path]) -> None:
    grid, output = trained
    results = {name: [result.columns() for result in finals(grid, output, name)] for name in grid.encodings}
    task = MaskedWords(grid.of("exponent"))
    wanted = task.paired(results["exponent"], results["default"], 50)
    found = against_base(grid, output, "exponent")
    assert found["unit"]["nats_difference"] == wanted["unit"]["nats_difference"] and found["plain"]["count"] > 3
    shown = base_table(grid, output).markdown()
    assert f"{wanted['unit']['nats_difference']['estimate']:+.4f}" in shown and "| default |" not in shown
    assert f"{100 * wanted['all']['hit']['estimate']:.2f} \\[" in shown


def test_table_shows_means_over_seeds_and_edges(trained: tuple[Grid, Path]) -> None:
    grid, output = trained
    results = finals(grid, output, "exponent")
    paper = FIGURES("literacy-table3", "units")["all"]
    shown = word_table("Table 3", grid, output, "all", paper)
    row = dict(zip(shown.head, next(row for row in shown.body if row[0].text == "exponent"), strict=True))
    for column, key, form in (("nats", "nats", ".4f"), ("PPL e", "ppl", ".2f"), ("PPL", "ppl_2nats", ".2f")):
        mean = sum(result.figures["test"]["all"][key] for result in results) / 2
        assert row[column].text.startswith(f"{mean:{form}} ± ")
    assert "66.15" in shown.markdown() and not any("edge" in note for note in shown.notes)
    more = word_table("T", dataclasses.replace(grid, seeds=3), output, "all", {})
    assert "Fewer seeds: default 2, exponent 2." in more.notes
    groups = results[0].figures["test"]
    sizes = magnitude_table(grid, output)
    assert sizes is not None
    assert all(group in sizes.markdown() for group, one in groups.items() if group.startswith("1e") and one["count"])


def test_words_that_an_encoding_corrects(trained: tuple[Grid, Path]) -> None:
    grid, output = trained
    text = corrected_table(grid, output, "units", most=3).read_text("utf-8")
    one, other = (
        WordScores.of(columns_of_split(finals(grid, output, name)[0].columns(), "test")) for name in grid.encodings
    )
    one, other = other, one
    sentences, positions = load_split(grid.trial, "test")
    right = [one.better[i] == 0 and one.equal[i] == 1 and other.better[i] > 0 for i in range(len(positions))]
    gains = sorted((one.nll[i] - other.nll[i], i) for i in range(len(positions)) if right[i])[:3]
    assert "Corrected by exponent" in text
    for _, i in gains:
        sentence, start, end = sentences[positions.sentence[i]].text, positions.start[i], positions.end[i]
        assert f"[{sentence[start:end]}]" in text.replace("\\", "") and f"{one.nll[i]:.3f}" in text


def test_figures_are_recomputed_from_predictions(trained: tuple[Grid, Path], tmp_path: Path) -> None:
    grid, output = trained
    found = recompute(grid, output)
    assert len(found) == 2 * 2 + 1 and all(found.values())
    shutil.copytree(output, tmp_path / "out")
    file = next((tmp_path / "out" / grid.name).glob("exponent-rate*-seed1-epochs2.json"))
    known = json.loads(file.read_text("utf-8"))
    known["figures"]["plain"]["all"]["nats"] += 1e-6
    file.write_text(json.dumps(known), "utf-8")
    assert [name for name, same in recompute(grid, tmp_path / "out").items() if not same] == [file.stem]
    file.with_suffix(".npz").unlink()
    found = recompute(grid, tmp_path / "out")
    assert found[file.stem] is None and found["exponent-against-default"] is None
    next((tmp_path / "out" / grid.name).glob("default-rate*-seed0-epochs2.npz")).unlink()
    with pytest.raises(ValueError, match="seed0-epochs2: its predictions were not kept; delete"):
        corrected_table(grid, tmp_path / "out", "units")


@pytest.mark.parametrize(
    ("paper", "table"), [(paper, table) for paper in (Literacy, FloatEmbedding) for table in paper.tables]
)
def test_tables_name_known_encodings(paper: Any, table: str, folder: Path) -> None:
    made = paper()
    for scale in made.scales:
        more = {"scale": scale, "train": "both", "plain": str(folder / "data" / "plain.jsonl"), "corpora": ()}
        first = made.tables[table]["encodings"][:1]
        grids = made.grids(table, options_in(folder, encoders=tuple(first), **more))
        assert len({(grid.name, grid.choice) for grid in grids}) == len(grids) >= 4
        assert all(min(grid.seeds, len(grid.rates)) >= (1 if scale == "tiny" else 3) for grid in grids)
    assert set(made.encodings(table)) == set(made.tables[table]["encodings"])
    for rows in made.paper_figures(table, "units").values():
        assert all(encoding_fields(name.partition(" (")[0]) for name in rows)


def test_every_encoding_can_be_attached() -> None:
    backbone, tokenizer = new_backbone("bert"), tokenizer_of("bert")
    for name in dict.fromkeys([*_ENCODINGS["encodings"], *encoding_names()]):
        fields = encoding_fields(name)
        model = attach(backbone, tokenizer, fields["recipe"], **fields.get("parts", {}))
        wanted = fields.get("parts", {}).get("embedder", {})
        has: Any = model.embedder
        assert not wanted or wanted.items() <= has.config.to_dict().items() or "members" in wanted, name
        (NumberTrial if "predict" in fields else WordTrial)(source="x", model="y", **fields)


@pytest.mark.slow
def test_every_encoding_is_built_and_run(folder: Path) -> None:
    trial = grid_in(folder).trial
    for name, fields in _ENCODINGS["encodings"].items():
        if name != "spelled":
            task = MaskedWords(dataclasses.replace(trial, most_train=8, **fields))
            assert len(task.scores(task.build(), "dev").nll) > 20, name


def test_settings_of_scales_and_training(folder: Path) -> None:
    trials: dict[str, Any] = {}
    for train in ("head", "all"):
        one, other = (
            Literacy().grids("literacy-table3", options_in(folder, scale=scale, train=train, encoders=("default",)))[0]
            for scale in ("small", "small-by-unit")
        )
        trials[train] = one.finals("default", one.rates[0])[0]
        assert dataclasses.replace(other.trial, chosen_by="all") == one.trial and one.rates == other.rates
        assert (one.name, other.name) == (f"units-bert-{train}", f"units-bert-{train}-by-unit")
    assert (trials["head"].rate, trials["head"].backbone_rate) == (3e-4, None)
    assert (trials["all"].rate, trials["all"].backbone_rate) == (3e-4, 3e-5)
    (numbers,) = Literacy().grids("masked-numbers", options_in(folder, scale="small", encoders=("default+mog",)))
    assert numbers.trial.rate == 3e-3 and numbers.name == "units-bert-head-numbers"


def test_models_and_corpora_are_folders_files_or_hub_names(folder: Path, tmp_path: Path) -> None:
    number_data.write_model(tmp_path / "mlm-4x256" / "backbone")
    (grid,) = FloatEmbedding().grids("float-table1", options_in(folder, models=(str(tmp_path / "mlm-4x256"),)))
    assert grid.name == "units-mlm-4x256-head" and grid.trial.model.endswith("backbone")  # type: ignore[attr-defined]
    file = tmp_path / "Wiki-Convert.jsonl"
    file.write_text("", "utf-8")
    for corpus, name in ((str(file), "Wiki-Convert"), ("usc-isi/WikiConvert", "WikiConvert")):
        (grid,) = Literacy().grids("literacy-table3", options_in(folder, data=None, corpora=(corpus,)))
        assert grid.name == f"{name}-bert-head"
        assert FIGURES("literacy-table3", grid.trial.source)["all"]["exponent"][1] == 66.15  # type: ignore[attr-defined]
    assert FIGURES("literacy-table3", "numeracy_600k.json")["all"]["exponent"][1] == 60.03
    assert FIGURES("literacy-table3", "reports") == {}
    twice = (str(folder / "bert"), str(tmp_path / "bert"))
    for more, message in (
        ({"corpora": ("unitz",)}, r"unitz: no such folder; .* has "),
        ({"corpora": ("nowhere",), "data": None}, "nowhere: no such folder; give --data"),
        ({"models": twice}, "two models or corpora have the same folder 'units-bert-head'"),
        ({"encoders": ("spelled",)}, "encoding 'spelled' predicts numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            Literacy().grids("literacy-table3", options_in(folder, **more))


def group(change: float, high: float, difference: float = 0.0) -> dict[str, Any]:
    share = {"estimate": change, "low": 2 * change - high, "high": high}
    test = {"estimate": difference, "low": difference - 0.001, "high": difference + 0.001}
    p = {"p": 0.5}
    return {
        "count": 9, "ratio": 1 + change, "nats_change": share, "nats_difference": test,
        "hit": {"estimate": 0.5, "low": 0.4, "high": 0.6}, "t_test": p, "binomial": p, "mcnemar": p,
    }  # fmt: skip


CHANGES = {
    "far": (group(-0.1, -0.085), 0.004, -0.01),
    "wide": (group(-0.1, -0.01), 0.0, 0.0),
    "chance": (group(-0.1, 0.01), 0.0, 0.0),
    "middle": (group(-0.06, -0.055), 0.0, 0.0),
    "words": (group(-0.1, -0.09), 0.006, 0.0),
    "texts": (group(-0.1, -0.09), 0.0, 0.006),
}


@pytest.mark.parametrize(
    ("train", "met", "sure"), [("head", "far, wide", "far"), ("all", "far, wide, middle", "far, middle")]
)
def test_encodings_that_reach_the_aim(train: Any, met: str, sure: str, folder: Path, tmp_path: Path) -> None:
    encodings: dict[str, dict[str, Any]] = {"default": {}, **{name: {} for name in CHANGES}, "unknown": {}}
    grid = grid_in(folder, encodings=encodings, rates=(1e-3,))
    grid = dataclasses.replace(grid, trial=dataclasses.replace(grid.trial, train=train))
    (tmp_path / grid.name).mkdir()
    for name, (unit, words, texts) in CHANGES.items():
        unit |= {"meaning_change": {"estimate": -0.25, "low": -0.3, "high": -0.2}} if name == "far" else {}
        figures = {"unit": unit, "all": group(0.0, 0.1, words), "plain": group(0.0, 0.1, texts)}
        file = tmp_path / grid.name / f"{name}-against-default.json"
        file.write_text(json.dumps({"config": {}, "figures": figures, "machine": {}}), "utf-8")
    shown = base_table(grid, tmp_path)
    aim = "-8" if train == "head" else "-5"
    note = next(line for line in shown.notes if line.startswith(f"Aim: unit words {aim} %"))
    assert f"Met by: {met}." in note and note.endswith(f"beyond {aim} %: {sure}.")
    row = dict(zip(shown.head, next(row for row in shown.body if row[0].text == "far"), strict=True))
    assert row["unit, %"].text == "-10.00 [-11.50, -8.50]" and row["all, nats"].text.startswith("+0.0040 [")
    assert row["unit meant, %"].text == "-25.00 [-30.00, -20.00]"
    assert not any("on dev" in line for line in shown.notes), "no rates were tried"


def command(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["reproduce", *words])
    return result.exit_code, " ".join(result.output.split())


def test_the_command_renders_tables(folder: Path, tmp_path: Path) -> None:
    shared = ["--data", str(folder / "data"), "--model", str(folder / "bert"), "-o", str(tmp_path), "--corpus", "units"]
    encodings = ["--encoder", "default", "--encoder", "exponent"]
    for name, more in (
        ("literacy-table6", ["--save"]),
        ("float-table1", []),
        ("literacy-table5", []),
    ):  # the same trials
        code, output = command(name, *shared, *encodings, *more)
        assert code == 0, output
    text = (tmp_path / "literacy-table6-units-bert-head.md").read_text("utf-8")
    assert "71.06" in text and "H@1 (paper)" in text and "against default" in text
    assert "default (BERT-large)" in (tmp_path / "float-table1-units-bert-head.md").read_text("utf-8")
    assert "Corrected by exponent" in (tmp_path / "literacy-table5-units-bert-head.md").read_text("utf-8")
    models = [str(tmp_path / "units-bert-head" / "models" / name) for name in ("default", "exponent")]
    filled = fill("The [MASK] weighs 45 kg.", models, swap=["45000"])
    assert [row["model"] for row in filled] == [name for name in models for _ in range(2)]
    assert all(row["moved"] > 0 for row in filled[1::2])
    config = json.loads((tmp_path / "literacy-table6-units-bert-head.json").read_text("utf-8"))["config"]
    assert str(folder) not in json.dumps(config)


@pytest.mark.slow
def test_the_command_of_masked_numbers(folder: Path, tmp_path: Path) -> None:
    shared = ["--data", str(folder / "data"), "--model", str(folder / "bert"), "-o", str(tmp_path), "--corpus", "units"]
    numbers = ["masked-numbers", *shared, "--encoder", "default+mog", "--encoder", "num+mog"]
    assert command(*numbers, "--recompute")[0] == 2
    code, output = command(*numbers)
    assert code == 0, output
    file = tmp_path / "masked-numbers-units-bert-head.md"
    header, _, *lines = [line for line in file.read_text("utf-8").splitlines() if line.startswith("|")]
    column = header.split("|").index(" of the best baseline ")
    ratios = {line.split("|")[1].strip(): line.split("|")[column].strip() for line in lines}
    assert set(ratios) == {"default+mog", "num+mog", "median", "unit median", "conversion"}
    baselines = [name for name in ratios if name != "num+mog"]
    assert min(float(ratios[name].partition(" ")[0].strip("*")) for name in baselines) == 1.0
    assert ratios["num+mog"].count(" to ") == 1, "an interval"
    code, output = command(*numbers, "--recompute")
    assert code == 0 and "num+mog-rate0.001-seed0-epochs1: same" in output, output
    # A repository may not keep all predictions; the table is still written.
    next((tmp_path / "units-bert-head-numbers").glob("num+mog-*.npz")).unlink()
    assert command(*numbers)[0] == 0
    text = file.read_text("utf-8")
    assert "missing in the second column: num+mog." in text and "| num+mog |" in text


def test_errors_of_the_command_have_one_line(folder: Path, tmp_path: Path) -> None:
    data, model = ["--data", str(folder / "data"), "--corpus", "units"], ["--model", str(folder / "bert")]
    for table, options, words in (
        ("literacy-table3", [], "needs a masked language model"),
        ("literacy-table3", model, "needs sentences with numbers"),
        ("literacy-table3", [*model, *data, "--train", "tail"], "unknown train 'tail'"),
        ("literacy-table3", [*data, "--model", "/nowhere/bert"], "/nowhere/bert: no such folder"),
        ("literacy-table4", [*data, *model], "literacy-table4 needs texts without numbers"),
        ("literacy-table5", [*data, *model, "--encoder", "exponent"], "add --encoder default"),
        ("masked-numbers", [*data, *model, "--encoder", "default"], "default+mixture"),
        ("literacy-table3", [*data, *model, "--seeds", "0"], "seeds must be at least 1, got 0"),
    ):
        code, output = command(table, "-o", str(tmp_path), *options)
        assert code == 2 and words in output and "Traceback" not in output, output
    with pytest.raises(ConfigError, match="a try of a rate takes all 2 epochs"):
        grid_in(folder, rate_share=1.0)


@pytest.mark.slow
def test_compare_with_any_encoding(folder: Path, tmp_path: Path) -> None:
    places = ["--option", f"model={folder / 'bert'}", "--option", f"source={folder / 'data' / 'units'}"]
    size = ["--scale", "tiny", "--rates", "1e-3", "--seeds", "1", "-o", str(tmp_path)]
    for task, encodings in (("masked-words", "default,p10,bits"), ("masked-numbers", "exponent,xval")):
        words = ["compare", "--task", task, "--encodings", encodings, *places, *size]
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, result.output
        text = next(tmp_path.glob(f"{task}/*.md")).read_text("utf-8")
        assert all(name in text for name in encodings.split(",")), text
