"""Guesses of masked numbers: the figures of a model, and baselines without a model."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from numerate import metrics
from numerate_lab.tasks.masked_prediction.prediction_setup import read_split, split_key
from numerate_lab.tasks.masked_prediction.restated_number import restated_numbers
from numerate_lab.tasks.masked_prediction.word_positions import unit_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numerate_lab.tasks.masked_prediction.number_sentences import NumberSentence
    from numerate_lab.tasks.masked_prediction.prediction_setup import PredictionTrial

__all__ = ["COLUMNS", "LEVEL", "NumberGuesses", "baseline_guesses", "baselines", "figures"]

LEVEL = 0.9
"""Level of the intervals whose coverage is measured."""
COLUMNS = ("median", "low", "high", "nats", "crps", "score", "tail")
"""Columns of guesses beside the correct and the wrong numbers."""


@dataclass(frozen=True)
class NumberGuesses:
    """Predictions of the numbers of N sentences, in the units of the text.

    Attributes:
        gold: (N,) float64, correct numbers.
        median: (N,) predicted medians; NaN where a sentence was truncated before its number.
        low: (N,) lower ends of 90 % intervals.
        high: (N,) upper ends of 90 % intervals.
        nats: (N,) negative log-probability of the correct number as written (`log_mass`), comparable between heads;
            `nats` and `crps` are NaN where the processor scales values.
        crps: (N,) mean over the batch of each number.
        score: (N,) negative log-density of the correct number.
        tail: (N,) |cdf - 1/2| of the correct number, which does not depend on its unit.
        wrong: By kind of `anomalies`, (2, N) score and tail of a wrong number; NaN where there is none.
    """

    gold: np.ndarray
    median: np.ndarray
    low: np.ndarray
    high: np.ndarray
    nats: np.ndarray
    crps: np.ndarray
    score: np.ndarray
    tail: np.ndarray
    wrong: dict[str, np.ndarray]

    def columns(self) -> dict[str, np.ndarray]:
        """Columns for a file of predictions."""
        wrong = {f"wrong_{kind}": column for kind, column in self.wrong.items()}
        return {name: getattr(self, name) for name in ("gold", *COLUMNS)} | wrong

    @classmethod
    def of(cls, columns: Mapping[str, np.ndarray]) -> NumberGuesses:
        """Guesses from the columns of a file."""
        wrong = {name.removeprefix("wrong_"): columns[name] for name in columns if name.startswith("wrong_")}
        return cls(**{name: columns[name] for name in ("gold", *COLUMNS)}, wrong=wrong)

    @classmethod
    def of_medians(cls, median: np.ndarray, gold: np.ndarray) -> NumberGuesses:
        """Guesses of a baseline that has no distribution."""
        columns = dict.fromkeys(COLUMNS, np.full(len(median), np.nan)) | {"median": median}
        return cls(gold=gold, **columns, wrong={})


def baseline_guesses(config: PredictionTrial, split: str) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Guesses of the baselines by name, and the mask (N,) of numbers that the sentence repeats in another unit."""
    return _baseline_guesses(split_key(config, "train"), split_key(config, split))


