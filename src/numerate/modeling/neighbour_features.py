"""`NeighbourFeatures`: adds a number's vector to the tokens beside it, such as its unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from numerate.processing.number_table import GIVEN
from numerate.processing.slot_positions import first_tokens, last_tokens

if TYPE_CHECKING:
    from numerate.processing.number_table import NumberTable

__all__ = ["NeighbourFeatures"]


class NeighbourFeatures(nn.Module):
    """Adds the vector of each given number to the tokens before and after it, through a linear map for each distance.

    The maps start at 0, so that nothing changes before training. Tokens of other numbers stay the same. Only for models
    that attend to both sides: in a causal model, the tokens before a number would reveal it.

    **Shape**

    - Input: embeddings `(B, T, into)`, slots `(B, T)`, a table of `(B, M)` numbers, their vectors `(B, M, width)`
    - Output: `(B, T, into)`

    Args:
        width: Width of the vectors.
        tokens: Number of tokens on each side.
        into: Width of the embeddings or hidden states; by default that of the vectors.

    Example:
        >>> from numerate.processing.number_table import NumberTable
        >>> reach, slots = NeighbourFeatures(2, tokens=1), torch.tensor([[0, 1, 1, 0, 0]])
        >>> with torch.no_grad():
        ...     _ = reach.maps.copy_(torch.stack([torch.eye(2), 3 * torch.eye(2)]))  # before, after
        >>> numbers = NumberTable.of_values([7.0])[torch.zeros(1, 1, dtype=torch.int64)]
        >>> reach(torch.zeros(1, 5, 2), slots, numbers, torch.ones(1, 1, 2))[0, :, 0].tolist()
        [1.0, 0.0, 0.0, 3.0, 0.0]
    """

    def __init__(self, width: int, tokens: int, into: int | None = None) -> None:
        if tokens < 1 or width < 1:
            raise ValueError(f"tokens and width must be positive, got {tokens=}, {width=}")
        super().__init__()
        self.tokens = tokens
        self.maps = nn.Parameter(torch.zeros(2 * tokens, width, into or width))

    def forward(self, embeddings: Tensor, slots: Tensor, table: NumberTable, vectors: Tensor) -> Tensor:
        """The embeddings with the mapped vectors added."""
        numbers = vectors.shape[1]
        if numbers == 0:
            return embeddings
        first, last = first_tokens(slots, numbers, written=True), last_tokens(slots, numbers)
        steps = torch.arange(1, self.tokens + 1, device=slots.device)
        reached = torch.cat([first[..., None] - steps, last[..., None] + steps], dim=-1)  # (B, M, 2 * tokens)
        given = (table.given == GIVEN) & (last >= 0)
        reached = torch.where(given[..., None], reached, -1).flatten(1)
        moved = torch.einsum("bmw,swv->bmsv", vectors, self.maps.to(vectors.dtype)).flatten(1, 2)
        # A product with ones and zeros, for the reason given in `numerate.modeling.placement.place`.
        chosen = torch.arange(slots.shape[1], device=slots.device)[:, None] == reached[:, None]
        rows = torch.bmm(chosen.to(moved.dtype), moved).to(embeddings.dtype)
        return torch.where((slots == 0)[..., None], embeddings + rows, embeddings)
