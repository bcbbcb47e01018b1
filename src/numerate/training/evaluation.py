"""What is measured in evaluation beside the loss: how near the predicted numbers are, and how sure."""

from __future__ import annotations

import contextlib
import hashlib
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from numerate import metrics
from numerate.batch import GIVEN
from numerate.objectives.base import labelled_numbers
from numerate.slots import table_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numerate.model import NumberModel

__all__ = ["fixed_draws", "measure", "predicted_numbers", "seed_of", "watched"]

LEVEL = 0.9
"""Of the intervals whose coverage is measured."""


def seed_of(*parts: int) -> int:
    """A seed from several numbers; of 32 bits, since the CPU's generator looks at no more.

    Example:
        >>> seed_of(1, 2) == seed_of(1, 2), seed_of(1, 2) == seed_of(2, 1)
        (True, False)
    """
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:4], "big")


@contextlib.contextmanager
def fixed_draws(seed: int, device: torch.device) -> Iterator[None]:
    """Lets torch draw from a seed, and gives it back its state: of the CPU and of the device.

    Example:
        >>> with fixed_draws(1, torch.device("cpu")):
        ...     one = torch.rand(2)
        >>> with fixed_draws(1, torch.device("cpu")):
        ...     print(torch.equal(torch.rand(2), one))
        True
    """
    devices = [device] if device.type not in ("cpu", "meta") else []
    with torch.random.fork_rng(devices=devices, device_type=devices[0].type if devices else "cuda"):
        torch.manual_seed(seed)
        yield


@contextlib.contextmanager
def watched(model: NumberModel) -> Iterator[list[tuple[Any, Tensor | None]]]:
    """Notes down the numbers a model predicts, and their index, each time it runs.

    They are attributes of its output, too, but mixed precision rebuilds that on its way out and drops them.
    """
    kept: list[tuple[Any, Tensor | None]] = []
    plain = model._wanted_numbers

    def noted(hidden: Tensor | None, fields: dict[str, Any], every: bool) -> tuple[Any, Tensor | None]:
        kept.append(plain(hidden, fields, every))
        return kept[-1]

    model._wanted_numbers = noted
    try:
        yield kept
    finally:
        del model._wanted_numbers  # the class's own comes back


def predicted_numbers(
    model: NumberModel, batch: Mapping[str, Any], numbers: Any, index: Tensor | None
) -> Tensor | None:
    """Predictions for the numbers of a batch that were predicted, and what is written there.

    Args:
        model: With a head.
        batch: As the model was given it, before its objective masked anything.
        numbers: What it gave: distributions of masked numbers, or with `every_number` of all that stand in the batch.
            With labels, only the labelled ones count.
        index: (N, 2) row and number of each.

    Returns:
        (N, 4) in float64: median, lower and upper end of the 90 % interval, gold value. None if nothing was predicted.
    """
    prefix = "decoder_" if model.doors.is_encoder_decoder else ""
    fields = {key.removeprefix(prefix): value for key, value in batch.items() if key.startswith(prefix)}
    table = table_of(fields)
    if numbers is None or index is None or table is None:
        return None
    wanted = (table.given == GIVEN) & table.values().isfinite()
    labels = batch.get("labels")
    if labels is not None and model.doors.is_language_model:
        scored = labelled_numbers(fields, labels).scored
        wanted = wanted if scored is None else wanted & scored
    rows, places = index.unbind(1)
    columns = (numbers.median(), *numbers.interval(LEVEL), table.values()[rows, places])
    return torch.stack([column.detach().double() for column in columns], dim=1)[wanted[rows, places]]


def measure(found: Tensor) -> dict[str, float]:
    """Figures from predictions (N, 4), see `predicted_numbers`; one that is not known is left out.

    Example:
        >>> measure(torch.tensor([[10.0, 5.0, 20.0, 100.0], [3.0, 1.0, 4.0, 3.0]]))
        {'numbers': 2, 'log_mae': 0.5, 'mdape': 45.0, 'coverage_90': 0.5}
    """
    median, low, high, gold = found.unbind(1)
    scores = {
        "log_mae": metrics.log_mae(median, gold),
        "mdape": metrics.mdape(median, gold),
        "coverage_90": metrics.coverage(low, high, gold),
    }
    known = {name: float(score) for name, score in scores.items() if score.count}
    return {"numbers": len(found)} | known
