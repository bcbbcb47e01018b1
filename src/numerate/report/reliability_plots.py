"""Calibration plots of predicted distributions, with the band that sampling noise alone would give."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from numerate.metrics.score import as_floats, as_pair
from numerate.report.figure_style import BAND, GREY, INK, PALETTE, figure_and_axes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    Numbers = Tensor | Sequence[Any]

__all__ = ["binomial_band", "pit_histogram", "reliability"]

_REACH = 12
"""Standard deviations around the mean in which quantiles of a binomial distribution are searched."""


def binomial_band(count: int, shares: Numbers, level: float = 0.95) -> tuple[Tensor, Tensor]:
    """Interval of observed shares of `count` trials that has the probability `level`, for each true share.

    Both ends are quantiles of the binomial distribution, divided by the count.

    Shape:
        Shares (P,), in [0, 1]. Output: lower and upper ends, (P,) float64 each.

    Example:
        >>> low, high = binomial_band(100, [0.5, 1.0])
        >>> low.tolist(), high.tolist()
        ([0.4, 1.0], [0.6, 1.0])
    """
    if count < 1:
        raise ValueError(f"count must be positive, got {count=}")
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level=}")
    wanted = as_floats(shares, "shares").cpu()
    if not bool(((wanted >= 0) & (wanted <= 1)).all()):
        raise ValueError(f"shares must be in [0, 1], got {wanted.tolist()}")
    ends = [_quantiles(count, share, (1 - level) / 2, (1 + level) / 2) for share in wanted.tolist()]
    low, high = torch.tensor(ends, dtype=torch.float64).reshape(-1, 2).T / count
    return low, high


def _quantiles(count: int, share: float, *levels: float) -> list[int]:
    if share in (0.0, 1.0):
        return [round(count * share)] * len(levels)
    # Only the middle is summed: the rest has no weight in float64.
    reach = _REACH * math.sqrt(count * share * (1 - share)) + _REACH
    first, last = max(0, math.floor(count * share - reach)), min(count, math.ceil(count * share + reach))
    k = torch.arange(first, last + 1, dtype=torch.float64)
    whole = math.lgamma(count + 1)
    log_mass = whole - torch.lgamma(k + 1) - torch.lgamma(count - k + 1)
    log_mass = log_mass + k * math.log(share) + (count - k) * math.log1p(-share)
    reached = log_mass.softmax(0).cumsum(0)
    return [first + min(int((reached < level).sum()), len(k) - 1) for level in levels]


def reliability(
    pit: Numbers | tuple[Numbers, Numbers], *, count: int | None = None, level: float = 0.95, title: str = ""
) -> Figure:
    """Reliability diagram: observed over nominal shares; calibrated distributions are on the diagonal.

    The grey band contains a share `level` of the points of calibrated distributions. The points are not independent:
    one of twenty outside the band is expected.

    Args:
        pit: PIT values (N,) without NaN: the shares up to 0.05, 0.1 ... 0.95 are shown. Or nominal and observed shares,
            (P,) each, for example of intervals.
        count: Number of observations behind observed shares; without it there is no band. Not for PIT values.
        level: Probability of the band.
        title: Title of the figure.

    Example:
        >>> figure = reliability(([0.5, 0.9], [0.4, 0.85]), count=100)
        >>> figure.axes[0].lines[1].get_xydata().tolist()
        [[0.5, 0.4], [0.9, 0.85]]
    """
    if isinstance(pit, tuple) and len(pit) == 2 and not isinstance(pit[0], int | float):
        observed, nominal = as_pair(pit[1], pit[0])
        observed, nominal = observed.cpu(), nominal.cpu()
    else:
        if count is not None:
            raise ValueError(f"count must be None for PIT values, got {count=}")
        places = _places(pit)
        count, nominal = len(places), torch.arange(1, 20, dtype=torch.float64) / 20
        observed = torch.searchsorted(places, nominal, right=True).to(torch.float64) / count
    with figure_and_axes(title, 4.4, 4.2) as (figure, axes):
        axes.plot([0, 1], [0, 1], color=GREY, linewidth=1, label="calibrated")
        if count is not None:
            grid = torch.linspace(0, 1, 101, dtype=torch.float64)
            low, high = binomial_band(count, grid, level)
            label = f"{level:.0%} by chance (n = {count:,})"
            axes.fill_between(grid.numpy(), low.numpy(), high.numpy(), color=BAND, linewidth=0, label=label)
        axes.plot(nominal.numpy(), observed.numpy(), color=PALETTE[0], marker="o", markersize=4, label="observed")
        axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="nominal share", ylabel="observed share", aspect="equal")
        axes.legend(loc="upper left")
    return figure


def pit_histogram(pit: Numbers, bins: int = 10, *, level: float = 0.95, title: str = "") -> Figure:
    """Histogram of PIT values: flat if the distributions are calibrated, U-shaped if they are too narrow.

    The grey band contains a share `level` of the bins of uniform PIT values.

    Args:
        pit: PIT values (N,); NaN are left out.
        bins: Number of bins of equal width; a boundary belongs to the bin above it, 1 to the last bin.
        level: Probability of the band.
        title: Title of the figure.

    Example:
        >>> figure = pit_histogram([0.1, 0.2, 0.3, 0.9], bins=2)
        >>> [float(bar.get_height()) for bar in figure.axes[0].patches]
        [1.5, 0.5]
    """
    if bins < 1:
        raise ValueError(f"bins must be positive, got {bins=}")
    places = _places(pit)
    edges = torch.arange(1, bins, dtype=torch.float64) / bins
    counts = torch.bincount(torch.searchsorted(edges, places, right=True), minlength=bins)
    heights = counts.to(torch.float64) * bins / len(places)
    low, high = (float(end) * bins for end in binomial_band(len(places), [1 / bins], level))
    with figure_and_axes(title) as (figure, axes):
        starts = [index / bins for index in range(bins)]
        axes.bar(starts, heights.tolist(), 1 / bins, align="edge", color=PALETTE[0], edgecolor="white")
        label = f"{level:.0%} by chance (n = {len(places):,})"
        axes.fill_between([0, 1], low, high, color=INK, alpha=0.18, linewidth=0, label=label)
        axes.plot([0, 1], [1, 1], color=INK, linewidth=1, label="calibrated")
        axes.set(xlim=(0, 1), xlabel="probability below the gold value (PIT)", ylabel="density")
        axes.set_ylim(0, 1.3 * max(high, float(heights.max())))  # room for the legend
        axes.legend(loc="upper center", ncols=2)
    return figure


def _places(pit: Any) -> Tensor:
    """Sorted PIT values without NaN."""
    values = as_floats(pit, "PIT values").cpu()
    values = values[~values.isnan()].sort().values
    if not len(values):
        raise ValueError("there must be at least one PIT value other than NaN, got 0")
    if not 0 <= float(values[0]) <= float(values[-1]) <= 1:
        raise ValueError(f"PIT values must be in [0, 1], got {float(values[0])} to {float(values[-1])}")
    return values
