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
        ("Add a cup of milk ({} ml) and bring to the boil.", "250", "420", "240 ml"),
        ("The flat has 80 rooms. So far 60 are painted, {} percent of them.", "75", "65", "75 percent"),
        ("From 5.0 g of ore we obtained 1.2 g of copper, a yield of {} %.", "24", "42", "24 %"),
        ("The theatre opened in 1891. It burned down in 1944, {} years later.", "53", "63", "53 years"),
        ("My grandmother was born in 1918. When she married in 1941 she was {}.", "23", "33", "23"),
        ("The bus leaves at 22:40; the film ends at 22:15, so there are {} minutes left.", "25", "35", "25 minutes"),
        ("Normal values are from 3.5 to {} mmol/l.", "5.1", "1.5", None),
        ("Police seized 14 {} of cocaine.", "kilograms", "kilometres", None),
        ("The solution was stirred for 30 {} at room temperature.", "minutes", "metres", None),
        ("It was a walk of only 4 {}, but steep.", "km", "kg", None),
        (
            "At 30 litres per person and day, the camp of 2,000 needs {} litres a day.",
            "60,000",
            "80,000",
            "60,000 litres a day",
        ),
        ("Sow half an inch ({} cm) deep.", "1.3", "3.1", "1.3 cm"),
        ("He admitted 14 burglaries and 3 robberies. For these {} crimes he goes to prison.", "17", "19", "17"),
        (
            "Cakes brought 640 euros, drinks 380 and the raffle 275. We thus had {} euros.",
            "1,295",
            "1,395",
            "1,295 euros",
        ),
        ("She had four sons and three daughters; five of her {} children survive her.", "seven", "eight", "seven"),
        ("We planted 36 of the 48 trees, or {} of them.", "three quarters", "two thirds", None),
        ("The painter, who was born in 1931 and died in 2014, lived to be {}.", "83", "73", "83"),
        ("Bus 12 needs 38 minutes instead of 45, so passengers save {} minutes.", "seven", "nine", "seven minutes"),
        ("The house was built in 1923 and is now, in 2023, {} years old.", "100", "110", "100 years"),
        ("Adjustable from 70 to {} cm in height.", "120", "50", None),
        ("We included 1,284 women. At baseline, the {} women were healthy.", "1,284", "1,248", "1,284"),
        ("Infusion of 500 {} over four hours, then stop.", "ml", "km", None),
        ("I ran 8, 12 and 10 km this week, {} km on average.", "10", "12", "10 km"),
        ("With 24 goals in 8 matches they have an average of {} goals a match.", "3", "4", "32"),
        ("Admitted on 4 June, discharged on 11 June, she stayed for {} days.", "seven", "nine", "seven days"),
        ("The deposit of 10 % on the price of 18,000 euros comes to {} euros.", "1,800", "8,100", "45 %"),
        ("It is 20 m long, 10 m wide and 6 m high and has a volume of {} m³.", "1,200", "2,100", "1,200 m³"),
        ("A third of them go by bus, 40 % by bicycle and the remaining {} % on foot.", "27", "37", "27 %"),
    ],
)
def test_only_the_wrong_twin_is_found(text: str, right: str, wrong: str, meant: str | None) -> None:
    assert found(text.format(right)) == []
    (only,) = found(text.format(wrong))
    assert only[1] == meant


def test_what_a_price_is_for_may_be_less_than_all() -> None:
    text = "Rental 5 days at $62.00, $310.00; 180 miles over the 500 included at $0.25, ${}. Total $425.00."
    assert found(text.format("45.00")) == []


@pytest.mark.parametrize(
    "text",
    [
        "In a house, there are 16 cats. Two of them are white, and 25% of them are black.",
        "She saved $13 in April and $28 in May. Then she spent $49 on a keyboard.",
        "They stop for lunch and then continue the rest of the journey for 300 miles.",
        "He wrote Uncle Vanya and two last plays, Three Sisters and another. These four works are often played.",
        "The duchy consisted of about 1,100 km2 south of the river.",
        "Jerry has 4 cases, each with 3 shelves that can hold 20 records each.",
        "A chef has served 58 adults, 35 fewer children, and twice as many seniors as children.",
        "He sold the house at a profit of 10%. A year later it was sold to another friend with a 10% loss.",
        "Of the 200 biscuits that he baked, his wife took 30%, and his daughter took 40 from the remaining ones.",
    ],
)
def test_numbers_of_other_things_are_not_compared(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(("free", "wrong"), [("9", []), ("19", ["19"])])
def test_what_is_free_is_what_is_not_taken(free: str, wrong: list[str]) -> None:
    rows = [["A", "32", "28", "4"], ["B", "28", "25", "3"], ["C", "40", "31", free], ["D", "24", "24", "0"]]
    assert cells(["Ward", "Beds", "Taken", "Free"], rows) == wrong


def test_three_rows_have_no_ratio_of_their_own() -> None:
    rows = [["Sales", "138", "130"], ["Returns", "8", "6"], ["Net", "130", "124"], ["Orders", "1003", "950"]]
    assert cells(["Item", "Q1", "Plan Q1"], rows) == []


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
