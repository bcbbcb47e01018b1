"""Checks many files, with several processes: texts and small tables go to workers, large tables stay here."""

from __future__ import annotations

import multiprocessing
from collections import deque
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache
from typing import TYPE_CHECKING

from numerate.apps import check as checking
from numerate.apps.check import CheckOptions, Outcome
from numerate.apps.documents import Document, Problem
from numerate.errors import BadInput, NumerateError
from numerate.training.worker_processes import end_with_parent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numerate.apps.findings import Checker

__all__ = ["check_files"]

WAITING_PER_PROCESS = 3


def check_files(
    paths: Sequence[str],
    options: CheckOptions,
    *,
    model: Checker | None = None,
    processes: int = 1,
    on_position: Callable[[int], None] | None = None,
    keep_texts: int = 0,
) -> Outcome:
    """Checks files one after the other; a file that cannot be opened is a problem, and the others are still checked.

    The findings do not depend on the number of processes. A model runs in this process only.
    """
    if processes == 1 or model is not None:
        outcome = Outcome()
        for path in paths:
            try:
                one = checking.check_file(path, options, model=model, on_position=on_position, keep_texts=keep_texts)
            except NumerateError as error:
                outcome.problems.append(_unread(path, error))
                continue
            outcome.add(one)
            for source, texts in one.texts.items():
                outcome.texts.setdefault(source, []).extend(texts)
        return outcome
    # Spawned, not forked: a fork copies threads and locks of the caller's libraries.
    pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), initializer=end_with_parent)
    try:
        return _in_pool(pool, paths, options, processes, on_position, keep_texts)
    except BrokenProcessPool:
        raise BadInput(f"a worker process died, perhaps out of memory; try less than --processes {processes}") from None
    finally:
        pool.shutdown(cancel_futures=True)


def _in_pool(
    pool: ProcessPoolExecutor,
    paths: Sequence[str],
    options: CheckOptions,
    processes: int,
    on_position: Callable[[int], None] | None,
    keep_texts: int,
) -> Outcome:
    outcome = Outcome()
    waiting: deque[Future[Outcome]] = deque()
    kept = 0

    def finish(most: int) -> None:
        while len(waiting) > most:
            outcome.add(waiting.popleft().result())

    for path in paths:
        checkers = checking.make_checkers(options)
        for document in _readable(path, options, checkers, on_position):
            if isinstance(document, Problem):
                outcome.problems.append(document)
            elif document.kind == "text" or (document.first_row == 0 and document.is_last):
                waiting.append(pool.submit(_work, document, options))
                finish(WAITING_PER_PROCESS * processes)
            else:
                finish(0)
                outcome.add(_outcome(document, checkers, options))
            if isinstance(document, Document) and document.kind == "text" and kept < keep_texts:
                kept += len(document.text)
                outcome.texts.setdefault(document.source, []).append(document)
    finish(0)
    return outcome


def _readable(
    path: str, options: CheckOptions, checkers: Sequence[Checker], on_position: Callable[[int], None] | None
) -> Iterator[Document | Problem]:
    try:
        yield from checking.fitted_documents(path, options, checkers, on_position)
    except NumerateError as error:
        yield _unread(path, error)


def _unread(path: str, error: NumerateError) -> Problem:
    return Problem(path, str(error).removeprefix(f"{path}: "), fatal=True)


@lru_cache(maxsize=4)
def _checkers(options: CheckOptions) -> list[Checker]:
    return checking.make_checkers(options)


def _work(document: Document, options: CheckOptions) -> Outcome:
    return _outcome(document, _checkers(options), options)


def _outcome(document: Document, checkers: Sequence[Checker], options: CheckOptions) -> Outcome:
    found = checking.check_document(document, checkers, options)
    return Outcome(findings=found, documents=1, numbers=checking.count_numbers(document))
