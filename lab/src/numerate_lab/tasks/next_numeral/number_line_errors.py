"""The number line of the 2018 paper: which number a model would name, and how far off it is.

A model is asked for the most probable of some candidates: the numerals of its vocabulary, and 100 percentiles of the
training numbers, each written with 0 up to n decimals, where n covers 90 % of the training numerals. (The released code
writes them only as they occur in training.) A mass that is compared across precisions favours few decimals: the mean
and the median of the distribution are given beside it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from numerate import metrics
from numerate.numerals.numeral import Numeral
from numerate.processing.number_table import NumberTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numerate.heads.base import NumberDistribution
    from numerate.metrics import Score

__all__ = ["Estimates", "baselines", "candidates", "errors", "estimates", "table_of_texts"]

PERCENTILES = 100
COVERED = 0.9
"""Share of the training numerals whose number of decimals the candidates must reach."""


def table_of_texts(texts: Iterable[str]) -> NumberTable:
    """Plain numerals as a number table.

    Example:
        >>> table_of_texts(["1.50", "7"]).precision.tolist()
        [-2, 0]
    """
    return NumberTable.of_numerals([Numeral(text, 0, len(text), float(text)) for text in texts])


def candidates(counts: Mapping[str, int], known: Iterable[str] = ()) -> list[str]:
    """The candidate numerals, by value and then by length.

    Args:
        counts: Training numerals as they are written, with how often they occur.
        known: Numerals of the vocabulary.

    Example:
        >>> candidates({"3": 8, "2.5": 2, "1.25": 1}, known=["1000"])
        ['1', '1.2', '2', '2.5', '3', '3.0', '1000']
    """
    values = sorted((float(text), count) for text, count in counts.items() if math.isfinite(float(text)))
    total = sum(count for _, count in values)
    chosen, so_far, rank = [], 0, 0
    for value, count in values:
        so_far += count
        while rank < PERCENTILES and so_far > rank * (total - 1) / max(PERCENTILES - 1, 1):
            chosen.append(value)
            rank += 1
    decimals = sorted((len(text.partition(".")[2]), count) for text, count in counts.items())
    most, covered = 0, 0
    for digits, count in decimals:
        most, covered = digits, covered + count
        if covered >= COVERED * total:
            break
    texts = set(known) | {f"{value:.{digits}f}" for value in set(chosen) for digits in range(most + 1)}
    return sorted(texts, key=lambda text: (float(text), len(text), text))


@dataclass(frozen=True)
class Estimates:
    """What a head says each number is: the best candidate, and the mean and median of its distribution, (N,) each.

    Means and medians are held within the range of float32: one exponent spelled out in a sample of a digit-RNN is
    enough for a mean of 10^200, and results are kept in that type.
    """

    candidate: Tensor
    mean: Tensor
    median: Tensor


@torch.no_grad()
def estimates(distribution: NumberDistribution, numerals: NumberTable) -> Estimates:
    """What N distributions say; of two best candidates with the same probability, the number between them.

    Args:
        distribution: N of them.
        numerals: The candidates, two or more.
    """
    # A vocabulary has nothing to say of numerals that it does not know.
    scores, places = distribution.without_unknown().rank(numerals, 2)
    first, second = numerals.values()[places].unbind(1)
    best = torch.where(scores[:, 0] == scores[:, 1], (first + second) / 2, first)
    most = torch.finfo(torch.float32).max
    return Estimates(best, distribution.mean().clamp(-most, most), distribution.median().clamp(-most, most))


def errors(predicted: Tensor, gold: Tensor) -> dict[str, Score]:
    """The five errors of the paper's Table 3; percentages in per cent, gold 0 left out there and counted."""
    return {
        "RMSE": metrics.rmse(predicted, gold),
        "MAE": metrics.mae(predicted, gold),
        "MdAE": metrics.mdae(predicted, gold),
        "MAPE": metrics.mape(predicted, gold),
        "MdAPE": metrics.mdape(predicted, gold),
    }


def baselines(train: Tensor, gold: Tensor) -> dict[str, dict[str, Score]]:
    """The errors of always naming the mean, or the median, of the training numbers."""
    named = {"mean": train.mean(), "median": train.quantile(0.5) if len(train) < 1 << 24 else train.median()}
    return {name: errors(value.expand_as(gold), gold) for name, value in named.items()}
