"""p-values of a document's numbers where a model does not know such documents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from judging_models import judging_model

from numerate.apps.documents import Document
from numerate.apps.familiarity import familiarity, largest_before
from numerate.apps.plausible import PlausibilityChecker


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_each_number_is_eased_by_the_others(p: list[float]) -> None:
    values = np.array(p)
    exponents = familiarity(values)
    assert exponents.shape == values.shape and np.all(exponents > 0) and np.all(exponents <= 1.5)
    changed = values.copy()
    changed[0] = 1 - changed[0]
    assert familiarity(changed)[0] == pytest.approx(exponents[0])  # a number says nothing of itself


def test_one_sentence_stays_as_it_is() -> None:
    assert familiarity(np.array([0.003])).tolist() == [1.0]
    assert familiarity(np.zeros(0)).tolist() == []


def test_false_alarms_of_unlike_documents_come_near_to_what_was_asked_for() -> None:
    draw = np.random.default_rng(0)
    # Right numbers as in texts that the model does not know: p-values of a Beta distribution with exponent 1/2.
    documents = draw.random((400, 60)) ** 2.0
    eased = np.array([each ** familiarity(each) for each in documents])
    # A third of the excess stays: a number counts so little that one slip excuses no other.
    assert (documents <= 0.05).mean() > 0.21 and (eased <= 0.05).mean() < 0.12
    usual = draw.random((400, 60))
    assert 0.045 < np.mean([(each ** familiarity(each) <= 0.05).mean() for each in usual]) < 0.055
    assert largest_before(0.05) == pytest.approx(0.05 ** (1 / 1.5))


def test_a_slip_is_found_beside_right_numbers_and_not_among_odd_ones() -> None:
    checker: Any = PlausibilityChecker(judging_model(), false_alarms=0.05)
    right = [f"The tower is {250 + 3 * k} metres tall." for k in range(25)]
    slip = "The tower is 3000 metres tall."
    found = checker.check(Document(kind="text", text=" ".join([*right, slip])))
    alone = checker.check(Document(kind="text", text=slip))
    assert [each.written for each in alone] == ["3000"] and "3000" in [each.written for each in found]
    odd = [f"The tower is {9000 + 7 * k} metres tall." for k in range(25)]
    among = checker.check(Document(kind="text", text=" ".join([*odd, slip])))
    first = {each.written: each.evidence["p"] for each in alone}["3000"]
    assert all(each.evidence["p"] > first for each in among if each.written == "3000")
