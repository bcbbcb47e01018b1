"""Files as streams of texts: one line is one text, and no file is ever held whole."""

from __future__ import annotations

import contextlib
import gzip
import json
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from numerate.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from numerate.reading.base import Reader

__all__ = ["Batch", "batches", "checked_reader", "progress", "read_texts", "texts_of", "title_of"]

BATCH_BYTES = 256 * 1024
"""Large enough that a worker process is busy for a while, small enough that a few dozen in flight cost little."""
BATCH_LINES = 2_000
LONG_FILE = 8 * 1024 * 1024
"""From this size on a progress bar is worth the space it takes."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive lines of a file, still as bytes, so that decoding happens where the work is done."""

    first: int
    """Index of the first line in the file, from 0."""
    lines: list[bytes]


def title_of(path: str) -> str:
    """What messages call the file."""
    return "standard input" if path == "-" else path


def checked_reader(name: str, options: dict[str, Any]) -> Reader:
    """The registered reader of that name with `options`, or one clear line about what is wrong with them."""
    from numerate.reading import make_reader
    from numerate.registry import UnknownNameError

    try:
        return make_reader(name, **options)
    except UnknownNameError as error:
        raise BadInput(f"--reader: {error}") from None
    except TypeError:
        given = ", ".join(f"--{key}" for key in options)
        raise BadInput(f"reader {name!r} does not take {given}; leave it out, or use --reader standard") from None
    except ValueError as error:
        raise BadInput(f"reader {name!r}: {error}") from None


def batches(path: str, on_position: Callable[[int], None] | None = None) -> Generator[Batch]:
    """Reads a file (`-`: standard input; `*.gz`: unpacked on the way) in batches of whole lines.

    All that could be read is given out before a damaged file raises.

    Args:
        path: Where the file is.
        on_position: Told how many bytes of the file are behind us, after each batch.

    Raises:
        BadInput: The file cannot be opened, or breaks off.
    """
    with _opened(path) as (stream, raw):
        first, lines, size = 0, [], 0
        fault: BadInput | None = None
        while True:
            try:
                line = stream.readline()
            except (OSError, EOFError, zlib.error) as error:
                line = b""
                fault = BadInput(f"{title_of(path)}, after line {first + len(lines)}: the file is damaged ({error})")
            if line:
                lines.append(line)
                size += len(line)
            if lines and (not line or size >= BATCH_BYTES or len(lines) >= BATCH_LINES):
                yield Batch(first, lines)
                first, lines, size = first + len(lines), [], 0
                if on_position is not None and raw.seekable():
                    on_position(raw.tell())
            if fault is not None:
                raise fault
            if not line:
                return


def texts_of(batch: Batch, title: str, field: str | None = None) -> Iterator[str]:
    """Decodes a batch line by line.

    Args:
        batch: Lines of a file.
        title: The file's name, for messages.
        field: Each line is a JSON object, and this field of it is the text.

    Raises:
        BadInput: A line is not UTF-8, not JSON, or has no such field; the lines before it have been given out.
    """
    for offset, raw in enumerate(batch.lines):
        where = f"{title}, line {batch.first + offset + 1}"
        if batch.first + offset == 0:
            raw = raw.removeprefix(b"\xef\xbb\xbf")  # a byte-order mark is no part of the text
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            byte = raw[error.start]
            raise BadInput(
                f"{where}: byte {byte:#04x} at offset {error.start} is not UTF-8; convert the file to UTF-8 first"
            ) from None
        # Only the line's own end goes: a form feed or U+2028 inside is text, and offsets must stay true.
        line = line.removesuffix("\n").removesuffix("\r")
        yield line if field is None else _field_of(line, field, where)


def read_texts(path: str, field: str | None = None, on_position: Callable[[int], None] | None = None) -> Iterator[str]:
    """All texts of a file, one after the other; see `batches` and `texts_of`."""
    for batch in batches(path, on_position):
        yield from texts_of(batch, title_of(path), field)


@contextlib.contextmanager
def progress(paths: Iterable[str], *, quiet: bool = False) -> Iterator[Callable[[int], None]]:
    """A progress bar on standard error for long files, when a person looks; otherwise nothing.

    Gives a function that takes the bytes read of the current file; when they fall, the next file has begun.
    """
    sizes = [Path(path).stat().st_size for path in paths if path != "-" and Path(path).is_file()]
    if quiet or sum(sizes) < LONG_FILE or not sys.stderr.isatty():
        yield lambda position: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

    bar = Progress(
        BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn(), console=Console(stderr=True)
    )
    with bar:
        task = bar.add_task("reading", total=sum(sizes))
        last = 0

        def advance(position: int) -> None:
            nonlocal last
            bar.advance(task, position - last if position >= last else position)
            last = position

        yield advance


@contextlib.contextmanager
def _opened(path: str) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """The stream of unpacked bytes, and the file underneath whose position measures progress."""
    if path == "-":
        yield sys.stdin.buffer, sys.stdin.buffer
        return
    try:
        raw = Path(path).open("rb")  # noqa: SIM115 - closed by the `with` below
    except FileNotFoundError:
        raise BadInput(f"{path!r}: no such file; give a path, or - for standard input") from None
    except IsADirectoryError:
        raise BadInput(f"{path!r} is a folder; give a text file") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL character in the path
        raise BadInput(f"{path!r} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    with raw:
        if path.endswith(".gz"):
            with gzip.GzipFile(fileobj=raw) as unpacked:
                yield unpacked, raw  # type: ignore[misc]
        else:
            yield raw, raw


def _field_of(line: str, field: str, where: str) -> str:
    if not line.strip():
        return ""  # files of JSON lines often end with an empty one
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{where}: not JSON ({error}); --field {field!r} reads one JSON object a line") from None
    if not isinstance(record, dict) or field not in record:
        found = f"its fields are {', '.join(map(repr, record))}" if isinstance(record, dict) else "it is no object"
        raise BadInput(f"{where}: no field {field!r}; {found}")
    text = record[field]
    if not isinstance(text, str):
        raise BadInput(f"{where}: field {field!r} holds {type(text).__name__}, not a text")
    return text
