"""`combination`: explicit sums, single members, unknown numbers, and a training run."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
import torch

from numerate.config import ConfigError
from numerate.heads.base import Head
from numerate.heads.combination import CombinationConfig, CombinationDistribution, CombinationHead
from numerate.heads.precision import DecimalsRNN, WrittenDistribution
from numerate.heads.vocabulary import VocabularyDistribution
from numerate.numerals.numeral import Numeral
from numerate.processing.number_table import NumberTable
from numerate.registry import heads

from .examples import DIM, EXTREMES, FINITE, f64, states, table

SEEN = [7.0, 7.0, 3.5, 3.5, 1987.0, 1987.0, 12.0]
SMALL = {
    "h-softmax": {"size": 3},
    "h-softmax-rnn": {"size": 3},
    "digit-rnn": {"samples": 32},
    "mog": {"granularities": 3},
}


def combined(*kinds: str, seed: int = 0, fit: bool = True, **options: Any) -> CombinationHead:
    torch.manual_seed(seed)
    head = CombinationHead.build(DIM, members=tuple({"kind": k, **SMALL.get(k, {})} for k in kinds), **options)
    if fit:
        head.fit(table(SEEN))
    return head.eval()


def test_log_prob_is_the_weighted_sum() -> None:
    head, hidden, numbers = combined("h-softmax", "digit-rnn", "mog"), states(4), table([7.0, 3.5, 8.0, -0.25])
    vocabulary, digits, mog = (member(hidden) for member in head.members)
    weights = (hidden @ head.choice.weight.T + head.choice.bias).double().softmax(-1)
    masses = vocabulary.log_masses.exp()
    known = 1 - masses[:, -1]
    expected = weights[:, 1] * digits.log_prob(numbers).exp() + weights[:, 2] * mog.log_prob(numbers).exp()
    texts = head.members[0].known.texts()
    for row, text in ((0, "7"), (1, "3.5")):  # the others are not in the vocabulary
        expected[row] += weights[row, 0] * masses[row, texts.index(text)] / known[row]
    torch.testing.assert_close(head(hidden).log_prob(numbers).exp(), expected, rtol=1e-6, atol=0)


def test_members_of_the_paper() -> None:
    config = CombinationConfig()
    assert [member["kind"] for member in config.members] == ["h-softmax-rnn", "digit-rnn", "mog"]
    assert config.members[2]["granularities"] == 8  # all options are written out
    assert CombinationConfig.from_json(config.to_json()) == config
    assert CombinationConfig(members=({"kind": "d-rnn"},)).members[0]["kind"] == "digit-rnn"


def test_a_single_member_is_left_unchanged() -> None:
    hidden, numbers = states(len(EXTREMES)), table(EXTREMES)
    for kind in heads.names():
        if kind == "combination":
            continue
        head = combined(kind)
        (member,) = head.members
        assert isinstance(member, Head) and head.decimals is None
        ours, theirs = head(hidden), member(hidden)
        for method in ("log_prob", "log_mass", "log_prob_adjusted"):
            torch.testing.assert_close(getattr(ours, method)(numbers), getattr(theirs, method)(numbers))
        for method in ("mean", "mode"):
            torch.testing.assert_close(getattr(ours, method)(), getattr(theirs, method)())
        torch.testing.assert_close(head.loss(hidden, numbers), member.loss(hidden, numbers))
        torch.testing.assert_close(ours.unseen, theirs.unseen)
        assert torch.equal(head.clamped(numbers), member.clamped(numbers)), kind
        assert (ours.is_density, ours.is_written) == (theirs.is_density, theirs.is_written), kind
        assert (head.is_open, head.is_written) == (member.is_open, member.is_written), kind


def test_two_equal_members_are_the_same_as_one() -> None:
    head = combined("mog", "mog")
    head.members[1].load_state_dict(head.members[0].state_dict())
    numbers = table(FINITE)
    alone = head.members[0](states(len(FINITE))).log_prob(numbers)
    torch.testing.assert_close(head(states(len(FINITE))).log_prob(numbers), alone)


def test_unknown_numbers_come_from_open_members() -> None:
    head, numbers = combined("h-softmax", "digit-rnn"), table([7.0, 8.0])
    distribution = head(states(2))
    vocabulary = distribution.members[0]
    assert isinstance(vocabulary, VocabularyDistribution)
    torch.testing.assert_close(vocabulary.log_masses[:, :-1].exp().sum(-1), torch.ones(2).double())
    assert vocabulary.log_prob(numbers)[1] == -math.inf and vocabulary.unseen.tolist() == [0.0, 0.0]
    chosen = distribution.chosen(numbers)
    assert chosen[1].tolist() == [0.0, 1.0] and 0 < chosen[0, 0] < 1
    torch.testing.assert_close(distribution.log_prob_adjusted(numbers), distribution.log_prob(numbers))
    torch.testing.assert_close(
        distribution.unseen, distribution.log_weights[:, 1].exp() * distribution.members[1].unseen
    )


def test_closed_members_keep_the_unknown_entry() -> None:
    """Without an open member, no other entry would have a probability for unknown numbers."""
    head, numbers = combined("h-softmax", "softmax"), table([7.0, 8.0])
    assert head(states(2)).log_prob(numbers).isfinite().all()
    assert head.loss(states(2), numbers).isfinite().all()


def test_empty_vocabulary_is_left_out() -> None:
    head = combined("h-softmax-rnn", "mog", fit=False)
    hidden = states(len(EXTREMES)).requires_grad_()
    distribution, numbers = head(hidden), table(EXTREMES)
    torch.testing.assert_close(distribution.log_prob(numbers), head.members[1](hidden).log_prob(numbers))
    log_prob = distribution.log_prob(numbers)
    (gradient,) = torch.autograd.grad(log_prob[numbers.values().isfinite()].sum(), hidden)
    assert gradient.isfinite().all()
    assert distribution.mean().isfinite().all() and distribution.sample(5).isfinite().all()


def test_value_members_share_an_lstm_for_decimals() -> None:
    head = combined("mixture", "mog", "scalar")
    assert isinstance(head.decimals, DecimalsRNN)
    distribution = head(states(2))
    kinds = [isinstance(member, WrittenDistribution) for member in distribution.members]
    assert kinds == [True, True, True] and distribution.is_written and not distribution.is_density
    first, second, third = distribution.members
    assert isinstance(first, WrittenDistribution) and first.rnn is head.decimals
    assert isinstance(second, WrittenDistribution) and second.rnn is not head.decimals
    assert isinstance(third, WrittenDistribution) and third.rnn is head.decimals
    total = torch.zeros(2).double()
    for decimals in (0, 1):
        numbers = table(torch.arange(-400 * 10**decimals, 400 * 10**decimals + 1).double() / 10**decimals)
        numbers = dataclasses.replace(numbers, precision=torch.full_like(numbers.precision, -decimals))
        total += distribution.scores(numbers).exp().sum(-1)
    written = sum(
        weight.exp() * (member.cdf(f64([400.0] * 2)) - member.cdf(f64([-400.0] * 2))) * share
        for weight, member in zip(distribution.log_weights.T, distribution.members, strict=True)
        for share in (member.log_decimals(1).exp().sum(-1),)  # type: ignore[attr-defined]
    )
    torch.testing.assert_close(total, written, rtol=1e-3, atol=0)


def test_chosen_is_the_posterior_of_the_members() -> None:
    head, numbers = combined("h-softmax", "digit-rnn", "mog"), table([7.0, 3.5, math.nan])
    distribution = head(states(3))
    joint = (distribution.log_weights + torch.stack([m.log_prob(numbers) for m in distribution.members], -1)).exp()
    torch.testing.assert_close(distribution.chosen(numbers)[:2], (joint / joint.sum(-1, keepdim=True))[:2])
    assert distribution.chosen(numbers)[2].tolist() == [0.0] * 3


def test_cdf_mean_and_samples_are_weighted() -> None:
    distribution = combined("h-softmax", "mog")(states(2))
    weights, at = distribution.log_weights.exp(), f64([[0.0, 5.0, 2000.0]] * 2)
    parts = [member.cdf(at) for member in distribution.members]
    torch.testing.assert_close(distribution.cdf(at), weights[:, :1] * parts[0] + weights[:, 1:] * parts[1])
    means = torch.stack([member.mean() for member in distribution.members], -1)
    torch.testing.assert_close(distribution.mean(), (weights * means).sum(-1))
    samples = distribution.sample(4000, torch.Generator().manual_seed(0))
    share = torch.isin(samples, f64(SEEN)).double().mean(0)  # no sample of the mixture is such a number
    assert share.tolist() == pytest.approx(weights[:, 0].tolist(), abs=0.03)


def test_mode_is_the_most_probable_mode_of_the_members() -> None:
    distribution = combined("h-softmax", "digit-rnn", "mog")(states(6))
    modes = torch.stack([member.mode() for member in distribution.members[:2]], -1)
    scores = torch.stack([distribution.log_prob(table(modes[:, k])) for k in range(2)], -1)
    best = distribution.log_prob(table(distribution.mode()))
    assert (best >= scores.amax(-1) - 1e-12).all()


def test_rank_agrees_with_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numerate.heads.combination._CHUNK", 40)
    distribution = combined("h-softmax-rnn", "digit-rnn", "mog")(states(5))
    candidates = table([*FINITE, *SEEN])
    best, where = distribution.rank(candidates, 4)
    torch.testing.assert_close(best, distribution.scores(candidates).topk(4).values)
    torch.testing.assert_close(distribution.scores(candidates).gather(1, where), best)


def test_gate() -> None:
    own, words = torch.tensor([1.0]), torch.tensor([5.0])
    assert combined("mog").number_logit(states(1), own, words).tolist() == [6.0]
    assert combined("mog", gate="logit").number_logit(states(1), own, words).tolist() == [1.0]


def test_invalid_members_are_quoted() -> None:
    for members, message in (
        ((), r"at least one head, got \(\)"),
        (({"size": 3},), "'size': 3"),
        (({"kind": "mogg"},), "did you mean 'mog'"),
        (({"kind": "mog", "granularity": 3},), "unknown key 'granularity'"),
    ):
        with pytest.raises(ConfigError, match=message):
            CombinationHead.build(DIM, members=members)


def test_learns_which_member_to_use() -> None:
    """A few repeated numerals for one state, prices that are all different for another."""
    generator = torch.Generator().manual_seed(0)
    kind = torch.randint(2, (900,), generator=generator)
    few = f64([1.0, 2.0, 1000000.0, 24.0])[torch.randint(4, (900,), generator=generator)]
    prices = (50 + 8 * torch.randn(900, generator=generator).double()).mul(100).round() / 100
    values = torch.where(kind == 0, few, prices)
    texts = [
        f"{value:.0f}" if k == 0 else f"{value:.2f}" for k, value in zip(kind.tolist(), values.tolist(), strict=True)
    ]
    numbers = NumberTable.of_numerals([Numeral(text, 0, len(text), float(text)) for text in texts])
    hidden = torch.nn.functional.one_hot(kind, DIM).float() + 0.05 * states(900)
    torch.manual_seed(0)
    members = ({"kind": "h-softmax", "size": 4}, {"kind": "mog", "granularities": 5})
    head = CombinationHead.build(DIM, members=members)
    head.fit(numbers[:600])
    optimizer = torch.optim.Adam(head.parameters(), lr=3e-2)
    for _ in range(50):
        batch = torch.randint(600, (150,), generator=generator)
        optimizer.zero_grad()
        head.loss(hidden[batch], numbers[batch]).mean().backward()
        optimizer.step()
    with torch.no_grad():
        distribution = head(hidden[600:])
        assert isinstance(distribution, CombinationDistribution)
        chosen, held = distribution.chosen(numbers[600:]), kind[600:]
        assert chosen[held == 0, 0].mean() > 0.95 and chosen[held == 1, 1].mean() > 0.95
        loss = head.loss(hidden[600:], numbers[600:])
        assert loss[held == 0].mean().item() == pytest.approx(math.log(4), abs=0.15)
        assert loss[held == 1].mean().item() == pytest.approx(
            0.5 * math.log(2 * math.pi * math.e * 64) + math.log(100), abs=0.3
        )
