"""Checks of what a user passes to `NumberRegressor`: targets, weights, probabilities and parameters."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from numerate.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["check_lengths", "check_parameters", "device_of", "plain_value", "probabilities", "targets_of", "weights_of"]


def targets_of(y: Any) -> np.ndarray:
    """Targets as float64 (N,).

    Example:
        >>> targets_of([1, "2.5"])
        array([1. , 2.5])
        >>> targets_of([1j])
        Traceback (most recent call last):
        numerate.errors.BadInput: y must be numbers, got complex128: '[1j]'
    """
    if y is None:
        raise BadInput("requires y to be passed, but the target y is None")
    try:
        given = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
        if given.dtype.kind in "cmM":  # the real part, or a count of some unit of time, is not what was given
            raise BadInput(f"y must be numbers, got {given.dtype}: {str(y)[:60]!r}")
        found = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, BadInput):
            raise
        why = " (too large for a float)" if isinstance(error, OverflowError) else ""
        raise BadInput(f"y must be numbers{why}, got {str_of(y)!r}") from None
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.ndim != 1:
        raise BadInput(f"y must have one number for each text, got the shape {found.shape}")
    if not np.isfinite(found).all():
        raise BadInput(f"y contains NaN or infinity at {int(np.flatnonzero(~np.isfinite(found))[0])}")
    return found


def str_of(value: Any) -> str:
    """The beginning of a value's text; of integers with thousands of digits Python writes none."""
    try:
        return str(value)[:60]
    except ValueError:
        return type(value).__name__


def weights_of(sample_weight: Any, count: int) -> np.ndarray:
    """Weights (N,) of the rows of a score; all 1 for None.

    Example:
        >>> weights_of([1, 2], 3)
        Traceback (most recent call last):
        numerate.errors.BadInput: sample_weight must have one weight for each of the 3 texts, got the shape (2,)
    """
    if sample_weight is None:
        return np.ones(count)
    try:
        found = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadInput(f"sample_weight must be numbers, got {str_of(sample_weight)!r}") from None
    if found.shape != (count,):
        raise BadInput(f"sample_weight must have one weight for each of the {count} texts, got the shape {found.shape}")
    if not np.isfinite(found).all() or (found < 0).any() or not found.any():
        raise BadInput("sample_weight must be finite, not negative, and not all 0")
    return found


def probabilities(quantiles: Any) -> list[float]:
    """The probabilities of quantiles.

    Example:
        >>> probabilities(0.5)
        Traceback (most recent call last):
        numerate.errors.BadInput: quantiles must be a list of numbers, such as (0.05, 0.5, 0.95), got 0.5
    """
    try:
        levels = [float(p) for p in quantiles]
    except (TypeError, ValueError):
        raise BadInput(f"quantiles must be a list of numbers, such as (0.05, 0.5, 0.95), got {quantiles!r}") from None
    if not levels or not all(0 < p < 1 for p in levels):
        raise BadInput(f"quantiles must lie between 0 and 1, got {tuple(quantiles)}")
    return levels


def check_lengths(texts: Sequence[Any] | np.ndarray, targets: np.ndarray) -> None:
    """Whether there is one target for each text."""
    if len(texts) != len(targets):
        raise BadInput(f"inconsistent lengths: {len(texts)} texts and {len(targets)} numbers")


def check_parameters(given: Mapping[str, Any]) -> None:
    """Whether the constructor's arguments can be trained with.

    Example:
        >>> check_parameters({"epochs": 1.5})
        Traceback (most recent call last):
        numerate.errors.BadInput: epochs must be a whole number or None, got 1.5
    """
    for name in ("components", "batch_size", "max_length", "epochs", "seed"):
        value = given.get(name)
        optional = " or None" if name == "epochs" else ""
        if name not in given or (optional and value is None):
            continue
        if not isinstance(value, Integral) or isinstance(value, bool):
            raise BadInput(f"{name} must be a whole number{optional}, got {value!r}")
        if name != "seed" and value < 1:
            raise BadInput(f"{name} must be at least 1{optional}, got {value}")
    for name, value in given.items():
        if name == "held_out" and not (isinstance(value, Real) and 0 <= float(value) < 1):
            raise BadInput(f"held_out must be at least 0 and below 1, got {value!r}")
        if name == "learning_rate" and not (isinstance(value, Real) and 0 <= float(value) < math.inf):
            raise BadInput(f"learning_rate must be a finite number of at least 0, got {value!r}")


def device_of(name: Any) -> torch.device:
    """The device with a name; for None a GPU if there is one.

    Example:
        >>> device_of("gpu")
        Traceback (most recent call last):
        numerate.errors.BadInput: device must be one of torch, such as 'cpu' or 'cuda:0', got 'gpu'
    """
    try:
        return torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))
    except (RuntimeError, TypeError):
        raise BadInput(f"device must be one of torch, such as 'cpu' or 'cuda:0', got {name!r}") from None


def plain_value(value: Any) -> Any:
    """A number of NumPy, of which a search of parameters has many, as Python's; all else unchanged."""
    return value.item() if isinstance(value, np.generic) else value
