"""The constant ratio of two columns: a tax of 19 %, pieces of 12 each, 1,024 bytes in a kibibyte."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numerate.apps.consistency.tables.table_numbers import NumberTable

__all__ = ["LEARN_ROWS", "constant_ratio", "exact_ratio"]

LEARN_ROWS = 2_000
"""Rows that relations are learnt from."""
MOST_DIGITS = 4
"""Significant digits of a ratio that somebody may have chosen: 0.19, 1.075."""
MOST_TRIED = 12
"""Rows whose quotients are tried."""
LEAST_EXACT = 5
"""Rows in which whole numbers must have an exact ratio: fewer have one by chance, or are prices with a discount."""


def constant_ratio(table: NumberTable, a: int, target: int, *, is_told: bool = False) -> float | None:
    """The ratio of two columns, a round one if that fits as well; None if one column copies the other.

    Where the names tell that there is one (`is_told`), one row that has another ratio is put up with.

    Example:
        >>> from numerate.apps.consistency.tables.table_numbers import NumberTable
        >>> from numerate.apps.documents import Document
        >>> rows = [["100", "19.00"], ["120.5", "22.90"], ["99.9", "18.98"]]
        >>> constant_ratio(NumberTable(Document(kind="table", header=["net", "tax"], rows=rows)), 0, 1)
        0.19
    """
    one, other, steps = _pairs(table, a, target)
    if len(one) < 3 or table.is_year(a) or table.is_year(target):
        return None
    ratios = other / one
    ratio = float(np.median(ratios))
    if ratio == 0 or not np.isfinite(ratio):
        return None
    # The median of rounded quotients is rough; the sums of the rows near it are better.
    near = np.abs(ratios / ratio - 1) < 0.1
    whole = float(np.abs(one[near]).sum())
    ratio = float(np.abs(other[near]).sum()) / whole * (1 if ratio > 0 else -1) if whole > 0 else ratio

    def count(tried: float) -> int:
        return int((np.abs(other - tried * one) <= 0.51 * steps).sum())

    if is_told:
        # One wrong cell spoils a sum; the largest numbers have the finest quotients.
        ratio = max([ratio, *ratios[np.argsort(-np.abs(one))[:MOST_TRIED]].tolist()], key=count)
    if abs(ratio - 1) < 1e-9:
        return None
    # A ratio that somebody chose gives every rounded cell; one that was estimated is a little off for large numbers.
    for digits in range(1, MOST_DIGITS + 1):
        rounded = float(f"{ratio:.{digits - 1}e}")
        if rounded != 1 and count(rounded) >= max(3, near.sum() - is_told):
            return rounded
    return ratio


def exact_ratio(table: NumberTable, a: int, target: int) -> float | None:
    """The whole number that a column of whole numbers has exactly times another one, in all rows but one; else None.

    Example:
        >>> from numerate.apps.consistency.tables.table_numbers import NumberTable
        >>> from numerate.apps.documents import Document
        >>> rows = [[f"{n}", f"{12 * n}"] for n in (3, 5, 8, 13, 21)] + [["4", "84"]]
        >>> exact_ratio(NumberTable(Document(kind="table", header=["boxes", "eggs"], rows=rows)), 0, 1)
        12.0
    """
    one, other, _ = _pairs(table, a, target)
    if len(one) <= LEAST_EXACT or table.is_year(a) or table.is_year(target):
        return None
    if (one != np.round(one)).any() or (other != np.round(other)).any():
        return None
    ratio = float(np.median(other / one))
    holds = other == ratio * one
    is_exact = holds.sum() == len(one) - 1 and len(np.unique(one[holds])) >= LEAST_EXACT
    return ratio if is_exact and ratio == round(ratio) and ratio >= 2 else None


def _pairs(table: NumberTable, a: int, target: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The cells of two columns in the rows that have both and are no totals, and what the second's last digit is worth.

    Totals are added up with their wrong parts, so that they tell nothing of a ratio that the parts do not tell.
    """
    one, other = table.values[:LEARN_ROWS, a], table.values[:LEARN_ROWS, target]
    known = np.isfinite(one) & np.isfinite(other) & (one != 0) & (other != 0)
    known[[row for row in table.total_rows if row < LEARN_ROWS]] = False
    return one[known], other[known], table.steps[:LEARN_ROWS, target][known]
