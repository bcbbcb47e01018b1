"""Predicted ratios between a number and the other numbers of its text (28 km are 17 mi)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor, nn

if TYPE_CHECKING:
    from collections.abc import Callable

    from numerate.heads.pointer import PointerContext

__all__ = ["RatioPredictor"]


class RatioPredictor(nn.Module):
    """Predicts, for each visible number of the text, how the predicted number relates to it.

    Shape:
        `(N, dim)` and a `PointerContext` to three tensors `(N, M)`: logarithm of the ratio, its certainty, and a score
        for the relevance of the other number.

    Args:
        dim: Width of the states.
        hidden: Width of the hidden layer, the sum of a map of each of the two states.
    """

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.own = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, hidden))
        self.other = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, hidden, bias=False))
        self.says = nn.Sequential(nn.GELU(), nn.Linear(hidden, 3))

    def forward(
        self, hidden: Tensor, context: PointerContext, run: Callable[[nn.Module, Tensor], Tensor]
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Outputs in float64; `run` is `Head._run`, which runs layers in float32 at least."""
        own, other = run(self.own, hidden), run(self.other, context.read_states)
        logarithm, certainty, score = run(self.says, own[:, None] + other[context.rows]).unbind(-1)
        return logarithm, certainty, score
