"""Trials side by side: order of importance, rates before finals, time limits, failures, and resuming."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from numerate.training.results import OtherSettingsError
from numerate_lab.commands.compare import grid_of
from numerate_lab.engine.grid import Grid, best_rate, finals
from numerate_lab.engine.trial_pool import Goal, Job, _Pool, run_goals, trials_of

if TYPE_CHECKING:
    from pathlib import Path

SMALL = {"examples": 64, "amount": 64, "batch": 32, "width": 16, "layers": 1, "heads": 2, "dev": 8, "test": 8}


def grid(*encodings: str, **more: Any) -> Grid:
    given: dict[str, Any] = {"rates": (1e-3, 3e-3), "rate_share": 1.0, "seeds": 2}
    return grid_of("add-6", encodings, scale="tiny", options=SMALL | {"looks": 1}, **given | more)


def write(job: Job, output: Path, error: float = 0.0) -> None:
    """A result as if the job had been run."""
    figures = {"dev": {"log_smape": {"value": -error}}}
    file = output / f"{job.file}.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"config": job.trial.settings(), "figures": figures, "machine": {}}), "utf-8")


def test_finals_are_named_when_all_rates_are_tried(tmp_path: Path) -> None:
    goal = Goal("sums", grid("fourier"), ("fourier",), seeds=2, seconds={"fourier": 40.0})
    jobs = trials_of(goal, tmp_path)
    assert [(job.trial.rate, job.trial.seed, job.final, job.seconds) for job in jobs] == [
        (1e-3, 0, True, 40.0), (3e-3, 0, True, 40.0)
    ]  # fmt: skip
    write(jobs[0], tmp_path, 2.0)
    assert len(trials_of(goal, tmp_path)) == 2
    write(jobs[1], tmp_path, 1.0)
    assert [(job.trial.rate, job.trial.seed) for job in trials_of(goal, tmp_path)][2:] == [(3e-3, 1)]
    half = Goal("sums", grid("fourier", rate_share=0.5), ("fourier",), seconds={"fourier": 40.0})
    assert [(job.final, job.seconds) for job in trials_of(half, tmp_path / "no")] == [(False, 20.0)] * 2


class Told(_Pool):
    """A pool whose workers are names: it says what it would give them."""

    def send(self, worker: Any, file: str, goal: Goal, message: Any, seconds: float) -> bool:
        self.running[worker] = (file, goal.part, time.monotonic())
        self.expected[file] = seconds
        return True

    def given(self, worker: str) -> str | None:
        return self.running[worker][0] if self.give(worker) else None


def test_important_goals_come_first_and_only_what_ends_in_time(tmp_path: Path) -> None:
    one, other = grid("fourier", "bits"), replace(grid("fourier", "bits"), name="later")
    seconds = {"fourier": 10.0, "bits": 50.0}
    goals = [Goal("a", one, ("fourier",), 1, seconds), Goal("b", other, ("fourier", "bits"), 1, seconds)]
    pool = Told(goals, tmp_path, time.monotonic() + 100, print, tmp_path / "shared")
    first = [pool.given(f"worker {k}") for k in range(4)]
    assert [str(file).partition("-rate")[0] for file in first] == [
        "add-6/fourier", "add-6/fourier", "later/bits", "later/bits"  # the longest of a goal first
    ]  # fmt: skip
    assert len(set(first)) == 4
    pool.taken["b"] = [3.0]  # its trials took three times as long as expected: 150 s for bits
    pool.running.clear()
    pool.is_over = lambda job: job.goal.part == "a"  # type: ignore[method-assign]
    assert str(pool.given("worker 0")).startswith("later/fourier")
    pool.end = time.monotonic() + 5
    assert pool.given("worker 1") is None
    pool.goals = [replace(goals[1], begun=0.1)]  # what it does in a tenth of its time is kept
    assert str(pool.given("worker 1")).startswith("later/fourier")


def test_a_broken_worker_is_replaced_and_its_trial_tried_again(tmp_path: Path) -> None:
    class Worker:
        def __init__(self, *messages: tuple[str, str]) -> None:
            self.messages = list(messages)

        def recv(self) -> tuple[str, str]:
            if not self.messages:
                raise EOFError
            return self.messages.pop(0)

    class Process:
        ended = 0

        def terminate(self) -> None:
            Process.ended += 1

        def join(self, seconds: float) -> None:
            del seconds

    lines: list[str] = []
    pool = Told([], tmp_path, time.monotonic() + 100, lines.append, tmp_path)
    started: list[int] = []
    pool.start = lambda: started.append(1)  # type: ignore[method-assign]
    for number, worker in enumerate((Worker(("broken", "CUDA error")), Worker(), Worker(("failed", "no such file")))):
        pool.workers[worker], pool.running[worker] = Process(), (f"x/{number // 2}", "part", time.monotonic())
        pool.hear(worker)
        assert worker not in pool.running and (worker in pool.workers) == (number == 2)
    assert len(started) == Process.ended == 2, "whose accelerator or process is gone"
    assert pool.left.failed == {"x/0": "its process ended"}, "the second time"
    pool.workers[done := Worker(("line", "hello"), ("done", ""))] = Process()
    pool.running[done], pool.expected["x/2"] = ("x/2", "part", time.monotonic() - 10), 5.0
    pool.hear(done)
    pool.hear(done)
    assert "hello" in lines[-2] and "x/2" in pool.done and pool.taken["part"][0] == pytest.approx(2, rel=0.1)


def test_a_result_of_other_settings_is_refused(tmp_path: Path) -> None:
    goal = Goal("sums", grid("fourier"), ("fourier",))
    write(trials_of(goal, tmp_path)[0], tmp_path)
    other = Goal("sums", replace(goal.grid, trial=replace(goal.grid.trial, batch=16)), ("fourier",))
    with pytest.raises(OtherSettingsError, match="batch"):
        run_goals([other], tmp_path, seconds=1)


@pytest.mark.slow
def test_goals_are_run_and_resumed(tmp_path: Path) -> None:
    lines: list[str] = []
    made = grid("fourier", "bits")
    broken = replace(made, name="broken", trial=replace(made.trial, task_options={"digits": [9, 1]}))
    goals = [Goal("broken", broken, ("bits",)), Goal("sums", made, ("fourier", "bits"), 2)]
    left = run_goals(goals, tmp_path, seconds=300, processes=2, log=lines.append)
    assert all(name.startswith("broken/") for name in left.failed) and len(left.failed) == 2
    assert sum("failed" in line for line in lines) == 4, "each is tried twice"
    for name in made.encodings:
        assert len(finals(made, tmp_path, name)) == 2
        assert finals(made, tmp_path, name)[0].config.rate == best_rate(made, tmp_path, name)
    count = len(lines)
    assert run_goals(goals[1:], tmp_path, seconds=60, log=lines.append).no_time == [] and len(lines) == count


def test_a_trial_waits_for_what_another_makes(tmp_path: Path) -> None:
    """Rows whose start is not there yet are passed over, and no trial of theirs is lost."""

    class Waiting(type(grid("fourier").trial)):  # type: ignore[misc]
        @property
        def needs(self) -> tuple[str, ...]:
            return (str(tmp_path / "made"),) if self.encoding == "bits" else ()

    whole = grid("fourier", "bits")
    fields = dict(vars(whole.trial))
    goal = Goal("a", replace(whole, trial=Waiting(**fields)), ("bits", "fourier"), 1, {"bits": 50.0, "fourier": 10.0})
    pool = Told([goal], tmp_path, time.monotonic() + 100, print, tmp_path / "shared")
    assert [str(pool.given(f"worker {k}")).partition("-rate")[0] for k in range(3)] == ["add-6/fourier"] * 2 + ["None"]
    (tmp_path / "made").mkdir()
    assert str(pool.given("worker 3")).startswith("add-6/bits")
