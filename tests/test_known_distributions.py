"""Synthetic sentences with known distributions: each number is drawn from its stated distribution."""

from __future__ import annotations

import itertools
import math
import statistics
from collections import defaultdict

import pytest
import torch
from known_distributions import (
    SPLITS,
    TRUTHS,
    KnownText,
    Truth,
    entropy_floor,
    known_text,
    known_texts,
)

from numerate.reading.plain import PlainReader

READER = PlainReader()
ALL = {f"{kind}: {cue}": truth for kind, some in TRUTHS.items() for cue, truth in some.items()}
SHAPES = {"normal": Truth("normal", 6.0, 4.0, 1, 3), "log-normal": Truth("log-normal", 2.0, 0.5, 2, 1),
          "pareto": Truth("pareto", 9.0, 0.4, 0, 1)}  # fmt: skip


@pytest.fixture(scope="module")
def texts() -> list[KnownText]:
    return list(known_texts("train", 4000))


def independent(truth: Truth) -> torch.distributions.Distribution:
    """The same distribution before rounding, from torch."""
    if truth.shape == "normal":
        return torch.distributions.Normal(torch.tensor(truth.centre).double(), truth.spread)
    if truth.shape == "log-normal":
        return torch.distributions.LogNormal(torch.tensor(truth.centre).double().log(), truth.spread)
    # Pareto of the second kind: the first kind, shifted to start at 0.
    moved = torch.distributions.AffineTransform(-truth.centre, 1.0)
    pareto = torch.distributions.Pareto(torch.tensor(truth.centre).double(), torch.tensor(1 / truth.spread).double())
    return torch.distributions.TransformedDistribution(pareto, [moved])


def written(truth: Truth, units: int) -> str:
    return f"{units / 10**truth.decimals:.{truth.decimals}f}"


def test_probabilities_sum_to_the_cdf() -> None:
    for name, truth in ALL.items():
        last = round(truth.quantile(0.99) * 10**truth.decimals)
        total = math.fsum(math.exp(truth.log_prob(written(truth, units))) for units in range(truth.least, last + 1))
        assert total == pytest.approx(truth.cdf(last / 10**truth.decimals), abs=1e-9), name
        assert 0.99 <= total < 1, name
        if truth.least:
            assert truth.log_prob(written(truth, truth.least - 1)) == -math.inf, name
        assert truth.cdf(truth.quantile(1 - 1e-12)) == pytest.approx(1, abs=1e-11), name
        assert truth.cdf(truth.least / 10**truth.decimals - 1e-6) == 0, name


@pytest.mark.parametrize("truth", SHAPES.values(), ids=list(SHAPES))
def test_probabilities_equal_those_of_torch(truth: Truth) -> None:
    ours = independent(truth)
    step = 10.0**-truth.decimals
    least = torch.tensor((truth.least - 0.5) * step, dtype=torch.float64)
    kept = 1 - ours.cdf(least)
    for units in (truth.least, truth.least + 1, truth.least + 7, 40, 150):
        edges = torch.tensor([(units - 0.5) * step, (units + 0.5) * step], dtype=torch.float64)
        mass = ours.cdf(edges[1]) - ours.cdf(edges[0])
        assert math.exp(truth.log_prob(written(truth, units))) == pytest.approx(float(mass / kept), rel=1e-6)
        below = (ours.cdf(edges[1]) - ours.cdf(least)) / kept
        assert truth.cdf(units * step) == pytest.approx(float(below), rel=1e-6)
        assert truth.cdf((units + 0.9) * step) == truth.cdf(units * step), (
            "the cdf steps at numbers that can be written"
        )
    for p in (1e-12, 1e-6, 0.03, 0.3, 0.5, 0.77, 0.999):
        at = truth.quantile(p)
        assert truth.cdf(at) >= p * (1 - 1e-9)
        assert truth.cdf(at - step) < p or at == pytest.approx(truth.least * step)
        assert float(truth.write(p)) == at and len(truth.write(p).partition(".")[2]) == truth.decimals
    with pytest.raises(ValueError, match="p=1"):
        truth.quantile(1)


def test_tail_probabilities_are_exact() -> None:
    # Reference: the tail expansion phi(z) / z (1 - 1/z² + 3/z⁴), whose differences have no rounding error.
    def tail(z: float) -> float:
        return math.exp(-z * z / 2) / (z * math.sqrt(2 * math.pi)) * (1 - z**-2 + 3 * z**-4 - 15 * z**-6)

    truth = Truth("normal", 50.0, 2.0)
    for text, low in (("80", 14.75), ("20", 14.75)):
        assert truth.log_prob(text) == pytest.approx(math.log(tail(low) - tail(low + 0.5)), abs=1e-4)
    assert Truth("pareto", 1.0, 1.0).log_prob(str(10**6)) == pytest.approx(-2 * math.log(10**6 + 1), abs=1e-9)


