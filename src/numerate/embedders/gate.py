"""A gate that starts shut, so that attaching an embedder changes nothing until training does."""

from __future__ import annotations

import torch
from torch import Tensor, nn

__all__ = ["ZeroGate"]


class ZeroGate(nn.Module):
    """Multiplies vectors by a learned gate that is 0 at first.

    At 0 the output is exactly 0 (the vectors of an embedder are always finite), so `hidden + gate(vectors)` is
    `hidden`. The gate's own gradient, the inner product of the vectors and the gradient that arrives, is not 0: the
    first step of training opens it. The embedder behind it gets no gradient until then.

    **Shape**

    - Input: `(*, width)`
    - Output: `(*, width)`

    Args:
        width: Size of the vectors.
        per_dim: One gate for each column instead of one for the whole vector.

    Example:
        >>> gate = ZeroGate(4)
        >>> gate(torch.ones(2, 4)).abs().max().item()
        0.0
    """

    def __init__(self, width: int, *, per_dim: bool = False) -> None:
        if width < 1:
            raise ValueError(f"width must be positive, got {width=}")
        super().__init__()
        self.gate = nn.Parameter(torch.zeros(width if per_dim else 1))

    def forward(self, vectors: Tensor) -> Tensor:
        """The gated vectors."""
        return vectors * self.gate
