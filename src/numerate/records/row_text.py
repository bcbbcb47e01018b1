"""Rows of tables and records as texts for a language model: `header: value; header: value`.

One place for it: the texts that a model is trained on and those that `numerate check` shows to it are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["RowText", "row_texts"]

MAX_CHARACTERS = 320
"""Longer rows are given in several texts: at most 128 tokens, the length of training texts, if full of digits."""
_MOST_CAPTION, _MOST_HEADER, _MOST_CELL = 80, 60, 160


@dataclass(frozen=True)
class RowText:
    """A row, or a part of a long one, as text.

    Attributes:
        text: The text.
        cells: Column, start in `text`, and length of each of its cells. The first cell of a row is in all its parts.
    """

    text: str
    cells: tuple[tuple[int, int, int], ...]

    def cell_at(self, start: int, end: int) -> tuple[int, int, int] | None:
        """Column, and start and end in the cell, of a span of the text; None if it is not inside of one cell."""
        for column, first, length in self.cells:
            if first <= start and end <= first + length:
                return column, start - first, end - first
        return None


def row_texts(
    header: Sequence[str], row: Sequence[str], caption: str = "", *, most: int = MAX_CHARACTERS
) -> Iterator[RowText]:
    """A row as one text, or several if it is long: the caption, then `header: value` for each cell that is not empty.

    Each part of a long row begins with the row's first cell, which usually names it. Long cells are cut; what is behind
    the cut is not shown.

    Example:
        >>> rows = list(row_texts(["Name", "Height", "Opened"], ["Eiffel Tower", "330 m", "1889"], "Towers"))
        >>> rows[0].text
        'Towers. Name: Eiffel Tower; Height: 330 m; Opened: 1889'
        >>> rows[0].cell_at(44, 48), [rows[0].text[start:start + length] for _, start, length in rows[0].cells]
        (None, ['Eiffel Tower', '330 m', '1889'])
    """
    title = " ".join(caption.split())[:_MOST_CAPTION].rstrip(" .")
    begin = f"{title}. " if title else ""
    cells = [(column, *_cell(header, column, value)) for column, value in enumerate(row) if value.strip()]
    text, shown, first = begin, [], None
    for column, name, value in cells:
        piece = f"{name}: {value}" if name else value
        if shown and len(text) + 2 + len(piece) > most:
            yield RowText(text, tuple(shown))
            text, shown = begin, []
            if first is not None:
                text, shown = text + first[0], [first[1]]
        text += "; " if shown else ""
        place = (column, len(text) + len(piece) - len(value), len(value))
        if first is None:
            first = (piece, place)
        text, shown = text + piece, [*shown, place]
    if shown:
        yield RowText(text, tuple(shown))


def _cell(header: Sequence[str], column: int, value: str) -> tuple[str, str]:
    """Name and value of a cell. The value keeps its characters, so that places in it are those of the cell."""
    name = " ".join(header[column].split())[:_MOST_HEADER].rstrip(" :") if column < len(header) else ""
    return name, value[:_MOST_CELL].replace("\n", " ").replace("\r", " ").replace("\t", " ")
