"""The result type `Score` of all metrics, and helpers that check their input."""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from numerate.errors import NumerateError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MetricError", "ScipyMissingError", "Score", "as_floats", "as_pair", "as_truths", "import_scipy", "mean_of"]


class MetricError(NumerateError, ValueError):
    """An argument of a metric has a wrong shape or a value out of range."""


class ScipyMissingError(NumerateError, ImportError):
    """The package scipy, which computes the significance tests, is not installed."""


@dataclass(frozen=True, slots=True)
class Score:
    """The value of a metric and the number of examples behind it; `float(score)` is the value.

    Attributes:
        value: The metric; NaN if no example is left.
        count: Number of examples that enter the value.
        skipped: Examples left out because of their gold value: not finite, or 0 if the metric divides by it.
        non_finite: Predictions that are NaN or infinite (or whose error is). Means leave them out, medians count their
            error as infinite, and accuracies count them as wrong.

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
        """The score as JSON types; NaN and infinity become None."""
        value = self.value if math.isfinite(self.value) else None
        return {"value": value, "count": self.count, "skipped": self.skipped, "non_finite": self.non_finite}


def import_scipy(part: str) -> Any:
    """Imports `scipy.<part>`; it comes with the extra `eval` and is imported only by the metrics that need it."""
    try:
        return importlib.import_module(f"scipy.{part}")
    except ImportError:
        raise ScipyMissingError('this metric needs scipy: pip install "numerate[eval]"') from None


def as_floats(values: Tensor | Sequence[Any], what: str = "values", dims: int = 1) -> Tensor:
    """Converts numbers to a detached float64 tensor on the same device; other than `dims` dimensions is an error.

    Example:
        >>> as_floats([1, 2.5])
        tensor([1.0000, 2.5000], dtype=torch.float64)
    """
    if isinstance(values, Tensor):
        given: Any = values.detach()
    else:  # columns of pandas and the like, whose own index is not one of positions
        given = np.array(values) if hasattr(values, "__array__") else values
    try:  # lists go directly to float64: PyTorch would convert them to float32
        tensor = torch.as_tensor(given, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError):
        raise MetricError(f"{what} must be numbers, got {_first_other(given)!r}") from None
    if tensor.numel() == 0 and tensor.dim() < dims:
        tensor = tensor.reshape((0,) * dims)
    if tensor.dim() != dims:
        raise MetricError(f"{what} must have {dims} dimension{'s' * (dims > 1)}, got {tuple(tensor.shape)}")
    return tensor


def _first_other(values: Any) -> Any:
    """The first thing in nested lists that is no real number; the whole if rows differ in length."""
    waiting = [values]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list | tuple | np.ndarray):
            waiting += reversed(list(value))
        elif not (isinstance(value, int | float | np.number | np.bool_) or hasattr(value, "__float__")):
            return value
    return values


def as_pair(predicted: Tensor | Sequence[Any], gold: Tensor | Sequence[Any]) -> tuple[Tensor, Tensor]:
    """Converts predictions and gold values to two (N,) float64 tensors on the device of the predictions.

    Example:
        >>> as_pair([1.0, 2.0], [1.0])
        Traceback (most recent call last):
        numerate.metrics.score.MetricError: predictions and gold values must be equally many, got 2 and 1
    """
    one = as_floats(predicted, "predictions")
    other = as_floats(gold, "gold values").to(one.device)
    if len(one) != len(other):
        raise MetricError(f"predictions and gold values must be equally many, got {len(one)} and {len(other)}")
    return one, other


def as_truths(values: Tensor, what: str) -> Tensor:
    """Labels, rights and wrongs as bool; anything but 0 and 1 is an error.

    Example:
        >>> as_truths(torch.tensor([1.0, 0.0]), "labels")
        tensor([ True, False])
    """
    if other := values[(values != 0) & (values != 1)].tolist():
        raise MetricError(f"{what} must be true or false (1 or 0), got {other[0]:g}")
    return values.bool()


def mean_of(values: Tensor) -> float:
    """Mean of non-negative values without overflow of their sum; NaN for no values, inf if one is infinite.

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
