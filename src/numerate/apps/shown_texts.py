"""The texts of a document that a language model is shown: sentences, windows of long ones, and rows of tables."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from numerate.apps.documents import sentence_spans
from numerate.records.row_text import RowText, row_texts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.documents import Document

__all__ = ["Unit", "units_of"]

_MOST_CHARACTERS = 360
"""Longer sentences are cut into overlapping windows: 128 tokens, the length of training texts, if full of digits."""
_OVERLAP = 120
_HALVES = re.compile("[\ud800-\udfff]")
"""Lone surrogates, which JSON escapes may give and no tokenizer reads."""


@dataclass(frozen=True)
class Unit:
    """A text that a model is shown, and where its parts stand in the document.

    Attributes:
        text: A sentence, a part of a long one, or a row of a table.
        start: Offset of the text in the document's text.
        row: Row in the whole table, from 0; None for texts.
        cells: The cells of a row.
        keep: Start and end in `text` of what this unit is asked about: windows overlap.
    """

    text: str
    start: int = 0
    row: int | None = None
    cells: RowText | None = None
    keep: tuple[int, int] = (0, 1 << 60)


def units_of(document: Document) -> Iterator[Unit]:
    """The texts of a document that a model is shown: its sentences, or its rows as `header: value; ...`.

    Half of a character (a lone surrogate) becomes U+FFFD, so that one bad escape does not end the check of all files.
    """
    if document.kind == "text":
        for start, end in sentence_spans(document.text):
            yield from _windows(_HALVES.sub("\ufffd", document.text[start:end]), start)
        return
    for index, row in enumerate(document.rows):
        seen: set[int] = set()
        for part in row_texts(document.header, row, document.caption):
            keep = 0
            if part.cells and part.cells[0][0] in seen:  # the row's name, again
                keep = part.cells[0][1] + part.cells[0][2]
            seen |= {column for column, _, _ in part.cells}
            yield Unit(
                _HALVES.sub("\ufffd", part.text), row=document.first_row + index, cells=part, keep=(keep, 1 << 60)
            )


def _windows(text: str, start: int) -> Iterator[Unit]:
    """A sentence, or overlapping parts of a long one, cut at spaces; each number is asked about in one part."""
    if len(text) <= _MOST_CHARACTERS:
        yield Unit(text, start)
        return
    first, kept = 0, 0
    while first < len(text):
        last = min(first + _MOST_CHARACTERS, len(text))
        if last < len(text) and (space := text.rfind(" ", first + _MOST_CHARACTERS // 2, last)) > 0:
            last = space
        until = len(text) if last == len(text) else last - _OVERLAP // 2
        if until < len(text) and (space := text.rfind(" ", kept, until)) > kept:
            until = space
        yield Unit(text[first:last], start + first, keep=(kept - first, until - first))
        if last == len(text):
            return
        kept = until
        first = max(first + 1, last - _OVERLAP)
        if (space := text.find(" ", first, last)) > 0:
            first = min(space + 1, kept)