def test_other_notations_have_no_probability() -> None:
    for text in ("", "-3", "3.0", "03", "1e3", "1,000", "3 ", ".5", "٣", "inf"):
        assert Truth("log-normal", 3.0, 1.0).log_prob(text) == -math.inf, text
    assert Truth("log-normal", 3.0, 1.0).log_prob("3") > -3


def test_numbers_are_drawn_from_their_distribution(texts: list[KnownText]) -> None:
    # The randomised cdf of each number is uniform if and only if the number comes from its own distribution.
    places = defaultdict(list)
    uniform = torch.rand(len(texts), generator=torch.Generator().manual_seed(0)).tolist()
    for text, u in zip(texts, uniform, strict=True):
        for number, log_prob in zip(text.numbers, text.log_probs(), strict=True):
            value = float(text.text[number.start : number.end])
            places[number.kind].append(number.truth.cdf(value) - u * math.exp(log_prob))
    for kind, some in places.items():
        assert len(some) > 850, kind
        error = 4 / math.sqrt(12 * len(some))
        assert statistics.mean(some) == pytest.approx(0.5, abs=error), kind
        assert statistics.pstdev(some) == pytest.approx(12**-0.5, abs=error), kind
        assert sum(0.05 <= place <= 0.95 for place in some) / len(some) == pytest.approx(0.9, abs=0.04)


def test_entropy_floor_is_the_entropy(texts: list[KnownText]) -> None:
    def entropy(truth: Truth) -> float:
        last = round(truth.quantile(1 - 1e-4) * 10**truth.decimals)
        logs = [truth.log_prob(written(truth, units)) for units in range(truth.least, min(last, 30_000) + 1)]
        return -math.fsum(math.exp(log) * log for log in logs if log > -math.inf)

    expected = statistics.mean(statistics.mean(map(entropy, some.values())) for some in TRUTHS.values())
    assert entropy_floor(texts) == pytest.approx(expected, abs=0.15)
    with pytest.raises(ValueError, match="no numbers"):
        entropy_floor([])


def test_cue_words_determine_the_distribution(texts: list[KnownText]) -> None:
    seen = set()
    for example in texts:
        (number,) = example.numbers
        before = example.text[: number.start]
        assert number.cue in before and TRUTHS[number.kind][number.cue] is number.truth
        assert 3 <= len(before.partition(number.cue)[2].split()) <= 7, "the cue is several words before the number"
        assert [found.text for found in READER.find(example.text)] == [example.text[number.start : number.end]]
        assert len(example.text.split()) <= 15 and not set("{}#") & set(example.text)
        seen.add((number.kind, number.cue))
    assert len(seen) == len(ALL) == 5 + 5 + 15 + 12


def test_several_clauses() -> None:
    for example in known_texts("dev", 50, clauses=4):
        assert sorted(number.kind for number in example.numbers) == sorted(TRUTHS)
        found = [(one.start, one.end) for one in READER.find(example.text)]
        assert found == [(number.start, number.end) for number in example.numbers]
        assert all(map(math.isfinite, example.log_probs()))


def test_streams_are_reproducible_and_disjoint() -> None:
    assert list(known_texts("dev", 20, seed=3)) == [known_text(index, "dev", 3) for index in range(20)]
    streams = [[text.text for text in known_texts(split, 30, seed)] for split in SPLITS for seed in (0, 1)]
    for one, other in itertools.combinations(streams, 2):
        assert sum(a == b for a, b in zip(one, other, strict=True)) <= 1
    assert next(iter(known_texts(count=10**12))) == known_text(0), "texts are made lazily"


def test_errors_quote_the_value() -> None:
    with pytest.raises(ValueError, match="split='valid'"):
        known_texts("valid")
    with pytest.raises(ValueError, match="split='valid'"):
        known_text(0, "valid")
    with pytest.raises(ValueError, match="index=-1"):
        known_text(-1)
    with pytest.raises(ValueError, match="clauses=5"):
        known_text(0, clauses=5)
    with pytest.raises(ValueError, match="'cauchy'"):
        Truth("cauchy", 1.0, 1.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="spread=0"):
        Truth("normal", 1.0, 0)
    with pytest.raises(ValueError, match="decimals=16"):
        Truth("normal", 1.0, 1.0, decimals=16)
