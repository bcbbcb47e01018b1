"""The queue of the model: batches, limits, errors, and its end."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from numerate.apps.serving.batching import BatchQueue
from numerate.apps.serving.refusals import Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence


class Work:
    """Doubles numbers, when it may; negative ones are refused."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.going = threading.Event()

    def __call__(self, jobs: Sequence[int]) -> list[int | Exception]:
        self.batches.append(list(jobs))
        assert self.going.wait(10)
        if 99 in jobs:
            raise RuntimeError("the model is broken")
        return [ValueError(f"got {job}") if job < 0 else 2 * job for job in jobs]


def queue_of(work: Work, **options: Any) -> BatchQueue[int, int]:
    return BatchQueue(work, **{"size": 4, "wait": 0.05, "limit": 100} | options)


def test_jobs_that_arrive_together_are_answered_together_up_to_the_size() -> None:
    work, told = Work(), []
    work.going.set()
    queue = queue_of(work, on_batch=lambda weight, seconds: told.append(weight))

    async def run() -> list[Any]:
        return await asyncio.gather(*(queue.ask([job], [1]) for job in range(6)), queue.ask([7, 8], [3, 9]))

    assert asyncio.run(run()) == [[0], [2], [4], [6], [8], [10], [14, 16]]
    assert work.batches == [[0, 1, 2, 3], [4, 5], [7], [8]], (
        "7 does not fit beside 4 and 5, and 8 is heavier than a batch"
    )
    assert told == [4, 2, 3, 9]
    queue.close(5)


def test_a_single_job_waits_no_longer_than_told() -> None:
    work = Work()
    work.going.set()
    queue = queue_of(work, wait=0.02, size=1000)
    began = time.monotonic()
    assert asyncio.run(queue.ask([5], [1])) == [10]
    assert 0.02 <= time.monotonic() - began < 5
    queue.close(5)


def test_errors_reach_those_who_asked_and_the_thread_goes_on() -> None:
    work = Work()
    work.going.set()
    queue = queue_of(work)

    async def run() -> list[Any]:
        some = await asyncio.gather(queue.ask([-1], [1]), queue.ask([3], [1]), return_exceptions=True)
        return [*some, *await asyncio.gather(queue.ask([99], [1]), return_exceptions=True), await queue.ask([4], [1])]

    bad, good, broken, later = asyncio.run(run())
    assert str(bad) == "got -1" and good == [6] and isinstance(broken, RuntimeError) and later == [8]
    queue.close(5)


def test_what_is_too_much_is_refused_and_what_was_given_up_is_not_worked_on() -> None:
    work, waiting = Work(), [0]
    queue = queue_of(work, wait=0.0, size=1, limit=2, on_waiting=lambda change: waiting.append(waiting[-1] + change))

    async def run() -> list[Any]:
        running = asyncio.create_task(queue.ask([1], [1]))
        while not work.batches:
            await asyncio.sleep(0.001)
        given_up = asyncio.create_task(queue.ask([2], [1]))
        kept = asyncio.create_task(queue.ask([3], [1]))
        await asyncio.sleep(0.01)
        with pytest.raises(Refusal, match="2 numbers wait") as refused:
            await queue.ask([4], [1])
        given_up.cancel()
        work.going.set()
        return [await running, await kept, refused.value]

    first, last, refusal = asyncio.run(run())
    assert (first, last) == ([2], [6]) and work.batches == [[1], [3]]
    assert (refusal.status, refusal.headers) == (429, {"Retry-After": "1"})
    assert waiting[-1] == 0 and max(waiting) == 2
    queue.close(5)


def test_closing_answers_what_was_taken_and_takes_no_more() -> None:
    work = Work()
    queue = queue_of(work, size=1)

    async def run() -> list[Any]:
        asked = [asyncio.create_task(queue.ask([job], [1])) for job in (1, 2, 3)]
        await asyncio.sleep(0.01)
        closing = asyncio.create_task(asyncio.to_thread(queue.close, 10))
        await asyncio.sleep(0.02)
        with pytest.raises(Refusal, match="ending") as refused:
            await queue.ask([4], [1])
        work.going.set()
        await closing
        return [*await asyncio.gather(*asked), refused.value.status]

    assert asyncio.run(run()) == [[2], [4], [6], 503]
