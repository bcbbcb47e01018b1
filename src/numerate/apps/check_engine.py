"""Checks many files on an engine: each file is a part, and the outcomes are put together in the order of the files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from numerate.apps import check as checking
from numerate.apps.check import CheckOptions, Outcome
from numerate.apps.documents import Problem
from numerate.errors import NumerateError
from numerate.training.engines.local import engine_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["check_on_engine"]


def check_on_engine(
    paths: Sequence[str], options: CheckOptions, engine: str, processes: int, address: str | None, *,
    excerpts: bool = False,
) -> Outcome:  # fmt: skip
    """Checks files as `check_files` does in one process, with the workers of an engine.

    Args:
        paths: Files; a file that cannot be read is a problem, and the others are still checked.
        options: What is checked.
        engine: `local` or `ray`.
        processes: Number of processes of a local engine or cluster.
        address: Address of a Ray cluster.
        excerpts: Whether the outcome has parts of the files, for reports.
    """
    whole = Outcome()
    with engine_of(engine, processes, address) as runner:
        for one in runner.results(_CheckFile(options, excerpts), list(paths)):
            whole.add(one)
    return whole


@dataclass(frozen=True)
class _CheckFile:
    """Checks one file; small and picklable, for worker processes."""

    options: CheckOptions
    excerpts: bool

    def __call__(self, path: str) -> Outcome:
        try:
            return checking.check_file(path, self.options, excerpts=self.excerpts)
        except NumerateError as error:
            return Outcome(problems=[Problem(path, str(error).removeprefix(f"{path}: "), fatal=True)])
