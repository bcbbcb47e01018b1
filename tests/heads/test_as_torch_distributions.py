"""Distributions of all registered heads as users of `torch.distributions` expect them, and compared with torch's."""

from __future__ import annotations

import dataclasses
import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from torch import distributions as td

import numerate
from numerate.heads.arguments import NumberContext
from numerate.heads.base import NumberTable
from numerate.heads.distribution import DistributionError
from numerate.registry import heads

from .examples import fresh, states
from .test_contract import ROWS, VARIANTS, build

if TYPE_CHECKING:
    from numerate.heads.base import Head, NumberDistribution

NUMBERS = [3.0, -2.5, 0.0, 1500.0, 0.04]


@pytest.fixture(params=[*heads.names(), *VARIANTS])
def distribution(request: pytest.FixtureRequest) -> NumberDistribution:
    with torch.no_grad():
        return build(request.param)(states(ROWS))


def forms(values: list[float]) -> list[Any]:
    """The same numbers in every form that `log_prob` and `cdf` take."""
    texts = [repr(value).removesuffix(".0") for value in values]
    double = torch.tensor(values, dtype=torch.float64)
    table = NumberTable.of_values(values)
    return [values, tuple(values), np.array(values), double, table, [numerate.find(text)[0] for text in texts]]


def test_every_form_of_a_number_gives_the_same(distribution: NumberDistribution) -> None:
    first, *others = forms(NUMBERS)
    expected = distribution.log_prob(first), distribution.log_mass(first), distribution.cdf(first)
    assert all(result.shape == (ROWS,) and result.dtype == torch.float64 for result in expected)
    for form in others:
        found = distribution.log_prob(form), distribution.log_mass(form), distribution.cdf(form)
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=0)
    # float32 holds 0.04 as 0.03999999911: it is read as it prints.
    single = torch.tensor(NUMBERS, dtype=torch.float32)
    torch.testing.assert_close(distribution.log_mass(single), expected[1], rtol=1e-5, atol=1e-5)


def test_every_form_of_candidates_is_ranked_alike(distribution: NumberDistribution) -> None:
    first, *others = forms([7.0, 0.25, 1500.0])
    best, where = distribution.rank(first, 2)
    assert best.shape == where.shape == (ROWS, 2)
    for form in others:
        found = distribution.rank(form, 2)
        torch.testing.assert_close(found[0], best, rtol=0, atol=0)
        assert torch.equal(found[1], where)
    with pytest.raises(DistributionError, match=r"k must be at least 1, got 0"):
        distribution.rank([7.0], 0)


def test_ranked_numerals_lose_the_unit_of_the_text() -> None:
    head = heads["mixture"].build(dim=8)
    percent = NumberContext(numerate.find("3")[0].style, -2)
    found = dataclasses.replace(head(torch.zeros(2, 8)), contexts=(percent, percent))
    candidates = [numerate.find(text)[0] for text in ("3.2%", "41%")]
    torch.testing.assert_close(found.rank(candidates, 2)[0], found.rank([3.2, 41.0], 2)[0])


def test_values_broadcast_against_the_rows(distribution: NumberDistribution) -> None:
    close = {"rtol": 1e-5, "atol": 1e-5}  # recurrent networks run in float32, with other batch shapes
    for method in (distribution.log_prob, distribution.cdf):
        one = method(7.0)
        assert one.shape == (ROWS,)
        for same in (7, np.float64(7.0), torch.tensor(7.0), [7.0], [7.0] * ROWS, numerate.find("7")[0]):
            torch.testing.assert_close(method(same), one, **close)
        several = torch.tensor([[7.0, -1.0, 0.5]]).double()
        both = method(several.expand(ROWS, 3))
        assert both.shape == (ROWS, 3)
        torch.testing.assert_close(both[:, 0], one, **close)
        torch.testing.assert_close(method(several), both, **close)
        single = getattr(distribution[1], method.__name__)
        torch.testing.assert_close(single([7.0, -1.0, 0.5]), both[1], **close)
        torch.testing.assert_close(single(several.expand(4, 3)), both[1].expand(4, 3), **close)
        assert single(distribution[1].sample(4)).shape == (4, 1)
        assert method(torch.zeros(ROWS, 0)).shape == (ROWS, 0)
    torch.testing.assert_close(distribution.quantile([[0.25, 0.5]])[:, 1], distribution.median())
    torch.testing.assert_close(distribution[1].quantile([0.25, 0.5]), distribution.quantile([[0.25, 0.5]])[1])
    assert distribution[:0].cdf(3.0).shape == distribution[:0].log_prob([]).shape == (0,)


