"""From logits to tokens: temperature, top-k, top-p."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["choose", "warped"]


def warped(scores: Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None) -> Tensor:
    """Scores with the improbable tokens left out, at -inf: (..., V).

    Args:
        scores: (..., V) logits or log-probabilities.
        temperature: What they are divided by.
        top_k: How many tokens are kept; ties with the last of them too.
        top_p: The fewest most probable tokens are kept that have this probability together.

    Example:
        >>> warped(torch.tensor([0.5, 0.3, 0.2]).log(), top_p=0.7).exp()
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


def choose(scores: Tensor, do_sample: bool, generator: torch.Generator | None = None) -> Tensor:
    """One token a row, the best or a drawn one: (B,)."""
    if not do_sample:
        return scores.argmax(dim=-1)
    return torch.multinomial(scores.softmax(dim=-1), 1, generator=generator)[:, 0]
