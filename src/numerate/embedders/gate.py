"""Zero-initialised gate: a newly attached embedder changes nothing until training opens the gate."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from numerate.config import ConfigError

__all__ = ["ZeroGate"]


class ZeroGate(nn.Module):
    """Multiplies vectors by a learned factor that is initialised to 0.

    With the gate at 0 the output is exactly 0 (embedders give finite vectors), so `hidden + gate(vectors)` is `hidden`.
    The gradient of the gate, the inner product of the vectors and the incoming gradient, is not 0: the first training
    step opens it. The embedder gets no gradient before that.

    Shape:
        `(*, width)` to `(*, width)`.

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
            raise ConfigError(f"width must be positive, got {width}")
        super().__init__()
        self.gate = nn.Parameter(torch.zeros(width if per_dim else 1))

    def forward(self, vectors: Tensor) -> Tensor:
        """The gated vectors."""
        return vectors * self.gate
