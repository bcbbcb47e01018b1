"""The number line of the 2018 paper: point estimates of a model and their errors.

The estimate is the most probable of these candidates: the numerals of the vocabulary, and 100 percentiles of the
training numbers, each written with 0 to n decimals, where n covers 90 % of the training numerals. (The released code
writes them only as they occur in training.) As probability mass favours few decimals, mean and median of the
distribution are estimated, too.
"""

from __future__ import annotations

import bisect
import itertools
import math
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

__all__ = ["baselines", "candidates", "errors", "estimates", "table_of_texts"]

PERCENTILES = 100
COVERED = 0.9
"""Share of training numerals whose number of decimals the candidates cover."""


def table_of_texts(texts: Iterable[str]) -> NumberTable:
    """Plain numerals as a number table.

    Example:
        >>> table_of_texts(["1.50", "7"]).precision.tolist()
        [-2, 0]
    """
    return NumberTable.of_numerals([Numeral(text, 0, len(text), float(text)) for text in texts])


def candidates(counts: Mapping[str, int], known: Iterable[str] = ()) -> list[str]:
    """Candidate numerals, sorted by value and length, from counts of training numerals and a vocabulary's `known` ones.

    Example:
        >>> candidates({"3": 8, "2.5": 2, "1.25": 1}, known=["1000"])
        ['1', '1.2', '2', '2.5', '3', '3.0', '1000']
    """
    values = sorted((float(text), count) for text, count in counts.items() if math.isfinite(float(text)))
    total = sum(count for _, count in values)
    upto = list(itertools.accumulate(count for _, count in values))
    ranks = [rank * (total - 1) / (PERCENTILES - 1) for rank in range(PERCENTILES)] if total else []
    chosen = {values[bisect.bisect_right(upto, rank)][0] for rank in ranks}
    most, covered = 0, 0
    for digits, count in sorted((len(text.partition(".")[2]), count) for text, count in counts.items()):
        if covered < COVERED * total:
            most, covered = digits, covered + count
    texts = set(known) | {f"{value:.{digits}f}" for value in chosen for digits in range(most + 1)}
    return sorted(texts, key=lambda text: (float(text), len(text), text))


@torch.no_grad()
def estimates(distribution: NumberDistribution, numerals: NumberTable) -> dict[str, Tensor]:
    """Point estimates: the best `candidate` (the mean of two with equal probability), the `mean` and the `median`.

    Each is (N,) for N distributions; `numerals` are at least two candidates. Means and medians are clipped to the range
    of float32: one exponent in a sample of a digit-RNN can give a mean of 10^200.
    """
    # A vocabulary has no probability for numerals that it does not contain.
    scores, places = distribution.without_unknown().rank(numerals, 2)
    first, second = numerals.values()[places].unbind(1)
    best = torch.where(scores[:, 0] == scores[:, 1], (first + second) / 2, first)
    most = torch.finfo(torch.float32).max
    mean, median = (found.clamp(-most, most) for found in (distribution.mean(), distribution.median()))
    return {"candidate": best, "mean": mean, "median": median}


def errors(predicted: Tensor, gold: Tensor) -> dict[str, Score]:
    """The five errors of Table 3 of the paper; percentage errors skip and count correct numbers of 0."""
    names = ("RMSE", "MAE", "MdAE", "MAPE", "MdAPE")
    return {name: getattr(metrics, name.lower())(predicted, gold) for name in names}


def baselines(train: Tensor, gold: Tensor) -> dict[str, dict[str, Score]]:
    """Errors of the mean and of the median of the training numbers as constant estimates."""
    named = {"mean": train.mean(), "median": train.quantile(0.5) if len(train) < 1 << 24 else train.median()}
    return {name: errors(value.expand_as(gold), gold) for name, value in named.items()}
