"""Split conformal prediction: rates and intervals hold on new data, whatever the scores are."""

from __future__ import annotations

import numpy as np
import pytest

from numerate.metrics.conformal import LEVELS, conformal_rank, stretched, stretches, thresholds


@pytest.mark.parametrize("make", [np.random.Generator.standard_cauchy, np.random.Generator.standard_normal])
def test_a_threshold_is_exceeded_as_often_as_it_says(make: object) -> None:
    random = np.random.default_rng(0)
    levels, shares = (0.5, 0.1, 0.05), []
    for _ in range(200):
        held, new = make(random, 199), make(random, 500)  # type: ignore[operator]
        shares.append([(new > each).mean() for each in thresholds(held, levels)])
    # The mean over calibrations of the false-alarm rate is exactly the level: the rank is right, not just near.
    assert np.mean(shares, axis=0) == pytest.approx(levels, abs=0.008)


def test_levels_that_need_more_data_are_left_out() -> None:
    assert len(thresholds(np.arange(99.0), (0.5, 0.01, 0.001))) == 2 and conformal_rank(99, 0.99) == 99
    assert thresholds(np.arange(9.0), (1.0,)) == (0.0,)


def test_stretched_intervals_hold_what_they_say() -> None:
    random = np.random.default_rng(1)
    truth = random.standard_normal(4000) * 3  # the network says a standard deviation of 1
    sizes = np.array([0.6745, 1.2816, 1.6449, 1.96, 2.5758])
    ends, middle = np.tile(sizes, (4000, 1)), np.zeros(4000)
    factors = stretches(truth[:2000], middle[:2000], -ends[:2000], ends[:2000])
    assert factors is not None
    for at, level in enumerate(LEVELS):
        p, plain = ((1 - level) / 2, (1 + level) / 2), np.tile([-sizes[at], sizes[at]], (2000, 1))
        low, high = stretched(p, plain, middle[2000:], factors).T
        assert ((truth[2000:] >= low) & (truth[2000:] <= high)).mean() == pytest.approx(level, abs=0.03)
