"""Text files as streams of lines: UTF-8, gzip or standard input, never held in memory as a whole.

Error messages name file and line as editors and compilers do: `my.jsonl:17: field 'text' is missing; it has 'body'`.
"""

from __future__ import annotations

import codecs
import contextlib
import gzip
import json
import re
import sys
import zlib
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, cast

from numerate.errors import NumerateError
from numerate.training.engines.parts import FilePart
from numerate.training.engines.places import PlaceError, open_place

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from pathlib import Path

__all__ = [
    "Batch", "LongLine", "SourceError", "batches", "batches_and_long_lines", "field_value", "numbered_lines",
    "parsed_json", "text_field", "title_of",
]  # fmt: skip

BATCH_BYTES = 256 * 1024
"""Large enough to keep a worker process busy, small enough that a few dozen batches in flight cost little memory."""
BATCH_LINES = 2_000
LONG_LINE = 1 << 20
"""Number of bytes from which `find` and `stats` read a line in windows."""
LONGEST_LINE = 256 << 20
"""Maximum number of bytes of a line that has to be read as a whole."""
PIECE_BYTES = 1 << 20
MAX_DEPTH = 200
"""Maximum nesting of JSON records."""
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


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


@dataclass(frozen=True, slots=True)
class LongLine:
    """A line that is too long for a batch, as pieces that can be read once; `index` is that of the line, from 0."""

    title: str
    index: int
    pieces: Iterator[bytes]

    def decoded(self) -> Iterator[str]:
        """The pieces as text, without the line end.

        Raises:
            SourceError: A piece is not UTF-8.
        """
        decode = codecs.getincrementaldecoder("utf-8")().decode
        offset, waiting = 0, ""
        try:
            for raw in self.pieces:
                text = waiting + decode(raw.removeprefix(b"\xef\xbb\xbf") if self.index == offset == 0 else raw)
                offset += len(raw)
                # A carriage return may belong to the line end in the next piece.
                cut = len(text.removesuffix("\n").removesuffix("\r"))
                waiting, text = text[cut:], text[:cut]
                yield text
            decode(b"", True)
        except UnicodeDecodeError as error:
            raise SourceError(
                f"{self.title}:{self.index + 1}: a byte near offset {offset + error.start} is not UTF-8; "
                "convert the file to UTF-8"
            ) from None
        if waiting.strip("\r\n"):
            yield waiting


def title_of(path: str | Path | FilePart) -> str:
    """The name of a file in messages."""
    return "standard input" if str(path) == "-" else str(path)


def batches(path: str | Path | FilePart, on_position: Callable[[int], None] | None = None) -> Generator[Batch]:
    """Reads a file, or a part of it, in batches of whole lines.

    The path `-` is standard input, and `*.gz` is decompressed. `on_position` is called with the number of bytes read so
    far after each batch.

    Raises:
        SourceError: The file cannot be opened, or is damaged; all lines before the damage have been yielded.
    """
    for batch in batches_and_long_lines(path, on_position, LONGEST_LINE):
        if isinstance(batch, LongLine):
            raise SourceError(
                f"{batch.title}:{batch.index + 1}: the line has more than {LONGEST_LINE >> 20} MB; "
                "write one text per line"
            )
        yield batch


def batches_and_long_lines(
    path: str | Path | FilePart, on_position: Callable[[int], None] | None = None, longest: int | None = None
) -> Generator[Batch | LongLine]:
    """Reads a file as `batches` does; a line of more than `longest` bytes is a `LongLine`, never in memory as a whole.

    `longest` is `LONG_LINE` by default.

    The rest of a `LongLine` is skipped when the next batch is asked for.
    """
    longest = LONG_LINE if longest is None else longest
    with _opened(path) as (stream, raw):
        first, fault, line = path.first if isinstance(path, FilePart) else 0, None, b"more"
        while line and fault is None:
            lines: list[bytes] = []
            size = 0
            is_long = False
            try:
                while line and size < BATCH_BYTES and len(lines) < BATCH_LINES:
                    line = stream.readline(longest + 1)
                    if len(line) > longest and not line.endswith(b"\n"):
                        is_long = True
                        break
                    lines += [line] if line else []
                    size += len(line)
            except (OSError, EOFError, zlib.error) as error:
                last = first + len(lines)
                place = f":{last}: cannot be read after this line" if last else ": cannot be read"
                fault = SourceError(f"{title_of(path)}{place}: {error}")
            if lines:
                yield Batch(title_of(path), first, lines)
                first += len(lines)
            if is_long:
                pieces = _rest_of_line(line, stream, f"{title_of(path)}:{first + 1}")
                yield LongLine(title_of(path), first, pieces)
                for _ in pieces:
                    pass
                first += 1
            if (lines or is_long) and on_position is not None and raw.seekable():
                on_position(raw.tell())
        if fault is not None:
            raise fault


