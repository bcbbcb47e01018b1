"""Units of a context that a model can tag: table cells, and words of paragraphs, with the numbers that they hold."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from numerate.numerals.number_words import render_words
from numerate.reading import make_reader

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numerate.numerals.numeral import Numeral
    from numerate_lab.tasks.tatqa.report_file import Context

__all__ = ["Number", "Segment", "Unit", "by_likeness", "content_words", "in_words", "segments_of"]

_WORD = re.compile(r"[^\s\-–—~]+")
_EDGES = "\"'“”‘’.,;:!?*"
_DASH = re.compile(r"\W*[-–—]+\W*")
_NAMES = re.compile(r"[^\W\d_]+|\d[\d.,]*\d|\d")
_COMMON = frozenset(
    {
        "a", "an", "and", "are", "as", "at", "be", "between", "by", "did", "do", "does", "for", "from", "had", "has",
        "have", "how", "in", "is", "it", "its", "many", "much", "of", "on", "or", "than", "that", "the", "their",
        "there", "to", "was", "were", "what", "when", "which", "who", "why", "with", "year", "years",
    }
)  # fmt: skip
_UNCOUNTED = ("date", "time", "identifier", "version", "phone")
"""Kinds of numeral that are operands only if a unit has no others."""
_cells = make_reader("standard", cell=True)
_texts = make_reader("standard", words=True)


@dataclass(frozen=True, slots=True)
class Number:
    """The number of a unit.

    Attributes:
        written: As it is written, negative in accounting parentheses: `(3.2)%` is -3.2.
        percent: Whether it has a percent sign.
    """

    written: float
    percent: bool = False

    @property
    def value(self) -> float:
        """As a factor: `3.2%` is 0.032."""
        return self.written / 100 if self.percent else self.written


@dataclass(frozen=True, slots=True)
class Unit:
    """A table cell or a word of a paragraph.

    Attributes:
        text: As it is written.
        segment: The index of its segment, a cell or a paragraph,
        start: and its characters there,
        end: without punctuation at the edges of words.
        row: Row of a cell; -1 for a word.
        column: Column of a cell; -1 for a word.
        number: The number in it; None for none. A dash that fills a cell is 0.
    """

    text: str
    segment: int
    start: int
    end: int
    row: int = -1
    column: int = -1
    number: Number | None = None

    @property
    def is_cell(self) -> bool:
        """Whether it is a table cell."""
        return self.row >= 0


@dataclass(frozen=True, slots=True)
class Segment:
    """A cell or a paragraph.

    Attributes:
        text: The text, as a model reads it.
        units: Its units.
        paragraph: `order` of a paragraph; 0 for a cell.
    """

    text: str
    units: tuple[Unit, ...]
    paragraph: int = 0


def segments_of(context: Context) -> list[Segment]:
    """All cells, row by row and without the empty ones, then all paragraphs."""
    found: list[Segment] = []
    for row, cells in enumerate(context.table):
        for column, cell in enumerate(cells):
            text = " ".join(cell.split())
            if text:
                unit = Unit(text, len(found), 0, len(text), row, column, _cell_number(text))
                found.append(Segment(text, (unit,)))
    for order, paragraph in context.paragraphs:
        text = " ".join(paragraph.split())
        if text:
            found.append(Segment(text, tuple(_words(text, len(found))), order))
    return found


def by_likeness(segments: Sequence[Segment], question: str) -> list[int]:
    """Indices of the segments: cells in their order, then paragraphs, most similar to the question first.

    Similarity is the cosine of TF-IDF vectors, with frequencies over the paragraphs of the context.
    """
    cells = [index for index, one in enumerate(segments) if not one.paragraph]
    others = {index: Counter(_names(one.text)) for index, one in enumerate(segments) if one.paragraph}
    seen = Counter(word for words in others.values() for word in words)
    weight = {word: 1 + math.log((1 + len(others)) / (1 + count)) for word, count in seen.items()}
    asked = {word: (1 + math.log(count)) * weight.get(word, 0.0) for word, count in Counter(_names(question)).items()}

    def likeness(words: Counter[str]) -> float:
        own = {word: (1 + math.log(count)) * weight[word] for word, count in words.items()}
        norm = math.sqrt(math.fsum(value**2 for value in own.values())) or 1.0
        return math.fsum(value * asked.get(word, 0.0) for word, value in own.items()) / norm

    return cells + sorted(others, key=lambda index: (-likeness(others[index]), index))


def content_words(text: str) -> frozenset[str]:
    """Words and numbers of a text in lower case, without the most common words.

    Example:
        >>> sorted(content_words("What was the Net income in 2019?"))
        ['2019', 'income', 'net']
    """
    return frozenset(_names(text)) - _COMMON


def in_words(segment: Segment) -> Segment:
    """A segment with its numbers written as English words, units moved accordingly.

    Example:
        >>> from numerate_lab.tasks.tatqa.report_file import Context
        >>> context = Context("", (("$ (1,100)",),), ((1, "It rose 3% in 2019."),), ())
        >>> [in_words(one).text for one in segments_of(context)]
        ['$ minus one thousand one hundred', 'It rose three percent in two thousand nineteen.']
    """
    cell = not segment.paragraph
    pieces, moves, done = [], [], 0
    for numeral in (_cells if cell else _texts).find(segment.text):
        if not math.isfinite(numeral.value) or not any(char.isdigit() for char in numeral.text):
            continue
        pieces += [segment.text[done : numeral.start], _spelled(numeral)]
        moves.append((numeral.start, numeral.end, len(pieces[-1])))
        done = numeral.end
    text = "".join([*pieces, segment.text[done:]])

    def moved(place: int, end: bool) -> int:
        shift = 0
        for begin, stop, length in moves:
            if place < begin or (place == begin and not end):
                break
            if place < stop or (place == stop and end):  # inside of a number: its unit is the whole number
                return begin + shift + (length if end else 0)
            shift += length - (stop - begin)
        return place + shift

    units = [
        Unit(one.text, one.segment, moved(one.start, False), moved(one.end, True), one.row, one.column, one.number)
        for one in segment.units
    ]
    return Segment(text, tuple(units), segment.paragraph)


def _spelled(numeral: Numeral) -> str:
    if numeral.kind == "percent":
        return f"{render_words(numeral.written, 'lower .')} percent"
    return render_words(numeral.value, "lower .")


def _names(text: str) -> list[str]:
    return _NAMES.findall(text.lower())


def _number(numerals: Iterable[Numeral]) -> Number | None:
    """The first number that counts something; if there is none, the first one."""
    known = [one for one in numerals if math.isfinite(one.value)]
    counted = [one for one in known if one.kind not in _UNCOUNTED]
    for one in counted or known:
        return Number(one.written, one.kind == "percent")
    return None


def _cell_number(text: str) -> Number | None:
    found = _number(_cells.find(text))
    return Number(0.0) if found is None and _DASH.fullmatch(text) else found


def _words(text: str, segment: int) -> list[Unit]:
    """The words of a paragraph, split at spaces, hyphens and dashes, without punctuation at their edges."""
    numerals = _texts.find(text)
    found: list[Unit] = []
    at = 0
    for match in _WORD.finditer(text):
        start, end = match.span()
        while start < end and text[start] in _EDGES + "([{" and not _encloses(text, start, end):
            start += 1
        while end > start and text[end - 1] in _EDGES + ")]}" and not _encloses(text, start, end):
            end -= 1
        if start == end:
            continue
        while at < len(numerals) and numerals[at].end <= start:
            at += 1
        inside: list[Numeral] = []
        while at < len(numerals) and numerals[at].start < end:
            inside.append(numerals[at])
            if numerals[at].end > end:
                break
            at += 1
        # A number of several words, as 1.5 billion, belongs to the first of them.
        own = [one for one in inside if not found or one.start >= found[-1].end]
        found.append(Unit(text[start:end], segment, start, end, number=_number(own)))
    return found


def _encloses(text: str, start: int, end: int) -> bool:
    """Whether parentheses belong to the word, as in `(134)`, `$(3.2)` or `share(s)`."""
    word = text[start:end]
    if text[start] in "([{":
        return any(close in word for close in ")]}") and any(char.isdigit() for char in word)
    return text[end - 1] in ")]}" and any(mark in word for mark in "([{")
