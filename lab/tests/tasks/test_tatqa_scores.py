"""TAT-QA's official EM and F1: cases worked by hand from the definition, its quirks among them."""

from __future__ import annotations

import pytest

from numerate_lab.tasks.tatqa.official_scores import exact_match_and_f1

SPAN, NUMBER = "span", "arithmetic"
# Predicted items and scale, right items and scale, type, EM, F1.
CASES = [
    # Numbers become value x scale with four decimals.
    (["2019"], "", ["2019"], "", SPAN, 1, 1),
    (["2018"], "", ["2019"], "", SPAN, 0, 0),
    (["$1,496.5"], "million", ["$1,496.5"], "million", SPAN, 1, 1),
    (["1496.5"], "million", ["$1,496.5"], "million", SPAN, 1, 1),
    (["$1,496.5"], "", ["$1,496.5"], "million", SPAN, 0, 0),
    (["1496.5 million"], "", ["1,496.5"], "million", SPAN, 1, 1),
    (["$5 million"], "", ["5"], "million", SPAN, 1, 1),
    (["1,200"], "thousand", ["1.2"], "million", NUMBER, 1, 1),
    (["0.5"], "billion", ["500"], "million", NUMBER, 1, 1),
    (["£5"], "", ["$5"], "", SPAN, 1, 1),  # currencies are left out
    (["€12.5"], "", ["12.5"], "", SPAN, 1, 1),
    (["12.6"], "million", ["-12.6"], "million", NUMBER, 0, 0),
    # Two decimals before the scale.
    (["2.344"], "million", ["2.34"], "million", NUMBER, 1, 1),
    (["2.346"], "million", ["2.34"], "million", NUMBER, 0, 0),
    (["-22.2222"], "percent", ["-22.22"], "percent", NUMBER, 1, 1),
    # Percentages: 22.22 % of scale percent is 0.2222; a number without scale is also tried as it is.
    (["-22.22"], "percent", ["-22.22"], "percent", NUMBER, 1, 1),
    (["-0.2222"], "", ["-22.22"], "percent", NUMBER, 1, 1),
    (["-0.22"], "", ["-22.22"], "percent", NUMBER, 0, 0),
    (["22.22%"], "", ["22.22"], "percent", NUMBER, 1, 1),
    (["22.22%"], "percent", ["22.22"], "percent", NUMBER, 1, 1),  # the sign is enough: no scale on top
    (["12%"], "", ["12"], "", SPAN, 0, 0),
    (["7.5 percent"], "", ["7.5"], "percent", SPAN, 1, 1),
    ([" %87"], "", ["0.87"], "", NUMBER, 0, 0),  # a digit or a space before the sign, but not at the ends of the item
    (["(3.2%)"], "", ["-3.2"], "percent", SPAN, 1, 1),
    # Accounting negatives, but none with a comma.
    (["(134)"], "", ["-134"], "", SPAN, 1, 1),
    (["(1,134)"], "", ["-1134"], "", SPAN, 0, 0),
    (["(1,134)"], "", ["1134"], "", SPAN, 1, 1),
    # 0 is an answer; nothing is none.
    (["0.0"], "", ["0"], "percent", NUMBER, 1, 1),
    (["0"], "thousand", ["0"], "", NUMBER, 1, 1),
    (None, "", ["0"], "", NUMBER, 0, 0),
    ([], "", ["0"], "", NUMBER, 0, 0),
    ([""], "", ["net sales"], "", SPAN, 0, 0),
    ([""], "million", ["strong sales"], "million", SPAN, 0, 0.5),  # 1 of 3 words: the scale
    (["–"], "", ["—"], "", SPAN, 0, 0),
    ([""], "", ["-"], "", SPAN, 1, 1),  # nothing is left of a hyphen
    # Texts: lower case, no ASCII punctuation, no articles.
    (["net sales"], "", ["Net sales"], "", SPAN, 1, 1),
    (["the net sales."], "", ["net sales"], "", SPAN, 1, 1),
    (["net  sales"], "", ["net sales"], "", SPAN, 1, 1),
    (["“Segment”"], "", ["Segment"], "", SPAN, 0, 0),  # curly quotation marks stay
    (["total net sales"], "", ["net sales"], "", SPAN, 0, 0.8),  # 2 of 3, 2 of 2
    (["net"], "", ["net sales"], "", SPAN, 0, 0.67),  # 1 of 1, 1 of 2
    (["cost"], "", ["net sales"], "", SPAN, 0, 0),
    (["fixed-price type"], "", ["fixed price type"], "", SPAN, 0, 0.4),  # "fixedprice": 1 of 2, 1 of 3
    (["5 years"], "", ["5 years"], "", SPAN, 1, 1),
    (["5 years"], "thousand", ["5 years"], "", SPAN, 0, 0.8),  # "5 years thousand": 2 of 3, 2 of 2
    (["in 2019 and 2018"], "", ["in 2019 and 2018"], "", SPAN, 1, 1),
    (["December 31, 2019"], "", ["2019"], "", SPAN, 0, 0),  # the word 2019 is "2019", the answer alone is "2019.0"
    ([".5"], "", ["0.5"], "", SPAN, 0, 0),  # a number must begin with a digit
    (["１２"], "", ["12"], "", SPAN, 1, 1),  # digits of any script
    (["-１"], "thousand", ["-１２"], "thousand", NUMBER, 0, 0),
    (["inf"], "", ["Infinity"], "", SPAN, 1, 1),  # both are numbers without digits, and written as None
    # Several spans are sorted and become one string.
    (["profit", "cost"], "", ["cost", "profit"], "", "multi-span", 1, 1),
    (["cost"], "", ["cost", "profit"], "", "multi-span", 0, 0.67),
    (["cost profit"], "", ["cost", "profit"], "", "multi-span", 1, 1),
    (["cost", "cost"], "", ["cost"], "", "multi-span", 0, 1),  # F1 compares sets of words
    (["apples", "Bananas"], "", ["apples", "bananas"], "", "multi-span", 0, 1),  # sorted before the case is lowered
    (["38", "18"], "thousand", ["18", "38"], "thousand", "multi-span", 1, 1),
    # F1 is rounded as numpy rounds: 39 of 40 words on both sides are 0.975, which becomes 0.98.
    ([" ".join(f"w{i}" for i in range(40))], "", [" ".join(f"w{i}" for i in range(1, 41))], "", SPAN, 0, 0.98),
    # One text or number is one item.
    ("net sales", "", ["Net sales"], "", SPAN, 1, 1),
    ("", "million", ["strong sales"], "million", SPAN, 0, 0),
    (0, "", ["0"], "", NUMBER, 1, 1),
    (-22.2222, "percent", -22.22, "percent", NUMBER, 1, 1),
    ([5, "3"], "", ["3", "5"], "", "multi-span", 1, 1),
    # F1 of counts and arithmetic is EM.
    (["4"], "", ["4"], "", "count", 1, 1),
    (["3"], "", ["4"], "", "count", 0, 0),
    (["net sales 5"], "", ["5"], "", NUMBER, 0, 0),
]


def test_cases_worked_by_hand() -> None:
    assert len(CASES) >= 40
    for predicted, scale, gold, gold_scale, kind, exact, f1 in CASES:
        found = exact_match_and_f1(predicted, scale, gold, gold_scale, kind)
        assert found == pytest.approx((exact, f1)), (predicted, scale, gold, gold_scale)


@pytest.mark.parametrize("text", ["9" * 5000, "(" * 3000, "1" * 400 + ".5", "inf", "nan", "½", "\ud800"])
def test_no_text_is_an_error(text: str) -> None:
    exact, f1 = exact_match_and_f1([text], "million", [text], "million", SPAN)
    assert (exact, f1) == (1, 1)
