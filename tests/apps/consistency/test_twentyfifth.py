"""Classes of the twenty-fifth set in other words than its own: each wrong text has a right twin, and traps have none."""

from __future__ import annotations

import pytest

from numerate.apps.consistency.checker import ConsistencyChecker
from numerate.apps.documents import Document


def found(text: str) -> list[tuple[str, str, str | None]]:
    findings = ConsistencyChecker().check(Document(kind="text", text=text))
    return [(each.rule, each.written, each.meant) for each in findings]


@pytest.mark.parametrize(
    ("text", "right", "wrong", "rule"),
    [
        ("Dinner for three was €64.00, a 15% tip on that is {}, so with rounding up we left €74.", "€9.60", "€6.90",
         "percent"),
        ("There were 1,320 visitors. That is {} % more than in 2022 (1,200) and 12 % fewer than in 2019 (1,500).", "10",
         "30", "percent"),
        ("the {}-seat Apollo reopened with a gala that ran forty minutes over. Nobody minded. All 1,510 seats had gone"
         " within an hour of the box office opening in March, and touts on Mill Street asked £90.", "1,510", "1,150",
         "repeated"),
        ("Quiz 6 (out of 100): Ana 72, Ben 85, Chloe 91, Dev 64, Eli 78. So the group average is {}, which is fine.",
         "78", "87", "average"),
        ("It covers the 336 km between the two cities in 2 h 20 min without a stop, an average of {}.", "144 km/h",
         "124 km/h", "product"),
        ("She cycled 54 km in 2:15, an average of {}.", "24 km/h", "42 km/h", "product"),
        ("Il parcourt les 336 km en 2 h 20, soit une moyenne de {}.", "144 km/h", "124 km/h", "product"),
        ("weekly ran from 14:02:11 to 14:09:47, elapsed {}", "7m36s", "9m36s", "difference"),
        ("start=14:02:11 end=14:09:47 elapsed={}", "456s", "546s", "difference"),
        ("job started 23:58:40, finished 00:03:10, wall {}", "4m30s", "5m30s", "difference"),
        ("Train 42: dep 08:14, arr 11:47, journey time {}", "3h33", "3h43", "difference"),
        ("The exam runs 9:30-12:15 ({}).", "2 h 45 min", "3 h 45 min", "difference"),
    ],
)  # fmt: skip
def test_texts(text: str, right: str, wrong: str, rule: str) -> None:
    assert found(text.format(right)) == []
    assert [each[0] for each in found(text.format(wrong))] == [rule]


@pytest.mark.parametrize(
    "text",
    [
        "After ten of the scheduled twelve games: Ivarsson won 6½–3½, with four wins, one loss and five draws.",
        'Do not "correct" the entry dated 30 February 1712.',
        "He was baptised on 29 February 1700.",
        "Night staff working 22:00 to 06:00 are on duty for seven hours, as the clocks go forward at 01:00.",
        "Going at 60 km/h and returning at 40 km/h, the average is 48 km/h, not 50.",
        "The working day is 08:00-12:00 and 13:00-17:30, 8h30m in total.",
        "He ran 10 km in 42:30, an average of 14.1 km/h.",
    ],
)
def test_right_texts_that_look_wrong(text: str) -> None:
    assert found(text) == []
