"""Reader `luna`: NumTok, the number tokenizer of LUNA (2022), reproduced with its quirks.

Three steps. *Filter*: runs of digits and `+ - , . %` that hold a digit. *Check*: is the whole run a number? *Split*: if
not, try one separator after the other until every part is a number. A run that no separator resolves is dropped; NumTok
does so without a word, `LunaReader.dropped` names such runs.

The alphabet is ASCII: `−5` (U+2212) is 5 and `½` is nothing. A sign counts only behind white space or at the start of
the text, accounting parentheses never do, and a `%` behind a space is lost. Where a reader is wanted that understands
these, use `standard`; this one is for results that must be comparable with the paper's.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from numerate.numerals.numeral import Numeral
from numerate.reading.base import Reader
from numerate.registry import readers

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["LunaReader"]

_MARKS = "+-,.%"
# No "contains a digit" in the pattern: on a run of points alone it would try again from every one of them.
_RUN = re.compile(r"[0-9+\-,.%]++")
_LEGAL = re.compile(
    r"[+-]?"
    r"(?:[0-9]{1,3}+(?:,[0-9]{3})++(?:\.[0-9]++)?+"  # 1,234.5 (and 0,123, which means 123)
    r"|[0-9]++(?:\.[0-9]*+)?+"  # 5, 5.0 and 5.
    r"|\.[0-9]++)"  # .5
    r"%?"
)
_SEPARATORS = (",", "-", ".", "+", "-+")
_DROPPABLE = frozenset(",-.+")


@readers.register("luna", "numtok")
class LunaReader(Reader):
    """Finds numbers as LUNA's NumTok does.

    The kind is `percent` where a `%` is part of the number and `quantity` otherwise: NumTok knows no others.

    Example:
        >>> reader = LunaReader()
        >>> [(n.text, n.value) for n in reader.find("1.76%-2.50% of $2,082 in COVID-19 tests, 3--2")]
        [('1.76%', 0.0176), ('2.50%', 0.025), ('2,082', 2082.0), ('19', 19.0)]
        >>> reader.dropped("1.76%-2.50% of $2,082 in COVID-19 tests, 3--2")
        [(41, 45)]
    """

    def find(self, text: str) -> list[Numeral]:
        """All numbers that NumTok keeps, in order."""
        return [
            Numeral(text[start:end], start, end, value, kind, power=-2 if kind == "percent" else 0)
            for start, end, value, kind in self.spans(text)
        ]

    def spans(self, text: str) -> list[tuple[int, int, float, str]]:
        """The numbers as bare `(start, end, value, kind)`."""
        rows = []
        for offset, run, parts in _resolved_runs(text):
            for start, end in parts or ():
                digits = run[start:end].replace(",", "")
                if digits[-1] == "%":
                    # An exponent, not a division: 1.76 / 100 is not the float64 nearest to 0.0176.
                    rows.append((offset + start, offset + end, float(f"{digits[:-1]}e-2"), "percent"))
                else:
                    rows.append((offset + start, offset + end, float(digits), "quantity"))
        return rows

    def dropped(self, text: str) -> list[tuple[int, int]]:
        """The runs with digits in which NumTok finds no number at all, as `(start, end)`."""
        return [(offset, offset + len(run)) for offset, run, parts in _resolved_runs(text) if parts is None]


def _resolved_runs(text: str) -> Iterator[tuple[int, str, list[tuple[int, int]] | None]]:
    """Every run that holds a digit: its offset, itself, and the spans of its numbers inside it (None: dropped)."""
    for match in _RUN.finditer(text):
        run, offset = match.group(), match.start()
        if run.strip(_MARKS):
            free = offset == 0 or text[offset - 1].isspace()
            skip = _legal_from(run, free)
            yield offset, run, _split(run, free) if skip is None else [(skip, len(run))]


def _legal_from(part: str, free: bool) -> int | None:
    """Where the number in `part` begins if all the rest of it is one number, else None.

    Args:
        part: A run, or a part of one.
        free: Whether white space stands before it. If not, one leading mark is no part of the number.
    """
    skip = 0 if free or part[:1] not in _DROPPABLE else 1
    return skip if _LEGAL.fullmatch(part, skip) else None


def _split(run: str, free: bool) -> list[tuple[int, int]] | None:
    """Cuts a run at the first separator that leaves only numbers; gives their spans, or None."""
    for separator in _SEPARATORS:
        # The last one stands for either sign; all separators are one character wide, so offsets stay true.
        pieces = run.replace("+", "-").split("-") if separator == "-+" else run.split(separator)
        start = 0
        while not pieces[-1]:
            pieces.pop()
        while not pieces[start]:
            start += 1
        spans = _numbers_of(pieces[start:], start, free)
        if spans is not None:
            return spans
    return None


def _numbers_of(pieces: list[str], offset: int, free: bool) -> list[tuple[int, int]] | None:
    spans = []
    for piece in pieces:
        skip = _legal_from(piece, free)
        if skip is None:
            return None
        spans.append((offset + skip, offset + len(piece)))
        offset += len(piece) + 1
        free = True  # NumTok lets every part but the first keep its sign
    return spans
