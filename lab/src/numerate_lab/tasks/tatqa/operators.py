"""The ten operators of TagOp: from tagged units, an operator and a scale to an answer."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate_lab.tasks.tatqa.context_units import Number, Segment, Unit

__all__ = ["NUMERIC", "OPERATORS", "computed", "decoded", "operand_order"]

OPERATORS = (
    "SPAN-TEXT", "SPAN-TABLE", "MULTI_SPAN", "CHANGE_RATIO", "AVERAGE", "COUNT", "SUM", "DIFF", "TIMES", "DIVIDE",
)  # fmt: skip
NUMERIC = ("CHANGE_RATIO", "AVERAGE", "SUM", "DIFF", "TIMES", "DIVIDE")
"""Operators of arithmetic questions."""
_BINARY = ("CHANGE_RATIO", "DIFF", "DIVIDE")
_DECIMALS = 4
_TAGGED, _SURELY = 0.5, 0.9
"""Probability above which a unit is tagged, and above which it is a further operand of an operator of two."""
_BREAKS = ",;:"
"""Marks between two words that end a span, where several spans are the answer."""
_CLOSED = {"(": ")", "“": "”", "[": "]"}


def computed(name: str, numbers: Sequence[Number], scale: str, turned: bool = False) -> float | None:
    """What an operator of `NUMERIC` computes, with four decimals; None without enough numbers, or for a division by 0.

    Percentages are numbers as they are written, but factors in products and quotients: `34% + 11%` is 45, and
    `1,027 / 11%` is 9336.36. Ratios are in percent if the scale is; quotients are of absolute values. More than two
    numbers of a difference or quotient are a whole, which is the largest of them, and its parts.

    Args:
        name: The operator.
        numbers: Its operands in the order in which they are read.
        scale: The scale of the answer.
        turned: Swaps the operands of a difference, a quotient or a change ratio, and changes the sign of a sum or mean:
            tables write an expense as `(5)`, and questions ask for 5.

    Example:
        >>> from numerate_lab.tasks.tatqa.context_units import Number
        >>> computed("CHANGE_RATIO", [Number(44.1), Number(56.7)], "percent"), computed("SUM", [Number(-5.0)], "", True)
        (-22.2222, 5.0)
    """
    if len(numbers) < (2 if name in _BINARY else 1):
        return None
    written, values = [one.written for one in numbers], [one.value for one in numbers]
    if name in ("SUM", "AVERAGE"):
        result = sum(written) / (len(written) if name == "AVERAGE" else 1) * (-1 if turned else 1)
    elif name == "TIMES":
        result = math.prod(values)
    elif name == "DIFF":
        result = (written[0] - written[1] if len(numbers) == 2 else _largest(written)[0]) * (-1 if turned else 1)
    else:
        if name == "DIVIDE":
            sizes = [abs(value) for value in values]
            top, below = sizes[::-1] if turned and len(sizes) == 2 else sizes if len(sizes) == 2 else _largest(sizes)[1]
        else:
            old, new = (values[0], values[1]) if turned else (values[1], values[0])
            top, below = new - old, old
        if below == 0:
            return None
        result = top / below * (100 if scale == "percent" else 1)
    return round(result, _DECIMALS) + 0.0 if math.isfinite(result) else None  # -0 becomes 0


def _largest(numbers: Sequence[float]) -> tuple[float, tuple[float, float]]:
    """The largest number without the sum of all others; that sum, and the largest number."""
    whole = max(numbers, key=abs)
    parts = sum(numbers) - whole
    return whole - parts, (parts, whole)


def operand_order(name: str, numbers: Sequence[Number]) -> bool:
    """Whether the operands of an operator can be `turned`, so that there is an order to learn."""
    negative = sum(one.written for one in numbers) < 0
    return (name in _BINARY and len(numbers) == 2) or (name in ("SUM", "AVERAGE") and negative)


def decoded(
    name: str, segments: Sequence[Segment], units: Sequence[Unit], scores: Sequence[float], pair: Sequence[int],
    turned: bool, scale: str,
) -> list[str]:  # fmt: skip
    """The answer that an operator makes of tagged units: its items, none for no answer.

    Args:
        name: One of `OPERATORS`.
        segments: The segments of the context.
        units: Units in the order in which the model reads them.
        scores: The probability of each that it is tagged.
        pair: The two likeliest units with a number, in that order; fewer if there are none.
        turned: What the order head says of them; see `computed`.
        scale: The predicted scale.
    """
    if name in NUMERIC:
        several = name in ("DIFF", "DIVIDE")
        limit = _SURELY if several else _TAGGED
        chosen = [i for i, score in enumerate(scores) if score > limit and units[i].number is not None]
        if name == "CHANGE_RATIO" or len(chosen) < (3 if several else 1):
            chosen = list(pair)
        numbers = [number for index in chosen if (number := units[index].number) is not None]
        swaps = turned and (several or operand_order(name, numbers))
        result = computed(name, numbers, scale, swaps)
        return [] if result is None else [str(result)]
    if name == "SPAN-TABLE":
        cells = [index for index, unit in enumerate(units) if unit.is_cell]
        return [units[max(cells, key=scores.__getitem__)].text] if cells else []
    several = name != "SPAN-TEXT"
    cells = [index for index, unit in enumerate(units) if unit.is_cell and scores[index] > _TAGGED and several]
    runs = _runs(segments, units, scores, several)
    if name == "COUNT":
        return [str(len(cells) + len(runs))]
    if several:
        found = [units[index].text for index in cells] + [_text(segments, units, run) for run in runs]
        best = max(range(len(units)), key=scores.__getitem__, default=None)
        return found or ([] if best is None else [units[best].text])
    words = [index for index, unit in enumerate(units) if not unit.is_cell]
    if not runs and words:
        runs = [[max(words, key=scores.__getitem__)]]
    if not runs:
        return []
    best = max(runs, key=lambda run: (math.fsum(scores[index] for index in run) / len(run), len(run)))
    return [_text(segments, units, best)]


def _runs(
    segments: Sequence[Segment], units: Sequence[Unit], scores: Sequence[float], several: bool
) -> list[list[int]]:
    """Tagged words that follow one another; with `several`, a comma or semicolon ends a run."""
    found: list[list[int]] = []
    for index, unit in enumerate(units):
        if unit.is_cell or scores[index] <= _TAGGED:
            continue
        before = units[index - 1] if found and found[-1][-1] == index - 1 else None
        joined = before is not None and before.segment == unit.segment
        if joined and several and before is not None:
            between = segments[unit.segment].text[before.end : unit.start]
            joined = not any(mark in between for mark in _BREAKS)
        if joined:
            found[-1].append(index)
        else:
            found.append([index])
    return found


def _text(segments: Sequence[Segment], units: Sequence[Unit], run: Sequence[int]) -> str:
    """The text of a run, with the marks that close its quotations and parentheses."""
    first, last = units[run[0]], units[run[-1]]
    whole, end = segments[first.segment].text, last.end
    open_marks = [close for mark, close in _CLOSED.items() if whole.count(mark, first.start, end) > 0]
    rest = whole[end : end + 3]
    for close in open_marks:
        inside = whole[first.start : end]
        if (
            inside.count(close) == 0
            and close in rest
            and not any(char.isalnum() or char == " " for char in rest[: rest.index(close)])
        ):
            end += rest.index(close) + 1
            rest = whole[end : end + 3]
    return whole[first.start : end]
