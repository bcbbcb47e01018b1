"""`NeighbourFeatures`: adds a number's vector to the tokens beside it, such as its unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from numerate.processing.slot_positions import NumberPlaces

if TYPE_CHECKING:
    from numerate.processing.number_table import NumberTable

__all__ = ["NeighbourFeatures"]


class NeighbourFeatures(nn.Module):
    """Adds the vector of each given number to the tokens before and after it, through a linear map for each distance.

    The maps start at 0, so that nothing changes before training. Tokens of other numbers stay the same.

    **Shape**

    - Input: embeddings `(B, L, into)` of the last L of T tokens (L = T except in cached generation), slots `(B, T)`,
      a table of `(B, M)` numbers, their vectors `(B, M, width)`
    - Output: `(B, L, into)`

    Args:
        width: Width of the vectors.
        tokens: Number of tokens on each side.
        into: Width of the embeddings or hidden states; by default that of the vectors.
        causal: Add the vector only after the number's last token: in a causal model, the tokens before a number would
            reveal it. Subwords without a vector of their own are reached even if they write a number, because the
            notation `addback` tells only after them that they do.

    Example:
        >>> from numerate.processing.number_table import NumberTable
        >>> reach, slots = NeighbourFeatures(2, tokens=1), torch.tensor([[0, 1, 1, 0, 0]])
        >>> with torch.no_grad():
        ...     _ = reach.maps.copy_(torch.stack([torch.eye(2), 3 * torch.eye(2)]))  # before, after
        >>> numbers = NumberTable.of_values([7.0])[torch.zeros(1, 1, dtype=torch.int64)]
        >>> reach(torch.zeros(1, 5, 2), slots, numbers, torch.ones(1, 1, 2))[0, :, 0].tolist()
        [1.0, 0.0, 0.0, 3.0, 0.0]
    """

    def __init__(self, width: int, tokens: int, into: int | None = None, causal: bool = False) -> None:
        if tokens < 1 or width < 1:
            raise ValueError(f"tokens and width must be positive, got {tokens=}, {width=}")
        super().__init__()
        self.tokens, self.causal = tokens, causal
        self.maps = nn.Parameter(torch.zeros((2 - causal) * tokens, width, into or width))

    def forward(
        self, embeddings: Tensor, slots: Tensor, table: NumberTable, vectors: Tensor, places: NumberPlaces | None = None
    ) -> Tensor:
        """The embeddings with the mapped vectors added; `places` are those of the slots and the table, if known."""
        if vectors.shape[1] == 0:
            return embeddings
        places = NumberPlaces(slots, table) if places is None else places
        last = places.last
        steps = torch.arange(1, self.tokens + 1, device=slots.device)
        reached = last[..., None] + steps
        if not self.causal:
            reached = torch.cat([places.first[..., None] - steps, reached], dim=-1)  # (B, M, 2 * tokens)
        given = places.given & (last >= 0)
        reached = reached.masked_fill(~given[..., None], -1).flatten(1)
        moved = torch.einsum("bmw,swv->bmsv", vectors, self.maps.to(vectors.dtype)).flatten(1, 2)
        # A product with ones and zeros, for the reason given in `numerate.modeling.placement.place`.
        length = embeddings.shape[1]
        chosen = torch.arange(slots.shape[1], device=slots.device)[-length:, None] == reached[:, None]
        free = (slots <= 0 if self.causal else slots == 0)[:, -length:]
        return embeddings + torch.bmm((chosen & free[..., None]).to(moved.dtype), moved).to(embeddings.dtype)
