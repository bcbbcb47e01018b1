"""Durations written without spaces, which are several numerals for the reader: `9m36s`, `1h45m`, `3h43`, `2 h 20`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.sentences.patterns import regex

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

__all__ = ["compact_times"]

_COMPACT = regex(
    r"(?<![\w.,:/-])(?:"
    r"(?P<h1>\d{1,3})h ?(?P<m1>[0-5]?\d) ?m(?:in|n)?(?: ?(?P<s1>[0-5]?\d) ?s(?:ec)?)?"
    r"|(?P<m2>\d{1,4})m(?:in)? ?(?P<s2>[0-5]?\d) ?s(?:ec)?"
    r"|(?P<h3>\d)h(?P<m3>[0-5]\d)"
    r"|(?P<h4>\d{1,2}) h (?P<m4>[0-5]\d)(?=[,.;)](?!\d)|$)"
    r")(?!\w|[.,:]\d)"
)
_OF_DAY = regex(r"(?:\b(?:à|at|um|from|to|until|till|by|dès|vers|bis|von|jusqu['’]à|avant|après|before|after)|[-–]) ?$")
"""Before hours that are a time of the day: `à 9h30`."""


def compact_times(text: str) -> Iterator[tuple[re.Match[str], float, str, float]]:
    """Durations with their value, unit, and what one of their last digit is worth.

    Example:
        >>> [(match[0], value, unit) for match, value, unit, _ in compact_times("9m36s, then 1h45m; at 9h30")]
        [('9m36s', 9.6, 'min'), ('1h45m', 1.75, 'h')]
    """
    for match in _COMPACT.finditer(text):
        if match["h3"] and _OF_DAY.search(text, max(0, match.start() - 10), match.start()):
            continue
        if match["m2"]:
            yield match, int(match["m2"]) + int(match["s2"]) / 60, "min", 1 / 60
        else:
            name = next(each for each in "134" if match[f"h{each}"])
            seconds = match["s1"] if name == "1" else None
            value = int(match[f"h{name}"]) + int(match[f"m{name}"]) / 60 + int(seconds or 0) / 3600
            yield match, value, "h", 1 / 3600 if seconds else 1 / 60
