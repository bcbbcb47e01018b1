"""Predictions for records that ask for numbers: values, intervals, and likelihoods of other values."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from numerate import metrics
from numerate.metrics import Score
from numerate.modeling.introspection import evaluating
from numerate.notation.decimal_form import parse_numeral
from numerate.processing.number_table import NumberTable
from numerate_lab.tasks.asked_number.asking import read_number
from numerate_lab.tasks.records.record_rows import NumberWriter
from numerate_lab.tasks.records.record_source import mean_squared_error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.modeling.number_model import NumberModel
    from numerate_lab.tasks.records.record_rows import Rows

__all__ = ["LEVEL", "Predictions", "answers", "likelihoods", "missed_variance", "scores"]

LEVEL = 0.9
"""Of the intervals."""
QUANTILES = 33
"""Of a distribution's central 90 %, whose mean is its answer: squared errors ask for the mean, but far tails, which a
model has hardly learnt, would decide it."""


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions of K numbers, row by row, and in each row in the order of its numbers.

    Attributes:
        values: (K,) float64 on the CPU, NaN for no number; for distributions, the means of their central 90 %.
        intervals: (K, 2), the ends of central 90 % intervals; None if the model predicts no distribution.
        crps: Mean CRPS; None if the model predicts no distribution.
        count: How many numbers are in that mean.
    """

    values: Tensor
    intervals: Tensor | None = None
    crps: float | None = None
    count: int = 0

    @staticmethod
    def joined(parts: list[Predictions]) -> Predictions:
        """Several, one behind the other."""
        values, count = torch.cat([part.values for part in parts]), sum(part.count for part in parts)
        if any(part.intervals is None for part in parts):
            return Predictions(values)
        ends = torch.cat([part.intervals for part in parts])  # type: ignore[misc]
        return Predictions(values, ends, sum((part.crps or 0.0) * part.count for part in parts) / max(1, count), count)


def scores(
    values: Tensor, gold: Tensor, predicted: Predictions | None = None, charge: float | None = None
) -> dict[str, Any]:
    """The figures of some answers: `mse` in written units, `invalid` share, and with intervals `coverage` and `crps`.

    `variance` of the truth is there to compare with: it is the error of who knows the mean. `charge`, where it is
    given, is the squared error that an answer counts with which is no number: see `missed_variance`.

    Example:
        >>> found = scores(torch.tensor([1.0, float("nan")]), torch.tensor([1.5, 2.0]))
        >>> found["mse"]["value"], found["invalid"]["value"]
        (0.25, 0.5)
    """
    found = {"mse": mean_squared_error(values, gold)}
    found["invalid"] = Score(float(values.isnan().double().mean()) if len(values) else math.nan, len(values))
    found["variance"] = Score(float(gold.var(correction=0)) if len(gold) else math.nan, len(gold))
    if charge is not None:
        found["charge"] = Score(charge, len(values))
    if predicted is not None and predicted.intervals is not None and predicted.crps is not None:
        found["coverage"] = metrics.coverage(predicted.intervals[:, 0], predicted.intervals[:, 1], gold)
        found["crps"] = Score(predicted.crps, predicted.count)
    return {name: score.to_dict() for name, score in found.items()}


def missed_variance(dev: dict[str, Any]) -> float:
    """The log of the share of the truth's variance that is missed, mean over questions.

    An answer that is no number counts with the squared error `charge`: the largest squared distance of a training
    target from the targets' mean, the error of the mean where it is most wrong. Results before task version 2 have no
    charge; their rates were chosen with the variance in its place, which a wrong answer easily exceeds.

    A share below a millionth counts as that: a question that is always answered exactly would outweigh all others.
    `dev` has the figures of `scores` by question.

    Example:
        >>> found = {"a": scores(torch.tensor([1.0, 3.0]), torch.tensor([1.0, 2.0]))}
        >>> round(math.exp(missed_variance(found)), 3)
        2.0
    """
    logs = []
    for found in dev.values():
        mse, invalid, variance = found["mse"]["value"], found["invalid"]["value"], found["variance"]["value"]
        charge = found.get("charge", found["variance"])["value"]
        error = charge if mse is None or math.isnan(mse) else (1 - invalid) * mse + invalid * charge
        logs.append(math.log(max(error / max(variance, 1e-30), 1e-6)))
    return sum(logs) / len(logs)


