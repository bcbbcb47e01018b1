"""Plots of predictions against true values, and learning curves."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from numerate.metrics.score import as_floats, as_pair
from numerate.report.figure_style import GREY, PALETTE, figure_and_axes, power_ticks, signed_ticks, stroke

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

    Numbers = Tensor | Sequence[Any]

__all__ = ["learning_curves", "predicted_against_true"]

_MOST_DECADES = 15
"""Number of decades on each side of 0; smaller values are in the linear part of the axis."""
_LARGEST_THRESHOLD = 1e290
"""matplotlib divides values by the threshold; larger ones overflow."""
_MANY = 3_000
"""More points than this are rasterised: a mark for each would make the file large and slow."""


def predicted_against_true(
    predicted: Numbers, gold: Numbers, unit: str | None = None, threshold: float | None = None, title: str = ""
) -> Figure:
    """Plots predictions over gold values, on axes that are logarithmic on both sides of 0.

    Pairs with a value that is not finite are left out; the legend says how many.

    Args:
        predicted: (N,) predictions.
        gold: (N,) true values.
        unit: Unit of both, for the labels.
        threshold: Absolute value up to which the axes are linear; by default the power of ten below 95 % of all values
            other than 0, but at most 15 decades below the largest.
        title: Title of the figure.

    Example:
        >>> figure = predicted_against_true([90.0, -5.0, float("nan")], [100.0, -4.0, 7.0], unit="kg")
        >>> figure.axes[0].lines[1].get_xydata().tolist(), figure.axes[0].get_xlabel()
        ([[100.0, 90.0], [-4.0, -5.0]], 'gold value (kg)')
    """
    if threshold is not None and not 0 < threshold <= _LARGEST_THRESHOLD:
        raise ValueError(f"threshold must be between 0 and {_LARGEST_THRESHOLD:g}, got {threshold=}")
    guesses, truth = as_pair(predicted, gold)
    known = guesses.isfinite() & truth.isfinite()
    x, y = truth[known].cpu(), guesses[known].cpu()
    both = torch.cat([x, y])
    largest = float(both.abs().max()) if len(both) else 1.0
    straight = _threshold(both) if threshold is None else threshold
    end = min(1.7e308, max(largest, straight) * 2)
    low, high = -end if bool((both < 0).any()) else -straight / 2, end if bool((both > 0).any()) else straight / 2
    suffix = f" ({unit})" if unit else ""
    with figure_and_axes(title, 4.8, 4.6) as (figure, axes):
        # Limits are set first: matplotlib's own search for them overflows at the end of float64.
        axes.set_xscale("symlog", linthresh=straight)
        axes.set_yscale("symlog", linthresh=straight)
        axes.set(xlim=(low, high), ylim=(low, high), xlabel=f"gold value{suffix}", ylabel=f"prediction{suffix}")
        signed_ticks(axes.xaxis, straight)
        signed_ticks(axes.yaxis, straight)
        axes.plot([low, high], [low, high], color=GREY, linewidth=1, label="prediction = gold value")
        axes.plot(
            x.numpy(), y.numpy(), linestyle="", marker="o", markersize=4, markeredgewidth=0, color=PALETTE[0],
            alpha=0.5 if len(x) <= _MANY else 0.15, rasterized=len(x) > _MANY, label=f"{len(x):,} numbers",
        )  # fmt: skip
        lost = len(known) - len(x)
        axes.legend(loc="upper left", title=f"{lost:,} not finite" if lost else None)
    return figure


def _threshold(values: Tensor) -> float:
    sizes = values.abs()[values != 0]
    if not len(sizes):
        return 1.0
    small = float(sizes.sort().values[len(sizes) // 20])
    least = math.floor(math.log10(float(sizes.max()))) - _MOST_DECADES
    return min(10.0 ** max(math.floor(math.log10(small)), least, -300), _LARGEST_THRESHOLD)


def learning_curves(
    curves: Mapping[str, tuple[Numbers, Numbers]], ylabel: str = "loss", xlabel: str = "step", *, log: bool = False,
    title: str = "",
) -> Figure:  # fmt: skip
    """Plots values over steps, one line for each name; a value that is not finite leaves a gap.

    Args:
        curves: Steps (N,) and values (N,) by name.
        ylabel: Label of the values.
        xlabel: Label of the steps.
        log: Whether the axis of values is logarithmic.
        title: Title of the figure.

    Example:
        >>> figure = learning_curves({"mog": ([0, 10], [3.0, 2.0]), "softmax": ([0, 10], [3.5, 2.5])})
        >>> [(line.get_label(), line.get_ydata().tolist()) for line in figure.axes[0].lines]
        [('mog', [3.0, 2.0]), ('softmax', [3.5, 2.5])]
    """
    if not curves:
        raise ValueError(f"curves must have at least one entry, got {curves!r}")
    with figure_and_axes(title) as (figure, axes):
        for index, (name, (steps, values)) in enumerate(curves.items()):
            x, y = as_floats(steps, "steps").cpu(), as_floats(values, "values").cpu()
            if len(x) != len(y):
                raise ValueError(f"steps and values of {name!r} must have the same length, got {len(x)} and {len(y)}")
            y = torch.where(y.isfinite(), y, torch.nan)
            # A single value gets a mark, because it makes no line.
            axes.plot(x.numpy(), y.numpy(), marker="o" if len(x) == 1 else "", label=name, **stroke(index))
        axes.set(xlabel=xlabel, ylabel=ylabel)
        if log:
            axes.set_yscale("log")
            power_ticks(axes.yaxis)
        axes.legend()
    return figure
