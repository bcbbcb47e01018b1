"""Text files as streams of lines: UTF-8, gzip or standard input, never held in memory as a whole.

Error messages name file and line as editors and compilers do: `my.jsonl:17: field 'text' is missing; it has 'body'`.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from numerate.errors import NumerateError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

__all__ = ["Batch", "SourceError", "batches", "field_value", "numbered_lines", "parsed_json", "text_field", "title_of"]

BATCH_BYTES = 256 * 1024
"""Large enough to keep a worker process busy, small enough that a few dozen batches in flight cost little memory."""
BATCH_LINES = 2_000


class SourceError(NumerateError, ValueError):
    """Data that cannot be read; the message is one line that names file, line and field."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive lines of a file with their line ends, still as bytes, so that worker processes do the decoding.

    `title` is the file's name in messages, `first` the index of the first line, from 0.
    """

    title: str
    first: int
    lines: list[bytes]

    def decoded(self) -> Iterator[tuple[int, str]]:
        """Line numbers, from 1, and lines without line ends.

        Raises:
            SourceError: A line is not UTF-8; all lines before it have been yielded.
        """
        for number, raw in enumerate(self.lines, self.first + 1):
            if number == 1:
                raw = raw.removeprefix(b"\xef\xbb\xbf")  # byte-order mark
            try:
                line = raw.decode("utf-8")
            except UnicodeDecodeError as error:
                raise SourceError(
                    f"{self.title}:{number}: byte {raw[error.start]:#04x} at offset {error.start} is not UTF-8; "
                    "convert the file to UTF-8"
                ) from None
            # Only the line end is removed: a form feed or U+2028 belongs to the text, and offsets must stay true.
            yield number, line.removesuffix("\n").removesuffix("\r")


def title_of(path: str | Path) -> str:
    """The name of a file in messages."""
    return "standard input" if path == "-" else str(path)


def batches(path: str | Path, on_position: Callable[[int], None] | None = None) -> Generator[Batch]:
    """Reads a file in batches of whole lines.

    The path `-` is standard input, and `*.gz` is decompressed. `on_position` is called with the number of bytes read so
    far after each batch.

    Raises:
        SourceError: The file cannot be opened, or is damaged; all lines before the damage have been yielded.
    """
    with _opened(path) as (stream, raw):
        first, fault, line = 0, None, b"more"
        while line and fault is None:
            lines: list[bytes] = []
            size = 0
            try:
                while line and size < BATCH_BYTES and len(lines) < BATCH_LINES:
                    line = stream.readline()
                    lines += [line] if line else []
                    size += len(line)
            except (OSError, EOFError, zlib.error) as error:
                fault = SourceError(f"{title_of(path)}:{first + len(lines)}: cannot be read after this line: {error}")
            if lines:
                yield Batch(title_of(path), first, lines)
                first += len(lines)
                if on_position is not None and raw.seekable():
                    on_position(raw.tell())
        if fault is not None:
            raise fault


def numbered_lines(path: str | Path, on_position: Callable[[int], None] | None = None) -> Iterator[tuple[int, str]]:
    """Line numbers, from 1, and lines of a file; see `batches` and `Batch.decoded`."""
    for batch in batches(path, on_position):
        yield from batch.decoded()


def parsed_json(text: str, where: str) -> Any:
    """The value of a JSON text.

    Raises:
        SourceError: It is not JSON; `where` is quoted, and the line if there are several.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f"{where}:{error.lineno}" if "\n" in text else where
        raise SourceError(f"{place}: not JSON: {error.msg} at column {error.colno}") from None
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{where}: not JSON: {error}") from None


def field_value(row: Any, field: str, where: str) -> Any:
    """A field of a row, by its name or its dotted path.

    Example:
        >>> field_value({"body": {"text": "7 of 12"}}, "body.text", "my.jsonl:1")
        '7 of 12'
    """
    if isinstance(row, dict) and field in row:
        return row[field]
    found = row
    for part in field.split("."):
        if not isinstance(found, dict) or part not in found:
            has = ", ".join(repr(str(key)) for key in list(found)[:12]) if isinstance(found, dict) else "no fields"
            raise SourceError(f"{where}: field {field!r} is missing; it has {has[:200]}")
        found = found[part]
    return found


def text_field(row: Any, field: str, where: str) -> str:
    """A field of a row that must hold a text."""
    text = field_value(row, field, where)
    if not isinstance(text, str):
        raise SourceError(f"{where}: field {field!r} holds {type(text).__name__}, not a text")
    return text


@contextlib.contextmanager
def _opened(path: str | Path) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """The stream of decompressed bytes, and the underlying file whose position measures progress."""
    if path == "-":
        yield sys.stdin.buffer, sys.stdin.buffer
        return
    try:
        raw = Path(path).open("rb")  # noqa: SIM115 (closed by the `with` below)
    except FileNotFoundError:
        raise SourceError(f"{str(path)!r}: no such file") from None
    except IsADirectoryError:
        raise SourceError(f"{str(path)!r} is a folder; give a file") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL character in the path
        raise SourceError(f"{str(path)!r} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    with raw, gzip.GzipFile(fileobj=raw) if str(path).endswith(".gz") else contextlib.nullcontext(raw) as stream:
        yield cast("IO[bytes]", stream), raw
