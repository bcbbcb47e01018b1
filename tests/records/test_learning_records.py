"""What the run `records` learns from 2,000 records in minutes of one core; for results see docs/findings/records.md."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "records.py"


def measured(file: Path, *more: str) -> dict[str, Any]:
    """What the benchmark of records writes down."""
    subprocess.run([sys.executable, SCRIPT, f"--json={file}", *more], capture_output=True, text=True, check=True)
    return json.loads(file.read_text("utf-8"))["figures"]


def test_the_measurement_runs(tmp_path: Path) -> None:
    found = measured(tmp_path / "out" / "records.json", "--records=120", "--new=40", "--steps=3")
    assert set(found) == {"seconds_to_fit", *"xyzcmh"} and found["c"]["error_of_95"] == 0
    assert 0 < found["m"]["records"] < 40 == found["x"]["records"]


@pytest.mark.slow
def test_identity_square_constant_missing_and_heavy_tail(tmp_path: Path) -> None:
    found = measured(tmp_path / "records.json")
    assert all(0.85 <= found[field]["inside"] <= 0.95 for field in "xyzmh"), found
    assert all(found[field]["error_of_95"] <= 0.01 for field in "xyz"), found
    assert found["c"] == {"median_error": 0, "error_of_95": 0, "inside": 1, "records": 3000}
