"""Other numbers of the text as hints: what is asked for may be one of them times a ratio, as 28 km are 17 mi."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from collections.abc import Callable

    from numerate.heads.pointer import PointerContext

__all__ = ["Ratios"]


class Ratios(nn.Module):
    """What the states of a predicted number and of another one of its text say of the ratio between them.

    **Shape**

    - Input: `(N, dim)` and the M numbers that each may look at
    - Output: three times `(N, M)`: the ratio's logarithm, how sure it is, and how much the other number is to the point

    Args:
        dim: Width of the states.
        hidden: Width of the layer in which both meet.
    """

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.own = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, hidden))
        self.other = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, hidden, bias=False))
        self.says = nn.Sequential(nn.GELU(), nn.Linear(hidden, 3))

    def forward(
        self, hidden: Tensor, earlier: PointerContext, run: Callable[[nn.Module, Tensor], Tensor]
    ) -> tuple[Tensor, Tensor, Tensor]:
        """In float64; `run` runs layers in the precision that heads run in."""
        own, other = run(self.own, hidden), run(self.other, earlier.told)
        logarithm, sureness, score = run(self.says, own[:, None] + other[earlier.rows]).unbind(-1)
        return logarithm, sureness, score

    def nothing(self) -> Tensor:
        """A 0 that all weights have a gradient by, of 0: where there is nothing to look at, training goes on."""
        return 0.0 * torch.stack([weight.sum() for weight in self.parameters()]).sum()
