"""The part of a total that was written wrong: `5640` in a column whose total needs `564`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numerate.apps.consistency.slips import is_slip

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numerate.apps.consistency.tables.table_numbers import NumberTable

__all__ = ["flipped_part", "slipped_part"]

_POWERS = (-3, -2, -1, 1, 2, 3)
_LEAST_DIGITS = 3
"""Significant digits of a part that is blamed for a total which nothing else says to be a sum."""
_MOST = 1e15
_NEAR = 0.01
"""Share of a part by which rounding may move it: what is rounded away proves nothing."""


def slipped_part(
    values: np.ndarray, steps: np.ndarray, rows: Iterable[int], gap: float, slack: float, *, is_sum: bool
) -> tuple[int, float] | None:
    """The one part that fits the total after a slip is undone, and the number that was meant; None for none or several.

    Args:
        values: (rows,) the numbers of a column.
        steps: (rows,) what their last digits are worth.
        rows: The parts of the total; three at least, or two of what is known to be a sum.
        gap: What the sum lacks for the total, as it is written.
        slack: How far rounding may move the sum.
        is_sum: Whether something else says that the total is a sum; otherwise short numbers fit by chance.

    Example:
        >>> import numpy as np
        >>> slipped_part(np.array([120.0, 1340.0, 145.0]), np.ones(3), range(3), -1206.0, 0.0, is_sum=True)
        (1, 134.0)
    """
    parts = list(rows)
    if len(parts) < (2 if is_sum else 3):
        return None
    found: list[tuple[int, float]] = []
    for row in parts:
        here, step = float(values[row]), float(steps[row])
        if not 0 < abs(here) < _MOST or step <= 0:
            continue
        if not is_sum and len(f"{abs(here):.12g}".replace(".", "").strip("0")) < _LEAST_DIGITS:
            continue
        needed = here + gap
        for meant in _readings(abs(here), step):
            value = meant if here > 0 else -meant
            is_written = abs(meant / step - round(meant / step)) < 1e-6  # with as many decimals as the others
            near = min(slack, _NEAR * meant) + 1e-9 * abs(gap)
            if is_written and abs(value - needed) <= near and is_slip(abs(here), meant):
                found.append((row, value))
    return found[0] if len(found) == 1 else None


def flipped_part(table: NumberTable, rows: Iterable[int], column: int, gap: float) -> int | None:
    """The one part that lost or got its minus, where the other numbers of its row have the other sign; else None."""
    found = []
    for row in rows:
        here = float(table.values[row, column])
        others = [each for each in table.values[row, table.numeric] if np.isfinite(each) and each != here]
        is_odd = bool(others) and all(each * here < 0 for each in others)
        if is_odd and abs(gap + 2 * here) <= 1e-6 * abs(here):
            found.append(row)
    return found[0] if len(found) == 1 else None


def _readings(value: float, step: float) -> Iterator[float]:
    """A number with a factor of ten undone, or two neighbouring digits exchanged."""
    for power in _POWERS:
        yield float(f"{value:.12g}e{power}")
    digits = f"{round(value / step)}"
    for at in range(len(digits) - 1):
        if digits[at] != digits[at + 1]:
            yield float(f"{int(digits[:at] + digits[at + 1] + digits[at] + digits[at + 2 :]) * step:.12g}")
