"""The number line: candidates, estimates, errors."""

from __future__ import annotations

import pytest
import torch

from numerate.registry import heads
from numerate_lab.tasks.next_numeral.number_line_errors import baselines, candidates, errors, estimates, table_of_texts


def test_candidates_are_vocabulary_and_percentiles() -> None:
    counts = {str(number): 1 for number in range(1, 101)} | {"0.25": 5, "2.5": 5}
    found = candidates(counts, known=["1000", "7.77"])
    assert {"1000", "7.77"} <= set(found)
    assert {"1", "2", "50", "98"} <= set(found) and "100" in found
    assert "50.0" not in found, "90 % are whole numbers"
    some = candidates({"1": 1, "2.55": 9})
    assert some == ["1", "1.0", "1.00", "2.5", "2.55", "3"]
    assert found == sorted(found, key=lambda text: (float(text), len(text), text))


def test_percentiles_count_tokens_not_types() -> None:
    assert candidates({"5": 980, "6": 10, "7": 10}) == ["5", "6", "7"]
    assert candidates({"5": 9_999, "7": 1}) == ["5", "7"], "the largest number is always a candidate"


def test_vocabularies_estimate_known_numerals_only() -> None:
    head = heads["h-softmax"].build(dim=4, size=2)
    head.fit(table_of_texts(["3", "3", "10", "10", "8"]))
    with torch.no_grad():
        head.double()(torch.zeros(1, 4, dtype=torch.float64))
        numerals = table_of_texts(["3", "8", "10"])
        named = estimates(head(torch.randn(20, 4, dtype=torch.float64)), numerals)
    assert set(named["candidate"].tolist()) <= {3.0, 6.5, 10.0}


def test_ties_of_candidates_are_averaged() -> None:
    class Fixed:
        def __init__(self, scores: list[list[float]]) -> None:
            self.scores = torch.tensor(scores)

        def without_unknown(self) -> Fixed:
            return self

        def rank(self, candidates: object, k: int) -> tuple[torch.Tensor, torch.Tensor]:
            return self.scores.topk(k, dim=1)

        def mean(self) -> torch.Tensor:
            return torch.zeros(2)

        median = mean

    numerals = table_of_texts(["1", "2", "40"])
    named = estimates(Fixed([[0.0, 3.0, 1.0], [5.0, 1.0, 5.0]]), numerals)  # type: ignore[arg-type]
    assert named["candidate"].tolist() == [2.0, 20.5]


def test_errors_by_hand() -> None:
    gold, predicted = torch.tensor([2.0, 4.0, 0.0, 10.0]).double(), torch.tensor([3.0, 4.0, 1.0, 5.0]).double()
    found = errors(predicted, gold)
    assert {name: score.value for name, score in found.items()} == pytest.approx(
        {"RMSE": (27 / 4) ** 0.5, "MAE": 7 / 4, "MdAE": 1.0, "MAPE": 100 / 3, "MdAPE": 50.0}
    )
    assert found["MdAPE"].skipped == 1
    always = baselines(torch.tensor([1.0, 2.0, 9.0]).double(), gold)
    assert always["mean"]["MAE"].value == pytest.approx((2 + 0 + 4 + 6) / 4)
    assert always["median"]["MAE"].value == pytest.approx((0 + 2 + 2 + 8) / 4)
