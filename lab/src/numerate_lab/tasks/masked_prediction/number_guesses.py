"""Guesses at masked numbers: what a model says of each, the figures of a table's row, and guesses to beat."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from numerate import metrics
from numerate_lab.tasks.masked_prediction import prediction_setup as literacy
from numerate_lab.tasks.masked_prediction.restated_number import restated_numbers
from numerate_lab.tasks.masked_prediction.word_positions import unit_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numerate_lab.tasks.masked_prediction.number_sentences import NumberSentence
    from numerate_lab.tasks.masked_prediction.prediction_setup import LiteracyConfig

__all__ = ["COLUMNS", "LEVEL", "NumberGuesses", "baselines", "baselines_and", "baselines_of", "figures"]

LEVEL = 0.9
"""Of the intervals whose coverage is measured."""
COLUMNS = ("median", "low", "high", "nats", "crps", "score", "tail")
"""What is known of each number, beside the right one and the wrong ones."""


@dataclass(frozen=True)
class NumberGuesses:
    """What a model says of the numbers of N sentences, in the units of the text.

    Attributes:
        gold: (N,) float64, the right ones.
        median: (N,) its medians; NaN where a sentence was cut before its number.
        low: (N,) lower ends of its 90 % intervals.
        high: (N,) upper ends.
        nats: (N,) negative log-probability of the right number as it is written (`log_mass`), by which heads can be
            compared; this and the next are NaN where the processor scales.
        crps: (N,) mean of the batch that each was in.
        score: (N,) how odd the right number is: its negative log-density.
        tail: (N,) the same by how far in a tail it lies, |cdf - 1/2|: of no unit, so that small numbers have no edge.
        wrong: By kind of `anomalies`, the same two of a wrong number: (2, N), NaN where there is none.
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
        """All by name, for a file."""
        return {name: getattr(self, name) for name in ("gold", *COLUMNS)} | {
            f"wrong_{k}": v for k, v in self.wrong.items()
        }

    @classmethod
    def load(cls, file: str | Path) -> NumberGuesses:
        """Guesses from the file that `run_cell` wrote."""
        with np.load(file, allow_pickle=False) as columns:
            return cls.of(dict(columns))

    @classmethod
    def of(cls, columns: Mapping[str, np.ndarray]) -> NumberGuesses:
        """Guesses from columns by name; the way back."""
        wrong = {name.removeprefix("wrong_"): columns[name] for name in columns if name.startswith("wrong_")}
        return cls(**{name: columns[name] for name in ("gold", *COLUMNS)}, wrong=wrong)


def baselines_and(guesses: NumberGuesses, config: LiteracyConfig, split: str) -> dict[str, Any]:
    """Figures of a model's guesses and of the baselines, by name."""
    known, restated = baselines_of(config, split)
    results = {"model": figures(guesses, restated)}
    for name, median in known.items():
        nothing = np.full(len(median), np.nan)
        columns = dict.fromkeys(COLUMNS, nothing) | {"median": median}
        results[name] = figures(NumberGuesses(gold=guesses.gold, **columns, wrong={}), restated)
    return results


def baselines_of(config: LiteracyConfig, split: str) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The baselines' guesses for a split by name, and which numbers its sentences tell again: (N,) bool."""
    return _baselines_of(literacy.key_of(config, "train"), literacy.key_of(config, split))


@functools.lru_cache(maxsize=4)
def _baselines_of(train: tuple[Any, ...], test: tuple[Any, ...]) -> tuple[dict[str, np.ndarray], np.ndarray]:
    sentences = [literacy.split_of(*key)[0] for key in (train, test)]
    known, told = baselines(*sentences), restated_numbers(*sentences)
    restated = ~np.isnan(told)
    return known | {"conversion": np.where(restated, told, known["unit median"])}, restated


def figures(guesses: NumberGuesses, restated: np.ndarray | None = None) -> dict[str, float | int | None]:
    """`count`, `log_mae` (orders of magnitude), `exponent_accuracy`, `mdape`, `coverage_90`, `nats`, `crps`, AUCs.

    `auc_added` says how well right numbers are told from those with a digit added by their negative log-density,
    `tail_auc_added` by how far in a tail they lie, and so for each kind. None is not known. With `restated` (N,), which
    numbers are told again in another unit, there are `log_mae_restated` and `log_mae_told_once`. Guesses of 0 and
    infinite ones are in `count` and not in `log_mae`: `log_mae_left_out` says how many, where there are any. Right
    numbers of 0 are in neither of these two, whatever was guessed.

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
    again = torch.zeros(0, dtype=torch.bool) if restated is None else torch.from_numpy(restated)[there]
    gold, median = gold[there], median[there]
    low, high = (torch.from_numpy(column)[there] for column in (guesses.low, guesses.high))
    scores: dict[str, Any] = {
        "log_mae": metrics.log_mae(median, gold),
        "exponent_accuracy": metrics.exponent_accuracy(median, gold),
        "mdape": metrics.mdape(median, gold),
    }
    if restated is not None:
        scores["log_mae_restated"] = metrics.log_mae(median[again], gold[again])
        scores["log_mae_told_once"] = metrics.log_mae(median[~again], gold[~again])
    if not bool(low.isnan().all()):
        scores["coverage_90"] = metrics.coverage(low, high, gold)
    row: dict[str, float | int | None] = {"count": len(gold), "missing": int((~there).sum())}
    row |= {name: _known(float(score)) for name, score in scores.items()}
    if scores["log_mae"].non_finite:  # only then: files of results that were written before do not have it
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
    """Guesses that look at no words but one: the median of all training numbers, and that of those with the same unit.

    Where the data names no units, the word behind the number is taken for one: `pct`, `mln`, `dlrs`.

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
