"""Figures of word scores and comparisons of two encodings, against direct calls of the statistics."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from numerate import metrics
from numerate_lab.tasks.masked_prediction.word_positions import WordPositions
from numerate_lab.tasks.masked_prediction.word_scores import WordScores, compare, corrected_words, summary

COUNT = 60


def positions() -> WordPositions:
    nothing = np.zeros(COUNT, dtype=np.int64)
    unit = np.arange(COUNT) % 5 == 0
    return WordPositions(np.arange(COUNT) // 6, nothing, nothing + 1, nothing, {"unit": unit}, nothing, nothing[:10])


def scores(seed: int, easier: float = 0.0) -> WordScores:
    rng = np.random.default_rng(seed)
    better = np.maximum(rng.integers(0, 8, COUNT) - (rng.random(COUNT) < easier) * 7, 0)
    return WordScores(np.log1p(better) + rng.random(COUNT), better, np.ones(COUNT, dtype=np.int64))


def test_summary_is_per_token_in_both_bases() -> None:
    one = scores(0)
    row = summary(one)
    mean = one.nll.mean()
    assert row["nats"] == pytest.approx(mean) and row["count"] == COUNT
    assert row["ppl"] == pytest.approx(np.exp(mean)) and row["ppl_2nats"] == pytest.approx(2**mean)
    for k in (1, 5, 20, 100):
        assert row[f"hit@{k}"] == pytest.approx(100 * (one.better < k).mean())


def test_missing_words_are_excluded_and_counted() -> None:
    one = scores(0)
    holed = WordScores(np.where(np.arange(COUNT) < 7, np.nan, one.nll), one.better, one.equal)
    row = summary(holed)
    assert (row["count"], row["missing"]) == (COUNT - 7, 7) and row["nats"] == pytest.approx(one.nll[7:].mean())
    empty = summary(holed, np.arange(COUNT) < 7)
    assert empty["count"] == 0 and empty["nats"] is None and empty["hit@1"] is None
    assert summary(holed, np.arange(COUNT) < 10)["count"] == 3


def test_meanings_are_summarised_and_compared() -> None:
    one, other = (dataclasses.replace(each, meaning=each.nll / 2) for each in (scores(0, 0.5), scores(1)))
    assert summary(one)["meaning_nats"] == pytest.approx(one.nll.mean() / 2) and "meaning_nats" not in summary(
        scores(0)
    )
    found = compare([one], [other], positions(), resamples=200)
    for key in ("estimate", "low", "high"):  # half of both is the same relative change
        assert found["meaning_change"][key] == pytest.approx(found["nats_change"][key])
    assert found["other_meaning_nats"] == pytest.approx(other.nll.mean() / 2)
    assert "meaning_change" not in compare([one], [scores(1)], positions(), resamples=200)
    assert compare([one], [other], positions(), np.zeros(COUNT, dtype=bool), resamples=200)["count"] == 0


def test_ties_share_a_rank_and_columns_are_read_again() -> None:
    tied = WordScores(np.zeros(2), np.array([0, 4]), np.array([4, 2]))
    assert tied.hits(1).tolist() == [0.25, 0.0] and tied.hits(5).tolist() == [1.0, 0.5]
    one = dataclasses.replace(scores(3), meaning=scores(4).nll)
    again = WordScores.of(one.columns())
    assert np.array_equal(again.nll, one.nll.astype(np.float32)) and np.array_equal(again.better, one.better)
    assert again.meaning is not None and again.meaning.dtype == again.nll.dtype == np.float64


def test_compare_applies_the_statistics_to_means_over_seeds() -> None:
    ours, theirs = [scores(seed, 0.6) for seed in (1, 2, 3)], [scores(seed) for seed in (4, 5, 6)]
    chosen = positions().labels["unit"]
    found = compare(ours, theirs, positions(), chosen, level=0.9, resamples=300)
    one, other = (torch.tensor(np.mean([s.nll for s in some], axis=0)[chosen]) for some in (ours, theirs))
    hit, other_hit = (torch.tensor(np.mean([s.better < 1 for s in some], axis=0)[chosen]) for some in (ours, theirs))
    clusters = torch.tensor(positions().sentence[chosen])
    paired = metrics.bootstrap(one, other, clusters, resamples=300, level=0.9)
    assert found["nats_difference"] == {name: getattr(paired, name) for name in found["nats_difference"]}
    assert paired.clusters == 10 and paired.estimate == pytest.approx(float((one - other).mean()))
    assert found["ratio"] == pytest.approx(float(one.mean() / other.mean()))
    assert found["t_test"]["p"] == metrics.t_test(hit, other_hit, equal_spread=True).p
    assert found["mcnemar"]["p"] == metrics.mcnemar(hit > 0.5, other_hit > 0.5).p
    wins, rate = int((hit > 0.5).sum()), float((other_hit > 0.5).double().mean())
    assert found["binomial"]["p"] == metrics.binomial_test(wins, 12, rate, "greater").p
    assert found["hit"]["clusters"] == found["count"] == 12


def test_interval_of_a_relative_change() -> None:
    one, other = [scores(0, 0.7), scores(1, 0.7)], [scores(0), scores(1)]
    found = compare(one, other, positions(), resamples=4000)
    losses = [np.mean([each.nll for each in some], axis=0).reshape(10, 6).sum(1) for some in (one, other)]
    drawn = np.random.default_rng(5).integers(0, 10, (20_000, 10))
    quotients = losses[0][drawn].sum(1) / losses[1][drawn].sum(1) - 1
    change = found["nats_change"]
    assert change["estimate"] == pytest.approx(found["ratio"] - 1) and change["estimate"] < -0.1
    low, high = np.quantile(quotients, [0.005, 0.995])
    assert change["low"] == pytest.approx(low, abs=0.015) and change["high"] == pytest.approx(high, abs=0.015)
    assert high - low > 0.15  # wide enough for the tolerances above


def test_compare_excludes_missing_words_and_needs_seeds() -> None:
    one, other = scores(1), scores(2)
    holed = WordScores(np.where(np.arange(COUNT) < 6, np.nan, one.nll), one.better, one.equal)
    found = compare([one, holed], [other], positions(), resamples=50)
    assert found["count"] == COUNT - 6
    with pytest.raises(ValueError, match="both encodings need scores of at least one seed, got 0 and 1"):
        compare([], [other], positions())


def test_corrected_words_are_sorted_by_gain() -> None:
    one, other = scores(1, 0.9), scores(2)
    found = corrected_words(one, other, most=5)
    gains = other.nll - one.nll
    every = [index for index in range(COUNT) if one.better[index] == 0 and other.better[index] > 0]
    assert found.tolist() == sorted(every, key=lambda index: -gains[index])[:5]
