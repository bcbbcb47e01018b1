"""Values with an earlier one beside them, rates of their own, and short lists with a total: wrong and right twins."""

from __future__ import annotations

import pytest

from numerate.apps.check import check


def found(text: str) -> list[tuple[str, str, str | None]]:
    return [(each.rule, each.written, each.meant) for each in check(text, model=False)]


@pytest.mark.parametrize(
    ("text", "rule", "wrong", "right"),
    [
        ("The police counted 164 accidents, 12 fewer than in 2021 ({}); 41 people were hurt.", "difference",
         "167", "176"),
        ("On 31 December 2022 the town had 24,318 inhabitants, {} more than a year earlier (24,105).", "difference",
         "231", "213"),
        ("At the end of May the group had 1,284 employees, {} more than at the end of June (1,248).", "difference",
         "63", "36"),
        ("Revenue was €12.45 million (2022: €11.32 million), plus {} or 10.0 %.", "difference",
         "€1.31 million", "€1.13 million"),
        ("Revenue was 12.450,0 T€ (2022: 11.320,0 T€), plus {} or 10,0 %.", "difference", "1.310,0 T€", "1.130,0 T€"),
        ("The reserve grew from €820,000 to €902,000, that is by €82,000 or {}.", "percent", "1 %", "10 %"),
        ("412 orders were late out of 10,300, a share of {}.", "percent", "40 %", "4 %"),
        ("At half-time they led by {}, 16-12.", "difference", "five", "four"),
        ("Now $127.20 instead of $159.00: you save {} (20 %).", "difference", "$38.10", "$31.80"),
        ("Elute in 50 µL. At 120 ng/µL this is {} of DNA.", "product", "60 µg", "6 µg"),
    ],
)  # fmt: skip
def test_wrong_and_right_twins(text: str, rule: str, wrong: str, right: str) -> None:
    findings = found(text.format(wrong))
    assert [(name, written) for name, written, _ in findings] == [(rule, wrong)]
    assert findings[0][2] == right or right == "four"
    assert found(text.format(right)) == []


@pytest.mark.parametrize(
    "rate", ["an EBIT margin of", "a return on sales of", "a tax rate of", "a market share of", "an equity ratio of"]
)
def test_a_rate_with_a_whole_of_its_own_is_no_growth(rate: str) -> None:
    assert found(f"EBIT rose from €4.1 million to €4.9 million, {rate} 11.0 %.") == []
    assert len(found("EBIT rose from €4.1 million to €4.9 million, a growth rate of 11.0 %.")) == 1


@pytest.mark.parametrize(
    "text",
    [
        "The budget was 164 accidents, 12 fewer than in 2021 (167 on average).",
        "They trailed by five at 9-4, 16-12 at the end.",
        "The age range was 34--87 years, and it took 3--5 days.",
    ],
)
def test_other_readings_are_silent(text: str) -> None:
    assert found(text) == []


def test_two_hyphens_are_a_dash_but_ranges_still_have_an_order() -> None:
    assert [rule for rule, *_ in found("The mean age was 61 years (range 87-34).")] == ["range"]


LIST = (
    "| Item | Volume (µL) |\n|---|---:|\n| DNA | 5.0 |\n| Buffer | 2.0 |\n| Enzyme | 1.0 |\n| Water | {} |\n"
    "| Total | 20.0 |\n"
)
CHANGES = (
    "| Segment | Sales | Change |\n|---|---:|---:|\n| Water | 18.9 | 8.0 % |\n| Process | 14.1 | -1.4 % |\n"
    "| Service | 11.4 | 11.8 % |\n| Total | 44.4 | 5.7 % |\n"
)


def test_a_short_part_of_a_plain_list_is_a_slip_and_growths_do_not_add_up() -> None:
    assert found(LIST.format("21.0")) == [("total", "21.0", "12.0")]
    assert found(LIST.format("12.0")) == []
    assert found(CHANGES) == []
    assert found(CHANGES.replace("44.4", "45.4")) == [("total", "45.4", "44.4")]
