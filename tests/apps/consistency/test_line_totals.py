"""Totals below lines of a text that end with amounts."""

from __future__ import annotations

import pytest

from numerate.apps.check import check

LETTER = """Dear Mrs Novak,

We accept your claim as follows:

    Kitchen floor (new boards)                     £800.00
    Drying, 9 days                                 £346.50
    Plaster and decoration                       £1,210.00
    Washing machine (new for old)                  £429.00
                                                 ---------
    Total                                        £2,785.50

Yours sincerely
"""
OFFER = """Anbei die Posten:

> Dachziegel ................ 12.480,00 €
> Lattung ...................  3.155,50 €
> Rinne und Fallrohr ........  1.240,25 €
> Summe ..................... 16.875,75 €
"""
VOTES = "Ballots\tcount\nNorth\t412\nSouth\t388\nPost \t297\nTotal\t1097\n"


def found(text: str) -> list[tuple[str, str | None, str]]:
    findings = check(text, model=False, kind="text")
    return [(each.written, each.meant, text[slice(*(each.span or (0, 0)))]) for each in findings]


@pytest.mark.parametrize(
    ("text", "right", "wrong"),
    [
        (LETTER, "£2,785.50", "£2,875.50"), (LETTER, "£346.50", "£364.50"), (LETTER, "£1,210.00", "£2,110.00"),
        (OFFER, "16.875,75 €", "16.785,75 €"), (OFFER, " 3.155,50 €", " 3.515,50 €"), (VOTES, "1097", "1907"),
    ],
)  # fmt: skip
def test_the_lines_above_a_total_must_add_up(text: str, right: str, wrong: str) -> None:
    assert found(text) == []
    ((written, meant, place),) = found(text.replace(right, wrong))
    assert written == place
    if written == wrong.strip():
        assert meant == right.strip()


@pytest.mark.parametrize(
    "text",
    [
        "Height            312\nPrice              25\nTotal score      8.7\n",
        "Steps: 10,432\nCalories: 2,100\nTotal: 15\n",
        "Item              12.00\nother words\nTotal             15.00\n",
        "a        1\nb                 2\nc    3\nTotal                   90\n",  # no column
        "Total             15.00\n",
        f"{'x' * 5000}   12.00\n{' ' * 5000}\nTotal   12.00\n",
    ],
)
def test_lines_that_are_no_list_are_left_alone(text: str) -> None:
    assert found(text) == []
