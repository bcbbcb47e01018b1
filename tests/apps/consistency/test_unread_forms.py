"""Forms that documents of unread registers showed: each right text has a wrong twin."""

from __future__ import annotations

import pytest

from numerate.apps.consistency.checker import ConsistencyChecker
from numerate.apps.documents import Document


def found(text: str) -> list[tuple[str, str | None]]:
    return [(each.written, each.meant) for each in ConsistencyChecker().check(Document(kind="text", text=text))]


@pytest.mark.parametrize(
    ("text", "right", "wrong", "meant"),
    [
        ("It began at 18:00 and ended at 19:45, after an hour and {} minutes.", "45", "15", "1 h 45 min"),
        ("He ruled from 1806 to 1825, {} years in which the city doubled in size.", "19", "29", "19 years"),
        ("Symptoms lasted from 3 to {} days.", "9", "2", None),
        ("The village lies 12 {} north of the border.", "km", "kg", None),
        ("We cycled 48 km on Saturday and 55 km on Sunday, {} km over the weekend.", "103", "113", "103 km"),
        ("Half of those asked said yes, 30 % said no and the remaining {} % did not know.", "20", "30", "20 %"),
        ("A third of them go by bus, 40 % by bicycle and the remaining {} % on foot.", "27", "37", "27 %"),
    ],
)
def test_only_the_wrong_twin_is_found(text: str, right: str, wrong: str, meant: str | None) -> None:
    assert found(text.format(right)) == []
    (only,) = found(text.format(wrong))
    assert only[1] == meant


def test_a_change_is_no_range() -> None:
    assert found("The new tool cuts the time it takes from 9 to 4 days.") == []


def cells(header: list[str], rows: list[list[str]]) -> list[str]:
    return [each.written for each in ConsistencyChecker().check(Document(kind="table", header=header, rows=rows))]


HOMES = [["1", "4", "4,200", "1,050"], ["2", "2", "2,900", "1,450"], ["3", "1", "1,700", "1,700"]]


@pytest.mark.parametrize(("mean", "wrong"), [("1,257", []), ("1,752", ["1,752"])])
def test_a_mean_of_rates_may_be_that_of_all(mean: str, wrong: list[str]) -> None:
    assert cells(["Home", "Persons", "kWh", "kWh per person"], [*HOMES, ["Mean", "2.3", "2,933", mean]]) == wrong


def test_the_best_so_far_is_no_extreme_of_the_row() -> None:
    rows = [["1", "64.2", "64.2"], ["2", "63.8", "63.8"], ["3", "65.1", "63.8"], ["4", "63.1", "63.1"]]
    assert cells(["Lap", "Time", "Best"], rows) == []
