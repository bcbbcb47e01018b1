"""What points back at numbers told before, and what is about another time, thing or person: right and wrong twins."""

from __future__ import annotations

import pytest

from numerate.apps.consistency.checker import ConsistencyChecker
from numerate.apps.documents import Document


def found(text: str) -> list[tuple[str, str]]:
    return [(each.rule, each.written) for each in ConsistencyChecker().check(Document(kind="text", text=text))]


@pytest.mark.parametrize(
    ("text", "rule", "wrong", "right"),
    [
        # Durations told again.
        ("He took the pills for three weeks. After these {} he was well.", "difference", "14 days", "21 days"),
        ("It began on 4 March and ended on 18 March; over these {} no rain fell.", "difference",
         "six weeks", "two weeks"),
        ("The mine opened in 1921 and closed in 1987. In its {} it fed the town.", "difference",
         "76 years", "66 years"),
        ("The tour runs from 3 to 17 May, so you will spend {} with us.", "difference", "21 days", "15 days"),
        ("The office is open from 8:30 to 12:00, which gives {} for visitors.", "difference",
         "two hours and a half", "three hours and a half"),
        ("The ferry sails at 7:45 and lands at 10:15. In these {} you may see dolphins.", "difference",
         "three hours and a half", "two hours and a half"),
        ("The road is closed from 8 to 19 June. Take another way for these {}.", "difference", "21 days", "12 days"),
        ("The pass lies at 2,470 metres, which the sign at the inn gives as {}.", "conversion",
         "8,401 feet", "8,104 feet"),
        # Doses, bodies and boxes.
        ("He takes 2 x 500 mg of paracetamol four times a day, {} in all.", "product", "3 g", "4 g"),
        ("Take one 40 mg tablet twice a day, i.e. {}.", "product", "60 mg a day", "80 mg a day"),
        ("He weighs 98 kg and is 1.75 m tall, a body mass index of {}.", "product", "23", "32"),
        ("The tank is 2 m long, 1.5 m wide and 1 m deep and holds {}.", "product", "4,000 litres", "3,000 litres"),
        ("The pool is 25 m by 10 m by 2 m. Its volume is {}.", "product", "400 m³", "500 m³"),
        # Fractions and what they leave.
        ("Half of the 32 children walk, a quarter cycle, and the other {} take the bus.", "percent", "twelve", "eight"),
        ("Two thirds of the 450 employees work in production; these {} people are paid by the hour.", "percent",
         "350", "300"),
        # Sums that are pointed back at.
        ("We rode 62 km on Friday, 48 km on Saturday and 71 km on Sunday. After the {} we slept.", "sum",
         "191 km", "181 km"),
        ("Mix 200 g of wheat flour with 150 g of rye flour. Add salt to the {} of flour.", "sum", "370 g", "350 g"),
        # The same amount in another unit, scores, units and ranges.
        ("It opens at 6.0 bar. In the American manual the same pressure is given as {}.", "conversion",
         "187 psi", "87 psi"),
        ("She ran the 400 m in {}, a record of the school.", "unit", "47.8 metres", "47.8 seconds"),
        ("Anna had marks of 2, 3 and 4 in the three tests, an average of {}.", "average", "3.5", "3"),
    ],
)  # fmt: skip
def test_numbers_that_point_back(text: str, rule: str, wrong: str, right: str) -> None:
    assert (rule, wrong) in found(text.format(wrong))
    assert not found(text.format(right))


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("Storage is allowed from 60 to 45 °C.", "Storage is allowed from 45 to 60 °C."),
        ("We expect sales of between $520 million and $480 million.", "Sales fell from $520 million to $480 million."),
        ("The Lions won 3-1 on Saturday. A late goal sealed the 3-2 win.",
         "The Lions won 3-1 on Saturday. A late goal sealed the 3-1 win."),
        ("Of 180 patients, 27 had a rash (25%).", "A rash was seen in 27 of 180 patients, 25% of them severe cases."),
        ("In spring 21 of 28 pupils passed, a pass rate of 65%.",
         "In spring 21 of 28 pupils passed, against a pass rate of 65% a year ago."),
        ("Costs rose from $18.4 million to $21.1 million, $3.7 million more than planned.",
         "Costs rose from $18.4 million to $21.1 million, and rents were $3.7 million higher than planned."),
        ("The mine opened in 1921 and closed in 1987 after 76 years.",
         "The mine opened in 1921 and closed in 1987. It had been planned for 76 years of work."),
        ("A 54-year-old man came with chest pain. The 45-year-old patient had smoked.",
         "A 54-year-old man came with chest pain. His 45-year-old wife had smoked."),
        ("The hotel has 84 rooms. With its 48 rooms the hotel is the largest of the village.",
         "The hotel has 84 rooms. When it opened, with 48 rooms, it was the largest of the village."),
        ("The samples weighed 12.1, 12.7 and 13.3 g, with a mean of 13.7 g.",
         "The samples weighed 12.1, 12.7 and 13.3 g; those of the year before had a mean of 13.7 g."),
        ("She won in 2:07:41 and her rival took 2:09:11, 30 seconds behind.",
         "She won in 2:07:41; her rival in 2:09:11 was 30 seconds ahead of the third."),
        ("The digits doubled from 0.47 to 0.29.",
         "Exchanged digits fell from 0.33 to 0.20, doubled digits from 0.47 to 0.29."),
        ("The tour runs from 3 to 17 May, so you will spend 21 days with us.",
         "The tour runs from 3 to 17 May; those who add a week in Rome spend 21 days with us."),
        ("The lease began on 1 July 2018 and ends on 30 June 2028, after twelve years.",
         "The lease began on 1 July 2018 and ends on 30 June 2028; it may run for twelve years more."),
        ("The 2-0 victory on Sunday was the fifth. After this 2-1 victory the team leads the table.",
         "The 2-0 victory on Sunday was the fifth in a row, after the 2-1 victory in Lund."),
        ("The plan provides for 120 flats, 45 with two rooms, 50 with three and the other 35 with four.",
         "The plan provides for 120 flats, 45 with two rooms and 50 with three. The other project has 35 with four."),
        ("He weighs 98 kg and is 1.75 m tall, a BMI of 23.",
         "He weighs 98 kg and is 1.75 m tall; a year ago, at 72 kg, his BMI was 23.5."),
    ],
)  # fmt: skip
def test_words_that_tell_another_thing(wrong: str, right: str) -> None:
    assert found(wrong)
    assert not found(right)