@functools.lru_cache(maxsize=4)
def _baseline_guesses(
    train_key: tuple[Any, ...], test_key: tuple[Any, ...]
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    train, test = (read_split(*key)[0] for key in (train_key, test_key))
    found, converted = baselines(train, test), restated_numbers(train, test)
    restated = ~np.isnan(converted)
    return found | {"conversion": np.where(restated, converted, found["unit median"])}, restated


def figures(guesses: NumberGuesses, restated: np.ndarray | None = None) -> dict[str, float | int | None]:
    """Figures of guesses: `count`, `log_mae`, `exponent_accuracy`, `mdape`, `coverage_90`, `nats`, `crps` and AUCs.

    `log_mae` is in orders of magnitude. `auc_<kind>` measures how well negative log-density separates correct numbers
    from wrong ones, `tail_auc_<kind>` the distance to the median. With `restated` (N,), the numbers that a sentence
    repeats in another unit, there are `log_mae_restated` and `log_mae_told_once`. Guesses of 0 and infinite ones are in
    `count` but not in `log_mae`; `log_mae_left_out` is their number, if any. Undefined figures are None.

    Example:
        >>> one, two = np.array([100.0, 5.0]), np.zeros(2)
        >>> wrong = {"added": np.array([[101.0, 6.0], [0.0, 0.0]])}
        >>> row = figures(NumberGuesses(one, np.array([10.0, 5.0]), one - 1, one + 1, two, two, one, two, wrong))
        >>> row["log_mae"], row["exponent_accuracy"], row["coverage_90"], row["auc_added"], row["tail_auc_added"]
        (0.5, 0.5, 1.0, 0.75, 0.5)
        >>> row = figures(NumberGuesses(one, np.array([10.0, 0.0]), one - 1, one + 1, two, two, one, two, {}))
        >>> row["count"], row["log_mae"], row["log_mae_left_out"]
        (2, 1.0, 1)
    """
    gold, median = torch.from_numpy(guesses.gold), torch.from_numpy(guesses.median)
    there = ~median.isnan()
    gold, median = gold[there], median[there]
    low, high = (torch.from_numpy(column)[there] for column in (guesses.low, guesses.high))
    scores: dict[str, Any] = {
        "log_mae": metrics.log_mae(median, gold),
        "exponent_accuracy": metrics.exponent_accuracy(median, gold),
        "mdape": metrics.mdape(median, gold),
    }
    if restated is not None:
        again = torch.from_numpy(restated)[there]
        scores["log_mae_restated"] = metrics.log_mae(median[again], gold[again])
        scores["log_mae_told_once"] = metrics.log_mae(median[~again], gold[~again])
    if not bool(low.isnan().all()):
        scores["coverage_90"] = metrics.coverage(low, high, gold)
    row: dict[str, float | int | None] = {"count": len(gold), "missing": int((~there).sum())}
    row |= {name: _known(float(score)) for name, score in scores.items()}
    if scores["log_mae"].non_finite:  # absent otherwise, as in earlier result files
        row["log_mae_left_out"] = scores["log_mae"].non_finite
    for name in ("nats", "crps"):
        column = getattr(guesses, name)
        finite = column[np.isfinite(column)]
        row[name] = _known(float(finite.mean()) if len(finite) else np.nan)
    for kind, wrong in guesses.wrong.items():
        for name, right, other in zip(("auc", "tail_auc"), (guesses.score, guesses.tail), wrong, strict=True):
            both = ~np.isnan(other) & ~np.isnan(right)
            values = torch.from_numpy(np.concatenate([right[both], other[both]]))
            row[f"{name}_{kind}"] = _known(float(metrics.roc_auc(values, torch.arange(len(values)) >= int(both.sum()))))
    return row


def baselines(train: Sequence[NumberSentence], test: Sequence[NumberSentence]) -> dict[str, np.ndarray]:
    """The median of all training numbers, and the median of those with the same unit.

    If the data names no units, the word after the number is used: `pct`, `mln`, `dlrs`.

    Returns:
        By name, (N,) float64 for the N sentences of `test`.

    Example:
        >>> from numerate_lab.tasks.masked_prediction.number_sentences import sentence_of_row
        >>> rows = [("kg", 3), ("kg", 5), ("km", 900)]
        >>> some = [
        ...     sentence_of_row({"text": f"{n} {unit}", "offset": 0, "length": len(str(n)), "number": n, "unit": unit})
        ...     for unit, n in rows
        ... ]
        >>> {name: found.tolist() for name, found in baselines(some, some).items()}
        {'median': [5.0, 5.0, 5.0], 'unit median': [4.0, 4.0, 900.0]}
    """
    values: dict[str | None, list[float]] = {}
    for sentence in train:
        if sentence.numeral is not None:
            values.setdefault(unit_of(sentence), []).append(sentence.numeral.value)
    whole = float(np.median([value for some in values.values() for value in some]))
    medians = {unit: float(np.median(some)) for unit, some in values.items()}
    own = np.array([medians.get(unit_of(sentence), whole) for sentence in test])
    return {"median": np.full(len(test), whole), "unit median": own}


def _known(value: float) -> float | None:
    return value if np.isfinite(value) else None
