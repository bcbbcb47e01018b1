"""`numerate demo`: every planted slip is found and nothing else, with and without a model."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any

import pytest
from judging_models import judging_model
from rich.console import Console
from typer.testing import CliRunner

import numerate
from numerate.apps import default_model, tour
from numerate.apps.density_lines import density_lines
from numerate.apps.tour import FOR_A_MODEL, GAPS, SLIPS, report_with_slips, run_tour
from numerate.cli.app import app

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def no_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As in a wheel: the environment names no model, and there is no folder `models`."""
    monkeypatch.delenv("NUMERATE_MODEL", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(default_model, "DEFAULT_NAME", "no-such-model")


def test_every_slip_is_found_and_nothing_else(no_model: None, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["demo", "-o", "new/folder"])
    assert done.exit_code == 0, done.output
    said = done.stdout
    assert f"{len(SLIPS)} findings" in said and "\x1b" not in said and len(said.splitlines()) < 60
    assert all(re.search(rf"  error 0\.9\d  {rule}$", said, re.M) for rule in SLIPS)
    assert "needs a model" in said and "numerate demo --train" in said and "numerate play" in said
    page = (tmp_path / "new/folder/report.html").read_text("utf-8")
    assert page.count("<mark") >= len(SLIPS) and (tmp_path / "new/folder" / tour.REPORT).is_file()


def test_slips_are_planted_as_told() -> None:
    """Each finding is about the number that the list names; the slips for a model contradict nothing."""
    text = report_with_slips()
    found = {one.rule: one for one in numerate.check(text)}
    assert {rule: found[rule].written for rule in found} == SLIPS
    assert all(text.count(number) == 1 for number in FOR_A_MODEL)
    repaired = text.replace("8191", "1891").replace("460", "46")
    assert [one.rule for one in numerate.check(repaired)] == [one.rule for one in numerate.check(text)]


def test_with_a_model_gaps_are_filled_and_drawn(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    judging_model().save_pretrained(folder)
    said = io.StringIO()
    outcome = run_tour(Console(file=said, width=100), str(tmp_path / "out"), str(folder))
    assert set(SLIPS) <= {finding.rule for finding in outcome.findings}
    lines = said.getvalue().splitlines()
    assert all(gap in lines for gap in GAPS)
    assert sum(line.startswith("  best: ") for line in lines) == len(GAPS)
    assert "".join(lines).count("├") == len(GAPS) and "needs a model" not in said.getvalue()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(["--model", "nowhere"], "cannot load nowhere"), (["--model", "nowhere", "--train"], "leave out --train")],
)
def test_a_wrong_model_is_one_line(arguments: list[str], says: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["demo", *arguments, "-o", str(tmp_path)])
    assert done.exit_code == 2 and says in done.stderr and len(done.stderr.splitlines()) == 1


def gap(shares: list[float], low: float, high: float, **more: Any) -> dict[str, Any]:
    edges = [10.0 ** (k / 10) for k in range(len(shares) + 1)]
    return {"density": {"edges": edges, "shares": shares}, "interval_90": [low, high], **more}


def test_drawn_bars_are_as_high_as_their_shares() -> None:
    shares = [0.0, 0.25, 0.5, 0.25, 0.0, 0.0]
    *bars, interval, labels = density_lines(gap(shares, 1.3, 3.9), rows=3, columns=1)
    heights = ["".join(bar[at] for bar in bars) for at in range(len(shares))]
    eighths = [sum(" ▁▂▃▄▅▆▇█".index(block) for block in column) for column in heights]
    assert eighths == [0, 12, 24, 12, 0, 0]
    assert interval == " ├───┤" and labels == "1 1.58"


def test_labels_are_distinct_and_years_have_no_commas() -> None:
    edges = [1880.0 + k for k in range(49)]
    years = {"density": {"edges": edges, "shares": [1 / 48] * 48}, "interval_90": [1882, 1926], "kind": "year"}
    assert density_lines(years)[-1].split() == ["1880", "1892", "1904", "1916"]
    # All mass in one bin, and an interval beyond the drawing.
    assert density_lines(gap([0.0, 1.0], 0.001, 1e9), rows=1)[:2] == ["  ██", "├──┤"]
