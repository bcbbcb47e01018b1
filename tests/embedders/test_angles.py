"""Trigonometric embedders: DICE, periodic and Time2Vec, FoNE, log-Fourier."""

from __future__ import annotations

import math
import random
import re

import pytest
import rtdl_num_embeddings
import torch

from numerate.config import ConfigError
from numerate.embedders.angles import DiceEmbedder, PeriodicEmbedder, Time2VecEmbedder
from numerate.embedders.fourier import FourierEmbedder, LogFourierEmbedder

from .examples import EXTREMES, table


def test_periodic_equals_rtdl() -> None:
    torch.manual_seed(0)
    for activation in (False, True):
        theirs = rtdl_num_embeddings.PeriodicEmbeddings(
            1, 7, n_frequencies=12, frequency_init_scale=0.5, activation=activation, lite=False
        )
        ours = PeriodicEmbedder.build(7, n_frequencies=12, sigma=0.5, activation=activation, scale="none")
        with torch.no_grad():
            ours.frequencies.copy_(theirs.periodic.weight[0])
            ours.linear.weight.copy_(theirs.linear.weight[0].T)
            ours.linear.bias.copy_(theirs.linear.bias[0])
        x = 3 * torch.randn(200)
        torch.testing.assert_close(ours(table(x.tolist())), theirs(x[:, None])[:, 0], atol=1e-5, rtol=1e-5)


def test_periodic_frequencies_are_truncated_at_three_sigma() -> None:
    assert PeriodicEmbedder.build(7, n_frequencies=5000, sigma=0.2).frequencies.abs().max() <= 0.6


def test_dice_point_follows_the_formula() -> None:
    point = DiceEmbedder.build(8).point(table([math.e**10 - 1e-7, 0.0, -3.0, 1e300]))
    for row, x in enumerate([10.0, -5.0, math.log(3 + 1e-7), 80.0]):
        angle = math.pi * x / 85
        expected = [math.sin(angle) ** d * math.cos(angle) for d in range(9)] + [math.sin(angle) ** 9]
        assert point[row].tolist() == pytest.approx(expected)
    assert point.norm(dim=-1).tolist() == pytest.approx([1.0] * 4)


def test_dice_option_unit() -> None:
    embedder = DiceEmbedder.build(8, size=2, mode="value", unit=False)
    angle = 1.2
    point = embedder.point(table([angle * 2e5 / math.pi]))[0]
    assert point.tolist() == pytest.approx([math.cos(angle), math.sin(angle) ** 2])
    unit = DiceEmbedder.build(8, size=2, mode="value").point(table([1e9, -1e9]))
    assert unit.flatten().tolist() == pytest.approx([0, 1, 0, -1])


def test_dice_cosine_is_that_of_the_angle_between_numbers() -> None:
    embedder = DiceEmbedder.build(8, size=2, mode="value")
    one, other = embedder.point(table([10000.0, 35000.0])) @ embedder.rotation.double().T
    assert torch.dot(one, other).item() == pytest.approx(math.cos(math.pi * 25000 / 2e5), abs=1e-6)


def test_dice_rotation_is_orthonormal_and_fixed() -> None:
    rotation = DiceEmbedder.build(8).rotation
    torch.testing.assert_close(rotation @ rotation.T, torch.eye(10), atol=1e-6, rtol=0)
    torch.manual_seed(99)
    assert torch.equal(rotation, DiceEmbedder.build(16).rotation)
    assert not torch.equal(rotation, DiceEmbedder.build(8, seed=1).rotation)


def test_dice_without_sign_drops_the_sign_as_in_luna() -> None:
    embedder = DiceEmbedder.build(8, sign=False)
    assert torch.equal(embedder(table([5.0])), embedder(table([-5.0])))
    assert embedder.project.in_features == 10


def test_time2vec_follows_the_formula() -> None:
    embedder = Time2VecEmbedder.build(5, scale="none")
    vector = embedder(table([2.5]))[0]
    plain = embedder.frequencies * 2.5 + embedder.phases
    torch.testing.assert_close(vector, torch.cat([plain[:1], plain[1:].sin()]))


