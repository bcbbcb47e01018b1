"""Parts of files: whole files, or byte ranges of large ones that are cut where a line begins."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import IO, TYPE_CHECKING

from numerate.errors import BadInput
from numerate.training.engines.places import PlaceError, State, files_below, is_folder, open_place, state_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numerate.training.engines.local import Engine

__all__ = [
    "PART_BYTES", "FilePart", "check_unchanged", "content_of", "cut_files", "input_files", "lines_starting_in",
    "part_size",
]  # fmt: skip

PART_BYTES = 16 << 20
"""Bytes of a part: seconds of work, so that little is lost with a worker, and about one shard of encoded tokens."""
_CHUNK = 1 << 20
COUNTED_HERE = 64 << 20
"""Bytes whose lines are counted in this process: less than a second, and less than starting a worker."""


def part_size(given: int = 0) -> int:
    """Bytes of a part: `given`, or those of the environment variable `NUMERATE_PART_BYTES`, or `PART_BYTES`."""
    said = os.environ.get("NUMERATE_PART_BYTES", "")
    if not given and said and not (said.isdecimal() and int(said) > 0):
        raise BadInput(f"NUMERATE_PART_BYTES={said!r}: give a number of bytes, as {PART_BYTES}")
    return given or int(said or PART_BYTES)


@dataclass(frozen=True, slots=True)
class FilePart:
    """The lines of a file that begin in a range of its bytes.

    Attributes:
        path: Path or address of the file.
        start: First byte of the range.
        end: Byte after the range; None for all that follows.
        first: Number of lines before the range.
        number: Position of the part in its file.
        parts: Number of parts of the file.
        state: Size and version of the whole file when the parts were planned; None for standard input.
    """

    path: str
    start: int = 0
    end: int | None = None
    first: int = 0
    number: int = 0
    parts: int = 1
    state: State | None = None

    def __str__(self) -> str:
        return self.path

    @property
    def size(self) -> int:
        """Number of bytes; 0 if it is not known."""
        whole = self.state.size if self.state is not None else 0
        return max(0, (whole if self.end is None else self.end) - self.start)


def input_files(paths: Iterable[str]) -> list[tuple[str, str]]:
    """The files of paths, folders and buckets: each with its name below the folder, or its bare name.

    Raises:
        PlaceError: A folder does not exist or is empty, or two files have the same name.
    """
    found: list[tuple[str, str]] = []
    for path in paths:
        if is_folder(path):
            root = path.rstrip("/")
            below = files_below(path)
            # fsspec may write an address in another form: names are counted from the end of the folder's own.
            depth = len(PurePosixPath(root.partition("://")[2] or root).parts) if "://" in root else 0
            for file in below:
                name = (
                    "/".join(PurePosixPath(file.partition("://")[2]).parts[depth:])
                    if "://" in root
                    else PurePosixPath(file).relative_to(PurePosixPath(root)).as_posix()
                )
                found.append((file, name))
        else:
            found.append((path, path.rstrip("/").rpartition("/")[2]))
    names: dict[str, str] = {}
    for path, name in found:
        if name in names:
            raise PlaceError(f"{path} and {names[name]} have the same name: give them to two commands")
        names[name] = path
    return found


def cut_files(
    paths: Sequence[str], engine: Engine, *, part_bytes: int = 0, splittable: Callable[[str], bool] | None = None
) -> list[FilePart]:
    """The parts of files in the order of the files; the engine counts the lines before each part of a large file.

    Args:
        paths: Files; `-` is standard input.
        engine: Reads large files once, to count lines.
        part_bytes: Size of a part, see `part_size`.
        splittable: Whether a file may be cut at line ends; by default all that are not compressed.
    """
    part_bytes = part_size(part_bytes)
    cuttable = splittable or (lambda path: not path.endswith(".gz"))
    parts: list[FilePart] = []
    for path in paths:
        if path == "-":
            parts.append(FilePart(path))
            continue
        state = state_of(path)
        count = -(-state.size // part_bytes) if cuttable(path) else 1
        ends = [*range(part_bytes, part_bytes * (count - 1) + 1, part_bytes), None] if count > 1 else [None]
        begin = 0
        for number, end in enumerate(ends):
            parts.append(FilePart(path, begin, end, 0, number, len(ends), state))
            begin = end or 0
    return _with_first_lines(parts, engine)


def _with_first_lines(parts: list[FilePart], engine: Engine) -> list[FilePart]:
    counted = [part for part in parts if part.parts > 1]
    is_little = sum(part.size for part in counted) <= COUNTED_HERE
    numbers = map(lines_starting_in, counted) if is_little else engine.results(lines_starting_in, counted)
    counts = dict(zip(counted, numbers, strict=True))
    placed, first = [], 0
    for part in parts:
        first = 0 if part.number == 0 else first
        placed.append(replace(part, first=first))
        first += counts.get(part, 0)
    return placed


def lines_starting_in(part: FilePart) -> int:
    """Number of lines that begin in the range of a part."""
    check_unchanged(part)
    with _opened(part.path) as file:
        # A line begins behind each line end: the range is moved by one byte.
        start = max(0, part.start - 1)
        left = (part.end if part.end is not None else part.state.size if part.state else 0) - 1 - start
        file.seek(start)
        found = 1 if part.start == 0 and part.size else 0
        while left > 0 and (chunk := file.read(min(left, _CHUNK))):
            found += chunk.count(b"\n")
            left -= len(chunk)
    if left > 0:
        raise PlaceError(f"{part.path}: cut short while the command ran: {left} bytes are missing; start it again")
    return found


def _opened(path: str) -> IO[bytes]:
    """A file for reading; one that cannot be read is the error of its part, and the other parts are still made."""
    try:
        return open_place(path)
    except PlaceError:
        raise
    except (OSError, ValueError) as error:
        raise PlaceError(f"{path!r} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def content_of(part: FilePart) -> str:
    """SHA-256 of all bytes that determine the lines of a part, as hexadecimal digits."""
    found = hashlib.sha256()
    with _opened(part.path) as file:
        position = max(0, part.start - 1)
        file.seek(position)
        while part.end is None or position < part.end:
            chunk = file.read(_CHUNK if part.end is None else min(_CHUNK, part.end - position))
            if not chunk:
                return found.hexdigest()
            found.update(chunk)
            position += len(chunk)
        while (chunk := file.readline(_CHUNK)) and not chunk.endswith(b"\n"):  # the last line ends behind the range
            found.update(chunk)
        found.update(chunk)
    return found.hexdigest()


def check_unchanged(part: FilePart) -> None:
    """Checks that the file is still the one that the parts were planned for.

    Raises:
        PlaceError: It was changed, or deleted.
    """
    if part.state is not None and (now := state_of(part.path)) != part.state:
        raise PlaceError(
            f"{part.path}: changed while the command ran ({part.state.size:,} bytes, now {now.size:,}); start it again"
        )
