"""What every registered head keeps to; a new one is tested as soon as it is registered."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import pytest
import safetensors.torch
import torch
from torch.autograd import gradcheck

from numerate.heads.base import Head, NumberDistribution
from numerate.heads.combination import CombinationDistribution
from numerate.heads.digit_rnn import DigitDistribution
from numerate.heads.distribution import from_order, to_order
from numerate.heads.enumerated import EnumeratedDistribution, StringDistribution
from numerate.heads.number_strings import strings_of_texts
from numerate.processing.number_table import PADDING
from numerate.registry import heads

from .examples import DIM, EXTREMES, FINITE, fresh, states, table

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
"""Options that keep the tests short; a head that is not named here is built with its defaults."""
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "mixture as written": ("mixture", {"written": True}),
    "combination that copies": ("combination", {"members": MEMBERS[2:], "copies": True}),
    "combination of values": ("combination", {"members": ({"kind": "mixture"}, {"kind": "scalar"})}),
}
"""Heads under options that make other distributions of them."""
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.fixture(params=[*heads.names(), *VARIANTS])
def head(request: pytest.FixtureRequest) -> Head:
    name, options = VARIANTS.get(request.param, (request.param, OPTIONS.get(request.param, {})))
    return fresh(name, **options)


@pytest.fixture
def distribution(head: Head) -> NumberDistribution:
    with torch.no_grad():
        return head(states(ROWS))


def below(values: torch.Tensor) -> torch.Tensor:
    """The next smaller float64; below 0 comes the smallest negative one, not -0."""
    return torch.nextafter(values, torch.tensor(-math.inf, dtype=torch.float64))


def column(distribution: NumberDistribution, value: float) -> torch.Tensor:
    return torch.full((len(distribution),), value, dtype=torch.float64)


def test_registered_name_is_the_kind_of_its_config(head: Head) -> None:
    assert heads[head.config.kind] is type(head)
    assert dataclasses.is_dataclass(head.Config)
    assert type(head).__doc__ and "Shape:" in type(head).__doc__
    assert head.is_written == head(states(1)).is_written
    with torch.device("meta"):  # for its shapes alone
        type(head)(DIM, head.config)


def test_package_answers_like_its_registry() -> None:
    import numerate
    import numerate.heads.base

    assert numerate.heads.names() == heads.names()
    assert numerate.heads.registry["scalar"] is heads["scalar"]


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
        assert result.shape == (ROWS,)
        assert result.dtype == torch.float64
    assert distribution.cdf(several).shape == (ROWS, 3)
    assert torch.equal(distribution.cdf(several)[:, 1], distribution.cdf(several[:, 1].contiguous()))
    chances = torch.full((ROWS, 2), 0.25).double()
    assert torch.equal(distribution.quantile(chances)[:, 0], distribution.quantile(0.25))
    assert distribution.sample(7).shape == (7, ROWS)
    assert head.loss(states(ROWS), table(single)).shape == (ROWS,)
    assert head.loss(states(ROWS), table(single)).dtype == torch.float32
    assert head.valid(table(single)).tolist() == [True] * ROWS
    assert head.clamped(table(single)).dtype == torch.bool


def test_no_rows(head: Head) -> None:
    none = head(states(ROWS)[:0])
    assert len(none) == 0
    assert none.log_prob(table([])).shape == none.mean().shape == none.quantile(0.5).shape == none.mode().shape == (0,)
    assert none.sample(3).shape == (3, 0)
    assert head.loss(states(ROWS)[:0], table([])).shape == (0,)


@pytest.mark.parametrize("index", [slice(1, 3), 2, -1, torch.tensor([4, 0]), torch.tensor([True, False] * 2 + [True])])
def test_rows(distribution: NumberDistribution, index: Any) -> None:
    values = torch.tensor([0.5, 7.0, -3.0, 1987.0, 0.0], dtype=torch.float64)
    some = distribution[index]
    rows = torch.arange(ROWS)[index].reshape(-1)
    assert len(some) == len(rows)
    torch.testing.assert_close(some.cdf(values[rows]), distribution.cdf(values)[rows])
    torch.testing.assert_close(some.log_prob(table(values[rows])), distribution.log_prob(table(values))[rows])
    with pytest.raises(IndexError):
        distribution[ROWS]


def test_cdf_is_monotone(distribution: NumberDistribution) -> None:
    ends = torch.tensor([-math.inf, math.inf], dtype=torch.float64).expand(ROWS, 2)
    assert distribution.cdf(ends).tolist() == [[0.0, 1.0]] * ROWS
    around = distribution.quantile(torch.linspace(0.01, 0.99, 41, dtype=torch.float64).expand(ROWS, 41))
    near = from_order(to_order(around) + 1)
    fixed = torch.tensor(sorted(FINITE), dtype=torch.float64).expand(ROWS, -1)
    values = torch.cat([around, near, fixed], dim=1).sort(dim=1).values
    cdf = distribution.cdf(values)
    assert ((cdf >= 0) & (cdf <= 1)).all()
    assert (cdf.diff(dim=1) >= -1e-14).all()


def test_quantile_is_the_generalised_inverse(distribution: NumberDistribution) -> None:
    p = torch.tensor([1e-6, 0.01, 0.05, 0.2, 0.5, 0.731, 0.95, 0.999], dtype=torch.float64).expand(ROWS, -1)
    quantile = distribution.quantile(p)
    assert (quantile.diff(dim=1) >= 0).all()
    assert (distribution.cdf(quantile) >= p).all()
    assert (distribution.cdf(below(quantile)) < p + 1e-12).all()
    assert distribution.quantile(0.0).tolist() == [-math.inf] * ROWS
    with pytest.raises(ValueError, match=r"p=1\.5"):
        distribution.quantile(1.5)


def test_intervals_are_ordered(distribution: NumberDistribution) -> None:
    (low, high), (lower, higher) = distribution.interval(0.5), distribution.interval(0.9)
    assert ((lower <= low) & (low <= distribution.median()) & (distribution.median() <= high) & (high <= higher)).all()
    with pytest.raises(ValueError, match="level=1"):
        distribution.interval(1)


def test_samples_agree_with_cdf(distribution: NumberDistribution) -> None:
    count = 20_000
    samples = distribution.sample(count, generator=torch.Generator().manual_seed(7))
    assert samples.isfinite().all()
    again = distribution.sample(count, generator=torch.Generator().manual_seed(7))
    assert torch.equal(samples, again)
    for p in (0.02, 0.25, 0.5, 0.75, 0.98):
        at = distribution.quantile(p)
        expected = distribution.cdf(at)
        share = (samples <= at).double().mean(0)
        error = (expected * (1 - expected) / count).sqrt() + 1e-9
        assert ((share - expected).abs() / error).max() < 4.5


def test_mean_agrees_with_quantiles(distribution: NumberDistribution) -> None:
    """The mean is that of the quantile function over (0, 1), unless nearly all of it lies in the tails."""
    if isinstance(distribution, EnumeratedDistribution):  # step by step, and so exactly
        shares = distribution.support().shares()
        at = distribution.quantile((shares.cumsum(1) - shares / 2).clamp(0, 1))
        at = at.masked_fill(shares == 0, 0.0)  # free places, of which the first lie at -inf
        torch.testing.assert_close(distribution.mean(), (at * shares).sum(1), rtol=1e-9, atol=0)
        return
    edges = 1 - torch.logspace(0, -9, 400, dtype=torch.float64)
    edges = torch.cat([1 - edges.flip(0), edges[1:]]).mul(0.5)
    edges = torch.cat([edges[: len(edges) // 2], 1 - edges[: len(edges) // 2].flip(0)])
    middles = (edges[1:] + edges[:-1]) / 2
    at = distribution.quantile(middles.expand(ROWS, -1))
    estimate = (at * edges.diff()).sum(1)
    spread = at.abs().mul(edges.diff()).sum(1)
    light = (at[:, [0, -1]].abs().amax(1) < 1e6 * spread) & (spread < 1e12)
    assert ((distribution.mean() - estimate).abs() <= 0.05 * spread)[light].all()
    assert distribution.mean().isfinite().all()


def test_density_is_the_slope_of_the_cdf_or_mass_its_jump(distribution: NumberDistribution) -> None:
    if distribution.is_density:
        points, weights = legendre(6)
        ends = distribution.quantile(torch.linspace(0.002, 0.998, 2500, dtype=torch.float64).expand(ROWS, -1))
        ends = torch.cat([ends, torch.zeros(ROWS, 1, dtype=torch.float64)], dim=1).sort(dim=1).values
        low, width = ends[:, :-1, None], ends.diff(dim=1)[..., None]
        at = (low + width * points).reshape(ROWS, -1)
        density = torch.stack([distribution[row].scores(table(at[row]))[0] for row in range(ROWS)]).exp()
        pieces = (density.reshape(ROWS, -1, len(points)) * weights * width).sum(-1)
        zero = torch.zeros(ROWS, dtype=torch.float64)
        atom = distribution.cdf(zero) - distribution.cdf(zero - 5e-324)
        total = distribution.cdf(ends[:, -1].contiguous()) - distribution.cdf(ends[:, 0].contiguous())
        torch.testing.assert_close(pieces.sum(1) + atom, total, atol=2e-3, rtol=0)
    elif isinstance(distribution, EnumeratedDistribution):
        support = distribution.support()
        drawn = distribution.sample(40, generator=torch.Generator().manual_seed(3))
        for values in (distribution.mode(), distribution.median(), torch.zeros(ROWS).double(), *drawn):
            jump = distribution.cdf(values) - distribution.cdf(below(values))
            here = torch.where(support.values == values[:, None], support.shares(), 0.0).sum(-1)
            torch.testing.assert_close(jump, here, atol=1e-13, rtol=1e-6)
    elif distribution.is_written:
        values = torch.tensor([3.0, -2.5, 0.0, 1500.0, 0.04], dtype=torch.float64)
        assert (distribution.log_prob(table(values)) <= distribution.log_mass(table(values)) + 1e-12).all()
    else:
        drawn = distribution.sample(40, generator=torch.Generator().manual_seed(3))
        for values in (distribution.mode(), distribution.median(), torch.zeros(ROWS).double(), *drawn):
            jump = distribution.cdf(values) - distribution.cdf(from_order(to_order(values + 0.0) - 1))
            torch.testing.assert_close(distribution.log_prob(table(values)).exp(), jump, atol=1e-13, rtol=1e-6)


def legendre(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Nodes and weights on (0, 1)."""
    import numpy as np

    nodes, weights = np.polynomial.legendre.leggauss(count)
    return torch.from_numpy((nodes + 1) / 2), torch.from_numpy(weights / 2)


