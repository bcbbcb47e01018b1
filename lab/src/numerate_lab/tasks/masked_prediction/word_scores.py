"""How well words were predicted, position by position: figures for each group of them, and two encoders compared."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from numerate import metrics
from numerate.metrics.ranks import hits_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numerate_lab.tasks.masked_prediction.word_positions import WordPositions

__all__ = ["HITS", "WordScores", "compare", "mended", "summaries", "summary"]

HITS = (1, 5, 20, 100)
"""Of the papers' tables."""
LEVEL = 0.99
"""Of intervals, as in the papers."""


@dataclass(frozen=True)
class WordScores:
    """What one model says of the N words of some `WordPositions`.

    Attributes:
        nll: (N,) float64, negative log-likelihood in nats; NaN where the model has no such token.
        better: (N,) int64, how many tokens it held for more probable.
        equal: (N,) int64, how many for as probable, the right one among them.
        meaning: (N,) float64, the loss of any spelling of the same unit, see `UnitSpellings`: of what was measured, and
            not of how it is written. That of the word itself where it is not the number's unit. None: nobody asked.

    Example:
        >>> scores = WordScores(np.array([0.5, np.nan]), np.array([0, 0]), np.array([1, 1]))
        >>> scores.hits(1).tolist()
        [1.0, nan]
    """

    nll: np.ndarray
    better: np.ndarray
    equal: np.ndarray
    meaning: np.ndarray | None = None

    def hits(self, k: int) -> np.ndarray:
        """Each word's hit@k: (N,) float64, NaN where it is missing."""
        found = hits_of(torch.from_numpy(self.better), torch.from_numpy(self.equal), k).numpy()
        return np.where(np.isnan(self.nll), np.nan, found)

    def save(self, path: str | Path) -> None:
        """Writes an `.npz`; `load` is the way back."""
        columns = {"nll": self.nll, "better": self.better.astype(np.int32), "equal": self.equal.astype(np.int32)}
        columns |= {} if self.meaning is None else {"meaning": self.meaning}
        np.savez_compressed(path, **columns)  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: str | Path) -> WordScores:
        """Reads what `save` wrote."""
        with np.load(path, allow_pickle=False) as file:
            return cls.of(file)

    @classmethod
    def of(cls, columns: Mapping[str, np.ndarray]) -> WordScores:
        """Scores from columns by name."""
        better, equal = (columns[name].astype(np.int64) for name in ("better", "equal"))
        meaning = columns["meaning"].astype(np.float64) if "meaning" in columns else None
        return cls(columns["nll"].astype(np.float64), better, equal, meaning)


def summary(scores: WordScores, chosen: np.ndarray | None = None) -> dict[str, float | int | None]:
    """The figures of a table's row: `count`, `nats`, perplexities `ppl` and `ppl_2nats`, and `hit@k` in per cent.

    Besides `meaning_nats`, where the scores have them.

    Per token: not the mean of the means of batches that the papers print.

    Args:
        scores: Of all positions.
        chosen: (N,) bool, which of them; all by default. Those that the model has no token for are left out, counted
            as `missing`.

    Example:
        >>> scores = WordScores(np.log([2.0, 8.0]), np.array([0, 7]), np.array([1, 1]))
        >>> row = summary(scores)
        >>> round(row["ppl"], 6), round(row["ppl_2nats"], 4), row["hit@1"], row["hit@20"]
        (4.0, 2.6141, 50.0, 100.0)
    """
    wanted = np.ones(len(scores.nll), dtype=bool) if chosen is None else chosen
    there = wanted & ~np.isnan(scores.nll)
    found = metrics.perplexity(torch.from_numpy(scores.nll[there]))
    row: dict[str, Any] = {"count": int(there.sum()), "missing": int((wanted & ~there).sum())}
    row |= {"nats": found.nats, "ppl": found.pp, "ppl_2nats": found.pp_2nats}
    row |= {f"hit@{k}": 100 * float(scores.hits(k)[there].mean()) if there.any() else math.nan for k in HITS}
    if scores.meaning is not None:
        row["meaning_nats"] = float(scores.meaning[there].mean()) if there.any() else math.nan
    return {key: value if math.isfinite(value) else None for key, value in row.items()}


def summaries(scores: WordScores, groups: Mapping[str, np.ndarray]) -> dict[str, dict[str, float | int | None]]:
    """`summary` of each group of positions, such as `WordPositions.strata` gives."""
    return {name: summary(scores, chosen) for name, chosen in groups.items()}


