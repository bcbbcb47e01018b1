"""Durations, centuries, deadlines, pages, records, scores and points; and right texts that look like wrong ones."""

from __future__ import annotations

import pytest

from numerate.apps.consistency.checker import ConsistencyChecker
from numerate.apps.documents import Document


def found(text: str) -> list[tuple[str, str]]:
    return [(each.rule, each.written) for each in ConsistencyChecker().check(Document(kind="text", text=text))]


TIMES = [
    # Days without a year; both ends may count, or one of them.
    ("Hospital stay was {} days, from 3 May to 12 May.", "difference", "6", "9"),
    ("Hospital stay was {} days, from 3 May to 12 May.", "difference", "6", "10"),
    ("Length of stay: {} days (3 May to 12 May).", "difference", "6", "9"),
    ("The rental is for {} days (3 August to 24 August).", "difference", "14", "21"),
    ("The strike lasted {}, from 3 to 12 May.", "difference", "six days", "ten days"),
    ("The festival runs from 3 to 12 May, {} in all.", "difference", "six days", "ten days"),
    ("We are away from 3 to 24 August, {}.", "difference", "two weeks", "three weeks"),
    # What comes first.
    ("He reigned from {} until his death in 1503.", "range", "1558", "1485"),
    ("She directed the museum from {} to her retirement in 1973.", "range", "1988", "1958"),
    ("Born in {}, he died in 1817.", "range", "1871", "1771"),
    ("Registration opens on 10 May and closes on {}.", "date", "2 May", "2 June"),
    ("She was admitted on 12 May and discharged on {}.", "date", "3 May", "23 May"),
    # Centuries, decades, leap years.
    ("The {} century, from 1701 to 1800, saw great change.", "ordinal", "19th", "18th"),
    ("In the {} century, between 1801 and 1850, the town grew.", "ordinal", "18th", "19th"),
    ("The first half of the {} century (1851 to 1899) was calm.", "ordinal", "19th", ""),
    ("The {} century began on 1 January 1801.", "ordinal", "20th", "19th"),
    ("The {}, from 1980 to 1989, were good years.", "date", "1990s", "1980s"),
    ("In 1985, at the beginning of the {}, she moved to Bern.", "date", "1990s", "1980s"),
    ("{} was a leap year.", "date", "2023", "2024"),
    ("She was born in the leap year {}.", "date", "2022", "2020"),
    ("{} was not a leap year.", "date", "2000", "1900"),
    # Times of the day.
    ("Departure 22:40, arrival 06:10 next day, travel time {}.", "difference", "8 h 30 min", "7 h 30 min"),
    ("Departs 08:05, arrives 12:20 (journey time {}).", "difference", "3 h 15 min", "4 h 15 min"),
    ("The journey time is {}: the train departs at 08:05 and arrives at 12:20.", "difference", "3 h 15 min",
     "4 h 15 min"),
    ("Travel time: {} (08:00 to 12:00).", "difference", "5 hours", "4 hours"),
    ("The surgery began at 08:30 and ended at 11:10 (duration {}).", "difference", "140 min", "160 min"),
    ("The ferry sails at 22:40 and docks at 06:10 the next morning, a crossing of {}.", "difference", "8 h 30 min",
     "7 h 30 min"),
    # Terms and deadlines.
    ("The warranty of {} from 1 June 2022 ends on 31 May 2024.", "difference", "36 months", "24 months"),
    ("A notice period of {} months from 31 March ends on 31 July.", "difference", "three", "four"),
    ("The {} guarantee from 5 May 2020 expired on 5 May 2023.", "difference", "two-year", "three-year"),
    ("The deadline is {} after 3 March, i.e. 24 March.", "difference", "14 days", "21 days"),
    ("Two weeks after {}, on 24 March, the hearing takes place.", "difference", "", "10 March"),
    ("The hearing takes place on 24 March, {} after the complaint of 3 March.", "difference", "two weeks",
     "three weeks"),
    ("Reply within {} of 5 June, that is by 20 June.", "difference", "10 days", "15 days"),
    # Times that add up, and how often something comes.
    ("Bake for 45 minutes at 180 °C and cool for 15 minutes: ready in {}.", "sum", "50 minutes", "60 minutes"),
    ("The bus leaves every 15 minutes, so there are {} buses an hour.", "product", "six", "four"),
    ("Take one tablet every 8 hours, that is {} times a day.", "product", "four", "three"),
    ("Six trains an hour, or every {} minutes.", "product", "", "10"),
    ("A football match has two halves of 45 minutes, {} minutes in all.", "product", "80", "90"),
    ("The class meets twice a week for 12 weeks, {} meetings in all.", "product", "20", "24"),
    # Delays, ends of what begins, opening hours of a week, terms of office, ages to come, anniversaries.
    ("The train left at 13:52, {} minutes late, instead of 13:25.", "difference", "17", "27"),
    ("The bus, due at 10:05, came at 10:32, {} minutes late.", "difference", "17", "27"),
    ("The movie starts at 20:15 and, at {} minutes, ends at 22:43.", "difference", "118", "148"),
    ("The oven timer: start 14:20, bake {} min, done at 15:25.", "difference", "55", "65"),
    ("The office is open Monday to Friday, 8 am to 4 pm, {} hours a week.", "difference", "45", "40"),
    ("The president served two {} terms, from 1993 to 2003.", "difference", "four-year", "five-year"),
    ("Their daughter, born in 2010, will be {} in 2030.", "difference", "18", "20"),
    ("The {} anniversary of the end of the war in 1945 was celebrated in 2025.", "ordinal", "75th", "80th"),
    ("The meeting was postponed by {}, from 3 May to 24 May.", "difference", "two weeks", "three weeks"),
    ("There are {} days between 3 May and 20 May.", "difference", "12", "17"),
    ("The time between 08:15 and 09:45 is {} minutes.", "difference", "75", "90"),
    ("The eclipse lasted {}, from 11:02:10 to 11:05:30.", "difference", "4 min 20 s", "3 min 20 s"),
    ("She was 30 in 1990 and {} in 2000.", "difference", "45", "40"),
    # Pages.
    ("Section 4.2 runs from page {} to page 88.", "range", "97", "79"),
    ("Chapter 3 begins on page {} and ends on page 38.", "range", "45", "25"),
    ("The chapter runs from page 112 to page 131, {} pages.", "range", "25", "20"),
    ("The {}-page article (pp. 112-131) is free.", "range", "25", "20"),
    ("On page {} of the 380-page book he tells the story.", "range", "412", "312"),
    ("The novel has 320 pages in 12 chapters; chapter {} tells of her death.", "range", "14", "11"),
    ("The race had 50 laps; he retired on lap {}.", "range", "53", "43"),
]  # fmt: skip
GAMES = [
    # Records.
    ("He won 62 of his {} fights, lost 14 and drew 6.", "sum", "80", "82"),
    ("They lost 3 of their {} games, winning 15 and drawing 3.", "sum", "20", "21"),
    ("In {} games the club won 20, drew 10 and lost 9.", "sum", "38", "39"),
    ("The team won 24 games and lost 16 of its {} games.", "sum", "38", "48"),
    ("The basketball team won 24 games and lost 12 of its {} games.", "sum", "38", "36"),
    ("The side is unbeaten with 8 wins and 3 draws from {} games.", "sum", "12", "11"),
    ("The Lions are 9-4 after {} games.", "sum", "14", "13"),
    # Points and runs.
    ("After 34 matches they have {} points from 21 wins and 6 draws.", "sum", "70", "69"),
    ("With 12 wins, 5 draws and 3 defeats, the club has {} points.", "sum", "40", "41"),
    ("She scored {} points: 9 two-pointers and 4 three-pointers.", "sum", "28", "30"),
    ("He scored {} points on 10 field goals, 3 three-pointers and 5 free throws.", "sum", "31", "34"),
    ("The All Blacks scored five tries, four conversions and two penalties, {} points in all.", "sum", "41", "39"),
    ("The opener made {} with 12 fours and 14 sixes.", "sum", "102", "152"),
    ("He hit {} runs: 10 fours, 5 sixes and 27 singles.", "sum", "87", "97"),
    # Sets, series, legs, rounds.
    ("She won in straight sets, {}.", "count", "6-4, 4-6, 6-3", "6-4, 6-3"),
    ("The match went to {} sets, 6-4, 4-6, 6-3, 6-2.", "count", "five", "four"),
    ("He won by three sets to {}, 7-6 (7-4), 4-6, 6-3, 6-2.", "count", "", "one"),
    ("The best-of-five series ended {}.", "count", "4-1", "3-1"),
    ("They won the first leg 3-1 and lost the second 2-1, going through {} on aggregate.", "sum", "5-3", "4-3"),
    ("After a 2-1 win at home and a 1-1 draw away they went through {} on aggregate.", "sum", "4-2", "3-2"),
    ("He went round in 68 on the par-72 course, {} under par.", "difference", "five", "four"),
    ("With rounds of 68, 70, 71 and 69 he finished on 278, {} under par on the par-72 course.", "difference",
     "eight", "ten"),
    ("Each of the 20 teams plays every other twice, {} matches each.", "product", "36", "38"),
    ("The five teams play each other once, {} games in all.", "product", "twelve", "ten"),
    ("The relay of 4 x 100 m was won in 38.2 s, over {} m in all.", "product", "500", "400"),
    # Rates and parts of games.
    ("The bowler took 5 wickets for 60 runs, an average of {}.", "product", "15", "12"),
    ("The batsman scored 480 runs in 10 innings at an average of {}.", "product", "52", "53.33"),
    ("The pitcher has 15 wins and 7 losses, a winning percentage of {}.", "product", ".714", ".682"),
    ("The {} teams play in 12 groups of 5.", "product", "48", "60"),
    ("The team scored 3 goals in the first half and 2 in the second, winning {}.", "sum", "6-1", "5-1"),
    ("He scored {} goals in 25 games, seven in the first half of the season and nine in the second.", "sum",
     "14", "16"),
    ("She made a birdie {} on the par-5 hole.", "difference", "three", "four"),
    ("The runner covered the first half in 1:05:10 and the second in 1:07:20, finishing in {}.", "sum", "2:13:30",
     "2:12:30"),
    ("The Blues won {} (periods 1-0, 2-1, 0-1).", "sum", "3-1", "3-2"),
    ("The handball match ended {} (15-13 at half-time, 14-12 in the second half).", "sum", "28-25", "29-25"),
    ("He ran 12 km in 55 minutes, a pace of {} per km.", "product", "5:00", "4:35"),
    ("A marathon of 42.195 km in 2:10:00 is a pace of {} per km.", "product", "4:05", "3:05"),
    ("In 30 overs they made 180 for 4, a run rate of {}.", "product", "5", "6"),
    # Results and what they are compared with.
    ("He ran the 400 m in 48.2 seconds, {} faster than his best of 48.5.", "difference", "0.7 seconds",
     "0.3 seconds"),
    ("The jump of 8.12 m beat the old record of 8.05 m by {}.", "difference", "12 cm", "7 cm"),
    ("His throw of 85.20 m was {} short of the record of 86.40 m.", "difference", "1.5 m", "1.2 m"),
    ("He won in 9.84 seconds, {} ahead of Smith (9.89).", "difference", "0.03 seconds", "0.05 seconds"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "rule", "written", "right"), TIMES + GAMES)
