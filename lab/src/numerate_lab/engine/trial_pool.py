"""Trials of many grids side by side, the most important ones first, until the time is up.

`run_grids` gives each encoding a process, which is simple and shares its data. Where an accelerator is to be had for
minutes alone, that leaves it idle: one encoding may take ten times as long as another. Here every trial is a job of its
own, workers live as long as the pool (they import and read data once), a rate is chosen as soon as its tries are there,
and a trial that would not end in time is not begun. A trial that starts from a model of another one waits for it.
"""

from __future__ import annotations

import gc
import math
import multiprocessing
import os
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.training.worker_processes import end_with_parent
from numerate_lab.engine.grid import Grid, best_rate, prepare_grid
from numerate_lab.engine.task import Workspace
from numerate_lab.engine.trial import run_trial

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate_lab.engine.task import Log, TrialConfig

__all__ = ["Goal", "Left", "run_goals", "trials_of"]

_POLL = 0.5
"""Seconds between two looks at the clock while all workers are busy."""
_ATTEMPTS = 2
"""A fault of one process on an accelerator may end the trials of all others, which are then tried again."""


@dataclass(frozen=True)
class Goal:
    """What is wanted of a grid, as one step in the order of importance.

    Attributes:
        part: Trials of one part take alike in terms of what was expected, tries and finals each: see `seconds`.
        grid: The grid; its tries of rates come first.
        encodings: Rows of the grid.
        seeds: Final trainings of each row.
        seconds: Expected time of a final training of each row; tries take their share of it.
        begun: The share of that time that has to be left for a final training to be begun: below 1 where what it has
            done is kept, as folds of a cross-validation are, and the next run goes on with it.
    """

    part: str
    grid: Grid
    encodings: tuple[str, ...]
    seeds: int = 1
    seconds: dict[str, float] = field(default_factory=dict)
    begun: float = 1.0


@dataclass(frozen=True)
class Job:
    """A trial that can be run now."""

    goal: Goal
    encoding: str
    trial: TrialConfig
    final: bool
    seconds: float

    @property
    def file(self) -> str:
        """The result's file below the output folder, which no other job writes."""
        return f"{self.goal.grid.name}/{self.trial.name}"


@dataclass
class Left:
    """What was not run: trials that had no time, and jobs that failed, by the result's file."""

    no_time: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)


def trials_of(goal: Goal, output: Path) -> list[Job]:
    """All trials of a goal that can be named now: tries, and finals where all tries of an encoding are there."""
    grid, folder = goal.grid, output / goal.grid.name
    found: list[Job] = []
    for encoding in goal.encodings:
        whole = goal.seconds.get(encoding, 60.0)
        tries = grid.tries(encoding).values()
        share = grid.rate_share
        found += [Job(goal, encoding, trial, share == 1, whole * share) for trial in tries]
        if all((folder / f"{trial.name}.json").is_file() for trial in tries):
            finals = grid.finals(encoding, best_rate(grid, output, encoding))[: goal.seeds]
            found += [Job(goal, encoding, trial, True, whole) for trial in finals]
    return list({job.file: job for job in found}.values())


def run_goals(
    goals: Sequence[Goal], output: str | Path, *, seconds: float, processes: int = 1, log: Log = print,
    data: str | Path | None = None,
) -> Left:  # fmt: skip
    """Runs the trials of all goals that have no result yet, earlier goals first, for at most `seconds`.

    Trials are begun only if they are expected to end in time; what still runs at the end is stopped and has no result.
    `data` is the folder for data that trials share, by default inside the output folder.

    Raises:
        OtherSettingsError: There is a result of other settings in the same folder.
    """
    for job in (job for goal in goals for job in trials_of(goal, Path(output))):
        job.trial.exists(Path(output) / job.goal.grid.name, job.goal.grid.task_class.version)
    pool = _Pool(list(goals), Path(output), time.monotonic() + seconds, log, Path(data or Path(output) / "shared"))
    try:
        pool.run(processes)
    finally:
        pool.stop()
    return pool.left


def _pace(goal: Goal, final: bool) -> str:
    """What trials are alike in the time that they take: short tries read as much data as final trainings."""
    return goal.part if final else f"{goal.part}, tries"


