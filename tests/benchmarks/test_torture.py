"""A tenth of the calls of `make torture`: those that need neither torch nor a model."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import torture_calls
import torture_files
import torture_fuzz
import torture_run

sys.path.pop(0)

SAMPLE = torture_calls.sample()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("torture")
    torture_files.make(folder, models=False)
    return folder


def test_the_sample_is_a_tenth() -> None:
    every = torture_calls.calls()
    assert len(every) >= 150 and 10 * len(SAMPLE) >= len(every)
    assert len({call.shown for call in every}) == len(every)


def test_hostile_calls(folder: Path) -> None:
    faults = {call.shown: outcome.faults for call in SAMPLE if (outcome := torture_run.run(call, folder)).faults}
    assert not faults


def test_fuzzed_numerals() -> None:
    found = torture_fuzz.fuzz(300)
    assert found.numerals > 300 and not found.faults
