"""Probability of the number of decimals against an explicit LSTM; distributions of written numbers."""

from __future__ import annotations

import math

import pytest
import torch

from numerate.config import ConfigError
from numerate.heads.distribution import DistributionError
from numerate.heads.mixture import MixtureHead
from numerate.heads.precision import MOST_DECIMALS, DecimalsRNN, WrittenDistribution, decimals_of
from numerate.numerals.numeral import Numeral
from numerate.processing.number_table import NumberTable

from .examples import DIM, states, table


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def by_hand(rnn: DecimalsRNN, hidden: list[float], decimals: int) -> float:
    """Log-probability by an LSTM in plain Python."""
    weight_in, weight_state = rnn.cell.weight_ih.tolist(), rnn.cell.weight_hh.tolist()
    bias_in, bias_state = rnn.cell.bias_ih.tolist(), rnn.cell.bias_hh.tolist()
    symbols, width = rnn.symbols.weight.tolist(), len(hidden)
    state, cell, total = hidden, [0.0] * width, 0.0
    for step in range(decimals + 1):
        symbol = symbols[0 if step == 0 else 1]
        gates = [
            sum(w * x for w, x in zip(weight_in[row], symbol, strict=True))
            + sum(w * x for w, x in zip(weight_state[row], state, strict=True))
            + bias_in[row]
            + bias_state[row]
            for row in range(4 * width)
        ]
        for unit in range(width):
            take, keep, new = (gates[unit + part * width] for part in range(3))
            cell[unit] = sigmoid(keep) * cell[unit] + sigmoid(take) * math.tanh(new)
        state = [sigmoid(gates[unit + 3 * width]) * math.tanh(cell[unit]) for unit in range(width)]
        odds = rnn.more.bias.item() + sum(w * x for w, x in zip(rnn.more.weight[0].tolist(), state, strict=True))
        total += math.log(sigmoid(odds if step < decimals else -odds))
    return total


@pytest.fixture
def rnn() -> DecimalsRNN:
    torch.manual_seed(0)
    return DecimalsRNN(DIM).double()


def test_log_prob_equals_an_lstm_in_plain_python(rnn: DecimalsRNN) -> None:
    hidden, decimals = states(4).double(), torch.tensor([0, 3, 1, 7])
    expected = [by_hand(rnn, hidden[row].tolist(), int(decimals[row])) for row in range(4)]
    assert rnn.log_prob(hidden, decimals).tolist() == pytest.approx(expected, rel=1e-12)


def test_probabilities_sum_to_one(rnn: DecimalsRNN) -> None:
    with torch.no_grad():
        rnn.more.bias.fill_(1.5)  # many decimals
        whole = rnn(states(6).double())
        assert whole.shape == (6, MOST_DECIMALS + 1)
        torch.testing.assert_close(whole.exp().sum(-1), torch.ones(6).double())
        assert (whole[:, -1] > whole[:, -2]).all()  # the last one has all remaining probability
        for longest in (0, 1, 29, 30):
            torch.testing.assert_close(rnn(states(6).double(), longest), whole[:, : longest + 1])
    with pytest.raises(DistributionError, match="longest must lie in 0 to 30, got 31"):
        rnn(states(1).double(), 31)
    assert rnn.log_prob(states(0).double(), torch.zeros(0, dtype=torch.int64)).shape == (0,)


def test_option_width() -> None:
    rnn = DecimalsRNN(DIM, width=5)
    assert rnn.cell.weight_hh.shape == (20, 5)
    torch.testing.assert_close(rnn(states(3)).exp().sum(-1), torch.ones(3).double())
    with pytest.raises(ConfigError, match="width must be positive, got 0"):
        DecimalsRNN(DIM, width=0)


def test_learns_the_number_of_decimals() -> None:
    """Two decimals for one state, none or one for another."""
    torch.manual_seed(0)
    rnn, kind = DecimalsRNN(DIM), torch.arange(200) % 2
    decimals = torch.where(kind == 0, 2, torch.arange(200) // 2 % 2)
    hidden = torch.nn.functional.one_hot(kind, DIM).float()
    optimizer = torch.optim.Adam(rnn.parameters(), lr=3e-2)
    for _ in range(60):
        optimizer.zero_grad()
        (-rnn.log_prob(hidden, decimals).mean()).backward()
        optimizer.step()
    chances = rnn(hidden[:2]).exp()
    assert chances[0, 2] > 0.95
    assert chances[1, :2].tolist() == pytest.approx([0.5, 0.5], abs=0.06)


def test_trailing_zeros_count_as_decimals() -> None:
    torch.manual_seed(0)
    texts = ["1.5", "1.50", "1.500", "2", "2.0"]
    numbers = NumberTable.of_numerals([Numeral(text, 0, len(text), float(text)) for text in texts])
    assert decimals_of(numbers).tolist() == [1, 2, 3, 0, 1]
    head = MixtureHead.build(DIM, written=True)
    distribution = head(states(1))
    assert isinstance(distribution, WrittenDistribution)
    assert distribution.is_written and not distribution.is_density
    scores = distribution.scores(numbers)[0]
    assert len(set(scores.tolist())) == 5
    expected = distribution.values.mass_scores(numbers)[0] + distribution.log_decimals()[0, decimals_of(numbers)]
    torch.testing.assert_close(scores, expected)


def test_rows_can_be_selected() -> None:
    head = MixtureHead.build(DIM, written=True)
    for index in (1, -1, slice(0, 2), torch.tensor([2, 2, 0])):
        some, whole = head(states(3))[index], head(states(3)).scores(table([0.25, 7.0]))
        torch.testing.assert_close(some.scores(table([0.25, 7.0])), whole[torch.arange(3)[index].reshape(-1)])
