"""Fast reading of long generated lists of small numbers (`1,2,3,...`, `7 0 3 ...`).

A matrix or a row of pixels may contain a million numbers. All inner numbers of such a list have the same context (a
number and a separator on both sides), so that they have the same kind and need no analysis of their own.
"""

from __future__ import annotations

import re
from itertools import accumulate, repeat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.reading.kinds import Record

__all__ = ["MIN_TEXT", "NO_RUN", "list_records", "next_run", "run_records"]

NO_RUN = (1 << 62, 1 << 62, "")
MIN_TEXT = 4096
"""Shorter texts are not searched for lists, because reading them is fast anyway."""
# Items have one or two digits: three may be a group of thousands, four a year. Letters as separators make codes. The
# separators `(`, `e+` and `+-` hardly occur in real lists; they limit the cost of adversarial texts. Dense text that is
# not regular is read by the loop in `standard`.
# It begins with a digit, and looks back from behind it, so that the search jumps from digit to digit.
_RUN = re.compile(
    r"[0-9](?<![\d.,:/'][0-9])(?<!(?<!\+)-[0-9])[0-9]?+([ (%]|\+-|e\+?|[a-df-rt-uwyz])(?>[0-9]{1,2}+\1){62,}+"
)


def next_run(text: str, position: int) -> tuple[int, int, str]:
    """Start, end and separator of the next long list of small whole numbers; NO_RUN if there is none."""
    if len(text) < MIN_TEXT:
        return NO_RUN
    match = _RUN.search(text, position)
    return NO_RUN if match is None else (match.start(), match.end(), match[1])


def run_records(text: str, run: tuple[int, int, str]) -> tuple[list[Record], int]:
    """Records of a list without its first and last two numbers, whose kinds depend on the context; and their end."""
    start, end, mark = run
    begin = text.index(mark, start) + len(mark)
    stop = text.rindex(mark, start, text.rindex(mark, start, text.rindex(mark, start, end)))
    kind = "percent" if mark == "%" else "identifier" if mark[0].isalpha() else "quantity"
    return list_records(text[begin:stop].split(mark), begin, kind, mark), stop


def list_records(items: Sequence[str], start: int, kind: str, mark: str) -> list[Record]:
    """Records of whole numbers with the same separator between all of them."""
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
