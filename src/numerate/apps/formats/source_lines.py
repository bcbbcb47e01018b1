"""Lines of a binary stream: decoded leniently, with their numbers, and with the marks `numerate: ignore`."""

from __future__ import annotations

import gzip
import io
import re
import sys
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from numerate.apps.documents import Problem
from numerate.errors import BadInput
from numerate.training.engines.places import PlaceError, is_remote, open_place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Lines", "Source", "ignore_mark", "opened"]

_IGNORE = re.compile(r"numerate:\s*ignore\b(?:\s*[:\[(]?\s*([a-z][a-z, -]*[a-z]))?", re.IGNORECASE)
_ALONE = re.compile(
    r"[\s#/*<!>;%\[\]()-]*numerate:\s*ignore\b[^A-Za-z]*(?:[a-z][a-z, -]*[a-z])?[\s#/*<!>;%\[\]()-]*", re.IGNORECASE
)
MAX_LINE = 4 << 20
"""Longer lines are cut: no sentence is that long."""
SNIFFED = 8192


@dataclass
class Source:
    """An open file.

    Attributes:
        name: Its name in messages.
        stream: The bytes.
        on_position: Called with the number of bytes read so far.
        ignored: Line -> rules that are ignored there (an empty set: all); filled while lines are read.
        problems: What could not be read, to be reported.
    """

    name: str
    stream: BinaryIO
    on_position: Callable[[int], None] = lambda position: None
    ignored: dict[int, frozenset[str]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def named_problems(self) -> Iterator[Problem]:
        """The problems that came up since the last call."""
        while self.problems:
            yield self.problems.pop(0)


class Lines:
    """The lines of a source as text, without line ends; `number` is that of the line given last, from 1.

    UTF-8 is tried first, line by line, then Windows-1252: files that were pasted together have both. UTF-16 is read
    by its byte-order mark.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.number = 0
        self._position = 0
        self._decoded_otherwise = 0
        self._above = False

    def __iter__(self) -> Iterator[str]:
        stream = self._utf16() or self.source.stream
        while True:
            try:
                raw = stream.readline(MAX_LINE)
            except (OSError, EOFError, zlib.error) as error:
                self.source.problems.append(Problem(self.source.name, f"damaged file: {error}", self.number + 1))
                break
            if not raw:
                break
            self.number += 1
            self._position += len(raw)
            if self.number % 256 == 0:
                self.source.on_position(self._position)
            line = self._decode(raw)
            if "numerate:" in line or self._above:
                self._mark(line)
            yield line
        self.source.on_position(self._position)
        if self._decoded_otherwise:
            what = "1 line is" if self._decoded_otherwise == 1 else f"{self._decoded_otherwise} lines are"
            self.source.problems.append(Problem(self.source.name, f"{what} not UTF-8 and read as Windows-1252"))

    def _decode(self, raw: bytes) -> str:
        if self.number == 1:
            raw = raw.removeprefix(b"\xef\xbb\xbf")
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError:
            self._decoded_otherwise += 1
            text = raw.decode("cp1252", "replace")
        return text.rstrip("\r\n")

    def _mark(self, line: str) -> None:
        if self._above:
            self.source.ignored[self.number] = self.source.ignored[self.number - 1]
        found = ignore_mark(line)
        self._above = False
        if found is not None:
            self.source.ignored[self.number] = found
            self._above = _ALONE.fullmatch(line) is not None

    def _utf16(self) -> BinaryIO | None:
        stream = self.source.stream
        start = stream.peek(2)[:2] if isinstance(stream, io.BufferedReader) else b""
        if start not in (b"\xff\xfe", b"\xfe\xff"):
            return None
        text = io.TextIOWrapper(stream, "utf-16", "replace", newline="\n")
        return _Recoded(text)  # type: ignore[return-value]


class _Recoded:
    """A text stream as lines of UTF-8."""

    def __init__(self, text: io.TextIOWrapper) -> None:
        self.text = text

    def readline(self, size: int) -> bytes:
        line = self.text.readline(size).encode("utf-8", "replace")
        if not line:
            self.text.detach()  # the caller closes the stream
        return line


def ignore_mark(line: str) -> frozenset[str] | None:
    """The rules that a mark in a line switches off: an empty set for all rules, None without a mark.

    Example:
        >>> ignore_mark("12 + 15 = 28 <!-- numerate: ignore sum, percent -->") == {"sum", "percent"}
        True
        >>> ignore_mark("# numerate: ignore"), ignore_mark("28 km (27 mi)")
        (frozenset(), None)
    """
    found = _IGNORE.search(line)
    if found is None:
        return None
    return frozenset(word.strip() for word in (found[1] or "").split(",") if word.strip())


def opened(path: str, on_position: Callable[[int], None] | None = None) -> Source:
    """Opens a file, `-` for standard input; `*.gz` is decompressed.

    Raises:
        BadInput: There is no such file, or it cannot be opened.
    """
    if path == "-":
        stream: BinaryIO = sys.stdin.buffer
        return Source("standard input", stream, on_position or (lambda position: None))
    if is_remote(path):
        try:
            remote = open_place(path)
        except PlaceError as error:
            raise BadInput(str(error)) from None
        stream = gzip.GzipFile(fileobj=remote) if path.endswith(".gz") else remote  # type: ignore[assignment]
        return Source(path, stream, on_position or (lambda position: None))
    file = Path(path)
    if file.is_dir():
        raise BadInput(f"{path}: is a folder; name its files")
    try:
        stream = gzip.open(file, "rb") if path.endswith(".gz") else file.open("rb")  # type: ignore[assignment] # noqa: SIM115
    except OSError as error:
        raise BadInput(f"{path}: {(error.strerror or 'cannot be opened').lower()}") from None
    return Source(path, stream, on_position or (lambda position: None))
