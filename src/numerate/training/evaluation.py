"""Number metrics of an evaluation: errors of predicted numbers and coverage of their intervals.

A model that attends to both sides is asked for each number of a text alone, as people ask with `predict`: see
`asked_alone`. A model that reads from left to right predicts all numbers of a text in one pass.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from numerate import metrics
from numerate.modeling.asking import asked_token
from numerate.modeling.introspection import evaluating
from numerate.objectives.base import labelled_numbers
from numerate.objectives.hiding import hide_numbers
from numerate.processing.number_table import GIVEN
from numerate.processing.slot_positions import first_tokens, table_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numerate.modeling.number_model import NumberModel
    from numerate.objectives.base import Objective
    from numerate.processing.number_table import NumberTable

__all__ = [
    "asked_alone", "asked_numbers", "at_epoch", "fixed_draws", "gathered", "measure", "predicted_numbers", "real_rows",
    "seed_of", "watched", "without_fill_ups",
]  # fmt: skip

LEVEL = 0.9
"""Probability of the intervals whose coverage is measured."""


def seed_of(*parts: int) -> int:
    """A random seed from several numbers; 32 bits, because the CPU's generator uses no more.

    Example:
        >>> seed_of(1, 2) == seed_of(1, 2), seed_of(1, 2) == seed_of(2, 1)
        (True, False)
    """
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:4], "big")


@contextlib.contextmanager
def fixed_draws(seed: int, device: torch.device) -> Iterator[None]:
    """A context manager that seeds torch and restores its random state, of the CPU and of the device."""
    devices = [device] if device.type not in ("cpu", "meta") else []
    with torch.random.fork_rng(devices=devices, device_type=devices[0].type if devices else "cuda"):
        torch.manual_seed(seed)
        yield


@contextlib.contextmanager
def at_epoch(objective: Objective | None, epoch: int) -> Iterator[None]:
    """A context manager that sets the epoch of an objective, on which the masks depend, and restores it."""
    before = getattr(objective, "epoch", 0)
    if objective is not None:
        objective.epoch = epoch
    try:
        yield
    finally:
        if objective is not None:
            objective.epoch = before


def real_rows(accelerator: Any, batch: Mapping[str, Any]) -> int:
    """Number of a batch's rows that are not duplicates: with several processes, the last batches are filled up.

    The batch comes from a data loader prepared by `accelerator`, in which duplicates come last.
    """
    rows, state = len(batch["input_ids"]), accelerator.gradient_state
    if accelerator.num_processes == 1 or not state.end_of_dataloader or state.remainder <= 0:
        return rows
    return min(max(state.remainder - rows * accelerator.process_index, 0), rows)


def without_fill_ups(batch: Mapping[str, Any], real: int, labels: Sequence[str] = ()) -> dict[str, Any]:
    """A batch whose loss is that of its first `real` rows; unchanged if `real` is 0, where the loss is not used.

    The other rows are duplicates. With the names of label fields, they stay, because predictions are gathered from all
    processes, and get a label that no loss counts: -100, and for the positions of an answer the length of the texts;
    otherwise they are removed.

    Example:
        >>> batch = {"input_ids": torch.tensor([[1], [2]]), "labels": torch.tensor([[3], [4]])}
        >>> without_fill_ups(batch, 1)["input_ids"].tolist(), without_fill_ups(batch, 1, ["labels"])["labels"].tolist()
        ([[1]], [[3], [-100]])
    """
    rows, result = len(batch["input_ids"]), dict(batch)
    if real in (0, rows):
        return result
    if not labels:
        return {key: value[:real] if isinstance(value, Tensor) else value for key, value in batch.items()}
    for name in labels:
        value = batch.get(name)
        if isinstance(value, Tensor) and not value.is_floating_point():
            unused = batch["input_ids"].shape[1] if name.endswith("_positions") else -100
            result[name] = torch.cat([value[:real], torch.full_like(value[real:], unused)])
    return result


def gathered(found: Sequence[Tensor], accelerator: Any) -> Tensor:
    """The predictions of all processes as in `predicted_numbers`: (N, 4)."""
    own = torch.cat([torch.zeros(0, 4, dtype=torch.float64), *found])
    if accelerator.num_processes == 1:
        return own
    padded = accelerator.pad_across_processes(own.to(accelerator.device), dim=0, pad_index=float("nan"))
    every: Tensor = accelerator.gather(padded).cpu()
    return every[~every[:, 3].isnan()]  # padding: gold values are finite


@contextlib.contextmanager
def watched(model: NumberModel) -> Iterator[list[tuple[Any, Tensor | None, NumberTable | None]]]:
    """A context manager that collects the number distributions of each forward pass, their index and their targets.

    They are attributes of the output, too, but mixed precision rebuilds the output and drops them.
    """
    kept: list[tuple[Any, Tensor | None, NumberTable | None]] = []
    before, model.on_numbers = model.on_numbers, lambda *found: kept.append(found)
    try:
        yield kept
    finally:
        model.on_numbers = before


def predicted_numbers(
    model: NumberModel, batch: Mapping[str, Any], numbers: Any, index: Tensor | None,
    targets: NumberTable | None = None, rows: int | None = None,
) -> Tensor | None:  # fmt: skip
    """Predictions and gold values of the predicted numbers of a batch.

    Args:
        model: A model with a head.
        batch: The model's input, before its objective masked anything.
        numbers: Its output: distributions of the masked numbers, or with `every_number` of all numbers in the batch.
            With labels, only the labelled ones count.
        index: (N, 2) row and number of each distribution.
        targets: The objective's number table, which differs from the batch's where a percent sign or scale word was
            left in sight; by default the batch's.
        rows: Only the first `rows` rows count, see `real_rows`.

    Returns:
        (N, 4) float64: median, lower and upper end of the 90 % interval, gold value. None if nothing was predicted.
    """
    prefix = "decoder_" if model.info.is_encoder_decoder else ""
    fields = {key.removeprefix(prefix): value for key, value in batch.items() if key.startswith(prefix)}
    table = table_of(fields)
    if numbers is None or index is None or table is None:
        return None
    wanted = (table.given == GIVEN) & table.values().isfinite()
    labels = batch.get("labels")
    if labels is not None and model.info.is_language_model:
        scored = labelled_numbers(fields, labels).scored
        wanted = wanted if scored is None else wanted & scored
    at, places = index.unbind(1)
    columns = (numbers.median(), *numbers.interval(LEVEL), (targets or table).values()[at, places])
    counts = wanted[at, places] if rows is None else wanted[at, places] & (at < rows)
    return torch.stack([column.detach().double() for column in columns], dim=1)[counts]


def asked_numbers(batch: Mapping[str, Any], rows: int | None = None) -> tuple[Tensor, Tensor]:
    """Row and index, (N,) each, of the numbers that `asked_alone` asks for.

    These are the given, finite numbers of the first `rows` rows that have a token; of `number_wanted`, if the batch has
    it.
    """
    table, wanted, slots = table_of(batch), batch.get("number_wanted"), batch.get("number_slots")
    if table is None or slots is None:
        return (none := torch.zeros(0, dtype=torch.int64)), none
    asked = (table.given == GIVEN) & table.values().isfinite()
    asked = asked & (first_tokens(slots, asked.shape[1]) < slots.shape[1])
    asked = asked if wanted is None else asked & wanted.to(asked.device).bool()
    at, places = asked[:rows].nonzero(as_tuple=True)
    return at, places


@torch.no_grad()
def asked_alone(model: NumberModel, batch: Mapping[str, Any], rows: int | None = None, *, passes: int = 0) -> Tensor:
    """Predictions of each number of a batch from the rest of its text, and their gold values.

    Only this one number is hidden, as in `predict("It rose [NUM]% to 45.7.")`: all words and all other numbers are
    given, and its percent sign or scale word stays in the text. So the gold value of `3.2%` is 3.2.

    Args:
        model: A model with a head that attends to both sides; it is run in evaluation mode.
        batch: A processor's batch of B texts, on the model's device.
        rows: Only the numbers of the first `rows` rows are asked for, see `real_rows`.
        passes: Least number of forward passes, of at most B rows each, for processes that share sharded weights.

    Returns:
        (N, 4) float64: median, lower and upper end of the 90 % interval, gold value; in the order of `asked_numbers`.

    Example:
        >>> batch = model.processor(["It rose 3.2% to 45.7."], return_tensors="pt")            # doctest: +SKIP
        >>> measure(asked_alone(model, batch))                                                 # doctest: +SKIP
        {'numbers': 2, 'log_mae': 0.31, 'mdape': 38.2, 'within_2': 0.5, 'coverage_90': 1.0}
    """
    size, left_out = len(batch["input_ids"]), ("labels", "number_wanted", "sample_id")
    fields = {key: value for key, value in batch.items() if key not in left_out and isinstance(value, Tensor)}
    left = model.info.takes_positions and model.processor.tokenizer.padding_side == "left"
    vocabulary = dataclasses.replace(model.vocabulary, pads_left=left)
    found = [torch.zeros(0, 4, dtype=torch.float64, device=model.device)]
    every = torch.stack(asked_numbers(batch, rows))
    with evaluating(model):
        for start in range(0, max(every.shape[1], passes * size), size):
            at, places = every[:, start : start + size]
            if not len(at):  # a pass whose result is not used
                model(**{key: value[:1] for key, value in fields.items()}, return_loss=False)
                continue
            some = {key: value.index_select(0, at) if len(value) == size else value for key, value in fields.items()}
            one = torch.zeros_like(some["number_given"], dtype=torch.bool).scatter(1, places[:, None], True)
            hidden = hide_numbers(some, one, vocabulary, token=asked_token(model), in_sight=torch.ones_like(one))
            output = model(**hidden.inputs, return_loss=False)
            row, number = output.number_index.unbind(1)
            own = number == places[row]  # a text may ask for other numbers itself
            gold = hidden.targets.values()[row, number]
            columns = (output.numbers.median(), *output.numbers.interval(LEVEL), gold)
            found.append(torch.stack([column.double() for column in columns], dim=1)[own])
    return torch.cat(found)


def measure(found: Tensor) -> dict[str, float]:
    """Metrics of predictions (N, 4) of `predicted_numbers` or `asked_alone`; undefined metrics are omitted.

    Example:
        >>> measure(torch.tensor([[10.0, 5.0, 20.0, 100.0], [3.0, 1.0, 4.0, 3.0]]))
        {'numbers': 2, 'log_mae': 0.5, 'mdape': 45.0, 'within_2': 0.5, 'coverage_90': 0.5}
    """
    median, low, high, gold = found.unbind(1)
    near = torch.stack([median / 2, median * 2]).sort(0).values
    scores = {
        "log_mae": metrics.log_mae(median, gold),
        "mdape": metrics.mdape(median, gold),
        "within_2": metrics.coverage(near[0], near[1], gold),
        "coverage_90": metrics.coverage(low, high, gold),
    }
    known = {name: float(score) for name, score in scores.items() if score.count}
    return {"numbers": len(found)} | known
