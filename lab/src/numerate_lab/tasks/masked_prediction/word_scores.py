"""Scores of predicted words: figures for groups of words, and paired comparison of two encodings."""

from __future__ import annotations

import dataclasses
import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from numerate import metrics
from numerate.metrics.ranks import hits_of
from numerate.numerals.unit_tables import UNITS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch import Tensor

    from numerate_lab.tasks.masked_prediction.word_positions import WordPositions

__all__ = ["HITS", "UnitSpellings", "WordScores", "compare", "corrected_words", "summary"]

HITS = (1, 5, 20, 100)
"""Values of k in hit@k, as in the papers."""
_WORD_BEGINS = "Ġ▁"
"""Prefixes of tokens that begin a word."""
LEVEL = 0.99
"""Level of confidence intervals, as in the papers."""


@dataclass(frozen=True)
class WordScores:
    """Scores of one model for the N words of `WordPositions`.

    Attributes:
        nll: (N,) float64, negative log-likelihood in nats; NaN where the model has no such token.
        better: (N,) int64, number of tokens with a higher probability.
        equal: (N,) int64, number of tokens with the same probability, the correct one included.
        meaning: (N,) float64, loss of all spellings of the same unit together, see `UnitSpellings`; `nll` for words
            that are no units. None if it was not computed.

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
        """Hit@k of each word: (N,) float64, NaN where it is missing."""
        found = hits_of(torch.from_numpy(self.better), torch.from_numpy(self.equal), k).numpy()
        return np.where(np.isnan(self.nll), np.nan, found)

    def columns(self) -> dict[str, np.ndarray]:
        """Columns for a file of predictions, in half the precision."""
        found = {"nll": self.nll.astype(np.float32)}
        found |= {} if self.meaning is None else {"meaning": self.meaning.astype(np.float32)}
        return found | {"better": self.better.astype(np.int32), "equal": self.equal.astype(np.int32)}

    @classmethod
    def of(cls, columns: Mapping[str, np.ndarray]) -> WordScores:
        """Scores from the columns of a file."""
        better, equal = (columns[name].astype(np.int64) for name in ("better", "equal"))
        meaning = columns["meaning"].astype(np.float64) if "meaning" in columns else None
        return cls(columns["nll"].astype(np.float64), better, equal, meaning)


@dataclass(frozen=True)
class UnitSpellings:
    """Tokens of a vocabulary that are units, grouped by meaning.

    Attributes:
        unit: (V,) int64, index of the token's unit; -1 for other tokens.
        tokens: (U, K) int64, tokens of each unit, padded with -1.

    Example:
        >>> spellings = UnitSpellings.of({"[MASK]": 0, "km": 1, "kilometres": 2, "miles": 3})
        >>> spellings.unit.tolist()
        [-1, 0, 0, 1]
        >>> evenly = torch.zeros(3, 4, dtype=torch.float64)
        >>> (4 * spellings.nats(evenly, torch.tensor([1, 3, 0])).neg().exp()).tolist()
        [2.0, 1.0, 1.0]
    """

    unit: Tensor
    tokens: Tensor

    @classmethod
    def of(cls, vocabulary: dict[str, int], device: Any = "cpu") -> UnitSpellings:
        """Finds the units of `tokenizer.get_vocab()`, ignoring case where it is clear (`kw`, but not `a` or `mw`)."""
        folded: dict[str, set[str]] = defaultdict(set)
        for spelling, meant in UNITS.items():
            folded[spelling.casefold()].add(meant)
        marked = any(token.startswith(tuple(_WORD_BEGINS)) for token in vocabulary)
        found: dict[str, list[int]] = defaultdict(list)
        for token, index in sorted(vocabulary.items(), key=lambda pair: pair[1]):
            word = token.lstrip(_WORD_BEGINS)
            if marked and word == token:  # a piece of a word
                continue
            meant = {UNITS[word]} if word in UNITS else folded.get(word.casefold(), set()) if len(word) > 1 else set()
            if len(meant) == 1:  # `mw` may be a milliwatt
                found[next(iter(meant))].append(index)
        unit = torch.full((max(vocabulary.values(), default=-1) + 1,), -1)
        for number, some in enumerate(found.values()):
            unit[some] = number
        most = max(map(len, found.values()), default=0)
        tokens = [some + [-1] * (most - len(some)) for some in found.values()]
        return cls(unit.to(device), torch.tensor(tokens, dtype=torch.int64, device=device).view(len(found), most))

    def nats(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Negative log-probability of all spellings of the target's unit, or of the target if it is no unit.

        Shape:
            logits (n, V) with V of the vocabulary or larger, targets (n,), result (n,).
        """
        known = targets < len(self.unit)
        unit = torch.where(known, self.unit[torch.where(known, targets, 0)], -1)
        tokens = self.tokens[unit.clamp_min(0)] if len(self.tokens) else targets[:, None]
        tokens = torch.where((unit >= 0)[:, None], tokens, -1)
        tokens = torch.cat([torch.where(unit >= 0, -1, targets)[:, None], tokens], dim=1)
        chosen = logits.gather(1, tokens.clamp_min(0)).masked_fill(tokens < 0, -torch.inf)
        return logits.logsumexp(-1) - chosen.logsumexp(-1)


