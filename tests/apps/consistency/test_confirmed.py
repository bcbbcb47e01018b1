"""Numbers that others confirm: parts of totals and relations that hold, and numbers that a rule of sentences needs."""

from __future__ import annotations

import pytest

from numerate.apps.consistency.confirmed import SentenceConfirmation, confirmed_cells
from numerate.apps.consistency.tables.table_numbers import NumberTable
from numerate.apps.documents import Document


def confirmed(header: list[str], rows: list[list[str]]) -> list[list[bool]]:
    return confirmed_cells(NumberTable(Document(kind="table", header=header, rows=rows))).tolist()


def test_parts_of_a_total_that_holds_are_confirmed() -> None:
    rows = [["a", "48,000", "7"], ["b", "36,000", "9"], ["Total", "84,000", "15"]]
    assert confirmed(["x", "y", "z"], rows) == [[False, True, False]] * 3
    rows[0][1] = "48"  # with a slip, nothing is confirmed
    assert not any(map(any, confirmed(["x", "y", "z"], rows)))


def test_a_part_that_rounding_hides_is_not_confirmed() -> None:
    rows = [["a", "9.5"], ["b", "8.1"], ["c", "0.1"], ["Total", "17.7"]]
    assert [row[1] for row in confirmed(["x", "y"], rows)] == [True, True, False, True]


def test_a_total_of_one_part_is_a_copy() -> None:
    assert not any(map(any, confirmed(["x", "y"], [["a", "0"], ["b", "84"], ["Total", "84"]])))


def test_rows_in_which_a_relation_holds_are_confirmed() -> None:
    rows = [["3", "4.50", "13.50"], ["2", "8.25", "16.50"], ["12", "1.20", "14.40"], ["7", "3.00", "21.00"]]
    header = ["quantity", "price", "amount"]
    assert all(map(all, confirmed(header, rows)))
    rows[2][2] = "144.0"
    assert [all(row) for row in confirmed(header, rows)] == [True, True, False, True]
    assert not any(confirmed(header, rows)[2])


def test_small_counts_of_a_relation_are_confirmed() -> None:
    rows = [["19", "13", "+6"], ["14", "12", "+2"], ["18", "19", "-1"], ["14", "17", "-3"], ["18", "15", "+3"]]
    assert all(map(all, confirmed(["F", "A", "GD"], rows)))
    rows[2][2] = "-2"
    assert not any(confirmed(["F", "A", "GD"], rows)[2])


def test_rows_below_the_items_of_a_bill_are_confirmed() -> None:
    rows = [["Pizza", "2", "23.00"], ["Water", "3", "9.60"], ["Espresso", "2", "17.60"], ["Sum", "", "50.20"],
            ["Voucher", "", "-10.00"], ["To pay", "", "40.20"], ["of which VAT 19 %", "", "6.42"],
            ["Given", "", "50.00"], ["Change", "", "9.80"]]  # fmt: skip
    assert all(row[2] for row in confirmed(["Item", "Qty", "Amount"], rows)[3:])
    rows[4][2] = "-1.00"
    assert not any(row[2] for row in confirmed(["Item", "Qty", "Amount"], rows)[4:])


def test_profits_and_differences_of_totals_are_confirmed() -> None:
    rows = [["Sales", "1,200"], ["Wages", "(930)"], ["Rent", "(60)"], ["Operating profit", "210"]]
    assert all(row[1] for row in confirmed(["x", "y"], rows))
    rows = [["a", "510"], ["b", "92"], ["Total revenues", "602"], ["c", "400"], ["d", "211"],
            ["Total expenditures", "611"], ["Deficit", "(9)"]]  # fmt: skip
    assert confirmed(["x", "y"], rows)[-1] == [False, True]
    rows[-1][1] = "(90)"
    assert confirmed(["x", "y"], rows)[-1] == [False, False]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("In January it is -1 °C (30 °F).", {"-1", "30"}),  # nine tenths of -1 are rounded away
        ("The limit of detection is 50 µg/L (0.05 mg/L).", {"50", "0.05"}),  # units of one system
        ("It ran for 120 minutes (2 hours).", {"120", "2"}),
        ("A climb of 12 km (300 m), 2 m (7 in) wide.", set()),
        ("It is 1 m (3 ft) wide.", set()),  # rounded to nothing
        ("The lake is 28 km (17 mi) long and 5 km wide.", {"28", "17"}),
        ("The lake is 28 km (27 mi) long.", set()),
        ("The lake is 28 km ( 17 mi ) long.", {"28", "17"}),
        ("The ice cap is at 1,902 m (6,300 ft).", set()),  # 1,920: the rules forgive it, the rounding does not
        ("The ice cap is at 1,920 m (6,300 ft).", {"1,920", "6,300"}),
        ("It took 12 men and 15 women, 27 people in all.", {"12", "15", "27"}),
        ("From 1990 to 2005, 15 years, he lived there.", {"1990", "2005", "15"}),
        ("Sales rose 10 % from 50 to 55 units in 1998.", {"10 %", "50", "55"}),
        ("Between 5 and 10 people came.", set()),  # a bound is no confirmation
        ("The tower is 48,000 metres tall.", set()),
        ("Grease a 900 g (2 lb) loaf tin.", {"900", "2"}),
    ],
)
def test_numbers_of_sentences_that_others_need_are_confirmed(text: str, numbers: set[str]) -> None:
    confirmation = SentenceConfirmation()
    numerals = Document(kind="text", text=text).numerals
    assert {each.text for each in numerals if confirmation.holds(text, each)} == numbers


@pytest.mark.parametrize(
    ("text", "number", "meant", "refuted"),
    [
        ("The particles have 0.5 to 3 µm.", "0.5", "5", True),
        ("The particles have 0.5 to 3 µm.", "0.5", "1.5", False),
        ("The lake is 28 km (17 mi) long.", "17", "71", True),
        ("The lake is 280 km (17 mi) long.", "280", "28", False),  # as it stands, it is wrong
        ("The tower is 48,000 metres tall.", "48,000", "48", False),
    ],
)
def test_corrections_that_contradict_their_sentence(text: str, number: str, meant: str, refuted: bool) -> None:
    start = text.index(number)
    assert SentenceConfirmation().refutes(text, start, start + len(number), meant) == refuted
