"""What docs/report.md says can be typed, works, and it names everything."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from numerate import report

if TYPE_CHECKING:
    import pytest

DOCS = (Path(__file__).parents[2] / "docs" / "report.md").read_text("utf-8")


def test_blocks_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    space: dict[str, object] = {}
    for block in re.findall(r"^```python\n(.*?)^```", DOCS, re.M | re.S):
        exec(compile(block, "docs/report.md", "exec"), space)
    assert {path.name for path in tmp_path.iterdir()} == {"age.svg", "results.html"}
    assert "| mog | **226.5** | 226.5 | **13.64** |" in capsys.readouterr().out


def test_every_function_is_named() -> None:
    assert [name for name in report.__all__ if name[0].islower() and f"`{name}`" not in DOCS] == ["binomial_band"]
