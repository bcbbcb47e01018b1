"""Numerically stable log-density, log-cdf and log-probability of intervals of the normal distribution."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional

from numerate.heads.base import LARGEST

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["log_cdf", "log_interval", "log_normal", "normal_samples", "rounding_interval"]

_HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)
_ROOT_HALF = math.sqrt(0.5)
_FARTHEST = 1e15
"""Largest distance from the mean, in spreads: its square and its gradients stay within float32."""
_NARROW = 1e-4
"""Largest half-width, in spreads, over which a normal density equals an exponential function to 1e-8."""


def log_normal(z: Tensor, plus: Tensor | float = 0.0) -> Tensor:
    """Log-density of the standard normal distribution, with z clamped to ±10^15; `plus` is added."""
    near = functional.hardtanh(z, -_FARTHEST, _FARTHEST)  # as `clamp`, whose gradient is five operations and not one
    return torch.rsub(near.square(), plus - _HALF_LOG_TAU, alpha=0.5)


def log_cdf(z: Tensor) -> Tensor:
    """Log of Φ(z), with z clamped to -10^15 from below.

    (The gradient of PyTorch 2.13's own function is NaN or inf for z below about -10^6.)
    """
    far = z.clamp(-_FARTHEST, -1.0)
    low = torch.log(0.5 * torch.special.erfcx(-far * _ROOT_HALF)) - 0.5 * far.square()
    return torch.where(z < -1, low, torch.log1p(-0.5 * torch.special.erfc(z.clamp_min(-1.0) * _ROOT_HALF)))


def log_interval(middle: Tensor, log_half: Tensor) -> Tensor:
    """log(Φ(m + h) - Φ(m - h)) for any m and log h, without cancellation in the tails or for tiny widths.

    Shape:
        Input: m and log h, of one shape. Output: the same.

    Example:
        >>> log_interval(torch.tensor([0.0, 1e3]).double(), torch.tensor([0.0, -800.0]).double()).tolist()
        [-0.3817..., -500800.2257...]
    """
    middle = middle.clamp(-_FARTHEST, _FARTHEST).abs()  # by symmetry
    narrow = log_half <= math.log(_NARROW)
    half = torch.where(narrow, log_half, 0.0).exp()
    # Narrow: ∫ exp(-m·t) dt over ±h is 2h · sinh(m·h) / (m·h); h may underflow to 0 here.
    slope = middle * half
    large = slope > 1e-2
    safe = torch.where(large, slope, 1.0)
    growth = torch.where(large, safe + torch.log1p(-torch.exp(-2 * safe)) - torch.log(2 * safe), slope.square() / 6)
    thin = log_normal(middle) + math.log(2) + log_half + growth
    # Wide: on the negative side, where Φ is small and its logarithm precise.
    half = torch.where(narrow, 0.0, log_half).clamp_max(math.log(_FARTHEST)).exp()
    inner, outer = log_cdf(half - middle), log_cdf(-half - middle)
    gap = (inner - outer).clamp_min(1e-12)
    wide = inner + torch.where(gap < 0.7, torch.log(-torch.expm1(-gap)), torch.log1p(-torch.exp(-gap.clamp_min(0.1))))
    return torch.where(narrow, thin, wide)


def rounding_interval(
    values: Tensor, precision: Tensor, transform: Callable[[Tensor], Tensor], log_slope: Tensor
) -> tuple[Tensor, Tensor]:
    """Rounding interval of each value at its written precision, transformed: its middle and log half-width.

    Args:
        values: Of any shape.
        precision: Powers of ten of the last written digits, of the same shape.
        transform: A monotone transform that is smooth on the intervals.
        log_slope: Logarithm of its derivative at the values.
    """
    log_half = precision.to(torch.float64) * math.log(10) - math.log(2)
    half = log_half.clamp(-750.0, 708.0).exp()
    low = transform((values - half).clamp(-LARGEST, LARGEST))
    high = transform((values + half).clamp(-LARGEST, LARGEST))
    # The difference of the ends of a narrow interval cancels, but the transform is linear there.
    thin = log_half + log_slope < math.log(_NARROW)
    middle = torch.where(thin, transform(values), (low + high) / 2)
    return middle, torch.where(thin, log_half + log_slope, torch.log((high - low) / 2))


def normal_samples(like: Tensor, count: int, generator: torch.Generator | None) -> Tensor:
    """(count, *like.shape) standard normal samples in float64, on the device of `like`."""
    return torch.randn(count, *like.shape, generator=generator, dtype=torch.float64, device=like.device)
