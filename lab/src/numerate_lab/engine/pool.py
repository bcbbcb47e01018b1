"""Trainings side by side: a process for each job, since a small model leaves most of an accelerator idle."""

from __future__ import annotations

import multiprocessing
import os
import threading
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import TYPE_CHECKING, Any

from numerate.registry import load_plugin, loaded_plugins
from numerate.training.worker_processes import end_with_parent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numerate_lab.engine.task import Log

__all__ = ["run_jobs"]


def run_jobs(jobs: Mapping[str, Callable[[Log], None]], processes: int, log: Log, what: str = "jobs") -> None:
    """Runs named jobs, each in a fresh process; a job that fails does not stop the others.

    A job must be picklable: a `functools.partial` of a function of a module. It gets a `log` whose lines are printed as
    they come. `processes` jobs run at a time; 1 runs them in this process, one after the other, until one fails.
    Messages call the jobs `what`.

    Raises:
        RuntimeError: Some failed; the others are done.

    Example:
        >>> run_jobs({"one": lambda log: log("done")}, 1, print)
        done
    """
    if processes == 1 or not jobs:
        for job in jobs.values():
            job(log)
        return
    failed: list[str] = []
    context = multiprocessing.get_context("spawn")
    lines = context.Queue()
    listener = threading.Thread(target=_print_lines, args=(lines, log), daemon=True)
    listener.start()
    with ProcessPoolExecutor(
        processes, mp_context=context, max_tasks_per_child=1, initializer=_begin,
        initargs=(lines, processes, loaded_plugins()),
    ) as pool:  # fmt: skip
        running = {pool.submit(_in_process, job): name for name, job in jobs.items()}
        for future in as_completed(running):
            error = future.exception()
            if error is not None:
                failed.append(running[future])
                lines.put(f"{running[future]}: {type(error).__name__}: {' '.join(str(error).split())[:300]}")
    lines.put(None)
    listener.join()
    if failed:
        raise RuntimeError(f"{len(failed)} of {len(jobs)} {what} failed: {', '.join(failed)}")


_lines: Any = None
"""Where a process of the pool puts its lines."""


def _begin(lines: Any, processes: int, plugins: Sequence[str]) -> None:
    end_with_parent()  # before the slow import
    import torch

    global _lines
    _lines = lines
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // processes))
    for plugin in plugins:
        load_plugin(plugin)


def _in_process(job: Callable[[Log], None]) -> None:
    job(_lines.put)


def _print_lines(lines: Any, log: Log) -> None:
    while (line := lines.get()) is not None:
        log(line)