class _Pool:
    """Workers, what they do, and what each part's trials took so far in terms of what was expected."""

    def __init__(self, goals: list[Goal], output: Path, end: float, log: Log, data: Path) -> None:
        self.goals, self.output, self.end, self.log, self.data = goals, output, end, log, data
        self.begin = time.monotonic()
        self.context = multiprocessing.get_context("spawn")
        self.workers: dict[Any, Any] = {}  # connection -> process
        self.running: dict[Any, tuple[str, str, float]] = {}  # connection -> file, its pace and time of its begin
        self.last: dict[Any, tuple[str, str]] = {}  # connection -> grid and encoding of its last trial
        self.prepared: set[str] = set()
        self.done: set[str] = set()
        self.taken: dict[str, list[float]] = defaultdict(list)
        self.expected: dict[str, float] = {}
        self.attempts: Counter[str] = Counter()
        self.left = Left()

    def run(self, processes: int) -> None:
        for _ in range(processes):
            self.start()
        while time.monotonic() < self.end:
            idle = [worker for worker in self.workers if worker not in self.running]
            for worker in idle:
                if not self.give(worker):
                    break
            if not self.running:
                break
            for worker in wait(list(self.running), timeout=min(_POLL, max(0.0, self.end - time.monotonic()))):
                self.hear(worker)
        self.left.no_time = [job.file for goal in self.goals for job in self.wanted(goal) if not self.is_over(job)]

    def wanted(self, goal: Goal) -> list[Job]:
        try:
            return trials_of(goal, self.output)
        except FileNotFoundError:  # a result that is being written
            return []

    def is_over(self, job: Job) -> bool:
        if job.file not in self.done and (self.output / f"{job.file}.json").is_file():
            self.done.add(job.file)
        return job.file in self.done or job.file in self.left.failed

    def start(self) -> None:
        ours, theirs = self.context.Pipe()
        process = self.context.Process(target=_work, args=(theirs, str(self.output), str(self.data)), daemon=False)
        process.start()
        theirs.close()
        self.workers[ours] = process

    def expected_seconds(self, job: Job) -> float:
        """What a job is expected to take, by what the trials of its part took."""
        ratios = self.taken[_pace(job.goal, job.final)]
        return job.seconds * (sorted(ratios)[len(ratios) // 2] if ratios else 1.0)

    def give(self, worker: Any) -> bool:
        """Gives a worker the most important job that can be begun; False if there is none."""
        busy = {file for file, _, _ in self.running.values()}
        time_left = self.end - time.monotonic()
        for goal in self.goals:
            prepare = f"{goal.grid.name}/prepare"
            if goal.grid.task_class.shares_files and prepare not in self.prepared:
                if prepare in busy or prepare in self.left.failed or all(map(self.is_over, self.wanted(goal))):
                    continue
                return self.send(worker, prepare, goal, ("prepare", goal.grid, None, False), math.nan)
            jobs = [job for job in self.wanted(goal) if job.file not in busy and not self.is_over(job)]
            jobs = [job for job in jobs if all(Path(each).exists() for each in job.trial.needs)]
            jobs = [job for job in jobs if self.expected_seconds(job) * (goal.begun if job.final else 1) <= time_left]
            if jobs:
                # Data that the worker has, and then the longest first, so that no long one is left for the end.
                own = self.last.get(worker)
                job = max(jobs, key=lambda job: ((goal.grid.name, job.encoding) == own, self.expected_seconds(job)))
                self.last[worker] = (goal.grid.name, job.encoding)
                return self.send(worker, job.file, goal, ("trial", goal.grid, job.trial, job.final), job.seconds)
        return False

    def send(self, worker: Any, file: str, goal: Goal, message: Any, seconds: float) -> bool:
        self.running[worker] = (file, _pace(goal, message[3]), time.monotonic())
        self.expected[file] = seconds
        worker.send(message)
        return True

    def hear(self, worker: Any) -> None:
        """Takes one message of a worker: a line, the end of its job, or its own end."""
        file, part, begun = self.running[worker]
        try:
            kind, text = worker.recv()
        except (EOFError, OSError):
            kind, text = "broken", "its process ended"
        if kind == "line":
            self.log(f"{time.monotonic() - self.begin:6.1f} s  {text}")
            return
        del self.running[worker]
        took = time.monotonic() - begun
        if kind == "broken":  # an accelerator's fault stays with its process
            process = self.workers.pop(worker)
            process.terminate()
            process.join(5)
            self.start()
        if kind != "done":
            self.attempts[file] += 1
            if self.attempts[file] == _ATTEMPTS:
                self.left.failed[file] = text
            self.log(f"{time.monotonic() - self.begin:6.1f} s  {file} failed: {text}")
            return
        if file.endswith("/prepare"):
            self.prepared.add(file)
        else:
            self.done.add(file)
            self.taken[part].append(took / max(self.expected[file], 1e-9))
        self.log(f"{time.monotonic() - self.begin:6.1f} s  {file} done in {took:.1f} s")

    def stop(self) -> None:
        for process in self.workers.values():
            process.terminate()
        for process in self.workers.values():
            process.join(5)
            if process.is_alive():
                process.kill()


def _work(connection: Any, output: str, data: str) -> None:
    """A worker: runs one job after the other."""
    end_with_parent()
    import torch

    torch.set_num_threads(max(1, int(os.environ.get("OMP_NUM_THREADS", "1"))))
    last: tuple[str, str] = ("", "")
    workspace = Workspace()
    while True:
        try:
            what, grid, trial, final = connection.recv()
        except (EOFError, OSError):
            return
        folder, shared = Path(output) / grid.name, Path(data) / grid.name
        folder.mkdir(parents=True, exist_ok=True)
        shared.mkdir(parents=True, exist_ok=True)
        try:
            if what == "prepare":
                prepare_grid(grid, folder, shared, lambda line: connection.send(("line", line)))
            else:
                if (grid.name, trial.encoding) != last:
                    if grid.name != last[0] or not grid.task_class.shares_compiled:
                        torch.compiler.reset()  # what was compiled for one encoding's lengths does not fit another's
                    last, workspace = (grid.name, trial.encoding), Workspace(folder, shared)
                torch.set_float32_matmul_precision("highest")  # the last trial may have chosen another one
                run_trial(grid.task_class(trial, workspace), folder, final=final)
            connection.send(("done", ""))
        except Exception as error:
            text = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
            # A failed recording leaves the process's random generator in the middle of it, for all trials to come.
            broken = "CUDA" in text or "graph capture" in text
            connection.send(("broken" if broken else "failed", text))
            last, workspace = ("", ""), Workspace()
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
