"""Checks many files, with several processes: texts and small tables go to workers as long as they keep up."""

from __future__ import annotations

import contextlib
import gc
import logging
import multiprocessing
from collections import deque
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from numerate.apps import check as checking
from numerate.apps.check_outcome import Outcome, excerpt_of
from numerate.apps.documents import Document, Problem
from numerate.errors import BadInput, NumerateError
from numerate.training.worker_processes import end_with_parent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numerate.apps.check import CheckOptions
    from numerate.apps.check_state import CheckState
    from numerate.apps.findings import Checker, Finding

__all__ = ["check_files"]

_log = logging.getLogger("numerate")
WAITING_PER_WORKER = 3
"""Documents that a worker has got and not finished; this process checks the next ones itself."""
MOST_WAITING = 32
"""Documents that are kept until those before them are finished: some, so that nobody waits while workers start."""


def check_files(
    paths: Sequence[str],
    options: CheckOptions,
    *,
    model: Checker | None = None,
    processes: int = 1,
    on_position: Callable[[int], None] | None = None,
    excerpts: bool = False,
    state: CheckState | None = None,
) -> Outcome:
    """Checks files one after the other; a file that cannot be opened is a problem, and the others are still checked.

    The outcome does not depend on the number of processes, nor on an interruption. This process is one of them: it
    reads the files and checks what the others have no time for. A model runs in this process, and the rules then have
    `processes` others.

    Args:
        paths: The files; `-` is standard input.
        options: What is checked.
        model: A checker of plausibility.
        processes: Number of processes.
        on_position: Called with the number of bytes read of the current file.
        excerpts: Whether the outcome has parts of the files, for reports.
        state: Files that are done already; those that are done now are added.

    Raises:
        BadInput: A worker process died.
    """
    outcome = Outcome()
    workers = processes if model is not None and processes > 1 else processes - 1
    with _rare_collections(), _pool(workers, processes) as pool:
        run = _Run(options, model, pool, WAITING_PER_WORKER * workers, excerpts)
        for path, done in run.files(paths, state, on_position):
            outcome.add(done)
            if state is not None:
                state.add(path, done)
    return outcome


RARELY = (50_000, 20, 20)
"""Thresholds of the garbage collector: there are many small objects that refer to no other, and need not be looked
through so often."""


@contextlib.contextmanager
def _rare_collections() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(*RARELY)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _begin() -> None:
    """Of a worker."""
    end_with_parent()
    gc.freeze()
    gc.set_threshold(*RARELY)


@contextlib.contextmanager
def _pool(workers: int, processes: int) -> Iterator[ProcessPoolExecutor | None]:
    if not workers:
        yield None
        return
    # Spawned, not forked: a fork copies threads and locks of the caller's libraries.
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initializer=_begin)
    try:
        yield pool
    except BrokenProcessPool:
        raise BadInput(f"a worker process died, perhaps out of memory; try less than --processes {processes}") from None
    finally:
        pool.shutdown(cancel_futures=True)


_Found = tuple[list["Finding"], int, "Problem | None"]
"""Findings, the count of numbers, and what went wrong."""


@dataclass
class _Job:
    """A document on its way: findings of rules and the count of numbers, from a worker or at hand, and the model's."""

    path: str
    document: Document
    piece: int
    rules: Future[_Found] | _Found
    judged: list[Finding]


@dataclass
class _End:
    """All of a file has been read; `known` is its outcome of an earlier run."""

    path: str
    known: Outcome | None = None


