"""Result files: written atomically, and refused for other settings."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from numerate.cli.app import app
from numerate.training.results import OtherSettingsError, Result, differences
from numerate_lab.engine.grid import CompareConfig, compare
from numerate_lab.engine.trial import CellConfig

if TYPE_CHECKING:
    from pathlib import Path

CELL = CellConfig(
    task="add-6",
    encoding="xval",
    examples=60,
    amount=120,
    batch=20,
    width=16,
    layers=1,
    heads=2,
    dev=20,
    test=30,
    looks=1,
)


def test_a_result_with_other_settings_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "below" / "one.json"
    assert not Result.exists_with(file, {"width": 3}) and differences(file, {"width": 3}) is None
    written = Result({"width": 3, "sizes": (1, 2), "json": "out.json"}, {"r2": 0.5})
    written.write(file)
    found = Result.read(file)
    assert found.figures == {"r2": 0.5} and found.machine == written.machine and not list(tmp_path.rglob("*.part"))
    assert found.config == {"width": 3, "sizes": [1, 2]}, "without the path of the file itself"
    assert Result.exists_with(file, {"width": 3, "sizes": (1, 2)}), "JSON has no tuples"
    assert Result.exists_with(file, {"width": 3, "new": True}), "an unknown setting was added later"
    said = r"^one\.json exists with width=3 \(requested 4\): choose another --output or delete it$"
    with pytest.raises(OtherSettingsError, match=said):
        Result.exists_with(file, {"width": 4})
    assert Result.exists_with(file, {"width": 4}, ignore=("width",))


def test_a_comparison_refuses_results_of_another(tmp_path: Path) -> None:
    config = CompareConfig(encodings=("xval",), rates=(1e-3,), seeds=1, cell=CELL)
    compare(config, tmp_path, say=lambda line: None)
    other = CompareConfig(encodings=("xval",), rates=(1e-3,), seeds=1, cell=dataclasses.replace(CELL, width=8))
    with pytest.raises(OtherSettingsError, match=r"width=16 \(requested 8\)"):
        compare(other, tmp_path, say=lambda line: None)
    command = ["compare", "--task", "add-6", "--encodings", "xval", "--rates", "1e-3", "--seeds", "1", "-o"]
    said = CliRunner().invoke(app, [*command, str(tmp_path), "--scale", "tiny", "--amount", "120"])
    assert said.exit_code == 2 and "choose another --output or delete it" in said.output
