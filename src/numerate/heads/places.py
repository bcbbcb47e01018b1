"""Point, cumulative and interval probabilities of numbers whose digits (decimal or binary) are independent.

Throughout, a table (N, P, J) holds log-probabilities of the J digits at each of P places, the highest place first, and
digits are int64 (N, C, P).
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

__all__ = ["below", "log_between", "log_equal"]


def log_equal(table: Tensor, digits: Tensor) -> Tensor:
    """Log-probability of a number: (N, C)."""
    return _pick(table, digits).sum(-1)


def below(table: Tensor, digits: Tensor) -> Tensor:
    """Probability of a smaller number: (N, C). Sum over places: equal before the place, smaller at it."""
    chances = table.exp()
    so_far = functional.pad(_pick(chances, digits), (1, 0), value=1.0).cumprod(-1)[..., :-1]
    return (so_far * _pick(_less(chances), digits)).sum(-1)


def log_between(table: Tensor, first: Tensor, last: Tensor) -> Tensor:
    """Log-probability of a number from `first` up to `last`, both included: (N, C).

    The common leading digits are a factor and the rest is a sum of positive terms, so that even tiny probabilities have
    full relative precision.
    """
    chances = table.exp()
    differs = (first != last).cumsum(-1)
    shared = differs == 0
    split = (differs == 1) & (first != last)
    tail = ~shared & ~split
    front = torch.where(shared, _pick(table, first), 0.0).sum(-1)
    up = _tail(chances, _more(chances), first, tail)
    down = _tail(chances, _less(chances), last, tail)
    place = split.to(torch.int64).argmax(-1, keepdim=True)
    here = chances.gather(1, place.expand(*place.shape[:2], chances.shape[2]))
    low, high = first.gather(-1, place), last.gather(-1, place)
    digit = torch.arange(chances.shape[2], device=table.device)
    inside = torch.where((digit > low) & (digit < high), here, 0.0).sum(-1)
    mass = here.gather(-1, low)[..., 0] * up + inside + here.gather(-1, high)[..., 0] * down
    return front + torch.where(shared.all(-1), 1.0, mass).clamp_min(1e-300).log()


def _pick(table: Tensor, digits: Tensor) -> Tensor:
    return table.gather(2, digits.transpose(1, 2)).transpose(1, 2)


def _less(chances: Tensor) -> Tensor:
    return functional.pad(chances.cumsum(-1), (1, 0))[..., :-1]


def _more(chances: Tensor) -> Tensor:
    return _less(chances.flip(-1)).flip(-1)


def _tail(chances: Tensor, farther: Tensor, digits: Tensor, tail: Tensor) -> Tensor:
    """Probability that the places in `tail` equal these digits or lie beyond them: (N, C)."""
    so_far = functional.pad(torch.where(tail, _pick(chances, digits), 1.0), (1, 0), value=1.0).cumprod(-1)
    return (so_far[..., :-1] * torch.where(tail, _pick(farther, digits), 0.0)).sum(-1) + so_far[..., -1]