def compare(
    one: Sequence[WordScores],
    other: Sequence[WordScores],
    positions: WordPositions,
    chosen: np.ndarray | None = None,
    *,
    level: float = LEVEL,
    resamples: int = 10_000,
) -> dict[str, Any]:
    """Whether one encoder predicts words better than another: the papers' three tests, and two that fit better.

    The papers' take each word's hit@1 by itself: Student's t-test of two samples, the binomial test against the other's
    hit rate, and a bootstrap of each. But both encoders see the same words, and words of a sentence are not
    independent: so also a bootstrap of the paired differences that draws whole sentences, and McNemar's test. Losses
    and hits are means over seeds first; where a test wants right or wrong, what more than half of the seeds say.

    Args:
        one: Scores of the first encoder, one for each seed.
        other: Of the second; those that are missing in any are left out.
        positions: What both are scores of.
        chosen: (N,) bool, which positions; all by default.
        level: Of the intervals.
        resamples: Of the bootstraps.

    Returns:
        `count`, `nats` of both and their `ratio`, `nats_difference` and `hit_difference` (paired, by sentence, `one`
        less `other`), `nats_change` (the same as a share of `other`'s nats, which are drawn, too), `hit` and
        `other_hit` (bootstraps of each), `t_test`, `binomial`, `mcnemar`; where all scores have meanings,
        `meaning_nats`, `other_meaning_nats` and `meaning_change`.
    """
    if not one or not other:
        raise ValueError(f"both encoders need scores of a seed or more, got {len(one)} and {len(other)}")
    losses = [np.mean([scores.nll for scores in some], axis=0) for some in (one, other)]
    hits = [np.mean([scores.hits(1) for scores in some], axis=0) for some in (one, other)]
    there = ~np.isnan(losses[0]) & ~np.isnan(losses[1])
    if chosen is not None:
        there &= chosen
    losses, hits = [column[there] for column in losses], [column[there] for column in hits]
    sentences = torch.from_numpy(positions.sentence[there])
    right = [torch.from_numpy(column > 0.5) for column in hits]
    tensors = [torch.from_numpy(column) for column in losses + hits]
    draws = {"level": level, "resamples": resamples}
    rate = float(right[1].double().mean()) if len(right[1]) else 0.0
    mean, other_mean = (float(column.mean()) if len(column) else math.nan for column in losses)
    tests: dict[str, Any] = {
        "nats_change": _change(tensors[0], tensors[1], sentences, level, resamples),
        "nats_difference": metrics.bootstrap(tensors[0], tensors[1], sentences, **draws),
        "hit_difference": metrics.bootstrap(tensors[2], tensors[3], sentences, **draws),
        "hit": _bootstrap_of_few(hits[0], level, resamples),
        "other_hit": _bootstrap_of_few(hits[1], level, resamples),
        "t_test": metrics.t_test(tensors[2], tensors[3], equal_spread=True),
        "binomial": metrics.binomial_test(int(right[0].sum()), len(right[0]), rate, "greater"),
        "mcnemar": metrics.mcnemar(right[0], right[1]),
    }
    figures = {"count": int(there.sum()), "nats": mean, "other_nats": other_mean}
    figures["ratio"] = mean / other_mean if other_mean else math.nan
    meanings = [[scores.meaning for scores in some if scores.meaning is not None] for some in (one, other)]
    if len(meanings[0]) == len(one) and len(meanings[1]) == len(other):
        meant = [torch.from_numpy(np.mean(some, axis=0)[there]) for some in meanings]
        figures |= {"meaning_nats": float(meant[0].mean()), "other_meaning_nats": float(meant[1].mean())}
        tests["meaning_change"] = _change(meant[0], meant[1], sentences, level, resamples)
    return figures | {name: dataclasses.asdict(test) for name, test in tests.items()}


def _change(
    losses: torch.Tensor, others: torch.Tensor, sentences: torch.Tensor, level: float, resamples: int
) -> metrics.Interval:
    """How much less than another mean one is, as a share of that other: a bootstrap that draws both by sentence."""
    other_mean = float(others.mean()) if len(others) else 0.0
    change = (float(losses.mean()) - other_mean) / other_mean if other_mean else math.nan
    # To the first order, what a resample does to a quotient of two means is what it does to the mean of these.
    terms = (losses - (1 + change) * others) / (other_mean or math.nan) + change
    return metrics.bootstrap(terms, clusters=sentences, level=level, resamples=resamples)


def _bootstrap_of_few(values: np.ndarray, level: float, resamples: int) -> metrics.Interval:
    """`metrics.bootstrap` of values of which only few differ: how often each is drawn is all that counts.

    10,000 draws of 100,000 words would take half a minute word by word.
    """
    if not len(values):
        return metrics.bootstrap([], level=level, resamples=resamples)
    different, counts = np.unique(values, return_counts=True)
    drawn = np.random.default_rng(0).multinomial(len(values), counts / len(values), size=resamples)
    means = drawn @ different / len(values)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2]).tolist()
    tail = 1 + min(int((means <= 0).sum()), int((means >= 0).sum()))
    return metrics.Interval(float(values.mean()), low, high, min(1.0, 2 * tail / (resamples + 1)), len(values))


def mended(one: WordScores, other: WordScores, most: int = 20) -> np.ndarray:
    """Positions that `one` gets right and `other` does not, those first whose loss falls most: at most `most` indices.

    Example:
        >>> good = WordScores(np.array([0.1, 0.1, 3.0]), np.array([0, 0, 9]), np.ones(3, dtype=np.int64))
        >>> bad = WordScores(np.array([0.1, 2.0, 3.0]), np.array([0, 3, 9]), np.ones(3, dtype=np.int64))
        >>> mended(good, bad).tolist()
        [1]
    """
    found = np.flatnonzero((one.hits(1) == 1) & (other.hits(1) == 0))
    return found[np.argsort(one.nll[found] - other.nll[found], kind="stable")][:most]
