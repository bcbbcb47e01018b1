"""Worker processes end with the main process, also when it is killed."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from numerate.training.worker_processes import end_with_parent

pytestmark = pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="reads /proc")

POOL = """
import multiprocessing, os, sys, time
from concurrent.futures import ProcessPoolExecutor
from numerate.training.worker_processes import end_with_parent

if __name__ == "__main__":
    pool = ProcessPoolExecutor(2, multiprocessing.get_context("spawn"), initializer=end_with_parent)
    busy = [pool.submit(time.sleep, 60) for _ in range(2)]
    busy[0].result()
"""


def state_of(pid: int | str) -> list[str]:
    """State and parent of a process, as Linux tells them; empty if there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
    except OSError:
        return []


def children(pid: int) -> list[int]:
    """The worker processes below a process."""
    below = [int(path.name) for path in Path("/proc").glob("[0-9]*") if state_of(path.name)[1:] == [str(pid)]]
    found = []
    for child in below:
        with contextlib.suppress(OSError):
            found += [child] if "spawn_main" in Path(f"/proc/{child}/cmdline").read_text() else []
    return found


def is_alive(pid: int) -> bool:
    return state_of(pid)[:1] not in ([], ["Z"])


def assert_workers_end(command: list[str], number: int, how: signal.Signals, *, lines: int = 0, **options: Any) -> None:
    """Starts a command, waits for its workers (and lines), ends it by a signal, and waits for the workers' end."""
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, **options) as process:
        try:
            limit = time.monotonic() + 120
            while len(workers := children(process.pid)) < number:
                assert process.poll() is None and time.monotonic() < limit, "no workers"
                time.sleep(0.05)
            for _ in range(lines):
                assert process.stdout is not None and process.stdout.readline()
            time.sleep(0 if lines else 0.5)
        finally:
            process.send_signal(how)
            process.communicate()
    limit = time.monotonic() + 60
    while left := [pid for pid in workers if is_alive(pid)]:
        assert time.monotonic() < limit, f"{left} go on"
        time.sleep(0.05)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_busy_workers_end_with_their_parent(how: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "pool.py").write_text(POOL)
    assert_workers_end([sys.executable, str(tmp_path / "pool.py")], 2, how, stdout=subprocess.PIPE)


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_workers_of_find_end_with_the_command(how: signal.Signals, tmp_path: Path) -> None:
    """They are idle: nobody reads the output of the command, which waits."""
    (tmp_path / "a.txt").write_text("It cost 5 dollars and 7 cents.\n" * 200_000)
    command = [sys.executable, "-m", "numerate", "find", str(tmp_path / "a.txt"), "--processes", "2"]
    assert_workers_end(command, 2, how, stdout=subprocess.PIPE)


JOBS = """
import functools
from numerate_lab.engine.pool import run_jobs

def compute(number, log):
    log("computing")
    while True:
        number += 1

if __name__ == "__main__":
    run_jobs({str(k): functools.partial(compute, k) for k in range(2)}, 2, functools.partial(print, flush=True))
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_computing_workers_of_a_comparison_end_with_it(how: signal.Signals, tmp_path: Path) -> None:
    pytest.importorskip("numerate_lab")
    (tmp_path / "jobs.py").write_text(JOBS)
    assert_workers_end([sys.executable, str(tmp_path / "jobs.py")], 2, how, lines=2, stdout=subprocess.PIPE)


def test_nothing_happens_without_a_parent() -> None:
    end_with_parent()
