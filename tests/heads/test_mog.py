"""`mog`: against arbitrary-precision arithmetic, sums over written numbers, and a training run."""

from __future__ import annotations

import dataclasses
import math

import mpmath
import pytest
import torch

from numerate.config import ConfigError
from numerate.heads.mog import Components, MogDistribution, MogHead, log_product
from numerate.heads.precision import WrittenDistribution

from .examples import DIM, EXTREMES, f64, fresh, states, table

WEIGHTS, MEANS, SPREADS = [0.2, 0.5, 0.3], [-3.0, 4.0, 1987.0], [0.5, 1.5, 0.01]


def example(rows: int = 1) -> MogDistribution:
    return MogDistribution(f64([WEIGHTS] * rows).log(), Components(f64(MEANS), f64(SPREADS)))


def cdf_by_hand(x: mpmath.mpf) -> mpmath.mpf:
    parts = zip(WEIGHTS, MEANS, SPREADS, strict=True)
    return mpmath.fsum(mpmath.mpf(w) * mpmath.erfc((m - x) / s / mpmath.sqrt(2)) / 2 for w, m, s in parts)


def mog(seed: int = 0, **options: int) -> MogHead:
    head = fresh("mog", seed, **options)
    assert isinstance(head, MogHead)
    return head


@mpmath.workdps(400)
def test_density_and_mass_equal_mpmath() -> None:
    for value in (-30.25, 0.0, 4.05, 12.0, 30.0, 1986.9, 1987.0, 1987.35):
        numbers = table([value])
        x, half = mpmath.mpf(value), mpmath.mpf(10) ** int(numbers.precision[0]) / 2
        mass = mpmath.log(cdf_by_hand(x + half) - cdf_by_hand(x - half))
        density = mpmath.log(mpmath.diff(cdf_by_hand, x, h=mpmath.mpf(10) ** -50))
        assert example().cdf(numbers.values()).item() == pytest.approx(float(cdf_by_hand(x)), rel=1e-9, abs=1e-15)
        assert example().log_mass(numbers).item() == pytest.approx(float(mass), rel=1e-8)
        assert example().log_prob(numbers).item() == pytest.approx(float(density), rel=1e-9)


def test_probabilities_of_all_written_numbers_sum_to_one() -> None:
    """A grid of masses for each number of decimals, times p(decimals)."""
    head = mog(granularities=2)
    head.fit(table([3.0, 4.0, 5.5, 7.25, 20.0]))
    distribution = head(states(2))
    total = torch.zeros(2).double()
    for decimals in (0, 1, 2):
        steps = 10**decimals
        numbers = table(torch.arange(-60 * steps, 100 * steps + 1).double() / steps)
        numbers = dataclasses.replace(numbers, precision=torch.full_like(numbers.precision, -decimals))
        mass = distribution.mass_scores(numbers).exp().sum(-1)
        assert mass.tolist() == pytest.approx([1.0, 1.0], abs=1e-6)
        total += distribution.scores(numbers).exp().sum(-1)
    rest = 1 - distribution.log_decimals(2).exp().sum(-1)
    assert (total + rest).tolist() == pytest.approx([1.0, 1.0], abs=1e-6)


def test_log_prob_is_the_mass_times_the_probability_of_the_decimals() -> None:
    distribution, numbers = mog()(states(3)), table([0.25, 12.0, 1e5])
    assert isinstance(distribution, WrittenDistribution)
    decimals = distribution.log_decimals()[torch.arange(3), torch.tensor([2, 0, 0])]
    torch.testing.assert_close(distribution.log_prob(numbers), distribution.log_mass(numbers) + decimals)


def test_scores_equal_single_scores() -> None:
    head, candidates = mog(), table([*EXTREMES, 3.14, 1999.0, 12.5])
    head.fit(table([1.0, 2.0, 2.0, 3.5, 10.0, 1987.0, 2001.0, 1e6] * 5))
    for size in (1.0, 3000.0):  # with large states, some weights underflow in float64
        written = head(states(4, size=size))
        for distribution in (written, written.values):
            alone = [distribution.log_prob(candidates[k : k + 1].expand(4)) for k in range(len(candidates))]
            torch.testing.assert_close(distribution.scores(candidates), torch.stack(alone, 1), rtol=1e-9, atol=1e-9)


