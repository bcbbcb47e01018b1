"""Copying other numbers of a text: the pointer, its distribution, and copying beside other heads."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import torch

from numerate.heads.combination import CombinationDistribution, CombinationHead
from numerate.heads.number_strings import packed, strings_of
from numerate.heads.pointer import _REACH, CopiedDistribution, PointerContext
from numerate.heads.vocabulary import VocabularyDistribution
from numerate.numerals.numeral import Numeral
from numerate.processing.number_table import NumberTable

from .examples import DIM, f64, states, table

TEXTS = [["7", "1.50", "7", "1987"], ["3.5", "12", "1.5", "-4"]]
"""The numbers of two texts."""
ROWS, NUMBERS = [0, 0, 0, 1, 1], [0, 2, 3, 1, 3]
"""Text and index of five predicted numbers; each sees the numbers before it."""
CLOSED = ({"kind": "h-softmax", "size": 3},)
OPEN = (*CLOSED, {"kind": "mog", "granularities": 3})


def written(texts: list[str]) -> NumberTable:
    return NumberTable.of_numerals([Numeral(text, 0, len(text), float(text)) for text in texts])


def context(requires_grad: bool = False, dtype: torch.dtype = torch.float32) -> PointerContext:
    flat = written([text for row in TEXTS for text in row])
    numbers = NumberTable(
        flat.bits.reshape(2, 4),
        flat.characters.reshape(2, 4, -1),
        flat.precision.reshape(2, 4),
        flat.given.reshape(2, 4),
    )
    read, query = (states(8, seed).reshape(2, 4, DIM).to(dtype).requires_grad_(requires_grad) for seed in (3, 4))
    visible = torch.arange(4) < torch.tensor(NUMBERS)[:, None]
    return PointerContext(numbers, read, query, torch.tensor(ROWS), torch.tensor(NUMBERS), visible)


def copying(members: Any = OPEN, seed: int = 0, **options: Any) -> CombinationHead:
    torch.manual_seed(seed)
    head = CombinationHead.build(DIM, members=members, copies=True, **options)
    head.fit(table([7.0, 7.0, 3.5, 3.5, 1987.0, 1987.0, 12.0]))
    assert head.pointer is not None
    torch.nn.init.normal_(head.pointer.distance.weight)
    return head.eval()


def scores_by_hand(head: CombinationHead, hidden: torch.Tensor, earlier: PointerContext) -> list[dict[int, float]]:
    """The score of each candidate, computed one by one."""
    pointer = head.pointer
    assert pointer is not None
    result = []
    for state, row, number in zip(hidden, ROWS, NUMBERS, strict=True):
        query, scores = pointer.query.weight @ state + pointer.query.bias, {}
        for place in range(number):
            told, asked = earlier.read_states[row, place], earlier.query_states[row, place]
            key = pointer.told.weight @ told + pointer.told.bias + pointer.asked.weight @ asked
            bias = pointer.distance.weight[_REACH + number - place, 0]
            scores[place] = float(query @ key) / math.sqrt(DIM) + float(bias)
        result.append(scores)
    return result


@torch.no_grad()
def test_log_prob_equals_an_explicit_sum() -> None:
    head, hidden, earlier = copying(), states(5), context()
    gold = ["7", "7", "1.50", "3.5", "8"]
    choice = hidden @ head.choice.weight.T + head.choice.bias
    vocabulary, mog = head.members[0](hidden).without_unknown(), head.members[1](hidden)
    expected = []
    for n, (scores, text, row) in enumerate(zip(scores_by_hand(head, hidden, earlier), gold, ROWS, strict=True)):
        weights = {place: math.exp(choice[n, 2].item() + score) for place, score in scores.items()}
        said = [math.exp(choice[n, k].item()) for k in range(2)]
        others = [member[n].log_prob(written([text])).exp().item() for member in (vocabulary, mog)]
        copied = sum(weight for place, weight in weights.items() if TEXTS[row][place] == text)
        mixed = said[0] * others[0] + said[1] * others[1] + copied
        expected.append(mixed / (sum(said) + sum(weights.values())))
    distribution = head(hidden, earlier)
    torch.testing.assert_close(distribution.log_prob(written(gold)).exp(), f64(expected), rtol=1e-5, atol=0)
    torch.testing.assert_close(head.loss(hidden, written(gold), earlier).exp(), 1 / f64(expected).float())
    assert distribution.log_weights[0, 2] == -math.inf, "the first of a text has nothing to copy"
    assert distribution.chosen(written(gold))[:, 2].gt(0).tolist() == [False, True, True, True, False]


@torch.no_grad()
def test_probabilities_sum_to_one() -> None:
    head = copying(CLOSED)
    distribution = head(states(5), context())
    assert isinstance(distribution, CombinationDistribution) and not head.is_open
    vocabulary = distribution.members[0]
    assert isinstance(vocabulary, VocabularyDistribution)
    known = head.members[0].known.texts()
    unknown = (distribution.log_weights[:, 0] + vocabulary.log_masses[:, -1]).exp()
    others = sorted({text for row in TEXTS for text in row} - set(known))
    assert len(known) == 3 and len(others) == 4
    total = distribution.scores(written(known)).exp().sum(-1) + unknown
    # Every unknown string has the probability of "unknown" in the vocabulary, which counts once.
    total += (distribution.scores(written(others)).exp() - unknown[:, None]).sum(-1)
    torch.testing.assert_close(total, torch.ones(5).double())


@torch.no_grad()
def test_without_a_context_nothing_is_copied() -> None:
    head, hidden, numbers = copying(), states(5), table([7.0, 3.5, 8.0, 1987.0, -0.25])
    alone = CombinationHead.build(DIM, members=OPEN)
    ours = {key: value for key, value in head.state_dict().items() if not key.startswith("pointer.")}
    ours |= {f"choice.{name}": head.state_dict()[f"choice.{name}"][:2] for name in ("weight", "bias")}
    alone.load_state_dict(ours)
    torch.testing.assert_close(head(hidden).log_prob(numbers), alone(hidden).log_prob(numbers))
    torch.testing.assert_close(head.loss(hidden, numbers), alone.loss(hidden, numbers))
    assert head.looks_back and not alone.looks_back


def distribution() -> CopiedDistribution:
    earlier = context()
    scores = states(5, seed=9)[:, :4].double().masked_fill(~earlier.visible, -math.inf)
    return CopiedDistribution.of(scores, earlier)


def test_equal_strings_add_up_and_other_forms_differ() -> None:
    copied, candidates = distribution(), written(["7", "1.5", "1.50", "12", "7", "8"])
    masses = copied.log_masses[2].exp()
    scores = copied.scores(candidates).exp()
    expected = [masses[0] + masses[2], 0.0, masses[1], 0.0, masses[0] + masses[2], 0.0]
    torch.testing.assert_close(scores[2], f64([float(mass) for mass in expected]))
    assert scores[0].tolist() == [0.0] * 6 and scores[4].gt(0).tolist() == [False, True, False, True, False, False]
    for column in range(6):
        torch.testing.assert_close(copied.log_prob(candidates[column].flat().expand(5)).exp(), scores[:, column])
    assert (copied.scores(table([math.nan, math.inf])) == -math.inf).all()
    assert copied.scores(written(["7"])[:0]).shape == (5, 0)


def test_cdf_quantile_mean_and_samples() -> None:
    copied = distribution()
    filled = copied[1:]
    values = f64([-5.0, -4.0, 1.5, 3.5, 7.0, 12.0, 1987.0])
    cdf = filled.cdf(values.expand(4, -1))
    jumps = torch.stack([filled.scores(written(texts)).exp().sum(-1) for texts in (
        ["-5"], ["-4"], ["1.5", "1.50"], ["3.5"], ["7"], ["12"], ["1987"],
    )], dim=-1)  # fmt: skip
    torch.testing.assert_close(cdf, jumps.cumsum(-1))
    assert (cdf[:, -1] == 1).all() and (cdf.diff(dim=1) >= 0).all()
    p = f64([0.01, 0.3, 0.5, 0.99]).expand(4, -1)
    quantile = filled.quantile(p)
    assert (filled.cdf(quantile) >= p).all()
    assert (filled.cdf(torch.nextafter(quantile, f64(-math.inf))) < p).all()
    torch.testing.assert_close(filled.mean(), (jumps * values).sum(-1))
    samples = filled.sample(4000, torch.Generator().manual_seed(0))
    shares = (samples[..., None] == values).double().mean(0)
    torch.testing.assert_close(shares, jumps, rtol=0, atol=0.03)


def test_mode_adds_equal_strings() -> None:
    numbers = written(["7", "1987", "7"])
    log_masses = f64([[0.3, 0.4, 0.3], [0.3, 0.7, 0.0], [0.0, 0.0, 0.0]]).log()
    pairs = packed(strings_of(numbers)).expand(3, -1, -1)
    copied = CopiedDistribution(log_masses, pairs, numbers.values().expand(3, -1))
    assert copied.mode().tolist() == [7.0, 1987.0, 0.0]
    assert copied.is_empty.tolist() == [False, False, True] and copied.unseen.tolist() == [0.0] * 3
    assert copied[-1].mean().isfinite().all() and copied[2].sample(3).isfinite().all()


@torch.no_grad()
def test_combination_with_copies_has_cdf_and_estimates() -> None:
    mixed = copying()(states(5), context())
    copied = mixed.members[-1]
    weight = mixed.log_weights[:, -1].exp()
    assert isinstance(copied, CopiedDistribution) and (weight[1:] > 0).all()
    least = f64([-math.inf] * 5)
    jump = mixed.cdf(f64([7.0] * 5)) - mixed.cdf(torch.nextafter(f64([7.0] * 5), least))
    assert (jump >= weight * copied.scores(written(["7"]))[:, 0].exp() - 1e-12).all()
    assert mixed.median().isfinite().all() and mixed.mode().isfinite().all() and mixed.sample(3).isfinite().all()
    best, where = mixed.rank(written(["7", "1.50", "8"]), 1)
    torch.testing.assert_close(best, mixed.scores(written(["7", "1.50", "8"])).gather(1, where))


def test_gradients() -> None:
    head, earlier = copying().double(), context(requires_grad=True, dtype=torch.float64)
    hidden, gold = states(5).double().requires_grad_(), written(["7", "7", "1.50", "3.5", "8"])

    def log_prob(hidden: torch.Tensor, read: torch.Tensor, query: torch.Tensor) -> torch.Tensor:
        where = dataclasses.replace(earlier, read_states=read, query_states=query)
        return head(hidden, where).log_prob(gold)

    assert torch.autograd.gradcheck(log_prob, (hidden, earlier.read_states, earlier.query_states), fast_mode=True)
    head.loss(hidden, gold, earlier).sum().backward()
    assert head.pointer is not None
    for name, weight in head.pointer.named_parameters():
        assert weight.grad is not None and weight.grad.abs().sum() > 0 and weight.grad.isfinite().all(), name


def test_texts_without_numbers() -> None:
    head, flat = copying(), table([])
    none = NumberTable(flat.bits.reshape(2, 0), flat.characters.reshape(2, 0, 0), *(
        column.reshape(2, 0) for column in (flat.precision, flat.given)))  # fmt: skip
    empty, index = torch.zeros(2, 0, DIM), torch.zeros(0, dtype=torch.int64)
    earlier = PointerContext(none, empty, empty, index, index, torch.zeros(0, 0, dtype=torch.bool))
    mixed = head(states(1)[:0], earlier)
    assert mixed.log_prob(table([])).shape == mixed.median().shape == mixed.mode().shape == (0,)
    head.loss(states(1)[:0], table([]), earlier).sum().backward()
    assert all(weight.grad is not None for weight in head.parameters())


def test_half_precision_is_computed_in_float32() -> None:
    dtype = torch.bfloat16
    head, earlier, gold = copying().to(dtype), context(dtype=dtype), written(["7", "7", "1.50", "3.5", "8"])
    half = head.loss(states(5).to(dtype), gold, earlier)
    read, query = earlier.read_states.float(), earlier.query_states.float()
    wide = dataclasses.replace(earlier, read_states=read, query_states=query)
    assert half.dtype == torch.float32
    torch.testing.assert_close(half, head.float().loss(states(5).to(dtype).float(), gold, wide))
