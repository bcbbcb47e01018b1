"""Reads a text of any length in windows, in bounded memory, without cutting a numeral."""

from __future__ import annotations

from bisect import bisect_right
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from numerate.numerals.numeral import Numeral, make_numeral
from numerate.reading.base import ReaderError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numerate.reading.base import Reader

__all__ = ["Segment", "find_in_windows", "moved"]

WINDOW = 1 << 20
"""Characters of a window."""
CONTEXT = 4096
"""Characters before and after a numeral that a reader may look at; windows overlap by twice as many."""
LONGEST = 32 << 20
"""Maximum number of characters of a numeral in a long text."""
_start = attrgetter("start")


class Segment(NamedTuple):
    """A part of a long text: its offset, its characters, and its numerals with offsets within the part."""

    offset: int
    text: str
    numerals: list[Numeral]


def find_in_windows(pieces: Iterable[str], reader: Reader) -> Iterator[Segment]:
    r"""Finds the numerals of a text that is given in pieces; the segments make up the whole text.

    A segment ends before a numeral or between words, never inside of a numeral. Each window is read together with the
    characters around it, so that a numeral is read as in the whole text. Only decimal commas are decided for each
    window (`locale="auto"`).

    Raises:
        ReaderError: A numeral has more than `LONGEST` characters.

    Example:
        >>> from numerate.reading import make_reader
        >>> parts = find_in_windows(["7 of 1", "2 apples"], make_reader("standard"))
        >>> [(part.offset + n.start, n.text) for part in parts for n in part.numerals]
        [(0, '7'), (5, '12')]
    """
    text, first, done, size = "", 0, 0, WINDOW  # `first`: offset of `text`; `done`: where the next segment begins
    waiting: list[str] = []
    length = 0
    for piece in pieces:
        waiting.append(piece)
        length += len(piece)
        if len(text) + length < size:
            continue
        text, waiting, length = "".join([text, *waiting]), [], 0
        numerals = reader.find(text)
        cut = _cut(text, numerals, done - first)
        if cut is None:
            if len(text) > 2 * LONGEST:
                raise ReaderError(f"a numeral has more than {LONGEST >> 20} million characters, from offset {done}")
            size = 2 * len(text)  # so that the time stays linear
            continue
        yield _segment(text, numerals, done - first, cut, first)
        done, size = first + cut, WINDOW
        keep = _beginning(numerals, max(0, cut - CONTEXT))
        text, first = text[keep:], first + keep
    text = "".join([text, *waiting])
    if len(text) > done - first:
        yield _segment(text, reader.find(text), done - first, len(text), first)


def moved(numeral: Numeral, by: int) -> Numeral:
    """The numeral with other offsets."""
    n = numeral
    span = None if n.unit_span is None else (n.unit_span[0] + by, n.unit_span[1] + by)
    place = n.text, n.start + by, n.end + by
    rest = n.special, n.path, n.shared, n.uncertainty, n.confidence
    return make_numeral(*place, n.value, n.kind, n.unit, span, n.power, n.point, *rest)


def _cut(text: str, numerals: list[Numeral], low: int) -> int | None:
    """Where a segment that begins at `low` ends: before the last numeral that has its context behind it."""
    high = len(text) - CONTEXT
    place = bisect_right(numerals, high, key=_start) - 1
    cut = high
    if place >= 0 and numerals[place].end > high - CONTEXT:
        cut = numerals[place].start
    elif (space := max(text.rfind(mark, high - CONTEXT, high) for mark in " \t,;")) > 0:
        cut = space + 1
    return cut if cut > low + CONTEXT else None


def _beginning(numerals: list[Numeral], keep: int) -> int:
    """A place at or before `keep` that is not inside of a numeral."""
    place = bisect_right(numerals, keep, key=_start) - 1
    return numerals[place].start if place >= 0 and numerals[place].end > keep else keep


def _segment(text: str, numerals: list[Numeral], low: int, high: int, first: int) -> Segment:
    chosen = [moved(n, -low) for n in numerals if low <= n.start < high]
    return Segment(first + low, text[low:high], chosen)
