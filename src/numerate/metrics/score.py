"""`Score`: a figure with what it was made of; and how every metric takes its input."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Score", "as_floats", "as_pair", "mean_of"]


@dataclass(frozen=True, slots=True)
class Score:
    """One figure, and how many examples it stands on; `float(score)` is the figure.

    Nothing is left out in silence: what does not enter the figure is counted here.

    Attributes:
        value: The figure; NaN if nothing is left to compute it from.
        count: How many examples it was computed from.
        skipped: Examples left out because of their gold value: not finite, or 0 where the metric divides by it.
        non_finite: Predictions that are NaN or infinite (or whose error is). Means leave them out; medians take their
            error as infinite, shares take them as wrong.

    Example:
        >>> float(Score(0.5, 10)), str(Score(0.5, 10, skipped=2))
        (0.5, '0.5 (n=10, 2 skipped)')
    """

    value: float
    count: int
    skipped: int = 0
    non_finite: int = 0

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        notes = [f"n={self.count}"]
        notes += [f"{self.skipped} skipped"] if self.skipped else []
        notes += [f"{self.non_finite} not finite"] if self.non_finite else []
        return f"{self.value:.6g} ({', '.join(notes)})"

    def to_dict(self) -> dict[str, float | int | None]:
        """The score as JSON types: a value that is not finite becomes None."""
        value = self.value if math.isfinite(self.value) else None
        return {"value": value, "count": self.count, "skipped": self.skipped, "non_finite": self.non_finite}


def as_floats(values: Tensor | Sequence[Any], what: str = "values", dims: int = 1) -> Tensor:
    """Numbers as a float64 tensor on their device, detached; a tensor of other dimensions is an error.

    Example:
        >>> as_floats([1, 2.5])
        tensor([1.0000, 2.5000], dtype=torch.float64)
    """
    # Lists straight to float64: PyTorch would read them as float32.
    tensor = torch.as_tensor(values.detach() if isinstance(values, Tensor) else values, dtype=torch.float64)
    if tensor.numel() == 0 and tensor.dim() < dims:
        tensor = tensor.reshape((0,) * dims)
    if tensor.dim() != dims:
        raise ValueError(f"{what} must have {dims} dimension{'s' * (dims > 1)}, got {tuple(tensor.shape)}")
    return tensor


def as_pair(predicted: Tensor | Sequence[Any], gold: Tensor | Sequence[Any]) -> tuple[Tensor, Tensor]:
    """Predictions and gold values, both (N,) float64 on the predictions' device.

    Example:
        >>> as_pair([1.0, 2.0], [1.0])
        Traceback (most recent call last):
        ValueError: predictions and gold values must be equally many, got 2 and 1
    """
    one = as_floats(predicted, "predictions")
    other = as_floats(gold, "gold values").to(one.device)
    if len(one) != len(other):
        raise ValueError(f"predictions and gold values must be equally many, got {len(one)} and {len(other)}")
    return one, other


def mean_of(values: Tensor) -> float:
    """The mean of non-negative values without overflow on the way: NaN of none, inf if one is infinite.

    Example:
        >>> mean_of(torch.tensor([1e308, 1.7e308], dtype=torch.float64)), mean_of(torch.tensor([]))
        (1.35e+308, nan)
    """
    if not len(values):
        return math.nan
    plain = values.mean()
    if bool(plain.isinf()) and bool(values.isfinite().all()):  # the sum overflowed
        return float((values / values.max()).mean() * values.max())
    return float(plain)
