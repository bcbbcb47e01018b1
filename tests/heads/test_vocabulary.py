"""Softmax heads over a vocabulary of numerals, against explicit sums."""

from __future__ import annotations

import math
from typing import Any, cast

import pytest
import torch
from torch import nn

from numerate.config import ConfigError
from numerate.heads.enumerated import Support
from numerate.heads.number_strings import hashes_of, packed, strings_of_texts
from numerate.heads.numeral_vocabulary import KnownNumerals
from numerate.heads.spelling_lstm import EDGE, SYMBOLS, SpellingLSTM
from numerate.heads.vocabulary import HSoftmaxHead, SoftmaxHead, SoftmaxRNNHead
from numerate.numerals.numeral import Numeral
from numerate.processing.number_table import NumberTable
from numerate.registry import heads

from .examples import DIM, f64, fresh, states, table

FOUR = ("softmax", "softmax-rnn", "h-softmax", "h-softmax-rnn")
TEXTS = ["1.5", "1.50", "10", "7", "1.5", "10", "10", "-3", "2,000", "2000", "007", "1e9"]


def numerals(texts: list[str]) -> NumberTable:
    return NumberTable.of_numerals([Numeral(t, 0, len(t), float(t.replace(",", ""))) for t in texts])


def fitted(name: str, size: int = 5) -> SoftmaxHead:
    torch.manual_seed(0)
    head = cast("SoftmaxHead", heads[name].build(DIM, size=size))
    head.fit(numerals(TEXTS))
    return head.double()


def test_vocabulary_holds_the_most_frequent_strings_sorted_by_value() -> None:
    known = KnownNumerals(5)
    known.fit(numerals(TEXTS))
    # 10 occurs three times, 1.5, 7 and 2000 twice, and 1.50, -3 and 1000000000 once.
    assert {"1.5", "7", "10", "2000"} < set(known.texts())
    assert [float(text) for text in known.texts()] == sorted(float(text) for text in known.texts())
    assert int(known.oov_types) == 2
    again = KnownNumerals(5)
    again.fit(numerals(TEXTS[::-1]))
    assert again.texts() == known.texts()
    known.fit(numerals(["3"]))
    assert known.texts() == ["3"] and int(known.oov_types) == 0


def test_find_returns_the_entry_of_each_string() -> None:
    known = KnownNumerals(400)
    texts = [str(k / 4) for k in range(-200, 400)]
    known.fit(numerals(texts[:400]))
    places = known.find(strings_of_texts(known.texts()))
    assert places.tolist() == list(range(400))
    others = [text for text in [*texts, "1.50", "", "9"] if text not in set(known.texts())]
    assert (known.find(strings_of_texts(others)) == 400).all()


def test_hash_collisions_are_detected() -> None:
    known = KnownNumerals(3)
    known.fit(numerals(["1", "2", "3"]))
    strangers = strings_of_texts(["4", "5", "6"])
    known.hashes.copy_(hashes_of(packed(strangers)).sort().values)  # as if they collided
    assert known.find(strangers).tolist() == [3, 3, 3]


def test_buffers_keep_their_shapes_in_fit() -> None:
    head = SoftmaxHead.build(DIM, size=7)
    shapes = {name: buffer.shape for name, buffer in head.named_buffers()}
    head.fit(numerals(TEXTS))
    assert {name: buffer.shape for name, buffer in head.named_buffers()} == shapes
    assert all(not buffer.is_floating_point() for buffer in head.buffers())


