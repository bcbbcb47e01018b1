"""Paired intervals and error breakdown of a comparison, held against strings and by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numerate_lab.engine.error_breakdown import magnitude_table, place_table, right_places
from numerate_lab.engine.page import paired_table
from numerate_lab.engine.task import Answers

if TYPE_CHECKING:
    from numerate.report.tables import Table


@given(
    st.lists(
        st.tuples(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9) | st.none()), min_size=1, max_size=30
    ),
    st.integers(-4, 2),
)
def test_digits_are_those_of_the_strings(pairs: list[tuple[int, int | None]], power: int) -> None:
    """Digit by digit, as with paper and pencil."""
    found: dict[int, list[bool]] = {}
    for gold, said in pairs:
        right, guess = str(abs(gold)), "" if said is None else str(abs(said)).zfill(12)
        for place in range(len(right)):
            found.setdefault(place, []).append(said is not None and right[-1 - place] == guess[-1 - place])
    gold, said = (
        np.array([np.nan if one is None else one * 10.0**power for one in each]) for each in zip(*pairs, strict=True)
    )
    shares = right_places(said, gold, np.full(len(pairs), power))
    assert shares.tolist() == pytest.approx([np.mean(found[place]) for place in sorted(found)])


def test_long_answers_are_left_out() -> None:
    assert right_places(np.array([3e16]), np.array([3e16]), np.array([0])).tolist() == []
    assert right_places(np.array([np.inf, 1e308]), np.array([20.0, 2e-9]), np.array([0, -10])).tolist() == [0, 0]


def test_tables_of_answers() -> None:
    gold = np.array([12345.0, 23456.0, 123456.0, 234567.0])
    answers = {"p10": [Answers(np.where(gold >= 1e5, gold + 1, gold), gold, np.zeros(4, np.int64))]}
    sizes, places = magnitude_table(answers), place_table(answers)
    assert sizes is not None and places is not None
    assert sizes.body[0][1].text.strip("*") == "100.0" and 0 < float(sizes.body[0][2].text.strip("*")) < 100
    assert "2 of 1e5" in sizes.notes[0] and places.body[0][1].text.strip("*") == "50.0"
    digits = np.arange(1.0, 10.0)
    for few in ({}, {"p10": [Answers(digits, digits, np.zeros(9, np.int64))]}):
        assert magnitude_table(few) is None and place_table(few) is None, "one magnitude and one digit have no table"
    assert place_table({"p10": [Answers(gold, gold)]}) is None, "the last digit is not known"


def test_how_far_behind_the_best() -> None:
    good = {"exact %": np.ones(400), "digits %": np.ones(400)}
    poor = {"exact %": (np.arange(400) % 4 > 0).astype(float), "digits %": np.full(400, 0.5)}
    shown = paired_table({"poor": poor, "good": good}, "both")
    assert shown is not None and paired_table({"good": good}, "alone") is None
    assert [cell.text for cell in shown.body[1]] == [
        "good", "100.00 (100.00 to 100.00)", "the best", "100.00 (100.00 to 100.00)", "the best",
    ]  # fmt: skip
    _, exact, behind, digits, behind_digits = (cell.text for cell in shown.body[0])
    assert exact.startswith("75.00 (7") and behind.startswith("25.00 (2")
    assert digits == behind_digits == "50.00 (50.00 to 50.00)"


def test_examples_of_a_cluster_are_resampled_together() -> None:
    clusters = np.repeat(np.arange(40), 10)
    one, other = {"exact %": (clusters % 2).astype(float)}, {"exact %": np.zeros(400)}
    alone, together = paired_table({"a": one, "b": other}, ""), paired_table({"a": one, "b": other}, "", clusters)
    assert alone is not None and together is not None and "40 whole clusters" in together.notes[-1]

    def width(shown: Table) -> float:
        low, high = shown.body[0][1].text.partition("(")[2].rstrip(")").split(" to ")
        return float(high) - float(low)

    assert width(together) > 2.5 * width(alone), "10 equal examples tell as much as one: wider by the root of 10"
