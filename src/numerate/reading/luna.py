"""Reader `luna`: NumTok, the number tokenizer of LUNA (2022), reproduced exactly.

NumTok has three steps. *Filter*: find runs of digits and `+ - , . %` with at least one digit. *Check*: test whether the
whole run is a number. *Split*: if not, try one separator after the other until every part is a number. Runs that no
separator resolves are dropped; `LunaReader.dropped` lists them.

Only ASCII is read: `−5` (U+2212) is 5, and `½` is nothing. Signs count only after white space or at the start of the
text, accounting parentheses are ignored, and a `%` after a space is lost. Use this reader for results that must be
comparable with the paper, and `standard` otherwise.
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
# The pattern does not require a digit: on a run of points it would then start again from every point.
_RUN = re.compile(r"[0-9+\-,.%]++")
_LEGAL = re.compile(
    r"[+-]?"
    r"(?:[0-9]{1,3}+(?>,[0-9]{3})++(?>\.[0-9]++)?+"  # 1,234.5 (and 0,123, which means 123)
    r"|[0-9]++(?>\.[0-9]*+)?+"  # 5, 5.0 and 5.
    r"|\.[0-9]++)"  # .5
    r"%?"
)
_SEPARATORS = (",", "-", ".", "+", "-+")
_DROPPABLE = frozenset(",-.+")


@readers.register("luna", "numtok")
class LunaReader(Reader):
    """Finds numbers as LUNA's NumTok does.

    The kind is `percent` if a `%` is part of the number and `quantity` otherwise.

    Example:
        >>> reader = LunaReader()
        >>> [(n.text, n.value) for n in reader.find("1.76%-2.50% of $2,082 in COVID-19 tests, 3--2")]
        [('1.76%', 0.0176), ('2.50%', 0.025), ('2,082', 2082.0), ('19', 19.0)]
        >>> reader.dropped("1.76%-2.50% of $2,082 in COVID-19 tests, 3--2")
        [(41, 45)]
    """

    is_local = True

    def find(self, text: str) -> list[Numeral]:
        """All numbers that NumTok keeps."""
        return [
            Numeral(text[start:end], start, end, value, kind, power=-2 if kind == "percent" else 0)
            for start, end, value, kind in self.spans(text)
        ]

    def spans(self, text: str) -> list[tuple[int, int, float, str]]:
        """The numbers as `(start, end, value, kind)`."""
        rows = []
        for offset, run, parts in _resolved_runs(text):
            for start, end in parts or ():
                # For percent, append an exponent: 1.76 / 100 is not the float64 nearest to 0.0176.
                value = float(run[start:end].replace(",", "").replace("%", "e-2"))
                rows.append((offset + start, offset + end, value, "percent" if run[end - 1] == "%" else "quantity"))
        return rows

    def dropped(self, text: str) -> list[tuple[int, int]]:
        """The runs with digits in which NumTok finds no number, as `(start, end)`."""
        return [(offset, offset + len(run)) for offset, run, parts in _resolved_runs(text) if parts is None]


def _resolved_runs(text: str) -> Iterator[tuple[int, str, list[tuple[int, int]] | None]]:
    """Yields each run with a digit: its offset, its text, and the spans of its numbers in it (None if dropped)."""
    for match in _RUN.finditer(text):
        run, offset = match.group(), match.start()
        if run.strip(_MARKS):
            free = offset == 0 or text[offset - 1].isspace()
            skip = _legal_from(run, free)
            yield offset, run, _split(run, free) if skip is None else [(skip, len(run))]


def _legal_from(part: str, free: bool) -> int | None:
    """Start of the number in `part` (a run or part of a run) if the rest of `part` is one number, else None.

    Without white space before it (`free` is False), one leading mark does not belong to the number.
    """
    skip = 0 if free or part[:1] not in _DROPPABLE else 1
    return skip if _LEGAL.fullmatch(part, skip) else None


def _split(run: str, free: bool) -> list[tuple[int, int]] | None:
    """Splits a run at the first separator that leaves only numbers; returns their spans, or None."""
    for separator in _SEPARATORS:
        # "-+" means both signs. Every separator is one character wide, so that offsets are kept.
        pieces = run.replace("+", "-").split("-") if separator == "-+" else run.split(separator)
        filled = [index for index, piece in enumerate(pieces) if piece]
        spans = _numbers_of(pieces[filled[0] : filled[-1] + 1], filled[0], free)
        if spans is not None:
            return spans
    return None


def _numbers_of(pieces: list[str], offset: int, free: bool) -> list[tuple[int, int]] | None:
    spans = []
    for piece in pieces:
        # NumTok checks every part as it stands, then skips a leading mark: in `uk,5-0` the part `,5` is no number.
        skip = _legal_from(piece, free) if _LEGAL.fullmatch(piece) else None
        if skip is None:
            return None
        spans.append((offset + skip, offset + len(piece)))
        offset += len(piece) + 1
        free = True  # in NumTok every part except the first keeps its sign
    return spans