def test_log_product(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numerate.heads.mog._CHUNK", 20)
    generator = torch.Generator().manual_seed(0)
    weights = (400 * torch.randn(6, 5, generator=generator).double()).requires_grad_()
    rows = (400 * torch.randn(7, 5, generator=generator).double()).requires_grad_()
    direct = (weights[:, None] + rows).logsumexp(-1)
    torch.testing.assert_close(log_product(weights, rows), direct)
    found, expected = (torch.autograd.grad(x.sum(), (weights, rows)) for x in (log_product(weights, rows), direct))
    torch.testing.assert_close(found, expected)


def test_mean_mode_and_samples() -> None:
    distribution = example(2)
    assert distribution.mean().tolist() == pytest.approx([sum(w * m for w, m in zip(WEIGHTS, MEANS, strict=True))] * 2)
    assert distribution.mode().tolist() == pytest.approx([1987.0] * 2)
    wide = MogDistribution(f64([[0.5, 0.5]]).log(), Components(f64([1.0, 2.0]), f64([1.0, 1.0])))
    assert wide.mode().item() == pytest.approx(1.5, abs=1e-2)  # the maximum lies between two means
    samples = distribution.sample(50_000, torch.Generator().manual_seed(0))
    assert samples.mean(0).tolist() == pytest.approx(distribution.mean().tolist(), rel=0.03)


def test_weights_and_components() -> None:
    head = MogHead.build(50)
    assert head.layers.weight.shape == (255, 50)
    assert {name for name, _ in head.named_parameters()} == {
        *("layers.weight", "layers.bias", "decimals.symbols.weight", "decimals.more.weight", "decimals.more.bias"),
        *(f"decimals.cell.{kind}_{side}" for kind in ("weight", "bias") for side in ("ih", "hh")),
    }
    before = head.means.clone()
    head.fit(table([1.0, 2.0, 3.0]))
    assert not torch.equal(before, head.means)
    assert MogHead.build(50, decimals_width=8).decimals.cell.hidden_size == 8
    for name in ("granularities", "decimals_width"):
        with pytest.raises(ConfigError, match=f"mog config: {name} must .*, got 0"):
            MogHead.build(8, **{name: 0})


def test_fit_starts_with_the_distribution_of_the_numbers() -> None:
    generator = torch.Generator().manual_seed(0)
    values = (3 + torch.randn(3000, generator=generator).double()).exp().round()
    head = mog()
    head.fit(table(values))
    distribution = head(torch.zeros(1, DIM))
    for at in (5.5, 20.5, 100.5):
        expected = (values <= at).double().mean().item()
        assert distribution.cdf(f64([at])).item() == pytest.approx(expected, abs=0.05)


def test_gate() -> None:
    own, words = torch.tensor([1.0]), torch.tensor([5.0])
    assert MogHead.build(DIM).number_logit(states(1), own, words).tolist() == [6.0]
    assert MogHead.build(DIM, gate="logit").number_logit(states(1), own, words).tolist() == [1.0]


def test_unfitted_components_cover_all_magnitudes() -> None:
    distribution = mog()(torch.zeros(1, DIM))
    values = [sign * 10.0**k for k in range(-3, 9) for sign in (1, -1)]
    share = distribution.values.scores(table(values))[0] + f64(values).abs().log()
    assert share.exp().min() > 2e-3  # probability of a factor of e; there are about 57


def test_learns_values_and_decimals() -> None:
    """Years for one state; prices with two decimals for another."""
    generator = torch.Generator().manual_seed(0)
    kind = torch.randint(2, (1500,), generator=generator)
    years = (1950 + 15 * torch.randn(1500, generator=generator).double()).round()
    prices = ((2 + 0.7 * torch.randn(1500, generator=generator).double()).exp() * 100).round() / 100
    numbers = table(torch.where(kind == 0, years, prices))
    decimals = torch.where(kind == 0, 0, -2).to(torch.int16)
    numbers = dataclasses.replace(numbers, precision=decimals)
    hidden = torch.nn.functional.one_hot(kind, DIM).float() + 0.05 * states(1500)
    head = mog(granularities=6)
    head.fit(numbers[:1000])
    optimizer = torch.optim.Adam(head.parameters(), lr=3e-2)
    for _ in range(50):
        batch = torch.randint(1000, (200,), generator=generator)
        optimizer.zero_grad()
        head.loss(hidden[batch], numbers[batch]).mean().backward()
        optimizer.step()
    with torch.no_grad():
        loss, held = head.loss(hidden[1000:], numbers[1000:]), kind[1000:]
        distribution = head(hidden[1000:])
        # Entropies: a normal distribution of spread 15 in integers; a log-normal one in hundredths.
        assert loss[held == 0].mean().item() == pytest.approx(0.5 * math.log(2 * math.pi * math.e * 225), abs=0.25)
        best = 2 + 0.5 * math.log(2 * math.pi * math.e * 0.49) + math.log(100)
        assert loss[held == 1].mean().item() == pytest.approx(best, abs=0.35)
        assert ((distribution.median() - 1950).abs() < 8)[held == 0].double().mean() > 0.95
        assert distribution.log_decimals()[held == 1, 2].exp().min() > 0.9