def test_enumerated_numbers_sum_to_one(distribution: NumberDistribution) -> None:
    """Those of the support and the unseen ones; step by step, what has ended and what is still open."""
    if not isinstance(distribution, EnumeratedDistribution):
        return
    support = distribution.support()
    torch.testing.assert_close(support.log_masses.exp().sum(-1) + distribution.unseen, torch.ones(ROWS).double())
    torch.testing.assert_close(support.shares().sum(-1), torch.ones(ROWS).double())
    assert (support.values.diff(dim=-1) >= 0).all() and support.values.isfinite().all()
    if isinstance(distribution, DigitDistribution):
        ended, open_ones = torch.zeros(ROWS).double(), [""]
        for _ in range(3):
            ended += total(distribution, open_ones)
            open_ones = [text + char for text in open_ones for char in "0123456789-.e"]
            still_open = total(distribution, open_ones, ended=False)
            torch.testing.assert_close(ended + still_open, torch.ones(ROWS).double(), rtol=1e-5, atol=0)


def total(distribution: DigitDistribution, texts: list[str], ended: bool = True) -> torch.Tensor:
    """The probability of some strings together, or of all that begins with them: (N,)."""
    strings = strings_of_texts(texts)
    rows, count = torch.arange(ROWS).repeat_interleave(len(texts)), len(texts)
    log_masses = distribution[rows].log_prob_strings(strings.repeat(ROWS, 1), ended=ended)
    return log_masses.exp().reshape(ROWS, count).sum(1)


