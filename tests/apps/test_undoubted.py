"""Numbers that a model never doubts, and what its doubts say."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest
from judging_models import judging_model

import numerate
from numerate.apps.documents import Document, sentence_spans
from numerate.apps.plausible import PlausibilityChecker
from numerate.apps.undoubted import is_code, is_meant_sign, is_recent_year, is_value_of_symbol

MINI = Path(__file__).parents[2] / "models" / "numerate-mini"


@functools.cache
def mini() -> Any:
    if not MINI.is_dir():
        pytest.skip("models/numerate-mini is not in this copy")
    return PlausibilityChecker(numerate.from_pretrained(str(MINI)), false_alarms=0.01)


def findings(text: str, judge: Any = None) -> list[Any]:
    return (judge or mini()).check(Document(kind="text", text=text))


@pytest.mark.parametrize(
    "text",
    [
        "Call +44 20 7946 0958, 0800 555 0199 or 030/1234567.",
        "It lies at 51.5074° N, 0.1278° W or 48°51'24\" N; lat 52.5200, lon 13.4050.",
        "Coordinates: 48.8584, 2.2945.",
        "She lives at 1600 Pennsylvania Avenue NW, Washington, DC 20500, or in 80331 Munich, Hauptstraße 5.",
        "The card is 4111 1111 1111 1111, the account DE89 3704 0044 0532 0130 00.",
        "It listens on port 8080; call 911 from room 417 in scene 2.",
        "Write to Hauptstr. 5, 10115 Berlin, 20095 Hamburg, D-20144 Milan, or call at 80331 Munich.",
        "zip: 111 20; phone: 224 123 456",
        "Appl. No.: 14/812,204; case no. 3/2019-412; form Nr. 17/4",
        "The picture has 1920x1080 or 640 × 480 points.",
    ],
)
def test_codes_are_no_sizes(text: str) -> None:
    quantities = [each for each in numerate.find(text) if each.kind in ("quantity", "ratio", "year", "range")]
    assert quantities
    for numeral in quantities:
        assert is_code(text, numeral), numeral


def test_lengths_and_years_are_no_codes() -> None:
    text = "The road is 9.3 miles long ( 51.0 km ). The 19690 Saints came in 160th place in the 2006-07 season. "
    text += "It is a 20110 American film of 20000 BC, made by the 12345 Saints in 11994 Quist."
    assert [each.text for each in numerate.find(text) if is_code(text, each)] == []
    # Slips: a figure too many in a year or a season, a factor of ten or a thousand.
    text = "20010 Belarusian First League was the eleventh. The university had 46000 Pulitzer Prizes in the 2012-13000 "
    text += "Green Bay season. They won the 4000 x 400 metres relay. It lies at 48000.1° N, the 2004000-07 season."
    assert [each.text for each in numerate.find(text) if is_code(text, each)] == []


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("The effect was significant (p < 0.001, n = 134, r = -0.663).", ["0.001", "134", "-0.663"]),
        ("We set α = 0.1, λ_max = 32.0 and L2 = 5.", ["0.1", "32.0", "5"]),
        ("F(2, 34) = 4.51 and t(18)=2.10, R² ≥ 0.65.", ["4.51", "2.10", "0.65"]),
        ("A P-value of less than 0.05 counted; P values were > 0.2 at the 0.05 level.", ["0.05", "0.2", "0.05"]),
        ("The significance level was set to 0.01.", ["0.01"]),
    ],
)
def test_values_of_symbols_have_no_size(text: str, values: list[str]) -> None:
    found = [each.text for each in numerate.find(text) if is_value_of_symbol(text, each)]
    assert [each.lstrip("<>≥=").strip() for each in found] == values


@pytest.mark.parametrize(
    "text",
    [
        "Revenue = $500",
        "It costs $ 500 and weighs 12 kg, a 5 % rise.",
        "12 x 15 = 180 tiles",
        "A level of 5 metres",
        "See p. 12",
    ],
)
def test_other_numbers_are_no_values_of_symbols(text: str) -> None:
    assert not [each for each in numerate.find(text) if is_value_of_symbol(text, each)]


def test_sizes_are_no_codes() -> None:
    text = (
        "The 3 flats of 1 250 300 euros have 45 m² and 5 °C, 62 % of 12,500 Germans, 1.6 litres, 20 x 30 m, 1,024 MB, "
        "0.05 mg, 1939-1945, 7.5/10, 12 Main Line trains and 3 calls of 20 minutes."
    )
    assert [each.text for each in numerate.find(text) if is_code(text, each)] == []
    text = "They play from the 20160 Super Rugby season onwards."
    (season,) = (each for each in numerate.find(text) if each.text == "20160")
    assert not is_code(text, season)


def test_a_minus_is_meant_where_it_may_be() -> None:
    for text, expected in (
        ("It was -18 °C.", True), ("a loss of -$3.4 million", True), ("it fell by -2.3 %", True), ("level -2", True),
        ("It weighs -18 kg.", False), ("It was 18 °C.", False),
    ):  # fmt: skip
        (numeral,) = numerate.find(text)
        assert is_meant_sign(numeral, ["sign"], (100.0, 200.0)) is expected, text
        size = abs(numeral.written)
        assert is_meant_sign(numeral, [], (size / 2, 2 * size)) is expected, text
        assert not is_meant_sign(numeral, ["factor", "sign"], (5 * size, 6 * size))


@pytest.mark.parametrize(
    "text",
    [
        "On the night of 12 January temperatures fell to -18 °C in the valley.",
        "The freezer is kept at -18 °C, the fridge at 4 °C.",
        "The company made a loss of -$3.4 million in 2019, after a profit of $12.1 million in 2018.",
        "GDP changed by -2.3 % in 2009 and +3.1 % in 2010.",
        "Net income was $(1.2) million compared with $0.8 million a year earlier.",
        "At 51.5074° N, 0.1278° W lies London.",
        "Please call 0800 555 0199 or 030/1234567 between 9:00 and 17:30.",
    ],
)
def test_right_sentences_are_quiet(text: str) -> None:
    assert [(each.written, each.meant) for each in findings(text)] == []


def test_what_a_doubt_says() -> None:
    for text, written, meant, said in (
        ("The film lasts 1200 minutes and was shown twice.", "1200 minutes", "1200 s", "a wrong unit"),
        ("Mount Kilimanjaro rises 58,950 metres above sea level.", "58,950", "589.5", "a factor of a hundred"),
        ("About 620 % of the respondents were in favour.", "620 %", "62 %", "a factor of ten"),
    ):
        (found,) = findings(text)
        assert (found.written, found.meant) == (written, meant) and said in found.message
        start, end = found.span
        assert text[start:end] == written


def test_cold_cells_and_no_correction_to_nothing() -> None:
    months = [("Oslo", "-6.8", "-1.8"), ("Berlin", "-1.9", "2.9"), ("Rome", "2.1", "11.9"), ("Cairo", "9.0", "18.9")]
    judge = PlausibilityChecker(mini().model, false_alarms=0.2)

    def found(first: str) -> list[Any]:
        rows = [["Oslo", first, "-1.8"], *map(list, months[1:])]
        return judge.check(Document(kind="table", header=("City", "January min °C", "max °C"), rows=rows))

    for low in ("-6.8", "-68", "-6800"):
        for each in found(low):
            assert each.meant is None or abs(float(each.meant)) >= 1e-3, each.message
            assert not each.written.startswith("-") or "wrong sign" not in each.message, each.message


def test_intervals_are_on_the_scale_that_is_written() -> None:
    scaled = PlausibilityChecker(judging_model(), false_alarms=0.999)
    (letter,) = scaled.judge(["It cost $20K on Monday."])
    (plain_number,) = scaled.judge(["It cost $20 on Monday."])
    assert letter.numeral.power == 3
    assert letter.interval[1] == pytest.approx(plain_number.interval[1] / 1000, rel=1e-6)
    assert letter.density["edges"][-1] == pytest.approx(plain_number.density["edges"][-1] / 1000, rel=1e-4)  # type: ignore[index]


def test_a_paragraph_ends_behind_what_may_be_an_abbreviation() -> None:
    text = "It is 4 °C. Then 5 K.\n\nNitrogen boils, says J.\n- item by A. B. Clark, No. 5.\n"
    assert [text[start:end] for start, end in sentence_spans(text)] == [
        "It is 4 °C.", "Then 5 K.", "Nitrogen boils, says J.", "- item by A. B. Clark, No. 5.",
    ]  # fmt: skip


def test_years_of_today_are_not_doubted() -> None:
    text = "The report was published in 2021. In 2024 the firm had 350 people, and by 2035 it wants 2,035 of them."
    years = [each.text for each in numerate.find(text) if is_recent_year(text, each)]
    assert years == ["2021", "2024", "2035"]
    checker = PlausibilityChecker(mini().model, false_alarms=0.05)
    assert findings("The report was published in 2021. By 2035, all buses will be electric.", checker) == []
    assert [each.written for each in findings("The castle was built in 9121 and has 4 towers.", checker)] == ["9121"]


def test_a_minus_is_meant_beside_other_signs_of_its_column() -> None:
    from numerate.apps.table_mates import has_signs

    rows = [["+6"], ["2"], ["-1"], ["-3"], ["+3"]]
    assert has_signs(Document(kind="table", header=["GD"], rows=rows), 2, 0)
    assert not has_signs(Document(kind="table", header=["kg"], rows=[["6"], ["2"], ["-1"]]), 2, 0)
