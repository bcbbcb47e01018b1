"""Jobs in this process and in processes of their own; one that fails stops no other."""

from __future__ import annotations

from operator import methodcaller
from typing import Any

import pytest

from numerate_lab.engine.pool import run_jobs

# Processes have to find a job's code, and tests are no modules: a job is a method of its `log` that is called.
ONE: Any = methodcaller("__call__", "one is done")
TWO: Any = methodcaller("__call__", "two is done")
BAD: Any = methodcaller("broken")


def test_one_after_the_other() -> None:
    lines: list[str] = []
    run_jobs({"one": ONE, "two": TWO}, 1, lines.append)
    assert lines == ["one is done", "two is done"]
    with pytest.raises(AttributeError, match="broken"):
        run_jobs({"bad": BAD, "two": TWO}, 1, lines.append)
    assert len(lines) == 2


@pytest.mark.slow
def test_a_job_that_fails_stops_no_other() -> None:
    lines: list[str] = []
    with pytest.raises(RuntimeError, match="1 of 3 things failed: bad"):
        run_jobs({"one": ONE, "bad": BAD, "two": TWO}, 2, lines.append, "things")
    assert sorted(line.partition(":")[0] for line in lines) == ["bad", "one is done", "two is done"]