def test_mass_at_the_written_precision(distribution: NumberDistribution) -> None:
    values = torch.tensor([3.0, -2.5, 0.0, 1500.0, 0.04], dtype=torch.float64)
    numbers = table(values)
    if isinstance(distribution, StringDistribution):  # strings do not round
        assert torch.equal(distribution.log_mass(numbers), distribution.log_prob(numbers))
        return
    if isinstance(distribution, CombinationDistribution):  # some of it may
        parts = [member.log_mass(numbers) for member in distribution.members]
        together = (distribution.log_weights + torch.stack(parts, dim=-1)).exp().sum(-1).log()
        torch.testing.assert_close(distribution.log_mass(numbers), together)
        return
    if isinstance(distribution, EnumeratedDistribution):  # as much of it as is enumerated
        assert (distribution.log_mass(numbers) >= distribution.log_prob(numbers) - 1e-12).all()
        return
    half = 0.5 * 10.0 ** numbers.precision.double()
    expected = distribution.cdf(values + half) - distribution.cdf(values - half)
    sizeable = expected > 1e-8
    torch.testing.assert_close(distribution.log_mass(numbers).exp()[sizeable], expected[sizeable], rtol=1e-6, atol=0)
    assert (distribution.log_mass(numbers) <= 1e-12).all()


