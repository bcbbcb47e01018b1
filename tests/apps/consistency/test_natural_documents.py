"""Contradictions of natural documents, and the same sentences without them."""

from __future__ import annotations

import pytest

from numerate.apps.consistency.checker import ConsistencyChecker
from numerate.apps.documents import Document

PAIRS = [
    ("The trench is 60 m long, 1.2 m wide and 1.5 m deep: {} m³ of soil.", "108", "180"),
    (
        "The patient, a 67-year-old man born on 4 May 1956, was admitted on 12 March 2024 and discharged on 19 March "
        "2024 after a stay of {} days.", "7", "9",
    ),
    ("The firm has 412 people, of whom 268 work in production, {} in sales and 47 in administration.", "97", "79"),
    ("In January it is -1 °C (30 °F), in July 13 °C ({} °F).", "55", "65"),
    ("In May, 12 trees were felled and in June, 15 trees, {} trees in all.", "27", "37"),
]  # fmt: skip


def found(text: str) -> int:
    return len(ConsistencyChecker().check(Document(kind="text", text=text)))


@pytest.mark.parametrize(("text", "right", "wrong"), PAIRS)
def test_only_the_wrong_one_is_found(text: str, right: str, wrong: str) -> None:
    assert [found(text.format(each)) for each in (right, wrong)] == [0, 1]


def test_a_list_that_need_not_be_complete_is_silent() -> None:
    assert not found("The fleet has 350 ships, of which 120 are tankers, 95 carriers and 71 ferries.")
