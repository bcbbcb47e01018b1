from __future__ import annotations

from typer.testing import CliRunner

import numerate
from numerate.cli import app
from numerate.commands.demo import sample_report


def test_the_sample_shows_every_kind() -> None:
    kinds = {numeral.kind for line in sample_report() for numeral in numerate.find(line)}
    assert kinds == set(numerate.KINDS)


def test_demo_shows_report_table_and_summary() -> None:
    done = CliRunner().invoke(app, ["demo"])
    assert done.exit_code == 0, done.output
    assert "Numbers by kind" in done.stdout and "1.5 billion" in done.stdout and "units" in done.stdout


def test_demo_in_colour() -> None:
    assert "\x1b[" in CliRunner().invoke(app, ["demo"], env={"FORCE_COLOR": "1"}).stdout
