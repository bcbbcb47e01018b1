"""The models behind the page of `numerate play`: here, one call at a time, or in processes of their own.

The page's server answers all users in one process, whose many small steps a model would have to take turns with: one
request took twice as long there as alone. In processes of their own, models use all cores.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.apps.fill import load_model
from numerate.apps.play_parts import checked_html, densities_html, words_html
from numerate.errors import BadInput
from numerate.training.worker_processes import end_with_parent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["ModelProcesses", "ModelsHere"]

MOST_PROCESSES = 4
"""Each has its own copy of the models."""
_LOADED: dict[str, ModelsHere] = {}
"""In a process of the pool: its models."""


class ModelsHere:
    """Models of this process; all calls share one thread, because a `NumberModel` keeps state during a pass.

    Args:
        models: One or two models.
        names: Their names on the page.
    """

    def __init__(self, models: Sequence[Any], names: Sequence[str]) -> None:
        judge = _judge(models[0])
        self._answers: dict[str, Callable[..., str]] = {
            "words": lambda text, chosen, power: words_html(text, chosen, power, models, names),
            "densities": lambda text: densities_html(text, models, names),
            "checked": lambda text, path: checked_html(text, path, judge),
        }
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="models")

    def __call__(self, what: str, *arguments: Any) -> str:
        """The HTML of an answer: `words` (text, number, power of ten), `densities` (text) or `checked` (text, path)."""
        return self._thread.submit(self._answers[what], *arguments).result()


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
        self._pool = self._started()

    def __call__(self, what: str, *arguments: Any) -> str:
        """As `ModelsHere`."""
        for _ in range(2):
            pool = self._pool
            try:
                return pool.submit(_answer, what, *arguments).result()
            except BrokenProcessPool:
                if self._pool is pool:
                    self._pool = self._started()
        raise BadInput("the process of the model ended twice, perhaps out of memory; try a shorter text")

    def close(self) -> None:
        """Ends the processes."""
        self._pool.shutdown(cancel_futures=True)

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
    _LOADED["models"] = ModelsHere([load_model(path) for path in paths], [Path(path).name for path in paths])


def _is_ready() -> bool:
    time.sleep(0.1)  # so that no process takes the place of another one that has not begun
    return bool(_LOADED)


def _answer(what: str, *arguments: Any) -> str:
    return _LOADED["models"](what, *arguments)


def _judge(model: Any) -> Any:
    """The checker of plausibility with a model; None for a model without a sense of numbers."""
    from numerate.apps.plausible import PlausibilityChecker

    try:
        return PlausibilityChecker(model, false_alarms=0.01)
    except BadInput:
        return None
