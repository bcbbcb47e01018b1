"""Baseline embedder: one learned vector shared by all numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from numerate.config import Config
from numerate.embedders.base import INITIAL_STD, Embedder, NumberTable
from numerate.registry import embedders

__all__ = ["NumConfig", "NumEmbedder"]


@dataclass(frozen=True, kw_only=True)
class NumConfig(Config):
    """Options of `num`: none."""

    kind: ClassVar[str] = "num"


@embedders.register("num")
class NumEmbedder(Embedder):
    """One learned vector for all numbers (baseline `Num` of Thawani et al. 2021).

    The model learns that a number is there, not which one. 0, -0, negatives, infinities and NaN are all the same.

    Example:
        >>> NumEmbedder.build(dim=8)(NumberTable.of_values([1.5, -2.0])).shape
        torch.Size([2, 8])
    """

    Config = NumConfig
    continuous = True
    through_zero = True
    signed = False

    def __init__(self, dim: int, config: NumConfig) -> None:
        super().__init__(dim, config)
        self.vector = nn.Parameter(torch.randn(dim) * INITIAL_STD)

    def forward(self, numbers: NumberTable) -> Tensor:
        """Embeds a flat table of N numbers: (N, dim)."""
        return self.vector.expand(len(numbers), -1)
