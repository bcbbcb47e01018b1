"""Keeps worker processes running: one that dies or hangs is replaced, and at the end each may finish its work.

uvicorn's own supervisor would do, but for one thing: it asks each worker for a sign of life, and if one dies before it
answers, waits until a time limit, which must be longer than the loading of a model. Here the end of a process is seen
at once.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
import time
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CANNOT_START", "Supervisor"]

CANNOT_START = 3
"""Exit code of a worker that would fail again; uvicorn uses the same. It ends the service."""
LOOK = 2.0
"""Seconds between two looks for workers that hang."""
PAUSE = 1.0
"""Seconds before a worker that ended by itself is replaced, so that one that always fails does not keep all busy."""
log = logging.getLogger("numerate.serve")


class Supervisor:
    """Runs `count` processes until a signal ends them.

    Args:
        target: What each process does; it must be picklable, and end after SIGTERM.
        count: Number of processes.
        patience: Seconds that a process may take to end before it is killed.
        is_hung: Whether the process of an id hangs.
    """

    def __init__(
        self, target: Callable[[], None], count: int, *, patience: float,
        is_hung: Callable[[int], bool] = lambda pid: False,
    ) -> None:  # fmt: skip
        self._target, self._count, self._patience, self._is_hung = target, count, patience, is_hung
        # Spawned, not forked: a fork copies threads and locks of the caller's libraries.
        self._context = multiprocessing.get_context("spawn")
        self._processes: list[Any] = []
        self._ending = False
        self._woken, self._wake = multiprocessing.Pipe(duplex=False)

    def run(self) -> bool:
        """Keeps the processes running; returns False if one of them could not start."""
        before = self._catch_signals()
        can_start = True
        try:
            self._processes = [self._started() for _ in range(self._count)]
            while not self._ending:
                ready = wait([self._woken, *(process.sentinel for process in self._processes)], LOOK)
                if self._woken in ready:
                    self._woken.recv_bytes()
                # Looked at once: a process that has just ended may have no code yet, and have it at a second look.
                codes = [process.exitcode for process in self._processes]
                if CANNOT_START in codes:
                    can_start = False
                    break
                self._replace_lost(codes)
        finally:
            self._end_all()
            for number, handler in before.items():
                signal.signal(number, handler)
        return can_start

    def end(self) -> None:
        """Ends the processes, as SIGTERM does."""
        self._ending = True
        self._wake.send_bytes(b"end")

    def _catch_signals(self) -> dict[int, Any]:
        if threading.current_thread() is not threading.main_thread():
            return {}
        return {number: signal.signal(number, lambda *_: self.end()) for number in (signal.SIGINT, signal.SIGTERM)}

    def _started(self) -> Any:
        process = self._context.Process(target=self._target)
        process.start()
        return process

    def _replace_lost(self, codes: list[int | None]) -> None:
        for place, (process, code) in enumerate(zip(self._processes, codes, strict=True)):
            if self._ending:
                return
            if code is None and self._is_hung(process.pid):
                log.error("worker %d hangs: it is killed", process.pid)
                process.kill()
                process.join()
                code = process.exitcode
            if code is not None:
                log.error("worker %d ended (%d): another one is started", process.pid, code)
                if code >= 0:
                    wait([self._woken], PAUSE)
                self._processes[place] = self._started()
                process.close()

    def _end_all(self) -> None:
        until = time.monotonic() + self._patience
        for process in self._processes:
            if process.exitcode is None:
                os.kill(process.pid, signal.SIGTERM)
        for process in self._processes:
            process.join(max(0.0, until - time.monotonic()))
            if process.exitcode is None:
                log.error("worker %d does not end: it is killed", process.pid)
                process.kill()
                process.join()