@dataclass
class _Run:
    """The files of one run, as jobs that are finished in order."""

    options: CheckOptions
    model: Checker | None
    pool: ProcessPoolExecutor | None
    most: int
    excerpts: bool
    given: list[Future[_Found]] = field(default_factory=list)

    def files(
        self, paths: Sequence[str], state: CheckState | None, on_position: Callable[[int], None] | None
    ) -> Iterator[tuple[str, Outcome]]:
        """Each file and its outcome, in order."""
        waiting: deque[_Job | Problem | _End] = deque()
        current = Outcome()
        for item in self._items(paths, state, on_position):
            waiting.append(item)
            while waiting and (self.pool is None or len(waiting) > MOST_WAITING or not _is_pending(waiting[0])):
                first = waiting.popleft()
                if isinstance(first, _End):
                    yield first.path, first.known or current
                    current = Outcome()
                else:
                    self._finish(first, current)
        for item in reversed(waiting):
            self._take_back(item)
        for item in waiting:
            if isinstance(item, _End):
                yield item.path, item.known or current
                current = Outcome()
            else:
                self._finish(item, current)

    def _items(
        self, paths: Sequence[str], state: CheckState | None, on_position: Callable[[int], None] | None
    ) -> Iterator[_Job | Problem | _End]:
        for path in paths:
            known = state.known(path) if state is not None else None
            if known is not None:
                yield _End(path, known)
                continue
            checkers = checking.make_checkers(self.options)
            piece = 0
            for document in _readable(path, self.options, checkers, on_position):
                if isinstance(document, Problem):
                    yield document
                    continue
                yield self._job(path, document, piece, checkers)
                piece += 1
            yield _End(path)

    def _job(self, path: str, document: Document, piece: int, checkers: Sequence[Checker]) -> _Job:
        is_alone = document.kind == "text" or (document.first_row == 0 and document.is_last)
        if self.pool is None or not is_alone:
            found = _found(document, checkers, self.options, piece)
        elif self._workers_wait():
            found = self.pool.submit(_work, document, self.options, piece)
            self.given.append(found)
        else:
            found = _work(document, self.options, piece)
        judged = []
        if self.model is not None:
            judged = checking.placed_findings(document, [self.model], self.options, piece)
        return _Job(path, document, piece, found, judged)

    def _workers_wait(self) -> bool:
        """Whether the workers may run out of documents; with a model, all documents are theirs."""
        self.given = [each for each in self.given if not each.done()]
        return self.model is not None or len(self.given) < self.most

    def _take_back(self, item: _Job | Problem | _End) -> None:
        """Checks a document here that no worker has begun, as the last ones of a run."""
        if isinstance(item, _Job) and isinstance(item.rules, Future) and item.rules.cancel():
            item.rules = _work(item.document, self.options, item.piece)

    def _finish(self, item: _Job | Problem, outcome: Outcome) -> None:
        if isinstance(item, Problem):
            outcome.problems.append(item)
            return
        rules, numbers, failure = item.rules.result() if isinstance(item.rules, Future) else item.rules
        if failure is not None:
            outcome.problems.append(failure)
        found = checking.one_for_a_place([*rules, *item.judged])
        outcome.documents += 1
        outcome.findings += found
        outcome.numbers += numbers
        if self.excerpts and (excerpt := excerpt_of(item.document, item.piece, found)) is not None:
            outcome.show(excerpt)


def _is_pending(item: _Job | Problem | _End) -> bool:
    return isinstance(item, _Job) and isinstance(item.rules, Future) and not item.rules.done()


def _readable(
    path: str, options: CheckOptions, checkers: Sequence[Checker], on_position: Callable[[int], None] | None
) -> Iterator[Document | Problem]:
    try:
        yield from checking.fitted_documents(path, options, checkers, on_position)
    except NumerateError as error:
        yield Problem(path, str(error).removeprefix(f"{path}: "), fatal=True)


@lru_cache(maxsize=4)
def _checkers(options: CheckOptions) -> list[Checker]:
    return checking.make_checkers(options)


def _work(document: Document, options: CheckOptions, piece: int) -> _Found:
    return _found(document, _checkers(options), options, piece)


def _found(document: Document, checkers: Sequence[Checker], options: CheckOptions, piece: int) -> _Found:
    """Findings, and how many numbers there are: counted where they have been read, since reading them takes longest.

    A rule that fails must not end the check of a thousand files: its document is named.
    """
    try:
        return checking.placed_findings(document, checkers, options, piece), checking.count_numbers(document), None
    except (NumerateError, MemoryError):
        raise
    except Exception as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        _log.debug("%s", document.source, exc_info=True)
        line = document.lines[0] if document.lines else None
        return (
            [],
            0,
            Problem(document.source, f"a part was not checked, by a fault of numerate ({said}): report it", line),
        )
