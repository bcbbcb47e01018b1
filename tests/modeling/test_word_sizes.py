"""Sizes of a user's numbers by word: counts by hand, the share by a search, and what a calibration makes of them."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest
import torch
from judging_models import facts, judging_model

import numerate
from numerate.apps.calibrating import calibrate
from numerate.apps.plausible import judgements
from numerate.apps.plausible_scores import scores_of
from numerate.config import ConfigError
from numerate.modeling.number_calibration import NumberCalibration
from numerate.modeling.plausibility import hidden_numbers
from numerate.modeling.word_sizes import MAX_WORDS, WordSizes, quantiles_with_sizes, word_of

TEXTS = [
    "It fell 300 points.",
    "It rose 310 points.",
    "It rose -250 points.",
    "It has 4 sides.",
    "It has 5 sides.",
    "7.",
]


def sizes_of(texts: list[str]) -> WordSizes:
    return WordSizes.of((each, word_of(each, text)) for text in texts for each in numerate.find(text))


def test_densities_are_those_of_the_counts_by_hand() -> None:
    sizes = sizes_of(TEXTS)
    assert set(sizes.counts) == {"", "points", "sides"}  # a word that stands once is none
    assert sizes.counts["points"] == {"12": 2.0, "n11": 1.0} and sum(sizes.counts[""].values()) == 6
    width, cells = math.log(10) / 5, 2 * 5 * 24
    general = (2 / 2 + 10 / cells) / (6 + 10)  # a half of each count is spread over the bins beside it
    expected = math.log((2 / 2 + 10 * general) / (3 + 10) / width)
    assert sizes.log_sizes(["points"], np.array([300.0]))[0] == pytest.approx(expected)
    general = (1 / 2 + 10 / cells) / (5 + 10)
    expected = math.log((1 / 2 + 10 * general) / (2 + 10) / width)
    assert sizes.log_sizes(["points"], np.array([300.0]), left_out=1.0)[0] == pytest.approx(expected)
    unknown = math.log((2 / 2 + 10 / cells) / (6 + 10) / width)
    assert sizes.log_sizes(["unheard"], np.array([300.0]))[0] == pytest.approx(unknown)
    beside = math.log((2 / 4 + 10 * (2 / 4 + 10 / cells) / (6 + 10)) / (3 + 10) / width)
    assert sizes.log_sizes(["points"], np.array([450.0]))[0] == pytest.approx(beside)


def test_densities_integrate_to_one() -> None:
    sizes = sizes_of(TEXTS)
    middles = 10.0 ** ((np.arange(-40, 80) + 0.5) / 5)
    for word in ("points", "", "unheard"):
        density = np.exp(sizes.log_sizes([word] * 240, np.concatenate([middles, -middles])))
        assert (density * math.log(10) / 5).sum() == pytest.approx(1, abs=1e-9)
        edges = 10.0 ** (np.arange(-40, 80) / 5)
        below = np.cumsum(np.exp(sizes.log_sizes([word] * 240, np.concatenate([-middles[::-1], middles]))))
        expected = np.concatenate([[0.0], below * math.log(10) / 5])[120:-1]
        assert sizes.below([word], edges[None])[0] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("offset", [-6.0, 0.0, 6.0])
def test_the_share_is_the_most_probable_one(offset: float) -> None:
    """Against a search over shares, with ten numbers that speak for the model."""
    rng = np.random.default_rng(0)
    texts = [f"It rose {rng.integers(200, 400)} points." for _ in range(150)]
    words, values = ["points"] * 150, np.array([numerate.find(text)[0].written for text in texts])
    sizes = sizes_of(texts)
    logs = rng.normal(sizes.log_sizes(words, values, 1.0).mean() + offset, 2.0, 150)
    other = sizes.log_sizes(words, values, left_out=1.0)
    shares = np.linspace(1e-6, 0.8, 20_001)[:, None]
    likelihood = np.log(shares * np.exp(other) + (1 - shares) * np.exp(logs)).sum(1) + 10 * np.log1p(-shares[:, 0])
    best = shares[int(likelihood.argmax()), 0]
    assert sizes.fitted(words, values, logs).share == pytest.approx(best, abs=2e-3)


def test_what_a_number_counts_or_measures() -> None:
    text = "In 1998, $3.5 million went to 12\u00a0Men: 40 %, area: 1,500; 5 kg-packs, the 3rd, 88"
    found = [word_of(each, text) for each in numerate.find(text)]
    assert found == ["< in", "million USD", "men", "%", "< area", "kg", "rd", "< rd"]
    assert word_of(numerate.find("7")[0], "7") == "<"


def test_counts_are_limited_and_broken_ones_refused() -> None:
    words = ["".join(each) for each in itertools.product("abcdefghijklmno", repeat=3)]
    texts = [f"{value} {word}" for word in words[: MAX_WORDS + 50] for value in (3, 4)]
    sizes = sizes_of(texts)
    assert len(sizes.counts) == MAX_WORDS + 1
    assert WordSizes.from_dict(sizes.to_dict()) == sizes
    for broken in ({"counts": {"a": {"x": 1.0}}}, {"counts": {"a": {"3": -1.0}}}, {"share": 1.0}):
        with pytest.raises(ConfigError, match=r"expected a bin|share must lie"):
            WordSizes(**broken)  # type: ignore[arg-type]


def test_a_calibration_to_foreign_texts_learns_their_sizes() -> None:
    model, rng = judging_model(), np.random.default_rng(1)
    foreign = [f"The index closed at {value:,} points." for value in rng.integers(26_000, 29_000, 80)]
    known = calibrate(model, facts(200, seed=5))
    assert known.sizes is None  # the model knows them better
    texts = ["The index closed at 27,813 points.", "The index closed at 278 points."]
    evidence = []
    for calibration in (known, calibrate(model, foreign)):
        (hidden,) = hidden_numbers(model, texts)
        scores = scores_of(hidden, calibration.forms, sizes=calibration.sizes)[0]["odds"][np.argsort(hidden.rows)]
        evidence.append(scores[1] - scores[0])
    assert model.calibration is not None and model.calibration.sizes is not None
    assert model.calibration.sizes.share > 0.5 and evidence[1] > evidence[0] + 5
    # The interval and what was probably meant know the sizes, too.
    judged = judgements(model, texts)[1]
    assert judged.interval[1] > 20_000 and judged.slips[0][0].written == 27_800
    again = NumberCalibration.from_dict(model.calibration.to_dict())
    assert again == model.calibration
    p = again.p_values("odds", ["plain", "plain"], scores)
    assert p[0] > 0.05 >= p[1]


def test_quantiles_are_those_of_the_mixture() -> None:
    model, texts = judging_model(), ["The tower is 30 metres tall.", "The index closed at 27,813 points."]
    (hidden,) = hidden_numbers(model, texts)
    sizes = dataclasses.replace(sizes_of(TEXTS), share=0.4)
    p, scales = [0.5, 0.05, 0.95], np.array([1.0, 1e-3])
    found = quantiles_with_sizes(hidden.numbers, sizes, ["points", "unheard"], scales, p)
    ours = hidden.numbers.cdf(torch.from_numpy(found / scales[:, None])).double().numpy()
    assert 0.6 * ours + 0.4 * sizes.below(["points", "unheard"], found) == pytest.approx(np.array([p] * 2), abs=1e-6)
