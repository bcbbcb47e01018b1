"""Digit RNN against PyTorch's LSTM cell, one string at a time; scoring with and without the trie."""

from __future__ import annotations

import dataclasses
import itertools
import math

import pytest
import torch
from torch import nn

from numerate.config import ConfigError
from numerate.heads import trie as trie_module
from numerate.heads.digit_rnn import DigitRNNHead
from numerate.heads.number_strings import strings_of_texts, texts_of, values_of
from numerate.heads.spelling_lstm import EDGE, SYMBOLS, SpellingDecoder
from numerate.heads.trie import Trie
from numerate.numerals.numeral import Numeral
from numerate.processing.number_table import MAX_CHARACTERS, NumberTable

from .examples import DIM, f64, states, table


@pytest.fixture
def head() -> DigitRNNHead:
    torch.manual_seed(0)
    return DigitRNNHead.build(DIM, samples=40).double()


def sharpened(head: DigitRNNHead, size: float = 3.0) -> DigitRNNHead:
    """A head with peaked distributions, like a trained one."""
    with torch.no_grad():
        head.out.weight.mul_(size)
        head.out.bias[EDGE] += 1.0
    return head


def numerals(texts: list[str]) -> NumberTable:
    return NumberTable.of_numerals([Numeral(text, 0, len(text), float(text)) for text in texts])


def one_by_one(head: DigitRNNHead, hidden: torch.Tensor, text: str) -> float:
    """Log-probability of one string for one (DIM,) state, symbol by symbol."""
    cell = nn.LSTMCell(DIM, DIM).double()
    with torch.no_grad():
        cell.weight_ih.copy_(head.spelling.input.weight)
        cell.weight_hh.copy_(head.spelling.recurrent.weight)
        cell.bias_ih.copy_(head.spelling.input.bias)
        cell.bias_hh.zero_()
        state = (hidden[None], torch.zeros(1, DIM).double())
        total, previous = 0.0, EDGE
        for symbol in [*map(SYMBOLS.index, text), EDGE]:
            state = cell(head.spelling.symbols.weight[previous][None], state)
            total += head.out(state[0]).log_softmax(-1)[0, symbol].item()
            previous = symbol
        return total


TEXTS = ["7", "1.50", "1.5", "-12", "1987", "0.001", "1.5e300", "1234567890.123456789012345678901", "0"]


def test_log_prob_equals_a_loop_over_symbols(head: DigitRNNHead) -> None:
    hidden = states(len(TEXTS)).double()
    expected = [one_by_one(head, state, text) for state, text in zip(hidden, TEXTS, strict=True)]
    assert head(hidden).log_prob(numerals(TEXTS)).tolist() == pytest.approx(expected, rel=1e-12)
    assert head.loss(hidden, numerals(TEXTS)).tolist() == pytest.approx([-term for term in expected], rel=1e-12)
    longer = strings_of_texts(["1" * MAX_CHARACTERS])
    expected = [one_by_one(head, hidden[0], "1" * MAX_CHARACTERS)]
    assert head(hidden[:1]).log_prob_strings(longer).tolist() == pytest.approx(expected, rel=1e-12)


def test_probability_of_a_prefix(head: DigitRNNHead) -> None:
    """A prefix is as probable as all its continuations and its end together."""
    distribution, prefix = head(states(1).double()), "1.5"
    whole = distribution.log_prob_strings(strings_of_texts([prefix]), ended=False).exp()
    parts = distribution.log_prob_strings(strings_of_texts([prefix])).exp()
    for char in SYMBOLS:
        parts = parts + distribution.log_prob_strings(strings_of_texts([prefix + char]), ended=False).exp()
    torch.testing.assert_close(parts, whole)


