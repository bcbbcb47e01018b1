"""Perplexities against manual calculations, and equal adjustment of flat and hierarchical models."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from numerate import metrics

WORDS, NUMERALS = 7, 5
"""Vocabulary sizes of the toy models; the last type of each class is its unknown token."""
TYPES = (40, 300)
"""Number of types behind the unknown token of each class."""


class Flat(nn.Module):
    """One softmax over all types."""

    def __init__(self) -> None:
        super().__init__()
        self.out = nn.Linear(6, WORDS + NUMERALS)

    def forward(self, hidden: torch.Tensor, classes: torch.Tensor, types: torch.Tensor) -> torch.Tensor:
        log_p = self.out(hidden).log_softmax(-1)
        return -log_p.gather(1, (types + WORDS * classes)[:, None])[:, 0]


class Hierarchical(nn.Module):
    """A softmax over the classes, then a softmax over the types of a class."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(6, 2)
        self.words, self.numerals = nn.Linear(6, WORDS), nn.Linear(6, NUMERALS)

    def forward(self, hidden: torch.Tensor, classes: torch.Tensor, types: torch.Tensor) -> torch.Tensor:
        gate = self.gate(hidden).log_softmax(-1).gather(1, classes[:, None])[:, 0]
        words = self.words(hidden).log_softmax(-1).gather(1, types.clamp_max(WORDS - 1)[:, None])[:, 0]
        numerals = self.numerals(hidden).log_softmax(-1).gather(1, types.clamp_max(NUMERALS - 1)[:, None])[:, 0]
        return -(gate + torch.where(classes == 1, numerals, words))


def corpus(count: int = 500) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    classes = (torch.rand(count, generator=generator) < 0.2).long()
    sizes = torch.where(classes == 1, NUMERALS, WORDS)
    types = (torch.rand(count, generator=generator) * sizes).long()
    hidden = torch.randn(count, 6, generator=generator) + classes[:, None]
    return hidden, classes, types, types == sizes - 1


def train(model: nn.Module, steps: int = 30) -> torch.Tensor:
    hidden, classes, types, _ = corpus()
    optimiser = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(steps):
        optimiser.zero_grad()
        model(hidden, classes, types).mean().backward()
        optimiser.step()
    return model(hidden, classes, types).detach()


def test_flat_and_hierarchical_models_have_equal_adjustments() -> None:
    torch.manual_seed(0)
    _, classes, _, unknown = corpus()
    flat = metrics.perplexities(train(Flat()), classes, unknown, TYPES)
    tree = metrics.perplexities(train(Hierarchical()), classes, unknown, TYPES)
    for name in ("words", "numerals", "all"):
        one, other = flat[name], tree[name]
        assert one.pp != pytest.approx(other.pp, rel=1e-6)
        assert math.log(one.app / one.pp) == pytest.approx(math.log(other.app / other.pp), rel=1e-9)
        assert one.adjustment == other.adjustment > 0
    share = [float((unknown & (classes == kind)).double().mean()) * math.log(TYPES[kind]) for kind in (0, 1)]
    assert flat["all"].adjustment == pytest.approx(sum(share))


@pytest.mark.parametrize("model", [Flat, Hierarchical])
def test_adjusted_probabilities_of_all_types_sum_to_1(model: type[nn.Module]) -> None:
    torch.manual_seed(1)
    sizes, hidden = (WORDS, NUMERALS), torch.randn(1, 6)
    total = 0.0
    toy = model()
    for kind, size in enumerate(sizes):
        for index in range(size):
            nll = toy(hidden, torch.tensor([kind]), torch.tensor([index]))
            unknown = index == size - 1
            one = metrics.perplexities(nll, [kind], [unknown], TYPES)["all"]
            total += (TYPES[kind] if unknown else 1) / one.app
    assert total == pytest.approx(1, rel=1e-5)


def test_perplexities_match_manual_calculation() -> None:
    nll = [math.log(2), math.log(4), math.log(16), math.log(8)]
    table = metrics.perplexities(nll, [0, 0, 1, 1], [False, True, True, True], (9, 25))
    # words: sqrt(2 * 4), times 9^(1/2); numerals: sqrt(16 * 8), times 25; all: (2 * 4 * 16 * 8)^(1/4)
    assert table["words"].pp == pytest.approx(math.sqrt(8))
    assert table["words"].app == pytest.approx(math.sqrt(8) * 3)
    assert table["numerals"].app == pytest.approx(math.sqrt(128) * 25)
    assert table["all"].pp == pytest.approx(1024**0.25)
    assert table["all"].app == pytest.approx(1024**0.25 * 9**0.25 * 25**0.5)
    assert [row.unknown for row in table.values()] == [1, 2, 3]
    assert table["all"].pp_2nats == pytest.approx(2 ** (math.log(1024) / 4))


def test_perplexity_as_reported_by_thawani_et_al() -> None:
    result = metrics.perplexity([math.log(5.14)])
    assert result.pp_2nats == pytest.approx(3.11, abs=0.005)


def test_open_vocabulary_needs_no_adjustment() -> None:
    result = metrics.perplexity([1.0, 2.0, 3.0], unknown_types=1000)
    assert result.pp == result.app == pytest.approx(math.e**2)
    assert metrics.perplexity([1.0], [True], unknown_types=0).app == pytest.approx(math.e)  # at least one type


def test_no_tokens_nan_and_probability_0() -> None:
    empty = metrics.perplexity([])
    assert math.isnan(empty.pp)
    assert math.isnan(empty.app)
    assert empty.to_dict()["pp"] is None
    table = metrics.perplexities([1.0, math.nan, math.inf], [0, 1, 0])
    assert table["words"].pp == math.inf
    assert math.isnan(table["numerals"].pp)
    assert table["all"].non_finite == 2
    assert metrics.perplexity([1e6]).pp == math.inf


def test_errors_quote_the_input() -> None:
    with pytest.raises(ValueError, match=r"got 0\.\.2"):
        metrics.perplexities([1.0, 1.0], [0, 2])
    with pytest.raises(ValueError, match="one entry per class"):
        metrics.perplexities([1.0], [0], unknown_types=(1,))
    with pytest.raises(ValueError, match=r"\(2,\), \(1,\), \(1,\)"):
        metrics.perplexities([1.0, 2.0], [0])
