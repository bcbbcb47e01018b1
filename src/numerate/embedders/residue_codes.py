"""Whole numbers by their remainders: which moduli tell so many digits apart, and the way there and back.

Sums, differences and products of remainders are the remainders of sums, differences and products, each modulus by
itself (Chinese remainder theorem): what carries from digit to digit in decimals carries nowhere here.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from numerate.embedders.digit_grid import check_digits

__all__ = ["from_residues", "moduli_for", "residues_of"]

_MODULI = (5, 7, 8, 9, 11, 13, 17, 19, 23, 29, 31, 37, 41)
"""Small, and no two with a common factor; all together they tell 3.6e15 numbers apart."""


def moduli_for(digits: int) -> tuple[int, ...]:
    """The first moduli that tell all numbers of so many digits apart, with either sign.

    Example:
        >>> moduli_for(6), math.prod(moduli_for(6))
        ((5, 7, 8, 9, 11, 13, 17), 6126120)
    """
    check_digits(digits, 0)
    count = next(k for k in range(1, len(_MODULI) + 1) if math.prod(_MODULI[:k]) > 2 * 10**digits)
    return _MODULI[:count]


def residues_of(units: Tensor, moduli: tuple[int, ...]) -> Tensor:
    """Remainders from 0 on, of negative numbers too: int64 (...) to (..., K).

    Example:
        >>> residues_of(torch.tensor([12, -1]), (5, 7)).tolist()
        [[2, 5], [4, 6]]
    """
    # Modulus by modulus: a tensor of them could not be made while a step is recorded.
    return torch.stack([torch.remainder(units, modulus) for modulus in moduli], dim=-1)


def from_residues(residues: Tensor, moduli: tuple[int, ...]) -> Tensor:
    """The number nearest to 0 that has these remainders: int64 (..., K) to (...).

    Example:
        >>> from_residues(torch.tensor([[2, 5], [4, 6]]), (5, 7)).tolist()
        [12, -1]
    """
    product = math.prod(moduli)
    # 1 for its own modulus, 0 for the others; a sum of such multiples stays below 2^61.
    ones = [(product // m) * pow(product // m, -1, m) for m in moduli]
    whole = (residues * torch.tensor(ones, device=residues.device)).sum(-1) % product
    return torch.where(whole > product // 2, whole - product, whole)