def _rest_of_line(start: bytes, stream: IO[bytes], where: str) -> Iterator[bytes]:
    """A line from its first bytes on, in pieces."""
    piece = start
    while piece:
        yield piece
        if piece.endswith(b"\n"):
            return
        try:
            piece = stream.readline(PIECE_BYTES)
        except (OSError, EOFError, zlib.error) as error:
            raise SourceError(f"{where}: cannot be read to its end: {error}") from None


def numbered_lines(
    path: str | Path | FilePart, on_position: Callable[[int], None] | None = None
) -> Iterator[tuple[int, str]]:
    """Line numbers, from 1, and lines of a file; see `batches` and `Batch.decoded`."""
    for batch in batches(path, on_position):
        yield from batch.decoded()


def parsed_json(text: str, where: str, *, any_text: bool = False) -> Any:
    r"""The value of a JSON text.

    Args:
        text: The text.
        where: Its place in messages, such as `my.jsonl:17`.
        any_text: Allow lone surrogates (`"\ud800"`), which no tokenizer and no file can hold, any depth, and keys
            that occur twice.

    Raises:
        SourceError: It is not JSON; `where` is quoted, and the line if there are several.
    """
    try:
        value = json.loads(text, object_pairs_hook=None if any_text else _unique)
        if not any_text:
            _check_depth(value, text, where)
            if _SURROGATE.search(text):
                json.dumps(value, ensure_ascii=False).encode()
        return value
    except UnicodeEncodeError as error:
        code = f"\\u{ord(error.object[error.start]):04x}"
        raise SourceError(f"{where}: {code} is half of a character (a lone surrogate); correct or remove it") from None
    except json.JSONDecodeError as error:
        place = f"{where}:{error.lineno}" if "\n" in text else where
        raise SourceError(f"{place}: not JSON: {error.msg} at column {error.colno}") from None
    except _KeyTwiceError as error:
        key = repr(str(error))[:60]
        raise SourceError(f"{where}: the key {key} occurs twice in one object; rename or remove one") from None
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{where}: not JSON: {error}") from None


class _KeyTwiceError(NumerateError, ValueError):
    """A JSON object with two equal keys, of which one value would be lost."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _KeyTwiceError(next(key for index, (key, _) in enumerate(pairs) if key in dict(pairs[:index])))
    return found


def _check_depth(value: Any, text: str, where: str) -> None:
    """Refuses values nested too deeply for the functions that walk through them."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH + 1:
            raise SourceError(f"{where}: nested more than {MAX_DEPTH} levels deep; flatten it")
        inner = (each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list))
        level = [item for items in inner for item in items if isinstance(item, dict | list)]


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
def _opened(part: str | Path | FilePart) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """The stream of decompressed bytes, and the underlying file whose position measures progress."""
    path = part.path if isinstance(part, FilePart) else str(part)
    if path == "-":
        yield sys.stdin.buffer, sys.stdin.buffer
        return
    try:
        raw = open_place(path)
    except PlaceError as error:
        raise SourceError(str(error)) from None
    except FileNotFoundError:
        raise SourceError(f"{path!r}: no such file") from None
    except IsADirectoryError:
        raise SourceError(f"{path!r} is a folder; give a file") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL character in the path
        raise SourceError(f"{path!r} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    with raw, gzip.GzipFile(fileobj=raw) if path.endswith(".gz") else contextlib.nullcontext(raw) as stream:
        if isinstance(part, FilePart) and (part.start or part.end is not None):
            yield cast("IO[bytes]", _Range(raw, part)), raw
        else:
            yield cast("IO[bytes]", stream), raw


class _Range:
    """The lines of a file that begin in a range of bytes; only `readline` is needed."""

    def __init__(self, raw: IO[bytes], part: FilePart) -> None:
        self._raw, self._end = raw, part.end
        self._at_start = True
        self._position = part.start
        if part.start:  # a line that began before belongs to the part before
            raw.seek(part.start - 1)
            while (piece := raw.readline(PIECE_BYTES)) and not piece.endswith(b"\n"):
                self._position += len(piece)
            self._position += len(piece) - 1

    def readline(self, size: int) -> bytes:
        if self._at_start and self._end is not None and self._position >= self._end:
            return b""
        line = self._raw.readline(size)
        self._position += len(line)
        self._at_start = line.endswith(b"\n")
        return line
