"""Figures of what happens inside a model: attention between two texts, and hidden states on a plane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from numerate.metrics.score import as_floats
from numerate.report.figure_style import GREY, PALETTE, drawing, figure_and_axes, load

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

__all__ = ["attention_map", "on_a_plane", "state_maps"]

METHODS = ("pca", "tsne")
_MOST_LABELS = 60


def attention_map(
    weights: Tensor | Sequence[Any], rows: Sequence[str], columns: Sequence[str], title: str = "", most: int = 60
) -> Figure:
    """Plots how much each word of one text attends to each word of another (LUNA, Fig. 3).

    Args:
        weights: (R, C) shares of attention.
        rows: Words that attend.
        columns: Words that are attended to.
        title: Title of the figure.
        most: Of more columns, only those that get the most attention are shown, in reading order.

    Example:
        >>> figure = attention_map([[0.1, 0.7, 0.2]], ["rose"], ["in", "2019", "."], most=2)
        >>> [label.get_text() for label in figure.axes[0].get_xticklabels()]
        ['2019', '.']
    """
    shares = as_floats(weights, "weights", dims=2).cpu()
    if shares.shape != (len(rows), len(columns)) or not shares.numel():
        raise ValueError(f"weights must be ({len(rows)}, {len(columns)}) and not empty, got {tuple(shares.shape)}")
    kept = sorted(shares.sum(0).topk(min(most, len(columns))).indices.tolist())
    shares, names = shares[:, kept], [str(columns[at]) for at in kept]
    width, height = 2.5 + 0.17 * len(names), 1.8 + 0.2 * len(rows)
    with figure_and_axes(title, max(4.0, width), max(2.4, height)) as (figure, axes):
        image = axes.imshow(shares.numpy(), vmin=0.0, aspect="auto", cmap="Blues")
        axes.set_xticks(range(len(names)), names, rotation=90, fontsize=7)
        axes.set_yticks(range(len(rows)), list(rows), fontsize=7)
        axes.grid(visible=False)
        figure.colorbar(image, ax=axes, label="share of attention")
    return figure


def state_maps(
    panels: Mapping[str, Mapping[str, Tensor]], labels: Mapping[str, Sequence[str]],
    numbers: Mapping[str, Sequence[bool]], title: str = "", method: str = "pca",
) -> Figure:  # fmt: skip
    """Plots hidden states of words and numbers on a plane, a row of panels for each model (LUNA, Figs. 4 and 5).

    Args:
        panels: Model -> layer -> (N, D) states.
        labels: Model -> N words and numbers.
        numbers: Model -> for each of them, whether it is a number.
        title: Title of the figure.
        method: `pca` or `tsne`; see `on_a_plane`.

    Example:
        >>> states = {"before": {"layer 0": torch.eye(3), "layer 1": torch.eye(3)}}
        >>> figure = state_maps(states, {"before": ["5", "km", "7"]}, {"before": [True, False, True]})
        >>> [axes.get_title(loc="left") for axes in figure.axes]
        ['before, layer 0', 'before, layer 1']
    """
    rows, columns = len(panels), max((len(layers) for layers in panels.values()), default=0)
    if not rows or not columns:
        raise ValueError("there must be at least one model with one layer, got none")
    with drawing():
        figure = load("matplotlib.figure").Figure(figsize=(3.6 * columns, 3.4 * rows + 0.3), layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False)
        for line, (name, layers) in zip(grid, panels.items(), strict=True):
            for axes, (layer, states) in zip(line, layers.items(), strict=False):
                _draw(axes, on_a_plane(states, method), labels[name], numbers[name])
                axes.set_title(f"{name}, {layer}", fontsize=9)
            for axes in line[len(layers) :]:
                axes.set_visible(False)
        handles = [_dot(PALETTE[1], "number"), _dot(PALETTE[0], "word")]
        figure.legend(handles=handles, loc="outside lower right", ncols=2, fontsize=8)
        if title:
            figure.suptitle(title)
    return figure


def on_a_plane(states: Tensor | Sequence[Any], method: str = "pca") -> Tensor:
    """Points (N, 2) of states (N, D): principal components, or t-SNE by scikit-learn.

    The components' signs are such that the largest entry of each is positive, so that equal states give equal figures.
    Fewer than four states are always drawn by their principal components.

    Example:
        >>> on_a_plane([[0.0, 3.0], [0.0, -3.0], [1.0, 0.0]]).shape
        torch.Size([3, 2])
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    rows = as_floats(states, "states", dims=2).cpu()
    if method == "tsne" and len(rows) > 3:
        try:
            from sklearn.manifold import TSNE
        except ImportError:
            raise ImportError('t-SNE needs scikit-learn: pip install "numerate[eval]", or use method="pca"') from None
        near = min(30.0, (len(rows) - 1) / 3)
        return torch.from_numpy(
            TSNE(2, perplexity=near, init="pca", random_state=0).fit_transform(rows.numpy())
        ).double()
    centred = rows - rows.mean(0)
    _, _, directions = torch.linalg.svd(centred, full_matrices=False)
    points = centred @ directions[:2].T
    points = torch.nn.functional.pad(points, (0, 2 - points.shape[1]))
    signs = points.gather(0, points.abs().argmax(0, keepdim=True)).sign()
    return points * torch.where(signs == 0, 1.0, signs)


def _draw(axes: Any, points: Tensor, labels: Sequence[str], numbers: Sequence[bool]) -> None:
    colours = [PALETTE[1] if number else PALETTE[0] for number in numbers]
    axes.scatter(*points.T.tolist(), c=colours, s=10)
    # Numbers are labelled first where there is no room for all.
    order = sorted(range(len(labels)), key=lambda at: not numbers[at])[:_MOST_LABELS]
    for at in order:
        place = points[at].tolist()
        axes.annotate(labels[at], place, xytext=(2, 2), textcoords="offset points", fontsize=6, color=GREY)
    axes.set_xticks([])
    axes.set_yticks([])


def _dot(colour: str, label: str) -> Any:
    line = load("matplotlib.lines").Line2D
    return line([], [], linestyle="", marker="o", markersize=4, color=colour, label=label)
