"""Runs the commands of a plan file in parallel until a time limit, for example on one accelerator.

    python benchmarks/side_by_side.py benchmarks/plans/literacy.txt --workers 10 --seconds 540 --logs out/logs \
        --set MODEL=out/mlm --set DATA=data --set OUT=results

A line of a plan is `name: command`; blank lines and lines that start with # are ignored, and `{MODEL}` is replaced by
the value of `--set`. Commands start in the order of the plan; `name after SECONDS: command` starts at that time or
later. Commands that still run at the time limit are ended: runs of numerate continue from their files when started
again.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import harness

if TYPE_CHECKING:
    from collections.abc import Sequence

LINE = re.compile(r"(?P<name>[\w.+-]+)(?: after (?P<after>\d+))?:\s+(?P<command>.+)")


@dataclass(frozen=True)
class Job:
    """A command with its name and the earliest second at which it may start."""

    name: str
    command: str
    after: int = 0


def jobs_of(text: str, known: dict[str, str]) -> list[Job]:
    """Jobs of a plan, in its order.

    Args:
        text: Text of the plan.
        known: Value of each `{NAME}`.
    """
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = LINE.fullmatch(line.strip())
        if parts is None:
            raise ValueError(f"line {number} must be `name: command`, got {line[:60]!r}")
        missing = [name for name in re.findall(r"\{(\w+)\}", parts["command"]) if name not in known]
        if missing:
            raise ValueError(f"line {number} uses {missing[0]!r}, which has no value: add --set {missing[0]}=...")
        command = re.sub(r"\{(\w+)\}", lambda place: shlex.quote(known[place[1]]), parts["command"])
        found.append(Job(parts["name"], command, int(parts["after"] or 0)))
    if twice := [job.name for job in found if sum(other.name == job.name for other in found) > 1]:
        raise ValueError(f"names of jobs must be unique, got {twice[0]!r} twice")
    return found


def run(jobs: list[Job], workers: int, seconds: float, logs: Path) -> dict[str, str]:
    """Runs the jobs and returns how each ended: `done`, `failed`, `cut off` or `not started`."""
    begin, lock, waiting = time.monotonic(), threading.Lock(), list(jobs)
    ended, running = dict.fromkeys((job.name for job in jobs), "not started"), set()
    logs.mkdir(parents=True, exist_ok=True)

    def passed() -> float:
        return time.monotonic() - begin

    def taken() -> Job | None:
        with lock:
            ready = next((job for job in waiting if job.after <= passed()), None)
            if ready is not None:
                waiting.remove(ready)
            return ready

    def worker() -> None:
        while waiting and passed() < seconds:
            job = taken()
            if job is None:
                time.sleep(0.2)
                continue
            start = passed()
            with (logs / f"{job.name}.log").open("wb") as log:
                process = subprocess.Popen(
                    job.command, shell=True, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
                )
                with lock:
                    running.add(process)
                code = process.wait()
            with lock:
                running.discard(process)
            ended[job.name] = "done" if code == 0 else "cut off" if passed() >= seconds else "failed"
            print(f"{passed():6.0f} s  {job.name}: {ended[job.name]} after {passed() - start:.0f} s", flush=True)

    threads = [threading.Thread(target=worker) for _ in range(workers)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads) and passed() < seconds:
        time.sleep(0.2)
    with lock:
        left = list(running)
    for process in left:  # with its child processes
        os.killpg(process.pid, signal.SIGTERM)
    for thread in threads:
        thread.join()
    return ended


def main(arguments: Sequence[str] | None = None) -> None:
    parser = harness.parser_of(__doc__)
    parser.add_argument("plan", type=Path, help="plan file")
    parser.add_argument("--workers", type=int, default=4, help="number of commands that run at the same time")
    parser.add_argument("--seconds", type=float, default=3600.0, help="time limit of the whole plan")
    parser.add_argument("--logs", type=Path, default=Path("out/logs"), help="folder for one log per job")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="value of {NAME} in the plan")
    options = parser.parse_args(arguments)
    known = dict(pair.split("=", 1) for pair in options.set)
    try:
        jobs = jobs_of(options.plan.read_text(encoding="utf-8"), known)
    except (OSError, ValueError) as error:
        sys.exit(f"{options.plan}: {error}")
    ended = run(jobs, options.workers, options.seconds, options.logs)
    for how in ("done", "failed", "cut off", "not started"):
        names = [name for name, other in ended.items() if other == how]
        print(f"{how}: {len(names)}" + (f" ({', '.join(names)})" if names and how != "done" else ""))
    harness.write(options, ended)


if __name__ == "__main__":
    main()