@pytest.mark.parametrize("what", ["log_prob", "log_mass", "loss"])
def test_gradcheck(head: Head, what: str) -> None:
    head.double()
    numbers = table([0.25, -3.75, 12.5, 0.0, 1987.0])
    names, weights = zip(*head.named_parameters(), strict=True)

    class Call(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.head = head

        def forward(self, hidden: torch.Tensor) -> torch.Tensor:
            return head.loss(hidden, numbers) if what == "loss" else getattr(head(hidden), what)(numbers)

    call = Call()

    def run(hidden: torch.Tensor, *values: torch.Tensor) -> torch.Tensor:
        named = {f"head.{name}": value for name, value in zip(names, values, strict=True)}
        return torch.func.functional_call(call, named, (hidden,))

    inputs = (states(ROWS).double().requires_grad_(), *(weight.detach().requires_grad_() for weight in weights))
    assert gradcheck(run, inputs, fast_mode=True, rtol=1e-3)


@pytest.mark.parametrize("size", [2.0, 1e3], ids=["usual", "large states"])
@pytest.mark.parametrize("mode", ["fp32", "autocast bf16", "autocast fp16", "bf16"])
def test_extreme_values(head: Head, mode: str, size: float) -> None:
    numbers, hidden = table(EXTREMES), states(len(EXTREMES), size=size)
    if mode == "bf16":
        head, hidden = head.to(torch.bfloat16), hidden.bfloat16()
    hidden.requires_grad_()
    kind = torch.float16 if "fp16" in mode else torch.bfloat16
    with torch.autocast("cpu", dtype=kind, enabled="autocast" in mode):
        loss = head.loss(hidden, numbers)
        distribution = head(hidden)
        log_prob, log_mass = distribution.log_prob(numbers), distribution.log_mass(numbers)
    finite = numbers.values().isfinite()
    assert loss.dtype == torch.float32
    assert loss.isfinite().all()
    assert (loss[~finite] == 0).all()
    for result in (log_prob, log_mass):
        assert not result.isnan().any()
        assert (result[finite] > -math.inf).all()
        assert (result[~finite] == -math.inf).all()
    for result in (loss.mean(), (log_prob[finite] + log_mass[finite]).mean()):
        gradients = torch.autograd.grad(result, [hidden, *head.parameters()], retain_graph=True, allow_unused=True)
        assert all(gradient is None or gradient.isfinite().all() for gradient in gradients)
    assert not distribution.cdf(numbers.values())[~numbers.values().isnan()].isnan().any()
    for result in (distribution.mean(), distribution.mode(), distribution.median(), distribution.sample(20)):
        assert result.isfinite().all()


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
def test_autocast_changes_nothing(head: Head, kind: torch.dtype) -> None:
    numbers, hidden = table([0.5, 12.0, -7.25, 1987.0, 1e6]), states(ROWS)
    expected, means = head.loss(hidden, numbers), head(hidden).mean()
    with torch.autocast("cpu", dtype=kind):
        assert torch.equal(head.loss(hidden, numbers), expected)
        assert torch.equal(head(hidden).mean(), means)


def test_number_logit(head: Head) -> None:
    """One for each state, whatever the leading dimensions; from `own` and `words`, or from the head's own scores."""
    hidden, own, words = states(6).reshape(2, 3, DIM), torch.linspace(-2, 2, 6).reshape(2, 3), torch.full((2, 3), 9.0)
    logit = head.number_logit(hidden, own, words)
    assert logit.shape == (2, 3) and logit.dtype == torch.float32 and logit.isfinite().all()
    torch.testing.assert_close(head.number_logit(hidden[1, 2], own[1, 2], words[1, 2]), logit[1, 2])


def test_padding_costs_nothing(head: Head) -> None:
    numbers = table([1.0, 2.0])
    padded = dataclasses.replace(numbers, given=torch.full_like(numbers.given, PADDING))
    assert head.loss(states(2), padded).tolist() == [0.0, 0.0]
    assert not head.valid(padded).any()


def test_every_weight_gets_a_gradient(head: Head) -> None:
    head.loss(states(ROWS), table([0.5, 12.0, -7.25, 1987.0, 1e6])).mean().backward()
    assert [name for name, weight in head.named_parameters() if weight.grad is None] == []


def test_rows_do_not_depend_on_each_other(head: Head) -> None:
    numbers, hidden = table(FINITE), states(len(FINITE))
    together = head(hidden).log_prob(numbers)
    alone = torch.cat([head(hidden[k : k + 1]).log_prob(numbers[k : k + 1]) for k in range(len(numbers))])
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-4)