def test_wrong_and_right(text: str, rule: str, written: str, right: str) -> None:
    if right:
        assert not found(text.format(right))
    if written:
        ((told, number),) = found(text.format(written))
        assert told == rule and (written in number or number in written)


@pytest.mark.parametrize(
    "text",
    [
        # Times.
        "The long 19th century (1789-1914) shaped Europe.",
        "The Qing ruled in the 17th century (1644-1911).",
        "In the 1990s (Meyer, 1985) this was known.",
        "In 1991, at the beginning of the 1990s, she moved to Bern.",
        "Excel wrongly takes 1900 for one; it believes that 1900 was a leap year.",
        "The fiscal year begins on 6 April and ends on 5 April.",
        "The season opens on 15 May and closes on 2 May.",
        "The flight leaves Paris at 10:00 and lands in New York at 12:30, a flight of 8 h 30 min.",
        "The train leaves at 08:05 and arrives at 12:20, with a stop of 40 min in Bern.",
        "The strike lasted six days, from 3 to 8 May.",
        "The two-week course, from 3 to 16 May, is full.",
        "We stay nine nights, from 3 to 12 May.",
        "From 3 to 12 May the shop was closed on four days.",
        "The two-year guarantee from 5 May 2020 was extended and expired on 5 May 2023.",
        "Reply within 10 days of 5 June, that is by 15 June.",
        "Trains run every 20 minutes, at peak times six an hour.",
        "Take one tablet every 4 hours, four times a day.",
        "Simmer for 30 minutes; while it simmers, cook rice for 20 minutes. It is ready in 30 minutes.",
        "The article moved from page 3 to page 1.",
        "We read chapters 3 to 5 of the 40-page booklet, and page 12 of the 15-page report.",
        "He went back from page 88 to page 79.",
        "Born in 1871, he met the man who died in 1817 only in books.",
        "The pass is valid for one month, from 3 May 2020 until 5 May 2020 at a trial price.",
        "He served two four-year terms, from 1993 to 1997 and from 2001 to 2005.",
        "In 1950, on the 200th anniversary of Bach's death, the edition of 1851 was complete.",
        "The office is open Monday to Friday, 8 am to 5 pm, 40 hours a week.",
        "The film starts at 20:15 and, with a break of 15 minutes, ends at 22:43.",
        "The train, due at 10:05, stopped for 12 minutes and came at 10:32, late again.",
        "She trains twice a week for 12 weeks, 90 minutes each.",
        "The train leaves at 9:30, calls at Olten after 40 minutes and arrives at 10:45.",
        "The lease of five years from 1 May 2015 was renewed and ends on 30 April 2025.",
        "The church of the 13th century, between 1850 and 1860 restored, stands on a hill.",
        "The 5-day course, from 3 to 12 May, skips the weekends.",
        "On page 20 of the 18-page guide's 30-page annex.",
        "There were five days of strike between 3 May and 20 May.",
        "Sales were 30 in 1990 and 45 in 2000.",
        # Games.
        "They won 3-2 (1-0, 1-1, 0-1 in the periods, 1-0 in overtime).",
        "He ran the 10 km in 45:30, his best mile at a pace of 6:30 per mile.",
        "The Bruins have 45 points with 18 wins, 5 ties and 4 overtime losses.",
        "The batsman scored 480 runs in 10 innings, two of them not out, at an average of 60.",
        "The 48 teams play in 12 groups of four, the 8 best third ones go on.",
        "The 22 pupils work in 4 groups of 5, and two are ill.",
        "They scored two in the first half and one in the second, winning 3-2.",
        "The half-way split was 1:05:00, and he won in 2:12:10, with 1:05:40 for the leader at half-way.",
        "She won 8 of her last 10 games and lost 30 of 80 this season.",
        "The team won 24 games and lost 12 of its 38 games.",
        "He won 20 of 38 games, lost 10 and drew 6, with two games abandoned.",
        "They have 68 points from 21 wins and 6 draws, after one was deducted.",
        "The league leaders have 48 points from 21 wins and 6 draws.",
        "She scored 33 points with 9 two-pointers and 4 three-pointers.",
        "He scored 30 points, including 4 three-pointers and 2 free throws.",
        "The opener made 102 with 12 fours and 4 sixes.",
        "They lead the best-of-seven series 3-2 after winning Game 5 6-3.",
        "She won 6-4, 6-3 in straight sets after losing 4-6, 3-6 last year.",
        "He won 4-6, 6-4, 6-3 and his brother lost in straight sets.",
        "They won 2-1 on penalties after a 3-3 draw on aggregate, having lost 1-0 at home.",
        "A final round of 66 left him 12 under par on the par-71 course.",
        "The ten teams play each other twice in two groups of five, eight games each.",
        "The 16 teams met each other in groups, 24 matches in all.",
        "He ran 48.2 seconds, about 0.5 seconds faster than his best of 48.5.",
        "She threw 62.10 m, with 1.5 m more than in the first round; the record is 64.20 m.",
    ],
)
def test_right_texts_that_look_wrong(text: str) -> None:
    assert not found(text)