def test_shapes_that_do_not_fit_are_refused(distribution: NumberDistribution) -> None:
    said = re.escape(f"{ROWS} rows take values of shape (), ({ROWS},) or ({ROWS}, C), got (7,)")
    for method in (distribution.log_prob, distribution.cdf, distribution.quantile):
        with pytest.raises(DistributionError, match=said):
            method(torch.full((7,), 0.5))
    with pytest.raises(DistributionError, match=re.escape("got (7, 5): for samples, pass samples.T")):
        distribution.cdf(distribution.sample(7))
    for wrong in ("3.2", True, None, ["a"], object()):
        with pytest.raises(TypeError, match="numbers must be floats, tensors, numerals or a number table, got"):
            distribution.log_prob(wrong)


def test_samples_have_the_shape_that_is_asked_for(distribution: NumberDistribution) -> None:
    assert distribution.batch_shape == (ROWS,) and distribution.event_shape == ()
    assert distribution.sample().shape == (ROWS,)
    assert distribution.sample(3).shape == (3, ROWS) and distribution.sample((2, 3)).shape == (2, 3, ROWS)
    assert distribution.sample(torch.Size([0])).shape == (0, ROWS)
    seeded = [distribution.sample((2, 3), generator=torch.Generator().manual_seed(3)) for _ in range(2)]
    assert torch.equal(*seeded)
    with pytest.raises(DistributionError, match="the number of samples must not be negative, got -1"):
        distribution.sample(-1)


def test_arguments_of_other_kinds_are_quoted(distribution: NumberDistribution) -> None:
    calls: list[tuple[str, Any, str]] = [
        ("sample", 2.5, "give a number of samples or a shape, got 2.5"),
        ("sample", "a", "give a number of samples or a shape, got 'a'"),
        ("quantile", "a", "probabilities must be numbers, got 'a'"),
        ("best", "x", "k must be at least 1, got 'x'"),
    ]
    for method, given, said in calls:
        with pytest.raises(DistributionError, match=re.escape(said)):
            getattr(distribution, method)(given)
    with pytest.raises(TypeError, match="rows have one dimension: give an index, slice, mask or list, got 'a'"):
        distribution["a"]
    assert distribution.sample(np.int64(3)).shape == (3, len(distribution))  # type: ignore[arg-type]


def test_rows_are_indexed_like_a_tensor(distribution: NumberDistribution) -> None:
    below, order = distribution.cdf(0.5), torch.arange(ROWS)
    assert len(distribution) == ROWS
    for index in (
        0, -1, np.int64(2), torch.tensor(3), slice(1, None), slice(None, None, 2), [4, 0, 0], np.array([1, 2]),
        torch.tensor([3, -1]), [True, False, False, True, False], order > 1, np.array([False] * ROWS), ...,
    ):  # fmt: skip
        some = distribution[index]
        wanted = order[torch.as_tensor(index) if isinstance(index, list | np.ndarray) else index].reshape(-1)
        torch.testing.assert_close(some.cdf(0.5), below[wanted])
        assert type(some) is type(distribution)
    rows = list(distribution)
    assert len(rows) == ROWS and all(len(row) == 1 for row in rows)
    torch.testing.assert_close(torch.cat([row.cdf(0.5) for row in rows]), below)
    with pytest.raises(IndexError):
        distribution[-ROWS - 1]


def test_distributions_move_to_a_device(distribution: NumberDistribution) -> None:
    for moved in (distribution.cpu(), distribution.to("cpu"), distribution.to(torch.device("cpu"))):
        assert moved.device == torch.device("cpu") and type(moved) is type(distribution)
        assert torch.equal(moved.cdf(0.5), distribution.cdf(0.5))
    away = distribution.to("meta")  # what is computed there has shapes, but no values
    assert away.device.type == "meta" and len(away) == ROWS and distribution.device.type == "cpu"
    assert distribution.log_prob(3.0).device.type == "cpu"  # the head's own weights stay where they are


def test_moving_leaves_the_head_alone() -> None:
    for name in ("mog", "softmax", "digit-rnn", "combination"):
        head = build(name)
        head(states(2)).to("meta")
        assert {weight.device.type for weight in head.state_dict().values()} == {"cpu"}, name


