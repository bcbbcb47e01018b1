"""Products of a rate and counts that are missed by a slip, and lists whose length is announced."""

from __future__ import annotations

import pytest

from numerate.apps.consistency.checker import ConsistencyChecker
from numerate.apps.documents import Document


def found(text: str) -> list[tuple[str, str]]:
    return [(each.rule, each.written) for each in ConsistencyChecker().check(Document(kind="text", text=text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We hired 60 extras for 4 days at 900 kronor a day each, which came to 261,000 kronor.", "261,000 kronor"),
        ("Each of the 24 containers holds 880 cartons. With 12 bottles in a carton, it carries 235,440.", "235,440"),
        ("A household uses 3,200 kWh a year. For the 450 households that makes 14,400,000 kWh.", "14,400,000 kWh"),
        ("She swam 48 lengths of the 25-metre pool before breakfast, 2,100 metres in all.", "2,100 metres"),
    ],
)
def test_products_that_are_missed_by_a_slip(text: str, expected: str) -> None:
    assert found(text) == [("product", expected)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Enrolment stood at 412. They are taught in exactly three stages: 118 infants, 176 and 138 juniors.", "412"),
        ("We walked 23 km on Monday, 31 on Tuesday and 18 on Wednesday. After these 82 km we slept.", "82 km"),
        ("Of the 1,340 replies, 655 were in favour, 498 opposed and 178 undecided; there were no others.", "178"),
    ],
)
def test_lists_that_are_complete(text: str, expected: str) -> None:
    assert found(text) == [("sum", expected)]


@pytest.mark.parametrize(
    "text",
    [
        "The orchard has 36 rows of 45 trees, but 63 trees were lost to frost, and 1,557 are left.",
        "There are 28 pupils and each of them needs 6 notebooks. We ordered 186, 18 of them as a reserve.",
        "A family of two adults pays 1,180 kroner. The islands cover 1,227 km² and had 24,500 inhabitants.",
        "The car needs 5.8 litres per 100 km. For the 750 km to Trieste we used 43.5 litres.",
        "Thirty of the 48 ships carry containers, of which 11 are chartered, and 18 are tankers, of which five are.",
        "We asked 840 commuters: 312 take the train, 405 the car and 132 the bike; some named two.",
    ],
)
def test_what_other_numbers_explain(text: str) -> None:
    assert found(text) == []
