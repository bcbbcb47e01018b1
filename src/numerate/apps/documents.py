"""The `Document` class: what `numerate check` reads, as a text with sentences, a table, or records."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from numerate.reading import make_reader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numerate.numerals.numeral import Numeral

__all__ = ["Document", "DocumentKind", "Problem", "sentence_spans"]

DocumentKind = Literal["text", "table", "records"]

# A mark, closing quotes and brackets, then space and something that may begin a sentence. Years, codes and names
# may begin with a digit.
_END = re.compile(
    # One set of first characters for all three, which the search skips to.
    r"[.!?…\n](?:(?<=[^\n])[\"'”’)\]]*(\s+|$)(?=[\"'“‘(\[]*[A-ZÄÖÜÀ-ÝА-Я0-9#]|$)"
    r"|(?<=\n)(?:[ \t]*\n\s*|(?=[ \t]*(?:[-*•]|\d{1,2}[.)])\s)))"
)
_SHORT = frozenset([
    "Mr", "Mrs", "Ms", "Dr", "Prof", "St", "No", "Nos", "Inc", "Corp", "Co", "Ltd", "Jr", "Sr", "vs", "approx", "ca",
    "cf", "Fig", "Figs", "Tab", "Eq", "Sec", "Vol", "p", "pp", "al", "est", "Gen", "Col", "Lt", "Sgt", "Capt", "Gov",
    "Sen", "Rep", "Rev", "Mt", "Ft", "Ave", "Blvd", "Dept", "Jan", "Feb", "Mar", "Apr", "Jun", "Jul", "Aug", "Sep",
    "Sept", "Oct", "Nov", "Dec", "Art", "Abb", "bzw", "Nr", "ft", "in", "sq", "cu", "min", "max",
])  # fmt: skip
_BEFORE_DIGITS = frozenset(
    [
        "no",
        "nos",
        "nr",
        "fig",
        "figs",
        "vol",
        "vols",
        "tab",
        "eq",
        "sec",
        "ch",
        "art",
        "para",
        "ref",
        "b",
        "d",
        "c",
        "fl",
        "pop",
    ]
)
"""Words that are abbreviations if a digit follows: `bus no. 12`, `Anna (b. 1831; d. 1902)`."""
_PARAGRAPH = re.compile(r"[^\S\n]*\n(?:[^\S\n]*\n|[ \t]*(?:[-*•]|\d{1,2}[.)])\s)")
"""The end of a paragraph, or an item of a list, behind a mark that may belong to an abbreviation."""
_DEGREES = re.compile(r"[°º]\s?[CFK]$")
_ABBREVIATION = re.compile(rf"(?:\b(?:{'|'.join(sorted(_SHORT))}|[A-Z])|\b(?:[A-Za-z]\.)+[A-Za-z])\.$")


@dataclass(frozen=True, kw_only=True)
class Document:
    """A piece of a file: a text, or the rows of a table, or flattened records. Large files are given in several pieces.

    Attributes:
        kind: `text`, `table` or `records`.
        source: Name of the file.
        text: The text; empty for tables and records.
        header: Names of the columns, or key paths of the records.
        rows: Cells as strings, one for each column; `""` is a missing cell.
        first_row: Index of the first row in the whole table, from 0.
        lines: Line in the file of each row (tables, records), or of each anchor (texts); may be empty.
        anchors: Offsets in `text` that begin at the lines of `lines`; ascending. Empty: `text` begins at line 1.
        columns: Character in the line (from 1) of each anchor; empty if each anchor begins a line.
        caption: Title of a table, or the sheet that a text stands in.
        notes: What the file says right above and below a table.
        is_last: Whether no further piece of the same table follows.
        ignored: Lines with a mark `numerate: ignore`, and the rules that it names; an empty set means all.

    Example:
        >>> text = Document(kind="text", text="It weighs 5 kg. That is 11 lb.")
        >>> [text.text[start:end] for start, end in text.sentences]
        ['It weighs 5 kg.', 'That is 11 lb.']
        >>> [numeral.text for numeral in text.numerals]
        ['5', '11']
        >>> table = Document(kind="table", header=("year", "sales"), rows=[["2020", "5"], ["2021", "7"]])
        >>> table.column("sales"), len(table)
        (['5', '7'], 2)
    """

    kind: DocumentKind
    source: str = ""
    text: str = ""
    header: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    first_row: int = 0
    lines: Sequence[int] = ()
    anchors: Sequence[int] = ()
    columns: Sequence[int] = ()
    caption: str = ""
    notes: str = ""
    is_last: bool = True
    ignored: Mapping[int, frozenset[str]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def sentences(self) -> list[tuple[int, int]]:
        """Start and end of each sentence of the text, without the space around it."""
        return sentence_spans(self.text)

    @cached_property
    def flat(self) -> str:
        """The text with spaces for the line ends inside of its sentences, so that all offsets stay."""
        text, parts, done = self.text, [], 0
        if "\n" not in text:
            return text
        for start, end in self.sentences:
            at = text.find("\n", start, end)
            while at >= 0:
                if _is_wrapped(text, at):
                    parts += [text[done:at], " "]
                    done = at + 1
                at = text.find("\n", at + 1, end)
        return "".join([*parts, text[done:]]) if parts else text

    @cached_property
    def numerals(self) -> list[Numeral]:
        """All numerals of the text, read with number words, over the ends of wrapped lines."""
        return make_reader("standard", words=True).find(self.flat)

    def column(self, key: str) -> list[str]:
        """The cells of a column.

        Raises:
            KeyError: There is no such column.
        """
        if key not in self.header:
            raise KeyError(key)
        index = list(self.header).index(key)
        return [row[index] if index < len(row) else "" for row in self.rows]

    def position(self, offset: int) -> tuple[int | None, int | None]:
        """Line and column in the file, both from 1, of an offset in the text."""
        if not self.anchors:
            if self.lines:
                return self.lines[0], None
            line = self.text.count("\n", 0, offset) + 1
            return line, offset - self.text.rfind("\n", 0, offset)
        index = max(bisect_right(self.anchors, offset) - 1, 0)
        first = self.columns[index] if self.columns else 1
        inside = self.text[self.anchors[index] : offset]
        if "\n" not in inside:
            return self.lines[index], first + len(inside)
        return self.lines[index] + inside.count("\n"), len(inside) - inside.rfind("\n")

    def forget_table(self) -> None:
        """Drops the numbers of its cells that checkers share, some 10 MB a piece: they refer to the document.

        Left to the garbage collector, the pieces of a large file would add up.
        """
        self.__dict__.pop("_number_table", None)

    def row_line(self, row: int) -> int | None:
        """Line in the file of a row, counted in the whole table."""
        index = row - self.first_row
        return self.lines[index] if 0 <= index < len(self.lines) else None


@dataclass(frozen=True)
class Problem:
    """A part of a file that cannot be read: it is named, and the rest is still checked.

    Attributes:
        source: Name of the file.
        message: One line that says what is wrong.
        line: Line in the file, from 1; None for the whole file.
        fatal: Whether nothing of the file could be checked.
        is_harmless: Whether there was nothing to check: an empty or binary file.
        is_note: Whether nothing was left out, and only how it was read is told.
    """

    source: str
    message: str
    line: int | None = None
    fatal: bool = False
    is_harmless: bool = False
    is_note: bool = False


_WRAPPED = 25
"""Characters of a line that may be wrapped; lines of lists are shorter."""
_ITEM = re.compile(r"[ \t]*(?:\n|[-*•#>|+]|\d{1,2}[.)] |$)")


def _is_wrapped(text: str, at: int) -> bool:
    """Whether a line goes on behind its end: not a short one, not before a list, and not between two numbers."""
    if text.find("\n", max(0, at - _WRAPPED), at) >= 0 or at < _WRAPPED or _ITEM.match(text, at + 1):
        return False
    return not (text[at - 1].isdecimal() and text[at + 1].isdecimal())


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Start and end of each sentence; abbreviations and decimal points do not end one.

    Example:
        >>> text = "Dr. Lee paid $5.50 for bus no. 7. He left at 3 p.m. Then it rained."
        >>> [text[start:end] for start, end in sentence_spans(text)]
        ['Dr. Lee paid $5.50 for bus no. 7.', 'He left at 3 p.m. Then it rained.']
    """
    spans, start, is_stripped = [], 0, False
    for match in _END.finditer(text):
        mark, end = match.span()
        is_short = text[mark] == "." and end < len(text) and _is_short(text, mark)
        if is_short and not _PARAGRAPH.match(text, match.start(1)):
            continue
        space = match.start(1)
        if is_stripped and space >= 0:  # most sentences: the space behind the last one belongs to its end
            spans.append((start, space))
        else:
            spans += _stripped(text, start, end)
        start, is_stripped = end, space >= 0
    return spans + _stripped(text, start, len(text))


def _stripped(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The span without the space around it, unless nothing is left."""
    part = text[start:end].rstrip()
    size = len(part.lstrip())
    return [(start + len(part) - size, start + len(part))] if size else []


def _is_short(text: str, point: int) -> bool:
    """Whether a point ends an abbreviation. Most points stand behind a whole word, which needs no pattern."""
    _, space, word = text[max(0, point - 6) : point].rpartition(" ")
    if word[:1] == "(":
        space, word = "(", word[1:]
    if word.isalpha() and (space or len(word) == 6):
        if word in _BEFORE_DIGITS and text[point + 1 : point + 3].strip().isdigit():
            return True
        return bool(space) and (word in _SHORT or (len(word) == 1 and "A" <= word <= "Z"))
    if _DEGREES.search(word):
        return False
    return word[-1:].isalpha() and _ABBREVIATION.search(text[max(0, point - 11) : point + 1]) is not None
