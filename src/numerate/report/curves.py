"""Predictions against the truth, and how learning went."""

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
"""How many decades an axis shows on each side of 0; what is smaller lies in its straight part."""
_LARGEST_THRESHOLD = 1e290
"""matplotlib places numbers in units of it, which overflow beyond."""
_MANY = 3_000
"""More points than this are drawn as one picture: each as a mark of its own would make a slow and large file."""


def predicted_against_true(
    predicted: Numbers, gold: Numbers, unit: str | None = None, threshold: float | None = None, title: str = ""
) -> Figure:
    """Each prediction over its gold value, on axes that are logarithmic on both sides of 0.

    Pairs of which one is not finite cannot be shown; the figure says how many there are.

    Args:
        predicted: (N,).
        gold: (N,).
        unit: Of both, for the labels.
        threshold: Up to which size the axes are straight; by default the power of ten below 95 % of all values other
            than 0, and no more than 15 decades below the largest.
        title: Above the figure.

    Example:
        >>> figure = predicted_against_true([90.0, -5.0, float("nan")], [100.0, -4.0, 7.0], unit="kg")
        >>> figure.axes[0].lines[1].get_xydata().tolist(), figure.axes[0].get_xlabel()
        ([[100.0, 90.0], [-4.0, -5.0]], 'gold value (kg)')
    """
    if threshold is not None and not 0 < threshold <= _LARGEST_THRESHOLD:
        raise ValueError(f"threshold must lie between 0 and {_LARGEST_THRESHOLD:g}, got {threshold=}")
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
        # Limits come first: finding them by itself, matplotlib overflows at the end of float64.
        axes.set_xscale("symlog", linthresh=straight)
        axes.set_yscale("symlog", linthresh=straight)
        axes.set(xlim=(low, high), ylim=(low, high), xlabel=f"gold value{suffix}", ylabel=f"prediction{suffix}")
        signed_ticks(axes.xaxis, straight)
        signed_ticks(axes.yaxis, straight)
        axes.plot([low, high], [low, high], color=GREY, linewidth=1, label="as true")
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
    """Values over steps, one line a name; where a value is not finite, the line has a gap.

    Args:
        curves: Names to steps (N,) and values (N,).
        ylabel: What the values are.
        xlabel: What the steps are.
        log: Whether the values' axis is logarithmic.
        title: Above the figure.

    Example:
        >>> figure = learning_curves({"mog": ([0, 10], [3.0, 2.0]), "softmax": ([0, 10], [3.5, 2.5])})
        >>> [(line.get_label(), line.get_ydata().tolist()) for line in figure.axes[0].lines]
        [('mog', [3.0, 2.0]), ('softmax', [3.5, 2.5])]
    """
    if not curves:
        raise ValueError(f"there must be at least one curve, got {curves!r}")
    with figure_and_axes(title) as (figure, axes):
        for index, (name, (steps, values)) in enumerate(curves.items()):
            x, y = as_floats(steps, "steps").cpu(), as_floats(values, "values").cpu()
            if len(x) != len(y):
                raise ValueError(f"steps and values of {name!r} must be equally many, got {len(x)} and {len(y)}")
            y = torch.where(y.isfinite(), y, torch.nan)
            # A single value is no line; a mark shows it.
            axes.plot(x.numpy(), y.numpy(), marker="o" if len(x) == 1 else "", label=name, **stroke(index))
        axes.set(xlabel=xlabel, ylabel=ylabel)
        if log:
            axes.set_yscale("log")
            power_ticks(axes.yaxis)
        axes.legend()
    return figure