@pytest.mark.parametrize("name", FOUR)
def test_log_prob_equals_an_explicit_softmax(name: str) -> None:
    head, hidden = fitted(name), states(3).double()
    texts = head.known.texts()
    rows = torch.cat([head.out.weight, head.out.bias[:, None]], dim=1).tolist()
    vectors = [[0.0] * DIM] * 6
    if isinstance(head, SoftmaxRNNHead):
        vectors = [read_by_torch(head.spelling, text).tolist() for text in texts] + [[0.0] * DIM]
    for row, state in enumerate(hidden.tolist()):
        scores = [
            sum(h * (w + v) for h, w, v in zip(state, weights, vector, strict=False)) + weights[-1]
            for weights, vector in zip(rows, vectors, strict=True)
        ]
        log_total = math.log(sum(map(math.exp, scores)))
        for text in ("10", "1.50", "-3", "1.5", "999"):
            place = texts.index(text) if text in texts else 5
            log_prob = head(hidden[row : row + 1]).log_prob(numerals([text])).item()
            assert log_prob == pytest.approx(scores[place] - log_total, rel=1e-9)


def read_by_torch(spelling: SpellingLSTM, text: str) -> torch.Tensor:
    """The last state of PyTorch's own LSTM with the same weights."""
    lstm = nn.LSTM(DIM, DIM, batch_first=True).double()
    with torch.no_grad():
        lstm.weight_ih_l0.copy_(spelling.input.weight)
        lstm.weight_hh_l0.copy_(spelling.recurrent.weight)
        lstm.bias_ih_l0.copy_(spelling.input.bias)
        lstm.bias_hh_l0.zero_()
        symbols = torch.tensor([[SYMBOLS.index(char) for char in text]])
        return lstm(spelling.symbols(symbols))[1][0][0, 0]


def test_spelling_lstm_equals_pytorch() -> None:
    torch.manual_seed(0)
    spelling = SpellingLSTM(DIM).double()
    texts = ["7", "-1.5e300", "12", "1987", "0.25", "3"]
    expected = torch.stack([read_by_torch(spelling, text) for text in texts])
    torch.testing.assert_close(spelling(strings_of_texts(texts)), expected)
    assert spelling.input.bias[DIM : 2 * DIM].tolist() == [1.0] * DIM


def test_before_fit_all_numbers_are_unknown() -> None:
    for name in FOUR:
        head = cast("SoftmaxHead", heads[name].build(DIM, size=4))
        distribution = head(states(3))
        assert head.is_oov(table([1.0, 2.0, 3.0])).all() and int(head.oov_types) == 0
        assert distribution.log_prob(table([1.0, 0.0, 1e300])).tolist() == [0.0] * 3
        assert distribution.unseen.tolist() == [1.0] * 3
        assert distribution.mean().tolist() == distribution.quantile(0.5).tolist() == [0.0] * 3


def test_adjusted_log_prob_splits_the_unknown_probability() -> None:
    head, hidden = fitted("h-softmax"), states(4).double()
    numbers = numerals(["10", "999", "1.50", "-3"])
    plain, adjusted = head(hidden).log_prob(numbers), head(hidden).log_prob_adjusted(numbers)
    unknown = head.is_oov(numbers)
    assert unknown.tolist()[:2] == [False, True]
    torch.testing.assert_close(plain - adjusted, torch.where(unknown, math.log(2), 0.0).double())


def test_adjustment_is_the_same_for_all_softmax_heads() -> None:
    """By Ueberla's formula it depends on the unknown numbers alone; the figures published in 2018 violate this."""
    numbers = numerals([*TEXTS, "999", "12"])
    differences = []
    for name in FOUR:
        distribution = fitted(name)(states(len(numbers)).double())
        differences.append((distribution.log_prob(numbers) - distribution.log_prob_adjusted(numbers)).mean().item())
    assert differences == pytest.approx([differences[0]] * 4) and differences[0] > 0


def test_flat_softmax_includes_the_words() -> None:
    head, hidden, words = fitted("softmax-rnn"), states(2).double(), torch.randn(2, 30).double()
    own = torch.zeros(2).double()
    logit = head.number_logit(hidden, own, words.logsumexp(-1))
    joint = torch.cat([words, head.numeral_scores(hidden)], dim=1).log_softmax(-1)
    number = torch.cat([words, logit[:, None]], dim=1).log_softmax(-1)[:, -1]
    place = head.known.texts().index("10")
    torch.testing.assert_close(number + head(hidden).log_prob(numerals(["10", "10"])), joint[:, 30 + place])


