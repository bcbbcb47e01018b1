"""Checks of an output before the work: it can be written, is not among the inputs, and is seen by all workers."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from numerate.files import check_writable
from numerate.training.engines.local import LocalEngine
from numerate.training.engines.places import PlaceError, delete_file, inside, is_folder, is_remote, write_place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.training.engines.local import Engine

__all__ = ["check_output"]


def check_output(folder: str, inputs: Sequence[str], engine: Engine) -> None:
    """Checks an output folder or address; a small file is written there and deleted.

    Without it, hours of work would end with an error for each part, or a second start would read the output of the
    first.

    Args:
        folder: Where files will be written; it need not exist.
        inputs: Files, folders and addresses that will be read.
        engine: Who does the work.

    Raises:
        PlaceError: Nothing can be written there, it lies in a folder that is read, or other processes do not see it.

    Example:
        >>> check_output("memory://found", [], LocalEngine(2))
        Traceback (most recent call last):
        numerate.training.engines.places.PlaceError: memory://found: workers do not see the memory of this process; ...
    """
    if not folder:
        raise PlaceError("'': an empty path; give a folder for the output")
    if not isinstance(engine, LocalEngine) or engine.processes > 1:
        for place in (folder, *inputs):
            if place.startswith("memory://"):
                raise PlaceError(f"{place}: workers do not see the memory of this process; use one, and --engine local")
    for given in inputs:
        if given != "-" and is_folder(given) and _is_read_with(folder, given):
            raise PlaceError(f"{folder} lies in {given}, and would be read at the next start; give another folder")
    if not is_remote(folder):
        try:
            check_writable(folder)
        except OSError as error:
            said = (error.strerror or str(error)).lower()
            raise PlaceError(f"{folder}: cannot be written: {said}") from None
        return
    probe = inside(folder, f".{os.getpid()}.part")
    try:
        write_place(probe, b"0")
    except PlaceError as error:
        raise PlaceError(f"{folder}: cannot be written: {str(error).removeprefix(f'{probe}: ')}") from None
    with contextlib.suppress(Exception):  # who may write need not be allowed to delete
        delete_file(probe)


def _is_read_with(folder: str, given: str) -> bool:
    """Whether the files of an output folder are among those of an input folder; hidden ones are not."""
    if is_remote(folder) != is_remote(given):
        return False
    whole, root = (
        PurePosixPath(place) if is_remote(place) else PurePosixPath(Path(place).resolve().as_posix())
        for place in (folder, given)
    )
    return whole.is_relative_to(root) and not any(part.startswith(".") for part in whole.relative_to(root).parts)
