"""Result files: written whole, and not taken for others."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from numerate.cli.app import app
from numerate.training.results import OtherSettingsError, differences, is_there, read_figures, write
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


def test_a_result_says_how_it_was_made(tmp_path: Path) -> None:
    file = tmp_path / "below" / "one.json"
    assert not is_there(file, {"width": 3}) and differences(file, {"width": 3}) is None
    write(file, config={"width": 3, "sizes": (1, 2), "json": "out.json"}, figures={"r2": 0.5})
    assert read_figures(file) == {"r2": 0.5} and not list(tmp_path.rglob("*.part"))
    assert is_there(file, {"width": 3, "sizes": (1, 2)})  # JSON has no tuples
    assert is_there(file, {"width": 3, "younger": True})  # what was not told had no other value
    with pytest.raises(OtherSettingsError, match=r"one\.json is there with width 3 and not 4: give another folder"):
        is_there(file, {"width": 4})
    assert is_there(file, {"width": 4}, apart=("width",))


def test_a_comparison_does_not_take_cells_of_another(tmp_path: Path) -> None:
    config = CompareConfig(encodings=("xval",), rates=(1e-3,), seeds=1, cell=CELL)
    compare(config, tmp_path, say=lambda line: None)
    other = CompareConfig(encodings=("xval",), rates=(1e-3,), seeds=1, cell=dataclasses.replace(CELL, width=8))
    with pytest.raises(OtherSettingsError, match="width 16 and not 8"):
        compare(other, tmp_path, say=lambda line: None)
    command = ["compare", "--task", "add-6", "--encodings", "xval", "--rates", "1e-3", "--seeds", "1", "-o"]
    said = CliRunner().invoke(app, [*command, str(tmp_path), "--scale", "tiny", "--amount", "120"])
    assert said.exit_code == 2 and "give another folder, or delete it" in said.output
