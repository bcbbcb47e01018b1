"""The run `numerals-2018`: every model at tiny scale, and tables from what was written."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING

import pytest

from numerate_lab.papers.numerals2018 import numeral_models as bench
from numerate_lab.papers.numerals2018 import numeral_report as report
from numerate_lab.tasks.next_numeral.next_numeral import NextNumeral

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> tuple[NextNumeral, Path]:
    folder = tmp_path_factory.mktemp("results") / "clinical"
    task = None
    for name in bench.MODELS:
        config = dataclasses.replace(bench.config_for("clinical", name, "tiny"), most_texts=10)
        task = task or NextNumeral(config)
        bench.run_model(task, config, name, folder, use_cpu=True)
    assert task is not None
    bench.write_corpus(task, folder)
    return task, folder


def test_every_model_has_a_result_that_comes_out_again(results: tuple[NextNumeral, Path]) -> None:
    task, folder = results
    assert bench.recompute(task, bench.MODELS, folder) == dict.fromkeys(bench.MODELS, True)
    written = json.loads((folder / "mog.json").read_text())
    assert written["machine"]["packages"]["torch"] and written["config"]["seed"] == 0
    written["figures"]["perplexity"]["words"]["pp"] *= 1.01
    (folder / "mog.json").write_text(json.dumps(written))
    assert bench.recompute(task, ["mog"], folder) == {"mog": False}


def test_tables(results: tuple[NextNumeral, Path]) -> None:
    files = report.write(results[1].parent)
    assert [file.name for file in files] == ["clinical.md", "index.html"]
    text = files[0].read_text(encoding="utf-8")
    assert "226.46" in text and "507.00\\*" in text, "the paper's figures, the flat ones corrected"
    assert "58,443.72" in text and "Stand-in: made-up cardiac reports" in text
    assert "cut short" in text, "one epoch is not enough to stop early"
    assert text.count("| combination |") == 4 and "always the median" in text
    assert "| digit-rnn |" in text, "Table 4 names the members"
    assert text.count("| copied |") == 2, "and what is copied"


def test_what_is_beyond_the_seven_is_held_against_the_best_of_them(results: tuple[NextNumeral, Path]) -> None:
    def judged(name: str, estimate: str) -> float:
        figures = json.loads((results[1] / f"{name}.json").read_text())["figures"]
        if estimate == "app":
            return figures["perplexity"]["numerals"]["app"]
        return figures["number_line"][estimate]["MdAPE"]["value"]

    table = report.beyond_table(results[1])
    assert table is not None
    there = [name for name in bench.SEVEN if (results[1] / f"{name}.json").is_file()]
    text = next(line for line in table.markdown().splitlines() if line.startswith("| combination-copies |"))
    for estimate, cell in zip(("app", "candidate", "median"), text.split("|")[2:], strict=False):
        ratio = judged("combination-copies", estimate) / min(judged(name, estimate) for name in there)
        assert f"{ratio:.2f}" in cell


def test_names_are_checked() -> None:
    with pytest.raises(ValueError, match="unknown model 'mogg': did you mean 'mog'"):
        bench.config_for("clinical", "mogg")
    with pytest.raises(ValueError, match="give the folder"):
        bench.config_for("scientific", "mog")


@pytest.mark.parametrize("name", bench.MODELS)
def test_full_size_configs_are_whole(name: str) -> None:
    config = bench.config_for("clinical", name, "paper")
    assert config.vocabulary == 1000 and config.epochs >= 16


@pytest.fixture(scope="module")
def some_texts() -> NextNumeral:
    return NextNumeral(dataclasses.replace(bench.config_for("clinical", "mog", "paper"), most_texts=12))


@pytest.mark.parametrize("name", bench.MODELS)
def test_a_real_step_of_every_full_size_model(name: str, some_texts: NextNumeral) -> None:
    # Without warm-up, which makes the first step one of no length.
    config = dataclasses.replace(bench.config_for("clinical", name, "paper"), most_texts=12, batch=4, warmup=0.0)
    model = some_texts.build(config)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    found = some_texts.train(model, config, max_steps=1, use_cpu=True)
    changed = {key for key, value in model.state_dict().items() if not value.equal(before[key])}
    assert found["dev_loss"] > 0 and any(key.startswith("head.") for key in changed)
    assert any(key.startswith("backbone.") for key in changed)


@pytest.mark.parametrize(
    ("schedule", "epochs", "early", "mark"),
    [("constant", 9, True, ""), ("constant", 9, False, "†"), ("cosine", 16, False, ""), ("cosine", 9, False, "†")],
)
def test_only_a_training_that_was_cut_short_has_a_dagger(schedule, epochs, early, mark):
    config = {"schedule": schedule, "epochs": 16}
    result = {"config": config, "figures": {"training": {"epochs": epochs, "stopped_early": early}}}
    assert report._mark(result) == mark
