"""hit@k and ROC AUC against manual calculations, enumeration and scikit-learn."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from sklearn.metrics import roc_auc_score

from numerate import metrics


def test_hit_at_matches_manual_calculation() -> None:
    scores = [[5.0, 4.0, 3.0, 2.0], [1.0, 9.0, 2.0, 3.0], [1.0, 1.0, 0.0, 1.0]]
    # ranks 2 and 4; the third target is one of three tied for places 1 to 3
    targets = [1, 0, 3]
    assert [metrics.hit_at(scores, targets, k).value for k in (1, 2, 3, 4, 9)] == pytest.approx(
        [1 / 9, (1 + 2 / 3) / 3, 2 / 3, 1, 1]
    )


def test_hit_at_of_ties_is_the_mean_over_all_orders() -> None:
    scores, target = [3.0, 1.0, 3.0, 3.0, 2.0], 2
    for k in range(1, 6):
        hits = [
            target in sorted(range(5), key=lambda index: (-scores[index], order[index]))[:k]
            for order in itertools.permutations(range(5))
        ]
        assert metrics.hit_at([scores], [target], k).value == pytest.approx(sum(hits) / len(hits))


def test_hit_at_edge_cases() -> None:
    nan = math.nan
    score = metrics.hit_at([[nan, 1.0], [nan, 1.0], [1.0, 2.0]], [0, 1, -1], k=1)
    assert (score.value, score.count, score.non_finite) == (pytest.approx(1 / 3), 3, 1)
    assert math.isnan(metrics.hit_at(torch.zeros(0, 4), [], k=1).value)
    assert metrics.hit_at([[-math.inf, 0.0]], [0], k=2).value == 1
    with pytest.raises(ValueError, match="k=0"):
        metrics.hit_at([[1.0]], [0], k=0)
    with pytest.raises(ValueError, match=r"got \[2\]"):
        metrics.hit_at([[1.0, 2.0]], [2], k=1)
    assert metrics.hit_at(torch.zeros(2, 0), [-1, -1], k=1).value == 0
    with pytest.raises(ValueError, match="one entry per row"):
        metrics.hit_at([[1.0, 2.0]], [0, 1], k=1)


@pytest.mark.parametrize("seed", range(4))
def test_roc_auc_against_scikit_learn_and_all_pairs(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randint(0, 12, (80,), generator=generator).double()  # many ties
    truth = torch.rand(80, generator=generator) < 0.3
    found = metrics.roc_auc(scores, truth).value
    assert found == pytest.approx(roc_auc_score(truth.numpy(), scores.numpy()), rel=1e-12)
    gaps = scores[truth][:, None] - scores[~truth][None]
    assert found == pytest.approx(float(((gaps > 0).double() + (gaps == 0).double() / 2).mean()), rel=1e-12)


def test_roc_auc_edge_cases() -> None:
    assert metrics.roc_auc([1.0, 1.0, 1.0], [True, False, True]).value == 0.5
    assert metrics.roc_auc([-math.inf, 0.0, math.inf], [False, False, True]).value == 1
    for scores, truth in (([], []), ([1.0], [True]), ([1.0, math.nan], [True, False])):
        assert math.isnan(metrics.roc_auc(scores, truth).value)
    assert metrics.roc_auc([1.0, math.nan], [True, False]).non_finite == 1
    labelled = metrics.roc_auc([1.0, 2.0, 3.0], [0.0, 1.0, math.nan])
    assert (labelled.value, labelled.count, labelled.skipped) == (1, 2, 1)
    with pytest.raises(ValueError, match="equally many"):
        metrics.roc_auc([1.0], [True, False])


def test_labels_that_are_not_binary_are_quoted() -> None:
    with pytest.raises(ValueError, match=r"labels must be true or false \(1 or 0\), got 2"):
        metrics.roc_auc([0.1, 0.2, 0.3], [0, 1, 2])
    assert metrics.roc_auc([0.1, 0.2, 0.3], [0, math.nan, 1]).skipped == 1