def test_hierarchical_softmax_has_a_gate() -> None:
    words, own = torch.randn(2, 30), torch.tensor([-1.0, 3.0])
    logit = fitted("h-softmax").number_logit(states(2), own, words.logsumexp(-1))
    number = torch.cat([words, logit[:, None]], dim=1).softmax(-1)[:, -1]
    torch.testing.assert_close(number, own.sigmoid())
    assert HSoftmaxHead.build(DIM, gate="logit").number_logit(states(2), own, words.logsumexp(-1)) is own


def test_support_methods() -> None:
    values, masses = f64([-1.0, 2.0, 2.0, 9.0]), f64([[0.1, 0.2, 0.1, 0.1], [0.0, 0.0, 0.3, 0.0]])
    support = Support(values, masses.log(), f64([0.5, 0.7]))
    torch.testing.assert_close(support.shares(), f64([[0.2, 0.4, 0.2, 0.2], [0, 0, 1, 0]]))
    torch.testing.assert_close(support.cdf(f64([[-2, -1, 1.9, 2, 9], [-2, -1, 1.9, 2, 9]])),
                               f64([[0, 0.2, 0.2, 0.8, 1], [0, 0, 0, 1, 1]]))  # fmt: skip
    assert support.quantile(f64([[0.0, 0.1, 0.5, 0.81, 1], [0, 0.1, 0.5, 0.81, 1]])).tolist() == [
        [-math.inf, -1, 2, 9, 9],
        [-math.inf, 2, 2, 2, 2],
    ]
    torch.testing.assert_close(support.mean(), f64([2.8, 2.0]))
    assert support.mode().tolist() == [2.0, 2.0]
    assert support.cdf(f64([math.nan, math.inf])).isnan().tolist() == [True, False]


def test_learns_numerals() -> None:
    """7 for one state, 10 or 1.50 for another."""
    torch.manual_seed(0)
    for name in ("softmax", "h-softmax-rnn"):
        head = cast("SoftmaxHead", heads[name].build(DIM, size=5))
        head.fit(numerals(TEXTS * 2 + ["1.50"] * 9))
        numbers = numerals(["7", "10", "7", "1.50"])
        hidden = nn.functional.one_hot(torch.tensor([0, 1, 0, 1]), DIM).float()
        optimizer = torch.optim.Adam(head.parameters(), lr=0.1)
        for _ in range(60):
            optimizer.zero_grad()
            head.loss(hidden, numbers).mean().backward()
            optimizer.step()
        assert head(hidden).log_prob(numbers).exp().tolist() == pytest.approx([1, 0.5, 1, 0.5], abs=0.05)
        assert head(hidden[0:1]).median().item() == head(hidden[0:1]).mode().item() == 7


def test_invalid_options_are_quoted() -> None:
    with pytest.raises(ConfigError, match="size must be positive, got 0"):
        SoftmaxHead.build(DIM, size=0)
    with pytest.raises(ConfigError, match="gate"):
        HSoftmaxHead.build(DIM, gate="open")


def test_framed_spelling() -> None:
    """As in the code of 2018: the character LSTM reads a start sign, the characters and an end sign."""
    torch.manual_seed(0)
    lstm = SpellingLSTM(6, framed=True)
    strings = strings_of_texts(["1.5", "70"])
    assert lstm.symbols.num_embeddings == SpellingLSTM(6).symbols.num_embeddings + 1
    cell = lstm.cell()
    for row, text in enumerate(("1.5", "70")):
        state = torch.zeros(1, 6)
        memory = torch.zeros(1, 6)
        for symbol in (EDGE, *(SYMBOLS.index(char) for char in text), EDGE + 1):
            state, memory = cell.step(torch.tensor([symbol]), state, memory)
        torch.testing.assert_close(lstm(strings)[row], state[0])
    for name in ("softmax-rnn", "h-softmax-rnn"):
        head: Any = fresh(name, size=3, framed=True)
        assert head.spelling.framed and head(states(2)).log_masses.shape == (2, 4)
