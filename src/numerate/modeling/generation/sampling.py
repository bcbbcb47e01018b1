"""From logits to tokens: temperature, top-k, top-p."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["choose_tokens", "warp_scores"]


def warp_scores(
    scores: Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> Tensor:
    """Scores at a temperature, with -inf for tokens outside top-k and top-p: (..., V).

    Args:
        scores: (..., V) logits or log-probabilities.
        temperature: Divides the scores.
        top_k: Keep this many most probable tokens, and ties with the last of them.
        top_p: Keep the fewest most probable tokens that have this probability together.

    Example:
        >>> warp_scores(torch.tensor([0.5, 0.3, 0.2]).log(), top_p=0.7).exp()
        tensor([0.5000, 0.3000, 0.0000])
    """
    scores = scores / temperature
    if top_k is not None:
        least = scores.topk(min(top_k, scores.shape[-1]), dim=-1).values[..., -1:]
        scores = scores.masked_fill(scores < least, -torch.inf)
    if top_p is not None:
        ordered, order = scores.sort(dim=-1, descending=True)
        shares = ordered.softmax(dim=-1)
        surplus = shares.cumsum(dim=-1) - shares >= top_p
        surplus[..., 0] = False
        scores = scores.masked_fill(torch.zeros_like(surplus).scatter(-1, order, surplus), -torch.inf)
    return scores


def choose_tokens(scores: Tensor, do_sample: bool, generator: torch.Generator | None = None) -> Tensor:
    """One token for each row, the most probable or a sampled one: (B,)."""
    if not do_sample:
        return scores.argmax(dim=-1)
    return torch.multinomial(scores.softmax(dim=-1), 1, generator=generator)[:, 0]
