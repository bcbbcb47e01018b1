"""Counts before a table of another length: `Our walking week covers seven stages:` above a table of five stages."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from numerate.apps.consistency.base import finding_at
from numerate.apps.consistency.sentences.patterns import regex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.tables.table_numbers import NumberTable
    from numerate.apps.documents import Document
    from numerate.apps.findings import Finding

__all__ = ["MOST_TABLES", "CountedRows", "counted_rows", "rows_of"]

MOST_ROWS, LEAST_ROWS, MOST_OFF = 40, 2, 3
MOST_TABLES = 100
"""Tables of a file that are remembered."""
_ANNOUNCED = regex(
    r"^ (?P<words>(?:(?!of\b|or\b|and\b|per\b|to\b|in\b)[a-z'’-]+ ){0,3}?)"
    r"(?P<noun>[a-z'’-]{3,}s|people|men|women|children|criteria)(?P<gap>[^:;.!?\d]{0,60}):\s*$"
)
_LOOSE = regex(
    r"\b(?:of (?:these|them|the|our|its|their|which)|at least|up to|or more|some|any|first|last|next|top|best|largest"
    r"|main|most|over|more|fewer|less|than|per|each|every|another|other|others|between|from|ago|among|such as|includ\w*"
    r"|part|results?|selected|one|two|three|four|five|six|seven|eight|nine|ten|both|half|only|least|days|weeks|months"
    r"|years|hours|minutes|totals?)\b"
)
_ALL = regex(r"\b(?:the|these) following $|\bfollowing $|\bthese $|\bthe following [a-z]* ?$")
_NAME = regex(r"[^\W\d_]{2}")


class CountedRows(NamedTuple):
    """What a table lists: how many rows there are of what its label columns are called, and what stands around it."""

    notes: str
    counts: dict[str, int]
    labels: int


def rows_of(document: Document, table: NumberTable) -> CountedRows | None:
    """The rows of a table with text above it; None where they cannot be counted."""
    kept = [row for row in range(len(document.rows)) if row not in table.total_rows]
    if document.first_row or not document.is_last or not document.notes or not LEAST_ROWS <= len(kept) <= MOST_ROWS:
        return None
    counts: dict[str, int] = {}
    for column, head in enumerate(document.header[:2]):
        cells = [document.rows[row][column].strip() for row in kept if column < len(document.rows[row])]
        if head.strip().isalpha() and all(cells) and len(cells) == len(kept):
            counts.setdefault(_singular(head.strip().lower()), len(set(cells)))
    first = [document.rows[row][0].strip() for row in kept if document.rows[row]]
    are_names = len(set(first)) == len(kept) and all(map(_NAME.search, first))
    if any("(" in each for each in first):
        return None  # `Cellar (not counted)`
    return CountedRows(_joined(document.notes), counts, len(kept) if are_names else 0)


def counted_rows(paragraph: Paragraph, tables: list[CountedRows]) -> Iterator[Finding]:
    """A number of things right above a table that lists fewer or more of them."""
    text = paragraph.whole.text.rstrip()
    if not text.endswith(":") or not paragraph.values:
        return
    n = paragraph.values[-1]
    if n.group != "plain" or n.hedge or not 1 < n.value <= MOST_ROWS or n.value != int(n.value):
        return
    offset = n.end - paragraph.whole.offset
    match = _ANNOUNCED.match(paragraph.lower[offset:].rstrip())
    lead = paragraph.lead(n)
    if match is None or _LOOSE.search(lead) or _LOOSE.search(match["words"]) or _LOOSE.search(match["gap"]):
        return
    last = _joined(text[text.rfind(". ") + 1 :])
    for table in tables:
        if last not in table.notes:
            continue
        real = table.counts.get(_singular(match["noun"]))
        if real is None and _ALL.search(lead):
            real = table.labels
        if not real or real == n.value or abs(real - n.value) > MOST_OFF:
            continue
        if _says(table.notes, abs(real - int(n.value))):
            continue  # `Six started: ... Two did not finish.`
        message = f"The table has {real} {match['noun']}, not {n.text}."
        yield finding_at("count", n, message, meant=float(real), probability=0.88)
        return


_WORDS = ("zero", "one", "two", "three")


def _says(notes: str, count: int) -> bool:
    """Whether the text around a table has a number, which may say what is left out."""
    words = regex(rf"\b(?:{count}|{_WORDS[count]})\b")
    return words.search(notes.lower()) is not None


def _joined(text: str) -> str:
    return " ".join(text.split())


def _singular(word: str) -> str:
    if word.endswith("ies"):
        return word[:-3] + "y"
    return {"people": "person", "men": "man", "women": "woman", "children": "child", "criteria": "criterion"}.get(
        word, word.removesuffix("s")
    )
