"""Checks of the section `training` of a run, before anything is loaded: types and ranges of the Trainer's arguments."""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from typing import TYPE_CHECKING, Any

from numerate.training.run import RunError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["check_arguments"]

_OWN = {
    "cuda_graphs": bool, "eval_seed": int, "labelled_logits": bool, "nonfinite_limit": int, "number_metrics": bool,
}  # fmt: skip
"""Types of the options of `NumberTrainer`; `number_learning_rate` is checked where it is used."""
_WIDER = {"fsdp": bool | str | None}
"""Arguments that take more than their annotation says: `fsdp=True`, as the Trainer's help asks for."""
_RANGES = {
    "adam_beta1": (0, 1), "adam_beta2": (0, 1), "adam_epsilon": (0, 1), "dataloader_num_workers": (0, 256),
    "eval_seed": (0, 2**32 - 1), "gradient_accumulation_steps": (1, 10**9), "label_smoothing_factor": (0, 1),
    "learning_rate": (0, 1e6), "max_grad_norm": (0, math.inf), "max_steps": (-1, 10**12),
    "num_train_epochs": (0, 10**9), "per_device_eval_batch_size": (1, 10**9),
    "per_device_train_batch_size": (1, 10**9), "save_total_limit": (1, 10**9), "seed": (0, 2**32 - 1),
    "weight_decay": (0, 1e6), "warmup_ratio": (0, 1), "warmup_steps": (0, 10**12),
}  # fmt: skip
"""Smallest and largest value."""
_POSITIVE = ("eval_steps", "logging_steps", "save_steps")


def check_arguments(given: Mapping[str, Any], arguments: type) -> None:
    """Checks options of the section `training` against the types of a dataclass of arguments.

    Raises:
        RunError: An option has the wrong type or lies outside of its range.

    Example:
        >>> from transformers import TrainingArguments
        >>> check_arguments({"max_steps": "abc"}, TrainingArguments)
        Traceback (most recent call last):
        numerate.training.run.RunError: training.max_steps must be int, got 'abc'
    """
    hints = typing.get_type_hints(arguments)
    known = _OWN | {field.name: hints[field.name] for field in dataclasses.fields(arguments)} | _WIDER
    for name, value in given.items():
        if name in known:
            _check_type(name, value, known[name])
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        low, high = _RANGES.get(name, (-math.inf, math.inf))
        if not low <= value <= high or not math.isfinite(value):
            span = f"at least {low:,}" if high >= 10**6 else f"between {low} and {high}"
            raise RunError(f"training.{name} must be {span if name in _RANGES else 'finite'}, got {value}")
        if name in _POSITIVE and value <= 0:
            raise RunError(f"training.{name} must be positive, got {value}")


def _check_type(name: str, value: Any, hint: Any) -> None:
    options = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
    simple = {option for option in options if option in (bool, int, float, str, types.NoneType)}
    if len(simple) < len(options):  # lists, dicts and enumerations: the Trainer checks those
        return
    fits = type(value) in simple or (isinstance(value, int) and not isinstance(value, bool) and float in simple)
    if not fits and not (value is None and types.NoneType not in simple and str in simple):
        names = sorted("null" if option is types.NoneType else option.__name__ for option in simple)
        raise RunError(f"training.{name} must be {' or '.join(names)}, got {value!r:.60}")