def test_rank(distribution: NumberDistribution, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numerate.heads.distribution._CHUNK", 4 * ROWS)
    candidates = table([0.0, 0.5, 1.0, -1.0, 10.0, 1987.0, 12.25, -300.0, 1e6, 1e-3, math.nan])
    scores = torch.stack([distribution.log_prob(candidates[k : k + 1].expand(ROWS)) for k in range(len(candidates))], 1)
    # A recurrent net runs on other batches here and there, in float32.
    close = {"rtol": 1e-5, "atol": 1e-5} if isinstance(distribution, DigitDistribution) else {}
    torch.testing.assert_close(distribution.scores(candidates), scores, **close)
    torch.testing.assert_close(NumberDistribution.scores(distribution, candidates), scores, **close)
    best, where = distribution.rank(candidates, 3)
    torch.testing.assert_close(best, scores.topk(3).values, **close)
    torch.testing.assert_close(scores.gather(1, where), best, **close)
    assert distribution.rank(candidates, 99)[1].shape == (ROWS, len(candidates))


@pytest.mark.parametrize("values", [[], [math.nan], [0.0], [5.0] * 100, list(EXTREMES)], ids=str)
def test_fit_takes_any_data(head: Head, values: list[float]) -> None:
    head.fit(table(values))
    assert head.loss(states(len(EXTREMES)), table(EXTREMES)).isfinite().all()


def test_fit_leaves_padding_out(head: Head) -> None:
    numbers = table([0.5, 12.0, -7.25, 1987.0, 1e6] * 4 + [0.0] * 60)
    padded = dataclasses.replace(numbers, given=numbers.given.index_fill(0, torch.arange(20, 80), PADDING))
    head.fit(numbers[:20])
    wanted = {name: buffer.clone() for name, buffer in head.named_buffers()}
    head.fit(padded)
    assert all(torch.equal(buffer, wanted[name]) for name, buffer in head.named_buffers())


def test_state_dict_through_safetensors(head: Head) -> None:
    head.fit(table([0.5, 12.0, -7.25, 1987.0, 1e6] * 4))
    data = safetensors.torch.save(head.state_dict())
    torch.manual_seed(1)
    other = type(head)(DIM, head.config).eval()
    other.load_state_dict(safetensors.torch.load(data))
    numbers, hidden = table(FINITE), states(len(FINITE))
    assert torch.equal(head(hidden).log_prob(numbers), other(hidden).log_prob(numbers))


def test_moving_to_low_precision_and_back_loses_no_anchors(head: Head) -> None:
    exact = {name: buffer.clone() for name, buffer in head.named_buffers()}
    head.to(torch.bfloat16).to(torch.float32)
    assert all(torch.equal(buffer, head.get_buffer(name)) for name, buffer in exact.items())


def test_config_round_trip(head: Head) -> None:
    text = head.config.to_json()
    again = type(head).Config.from_json(text)
    assert again == head.config
    assert again.to_json() == text
    rebuilt = type(head).build(DIM, **json.loads(text))
    assert {k: v.shape for k, v in rebuilt.state_dict().items()} == {k: v.shape for k, v in head.state_dict().items()}


def test_wrong_sizes_are_quoted(head: Head) -> None:
    with pytest.raises(ValueError, match="dim=0"):
        type(head).build(0)
    with pytest.raises(ValueError, match="unknown key 'no_such_option'"):
        type(head).build(DIM, no_such_option=1)


def test_accelerator_agrees_with_cpu(head: Head) -> None:
    numbers, hidden = table(EXTREMES), states(len(EXTREMES))
    expected, loss = head(hidden).cdf(numbers.values()), head.loss(hidden, numbers)
    head.to(DEVICE)
    numbers, hidden = numbers.to(DEVICE), hidden.to(DEVICE)
    there = head(hidden)
    torch.testing.assert_close(there.cdf(numbers.values()).cpu(), expected, rtol=1e-3, atol=1e-3, equal_nan=True)
    torch.testing.assert_close(head.loss(hidden, numbers).cpu(), loss, rtol=1e-3, atol=1e-3)
    assert there.quantile(0.5).device.type == there.mode().device.type == there.mean().device.type == DEVICE
    assert there.sample(3, torch.Generator(DEVICE).manual_seed(0)).device.type == DEVICE
    assert there.rank(numbers, 2)[0].device.type == there.log_mass(numbers).device.type == DEVICE
