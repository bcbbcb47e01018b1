"""Lines of a binary stream: decoded leniently, with their numbers, and with the marks `numerate: ignore`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO

from numerate.apps.documents import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Lines", "Source", "ignore_mark", "is_mark_alone"]

_IGNORE = re.compile(r"numerate:\s*ignore\b(?:\s*[:\[(]?\s*([a-z][a-z, -]*[a-z]))?", re.IGNORECASE)
_ALONE = re.compile(
    r"[\s#/*<!>;%\[\]()-]*numerate:\s*ignore\b[^A-Za-z]*(?:[a-z][a-z, -]*[a-z])?[\s#/*<!>;%\[\]()-]*", re.IGNORECASE
)
MAX_LINE = 1 << 20
"""Bytes from which a line of text is given in pieces, which end between words."""
MAX_RECORD = 16 << 20
"""Bytes from which a line that is one record is left out."""


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

    def damaged(self, message: str) -> None:
        """Remembers that the rest of the file cannot be read."""
        self.problems.append(Problem(self.name, message))


class Lines:
    """The lines of a source as text, without line ends.

    UTF-8 is tried first, line by line, then Windows-1252: files that were pasted together have both. NUL bytes are
    read as spaces.

    Args:
        source: The file, as UTF-8 or with lines in Windows-1252.
        records: Whether a line is one record: one that is too long is then left out and named, not given in pieces.

    Attributes:
        number: Number of the line given last, from 1.
        offset: Characters of that line that were given before, if it came in pieces.
        is_cut: Whether the rest of that line follows.
    """

    def __init__(self, source: Source, *, records: bool = False) -> None:
        self.source = source
        self.records = records
        self.number = self.offset = 0
        self.is_cut = False
        self._position = 0
        self._decoded_otherwise = self._zeros = 0
        self._above = False

    def __iter__(self) -> Iterator[str]:
        given = 0
        for raw in self._raw():
            self.offset = given
            line = self._decode(raw)
            given = given + len(line) if self.is_cut else 0
            if "numerate:" in line or self._above:
                self._mark(line)
            yield line
        self.source.on_position(self._position)
        if self._decoded_otherwise:
            what = "1 line is" if self._decoded_otherwise == 1 else f"{self._decoded_otherwise} lines are"
            said = f"{what} not UTF-8 and read as Windows-1252"
            self.source.problems.append(Problem(self.source.name, said, is_note=True))
        if self._zeros:
            said = f"{self._zeros} NUL byte{'s' * (self._zeros > 1)} read as spaces"
            self.source.problems.append(Problem(self.source.name, said, is_note=True))

    def _raw(self) -> Iterator[bytes]:
        """Lines as bytes, or pieces of a long line; sets the attributes."""
        most = MAX_RECORD if self.records else MAX_LINE
        rest, is_cut = b"", False
        while True:
            try:
                raw = self.source.stream.readline(most)
            except OSError as error:
                self.source.damaged(f"damaged: {error.strerror or error}")
                raw = b""
            self._position += len(raw)
            if not raw and not rest:
                return
            if not is_cut:
                self.number += 1
                if self.number % 256 == 0:
                    self.source.on_position(self._position)
            is_cut = len(raw) == most and not raw.endswith(b"\n")
            if is_cut and self.records:
                self._skip_line()
                self.source.problems.append(
                    Problem(self.source.name, f"line of more than {most >> 20} MB left out", self.number)
                )
                is_cut = False
                continue
            raw, rest = rest + raw, b""
            if is_cut:
                # Between words, so that no number is cut; a single word of this size is.
                end = raw.rfind(b" ") + 1 or len(raw)
                raw, rest = raw[:end], raw[end:]
            self.is_cut = is_cut
            yield raw

    def _skip_line(self) -> None:
        while True:
            raw = self.source.stream.readline(MAX_LINE)
            self._position += len(raw)
            if not raw or raw.endswith(b"\n"):
                return

    def _decode(self, raw: bytes) -> str:
        if self.number == 1 and not self.offset:
            raw = raw.removeprefix(b"\xef\xbb\xbf")
        if b"\0" in raw:
            self._zeros += raw.count(0)
            raw = raw.replace(b"\0", b" ")
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
            self._above = is_mark_alone(line)


def is_mark_alone(line: str) -> bool:
    """Whether a line has nothing but a mark, which then holds for the next line.

    Example:
        >>> is_mark_alone("<!-- numerate: ignore sum -->"), is_mark_alone("5 km numerate: ignore")
        (True, False)
    """
    return _ALONE.fullmatch(line) is not None


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
