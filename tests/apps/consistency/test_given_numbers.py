"""Numbers that a text gives need not be results; each text has a twin in which the same number is one."""

from __future__ import annotations

import pytest

from numerate.apps.consistency.checker import ConsistencyChecker
from numerate.apps.consistency.given_numbers import equations_in
from numerate.apps.documents import Document


def found(text: str) -> list[str]:
    return [each.written for each in ConsistencyChecker().check(Document(kind="text", text=text))]


@pytest.mark.parametrize(
    ("text", "right", "wrong"),
    [
        ("He buys a fridge, a TV and a lamp {} of $1600. The TV costs $600 and the fridge $500 more than the lamp.",
         "with a total budget", None),
        ("He packs 12 bottles in each crate. He has a total of 130 bottles and 10 crates.{}",
         " How many are left?", ""),
        ("She was born in {}, so she is 2021-1971 = 50 years old.", "1971", None),
        ("The bill came to 1400 euros, so {} euros were left to pay.", "1400-1000 = 400", None),
        ("There were 40 red sweets, {} as many green ones as red ones.", "20 less than three times", None),
        ("How much did the calf weigh 2 years{}?", " ago", ""),
        ("A crate has 24 bottles. He has 12 crates{}", " and wants 278 bottles.", ", 278 bottles in all."),
        ("200 biscuits were baked, his wife took 30%, and his daughter took 40 of them. {}",
         "How many are left?", None),
    ],
)  # fmt: skip
def test_given_numbers_are_no_results(text: str, right: str, wrong: str | None) -> None:
    assert found(text.format(right)) == []
    if wrong is not None:
        assert found(text.format(wrong)) != []


@pytest.mark.parametrize(
    "text",
    [
        "A class has 12 boys and 15 girls, 28 pupils in all. How many more girls than boys are there?",
        "Eight pens cost 2 euros each, 18 euros altogether. How much do five pens cost?",
        "A train leaves at 9:15 and arrives at 11:40, so it travels for 2 hours and 45 minutes. How fast is it?",
    ],
)
def test_results_that_a_task_tells_are_still_compared(text: str) -> None:
    assert len(found(text)) == 1


def test_equations_that_hold() -> None:
    def told(text: str) -> list[list[str]]:
        return [[text[start:end] for start, end in spans] for spans in equations_in(text)]

    assert told("12 hours/day * 2 kg/hour = 24 kg/day") == [["12", "2", "24"]]
    assert told("24*50% = 12 and 1,200 x 0.042 = 50.4") == [["24", "50", "12"], ["1,200", "0.042", "50.4"]]
    assert told("310/500 = 62%, 5 + 2*3 = 11") == [["310", "500", "62"], ["5", "2", "3", "11"]]
    assert told("7 - 3 = 5, 3/0 = 1 and 2/3 = 4/6") == []
