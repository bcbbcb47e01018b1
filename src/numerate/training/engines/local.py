"""Engines: a function of one part, run for many parts, with the results in the order of the parts."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
from collections import deque
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from numerate.errors import BadInput, NumerateError
from numerate.registry import load_plugin, loaded_plugins
from numerate.training.worker_processes import end_with_parent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["ENGINES", "Engine", "Guarded", "Here", "LocalEngine", "engine_of", "is_standard_input"]

ENGINES = ("local", "ray")
WAITING_PER_PROCESS = 3
"""Parts in flight per process: enough to keep it busy, few enough to bound the memory."""
MAX_DEATHS = 3
"""Deaths of workers over one part before the command gives up."""
P = TypeVar("P")
R = TypeVar("R")


class Engine(Protocol):
    """Runs a function on parts."""

    processes: int

    def results(self, work: Callable[[P], R], parts: Iterable[P | Here[R]]) -> Iterator[R]:
        """The result of each part, in the order of the parts.

        `work` is a pure function: a part whose worker dies is given to another one. Function, parts and results travel
        between processes.

        Raises:
            NumerateError: That of the first part with an error, after the results of all parts before it.
        """
        ...


@dataclass(frozen=True, slots=True)
class Here(Generic[R]):
    """A part that the calling process works on itself, in its turn; it may have several results."""

    run: Callable[[], Iterator[R]]


def is_standard_input(part: Any) -> bool:
    """Whether a part is standard input, which only the calling process can read: that of a worker is empty.

    Example:
        >>> is_standard_input("-"), is_standard_input("texts.txt")
        (True, False)
    """
    return getattr(part, "path", part) == "-"


@dataclass(frozen=True)
class Guarded(Generic[P, R]):
    """A function of a part whose errors on purpose are results: (result, None) or (None, message)."""

    work: Callable[[P], R]
    plugins: tuple[str, ...] = field(default_factory=lambda: tuple(loaded_plugins()))

    def __call__(self, part: P) -> tuple[R | None, str | None]:
        """The result of a part, or the message of its error."""
        for file in self.plugins:
            if file not in loaded_plugins():
                load_plugin(file)
        try:
            return self.work(part), None
        except NumerateError as error:
            return None, str(error)


class LocalEngine:
    """Worker processes of this machine; with one process, all is done in this one.

    A worker that dies, such as one that the system ends for its memory, is replaced, and its parts are worked on again.

    Args:
        processes: Number of processes.

    Example:
        >>> list(LocalEngine().results(len, ["a", "bcd", ""]))
        [1, 3, 0]
    """

    def __init__(self, processes: int = 1) -> None:
        self.processes = processes

    def results(self, work: Callable[[P], R], parts: Iterable[P | Here[R]]) -> Iterator[R]:
        """The result of each part, in the order of the parts; see `Engine`."""
        if self.processes > 1:
            yield from _Pool(work, self.processes).results(parts)
            return
        for part in parts:
            if isinstance(part, Here):
                yield from part.run()
            else:
                yield work(part)


class _Pool(Generic[P, R]):
    """One run of a pool of processes, which are started again when one of them dies."""

    def __init__(self, work: Callable[[P], R], processes: int) -> None:
        self.processes = processes
        self.work = Guarded(work)
        self.pool = self._started()
        self.waiting: deque[tuple[P, Future[tuple[Any, str | None]]]] = deque()

    def results(self, parts: Iterable[P | Here[R]]) -> Iterator[R]:
        fault: NumerateError | None = None
        iterator = iter(parts)
        try:
            while True:
                try:
                    part = next(iterator, None)
                except NumerateError as error:  # the results of parts before the error are still given
                    part, fault = None, error
                if part is None:
                    break
                if isinstance(part, Here) or is_standard_input(part):
                    yield from self._finished(0)
                    yield from part.run() if isinstance(part, Here) else [self.work.work(part)]
                    continue
                self.waiting.append((part, self._submitted(part)))
                yield from self._finished(WAITING_PER_PROCESS * self.processes - 1)
            yield from self._finished(0)
            if fault is not None:
                raise fault
        finally:
            self.pool.shutdown(cancel_futures=True)

    def _finished(self, most: int) -> Iterator[R]:
        """The results of the first parts, until at most `most` are waiting."""
        deaths = 0
        while len(self.waiting) > most:
            try:
                result, fault = self.waiting[0][1].result()
            except BrokenProcessPool:
                deaths += 1
                if deaths > MAX_DEATHS:
                    raise BadInput(
                        f"worker processes died {deaths} times, perhaps out of memory; "
                        f"try less than --processes {self.processes}"
                    ) from None
                self._start_again()
                continue
            deaths = 0
            self.waiting.popleft()
            if fault is not None:
                raise BadInput(fault)
            yield result

    def _submitted(self, part: P) -> Future[tuple[Any, str | None]]:
        try:
            return self.pool.submit(self.work, part)
        except BrokenProcessPool:
            self._start_again()
            return self.pool.submit(self.work, part)

    def _start_again(self) -> None:
        self.pool.shutdown(cancel_futures=True)
        self.pool = self._started()
        for place, (part, future) in enumerate(self.waiting):
            if not future.done() or future.cancelled() or future.exception() is not None:
                self.waiting[place] = part, self.pool.submit(self.work, part)

    def _started(self) -> ProcessPoolExecutor:
        # Spawned, not forked: a fork copies threads and locks of the caller's libraries.
        return ProcessPoolExecutor(self.processes, multiprocessing.get_context("spawn"), initializer=_begin)


def _begin() -> None:
    """Starts a worker process: it ends with its parent, and takes one core."""
    end_with_parent()
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


@contextlib.contextmanager
def engine_of(name: str, processes: int, address: str | None = None) -> Iterator[Engine]:
    """The engine of the options `--engine`, `--processes` and `--ray-address`.

    Raises:
        BadInput: There is no such engine, an address without Ray, or Ray is missing or does not answer.
    """
    if name not in ENGINES:
        raise BadInput(f"--engine {name!r}: give {' or '.join(ENGINES)}")
    if name == "local":
        if address is not None:
            raise BadInput(f"--ray-address {address!r} needs --engine ray")
        yield LocalEngine(processes)
        return
    from numerate.training.engines.ray_cluster import ray_engine

    with ray_engine(address, processes) as engine:
        yield engine
