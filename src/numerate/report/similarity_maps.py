"""Maps of the similarity of number vectors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional

from numerate.metrics.score import as_floats
from numerate.report.figure_style import figure_and_axes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

__all__ = ["cosine_map"]

_NUMBER = re.compile(r"[-−+]?(?:[0-9]+\.?|\.[0-9])[0-9]*+(?:[eE][-+]?[0-9]+)?", re.ASCII)
_MOST_TICKS = 40


def cosine_map(vectors: Tensor | Sequence[Any], labels: Sequence[str | float], title: str = "") -> Figure:
    """Plots cosine similarities of vectors of numerals or digits, sorted by value (2018 paper, Figs. 3 and 4).

    Labels that are not numbers (a point, the end of a string) come last, in the given order. Colours always go from -1
    to 1, so that maps can be compared. A zero vector has no similarity and leaves a gap.

    Args:
        vectors: (N, D), one for each label.
        labels: N numerals or numbers.
        title: Title of the figure.

    Example:
        >>> figure = cosine_map([[1.0, 0.0], [0.0, 2.0], [1.0, 0.0]], ["10", "9.5", "."], "Digits")
        >>> figure.axes[0].images[0].get_array().tolist()
        [[1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 1.0, 1.0]]
    """
    rows = as_floats(vectors, "vectors", dims=2).cpu()
    if len(rows) != len(labels):
        raise ValueError(f"there must be one label for each vector, got {len(labels)} for {len(rows)} vectors")
    if not len(rows):
        raise ValueError("there must be at least one vector, got 0")
    names = [label if isinstance(label, str) else f"{label:.6g}" for label in labels]
    keys = [_value(label) for label in labels]
    order = sorted(range(len(keys)), key=lambda i: (keys[i] is None, keys[i] or 0.0))
    rows, names = rows[order], [names[i] for i in order]
    # Scaled by the largest entry first: the square of a large float64 overflows.
    units = functional.normalize(rows / rows.abs().amax(1, keepdim=True), dim=1)
    cosines = (units @ units.T).clamp(-1.0, 1.0)
    size = min(8.0, 3.0 + 0.08 * len(rows))
    with figure_and_axes(title, size + 0.9, size) as (figure, axes):
        image = axes.imshow(cosines.numpy(), vmin=-1.0, vmax=1.0)
        step = -(-len(names) // _MOST_TICKS)
        ticks = list(range(0, len(names), step))
        axes.set_xticks(ticks, [names[i] for i in ticks], rotation=90 if max(map(len, names)) > 1 else 0)
        axes.set_yticks(ticks, [names[i] for i in ticks])
        axes.grid(visible=False)
        figure.colorbar(image, ax=axes, label="cosine similarity")
    return figure


def _value(label: str | float) -> float | None:
    """Value of a label, None if it is not a number; stricter than `float`, which reads "1_000", "nan", "infinity"."""
    if not isinstance(label, str):
        value = float(label)
    elif _NUMBER.fullmatch(text := label.strip().replace(",", "")):
        value = float(text.replace("−", "-"))
    else:
        return None
    return value if torch.isfinite(torch.tensor(value, dtype=torch.float64)) else None
