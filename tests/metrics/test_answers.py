"""Metrics of text answers: manual cases, and the pairing of spans against all permutations."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from numerate import metrics


@pytest.mark.parametrize(
    ("one", "other", "plain", "by_value"),
    [
        ("The cat.", "cat", True, True),
        ("1,500", "1500", True, True),
        ("-5", "5", True, False),  # SQuAD's normalisation drops the sign
        ("3.5", "35", True, False),
        ("$1.5 million", "1,500,000", False, True),
        ("12%", "0.12", False, True),
        ("(134)", "-134", True, True),
        ("(134)", "134", True, False),
        ("five", "5", False, True),
        ("1.50", "1.5", False, True),
        ("2019", "2018", False, False),
        ("sales of 5 units", "sales of 5 units", True, True),
        ("", "the", True, True),
        ("v1.2", "v12", True, True),  # versions are compared as text
    ],
)
def test_exact_match(one: str, other: str, plain: bool, by_value: bool) -> None:
    assert metrics.exact_match([one], [other]).value == plain
    assert metrics.exact_match([one], [other], numbers=True).value == by_value


def test_values_are_rounded_to_decimals() -> None:
    assert metrics.exact_match(["0.12345"], ["0.12349"], numbers=True).value == 0
    assert metrics.exact_match(["0.12341"], ["0.12344"], numbers=True, decimals=4).value == 1
    assert metrics.exact_match(["-0.00001"], ["0"], numbers=True, decimals=4).value == 1


def test_pair_f1_matches_manual_calculation() -> None:
    # shared: net, sales; 3 tokens against 4
    assert metrics.pair_f1("net sales 2019", "the net sales of 2018") == pytest.approx(2 * 2 / 7)
    assert metrics.pair_f1("net sales 2019", "the net sales of 2018", numbers=True) == 0
    assert metrics.pair_f1("a a b", "a b") == 1  # "a" is an article
    assert metrics.pair_f1("x x b", "x b b") == pytest.approx(2 / 3)
    assert metrics.pair_f1("", "") == 1
    assert metrics.pair_f1("", "x") == metrics.pair_f1("x", "") == 0


def test_several_gold_answers_and_missing_answers() -> None:
    score = metrics.token_f1(["net sales", None, "x", "y"], [["profit", "sales"], "1", [], "y"])
    assert score.value == pytest.approx((2 / 3 + 0 + 1) / 3)
    assert (score.count, score.skipped, score.non_finite) == (3, 1, 1)
    assert math.isnan(metrics.exact_match([], []).value)
    with pytest.raises(ValueError, match="got 1 and 0"):
        metrics.exact_match(["a"], [])


def test_spans_f1() -> None:
    assert metrics.spans_f1(["b", "x c"], ["x c", "b"]) == 1
    assert metrics.spans_f1(["b"], ["b", "c"]) == 0.5
    assert metrics.spans_f1(["b", "c", "d"], ["c"]) == pytest.approx(1 / 3)
    assert metrics.spans_f1([], []) == 1
    assert metrics.spans_f1([], ["x"]) == metrics.spans_f1(["x"], []) == 0
    assert metrics.spans_f1(["$5", "7"], ["7.0", "5"], numbers=True) == 1


def test_spans_f1_finds_the_best_pairing() -> None:
    generator = random.Random(0)
    for _ in range(60):
        ours, theirs = (
            [" ".join(generator.choices("bcde", k=3)) for _ in range(generator.randint(1, 4))] for _ in "xy"
        )
        small, large = sorted((ours, theirs), key=len)
        best = max(
            sum(metrics.pair_f1(one, other) for one, other in zip(small, order, strict=False))
            for order in itertools.permutations(large)
        )
        assert metrics.spans_f1(ours, theirs) == pytest.approx(best / len(large)), (ours, theirs)


def test_unusual_texts_equal_themselves() -> None:
    for text in ("\x00", "½ ٣ 12e999 (", "=5", "((((" * 50, "nan inf -inf", "9" * 400):
        assert metrics.exact_match([text], [text], numbers=True).value == 1
        assert metrics.pair_f1(text, text, numbers=True) == 1


def test_one_text_is_no_list_of_answers() -> None:
    for measure in (metrics.exact_match, metrics.token_f1, metrics.spans_f1):
        with pytest.raises(ValueError, match="must be a list of texts, got 'abc'"):
            measure("abc", ["a", "b", "c"])
    with pytest.raises(ValueError, match="answers must be texts, got 12"):
        metrics.exact_match([12], ["12"])  # type: ignore[list-item]
