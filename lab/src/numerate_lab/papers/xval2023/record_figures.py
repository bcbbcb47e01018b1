"""xVal's Figures 3 to 7 from the predictions of Tables 4 and 5: a panel for each encoding."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch

from numerate.report.figure_style import BAND, GREY, PALETTE, drawing, load

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from matplotlib.figure import Figure
    from torch import Tensor

    Columns = Mapping[str, Mapping[str, Tensor]]
    """The predictions of one trial of each encoding: names to tensors."""

__all__ = ["distributions", "likelihood_along", "predictions", "record_figures"]

_WIDE = 4
"""Panels side by side."""
_MANY = 2_000
"""Points of a panel, at most; evenly picked."""


def _panels(columns: Columns, key: str, title: str, draw: Callable[[Any, Mapping[str, Tensor]], None]) -> Figure:
    """A figure with a small pair of axes for each encoding that has predictions named `key`."""
    known = {name: one for name, one in columns.items() if key in one}
    if not known:
        raise ValueError("a figure needs at least one encoding, got 0")
    wide = min(_WIDE, len(known))
    high = math.ceil(len(known) / wide)
    with drawing():
        figure = load("matplotlib.figure").Figure(figsize=(2.4 * wide, 2.4 * high + 0.4), layout="constrained")
        grid = [figure.add_subplot(high, wide, place + 1) for place in range(len(known))]
        for axes, name in zip(grid, known, strict=True):
            axes.set_title(name)
        figure.suptitle(title, x=0.01, ha="left", fontsize=11)
        for axes, one in zip(grid, known.values(), strict=True):
            draw(axes, {name: values.double() for name, values in one.items()})
    return figure


def predictions(columns: Columns, key: str, title: str = "", marks: Sequence[float] = ()) -> Figure:
    """Predictions over the truth (Figs. 3 and 5); answers that are no number are counted.

    The test set and question `key` is `a1-gap_a1` for the columns `a1-gap_a1_predicted` and `a1-gap_a1_gold`. `marks`
    are values on the axis of the truth that training has, or that bound a gap in it.

    Example:
        >>> given = {"p10": {"test_a1_predicted": torch.tensor([1.0]), "test_a1_gold": torch.tensor([1.1])}}
        >>> predictions(given, "test_a1").axes[0].get_title(loc="left")
        'p10'
    """

    def draw(axes: Any, one: Mapping[str, Tensor]) -> None:
        given, gold = (one[f"{key}_{what}"] for what in ("predicted", "gold"))
        step = max(1, -(-len(gold) // _MANY))
        given, gold = given[::step], gold[::step]
        low, high = float(gold.min()), float(gold.max())
        room = 0.15 * ((high - low) or 1.0)
        ends = (low - room, high + room)
        axes.plot(ends, ends, color=GREY, linewidth=1)
        for mark in marks:
            axes.axvline(mark, color=BAND, linewidth=1)
        axes.plot(
            gold.numpy(), given.clamp(*ends).numpy(), linestyle="", marker="o", markersize=2, markeredgewidth=0,
            color=PALETTE[0], alpha=0.5, rasterized=len(gold) > 500,
        )  # fmt: skip
        axes.set(xlim=ends, ylim=ends, xlabel="truth", ylabel="prediction")
        if lost := int((~given.isfinite()).sum()):
            note = f"{lost} of {len(given)} no number"
            axes.text(0.03, 0.95, note, transform=axes.transAxes, va="top", fontsize=8)

    return _panels(columns, f"{key}_gold", title, draw)


def distributions(columns: Columns, key: str, title: str = "", bins: int = 60) -> Figure:
    """Histograms of predictions and truth (Fig. 4's failures, Fig. 7's masses); arguments as for `predictions`.

    An encoding that falls back on its most frequent tokens has a spike where the truth has none.
    """

    def draw(axes: Any, one: Mapping[str, Tensor]) -> None:
        gold, given = one[f"{key}_gold"], one[f"{key}_predicted"]
        low, high = float(gold.min()), float(gold.max())
        edges = torch.linspace(low, high if high > low else low + 1.0, bins + 1, dtype=torch.float64)
        true, drawn = (
            torch.histogram(v[v.isfinite()].clamp(float(edges[0]), float(edges[-1])), edges).hist / max(1, len(v))
            for v in (gold, given)
        )
        axes.stairs(true.numpy(), edges.numpy(), fill=True, color=BAND, label="truth")
        axes.stairs(drawn.numpy(), edges.numpy(), color=PALETTE[1], label="predicted")
        axes.set(xlabel="value", ylabel="share")
        if axes.get_subplotspec().num1 == 0:
            axes.legend()

    return _panels(columns, f"{key}_gold", title, draw)


def likelihood_along(columns: Columns, title: str = "", marks: Sequence[float] = ()) -> Figure:
    """The likelihood of values of a₁ where the truth lies in the gap of training, whose ends are `marks` (Fig. 6).

    A row is one system, its truth on the line; dark is likely, in parts of the row's largest.
    """

    def draw(axes: Any, one: Mapping[str, Tensor]) -> None:
        line, gold = one["gap_line"], one["gap_gold"]
        extent = (float(line[0]), float(line[-1]), 0.0, float(len(gold)))
        shown = one["gap_likelihood"].sqrt().numpy()  # else the foot of a narrow peak is not seen
        axes.imshow(shown, origin="lower", aspect="auto", extent=extent, cmap="Greys", vmin=0.0, vmax=1.0)
        axes.plot(gold.numpy(), torch.arange(len(gold)).add(0.5).numpy(), color=PALETTE[1], linewidth=1)
        for mark in marks:
            axes.axvline(mark, color=PALETTE[0], linewidth=0.8, linestyle=":")
        axes.grid(visible=False)
        axes.set(xlabel="a₁", yticks=[])

    return _panels(columns, "gap_likelihood", title, draw)


def record_figures(task: str, columns: Columns, gap: tuple[float, float] = (1.0, 7 / 6)) -> dict[str, Figure]:
    """All figures of `planets` or `temperature`, by file name; `gap` bounds the values of a₁ that training lacks."""
    if not columns:
        return {}
    if task == "temperature":
        return {
            "figure3-temperatures": predictions(columns, "test_last", "Last temperatures, in standard deviations"),
            "figure4-failures": distributions(columns, "test_last", "Temperatures predicted, and true ones"),
        }
    between = "Time steps between those of training"
    found = {
        "figure3-a1": predictions(columns, "test_a1", "Semi-major axis a₁, as in training"),
        "figure3-e1": predictions(columns, "test_e1", "Eccentricity e₁, as in training"),
        "figure5-a1-gap": predictions(columns, "a1-gap_a1", "a₁ where training has none", gap),
        "figure5-stepsize-between": predictions(columns, "stepsize-between_stepsize", between),
        "figure7-m1": predictions(columns, "test_m1", "Mass m₁"),
        "figure7-masses": distributions(columns, "test_m1", "Masses predicted, and true ones", bins=40),
    }
    if any("gap_likelihood" in one for one in columns.values()):
        title = "Likelihood of a₁ along the gap; red: the truth"
        found["figure6-likelihood"] = likelihood_along(columns, title, gap)
    return found
