"""The run `numerals-2018`: every model at tiny scale, tables from stored results, and the command."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from numerate.cli.app import app
from numerate_lab.engine.grid import read_results, recompute, run_grids
from numerate_lab.engine.paper_tables import Options, reproduce
from numerate_lab.engine.trial import columns_of_split
from numerate_lab.papers.numerals2018 import tables
from numerate_lab.papers.numerals2018.heads_table import COPIES, NumeralHeads, head_encodings, numeral_nats
from numerate_lab.papers.numerals2018.tables import _RUN, SEVEN, grid_for
from numerate_lab.tasks.next_numeral.next_numeral import NextNumeral

if TYPE_CHECKING:
    from pathlib import Path

    from numerate_lab.engine.grid import Grid

MODELS = ("softmax", "d-rnn", "mog", "combination", "combination-copies", "transformer-copies")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> tuple[Grid, Path]:
    """Some models trained on ten texts."""
    output = tmp_path_factory.mktemp("results")
    grid = grid_for("clinical", MODELS, "tiny", most_texts=10)
    run_grids([grid], output, log=lambda line: None)
    return grid, output


def test_figures_are_recomputed_from_predictions(results: tuple[Grid, Path]) -> None:
    grid, output = results
    assert recompute(grid, output) == dict.fromkeys(MODELS, True)
    file = output / "clinical" / "mog.json"
    known = file.read_text()
    written = json.loads(known)
    assert written["machine"]["packages"]["torch"] and written["config"]["seed"] == 0
    written["figures"]["perplexity"]["words"]["pp"] *= 1.01
    file.write_text(json.dumps(written))
    assert [name for name, same in recompute(grid, output).items() if not same] == ["mog"]
    file.write_text(known)


def test_tables(results: tuple[Grid, Path]) -> None:
    _, output = results
    files = tables.write_tables(output)
    assert [file.name for file in files] == ["clinical.md", "index.html"]
    text = files[0].read_text(encoding="utf-8")
    assert text.startswith("# Numerals 2018, clinical\n\n**Corpus, clinical**")
    assert "226.46" in text and "507.00\\*" in text, "figures of the paper, those of flat models corrected"
    assert "58,443.72" in text and "Stand-in: synthetic cardiac reports" in text
    assert "cut short" in text, "one epoch is too short for early stopping"
    assert text.count("| combination |") == 4 and "always the median" in text
    assert "| digit-rnn |" in text, "members of Table 4"
    assert text.count("| copied |") == 2


def test_other_models_relative_to_the_best_of_seven(results: tuple[Grid, Path]) -> None:
    folder = results[1] / "clinical"

    def figure(name: str, estimate: str) -> float:
        figures = json.loads((folder / f"{name}.json").read_text())["figures"]
        if estimate == "app":
            return figures["perplexity"]["numerals"]["app"]
        return figures["number_line"][estimate]["MdAPE"]["value"]

    table = tables.beyond_table(folder)
    assert table is not None
    text = next(line for line in table.markdown().splitlines() if line.startswith("| combination-copies |"))
    for estimate, cell in zip(("app", "candidate", "median"), text.split("|")[2:], strict=False):
        ratio = figure("combination-copies", estimate) / min(
            figure(name, estimate) for name in MODELS if name in tables.SEVEN
        )
        assert f"{ratio:.2f}" in cell


def test_names_and_settings() -> None:
    for arguments, message in (
        (("clinical", ["mogg"]), "unknown model 'mogg': did you mean 'mog'"),
        (("scientific", ["mog"]), "give --data"),
        (("clinical", ["mog"], "huge"), "unknown scale 'huge'"),
    ):
        with pytest.raises(ValueError, match=message):
            grid_for(*arguments)  # type: ignore[arg-type]
    full, tiny = grid_for("clinical"), grid_for("clinical", (), "tiny", most_texts=10)
    assert len(full.encodings) == len(_RUN["models"]) == 13
    for name in full.encodings:
        trial: Any = full.of(name)
        assert trial.vocabulary == 1000 and trial.epochs >= 16, name
        assert NextNumeral(tiny.of(name)).build().head is not None, name


@pytest.mark.slow
def test_one_transformer_under_every_head(tmp_path: Path) -> None:
    rows = ["softmax", "mog", "mog+copies"]
    options = Options(output=str(tmp_path), models=tuple(rows), log=lambda line: None)
    reproduce("numerals-heads", options)
    text = (tmp_path / "numerals-heads-clinical.md").read_text(encoding="utf-8")
    grid = NumeralHeads().grids("numerals-heads", options)[0]
    results = read_results(grid, tmp_path)
    assert list(results) == rows and recompute(grid, tmp_path) == {f"{name}": True for name in rows}
    nats = {}
    for name, (run,) in results.items():
        nats[name] = numeral_nats(columns_of_split(run.columns(), "test")).mean()
        app = run.figures["perplexity"]["numerals"]["app"]
        assert math.exp(nats[name]) == pytest.approx(app, rel=1e-4), name
        assert f"| {name} | " in text and f"{app:.2f}" in text
    assert f"| {math.exp(nats['mog+copies'] - nats['mog']):.3f} (" in text
    assert f"| {math.exp(nats['mog'] - nats['softmax']):.3f} (" in text


def test_heads_differ_in_nothing_else() -> None:
    every = NumeralHeads().grids("numerals-heads", Options(scale="small"))[0]
    assert len(every.encodings) == 14 and every.rate_share == 0.5 and len(every.rates) == 3
    assert {name for name in every.encodings if "+" not in name} == {*SEVEN, "combination-mixture"}
    plain = dataclasses.replace(every.of("mog"), encoding="", head={})
    for name in every.encodings:
        trial: Any = every.of(name)
        assert trial.backbone == "transformer", name
        assert dataclasses.replace(trial, encoding="", head={}) == plain, name
        assert (trial.head.get("copies", False)) == name.endswith(COPIES), name
    for models, message in ((("mogg",), "did you mean 'mog'"), (("softmax+copies",), "unknown head")):
        with pytest.raises(ValueError, match=message):
            head_encodings(models)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["softmax-rnn", "combination-mixture", "transformer-copies"])
def test_one_training_step_at_full_size(name: str) -> None:
    # Without warm-up, whose first step has a rate of zero.
    trial = grid_for("clinical", [name]).of(name)
    task = NextNumeral(dataclasses.replace(trial, most_texts=12, batch=4, warmup=0.0))
    model = task.build()
    before = {key: value.clone() for key, value in model.state_dict().items()}
    found = task.train(model, max_steps=1, use_cpu=True)
    changed = {key for key, value in model.state_dict().items() if not value.equal(before[key])}
    assert found["dev_loss"] > 0 and any(key.startswith("head.") for key in changed)
    assert any(key.startswith("backbone.") for key in changed)


def test_training_that_was_cut_short_has_a_dagger() -> None:
    for schedule, epochs, early, mark in (
        ("constant", 9, True, ""), ("constant", 9, False, "†"), ("cosine", 16, False, ""), ("cosine", 9, False, "†")
    ):  # fmt: skip
        config = {"schedule": schedule, "epochs": 16}
        result = {"config": config, "figures": {"training": {"epochs": epochs, "stopped_early": early}}}
        assert tables._mark(result) == mark


def test_the_command(tmp_path: Path) -> None:
    def run(*words: str) -> tuple[int, str]:
        result = CliRunner().invoke(app, ["reproduce", "numerals-2018", "-o", str(tmp_path), *words])
        return result.exit_code, " ".join(result.output.split())

    code, output = run("--model", "d-rnn", "--model", "mog", "--save")
    assert code == 0, output
    assert (tmp_path / "clinical" / "models" / "mog" / "number_model.safetensors").is_file()
    assert {file.stem for file in (tmp_path / "clinical" / "figures").iterdir()} == {
        *("digits-cosine", "first-digits", "reliability-mog", "pit-mog"),
        *(f"number-line-{name}" for name in ("d-rnn", "mog")),
    }
    code, output = run("--recompute")
    assert code == 0 and "mog: same" in output, output
    for words, message in (
        (["--model", "mog", "--scale", "small"], "batch"),
        (["--scale", "huge"], "unknown scale 'huge'"),
        (["--corpus", "scientific", "--data", str(tmp_path / "no")], "no such file or folder"),
    ):
        code, output = run(*words)
        assert code == 2 and message in output, output


@pytest.mark.slow
def test_compare(tmp_path: Path) -> None:
    words = ["compare", "--task", "next-numeral", "--encodings", "mog,float", "--scale", "tiny", "--rates", "1e-3,3e-3"]
    words += ["--option", "most_texts=8", "--rate-share", "0.25", "--seeds", "1", "-o", str(tmp_path)]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert "numeral APP" in next(tmp_path.glob("next-numeral/*.md")).read_text("utf-8")
