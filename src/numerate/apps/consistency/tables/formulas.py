"""Formulas of the relations between columns: what a cell should be, and how far rounding may move it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = [
    "Formula", "change_of_rows", "changed_by", "changed_product", "difference_of", "flow_of", "growth_of",
    "growth_of_rows", "index_of_body", "mean_by_count", "mean_of",
    "product_of", "quotient_of", "running_total", "scaled_by", "signed_sum", "sum_from_top", "sum_of", "taken_from",
    "weighted",
]  # fmt: skip

Formula = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""(rows, columns) values and half steps -> expected values and their slack."""


def _shifted(column: np.ndarray, back: int) -> np.ndarray:
    """The cells of the row before (1) or behind (-1); NaN where there is none."""
    moved = np.roll(column, back)
    moved[0 if back == 1 else -1] = np.nan
    return moved


def growth_of_rows(source: int, back: int) -> Formula:
    """Growth of a column in percent, from the row before (1) or behind (-1)."""

    def formula(values: np.ndarray, halves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        old, new = _shifted(values[:, source], back), values[:, source]
        with np.errstate(divide="ignore", invalid="ignore"):
            expected = 100 * (new / old - 1)
            half = halves[:, source]
            slack = 100 * (half + _shifted(half, back) * np.abs(new / old)) / np.abs(old)
        return np.where(np.isfinite(expected), expected, np.nan), slack

    return formula


def change_of_rows(source: int, back: int) -> Formula:
    """Change of a column since the row before (1) or behind (-1)."""

    def formula(values: np.ndarray, halves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        half = halves[:, source]
        both = half + _shifted(half, back)
        return values[:, source] - _shifted(values[:, source], back), np.where(both < 1.0, both, 0.0)

    return formula


def running_total(source: int, target: int) -> Formula:
    """The running total of a column."""

    def formula(values: np.ndarray, halves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        expected = _shifted(values[:, target], 1) + values[:, source]
        half = halves[:, source] + halves[:, target]
        return expected, np.where(half < 1.0, half, 0.0)

    return formula


def sum_from_top(source: int, target: int) -> Formula:
    """The sum of a column from the first row on, with whatever was there before it."""

    def formula(values: np.ndarray, halves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        sums = np.nancumsum(values[:, source])
        before = values[:, target] - sums
        known = before[np.isfinite(before)]
        half = np.nancumsum(halves[:, source]) + halves[:, target]
        expected = sums + (float(np.median(known)) if len(known) else np.nan)
        return expected, np.where(halves[:, source] < 0.5, half, 0.0)

    return formula


def flow_of(incoming: int, outgoing: int, target: int) -> Formula:
    """A stock: the last row's, with what came in and less what went out."""

    def formula(values: np.ndarray, halves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        moved = np.nan_to_num(values[:, incoming]) - np.nan_to_num(values[:, outgoing])
        half = halves[:, incoming] + halves[:, outgoing] + halves[:, target]
        return _shifted(values[:, target], 1) + moved, np.where(half < 1.0, half, 0.0)

    return formula


def signed_sum(terms: tuple[int, ...], signs: tuple[int, ...]) -> Formula:
    """Columns added and subtracted: opening + credits - debits."""

    def formula(values: np.ndarray, halves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        half = halves[:, terms].sum(1)
        return values[:, terms] @ np.array(signs, dtype=float), np.where((halves[:, terms] < 0.5).any(1), half, 0.0)

    return formula


def mean_of(run: tuple[int, ...]) -> Formula:
    """The mean of some columns."""

    def formula(values: np.ndarray, halves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        some = values[:, run]
        return some.mean(1), np.where((halves[:, run] < 0.5).any(1), halves[:, run].mean(1), 0.0)

    return formula


def changed_by(source: int, percent: int, sign: int) -> Formula:
    """A column raised (1) or reduced (-1) by the percentage of another one."""

    def formula(values: np.ndarray, halves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        expected = values[:, source] * (1 + sign * values[:, percent] / 100)
        return expected, np.where(halves[:, source] < 0.5, halves[:, source], 0.0)

    return formula


def changed_product(a: int, b: int, percent: int, sign: int) -> Formula:
    """The product of two columns, raised (1) or reduced (-1) by the percentage of a third one."""

    def formula(values: np.ndarray, halves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        expected = values[:, a] * values[:, b] * (1 + sign * values[:, percent] / 100)
        return expected, 1e-6 * np.abs(expected)

    return formula


def weighted(a: int, worth: float, b: int | None) -> Formula:
    """A column of counts times a number, with another one added."""

    def formula(values: np.ndarray, halves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        expected = worth * values[:, a] + (values[:, b] if b is not None else 0.0)
        return expected, np.where(halves[:, a] < 0.5, worth * halves[:, a], 0.0)

    return formula


def taken_from(number: float, source: int, blur: float) -> Formula:
    """A number less a column, which may be `blur` less."""

    def formula(values: np.ndarray, halves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        expected = number - values[:, source]
        return expected - blur / 2, np.full_like(expected, blur / 2)

    return formula


def sum_of(run: tuple[int, ...]) -> Formula:
    """The sum of some columns."""

    def formula(values: np.ndarray, halves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        some, half = values[:, run], halves[:, run]
        whole = np.where(np.isfinite(some).sum(1) > 1, np.nansum(some, 1), np.nan)
        return whole, np.where((half < 0.5).any(1), half.sum(1), 0.0)

    return formula


def product_of(a: int, b: int) -> Formula:
    """The product of two columns."""

    def formula(values: np.ndarray, halves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        expected = values[:, a] * values[:, b]
        return expected, 1e-6 * np.abs(expected)

    return formula


def difference_of(a: int, b: int, blur: float, wrap: float, unit: float = 1.0) -> Formula:
    """The second column less the first, in a unit; years blur it, times of the day wrap around."""

    def formula(values: np.ndarray, halves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        expected = values[:, b] - values[:, a]
        if wrap:
            expected = expected % wrap
        half = halves[:, a] + halves[:, b]
        return expected / unit, np.where(half < 1.0, half, 0.0) + blur * 0.51

    return formula


def growth_of(a: int, b: int, scale: float) -> Formula:
    """Growth from the first column to the second."""

    def formula(values: np.ndarray, halves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        with np.errstate(divide="ignore", invalid="ignore"):
            expected = scale * (values[:, b] / values[:, a] - 1)
            slack = scale * (halves[:, b] + halves[:, a] * np.abs(values[:, b] / values[:, a])) / np.abs(values[:, a])
        return expected, slack

    return formula


def mean_by_count(a: int, count: int) -> Formula:
    """A column divided by a column of counts, which are exact."""

    def formula(values: np.ndarray, halves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        with np.errstate(divide="ignore", invalid="ignore"):
            expected = values[:, a] / values[:, count]
        return np.where(np.isfinite(expected), expected, np.nan), np.zeros(len(values))

    return formula


def quotient_of(a: int, b: int, scale: float) -> Formula:
    """The first column by the second."""

    def formula(values: np.ndarray, halves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        with np.errstate(divide="ignore", invalid="ignore"):
            expected = scale * values[:, a] / values[:, b]
            slack = np.where(halves[:, a] < 0.5, scale * halves[:, a] / np.abs(values[:, b]), 0.0)
        return expected, slack

    return formula


def index_of_body(mass: int, height: int, metre: float) -> Formula:
    """A mass by the square of a height, of which a metre has so many."""

    def formula(values: np.ndarray, halves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        with np.errstate(divide="ignore", invalid="ignore"):
            expected = values[:, mass] / (values[:, height] / metre) ** 2
            slack = expected * (halves[:, mass] / values[:, mass] + 2 * halves[:, height] / values[:, height])
        return expected, slack

    return formula


def scaled_by(a: int, ratio: float) -> Formula:
    """A column times a constant."""

    def formula(values: np.ndarray, halves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return ratio * values[:, a], abs(ratio) * halves[:, a] + 1e-4 * np.abs(ratio * values[:, a])

    return formula
