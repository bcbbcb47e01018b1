"""Numeric errors against manual calculations, scikit-learn and exact arithmetic."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import mean_absolute_error, mean_squared_error, median_absolute_error, r2_score

from numerate import metrics

NAN, INF = math.nan, math.inf
BY_NAME = {
    name: getattr(metrics, name)
    for name in (
        *("rmse", "mae", "mdae", "mape", "mdape", "log_mae", "exponent_accuracy", "sign_accuracy"),
        *("smape", "log_smape", "r2"),
    )
}
LARGEST = 1.7976931348623157e308


def heavy_tailed(count: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = np.random.default_rng(seed)
    gold = generator.normal(size=count) * 10.0 ** generator.integers(-6, 9, size=count)
    return torch.from_numpy(gold * np.exp(generator.normal(size=count))), torch.from_numpy(gold)


@pytest.mark.parametrize("seed", range(3))
def test_against_scikit_learn_and_numpy(seed: int) -> None:
    ours, gold = heavy_tailed(200 + seed, seed)
    p, y = ours.numpy(), gold.numpy()
    assert metrics.rmse(ours, gold).value == pytest.approx(math.sqrt(mean_squared_error(y, p)), rel=1e-12)
    assert metrics.mae(ours, gold).value == pytest.approx(mean_absolute_error(y, p), rel=1e-12)
    assert metrics.mdae(ours, gold).value == pytest.approx(median_absolute_error(y, p), rel=1e-12)
    assert metrics.mape(ours, gold).value == pytest.approx(100 * np.mean(np.abs(p - y) / np.abs(y)), rel=1e-12)
    assert metrics.mdape(ours, gold).value == pytest.approx(100 * np.median(np.abs(p - y) / np.abs(y)), rel=1e-12)
    assert metrics.r2(ours, gold).value == pytest.approx(r2_score(y, p), rel=1e-9)
    logs = np.abs(np.log10(np.abs(p)) - np.log10(np.abs(y)))
    assert metrics.log_mae(ours, gold).value == pytest.approx(logs.mean(), rel=1e-12)
    shares = np.abs(p - y) / (np.abs(p) + np.abs(y) + 1e-100)
    assert metrics.smape(ours, gold).value == pytest.approx(shares.mean(), rel=1e-12)
    digits = np.minimum(1, -np.log10(shares + 1e-100) / 15)
    assert metrics.log_smape(ours, gold).value == pytest.approx(digits.mean(), rel=1e-12)


def test_errors_match_manual_calculation() -> None:
    ours, gold = [1.0, -2.0, 30.0, 0.0, 5.0], [2.0, 2.0, 300.0, 0.0, 0.0]
    # errors 1, 4, 270, 0, 5; of gold that is not 0: 50 %, 200 %, 90 %
    assert metrics.rmse(ours, gold).value == pytest.approx(math.sqrt((1 + 16 + 72900 + 0 + 25) / 5))
    assert metrics.mae(ours, gold).value == 56
    assert metrics.mdae(ours, gold).value == 4
    assert metrics.mape(ours, gold) == metrics.Score(pytest.approx(340 / 3), 3, skipped=2)
    assert metrics.mdape(ours, gold) == metrics.Score(90, 3, skipped=2)
    assert metrics.log_mae(ours, gold).value == pytest.approx((math.log10(2) + 0 + 1) / 3)
    assert metrics.exponent_accuracy(ours, gold).value == 3 / 5  # 0 for 0 is right, 5 for 0 and 30 for 300 are not
    assert metrics.sign_accuracy(ours, gold).value == 3 / 5
    assert metrics.smape(ours, gold).value == pytest.approx((1 / 3 + 1 + 270 / 330 + 0 + 1) / 5)
    # a prediction with all digits right scores 1, an error as large as the value 0
    assert metrics.log_smape(ours, gold).value == pytest.approx((math.log10(3) - math.log10(27 / 33) + 15) / 75)


def test_adjusted_r2_matches_manual_calculation() -> None:
    gold, ours = [1.0, 2.0, 3.0, 4.0, 5.0], [1.0, 2.0, 3.0, 4.0, 6.0]
    assert metrics.r2(ours, gold).value == pytest.approx(0.9)
    assert metrics.adjusted_r2(ours, gold, predictors=2).value == pytest.approx(1 - 0.1 * 4 / 2)
    assert math.isnan(metrics.adjusted_r2(ours, gold, predictors=4).value)
    with pytest.raises(ValueError, match="predictors=-1"):
        metrics.adjusted_r2(ours, gold, predictors=-1)


@pytest.mark.parametrize("name", BY_NAME)
def test_no_examples_give_nan(name: str) -> None:
    for nothing in ([], torch.zeros(0)):
        score = BY_NAME[name](nothing, nothing)
        assert math.isnan(score.value)
        assert score.count == 0


@pytest.mark.parametrize("name", BY_NAME)
def test_non_finite_predictions_are_counted(name: str) -> None:
    gold = [1.0, 2.0, 4.0, NAN, 8.0, INF]
    score = BY_NAME[name]([1.0, NAN, 3.0, 5.0, INF, 1.0], gold)
    assert (score.skipped, score.non_finite) == (2, 2)
    clean = BY_NAME[name]([1.0, 3.0], [1.0, 4.0])
    worst = {"mdae": INF, "mdape": INF, "smape": (0 + 1 / 7 + 2) / 4, "log_smape": None}
    if name in ("exponent_accuracy", "sign_accuracy"):
        assert score.value == 0.5
    elif worst.get(name) is not None:
        assert score.value == pytest.approx(worst[name])
    elif name == "log_smape":
        assert score.value == pytest.approx(clean.value / 2)
    else:
        assert score.value == pytest.approx(clean.value)  # means leave them out


def test_medians_stay_finite_with_few_non_finite_predictions() -> None:
    assert metrics.mdae([1.0, 2.0, NAN], [2.0, 4.0, 1.0]).value == 2
    assert metrics.mdape([1.0, 3.0, -INF], [2.0, 4.0, 1.0]).value == 50


def test_no_overflow_and_no_underflow() -> None:
    assert metrics.rmse([3e200, 4e200], [0.0, 0.0]).value == pytest.approx(5e200 / math.sqrt(2))
    assert metrics.rmse([3e-200, 4e-200], [0.0, 0.0]).value == pytest.approx(5e-200 / math.sqrt(2))
    assert metrics.mae([LARGEST, LARGEST], [0.0, 0.0]).value == LARGEST
    assert metrics.mdae([LARGEST, LARGEST], [0.0, 0.0]).value == LARGEST
    assert metrics.mae([LARGEST], [-LARGEST]).value == INF
    assert metrics.smape([LARGEST], [-LARGEST]).value == 1
    assert metrics.smape([1e308], [1.5e308]).value == pytest.approx(0.2)
    assert metrics.smape([1e-300], [3e-300]).value == pytest.approx(2e-200)  # far below the constant 1e-100
    assert metrics.r2([1e300, 2e300, 4e300], [1e300, 2e300, 3e300]).value == pytest.approx(0.5)
    assert metrics.log_mae([5e-324], [LARGEST]).value == pytest.approx(631.561, abs=1e-3)


EXTREMES = (0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 5e-324, -1e-300, 1e-100, 0.1, 10.0, 2.0**53, -1e22, 1e300, -LARGEST)


@pytest.mark.parametrize("name", BY_NAME)
def test_extreme_values_are_all_counted(name: str) -> None:
    for turn in range(len(EXTREMES)):
        ours = EXTREMES[turn:] + EXTREMES[:turn]
        score = BY_NAME[name](ours, EXTREMES)
        zeros = 2 if name in ("mape", "mdape", "log_mae") else 0
        assert score.skipped == 3 + zeros
        means = name in ("rmse", "mae", "mape", "log_mae", "r2")
        assert score.count + score.skipped + (score.non_finite if means else 0) == len(EXTREMES)
        if name in ("exponent_accuracy", "sign_accuracy", "smape", "log_smape"):
            assert 0 <= score.value <= 1
        else:
            assert not math.isnan(score.value)
        for one, other in zip(ours, EXTREMES, strict=True):
            alone = BY_NAME[name]([one], [other])
            assert alone.count + alone.skipped + (alone.non_finite if means else 0) == 1


def test_r2_of_constant_gold_values_is_nan() -> None:
    assert math.isnan(metrics.r2([0.1, 0.2, 0.3], [0.1, 0.1, 0.1]).value)
    assert math.isnan(metrics.r2([1.0], [1.0]).value)


def test_order_of_magnitude_is_exact() -> None:
    powers = [float(f"1e{power}") for power in range(-323, 309)]
    below = torch.nextafter(torch.tensor(powers, dtype=torch.float64), torch.tensor(-1.0, dtype=torch.float64))
    above = torch.nextafter(torch.tensor(powers, dtype=torch.float64), torch.tensor(INF, dtype=torch.float64))
    ends = torch.tensor([*powers, LARGEST, 5e-324], dtype=torch.float64)
    values = torch.cat([ends, below[1:], above])
    # The order of the shortest decimal: 1e-320 is not exact in binary, but its order is -320.
    expected = [Decimal(repr(value)).adjusted() for value in values.tolist()]
    assert metrics.order_of_magnitude(values).tolist() == expected
    assert metrics.order_of_magnitude(-values).tolist() == expected
    special = torch.tensor([0.0, -0.0, NAN, INF], dtype=torch.float64)
    assert metrics.order_of_magnitude(special).tolist() == [-400, -400, 400, 400]


def test_input_types_and_shape_errors() -> None:
    assert metrics.mae(torch.tensor([1, 2]), torch.tensor([1.5, 2.0], dtype=torch.bfloat16)).value == 0.25
    assert metrics.mae([0.1], [0.2]).value == 0.1  # lists are float64, not float32
    weights = torch.ones(2, requires_grad=True)
    assert metrics.mae(weights, [1.0, 3.0]).value == 1
    with pytest.raises(ValueError, match="equally many, got 1 and 2"):
        metrics.mae([1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match=r"must have 1 dimension, got \(1, 2\)"):
        metrics.mae([[1.0, 2.0]], [1.0, 2.0])


def test_right_digit_shares_are_the_terms_of_log_smape() -> None:
    ours, gold = [1.0, 1.001, NAN, 5.0], [1.0, 1.0, 2.0, NAN]
    shares = metrics.right_digit_shares(ours, gold)
    assert shares.isnan().tolist() == [False, False, False, True]
    assert float(shares[:3].mean()) == pytest.approx(metrics.log_smape(ours, gold).value)


def test_score_as_text_and_json() -> None:
    score = metrics.mape([1.0, NAN, 1.0], [2.0, 1.0, 0.0])
    assert str(score) == "50 (n=1, 1 skipped, 1 not finite)"
    assert float(score) == score.value
    assert metrics.mae([], []).to_dict() == {"value": None, "count": 0, "skipped": 0, "non_finite": 0}


def test_errors_near_the_largest_float() -> None:
    assert metrics.mae([LARGEST, 0.0], [-LARGEST, 0.0]).value == LARGEST
    assert metrics.mae([LARGEST, LARGEST], [0.0, 0.0]).value == LARGEST
    assert metrics.mae([LARGEST], [-LARGEST]).value == INF, "the error itself is too large for a float"
    assert metrics.rmse([LARGEST] + [0.0] * 3, [-LARGEST] + [0.0] * 3).value == LARGEST
    assert metrics.rmse([LARGEST] * 3, [0.0] * 3).value == LARGEST
    assert metrics.rmse([5e-324], [0.0]).value == metrics.mae([5e-324], [0.0]).value == 5e-324


def test_columns_of_a_table() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"ours": [1.0, 2.0], "gold": [1, 4]}, index=[7, 3])
    assert metrics.mae(table["ours"], table["gold"]).value == 1.0
    assert metrics.mae(table["ours"].to_list(), np.array([1, 4])).value == 1.0


@pytest.mark.parametrize("wrong", ["twelve", None, 1j, [2.0]])
def test_what_is_no_number_is_quoted(wrong: Any) -> None:
    with pytest.raises(ValueError, match=f"predictions must be numbers, got .*{wrong!r}".replace("[", r"\[")):
        metrics.rmse([1.0, wrong], [1.0, 2.0])
