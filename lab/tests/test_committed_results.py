"""The results of the repository are small, complete, and come out again from their stored predictions."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from numerate.cli.app import app
from numerate_lab.engine.packed import read_packed, recompute_packed
from numerate_lab.registry import tasks

RESULTS = Path(__file__).parents[2] / "results"
PACKED = sorted(file for file in RESULTS.glob("*.json") if "trials" in json.loads(file.read_text("utf-8")))
HEADLINES = ("exact-add-6", "four-operands", "residues-multiply-3", "xval-table5", "six-digit-differences")
MAX_BLOCKS = 1250
"""Of 4 KiB, as a disk stores files: 5,000 KiB."""


def test_results_are_small_and_readable() -> None:
    files = [file for file in RESULTS.rglob("*") if file.is_file()]
    assert sum(-(-file.stat().st_size // 4096) for file in files) <= MAX_BLOCKS
    assert {file.suffix for file in files} <= {".md", ".json", ".npz"}
    kinds = {tasks[name].Trial.kind: tasks[name].Trial for name in tasks.names()}
    for file in PACKED:
        whole = read_packed(file)
        assert whole["command"] and whole["machine"]["commit"] and whole["trials"], file.name
        for trial in whole["trials"].values():
            kinds[trial["config"]["kind"]].from_dict(trial["config"])


def test_the_index_links_to_every_table_and_nothing_else() -> None:
    index = (RESULTS / "README.md").read_text("utf-8")
    linked = set(re.findall(r"\]\(([\w.-]+)\)", index))
    files = {file.name for file in RESULTS.iterdir()} - {"README.md"}
    beside = {file.name for file in PACKED if f"({file.stem}.md)" in index}  # the table has the link
    beside |= {f"{file.stem}.npz" for file in PACKED}
    assert linked <= files and files - linked <= beside
    for file in PACKED:
        assert f"| {len(json.loads(file.read_text('utf-8'))['trials'])} |" in _row(index, file.stem), file.name


def _row(index: str, name: str) -> str:
    return next(line for line in index.splitlines() if line.startswith(f"| [{name}]("))


@pytest.mark.parametrize("name", HEADLINES)
def test_figures_come_out_again(name: str) -> None:
    found = recompute_packed(RESULTS / f"{name}.json")
    assert found and all(found.values()), found


@pytest.mark.slow
@pytest.mark.shared("data/temperature")
def test_temperature_figures_come_out_again(shared: Path) -> None:
    source = str(next((shared / "data" / "temperature").glob("era5_italy*.npz")))
    options = read_packed(RESULTS / "xval-table4.json")["shared"]["task_options"] | {"source": source}
    found = recompute_packed(RESULTS / "xval-table4.json", task_options=options)
    assert len(found) == 9 and all(found.values()), found


def test_the_command() -> None:
    done = CliRunner().invoke(app, ["recompute", str(RESULTS / "residues-multiply-3.json")])
    assert done.exit_code == 0 and done.output.strip().endswith(": same")
    none = CliRunner().invoke(app, ["recompute", str(RESULTS / "wide-mean.json")])
    assert none.exit_code == 2 and "no predictions to compute from" in none.output
