"""`RatioFeatures`: log-ratio features between neighbouring numbers, as between 28 km and 17 mi."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from numerate.embedders.fourier import waves
from numerate.processing.number_table import GIVEN, NumberTable
from numerate.processing.slot_positions import first_tokens

__all__ = ["RatioFeatures"]

_FREQUENCIES, _LONGEST, _SHORTEST = 14, 16.0, 0.25
"""Number, longest and shortest period (in decades) of the waves of a log-ratio."""
_DROPPED, _HIDDEN_DROPPED = 0.3, 0.5
"""Dropout of features and of hidden units: a few thousand ratios are soon memorised. Measured on 7,000 masked units and
a frozen backbone, test loss in nats: 0.616 without ratios, 0.666 with ratios, 0.606 with ratios and this dropout."""


class RatioFeatures(nn.Module):
    """A vector for each number, computed from its ratios to the numbers before and after it and from their distance.

    A language model can hardly divide one number of a text by another, however they are embedded. A number that is not
    given, 0 or not finite has no ratio.

    **Shape**

    - Input: slots `(B, T)`, a table of `(B, M)` numbers in reading order
    - Output: `(B, M, width)`

    Args:
        width: Width of the vectors.
        numbers: Number of neighbouring numbers on each side.
        causal: Use the numbers before only, as a causal model must: it has not read those after.

    Example:
        >>> relations = RatioFeatures(8, numbers=1).eval()
        >>> numbers = NumberTable.of_values([28.0, 17.0, 56.0, 34.0])[torch.arange(4).reshape(2, 2)]
        >>> one, other = relations(torch.tensor([[0, 1, 0, 2], [0, 1, 0, 2]]), numbers)
        >>> torch.allclose(one, other)
        True
    """

    def __init__(self, width: int, numbers: int, causal: bool = False) -> None:
        if numbers < 1 or width < 1:
            raise ValueError(f"numbers and width must be positive, got {numbers=}, {width=}")
        super().__init__()
        self.numbers = numbers
        self.steps = [step for step in range(-numbers, 1 if causal else numbers + 1) if step]
        columns = len(self.steps) * (2 * _FREQUENCIES + 3)
        layers = [nn.Dropout(_DROPPED), nn.Linear(columns, width), nn.GELU()]
        self.network = nn.Sequential(*layers, nn.Dropout(_HIDDEN_DROPPED), nn.Linear(width, width))

    def features(self, slots: Tensor, table: NumberTable) -> Tensor:
        """float64 (B, M, neighbours · columns): per neighbour waves of the log-ratio, sign, 1 / distance, 1."""
        values, count = table.values(), table.bits.shape[1]
        first = first_tokens(slots, count)
        known = (table.given == GIVEN) & values.isfinite() & (values != 0) & (first < slots.shape[1])
        logarithm = values.abs().where(known, 1.0).log10()
        steps = torch.tensor(self.steps, device=slots.device)
        other = torch.arange(count, device=slots.device)[:, None] + steps  # (M, S)
        there = (other >= 0) & (other < count)
        other = other.clamp(0, max(0, count - 1))
        both = known[..., None] & known[:, other] & there
        signs = values.sign().where(known, 1.0)
        apart = (first[..., None] - first[:, other]).abs().clamp_min(1).to(torch.float64)
        told = [signs[..., None] * signs[:, other], 1 / apart, torch.ones_like(apart)]
        ratio = waves(logarithm[..., None] - logarithm[:, other], _FREQUENCIES, _LONGEST, _SHORTEST)
        return (torch.cat([ratio, torch.stack(told, dim=-1)], dim=-1) * both[..., None]).flatten(2)

    def forward(self, slots: Tensor, table: NumberTable) -> Tensor:
        """The vectors: (B, M, width)."""
        weight: Tensor = self.network[1].weight  # type: ignore[assignment]
        return self.network(self.features(slots, table).to(weight.dtype))
