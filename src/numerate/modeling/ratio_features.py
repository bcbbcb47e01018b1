"""`RatioFeatures`: log-ratio features between neighbouring numbers, as between 28 km and 17 mi."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from numerate.embedders.fourier import waves
from numerate.processing.slot_positions import NumberPlaces

if TYPE_CHECKING:
    from numerate.processing.number_table import NumberTable

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
        >>> from numerate.processing.number_table import NumberTable
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

    def features(self, slots: Tensor, table: NumberTable, places: NumberPlaces | None = None) -> Tensor:
        """float64 (B, M, neighbours · columns): per neighbour waves of the log-ratio, sign, 1 / distance, 1."""
        places = NumberPlaces(slots, table) if places is None else places
        values = table.values()
        if places.count == 0:
            return values.new_zeros(len(values), 0, len(self.steps) * (2 * _FREQUENCIES + 3))
        known = places.known & (values != 0) & (places.slot < slots.shape[1])
        values = values.where(known, 1.0)
        own = torch.stack([values.abs().log10(), values.sign(), places.slot.double(), known.double()], dim=-1)
        # Each number beside its neighbours: a window of the numbers around it, which are unknown beyond both ends.
        after = self.numbers if len(self.steps) > self.numbers else 0
        windows = nn.functional.pad(own, (0, 0, self.numbers, after)).unfold(1, self.numbers + 1 + after, 1)
        other = windows[..., : self.numbers]
        if after:
            other = torch.cat([other, windows[..., self.numbers + 1 :]], dim=-1)
        own, other = own[..., None].unbind(2), other.unbind(2)  # (B, M, 1) and (B, M, neighbours) each
        both = own[3] * other[3]
        apart = (own[2] - other[2]).abs().clamp_min(1)
        told = [each[..., None] for each in (own[1] * other[1], apart.reciprocal(), both)]
        ratio = waves(own[0] - other[0], _FREQUENCIES, _LONGEST, _SHORTEST)
        return (torch.cat([ratio, *told], dim=-1) * both[..., None]).flatten(2)

    def forward(self, slots: Tensor, table: NumberTable, places: NumberPlaces | None = None) -> Tensor:
        """The vectors: (B, M, width); `places` are those of the slots and the table, if they are known already."""
        weight: Tensor = self.network[1].weight  # type: ignore[assignment]
        return self.network(self.features(slots, table, places).to(weight.dtype))
