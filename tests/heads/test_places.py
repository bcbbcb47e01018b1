"""`fourier-digits` and `bits`: against enumeration and the struct module."""

from __future__ import annotations

import itertools
import math
import struct

import mpmath
import pytest
import torch

from numerate.config import ConfigError
from numerate.heads.bit_probabilities import BitsDistribution, BitsHead
from numerate.heads.fourier_digits import ComplementDistribution, DigitsDistribution, FourierDigitsHead

from .examples import FINITE, f64, fresh, states, table


def small(rows: int = 3, complement: bool = False) -> DigitsDistribution:
    head = fresh("fourier-digits", integer_digits=2, fraction_digits=1, complement=complement)
    distribution = head(states(rows)[:, :12])
    assert isinstance(distribution, DigitsDistribution)
    return distribution


def enumerated(distribution: DigitsDistribution, row: int) -> dict[float, float]:
    """The probability of each value, by enumeration of all signs and digits."""
    result: dict[float, float] = {}
    plus = 1 / (1 + math.exp(-distribution.plus_logit[row].item()))
    chances = distribution.log_digits[row].exp().tolist()
    for sign, a, b, c in itertools.product((1, -1), range(10), range(10), range(10)):
        value = sign * float(f"{a}{b}.{c}") + 0.0
        if isinstance(distribution, ComplementDistribution):  # -0.1 is a minus sign and 99.9
            value = (100 * a + 10 * b + c - (1000 if sign < 0 else 0)) / 10
        chance = (plus if sign > 0 else 1 - plus) * chances[0][a] * chances[1][b] * chances[2][c]
        result[value] = result.get(value, 0.0) + chance
    return result


@pytest.mark.parametrize("complement", [False, True])
def test_digits_equal_enumeration(complement: bool) -> None:
    distribution = small(complement=complement)
    for row in range(3):
        masses = enumerated(distribution, row)
        values = sorted(masses)
        assert math.fsum(masses.values()) == pytest.approx(1.0)
        one = distribution[row]
        scores = one.scores(table(values))[0].exp()
        assert scores.tolist() == pytest.approx([masses[v] for v in values])
        cdf = one.cdf(f64([values]))[0]
        assert cdf.tolist() == pytest.approx(list(itertools.accumulate(masses[v] for v in values)))
        assert one.mean().item() == pytest.approx(math.fsum(v * m for v, m in masses.items()))
        assert one.mode().item() == max(values, key=masses.__getitem__)
        for p in (0.01, 0.3, 0.5, 0.9):
            smallest = next(v for v, total in zip(values, cdf.tolist(), strict=True) if total >= p)
            assert one.quantile(p).item() == smallest
        whole = table([7.0, -7.0, 0.0, 42.0, 98.0, -1.0, -99.0])
        for value, mass in zip(whole.values().tolist(), one.scores(whole)[0], strict=True):
            inside = math.fsum(m for v, m in masses.items() if value - 0.5 < v <= value + 0.5)
            assert one.log_mass(table([value])).exp().item() == pytest.approx(inside, rel=1e-9)
            assert mass.exp().item() == pytest.approx(masses[value])


@pytest.mark.parametrize(
    ("complement", "number", "digits"),
    [(False, -40.7, (4, 0, 7)), (True, -40.7, (5, 9, 3)), (True, -0.1, (9, 9, 9)), (False, 40.7, (4, 0, 7)),
     (True, 40.7, (4, 0, 7))],
)  # fmt: skip
def test_digit_scores_and_loss_follow_the_formula(
    complement: bool, number: float, digits: tuple[int, int, int]
) -> None:
    head = fresh("fone", integer_digits=2, fraction_digits=1, complement=complement)
    assert isinstance(head, FourierDigitsHead)
    outputs = head.layers(states(1))[0].tolist()
    loss = 0.0
    for place, digit in enumerate(digits):
        a, b = outputs[2 * place : 2 * place + 2]
        scores = [a * math.cos(2 * math.pi * j / 10) + b * math.sin(2 * math.pi * j / 10) for j in range(10)]
        loss += math.log(sum(map(math.exp, scores))) - scores[digit]
    sign = math.log1p(math.exp(outputs[6] if number < 0 else -outputs[6]))
    # The sign is one more place: it weighs as much as a digit, not as much as all of them.
    assert head.loss(states(1), table([number])).item() == pytest.approx((loss + sign) / 4, rel=1e-5)
    for weight in (1.0, 0.05):  # 1: as much as all three digits together
        own = fresh("fone", integer_digits=2, fraction_digits=1, complement=complement, sign_weight=weight)
        own.load_state_dict(head.state_dict())
        expected = (loss / 3 + weight * sign) / (1 + weight)
        assert own.loss(states(1), table([number])).item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("weight", [0.0, -1.0, math.inf])
