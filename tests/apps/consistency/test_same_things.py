"""Values that are told twice with exchanged digits: which words make them one quantity, and which set them apart."""

from __future__ import annotations

import pytest

from numerate.apps.consistency.checker import ConsistencyChecker
from numerate.apps.documents import Document


def found(text: str) -> list[tuple[str, str]]:
    return [(each.rule, each.written) for each in ConsistencyChecker().check(Document(kind="text", text=text))]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        # The words that tell of it are others.
        ("The plant was sold for £38 million. Proceeds of the £83 million sale will cut debt.", "£83 million"),
        ("The planet orbits its star in 18.6 days. It takes 16.8 days to go around the star.", "16.8 days"),
        # A pronoun, or a word that the earlier one ends with, points back.
        ("The bowl, 27.4 cm across, was dug up in 1931. At 24.7 cm it is the widest of its kind.", "24.7 cm"),
        ("A sinkhole 63 metres wide opened on Friday. The hole, 36 metres wide, might grow.", "36 metres"),
        ("The tenor Ivo Marsan has died at the age of 87. Marsan, who was 78, leaves three sons.", "78"),
        # Four digits need no word that points back.
        ("We enrolled 5,291 school children. Among 5,921 school children, one in ten was ill.", "5,921"),
    ],
)
def test_one_quantity_with_two_values(text: str, wrong: str) -> None:
    assert found(text) == [("repeated", wrong)]


@pytest.mark.parametrize(
    "text",
    [
        "The bridge is 1,245 m long. The tunnel beside it is 1,425 m long.",
        # Things that are named by numbers and codes.
        "Sample 111 weighs 591 g.\n\nSample 116 weighs 951 g.",
        "Lot no. 3 sold for $188,000.\n\nLot no. 5 sold for $818,000.",
        "Invoice #7 amounts to $516.50.\n\nInvoice #17 amounts to $561.50.",
        "Station S-12 recorded 387 mm of rain. Station S-13 recorded 837 mm of rain.",
        "The weight of sample A7 was 43 g. The weight of sample B2 was 34 g.",
        "The weight of sample 45 was 985 g. The weight of sample 54 was 247 g.",
        "Sales of phones reached $15.8 million. Sales of tablets reached $18.5 million.",
        "The acquisition price was $780 million. The disposal price was $870 million.",
        "The town had 23,150 inhabitants in 1990. At the last census there were 21,350 inhabitants.",
        "Lake Orvand covers 218 square kilometres. Lake Tisand covers 281 square kilometres.",
        "Of 86 patients, two died. Of these, 68 patients completed the study.",
        "The hotel has 64 rooms. Of the 46 rooms facing the sea, most have balconies.",
        "The play runs for 145 minutes. The film of the same name runs for 154 minutes.",
        "The main runway at Calder is 2,310 m long. The cross runway is 2,130 m long.",
        "A hailstorm caused damage of 27 million francs. A flood had caused damage of 72 million francs in 2005.",
        "The class trip costs 245 francs per child. For others the price is 254 francs.",
        "The old mirror had a diameter of 2.5 m. The new mirror has a diameter of 5.2 m.",
    ],
)
def test_two_quantities(text: str) -> None:
    assert found(text) == []
