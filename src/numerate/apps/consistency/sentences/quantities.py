"""`Quantity`: a number of a sentence with its unit, and by how much it may be off."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from numerate.apps.consistency.sentences.patterns import regex

if TYPE_CHECKING:
    from numerate.numerals.numeral import Numeral

__all__ = ["Quantity", "is_extreme"]

EXTREME = 1e100
"""Numbers that are larger, or nearer to 0 than its inverse, such as `1e400`: sums, products and ratios overflow."""

_HEDGES = (
    ("about", r"about|around|approximately|approx\.?|roughly|some|circa|ca?\.|~|≈|close to|an estimated|estimated|"
              r"(?<!add )(?<!adds )(?<!added )(?<!adding )(?<!sums )up to|or so|in the region of|an average of"
              r"|average|averaging|somewhere|say|typically"),
    ("over", r"(?<!turned )(?<!turning )(?<!bill )(?<!invoice )(?<!spread )(?<!spreads )"
             r"(?<!extends )(?<!stretches )(?<!divided )(?<!distributed )over"
             r"|more than|at least|above|exceeding|in excess of|greater than|upwards of|well over|just over|>|≥|"
             r"no less than|no fewer than|a minimum of|beyond|past"),
    ("under", r"nearly|almost|under|less than|fewer than|below|at most|just under|just short of|not quite|<|≤|within|"
              r"no more than|as many as|as much as|a maximum of|a little under|practically"),
)  # fmt: skip
_HEDGE = regex(
    rf"(?:(?<=\s)|(?<=\()|^)(?:{'|'.join(f'(?P<{name}>{words})' for name, words in _HEDGES)})"
    r"[\s(]*(?:the |an? |of |only |by |just |to )?[$€£¥]?\s*$",
    re.IGNORECASE,
)
_HEDGE_MARKS = str.maketrans("($€£¥", "     ")
_LOOK_BEHIND = regex(r"\(\?<![^)]*\)")
_HEDGE_WORDS = [
    each.split()
    for words in ("approx|approx.|c.|ca.", *(words for _, words in _HEDGES))
    for each in _LOOK_BEHIND.sub("", words).split("|")
]
_HEDGE_ENDS = frozenset(words[-1] for words in _HEDGE_WORDS if len(words) == 1)
_HEDGE_PAIRS = frozenset((words[-2], words[-1]) for words in _HEDGE_WORDS if len(words) > 1)
"""Last words of the hedges: they are the last or last but one before a quantity with a hedge."""


_MOST_KNOWN = 4_000
_precisions: dict[tuple[object, ...], int] = {}
"""The precision of numerals by how they are written: it takes long, and most are written like others."""


def is_extreme(value: float) -> bool:
    """Whether a number is too large or too small for the arithmetic of the rules, which then leave it out.

    Example:
        >>> is_extreme(float("inf")), is_extreme(1e-200), is_extreme(0.0), is_extreme(-5e9)
        (True, True, False, False)
    """
    return not (abs(value) <= EXTREME and (abs(value) >= 1 / EXTREME or value == 0))


def _precision(numeral: Numeral) -> int:
    written = numeral.text, numeral.value, numeral.point, numeral.power, numeral.kind, numeral.special
    known = _precisions.get(written)
    if known is None:
        if len(_precisions) >= _MOST_KNOWN:
            _precisions.clear()
        known = _precisions[written] = numeral.precision
    return known


@lru_cache(maxsize=_MOST_KNOWN)
def _hedge_before(before: str) -> str:
    """The hedge at the end of a text; a sentence, its clauses and its paragraph all ask for it."""
    words = before.lower().translate(_HEDGE_MARKS).rsplit(None, 3)[-3:]
    if _HEDGE_ENDS.isdisjoint(words[-2:]) and _HEDGE_PAIRS.isdisjoint(itertools.pairwise(words)):
        return ""
    found = _HEDGE.search(before)
    return (found.lastgroup or "") if found else ""


@dataclass(slots=True)
class Quantity:
    """A number of a sentence with its unit or currency; `6 ft 2 in`, `14:20` and `3 March 1950` are one quantity.

    Attributes:
        text: As written, with unit and currency.
        start: Offset in the document of the first character.
        end: Offset behind the last.
        value: Its value; minutes for a time of the day, days (or years) for a date.
        unit: Normal spelling of the unit.
        group: `plain`, `unit`, `percent`, `money`, `year`, `date`, `clock`, `ordinal`, `ratio` or `other`.
        numerals: The numerals it is made of.
        step: What one of its last written digit is worth.
        before: The text before it, for words such as `about`.
        place: Index of its sentence in its paragraph; -1 for a quantity that is no value of a paragraph.
    """

    text: str
    start: int
    end: int
    value: float
    unit: str | None
    group: str
    numerals: tuple[Numeral, ...]
    step: float = 0.0
    before: str = ""
    _hedge: str | None = field(default=None, repr=False)
    place: int = field(default=-1, init=False, repr=False, compare=False)

    @property
    def half(self) -> float:
        """Half of what the last written digit is worth: the largest error by rounding."""
        if not self.step:
            try:
                numeral = self.numerals[-1]
                is_whole = not numeral.power and numeral.text.isdecimal()  # most numbers: no style is needed for them
                self.step = 1.0 if is_whole else 10.0 ** _precision(numeral)
            except (OverflowError, ValueError, IndexError):
                self.step = abs(self.value) or 1.0
        return self.step / 2

    @property
    def last_place(self) -> float:
        """What its last digit that is not 0 is worth: 100 for 3,200, which may have been rounded to hundreds."""
        step = self.half * 2
        if len(self.numerals) == 1 and "." in self.numerals[0].text:
            return step  # `1.70 m` is not rounded to 1.7
        value = round(abs(self.value) / step) if math.isfinite(self.value) and step else 0
        if value == 0 or value > 1e15:
            return step
        digits = str(value)
        return step * 10 ** (len(digits) - len(digits.rstrip("0")))

    @property
    def hedge(self) -> str:
        """`about`, `over` or `under` if such a word stands before it, else an empty string."""
        if self._hedge is None:
            self._hedge = _hedge_before(self.before)
        return self._hedge

    @property
    def slack(self) -> float:
        """How far the value may be off: half of the last digit; for `about`, `over`, ... a tenth or the last place."""
        if self.hedge:
            return max(self.last_place, 0.1 * abs(self.value))
        return self.half

    @property
    def blur(self) -> float:
        """How far the value may be off by rounding; counts are exact, whole amounts of money nearly so."""
        if self.half == 0.5 and not self.hedge:
            if self.unit is None:
                return 0.0
            if self.group == "money":
                return min(0.5, 0.01 * abs(self.value))
        return self.slack

    def comparable(self, other: Quantity) -> bool:
        """Whether both have the same unit, or none."""
        if self.unit == other.unit:
            return True
        both = self.unit is not None and other.unit is not None
        return both and self.unit.split("/")[0] == other.unit.split("/")[0]  # type: ignore[union-attr]
