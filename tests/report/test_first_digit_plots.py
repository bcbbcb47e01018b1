"""First digits of numbers (from decimals), of the digit-RNN (from probabilities) and of other heads (from samples)."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest
import torch
from heads.examples import FINITE, SEEN, fresh, states, table

from numerate.heads.number_strings import strings_of_texts
from numerate.report import benford, first_digit_shares, first_digits


def counted(values: list[float]) -> list[float]:
    digits = [Decimal(repr(abs(value))).as_tuple().digits for value in values if math.isfinite(value) and value]
    firsts = [next(d for d in row if d) for row in digits]
    return [firsts.count(d) / len(firsts) for d in range(1, 10)]


def test_shares_of_values() -> None:
    for values in [FINITE, SEEN, (0.3, 0.1 + 0.2, 1e23, 9.999999999999999e22), range(1, 1000)]:
        expected = pytest.approx(counted([float(v) for v in values]))
        assert first_digit_shares([*values, 0.0, math.nan, math.inf]).tolist() == expected, values
        assert first_digit_shares(table(values)).tolist() == expected, values
        assert first_digit_shares(np.array(values, dtype=float)).tolist() == expected, values  # type: ignore[arg-type]


def test_powers_of_two_follow_benford() -> None:
    assert float(benford().sum()) == pytest.approx(1.0)
    powers = [float(2**k) for k in range(1000)]
    assert float((first_digit_shares(powers) - benford()).abs().max()) < 0.003


def test_shares_of_the_digit_rnn() -> None:
    with torch.no_grad():
        distribution = fresh("digit-rnn")(states(4))
        weights = torch.zeros(9, dtype=torch.float64)
        for row in range(4):
            for digit in range(1, 10):
                for text in (f"{digit}", f"-{digit}"):  # all numbers that start so
                    weights[digit - 1] += (
                        distribution[row].log_prob_strings(strings_of_texts([text]), ended=False).exp()[0]
                    )
    assert first_digit_shares(distribution).tolist() == pytest.approx((weights / weights.sum()).tolist(), rel=1e-5)


def test_shares_of_other_heads_from_samples() -> None:
    distribution = fresh("mixture")(states(5))
    shares = first_digit_shares(distribution, samples=500, seed=3)
    drawn = distribution.sample(500, torch.Generator().manual_seed(3)).flatten().tolist()
    assert shares.tolist() == pytest.approx(counted(drawn))
    assert torch.equal(shares, first_digit_shares(distribution, samples=500, seed=3))
    assert not torch.equal(shares, first_digit_shares(distribution, samples=500, seed=4))


def test_source_without_digits() -> None:
    with pytest.raises(ValueError, match="must have a number other than 0, NaN and infinity"):
        first_digit_shares([0.0, math.nan])
    with pytest.raises(ValueError, match="samples=0"):
        first_digit_shares(fresh("mixture")(states(1)), samples=0)


def test_figure() -> None:
    shares = {"data": torch.full((9,), 1 / 9), "d-RNN": benford()}
    axes = first_digits(shares, "First digits").axes[0]
    assert [line.get_label() for line in axes.lines] == ["Benford", "data", "d-RNN"]
    np.testing.assert_allclose(axes.lines[0].get_ydata(), [math.log10((d + 1) / d) for d in range(1, 10)])
    np.testing.assert_allclose(axes.lines[1].get_ydata(), [1 / 9] * 9, rtol=1e-6)
    assert np.asarray(axes.lines[2].get_xdata()).tolist() == list(range(1, 10))
    assert axes.get_xlabel() == "first significant digit"
    with pytest.raises(ValueError, match=r"shares of 'x' must be 9 values with sum 1, got \[0.5\]"):
        first_digits({"x": [0.5]})