def test_repr_shows_median_and_interval(distribution: NumberDistribution) -> None:
    name = type(distribution).__name__
    lines = repr(distribution).splitlines()
    assert lines[0] == f"{name}({ROWS} rows" and lines[-1] == ")" and len(lines) == ROWS + 2
    assert all(re.fullmatch(r"  \[\d\] median \S+, 90 % interval \S+ to \S+", line) for line in lines[1:-1])
    assert re.fullmatch(rf"{name}\(median \S+, 90 % interval \S+ to \S+\)", repr(distribution[2]))
    assert repr(distribution[:0]) == f"{name}(0 rows)"
    many = repr(distribution[torch.arange(ROWS).repeat(300)]).splitlines()
    assert len(many) == 9 and many[0] == f"{name}(1500 rows" and many[4] == "  ..." and many[7].startswith("  [1499]")


def test_repr_of_a_known_distribution() -> None:
    distribution = heads["scalar"].build(8, spread=10.0)(torch.zeros(1, 8))
    centred = type(distribution)(torch.tensor([347.25]).double(), 10.0)
    assert repr(centred) == "NormalDistribution(median 347.2, 90 % interval 330.8 to 363.7)"
    assert "1e20" in repr(type(distribution)(torch.tensor([1e20]).double(), 1.0))


def test_best_candidates(distribution: NumberDistribution) -> None:
    found = distribution.best(3)
    assert len(found) == ROWS
    for row, candidates in zip(distribution, found, strict=True):
        assert 1 <= len(candidates) <= 3 and len({each.text for each in candidates}) == len(candidates)
        chances = [each.log_prob for each in candidates]
        assert chances == sorted(chances, reverse=True) and max(chances) <= 1e-9
        for each in candidates:
            [read] = numerate.find(each.text)
            assert read.value == each.value
        if row.is_written:
            continue  # the most probable numerals may lie in the tails of a mixture with a vocabulary
        low, high = (float(end) for end in row.interval(0.99))
        slack = 0.2 * (abs(low) + abs(high)) + 1e-6
        assert all(low - slack <= each.value <= high + slack for each in candidates)
    with pytest.raises(DistributionError, match="k must be at least 1, got 0"):
        distribution.best(0)


def test_best_candidates_have_the_digits_that_the_spread_supports() -> None:
    normal = type(heads["scalar"].build(8)(torch.zeros(1, 8)))
    for centre, spread, text in (
        (1961.2, 20.0, "1961"),
        (347.0, 250.0, "350"),
        (0.01234, 1e-4, "0.01234"),
        (5, 0, "5"),
    ):
        [[best]] = normal(torch.tensor([centre]).double(), spread or 1e-9).best(1)
        assert best.text == text
    [[best]] = normal(torch.tensor([2e25]).double(), 1e25).best(1)
    assert best.value == pytest.approx(2e25, rel=0.1) and "e25" in best.text


def test_best_candidates_of_a_vocabulary_are_its_numerals() -> None:
    head = heads["softmax"].build(8, size=10)
    head.fit(NumberTable.of_numerals(numerate.find("1.50 7 7 1.50 1.50 20")))
    with torch.no_grad():
        head.out.weight.zero_()
        bias = torch.zeros(11)
        bias[head.known.texts().index("1.50")] = 3.0
        head.out.bias.copy_(bias)
    [[first, *rest]] = head(torch.zeros(1, 8)).best(9)
    assert first.text == "1.50" and {each.text for each in rest} == {"7", "20"}