def test_trie_scores_equal_single_scores(head: DigitRNNHead, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [*TEXTS, "1.5", "19", "198"]  # one string twice, some prefixes of others
    hidden = states(3).double()
    expected = [[one_by_one(head, state, text) for text in texts] for state in hidden]
    for pairs in (1 << 15, 7):
        monkeypatch.setattr(trie_module, "_PAIRS", pairs)
        scores = head(hidden).scores(numerals(texts))
        torch.testing.assert_close(scores, f64(expected), rtol=1e-12, atol=0)
    gradient = torch.autograd.grad(scores.sum(), head.out.bias)[0]
    pairwise = sum(head(hidden).log_prob(numerals([text]).expand(3)).sum() for text in texts)
    torch.testing.assert_close(gradient, torch.autograd.grad(torch.as_tensor(pairwise), head.out.bias)[0])


def test_trie_scores_every_prefix_once(head: DigitRNNHead) -> None:
    texts = [f"{value:.{decimals}f}" for value in (12.3456, 12.9, 7.25) for decimals in range(4)]
    steps = 0

    class Counting(SpellingDecoder):
        def step(self, symbols, state, cell):  # type: ignore[no-untyped-def]
            nonlocal steps
            steps += len(symbols)
            return super().step(symbols, state, cell)

    plain = head(states(2).double())
    decoder = plain.decoder
    counting = Counting(decoder.inputs, decoder.recurrent, decoder.weight, decoder.bias)
    counted = dataclasses.replace(plain, decoder=counting).scores(numerals(texts))
    torch.testing.assert_close(counted, plain.scores(numerals(texts)))
    prefixes = {text[:end] for text in texts for end in range(1, len(text) + 1)}
    assert steps == 2 * (len(prefixes) + 1)  # and the start symbol


def test_branch_and_bound_finds_the_best_candidates(head: DigitRNNHead) -> None:
    texts = [f"{value / 7:.{decimals}f}" for value in range(100) for decimals in range(3)]
    for size in (1.0, 8.0):
        distribution = sharpened(head, size)(states(6).double())
        all_scores = distribution.scores(numerals(texts))
        for k in (1, 10, 1000):
            best, where = distribution.rank(numerals(texts), k)
            torch.testing.assert_close(best, all_scores.topk(min(k, len(texts)), dim=1).values)
            torch.testing.assert_close(all_scores.gather(1, where), best)
            assert all(len(set(row)) == len(row) for row in where.tolist()), (size, k)


def test_nan_and_infinity_are_ranked_last(head: DigitRNNHead) -> None:
    distribution = head(states(2))
    best, where = distribution.rank(table([math.nan, 1.0, math.inf, 2.0]), 4)
    assert best.isfinite().tolist() == [[True, True, False, False]] * 2
    assert [sorted(row) for row in where.tolist()] == [[0, 1, 2, 3]] * 2
    assert Trie.of(strings_of_texts([])).scores(distribution.decoder, distribution.hidden).shape == (2, 0)
    assert distribution.rank(table([]), 3)[0].shape == (2, 0)


def test_draws_are_unbiased(head: DigitRNNHead) -> None:
    distribution = sharpened(head, 6.0)(states(2).double())
    count = 8_000
    with torch.no_grad():
        drawn = distribution.draw(count, torch.Generator().manual_seed(5))
    assert drawn.shape == (count, 2, MAX_CHARACTERS)
    for row in range(2):
        texts = texts_of(drawn[:, row])
        for text in [*"0123456789", "", "-", *map("".join, itertools.product("0159", repeat=2))]:
            chance = distribution[row].log_prob_strings(strings_of_texts([text])).exp().item()
            error = math.sqrt(chance * (1 - chance) / count) + 1e-9
            assert abs(texts.count(text) / count - chance) < 4.5 * error + 2 / count


def test_support_holds_exact_masses(head: DigitRNNHead) -> None:
    with torch.no_grad():
        distribution = sharpened(head)(states(3).double())
        support = distribution.support()
        assert distribution.support() is support
    for row in range(3):
        seen = support.log_masses[row] > -math.inf
        assert 10 <= seen.sum() <= 51  # the ten digits at least; no string twice
        masses = support.log_masses[row][seen]
        torch.testing.assert_close(1 - masses.exp().sum(), distribution.unseen[row])
        for text in "0123456789":
            assert (masses - one_by_one(head, states(3).double()[row], text)).abs().min() < 1e-9
    mean = distribution.mean()
    torch.testing.assert_close(mean, (support.shares() * support.values).sum(1))


def test_cdf_is_differentiable_after_a_median(head: DigitRNNHead) -> None:
    hidden = states(2).double().requires_grad_()
    distribution = head(hidden)
    distribution.median()  # without gradients
    assert torch.autograd.grad(distribution.cdf(torch.tensor([3.0, 4.0]).double()).sum(), hidden)[0].abs().sum() > 0


def test_no_grad_distributions_never_require_gradients(head: DigitRNNHead) -> None:
    with torch.no_grad():
        distribution = head(states(2).double())
    assert not distribution.log_prob(table([1.0, 2.5])).requires_grad
    assert not distribution.mean().requires_grad and not distribution.scores(table([1.0])).requires_grad


def test_greedy_string_is_in_the_support(head: DigitRNNHead) -> None:
    with torch.no_grad():
        distribution = sharpened(head, 30.0)(states(4).double())
        greedy = distribution._drawn(distribution.hidden, torch.full((33, 4), -1.0).double())
        values = values_of(greedy[0])
        for row in range(4):
            if values[row].isfinite() and greedy[1][row] > -math.inf:
                support = distribution.support()
                assert (support.values[row] == values[row]).any()
                assert support.log_masses[row].max() >= greedy[1][row] - 1e-12


def test_learns_numerals() -> None:
    """Years for one state, prices ending in .50 for another; held-out numerals are probable, too."""
    torch.manual_seed(0)
    head = DigitRNNHead.build(DIM, samples=64)
    years, prices = [str(1950 + k) for k in range(0, 50, 2)], [f"{k}.50" for k in range(1, 26)]
    hidden = nn.functional.one_hot(torch.tensor([0] * 25 + [1] * 25), DIM).float()
    numbers = numerals(years + prices)
    optimizer = torch.optim.Adam(head.parameters(), lr=0.02)
    for _ in range(150):
        optimizer.zero_grad()
        head.loss(hidden, numbers).mean().backward()
        optimizer.step()
    with torch.no_grad():
        distribution = head(hidden[[0, 25]])
        low, high = distribution.interval(0.9)
        assert 1945 < low[0] < high[0] < 2000 and 0 < low[1] < high[1] < 40
        assert (distribution.unseen < 0.5).all()
        assert distribution.log_prob(numerals(["1972", "7.50"])).exp().min() > 0.01
        assert distribution.log_prob(numerals(["7.50", "1972"])).exp().max() < 0.001


def test_gate() -> None:
    own, words = torch.tensor([1.0]), torch.tensor([5.0])
    assert DigitRNNHead.build(DIM).number_logit(states(1), own, words).tolist() == [6.0]
    assert DigitRNNHead.build(DIM, gate="logit").number_logit(states(1), own, words).tolist() == [1.0]
    with pytest.raises(ConfigError, match="samples must be positive, got 0"):
        DigitRNNHead.build(DIM, samples=0)
