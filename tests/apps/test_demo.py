from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

import numerate
from numerate.apps.demo import ASKED, sample_report
from numerate.cli.app import app

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result


def test_the_sample_shows_every_kind() -> None:
    kinds = {numeral.kind for line in sample_report() for numeral in numerate.find(line)}
    assert kinds == set(numerate.KINDS)


def test_sample_shows_report_table_and_summary() -> None:
    done = CliRunner().invoke(app, ["demo", "--sample"])
    assert done.exit_code == 0, done.output
    assert "Numbers by kind" in done.stdout and "1.5 billion" in done.stdout and "units" in done.stdout


def test_sample_in_colour() -> None:
    shown = CliRunner().invoke(app, ["demo", "--sample"], env={"FORCE_COLOR": "1"}).stdout
    assert shown and "\x1b[" not in shown, "colours only on a terminal"


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    folder = tmp_path_factory.mktemp("demo") / "new" / "folder"
    return CliRunner().invoke(app, ["demo", "--quick", "--output", str(folder)]), folder


def test_demo_compares_both_twins_and_the_baselines(quick: tuple[Result, Path]) -> None:
    done, folder = quick
    assert done.exit_code == 0, done.output
    assert all(name in done.stdout for name in ("median", "unit's median", "number-blind", "number sense"))
    assert re.search(r"log-MAE [^\n]*?\d\.\d{3}[^\n]*?\d\.\d{3}[^\n]*?\d\.\d{3}[^\n]*?\d\.\d{3}", done.stdout)
    assert str(folder / "index.html").replace("\n", "") in done.stdout.replace("\n", "")
    assert len(done.stdout.splitlines()) <= 45


def test_demo_draws_its_plots(quick: tuple[Result, Path]) -> None:
    page = (quick[1] / "index.html").read_text("utf-8")
    assert page.count("data:image/svg+xml") == 4 + 2 * len(ASKED)
    assert "<script" not in page and "number-blind" in page


@pytest.mark.parametrize(("text", "place"), ASKED.items())
def test_the_hidden_numbers_follow_from_the_others(text: str, place: int) -> None:
    values = [numeral.value for numeral in numerate.find(text)]
    expected = values[0] / 0.45359237 if "lbs" in text else values[0] * values[1]
    assert values[place] == pytest.approx(expected, rel=0.001)
