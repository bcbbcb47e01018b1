"""Words that excuse a number: each right text has a twin in which the same words do not explain the number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import numerate
from numerate.apps.check import check
from numerate.apps.consistency.base import rules
from numerate.apps.consistency.checker import ConsistencyChecker
from numerate.apps.documents import Document

if TYPE_CHECKING:
    from pathlib import Path


def found(text: str) -> list[str]:
    return [each.written for each in ConsistencyChecker().check(Document(kind="text", text=text))]


@pytest.mark.parametrize(
    ("text", "right", "wrong"),
    [
        ("Leaving out the freak 41, the nurses counted 12, 15 and 18 falls a week, {} on average.", "15", "19"),
        (
            "The walk is 14 km each way (17 mi for the round trip) and leaves from bus {}.",
            "stop 3",
            "depots 14 km (7 mi)",
        ),
        ("Tickets are £24 each{}; the Hendersons, a party of five, paid £100.", " or five for £100", ""),
        ("The airline swung to a profit of $18m from a {} of $7m, a $25m improvement.", "loss", "profit"),
        ("She leaves two daughters and {} sons: Maria, Inge, Paul and Karl.", "two", "three"),
        ("The fare is €38 each{} the two of us paid €152.", " way, so for the round trip", ", so"),
        ("One chain is 132.6 mm, the other 127.1 mm; replace it when the difference is 6.5 mm{}.", " or more", ""),
        ("Readings were 212, 208 and 241 HV; {}, the mean is 210 HV.", "discarding the third", "in short"),
        ("The jobless rate rose by half{}, from 4.1% to 4.6%.", " a percentage point", ""),
        ("Bearing 3 ran{} 94 °C.", " at", ""),
        ("Our three largest customers had 21%, 14% and 9%; {} customer reached 65%.", "no other", "the other"),
        ("The alloy contains 64.9% copper, 32.0% zinc and{} 3.0% lead.", "", " thus a"),
        ("Four vacancies:\n\n- Baker{}\n- Driver\n- Assistant\n", " (2 posts)", " (nights)"),
    ],
)
def test_words_that_excuse_a_number(text: str, right: str, wrong: str) -> None:
    assert found(text.format(right)) == []
    assert found(text.format(wrong)) != []


def test_two_invoices_are_not_one_told_twice() -> None:
    assert found("Invoice 2291 for €1,840 was paid on 6 May. Invoice 2219 for €1,480 is still open.") == []


def test_a_number_outside_of_a_range_may_be_left_out() -> None:
    text = "Footfall has been between 6,000 and 9,000 on market days. The lowest count, 5,100, was taken in a snowstorm"
    assert found(f"{text} and left out.") == []
    assert found(f"{text}.") == ["5,100"]


def test_excluded_parts_do_not_excuse_another_difference() -> None:
    assert found("Of 320 forms, 14 were blank and were left out, which leaves 316 for the analysis.") == ["316"]


TABLE = "| Club | W | D | L | Pts |\n|---|---|---|---|---|\n| Kings | 8 | 2 | 2 | 26 |\n| Swans | 6 | 3 | 3 | 21 |\n"
REST = "| Bulls | 5 | 2 | 5 | 13 |\n| Foxes | 2 | 3 | 7 | 9 |\n"


@pytest.mark.parametrize(
    ("note", "cells"),
    [
        ("Bulls had four points deducted.", []),
        ("Foxes had four points deducted.", ["13"]),
        ("Bulls play at home.", ["13"]),
    ],
)
def test_a_note_below_a_table_excuses_its_row(note: str, cells: list[str], tmp_path: Path) -> None:
    path = tmp_path / "league.md"
    path.write_text(f"{TABLE}{REST}\n{note}\n", "utf-8")
    assert [each.written for each in check(path, model=False) if each.rule in rules] == cells
    path = tmp_path / "league.csv"
    rows = [line.strip("| ").replace(" | ", ",") for line in f"{TABLE}{REST}".splitlines() if "---" not in line]
    path.write_text("\n".join([*rows, note]) + "\n", "utf-8")
    assert [each.written for each in check(path, model=False) if each.rule in rules] == cells


def test_hours_of_a_table_are_the_gap_of_two_times() -> None:
    rows = [["08:30", "12:00", "3.5"], ["09:00", "13:30", "4.5"], ["12:00", "17:15", "7.25"], ["13:30", "18:00", "4.5"]]
    document = Document(kind="table", header=["Start", "End", "Hours"], rows=rows)
    assert [(each.written, each.meant) for each in ConsistencyChecker().check(document)] == [("7.25", "5.25")]


@pytest.mark.parametrize(
    "text",
    [
        "Increasing the data from 120 to 240 gives a performance rise of 7.97%, and one from 360 to 480 gives less.",
        "The step from 32-bit floating point to 8-bit fixed point incurs a relative accuracy loss of 10.3%.",
        "Similar to the reference experiment in Chapter 5.4, 30% of the 48,612 remaining images are chosen.",
        "It is more accurate in 8 out of the 11 classes. It also shows a 15% improvement in class average accuracy.",
        "The mean answers were between 2.00, 2.24 and 2.59 (see Table 2).",
        "It trains faster (40% less time per epoch). It achieves only 18.5 BLEU compared to 22.5 for the other one.",
        "The F-score increases from 95.86% to 96.25%, with a relative error reduction of 9.4%.",
        "Beam search obtains a maximum log-probability of -6.53 as against -6.91 by the other one.",
        "10% and 5% of errors were due to malformed and repeated inputs. The remaining 30% of examples had several.",
        "The accuracy falls to 8.4% and 20.43%. That for the remaining labels was 100%.",
        "From 3 May to 17 May, we spent 7 days in Spain and 7 days in France.",
        "Guided lists are the best, achieving an average score of 0.74 over plain lists (0.71) and sets (0.67).",
    ],
)
def test_results_of_papers_are_told_of_other_things(text: str) -> None:
    assert numerate.check(text, model=False) == []


def test_an_effect_that_is_the_change_itself_is_compared() -> None:
    (found,) = numerate.check("Sales rose from 50 to 65 units, which gives a rise of 10 %.", model=False)
    assert (found.written, found.meant) == ("10 %", "30 %")


def test_a_rest_that_leaves_the_whole_is_found() -> None:
    text = "47 % of the goods go by road and 38 % by rail; the remaining 25 % go by barge."
    (found,) = numerate.check(text, model=False)
    assert (found.written, found.meant) == ("25 %", "15 %")
