"""Slips in columns of too few or too equal values for a distribution: `81.2` among eleven values from 8.01 to 8.10.

What such a column says is that its values lie close together. A cell far from all of them, which one slip of the hand
would put among them, is that slip. In 32,345 tables of Wikipedia eleven cells are so, and nearly all are mistakes of
the source: `19881`, `191822` and `200708` among years, `139.81` among values from 1,190 to 1,359.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from numerate.apps.consistency.base import plain
from numerate.apps.consistency.dates.calendar_words import MONTH
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.tables.cell_numbers import has_decimal_commas
from numerate.apps.consistency.tables.table_numbers import finest
from numerate.apps.consistency.tables.total_parts import cell_of
from numerate.apps.findings import Finding
from numerate.numerals.slips import SLIPS, Slip, slips_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numerate.apps.consistency.tables.table_numbers import NumberTable
    from numerate.apps.documents import Document

__all__ = ["MONTHS", "is_multiple", "slips_in_short_columns", "without_last_digit"]

FEWEST = 6
"""Fewer values say too little."""
DIFFERENT = 3
"""Different values that the others must have: one or two numbers that are repeated are labels or limits."""
POWERS, CLOSE = frozenset({"factor", "hundred", "thousands", "percent", "doubled", "added"}), 1.5
"""Slips that change the size, and the ratio of the largest to the smallest of the others that they are named beside."""
SLACK = 1.05
"""What was meant may be outside of the others by this ratio."""
VERY_CLOSE, FAR = 1.25, 5.0
"""Two digits that are exchanged: this ratio, and a distance of so many ranges of the others."""
DIGITS = 10
"""The least of the others must be so many times the worth of its last digit: 4, 5, 6 and 50 is a count like another."""

MONTHS = regex(MONTH, re.IGNORECASE)
_ONE_DIGIT = regex(r"\D*\d\D*")
_NUMBER = regex(r"[\d.,'\s]")


def slips_in_short_columns(
    document: Document, table: NumberTable, sizes: np.ndarray, columns: Iterable[int]
) -> Iterator[Finding]:
    """Cells that a slip explains, in columns that no distribution could be fitted to.

    Args:
        document: The whole table.
        table: Its numbers.
        sizes: The numbers (rows, columns), without signs that are meant.
        columns: The columns to look at.
    """
    for column in columns:
        values = sizes[:, column].copy()
        values[table.total_rows] = np.nan
        rows = np.flatnonzero(np.isfinite(values))
        if len(rows) < FEWEST or (values[rows] <= 0).any():
            continue
        for row in {int(rows[values[rows].argmin()]), int(rows[values[rows].argmax()])}:
            others = rows[rows != row]
            low, high = values[others].min(), values[others].max()
            is_written_finely = low >= DIGITS * table.steps[others, column].max()
            if len(np.unique(values[others])) < DIFFERENT or not is_written_finely or high > CLOSE * low:
                continue
            written = cell_of(table, row, column).strip()
            beside = [cell_of(table, each, column) for each in others.tolist()]
            # The days of dates, a single digit as of one who retired, and a cell with other signs than all others.
            if MONTHS.search(written) or _ONE_DIGIT.fullmatch(written) or _bare(written) not in map(_bare, beside):
                continue
            slip = _slip(written, float(values[row]), float(low), float(high), finest(table, row, column))
            if slip is None:
                continue
            key, meant = document.header[column], slip.text
            if "," not in written and has_decimal_commas(beside):
                meant = meant.replace(".", ",")
            message = (
                f"{written} is improbable in {key!r}, where the other {len(others)} are from {plain(low)} to"
                f" {plain(high)}; probably {SLIPS[slip.name]}: {meant}."
            )
            evidence = {"slip": slip.name, "expected": slip.value, "value": float(values[row])}
            yield Finding(
                rule="column-slip", message=message, written=written, meant=meant, probability=0.9, key=key,
                cell=(row + document.first_row, column), evidence=evidence,
            )  # fmt: skip


def _bare(cell: str) -> str:
    return _NUMBER.sub("", cell)


def is_multiple(value: float, step: float) -> bool:
    """Whether a value could stand in a column whose finest digit is worth so much: there is no 7.1 among medals.

    Example:
        >>> is_multiple(7.1, 1.0), is_multiple(7.1, 0.1), is_multiple(71.0, 1.0)
        (False, True, True)
    """
    return abs(value / step - round(value / step)) <= 1e-6 * max(1.0, abs(value / step))


def _slip(written: str, value: float, low: float, high: float, least_step: float) -> Slip | None:
    """The slip that puts a value between two others from which it is far, and among several the most usual one."""
    is_far = not low / CLOSE <= value <= CLOSE * high
    distance = max(low - value, value - high) / (high - low)
    is_exchanged = high <= VERY_CLOSE * low and distance > FAR
    fitting = [
        slip
        for slip in (
            each if is_multiple(each.value, least_step) else without_last_digit(each, written)
            for each in slips_of(written, value)
        )
        if (is_far and slip.name in POWERS and low / SLACK <= slip.value <= SLACK * high)
        or (is_exchanged and slip.name == "exchanged" and low <= slip.value <= high)
    ]
    return max(fitting, key=lambda slip: slip.prior, default=None)


def without_last_digit(slip: Slip, written: str) -> Slip:
    """A digit too many, as of a footnote, for a factor of ten: `19881` among years is 1988, and not 1988.1."""
    if slip.name != "factor" or slip.value == round(slip.value) or not written.isdecimal():
        return slip
    return slip._replace(name="added", text=written[:-1], value=float(written[:-1]))
