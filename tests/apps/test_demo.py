"""`numerate demo`: the sample report, and a quick run from end to end."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

import numerate
from numerate.apps.demo import ASKED, COMPARED, TRAINING, WORLD, _sentences, sample_report
from numerate.apps.fill import fill
from numerate.apps.synthetic_facts import UNIT_WORDS
from numerate.apps.with_and_without import SENSE, ComparisonConfig, WithAndWithout, ask_model, train_model
from numerate.cli.app import app

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result


def test_sample_shows_every_kind_of_number() -> None:
    kinds = {numeral.kind for line in sample_report() for numeral in numerate.find(line)}
    assert kinds == set(numerate.KINDS)
    done = CliRunner().invoke(app, ["demo", "--sample"])
    assert done.exit_code == 0, done.output
    assert "Numbers by kind" in done.stdout and "1.5 billion" in done.stdout and "units" in done.stdout
    assert "\x1b[" not in done.stdout, "colours only on a terminal"


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    folder = tmp_path_factory.mktemp("demo") / "new" / "folder"
    return CliRunner().invoke(app, ["demo", "--quick", "--output", str(folder)]), folder


def test_demo_prints_metrics_of_models_and_baselines_without_control_codes(quick: tuple[Result, Path]) -> None:
    done, folder = quick
    assert done.exit_code == 0, done.output
    assert all(name in done.stdout for name in ("median", "unit's median", "number-blind", "number sense"))
    assert re.search(r"log-MAE [^\n]*?\d\.\d{3}[^\n]*?\d\.\d{3}[^\n]*?\d\.\d{3}[^\n]*?\d\.\d{3}", done.stdout)
    assert str(folder / "index.html").replace("\n", "") in done.stdout.replace("\n", "")
    assert all(sentence in done.stdout for sentence in COMPARED)
    assert len(done.stdout.splitlines()) <= 55 and "\x1b" not in done.stdout and "\r" not in done.stdout


def test_demo_page_has_all_plots(quick: tuple[Result, Path]) -> None:
    page = (quick[1] / "index.html").read_text("utf-8")
    assert page.count("data:image/svg+xml") == 4 + 2 * len(ASKED)
    assert "<script" not in page and "number-blind" in page


def test_demo_keeps_the_model_that_it_trained(quick: tuple[Result, Path]) -> None:
    folder = quick[1] / "model"
    assert f"--model {folder}" in quick[0].stdout
    assert fill("The fox weighs 6.5 kg ([NUM] lbs).", str(folder))[0]["gaps"][0]["density"]["shares"]


def test_words_of_comparisons_follow_from_their_numbers_alone() -> None:
    for sentence, word in COMPARED.items():
        first, second = (numeral.value for numeral in numerate.find(sentence))
        assert word == ("heavier" if first > second else "lighter")
    texts = _sentences("train", 300, 0)
    said = [text for text in texts if " than one of " in text]
    for text in said:
        first, second = (numeral.value for numeral in numerate.find(text))
        assert re.search(r" is (heavier|dearer) " if first > second else r" is (lighter|cheaper) ", text), text
    assert len(said) > 80 and len(WORLD["kinds"]) == 3


@pytest.mark.slow
def test_examples_come_out_right() -> None:
    """Conversions and totals within a tenth of the truth, and the words of comparisons."""
    train, test = _sentences("train", 12_000, 0), _sentences("test", 300, 0)
    pair = WithAndWithout(train, test, ComparisonConfig(seed=0, **TRAINING), UNIT_WORDS)
    train_model(pair, SENSE)
    for text, place in ASKED.items():
        seen, gold = ask_model(pair, SENSE, text, place)
        assert float(seen.median()) == pytest.approx(gold, rel=0.1), text
    for sentence, word in COMPARED.items():
        assert fill(sentence, pair.models[SENSE])[0]["words"][0]["word"] == word, sentence


def test_hidden_numbers_follow_from_the_other_numbers() -> None:
    for text, place in ASKED.items():
        values = [numeral.value for numeral in numerate.find(text)]
        expected = values[0] / 0.45359237 if "lbs" in text else values[0] * values[1]
        assert values[place] == pytest.approx(expected, rel=0.001), text
