"""Answers jobs that arrive at the same time together: one thread, one queue with a limit."""

from __future__ import annotations

import asyncio
import contextlib
import math
import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from numerate.apps.serving.refusals import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["BatchQueue"]

Job = TypeVar("Job")
Answer = TypeVar("Answer")
LONGEST_RETRY = 60


@dataclass(eq=False)
class _Entry(Generic[Job]):
    """A job that waits: its weight, when it came, and whom to tell."""

    job: Job
    weight: int
    came: float
    future: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop


class BatchQueue(Generic[Job, Answer]):
    """Gathers jobs that arrive within a few milliseconds, and works on them in one thread.

    Args:
        work: Answers the jobs of a batch; an answer that is an exception is raised to the one who asked.
        size: Most weight of a batch; a heavier job is a batch of its own.
        wait: Seconds that the first job of a batch waits for others.
        limit: Most weight that waits; more is refused with status 429.
        on_batch: Called with the weight and the seconds of each batch.
        on_waiting: Called with each change of the weight that waits.
    """

    def __init__(
        self, work: Callable[[Sequence[Job]], Sequence[Answer | Exception]], *, size: int, wait: float, limit: int,
        on_batch: Callable[[int, float], None] = lambda weight, seconds: None,
        on_waiting: Callable[[int], None] = lambda change: None,
    ) -> None:  # fmt: skip
        self._work, self._size, self._wait, self._limit = work, size, wait, limit
        self._on_batch, self._on_waiting = on_batch, on_waiting
        self._entries: deque[_Entry[Job]] = deque()
        self._changed = threading.Condition()
        self._waiting, self._closing, self._pace = 0, False, 0.0
        self._thread = threading.Thread(target=self._run, name="model", daemon=True)
        self._thread.start()

    async def ask(self, jobs: Sequence[Job], weights: Sequence[int]) -> list[Answer]:
        """The answers to some jobs; all or none of them are taken.

        Raises:
            Refusal: Too much waits already (429), or the service ends (503).
        """
        loop = asyncio.get_running_loop()
        now = time.monotonic()
        entries = [
            _Entry(job, weight, now, loop.create_future(), loop) for job, weight in zip(jobs, weights, strict=True)
        ]
        total = sum(weights)
        with self._changed:
            if self._closing:
                raise Refusal(503, "the service is ending", 1)
            if self._waiting + total > self._limit:
                seconds = min(max(1, math.ceil(self._waiting * self._pace)), LONGEST_RETRY)
                raise Refusal(429, f"{self._waiting} numbers wait for the model already: try again later", seconds)
            self._entries.extend(entries)
            self._count(total)
            self._changed.notify()
        try:
            return list(await asyncio.gather(*(entry.future for entry in entries)))
        finally:
            for entry in entries:
                entry.future.cancel()  # of what nobody waits for any more: after a timeout, or another one's error

    def close(self, timeout: float | None = None) -> None:
        """Takes no more jobs, and waits until those that were taken are answered."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(timeout)

    def _count(self, change: int) -> None:
        self._waiting += change
        self._on_waiting(change)

    def _run(self) -> None:
        while batch := self._gathered():
            live = [entry for entry in batch if not entry.future.cancelled()]
            if not live:
                continue
            began = time.monotonic()
            answers: Sequence[Any]
            try:
                answers = self._work([entry.job for entry in live])
            except Exception as error:  # whatever it is, those who wait must be told
                answers = [error] * len(live)
            seconds, weight = time.monotonic() - began, sum(entry.weight for entry in live)
            self._pace = seconds / weight if not self._pace else 0.8 * self._pace + 0.2 * seconds / weight
            self._on_batch(weight, seconds)
            for entry, answer in zip(live, answers, strict=True):
                with contextlib.suppress(RuntimeError):  # its loop is closed
                    entry.loop.call_soon_threadsafe(_settle, entry.future, answer)

    def _gathered(self) -> list[_Entry[Job]]:
        """The next batch; nothing at the end."""
        with self._changed:
            while not self._entries:
                if self._closing:
                    return []
                self._changed.wait()
            until = self._entries[0].came + self._wait
            while not self._closing and self._waiting < self._size and (left := until - time.monotonic()) > 0:
                self._changed.wait(left)
            batch = [self._entries.popleft()]
            weight = batch[0].weight
            while self._entries and weight + self._entries[0].weight <= self._size:
                batch.append(self._entries.popleft())
                weight += batch[-1].weight
            self._count(-weight)
            return batch


def _settle(future: asyncio.Future[Any], answer: Any) -> None:
    if future.done():  # cancelled
        return
    if isinstance(answer, Exception):
        future.set_exception(answer)
    else:
        future.set_result(answer)