@torch.no_grad()
def answers(model: NumberModel, rows: Rows, ask: str, size: int) -> Predictions:
    """The model's answers to one of the questions of rows on its device, in batches of `size` rows."""
    parts = []
    for batch, task in _asked(model, rows, ask, size):
        if model.head is None:
            parts.append(Predictions(_filled_in(model, task)))
            continue
        numbers: Any = model(**task.inputs, return_loss=False).numbers
        # A scalar's spread is a setting, not something that it has learnt.
        if not numbers.is_density or model.head.config.kind == "scalar":
            parts.append(Predictions((numbers.median() if numbers.is_density else numbers.mode()).double().cpu()))
            continue
        levels = torch.linspace((1 - LEVEL) / 2, (1 + LEVEL) / 2, QUANTILES, dtype=torch.float64, device=model.device)
        found = numbers.quantile(levels.expand(len(numbers), -1))
        gold = task.targets.values()[batch["number_wanted"]]
        error = metrics.crps(numbers, gold, nodes=32)
        parts.append(Predictions(found.mean(1).cpu(), found[:, [0, -1]].cpu(), error.value, error.count))
    return Predictions.joined(parts)


def _asked(model: NumberModel, rows: Rows, ask: str, size: int) -> Iterator[tuple[dict[str, Tensor], Any]]:
    """Batches with the question masked; the model is in evaluation mode meanwhile."""
    assert model.objective is not None  # noqa: S101 (for the type checker)
    with evaluating(model):
        for some in torch.arange(len(rows)).split(size):
            batch = rows.batch(some) | {"number_wanted": rows.wanted(ask, len(some))}
            yield batch, model.objective.prepare(batch, model.vocabulary)


def _filled_in(model: NumberModel, task: Any) -> Tensor:
    """Every token of the answers at once, as in xVal; their values, NaN for what is none."""
    logits = model(**task.inputs, return_loss=False).logits
    hidden = task.labels != -100
    chosen, slots = logits.argmax(-1)[hidden].tolist(), task.inputs["number_slots"][hidden].tolist()
    tokens: dict[tuple[int, int], tuple[int, ...]] = {}
    for row, slot, token in zip(hidden.nonzero()[:, 0].tolist(), slots, chosen, strict=True):
        tokens[row, slot] = (*tokens.get((row, slot), ()), token)

    @functools.cache
    def value(answer: tuple[int, ...]) -> float:
        text = read_number(model, list(answer))
        numeral = None if text is None else parse_numeral(text)
        return math.nan if numeral is None else numeral.value

    return torch.tensor([value(answer) for answer in tokens.values()], dtype=torch.float64)


@torch.no_grad()
def likelihoods(model: NumberModel, rows: Rows, ask: str, line: Tensor, decimals: int) -> Tensor:
    """How likely each of C values is to the model as the answer of each of N rows: (N, C), the largest of a row is 1.

    Written numbers: the product of their tokens' probabilities. Heads: the density, or the mass. The rows must fit into
    one batch, and each must ask for one number; `line` is (C,) float64, values with this number of decimals.
    """
    ((_, task),) = _asked(model, rows, ask, len(rows))
    with evaluating(model):
        output: Any = model(**task.inputs, return_loss=False)
    if model.head is not None:
        logs = output.numbers.scores(NumberTable.of_values(line.tolist(), model.device)).double()
    else:
        tokens, there = NumberWriter(model, decimals, model.device)(line.to(model.device))
        hidden = (task.labels != -100).nonzero()
        each = output.logits[hidden[:, 0], hidden[:, 1]].double().log_softmax(-1)
        each = each.reshape(len(rows), -1, each.shape[-1])
        if each.shape[1] != tokens.shape[1] or not bool(there.all()):
            raise ValueError(f"values are not of {each.shape[1]} tokens, as the answer: {line.tolist()[:3]}...")
        logs = sum(each[:, place][:, tokens[:, place].long()] for place in range(tokens.shape[1]))
    return (logs - logs.amax(1, keepdim=True)).exp().cpu()  # type: ignore[union-attr]
