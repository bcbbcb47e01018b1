"""Where on the number line a prediction puts its probability, by how precisely a number is written."""

from __future__ import annotations

import math
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
"""Up to here, float64 tells one unit of the last digit from the next."""
_DEPTH = 1e-12
"""How far below the highest point the axis goes."""


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
    """Probability of every numeral of a range as it is written, one line for each number of decimals (2018, Fig. 5).

    Heads that predict numbers as they are written give the probability of that writing, p(decimals) and all; others
    that of all which rounds to it. Vocabularies give it without their place for unknown numbers. A numeral without any
    probability has no mark.

    Args:
        distribution: N distributions.
        row: Which of them.
        precisions: Numbers of decimals.
        low: From here; by default, from where 5 % of the probability lies below (or from the gold value).
        high: Up to here; by default, up to where 5 % lies above (or up to the gold value).
        gold: The true value, marked by a vertical line.
        points: How many numerals a line shows at most. If the range has more, one of each of so many equal stretches is
            chosen at random, with a fixed seed (evenly spaced ones would all end in the same digits), and with them the
            numeral nearest to the gold value and those that a vocabulary or the digit-RNN's draws have; the legend says
            so.
        title: Above the figure.

    Example:
        >>> from numerate.registry import heads
        >>> distribution = heads["scalar"].build(dim=4)(torch.zeros(1, 4))
        >>> figure = number_line(distribution, precisions=(0, 1), low=-1, high=1, gold=0.5)
        >>> [(line.get_label(), len(line.get_xdata())) for line in figure.axes[0].lines]
        [('0 decimals', 3), ('1 decimal', 21), ('gold value', 2)]
    """
    if not -len(distribution) <= row < len(distribution):
        raise ValueError(f"there is no such row of {len(distribution)}, got {row=}")
    if not precisions or not all(isinstance(r, int) and 0 <= r <= 15 for r in precisions):
        raise ValueError(f"precisions must be numbers of decimals from 0 to 15, got {precisions!r}")
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
            if bool((~seen).any()) or int(seen.sum()) < 2:  # single numerals, with nothing between them
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
    given = {"low": low, "high": high, "gold": gold}
    for name, value in given.items():
        if value is not None and not math.isfinite(value):
            raise ValueError(f"{name} must be finite, got {value}")
    most = _EXACT / 10**decimals
    if low is None or high is None:
        ends = [float(end) for end in one.interval(0.9)]
        gold_or = [gold] if gold is not None else []
        # Whole numbers, so that there is one to show; and no further than each numeral can be told from the next.
        low = float(math.floor(max(-most, min([ends[0], *gold_or])))) if low is None else low
        high = float(math.ceil(min(most, max([ends[1], *gold_or])))) if high is None else high
        if low == high:
            low, high = low - 1, high + 1
    if not low < high:
        raise ValueError(f"low must lie below high, got {low} and {high}")
    if max(-low, high) > most:
        raise ValueError(f"with {decimals} decimals, numbers up to {most:g} are told apart, got {low} to {high}")
    return low, high


def _units(low: float, high: float, decimals: int, points: int, always: Tensor) -> tuple[list[int], int]:
    """Numerals of the range as integers in units of their last digit, in order; and how many there are in all."""
    # By way of exact fractions: 0.1 · 10 must not become 1.0000000000000002.
    scale = 10**decimals
    (a, b), (c, d) = _ratio(low), _ratio(high)
    first, last = -(-a * scale // b), c * scale // d
    count = last - first + 1
    if count <= points:
        return list(range(first, last + 1)), max(count, 0)
    edges = np.linspace(first, last + 1, points + 1).astype(np.int64)
    chosen = np.random.default_rng(2018).integers(edges[:-1], np.maximum(edges[1:], edges[:-1] + 1))
    picked = {int(unit) for unit in chosen}
    picked |= {round(value * scale) for value in always[(always >= low) & (always <= high)].tolist()}
    return sorted(unit for unit in picked if first <= unit <= last), count


def _enumerated(one: NumberDistribution) -> Tensor:
    """Values that have a probability of their own, (S,): without them, a vocabulary would be thinned out at random."""
    if isinstance(one, EnumeratedDistribution):
        return one.support().values.reshape(-1)
    if isinstance(one, CombinationDistribution):
        return torch.cat([_enumerated(member) for member in one.members])
    return torch.zeros(0, dtype=torch.float64, device=one.device)


def _ratio(value: float) -> tuple[int, int]:
    """What a number is as it is written, as a fraction: 0.1 is 1/10."""
    return Fraction(repr(float(value))).as_integer_ratio()


def _written(units: int, decimals: int) -> str:
    digits = str(abs(units)).rjust(decimals + 1, "0")
    sign = "-" if units < 0 else ""
    return f"{sign}{digits[:-decimals]}.{digits[-decimals:]}" if decimals else sign + digits
