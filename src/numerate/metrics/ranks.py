"""Ranking metrics: hit@k and the area under the ROC curve."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch

from numerate.metrics.score import MetricError, Score, as_floats, as_pair, as_truths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

__all__ = ["hit_at", "hits_of", "ranks_of", "roc_auc"]


def hit_at(scores: Tensor | Sequence[Any], targets: Tensor | Sequence[int], k: int) -> Score:
    """Share of rows whose target is among the k best candidates.

    Tied candidates share their places: a target tied with three others for the last place counts as a quarter of a
    hit, so that a model that scores all candidates alike gets the score of random guessing.

    Args:
        scores: (N, C), higher is better; candidates with a NaN score rank last, and a target with a NaN score misses.
        targets: (N,) column of the right candidate; -1 if it is not among the candidates, which is a miss.
        k: Number of places that count as a hit.

    Example:
        >>> hit_at([[0.1, 0.7, 0.2], [0.5, 0.5, 0.0]], [2, 0], k=1).value, hit_at([[0.1, 0.7, 0.2]], [2], k=2).value
        (0.25, 1.0)
    """
    if k < 1:
        raise MetricError(f"k must be at least 1, got {k=}")
    table = as_floats(scores, "scores", dims=2)
    wanted = torch.as_tensor(targets, device=table.device).to(torch.int64)
    if wanted.shape != table.shape[:1]:
        raise MetricError(
            f"targets must have one entry per row, got {tuple(wanted.shape)} for {tuple(table.shape)} scores"
        )
    if not len(table):
        return Score(math.nan, 0)
    if int(wanted.max()) >= table.shape[1] or int(wanted.min()) < -1:
        raise MetricError(f"targets must be columns from 0 to {table.shape[1] - 1} or -1, got {wanted.tolist()[:9]}")
    if not table.shape[1]:
        return Score(0.0, len(table))
    own = table.gather(1, wanted.clamp_min(0)[:, None])
    broken = own[:, 0].isnan() & (wanted >= 0)
    share = hits_of(*ranks_of(table, wanted.clamp_min(0)), k)
    share = share.masked_fill((wanted < 0) | broken, 0.0)
    return Score(float(share.mean()), len(table), 0, int(broken.sum()))


def ranks_of(scores: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Counts the candidates that score higher than each row's target, and those that score the same (with itself).

    Args:
        scores: (N, C) of any float type; NaN ranks last.
        targets: (N,) column of the right candidate.

    Returns:
        Two (N,) int64 tensors; the second is 0 for a target with a NaN score.

    Example:
        >>> ranks_of(torch.tensor([[0.1, 0.7, 0.1]]), torch.tensor([2]))
        (tensor([1]), tensor([2]))
    """
    own = scores.gather(1, targets[:, None])
    return (scores > own).sum(1), (scores == own).sum(1)


def hits_of(better: Tensor, equal: Tensor, k: int) -> Tensor:
    """Hit@k of each row from the counts of `ranks_of`: (N,) float64 between 0 and 1, ties sharing their places.

    Example:
        >>> hits_of(torch.tensor([1, 0]), torch.tensor([2, 1]), k=2)
        tensor([0.5000, 1.0000], dtype=torch.float64)
    """
    return ((k - better) / equal.clamp_min(1)).clamp(0.0, 1.0).to(torch.float64)


def roc_auc(scores: Tensor | Sequence[float], positive: Tensor | Sequence[bool]) -> Score:
    """Area under the ROC curve: the probability that a positive scores higher than a negative; ties count half.

    NaN if there are no positives, no negatives, or NaN scores (which are counted). Infinite scores are allowed.
    Examples with a NaN label are skipped.

    Args:
        scores: (N,) scores; higher means more probably positive.
        positive: (N,) bool labels.

    Example:
        >>> roc_auc([0.1, 0.4, 0.4, 0.8], [False, True, False, True]).value
        0.875
    """
    values, labels = as_pair(scores, positive)
    known = ~labels.isnan()
    values, truth = values[known], as_truths(labels[known], "labels")
    skipped, broken, wins = int((~known).sum()), int(values.isnan().sum()), int(truth.sum())
    losses = len(values) - wins
    if broken or not wins or not losses:
        return Score(math.nan, len(values), skipped, broken)
    _, group, sizes = values.unique(return_inverse=True, return_counts=True)
    # Mean rank of each group of equal scores. Ranks are multiples of 1/2, so their sum is exact.
    ranks = sizes.cumsum(0).to(torch.float64) - (sizes - 1).to(torch.float64) / 2
    rank_sum = ranks[group[truth]].sum()
    return Score(float((rank_sum - wins * (wins + 1) / 2) / (wins * losses)), len(values), skipped)
