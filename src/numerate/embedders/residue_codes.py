"""Residue number system: integers as remainders by coprime moduli, and back (Chinese remainder theorem).

Sums, differences and products are computed for each modulus on its own, without carries between places.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from numerate.embedders.digit_grid import check_digits

__all__ = ["from_residues", "moduli_for", "residues_of"]

_MODULI = (5, 7, 8, 9, 11, 13, 17, 19, 23, 29, 31, 37, 41)
"""Small and pairwise coprime; their product distinguishes 3.6e15 numbers."""


def moduli_for(digits: int) -> tuple[int, ...]:
    """The first moduli whose product distinguishes all numbers of up to `digits` digits, negative ones included.

    Example:
        >>> moduli_for(6), math.prod(moduli_for(6))
        ((5, 7, 8, 9, 11, 13, 17), 6126120)
    """
    check_digits(digits, 0)
    count = next(k for k in range(1, len(_MODULI) + 1) if math.prod(_MODULI[:k]) > 2 * 10**digits)
    return _MODULI[:count]


def residues_of(units: Tensor, moduli: tuple[int, ...]) -> Tensor:
    """Non-negative remainders of int64 numbers: (...) to (..., K).

    Example:
        >>> residues_of(torch.tensor([12, -1]), (5, 7)).tolist()
        [[2, 5], [4, 6]]
    """
    # Modulus by modulus: a tensor of moduli cannot be created during CUDA graph capture.
    return torch.stack([torch.remainder(units, modulus) for modulus in moduli], dim=-1)


def from_residues(residues: Tensor, moduli: tuple[int, ...]) -> Tensor:
    """The integer nearest to 0 with these remainders: int64 (..., K) to (...).

    Example:
        >>> from_residues(torch.tensor([[2, 5], [4, 6]]), (5, 7)).tolist()
        [12, -1]
    """
    product = math.prod(moduli)
    # Each is 1 modulo its own modulus and 0 modulo the others; their weighted sum stays below 2^61.
    ones = [(product // m) * pow(product // m, -1, m) for m in moduli]
    whole = (residues * torch.tensor(ones, device=residues.device)).sum(-1) % product
    return torch.where(whole > product // 2, whole - product, whole)
