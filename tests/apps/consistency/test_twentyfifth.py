"""Classes of the twenty-fifth set in other words than its own; each wrong text has a right twin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from numerate.apps.check import check
from numerate.apps.consistency.checker import ConsistencyChecker
from numerate.apps.documents import Document

if TYPE_CHECKING:
    from pathlib import Path


def found(text: str) -> list[tuple[str, str, str | None]]:
    findings = ConsistencyChecker().check(Document(kind="text", text=text))
    return [(each.rule, each.written, each.meant) for each in findings]


@pytest.mark.parametrize(
    ("text", "right", "wrong", "rule"),
    [
        ("Dinner for three was €64.00, a 15% tip on that is {}, so with rounding up we left €74.", "€9.60", "€6.90",
         "percent"),
        ("We sold 1,320 t of pears. That is {} % more than in 2022 (1,200 t) and 12 % less than in 2019 (1,500 t).",
         "10", "30", "percent"),
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
        ("All 22 members present took part: {} in favour, 5 against, 2 abstaining.", "15", "14", "sum"),
        ("The motion was put to the 34 delegates present. In favour 21, against {}, abstentions 4. Carried.", "9", "6",
         "sum"),
        ("With all 15 judges voting, it was dismissed by 9 votes to {}, with 1 abstention.", "5", "4", "sum"),
        ("Les 22 membres présents ont voté : {} pour, 5 contre, 2 abstentions.", "15", "14", "sum"),
        ("Opening stock 420 boxes. Received 180 on PO 7731, issued 235 to line 2. Closing stock {} boxes.", "365",
         "356", "sum"),
        ("We began the week with 96 kegs. Delivered 40, sold 71. On hand Sunday night: {}.", "65", "56", "sum"),
        ("Cash at opening: $500.00. Takings $1,284.50, paid out $230.00. Cash at close: {}.", "$1,554.50", "$1,545.50",
         "sum"),
        ("Take ONE capsule three times a day for 7 days; the pack contains {} capsules, the complete course.", "21",
         "12", "product"),
        ("One tablet twice daily for 14 days. Supply: {} tablets.", "28", "82", "product"),
        ("Take 1 tablet every 8 hours for 5 days. Total quantity: {} tablets.", "15", "25", "product"),
        ("We add 5% interest each year:\n  after year 1   £2,100.00\n  after year 2   £2,205.00\n  after year 3   {}",
         "£2,315.25", "£2,351.25", "percent"),
        ("It loses 20% of its value each year: €10,000 new, €8,000 after one year, {} after two, €5,120 after three.",
         "€6,400", "€6,000", "percent"),
        ("Our sheets are at 1:25,000, so 4 cm on the paper stands for {} on the ground.", "1 km", "10 km", "ratio"),
        ("At a scale of 1:200, the 12 cm wall on the plan is {} long.", "24 m", "2.4 m", "ratio"),
        ("Maßstab 1:25.000: 4 cm auf der Karte sind {} in der Natur.", "1 km", "10 km", "ratio"),
        ("The model is built at 1:87, so the 20 m coach is {} long.", "23 cm", "32 cm", "ratio"),
        ("There are 86 flats in two blocks of seven and nine storeys. Of these flats, {} have a balcony.", "64", "104",
         "percent"),
        ("The choir has 46 members. Of these, {} are women.", "31", "64", "percent"),
        ("There are 28 pupils in the class and {} of them walk to school.", "16", "61", "percent"),
        ("Out of 35 samples, {} were contaminated.", "14", "41", "percent"),
        ("First half 1:42:10, which was greedy. Second half 1:47:35. Finish {}, 211th overall.", "3:29:45", "3:39:45",
         "sum"),
        ("Swim 0:58:12, bike 5:10:33, run 3:22:45; finish {}.", "9:31:30", "9:13:30", "sum"),
        ("The jobless rate {} from 5.1 percent in July to 5.6 percent in August.", "rose", "fell", "percent"),
        ("Membership {} from 1,204 in 2019 to 1,377 in 2023.", "grew", "shrank", "percent"),
        ("The yield on the ten-year note {} to 4.31% from 4.25%.", "rose", "slipped", "percent"),
        ("Average waiting times were {} from 48 minutes to 31 minutes.", "cut", "increased", "percent"),
        ("La tasa de paro {} del 5,1 % al 5,6 %.", "subió", "bajó", "percent"),
        ("Die Zahl der Unfälle ist von 164 auf 131 {}.", "gesunken", "gestiegen", "percent"),
        ("La fréquentation est passée de 48 000 visiteurs en 2022 à 54 000 en 2023, soit une hausse de {} %.", "12,5",
         "21,5", "percent"),
        ("Le chiffre d'affaires a augmenté de {} %, passant de 48 000 € à 54 000 €.", "12,5", "21,5", "percent"),
        ("Der Umsatz ist um {} % von 48 Mio. € auf 54 Mio. € gestiegen.", "12,5", "21,5", "percent"),
        ("Die Zahl der Fälle erhöhte sich von 80 auf 120, also um {} Prozent.", "50", "40", "percent"),
        ("El número de socios bajó de 1.250 a 1.100, un {} % menos.", "12", "21", "percent"),
        ("Sur les 250 inscrits, 150 ({} %) ont terminé le cours.", "60", "66", "percent"),
        ("Von 320 Befragten waren 240 ({} %) zufrieden.", "75", "57", "percent"),
        ("Production fell from 400 to 360 tonnes ({}).", "-10 %", "-20 %", "percent"),
        ("Goals per game: Reds 2.4, Blues 1.8, Greens 3.0. The average of the three is {}.", "2.4", "4.2", "average"),
        ("Times: Anna 58 s, Berta 61 s, Clara 64 s. Average {}.", "61 s", "66 s", "average"),
        ("Rainfall was 88 mm in January, 61 mm in February and 73 mm in March, so the quarter averaged {} mm a month.",
         "74", "47", "average"),
        ("Heights in cm: Oak 412, Ash 380, Elm 405. On average they stand {}.", "399 cm", "499 cm", "average"),
        ("Punkte: Ana 72, Ben 85, Chloe 91, Dev 64, Eli 78. Der Durchschnitt ist {}.", "78", "87", "average"),
        ("Lap one took 4:12, lap two 4:08, so the two laps together took {}.", "8:20", "8:02", "sum"),
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
        "All 22 members were present: 14 in favour, 5 against, 2 abstaining, the chair did not vote.",
        "22 members attended. The motion got 12 for, 7 against and 2 abstentions, as Mr Lyle had left.",
        "In 2019 all 24 councillors voted; this year it was 14 for, 5 against, 2 abstentions.",
        "The bill passed with 312 for, 210 against and 14 abstentions; the house has 705 seats.",
        "Opening stock 420 boxes, of which 20 were damaged. Received 180, issued 235. Closing stock 345.",
        "Stock at the start was 400. Sold 150. At the end 180 were left, as 70 were broken.",
        "The season started with 18 clubs; 3 left, 2 joined, and in the end 17 remained.",
        "Take one capsule three times a day for 7 days. The pack contains 28 capsules.",
        "One tablet daily for 7 days, then 2 tablets daily, 60 tablets in all.",
        "She took one tablet twice daily for 14 days and had 12 tablets left.",
        "Rents rise by 3% a year. In 2020 we paid €800, in 2021 €824, and in 2022, after we moved, €950.",
        "Sales rose 10% a year on average: 1,000 in 2019, 1,100 in 2020, 1,190 in 2021, 1,331 in 2022.",
        "The 1:50,000 sheet measures 80 cm by 60 cm, and the walk is 12 km.",
        "On the 1:25,000 map, 5 mm between contour lines are 125 m, and the lines are 10 m apart.",
        "The survey covered 15 countries and asked thousands of people. Of these, 300 lived in towns.",
        "The hotel has 86 rooms. Of the guests, 104 came from France.",
        "Twenty boys and thirty girls came. Of these, 45 stayed for the night.",
        "Prices fell from 5 to 10 percent last week.",
        "The club climbed from 14 to 9 in the table.",
        "The loss fell from $5.1 million to $5.6 million after it was restated.",
        "Rain fell from 12.30 to 14.15.",
        "The frequency was increased from every 6 weeks to every 4 weeks.",
        "The odds rose from 20 to 1 to 15 to 1.",
        "The yen rose from 151 to 148 to the dollar.",
        "The growth rate fell from 5.1 to 4.6 percent.",
        "They reduced the rent increase from 5.1 to 4.6 percent.",
        "Les prix ont reculé de 5 à 10 %.",
        "Die Frist wurde von 12 auf 9 Monate verkürzt.",
        "Homework 80 (counts 20%), midterm 70 (30%), final exam 90 (50%). Overall average: 82.",
        "Heights in cm: Oak 412, Ash 380, Elm 405. On average they grow 30 cm a year.",
        "Scores: 71, 69, 74, 70. Average: 70, as the best is dropped.",
        "The firm released three games. A later collection held 30 of its games.",
        "The frequency of sailings is being increased from nine to seven days.",
        "It rained 12, 8 and 16 mm on the three days; in May it is 14 mm a day on average.",
        "Splits: 5 km 21:10, 10 km 42:40, half 1:29:30, finish 3:02:11.",
        "Swim 58:12, bike 5:10:33, run 3:22:45; finish 9:41:30.",
        "The first half kicks off at 15:00, the second half at 16:05, and it finishes at 16:50.",
    ],
)
def test_right_texts_that_look_wrong(text: str) -> None:
    assert found(text) == []


ITEMS = (
    '{{"items": [{{"sku": "A1", "qty": 6, "unitPrice": 14.95, "lineTotal": 89.70}}, {{"sku": "B2", "qty": 15, '
    '"unitPrice": 3.20, "lineTotal": {}}}, {{"sku": "C3", "qty": 1, "unitPrice": 129.00, "lineTotal": 129.00}}]}}'
)
STATISTICS = (
    '{{"temperature_c": {{"samples": 360, "min": 3.1, "max": 9.4, "mean": {}}}, "humidity": {{"min": 61, "max": 78}}}}'
)


@pytest.mark.parametrize(
    ("text", "right", "wrong"),
    [
        (ITEMS, "48.00", "84.00"),
        (STATISTICS, "4.2", "14.2"),
        (STATISTICS, "4.2", "1.2"),
        ('{{"load_min": {}, "load_avg": 8.1, "max_users": 3, "min_users": 2}}', "2", "12"),
    ],
)
def test_records_of_json(text: str, right: str, wrong: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(text.format(right))
    assert check(path, model=False) == []
    path.write_text(text.format(wrong))
    assert [each.rule for each in check(path, model=False)] == ["relation"]
