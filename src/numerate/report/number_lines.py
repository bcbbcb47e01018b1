"""Plot of the probability of every numeral in a range, for each number of decimals."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from numerate.heads.combination import CombinationDistribution
from numerate.heads.enumerated import EnumeratedDistribution
from numerate.numerals.numeral import Numeral
from numerate.processing.number_table import NumberTable
from numerate.report.figure_style import INK, figure_and_axes, power_ticks, stroke

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from numerate.heads.distribution import NumberDistribution

__all__ = ["number_line"]

_EXACT = 2**53
"""Up to here, float64 represents every unit of the last digit."""
_DEPTH = 1e-12
"""Ratio of the lowest to the highest point of the axis."""


@torch.no_grad()
def number_line(
    distribution: NumberDistribution,
    row: int = 0,
    precisions: Sequence[int] = (0, 1, 2),
    low: float | None = None,
    high: float | None = None,
    *,
    gold: float | None = None,
    points: int = 2_000,
    title: str = "",
) -> Figure:
    """Plots the probability of every numeral of a range, one line for each number of decimals (2018 paper, Fig. 5).

    Heads that predict written numerals give the probability of the numeral, including p(decimals); others give that of
    all numbers that round to it. Vocabularies give it without their entry for unknown numbers. A numeral with
    probability 0 has no mark.

    Args:
        distribution: N distributions.
        row: Index of the distribution.
        precisions: Numbers of decimals.
        low: Start of the range; by default the 5 % quantile (or the gold value, if that is lower).
        high: End of the range; by default the 95 % quantile (or the gold value, if that is higher).
        gold: True value, marked by a vertical line.
        points: Maximum number of numerals of a line. If the range has more, one numeral of each of `points` equal
            intervals is drawn with a fixed seed (evenly spaced ones would all end in the same digits); the numeral
            nearest to the gold value and those with a probability of their own (vocabularies, samples of the digit-RNN)
            are added. The legend states the selection.
        title: Title of the figure.

    Example:
        >>> from numerate.registry import heads
        >>> distribution = heads["scalar"].build(dim=4)(torch.zeros(1, 4))
        >>> figure = number_line(distribution, precisions=(0, 1), low=-1, high=1, gold=0.5)
        >>> [(line.get_label(), len(line.get_xdata())) for line in figure.axes[0].lines]
        [('0 decimals', 3), ('1 decimal', 21), ('gold value', 2)]
    """
    if not -len(distribution) <= row < len(distribution):
        raise ValueError(f"row must be an index below {len(distribution)}, got {row=}")
    if not precisions or not all(isinstance(r, int) and 0 <= r <= 15 for r in precisions):
        raise ValueError(f"precisions must be at least one number from 0 to 15, got {precisions!r}")
    if points < 2:
        raise ValueError(f"points must be at least 2, got {points=}")
    one = distribution[row].without_unknown()
    start, end = _range(one, low, high, gold, max(precisions))
    always = torch.cat([_enumerated(one).cpu(), torch.tensor([] if gold is None else [gold], dtype=torch.float64)])
    with figure_and_axes(title) as (figure, axes):
        highest, lowest = 0.0, math.inf
        for index, decimals in enumerate(precisions):
            units, of = _units(start, end, decimals, points, always)
            numerals = [Numeral(text, 0, len(text), float(text)) for text in (_written(u, decimals) for u in units)]
            candidates = NumberTable.of_numerals(numerals).to(one.device)
            scores = one.scores(candidates) if one.is_written else one.mass_scores(candidates)
            masses, values = scores[0].exp().cpu(), candidates.values().cpu()
            seen = masses > 0
            if bool(seen.any()):
                highest, lowest = max(highest, float(masses.max())), min(lowest, float(masses[seen].min()))
            label = f"{decimals} decimal{'s' * (decimals != 1)}"
            label += f" ({len(units):,} of {of:,})" if len(units) < of else ""
            look: dict[str, Any] = stroke(index) | {"linewidth": 1.0}
            if bool((~seen).any()) or int(seen.sum()) < 2:  # marks, because there is nothing between single numerals
                look |= {"linestyle": "", "marker": "o", "markersize": 3}
            axes.plot(values[seen].numpy(), masses[seen].numpy(), label=label, **look)
        if gold is not None:
            axes.axvline(gold, color=INK, linewidth=1, linestyle=":", label="gold value")
        axes.set_yscale("log")
        if highest > 0:
            axes.set_ylim(max(lowest, highest * _DEPTH) / 2, highest * 2)
        power_ticks(axes.yaxis)
        axes.set(xlim=(start, end), xlabel="number", ylabel="probability of the numeral")
        axes.legend()
    return figure


def _range(
    one: NumberDistribution, low: float | None, high: float | None, gold: float | None, decimals: int
) -> tuple[float, float]:
    for name, value in (("low", low), ("high", high), ("gold", gold)):
        if value is not None and not math.isfinite(value):
            raise ValueError(f"{name} must be finite, got {value}")
    most = _EXACT / 10**decimals
    if low is None or high is None:
        ends = [float(end) for end in one.interval(0.9)]
        inside = [gold] if gold is not None else []
        # Whole numbers, so that the range has at least one; and not beyond the precision of float64.
        low = float(math.floor(max(-most, min([ends[0], *inside])))) if low is None else low
        high = float(math.ceil(min(most, max([ends[1], *inside])))) if high is None else high
        if low == high:
            low, high = low - 1, high + 1
    if not low < high:
        raise ValueError(f"low must be less than high, got {low} and {high}")
    if max(-low, high) > most:
        raise ValueError(f"with {decimals} decimals, numbers must be at most {most:g}, got {low} to {high}")
    return low, high


def _units(low: float, high: float, decimals: int, points: int, always: Tensor) -> tuple[list[int], int]:
    """Selected numerals of the range as integers in units of the last digit, and the number of all numerals."""
    # With the exact fractions that were written: 0.1 · 10 must not become 1.0000000000000002.
    scale = 10**decimals
    first, last = math.ceil(Fraction(repr(float(low))) * scale), math.floor(Fraction(repr(float(high))) * scale)
    count = last - first + 1
    if count <= points:
        return list(range(first, last + 1)), max(count, 0)
    edges = np.linspace(first, last + 1, points + 1).astype(np.int64)
    chosen = np.random.default_rng(2018).integers(edges[:-1], np.maximum(edges[1:], edges[:-1] + 1))
    picked = {int(unit) for unit in chosen}
    picked |= {round(value * scale) for value in always[(always >= low) & (always <= high)].tolist()}
    return sorted(unit for unit in picked if first <= unit <= last), count


def _enumerated(one: NumberDistribution) -> Tensor:
    """Values with a probability of their own, (S,), which must be kept when numerals are selected at random."""
    if isinstance(one, EnumeratedDistribution):
        return one.support().values.reshape(-1)
    if isinstance(one, CombinationDistribution):
        return torch.cat([_enumerated(member) for member in one.members])
    return torch.zeros(0, dtype=torch.float64, device=one.device)


def _written(units: int, decimals: int) -> str:
    return f"{Decimal(units).scaleb(-decimals):f}"
