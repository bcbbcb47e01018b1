"""The task `reasoning`: the number that answers a question (NumerSense, SVAMP, GSM8K), with and without a number head.

Beyond LUNA's paper, which names word problems as future work. The answer is predicted at once, without worked steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from numerate_lab.engine.task import Column
from numerate_lab.registry import tasks
from numerate_lab.tasks.masked_prediction import number_guesses
from numerate_lab.tasks.masked_prediction.masked_number import MaskedNumbers, NumberTrial

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numerate_lab.engine.task import Columns, Figures

__all__ = ["Reasoning", "ReasoningTrial", "exact_matches"]


@dataclass(frozen=True, kw_only=True)
class ReasoningTrial(NumberTrial):
    """Settings of a trial of `reasoning`: all numbers of a question are encoded, and all weights are trained."""

    kind: ClassVar[str] = "reasoning"
    numbers: Literal["annotated", "all"] = "all"
    train: Literal["head", "all"] = "all"
    max_tokens: int = 192


def exact_matches(given: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Whether guesses, rounded to the last digit of the right answers, are these: (N,) bool; NaN is not.

    Example:
        >>> exact_matches(np.array([11.6, 0.24, np.nan]), np.array([12.0, 0.25, 3.0])).tolist()
        [True, False, False]
    """
    last = [int(Decimal(repr(float(value))).normalize().as_tuple().exponent) for value in right]
    units = 10.0 ** np.minimum(last, 0)
    return np.abs(given - right) < 0.5 * units


@tasks.register("reasoning")
class Reasoning(MaskedNumbers):
    """One model on questions with a number as their answer; `spelled` is the same model without a number head."""

    version = 1
    Trial = ReasoningTrial

    def score(self, split: str, columns: Columns) -> Figures:
        """Figures of the guesses, and `exact_match`: the share of right answers, a missing one counted as wrong."""
        found = number_guesses.figures(columns)
        found["exact_match"] = float(exact_matches(columns["median"], columns["gold"]).mean())
        return {split: found}

    def baselines(self) -> Figures:
        """`most frequent`: the most frequent training answer."""
        train, test = (
            np.array([sentence.numeral.value for sentence in self.examples(split)[0] if sentence.numeral])
            for split in ("train", "test")
        )
        values, counts = np.unique(train, return_counts=True)
        guess = np.full(len(test), values[counts.argmax()])
        return {"most frequent": self.score("test", {"gold": test, "median": guess})}

    def error(self, figures: Mapping[str, Any]) -> float:
        """Share of wrong answers on dev, and the error in orders of magnitude, which tells weak models apart."""
        found = figures["dev"]
        return 1 - found["exact_match"] + 0.1 * (10.0 if found["log_mae"] is None else found["log_mae"])

    def shown(self) -> Sequence[Column]:
        """Right answers and errors."""
        return (
            Column("test", "exact_match", "exact %", ".1f", "max", 100),
            Column("test", "log_mae", "log-MAE", ".3f"),
            Column("test", "exponent_accuracy", "exponent accuracy", ".3f", "max"),
        )

    def example_scores(self, split: str, columns: Columns) -> dict[str, np.ndarray]:
        """Right answers, by question."""
        del split
        return {"exact": exact_matches(columns["median"], columns["gold"]).astype(np.float64)}
