"""Many trainings side by side: a process for each job, since a small model leaves most of an accelerator idle."""

from __future__ import annotations

import multiprocessing
import os
import threading
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Say = Callable[[str], None]

__all__ = ["run_jobs"]


def run_jobs(jobs: Mapping[str, Callable[[Say], None]], processes: int, say: Say, what: str = "jobs") -> None:
    """Runs named jobs, each in a fresh process; one that fails does not take the others with it.

    Args:
        jobs: By name, what can be sent to a process: a `functools.partial` of a function of a module. Each gets a `say`
            of its own, whose lines are told as they come.
        processes: So many at a time; 1 runs them here, one after the other, and the first that fails ends it.
        say: Prints a line.
        what: What messages call them.

    Raises:
        RuntimeError: Some failed; the others are done.

    Example:
        >>> run_jobs({"one": lambda say: say("done")}, 1, print)
        done
    """
    if processes == 1:
        for job in jobs.values():
            job(say)
        return
    failed: list[str] = []
    context = multiprocessing.get_context("spawn")
    lines = context.Queue()
    listener = threading.Thread(target=_tell, args=(lines, say), daemon=True)
    listener.start()
    with ProcessPoolExecutor(
        processes, mp_context=context, max_tasks_per_child=1, initializer=_begin, initargs=(lines, processes)
    ) as pool:
        running = {pool.submit(_in_a_process, job): name for name, job in jobs.items()}
        for future in as_completed(running):
            error = future.exception()
            if error is not None:  # the others shall not be lost with it
                failed.append(running[future])
                lines.put(f"{running[future]}: {type(error).__name__}: {' '.join(str(error).split())[:300]}")
    lines.put(None)
    listener.join()
    if failed:
        raise RuntimeError(f"{len(failed)} of {len(jobs)} {what} failed: {', '.join(failed)}")


_lines: Any = None
"""Where a process of the pool puts what it has to say."""


def _begin(lines: Any, processes: int) -> None:
    import torch

    global _lines
    _lines = lines
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // processes))


def _in_a_process(job: Callable[[Say], None]) -> None:
    job(_lines.put)


def _tell(lines: Any, say: Say) -> None:
    while (line := lines.get()) is not None:
        say(line)
