"""The models behind the page of `numerate play`: here, one call at a time, or in processes of their own.

The page's server answers all users in one process, whose many small steps a model would have to take turns with: one
request took twice as long there as alone. In processes of their own, models use all cores, and a process that becomes
free answers together what waits.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections import deque
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.apps.fill import load_model
from numerate.apps.play_answers import PageDesk, is_short
from numerate.errors import BadInput
from numerate.training.worker_processes import end_with_parent

if TYPE_CHECKING:
    from collections.abc import Sequence

    Asked = tuple[str, tuple[Any, ...]]

__all__ = ["ModelProcesses", "ModelsHere"]

MOST_PROCESSES = 4
"""Each has its own copy of the models."""
MOST_TOGETHER = 16
"""Requests that are answered together; more would keep the first of them waiting."""
_LOADED: dict[str, PageDesk] = {}
"""In a process of the pool: its models."""


class ModelsHere:
    """Models of this process; all calls share one thread, because a `NumberModel` keeps state during a pass.

    Args:
        models: One or two models.
        names: Their names on the page.
    """

    def __init__(self, models: Sequence[Any], names: Sequence[str]) -> None:
        self._desk = PageDesk(models, names)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="models")

    def __call__(self, what: str, *arguments: Any) -> str:
        """The HTML of an answer: `words` (text, number, power of ten), `densities` (text) or `checked` (text, path)."""
        (answer,) = self._thread.submit(self._desk.answer, [(what, arguments)]).result()
        if isinstance(answer, Exception):
            raise answer
        return answer


class ModelProcesses:
    """The same models in several processes, each with its share of the cores; one that dies is started again.

    Args:
        paths: Folders or Hub ids of one or two models.
        processes: By default one for each core, at most four.

    Raises:
        BadInput: A model cannot be loaded.
    """

    def __init__(self, paths: Sequence[str], processes: int | None = None) -> None:
        for path in paths:
            load_model(path)  # what is wrong is told here and now
        cores = os.cpu_count() or 1
        count = processes or min(cores, MOST_PROCESSES)
        self._settings = (count, list(paths), max(1, cores // count))
        self._restarting = threading.Lock()
        self._pool = self._started()
        self._waiting: deque[tuple[Asked, Future[str]]] = deque()
        self._changed = threading.Condition()
        self._closing = False
        for _ in range(count):
            threading.Thread(target=self._serve, name="models", daemon=True).start()

    def __call__(self, what: str, *arguments: Any) -> str:
        """As `ModelsHere`."""
        answer: Future[str] = Future()
        with self._changed:
            self._waiting.append(((what, arguments), answer))
            self._changed.notify()
        return answer.result()

    def close(self) -> None:
        """Ends the processes."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._pool.shutdown(cancel_futures=True)

    def _serve(self) -> None:
        """Of a thread for each process: it hands over what waits, as often as the process is free."""
        while batch := self._taken():
            for (_, future), answer in zip(batch, self._answered([asked for asked, _ in batch]), strict=True):
                if isinstance(answer, Exception):
                    future.set_exception(answer)
                else:
                    future.set_result(answer)

    def _taken(self) -> list[tuple[Asked, Future[str]]]:
        """The requests that have waited longest: a long one alone, or several short ones; nothing at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closing)
            if self._closing:
                return []
            batch = [self._waiting.popleft()]
            while self._waiting and len(batch) < MOST_TOGETHER:
                if not all(is_short(what, *given) for what, given in (batch[0][0], self._waiting[0][0])):
                    break
                batch.append(self._waiting.popleft())
            return batch

    def _answered(self, asked: Sequence[Asked]) -> list[Any]:
        """The answers; if there are none, each request is asked again alone: only one of them may be to blame."""
        try:
            return self._asked(asked)
        except Exception:  # whatever it is, those who wait must be told
            return [self._answered_alone(each) for each in asked]

    def _answered_alone(self, asked: Asked) -> Any:
        try:
            return self._asked([asked])[0]
        except BrokenProcessPool:
            return BadInput("the process of the model ended twice, perhaps out of memory; try a shorter text")
        except Exception as error:
            return error

    def _asked(self, asked: Sequence[Asked]) -> list[Any]:
        pool = self._pool
        try:
            return pool.submit(_answer, asked).result()
        except BrokenProcessPool:
            with self._restarting:
                if self._pool is pool and not self._closing:
                    self._pool = self._started()
            raise

    def _started(self) -> ProcessPoolExecutor:
        count, paths, threads = self._settings
        context = multiprocessing.get_context("spawn")  # a fork would copy the server's threads and locks
        pool = ProcessPoolExecutor(count, context, initializer=_begin, initargs=(paths, threads))
        for started in [pool.submit(_is_ready) for _ in range(count)]:  # the first user need not wait for the models
            started.result()
        return pool


def _begin(paths: list[str], threads: int) -> None:
    import torch

    end_with_parent()
    torch.set_num_threads(threads)
    _LOADED["models"] = PageDesk([load_model(path) for path in paths], [Path(path).name for path in paths])


def _is_ready() -> bool:
    time.sleep(0.1)  # so that no process takes the place of another one that has not begun
    return bool(_LOADED)


def _answer(asked: Sequence[Asked]) -> list[Any]:
    return _LOADED["models"].answer(asked)
