"""The run `records` learns from 2,000 records in minutes on one core; for results see docs/findings/records.md."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "records.py"


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """Runs the benchmark of records and returns its figures."""

    def run(*options: str) -> dict[str, Any]:
        file = tmp_path / "out" / "records.json"
        monkeypatch.syspath_prepend(SCRIPT.parent)
        monkeypatch.setattr(sys, "argv", [str(SCRIPT), f"--json={file}", *options])
        runpy.run_path(str(SCRIPT), run_name="__main__")
        return json.loads(file.read_text("utf-8"))["figures"]

    return run


def test_the_benchmark_runs(measured: Callable[..., dict[str, Any]]) -> None:
    found = measured("--records=120", "--new=40", "--scale=tiny", "--steps=3")
    assert set(found) == {"seconds_to_fit", *"xyzcmh"} and found["c"]["error_of_95"] == 0
    assert 0 < found["m"]["records"] < 40 == found["x"]["records"]


@pytest.mark.slow
def test_identity_square_constant_missing_and_heavy_tail(measured: Callable[..., dict[str, Any]]) -> None:
    found = measured()
    assert all(0.85 <= found[field]["inside"] <= 0.95 for field in "xyzmh"), found
    assert all(found[field]["error_of_95"] <= 0.01 for field in "xyz"), found
    assert found["c"] == {"median_error": 0, "error_of_95": 0, "inside": 1, "records": 3000}
