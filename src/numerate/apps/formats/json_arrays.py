"""Values of a long JSON array one after the other, so that a file of any size needs the same memory."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from numerate.apps.documents import Problem
from numerate.apps.formats.source_lines import MAX_RECORD, Lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.formats.source_lines import Source

__all__ = ["DECODER", "JsonValue", "array_values"]

# Numbers stay as they are written: 2.50 has two decimals, and an integer of 5,000 digits is no error.
DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)
CHUNK = 1 << 18
"""Characters that are read at once."""
_BETWEEN = re.compile(r"[,\s]*")


class JsonValue(NamedTuple):
    """A value of a file: the line where it begins, and its text if that goes on behind the line."""

    line: int
    value: Any
    text: str = ""


def array_values(source: Source) -> Iterator[JsonValue | Problem]:
    """The values of a file that is one JSON array.

    Where the array is broken, the problem is given, and what follows is left out.
    """
    text = _Text(source)
    text.skip(re.compile(r"\s*\["))
    is_first = True
    while True:
        text.skip(_BETWEEN)
        if text.is_at_end:
            yield Problem(source.name, "not JSON: the list is never closed", text.line, fatal=is_first)
            return
        if text.shown.startswith("]", text.place):
            text.skip(re.compile(r"\]\s*"))
            if not text.is_at_end:
                yield Problem(source.name, "not JSON: something follows the list, which is left out", text.line)
            return
        line = text.line
        try:
            value = text.value()
        except (ValueError, RecursionError) as error:
            is_deep = isinstance(error, RecursionError)
            said = "nested too deeply" if is_deep else str(error).partition(": line")[0][:100]
            said = f"not JSON: {said}; this value and what follows are left out"
            yield Problem(source.name, said, line, fatal=is_first)
            return
        yield JsonValue(line, value, text.last)
        is_first = False


class _Text:
    """A text that is read as far as it is needed.

    Attributes:
        shown: The part that has been read and is not done with.
        place: Offset in it.
        last: The last value, if it is longer than a line.
    """

    def __init__(self, source: Source) -> None:
        self.shown, self.place, self.last = "", 0, ""
        self._lines = Lines(source)
        self._stream = iter(self._lines)
        self._is_done = False
        self._counted, self._line = 0, 1

    @property
    def line(self) -> int:
        """The line of the place."""
        self._line += self.shown.count("\n", self._counted, self.place)
        self._counted = self.place
        return self._line

    @property
    def is_at_end(self) -> bool:
        """Whether nothing follows."""
        return self._is_done and self.place >= len(self.shown)

    def skip(self, what: re.Pattern[str]) -> None:
        """Goes behind what is there, reading on where the text so far ends in it."""
        while True:
            found = what.match(self.shown, self.place)
            if found is not None and found.end() > self.place:
                self.place = found.end()
            if self.place < len(self.shown) or not self._more(CHUNK):
                return

    def value(self) -> Any:
        """The value at the place.

        Raises:
            ValueError: It is not JSON.
            RecursionError: It is too deep.
        """
        while True:
            waiting = len(self.shown) - self.place
            try:
                value, end = DECODER.raw_decode(self.shown, self.place)
            except ValueError:
                # Twice as much each time, so that a long value is not parsed too often.
                if waiting > MAX_RECORD or not self._more(max(CHUNK, waiting)):
                    raise
                continue
            if end < len(self.shown) or not self._more(CHUNK):  # a number may go on
                is_long = self.shown.find("\n", self.place, end) >= 0
                self.last = self.shown[self.place : end] if is_long else ""
                self.place = end
                return value

    def _more(self, size: int) -> bool:
        """Reads on; returns whether there was something."""
        _ = self.line
        parts = [self.shown[self.place :]]
        self.place = self._counted = count = 0
        for line in self._stream:
            parts.append(line if self._lines.is_cut else f"{line}\n")
            count += len(parts[-1])
            if count >= size:
                break
        else:
            self._is_done = True
        self.shown = "".join(parts)
        return count > 0
