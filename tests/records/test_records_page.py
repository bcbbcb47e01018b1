"""The examples of docs/records.md run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from numerate.records.field_table import Counts

PAGE = (Path(__file__).parents[2] / "docs" / "records.md").read_text("utf-8")


def test_the_worked_example(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    draws = np.random.default_rng(0)
    lines = ["species,sampled,flipper (mm),body mass (g)"]
    for i in range(60):
        flipper = draws.normal(200, 14)
        mass = "" if i % 10 == 0 else f"{50 * flipper - 5800 + draws.normal(0, 300):.0f}"
        lines.append(f"{('Adelie', 'Gentoo')[i % 2]},2008-11-{1 + i % 30:02d},{flipper:.0f},{mass}")
    Path("penguins.csv").write_text("\n".join(lines) + "\n")
    [block] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert sum(bool(line.strip()) for line in block.splitlines()) <= 10, "docs/records.md promises ten lines"
    assert "RecordModel.fit(birds)" in block
    known: dict[str, Any] = {}
    exec(block.replace("fit(birds)", "fit(birds, scale='tiny', changes=['training.use_cpu=true'])"), known)
    assert known["mass"].shape == (6, 3) and list(known["mass"].index) == list(range(0, 60, 10))
    assert known["mass"].to_numpy().mean() == pytest.approx(4200, abs=1000), "in grams"
    assert known["draws"].shape == (6, 100) and (tmp_path / "out" / "penguins" / "records.json").is_file()
    assert "predicted since: 12 records" in capsys.readouterr().out


def test_every_count_is_documented() -> None:
    for kind in Counts.KINDS:
        if kind != "missing":
            assert f"`{kind}`" in PAGE
