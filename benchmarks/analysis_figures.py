"""xVal's analyses as figures: the embedding behind the layer norm, continuity from end to end, structure of tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numerate.report.figure_style import GREY, figure_and_axes, stroke
from numerate.report.similarity_maps import cosine_map

if TYPE_CHECKING:
    from collections.abc import Mapping

    from embedding_analysis import Continuity, EmbeddingCurve
    from matplotlib.figure import Figure

    from numerate.modeling.number_model import NumberModel

__all__ = ["continuity_figure", "embedding_figure", "structure_figure"]

MOST_TOKENS = 200
"""A map of more would show no more."""


def embedding_figure(curves: Mapping[str, EmbeddingCurve], title: str = "") -> Figure:
    """How far along its way a number's vector is behind the first layer norm (xVal, Fig. 2).

    Shown is its place on the line from the first number's vector (0) to the last one's (1). Where it is flat, numbers
    cannot be told apart.

    Args:
        curves: Names to curves, as `embedding_analysis.embedding_curve` gives them.
        title: Above the figure.
    """
    with figure_and_axes(title) as (figure, axes):
        for index, (name, curve) in enumerate(curves.items()):
            axes.plot(curve.values.tolist(), curve.projection.tolist(), label=name, **stroke(index))
        axes.set(xlabel="number", ylabel="share of the way, behind the layer norm")
        axes.legend()
    return figure


def continuity_figure(found: Mapping[str, Continuity], title: str = "") -> Figure:
    """What models answer as one number of their text changes; jumps show where an encoding is not continuous.

    Args:
        found: Names to what `embedding_analysis.continuity` gave.
        title: Above the figure.
    """
    with figure_and_axes(title) as (figure, axes):
        for index, (name, one) in enumerate(found.items()):
            label = f"{name} (largest step {one.largest_step:.3g})"
            axes.plot(one.values.tolist(), one.answers.tolist(), label=label, **stroke(index))
        axes.axhline(0.0, color=GREY, linewidth=0.5)
        axes.set(xlabel="number given", ylabel="number answered")
        axes.legend()
    return figure


def structure_figure(model: NumberModel, title: str = "") -> Figure:
    """Which of a notation's own tokens have learnt like vectors: their cosines, in the order of their values (B.5).

    Args:
        model: One whose notation has tokens of its own; of more than 200, evenly spread ones are shown.
        title: Above the map.
    """
    names = list(model.processor.own_tokens)[1:]  # [NUM] is first, and stands for none of them
    if not names:
        kind: Any = model.processor.notation.config.kind
        raise ValueError(f"notation {kind!r} has no tokens of its own whose vectors could be compared")
    step = max(1, -(-len(names) // MOST_TOKENS))
    rows = model.own_rows.detach().float().cpu()[1:][::step]
    return cosine_map(rows, names[::step], title)
