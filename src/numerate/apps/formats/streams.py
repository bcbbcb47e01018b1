"""Byte streams of files: decompressed, recoded to UTF-8, and what a file is that is no text."""

from __future__ import annotations

import codecs
import io
import os
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from numerate.errors import BadInput
from numerate.training.engines.places import PlaceError, is_remote, open_place

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "SNIFFED", "Gunzip", "Recoded", "binary_kind", "can_be_read_again", "first_bytes", "open_bytes", "text_encoding",
]  # fmt: skip

SNIFFED = 8192
"""Bytes from which format and encoding are guessed."""
CHUNK = 1 << 16
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SIGNATURES = (
    (b"%PDF-", "a PDF file: convert it to text or DOCX first"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a file of an old Office program: save it as DOCX or XLSX"),
    (b"{\\rtf", "a rich-text file: save it as DOCX"),
    (b"PK\x03\x04", "an archive: unpack it first"),
    (b"PAR1", "a Parquet file: write it as CSV"),
    (b"SQLite format 3", "a database: write its tables as CSV"),
    (b"BZh", "a compressed file: unpack it first"),
    (b"\xfd7zXZ", "a compressed file: unpack it first"),
    (b"\x28\xb5\x2f\xfd", "a compressed file: unpack it first"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
)


def can_be_read_again(path: str) -> bool:
    """Whether a path gives the same bytes each time it is opened: not standard input, nor a pipe such as `<(...)`.

    Example:
        >>> can_be_read_again("-"), can_be_read_again(__file__)
        (False, True)
    """
    return path != "-" and (is_remote(path) or Path(path).is_file())


def open_bytes(path: str) -> BinaryIO:
    """A file, or what lies at an address such as `s3://...`, as a buffered stream of bytes; `-` is standard input.

    Raises:
        BadInput: There is no such file, it is a folder, or it cannot be opened.
    """
    if path == "-":
        return sys.stdin.buffer
    if is_remote(path):
        try:
            return cast("BinaryIO", open_place(path))
        except PlaceError as error:
            raise BadInput(str(error)) from None
    if "\0" in path:
        raise BadInput(f"{path!r}: a name of a file cannot have NUL bytes")
    if not path:
        raise BadInput("the name of a file is empty: name a file, or - for standard input")
    if Path(path).is_dir():
        can_be_listed = os.access(path, os.R_OK | os.X_OK)
        raise BadInput(f"{path}: {'is a folder; name its files' if can_be_listed else 'folder, permission denied'}")
    try:
        return Path(path).open("rb")
    except OSError as error:
        raise BadInput(f"{path}: {(error.strerror or 'cannot be opened').lower()}") from None


def first_bytes(stream: BinaryIO) -> tuple[bytes, BinaryIO]:
    """The first bytes of a stream, and a stream that still has them.

    A pipe gives as few bytes as its writer wrote at once, so that more is read until there are enough.

    Example:
        >>> start, stream = first_bytes(io.BytesIO(b"28 km"))
        >>> start, stream.read()
        (b'28 km', b'28 km')
    """
    if isinstance(stream, io.BufferedReader) and stream.seekable():
        return stream.peek(SNIFFED)[:SNIFFED], stream
    start = stream.read(SNIFFED)
    return start, io.BufferedReader(_Chained(start, stream), CHUNK)


def text_encoding(start: bytes) -> tuple[str, int]:
    """The encoding that the first bytes of a text tell, and the length of its byte-order mark.

    UTF-16 without a mark is known by its zero bytes: every other byte of a text with digits and Latin letters.

    Example:
        >>> text_encoding("28 km".encode("utf-16-le")), text_encoding(b"28 km")
        (('utf-16-le', 0), ('utf-8', 0))
    """
    for mark, name in _MARKS:
        if start.startswith(mark):
            return name, len(mark)
    even, odd = start[::2], start[1::2]
    if len(start) >= 4 and 0 in start:
        zeros = [part.count(0) / len(part) for part in (even, odd)]
        if zeros[1] > 0.4 and zeros[0] < 0.02:
            return "utf-16-le", 0
        if zeros[0] > 0.4 and zeros[1] < 0.02:
            return "utf-16-be", 0
    return "utf-8", 0


def binary_kind(start: bytes) -> str | None:
    """What a file is that is no text, and what to do; None for a text.

    A text may have a stray zero byte; many control characters make it binary.

    Example:
        >>> binary_kind(b"%PDF-1.7"), binary_kind(b"28 km")
        ('a PDF file: convert it to text or DOCX first', None)
    """
    for mark, kind in _SIGNATURES:
        if start.startswith(mark):
            return kind
    control = sum(byte < 9 or 13 < byte < 32 or byte == 127 for byte in start)
    return "not text" if control > 0.05 * len(start) else None


class Gunzip(io.RawIOBase):
    """A gzip file that gives all that can be decompressed of it: a damaged one ends early and says so.

    Args:
        stream: The compressed bytes.
        on_damage: Called with one line if the file is damaged.

    Example:
        >>> import gzip
        >>> said = []
        >>> whole = gzip.compress(b"28 km (27 mi)" * 9)
        >>> Gunzip(io.BytesIO(whole), said.append).readall() == b"28 km (27 mi)" * 9, said
        (True, [])
        >>> Gunzip(io.BytesIO(whole[:-12]), said.append).readall()[:13], said
        (b'28 km (27 mi)', ['damaged: the compressed file ends too early'])
    """

    def __init__(self, stream: BinaryIO, on_damage: Callable[[str], None]) -> None:
        self._stream, self._on_damage = stream, on_damage
        self._inflate = zlib.decompressobj(wbits=31)
        self._ready = b""
        self._is_done = False

    def readable(self) -> bool:
        """Whether it can be read: yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Reads some bytes; 0 at the end."""
        while not self._ready and not self._is_done:
            self._ready = self._more(len(buffer))
        part = self._ready[: len(buffer)]
        self._ready = self._ready[len(part) :]
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        """Closes the stream behind it, too."""
        self._stream.close()
        super().close()

    def _more(self, size: int) -> bytes:
        if self._inflate.eof:
            # The next member of the file, or padding behind the last one.
            rest = (self._inflate.unused_data or self._stream.read(CHUNK)).lstrip(b"\0")
            if not rest:
                self._is_done = True
                return b""
            self._inflate = zlib.decompressobj(wbits=31)
        else:
            rest = self._inflate.unconsumed_tail or self._stream.read(CHUNK)
            if not rest:
                return self._end("the compressed file ends too early")
        try:
            return self._inflate.decompress(rest, max(size, CHUNK))
        except zlib.error as error:
            return self._end(" ".join(str(error).split()))

    def _end(self, why: str) -> bytes:
        self._is_done = True
        self._on_damage(f"damaged: {why}")
        return b""


class Recoded(io.RawIOBase):
    r"""A text in another encoding, or with the line ends of old Mac files, as UTF-8 with line feeds.

    Example:
        >>> Recoded(io.BytesIO("28 km\r27 mi".encode("utf-16-le")), "utf-16-le").readall()
        b'28 km\n27 mi'
    """

    def __init__(self, stream: BinaryIO, encoding: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._lines = io.IncrementalNewlineDecoder(None, translate=True)
        self._ready = b""
        self._is_done = False

    def readable(self) -> bool:
        """Whether it can be read: yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Reads some bytes; 0 at the end."""
        while not self._ready and not self._is_done:
            raw = self._stream.read(CHUNK)
            self._is_done = not raw
            text = self._decoder.decode(raw, self._is_done)
            self._ready = self._lines.decode(text, self._is_done).encode("utf-8", "replace")
        part = self._ready[: len(buffer)]
        self._ready = self._ready[len(part) :]
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        """Closes the stream behind it, too."""
        self._stream.close()
        super().close()


class _Chained(io.RawIOBase):
    """Bytes that were read already, then the rest of their stream."""

    def __init__(self, start: bytes, rest: BinaryIO) -> None:
        self._start, self._rest = start, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self._start[: len(buffer)]
        if part:
            self._start = self._start[len(part) :]
        else:
            part = self._rest.read(len(buffer))
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        self._rest.close()
        super().close()
