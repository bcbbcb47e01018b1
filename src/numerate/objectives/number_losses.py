"""Parts of number-token losses as functions of tensors; `NumberTokenLoss` applies them to logits and labels."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

__all__ = ["corrected_for_mass", "digit_entropy", "number_error", "place_weights"]

_EPS = 1e-12
"""Makes the relative error of 0 for 0 defined."""


def digit_entropy(logits: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """DEL: binary cross-entropy of each class, weighted by the class probability and by the digit's place.

    Shape:
        Logits (N, C), target classes (N,), weights (N,). Output: (N,).

    Example:
        >>> digit_entropy(torch.zeros(1, 2), torch.tensor([0]), torch.ones(1))
        tensor([0.6931])
    """
    right = F.one_hot(targets, logits.shape[-1]).to(logits.dtype)
    each = F.binary_cross_entropy_with_logits(logits, right, reduction="none")
    return weights * (logits.softmax(-1) * each).sum(-1)


def place_weights(place: Tensor) -> Tensor:
    """DEL's weight of a digit: 2, 4, 6 ... from the units digit up, and 1, 1/1.02, 1/1.02² ... after the point.

    Example:
        >>> place_weights(torch.tensor([2, 0, -1, -2]))
        tensor([6.0000, 2.0000, 1.0000, 0.9804])
    """
    place = place.to(torch.float32)
    return torch.where(place >= 0, 2 * (place + 1), 1.02 ** (place.clamp_max(-1) + 1))


def number_error(size: Tensor, gold: Tensor, wrong_sign: Tensor) -> Tensor:
    """Expected symmetric relative error, from 0 to 1, of numbers whose sign is uncertain.

    |Ŷ - Y| / (|Ŷ| + |Y|) is 1 for any two numbers of different signs. The function takes the mean of the error over the
    sign, not the error of the mean, which has no gradient once the wrong sign is the more probable one.

    Shape:
        Predicted and gold absolute values (N,); probability of the wrong sign (N,). Output: (N,).

    Example:
        >>> number_error(torch.tensor([1.0, 3.0]), torch.tensor([3.0, 3.0]), torch.tensor([0.0, 0.25]))
        tensor([0.5000, 0.2500])
    """
    error = (size - gold).abs() / (size + gold + _EPS)
    return torch.where(gold > 0, wrong_sign + (1 - wrong_sign) * error, error)


def corrected_for_mass(terms: Tensor, mass: Tensor, worst: float) -> Tensor:
    """Weighs terms by the probability of all number tokens; the rest costs 1.01 times the worst term.

    Example:
        >>> corrected_for_mass(torch.tensor([1.0]), torch.tensor([0.5]), worst=9.0)
        tensor([5.0450])
    """
    return mass * terms + 1.01 * worst * (1 - mass)
