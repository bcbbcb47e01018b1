"""Checks many files on an engine: each file is a part, and the outcomes are put together in the order of the files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from numerate.apps import check as checking
from numerate.apps.check import CheckOptions, Outcome
from numerate.apps.documents import Problem
from numerate.errors import NumerateError
from numerate.training.engines.local import engine_of
from numerate.training.engines.places import PlaceError, files_below, is_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["check_on_engine", "expanded"]


def expanded(paths: Sequence[str]) -> list[str]:
    """The paths, with all their files instead of folders and addresses of folders.

    A place that cannot be listed stays as it is: it is named when it is opened, and the others are still checked.
    """
    found: list[str] = []
    for path in paths:
        try:
            found += files_below(path) if is_folder(path) else [path]
        except PlaceError:
            found.append(path)
    return found


def check_on_engine(
    paths: Sequence[str],
    options: CheckOptions,
    engine: str,
    processes: int,
    address: str | None,
    *,
    keep_texts: int = 0,
) -> Outcome:
    """Checks files as `check_files` does in one process, with the workers of an engine.

    Args:
        paths: Files; a file that cannot be read is a problem, and the others are still checked.
        options: What is checked.
        engine: `local` or `ray`.
        processes: Number of processes of a local engine or cluster.
        address: Address of a Ray cluster.
        keep_texts: Characters of each file's texts that are kept for reports.
    """
    whole = Outcome()
    with engine_of(engine, processes, address) as runner:
        for one in runner.results(_CheckFile(options, keep_texts), list(paths)):
            whole.add(one)
            for source, texts in one.texts.items():
                whole.texts.setdefault(source, []).extend(texts)
    return whole


@dataclass(frozen=True)
class _CheckFile:
    """Checks one file; small and picklable, for worker processes."""

    options: CheckOptions
    keep_texts: int

    def __call__(self, path: str) -> Outcome:
        try:
            return checking.check_file(path, self.options, keep_texts=self.keep_texts)
        except NumerateError as error:
            return Outcome(problems=[Problem(path, str(error).removeprefix(f"{path}: "), fatal=True)])