def test_sign_weights_are_positive(weight: float) -> None:
    with pytest.raises(ConfigError, match=f"sign_weight.*{weight}"):
        fresh("fone", sign_weight=weight)


def test_sign_of_zero() -> None:
    for complement in (False, True):
        head = fresh("fone", integer_digits=2, fraction_digits=1, complement=complement)
        outputs = head.layers(states(1))[0].tolist()
        loss = math.log1p(math.exp(-outputs[6])) if complement else 0.0  # a complement has one zero, which is positive
        for a, b in zip(outputs[:6:2], outputs[1:6:2], strict=True):
            scores = [a * math.cos(2 * math.pi * j / 10) + b * math.sin(2 * math.pi * j / 10) for j in range(10)]
            loss += math.log(sum(map(math.exp, scores))) - scores[0]
        assert head.loss(states(1), table([0.0])).item() == pytest.approx(loss / 4, rel=1e-5)


def test_complements_of_extremes() -> None:
    distribution = small(complement=True)[0]
    cdf = distribution.cdf(f64([[-math.inf, -1e308, -100.1, -100.0, 99.9, 1e308, math.inf]]))[0]
    minus_digits = distribution.log_digits[0, :, 0].sum().exp() * distribution.plus_logit.neg().sigmoid()[0]
    assert cdf[:3].tolist() == [0.0] * 3 and cdf[4:].tolist() == pytest.approx([1.0] * 3)
    assert cdf[3].item() == pytest.approx(minus_digits.item())
    drawn = distribution.sample(200, generator=torch.Generator().manual_seed(0))
    assert bool((drawn.min() >= -100) & (drawn.max() <= 99.9)) and drawn.min() < 0 < drawn.max()


def test_digits_beyond_the_range_are_clamped() -> None:
    head = fresh("fourier-digits", integer_digits=2, fraction_digits=1)
    numbers = table([99.9, 99.94, 99.96, -1e308, math.nan])
    assert head.clamped(numbers).tolist() == [False, False, True, True, False]
    hidden = states(1).expand(3, -1)
    loss = head.loss(hidden, table([99.9, 99.96, 1e308]))
    assert loss.tolist() == pytest.approx([loss[0].item()] * 3)
    zero = head.loss(states(1), table([0.0])).item()
    assert zero == pytest.approx(head.loss(states(1), table([-0.04])).item())


@pytest.mark.parametrize("complement", [False, True])
def test_digits_are_memorised(complement: bool) -> None:
    head = fresh("fourier-digits", integer_digits=4, fraction_digits=2, complement=complement)
    hidden, values = states(6), f64([3.14, -1987.0, 0.0, 9999.99, 12.5, -0.01])
    optimizer = torch.optim.Adam(head.parameters(), lr=0.1)
    for _ in range(150):
        optimizer.zero_grad()
        head.loss(hidden, table(values)).mean().backward()
        optimizer.step()
    assert torch.equal(head(hidden).mode(), values)
    assert torch.equal(head(hidden).median(), values)


def test_weight_of_bits() -> None:
    head, heavy = fresh("bits"), fresh("bits", weight=10.0)
    numbers = table([3.0, -0.25])
    logits = head.layers(states(2)).double()
    for row, value in enumerate((3.0, -0.25)):
        pattern = f"{struct.unpack('>Q', struct.pack('>d', value))[0]:064b}"
        each = [
            math.log1p(math.exp(-x if bit == "1" else x)) for x, bit in zip(logits[row].tolist(), pattern, strict=True)
        ]
        assert head.loss(states(2), numbers)[row].item() == pytest.approx(math.fsum(each) / 64, rel=1e-5)
        assert heavy.loss(states(2), numbers)[row].item() == pytest.approx(10 * math.fsum(each) / 64, rel=1e-5)
    with pytest.raises(ConfigError, match="weight must be positive, got 0"):
        fresh("bits", weight=0.0)


def bits_for(values: list[float], logit: float = 4.0) -> BitsDistribution:
    rows = [f"{struct.unpack('>Q', struct.pack('>d', value))[0]:064b}" for value in values]
    return BitsDistribution(f64([[logit if bit == "1" else -logit for bit in row] for row in rows]))


def test_bits_decode_every_float() -> None:
    values = list(FINITE)
    distribution = bits_for(values)
    assert distribution.mode().tolist() == values
    assert bits_for(values, logit=60.0).median().tolist() == values
    assert bits_for(values, logit=60.0).sample(3).tolist() == [values] * 3
    assert distribution.log_prob(table(values)).exp().min() > 0.2


