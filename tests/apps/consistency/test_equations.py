"""Equations that a text writes out."""

from __future__ import annotations

import pytest

from numerate.apps.consistency.checker import ConsistencyChecker
from numerate.apps.documents import Document


def found(text: str) -> list[tuple[str, str, str | None]]:
    findings = ConsistencyChecker().check(Document(kind="text", text=text))
    return [(each.rule, each.written, each.meant) for each in findings]


@pytest.mark.parametrize(
    ("text", "right", "wrong", "rule"),
    [
        ("Points: 5 + 4 + 6 + 5 = {}. You need half of them.", "20", "21", "sum"),
        ("Of the stock, 400 − 125 = {} were left.", "275", "265", "sum"),
        ("Total = 120 + 45 = {}.", "165 euros", "156 euros", "sum"),
        ("Keller Bau: EUR 18,400 net + 19 % VAT = {}", "EUR 21,896", "EUR 21,986", "sum"),
        ("A queue of 1,024 x 48 = {}.", "49,152 bytes", "94,152 bytes", "product"),
        ("Grundpreis 12 × 11,90 € = {}, fällig im März.", "142,80 €", "124,80 €", "product"),
        ("The berth cost 3 nights at EUR 27.50 = {}.", "EUR 82.50", "EUR 85.20", "product"),
        ("2 x $812.00 + 1 x $609.00 = {}; taxes later.", "$2,233.00", "$2,323.00", "product"),
        ("So each pays $96 / 8 = {}.", "$12", "$21", "product"),
        ("Four jugs: 4 x 250 ml = {}.", "1.0 l", "1.8 l", "product"),
    ],
)
def test_an_equation_must_hold(text: str, right: str, wrong: str, rule: str) -> None:
    assert found(text.format(right)) == []
    assert found(text.format(wrong)) == [(rule, wrong, right)]


@pytest.mark.parametrize(
    "text",
    [
        "He said that 2 + 2 = 5.",
        'True or false? "15 + 7 = 21."',
        "Tim says that 15 + 17 = 31. Where is his mistake?",
        "In base 9, 15 + 15 = 31.",
        "It is not 15 + 17 = 31 but more.",
        "Solve 3x + 15 = 20, x + 15 + 12 = 30 and 2^3 + 14 = 20.",
        "log 100 + 13 = 15, and √16 + 12 = 16.",
        "(12 + 8) x 3 = 60, and 3 + (12 + 8) = 23.",
        "We have 30 x 3.3 = 100, 2 / 3 = 66 % and 17 / 20 = 85.",
        "The rule 15 + 5 = 3 + 17 holds, and 15 + 5 = 4 x 5.",
        "12 V x 2 A = 24 W, 3 days x 24 h = 72 h, 60 km / 2 h = 30 km/h.",
        "The size is 60000 examples x 784 elements = 47040 K elements.",
        "About 15 x 15 = 220.",
        "assert f(12 + 13) == 26 and x[12 + 13] = 26",
        "EUR 100.00 + 7 % = EUR 107.00, and 7 % + 5 % = 12 %.",
    ],
)
def test_what_is_no_claim_or_has_more_in_it(text: str) -> None:
    assert found(text) == []
