"""The default model of `check` and `fill`: used by itself where there is one, and one line where there is none."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

import pytest
from judging_models import facts, judging_model
from typer.testing import CliRunner

import numerate
from numerate.apps import check_models, default_model
from numerate.apps.calibrating import calibrate
from numerate.cli.app import app
from numerate.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path

WRONG = "A cat weighs about 41 kg, the company said."
RIGHT = "It cost $20 on Monday."


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone that has `models/numerate-mini`."""
    root = tmp_path_factory.mktemp("clone")
    model = judging_model()
    calibrate(model, facts(300, seed=5))
    model.save_pretrained(root / "models" / "numerate-mini", bits=8)
    return root


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory outside of any clone."""
    monkeypatch.delenv("NUMERATE_MODEL")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(default_model, "__file__", str(tmp_path / "a" / "b" / "c" / "d.py"))
    monkeypatch.setattr(check_models, "_said", set())
    (tmp_path / "report.txt").write_text(f"{WRONG}\n\n{RIGHT}\n")
    return tmp_path


def run(*arguments: str) -> tuple[int, list[tuple[str, str]], str]:
    done = CliRunner().invoke(app, ["check", "report.txt", "--json", *arguments])
    found = json.loads(done.stdout)["findings"] if done.stdout else []
    return done.exit_code, [(each["rule"], each["written"]) for each in found], done.stderr


def test_the_model_of_the_clone_or_of_the_environment_is_used(
    here: Path, model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = (1, [("plausible-slip", "41")], "")
    monkeypatch.setenv("NUMERATE_MODEL", str(model_folder / "models" / "numerate-mini"))
    assert run() == expected
    monkeypatch.delenv("NUMERATE_MODEL")
    monkeypatch.chdir(model_folder)
    (model_folder / "report.txt").write_text((here / "report.txt").read_text())
    assert run() == expected and run("--no-model") == (0, [], "")
    assert run("--processes", "2") == expected
    (found,) = numerate.check(f"{WRONG} {RIGHT}")
    assert (found.rule, found.written, found.meant) == ("plausible-slip", "41", "4.1")
    assert found.evidence["value"] == 41 and found.evidence["expected"] == pytest.approx(4.1)
    assert sum(found.evidence["density"]["shares"]) == pytest.approx(0.99, abs=0.01)
    assert numerate.check(WRONG, model=False) == []
    assert numerate.fill("It cost $[NUM] on Monday.")[0]["gaps"][0]["median"] == pytest.approx(20, rel=0.3)
    monkeypatch.setenv("NUMERATE_MODEL", "none")
    assert numerate.check(WRONG) == []
    page = here / "page.html"
    monkeypatch.delenv("NUMERATE_MODEL")
    assert run("--html", str(page))[0] == 1 and '<path class="area"' in page.read_text("utf-8")


def test_without_a_model_one_line_says_so(here: Path, caplog: pytest.LogCaptureFixture) -> None:
    code, found, said = run()
    assert (code, found) == (0, []) and len(said.splitlines()) == 1
    assert "only consistency and the distributions of the file's own columns are checked" in said
    assert "--model FOLDER" in said and "NUMERATE_MODEL" in said
    assert run("--no-model")[2] == ""
    with caplog.at_level(logging.WARNING, "numerate"):
        numerate.check(WRONG)
        numerate.check(WRONG)
    assert len(caplog.messages) == 1 and "model=FOLDER" in caplog.messages[0]
    with pytest.raises(BadInput, match="no model is given"):
        numerate.fill("It is [NUM] km.")


def test_models_that_are_none_are_one_line(here: Path, model_folder: Path) -> None:
    code, _, said = run("--model", str(here))
    assert code == 2 and len(said.splitlines()) == 1 and str(here) in said
    with pytest.raises(BadInput, match=r"check\(model=\.\.\.\) takes .* got int"):
        numerate.check(WRONG, model=5)
    (found,) = numerate.check(WRONG, model=judging_model(), false_alarms=0.02)
    assert found.written == "41"
    assert numerate.check(WRONG, model=model_folder / "models" / "numerate-mini")[0].written == "41"


def test_a_variable_that_names_a_folder_that_is_not_there(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMERATE_MODEL", str(here / "mini"))
    code, _, said = run()
    assert code == 2 and len(said.splitlines()) == 1 and "NUMERATE_MODEL" in said and "mini" in said
    with pytest.raises(BadInput, match=r"NUMERATE_MODEL names .* which is no folder"):
        numerate.check(WRONG)
