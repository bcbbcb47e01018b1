"""Densities of numbers drawn with block characters, for terminals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numerate.apps.numeral_view import format_value

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["density_lines"]

_BLOCKS = " ▁▂▃▄▅▆▇█"
_LABELS = 4
"""Number of values below the drawing."""


def density_lines(gap: dict[str, Any], rows: int = 4, columns: int = 2) -> list[str]:
    """The density of a gap of `numerate.apps.fill.fill`, with its 90 % interval and a logarithmic number line below.

    Args:
        gap: One of the `gaps` of a result: `density` with `edges` and `shares`, and `interval_90`.
        rows: Height of the drawing in lines.
        columns: Width of each bin in characters.

    Example:
        >>> shares, edges = [0.1, 0.6, 0.3, 0.0], [1.0, 10.0, 100.0, 1000.0, 10000.0]
        >>> gap = {"density": {"edges": edges, "shares": shares}, "interval_90": [5.0, 800.0]}
        >>> for line in density_lines(gap, rows=2, columns=4):
        ...     print(line.rstrip() + "|")
            ████|
        ▃▃▃▃████████|
        ├──────────┤|
        1   10  100 1,000|
    """
    edges, shares = gap["density"]["edges"], gap["density"]["shares"]
    most = max(shares, default=0.0) or 1.0
    heights = [round(share / most * rows * (len(_BLOCKS) - 1)) for share in shares]
    lines = []
    for row in reversed(range(rows)):
        cells = (min(max(height - row * (len(_BLOCKS) - 1), 0), len(_BLOCKS) - 1) for height in heights)
        lines.append("".join(_BLOCKS[cell] * columns for cell in cells))
    first, last = (_bin_of(edges, end) for end in gap["interval_90"])
    width = columns * (last - first + 1)
    lines.append(" " * (columns * first) + "├" + "─" * (width - 2) + "┤")
    return [*lines, _labels(edges, columns, grouped=gap.get("kind") != "year")]


def _bin_of(edges: Sequence[float], value: float) -> int:
    """The index of the bin that has a value; the first or last for values beyond."""
    inside = sum(edge <= value for edge in edges) - 1
    return min(max(inside, 0), len(edges) - 2)


def _labels(edges: Sequence[float], columns: int, grouped: bool) -> str:
    """Values below their bins, with as many digits as tell them apart."""
    places = range(0, len(edges) - 1, max(1, (len(edges) - 1) // _LABELS))
    labels: list[str] = []
    for digits in range(3 if grouped else 4, 17):
        labels = [format_value(edges[at], grouped=grouped, digits=digits) for at in places]
        if len(set(labels)) == len(labels):
            break
    line = ""
    for at, label in zip(places, labels, strict=True):
        room = at * columns - len(line)
        line += " " * room + label if room >= bool(line) else ""  # a label that does not fit is left out
    return line
