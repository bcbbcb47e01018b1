"""Limits that a text sets above a table, and the cell beyond them: `permitted 7.95 to 8.05 mm, all in tolerance`."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from numerate.apps.consistency.base import finding_in_cell
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.sentences import Sentence
from numerate.apps.consistency.tables.table_units import unit_of_name
from numerate.reading import make_reader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.tables.table_numbers import NumberTable
    from numerate.apps.documents import Document
    from numerate.apps.findings import Finding

__all__ = ["table_ranges"]

MOST_ROWS, LEAST_INSIDE = 60, 2
_ALL_WITHIN = regex(
    r"\b(?:all|every|each|always|throughout|whole|at all times|never)\b(?:[^.;]|\.\d){0,60}?\b(?:in tolerance"
    r"|within|in spec\w*"
    r"|in range|pass(?:ed|es)?|inside|conform\w*|compl(?:y|ies|ied)|me[et]t?|kept|in order|acceptable|accepted"
    r"|tightened to|stayed)\b"
    r"|\b(?:within|in tolerance|in range|inside|kept|stayed|met)\b(?:[^.;]|\.\d){0,60}?\b(?:all|every|each"
    r"|always|throughout"
    r"|at all times)\b"
)
_BUT = regex(
    r"\b(?:but|except\w*|not|out of|outside|fail\w*|exceed\w*|too|however|although|though|reject\w*|scrap\w*|rework\w*"
    r"|discard\w*|repeat\w*|above|below|apart|only|most|if|unless|should|must be (?:repl|re)\w+|deviat\w*"
    r"|alarm\w*)\b|n['’]t\b"
)
_LINK = regex(r" ?(?:to|and|–|—|-|\.\.\.?) ?")
_WORD = regex(r"[a-z]{2,}")


def table_ranges(document: Document, table: NumberTable) -> Iterator[Finding]:
    """The only cell outside of a range within which the text above the table says that all are."""
    notes = document.notes
    if document.first_row or not document.is_last or not LEAST_INSIDE < len(document.rows) <= MOST_ROWS or not notes:
        return
    lower = notes.lower()
    if not _ALL_WITHIN.search(lower) or _BUT.search(lower):
        return
    ranges = list(_ranges(notes))
    if len(ranges) != 1:
        return
    low, high = ranges[0]
    columns = [column for column in table.numeric if column and _is_meant(table, column, high, lower[: low.start])]
    if len(columns) != 1:
        return
    values = table.values[:, columns[0]]
    kept = [row for row in range(len(values)) if np.isfinite(values[row]) and row not in table.total_rows]
    outside = [row for row in kept if not low.value - 1e-9 <= values[row] <= high.value + 1e-9]
    if len(outside) != 1 or len(kept) - 1 < LEAST_INSIDE:
        return
    said = document.rows[outside[0]][columns[0]].strip()
    message = f"{said} lies outside of the range from {low.text} to {high.text}, within which all are said to be."
    yield finding_in_cell("range", document, outside[0], columns[0], message, probability=0.88)


def _ranges(notes: str) -> Iterator[tuple[Quantity, Quantity]]:
    sentence = Sentence(notes, 0, make_reader("standard", words=True).find(notes))
    values = sentence.quantities
    for low, high in itertools.pairwise(values):
        if (
            high.group in ("plain", "unit")
            and low.group in ("plain", "unit")
            and low.value < high.value
            and (low.unit is None or low.comparable(high))
            and _LINK.fullmatch(notes[low.end : high.start])
        ):
            yield low, high


def _is_meant(table: NumberTable, column: int, high: Quantity, before: str) -> bool:
    """Whether a column has the unit of the range, or the name of what it limits, and no other unit."""
    head = table.header[column]
    named = unit_of_name(head)
    unit = named[1] if named is not None else None
    suffixes = table.suffixes[column]
    if unit is not None and high.unit is not None:
        return unit == high.unit
    words = set(_WORD.findall(before))
    is_named = any(each in words for each in _WORD.findall(head.lower()))
    if high.unit is not None and suffixes:
        return high.unit in suffixes or is_named
    return is_named