def test_bits_never_give_infinity_or_nan() -> None:
    distribution = bits_for([math.inf, -math.inf, math.nan], logit=3.0)
    assert distribution.mode().isfinite().all()
    assert distribution.sample(2000, torch.Generator().manual_seed(0)).isfinite().all()
    assert distribution.cdf(torch.full((3,), 1.7976931348623157e308, dtype=torch.float64)).tolist() == [1.0] * 3
    assert bits_for([math.inf], logit=1e6).log_prob(table([1.0])).isfinite().all()
    assert bits_for([math.inf], logit=1e6).sample(50).isfinite().all()


def test_bits_loss_follows_the_formula() -> None:
    head = fresh("bittokens")
    assert isinstance(head, BitsHead)
    logits = head.layers(states(1))[0].tolist()
    pattern = f"{struct.unpack('>Q', struct.pack('>d', -28.5))[0]:064b}"
    terms = [math.log1p(math.exp(-x if bit == "1" else x)) for x, bit in zip(logits, pattern, strict=True)]
    assert head.loss(states(1), table([-28.5])).item() == pytest.approx(sum(terms) / 64, rel=1e-5)
    log_prob = head(states(1)).log_prob(table([-28.5])).item()
    endless = math.prod(1 / (1 + math.exp(-x)) for x in logits[1:12])
    assert log_prob == pytest.approx(-sum(terms) - math.log1p(-endless), rel=1e-5)


def test_bits_mean_equals_mpmath() -> None:
    """Sum over all exponents; the fraction is independent of the exponent."""
    distribution = BitsDistribution(3 * torch.randn(1, 64, generator=torch.Generator().manual_seed(1)).double())
    ones = [mpmath.mpf(1) / (1 + mpmath.exp(-x)) for x in distribution.logits[0].tolist()]
    fraction = mpmath.fsum(p * mpmath.mpf(2) ** -k for k, p in enumerate(ones[12:], start=1))
    total, finite = mpmath.mpf(0), mpmath.mpf(0)
    for exponent in range(2047):
        chance = mpmath.fprod(p if exponent >> 10 - k & 1 else 1 - p for k, p in enumerate(ones[1:12]))
        size = mpmath.mpf(2) ** (max(exponent, 1) - 1023) * (fraction + (exponent > 0))
        total, finite = total + chance * size, finite + chance
    expected = (1 - 2 * ones[0]) * total / finite
    assert distribution.mean().item() == pytest.approx(float(expected), rel=1e-9)


def test_bits_cdf_equals_enumeration() -> None:
    """All bits except six are certain: 64 values."""
    generator = torch.Generator().manual_seed(0)
    distribution = bits_for([-13.3], logit=200.0)
    free = [0, 8, 9, 11, 12, 14]
    logits = distribution.logits.clone()
    logits[0, free] = torch.randn(6, generator=generator).double()
    distribution = BitsDistribution(logits)
    base = struct.unpack(">Q", struct.pack(">d", -13.3))[0]
    masses: dict[float, float] = {}
    for choice in itertools.product((0, 1), repeat=6):
        pattern, mass = base, 1.0
        for place, bit in zip(free, choice, strict=True):
            pattern = pattern & ~(1 << 63 - place) | bit << 63 - place
            mass /= 1 + math.exp(-logits[0, place].item() * (2 * bit - 1))
        masses[struct.unpack(">d", struct.pack(">Q", pattern))[0]] = mass
    values = sorted(masses)
    cdf = distribution.cdf(f64([values]))[0].tolist()
    assert cdf == pytest.approx(list(itertools.accumulate(masses[v] for v in values)))
    assert distribution.scores(table(values))[0].exp().tolist() == pytest.approx([masses[v] for v in values])
    for number in (-13.0, 13.0, 3.0, -0.8):
        numbers = table([number])
        half = 0.5 * 10.0 ** numbers.precision.item()
        inside = math.fsum(m for v, m in masses.items() if number - half < v <= number + half)
        if inside > 0:
            assert distribution.log_mass(numbers).exp().item() == pytest.approx(inside)


def test_bits_are_memorised() -> None:
    head = fresh("bits")
    hidden, values = states(6), f64([3.14, -1987.0, 0.0, 1e300, 5e-324, -0.1])
    optimizer = torch.optim.Adam(head.parameters(), lr=0.1)
    for _ in range(150):
        optimizer.zero_grad()
        head.loss(hidden, table(values)).mean().backward()
        optimizer.step()
    assert torch.equal(head(hidden).mode(), values)
