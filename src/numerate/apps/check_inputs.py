"""The files of a check: those that are named, and those of folders."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from numerate.apps.formats.opening import suffix_format
from numerate.errors import BadInput
from numerate.files import check_writable
from numerate.training.engines.places import PlaceError, files_below, is_folder, is_remote

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["check_outputs", "files_of", "may_be_read", "written_reports"]

_LEFT_OUT = frozenset(("node_modules", "__pycache__", "venv"))
"""Folders of programs; hidden ones are left out, too."""


def files_of(paths: Iterable[str], without: Iterable[str | None] = ()) -> tuple[list[str], list[str]]:
    """The files of some paths, each once: folders give the files below them whose names tell a format that is read.

    Hidden files and folders are left out, and the file that standard output goes to (`numerate check . > found.txt`);
    links to folders are not followed. The order is that of the names.

    Args:
        paths: Files and folders; `-` is standard input.
        without: Files that are not taken from folders, such as a report that is written there.

    Returns:
        The files, and those in folders that were left out because their names tell no format.
    """
    found: dict[str, str] = {}  # one name of each file -> the name that was given first
    reports = {Path(path).resolve() for path in without if path is not None}
    others: list[str] = []
    output = _standard_output()
    for path in paths:
        if is_remote(path):
            for place in _at(path):
                found.setdefault(place, place)
            continue
        if path in ("-", "") or not Path(path).is_dir():
            found.setdefault(*((path, path) if path in ("-", "") else _names(path)))
            continue
        for file in _below(path):
            if (reports and Path(file).resolve() in reports) or (output is not None and _is_same(file, output)):
                continue
            if suffix_format(file) is not None or Path(file).is_dir():
                found.setdefault(*_names(file))
            else:
                others.append(_plain(file))
    return list(found.values()), others


_REPORTS = {"html": ("html",), "sarif": ("json", None), "resume": ("json", "jsonl", None)}
"""The formats that names of reports tell."""


def written_reports(**outputs: str | None) -> list[str]:
    """The outputs whose names are those of reports: they are not checked when they lie in a folder that is.

    Another one, such as `--html notes.txt`, stays among the files of its folder, and `check_outputs` then refuses to
    write over it.

    Example:
        >>> written_reports(html="docs/check.html", sarif="docs/notes.md")
        ['docs/check.html']
    """
    return [each for name, each in outputs.items() if each is not None and suffix_format(each) in _REPORTS[name]]


def may_be_read(path: str) -> bool:
    """Whether a path is standard input, an address, or exists.

    Example:
        >>> may_be_read("-"), may_be_read("no/such/report.md")
        (True, False)
    """
    return path == "-" or is_remote(path) or Path(path).exists()


def check_outputs(paths: Iterable[str], **outputs: str | None) -> None:
    """Checks before the work that the files which are written are no folders and none of those that are checked.

    Args:
        paths: The files that are checked.
        **outputs: The files that are written, by their options; `-` is standard output.

    Raises:
        BadInput: An output is a folder, a file that is checked, another output, or cannot be written.
    """
    taken = {Path(path).resolve(): "is checked itself" for path in paths if may_be_read(path) and not is_remote(path)}
    for name, output in outputs.items():
        if output is None or (output == "-" and name == "sarif"):
            continue
        if output in ("", "-"):
            said = "is empty" if not output else "would be a file of that name: only --sarif writes to standard output"
            raise BadInput(f"--{name} {output!r} {said}; name a file")
        place = Path(output).resolve()
        wrong = "is a folder" if place.is_dir() else taken.get(place)
        if wrong is not None:
            raise BadInput(f"--{name} {output!r} {wrong}: name another file")
        try:
            check_writable(place.parent)
        except OSError as error:
            raise BadInput(f"--{name} {output!r} cannot be written: {error.strerror}; name another file") from None
        taken[place] = f"is written by --{name}, too"


def _below(folder: str) -> Iterator[str]:
    """The files of a folder, and last the folders in it that cannot be listed, which are named as problems."""
    unread: list[str] = []
    for place, folders, names in os.walk(folder, onerror=lambda error: unread.append(str(error.filename))):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _LEFT_OUT)
        for name in sorted(names):
            if not name.startswith("."):
                yield str(Path(place) / name)
    yield from unread


def _standard_output() -> os.stat_result | None:
    """What standard output is, if it is a file."""
    try:
        found = os.fstat(sys.stdout.fileno())
    except (AttributeError, OSError, ValueError):  # closed, or replaced by something in memory
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def _is_same(path: str, output: os.stat_result) -> bool:
    try:
        return os.path.samestat(Path(path).stat(), output)
    except OSError:
        return False


def _at(address: str) -> list[str]:
    """The files at an address; one that cannot be listed stays, and is named as a problem when it is opened."""
    try:
        if is_folder(address):
            return [place for place in files_below(address) if suffix_format(place) is not None]
    except PlaceError:
        pass
    return [address]


def _names(path: str) -> tuple[str, str]:
    """A name of a file that is one however it is given, and its name in reports; a link has a name of its own."""
    return str(Path(path).parent.resolve() / Path(path).name), _plain(path)


def _plain(path: str) -> str:
    """The path without `./`; `..` stays, as the folder before it may be a link."""
    return str(Path(path))