def test_relations_that_names_tell_of_short_tables() -> None:
    rows = [["5a", "13", "12", "25"], ["5b", "11", "15", "26"], ["5c", "14", "13", "37"]]
    table = Document(kind="table", header=["Class", "Girls", "Boys", "Pupils"], rows=rows)
    assert [each.written for each in ConsistencyChecker().check(table)] == ["37"]
    rows[2][3] = "27"
    assert not ConsistencyChecker().check(Document(kind="table", header=table.header, rows=rows))
    header, rows = ["Patient", "Weight (kg)", "Height (cm)", "BMI"], [
        ["A", "72", "180", "22.2"], ["B", "90", "175", "29.4"], ["C", "58", "162", "29.1"], ["D", "81", "190", "22.4"],
    ]  # fmt: skip
    assert [each.written for each in ConsistencyChecker().check(Document(kind="table", header=header, rows=rows))] == [
        "29.1"
    ]
    rows[2][3] = "22.1"
    assert not ConsistencyChecker().check(Document(kind="table", header=header, rows=rows))


def test_numbers_that_do_not_fit_each_other_are_told_once() -> None:
    findings = ConsistencyChecker().check(Document(kind="text", text="A 5 litre can costs £20, or £4.50 per litre."))
    assert [each.rule for each in findings] == ["product"]
    right = "A 5 litre can costs £20, instead of £4.50 per litre."
    assert ConsistencyChecker().check(Document(kind="text", text=right)) == []
