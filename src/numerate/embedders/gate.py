"""Zero-initialised gate: a newly attached embedder changes nothing until training opens the gate."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from numerate.config import ConfigError

__all__ = ["ZeroGate"]


class ZeroGate(nn.Module):
    """Multiplies vectors by a learned factor that is initialised to 0.

    With the gate at 0, `hidden + gate(vectors)` is exactly `hidden`. The gradient of the gate is not 0, so the first
    training step opens it; the embedder gets no gradient before that.

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
        """Gated vectors: (..., width) to (..., width)."""
        return vectors * self.gate