def summary(scores: WordScores, chosen: np.ndarray | None = None) -> dict[str, float | int | None]:
    """Figures of a group of words: `count`, `nats`, perplexities `ppl` and `ppl_2nats`, `hit@k` in percent.

    Also `meaning_nats` if the scores have meanings. Means are per token, whereas the papers average means of batches.

    The group is `chosen`, (N,) bool, or all. Words without a token are excluded and counted as `missing`.

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


def compare(
    one: Sequence[WordScores], other: Sequence[WordScores], positions: WordPositions,
    chosen: np.ndarray | None = None, *, level: float = LEVEL, resamples: int = 10_000,
) -> dict[str, Any]:  # fmt: skip
    """Compares two encodings on the same words: the three tests of the papers and two paired tests.

    The papers treat hit@1 of each word as independent: two-sample t-test, binomial test against the other hit rate, and
    a bootstrap of each. As both encodings see the same words, and words of a sentence are correlated, there is also a
    bootstrap of paired differences over sentences, and McNemar's test. Losses and hits are averaged over seeds first;
    tests of right against wrong use the majority of seeds. `one` and `other` have the scores of each seed; words that
    are missing in any of them are excluded. The group of words is `chosen`, (N,) bool, or all.

    Returns:
        `count`, `nats` of both and their `ratio`, `nats_difference` and `hit_difference` (paired by sentence, `one`
        minus `other`), `nats_change` (difference relative to `other`), `hit` and `other_hit` (bootstraps of each),
        `t_test`, `binomial`, `mcnemar`; with meanings also `meaning_nats`, `other_meaning_nats`, `meaning_change`.
    """
    if not one or not other:
        raise ValueError(f"both encodings need scores of at least one seed, got {len(one)} and {len(other)}")
    losses = [np.mean([scores.nll for scores in some], axis=0) for some in (one, other)]
    hits = [np.mean([scores.hits(1) for scores in some], axis=0) for some in (one, other)]
    there = ~np.isnan(losses[0]) & ~np.isnan(losses[1]) & (chosen is None or chosen)
    loss, other_loss, hit, other_hit = (torch.from_numpy(column[there]) for column in losses + hits)
    right, other_right = hit > 0.5, other_hit > 0.5
    mean, other_mean = (float(column[there].mean()) if there.any() else math.nan for column in losses)
    rate = float(other_right.double().mean()) if there.any() else 0.0
    draws: dict[str, Any] = {"level": level, "resamples": resamples}
    by_sentence: dict[str, Any] = draws | {"clusters": torch.from_numpy(positions.sentence[there])}
    tests: dict[str, Any] = {
        "nats_change": _change(loss, other_loss, by_sentence),
        "nats_difference": metrics.bootstrap(loss, other_loss, **by_sentence),
        "hit_difference": metrics.bootstrap(hit, other_hit, **by_sentence),
        "hit": _bootstrap_of_few(hit.numpy(), **draws),
        "other_hit": _bootstrap_of_few(other_hit.numpy(), **draws),
        "t_test": metrics.t_test(hit, other_hit, equal_spread=True),
        "binomial": metrics.binomial_test(int(right.sum()), len(right), rate, "greater"),
        "mcnemar": metrics.mcnemar(right, other_right),
    }
    figures = {"count": int(there.sum()), "nats": mean, "other_nats": other_mean}
    figures["ratio"] = mean / other_mean if other_mean else math.nan
    if not any(scores.meaning is None for scores in (*one, *other)):
        stacked: Any = ([scores.meaning for scores in some] for some in (one, other))
        meanings = (np.mean(some, axis=0) for some in stacked)
        meaning, other_meaning = (torch.from_numpy(column[there]) for column in meanings)
        figures |= {"meaning_nats": float(meaning.mean()), "other_meaning_nats": float(other_meaning.mean())}
        tests["meaning_change"] = _change(meaning, other_meaning, by_sentence)
    return figures | {name: dataclasses.asdict(test) for name, test in tests.items()}


def _change(losses: Tensor, others: Tensor, options: Mapping[str, Any]) -> metrics.Interval:
    """Relative change of the mean against another mean: a bootstrap over sentences of both."""
    other_mean = float(others.mean()) if len(others) else 0.0
    change = (float(losses.mean()) - other_mean) / other_mean if other_mean else math.nan
    # First-order expansion: the quotient of two means varies like the mean of these terms.
    terms = (losses - (1 + change) * others) / (other_mean or math.nan) + change
    return metrics.bootstrap(terms, **options)


def _bootstrap_of_few(values: np.ndarray, level: float, resamples: int) -> metrics.Interval:
    """`metrics.bootstrap` of values with few distinct ones, by multinomial counts.

    Resampling 100,000 words 10,000 times one by one would take half a minute.
    """
    if not len(values):
        return metrics.bootstrap([], level=level, resamples=resamples)
    different, counts = np.unique(values, return_counts=True)
    drawn = np.random.default_rng(0).multinomial(len(values), counts / len(values), size=resamples)
    means = drawn @ different / len(values)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2]).tolist()
    tail = 1 + min(int((means <= 0).sum()), int((means >= 0).sum()))
    return metrics.Interval(float(values.mean()), low, high, min(1.0, 2 * tail / (resamples + 1)), len(values))


def corrected_words(one: WordScores, other: WordScores, most: int = 20) -> np.ndarray:
    """Indices of words that `one` predicts correctly and `other` does not, largest gain first, at most `most`.

    Example:
        >>> good = WordScores(np.array([0.1, 0.1, 3.0]), np.array([0, 0, 9]), np.ones(3, dtype=np.int64))
        >>> bad = WordScores(np.array([0.1, 2.0, 3.0]), np.array([0, 3, 9]), np.ones(3, dtype=np.int64))
        >>> corrected_words(good, bad).tolist()
        [1]
    """
    found = np.flatnonzero((one.hits(1) == 1) & (other.hits(1) == 0))
    return found[np.argsort(one.nll[found] - other.nll[found], kind="stable")][:most]
