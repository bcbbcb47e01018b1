"""The contract of all registered heads; a new head is tested as soon as it is registered."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
from torch.autograd import gradcheck

from numerate.config import ConfigError
from numerate.heads.base import Head, NumberDistribution
from numerate.heads.combination import CombinationDistribution
from numerate.heads.digit_rnn import DigitDistribution
from numerate.heads.distribution import DistributionError, from_order, to_order
from numerate.heads.enumerated import EnumeratedDistribution, StringDistribution
from numerate.heads.number_strings import strings_of_texts
from numerate.processing.number_table import PADDING
from numerate.registry import heads

from .examples import DIM, EXTREMES, FINITE, fresh, states, table, unwritten_table

ROWS = 5
MEMBERS = (
    {"kind": "h-softmax-rnn", "size": 20},
    {"kind": "digit-rnn", "samples": 24},
    {"kind": "mog", "granularities": 4},
)
OPTIONS: dict[str, dict[str, Any]] = {
    "mog": {"granularities": 4},
    "combination": {"members": MEMBERS},
    "digit-rnn": {"samples": 48},
    **{name: {"size": 20} for name in ("softmax", "softmax-rnn", "h-softmax", "h-softmax-rnn")},
}
"""Options that keep the tests short; all other heads are built with their defaults."""
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "mixture as written": ("mixture", {"written": True}),
    "combination that copies": ("combination", {"members": MEMBERS[2:], "copies": True}),
    "combination of values": ("combination", {"members": ({"kind": "mixture"}, {"kind": "scalar"})}),
}
"""Heads with options that change the class of their distributions."""
VALUES = torch.tensor([3.0, -2.5, 0.0, 1500.0, 0.04], dtype=torch.float64)


def build(case: str) -> Head:
    name, options = VARIANTS.get(case, (case, OPTIONS.get(case, {})))
    return fresh(name, **options)


@pytest.fixture(params=[*heads.names(), *VARIANTS])
def head(request: pytest.FixtureRequest) -> Head:
    return build(request.param)


@pytest.fixture
def distribution(head: Head) -> NumberDistribution:
    with torch.no_grad():
        return head(states(ROWS))


def below(values: torch.Tensor) -> torch.Tensor:
    """The next smaller float64; below 0 comes the smallest negative one, not -0."""
    return torch.nextafter(values, torch.tensor(-math.inf, dtype=torch.float64))


def test_package_exports_its_registry() -> None:
    import numerate
    import numerate.heads.base

    assert numerate.heads.names() == heads.names()
    assert numerate.heads.registry["scalar"] is heads["scalar"]


def test_config_and_class(head: Head) -> None:
    assert heads[head.config.kind] is type(head)
    assert type(head).__doc__ and "Shape: " in type(head).__doc__
    assert head.is_written == head(states(1)).is_written
    text = head.config.to_json()
    again = type(head).Config.from_json(text)
    assert again == head.config and again.to_json() == text
    rebuilt = type(head).build(DIM, **json.loads(text))
    assert {k: v.shape for k, v in rebuilt.state_dict().items()} == {k: v.shape for k, v in head.state_dict().items()}
    with torch.device("meta"):  # shapes can be computed without memory
        type(head)(DIM, head.config)
    with pytest.raises(ConfigError, match="dim must be at least 1, got 0"):
        type(head).build(0)
    with pytest.raises(ConfigError, match="unknown key 'no_such_option'"):
        type(head).build(DIM, no_such_option=1)


def test_shapes(head: Head, distribution: NumberDistribution) -> None:
    assert len(distribution) == ROWS
    single = torch.linspace(-2, 9, ROWS, dtype=torch.float64)
    several = torch.linspace(-2, 9, ROWS * 3, dtype=torch.float64).reshape(ROWS, 3)
    for result in (
        distribution.log_prob(table(single)),
        distribution.log_mass(table(single)),
        distribution.cdf(single),
        distribution.quantile(0.3),
        distribution.quantile(torch.linspace(0.1, 0.9, ROWS)),
        distribution.mean(),
        distribution.median(),
        distribution.mode(),
    ):
        assert result.shape == (ROWS,) and result.dtype == torch.float64
    torch.testing.assert_close(distribution.cdf(several)[:, 1], distribution.cdf(several[:, 1].contiguous()))
    chances = torch.full((ROWS, 2), 0.25).double()
    torch.testing.assert_close(distribution.quantile(chances)[:, 0], distribution.quantile(0.25))
    assert distribution.sample(7).shape == (7, ROWS)
    loss = head.loss(states(ROWS), table(single))
    assert loss.shape == (ROWS,) and loss.dtype == torch.float32
    assert head.valid(table(single)).tolist() == [True] * ROWS
    assert head.clamped(table(single)).dtype == torch.bool
    none = head(states(ROWS)[:0])
    assert len(none) == 0 and none.sample(3).shape == (3, 0)
    assert none.log_prob(table([])).shape == none.mean().shape == none.quantile(0.5).shape == none.mode().shape == (0,)
    assert head.loss(states(ROWS)[:0], table([])).shape == (0,)


def test_rows(head: Head, distribution: NumberDistribution) -> None:
    """Rows can be selected, and do not depend on each other."""
    values = torch.tensor([0.5, 7.0, -3.0, 1987.0, 0.0], dtype=torch.float64)
    for index in (slice(1, 3), 2, -1, torch.tensor([4, 0]), torch.tensor([True, False] * 2 + [True])):
        some = distribution[index]
        rows = torch.arange(ROWS)[index].reshape(-1)
        assert len(some) == len(rows)
        torch.testing.assert_close(some.cdf(values[rows]), distribution.cdf(values)[rows])
        torch.testing.assert_close(some.log_prob(table(values[rows])), distribution.log_prob(table(values))[rows])
    with pytest.raises(IndexError, match=f"there are {ROWS} rows, got index {ROWS}"):
        distribution[ROWS]
    numbers, hidden = table(FINITE), states(len(FINITE))
    together = head(hidden).log_prob(numbers)
    alone = torch.cat([head(hidden[k : k + 1]).log_prob(numbers[k : k + 1]) for k in range(0, len(numbers), 3)])
    torch.testing.assert_close(together[::3], alone, rtol=1e-4, atol=1e-4)


def test_cdf_and_quantile(distribution: NumberDistribution) -> None:
    """The cdf is monotone, the quantile its generalised inverse, and intervals are nested."""
    ends = torch.tensor([-math.inf, math.inf], dtype=torch.float64).expand(ROWS, 2)
    assert distribution.cdf(ends).tolist() == [[0.0, 1.0]] * ROWS
    around = distribution.quantile(torch.linspace(0.01, 0.99, 41, dtype=torch.float64).expand(ROWS, 41))
    fixed = torch.tensor(sorted(FINITE), dtype=torch.float64).expand(ROWS, -1)
    values = torch.cat([around, from_order(to_order(around) + 1), fixed], dim=1).sort(dim=1).values
    cdf = distribution.cdf(values)
    assert ((cdf >= 0) & (cdf <= 1)).all()
    assert (cdf.diff(dim=1) >= -1e-14).all()
    p = torch.tensor([1e-6, 0.01, 0.05, 0.2, 0.5, 0.731, 0.95, 0.999], dtype=torch.float64).expand(ROWS, -1)
    quantile = distribution.quantile(p)
    assert (quantile.diff(dim=1) >= 0).all()
    assert (distribution.cdf(quantile) >= p).all()
    assert (distribution.cdf(below(quantile)) < p + 1e-12).all()
    assert distribution.quantile(0.0).tolist() == [-math.inf] * ROWS
    (low, high), (lower, higher) = distribution.interval(0.5), distribution.interval(0.9)
    median = distribution.median()
    assert ((lower <= low) & (low <= median) & (median <= high) & (high <= higher)).all()
    with pytest.raises(DistributionError, match=r"p=1\.5"):
        distribution.quantile(1.5)
    with pytest.raises(DistributionError, match="level=1"):
        distribution.interval(1)
    for wrong in ("0.9", None):
        with pytest.raises(DistributionError, match=f"level={wrong!r}"):
            distribution.interval(wrong)  # type: ignore[arg-type]


def test_samples_agree_with_cdf(distribution: NumberDistribution) -> None:
    count = 10_000
    samples = distribution.sample(count, generator=torch.Generator().manual_seed(7))
    assert samples.isfinite().all()
    one, other = (distribution.sample(50, generator=torch.Generator().manual_seed(7)) for _ in range(2))
    assert torch.equal(one, other)
    for p in (0.02, 0.25, 0.5, 0.75, 0.98):
        at = distribution.quantile(p)
        expected = distribution.cdf(at)
        share = (samples <= at).double().mean(0)
        error = (expected * (1 - expected) / count).sqrt() + 1e-9
        assert ((share - expected).abs() / error).max() < 4.5


def test_mean_agrees_with_quantiles(distribution: NumberDistribution) -> None:
    """The mean is the integral of the quantile function over (0, 1); skipped where the tails dominate."""
    if isinstance(distribution, EnumeratedDistribution):  # exact for a step function
        shares = distribution.support().shares()
        at = distribution.quantile((shares.cumsum(1) - shares / 2).clamp(0, 1))
        at = at.masked_fill(shares == 0, 0.0)  # unused entries, of which the first have the quantile -inf
        torch.testing.assert_close(distribution.mean(), (at * shares).sum(1), rtol=1e-9, atol=0)
        return
    edges = 1 - torch.logspace(0, -9, 300, dtype=torch.float64)
    edges = torch.cat([1 - edges.flip(0), edges[1:]]).mul(0.5)
    edges = torch.cat([edges[: len(edges) // 2], 1 - edges[: len(edges) // 2].flip(0)])
    middles = (edges[1:] + edges[:-1]) / 2
    at = distribution.quantile(middles.expand(ROWS, -1))
    estimate = (at * edges.diff()).sum(1)
    spread = at.abs().mul(edges.diff()).sum(1)
    light = (at[:, [0, -1]].abs().amax(1) < 1e6 * spread) & (spread < 1e12)
    assert ((distribution.mean() - estimate).abs() <= 0.05 * spread)[light].all()
    assert distribution.mean().isfinite().all()


def test_log_prob_agrees_with_cdf(distribution: NumberDistribution) -> None:
    """A density integrates to differences of the cdf; a mass is a jump of the cdf."""
    if distribution.is_density:
        nodes, weights = (torch.from_numpy(part) for part in np.polynomial.legendre.leggauss(6))
        ends = distribution.quantile(torch.linspace(0.002, 0.998, 2500, dtype=torch.float64).expand(ROWS, -1))
        ends = torch.cat([ends, torch.zeros(ROWS, 1, dtype=torch.float64)], dim=1).sort(dim=1).values
        low, width = ends[:, :-1, None], ends.diff(dim=1)[..., None]
        at = (low + width * (nodes + 1) / 2).reshape(ROWS, -1)
        density = torch.stack([distribution[row].scores(unwritten_table(at[row]))[0] for row in range(ROWS)]).exp()
        pieces = (density.reshape(ROWS, -1, len(nodes)) * weights / 2 * width).sum(-1)
        zero = torch.zeros(ROWS, dtype=torch.float64)
        atom = distribution.cdf(zero) - distribution.cdf(zero - 5e-324)
        total = distribution.cdf(ends[:, -1].contiguous()) - distribution.cdf(ends[:, 0].contiguous())
        torch.testing.assert_close(pieces.sum(1) + atom, total, atol=2e-3, rtol=0)
        return
    if distribution.is_written and not isinstance(distribution, EnumeratedDistribution):
        assert (distribution.log_prob(table(VALUES)) <= distribution.log_mass(table(VALUES)) + 1e-12).all()
        return
    drawn = distribution.sample(40, generator=torch.Generator().manual_seed(3))
    for values in (distribution.mode(), distribution.median(), torch.zeros(ROWS).double(), *drawn):
        if isinstance(distribution, EnumeratedDistribution):
            support, before = distribution.support(), below(values)
            mass = torch.where(support.values == values[:, None], support.shares(), 0.0).sum(-1)
        else:
            mass, before = distribution.log_prob(table(values)).exp(), from_order(to_order(values + 0.0) - 1)
        torch.testing.assert_close(distribution.cdf(values) - distribution.cdf(before), mass, atol=1e-13, rtol=1e-6)


def test_masses(distribution: NumberDistribution) -> None:
    """`log_mass` is the probability of the rounding interval; enumerated masses and the unseen one sum to 1."""
    numbers = table(VALUES)
    mass = distribution.log_mass(numbers)
    if isinstance(distribution, EnumeratedDistribution):
        support, ones = distribution.support(), torch.ones(ROWS).double()
        torch.testing.assert_close(support.log_masses.exp().sum(-1) + distribution.unseen, ones)
        torch.testing.assert_close(support.shares().sum(-1), ones)
        assert (support.values.diff(dim=-1) >= 0).all() and support.values.isfinite().all()
        assert (mass >= distribution.log_prob(numbers) - 1e-12).all()
    if isinstance(distribution, StringDistribution):  # strings are not rounded
        torch.testing.assert_close(mass, distribution.log_prob(numbers))
    elif isinstance(distribution, CombinationDistribution):
        parts = [member.log_mass(numbers) for member in distribution.members]
        together = (distribution.log_weights + torch.stack(parts, dim=-1)).exp().sum(-1).log()
        torch.testing.assert_close(mass, together)
    elif not isinstance(distribution, EnumeratedDistribution):
        half = 0.5 * 10.0 ** numbers.precision.double()
        expected = distribution.cdf(VALUES + half) - distribution.cdf(VALUES - half)
        large = expected > 1e-8
        torch.testing.assert_close(mass.exp()[large], expected[large], rtol=1e-6, atol=0)
        assert (mass <= 1e-12).all()


def test_strings_of_a_digit_rnn_sum_to_one() -> None:
    """Strings of up to n symbols and the prefixes of all longer ones together have probability 1."""
    with torch.no_grad():
        distribution = fresh("digit-rnn")(states(2))
    assert isinstance(distribution, DigitDistribution)

    def total(texts: list[str], ended: bool) -> torch.Tensor:
        rows = distribution[torch.arange(2).repeat_interleave(len(texts))]
        log_masses = rows.log_prob_strings(strings_of_texts(texts).repeat(2, 1), ended=ended)
        return log_masses.exp().reshape(2, len(texts)).sum(1)

    complete, prefixes = torch.zeros(2).double(), [""]
    for _ in range(3):
        complete += total(prefixes, ended=True)
        prefixes = [text + char for text in prefixes for char in "0123456789-.e"]
        torch.testing.assert_close(complete + total(prefixes, ended=False), torch.ones(2).double(), rtol=1e-5, atol=0)


def test_gradcheck(head: Head) -> None:
    head.double()
    numbers = table([0.25, -3.75, 12.5, 0.0, 1987.0])
    names, weights = zip(*head.named_parameters(), strict=True)

    class Results(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.head = head

        def forward(self, hidden: torch.Tensor) -> tuple[torch.Tensor, ...]:
            distribution = head(hidden)
            return distribution.log_prob(numbers), distribution.log_mass(numbers), head.loss(hidden, numbers)

    module = Results()

    def run(hidden: torch.Tensor, *values: torch.Tensor) -> tuple[torch.Tensor, ...]:
        named = {f"head.{name}": value for name, value in zip(names, values, strict=True)}
        return torch.func.functional_call(module, named, (hidden,))

    inputs = (states(ROWS).double().requires_grad_(), *(weight.detach().requires_grad_() for weight in weights))
    assert gradcheck(run, inputs, fast_mode=True, rtol=1e-3)


@pytest.mark.parametrize("mode", ["fp32", "autocast bf16", "autocast fp16", "bf16"])
def test_extreme_values(head: Head, mode: str) -> None:
    """Losses, gradients and estimates are finite for extreme numbers and large hidden states."""
    if mode == "bf16":
        head = head.to(torch.bfloat16)
    kind = torch.float16 if "fp16" in mode else torch.bfloat16
    numbers = table(EXTREMES)
    finite = numbers.values().isfinite()
    for size in (1e3,) if "autocast" in mode else (2.0, 1e3):
        hidden = states(len(EXTREMES), size=size).to(next(head.parameters()).dtype).requires_grad_()
        with torch.autocast("cpu", dtype=kind, enabled="autocast" in mode):
            loss = head.loss(hidden, numbers)
            distribution = head(hidden)
            log_prob, log_mass = distribution.log_prob(numbers), distribution.log_mass(numbers)
        assert loss.dtype == torch.float32
        assert loss.isfinite().all() and (loss[~finite] == 0).all()
        for result in (log_prob, log_mass):
            assert not result.isnan().any()
            assert (result[finite] > -math.inf).all() and (result[~finite] == -math.inf).all()
        for result in (loss.mean(), (log_prob[finite] + log_mass[finite]).mean()):
            gradients = torch.autograd.grad(result, [hidden, *head.parameters()], retain_graph=True, allow_unused=True)
            assert all(gradient is None or gradient.isfinite().all() for gradient in gradients)
        assert not distribution.cdf(numbers.values())[~numbers.values().isnan()].isnan().any()
        for result in (distribution.mean(), distribution.mode(), distribution.median(), distribution.sample(20)):
            assert result.isfinite().all()


def test_low_precision(head: Head) -> None:
    """Autocast changes no result, and a round trip through bfloat16 changes no buffer."""
    numbers, hidden = table([0.5, 12.0, -7.25, 1987.0, 1e6]), states(ROWS)
    expected, means = head.loss(hidden, numbers), head(hidden).mean()
    for kind in (torch.bfloat16, torch.float16):
        with torch.autocast("cpu", dtype=kind):
            torch.testing.assert_close(head.loss(hidden, numbers), expected)
            torch.testing.assert_close(head(hidden).mean(), means)
    exact = {name: buffer.clone() for name, buffer in head.named_buffers()}
    head.to(torch.bfloat16).to(torch.float32)
    assert all(torch.equal(buffer, head.get_buffer(name)) for name, buffer in exact.items())


def test_loss_and_number_logit(head: Head) -> None:
    """Padding has loss 0, every weight gets a gradient, and `number_logit` has the shape of its arguments."""
    numbers = table([1.0, 2.0])
    padded = dataclasses.replace(numbers, given=torch.full_like(numbers.given, PADDING))
    assert head.loss(states(2), padded).tolist() == [0.0, 0.0]
    assert not head.valid(padded).any()
    head.loss(states(ROWS), table([0.5, 12.0, -7.25, 1987.0, 1e6])).mean().backward()
    assert [name for name, weight in head.named_parameters() if weight.grad is None] == []
    hidden, own, words = states(6).reshape(2, 3, DIM), torch.linspace(-2, 2, 6).reshape(2, 3), torch.full((2, 3), 9.0)
    logit = head.number_logit(hidden, own, words)
    assert logit.shape == (2, 3) and logit.dtype == torch.float32 and logit.isfinite().all()
    torch.testing.assert_close(head.number_logit(hidden[1, 2], own[1, 2], words[1, 2]), logit[1, 2])
    assert head.gates or torch.equal(logit, own)


def test_rank(distribution: NumberDistribution, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numerate.heads.distribution._CHUNK", 4 * ROWS)
    candidates = table([0.0, 0.5, 1.0, -1.0, 10.0, 1987.0, 12.25, -300.0, 1e6, 1e-3, math.nan])
    single = [candidates[k : k + 1].expand(ROWS) for k in range(len(candidates))]
    scores = torch.stack([distribution.log_prob(numbers) for numbers in single], 1)
    masses = torch.stack([distribution.log_mass(numbers) for numbers in single], 1)
    # A recurrent network runs in float32, with other batch shapes on the two sides.
    close = {"rtol": 1e-5, "atol": 1e-5} if isinstance(distribution, DigitDistribution) else {}
    for by_candidate, method in ((scores, "scores"), (masses, "mass_scores")):
        torch.testing.assert_close(getattr(distribution, method)(candidates), by_candidate, **close)
        torch.testing.assert_close(getattr(NumberDistribution, method)(distribution, candidates), by_candidate, **close)
    best, where = distribution.rank(candidates, 3)
    torch.testing.assert_close(best, scores.topk(3).values, **close)
    torch.testing.assert_close(scores.gather(1, where), best, **close)
    assert distribution.rank(candidates, 99)[1].shape == (ROWS, len(candidates))


def test_fit_and_state_dict(head: Head) -> None:
    """`fit` accepts any data and ignores padding; its result is saved and loaded."""
    for values in ([], [math.nan], [0.0], [5.0] * 100, list(EXTREMES)):
        head.fit(table(values))
        assert head.loss(states(len(EXTREMES)), table(EXTREMES)).isfinite().all(), values[:1]
    numbers = table([0.5, 12.0, -7.25, 1987.0, 1e6] * 4 + [0.0] * 60)
    head.fit(numbers[:20])
    wanted = {name: buffer.clone() for name, buffer in head.named_buffers()}
    head.fit(dataclasses.replace(numbers, given=numbers.given.index_fill(0, torch.arange(20, 80), PADDING)))
    assert all(torch.equal(buffer, wanted[name]) for name, buffer in head.named_buffers())
    torch.manual_seed(1)
    other = type(head)(DIM, head.config).eval()
    other.load_state_dict(safetensors.torch.load(safetensors.torch.save(head.state_dict())))
    numbers, hidden = table(FINITE), states(len(FINITE))
    torch.testing.assert_close(head(hidden).log_prob(numbers), other(hidden).log_prob(numbers))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="compares an accelerator with the CPU")
def test_accelerator_agrees_with_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)  # LSTMs would run with 10 bits of mantissa
    for case in [*heads.names(), *VARIANTS]:
        # Known differences: the digits that `mog` counts beyond 1e15 depend on how a device rounds powers of ten, and
        # the loss of `mixture` at the largest float64 overflows on CUDA.
        largest = 1e15 if "mog" in case or "combination" in case else 1e308
        values = [value for value in EXTREMES if abs(value) < largest]
        head, numbers, hidden = build(case), table(values), states(len(values))
        expected, loss = head(hidden).cdf(numbers.values()), head.loss(hidden, numbers)
        head.to("cuda")
        numbers, hidden = numbers.to("cuda"), hidden.to("cuda")
        there = head(hidden)
        torch.testing.assert_close(there.cdf(numbers.values()).cpu(), expected, rtol=1e-3, atol=1e-3, equal_nan=True)
        there_loss = head.loss(hidden, numbers).cpu()
        torch.testing.assert_close(
            there_loss, loss, rtol=1e-3, atol=1e-3, msg=lambda text, case=case: f"{case}: {text}"
        )
        estimates = (
            there.quantile(0.5),
            there.mode(),
            there.mean(),
            there.rank(numbers, 2)[0],
            there.log_mass(numbers),
        )
        assert {result.device.type for result in estimates} == {"cuda"}, case
        assert there.sample(3, torch.Generator("cuda").manual_seed(0)).device.type == "cuda", case
