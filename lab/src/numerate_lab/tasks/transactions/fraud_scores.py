"""Scores of fraud detection: F1 with fraud as the positive class, thresholds, and differences with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["best_threshold", "f1_difference", "f1_score", "fraud_figures"]


def f1_score(fraud: np.ndarray, predicted: np.ndarray) -> float:
    """F1 of binary predictions, fraud as the positive class; 0 without a right one.

    Example:
        >>> f1_score(np.array([True, True, False, False]), np.array([True, False, True, False]))
        0.5
    """
    right = int((fraud & predicted).sum())
    return 2 * right / max(1, int(fraud.sum()) + int(predicted.sum()))


def best_threshold(fraud: np.ndarray, score: np.ndarray) -> tuple[float, float]:
    """The threshold with the highest F1, half-way between two scores, and that F1; (0.5, 0.0) without any fraud.

    A window is fraudulent if its score is at least the threshold.

    Example:
        >>> best_threshold(np.array([True, False, True, False]), np.array([0.9, 0.2, 0.6, 0.4]))
        (0.5, 1.0)
    """
    if not fraud.any():
        return 0.5, 0.0
    # In float64, where there is a number between any two scores of a network, also between the two highest below 1.
    score = score.astype(np.float64)
    order = np.argsort(-score, kind="stable")
    ranked, right = score[order], np.cumsum(fraud[order])
    f1 = 2 * right / (np.arange(1, len(order) + 1) + right[-1])
    f1[:-1][ranked[:-1] == ranked[1:]] = 0.0  # equal scores are on one side of every threshold
    at = int(f1.argmax())
    below = ranked[at + 1] if at + 1 < len(ranked) else min(ranked[at], 0.0)
    middle = (ranked[at] + below) / 2
    return float(middle if middle > below or ranked[at] == below else ranked[at]), float(f1[at])


def fraud_figures(fraud: np.ndarray, score: np.ndarray, threshold: float) -> dict[str, Any]:
    """F1, precision and recall at a threshold, F1 at 0.5, and measures of the ranking; None where undefined."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    score = score.astype(np.float64)  # a threshold between two scores of float32 would be rounded to one of them
    predicted, both = score >= threshold, bool(fraud.any()) and not bool(fraud.all())
    right = int((fraud & predicted).sum())
    return {
        "f1": f1_score(fraud, predicted) if fraud.any() else None,
        "precision": right / int(predicted.sum()) if predicted.any() else None,
        "recall": right / int(fraud.sum()) if fraud.any() else None,
        "f1_at_half": f1_score(fraud, score >= 0.5) if fraud.any() else None,
        "average_precision": float(average_precision_score(fraud, score)) if both else None,
        "auc": float(roc_auc_score(fraud, score)) if both else None,
        "threshold": float(threshold),
        "windows": len(fraud),
        "frauds": int(fraud.sum()),
    }


def f1_difference(
    fraud: np.ndarray, ours: Sequence[np.ndarray], base: Sequence[np.ndarray], clusters: np.ndarray,
    *, resamples: int = 10_000, seed: int = 0,
) -> dict[str, float]:  # fmt: skip
    """The difference of the mean F1 of two models, with a 95 % bootstrap interval over whole clusters.

    F1 is a function of sums over windows, so sums are resampled: one multinomial draw for all clusters.

    Args:
        fraud: (N,) bool.
        ours: Predictions of each seed, (N,) bool.
        base: Predictions of each seed of the other model.
        clusters: (N,) which windows are drawn together: of one user, or each alone.
        resamples: Number of bootstrap samples.
        seed: Of the samples.

    Example:
        >>> gold = np.array([True, False] * 20)
        >>> found = f1_difference(gold, [gold], [~gold], np.arange(40), resamples=200)
        >>> found["estimate"], found["low"], found["high"]
        (1.0, 1.0, 1.0)
    """
    _, place = np.unique(clusters, return_inverse=True)
    count = int(place.max()) + 1
    draws = np.random.default_rng(seed)
    gold = np.bincount(place, fraud, count)
    sides = [
        [(np.bincount(place, fraud & p, count), np.bincount(place, p, count)) for p in side] for side in (ours, base)
    ]
    low_high, step = [], max(1, 2_000_000 // count)
    for start in range(0, resamples, step):
        weight = draws.multinomial(count, np.full(count, 1 / count), min(step, resamples - start)).astype(float)
        low_high.append(_mean_f1(sides[0], gold, weight) - _mean_f1(sides[1], gold, weight))
    whole = np.ones((1, count))
    difference = float((_mean_f1(sides[0], gold, whole) - _mean_f1(sides[1], gold, whole))[0])
    low, high = np.quantile(np.concatenate(low_high), [0.025, 0.975])
    return {"estimate": difference, "low": float(low), "high": float(high), "clusters": count}


def _mean_f1(side: list[tuple[np.ndarray, np.ndarray]], gold: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The mean over seeds of F1 in each resample: (resamples,)."""
    f1 = [2 * (weight @ right) / np.maximum(1, weight @ predicted + weight @ gold) for right, predicted in side]
    return np.mean(f1, axis=0)
