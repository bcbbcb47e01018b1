"""A tenth of the calls of `make torture`: those that need neither torch nor a model."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import pytest
import torture_calls
import torture_files
import torture_fuzz
import torture_run

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = torture_calls.sample()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for module in ("app", "corpus_tables", "find", "stats"):  # so that no forked process has to import them
        importlib.import_module(f"numerate.cli.{module}")
    folder = tmp_path_factory.mktemp("torture")
    torture_files.make(folder, models=False)
    return folder


def test_the_sample_is_a_tenth() -> None:
    every = torture_calls.calls()
    assert len(every) >= 150 and 10 * len(SAMPLE) >= len(every)
    assert len({call.shown for call in every}) == len(every)


@pytest.mark.slow
def test_hostile_calls(folder: Path) -> None:
    faults = {call.shown: outcome.faults for call in SAMPLE if (outcome := torture_run.run(call, folder)).faults}
    assert not faults


def test_fuzzed_numerals() -> None:
    found = torture_fuzz.fuzz(300)
    assert found.numerals > 300 and not found.faults
