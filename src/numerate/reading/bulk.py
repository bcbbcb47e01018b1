"""Long machine-made lists of small numbers (`1,2,3,...`, `7 0 3 ...`), read without a look at each one's neighbours.

A matrix or a row of pixels may hold a million numbers. Inside such a list every number has the same surroundings, a
number and a mark on either side, so what the first ones are the rest are too.
"""

from __future__ import annotations

import re
from itertools import accumulate, repeat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.reading.number import Record

__all__ = ["NO_RUN", "list_records", "next_run", "run_records"]

NO_RUN = (1 << 62, 1 << 62, "")
_SHORTEST = 4096
"""Shorter texts are not searched for lists: they are quick to read as they are."""
# Items of one or two digits only: three may be a group of thousands, four a year. A letter between them makes codes.
# `(`, `e+` and `+-` hardly occur in real lists: they keep hostile text of that shape cheap. Irregular dense text does
# not come through here and pays the full price of the loop in `standard`.
_RUN = re.compile(r"(?<![\d.,:/'])(?<!(?<!\+)-)[0-9]{1,2}+([ (%]|\+-|e\+?|[a-df-rt-uwyz])(?:[0-9]{1,2}+\1){62,}+")


def next_run(text: str, position: int) -> tuple[int, int, str]:
    """Where the next long list of small whole numbers begins and ends, and the mark that divides it; or NO_RUN."""
    if len(text) < _SHORTEST:
        return NO_RUN
    match = _RUN.search(text, position)
    return NO_RUN if match is None else (match.start(), match.end(), match[1])


def run_records(text: str, run: tuple[int, int, str]) -> tuple[list[Record], int]:
    """The numbers inside a list but for its first and its last two, whose neighbours matter; and where they end."""
    start, end, mark = run
    begin = text.index(mark, start) + len(mark)
    stop = text.rindex(mark, start, text.rindex(mark, start, text.rindex(mark, start, end)))
    kind = "percent" if mark == "%" else "identifier" if mark[0].isalpha() else "quantity"
    return list_records(text[begin:stop].split(mark), begin, kind, mark), stop


def list_records(items: Sequence[str], start: int, kind: str, mark: str) -> list[Record]:
    """Records of whole numbers that stand side by side with one mark between them."""
    lengths = [len(item) for item in items]
    strides = accumulate([length + len(mark) for length in lengths], initial=start - len(mark))
    ends = list(strides)[1:]
    starts = list(map(int.__sub__, ends, lengths))
    power = 0
    if mark == "%":
        power, ends = -2, [end + 1 for end in ends]
        values = [float(item + "e-2") for item in items]
    else:
        values = list(map(float, items))
    return list(zip(starts, ends, values, *map(repeat, (kind, None, None, power, ".")), strict=False))