def decode(features: torch.Tensor, n_digits: int) -> list[int]:
    """Digits from the last place up, decoded from the angles as FoNE's head does."""
    pairs = features[: 2 * n_digits].reshape(n_digits, 2)
    tens = 2 * math.pi * torch.arange(10, dtype=torch.float64) / 10
    digits, below = [], 0.0
    for cosine, sine in pairs:
        angle = (math.atan2(sine, cosine) - 2 * math.pi * below) % (2 * math.pi)
        scores = math.cos(angle) * tens.cos() + math.sin(angle) * tens.sin()
        digits.append(int(scores.argmax()))
        below = (below + digits[-1] / 10) / 10
    return digits


def test_fourier_features_encode_all_digits() -> None:
    embedder = FourierEmbedder.build(64)
    draw = random.Random(0)
    for _ in range(100):
        digits = "".join(draw.choices("0123456789", k=15))
        value = float(digits[:10] + "." + digits[10:])
        features = embedder.features(table([-value]))[0]
        assert decode(features, 15)[::-1] == [int(digit) for digit in digits]
        assert features[-3:].tolist() == [-1.0, 0.0, 0.0]


def test_fourier_zero_overflow_and_nan() -> None:
    embedder = FourierEmbedder.build(11, integer_digits=2, fraction_digits=2, map="pad")
    zero, minus_zero, over, infinity, nan, rounded, largest = embedder(
        table([0.0, -0.0, 100.0, -math.inf, math.nan, 99.996, 99.99])
    )
    assert torch.equal(zero, minus_zero)
    assert zero.tolist() == [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0]
    assert over[-3:].tolist() == [1, 1, 0] and infinity[-3:].tolist() == [-1, 1, 0]
    assert nan.tolist() == [0] * 10 + [1]
    assert torch.equal(rounded, over)
    assert torch.equal(largest[:9], over[:9]) and largest[-2] == 0


def test_fourier_sum_is_a_complex_product() -> None:
    embedder = FourierEmbedder.build(64)
    pairs = embedder.features(table([123.25, 999.5, 1122.75]))[:, :30].reshape(3, 15, 2)
    a, b, c = torch.complex(pairs[..., 0], pairs[..., 1])
    torch.testing.assert_close(a * b, c)


def test_log_fourier_features_and_flags() -> None:
    embedder = LogFourierEmbedder.build(8, n_frequencies=2, longest=4.0, shortest=1.0)
    features = embedder.features(table([10.0, -0.5, 0.0, -0.0, math.nan, math.inf, 1e-95, 1e-101]))
    by_row = dict(zip(("ten", "half", "zero", "minus", "nan", "inf", "faded", "gone"), features.tolist(), strict=True))
    assert by_row["ten"] == pytest.approx([0, 1, 1, 0, 1, 1, 0, 0, 0, 0], abs=1e-12)
    assert by_row["half"][4:] == [-1, 0, 0, 0, 0, 0]
    assert by_row["zero"] == by_row["minus"] == by_row["gone"] == [0, 0, 0, 0, 0, 0, 1, 0, 0, 0]
    assert by_row["nan"] == [0, 0, 0, 0, 0, 0, 0, 1, 0, 0]
    assert by_row["inf"][4:] == [1, 1, 0, 0, 1, 0]
    assert by_row["faded"][4:] == pytest.approx([0.5, 0, 0.5, 0, 0, 0])

    assert LogFourierEmbedder.build(8).features(table(EXTREMES)).abs().max() <= 1


def test_invalid_options_are_quoted() -> None:
    for build, message in (
        (lambda: DiceEmbedder.build(8, size=1), "dice config: size must be at least 2, got 1"),
        (lambda: FourierEmbedder.build(8, fraction_digits=10), "integer_digits=10, fraction_digits=10"),
        (lambda: FourierEmbedder.build(32, map="pad"), "dim must be at least 33, got 32"),
        (lambda: PeriodicEmbedder.build(8, sigma=0), "sigma must be positive, got 0.0"),
        (lambda: LogFourierEmbedder.build(8, fade=0), "fade must be positive, got 0.0"),
        (lambda: LogFourierEmbedder.build(8, shortest=2, longest=1), "longest, got shortest=2.0, longest=1.0"),
    ):
        with pytest.raises(ConfigError, match=re.escape(message)):
            build()