def test_mixture_equals_that_of_torch() -> None:
    head: Head = fresh("mixture", components=4)
    found: Any = head(states(3))
    unit, at = found.unit, torch.tensor([-40.0, -1e-4, 0.0, 0.3, 1.0, 77.0, 3e6]).double().expand(3, -1)
    mixed = td.MixtureSameFamily(td.Categorical(logits=found.log_weights), td.Normal(found.means, found.widths))
    inner = torch.asinh(at / unit).T
    slope = -0.5 * torch.log(at.square() + unit**2)
    torch.testing.assert_close(found.log_prob(at), mixed.log_prob(inner).T + slope, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(found.cdf(at), mixed.cdf(inner).T, rtol=1e-9, atol=1e-12)
    spread = torch.sinh(found.means) * unit * torch.exp(found.widths**2 / 2)
    torch.testing.assert_close(found.mean(), (found.log_weights.exp() * spread).sum(-1), rtol=1e-9, atol=0)


def test_scalar_and_mog_equal_those_of_torch() -> None:
    found: Any = fresh("scalar", spread=2.5)(states(3))
    normal = td.Normal(found.center, 2.5)
    for p in (0.01, 0.5, 0.9):
        torch.testing.assert_close(found.quantile(p), normal.icdf(torch.tensor(p, dtype=torch.float64)))
    for value in (-3.0, 0.0, 4.25):
        torch.testing.assert_close(found.log_prob(value), normal.log_prob(torch.tensor(value)))
        torch.testing.assert_close(found.cdf(value), normal.cdf(torch.tensor(value)))
    written: Any = fresh("mog", granularities=3)(states(3))
    inside = written.values
    parts = td.Normal(*(part.expand(3, -1) for part in inside.components))
    mixed = td.MixtureSameFamily(td.Categorical(logits=inside.log_weights), parts)
    torch.testing.assert_close(inside.log_prob(12.5), mixed.log_prob(torch.tensor(12.5).double()))
    torch.testing.assert_close(written.cdf(12.5), mixed.cdf(torch.tensor(12.5).double()))
    torch.testing.assert_close(written.mean(), mixed.mean)


def test_log_sign_equals_a_shifted_log_normal() -> None:
    found: Any = fresh("log-sign")(states(3))
    plus = found.plus_logit.sigmoid()
    size = td.LogNormal(found.center, found.spread)
    for value in (1e-3, 0.5, 30.0):
        at = torch.tensor(value).double() + found.eps
        torch.testing.assert_close(found.log_prob(value), plus.log() + size.log_prob(at))
        torch.testing.assert_close(found.log_prob(-value), (1 - plus).log() + size.log_prob(at))
        torch.testing.assert_close(found.cdf(value), 1 - plus * (1 - size.cdf(at)))


def test_log_prob_is_differentiable_in_every_shape() -> None:
    head = fresh("mixture")
    for values in (3.0, [3.0] * 4, torch.full((4, 2), 3.0)):
        hidden = states(4).requires_grad_()
        head(hidden).log_prob(values).sum().backward()
        assert hidden.grad is not None and hidden.grad.abs().sum() > 0 and hidden.grad.isfinite().all()


def test_not_a_number_has_no_probability(distribution: NumberDistribution) -> None:
    assert distribution.log_prob([math.nan, math.inf, -math.inf, math.nan, 1.0])[:4].tolist() == [-math.inf] * 4
    ends = distribution.cdf([-math.inf, math.inf, math.nan, 0.0, 0.0])
    assert ends[:2].tolist() == [0.0, 1.0] and bool(ends[2].isnan())


def test_digits_and_bits_equal_independent_ones_of_torch() -> None:
    digits: Any = fresh("fourier-digits", integer_digits=3, fraction_digits=1)(states(3))
    places = td.Categorical(logits=digits.log_digits)
    minus = td.Bernoulli(logits=-digits.plus_logit)
    expected = places.log_prob(torch.tensor([0, 4, 2, 5])).sum(-1) + minus.log_prob(torch.ones(3).double())
    torch.testing.assert_close(digits.log_prob(-42.5), expected)
    found: Any = fresh("bits")(states(3))
    pattern = torch.tensor(-42.5, dtype=torch.float64).view(torch.int64)
    ones = (pattern >> torch.arange(63, -1, -1) & 1).double()
    inside = td.Bernoulli(logits=found.logits).log_prob(ones).sum(-1)
    endless = td.Bernoulli(logits=found.logits[:, 1:12]).log_prob(torch.ones(11).double()).sum(-1).exp()
    torch.testing.assert_close(found.log_prob(-42.5), inside - torch.log1p(-endless))


def test_exponent_and_mantissa_equal_a_truncated_normal() -> None:
    found: Any = fresh("exponent-mantissa")(states(3))
    place = 2 - found.lowest  # 425 is 4.25 · 10²
    normal = td.Normal(found.centers[:, place], found.spreads[:, place])
    one, ten, at = (torch.tensor(value).double() for value in (1.0, 10.0, 4.25))
    inside = (normal.cdf(ten) - normal.cdf(one)).log()
    chance = found.log_signs[:, 2] + found.log_exponents[:, place]
    torch.testing.assert_close(found.log_prob(425), chance + normal.log_prob(at) - inside - 2 * math.log(10))


def test_quantiles_and_vocabularies_equal_what_they_predict() -> None:
    found: Any = fresh("quantiles")(states(3))
    at = torch.sinh(found.knots) * found.unit
    levels = torch.tensor([found.levels], dtype=torch.float64)
    torch.testing.assert_close(found.cdf(at), levels.expand_as(at))
    torch.testing.assert_close(found.quantile(levels), at)
    words: Any = fresh("softmax", size=20)(states(3))
    known = td.Categorical(logits=words.log_masses)
    index = words.numerals.texts().index("1987")
    torch.testing.assert_close(words.log_prob(1987), known.log_prob(torch.tensor(index)))
    share = known.probs[:, :-1] / known.probs[:, :-1].sum(-1, keepdim=True)
    torch.testing.assert_close(words.cdf(1987.0), share[:, words.numerals.values <= 1987].sum(-1))
